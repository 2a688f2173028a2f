"""Products of matrices, (..., M, K) by (..., K, N), and what bounds their errors.

Leading dimensions are batches, alike in both. Values are exact or float64; magnitudes, which bound errors, need not be.
"""

from __future__ import annotations

from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.shared.accumulation import PART, WHOLE, between_error
from dmlcts.reference.stage import stage

_LONG = 1 << 22
"""Multiplications from which on it pays to sum magnitudes in float32."""

_SAFE = (2.0**-90, 2.0**100)
"""A magnitude in float32 that lies between them has not overflowed, and lost nothing that counts to underflow."""


@stage("matrix.product")
def product(xp: Any, a: Array, b: Array, dtype: Any = None) -> Array:
    """The product as it is computed: each row of A by each column of B, added up in ``dtype``, float64 unless another is given."""
    return matrix_product(xp, a, b, xp.float64 if dtype is None else dtype)


@stage("matrix.add")
def plus(xp: Any, value: Array, c: Array) -> Array:
    """The product plus a third matrix, or a bias, which broadcasts to it."""
    return value + c


def matrix_product(xp: Any, a: Array, b: Array, dtype: Any) -> Array:
    """The product of two matrices in a type: the product itself, or what bounds its error."""
    return xp.matmul(a.astype(dtype, copy=False), b.astype(dtype, copy=False))


def multiplications(a: Array, b: Array) -> int:
    """How many the product takes."""
    return int(a.size * b.shape[-1])


def integer_product(xp: Any, a: Array, b: Array, limit: int) -> Array:
    """The product of integers of at most ``limit`` by absolute value, exactly: as floats of the narrowest type that holds every sum."""
    exact = xp.float32 if a.shape[-1] * limit * limit <= 1 << 24 else xp.float64  # the latter for all that fits in memory
    return product(xp, a, b, exact)


def magnitude(xp: Any, a: Array, b: Array) -> Array:
    """The product of absolute values, or a little more: the sum of the terms' absolute values. 0 only where every term is 0.

    A large one is computed in float32, and raised by as much as that may lose; in float64 if a term may have been lost altogether.
    """
    a, b = xp.abs(a), xp.abs(b)
    if multiplications(a, b) >= _LONG:
        found = matrix_product(xp, a, b, xp.float32)
        if bool(xp.min(found) > _SAFE[0]) and bool(xp.max(found) < _SAFE[1]):  # false for NaN
            found *= 1 + (a.shape[-1] + 2) * 2.0**-23
            return found
    return matrix_product(xp, a, b, xp.float64)


def total_error(*errors: Array | float | None) -> Any:
    """The sum of those errors that there are, None if there are none."""
    found = [error for error in errors if error is not None]
    return sum(found[1:], found[0]) if found else None


def parts_error(xp: Any, a: Array, b: Array) -> Array | None:
    """What a product of FLOAT16 matrices is off by if its sums are computed in parts that are stored as FLOAT16; None if they are short.

    In how many parts DirectML.dll splits a sum depends on the sizes; each is a run of whole sixteens of terms, so that the absolute values of
    the parts add up to no more than those of all sixteens. They are computed in float32, in which no number of them is off by as much as
    matters to FLOAT16.
    """
    terms = a.shape[-1]
    if terms <= WHOLE:
        return None
    a, b = a.astype(xp.float32, copy=False), b.astype(xp.float32, copy=False)
    starts = range(0, terms, PART)
    total: Array = 0.0
    for first in starts:
        part = xp.matmul(a[..., first : first + PART], b[..., first : first + PART, :])
        total += xp.abs(part, out=part)
    return between_error(xp, total.astype(xp.float64), len(starts))
