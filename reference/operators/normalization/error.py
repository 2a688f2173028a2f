"""What computing a normalization in FLOAT32 may be off by, step by step: the pieces that the bounds of this family are composed of.

The documentation gives formulas and no precision. Each step counts with the bound of the operation that it is, in FLOAT32 and with
truncation: one unit for a product or a sum of two, 2.5 for a quotient, 4 for one over a root, and ``sum_error_along`` for a sum of many. Errors are
absolute, and all are carried on to the output as ``Answer.slack``.

``sum_error_along`` holds for every order and every split of a sum. Either is a binary tree of L - 1 additions, and the j-th smallest of its sums has at
most j + 1 terms: if fewer than j of them had so few, the smallest one with more would hold j smaller sums at least, all of them that small.
The k terms of a sum, in turn, add up to no more than the k largest numbers of one sign. So the additions are off by at most
``ulp(m_2) + ... + ulp(m_L)``, where ``m_k`` is the sum of the k largest positive numbers, or of the k largest negative ones if that is
larger. Higham's ``(L - 1) u B`` takes ``u B`` for each of these ULPs, B being the sum of all magnitudes: twice as much for numbers of one
sign and a like size, four times as much for those of both signs.

Between its steps DirectML.dll stores numbers in the tensors' type, and truncates: of FLOAT16 tensors a mean, a variance or a norm has the
error of a FLOAT16 store, whatever the precision in which it was computed; beyond 65504 it is lost. An implementation that keeps FLOAT32 is
far inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.shared.fused import activate_fused, stored_error
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

UNIT = 2.0**-23
"""Of a number computed in FLOAT32, where truncation is allowed."""

QUOTIENT = 2.5
"""Units that a division may be off by."""

INVERSE_ROOT = 4.0
"""Units that one over a square root may be off by: Direct3D's reciprocal square root has a relative error of at most 2^-21, and its square
root, of at most 1 ULP, followed by a division is inside."""

BY_COUNT = 2.0
"""Units of a division by a number of elements, which may be a product with its reciprocal."""

TINY = 2.0**-126
"""What is smaller may be flushed."""


@stage("normalization.sum")
def sum_along(xp: Any, x: Array, axes: Sequence[int]) -> tuple[Array, int]:
    """The sum over ``axes``, which stay as ones, and how many elements each has. Without axes each element is a sum of its own."""
    return (xp.sum(x, axis=tuple(axes), keepdims=True) if axes else x), prod(x.shape[axis] for axis in axes)


def sum_error_along(xp: Any, terms: Array, axes: Sequence[int]) -> Array:
    """What the sum of ``terms`` along ``axes``, which stay as ones, may be off by in FLOAT32: in any order, in parts or not (see above).

    Each term may be flushed, but for those that are 0.
    """
    if not axes:
        return xp.where(terms != 0, TINY, 0.0)
    rest = [axis for axis in range(terms.ndim) if axis not in axes]
    count = prod(terms.shape[axis] for axis in axes)
    rows = xp.reshape(xp.permute_dims(terms, (*rest, *axes)), (-1, count))
    descending = (-xp.sort(-xp.maximum(sign * rows, 0.0), axis=1) for sign in (1.0, -1.0))
    most = xp.maximum(*(xp.cumsum(numbers, axis=1) for numbers in descending))
    # A sum as it was computed may be larger than the exact one, by the errors of those in it.
    steps = _ulp(xp, most[:, 1:] * (1 + 2 * count * UNIT))
    error = xp.sum(xp.where(most[:, 1:] == 0, 0.0, steps), axis=1) + xp.sum(rows != 0, axis=1) * TINY
    return xp.reshape(error, tuple(1 if axis in axes else size for axis, size in enumerate(terms.shape)))


def _ulp(xp: Any, size: Array) -> Array:
    """The spacing of FLOAT32 at a number that is not negative."""
    return xp.where(size > TINY, 2.0 ** xp.floor(xp.log2(xp.maximum(size, TINY))), size + TINY) * UNIT


@stage("normalization.inverse-root")
def reciprocal_root(xp: Any, square: Array, epsilon: float) -> Array:
    """What a variance or the square of a norm is made into: the factor of each element."""
    return 1 / xp.sqrt(square + epsilon)


def inverse_root(xp: Any, square: Array, error: Array, epsilon: float) -> tuple[Array, Array]:
    """``1 / sqrt(square + epsilon)``, and the share of it that it may be off by when ``square`` is off by ``error``.

    The share is infinite where the error reaches down to a root of zero: such a quotient has no bound.
    """
    argument = square + epsilon
    least = argument - error - UNIT * xp.abs(argument)
    share = xp.where(least > 0, xp.sqrt(argument / xp.where(least > 0, least, 1.0)) - 1, xp.inf)
    return reciprocal_root(xp, square, epsilon), xp.where(xp.isfinite(argument), share, 0.0) + INVERSE_ROOT * UNIT


@stage("normalization.finish")
def finish_answer(xp: Any, desc: OperatorDesc, value: Array, error: Array, known: Array, empty: Array | None = None) -> Answer:
    """The answer for a result off by ``error``, or for what the fused activation makes of it; nothing is said where it is not ``known``.

    Of FLOAT16 tensors what an activation sees may have been stored: DirectML.dll does so. Where it is ``empty`` (``is_empty``) the value
    is what 0 gives, and NaN is right as well, unless an activation follows that makes a number of NaN: then nothing is said.
    """
    known = known if empty is None else known | empty
    error = xp.where(xp.isfinite(value) & known, error, 0.0)
    if desc.inner() is not None:
        error = error + stored_error(xp, desc, value)
    answer = activate_fused(xp, desc.fields, value, error)
    defined = known if answer.defined is None else known & answer.defined
    answer = replace(answer, defined=xp.broadcast_to(defined, value.shape))
    if empty is None or not empty.any():
        return answer
    of_nan = activate_fused(xp, desc.fields, xp.where(empty, xp.nan, 0.0), xp.zeros_like(error)).value
    return replace(answer, also=xp.where(empty, of_nan, 0.0), defined=answer.defined & ~(empty & xp.isfinite(of_nan)))


def is_empty(xp: Any, value: Array, error: Array, share: Array) -> Array:
    """Where ``value`` is exactly 0, and what it is multiplied by has no bound: 0 times a number is 0, and times infinity, NaN. Nothing else."""
    return (value == 0) & (error == 0) & ~xp.isfinite(share)
