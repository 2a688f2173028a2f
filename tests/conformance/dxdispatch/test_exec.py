"""``dmlcts exec``: what a model in DxDispatch's form does when it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from dmlcts.conformance.backends.array_backend import ArrayBackend
from dmlcts.conformance.backends.backend import Backend, BackendFault, BackendInfo, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.commands.cli import dmlcts, main
from dmlcts.conformance.dxdispatch.read import ModelError, read_model
from dmlcts.conformance.dxdispatch.run import State, Stopped, Values
from dmlcts.conformance.dxdispatch.values import initial_values, numbers, packed
from dmlcts.spec.abi import abi
from dmlcts.spec.dtypes import numpy_dtype
from dmlcts.spec.loader import load_file, operator_names
from dmlcts.spec.model import Operator

MODELS = Path(__file__).parents[2] / "models"
OPERATORS = Path(__file__).parents[2] / "data" / "operators"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(dmlcts, ["exec", *map(str, arguments)])


def printed(result: Result) -> list[str]:
    assert result.exit_code == 0, (result.output, result.exception)
    return str(result.stdout).splitlines()


def bit_or(resources: Mapping[str, Any], sizes: list[int], **changes: Any) -> dict[str, Any]:
    """A model of one BIT_OR over the resources a, b and out."""
    tensor = {"DataType": "UINT32", "Sizes": sizes}
    desc = {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor}
    bindings = {"ATensor": "a", "BTensor": "b", "OutputTensor": "out"}
    model = {
        "resources": {"a": uint32([1, 2, 4]), "b": uint32([16, 16, 16]), "out": uint32([9, 9, 9]), **resources},
        "dispatchables": {"or": {"type": "ELEMENT_WISE_BIT_OR", "desc": desc}},
        "commands": [{"type": "dispatch", "dispatchable": "or", "bindings": bindings}],
    }
    return {**model, **changes}


def uint32(values: Any, **more: Any) -> dict[str, Any]:
    return {"initialValuesDataType": "UINT32", "initialValues": values, **more}


Write = Callable[[Any], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(model: Any) -> Path:
        file = tmp_path / "model.json"
        file.write_text(model if isinstance(model, str) else json.dumps(model), encoding="utf-8")
        return file

    return written


# Commands


def test_outputs_flow_into_the_next_dispatch_and_prints_come_in_order() -> None:
    assert printed(run(MODELS / "chain.json")) == [
        "Resource 'either': 9, 18, 27, 4294967295 (UINT32)",
        "Resource 'bits' (UINT32):",
        "[0] 2 (0x00000002)",
        "[1] 2 (0x00000002)",
        "[2] 4 (0x00000004)",
        "[3] 32 (0x00000020)",
    ]


def test_outputs_that_no_command_prints_are_printed_at_the_end() -> None:
    assert printed(run(MODELS / "round.json")) == ["Resource 'output': -2.0, -0.0, 0.0, 2.0, nan, -inf, 65504.0 (FLOAT16 [7])"]


def test_a_print_before_the_dispatch_shows_what_was_there(write: Write) -> None:
    model = bit_or({}, [3])
    model["commands"] = [{"type": "print", "resource": "out"}, *model["commands"]]
    assert printed(run(write(model))) == ["Resource 'out': 9, 9, 9 (UINT32)", "Resource 'out': 17, 18, 20 (UINT32 [3])"]


def test_many_values_are_printed_in_short(write: Write) -> None:
    many = {name: uint32({"valueCount": 100, "value": 5}) for name in ("a", "b", "out")}
    assert printed(run(write(bit_or(many, [100])))) == [f"Resource 'out': {', '.join(['5'] * 16)}, ... (UINT32 [100])"]


def test_out_gets_every_output_shaped_as_it_was_last_bound(tmp_path: Path) -> None:
    assert printed(run(MODELS / "chain.json", "--out", tmp_path / "o"))[-2:] == [
        f"Resource 'either' written to {tmp_path / 'o' / 'either.npy'}",
        f"Resource 'bits' written to {tmp_path / 'o' / 'bits.npy'}",
    ]
    either, bits = (np.load(tmp_path / "o" / f"{name}.npy") for name in ("either", "bits"))
    assert either.dtype == np.uint32
    assert either.tolist() == [[9, 18], [27, 4294967295]]
    assert bits.tolist() == [2, 2, 4, 32]
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == ["bits.npy", "either.npy"]


def test_a_resource_name_becomes_a_file_name_whatever_is_in_it(write: Write, tmp_path: Path) -> None:
    text = json.dumps(bit_or({}, [3])).replace('"out"', '"../x:y"')
    printed(run(write(text), "--out", tmp_path / "o"))
    assert [p.name for p in (tmp_path / "o").iterdir()] == ["..%2Fx%3Ay.npy"]


def test_a_strided_output_is_read_at_its_strides(write: Write) -> None:
    model = bit_or({"out": uint32({"valueCount": 5, "value": 9})}, [3])
    model["dispatchables"]["or"]["desc"]["OutputTensor"] = {"DataType": "UINT32", "Sizes": [3], "Strides": [2]}
    model["commands"].append({"type": "print", "resource": "out"})
    assert printed(run(write(model))) == [
        "Resource 'out': 17, 9, 18, 9, 20 (UINT32)",
        "Resource 'out': 17, 18, 20 (UINT32 [3])",
    ]


def test_in_place(write: Write) -> None:
    model = bit_or({}, [3])
    model["commands"][0]["bindings"]["OutputTensor"] = "a"
    assert printed(run(write(model))) == ["Resource 'a': 17, 18, 20 (UINT32 [3])"]


def test_json_has_every_resource(write: Write, tmp_path: Path) -> None:
    model = bit_or({"f": {"initialValuesDataType": "FLOAT32", "initialValues": [0.5, "nan", "-inf"]}}, [3])
    model["commands"].append({"type": "print", "resource": "f"})
    file = write(model)
    assert json.loads(run(file, "--json").stdout) == {
        "model": file.as_posix(),
        "backend": "reference",
        "status": "completed",
        "printed": [{"resource": "f", "dataType": "FLOAT32", "values": [0.5, "nan", "-inf"]}],
        "resources": {
            "a": {"dataType": "UINT32", "values": [1, 2, 4]},
            "b": {"dataType": "UINT32", "values": [16, 16, 16]},
            "out": {"dataType": "UINT32", "sizes": [3], "values": [17, 18, 20]},
            "f": {"dataType": "FLOAT32", "values": [0.5, "nan", "-inf"]},
        },
        "files": [],
    }
    listed = json.loads(run(file, "--json", "--out", tmp_path / "o").stdout)["files"]
    assert listed == [(tmp_path / "o" / "out.npy").as_posix()]


def test_files_are_written_as_the_model_says(write: Write, tmp_path: Path) -> None:
    model = bit_or({"half": {"initialValuesDataType": "FLOAT16", "initialValues": [1, 2, 3]}}, [3])
    for target, resource, more in (
        ("deep\\er/out.npy", "out", {"dimensions": [1, 3]}),
        ("flat.npy", "half", {}),
        ("raw.dat", "half", {}),
        ("begin.npy", "out", {"dimensions": [2]}),
    ):
        model["commands"].append({"type": "writeFile", "targetPath": target, "resource": resource, **more})
    out = tmp_path / "o"
    assert f"Resource 'out' written to {out / 'deep' / 'er' / 'out.npy'}" in printed(run(write(model), "--out", out))
    assert np.load(out / "deep" / "er" / "out.npy").tolist() == [[17, 18, 20]]
    assert np.load(out / "flat.npy").tolist() == [1.0, 2.0, 3.0]
    assert np.load(out / "begin.npy").tolist() == [17, 18]
    assert (out / "raw.dat").read_bytes() == np.array([1, 2, 3, 0], np.float16).tobytes()


def test_without_out_files_go_to_the_current_folder(write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    model = bit_or({}, [3])
    model["commands"].append({"type": "writefile", "targetPath": "out.bin", "resource": "out"})
    printed(run(write(model)))
    assert np.fromfile("out.bin", np.uint32).tolist() == [17, 18, 20]


# Initial values


def values(data: Any, given: str = "UNKNOWN", folder: Path = Path()) -> tuple[str, list[Any]]:
    found, content = initial_values(data, given, folder, "x")
    return found, content.tolist() if found == "UNKNOWN" else content.view(numpy_dtype(found)).tolist()


def test_sequences_add_up_in_their_own_type() -> None:
    assert values({"valueCount": 4, "valueStart": 1, "valueDelta": 2.5}, "FLOAT32") == ("FLOAT32", [1, 3.5, 6, 8.5])
    assert values({"valueCount": 3, "valueStart": 254, "valueDelta": 1}, "UINT8") == ("UINT8", [254, 255, 0])
    assert values({"valueCount": 3, "valueStart": 127, "valueDelta": -128}, "INT8") == ("INT8", [127, -1, 127])
    top = (1 << 64) - 1
    assert values({"valueCount": 2, "valueStart": top, "valueDelta": 1}, "UINT64") == ("UINT64", [top, 0])
    assert values({"valueCount": 3, "valueStart": -(1 << 63), "valueDelta": -1}, "INT64")[1][:2] == [-(1 << 63), (1 << 63) - 1]


def test_a_sequence_of_floats_rounds_at_each_step() -> None:
    for name, dtype in (("FLOAT16", np.float16), ("FLOAT32", np.float32), ("FLOAT64", np.float64)):
        one, expected = dtype(0.1), []
        for _ in range(2000):
            expected.append(float(one))
            one = dtype(one + dtype(0.1))
        assert values({"valueCount": 2000, "valueStart": 0.1, "valueDelta": 0.1}, name)[1] == expected
        assert expected[-1] != float(dtype(200.0))


def test_a_float16_is_rounded_twice_as_dxdispatch_does() -> None:
    tie = 1 + 2.0**-11 + 2.0**-30  # to FLOAT16 in one step: up; by way of FLOAT32: a tie, and down to even
    assert float(np.float16(tie)) != 1
    assert numbers([tie], "FLOAT16", "x").tolist() == [1.0]


def test_numbers_that_round_into_the_range_are_in_it() -> None:
    assert numbers([3.4028235e38, 65519.99, -0.0], "FLOAT32", "x").tolist()[0] == float(np.finfo(np.float32).max)
    assert numbers([65519.0], "FLOAT16", "x").tolist() == [65504.0]
    assert np.signbit(numbers([-0.0], "FLOAT16", "x")).all()


def test_four_bit_values_share_bytes_the_first_in_the_low_nibble() -> None:
    assert packed(numbers([1, -1, 7, -8, 3], "INT4", "x"), "INT4").tolist() == [0xF1, 0x87, 0x03]
    assert packed(numbers([1, 15], "UINT4", "x"), "UINT4").tolist() == [0xF1]
    found, content = initial_values({"valueCount": 4, "valueStart": 6, "valueDelta": 1}, "INT4", Path(), "x")
    assert (found, content.tolist()) == ("INT4", [0x76, 0x98])
    assert initial_values({"valueCount": 3, "value": 9}, "UINT4", Path(), "x")[1].tolist() == [0x99, 0x09]


def test_values_of_several_types_stand_one_after_the_other() -> None:
    elements = [{"name": "n", "type": "UINT32", "value": 6}, {"type": "FLOAT16", "value": 1.5}, {"type": "INT8", "value": -1}]
    assert values(elements) == ("UNKNOWN", [*np.uint32(6).tobytes(), *np.float16(1.5).tobytes(), 255])


def test_arrays_from_files_have_their_own_type(tmp_path: Path) -> None:
    np.save(tmp_path / "big.npy", np.array([[1, 2], [3, 4]], ">i2").T)
    np.save(tmp_path / "bool.npy", np.array([True, False]))
    assert values({"sourcePath": "big.npy"}, folder=tmp_path) == ("INT16", [1, 3, 2, 4])
    assert values({"sourcePath": "bool.npy"}, "UINT8", tmp_path) == ("UINT8", [1, 0])


def test_files_are_read_below_the_model_alone_unless_others_are_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "m"
    (model / "sub").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    np.array([1.0], np.float64).tofile(tmp_path / "sub" / "x.dat")

    def read(source: str, outside: bool) -> list[float]:
        return initial_values({"sourcePath": source}, "FLOAT64", model, "x", outside)[1].view(np.float64).tolist()

    for source in ("../sub/x.dat", "..\\sub\\x.dat", str(tmp_path / "sub" / "x.dat")):
        with pytest.raises(ModelError, match="is not below the model's folder; allow it with --read-outside"):
            read(source, outside=False)
        assert read(source, outside=True) == [1.0]
    assert read("sub/x.dat", outside=True) == [1.0]  # as DxDispatch: beside the model, and then in the current folder
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        read("sub/x.dat", outside=False)
    np.array([2.0], np.float64).tofile(model / "sub" / "x.dat")
    assert read("sub\\x.dat", outside=False) == read("sub/x.dat", outside=True) == [2.0]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
def test_a_symbolic_link_counts_as_the_file_to_which_it_leads(tmp_path: Path) -> None:
    model = tmp_path / "m"
    model.mkdir()
    np.array([1.0], np.float64).tofile(tmp_path / "x.dat")
    np.array([2.0], np.float64).tofile(model / "y.dat")
    (model / "out.dat").symlink_to(tmp_path / "x.dat")
    (model / "up").symlink_to(tmp_path)
    (model / "in.dat").symlink_to("y.dat")
    for source in ("out.dat", "up/x.dat"):
        with pytest.raises(ModelError, match="is not below the model's folder"):
            initial_values({"sourcePath": source}, "FLOAT64", model, "x")
    assert initial_values({"sourcePath": "in.dat"}, "FLOAT64", model, "x")[1].view(np.float64).tolist() == [2.0]


@pytest.mark.skipif(os.name == "nt", reason="symbolic links need a privilege on Windows")
def test_a_symbolic_link_does_not_lead_a_written_file_out_of_the_folder(write: Write, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (out / "link").symlink_to(tmp_path / "elsewhere")
    commands = [{"type": "writeFile", "resource": "a", "targetPath": "link/x.npy"}]
    result = run(write({"resources": {"a": uint32([7])}, "dispatchables": {}, "commands": commands}), "--out", out)
    assert "a symbolic link leads out of" in str(result.exception)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name on this system")
@pytest.mark.parametrize("name", ["x.npy", "x.dat"])
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(ModelError, match="a folder, a pipe or a device, not a file"):
        initial_values({"sourcePath": name}, "FLOAT64", tmp_path, "x")


def test_sizes_and_offsets_of_resources(write: Write) -> None:
    resources = {
        "wide": uint32([7], sizeInBytes=12),
        "late": uint32([7], initialValuesOffsetInBytes=4),
        "odd": {"initialValuesDataType": "UINT8", "initialValues": [1, 2, 3, 4, 5]},
    }
    model = read_model(write({"resources": resources, "dispatchables": {}, "commands": []}))
    found = {name: (r.content.view(np.uint32).tolist(), r.count) for name, r in model.resources.items()}
    assert found == {"wide": ([7, 0, 0], 3), "late": ([0, 7], 2), "odd": ([0x04030201, 5], 5)}


# Bindings


class Recorder(ArrayBackend):
    """Keeps each dispatch as it came, and writes a mark into its outputs."""

    info = BackendInfo("recorder")

    def __init__(self) -> None:
        self.seen: list[tuple[Dispatch, list[list[int]]]] = []

    def run(self, dispatch: Dispatch) -> None:
        self.seen.append((dispatch, [resource.tolist() for resource in dispatch.resources]))
        for name in dispatch.outputs:
            binding = dispatch.bindings[name]
            dispatch.resources[binding.resource][binding.offset] = 0xEE


@pytest.fixture
def join(monkeypatch: pytest.MonkeyPatch) -> Operator:
    """JOIN, of which the package has no spec: an operator with an array of tensors."""
    operator = load_file(OPERATORS / "join.yaml")
    monkeypatch.setattr("dmlcts.conformance.dxdispatch.read.load", lambda _: operator)
    return operator


def join_model(inputs: Any, **more: Any) -> dict[str, Any]:
    tensors = [{"DataType": "FLOAT32", "Sizes": [1, 1, 1, n]} for n in (3, 2, 5)]
    output = {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 10]}
    floats = {"initialValuesDataType": "FLOAT32"}
    return {
        "resources": {
            "A": {**floats, "initialValues": {"valueCount": 10, "valueStart": 1, "valueDelta": 1}},
            "B": {**floats, "initialValues": [100, 115]},
            "Out": {**floats, "initialValues": {"valueCount": 10, "value": 0}},
        },
        "dispatchables": {
            "join": {
                "type": "JOIN",
                "desc": {"InputCount": 3, "InputTensors": tensors, "OutputTensor": output, "Axis": 3},
                **more,
            }
        },
        "commands": [{"type": "dispatch", "dispatchable": "join", "bindings": {"InputTensors": inputs, "OutputTensor": "Out"}}],
    }


def run_on(backend: Backend, file: Path, folder: Path) -> State:
    state = State(read_model(file))
    assert list(state.run(backend, backend.describe(), folder)) == []
    return state


def test_an_array_of_tensors_is_bound_in_order_and_parts_of_a_resource_share_it(
    join: Operator, write: Write, tmp_path: Path
) -> None:
    recorder = Recorder()
    inputs = [{"name": "A", "elementCount": 3}, "B", {"name": "A", "elementCount": 5, "elementOffset": 4}]
    state = run_on(recorder, write(join_model(inputs)), tmp_path)
    dispatch, _ = recorder.seen[0]
    parts = {name: (b.resource, b.offset, b.size) for name, b in dispatch.bindings.items()}
    assert parts == {
        "InputTensors[0]": (0, 0, 40),
        "InputTensors[1]": (1, 0, 8),
        "InputTensors[2]": (0, 16, 24),
        "OutputTensor": (2, 0, 40),
    }
    assert dispatch.outputs == ("OutputTensor",)
    assert state.contents["Out"][0] == 0xEE
    assert list(state.outputs) == ["Out"]


def test_the_size_of_an_element_may_be_given(join: Operator, write: Write, tmp_path: Path) -> None:
    recorder = Recorder()
    inputs = ["A", "B", {"name": "A", "elementOffset": 2, "elementSizeInBytes": 8}]
    run_on(recorder, write(join_model(inputs)), tmp_path)
    assert recorder.seen[0][0].bindings["InputTensors[2]"].offset == 16


def test_an_owned_tensor_is_bound_when_the_operator_is_initialized(write: Write, tmp_path: Path) -> None:
    model = bit_or({}, [3])
    model["dispatchables"]["or"]["desc"]["ATensor"] = {"DataType": "UINT32", "Sizes": [3], "Flags": "DML_TENSOR_FLAG_OWNED_BY_DML"}
    model["dispatchables"]["or"]["bindings"] = {"ATensor": "out"}
    del model["commands"][0]["bindings"]["ATensor"]
    model["commands"] *= 2
    recorder = Recorder()
    run_on(recorder, write(model), tmp_path)
    for dispatch, resources in recorder.seen:
        # What it was at the start, although "out" was written meanwhile.
        assert resources[dispatch.bindings["ATensor"].resource] == list(np.uint32([9, 9, 9]).tobytes())
        assert dispatch.bindings["ATensor"].resource != dispatch.bindings["OutputTensor"].resource
    assert recorder.seen[1][1][recorder.seen[1][0].bindings["OutputTensor"].resource][0] == 0xEE


def test_an_array_needs_as_many_resources_as_tensors(join: Operator, write: Write) -> None:
    with pytest.raises(ModelError, match=r"commands\[0\]\.bindings\.InputTensors: the desc has 3 tensors there, but 2 resources"):
        read_model(write(join_model(["A", "B"])))
    with pytest.raises(ModelError, match=r"InputTensors\[2\]: InputTensors\[2\] needs 20 bytes from byte 24 on, .* 'A' has 40"):
        read_model(write(join_model(["A", "B", {"name": "A", "elementOffset": 6}])))


def test_only_an_input_is_bound_when_the_operator_is_initialized(join: Operator, write: Write) -> None:
    with pytest.raises(ModelError, match=r"dispatchables\.join\.bindings\.OutputTensor: only an input"):
        read_model(write(join_model(["A", "B", "A"], bindings={"OutputTensor": "Out"})))


# What the backend says


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
def test_what_does_not_complete_is_said_and_nothing_is_run_after_it(
    error: Exception, status: str, message: str, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = Refusing(error)
    monkeypatch.setattr("dmlcts.conformance.commands.exec_model.open_backend", lambda _: backend)
    model = bit_or({}, [3])
    model["commands"].append({"type": "print", "resource": "out"})
    result = run(write(model), "--out", tmp_path / "o")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines()[0] == f"commands[0], dispatch 'or': {status}: {message}"
    assert ("exit code 139" in result.stderr) == isinstance(error, BackendFault)
    assert not list((tmp_path / "o").iterdir())
    assert backend.closed
    said = json.loads(run(write(model), "--json").stdout)
    assert (said["status"], said["where"], said["message"]) == (status, "commands[0], dispatch 'or'", message)


def test_a_data_type_that_the_backend_does_not_claim_is_unsupported(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Recorder()
    backend.info = BackendInfo("narrow", data_types=("FLOAT32",))
    monkeypatch.setattr("dmlcts.conformance.commands.exec_model.open_backend", lambda _: backend)
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
    assert isinstance(state.tensor("out"), Values)


def test_a_misaligned_part_is_refused(write: Write) -> None:
    model = bit_or({"a": uint32([0, 1, 2, 4])}, [3])
    model["commands"][0]["bindings"]["ATensor"] = {"name": "a", "elementOffset": 1}
    result = run(write(model))
    assert result.exit_code == 1
    assert "refused at bind" in result.stderr
    state = State(read_model(write(model)))
    (stopped,) = state.run(open_backend("reference"), BackendInfo("reference"), Path())
    assert isinstance(stopped, Stopped)


@pytest.mark.parametrize(("backend", "said"), [("nothing", "unknown backend"), ("reference:tpu", "reference:tpu is unknown")])
def test_a_backend_that_cannot_start_is_exit_code_3(backend: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["exec", str(MODELS / "round.json"), "--backend", backend])
    assert exit_.value.code == 3
    assert said in capsys.readouterr().err


def rounded(write: Write, mode: Any) -> Result:
    tensor = {"DataType": "FLOAT32", "Sizes": [4]}
    values = {"initialValuesDataType": "FLOAT32", "initialValues": [-2.5, -0.75, 0.5, 1.75]}
    model = {
        "resources": {"in": values, "out": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": 4, "value": 9}}},
        "dispatchables": {
            "round": {"type": "ELEMENT_WISE_ROUND", "desc": {"InputTensor": tensor, "OutputTensor": tensor, "RoundingMode": mode}}
        },
        "commands": [{"type": "dispatch", "dispatchable": "round", "bindings": {"InputTensor": "in", "OutputTensor": "out"}}],
    }
    return run(write(model))


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_constant_may_be_given_by_its_number(mode: int, write: Write) -> None:
    names = abi().enums["DML_ROUNDING_MODE"].values
    name = next(name for name, number in names.items() if number == mode)
    assert printed(rounded(write, mode)) == printed(rounded(write, name))
    others = [printed(rounded(write, other)) for other in names if other != name]
    assert printed(rounded(write, mode)) not in others


def test_a_number_that_no_constant_has_is_refused(write: Write) -> None:
    result = rounded(write, 17)
    assert result.exit_code == 1
    assert "rejected" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("mode", [True, "TOWARD_NOTHING", 1.5, [1]])
def test_what_is_no_constant_is_a_wrong_model(mode: Any, write: Write) -> None:
    result = rounded(write, mode)
    assert isinstance(result.exception, ModelError)
    assert "DML_ROUNDING_MODE has no" in str(result.exception)


def test_a_reduction_with_the_number_of_a_function(write: Write) -> None:
    """It ended in a KeyError."""
    desc = {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 3]}
    functions = abi().enums["DML_REDUCE_FUNCTION"].values
    for name, number in functions.items():
        output = {"DataType": "UINT32" if name.startswith("ARG") else "FLOAT32", "Sizes": [1, 1, 1, 1]}
        given = {"InputTensor": desc, "OutputTensor": output, "AxisCount": 1, "Axes": [3]}
        lines = []
        for function in (name, number):
            model = {
                "resources": {
                    "in": {"initialValuesDataType": "FLOAT32", "initialValues": [2, -1, 5]},
                    "out": {"initialValuesDataType": output["DataType"], "initialValues": [7]},
                },
                "dispatchables": {"reduce": {"type": "REDUCE", "desc": {"Function": function, **given}}},
                "commands": [
                    {"type": "dispatch", "dispatchable": "reduce", "bindings": {"InputTensor": "in", "OutputTensor": "out"}}
                ],
            }
            lines.append(printed(run(write(model))))
        assert lines[0] == lines[1]


def test_an_operator_that_has_no_spec_is_unsupported_and_no_wrong_model(write: Write) -> None:
    missing = next(name for name in abi().operator_types if name not in operator_names())
    model = {"resources": {}, "dispatchables": {"it": {"type": f"DML_OPERATOR_{missing}", "desc": {}}}, "commands": []}
    result = run(write(model))
    assert result.exit_code == 1
    assert f"dispatchables.it: unsupported: {missing} has no spec here" in result.stderr
    found = json.loads(run(write(model), "--json").stdout)
    assert (found["status"], found["where"]) == ("unsupported", "dispatchables.it")
