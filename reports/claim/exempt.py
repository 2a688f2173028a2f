"""How many of an operator's cases waivers excuse: in a run, and against an older one.

A waiver is for the exception. Where more of an operator's cases are waived than pass, what passes says little about the operator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from dmlcts.reports.record.record import NEGATIVE, PASS, WAIVED, Result

_NAMED = 10
"""So many operators are named; more are counted."""


_STEPS = {WAIVED: 1, PASS: -1}


def mostly_waived(results: Collection[Result]) -> tuple[str, ...]:
    """The operators of which more cases are waived than pass, by name: of all, or of those that are not negative.

    Negative cases count apart, since who rejects everything passes them all.
    """
    some = {result.operator for result in results if result.status == WAIVED}
    excess, computed = Counter[str](), Counter[str]()
    for result in results:
        if result.operator in some and (step := _STEPS.get(result.status)):
            excess[result.operator] += step
            computed[result.operator] += step * (result.kind != NEGATIVE)
    return tuple(sorted(name for name in some if excess[name] > 0 or computed[name] > 0))


def mostly_waived_text(operators: Iterable[str]) -> str:
    """``more cases are waived than pass of GEMM, JOIN``; empty without operators."""
    names = list(operators)
    more = f" and {len(names) - _NAMED} more operators" if len(names) > _NAMED else ""
    return f"more cases are waived than pass of {', '.join(names[:_NAMED])}{more}" if names else ""


def larger_shares(new: Iterable[Result], old: Iterable[Result]) -> Iterator[str]:
    """The operators of which a larger share of cases is waived than in an older run: ``GEMM: 5 of 100, before 1 of 100``."""
    before = _shares(old)
    for operator, (waived, cases) in sorted(_shares(new).items()):
        was, had = before.get(operator, (0, 1))
        if waived * had > was * cases:
            yield f"{operator}: {waived:,} of {cases:,}, before {f'{was:,} of {had:,}' if operator in before else 'none'}"


def _shares(results: Iterable[Result]) -> Mapping[str, tuple[int, int]]:
    """By operator: how many cases are waived, of how many."""
    cases, waived = Counter[str](), Counter[str]()
    for result in results:
        cases[result.operator] += 1
        waived[result.operator] += result.status == WAIVED
    return {operator: (waived[operator], number) for operator, number in cases.items()}
