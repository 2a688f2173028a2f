"""Rows: what an operator with Axes combines into one element, as the last dimension of an array."""

from __future__ import annotations

from math import prod
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

LIMIT = 2.0**128
"""A FLOAT32 is less than this: FLOAT16 tensors are summed and multiplied in FLOAT32 too."""

SMALLEST = 2.0**-126
"""What is less than this, FLOAT32 may flush to 0."""


@stage("reduction.axes")
def axes_of(desc: OperatorDesc) -> tuple[int, ...]:
    """The dimensions that make up a row. Their order in Axes, and one given twice, mean nothing: measured on DirectML.dll."""
    return tuple(sorted(set(desc.integers("Axes"))))


@stage("reduction.rows")
def rows(xp: Any, x: Array, axes: tuple[int, ...]) -> Array:
    """``x`` with the dimensions in ``axes`` moved to the end and made one, in row-major order; without axes each element is a row."""
    rest = tuple(axis for axis in range(x.ndim) if axis not in axes)
    moved = xp.permute_dims(x, (*rest, *axes))
    return xp.reshape(moved, (*(x.shape[axis] for axis in rest), prod(x.shape[axis] for axis in axes)))


def reduced_sizes(x: Array, axes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of an output that has 1 for each reduced dimension."""
    return tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))


def sound_product(xp: Any, above: Array, below: Array, infinite: Array, zero: Array) -> Array:
    """Where factors give the same in every order, as far as FLOAT32 overflows and underflows on the way.

    ``above`` is the product of the finite factors' absolute values that are more than 1, ``below`` that of the others without zeros;
    ``infinite`` and ``zero`` say whether there is such a factor.
    """
    # Nothing is brought back from infinity where all factors are at least 1, and 0 where all are at most 1; but denormals on the way
    # are off by more than any bound of a product says.
    over = (above < LIMIT) | ((below == 1) & ~zero) | infinite
    under = (below >= SMALLEST) | (zero & ~infinite)
    return (over & under) | (infinite & zero)
