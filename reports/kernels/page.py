"""Kernels on the page of a run: numbers by operator, and the curve of what more cases reached."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from dmlcts.reports.kernels.table import Coverage, coverage, coverages
from dmlcts.reports.kernels.text import coverage_text
from dmlcts.reports.record.record import Record

MOST_OPERATORS = 200
"""How many operators the page lists."""

WIDTH, HEIGHT = 200, 100
"""The size of the curve, in the units of its picture."""


@dataclass(frozen=True, slots=True)
class KernelsOfPage:
    """What the page shows: a sentence about all, the curve as points of a picture with its label, and the operators."""

    total: str
    points: str
    label: str
    operators: tuple[Coverage, ...]


def kernels_of_page(record: Record) -> KernelsOfPage | None:
    """What the page shows of a record's kernels; None if its backend names none."""
    total = coverage(record.results)
    if not total.richness.reached:
        return None
    curve = total.richness.curve
    points = " ".join(
        f"{WIDTH * cases / total.cases:.1f},{HEIGHT * (1 - kernels / total.richness.reached):.1f}"
        for cases, kernels in ((0, 0.0), *curve)
    )
    label = f"kernels reached by 1 to {total.cases:,} cases, up to {total.richness.reached:,}"
    return KernelsOfPage(coverage_text(total), points, label, tuple(islice(coverages(record), MOST_OPERATORS)))
