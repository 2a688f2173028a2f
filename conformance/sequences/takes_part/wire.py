"""Sequences in version 2 of the process protocol: a request ``perform`` with the calls as numbers, and an answer with a reply for each.

docs/process-protocol.md describes both. As in a request to run, the bytes that are written and read are the payload, and a host needs no tables: descs, flags,
levels and interfaces are what the API takes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dmlcts.conformance.backends.backend import BackendFault
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.process.protocol import (
    Header,
    ProtocolError,
    check_id,
    frame,
    raise_status,
    read_paths,
    wire_operator,
)
from dmlcts.conformance.sequences.call_json import call_name, write_call
from dmlcts.conformance.sequences.calls import OK, Call, CheckFeature, CreateResource, Read, Reply, Size, Submit
from dmlcts.reports.record.paths import CodePath
from dmlcts.spec.model.abi import abi
from dmlcts.spec.reading.loader import load
from dmlcts.spec.untrusted import sanitize

MOST_READ = 1 << 30
"""The most bytes that a read may answer with whose size only the implementation knows."""

INTERFACES: Mapping[str, str] = {
    "IUnknown": "00000000-0000-0000-c000-000000000046",
    "IDMLObject": "c8263aac-9e0c-4a2d-9b8e-007521a3317c",
    "IDMLDevice": "6dbd6437-96fd-423f-a98c-ae5e7c2a573f",
    "IDMLDevice1": "a0884f9a-d2be-4355-aa5d-5901281ad1d2",
    "IDMLDebugDevice": "7d6f3ac9-394a-4ac3-92a7-390cc57a8217",
    "IDMLDeviceChild": "27e83142-8165-49e3-974e-2fd66e4cb69d",
    "IDMLPageable": "b1ab0825-4542-4a4b-8617-6dde6e8f6201",
    "IDMLOperator": "26caae7a-3081-4633-9581-226fbe57695d",
    "IDMLDispatchable": "dcb821a8-1039-441e-9f1c-b1759c2f3cec",
    "IDMLCompiledOperator": "6b15e56a-bf5c-4902-92d8-da3a650afea4",
    "IDMLOperatorInitializer": "427c1113-435c-469c-8676-4d5dd072f813",
    "IDMLBindingTable": "29c687dc-de74-4e3b-ab00-1168f2fc3cfc",
    "ID3D12Device": "189819f1-1db6-4b57-be54-1821339b85f7",
    "IDMLCommandRecorder": "e6857a76-2e3e-4fdd-bff4-5d2ba10fb453",
}
"""Identifiers of interfaces by name: what GetParentDevice is asked for is Direct3D 12's."""

UNKNOWN_INTERFACE = "6e6f6e65-0000-4000-8000-000000000000"
"""What is asked for under a name that is no interface: no object has it."""


def perform_on_host(
    backend: ProcessBackend, calls: list[Call], timeout: float | None = None, paths: list[CodePath] | None = None
) -> list[Reply]:
    """The replies of a program that speaks version 2 of the protocol. ``timeout``: in seconds, for each submission. ``paths`` gets the code paths
    that ran, whatever becomes of the calls; None where nobody asks.

    Raises:
        Unsupported: the host answered so. BackendFault: as ``ProcessBackend.ask``, with the call in which a crash or a hang happened.
        WireError, KeyError: a desc cannot be sent.
    """
    answer = Answer(calls)
    submissions = sum(isinstance(call, Submit) for call in calls)
    limit = None if timeout is None else timeout * max(1, submissions)

    def read(header: Header) -> list[Reply]:
        found = read_paths(header)
        if paths is not None:
            paths.extend(found)
        return answer.replies(header)

    try:
        return backend.ask(lambda number: perform_request(calls, number, paths is not None), answer.places, read, limit)
    except BackendFault as fault:
        if fault.call is None or fault.call >= len(calls):
            raise
        named = BackendFault(f"call {fault.call} ({call_name(type(calls[fault.call]))}): {fault}", fault.evidence, fault.lost)
        named.call, named.stderr = fault.call, fault.stderr
        raise named from None


def perform_request(calls: Sequence[Call], number: int, with_paths: bool = False) -> list[bytes | memoryview]:
    """The request in pieces to be written in order, which asks for code paths or not. Raises WireError and KeyError."""
    pieces: list[bytes | memoryview] = [data for call in calls for data in bytes_of(call).values()]
    header: Header = {"request": "perform", "id": number, "calls": [wire_call(call) for call in calls]}
    if with_paths:
        header["paths"] = True
    return [frame(header, sum(map(len, pieces))), *pieces]


def wire_call(call: Call) -> dict[str, Any]:
    """A call as a host gets it: its JSON form, with numbers in the place of names. Raises WireError and KeyError."""
    found = write_call(call)
    if "desc" in found:
        found["desc"] = wire_operator(call.desc, load)  # type: ignore[attr-defined]
    if "flags" in found and isinstance(found["flags"], list):
        found["flags"] = sum(abi().execution_flags[name] for name in found["flags"])
    if "level" in found:
        found["level"] = _level(found["level"])
    found |= {member: {"size": len(data)} for member, data in bytes_of(call).items()}
    if "interface" in found:
        found["iid"] = INTERFACES.get(found["interface"], UNKNOWN_INTERFACE)
    return found


def bytes_of(call: Call) -> dict[str, bytes]:
    """The bytes of a call that go into the payload, by member: one at most."""
    named = ((member, getattr(call, member, None)) for member in ("data", "query", "content"))
    return {member: data for member, data in named if data is not None}


def _level(name: str) -> int:
    """The number of a feature level, also of one that there is not."""
    major, minor = name.split("_")
    return int(major) << 12 | int(minor) << 8


class Answer:
    """The answer to one request: where its bytes go, and its replies."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self.calls = calls
        self.wanted = _read_sizes(calls)
        self.bytes: dict[int, bytearray] = {}

    def places(self, header: Header, length: int, number: int) -> list[memoryview]:
        """The places of the payload: the bytes of each reply to a read. Raises ProtocolError."""
        check_id(header, number)
        if header.get("status") == "ok":
            for index, reply in enumerate(self._replies_in(header)):
                if "size" in reply:
                    self.bytes[index] = bytearray(self._size(index, reply["size"]))
        expected = sum(map(len, self.bytes.values()))
        if length != expected:
            raise ProtocolError(f"the answer's payload has {length} bytes, but its replies have {expected}")
        return [memoryview(data) for data in self.bytes.values()]

    def replies(self, header: Header) -> list[Reply]:
        """The replies. Raises ProtocolError, and Unsupported and BackendFault as the host answered."""
        if header.get("status") == "rejected":
            raise ProtocolError("the answer to perform is rejected; each reply has its own code")
        raise_status(header)
        return [self._reply(index, given) for index, given in enumerate(self._replies_in(header))]

    def _replies_in(self, header: Header) -> list[dict[str, Any]]:
        given = header.get("replies")
        if not isinstance(given, list) or len(given) != len(self.calls):
            count = f"{len(given)} replies" if isinstance(given, list) else "no replies"
            raise ProtocolError(f"the answer has {count}, but the request had {len(self.calls)} calls")
        for index, reply in enumerate(given):
            if not isinstance(reply, dict):
                raise ProtocolError(f"{self._where(index)} is no object")
            if foreign := sorted(reply.keys() - _MEMBERS.keys()):
                raise ProtocolError(f"{self._where(index)} has an unknown member {foreign[0]!r}; there are {', '.join(_MEMBERS)}")
            for name, value in reply.items():
                if not _MEMBERS[name](value):
                    raise ProtocolError(f"{self._where(index)}: its {name} cannot be {str(value)[:80]!r}")
        return given

    def _where(self, index: int) -> str:
        return f"the reply to call {index} ({call_name(type(self.calls[index]))})"

    def _size(self, index: int, size: int) -> int:
        """How many bytes a reply has, if that is what was asked for. Raises ProtocolError."""
        if index not in self.wanted:
            raise ProtocolError(f"{self._where(index)} has bytes, and is none to a read")
        wanted = self.wanted[index]
        if (wanted is not None and size != wanted) or size > MOST_READ:
            raise ProtocolError(
                f"{self._where(index)} has {size} bytes, and {MOST_READ if wanted is None else wanted} were asked for"
            )
        return size

    def _reply(self, index: int, given: Mapping[str, Any]) -> Reply:
        unsupported = sanitize.line(given.get("unsupported", ""))
        code = given.get("code", OK)
        if index in self.wanted and not unsupported and code == OK and "size" not in given:
            raise ProtocolError(f"{self._where(index)} has no bytes")
        value = bytes(self.bytes[index]) if "size" in given else given.get("value")
        return Reply(code, value, given.get("removed", False), sanitize.line(given.get("message", "")), unsupported)


def _read_sizes(calls: Sequence[Call]) -> dict[int, int | None]:
    """How many bytes each read, or look at a feature, is to give, by its place; None where only the implementation knows."""
    sizes: dict[int, Size] = {}
    found: dict[int, int | None] = {}
    for index, call in enumerate(calls):
        if isinstance(call, CreateResource):
            sizes[call.makes] = call.size
        elif isinstance(call, Read):
            whole = sizes.get(call.resource)
            rest = max(0, whole - call.offset) if isinstance(whole, int) else None
            found[index] = rest if call.size is None else call.size
        elif isinstance(call, CheckFeature) and call.size is not None:
            found[index] = call.size
    return found


def _is_value(value: object) -> bool:
    """Whether a value is what a call may answer: a number, a truth value, or numbers by name."""
    if isinstance(value, dict):
        return all(type(number) is int and number >= 0 for number in value.values())
    return isinstance(value, bool) or (type(value) is int and value >= 0)


_MEMBERS: Mapping[str, Callable[[Any], bool]] = {
    "code": lambda v: v == OK or (isinstance(v, str) and re.fullmatch(r"0x[0-9A-Fa-f]{8}", v) is not None),
    "value": _is_value,
    "size": lambda v: type(v) is int and v >= 0,
    "removed": lambda v: isinstance(v, bool),
    "message": lambda v: isinstance(v, str),
    "unsupported": lambda v: isinstance(v, str) and v != "",
}
"""The members of a reply, each with what it may be."""
