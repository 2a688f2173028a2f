"""How many kernels there may be, from how many cases reach each: an estimate of species richness, and the curve of what more cases found.

A kernel that one case alone reached says that others were missed. Chao's estimator for incidence data (Chao2; where each case runs one kernel, Chao1) needs no
more than Q1 and Q2, the kernels that one case and that two cases reached, of S in all and T cases:

    S + A Q1^2 / (2 Q2)          with A = (T - 1) / T; where Q2 is 0, S + A Q1 (Q1 - 1) / 2

Its interval of 95 % is that of a lognormal number of unreached kernels. A. Chao, "Estimating the population size for capture-recapture data with unequal
catchability", Biometrics 43 (1987), 783-791; the variances are of R. K. Colwell's EstimateS, appendix B. It treats the cases as a random sample, and is a
lower bound even then: kernels that one case in a hundred would reach are hardly seen among the first. What no case varies is not in it at all. With few
cases the error is large, as the interval says.

The curve is the mean number of kernels that n cases reach which are drawn from all without order (S. H. Hurlbert, "The nonconcept of species diversity",
Ecology 52 (1971), 577-586): where it still rises at its end, more cases find more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, lgamma, log, sqrt
from typing import Any

_Z = 1.96
"""Standard deviations of an interval of 95 %."""

POINTS = 40
"""The points of a curve."""


@dataclass(frozen=True, slots=True)
class Richness:
    """Kernels ``reached``, those reached ``once`` and ``twice``, and how many there may be with the interval of 95 %. ``curve`` has pairs of cases and kernels."""

    reached: int
    once: int
    twice: int
    estimate: float
    least: float
    most: float
    curve: tuple[tuple[int, float], ...]

    def to_json(self) -> dict[str, Any]:
        """As data, with rounded numbers."""
        return {
            "reached": self.reached,
            "once": self.once,
            "twice": self.twice,
            "estimate": round(self.estimate, 1),
            "least": round(self.least, 1),
            "most": round(self.most, 1),
            "curve": [[cases, round(kernels, 1)] for cases, kernels in self.curve],
        }


def richness(counts: Sequence[int], cases: int) -> Richness:
    """The richness of kernels that so many cases each reach, of ``cases`` in all."""
    reached, once, twice = len(counts), counts.count(1), counts.count(2)
    share = (cases - 1) / cases if cases else 0.0
    missed = share * (once**2 / (2 * twice) if twice else once * (once - 1) / 2)
    least, most = _interval(reached, missed, _variance(reached + missed, once, twice, share))
    return Richness(reached, once, twice, reached + missed, least, most, tuple(curve(counts, cases)))


def _variance(estimate: float, once: int, twice: int, share: float) -> float:
    """The variance of the estimate."""
    if not once:
        return 0.0
    if twice:
        ratio = once / twice
        return twice * (share / 2 * ratio**2 + share**2 * ratio**3 + share**2 / 4 * ratio**4)
    return max(0.0, share * once * (once - 1) / 2 + share**2 * once * (2 * once - 1) ** 2 / 4 - share**2 * once**4 / (4 * estimate))


def _interval(reached: int, missed: float, variance: float) -> tuple[float, float]:
    """The ends of the interval; there are at least as many as were reached."""
    if missed <= 0 or variance <= 0:
        return float(reached), float(reached)
    factor = exp(_Z * sqrt(log(1 + variance / missed**2)))
    return reached + missed / factor, reached + missed * factor


def curve(counts: Sequence[int], cases: int, points: int = POINTS) -> list[tuple[int, float]]:
    """How many kernels so many drawn cases reach on average, at some numbers of cases from one to all."""
    steps = sorted({max(1, round(cases * at / points)) for at in range(points + 1)}) if cases else []
    of_each = Counter(counts)
    return [
        (drawn, sum(number * (1 - _chance_of_missing(count, cases, drawn)) for count, number in of_each.items())) for drawn in steps
    ]


def _chance_of_missing(count: int, cases: int, drawn: int) -> float:
    """The probability that none of so many ``drawn`` cases is one of the ``count`` that reach a kernel."""
    if drawn > cases - count:
        return 0.0
    return exp(lgamma(cases - count + 1) - lgamma(cases - count - drawn + 1) - lgamma(cases + 1) + lgamma(cases - drawn + 1))
