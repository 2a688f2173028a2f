"""Normalization by the elements around: the response of a neighbourhood, and the norm of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.fused import stored_error
from dmlcts.reference.normalization.error import QUOTIENT, TINY, UNIT, added, along, attribute, inverse_root
from dmlcts.reference.normalization.rows import magnitudes, row_axes, squares
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.desc import OperatorDesc

_POW = 3.0
"""Units of a power beside what its argument brings: those of exp."""


@stage("normalization.neighborhood")
def neighborhood(desc: OperatorDesc) -> tuple[int, ...]:
    """The dimensions along which an element has neighbors."""
    return (1,) if desc.fields["CrossChannel"] else (2, 3)


@stage("normalization.reach")
def reach(size: int) -> tuple[int, int]:
    """How many neighbors there are before and behind: an even size reaches one further towards higher indices."""
    return (size - 1) // 2, size // 2


@stage("normalization.window")
def window(xp: Any, x: Array, axis: int, size: int) -> Array:
    """The sum of each element's ``size`` neighbours along an axis, those beyond the ends left out."""
    (before, behind), length = reach(size), x.shape[axis]
    sums = xp.zeros_like(x)
    for step in range(max(-before, 1 - length), min(behind + 1, length)):
        here = [slice(None)] * x.ndim
        there = list(here)
        here[axis] = slice(max(-step, 0), length - max(step, 0))
        there[axis] = slice(max(step, 0), length + min(step, 0))
        sums[tuple(here)] += x[tuple(there)]
    return sums


@stage("normalization.weight")
def weighted_sum(alpha: float, size: int, total: Array) -> Array:
    """What is added to Bias, of squares that add up to ``total``."""
    return alpha / size * total


@stage("normalization.power")
def raised(xp: Any, base: Array, beta: float) -> Array:
    """What divides."""
    return base**beta


@reference("LOCAL_RESPONSE_NORMALIZATION")
def local_response(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``x / (Bias + Alpha / LocalSize * sum(x^2 of the neighbourhood)) ^ Beta``.

    The neighbourhood is LocalSize channels, or a square of LocalSize rows and columns; in both the divisor is LocalSize, as the formula
    says. The power is judged as ``exp2(Beta * log2(...))`` in FLOAT32, whose error grows with that argument.
    """
    x, size = inputs["InputTensor"].astype(xp.float64), desc.fields["LocalSize"]
    assert isinstance(size, int)
    alpha, beta, bias = (attribute(xp, desc, name) for name in ("Alpha", "Beta", "Bias"))
    total, terms = squares(x, x), 1
    for axis in neighborhood(desc):
        total, terms = window(xp, total, axis, size), terms * min(size, x.shape[axis])
    weighted = weighted_sum(alpha, size, total)
    base = bias + weighted
    value = x / raised(xp, base, beta)
    # In any order: Higham's bound, for terms are few. Each is a square, and the sum a product with Alpha / LocalSize.
    near = (terms + 3) * (UNIT * xp.abs(weighted) + TINY) + UNIT * xp.abs(base)
    share = abs(beta) * (near / xp.abs(base) + UNIT * xp.abs(xp.log(xp.abs(base)))) + (_POW + QUOTIENT) * UNIT
    return {"OutputTensor": Answer(value, slack=xp.abs(value) * share)}


@reference("LP_NORMALIZATION")
def lp_normalization(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``x / sqrt(norm^2 + Epsilon)``, the norm being that of order P along Axis.

    Where Epsilon goes is not said; DirectML.dll adds it to the square for both orders. It stores the norm of order 1 and its square, and
    the square alone of order 2.
    """
    x, axes = inputs["InputTensor"].astype(xp.float64), row_axes(desc)
    if desc.fields["P"] == 1:
        terms = magnitudes(xp, x)
        norm, _ = along(xp, terms, axes)
        square, off = norm * norm, added(xp, terms, axes) + stored_error(xp, desc, norm)
        error = 2 * norm * off + off * off + UNIT * square
    else:
        terms = squares(x, x)
        square, _ = along(xp, terms, axes)
        error = added(xp, terms, axes) + UNIT * square
    factor, share = inverse_root(xp, square, error + stored_error(xp, desc, square), attribute(xp, desc, "Epsilon"))
    known = xp.broadcast_to(xp.isfinite(share), x.shape)
    return {"OutputTensor": Answer(x * factor, slack=xp.where(known, xp.abs(x * factor) * (share + UNIT), 0.0), defined=known)}
