"""The error function, which array namespaces lack, in float64: from its series near 0 and its continued fraction beyond.

No table of fitted coefficients: both are what mathematics gives, cut off where float64 no longer sees the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from math import pi, sqrt
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import Reference
from dmlcts.spec.model.desc import OperatorDesc

_MEETING = 2.0
"""Below it the series is used, from it on the continued fraction."""

_TERMS = 30
"""Of the series: at ``_MEETING`` the next is below 2^-56 of the sum."""

_DEPTH = 50
"""Of the continued fraction: at ``_MEETING`` another level changes it by less than 2^-52 of itself."""


def erf(xp: Any, x: Array) -> Array:
    """The error function of float64 values, ``2/sqrt(pi)`` times the integral of ``exp(-t^2)`` from 0 to x; within 2e-15 relative."""
    return _by_parts(xp, x, partial(_series, xp), lambda far: xp.sign(far) * (1.0 - _tail(xp, xp.abs(far))))


def erfc(xp: Any, x: Array) -> Array:
    """``1 - erf(x)`` of float64 values, without its cancellation: within 2e-13 relative wherever it is a normal number."""

    def far_value(far: Array) -> Array:
        tail = _tail(xp, xp.abs(far))
        return xp.where(far < 0, 1.0 + (1.0 - tail), tail)

    return _by_parts(xp, x, lambda near: 1.0 - _series(xp, near), far_value)


def _by_parts(xp: Any, x: Array, near: Callable[[Array], Array], far: Callable[[Array], Array]) -> Array:
    """One function of what is nearer to 0 than ``_MEETING``, and another of the rest and of NaN. Each takes a hundred operations an element."""
    is_near = xp.abs(x) < _MEETING
    found = xp.empty_like(x)
    found[is_near] = near(x[is_near])
    found[~is_near] = far(x[~is_near])
    return found


def _series(xp: Any, x: Array) -> Array:
    """``erf`` of what is below ``_MEETING``: ``2/sqrt(pi) * x * exp(-x^2) * (1 + 2x^2/3 * (1 + 2x^2/5 * (1 + ...)))``, all of one sign."""
    square = x * x
    total = xp.ones_like(square)
    for term in range(_TERMS, 0, -1):
        total *= square * (2.0 / (2 * term + 1))
        total += 1.0
    return 2.0 / sqrt(pi) * x * (xp.exp(-square) * total)


def _tail(xp: Any, x: Array) -> Array:
    """``erfc`` of what is not below ``_MEETING``: ``exp(-x^2) / sqrt(pi) / (x + 1/2 / (x + 2/2 / (x + 3/2 / (x + ...))))``."""
    below = x
    for level in range(_DEPTH, 0, -1):
        below = (level / 2) / below
        below += x
    return xp.exp(-x * x) / sqrt(pi) / below


_NEAR_ZERO = 2.0**-24
"""The smallest number of FLOAT16: results up to it are as good as zeros."""

_FLUSHED = 2.0**-126
"""The same where more is required: what FLOAT32 may flush."""


def either_zero(run: Reference) -> Reference:
    """The reference of a function through the origin that is not required to keep the sign of zero.

    An exact value that may lie on either side of zero may be stored as either zero. So the slack of what is next to zero leads across it,
    by less than any number that the function's bound tells from zero.
    """

    def free(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        answer = run(xp, desc, inputs)["OutputTensor"]
        size = xp.abs(answer.value)

        def slack_across_zero(slack: Array | float, near: float) -> Array:
            return xp.where(size <= near, xp.maximum(slack, 1.5 * size + 2.0**-1000), slack)

        slack = slack_across_zero(xp.zeros_like(answer.value) if answer.slack is None else answer.slack, _NEAR_ZERO)
        measured = None if answer.measured_slack is None else slack_across_zero(answer.measured_slack, _FLUSHED)
        return {"OutputTensor": replace(answer, slack=slack, measured_slack=measured)}

    return free
