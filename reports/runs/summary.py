"""Several runs side by side in Markdown: what a guide or a pull request shows of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dmlcts.reports.formats.markdown import code, plain
from dmlcts.reports.record.record import ERROR, FAIL, PASS, UNEXPECTED_PASS, UNSUPPORTED, WAIVED
from dmlcts.reports.record.verdict import SYMBOLS, count_of
from dmlcts.reports.runs.runs_json import operators_only

BAD = (ERROR, FAIL, UNEXPECTED_PASS, WAIVED)

_MOST_CAUSES, _MOST_ROWS, _NAMED = 60, 200, 3


def summary(data: Mapping[str, Any]) -> Iterator[str]:
    """The lines, from ``runs_json``: a line for each run, the operators that differ, and what fails since when."""
    runs = data["runs"]
    yield f"# {count_of(len(runs), 'run')} side by side"
    yield ""
    yield "| run | feature level | level | operators that pass | fail | known faults | cases | pass | fail | error | waived | unsupported | minutes |"
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    yield from map(_run_row, runs)
    yield ""
    yield from (f"> {plain(remark)}\n" for remark in data["remarks"])
    rows = {name: row for name, row in data["operators"].items() if len({_cell(cell) for cell in row if "counts" in cell}) > 1}
    yield f"## Operators that differ: {len(operators_only(rows))} of {len(operators_only(data['operators']))}"
    yield ""
    if rows:
        yield f"| operator | {' | '.join(plain(run['key']) for run in runs)} |"
        yield f"|---|{'---|' * len(runs)}"
        yield from (f"| {code(name)} | {' | '.join(map(_cell, row))} |" for name, row in list(rows.items())[:_MOST_ROWS])
        yield ""
        yield f"{SYMBOLS[PASS]} passes; {SYMBOLS[FAIL]} so many cases fail; {SYMBOLS[ERROR]} with errors; {SYMBOLS[WAIVED]} a waiver explains it; {SYMBOLS[UNSUPPORTED]} unsupported; empty: of a later feature level, or not run."
        yield ""
    yield f"## What fails, and since when: {count_of(len(data['causes']), 'cause')}"
    yield ""
    yield from map(_cause_line, data["causes"][:_MOST_CAUSES])
    if len(data["causes"]) > _MOST_CAUSES:
        yield f"- ... and {len(data['causes']) - _MOST_CAUSES} more in runs.json"


def _run_row(run: Mapping[str, Any]) -> str:
    states, counts = run["operators"], run["counts"]
    cells: Sequence[object] = (
        plain(run["key"]), run["feature_level"].replace("_", "."), run["level"], states.get(PASS, 0),
        sum(states.get(status, 0) for status in (FAIL, ERROR, UNEXPECTED_PASS)), states.get(WAIVED, 0), f"{sum(counts.values()):,}",
        *(f"{counts[status]:,}" for status in (PASS, FAIL, ERROR, WAIVED, UNSUPPORTED)), round(run["seconds"] / 60),
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


def _cell(cell: Mapping[str, Any]) -> str:
    if "counts" not in cell:
        return ""
    number = sum(cell["counts"].get(status, 0) for status in BAD)
    return f"{SYMBOLS[cell['state']]} {number:,}" if number else SYMBOLS[cell["state"]]


def _cause_line(cause: Mapping[str, Any]) -> str:
    operators = cause["operators"]
    names = ", ".join(map(code, operators[:_NAMED])) + (f" and {len(operators) - _NAMED} more" if len(operators) > _NAMED else "")
    detail = f": {plain(cause['detail'])}" if cause["detail"] else ""
    return f"- {names}: {plain(cause['symptom'])}{detail}, {count_of(cause['cases'], 'case')}: {plain(cause['when'])}. {code(cause['example'])}"
