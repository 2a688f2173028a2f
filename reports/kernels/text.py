"""Kernels in text: the lines that `dmlcts kernels` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dmlcts.reports.kernels.changes import Changes
from dmlcts.reports.kernels.richness import Richness
from dmlcts.reports.kernels.table import Coverage, Kernel
from dmlcts.reports.record.verdict import count_of

_SHOWN = 3
"""How many operators, cases or replaced kernels a line names."""


def coverage_text(coverage: Coverage) -> str:
    """``33 kernels in 814 cases, 12 of them in one case alone; there may be 45 (95 %: 37 to 70)``."""
    found = coverage.richness
    return f"{count_of(found.reached, 'kernel')} in {count_of(coverage.cases, 'case')}, {found.once:,} of them in one case alone; {estimate_text(found)}"


def estimate_text(found: Richness) -> str:
    """How many kernels there may be."""
    if found.estimate < found.reached + 0.5:
        return "no sign of more"
    return f"there may be {found.estimate:,.0f} (95 %: {found.least:,.0f} to {found.most:,.0f})"


def kernel_text(kernel: Kernel) -> str:
    """``dxil 3f2a9c0d1e5b7a48: 12 of 12 cases fail; GEMM; groups 1x1x1 to 64x8x1``."""
    cases = len(kernel.cases)
    fails = f"{len(kernel.failing):,} of {count_of(cases, 'case')} fail" if kernel.failing else count_of(cases, "case")
    parts = [fails, operators_text(kernel), numbers_text(kernel)]
    if cases == 1:
        parts.append(f"only {kernel.cases[0]}")
    return f"{kernel.label}: {'; '.join(filter(None, parts))}"


def operators_text(kernel: Kernel) -> str:
    """The operators whose cases run it, those with the most cases first."""
    names = sorted(kernel.operators, key=lambda name: (-kernel.operators[name], name))
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def numbers_text(kernel: Kernel) -> str:
    """``groups 1x1x1 to 64x8x1``; empty if it has no numbers."""
    least, most = ("x".join(map(str, numbers)) for numbers in (kernel.smallest, kernel.largest))
    if not most:
        return ""
    return f"groups {least}" if least == most else f"groups {least} to {most}"


def changes_lines(changes: Changes) -> Iterator[str]:
    """What changed of an operator: a line, and below it which kernels ran in place of which, and which failures go with it."""
    kernels = f"{count_of(len(changes.new), 'new kernel')}, {len(changes.gone):,} gone"
    regrouped = f"; {changes.regrouped:,} run the same with other groups" if changes.regrouped else ""
    yield f"{changes.operator}: {len(changes.other):,} of {count_of(changes.both, 'case')} run other kernels ({kernels}){regrouped}"
    for (before, now), count in changes.instead.most_common(_SHOWN):
        yield f"  {now} in place of {before}: {count_of(count, 'case')}"
    changed = set(changes.with_change)
    for words, cases in (("newly fail", changes.failing), ("fail no more", changes.fixed)):
        if cases:
            own = [case for case in cases if case in changed]
            yield f"  {len(cases):,} {words}, {len(own):,} of them with other kernels{_case_names(own or cases)}"


def _case_names(cases: Sequence[str]) -> str:
    more = len(cases) - _SHOWN
    return f": {', '.join(cases[:_SHOWN])}{f' and {more:,} more' if more > 0 else ''}"
