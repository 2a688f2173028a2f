"""Descs as DxDispatch writes them: read, written, and read again, in both forms; and what is wrong with one."""

import copy
import json
import math
import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias, Size2D, TensorDesc, buffer_tensor_size, packed_strides
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, load_file, load_text, operator_names
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.untrusted.desc_json import DescError, read_desc, read_tensor, write_desc, write_tensor

HARD = Path(__file__).parents[1] / "data" / "operators"
DESCS: dict[str, Any] = json.loads((HARD / "descs.json").read_text(encoding="utf-8"))

HEAD = 'operator: {name}\ntype: {type}\nintroduced: "1_0"\nsummary: Given in a test.\nfields:\n'
TAIL = "constraints: {}\ntolerance: {class: exact}\nsources: [{title: none}]\n"

INNER = """\
  - {name: InputTensor, kind: input, type: TENSOR_DESC}
  - {name: OutputTensor, kind: output, type: TENSOR_DESC}
  - {name: Alpha, kind: attribute, type: FLOAT, optional: true}
support: []
"""

RANDOM_GENERATOR = """\
  - {name: InputStateTensor, kind: input, type: TENSOR_DESC}
  - {name: OutputTensor, kind: output, type: TENSOR_DESC}
  - {name: OutputStateTensor, kind: output, type: TENSOR_DESC, optional: true}
  - {name: Type, kind: attribute, type: UINT, enum: DML_RANDOM_GENERATOR_TYPE}
support:
  - level: "4_0"
    tensors:
      InputStateTensor: &state {dimensions: 1-8, types: [UINT32]}
      OutputTensor: *state
      OutputStateTensor: *state
"""

UPSAMPLE_2D = """\
  - {name: InputTensor, kind: input, type: TENSOR_DESC}
  - {name: OutputTensor, kind: output, type: TENSOR_DESC}
  - {name: ScaleSize, kind: attribute, type: SIZE_2D}
  - {name: InterpolationMode, kind: attribute, type: UINT, enum: DML_INTERPOLATION_MODE}
support: []
"""

INLINE = {"RANDOM_GENERATOR": RANDOM_GENERATOR, "UPSAMPLE_2D": UPSAMPLE_2D}


@cache
def find(name: str) -> Operator:
    """The spec of a hard operator, of one of the package or given above, or of a plain one for what stands inside them."""
    short = name.removeprefix("DML_OPERATOR_")
    file = HARD / f"{short.lower()}.yaml"
    if file.exists():
        return load_file(file)
    if short in operator_names():
        return load(short)
    if short not in abi().operator_types:
        raise KeyError(f"no spec for operator {name!r}")
    return load_text(HEAD.format(name=short, type=abi().operator_types[short]) + INLINE.get(short, INNER) + TAIL)


def below(data: dict[str, Any]) -> dict[str, Any]:
    """DxDispatch's other form: the fields below Desc, prefixes written out, in nested descs and tensors too."""

    def field(value: Any) -> Any:
        if isinstance(value, list):
            return [field(element) for element in value]
        if not isinstance(value, dict):
            return value
        if "DataType" in value:
            return {
                "Type": "BUFFER",
                "Desc": {**value, "DataType": f"DML_TENSOR_DATA_TYPE_{value['DataType']}", "DimensionCount": len(value["Sizes"])},
            }
        return below(value) if "Type" in value else value

    fields = {key: field(value) for key, value in data.items() if key != "Type"}
    return {"Type": f"DML_OPERATOR_{data['Type']}", "Desc": fields}


@pytest.mark.parametrize("name", DESCS)
def test_round_trip(name: str) -> None:
    desc = read_desc(DESCS[name], find)
    written = write_desc(desc)
    assert written == DESCS[name]
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert list(desc.fields) == [field.name for field in find(name).fields], "the struct's order"


@pytest.mark.parametrize("name", DESCS)
def test_fields_below_desc(name: str) -> None:
    assert write_desc(read_desc(below(DESCS[name]), find)) == DESCS[name]


@pytest.mark.parametrize("name", DESCS)
def test_lower_case_as_in_models(name: str) -> None:
    data = below(DESCS[name])
    assert write_desc(read_desc({"type": data["Type"], "desc": data["Desc"]}, find)) == DESCS[name]
    assert write_desc(read_desc({"type": name, **{k: v for k, v in DESCS[name].items() if k != "Type"}}, find)) == DESCS[name]


@pytest.mark.parametrize("name", DESCS)
def test_constants_with_their_prefix(name: str) -> None:
    data = dict(DESCS[name])
    for field in find(name).fields:
        if field.enum and field.name in data:
            data[field.name] = f"{field.enum}_{data[field.name]}"
    assert write_desc(read_desc(data, find)) == DESCS[name]


def test_an_operator_with_a_field_called_type() -> None:
    state = TensorDesc("UINT32", (6,))
    desc = OperatorDesc(
        "RANDOM_GENERATOR",
        {
            "InputStateTensor": state,
            "OutputTensor": TensorDesc("UINT32", (9,)),
            "OutputStateTensor": None,
            "Type": "PHILOX_4X32_10",
        },
    )
    written = write_desc(desc)
    assert written == {
        "Type": "RANDOM_GENERATOR",
        "Desc": {
            "InputStateTensor": {"DataType": "UINT32", "Sizes": [6]},
            "OutputTensor": {"DataType": "UINT32", "Sizes": [9]},
            "Type": "PHILOX_4X32_10",
        },
    }
    assert read_desc(written, find) == desc
    assert violations(find("RANDOM_GENERATOR"), desc) == []
    flat = {"Type": "RANDOM_GENERATOR", **{k: v for k, v in written["Desc"].items() if k != "Type"}}
    assert read_desc(flat, find).fields["Type"] is None, "beside the operator's own Type there is no room for the field"


def test_size_and_scale_and_bias() -> None:
    data = {"Type": "UPSAMPLE_2D", "ScaleSize": {"Width": 2, "Height": 3}, "InterpolationMode": "LINEAR"}
    desc = read_desc(data, find)
    assert desc.fields["ScaleSize"] == Size2D(width=2, height=3) == (2, 3)
    assert write_desc(desc) == data
    assert read_desc({**data, "ScaleSize": [2, 3]}, find) == desc
    clip = read_desc({"Type": "ELEMENT_WISE_CLIP1", "ScaleBias": {"Bias": 2, "Scale": "INF"}}, find)
    assert clip.fields["ScaleBias"] == ScaleBias(scale=math.inf, bias=2)
    assert write_desc(clip) == {"Type": "ELEMENT_WISE_CLIP1", "ScaleBias": {"Scale": "inf", "Bias": 2}}


@pytest.mark.parametrize(
    ("data_type", "given", "value"),
    [
        ("FLOAT32", 2, 2),
        ("FLOAT32", {"Float32": 2.5}, 2.5),
        ("FLOAT32", {"Float32": "NaN"}, "nan"),
        ("FLOAT16", 2, 2),
        ("FLOAT16", {"UInt16": 0x4100}, 2.5),
        ("FLOAT16", {"UInt16": 0xFC00}, "-inf"),
        ("UINT16", {"UInt16": 0x4100}, 0x4100),
        ("INT64", {"Int64": -(2**63)}, -(2**63)),
    ],
)
def test_scalar_unions(data_type: str, given: object, value: object) -> None:
    for form in ({"MinMaxDataType": data_type, "Min": given}, {"Min": given, "MinMaxDataType": data_type}):
        desc = read_desc({"Type": "ELEMENT_WISE_CLIP1", **form}, find)
        assert write_desc(desc) == {"Type": "ELEMENT_WISE_CLIP1", "MinMaxDataType": data_type, "Min": value}


@pytest.mark.parametrize(
    ("flags", "value", "written"),
    [
        ("NONE", 0, None),
        ("OWNED_BY_DML", 1, "OWNED_BY_DML"),
        ("DML_TENSOR_FLAG_OWNED_BY_DML", 1, "OWNED_BY_DML"),
        (["DML_TENSOR_FLAG_OWNED_BY_DML", "NONE"], 1, "OWNED_BY_DML"),
        (6, 6, 6),
    ],
)
def test_flags(flags: object, value: int, written: object) -> None:
    tensor = read_tensor({"DataType": "INT4", "Sizes": [3], "Flags": flags}, "T")
    assert tensor.flags == value
    assert write_tensor(tensor).get("Flags") == written


def test_a_wrong_desc_can_be_written_and_read_too() -> None:
    """Cases that must be refused are stored in the same form."""
    desc = OperatorDesc(
        "REDUCE",
        {
            "Function": 99,
            "InputTensor": TensorDesc("UNKNOWN", (0, 2), strides=(1,), total_size=3, alignment=5),
            "OutputTensor": None,
            "AxisCount": 7,
            "Axes": (),
        },
    )
    assert read_desc(json.loads(json.dumps(write_desc(desc))), find) == desc


CLIP = DESCS["ELEMENT_WISE_CLIP1"]
WRONG: dict[str, tuple[object, str]] = {
    "no-object": ([], "desc: an operator desc is an object with a Type"),
    "no-type": ({"Desc": {}}, "desc: an operator desc is an object with a Type"),
    "unknown-operator": ({"Type": "NONSENSE"}, "desc.Type: no spec for operator 'NONSENSE'"),
    "desc-no-object": ({"Type": "GEMM", "Desc": 3}, "desc.Desc must be an object, not 3"),
    "unknown-field": ({**CLIP, "Middle": 3}, "ELEMENT_WISE_CLIP1: no field Middle; ELEMENT_WISE_CLIP1 has InputTensor,"),
    "tensor": ({**CLIP, "InputTensor": [3]}, "InputTensor: a tensor desc is an object such as"),
    "tensor-without-sizes": ({**CLIP, "InputTensor": {"DataType": "INT8"}}, "InputTensor.Sizes is missing"),
    "data-type": ({**CLIP, "InputTensor": {"DataType": "INT7", "Sizes": [1]}}, "InputTensor.DataType: unknown data type 'INT7'; known:"),
    "sizes": ({**CLIP, "InputTensor": {"DataType": "INT8", "Sizes": [1.5]}}, "InputTensor.Sizes must be an array of integers"),
    "strides": ({**CLIP, "InputTensor": {"DataType": "INT8", "Sizes": [1], "Strides": "a"}}, "InputTensor.Strides must be an array"),
    "dimension-count": (
        {**CLIP, "InputTensor": {"DataType": "INT8", "Sizes": [1], "DimensionCount": 2}}, "InputTensor.DimensionCount is 2, but there",
    ),
    "flag": ({**CLIP, "InputTensor": {"DataType": "INT8", "Sizes": [1], "Flags": "OWNED"}}, "InputTensor.Flags: unknown flag 'OWNED'"),
    "constant": ({**CLIP, "MinMaxDataType": "INT7"}, "MinMaxDataType: DML_TENSOR_DATA_TYPE has no 'INT7'; it has FLOAT32"),
    "number": ({**CLIP, "Min": "low"}, "Min must be a number, not 'low'"),
    "union-of-two": ({**CLIP, "Min": {"Int8": 1, "Int16": 2}}, "Min must be a number or one member of the union"),
    "pair": ({**CLIP, "ScaleBias": {"Scale": 1}}, "ScaleBias must be a number, not None"),
    "pair-of-one": ({**CLIP, "ScaleBias": [1]}, "ScaleBias must have Scale and Bias"),
    "array": ({**DESCS["TILE"], "Repeats": 4}, "Repeats must be an array, not 4"),
    "array-element": ({**DESCS["TILE"], "Repeats": [4, "x"]}, "Repeats[1] must be a number, not 'x'"),
    "tensor-of-array": ({**DESCS["JOIN"], "InputTensors": [{"Sizes": [1]}]}, "InputTensors[0].DataType is missing"),
    "fused": ({**DESCS["GEMM"], "FusedActivation": {"Type": "ACTIVATION_ELU", "Beta": 1}}, "FusedActivation: no field Beta; ACTIVATION_ELU has"),
    "fused-operator": ({**DESCS["GEMM"], "FusedActivation": {"Type": "ELU"}}, "FusedActivation.Type: no spec for operator 'ELU'"),
    "inner": (
        {**DESCS["LSTM"], "ActivationDescs": [{"Type": "ACTIVATION_TANH"}, {"Type": "ACTIVATION_ELU", "Alpha": []}]},
        "ActivationDescs[1].Alpha must be a number",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "says"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_names_the_field(data: object, says: str) -> None:
    with pytest.raises(DescError) as raised:
        read_desc(data, find)
    assert says in str(raised.value)


# Tensor descs themselves


@pytest.mark.parametrize(
    ("data_type", "sizes", "strides", "size"),
    [
        ("UINT4", (5,), None, 4),
        ("UINT4", (8,), None, 4),
        ("UINT4", (9,), None, 8),
        ("INT8", (3,), None, 4),
        ("INT8", (5,), None, 8),
        ("FLOAT16", (1, 3), None, 8),
        ("FLOAT32", (2, 3), None, 24),
        ("FLOAT32", (2, 3), (8, 1), 44),
        ("FLOAT32", (2, 3), (0, 1), 12),
        ("FLOAT64", (2, 2, 2), (0, 0, 0), 8),
    ],
)
def test_least_bytes(data_type: str, sizes: tuple[int, ...], strides: tuple[int, ...] | None, size: int) -> None:
    tensor = TensorDesc(data_type, sizes, strides)
    assert tensor.least_bytes == tensor.bytes == size
    assert buffer_tensor_size(tensor.type, sizes, tensor.effective_strides) == size


def test_packed_strides() -> None:
    assert packed_strides((2, 3, 4)) == (12, 4, 1)
    assert packed_strides(()) == ()


def test_tensors_of_a_desc() -> None:
    desc = read_desc(DESCS["JOIN"], find)
    assert [name for name, _ in desc.tensors()] == ["InputTensors[0]", "InputTensors[1]", "InputTensors[2]", "OutputTensor"]
    assert desc.tensor("InputTensors[1]").sizes == (2, 4, 5)
    assert desc.tensor("InputTensors") is desc.tensor("InputTensors[0]")
    with pytest.raises(KeyError, match=r"JOIN has no tensor 'InputTensors\[3\]'"):
        desc.tensor("InputTensors[3]")
    fused = read_desc(DESCS["GEMM"], find).with_fields(CTensor=None)
    assert [name for name, _ in fused.tensors()] == ["ATensor", "BTensor", "OutputTensor"], (
        "an inner desc's tensors are not the operator's"
    )


@pytest.mark.parametrize(
    ("name", "value", "held"),
    [
        ("INT4", -8, True), ("INT4", 8, False), ("UINT4", 15, True), ("UINT4", -1, False), ("UINT8", 255, True), ("UINT8", 256, False),
        ("INT64", -(2**63), True), ("UINT64", 2**64, False), ("INT32", 1.0, False), ("INT8", "nan", False), ("FLOAT16", "nan", True),
        ("FLOAT16", 65504, True), ("FLOAT16", 65536, False), ("FLOAT32", 1e38, True), ("FLOAT32", 1e39, False), ("FLOAT64", 1e308, True),
        ("FLOAT32", math.inf, True), ("FLOAT16", "0xFFFF", True), ("FLOAT16", "0x10000", False), ("UINT4", "0xF", True), ("UINT4", "0x10", False),
    ],
)  # fmt: skip
def test_what_a_data_type_holds(name: str, value: float | int | str, held: bool) -> None:
    assert abi().data_types[name].holds(value) is held


def test_a_desc_cannot_be_changed() -> None:
    """Cases share it with the implementation under test."""
    fields: dict[str, Any] = {"InputTensor": TensorDesc("FLOAT32", (2,)), "Alpha": 0.5}
    desc = OperatorDesc("ACTIVATION_LEAKY_RELU", fields)
    fields["Alpha"] = 1.0
    with pytest.raises(TypeError, match="does not support item assignment"):
        desc.fields["Alpha"] = 1.0  # type: ignore[index]
    assert desc.fields["Alpha"] == 0.5
    outer = OperatorDesc("GEMM", {"FusedActivation": desc})
    for copied in (pickle.loads(pickle.dumps(outer)), copy.deepcopy(outer), OperatorDesc("GEMM", outer.fields)):
        assert copied == outer
        assert repr(copied) == repr(outer)
        assert list(copied.fields["FusedActivation"].tensors()) == list(desc.tensors())


# Attributes by their types

RELU = OperatorDesc("ACTIVATION_RELU", {})
TYPED = OperatorDesc(
    "MADE_UP",
    {
        "Axis": -1,
        "Axes": (0, 2),
        "Alpha": 0.1,
        "Beta": 1,
        "Scales": (0.1, 2),
        "Keep": 1,
        "Mode": "EDGE",
        "Size": Size2D(4, 2),
        "ScaleBias": ScaleBias(0.1, 1),
        "Value": 2**63,
        "FusedActivation": RELU,
        "Gates": (RELU, RELU),
        "Absent": None,
    },
)
TENTH = 0.10000000149011612
"""0.1 as FLOAT32 holds it."""


def test_each_attribute_is_read_by_its_type() -> None:
    assert (TYPED.integer("Axis"), TYPED.integers("Axes"), TYPED.flag("Keep"), TYPED.constant("Mode")) == (-1, (0, 2), True, "EDGE")
    assert (TYPED.size_2d("Size").height, TYPED.scalar("Value")) == (2, 2**63)
    assert (TYPED.inner(), TYPED.inners("Gates")) == (RELU, (RELU, RELU))


def test_floats_are_what_the_struct_holds() -> None:
    assert (TYPED.number("Alpha"), TYPED.number("Beta"), TYPED.numbers("Scales")) == (TENTH, 1.0, (TENTH, 2.0))
    assert TYPED.scale_bias() == ScaleBias(TENTH, 1.0)
    large = TYPED.with_fields(Alpha=1e39, Beta=math.nan)
    assert large.number("Alpha") == math.inf
    assert math.isnan(large.number("Beta"))


def test_what_is_absent_has_the_default() -> None:
    assert (TYPED.integer("Absent", default=3), TYPED.integers("Dilations", default=(1, 1))) == (3, (1, 1))
    assert (TYPED.number("Offset", default=0.5), TYPED.flag("Absent", default=False), TYPED.constant("Order", "A")) == (
        0.5,
        False,
        "A",
    )
    assert (TYPED.scale_bias("Absent"), TYPED.inner("Absent")) == (None, None)


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (lambda: TYPED.integer("Alpha"), "MADE_UP: Alpha is 0.1, not of type int"),
        (lambda: TYPED.integers("Axis"), "MADE_UP: Axis is -1, not of type tuple"),
        (lambda: TYPED.number("Mode"), "MADE_UP: Mode is 'EDGE', not of type float or int"),
        (lambda: TYPED.constant("Axis"), "MADE_UP: Axis is -1, not of type str"),
        (lambda: TYPED.flag("Absent"), "MADE_UP: Absent is None, not of type int"),
        (lambda: TYPED.scale_bias("Size"), "MADE_UP: Size is .*, not of type ScaleBias"),
        (lambda: TYPED.inner("Mode"), "MADE_UP: Mode is 'EDGE', not of type OperatorDesc"),
        (lambda: TYPED.integer("Axs"), "MADE_UP: Axs is no field of it; it has Axis, Axes, Alpha"),
    ],
)
def test_an_attribute_of_another_type_is_an_error_that_names_it(read: Callable[[], object], problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        read()
