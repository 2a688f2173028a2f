"""Normalization by the elements around: the response of a neighbourhood, and the norm of a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.normalization.error import (
    QUOTIENT,
    TINY,
    UNIT,
    finish_answer,
    inverse_root,
    is_empty,
    sum_along,
    sum_error_along,
)
from dmlcts.reference.operators.normalization.rows import magnitudes, row_axes, squares
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.fused import stored_error
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED

_POW = 3.0
"""Units of a power beside what its argument brings: those of exp."""


@stage("normalization.neighborhood")
def neighborhood(desc: OperatorDesc) -> tuple[int, ...]:
    """The dimensions along which an element has neighbors."""
    return (1,) if desc.flag("CrossChannel") else (2, 3)


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
def raise_to_power(xp: Any, base: Array, beta: float) -> Array:
    """What divides."""
    return base**beta


def _bases(xp: Any, desc: OperatorDesc, x: Array, stored: Callable[[Array], Array]) -> tuple[Array, Array, int]:
    """``Bias + Alpha / LocalSize * sum(x^2 of the neighbourhood)``, the share of it that it may be off by, and the terms of a sum.

    The neighbourhood is LocalSize channels, or a square of LocalSize rows and columns; in both the divisor is LocalSize, as the formula
    says. ``stored`` is what the squares, their sum and the result may be off by because they are stored.
    """
    size = desc.integer("LocalSize")
    total, terms = squares(x, x), 1
    off = stored(total)
    for axis in neighborhood(desc):
        total, off, terms = window(xp, total, axis, size), window(xp, off, axis, size), terms * min(size, x.shape[axis])
    alpha = desc.number("Alpha")
    weighted = weighted_sum(alpha, size, total)
    base = desc.number("Bias") + weighted
    # In any order: Higham's bound, for terms are few. Each is a square, and the sum a product with Alpha / LocalSize.
    near = (terms + 3) * (UNIT * xp.abs(weighted) + TINY) + UNIT * xp.abs(base)
    near = near + weighted_sum(abs(alpha), size, off + stored(total)) + stored(base)
    return base, near / xp.abs(base), terms


def _power_share(xp: Any, base: Array, share: Array, power: float) -> Array:
    """The share by which ``base ** power`` may be off, computed as ``exp2(power * log2(base))`` in FLOAT32, of a base off by ``share``."""
    error = share + UNIT * xp.abs(xp.log(xp.abs(base)))
    return abs(power) * error * (1 + (abs(power) + 1) * error) + _POW * UNIT


@reference("LOCAL_RESPONSE_NORMALIZATION")
def local_response(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``x / (Bias + Alpha / LocalSize * sum(x^2 of the neighbourhood)) ^ Beta``."""
    x, beta = inputs["InputTensor"].astype(xp.float64), desc.number("Beta")
    base, share, _ = _bases(xp, desc, x, xp.zeros_like)
    value = x / raise_to_power(xp, base, beta)
    return {"OutputTensor": Answer(value, slack=xp.abs(value) * (_power_share(xp, base, share, beta) + QUOTIENT * UNIT))}


@stage("normalization.window-back")
def window_back(xp: Any, x: Array, axis: int, size: int) -> Array:
    """The sum over those elements in whose window each one lies: an even size reaches one further towards lower indices."""
    return xp.flip(window(xp, xp.flip(x, axis), axis, size), axis)


@reference("LOCAL_RESPONSE_NORMALIZATION_GRAD")
def local_response_grad(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``g / b^Beta - 2 * Alpha * Beta / LocalSize * x * sum(g * x / b^(Beta + 1))`` with b the base of ``local_response``.

    The sum is over the elements whose neighbourhood has this one. DirectML.dll sums over the neighbourhood itself, which is another one
    where LocalSize is even; and it stores the squares, their sum and b, which FLOAT16 may not hold.
    """
    size = desc.integer("LocalSize")
    answer = _response_gradient(xp, desc, inputs, window_back)
    if size % 2 == 0:
        answer = replace(answer, contested={MEASURED: _response_gradient(xp, desc, inputs, window)})
    return {"OutputGradientTensor": answer}


def _response_gradient(
    xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array], summed: Callable[[Any, Array, int, int], Array]
) -> Answer:
    """The gradient by the input, where ``summed`` are the sums along an axis over those elements that each one counts in."""
    x, gradient = (inputs[name].astype(xp.float64) for name in ("InputTensor", "InputGradientTensor"))
    alpha, beta, size = desc.number("Alpha"), desc.number("Beta"), desc.integer("LocalSize")
    stores = desc.with_fields(OutputTensor=desc.tensor("OutputGradientTensor"))
    base, share, terms = _bases(xp, desc, x, lambda value: stored_error(xp, stores, value) + xp.zeros_like(value))
    own = gradient / raise_to_power(xp, base, beta)
    own_error = xp.abs(own) * (_power_share(xp, base, share, beta) + QUOTIENT * UNIT)
    others = gradient * x / raise_to_power(xp, base, beta + 1)
    # As b^(Beta + 1), or as b^Beta * b.
    units = _power_share(xp, base, share, abs(beta) + 1) + (QUOTIENT + 2) * UNIT
    total, off = others, xp.abs(others) * (units + terms * UNIT)
    for axis in neighborhood(desc):
        total, off = summed(xp, total, axis, size), summed(xp, off, axis, size)
    factor = 2 * weighted_sum(alpha, size, x) * beta
    value = own - factor * total
    error = own_error + xp.abs(factor) * (off + terms * TINY) + 5 * UNIT * xp.abs(factor * total) + UNIT * xp.abs(value)
    return finish_answer(xp, stores, value, error, (error < xp.inf) | ~xp.isfinite(value))


@reference("LP_NORMALIZATION")
def lp_normalization(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``x / sqrt(norm^2 + Epsilon)``, the norm being that of order P along Axis.

    Where Epsilon goes is not said; DirectML.dll adds it to the square for both orders. It stores the norm of order 1 and its square, and
    the square alone of order 2.
    """
    x, axes = inputs["InputTensor"].astype(xp.float64), row_axes(desc)
    if desc.integer("P") == 1:
        terms = magnitudes(xp, x)
        norm, _ = sum_along(xp, terms, axes)
        square, off = norm * norm, sum_error_along(xp, terms, axes) + stored_error(xp, desc, norm)
        error = 2 * norm * off + off * off + UNIT * square
    else:
        terms = squares(x, x)
        square, _ = sum_along(xp, terms, axes)
        error = sum_error_along(xp, terms, axes) + UNIT * square
    factor, share = inverse_root(xp, square, error + stored_error(xp, desc, square), desc.number("Epsilon"))
    empty = is_empty(xp, x, xp.zeros_like(x), share)
    value = xp.where(empty, 0.0, x * factor)
    known = xp.broadcast_to(xp.isfinite(share), x.shape) | empty
    slack = xp.where(xp.isfinite(share), xp.abs(value) * (share + UNIT), 0.0)
    return {"OutputTensor": Answer(value, slack=slack, also=xp.where(empty, xp.nan, 0.0), defined=known)}
