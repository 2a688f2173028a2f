"""Counts, statuses in words, and the operator x data type matrix: shared by every report and by the terminal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from dmlcts.reports.record.record import (
    ERROR,
    FAIL,
    NOT_RUN,
    PASS,
    SEARCH,
    STATUSES,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Manifest,
    Record,
    Result,
)

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

Counts = dict[str, int]
Matrix = dict[str, dict[str, Counts]]
"""Operator -> data type -> how many results have each status; every status has an entry."""


def missing_results(record: Record) -> int:
    """How many cases were selected and have no result at all, as in a file that was cut off."""
    return max(0, record.manifest.selected - len(record.results))


def lacks_operators(manifest: Manifest) -> bool:
    """Whether a run lacks operators that it selected. A random search may end before it comes to all of them."""
    return bool(manifest.unlisted) and manifest.level != SEARCH


def interruption(record: Record, most: int | None = None) -> str:
    """A sentence about what an unfinished run, or a random search, did not cover; empty if it covered all.

    ``most`` limits how many operators are named that a search did not come to.
    """
    if record.manifest.level == SEARCH and record.manifest.finished and not record.manifest.interrupted:
        return _not_reached(record.manifest.unlisted, most)
    missing = missing_results(record) + record.counts()[NOT_RUN]
    unlisted = len(record.manifest.unlisted)
    further = f" The cases of {count_of(unlisted, 'operator')} had not been made and are not counted." if unlisted else ""
    total = len(record.results) + missing_results(record)
    if missing:
        began = (
            "The run was interrupted" if record.manifest.interrupted or not record.manifest.finished else "The run is incomplete"
        )
        since = f", since {why}" if (why := stop(record.manifest)) else ""
        return f"{began}: {missing:,} of {count_of(total, 'case')} {'was' if missing == 1 else 'were'} not run{since}. Their results are unknown.{further}"
    return (
        ""
        if record.manifest.finished and not record.manifest.interrupted
        else f"The run did not finish normally; there may be more.{further}"
    )


def stop(manifest: Manifest) -> str:
    """Why the run, or an operator in it, stopped by itself; empty if nothing did."""
    if manifest.stopped:
        return f"it was stopped after {manifest.stopped}"
    if not manifest.stopped_operators:
        return ""
    (name, why), *others = manifest.stopped_operators.items()
    more = f" (and {count_of(len(others), 'more operator')})" if others else ""
    return f"{name}{more} was stopped after {why}"


def _not_reached(operators: list[str], most: int | None) -> str:
    more = f" and {len(operators) - most:,} more" if most is not None and len(operators) > most else ""
    names = f"{count_of(len(operators), 'operator')}: {', '.join(operators[:most])}{more}"
    return f"The search ended before it came to {names}." if operators else ""


def unused_waivers(record: Record) -> str:
    """A sentence about the waivers that match no case of the run; empty if there are none."""
    patterns = record.manifest.unused_waivers
    if not patterns:
        return ""
    shown = ", ".join(patterns[:10]) + (f" and {len(patterns) - 10:,} more" if len(patterns) > 10 else "")
    return f"{count_of(len(patterns), 'waiver')} matched no case of this run: {shown}."


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


FEW = 3
"""As many operators without a supported case have a line each; more of them have one line together."""


def without_support(found: Matrix) -> dict[str, Counts]:
    """The operators of which every case is unsupported, with their counts, if there are more than a few; a host may declare ten of 177."""
    counts = {operator: total(row.values()) for operator, row in found.items()}
    lacking = {operator: of for operator, of in counts.items() if of[UNSUPPORTED] == sum(of.values())}
    return lacking if len(lacking) > FEW else {}


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


_MORE = {"smoke": ("core", "a first look: a few cases of each operator"), "core": ("full", "for every change; a release runs all")}
"""By level: the next one, and the purpose of the level."""


def more_to_run(manifest: Manifest) -> str:
    """A hint at the next level; empty after level full, or if cases were selected by name."""
    if manifest.level not in _MORE or manifest.selection:
        return ""
    following, what = _MORE[manifest.level]
    spec = f'"{manifest.backend_spec}"' if " " in manifest.backend_spec else manifest.backend_spec
    backend = "" if spec == "reference" else f"--backend {spec} "
    return f"level {manifest.level} is {what}. To run more: dmlcts run {backend}--level {following} --basis {manifest.basis} -n 2"


def backend_name(manifest: Manifest) -> str:
    """What was tested: the backend's name and version, or the option on the command line."""
    name = f"{manifest.backend.get('name') or manifest.backend_spec} {manifest.backend.get('version') or ''}"
    return name.strip() or "The implementation"


def count_of(count: int, noun: str) -> str:
    """``1 case``, ``1,200 cases``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _data_type_order(name: str) -> tuple[int, str, int]:
    match = re.fullmatch(r"([A-Z]+)(\d+)", name)
    return (0, match[1], int(match[2])) if match else (1, name, 0)
