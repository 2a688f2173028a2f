"""The claim that a run supports, in a sentence, and the operator x data type matrix: shared by every report and by the terminal.

A claim has a basis. ``documented`` cases support the claim of conformance to the documentation; ``measured`` and ``contested`` cases
support the further claim of behaving like DirectML where the documentation is silent or contradicted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dmlcts.reports.record import (
    ERROR,
    FAIL,
    FAILURES,
    NOT_RUN,
    PASS,
    STATUSES,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Manifest,
    Record,
    Result,
)

MEASURED_VERSION = "DirectML 1.15.4"
"""The version on which the facts of basis ``measured`` were measured."""

SEVERITY = (ERROR, FAIL, UNEXPECTED_PASS, NOT_RUN, WAIVED, UNSUPPORTED, PASS)
"""Every status, the worst first."""

WORDS = {
    PASS: "passed",
    FAIL: "failed",
    ERROR: "error",
    UNEXPECTED_PASS: "unexpected pass",
    WAIVED: "waived",
    UNSUPPORTED: "unsupported",
    NOT_RUN: "not run",
}
"""A status in words."""

_PLURALS = {ERROR: "errors", UNEXPECTED_PASS: "unexpected passes"}

SYMBOLS = {PASS: "✓", FAIL: "✗", ERROR: "!", UNEXPECTED_PASS: "±", WAIVED: "~", UNSUPPORTED: "–", NOT_RUN: "○"}
"""A status in one character, so that no report relies on color alone."""

MEANINGS = {
    PASS: "did what was expected",
    FAIL: "gave a wrong result, or accepted an invalid desc or binding",
    ERROR: "crashed, hung, raised an exception or gave an answer that makes no sense",
    UNEXPECTED_PASS: "passed although a waiver says that it fails: remove the waiver",
    WAIVED: "failed, and a waiver gives the reason",
    UNSUPPORTED: "is not claimed by the implementation; neither a pass nor a failure",
    NOT_RUN: "was selected but did not run",
}

_DOCUMENTED = "documented"

Counts = dict[str, int]
Matrix = dict[str, dict[str, Counts]]
"""Operator -> data type -> how many results have each status; every status has an entry."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a run.

    ``claim`` is the claim that it supports, empty if none; ``sentence`` states it with numbers, or why there is none.
    ``counts`` has every status; cases that were selected and have no result count as ``not_run``. ``ok``: everything that was selected
    ran, nothing failed, and something passed. ``statements`` are the parts of the sentence, each with its claim.
    """

    sentence: str
    claim: str
    counts: Counts
    ok: bool
    statements: tuple[tuple[str, str], ...] = ()


def verdict(record: Record) -> Verdict:
    """The verdict on ``record``.

    Conformance is claimed only if no documented case failed, crashed, passed unexpectedly or was not run, and some passed; waived and
    unsupported cases are counted in the sentence. Behavior like DirectML's is claimed by the same rule for the measured and contested
    cases, and never for an implementation that contradicts the documentation. An unfinished run supports no claim.
    """
    groups: dict[bool, list[Result]] = {True: [], False: []}
    for result in record.results:
        groups[result.basis == _DOCUMENTED].append(result)
    manifest, missing = record.manifest, missing_results(record)
    counts = record.counts()
    counts[NOT_RUN] += missing
    unfinished = manifest.interrupted or not manifest.finished or missing > 0
    reason = "the run did not finish" if unfinished else "" if record.results else "no case was run"
    statements = []
    if groups[True] or not groups[False]:
        claim = f"conforms to the documentation at {level_text(manifest)}"
        statements.append(_state(manifest, backend_name(manifest), claim, "documented cases", groups[True], reason))
        reason = reason or ("" if statements[0][0] else "its documented cases support no claim")
    if groups[False]:
        claim = f"behaves like {MEASURED_VERSION} where the documentation is silent or contested"
        who = "it" if statements else backend_name(manifest)
        statements.append(_state(manifest, who, claim, "measured and contested cases", groups[False], reason))
    failed = any(counts[status] for status in (*FAILURES, NOT_RUN))
    return Verdict(
        sentence=" ".join(sentence for _, sentence in statements),
        claim=" and ".join(claim for claim, _ in statements if claim),
        counts=counts,
        ok=not failed and not unfinished and counts[PASS] > 0,
        statements=tuple(statements),
    )


def missing_results(record: Record) -> int:
    """How many cases were selected and have no result at all, as in a file that was cut off."""
    return max(0, record.manifest.selected - len(record.results))


def interruption(record: Record) -> str:
    """A sentence about what an unfinished run did not cover; empty for a complete run."""
    missing = missing_results(record) + record.counts()[NOT_RUN]
    total = len(record.results) + missing_results(record)
    if missing:
        began = (
            "The run was interrupted" if record.manifest.interrupted or not record.manifest.finished else "The run is incomplete"
        )
        return f"{began}: {missing:,} of {_number(total, 'case')} {'was' if missing == 1 else 'were'} not run. Their results are unknown."
    return (
        ""
        if record.manifest.finished and not record.manifest.interrupted
        else "The run did not finish normally; there may be more."
    )


def matrix(results: Iterable[Result]) -> Matrix:
    """The matrix, the operators with the worst results first, then by name."""
    found: Matrix = {}
    for (operator, data_type, status), number in Counter((r.operator, r.data_type, r.status) for r in results).items():
        cell = found.setdefault(operator, {}).setdefault(data_type, dict.fromkeys(STATUSES, 0))
        cell[status] = number
    return dict(sorted(found.items(), key=lambda item: (SEVERITY.index(worst(total(item[1].values()))), item[0])))


def total(cells: Iterable[Mapping[str, int]]) -> Counts:
    """The sum of several counts."""
    found = dict.fromkeys(STATUSES, 0)
    for cell in cells:
        for status, number in cell.items():
            found[status] += number
    return found


def worst(counts: Mapping[str, int]) -> str:
    """The worst status that occurs; ``not_run`` if none does."""
    return next((status for status in SEVERITY if counts[status]), NOT_RUN)


def data_types(found: Matrix) -> list[str]:
    """The data types of a matrix: by kind, then by width (``FLOAT16, FLOAT32, INT8...``); unknown names come last."""
    return sorted({data_type for row in found.values() for data_type in row}, key=_data_type_order)


def counts_text(counts: Mapping[str, int]) -> str:
    """``3 failed, 117 passed``: nonzero counts, the worst first."""
    return ", ".join(number_text(status, counts[status]) for status in SEVERITY if counts[status])


def number_text(status: str, number: int) -> str:
    """``1 error``, ``3 failed``."""
    return f"{number:,} {WORDS[status] if number == 1 else plural(status)}"


def plural(status: str) -> str:
    """The plural form of a status."""
    return _PLURALS.get(status, WORDS[status])


def cell_text(counts: Mapping[str, int]) -> str:
    """A cell of the matrix: ``✓ 120``, or how many of how many have the worst status: ``✗ 3/120``."""
    status, number = worst(counts), sum(counts.values())
    return f"{SYMBOLS[status]} {number}" if counts[status] == number else f"{SYMBOLS[status]} {counts[status]}/{number}"


def level_text(manifest: Manifest) -> str:
    """``feature level 6.4``."""
    return f"feature level {manifest.feature_level.replace('_', '.')}"


def backend_name(manifest: Manifest) -> str:
    """What was tested: the backend's name and version, or the option on the command line."""
    name = f"{manifest.backend.get('name') or manifest.backend_spec} {manifest.backend.get('version') or ''}"
    return name.strip() or "The implementation"


def _state(manifest: Manifest, who: str, claim: str, what: str, results: Sequence[Result], reason: str) -> tuple[str, str]:
    """The claim that ``results`` support, empty if none, and the sentence. A non-empty ``reason`` forbids any claim."""
    counts = {**dict.fromkeys(STATUSES, 0), **Counter(result.status for result in results)}
    passed, rest = counts[PASS], counts_text({**counts, PASS: 0})
    what = f"{what} of level {manifest.level}" if manifest.level else what
    if reason or not passed or any(counts[status] for status in (*FAILURES, NOT_RUN)):
        why = f", since {reason}" if reason else ""
        numbers = f": of {len(results):,} {what}, {passed:,} passed{f', {rest}' if rest else ''}" if results else ""
        return "", f"No claim that {who} {claim}{why}{numbers}."
    # An operator is claimed only if one of its cases passed.
    claim = f"{claim}, for {_number(len({result.operator for result in results if result.status == PASS}), 'operator')}{_part(manifest)}"
    aside = f"; {rest}, which the claim excludes" if rest else ""
    return claim, f"{'It' if who == 'it' else who} {claim}: {passed:,} of {len(results):,} {what} passed{aside}."


def _part(manifest: Manifest) -> str:
    """The restriction of a claim where only some of the cases were selected."""
    selected = f"the cases that {manifest.selection!r} selects" if manifest.selection else ""
    shard = f"shard {manifest.shard}" if manifest.shard else ""
    part = " of ".join(filter(None, (shard, selected)))
    return f", within {part}" if part else ""


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _data_type_order(name: str) -> tuple[int, str, int]:
    match = re.fullmatch(r"([A-Z]+)(\d+)", name)
    return (0, match[1], int(match[2])) if match else (1, name, 0)
