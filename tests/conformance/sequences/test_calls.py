"""The vocabulary: every call is in the schema as it is in code, survives being written and read, and what is wrong is named."""

import inspect
import json
from dataclasses import MISSING, fields
from typing import Any

import jsonschema
import pytest

from dmlcts.conformance.sequences.call_json import BY_NAME, CallError, objects_of, read_calls, write_call
from dmlcts.conformance.sequences.calls import (
    Barrier,
    BindInputs,
    BindPersistent,
    Compile,
    CreateOperator,
    CreateResource,
    CreateTable,
    Range,
    Read,
    SizeOf,
    Submit,
    Write,
)
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load
from dmlcts.spec.untrusted.files import schema_of

SCHEMA = schema_of("dmlcts.conformance.sequences", "calls")

TENSOR = {"DataType": "FLOAT32", "Sizes": [4]}

BY_HAND: list[dict[str, Any]] = [
    {"call": "create-operator", "makes": 1, "desc": {"Type": "ELEMENT_WISE_ABS", "InputTensor": TENSOR, "OutputTensor": TENSOR}},
    {"call": "compile", "makes": 2, "operator": 1, "flags": ["DESCRIPTORS_VOLATILE"]},
    {"call": "create-resource", "makes": 3, "size": 32},
    {"call": "write", "resource": 3, "data": {"type": "FLOAT32", "values": [-1, 2.5, "nan", "-inf"]}},
    {"call": "create-table", "makes": 4, "of": 2},
    {"call": "bind-inputs", "table": 4, "to": [{"resource": 3, "size": 16}]},
    {"call": "bind-outputs", "table": 4, "to": [{"resource": 3, "offset": 16, "size": 16}]},
    {"call": "bind-persistent", "table": 4, "to": None},
    {"call": "create-list", "makes": 5},
    {"call": "record", "list": 5, "dispatchable": 2, "table": 4},
    {"call": "close", "list": 5},
    {"call": "submit", "lists": [5]},
    {"call": "wait"},
    {"call": "read", "resource": 3, "offset": 16, "size": 16},
]


@pytest.mark.parametrize("name", BY_NAME)
def test_the_schema_says_of_a_call_what_its_class_says(name: str) -> None:
    entry, of = SCHEMA["$defs"][name], BY_NAME[name]
    own = {field.name: field for field in fields(of)}
    assert entry["properties"].keys() - {"call"} == own.keys()
    assert set(entry["required"]) == {"call"} | {field.name for field in own.values() if field.default is MISSING}
    assert entry["description"] == " ".join((inspect.getdoc(of) or "").split())
    assert {"$ref": f"#/$defs/{name}"} in SCHEMA["items"]["oneOf"]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_sequence_written_by_hand_is_read() -> None:
    jsonschema.validate(BY_HAND, SCHEMA)
    calls = read_calls(BY_HAND, load)
    assert calls[3] == Write(3, bytes.fromhex("000080bf 00002040 0000c07f 000080ff"))
    assert calls[5] == BindInputs(4, (Range(3, 0, 16),))
    assert calls[7] == BindPersistent(4, None)


def test_calls_survive_being_written_and_read() -> None:
    desc = OperatorDesc("ELEMENT_WISE_ABS", {"InputTensor": TensorDesc("UINT8", (3,)), "OutputTensor": TensorDesc("UINT8", (3,))})
    calls = [
        CreateOperator(1, desc),
        Compile(2, 1, ("DESCRIPTORS_VOLATILE",)),
        CreateResource(3, SizeOf(2, "persistent", 512), 255),
        Write(3, b"\x00\xff", 4),
        CreateTable(4, thread="second"),
        BindInputs(4, ((Range(3), None), None, Range(3, 16, SizeOf(2, "temporary")))),
        Read(3, 0, 2),
    ]
    found = read_calls(json.loads(json.dumps([write_call(call) for call in calls])), load)
    # An optional field that is absent is None in a desc that was read.
    assert found[1:] == calls[1:]
    assert found[0] == CreateOperator(1, load_like(desc))


def load_like(desc: OperatorDesc) -> OperatorDesc:
    return OperatorDesc(desc.type, {field.name: desc.fields.get(field.name) for field in load(desc.type).fields})


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ({"call": "bind-input", "table": 4}, r"calls\[0\].call: unknown 'bind-input' \(did you mean 'bind-inputs'\?\)"),
        ({"makes": 4}, r"calls\[0\].call: unknown None"),
        ({"call": "wait", "until": 3}, r"calls\[0\] \(wait\).until: is unknown"),
        ({"call": "close"}, r"calls\[0\] \(close\).list: is missing"),
        ({"call": "create-list", "makes": 1, "type": "COPY"}, r"create-list\).type"),
        ({"call": "create-list", "makes": 0}, r"create-list\).makes"),
        ({"call": "write", "resource": 0, "data": {"hex": "abc"}}, r"write\).data.hex: not an even number"),
        ({"call": "write", "resource": 0, "data": {"type": "UINT8", "values": [256]}}, r"\(write\): .*256"),
        ({"call": "read", "resource": 7}, r"calls\[0\] \(read\): no call before it makes object 7"),
        ({"call": "bind-persistent", "table": 0, "to": {"resource": 8}}, "makes object 8"),
        ({"call": "create-resource", "makes": 1, "size": {"of": 9, "size": "temporary"}}, "makes object 9"),
        ({"call": "create-operator", "makes": 1, "desc": {"Type": "NO_SUCH"}}, r"create-operator\): .*NO_SUCH"),
    ],
)
def test_what_is_wrong_with_a_call_is_named(call: dict[str, Any], problem: str) -> None:
    with pytest.raises(CallError, match=problem):
        read_calls([call], load)


def test_the_objects_that_a_call_names_are_found() -> None:
    assert objects_of(Barrier(5)) == {5}
    assert objects_of(Submit((6, 7))) == {6, 7}
    assert objects_of(BindInputs(1, (Range(2, size=SizeOf(3, "temporary")), (None, Range(4)), None))) == {1, 2, 3, 4}
