"""``dmlcts exec`` on backends that reject, fail or claim less: the status, the message and the exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from exec_models import Recorder, Write, bit_or, run, run_on, uint32

from dmlcts.conformance.backends.array_backend import ArrayBackend
from dmlcts.conformance.backends.backend import BackendFault, BackendInfo, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.commands.cli import main
from dmlcts.conformance.dxdispatch.read import read_model
from dmlcts.conformance.dxdispatch.run import ResourceValues, State, StoppedDispatch
from dmlcts.spec.model.operator import Operator

MODELS = Path(__file__).parents[2] / "models"


class Refusing(ArrayBackend):
    """Raises what it is made with."""

    info = BackendInfo("refusing")

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.closed = False

    def run(self, dispatch: Dispatch) -> None:
        dispatch.resources[-1][:] = 0x11
        raise self.error

    def close(self) -> None:
        self.closed = True


REFUSALS = [
    (Rejected("too odd", "compile", "E_INVALIDARG"), "rejected", "refused at compile with E_INVALIDARG: too odd"),
    (Unsupported("no BIT_OR"), "unsupported", "no BIT_OR"),
    (BackendFault("it died", "exit code 139"), "error", "it died"),
    (RuntimeError("oh"), "error", "RuntimeError: oh"),
]


@pytest.mark.parametrize(("error", "status", "message"), REFUSALS, ids=lambda value: value if isinstance(value, str) else "")
def test_what_does_not_complete_is_reported_and_nothing_is_run_after_it(
    error: Exception, status: str, message: str, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Refusing(error)
    monkeypatch.setattr("dmlcts.conformance.commands.cases.exec_model.open_backend", lambda _: backend)
    model = bit_or({}, [3])
    model["commands"].append({"type": "print", "resource": "out"})
    result = run(write(model), "--out", tmp_path / "o")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines()[0] == f"commands[0], dispatch 'or': {status}: {message}"
    assert ("exit code 139" in result.stderr) == isinstance(error, BackendFault)
    assert not list((tmp_path / "o").iterdir())
    assert backend.closed
    found = json.loads(run(write(model), "--json").stdout)
    assert (found["status"], found["where"], found["message"]) == (status, "commands[0], dispatch 'or'", message)


def test_a_data_type_that_the_backend_does_not_claim_is_unsupported(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Recorder()
    backend.info = BackendInfo("narrow", data_types=("FLOAT32",))
    monkeypatch.setattr("dmlcts.conformance.commands.cases.exec_model.open_backend", lambda _: backend)
    result = run(write(bit_or({}, [3])))
    assert (result.exit_code, result.stderr) == (1, "commands[0], dispatch 'or': unsupported: narrow does not claim UINT32\n")
    assert not backend.seen


def test_the_reference_refuses_an_invalid_desc(write: Write) -> None:
    model = bit_or({}, [3])
    model["dispatchables"]["or"]["desc"]["BTensor"] = {"DataType": "UINT16", "Sizes": [3]}
    result = run(write(model))
    assert result.exit_code == 1
    assert "commands[0], dispatch 'or': rejected: refused at create with E_INVALIDARG:" in result.stderr


@pytest.mark.parametrize("tensor", [{"Strides": [1, 1]}, {"DataType": "UNKNOWN"}, {"TotalTensorSizeInBytes": 4}, {"Sizes": [0]}])
def test_a_tensor_that_cannot_be_is_for_the_backend_to_refuse(tensor: dict[str, Any], write: Write, tmp_path: Path) -> None:
    model = bit_or({}, [3])
    model["dispatchables"]["or"]["desc"]["OutputTensor"] = {"DataType": "UINT32", "Sizes": [3], **tensor}
    file = write(model)
    assert run(file).exit_code == 1
    # One that takes it all the same costs no more than the look at the output.
    state = run_on(Recorder(), file, tmp_path)
    assert isinstance(state.tensor("out"), ResourceValues)


def test_a_misaligned_part_is_refused(write: Write) -> None:
    model = bit_or({"a": uint32([0, 1, 2, 4])}, [3])
    model["commands"][0]["bindings"]["ATensor"] = {"name": "a", "elementOffset": 1}
    result = run(write(model))
    assert result.exit_code == 1
    assert "refused at bind" in result.stderr
    state = State(read_model(write(model)))
    (stopped,) = state.run(open_backend("reference"), BackendInfo("reference"), Path())
    assert isinstance(stopped, StoppedDispatch)


@pytest.mark.parametrize(("backend", "message"), [("nothing", "unknown backend"), ("reference:tpu", "reference:tpu is unknown")])
def test_a_backend_that_cannot_start_is_exit_code_3(backend: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["exec", str(MODELS / "round.json"), "--backend", backend])
    assert exit_.value.code == 3
    assert message in capsys.readouterr().err


def test_an_operator_that_has_no_spec_is_unsupported_and_no_wrong_model(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_specs(name: str) -> Operator:
        raise KeyError(name)

    monkeypatch.setattr("dmlcts.conformance.dxdispatch.read.load", without_specs)
    missing = "ADAM_OPTIMIZER"
    model = {"resources": {}, "dispatchables": {"it": {"type": f"DML_OPERATOR_{missing}", "desc": {}}}, "commands": []}
    result = run(write(model))
    assert result.exit_code == 1
    assert f"dispatchables.it: unsupported: {missing} has no spec here" in result.stderr
    found = json.loads(run(write(model), "--json").stdout)
    assert (found["status"], found["where"]) == ("unsupported", "dispatchables.it")
