"""``dmlcts judge``: given outputs of a model get the verdict of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from exec_models import Write, bit_or
from exec_models import run as execute_model
from wrong_backends import Good, run

from dmlcts.conformance.backends.backend import Dispatch
from dmlcts.conformance.backends.buffers import read_tensor, write_tensor
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.commands.cli import dmlcts, main
from dmlcts.conformance.dxdispatch.judging import read_output
from dmlcts.conformance.dxdispatch.model_json import ModelError
from dmlcts.conformance.dxdispatch.write import write_model
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import find_case
from dmlcts.spec.model.desc import TensorDesc

MODELS = Path(__file__).parents[2] / "models"


def judge(model: Path, folder: Path, *options: str) -> Result:
    return CliRunner().invoke(dmlcts, ["judge", str(model), "--expected", str(folder), *options])


def judged(model: Path, folder: Path, *options: str) -> dict[str, Any]:
    found = judge(model, folder, "--json", *options)
    report: dict[str, Any] = json.loads(found.stdout)
    assert found.exit_code == (0 if report["ok"] else 1), found.output
    return report


def message(capsys: pytest.CaptureFixture[str], model: Path, folder: Path, *options: str) -> str:
    """What a judgement that cannot be made prints."""
    with pytest.raises(SystemExit) as ended:
        main(["judge", str(model), "--expected", str(folder), *options])
    assert ended.value.code == 2
    return str(capsys.readouterr().err)


def unary(name: str, data_type: str, values: Sequence[Any], **attributes: Any) -> dict[str, Any]:
    """A model of an operator from ``a`` to ``out``; ``to`` among the attributes is the output's data type."""
    to = attributes.pop("to", data_type)
    tensors = {"InputTensor": data_type, "OutputTensor": to}
    desc = {tensor: {"DataType": each, "Sizes": [len(values)]} for tensor, each in tensors.items()}
    return {
        "resources": {
            "a": {"initialValuesDataType": data_type, "initialValues": list(values)},
            "out": {"initialValuesDataType": to, "initialValues": {"valueCount": len(values), "value": 0}},
        },
        "dispatchables": {"op": {"type": name, "desc": {**desc, **attributes}}},
        "commands": [{"type": "dispatch", "dispatchable": "op", "bindings": {"InputTensor": "a", "OutputTensor": "out"}}],
    }


def saved(folder: Path, **arrays: Any) -> Path:
    folder.mkdir(exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    return folder


# Right and wrong outputs


def test_what_the_reference_writes_is_right(tmp_path: Path) -> None:
    for name in ("chain", "round"):
        assert execute_model(MODELS / f"{name}.json", "--out", tmp_path / name).exit_code == 0
        found = judge(MODELS / f"{name}.json", tmp_path / name)
        assert (found.exit_code, "fail" in found.stdout) == (0, False)
    assert found.stdout.splitlines()[-1].startswith("1 of 1 outputs are right; judged by: basis documented, denormals any")


@pytest.mark.parametrize("data_type", ["FLOAT16", "FLOAT32"])
def test_an_output_may_err_by_the_bound_of_its_operator_and_not_by_one_step_more(
    data_type: str, tmp_path: Path, write: Write
) -> None:
    """The largest right number and the next one, found by asking a run's own judge, on both sides."""
    dtype = np.dtype(data_type.lower())
    model = write(unary("ELEMENT_WISE_SQRT", data_type, [2.0, 3.0, 5.0]))
    exact = np.sqrt(np.array([2.0, 3.0, 5.0]))
    for direction in (np.inf, -np.inf):
        edge = exact.astype(dtype)
        while judged(model, saved(tmp_path / "o", out=edge))["ok"]:
            inside, edge = edge, edge.copy()
            edge[1] = np.nextafter(edge[1], dtype.type(direction))
        assert abs(float(inside[1]) - exact[1]) <= abs(float(edge[1]) - exact[1])
        (output,) = judged(model, saved(tmp_path / "o", out=edge))["dispatches"][0]["outputs"]
        assert (output["wrong"], output["elements"]) == (1, 3)
        (wrong,) = output["mismatches"]
        assert wrong["index"] == [1]
        allowed = float(wrong["allowed"].split()[0])
        assert allowed < wrong["ulp"] <= allowed + 1
        text = judge(model, tmp_path / "o").stdout
        assert f"OutputTensor[1]: expected {wrong['expected']}, actual {wrong['actual']}" in text
        assert "0 of 1 outputs are right" in text


def test_an_element_of_an_integer_output_must_be_exact(tmp_path: Path, write: Write) -> None:
    model = write(bit_or({}, [3]))
    right = np.array([17, 18, 20], np.uint32)
    assert judged(model, saved(tmp_path / "o", out=right))["ok"]
    assert not judged(model, saved(tmp_path / "o", out=right + np.array([0, 0, 1], np.uint32)))["ok"]


def test_a_later_dispatch_is_judged_by_the_outputs_given_for_earlier_ones(tmp_path: Path) -> None:
    """An error is found where it was made, and not once more in what follows from it."""
    either, bits = np.array([[9, 18], [27, 7]], np.uint32), np.array([2, 2, 4, 3], np.uint32)
    first, second = judged(MODELS / "chain.json", saved(tmp_path / "o", either=either, bits=bits))["dispatches"]
    assert (first["ok"], second["ok"]) == (False, True)


def test_what_the_implementation_declares_decides_as_in_a_run(tmp_path: Path, write: Write) -> None:
    model = write(unary("ELEMENT_WISE_ABS", "FLOAT32", [1e-40, 2.0]))
    folder = saved(tmp_path / "o", out=np.array([0, 2], np.float32))
    assert [judged(model, folder, "--denormals", name)["ok"] for name in ("any", "flush", "preserve")] == [True, True, False]
    small = write(unary("ELEMENT_WISE_ABS", "FLOAT32", [0.0]))
    zero = saved(tmp_path / "zero", out=np.array([-0.0], np.float32))
    assert [judged(small, zero, *options)["ok"] for options in ((), ("--zero-sign",))] == [True, False]


CASES = (
    "ELEMENT_WISE_EXP/FLOAT16/4d",
    "ACTIVATION_SOFTMAX/FLOAT32/4d",
    "GEMM/FLOAT32/example/left-transposed",
    "CAST/FLOAT32-UINT8/4d",
)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("steps", [0, 1, 3, 30])
def test_the_verdict_is_that_of_a_run(name: str, steps: int, tmp_path: Path) -> None:
    """A backend whose every other element is some steps off, in a run and by its written outputs."""
    case = find_case(name)
    written: dict[str, Any] = {}

    def shifted(dispatch: Dispatch) -> None:
        ReferenceBackend().run(dispatch)
        for output in dispatch.outputs:
            binding, tensor = dispatch.bindings[output], dispatch.desc.tensor(output)
            array = read_tensor(dispatch.resources[binding.resource], tensor, binding.offset).copy()
            bits = array.view(f"u{array.itemsize}").ravel()
            bits[::2] += bits.dtype.type(steps)
            write_tensor(dispatch.resources[binding.resource], tensor, array, binding.offset)
            written[output] = array

    result = run(case, Good(instead=shifted))
    declared = ("--accumulator", "52", "--nearest", "--denormals", "preserve")  # as Good's
    report = judged(write_model(case, inputs(case), tmp_path), saved(tmp_path / "o", **written), *declared)
    outputs = report["dispatches"][0]["outputs"]
    assert report["ok"] is (result.status == "pass")
    assert sum(output["wrong"] for output in outputs) == result.wrong
    assert [[m["expected"], m["actual"], m["ulp"], m["allowed"]] for output in outputs for m in output["mismatches"]] == [
        [m.expected, m.actual, m.ulp, m.allowed] for m in result.mismatches
    ]
    assert max((output["worst_ulp"] for output in outputs if output["worst_ulp"] is not None), default=None) == result.worst_ulp


# Contested answers

BIG = unary("CAST", "FLOAT32", [1.5, 3e9, -1e10], to="INT64")
DOCUMENTED, MEASURED = [1, 3_000_000_000, -10_000_000_000], [1, (1 << 63) - 1, -(1 << 31)]


@pytest.mark.parametrize(
    ("values", "matched"),
    [(DOCUMENTED, "documented"), (MEASURED, "measured"), ([*MEASURED[:2], DOCUMENTED[2]], ""), ([1, 2, 3], "")],
)
def test_outputs_must_match_one_of_the_contested_answers_throughout(
    values: list[int], matched: str, tmp_path: Path, write: Write
) -> None:
    model, folder = write(BIG), saved(tmp_path / "o", out=np.array(values, np.int64))
    (found,) = judged(model, folder)["dispatches"]
    assert (found["ok"], found["matched_answer"]) == (bool(matched), matched)
    assert found["accepted_answers"] == ["documented", "measured"]
    text = judge(model, folder).stdout
    assert (f"the outputs match the {matched} answer" if matched else "but one of them in all outputs") in text


def test_exec_says_that_another_answer_is_accepted_and_which(write: Write) -> None:
    model = write(BIG)
    first = execute_model(model)
    assert first.stdout.splitlines() == ["Resource 'out': 1, 3000000000, -10000000000 (INT64 [3])"]
    assert (
        "another answer for OutputTensor is accepted too, what DirectML 1.15.4 gives: it differs in 2 of 3 elements" in first.stderr
    )
    assert "first at [1]: 9223372036854775807 instead of 3000000000; `--basis measured` gives it" in first.stderr
    other = execute_model(model, "--basis", "measured")
    assert other.stdout.splitlines() == ["Resource 'out': 1, 9223372036854775807, -2147483648 (INT64 [3])"]
    assert "`--basis documented` gives it" in other.stderr
    assert len(json.loads(execute_model(model, "--json").stdout)["notes"]) == 1


def test_exec_says_nothing_where_answers_agree(write: Write) -> None:
    found = execute_model(write(unary("CAST", "FLOAT32", [1.5, 3.0], to="INT64")))
    assert (found.exit_code, found.stderr) == (0, "")


def test_the_basis_of_answers_is_for_the_reference_alone(capsys: pytest.CaptureFixture[str], write: Write) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["exec", str(write(BIG)), "--basis", "measured", "--backend", "inprocess:wrong_backends:Good"])
    assert ended.value.code == 2
    assert "--basis chooses among the answers of the reference" in capsys.readouterr().err


# Inputs for which nothing is defined


def gather(indices: list[int], data_type: str) -> dict[str, Any]:
    def tensor(each: str, count: int) -> dict[str, Any]:
        return {"DataType": each, "Sizes": [count]}

    return {
        "resources": {
            "a": {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2, 3, 4]},
            "i": {"initialValuesDataType": data_type, "initialValues": indices},
            "out": {"initialValuesDataType": "FLOAT32", "initialValues": {"valueCount": len(indices), "value": 0}},
        },
        "dispatchables": {
            "g": {
                "type": "GATHER",
                "desc": {
                    "InputTensor": tensor("FLOAT32", 4),
                    "IndicesTensor": tensor(data_type, len(indices)),
                    "OutputTensor": tensor("FLOAT32", len(indices)),
                    "Axis": 0,
                    "IndexDimensions": 1,
                },
            }
        },
        "commands": [
            {"type": "dispatch", "dispatchable": "g", "bindings": {"InputTensor": "a", "IndicesTensor": "i", "OutputTensor": "out"}}
        ],
    }


@pytest.mark.parametrize(
    ("indices", "data_type", "expected"),
    [
        (
            [0, 9, 1],
            "UINT32",
            "IndicesTensor[1] is 9: an index must be from 0 to n - 1, where n is InputTensor.Sizes[Axis], here 4",
        ),
        ([0, -5, 4], "INT64", "IndicesTensor[1] is -5 (and 1 more): an index must be from -n to n - 1"),
        ([2**63], "UINT64", "IndicesTensor[0] is 9223372036854775808: "),
        ([0, -4, 3], "INT32", ""),
        ([0, 3], "UINT64", ""),
    ],
)
def test_an_index_beyond_the_end_is_named_with_its_rule(
    indices: list[int], data_type: str, expected: str, tmp_path: Path, write: Write
) -> None:
    model = write(gather(indices, data_type))
    found = execute_model(model, "--out", tmp_path / "o")
    assert found.exit_code == 0
    assert (expected in found.stderr) if expected else (found.stderr == "")
    assert ("erratum out-of-range: What an index beyond the end gives is not defined" in found.stderr) is bool(expected)
    assert bool(judged(model, tmp_path / "o")["dispatches"][0]["notes"]) is bool(expected)


def test_a_scale_of_0_is_named() -> None:
    found = CliRunner().invoke(
        dmlcts, ["ask", "ELEMENT_WISE_QUANTIZE_LINEAR", "InputTensor=FLOAT32:[1,2]", "ScaleTensor=FLOAT32:[1,0]"]
    )
    assert "ScaleTensor[1] is 0.0: of each element x, x != 0 must be true" in found.stderr


# What cannot be judged


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (None, "out.npy: cannot be read: No such file or directory; it must hold the output OutputTensor"),
        (np.array([17, 18], np.uint32), "holds uint32 of sizes [2], but OutputTensor is UINT32 (uint32) of sizes [3]"),
        (np.array([[17, 18, 20]], np.uint32), "holds uint32 of sizes [1, 3], but OutputTensor is UINT32 (uint32) of sizes [3]"),
        (np.array([17, 18, 20], np.int32), "holds int32 of sizes [3], but OutputTensor is UINT32 (uint32) of sizes [3]"),
        (np.array([17.0, 18, 20]), "holds float64 of sizes [3]"),
        (np.array([None]), "not a .npy file"),
    ],
)
def test_an_output_that_is_missing_or_another_tensor_is_an_error(
    array: Any, expected: str, tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved(tmp_path / "o", **({} if array is None else {"out": array}))
    assert expected in message(capsys, write(bit_or({}, [3])), folder)


def test_numbers_of_the_other_byte_order_are_the_same_numbers(tmp_path: Path, write: Write) -> None:
    assert judged(write(bit_or({}, [3])), saved(tmp_path / "o", out=np.array([17, 18, 20], ">u4")))["ok"]


@pytest.mark.parametrize(("data_type", "inside", "outside"), [("UINT4", [0, 15], [1, 16]), ("INT4", [-8, 7], [-9, 0])])
def test_elements_of_4_bits_take_a_byte_each_and_are_within_their_type(
    data_type: str, inside: list[int], outside: list[int], tmp_path: Path
) -> None:
    tensor, file = TensorDesc(data_type, (2,)), tmp_path / "out.npy"
    dtype = np.int8 if data_type == "INT4" else np.uint8
    np.save(file, np.array(inside, dtype))
    assert read_output(file, "OutputTensor", tensor).tolist() == inside
    np.save(file, np.array(outside, dtype))
    with pytest.raises(ModelError, match=f"OutputTensor is {data_type}, whose elements are from"):
        read_output(file, "OutputTensor", tensor)


def test_a_model_without_a_verdict_is_an_error(tmp_path: Path, write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    folder = saved(tmp_path / "o", out=np.array([17, 18, 20], np.uint32))
    model = bit_or({}, [3])
    assert "no command dispatches an operator" in message(capsys, write({**model, "commands": []}), folder)
    assert "'out' is an output more than once" in message(capsys, write({**model, "commands": model["commands"] * 2}), folder)
    model["dispatchables"]["or"]["desc"]["BTensor"] = {"DataType": "UINT32", "Sizes": [1]}
    assert "the desc of 'or' is invalid" in message(capsys, write(model), folder)
    assert "does not exist" in message(capsys, write(bit_or({}, [3])), tmp_path / "none")
