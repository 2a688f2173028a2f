"""What the page loads: a script with every case, compressed, and one for each operator with the details of cases that did not pass.

Scripts, since a page from the disk may not fetch. The list of all cases is small enough to be searched at once: 156,000 cases take 2 MB.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any
from zlib import compress

from dmlcts.reports.formats.supplement import Supplement
from dmlcts.reports.record.groups import Group
from dmlcts.reports.record.paths import paths_text
from dmlcts.reports.record.record import FAILURES, STATUSES, WAIVED, Result

START = "(window.dmlcts ??= {})"
"""The start of every data file, by which the next report recognizes the files of an older one."""

MODELS, MOST_MODELS, LARGEST_MODEL = 3, 200, 100_000
"""How many cases of a group have a model, how many of a report have one, and how many characters a model may have."""

MOST_DRAWINGS = 100
"""How many graphs of a report are drawn."""

_MOST_KERNELS = 40
"""How many parts of what a case ran the page shows."""


def as_json(value: Any) -> str:
    """JSON that is safe inside a script, in ASCII."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def cases_script(found: Mapping[str, Sequence[Result]]) -> str:
    """Every case, as deflated JSON in base64.

    For each operator four lists: ids, the index of what a case shares with others in ``shared``, milliseconds, and the error in ULP. Shared are
    status, data type, kind, basis, feature level, grade, matched answer, message, waiver and repro, in which NUL stands for the id.
    """
    shared: dict[tuple[Any, ...], int] = {}
    operators = [
        [
            [_short(result) for result in results],
            [shared.setdefault(_shared_fields(result), len(shared)) for result in results],
            [_round_to_digits(result.seconds * 1000, 2) for result in results],
            [None if result.worst_ulp is None else _round_to_digits(result.worst_ulp, 3) for result in results],
        ]
        for results in found.values()
    ]
    text = as_json({"shared": list(shared), "operators": operators})
    return f'{START}.cases = "{b64encode(compress(text.encode("ascii"), 6)).decode("ascii")}";\n'


def _short(result: Result) -> str:
    """The id; if it starts with the operator, from the slash on."""
    start = f"{result.operator}/"
    return result.case.removeprefix(result.operator) if result.case.startswith(start) else result.case


def _shared_fields(result: Result) -> tuple[Any, ...]:
    repro = result.repro.replace(result.case, "\0") if result.case else result.repro
    return (
        STATUSES.index(result.status), result.data_type, result.kind, result.basis, result.feature_level, result.grade,
        result.matched_answer, result.message, result.waiver, repro,
    )  # fmt: skip


def _round_to_digits(value: float, digits: int) -> float:
    """With so many significant digits, which compress well."""
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() else short


def details_script(
    operator: str, results: Sequence[Result], groups: Sequence[Group], supplement: Supplement, models: int
) -> tuple[str, int]:
    """The details of an operator's cases and its groups, empty if all passed without a remark, and how many models are in it, at most ``models``."""
    details = {row: _details(result) for row, result in enumerate(results) if _has_details(result)}
    for row in list(details)[:MOST_DRAWINGS]:
        if drawing := supplement.draw_graph(results[row]):
            details[row]["drawing"] = drawing
    made = 0
    for row in (row for group in groups for row in group.rows[:MODELS]):
        model = supplement.model(results[row]) if made < models else ""
        if model and len(model) <= LARGEST_MODEL:
            details.setdefault(row, {})["model"] = model
            made += 1
    if not details and not groups:
        return "", 0
    rows = [group.rows for group in groups]
    return f"{START}[{as_json(f'/{operator}')}] = {as_json({'details': details, 'groups': rows})};\n", made


def _has_details(result: Result) -> bool:
    return bool(result.status in FAILURES or result.status == WAIVED or result.mismatches or result.evidence)


def _details(result: Result) -> dict[str, Any]:
    found = {
        "wrong": result.wrong,
        "elements": result.elements,
        "mismatches": [[m.tensor, list(m.index), m.expected, m.actual, m.ulp, m.allowed] for m in result.mismatches],
        "maps": [[m.tensor, m.sizes, m.split, m.cells, m.right_ulps, m.wrong_ulps] for m in result.error_maps],
        "desc": result.desc,
        "evidence": result.evidence | ({"kernels": paths_text(result.paths, _MOST_KERNELS)} if result.paths else {}),
    }
    return {key: value for key, value in found.items() if value}
