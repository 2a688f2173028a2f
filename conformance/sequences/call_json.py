"""Calls as JSON, and as YAML that a person writes by hand: ``{"call": "bind-inputs", "table": 4, "to": [{"resource": 5}, null]}``.

A call's name is its class's in lower case with hyphens; its members are the class's fields, those at their default left out. A desc has the form of
``spec/untrusted/desc_json``; bytes are ``{"hex": "00ff"}`` or, as a person prefers, ``{"type": "FLOAT32", "values": [1, -0.5, "nan"]}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from functools import cache
from typing import Any

from dmlcts.conformance.sequences.calls import CALLS, Call, Range, Size, SizeOf, Slot
from dmlcts.spec.model.dtypes import literal_array
from dmlcts.spec.model.operator import Literal, Operator
from dmlcts.spec.reading.schema import unknown
from dmlcts.spec.untrusted.desc_json import DescError, read_desc, write_desc
from dmlcts.spec.untrusted.files import check, path_text, validator


class CallError(ValueError):
    """A sequence is wrong; the message names the call by its place and name, and the member."""


def call_name(of: type[Call]) -> str:
    """``create-operator`` of CreateOperator."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", of.__name__).lower()


BY_NAME = {call_name(each): each for each in CALLS}
"""The classes of calls by name."""


def write_call(call: Call) -> dict[str, Any]:
    """A call as JSON."""
    found: dict[str, Any] = {"call": call_name(type(call))}
    for field in fields(call):
        value = getattr(call, field.name)
        if field.default is MISSING or value != field.default:
            found[field.name] = write_desc(value) if field.name == "desc" else _write(value)
    return found


def _write(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"hex": value.hex()}
    if isinstance(value, Range | SizeOf):
        own = {field.name: (getattr(value, field.name), field.default) for field in fields(value)}
        return {name: _write(held) for name, (held, default) in own.items() if default is MISSING or held != default}
    return [_write(each) for each in value] if isinstance(value, tuple) else value


def read_calls(data: Sequence[Any], find: Callable[[str], Operator]) -> list[Call]:
    """A sequence from its JSON; ``find`` gives an operator's spec by name.

    Raises:
        CallError: a call is wrong, or names an object that no call before it makes.
    """
    calls: list[Call] = []
    made = {0}
    for index, each in enumerate(data):
        call = _read_call(each, f"calls[{index}]", find)
        missing = sorted(objects_of(call) - made)
        if missing:
            raise CallError(f"calls[{index}] ({each['call']}): no call before it makes object {missing[0]}")
        made |= {call.makes} if hasattr(call, "makes") else set()
        calls.append(call)
    return calls


def _read_call(data: Any, where: str, find: Callable[[str], Operator]) -> Call:
    name = data.get("call") if isinstance(data, dict) else None
    if name not in BY_NAME:
        raise CallError(f"{where}.call: {unknown(name, BY_NAME)}")
    where = f"{where} ({name})"
    check(_validator(str(name)), data, lambda path, problem: CallError(f"{path_text(path, where)}: {problem}"))
    try:
        return BY_NAME[str(name)](
            **{member: _read(member, value, find, where) for member, value in data.items() if member != "call"}
        )
    except (DescError, KeyError, OverflowError) as error:
        raise CallError(f"{where}: {error.args[0]}") from None


@cache
def _validator(name: str) -> Any:
    return validator("dmlcts.conformance.sequences", "calls", name)


def _read(member: str, value: Any, find: Callable[[str], Operator], where: str) -> Any:
    if member == "desc":
        return read_desc(value, find, "desc")
    if member in ("data", "query", "content") and value is not None:
        return read_bytes(value, where)
    if member == "to":
        return tuple(map(_read_slot, value)) if isinstance(value, list) else _read_slot(value)
    if member == "size":
        return _read_size(value)
    if member == "nodes":
        return tuple(read_bytes(each, where) if isinstance(each, dict) else each for each in value)
    if member.endswith("edges"):
        return tuple(map(tuple, value))
    return tuple(value) if isinstance(value, list) else value


def read_bytes(value: Mapping[str, Any], where: str) -> bytes:
    """Bytes from their JSON. Raises CallError, and OverflowError for a number that the type cannot hold."""
    if "hex" in value:
        try:
            return bytes.fromhex(value["hex"])
        except ValueError:
            raise CallError(f"{where}.data.hex: not an even number of hexadecimal digits") from None
    return literal_array(Literal(value["type"], (len(value["values"]),), tuple(value["values"]))).tobytes()


def _read_slot(value: Any) -> Slot:
    return tuple(map(_read_range, value)) if isinstance(value, list) else _read_range(value)


def _read_range(value: dict[str, Any] | None) -> Range | None:
    if value is None:
        return None
    return Range(value["resource"], value.get("offset", 0), _read_size(value.get("size")))


def _read_size(value: Any) -> Size | None:
    return SizeOf(**value) if isinstance(value, dict) else value


_REFERENCES = (
    *(
        "device",
        "objects",
        "operator",
        "over",
        "initializer",
        "of",
        "heap",
        "staging",
        "table",
        "resource",
        "list",
        "dispatchable",
        "lists",
        "object",
    ),
)
"""The members that name objects. CreateResource and Range have more: sizes of objects, resources."""


def objects_of(call: Call) -> set[int]:
    """The numbers of the objects that a call names, but for the one that it makes."""
    found: set[int] = set()
    for field in fields(call):
        value = getattr(call, field.name)
        if field.name in ("to", "size"):
            found |= set(_numbers_in(value))
        elif field.name == "nodes":
            found |= {each for each in value if isinstance(each, int)}
        elif field.name in _REFERENCES and value is not None and not isinstance(value, str):
            found |= set(value) if isinstance(value, tuple) else {value}
    return found


def _numbers_in(value: Any) -> list[int]:
    """The objects that slots, ranges and sizes name."""
    if isinstance(value, tuple):
        return [number for each in value for number in _numbers_in(each)]
    if isinstance(value, Range):
        return [value.resource, *_numbers_in(value.size)]
    return [value.of] if isinstance(value, SizeOf) else []
