"""``dmlcts ask``: one dispatch from the command line."""

import json
from typing import Any

import pytest

from dmlcts.conformance.commands.cli import main


def ask(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["ask", *arguments])
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def outputs(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, err = ask(capsys, *arguments, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)["outputs"]
    return found


def test_what_is_left_out_follows(capsys: pytest.CaptureFixture[str]) -> None:
    found = outputs(capsys, "REDUCE", "InputTensor=INT32:[[1,2,3],[4,5,6]]", "Axes=[1]", "Function=SUM")
    assert found == {"OutputTensor": {"type": "INT32", "sizes": [2, 1], "data": [6, 15]}}


def test_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ask(capsys, "split", "InputTensor=[[1,2,3],[4,5,nan]]", "OutputTensors=2x1;2x2", "Axis=1")
    assert code == 0
    assert out.splitlines() == [
        "OutputTensors[0]: FLOAT32 2x1: 1.0, 4.0",
        "OutputTensors[1]: FLOAT32 2x2: 2.0, 3.0, 5.0, 0x7FC00000",
    ]


def test_random_data_and_absent_tensors(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (outputs(capsys, "ELEMENT_WISE_NEGATE", "InputTensor=FLOAT16:2x3") for _ in range(2))
    assert one == other
    assert one["OutputTensor"]["type"] == "FLOAT16"
    assert len(set(one["OutputTensor"]["data"])) == 6
    arguments = ("InputTensor=[3.4]", "ScaleTensor=[1]", "ZeroPointTensor=null", "OutputTensor=INT8:1")
    assert outputs(capsys, "ELEMENT_WISE_QUANTIZE_LINEAR", *arguments)["OutputTensor"]["data"] == [3]


def test_a_fused_operator(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("GEMM", "ATensor=[[1]]", "BTensor=[[-2]]", "CTensor=null", "Alpha=1", "TransA=NONE", "TransB=NONE")
    assert outputs(capsys, *arguments)["OutputTensor"]["data"] == [-2]
    assert outputs(capsys, *arguments, "FusedActivation=ACTIVATION_RELU")["OutputTensor"]["data"] == [0]


def test_a_broken_rule_is_run_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ask(capsys, "SPLIT", "InputTensor=[[1,2,3]]", "OutputTensors=1x1;1x1", "Axis=1")
    assert (code, out) == (1, "breaks a rule: InputTensor has 3 where sum(Parts) is 2\n")
    assert "refused at create" in err


def test_a_count_is_as_given(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ask(capsys, "UNFOLD", "InputTensor=1x1x4", "WindowSizes=[2]", "DimensionCount=3")
    assert (code, out.splitlines()[0]) == (1, "breaks a rule: WindowSizes has 1 elements, but DimensionCount is 3")
    assert ask(capsys, "UNFOLD", "InputTensor=1x1x4", "WindowSizes=[2]", "DimensionCount=1")[0] == 0
    assert ask(capsys, "UNFOLD", "InputTensor=1x1x4", "WindowSizes=[2]", "DimensionCount=InputTensor.DimensionCount - 2")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("JOIN", "Foo=1"), "must be FIELD=VALUE, with a field of JOIN: InputCount, InputTensors, OutputTensor, Axis"),
        (("JOIN", "Axis"), "must be FIELD=VALUE"),
        (("JOIN", "InputTensors=[1];[[2]"), r"InputTensors: '[[2]' is neither sizes such as 2x3 nor a list"),
        (("JOIN", "InputTensors=[1];[2]", "Axis=3"), "give every tensor, also the outputs"),
        (("REDUCE", "InputTensor=2", "Function=TOTAL"), "Function: DML_REDUCE_FUNCTION has no 'TOTAL'"),
        (("ELEMENT_WISE_ABS", "InputTensor=INT8:[300]"), "InputTensor: "),
        (("CONVOLUTION", "FusedActivation=NIX"), "no operator 'NIX'"),
        (("CONVOLUTION", "GroupCount=NIX"), "GroupCount: CONVOLUTION has no field NIX"),
        (("NOTHING",), "NOTHING"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    code, out, err = ask(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
