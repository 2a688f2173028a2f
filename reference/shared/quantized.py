"""What operators on quantized tensors share: a real number rounded to 8 or 4 bits, as the least and the largest integer that it may become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array, held_type
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype

DIVISION = 2.5
"""ULPs that a FLOAT32 division may be off."""


def real(xp: Any, inputs: Mapping[str, Array], name: str) -> Array | float:
    """A tensor as float64; 0 where an optional one is absent."""
    return inputs[name].astype(xp.float64) if name in inputs else 0.0


def power_of_two(xp: Any, x: Array) -> Array:
    """Where a division by x changes the exponent alone."""
    return xp.abs(xp.frexp(x)[0]) == 0.5


@stage("quantized.rescale")
def rescale_sum(xp: Any, total: Array, factor: Array, divisor: Array) -> Array:
    """A sum of products of integers in units of the output's scale: ``factor`` is the product of the inputs' scales, ``divisor`` that scale."""
    return total * factor / divisor


@stage("quantized.requantize")
def requantize(xp: Any, value: Array, zero_point: Array | float, nan: Array | float, least: float, most: float) -> Array:
    """The integers that are stored, as float64: ``value`` rounded to even, moved by the zero point, saturated; ``nan`` in the place of NaN."""
    moved = xp.round(value) + zero_point
    return xp.where(xp.isnan(value), nan, xp.clip(xp.where(xp.isnan(moved), 0.0, moved), least, most))


def stored_integers(
    xp: Any, desc: OperatorDesc, quotient: Array, error: Array, zero_point: Array | float, nan: Array | float | None = None
) -> Answer:
    """The quotient, off by ``error`` at most, as the integers that it may become.

    NaN becomes ``nan``, or the least integer above it; the zero point, as 0 does, where ``nan`` is None.
    """
    output = desc.tensor("OutputTensor")
    dtype, (least, most) = numpy_dtype(output.data_type), output.type.limits
    nan = zero_point if nan is None else max(nan, least)
    error = xp.where(xp.isfinite(error), error, 0.0)
    low, value, high = (requantize(xp, at, zero_point, nan, least, most) for at in (quotient - error, quotient, quotient + error))
    return Answer((low + high) / 2, slack=(high - low) / 2, result=value.astype(held_type(xp, dtype)))
