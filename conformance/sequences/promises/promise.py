"""Promises: read from the YAML files of this folder, and held against what a backend replies.

A file has ``beginnings``, calls that several promises share, by name, and ``promises``. A promise begins ``after`` one of them. A call says what
it ``gives``, if that is not S_OK alone: one or several HRESULTs, bytes in the form of ``write``, or another ``value``; and whether it
``removes`` the device. The form: conformance/sequences/schema/promises.schema.json.

| severity | what is demanded |
|---|---|
| must | exactly what the promise says: a client relies on it, or a page states it plainly |
| misuse | that the calls are refused or survived: any HRESULT, and no crash |
| undefined | nothing: it is never asked |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dmlcts.conformance.backends.backend import Backend
from dmlcts.conformance.execution.outcome import Outcome, attempt_to
from dmlcts.conformance.sequences.call_json import CallError, call_name, read_bytes, read_calls
from dmlcts.conformance.sequences.calls import OK, Call, Reply, code_number
from dmlcts.conformance.sequences.takes_part import perform_on
from dmlcts.reports.record.record import FAIL, PASS, SEQUENCES, UNSUPPORTED
from dmlcts.spec.reading.document import Document, parse, read
from dmlcts.spec.reading.loader import load
from dmlcts.spec.reading.schema import validate

MUST, MISUSE, UNDEFINED = "must", "misuse", "undefined"

_EXPECTED = ("gives", "removes")


@dataclass(frozen=True, slots=True)
class Expected:
    """What a call must give: one of these codes, a value if it has one, and whether it removes the device."""

    codes: tuple[str, ...] = (OK,)
    value: Any = None
    removes: bool = False

    def problem(self, reply: Reply) -> str:
        """What is wrong with a reply; empty if nothing is."""
        if code_number(reply.code) not in map(code_number, self.codes):
            return f"gave {reply.code}, expected {' or '.join(self.codes)}{f': {reply.message}' if reply.message else ''}"
        if reply.removed != self.removes:
            return "removed the device" if reply.removed else "did not remove the device"
        if self.value is not None and reply.value != self.value:
            return f"gave {_text(reply.value)}, expected {_text(self.value)}"
        return ""


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise of an API: what the page says, in our words, the calls that test it, and what each must give.

    ``page`` and ``commit`` are where it stands, ``level`` the feature level that it needs, ``measured`` what a version of DirectML.dll did.
    """

    id: str
    area: str
    api: str
    page: str
    commit: str
    severity: str
    says: str
    calls: tuple[Call, ...]
    expected: tuple[Expected, ...]
    level: str = "1_0"
    measured: Mapping[str, str] | None = None


def promises_folder() -> Path:
    """The folder of the files."""
    return Path(__file__).parent


def promises() -> Iterator[Promise]:
    """Every promise, file by file. Raises SpecError."""
    for file in sorted(promises_folder().glob("*.yaml")):
        yield from read_promises(file)


def read_promises(file: Path) -> list[Promise]:
    """The promises of a file.

    Raises:
        SpecError: the file is wrong; the error names the line and the promise.
    """
    document = parse(read(file), file)
    validate(document, "dmlcts.conformance.sequences", "promises")
    found = [_promise(document, index) for index in range(len(document.data["promises"]))]
    for index, promise in enumerate(found):
        if promise.id in [other.id for other in found[:index]]:
            raise document.error(("promises", index, "id"), f"{promise.id} is there twice")
    return found


def _promise(document: Document, index: int) -> Promise:
    data = dict(document.data["promises"][index])
    path = ("promises", index)
    after, own = data.pop("after", None), data.pop("calls")
    beginnings = document.data.get("beginnings", {})
    if after is not None and after not in beginnings:
        raise document.error((*path, "after"), f"there is no beginning {after!r}; there are {', '.join(beginnings) or 'none'}")
    entries = [*(beginnings[after] if after is not None else ()), *own]
    try:
        calls = read_calls([{name: value for name, value in each.items() if name not in _EXPECTED} for each in entries], load)
        expected = tuple(_read_expected(each) for each in entries)
    except CallError as error:
        raise document.error((*path, "calls"), f"{data['id']}: {error}") from None
    return Promise(area=document.data["area"], calls=tuple(calls), expected=expected, **data)


def _read_expected(entry: Mapping[str, Any]) -> Expected:
    gives, removes = entry.get("gives"), entry.get("removes", False)
    if isinstance(gives, Mapping):
        value = gives["value"] if "value" in gives else read_bytes(gives, str(entry["call"]))
        return Expected(value=value, removes=removes)
    if gives is None:
        return Expected(removes=removes)
    return Expected((gives,) if isinstance(gives, str) else tuple(gives), removes=removes)


def promise_outcome(promise: Promise, backend: Backend, timeout: float | None = None) -> Outcome:
    """What becomes of a promise on a backend: kept, broken by a call that the message names, or unsupported."""
    perform = perform_on(backend, timeout)
    if perform is None:
        return Outcome(UNSUPPORTED, "the backend has no sequences", undeclared=SEQUENCES)
    if promise.severity == UNDEFINED:
        return Outcome(UNSUPPORTED, "undefined: no page promises anything")
    replies: list[Reply] = []
    failure = attempt_to(lambda: replies.extend(perform(list(promise.calls))))
    return failure or _judge(promise, replies)


def _judge(promise: Promise, replies: Sequence[Reply]) -> Outcome:
    if len(replies) != len(promise.calls):
        return Outcome(FAIL, f"{len(promise.calls)} calls were answered with {len(replies)} replies")
    for index, (call, expected, reply) in enumerate(zip(promise.calls, promise.expected, replies, strict=True)):
        if reply.unsupported:
            return Outcome(UNSUPPORTED, f"call {index} ({call_name(type(call))}): {reply.unsupported}")
        problem = "" if promise.severity == MISUSE else expected.problem(reply)
        if problem:
            return Outcome(FAIL, f"call {index} ({call_name(type(call))}) {problem}", evidence={"call": index, "code": reply.code})
    return Outcome(PASS)


def _text(value: Any) -> str:
    """A value as people read it."""
    return value.hex(" ", 4) if isinstance(value, bytes) else repr(value)
