"""Which cases became slower beyond the noise of the runs, which a busy machine makes large.

Noise only adds: the least time of several runs of one implementation is the nearest to what a case takes. And it hits either run: as far as cases got
*faster* by chance, others got slower by chance. So a factor counts only if it is larger than any by which a case took less time than before, beside
what its whole operator gained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

from dmlcts.reports.record.record import PASS, UNEXPECTED_PASS, Record, Result

SLOWDOWN, SLOW_FLOOR = 3.0, 0.5
"""A case that passes became slower if it takes more than SLOWDOWN times as long as before, and SLOW_FLOOR seconds longer."""

_SHORTEST = 0.001
"""Seconds below which nobody can say how often one time is another."""

Times = Mapping[str, tuple[float, float]]
"""By case that passes in both runs: the seconds before and now."""


def times_of(
    old: Mapping[str, Result], new: Mapping[str, Result], repeats: Iterable[Record] = ()
) -> dict[str, tuple[float, float]]:
    """The seconds of the cases that pass in both runs, before and now. Of ``repeats``, further runs of the new implementation, the least time counts."""
    least: dict[str, float] = {}
    for record in repeats:
        for result in filter(_passes, record.results):
            least[result.case] = min(result.seconds, least.get(result.case, result.seconds))
    both = {case: (before, new[case]) for case, before in old.items() if case in new and _passes(before) and _passes(new[case])}
    return {case: (before.seconds, min(now.seconds, least.get(case, now.seconds))) for case, (before, now) in both.items()}


def _passes(result: Result) -> bool:
    return result.status in (PASS, UNEXPECTED_PASS)


def noise_of(times: Times, operators: Mapping[str, str]) -> float:
    """The largest factor by which a case took less time than before, beside the usual one of its operator; 1 at least.

    ``operators`` has the operator of each case. Differences of up to SLOW_FLOOR seconds do not count, as they never do.
    """
    factors: dict[str, list[tuple[float, bool]]] = {}
    for case, (before, now) in times.items():
        factors.setdefault(operators[case], []).append((_factor(now, before), before - now > SLOW_FLOOR))
    return max((factor / usual for usual, factor in _faster(factors.values())), default=1.0)


def _faster(operators: Iterable[Sequence[tuple[float, bool]]]) -> Iterable[tuple[float, float]]:
    """For each case that took clearly less time: the usual factor of its operator, and its own."""
    for factors in operators:
        if any(counts for _, counts in factors):
            usual = max(1.0, median(factor for factor, _ in factors))
            yield from ((usual, factor) for factor, counts in factors if counts and factor > usual)


def slower_cases(times: Times, factor: float) -> set[str]:
    """The cases that take more than ``factor`` times as long as before, and SLOW_FLOOR seconds longer."""
    return {case for case, (before, now) in times.items() if now > before * factor and now - before > SLOW_FLOOR}


def _factor(one: float, other: float) -> float:
    """How many times as long the other time is."""
    return max(other, _SHORTEST) / max(one, _SHORTEST)
