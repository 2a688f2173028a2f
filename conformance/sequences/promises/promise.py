"""Promises: what a page says of the API beyond single operators, as data, read from the YAML files in ``api``: a file an area.

A file has ``promises``, and perhaps ``parts``, calls that several promises share, by name; shared.yaml has those of all files, and the pages. Among a
promise's calls, a name stands for the calls of that part. A call says what it ``gives``, if that is not S_OK alone: one or several HRESULTs, bytes in
the form of ``write``, or another ``value``; and whether it ``removes`` the device. What only the implementation knows is held against an earlier
call, by its ``label``: ``same-as`` that one's value, or ``refused-unless`` that one answered true. The form: conformance/sequences/schema/promises.schema.json.
The files lie here and not in spec/: they are written in the vocabulary of calls, which is this room's.

| severity | what is demanded |
|---|---|
| must | exactly what the promise says: a client relies on it, or a page states it plainly |
| misuse | that the calls are refused or survived: any HRESULT, and no crash |
| undefined | nothing: it is never asked |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dmlcts.conformance.sequences.call_json import CallError, read_bytes, read_calls
from dmlcts.conformance.sequences.calls import OK, Call, Reply, code_name, code_number
from dmlcts.reports.record.record import API
from dmlcts.spec.reading.document import Document, parse, read
from dmlcts.spec.reading.loader import load
from dmlcts.spec.reading.schema import unknown, validate

MUST, MISUSE, UNDEFINED = "must", "misuse", "undefined"

AS_DOCUMENTED, NOT_MEASURED = "as documented", "not measured"
"""How ``measured`` begins where a DLL does what its page says, and where what it stands on does not let it tell."""

AREAS = ("device", "features", "objects", "operators", "initializers", "tables", "bindings", "execution", "graphs")
"""The areas in the order in which a client comes to them."""

_LABEL, _SAME_AS, _REFUSED_UNLESS = "label", "same-as", "refused-unless"

_EXPECTED = ("gives", "removes", _LABEL)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a call must give: one of these codes, a value if it has one, and whether it removes the device.

    ``same_as``: the place of an earlier call, whose value it must give again. ``refused_unless``: the place of an earlier call; where that one
    did not answer true, any code but success is right, and nothing else.
    """

    codes: tuple[str, ...] = (OK,)
    value: Any = None
    removes: bool = False
    same_as: int | None = None
    refused_unless: int | None = None

    def problem(self, reply: Reply, earlier: Sequence[Reply] = ()) -> str:
        """What is wrong with a reply, given those before it; empty if nothing is."""
        if self.refused_unless is not None and earlier[self.refused_unless].value is not True:
            if reply.removed:
                return "removed the device"
            return f"gave S_OK, although call {self.refused_unless} answered that it is not supported" if reply.is_ok else ""
        if self.same_as is not None and reply.is_ok and reply.value != earlier[self.same_as].value:
            return f"gave {_text(reply.value)}, expected {_text(earlier[self.same_as].value)} as in call {self.same_as}"
        if code_number(reply.code) not in map(code_number, self.codes):
            return (
                f"gave {code_name(reply.code)}, expected {' or '.join(self.codes)}{f': {reply.message}' if reply.message else ''}"
            )
        if reply.removed != self.removes:
            return "removed the device" if reply.removed else "did not remove the device"
        if self.value is not None and not _is_as_expected(reply.value, self.value):
            return f"gave {_text(reply.value)}, expected {_text(self.value)}"
        return ""


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise of an API: what the page says, in our words, the calls that test it, and what each must give.

    ``name`` is short (``DEV-1``). ``page`` and ``commit`` are where it stands, ``feature_level`` is the one that it needs, ``measured`` is what a version of
    DirectML.dll did. ``isolated``: its calls may end or damage the process, so that none but them may be at stake. ``limit``: seconds
    after which one has hung, if the usual limit is longer.
    """

    name: str
    area: str
    api: str
    page: str
    commit: str
    severity: str
    says: str
    calls: tuple[Call, ...]
    expected: tuple[Expected, ...]
    feature_level: str = "1_0"
    measured: Mapping[str, str] = field(default_factory=dict)
    isolated: bool = False
    limit: int | None = None

    @property
    def id(self) -> str:
        """The id of its case: ``api/DEV-1``."""
        return f"{API}/{self.name}"

    @property
    def url(self) -> str:
        """Where its page is, as it was read."""
        owner, repository, path = self.page.split("/", 2)
        return f"https://github.com/{owner}/{repository}/blob/{self.commit}/{path}"


def promises_folder() -> Path:
    """The folder of the files."""
    return Path(__file__).parent / API


def shared_file() -> Path:
    """The file with what all others share."""
    return Path(__file__).parent / "shared.yaml"


@cache
def shared_data() -> Mapping[str, Any]:
    """What all files share: ``pages``, and ``parts``, which are calls, both by name. Raises SpecError."""
    document = parse(read(shared_file()), shared_file())
    validate(document, "dmlcts.conformance.sequences", "shared")
    return document.data


@cache
def promises() -> tuple[Promise, ...]:
    """Every promise, in the order of ``AREAS``. Raises SpecError."""
    files = sorted(promises_folder().glob("*.yaml"), key=lambda file: _turn(file.stem))
    return tuple(promise for file in files for promise in read_promises(file))


@cache
def promise_areas() -> Mapping[str, str]:
    """The area of each promise by its name, as the files' lines have them: to read all takes a while."""
    found = {file.stem: file.read_text(encoding="utf-8") for file in promises_folder().glob("*.yaml")}
    return {name: area for area, text in found.items() for name in re.findall(r"^  - id: (\S+)$", text, re.MULTILINE)}


def _turn(area: str) -> tuple[int, str]:
    return AREAS.index(area) if area in AREAS else len(AREAS), area


def read_promises(file: Path) -> list[Promise]:
    """The promises of a file.

    Raises:
        SpecError: the file is wrong; the error names the line and the promise.
    """
    document = parse(read(file), file)
    validate(document, "dmlcts.conformance.sequences", "promises")
    found = [_promise(document, index) for index in range(len(document.data["promises"]))]
    for index, promise in enumerate(found):
        if promise.name in [other.name for other in found[:index]]:
            raise document.error(("promises", index, "id"), f"{promise.name} is there twice")
    return found


def _promise(document: Document, index: int) -> Promise:
    data = dict(document.data["promises"][index])
    path, known = ("promises", index), shared_data()
    name, level, page, own = data.pop("id"), data.pop("level", "1_0"), data.pop("page"), data.pop("calls")
    if page not in known["pages"]:
        raise document.error((*path, "page"), f"pages of {shared_file().name}: {unknown(page, known['pages'])}")
    try:
        entries = list(_insert_parts(own, {**known["parts"], **document.data.get("parts", {})}))
        calls = read_calls([{name: value for name, value in each.items() if name not in _EXPECTED} for each in entries], load)
        expected = tuple(_read_every_expected(entries))
    except CallError as error:
        raise document.error((*path, "calls"), f"{name}: {error}") from None
    return Promise(
        name=name,
        area=document.data["area"],
        calls=tuple(calls),
        expected=expected,
        feature_level=level,
        **known["pages"][page],
        **data,
    )


def _insert_parts(entries: Sequence[Any], parts: Mapping[str, Any], inside: tuple[str, ...] = ()) -> Iterator[Mapping[str, Any]]:
    """The calls, with those of a part in the place of its name. Raises CallError."""
    for each in entries:
        if not isinstance(each, str):
            yield each
        elif each not in parts or each in inside:
            raise CallError(f"{each} contains itself" if each in inside else f"parts of calls: {unknown(each, parts)}")
        else:
            yield from _insert_parts(parts[each], parts, (*inside, each))


def _read_every_expected(entries: Sequence[Mapping[str, Any]]) -> Iterator[Expected]:
    """What each call must give. Raises CallError for a label that no call before it has, or that another has."""
    labels: dict[str, int] = {}
    for index, entry in enumerate(entries):
        yield _read_expected(entry, labels)
        label = entry.get(_LABEL)
        if label in labels:
            raise CallError(f"calls[{index}] ({entry['call']}): the label {label} is there twice")
        if label is not None:
            labels[label] = index


def _read_expected(entry: Mapping[str, Any], labels: Mapping[str, int]) -> Expected:
    gives, removes = entry.get("gives"), entry.get("removes", False)
    if isinstance(gives, Mapping) and (_SAME_AS in gives or _REFUSED_UNLESS in gives):
        same, unless = (_place_of(gives.get(name), labels, str(entry["call"])) for name in (_SAME_AS, _REFUSED_UNLESS))
        return Expected(removes=removes, same_as=same, refused_unless=unless)
    if isinstance(gives, Mapping):
        value = gives["value"] if "value" in gives else read_bytes(gives, str(entry["call"]))
        return Expected(value=value, removes=removes)
    if gives is None:
        return Expected(removes=removes)
    return Expected((gives,) if isinstance(gives, str) else tuple(gives), removes=removes)


def _place_of(label: str | None, labels: Mapping[str, int], call: str) -> int | None:
    """The place of the call that has a label; None for none. Raises CallError."""
    if label is not None and label not in labels:
        raise CallError(f"{call}: labels of calls before it: {unknown(label, labels)}")
    return None if label is None else labels[label]


def _is_as_expected(given: Any, wanted: Any) -> bool:
    """Whether a value is the wanted one; of one with members, those that are wanted."""
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(name in given and given[name] == value for name, value in wanted.items())
    return type(given) is type(wanted) and bool(given == wanted)


def _text(value: Any) -> str:
    """A value as people read it."""
    return value.hex(" ", 4) if isinstance(value, bytes) else repr(value)
