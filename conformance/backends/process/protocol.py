"""The protocol that ``process:COMMAND`` speaks: frames, requests and answers as bytes. docs/process-protocol.md describes it.

A frame is a magic number, two lengths, a header in JSON and a payload of raw bytes. A request has only numbers, so that a
host needs no tables: operator and data types, enumeration constants, scalar unions in memory order. Answers are checked completely:
``ProtocolError`` carries what was received instead.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from io import RawIOBase
from typing import Any

import numpy as np

from dmlcts.conformance.backends.backend import STAGES, BackendFault, BackendInfo, Dispatch, GraphDispatch, Rejected, Unsupported
from dmlcts.reports.record.paths import MOST_PATHS, CodePath, code_path
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import UNKNOWN, OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Field, Operator
from dmlcts.spec.untrusted import sanitize
from dmlcts.spec.untrusted.files import InputError, decode, parse_json

MAGIC = b"DMLCTS\x01\n"
PREFIX = struct.Struct("<8sIQ")
"""The prefix of every frame: magic, header length, payload length."""

MAX_HEADER = 1 << 20
"""The longest header in bytes. A payload needs no limit: its length must equal that of the returned resources."""

Header = dict[str, Any]
Find = Callable[[str], Operator]


class ProtocolError(Exception):
    """The received bytes violate the protocol.

    ``seen`` is the beginning of what was received, where that helps; ``ended`` says that the stream has ended.
    """

    def __init__(self, message: str, seen: bytes = b"", ended: bool = False) -> None:
        super().__init__(message)
        self.seen, self.ended = seen, ended


class WireError(ValueError):
    """A desc has a value that its struct cannot hold; the message names the field. The case is at fault, not the host."""


# Frames


class RawStream:
    """The bytes of a raw stream, with those that were read but not yet used (``unread``).

    A BufferedReader would wait for a whole prefix; this one reports the first wrong byte at once, and the beginning of an answer that
    never ended.
    """

    def __init__(self, stream: RawIOBase) -> None:
        self.stream = stream
        self.unread = b""

    def read_more(self, size: int, part: str) -> None:
        """Reads some bytes. Raises ProtocolError if the stream ends, in a ``part`` of a frame that has ``size`` bytes."""
        chunk = self.stream.read(1 << 16)
        if not chunk:
            inside = f"inside a frame, after {len(self.unread)} of the {size} bytes of its {part}"
            began = self.unread or part != "prefix"
            raise ProtocolError(f"the output ended {inside if began else 'before a frame'}", self.unread, ended=True)
        self.unread += chunk

    def take(self, size: int, part: str) -> bytes:
        """Exactly ``size`` bytes, a small number of them. Raises ProtocolError."""
        while len(self.unread) < size:
            self.read_more(size, part)
        taken, self.unread = self.unread[:size], self.unread[size:]
        return taken

    def fill(self, view: memoryview) -> None:
        """Fills ``view`` in place, without a copy. Raises ProtocolError."""
        filled = min(len(view), len(self.unread))
        view[:filled] = self.unread[:filled]
        self.unread = self.unread[filled:]
        while filled < len(view):
            count = self.stream.readinto(view[filled:])
            if not count:
                raise ProtocolError(
                    f"the output ended inside a payload, {filled} bytes into the {len(view)} of a resource", ended=True
                )
            filled += count


def frame(header: Mapping[str, Any], payload_length: int = 0) -> bytes:
    """A frame up to its payload."""
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    return PREFIX.pack(MAGIC, len(text), payload_length) + text


def read_header(source: RawStream) -> tuple[Header, int]:
    """The next frame's header and the length of its payload, which stays unread. Raises ProtocolError."""
    while len(source.unread) < PREFIX.size:
        _check_magic(source.unread)
        source.read_more(PREFIX.size, "prefix")
    _check_magic(source.unread)
    prefix = source.take(PREFIX.size, "prefix")
    _, header_length, payload_length = PREFIX.unpack(prefix)
    if header_length > MAX_HEADER:
        raise ProtocolError(f"a frame has a header of {header_length} bytes; the maximum is {MAX_HEADER}", prefix)
    text = source.take(header_length, "header")
    try:
        header = parse_json(decode(text))
    except InputError as error:
        raise ProtocolError(f"a header is not JSON: {error}", text) from None
    if not isinstance(header, dict):
        raise ProtocolError("a header is not a JSON object", text)
    return header, payload_length


def _check_magic(held: bytes) -> None:
    if held[: len(MAGIC)] != MAGIC[: len(held)]:
        raise ProtocolError("the output is not a frame; only frames may be written to standard output", held)


# Descs in numbers


def wire_fields(desc: OperatorDesc, find: Find) -> list[Header]:
    """The fields of an operator desc as numbers, in the struct's order; ``find`` gives an operator's spec by name.

    Raises:
        KeyError: ``find`` knows no such operator. WireError: a value that the struct cannot hold.
    """
    operator = find(desc.type)
    unknown = desc.fields.keys() - {field.name for field in operator.fields}
    if unknown:
        raise WireError(f"{desc.type} has no field {', '.join(sorted(unknown))}")

    def value(field: Field) -> Any:
        scalar = _scalar_type(field, operator, desc) if field.type == "SCALAR_UNION" else ""
        return _wire(field.type, field, desc.fields.get(field.name), scalar, find)

    return [{"name": field.name, "kind": field.kind, "type": field.type, "value": value(field)} for field in operator.fields]


def wire_operator(desc: OperatorDesc, find: Find) -> Header:
    """An operator desc as numbers: its name, type number and fields. Raises as ``wire_fields``."""
    return {"operator": desc.type, "operator_type": find(desc.type).type, "fields": wire_fields(desc, find)}


def wire_tensor(tensor: TensorDesc, where: str = "a tensor") -> Header:
    """A tensor desc as numbers. Raises WireError for a data type that is neither known nor UNKNOWN."""
    return {
        "data_type": _constant("DML_TENSOR_DATA_TYPE", tensor.data_type, f"{where}.DataType"),
        "sizes": list(tensor.sizes),
        "strides": None if tensor.strides is None else list(tensor.strides),
        "flags": tensor.flags,
        "total_size": _total_size(tensor),
        "alignment": tensor.alignment,
    }


def _total_size(tensor: TensorDesc) -> int:
    try:
        return max(tensor.bytes, 0)
    except (KeyError, ValueError):
        return 4 * tensor.count  # an invalid desc may have no minimum size, but must be sent too


def scalar_bytes(value: float, data_type: str, where: str = "a scalar union") -> bytes:
    """The 8 bytes of a DML_SCALAR_UNION that holds ``value``: the number in its type, little endian, and zeros. Raises WireError."""
    known = abi().data_types[data_type]
    if known.is_float:
        with np.errstate(over="ignore"):  # too large becomes infinity, as in C
            return np.asarray(value, f"<f{known.bits // 8}").tobytes().ljust(8, b"\0")
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    number = _integer(value, known.limits, f"{where} ({data_type})")
    return number.to_bytes(max(known.bits // 8, 1), "little", signed=known.kind == "int").ljust(8, b"\0")


def _scalar_type(field: Field, operator: Operator, desc: OperatorDesc) -> str:
    """The data type of a scalar union: the value of the field that its spec names, or of the operator's only such field; FLOAT32 if there is none."""
    names = [field.data_type] if field.data_type else [f.name for f in operator.fields if f.enum == "DML_TENSOR_DATA_TYPE"]
    named = [desc.fields.get(name) for name in names]
    return next((name for name, known in abi().data_types.items() if name in named or known.value in named), "FLOAT32")


_INTEGERS = {"UINT": (0, (1 << 32) - 1), "UINT64": (0, (1 << 64) - 1), "INT": (-(1 << 31), (1 << 31) - 1), "BOOL": (0, 1)}
_PAIRS = {"SIZE_2D": "UINT", "SCALE_BIAS": "FLOAT"}


def _wire(kind: str, field: Field, value: Any, scalar: str, find: Find) -> Any:
    """One value as it goes over the wire. ``kind`` is the field's type, or that of its elements."""
    name = field.name
    if value is None:
        return None
    element = _PAIRS.get(kind) or (kind.removesuffix("_ARRAY") if kind.endswith("_ARRAY") else None)
    if element:
        if not isinstance(value, tuple) or (kind in _PAIRS and len(value) != 2):
            raise WireError(f"{name} must be {'a pair' if kind in _PAIRS else 'an array'}, not {value!r}")
        return [_wire(element, field, entry, scalar, find) for entry in value]
    wanted: type = {"TENSOR_DESC": TensorDesc, "OPERATOR_DESC": OperatorDesc}.get(kind, object)
    if not isinstance(value, wanted):
        raise WireError(f"{name} must be a {wanted.__name__}, not {value!r}")
    if isinstance(value, TensorDesc):
        return wire_tensor(value, name)
    if isinstance(value, OperatorDesc):
        return wire_operator(value, find)
    if field.enum:
        return _constant(field.enum, value, name)
    if kind in _INTEGERS:
        return _integer(value, _INTEGERS[kind], name)
    if not isinstance(value, int | float):
        raise WireError(f"{name} must be a number, not {value!r}")
    return scalar_bytes(value, scalar, name).hex() if kind == "SCALAR_UNION" else _float(value)


def _float(value: float) -> float | str:
    """A FLOAT, rounded here so that every host gets the same value. JSON has no numbers for NaN and infinities."""
    with np.errstate(over="ignore"):
        rounded = float(np.float32(value))
    return rounded if math.isfinite(rounded) else str(rounded)


def _integer(value: object, limits: tuple[int, int], where: str) -> int:
    if not isinstance(value, int) or not limits[0] <= value <= limits[1]:
        raise WireError(f"{where} must be an integer from {limits[0]} to {limits[1]}, not {value!r}")
    return int(value)


def _constant(enum: str, value: object, where: str) -> int:
    if isinstance(value, str):
        constants = {UNKNOWN: 0, **abi().enums[enum].values}
        if value not in constants:
            raise WireError(f"{where}: {enum} has no {value!r}; it has {', '.join(constants)}")
        return constants[value]
    return _integer(value, _INTEGERS["UINT"], where)  # a negative case may use a number that is not a constant


# Requests and answers

DESCRIBE: Header = {"request": "describe"}
CLOSE: Header = {"request": "close"}


def run_request(dispatch: Dispatch, number: int, find: Find) -> list[bytes | memoryview]:
    """The run request, in pieces to be written in order: the frame's prefix and header, then the resources without a copy.

    Raises:
        KeyError: ``find`` knows no such operator. WireError: a value that the struct cannot hold.
    """
    header: Header = {
        "request": "run",
        "id": number,
        **wire_operator(dispatch.desc, find),
        "resources": [{"size": resource.nbytes} for resource in dispatch.resources],
        "bindings": [
            {"tensor": name, "resource": b.resource, "offset": b.offset, "size": b.size} for name, b in dispatch.bindings.items()
        ],
        "outputs": list(dispatch.outputs),
        "flags": 0,
    }
    if dispatch.paths is not None:
        header["paths"] = True
    if not dispatch.execute:
        header["execute"] = False
    views = [resource.data for resource in dispatch.resources]
    return [frame(header, sum(view.nbytes for view in views)), *views]


def answer_views(header: Header, payload_length: int, number: int, dispatch: Dispatch | GraphDispatch) -> list[memoryview]:
    """The destination of the payload of the answer to request ``number``: views of the dispatch's resources. Raises ProtocolError."""
    check_id(header, number)
    views: list[memoryview] = []
    if _get(header, "status", str) == "ok":
        returned = _get(header, "resources", list)
        count = len(dispatch.resources)
        if not all(type(index) is int and 0 <= index < count for index in returned) or len(set(returned)) != len(returned):
            raise ProtocolError(f"resources must be different integers from 0 to {count - 1}, not {_value_text(returned)}")
        bound = dispatch.bound_outputs()
        for index in sorted(bound.keys() - set(returned)) if dispatch.execute else ():
            raise ProtocolError(f"the answer lacks resource {index}, to which the output {bound[index]} is bound")
        views = [dispatch.resources[index].data for index in returned]
    expected = sum(len(view) for view in views)
    if payload_length != expected:
        raise ProtocolError(f"the answer's payload has {payload_length} bytes, but its resources have {expected}")
    return views


def no_views(header: Header, payload_length: int) -> list[memoryview]:
    """Checks that an answer has no payload. Raises ProtocolError."""
    if payload_length:
        raise ProtocolError(f"the answer's payload has {payload_length} bytes; it must have none")
    return []


def raise_status(header: Header) -> None:
    """Raises Rejected, Unsupported or BackendFault according to an answer's status, nothing for ok, and ProtocolError for any other."""
    status = _get(header, "status", str)
    if status == "ok":
        return
    if status not in ("rejected", "unsupported", "error"):
        raise ProtocolError(f"the answer has the status {_value_text(status)}; there are ok, rejected, unsupported and error")
    message = _get(header, "message", str)
    if status == "unsupported":
        raise Unsupported(message)
    if status == "error":
        evidence = header.get("evidence", "")
        raise BackendFault(message, evidence if isinstance(evidence, str) else json.dumps(evidence))
    stage = _get(header, "stage", str)
    if stage not in STAGES:
        raise ProtocolError(f"the answer has the stage {_value_text(stage)}; there are {', '.join(STAGES)}")
    raise Rejected(message, stage, _get(header, "code", str) if "code" in header else "")


def read_paths(header: Header) -> list[CodePath]:
    """The code paths in an answer to run, the first 1,025 of them, with clean labels; there need not be any. Raises ProtocolError."""
    if "paths" not in header:
        return []
    given = _get(header, "paths", list)
    try:
        return [code_path(entry["label"], _numbers(entry.get("numbers", []))) for entry in given[:MOST_PATHS]]
    except (TypeError, KeyError, AttributeError):
        raise ProtocolError(
            'each of the answer\'s paths must be an object with a "label" and, if any, an array of "numbers"'
        ) from None
    except ValueError as error:
        raise ProtocolError(str(error)) from None


def _numbers(given: object) -> list[object]:
    if not isinstance(given, list):
        raise TypeError
    return given


_DESCRIBED: dict[str, Callable[[Any], bool]] = {
    "name": lambda v: isinstance(v, str) and v != "",
    "version": lambda v: isinstance(v, str),
    "device": lambda v: isinstance(v, str),
    "feature_level": lambda v: isinstance(v, str) and v in abi().feature_levels,
    "data_types": lambda v: isinstance(v, list) and all(isinstance(t, str) and t in abi().data_types for t in v),
    "denormals": lambda v: v in ("preserve", "flush", "any"),
    "half_store": lambda v: v in ("nearest", "truncate"),
    # With fewer bits than FLOAT16 has, sums of few terms would have no bound; no type has more than FLOAT64.
    "accumulator": lambda v: type(v) is int and (v == 0 or 10 <= v <= 52),
    "nearest": lambda v: isinstance(v, bool),
    "details": lambda v: isinstance(v, dict),
    "operators": lambda v: isinstance(v, list) and all(isinstance(name, str) and name in abi().operator_types for name in v),
    "validates": lambda v: isinstance(v, bool),
    "progress": lambda v: isinstance(v, bool),
    "protocol": lambda v: type(v) is int and v in (1, 2),
}

_OF_THE_HOST = ("status", "progress", "protocol")
"""What an answer to describe says of itself and of the host, not of the implementation."""

WORKING = "working"
"""The status of a progress message, which comes before an answer."""

CALLING = "calling"
"""The status of a message that says which call of a sequence the host is in."""


def read_info(header: Header) -> BackendInfo:
    """The description in the answer to describe. Raises ProtocolError for a wrong or unknown field, and as ``raise_status``."""
    raise_status(header)
    given = {key: value for key, value in header.items() if key != "status"}
    for key, value in given.items():
        if key not in _DESCRIBED:
            raise ProtocolError(f"the description has an unknown field {_value_text(key)}; there are {', '.join(_DESCRIBED)}")
        if not _DESCRIBED[key](value):
            raise ProtocolError(f"the description's {key} cannot be {_value_text(value)}")
    if "name" not in given:
        raise ProtocolError("the description has no name")
    described: Header = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given.items() if key not in _OF_THE_HOST
    }
    return BackendInfo(**described)


def read_progress(header: Header, payload_length: int, number: int) -> str:
    """What the host works on, as its progress message about request ``number`` says. Raises ProtocolError."""
    no_views(header, payload_length)
    if _get(header, "id", int) != number:
        raise ProtocolError(f"a progress message has the id {header['id']}, but the request had {number}")
    return sanitize.line(_get(header, "at", str))[:_LONGEST_AT]


def read_calling(header: Header, payload_length: int, number: int) -> int:
    """The number of the call that the host is in, as its message about request ``number`` says. Raises ProtocolError."""
    no_views(header, payload_length)
    check_id(header, number)
    call: int = _get(header, "call", int)
    if call < 0:
        raise ProtocolError(f"a message says that the host is in call {call}")
    return call


def check_id(header: Header, number: int) -> None:
    """Raises ProtocolError if an answer is to another request."""
    if _get(header, "id", int) != number:
        raise ProtocolError(f"the answer has the id {header['id']}, but the request had {number}")


_LONGEST_AT = 200


def _get(header: Header, key: str, kind: type) -> Any:
    value = header.get(key)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ProtocolError(
            f"the answer's {key} is {_value_text(value) if key in header else 'missing'}; it must be {_KINDS[kind]}"
        )
    return value


_KINDS: dict[type, str] = {str: "a string", int: "an integer", list: "an array"}


def _value_text(value: object) -> str:
    """A value for a message, shortened if long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:76]} ..."


def parts(pieces: Sequence[bytes | memoryview], small: int = 1 << 16) -> list[bytes | memoryview]:
    """``pieces`` for fast writing: a small request joined into one piece, a large one unchanged and uncopied."""
    return [b"".join(pieces)] if sum(len(piece) for piece in pieces) <= small else list(pieces)
