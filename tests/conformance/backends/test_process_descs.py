"""Operator descs as requests to a process have them: fields, tensors, constants and scalars in numbers."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from dmlcts.conformance.backends.process.protocol import (
    WireError,
    scalar_bytes,
    wire_fields,
    wire_operator,
    wire_tensor,
)
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load_text


def operator(name: str, *rows: str) -> Operator:
    """An operator with these fields: ``"Padding attribute UINT_ARRAY"``, and after it ``optional``, ``enum=NAME``, ``data_type=FIELD``."""
    lines = [f"operator: {name}", f"type: {abi().operator_types[name]}", 'introduced: "1_0"', "summary: A test's.", "fields:"]
    for row in rows:
        field, kind, kind_of_value, *rest = row.split()
        more = "".join(", optional: true" if word == "optional" else f", {word.replace('=', ': ')}" for word in rest)
        lines.append(f"  - {{name: {field}, kind: {kind}, type: {kind_of_value}{more}}}")
    lines += ["support: []", "constraints: {}", "tolerance: {class: exact}", "sources: [{title: a test}]"]
    return load_text("\n".join(lines) + "\n")


OPERATORS = {
    spec.name: spec
    for spec in (
        operator(
            "ELEMENT_WISE_BIT_OR", "ATensor input TENSOR_DESC", "BTensor input TENSOR_DESC", "OutputTensor output TENSOR_DESC"
        ),
        operator(
            "ELEMENT_WISE_CLIP1",
            "InputTensor input TENSOR_DESC",
            "OutputTensor output TENSOR_DESC",
            "ScaleBias attribute SCALE_BIAS optional",
            "MinMaxDataType attribute UINT enum=DML_TENSOR_DATA_TYPE",
            "Min attribute SCALAR_UNION",
            "Max attribute SCALAR_UNION",
        ),
        operator(
            "DIAGONAL_MATRIX1",
            "OtherType attribute UINT enum=DML_TENSOR_DATA_TYPE",
            "ValueDataType attribute UINT enum=DML_TENSOR_DATA_TYPE",
            "Value attribute SCALAR_UNION data_type=ValueDataType",
        ),
        operator("ELEMENT_WISE_CLIP", "Min attribute FLOAT", "Max attribute FLOAT"),
        operator("JOIN", "InputCount attribute UINT", "InputTensors input TENSOR_DESC_ARRAY", "Axis attribute UINT"),
        operator("UPSAMPLE_2D", "ScaleSize attribute SIZE_2D", "InterpolationMode attribute UINT enum=DML_INTERPOLATION_MODE"),
        operator("ACTIVATION_ELU", "InputTensor input TENSOR_DESC optional", "Alpha attribute FLOAT"),
        operator("GEMM", "CTensor input TENSOR_DESC optional", "FusedActivation attribute OPERATOR_DESC optional"),
        operator("RNN", "ActivationDescCount attribute UINT", "ActivationDescs attribute OPERATOR_DESC_ARRAY"),
        operator(
            "PADDING",
            "A attribute UINT_ARRAY",
            "B attribute INT_ARRAY optional",
            "C attribute FLOAT_ARRAY",
            "D attribute BOOL",
            "E attribute INT",
            "F attribute UINT64",
            "G attribute SCALAR_UNION",
        ),
    )
}


def values(name: str, **fields: object) -> dict[str, Any]:
    """The values that a desc with these fields gets, by name."""
    return {field["name"]: field["value"] for field in wire_fields(OperatorDesc(name, fields), OPERATORS.__getitem__)}


def test_fields_come_in_the_struct_s_order_with_kind_and_type() -> None:
    desc = OperatorDesc("JOIN", {"Axis": 1, "InputTensors": (TensorDesc("INT4", (3,)),), "InputCount": 1})
    assert wire_fields(desc, OPERATORS.__getitem__) == [
        {"name": "InputCount", "kind": "attribute", "type": "UINT", "value": 1},
        {
            "name": "InputTensors",
            "kind": "input",
            "type": "TENSOR_DESC_ARRAY",
            "value": [{"data_type": 13, "sizes": [3], "strides": None, "flags": 0, "total_size": 4, "alignment": 0}],
        },
        {"name": "Axis", "kind": "attribute", "type": "UINT", "value": 1},
    ]


def test_a_tensor_is_sent_whole() -> None:
    tensor = TensorDesc("FLOAT16", (2, 3), (8, 1), flags=1, total_size=64, alignment=256)
    whole = {"data_type": 2, "sizes": [2, 3], "strides": [8, 1], "flags": 1, "total_size": 64, "alignment": 256}
    assert wire_tensor(tensor) == whole
    assert wire_tensor(TensorDesc("FLOAT16", (2, 3), (8, 1)))["total_size"] == 24


@pytest.mark.parametrize(
    ("tensor", "data_type", "total"),
    [
        (TensorDesc("UNKNOWN", (2, 3)), 0, 24),
        (TensorDesc("FLOAT32", (2, 0)), 1, 0),
        (TensorDesc("FLOAT32", (2, 3), (1,)), 1, 24),
        (TensorDesc("UINT8", (5,), total_size=3), 5, 3),
        (TensorDesc("UINT8", ()), 5, 4),
    ],
)
def test_a_desc_that_is_wrong_on_purpose_can_be_sent(tensor: TensorDesc, data_type: int, total: int) -> None:
    sent = wire_tensor(tensor)
    assert (sent["data_type"], sent["total_size"]) == (data_type, total)
    assert sent["sizes"] == list(tensor.sizes)
    assert sent["strides"] == (None if tensor.strides is None else list(tensor.strides))


def test_every_type_of_attribute() -> None:
    assert values("PADDING", A=(1, 2**32 - 1), B=(-1, 2), C=(0.5, float("-inf")), D=True, E=-3, F=2**64 - 1, G=1.5) == {
        "A": [1, 2**32 - 1],
        "B": [-1, 2],
        "C": [0.5, "-inf"],
        "D": 1,
        "E": -3,
        "F": 2**64 - 1,
        "G": "0000c03f00000000",  # nothing says its type: FLOAT32
    }
    assert type(values("PADDING", D=True)["D"]) is int
    assert values("PADDING", B=None)["B"] is None
    assert values("PADDING")["A"] is None


def test_a_float_is_the_float32_that_the_struct_holds() -> None:
    sent = values("ELEMENT_WISE_CLIP", Min=0.1, Max=16777217)
    assert sent == {"Min": 0.10000000149011612, "Max": 16777216.0}
    assert json.dumps(values("ELEMENT_WISE_CLIP", Min=float("nan"), Max=1e39)) == '{"Min": "nan", "Max": "inf"}'
    assert str(values("ELEMENT_WISE_CLIP", Min=-0.0)["Min"]) == "-0.0"


def test_a_constant_is_a_number_valid_or_not() -> None:
    assert values("UPSAMPLE_2D", ScaleSize=(2, 3), InterpolationMode="LINEAR") == {"ScaleSize": [2, 3], "InterpolationMode": 1}
    assert values("UPSAMPLE_2D", InterpolationMode=77)["InterpolationMode"] == 77
    assert values("ELEMENT_WISE_CLIP1", MinMaxDataType="UNKNOWN")["MinMaxDataType"] == 0


def test_operator_descs_are_sent_as_the_request_is() -> None:
    elu = OperatorDesc("ACTIVATION_ELU", {"InputTensor": None, "Alpha": 0.5})
    whole = {
        "operator": "ACTIVATION_ELU",
        "operator_type": 35,
        "fields": [
            {"name": "InputTensor", "kind": "input", "type": "TENSOR_DESC", "value": None},
            {"name": "Alpha", "kind": "attribute", "type": "FLOAT", "value": 0.5},
        ],
    }
    assert wire_operator(elu, OPERATORS.__getitem__) == whole
    assert values("GEMM", FusedActivation=elu) == {"CTensor": None, "FusedActivation": whole}
    assert values("GEMM", FusedActivation=None)["FusedActivation"] is None
    assert values("RNN", ActivationDescCount=2, ActivationDescs=(elu, elu))["ActivationDescs"] == [whole, whole]


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        ("FLOAT32", 1.5, "0000c03f00000000"),
        ("FLOAT32", float("nan"), "0000c07f00000000"),
        ("FLOAT32", 1e39, "0000807f00000000"),
        ("FLOAT16", -2, "00c0000000000000"),
        ("FLOAT16", 65520.0, "007c000000000000"),
        ("FLOAT64", 0.1, struct.pack("<d", 0.1).hex()),
        ("UINT8", 255, "ff00000000000000"),
        ("INT8", -1, "ff00000000000000"),
        ("INT16", -32768, "0080000000000000"),
        ("UINT32", 3.0, "0300000000000000"),
        ("INT64", -(2**63), "0000000000000080"),
        ("UINT64", 2**64 - 1, "ffffffffffffffff"),
        ("INT4", -8, "f800000000000000"),
        ("UINT4", 15, "0f00000000000000"),
    ],
)
def test_a_scalar_union_is_laid_out_by_its_type(data_type: str, value: float, expected: str) -> None:
    assert scalar_bytes(value, data_type).hex() == expected
    for named in (data_type, abi().data_types[data_type].value):
        sent = values("ELEMENT_WISE_CLIP1", MinMaxDataType=named, Min=value, ScaleBias=(2.0, -1))
        assert (sent["Min"], sent["Max"], sent["ScaleBias"]) == (expected, None, [2.0, -1.0])


def test_a_scalar_union_is_of_the_type_that_its_own_field_says() -> None:
    assert values("DIAGONAL_MATRIX1", OtherType="FLOAT16", ValueDataType="INT16", Value=-2)["Value"] == "feff000000000000"
    assert values("DIAGONAL_MATRIX1", OtherType="FLOAT16", Value=-2)["Value"] == "000000c000000000"


@pytest.mark.parametrize("named", ["UNKNOWN", 99, None])
def test_a_scalar_union_without_a_valid_type_is_float32(named: object) -> None:
    assert values("ELEMENT_WISE_CLIP1", MinMaxDataType=named, Min=1)["Min"] == "0000803f00000000"


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("PADDING", {"H": 1}, "PADDING has no field H"),
        ("PADDING", {"A": 3}, "A must be an array, not 3"),
        ("PADDING", {"A": (1, -1)}, "A must be an integer from 0 to 4294967295, not -1"),
        ("PADDING", {"A": (1.5,)}, "A must be an integer"),
        ("PADDING", {"C": ("wide",)}, "C must be a number, not 'wide'"),
        ("PADDING", {"D": 2}, "D must be an integer from 0 to 1"),
        ("PADDING", {"E": 2**31}, "E must be an integer"),
        ("PADDING", {"F": 2**64}, "F must be an integer"),
        ("UPSAMPLE_2D", {"ScaleSize": (1, 2, 3)}, "ScaleSize must be a pair"),
        ("UPSAMPLE_2D", {"InterpolationMode": "CUBIC"}, "DML_INTERPOLATION_MODE has no 'CUBIC'; it has UNKNOWN, NEAREST_NEIGHBOR"),
        ("UPSAMPLE_2D", {"InterpolationMode": -1}, "InterpolationMode must be an integer"),
        ("GEMM", {"CTensor": OperatorDesc("GEMM")}, "CTensor must be a TensorDesc"),
        ("GEMM", {"FusedActivation": TensorDesc("FLOAT32", (1,))}, "FusedActivation must be a OperatorDesc"),
        ("GEMM", {"CTensor": TensorDesc("FLOAT8", (1,))}, "CTensor.DataType: DML_TENSOR_DATA_TYPE has no 'FLOAT8'"),
        ("JOIN", {"InputTensors": (None, 3)}, "InputTensors must be a TensorDesc, not 3"),
        ("ELEMENT_WISE_CLIP1", {"MinMaxDataType": "UINT8", "Min": 256}, r"Min \(UINT8\) must be an integer from 0 to 255"),
        ("ELEMENT_WISE_CLIP1", {"MinMaxDataType": "INT4", "Min": 8}, r"Min \(INT4\) must be an integer from -8 to 7"),
        ("ELEMENT_WISE_CLIP1", {"MinMaxDataType": "INT32", "Min": 0.5}, r"Min \(INT32\) must be an integer"),
        ("ELEMENT_WISE_CLIP1", {"MinMaxDataType": "INT32", "Min": float("inf")}, r"Min \(INT32\) must be an integer"),
    ],
)
def test_what_a_struct_cannot_hold_is_not_sent(name: str, wrong: dict[str, object], message: str) -> None:
    with pytest.raises(WireError, match=message):
        values(name, **wrong)
