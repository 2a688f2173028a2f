"""A run as others are set beside it: how each case ended in a letter, and more only of those that did not simply pass.

A record of 60,000 results takes 100 MB; a dozen of them as this take as much together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.explain.symptom import common_detail, symptom_of
from dmlcts.reports.record.groups import refutes, words
from dmlcts.reports.record.record import (
    ERROR,
    FAIL,
    NOT_RUN,
    PASS,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Manifest,
    Record,
    Result,
)
from dmlcts.reports.record.verdict import Counts, Matrix, backend_name, interruption, matrix

LETTERS = {PASS: "p", UNEXPECTED_PASS: "P", FAIL: "f", ERROR: "e", WAIVED: "w", UNSUPPORTED: "u", NOT_RUN: "n"}
"""How a case ended, in a letter. ABSENT: the run does not have it."""

ABSENT = "."

GOOD, BAD = frozenset("pP"), frozenset("few")
"""The letters of cases that do what is promised, and that do not: a waiver excuses a failure, and mends nothing."""

_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Noted:
    """A case that failed, was excused or was unsupported within what the implementation claims: its symptom, what its wrong values have in common, and its message.

    ``words`` are those of its id that say what is unusual about it.
    """

    operator: str
    data_type: str
    symptom: str
    detail: str
    message: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """A run, condensed. ``key`` names it in addresses and columns, ``letters`` say how each case ended, and ``noted`` has more of some.

    ``explained`` has for some of these what `dmlcts explain` gave for them and those like them.
    """

    key: str
    manifest: Manifest
    sentence: str
    ok: bool
    unfinished: str
    counts: Counts
    cells: Matrix
    letters: dict[str, str]
    noted: dict[str, Noted]
    explained: Mapping[str, str]

    @property
    def version(self) -> str:
        """The version of the implementation, empty if it is not known."""
        return str(self.manifest.backend.get("version") or "")

    def letter(self, case: str) -> str:
        """How a case ended."""
        return self.letters.get(case, ABSENT)


def condense(record: Record, explained: Mapping[str, str] | None = None) -> Run:
    """A record as a run, with what explains its failures by example. It still has the implementation's name as its key."""
    claim = claim_of(record)
    return Run(
        key=backend_name(record.manifest),
        manifest=record.manifest,
        sentence=claim.sentence,
        ok=claim.ok,
        unfinished=interruption(record, 3),
        counts=claim.counts,
        cells=matrix(record.results),
        letters={result.case: LETTERS[result.status] for result in record.results},
        noted={result.case: _note(result) for result in record.results if result.status == WAIVED or refutes(result)},
        explained=explained or {},
    )


def _note(result: Result) -> Noted:
    message = result.message if len(result.message) <= _LONGEST else f"{result.message[: _LONGEST - 4]} ..."
    symptom = symptom_of(replace(result, status=_status_without_waiver(result)))
    return Noted(result.operator, result.data_type, symptom, common_detail([result]), message, words(result))


_OF_FAILURES = ("stage", "memory")
"""The evidence of a case that failed; one that ended in an error may have it too, but then its message begins otherwise."""


def _status_without_waiver(result: Result) -> str:
    """What a waived case would be, as far as its record tells: so that it has the symptom of the same case where no waiver holds."""
    if result.status != WAIVED:
        return result.status
    if result.message.startswith("must be rejected ("):
        return ERROR
    wrong = result.mismatches or result.wrong or result.message.startswith("accepted, but must be rejected")
    return FAIL if wrong or any(name in result.evidence for name in _OF_FAILURES) else ERROR


def name_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs with keys that tell them apart, by the first of these that does: version, or what it is called, with its device, with its day, with a number."""
    versions = len({run.manifest.backend.get("name") for run in runs}) == 1 and all(run.version for run in runs)
    keys = [run.version if versions else run.key for run in runs]
    for more in (_device, _day):
        twice = {key for key, number in Counter(keys).items() if number > 1}
        keys = [f"{key} {more(run)}".strip() if key in twice else key for key, run in zip(keys, runs, strict=True)]
    seen = Counter[str]()
    found = []
    for key, run in zip(keys, runs, strict=True):
        seen[key] += 1
        found.append(replace(run, key=key if seen[key] == 1 else f"{key} ({seen[key]})"))
    return found


def _device(run: Run) -> str:
    return str(run.manifest.backend.get("device") or "")[:40]


def _day(run: Run) -> str:
    return run.manifest.started[:10]


def in_order(runs: Iterable[Run]) -> list[Run]:
    """The runs from old to new: of one implementation by version and time, of several as they are given."""
    found = list(runs)
    if len({run.manifest.backend.get("name") for run in found}) > 1 or not all(map(_numbers, found)):
        return found
    return sorted(found, key=lambda run: (_numbers(run), run.manifest.started))


def _numbers(run: Run) -> tuple[int, ...]:
    """The version as numbers; none if it is no release."""
    parts = run.version.split(".")
    return tuple(map(int, parts)) if all(part.isdecimal() and len(part) < 10 for part in parts) else ()
