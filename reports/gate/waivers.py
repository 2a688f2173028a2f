"""Waivers: known failures that do not fail a run, each with a reason, an issue and an expiry date.

    waivers:
      - cases: ELEMENT_WISE_ROUND/FLOAT16/*
        reason: the driver truncates FLOAT16 stores
        issue: https://example.org/issues/12
        expires: 2027-03-01
        message: "*refused at compile with 0x80004001*"

``cases`` is a pattern or a list of them. A failing case that a waiver matches is ``waived``; a passing one is an
``unexpected_pass``, so that outdated waivers are removed. An expired waiver has no effect; the failure's message mentions it. A pattern that
matches no case of a run is mentioned in its reports. With ``message``, a pattern, only failures with such a message are waived, and a case that
passes is none of its business: for failures that depend on what a pattern of ids cannot tell. A message must have two words beside each other,
of three letters or digits at least: else a waiver could excuse every failure, and no pass would show it.

``stderr``, a pattern too, must match a line that the backend's program wrote to standard error before it rejected the case or reported a fault:
for a failure whose cause only a layer below the backend names, such as vkd3d. What computed a wrong value has no such lines, and is never waived by
them. With ``versions``, the waiver applies only where each program that it names has one of those versions (reports/record/versions); where it does
not, the failure's message says so:

        stderr: "*Unhandled global flags 0x800000*"
        versions: {DirectML: 1.13.1 to 1.14.1, vkd3d: "2.1"}
      - cases: GEMM/FLOAT16/*
        reason: overflows
        issue: https://example.org/issues/13
        versions: {DirectML: ">=1.12,<1.15"}
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from dmlcts.reports.record.record import ERROR, FAIL, PASS, STDERR, UNEXPECTED_PASS, WAIVED, Result
from dmlcts.reports.record.versions import Versions, problem_of, unlike
from dmlcts.spec.reading.document import Document, SpecError, parse, read
from dmlcts.spec.untrusted.files import check, shorten_text, validator


class WaiverError(ValueError):
    """A waiver file is wrong; the message names file, line and entry."""


@dataclass(frozen=True, slots=True)
class Waiver:
    """One waiver: ``cases`` is an id, or a glob of ids with ``*`` and ``?``; ``expires`` is its last day (None: never).

    ``message`` is a glob of messages, ``stderr`` one of lines of standard error, each empty for all. ``versions`` are those that it is about.
    """

    cases: str
    reason: str
    issue: str
    expires: date | None = None
    message: str = ""
    stderr: str = ""
    versions: Versions = field(default_factory=dict)

    def matches(self, case: str) -> bool:
        """Whether it matches the case with this id. Brackets are literal: ids contain them (``InputTensors[0]``)."""
        return _matches_glob(case, self.cases)

    def excuses(self, failure: Result) -> bool:
        """Whether it is about failures with this message and these lines of standard error."""
        lines = str(failure.evidence.get(STDERR, "")).splitlines()
        return (not self.message or _matches_glob(failure.message, self.message)) and (
            not self.stderr or any(_matches_glob(line, self.stderr) for line in lines)
        )

    def is_about(self, result: Result) -> bool:
        """Whether it is about a case with this result. A pass is no business of a waiver of some failures only."""
        failed = result.status in (FAIL, ERROR)
        return self.matches(result.case) and (self.excuses(result) if failed else not (self.message or self.stderr))


def _matches_glob(text: str, pattern: str) -> bool:
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def read_waivers(file: Path) -> tuple[Waiver, ...]:
    """The waivers of a YAML file: one for each pattern of each entry.

    Raises:
        WaiverError: it cannot be read, is malformed, not in the form of schema/waivers.schema.json, a message or line lacks two words
            beside each other, or a range of versions makes no sense; the message names the line.
    """
    try:
        document = parse(read(file), file, dates=True)
        check(
            validator("dmlcts.reports", "waivers"),
            document.data,
            lambda path, problem: document.error(tuple(path), f"{problem}{_HINTS.get(str(path[-1]) if path else '', '')}"),
        )
        return tuple(
            Waiver(
                pattern,
                entry["reason"],
                entry["issue"],
                _date(document, index, entry.get("expires")),
                _message(document, index, entry.get("message")),
                _message(document, index, entry.get("stderr"), "stderr"),
                _versions(document, index, entry.get("versions", {})),
            )
            for index, entry in enumerate(document.data["waivers"])
            for pattern in ([entry["cases"]] if isinstance(entry["cases"], str) else entry["cases"])
        )
    except SpecError as error:
        raise WaiverError(str(error)) from None


_HINTS = {
    "issue": "; a waiver says where it is tracked, as text: a link, or a number in quotes",
    "reason": "; a waiver says why, as text",
    "cases": "; a waiver says which cases: an id or a pattern, or a list of them",
    "waivers": "; it must be a list of waivers",
    "expires": "; it must be a date such as 2027-03-01",
    "versions": "; it maps the names of programs to their versions, such as DirectML: 1.8.0 to 1.15.4",
}


_WORDS = re.compile(r"[^\W_]{3,}[^*?\w]+[^\W_]{3,}")
"""Two words beside each other, without a wildcard between them."""


def _message(document: Document, index: int, text: str | None, name: str = "message") -> str:
    """The pattern of messages of an entry, empty if it has none. Raises SpecError if it would match failures of any cause."""
    if text is not None and not _WORDS.search(text):
        raise document.error(
            ("waivers", index, name),
            f"{shorten_text(text)!r} could excuse failures of any cause; give two words of the message that stand beside each other, of three letters "
            "or digits at least, such as '*actual nan*'",
        )
    return text or ""


def _versions(document: Document, index: int, named: Mapping[str, str | list[str]]) -> Versions:
    """The ranges of versions of an entry. Raises SpecError if one makes no sense."""
    found = {name: (ranges,) if isinstance(ranges, str) else tuple(ranges) for name, ranges in named.items()}
    for name, ranges in found.items():
        for text in ranges:
            if problem := problem_of(text):
                raise document.error(("waivers", index, "versions", name), f"{shorten_text(text)!r} {problem}")
    return found


def _date(document: Document, index: int, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return date.fromisoformat(text)
    except ValueError:  # such as 2027-02-30
        pass
    raise document.error(("waivers", index, "expires"), f"must be a date such as 2027-03-01, not {shorten_text(text)!r}")


def unused_patterns(waivers: Sequence[Waiver], cases: Iterable[str], operators: Collection[str] = ()) -> tuple[str, ...]:
    """The patterns that match none of the cases with these ids. Those of other operators than ``operators`` are left out, if there are any."""
    ids = list(cases)
    patterns = dict.fromkeys(waiver.cases for waiver in waivers if not any(map(waiver.matches, ids)))
    return tuple(
        each for each in patterns if not operators or any(_matches_glob(name, each.partition("/")[0]) for name in operators)
    )


def apply_waivers(result: Result, waivers: Sequence[Waiver], today: date, ran: Mapping[str, str]) -> Result:
    """The result under the first waiver that is about it and its version, and has not expired. ``ran`` has the versions of what ran, by name.

    A failure becomes waived, a pass unexpected, anything else is unchanged. If waivers are about a failure and none applies, its message says why.
    """
    failed = result.status in (FAIL, ERROR)
    about = [waiver for waiver in waivers if waiver.is_about(result)]
    here = [waiver for waiver in about if not unlike(waiver.versions, ran)]
    valid = [waiver for waiver in here if waiver.expires is None or waiver.expires >= today]
    if valid:
        reason = f"{valid[0].reason} ({valid[0].issue})"
        if failed:
            return replace(result, status=WAIVED, waiver=reason)
        if result.status == PASS:
            return replace(
                result, status=UNEXPECTED_PASS, waiver=reason, message=f"passes although it is waived: {reason}; remove the waiver"
            )
    elif about and failed:
        why = f"expired on {here[0].expires}" if here else f"does not apply: {unlike(about[0].versions, ran)}"
        return replace(result, message=f"{result.message} (its waiver {why})")
    return result
