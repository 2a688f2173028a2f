"""Mean-variance normalization: each element less the mean of its row, divided by the row's deviation, scaled and moved.

The three operators differ in how they name the axes of a row, and in what they leave out: NormalizeVariance the division alone, UseMean and
UseVariance either. Without the mean, what is divided by is the root of the mean square: measured on DirectML.dll, whose page is silent.

The variance is the mean of the squared differences from the mean. Nothing cancels in it, so a large common offset costs only the mantissa
bits of the mean. An implementation that subtracts the square of the mean from the mean of the squares loses twice as many; data far from zero
reveal that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.normalization.error import BY_COUNT, UNIT, added, along, finished, inverse_root
from dmlcts.reference.operators.normalization.rows import centered, mean_of, row_axes, squares, variance_of
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.fused import stored_error
from dmlcts.spec.model.desc import OperatorDesc


def _used(desc: OperatorDesc) -> tuple[bool, bool]:
    """Whether the mean is subtracted, and whether the deviation divides."""
    variance = "UseVariance" if "UseVariance" in desc.fields else "NormalizeVariance"
    return desc.flag("UseMean", default=True), desc.flag(variance)


def row_mean(xp: Any, desc: OperatorDesc, x: Array, axes: Sequence[int]) -> tuple[Array, Array]:
    """The mean of each row, whose ``axes`` stay as ones, and what it may be off by."""
    total, count = along(xp, x, axes)
    mean = mean_of(total, count)
    return mean, added(xp, x, axes) / count + BY_COUNT * UNIT * xp.abs(mean) + stored_error(xp, desc, mean)


def row_variance(xp: Any, desc: OperatorDesc, x: Array, value: Array, error: Array, axes: Sequence[int]) -> tuple[Array, Array]:
    """The mean of the squares of each row, and what it may be off by: of ``value``, which is off by ``error`` where it is not ``x`` itself."""
    terms = squares(value, x)
    total, count = along(xp, terms, axes)
    variance = variance_of(total, count)
    # The mean's own error moves all differences alike, and they add up to nothing: only its square counts.
    shift = xp.max(error, axis=tuple(axes), keepdims=True) if axes else error
    # A square is off by a unit, and by two of its difference.
    units = BY_COUNT + (1 if value is x else 3)
    return variance, (added(xp, terms, axes) + units * UNIT * total) / count + shift * shift + stored_error(xp, desc, variance)


def _normalized(xp: Any, desc: OperatorDesc, x: Array) -> tuple[Array, Array, Array]:
    """The elements before scale and bias, what they may be off by, and where something can be said of them."""
    axes, (centred, divided) = row_axes(desc), _used(desc)
    mean, error = row_mean(xp, desc, x, axes) if centred else (xp.zeros_like(x), xp.zeros_like(x))
    value = centered(x, mean) if centred else x
    error = error + UNIT * xp.abs(value) * centred
    if not divided:
        return value, error, xp.ones_like(x, dtype=bool)
    variance, deviation = row_variance(xp, desc, x, value, error, axes)
    factor, share = inverse_root(xp, variance, deviation, desc.number("Epsilon"))
    known = xp.isfinite(share)
    if centred and variance.size == x.size:
        known = known & (x >= 0)
    return value * factor, error * factor * (1 + share) + xp.abs(value * factor) * (share + UNIT), known


def mean_variance(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``FusedActivation(Scale * ((x - mean) / sqrt(variance + Epsilon)) + Bias)``; Scale and Bias broadcast.

    A row whose variance is no larger than its error, without an Epsilon to speak of, is not judged: it is the noise that is normalized.
    Nor is a negative element that is a row of its own, which is 0 by the formula: DirectML.dll uses it as its own variance, and gives NaN.
    """
    value, error, known = _normalized(xp, desc, inputs["InputTensor"].astype(xp.float64))
    if "ScaleTensor" in inputs:
        scale = inputs["ScaleTensor"].astype(xp.float64)
        value, error = value * scale, (error + UNIT * xp.abs(value)) * xp.abs(scale)
    if "BiasTensor" in inputs:
        value = value + inputs["BiasTensor"].astype(xp.float64)
        error = error + UNIT * xp.abs(value)
    return {"OutputTensor": finished(xp, desc, value, error, known)}


for _suffix in ("", "1", "2"):
    reference(f"MEAN_VARIANCE_NORMALIZATION{_suffix}")(mean_variance)
