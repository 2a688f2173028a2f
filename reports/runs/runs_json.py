"""Several runs side by side as data, in the form of reports/schema/runs.schema.json: what the page shows, and what its file runs.json has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dmlcts.reports.record.record import BEYOND_OPERATORS, ERROR, FAIL, NOT_RUN, PASS, UNEXPECTED_PASS, UNSUPPORTED, WAIVED
from dmlcts.reports.record.verdict import backend_name, total
from dmlcts.reports.runs.comparison import Cause, Comparison, cause_text
from dmlcts.reports.runs.run import Run

FORMAT = "dmlcts-runs-1"

_ORDER = (ERROR, FAIL, UNEXPECTED_PASS, WAIVED, NOT_RUN, PASS, UNSUPPORTED)
"""What an operator is worth in a run, the worst first; what is unsupported takes nothing from what passes."""


def state_of(counts: Mapping[str, int]) -> str:
    """What cases with these counts are worth together: a status."""
    return next((status for status in _ORDER if counts.get(status)), NOT_RUN)


def operators_only(rows: Mapping[str, Any]) -> dict[str, Any]:
    """The rows without those of the API's promises and of graphs, which are no operators and are not counted as such."""
    return {name: row for name, row in rows.items() if name not in BEYOND_OPERATORS}


def runs_json(comparison: Comparison, most: int | None = None) -> dict[str, Any]:
    """The comparison as data; of the cases that do not simply pass at most so many, those of the causes with most cases last."""
    order = sorted(range(len(comparison.causes)), key=lambda at: len(comparison.causes[at].cases))
    of_cause = {case: at for at in order for case in comparison.causes[at].cases}
    others = [case for case in comparison.noted if case not in of_cause]
    shown = [*of_cause, *others][:most]
    operators = {operator: _row(comparison, operator) for operator in comparison.operators}
    return {
        "format": FORMAT,
        "runs": [
            _run(run, [row[place]["state"] for row in operators_only(operators).values()])
            for place, run in enumerate(comparison.runs)
        ],
        "remarks": list(comparison.remarks),
        "operators": operators,
        "causes": [_cause(cause, comparison) for cause in comparison.causes],
        "cases": [
            {
                "case": case,
                "operator": (note := comparison.noted[case]).operator,
                "data_type": note.data_type,
                "letters": comparison.letters(case),
                "message": note.message,
                "cause": of_cause.get(case),
            }
            for case in shown
        ],
        "cases_left_out": len(of_cause) + len(others) - len(shown),
    }


def _run(run: Run, states: list[str]) -> dict[str, Any]:
    manifest = run.manifest
    names = ("feature_level", "level", "basis", "selection", "suite_version", "spec_version", "started", "finished", "seconds")
    return {
        "key": run.key,
        "implementation": backend_name(manifest),
        "device": str(manifest.backend.get("device") or ""),
        **{name: getattr(manifest, name) for name in names},
        "sentence": run.sentence,
        "ok": run.ok,
        "counts": run.counts,
        "operators": dict(Counter(states)),
    }


def _row(comparison: Comparison, operator: str) -> list[dict[str, Any]]:
    return [_cell(comparison, operator, place) for place in range(len(comparison.runs))]


def _cell(comparison: Comparison, operator: str, place: int) -> dict[str, Any]:
    if why := comparison.kind(operator, place):
        return {"state": why}
    row = comparison.runs[place].cells[operator]
    counts = {status: number for status, number in total(row.values()).items() if number}
    types = {name or "none": {status: number for status, number in cell.items() if number} for name, cell in row.items()}
    return {"state": state_of(counts), "counts": counts, "types": types}


def _cause(cause: Cause, comparison: Comparison) -> dict[str, Any]:
    keys = [run.key for run in comparison.runs]

    def key(place: int | None) -> str | None:
        return None if place is None else keys[place]

    return {
        "operators": list(cause.operators),
        "symptom": cause.symptom or "wrong values",
        "detail": cause.detail,
        "words": list(cause.words),
        "when": cause_text(cause, comparison.runs),
        "first_bad": key(cause.since),
        "last_bad": key(cause.until),
        "last_good_before": key(cause.before),
        "first_good_after": key(cause.after),
        "only": cause.only,
        "bad": [keys[place] for place in cause.bad],
        "cases": len(cause.cases),
        "example": cause.cases[0],
        "message": cause.message,
        "explanation": cause.explanation,
    }
