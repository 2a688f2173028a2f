"""Frames, descs in numbers and answers, without a process."""

from __future__ import annotations

import json
import struct
from dataclasses import fields
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmlcts.conformance.backends.backend import STAGES, BackendFault, BackendInfo, BufferBinding, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.protocol import (
    MAGIC,
    PREFIX,
    ProtocolError,
    Source,
    WireError,
    answer_views,
    frame,
    parts,
    raise_status,
    read_header,
    read_info,
    run_request,
    scalar_bytes,
    wire_fields,
    wire_operator,
    wire_tensor,
)
from dmlcts.spec.abi import abi
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.foreign import schema_of, validator
from dmlcts.spec.loader import load_text
from dmlcts.spec.model import Operator

# Frames


class Chunks:
    """A raw stream that gives at most ``most`` bytes at a time."""

    def __init__(self, data: bytes, most: int) -> None:
        self.data, self.most = BytesIO(data), most

    def read(self, size: int, /) -> bytes:
        return self.data.read(min(size, self.most))

    def readinto(self, view: memoryview, /) -> int:
        return self.data.readinto(view[: self.most])


def test_a_frame_is_what_the_document_says() -> None:
    text = b'{"request":"describe"}'
    assert frame({"request": "describe"}) == b"DMLCTS\x01\n" + struct.pack("<IQ", len(text), 0) + text
    assert frame({}, 0x0102030405060708).hex() == "444d4c435453010a" + "02000000" + "0807060504030201" + "7b7d"


@pytest.mark.parametrize("most", [1, 7, 1 << 16])
def test_frames_are_read_however_they_come(most: int) -> None:
    sent = frame({"status": "ok", "é": [1]}, 6) + b"abcdef" + frame({"second": 2})
    source = Source(Chunks(sent, most))
    assert read_header(source) == ({"status": "ok", "é": [1]}, 6)
    payload = bytearray(6)
    source.fill(memoryview(payload)[:4])
    source.fill(memoryview(payload)[4:])
    assert payload == b"abcdef"
    assert read_header(source) == ({"second": 2}, 0)
    with pytest.raises(ProtocolError, match="the output ended before a frame") as error:
        read_header(source)
    assert error.value.ended


def test_the_first_wrong_byte_is_enough() -> None:
    class Stream(Chunks):
        def read(self, size: int, /) -> bytes:
            return super().read(size) or pytest.fail("read on after a byte that no frame has there")

    for data in (b"o", b"DMLX", b"DMLCTS\x02", b"\r\nDMLCTS"):
        with pytest.raises(ProtocolError, match="is not a frame") as error:
            read_header(Source(Stream(data, 1 << 16)))
        assert error.value.seen == data
        assert not error.value.ended


@settings(derandomize=True, database=None, deadline=None)
@given(
    st.one_of(
        st.binary(max_size=64), st.binary(max_size=64).map(MAGIC.__add__), st.text(max_size=40).map(lambda t: framed(t.encode()))
    )
)
def test_whatever_comes_is_a_frame_or_a_protocol_error(data: bytes) -> None:
    source = Source(Chunks(data, 1 << 16))
    try:
        header, length = read_header(source)
    except ProtocolError:
        return
    assert isinstance(header, dict)
    assert data.startswith(MAGIC)
    assert length == PREFIX.unpack_from(data)[2]


def framed(text: bytes) -> bytes:
    return PREFIX.pack(MAGIC, len(text), 0) + text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["ok", "rejected", "error", "create"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
HEADERS = st.fixed_dictionaries({}, optional=dict.fromkeys(("status", "id", "resources", "message", "stage", "code"), JSON))


@settings(derandomize=True, database=None, deadline=None)
@given(HEADERS, st.integers(0, 40))
def test_no_answer_is_believed_unchecked(header: dict[str, Any], length: int) -> None:
    work = bit_or()
    try:
        views = answer_views(header, length, 2, work)
        raise_status(header)
    except (ProtocolError, Rejected, Unsupported, BackendFault):
        return
    assert header["status"] == "ok"
    assert header["id"] == 2
    assert 2 in header["resources"]
    assert sum(len(view) for view in views) == length


def test_small_requests_are_written_at_once_and_large_ones_uncopied() -> None:
    resources = [memoryview(bytearray(b"a" * 10)), memoryview(bytearray(b"b" * 100_000))]
    assert parts([b"head", resources[0]]) == [b"head" + b"a" * 10]
    large = parts([b"head", *resources])
    assert [piece is given for piece, given in zip(large[1:], resources, strict=True)] == [True, True]


# Descs in numbers


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
    for said in (data_type, abi().data_types[data_type].value):
        sent = values("ELEMENT_WISE_CLIP1", MinMaxDataType=said, Min=value, ScaleBias=(2.0, -1))
        assert (sent["Min"], sent["Max"], sent["ScaleBias"]) == (expected, None, [2.0, -1.0])


def test_a_scalar_union_is_of_the_type_that_its_own_field_says() -> None:
    assert values("DIAGONAL_MATRIX1", OtherType="FLOAT16", ValueDataType="INT16", Value=-2)["Value"] == "feff000000000000"
    assert values("DIAGONAL_MATRIX1", OtherType="FLOAT16", Value=-2)["Value"] == "000000c000000000"


@pytest.mark.parametrize("said", ["UNKNOWN", 99, None])
def test_a_scalar_union_without_a_valid_type_is_float32(said: object) -> None:
    assert values("ELEMENT_WISE_CLIP1", MinMaxDataType=said, Min=1)["Min"] == "0000803f00000000"


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


# Requests and answers


def bit_or() -> Dispatch:
    tensor = TensorDesc("UINT16", (3,))
    desc = OperatorDesc("ELEMENT_WISE_BIT_OR", dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), tensor))
    resources = [np.arange(start, start + 24, dtype=np.uint8) for start in (0, 100, 200)]
    return Dispatch(desc, resources, {name: BufferBinding(i, 16, 8) for i, name in enumerate(desc.fields)}, ("OutputTensor",))


def test_a_request_says_everything_and_copies_nothing() -> None:
    work = bit_or()
    head, *views = run_request(work, 7, OPERATORS.__getitem__)
    header, length = read_header(Source(BytesIO(head)))
    assert header == {
        "request": "run",
        "id": 7,
        **wire_operator(work.desc, OPERATORS.__getitem__),
        "resources": [{"size": 24}] * 3,
        "bindings": [
            {"tensor": "ATensor", "resource": 0, "offset": 16, "size": 8},
            {"tensor": "BTensor", "resource": 1, "offset": 16, "size": 8},
            {"tensor": "OutputTensor", "resource": 2, "offset": 16, "size": 8},
        ],
        "outputs": ["OutputTensor"],
        "flags": 0,
    }
    assert header["operator_type"] == 122
    assert length == 72
    assert all(np.shares_memory(np.asarray(view), resource) for view, resource in zip(views, work.resources, strict=True))


def test_an_answer_is_read_into_the_resources_themselves() -> None:
    work = bit_or()
    (view,) = answer_views({"status": "ok", "id": 7, "resources": [2]}, 24, 7, work)
    Source(BytesIO(b"x" * 24)).fill(view)
    assert work.resources[2].tobytes() == b"x" * 24


def test_an_output_that_is_not_bound_need_not_come_back() -> None:
    work = bit_or()
    unbound = Dispatch(work.desc, work.resources, {}, work.outputs)
    assert answer_views({"status": "ok", "id": 7, "resources": []}, 0, 7, unbound) == []


def test_a_description_has_the_fields_of_backend_info() -> None:
    info = BackendInfo("host", "2", "GPU 0", "5_0", ("FLOAT32", "INT4"), "flush", "truncate", 24, True, {"driver": "31.0"})
    assert read_info({"status": "ok", **json.loads(json.dumps(info.to_json()))}) == info
    assert {field.name for field in fields(BackendInfo)} == info.to_json().keys()
    assert read_info({"status": "ok", "name": "host"}) == BackendInfo("host")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", ""),
        ("name", 3),
        ("version", 1.0),
        ("device", None),
        ("feature_level", "6.4"),
        ("data_types", "FLOAT32"),
        ("data_types", ["float32"]),
        ("data_types", [[]]),
        ("denormals", "keep"),
        ("half_store", "even"),
        ("accumulator", True),
        ("accumulator", -1),
        ("nearest", 1),
        ("details", []),
    ],
)
def test_a_description_is_not_believed_unchecked(key: str, value: object) -> None:
    with pytest.raises(ProtocolError, match=f"the description's {key} cannot be"):
        read_info({"status": "ok", "name": "host", key: value})


# The JSON Schema of answers, which other hosts' authors may use, says the same as the code

VALUES = st.sampled_from(
    ["ok", "rejected", "unsupported", "error", "name", "", "6_4", "9_9", "create", "any", "preserve", "nearest", "truncate", 0, 24, -1, 2000, True, None]
) | st.lists(st.sampled_from(["FLOAT32", "INT4", "UINT33", 7]), max_size=2) | st.just({"a": 1})  # fmt: skip
KEYS = ["status", "name", "version", "device", "feature_level", "data_types", "denormals", "half_store", "accumulator", "nearest", "details",
        "message", "stage", "code", "other"]  # fmt: skip
GOOD = {"status": "ok", "name": "n", "message": "m", "stage": "create"}


def accepts(header: dict[str, Any]) -> bool:
    try:
        read_info(header)
    except ProtocolError:
        return False
    except (Rejected, Unsupported, BackendFault):
        pass
    return True


@settings(max_examples=500, derandomize=True, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6), st.sets(st.sampled_from(list(GOOD))))
def test_the_schema_of_answers_says_what_the_code_checks(header: dict[str, Any], kept: set[str]) -> None:
    header = header | {key: GOOD[key] for key in kept}
    assert validator("dmlcts.conformance.backends", "answer", "describe").is_valid(header) == accepts(header)


def test_the_schema_of_answers_names_every_level_type_and_stage() -> None:
    ok = schema_of("dmlcts.conformance.backends", "answer")["$defs"]["describe"]["oneOf"][1]
    assert ok["properties"]["feature_level"]["enum"] == list(abi().feature_levels)
    assert set(ok["properties"]["data_types"]["items"]["enum"]) == set(abi().data_types)
    refused = schema_of("dmlcts.conformance.backends", "answer")["$defs"]["refused"]["oneOf"][1]
    assert refused["properties"]["stage"]["enum"] == list(STAGES)


def test_a_hosts_texts_are_clean() -> None:
    text = "\x1b[2J\n::error::x" + "y" * 5000
    info = read_info({"status": "ok", "name": text, "version": text, "details": {text: [text]}})
    with pytest.raises(Rejected) as rejected:
        raise_status({"status": "rejected", "message": text, "stage": "create", "code": text})
    with pytest.raises(BackendFault) as fault:
        raise_status({"status": "error", "message": text, "evidence": {"a": text}})
    for shown in (info.name, info.version, *info.details, str(rejected.value), rejected.value.code, str(fault.value)):
        assert shown.isprintable()
        assert "::error" not in shown
        assert len(shown) <= 2000
    assert "\x1b" not in fault.value.evidence
