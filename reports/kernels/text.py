"""Kernels in text: the lines that `dmlcts kernels` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from dmlcts.reports.kernels.changes import Changes
from dmlcts.reports.kernels.richness import Richness
from dmlcts.reports.kernels.table import Coverage, Kernel
from dmlcts.reports.kernels.within import ENOUGH, Condition, Within, often_missing, share_alone, share_of_pairs
from dmlcts.reports.record.paths import is_created
from dmlcts.reports.record.verdict import count_of

_SHOWN = 3
"""How many operators, cases or replaced kernels a line names."""


def coverage_text(coverage: Coverage) -> str:
    """``33 kernels in 814 cases, 12 of them in one case alone; there may be 45 (95 %: 37 to 70)``."""
    found = coverage.richness
    return f"{count_of(found.reached, 'kernel')} in {count_of(coverage.cases, 'case')}, {found.once:,} of them in one case alone; {estimate_text(found)}"


def not_created_text(found: Sequence[Kernel]) -> str:
    """``4 kernels were not created, for 4 cases, 4 of which fail: REDUCE``; empty if all were."""
    lacking = [kernel for kernel in found if not is_created(kernel.label)]
    cases = {case for kernel in lacking for case in kernel.cases}
    failing = {case for kernel in lacking for case in kernel.failing}
    names = sum((Counter(kernel.operators) for kernel in lacking), Counter[str]())
    were = "was" if len(lacking) == 1 else "were"
    return (
        f"{count_of(len(lacking), 'kernel')} {were} not created, for {count_of(len(cases), 'case')}, {len(failing):,} of which fail: {_names_text(names)}"
        if lacking
        else ""
    )


def without_kernel_text(found: Mapping[str, int]) -> str:
    """``37 cases ran and name no kernel: ROI_ALIGN_GRAD, LSTM``; empty if there are none."""
    return f"{count_of(sum(found.values()), 'case')} ran and name no kernel: {_names_text(found)}" if found else ""


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
    return _names_text(kernel.operators)


def _names_text(cases: Mapping[str, int]) -> str:
    """The operators, those with the most cases first."""
    names = sorted(cases, key=lambda name: (-cases[name], name))
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


_LACKING = 5
"""How many missing conditions, or pairs, are named."""


def within_text(found: Sequence[Within]) -> str:
    """``12 kernels in 10 cases or more; 96 % of 430 conditions alone, 95 % of 1,204 pairs``."""
    alone, pairs = share_alone(found), share_of_pairs(found)
    return (
        f"{count_of(len(found), 'kernel')} in {ENOUGH} cases or more; {alone.part:.1%} of {alone.ran + alone.missing:,} conditions alone, "
        f"{pairs.part:.1%} of {pairs.ran + pairs.missing:,} pairs"
    )


def missing_lines(found: Sequence[Within]) -> Iterator[str]:
    """The conditions and pairs that are missing in the most of these kernels."""
    often = sorted(often_missing(found).items(), key=lambda entry: (-entry[1], len(entry[0]), entry[0]))
    for conditions, kernels in often[:_LACKING]:
        yield f"  missing in {count_of(kernels, 'kernel')}: {' and '.join(map(condition_text, conditions))}"


def table_lines(table: Within) -> Iterator[str]:
    """All about one kernel: how many cases meet each condition, what is missing, and what it excludes."""
    yield f"{table.label}: {count_of(table.cases, 'case')} of {table.operator}"
    by_name: dict[str, list[str]] = {}
    for (name, value), cases in table.alone.items():
        by_name.setdefault(name, []).append(f"{value} {cases:,}")
    for name, values in by_name.items():
        yield f"  {name}: {', '.join(values)}"
    for words, conditions in (("missing", table.missing), ("it excludes", table.excluded)):
        if conditions:
            yield f"  {words}: {'; '.join(map(condition_text, conditions))}"
    ran, missing = len(table.pairs), len(table.missing_pairs)
    yield f"  pairs: {ran:,} of {ran + missing:,} ran; it excludes {table.excluded_pairs:,} more"
    for one, other in table.missing_pairs:
        yield f"    missing: {condition_text(one)} and {condition_text(other)}"


def condition_text(condition: Condition) -> str:
    """``BTensor is packed``."""
    return f"{condition[0]} is {condition[1].replace('-', ' ')}"
