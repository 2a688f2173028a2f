"""Mean-variance normalization: each element less the mean of its row, divided by the row's deviation, scaled and moved.

The three operators differ in how they name the axes of a row, and in what they leave out: NormalizeVariance the division alone, UseMean and
UseVariance either. Without the mean, what is divided by is the root of the mean square: measured on DirectML.dll, whose page is silent.

The variance is the mean of the squared differences from the mean. Nothing cancels in it, so a large common offset costs only the mantissa
bits of the mean. An implementation that subtracts the square of the mean from the mean of the squares loses twice as many; data far from zero
reveal that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.normalization.error import (
    BY_COUNT,
    TINY,
    UNIT,
    finish_answer,
    inverse_root,
    is_empty,
    sum_along,
    sum_error_along,
)
from dmlcts.reference.operators.normalization.rows import mean_of, row_axes, squares, subtract_mean, variance_of
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.fused import stored_error
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED


def _used_parts(desc: OperatorDesc) -> tuple[bool, bool]:
    """Whether the mean is subtracted, and whether the deviation divides."""
    variance = "UseVariance" if "UseVariance" in desc.fields else "NormalizeVariance"
    return desc.flag("UseMean", default=True), desc.flag(variance)


def row_mean(xp: Any, desc: OperatorDesc, x: Array, axes: Sequence[int]) -> tuple[Array, Array]:
    """The mean of each row, whose ``axes`` stay as ones, and what it may be off by: that of one element is the element itself, exactly.

    A denormal may be flushed all the same.
    """
    total, count = sum_along(xp, x, axes)
    mean = mean_of(total, count)
    if total.size == x.size:
        return mean, xp.where((mean != 0) & (xp.abs(mean) < TINY), TINY, 0.0)
    return mean, sum_error_along(xp, x, axes) / count + BY_COUNT * UNIT * xp.abs(mean) + stored_error(xp, desc, mean)


def row_variance(xp: Any, desc: OperatorDesc, x: Array, value: Array, error: Array, axes: Sequence[int]) -> tuple[Array, Array]:
    """The mean of the squares of each row, and what it may be off by: of ``value``, which is off by ``error`` where it is not ``x`` itself."""
    terms = squares(value, x)
    total, count = sum_along(xp, terms, axes)
    variance = variance_of(total, count)
    # The mean's own error moves all differences alike, and they add up to nothing: only its square counts.
    shift = xp.max(error, axis=tuple(axes), keepdims=True) if axes else error
    # A square is off by a unit, and by two of its difference.
    units = BY_COUNT + (1 if value is x else 3)
    return variance, (sum_error_along(xp, terms, axes) + units * UNIT * total) / count + shift * shift + stored_error(
        xp, desc, variance
    )


def _normalize_elements(xp: Any, desc: OperatorDesc, x: Array) -> tuple[Array, Array, Array, Array]:
    """The elements before scale and bias, what they may be off by, where something can be said of them, and where they are empty."""
    axes, (centred, divided) = row_axes(desc), _used_parts(desc)
    mean, error = row_mean(xp, desc, x, axes) if centred else (xp.zeros_like(x), xp.zeros_like(x))
    value = subtract_mean(x, mean) if centred else x
    error = error + UNIT * xp.abs(value) * centred
    if not divided:
        return value, error, xp.ones_like(x, dtype=bool), xp.zeros_like(x, dtype=bool)
    variance, deviation = row_variance(xp, desc, x, value, error, axes)
    factor, share = inverse_root(xp, variance, deviation, desc.number("Epsilon"))
    empty = is_empty(xp, value, error, share)
    scaled = xp.where(empty, 0.0, value * factor)
    error = xp.where(empty, 0.0, error * factor * (1 + share) + xp.abs(scaled) * (share + UNIT))
    return scaled, error, xp.isfinite(share), empty


def _loses_its_sign(xp: Any, desc: OperatorDesc, x: Array) -> Array:
    """The elements of which DirectML.dll makes NaN, each being a row of its own: it takes the element itself for the variance, and the root
    of that and Epsilon. What is left after the mean is 0, and the root of no positive number has no quotient.
    """
    centred, divided = _used_parts(desc)
    alone = centred and divided and all(x.shape[axis] == 1 for axis in row_axes(desc))
    return (x + desc.number("Epsilon") <= 0) & alone


def mean_variance(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``FusedActivation(Scale * ((x - mean) / sqrt(variance + Epsilon)) + Bias)``; Scale and Bias broadcast.

    A row whose variance is no larger than its error, without an Epsilon to speak of, is not judged: it is the noise that is normalized.
    In a row of one element there is no noise: it is 0 before scale and bias, or NaN where it is divided by 0. Of a negative one DirectML.dll
    makes NaN with an Epsilon as well.
    """
    x = inputs["InputTensor"].astype(xp.float64)
    value, error, known, empty = _normalize_elements(xp, desc, x)
    if "ScaleTensor" in inputs:
        scale = inputs["ScaleTensor"].astype(xp.float64)
        value, error = value * scale, (error + UNIT * xp.abs(value)) * xp.abs(scale)
    if "BiasTensor" in inputs:
        value = value + inputs["BiasTensor"].astype(xp.float64)
        error = error + UNIT * xp.abs(value)
    answer = finish_answer(xp, desc, value, error, known, empty)
    lost = _loses_its_sign(xp, desc, x)
    if lost.any():
        measured = finish_answer(xp, desc, xp.where(lost, xp.nan, value), error, known, empty)
        answer = replace(answer, contested={MEASURED: measured})
    return {"OutputTensor": answer}


for _suffix in ("", "1", "2"):
    reference(f"MEAN_VARIANCE_NORMALIZATION{_suffix}")(mean_variance)
