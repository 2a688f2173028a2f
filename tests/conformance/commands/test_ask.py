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


def test_an_optional_tensor_is_absent_unless_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    """A probe was misled by a bias that it had not asked for."""
    arguments = ("GEMM", "ATensor=[[1]]", "BTensor=[[2]]", "Alpha=1", "Beta=1", "TransA=NONE", "TransB=NONE")
    code, out, _ = ask(capsys, *arguments)
    assert (code, out.splitlines()) == (
        0,
        ["absent: CTensor (optional; CTensor=present adds it with random data)", "OutputTensor: FLOAT32 1x1: 2.0"],
    )
    assert outputs(capsys, *arguments, "CTensor=[[5]]")["OutputTensor"]["data"] == [7]
    assert outputs(capsys, *arguments, "CTensor=present")["OutputTensor"]["data"] != [2]
    code, out, _ = ask(capsys, *arguments, "CTensor=present", "--json")
    assert (code, json.loads(out)["absent"]) == (0, [])
    given = ("QueryTensor=present", "KeyTensor=present", "ValueTensor=present")
    code, out, _ = ask(capsys, "MULTIHEAD_ATTENTION", *given, "--json")
    found = json.loads(out)
    assert (code, found["broken"], list(found["outputs"])) == (0, [], ["OutputTensor"])
    assert {"BiasTensor", "MaskTensor", "PastKeyTensor", "OutputPresentKeyTensor"} <= {*found["absent"]}


def test_a_required_tensor_is_absent_only_where_that_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ask(capsys, "ADD", "ATensor=null")
    assert (code, out) == (1, "breaks a rule: ATensor is required\n")


def test_a_type_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert outputs(capsys, "ADD", "ATensor=FLOAT16:present")["OutputTensor"]["type"] == "FLOAT16"


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
        (("TOP_K1", "Axis=[1,2"), "Axis: '[1,2' is no value: not YAML: while parsing a flow sequence"),
        (("TOP_K1", "Axis=@/etc/passwd"), "Axis: '@/etc/passwd' is no value"),
        (("TOP_K1", f"Axis={'[' * 3000}"), "is no value: not YAML"),
        (("TOP_K1", f"Axis={'[' * 3000}{']' * 3000}"), "is no value"),
        (("TOP_K1", f"Axis={'9' * 5000}"), "is no value: a number of 5,000 characters"),
        (("TOP_K1", "Axis=99999999999999999999"), "Axis must be an integer from 0 to 4294967295"),
        (("TOP_K1", "Axis=-1"), "Axis must be an integer from 0 to 4294967295, not -1"),
        (("TOP_K1", "Axis=1//0"), "TOP_K1 cannot be made of these values: integer division or modulo by zero"),
        (("TOP_K1", "Axis=\udcff"), "a lone surrogate"),
        (("TOP_K1", "Axis=0", "Axis=1"), "Axis is given twice"),
        (("REDUCE", "Function=-1"), "Function must be an integer"),
        (("ADD", "ATensor=@/etc/passwd"), "ATensor: '@/etc/passwd' is neither sizes"),
        (("ADD", f"ATensor={'[' * 3000}"), "ATensor: "),
        (("ADD", "ATensor=[{}]"), "is neither sizes"),
        (("ADD", "ATensor=[[1],[2,3]]"), "is neither sizes"),
        (("ADD", "ATensor=[a]"), "ATensor: 'a' is no value of FLOAT32"),
        (("ADD", "ATensor=['0xZZ']"), "ATensor: "),
        (("ADD", "ATensor=INT8:[1.5]"), "ATensor: 1.5 is no value of INT8"),
        (("ADD", "ATensor=[1e39]"), "ATensor: 1e+39 is no value of FLOAT32"),
        (("ADD", "ATensor=99999x99999", "BTensor=1", "OutputTensor=1"), "give smaller sizes"),
        (("JOIN", "InputCount=99999999"), "InputCount: 99,999,999 tensors; at most 1,000 are made"),
        (("*",), "'*' may be ELEMENT_WISE_IDENTITY or "),
        (("CONVOLUTION", "GroupCount=NIX"), "GroupCount: CONVOLUTION has no field NIX"),
        (("NOTHING",), "NOTHING"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str) -> None:
    code, out, err = ask(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert len(err) < 600


@pytest.mark.parametrize("descs", ["[ACTIVATION_RELU]", "ACTIVATION_RELU", "['RELU']", "\"['ACTIVATION_RELU'] * 1\""])
def test_several_fused_operators(capsys: pytest.CaptureFixture[str], descs: str) -> None:
    tensors = ("InputTensor=[[[[1],[-2]]]]", "WeightTensor=[[[[3]]]]", "RecurrenceTensor=[[[[0]]]]", "OutputSequenceTensor=present")
    found = outputs(capsys, "RNN", *tensors, f"ActivationDescs={descs}", "Direction=FORWARD")
    assert found["OutputSequenceTensor"]["data"] == [3, 0]


def test_an_unknown_fused_operator(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = ask(capsys, "RNN", "ActivationDescs=[ACTIVATION_TANHS]")
    assert (code, "similar names: ACTIVATION_TANH" in err) == (2, True)


def test_no_sizes_where_an_axis_needs_several_dimensions(capsys: pytest.CaptureFixture[str]) -> None:
    assert outputs(capsys, "SPLIT", "Axis=2")["OutputTensors[0]"]["sizes"] == [2, 2, 2]


def test_a_flag_as_in_ids_of_cases(capsys: pytest.CaptureFixture[str]) -> None:
    one, other = (
        outputs(capsys, "CUMULATIVE_SUMMATION", "InputTensor=[1,2]", "Axis=0", f"HasExclusiveSum={flag}")
        for flag in ("True", "true")
    )
    assert one == other == {"OutputTensor": {"type": "FLOAT32", "sizes": [2], "data": [0, 1]}}
