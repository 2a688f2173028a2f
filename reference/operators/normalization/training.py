"""Batch normalization in training: by the mean and the variance of the input itself, and the gradients of both forms of it.

What is summed over are the dimensions in which the tensors of the statistics have the size 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.normalization.error import (
    BY_COUNT,
    QUOTIENT,
    UNIT,
    finish_answer,
    inverse_root,
    is_empty,
    sum_along,
    sum_error_along,
)
from dmlcts.reference.operators.normalization.given import normalize_batch
from dmlcts.reference.operators.normalization.mean_variance import row_mean, row_variance
from dmlcts.reference.operators.normalization.rows import mean_of, subtract_mean
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.fused import stored_error
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED


@stage("normalization.broadcast-axes")
def broadcast_axes(desc: OperatorDesc) -> tuple[int, ...]:
    """The dimensions along which the statistics are taken, and the gradients of scale and bias added up."""
    return tuple(axis for axis, size in enumerate(desc.tensor("ScaleTensor").sizes) if size == 1)


@reference("BATCH_NORMALIZATION_TRAINING")
def batch_normalization_training(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``FusedActivation(Scale * ((x - mean) / sqrt(variance + Epsilon)) + Bias + FusedAdd)``, the mean, and the variance of the population.

    The bound has room for ``x * a + (Bias - mean * a)``, as ``batch_normalization`` has.
    """
    x, scale, bias = (inputs[f"{name}Tensor"].astype(xp.float64) for name in ("Input", "Scale", "Bias"))
    axes = broadcast_axes(desc)
    mean, mean_error = row_mean(xp, desc, x, axes)
    difference = subtract_mean(x, mean)
    off = mean_error + UNIT * xp.abs(difference)
    variance, deviation = row_variance(xp, desc, x, difference, off, axes)
    inverse, share = inverse_root(xp, variance, deviation, desc.number("Epsilon"))
    factor = scale * inverse
    empty = is_empty(xp, difference, off, share)
    if empty.any():
        factor = xp.where(empty, 0.0, factor)
    value = normalize_batch(x, mean, factor, bias)
    move = mean * factor
    folded = xp.abs(x * factor) + xp.abs(move) + xp.abs(bias - move)
    error = off * xp.abs(factor) * (1 + share) + (share + UNIT) * xp.abs(difference * factor)
    error = xp.where(empty, 0.0, error) + UNIT * (xp.maximum(folded, 2 * xp.abs(difference * factor)) + xp.abs(value))
    if "FusedAddTensor" in inputs:
        error = error + stored_error(xp, desc, value)  # DirectML.dll stores what it adds to, of some sizes
        value = value + inputs["FusedAddTensor"].astype(xp.float64)
        error = error + UNIT * xp.abs(value)
    known = xp.isfinite(share) & ((error < xp.inf) | ~xp.isfinite(value))
    return {
        "OutputTensor": finish_answer(xp, desc, value, error, known, empty),
        "OutputMeanTensor": Answer(mean, slack=mean_error),
        "OutputVarianceTensor": Answer(variance, slack=deviation),
    }


@stage("normalization.product")
def products(gradient: Array, difference: Array) -> Array:
    """What is added up for the gradient by the scale, and for the gradient by the mean square."""
    return gradient * difference


def _stores(desc: OperatorDesc) -> OperatorDesc:
    """The desc with the gradient by the input as OutputTensor, whose type is that of what is stored on the way."""
    return desc.with_fields(OutputTensor=desc.tensor("OutputGradientTensor"))


def _answer(xp: Any, desc: OperatorDesc, value: Array, error: Array) -> Answer:
    """Of a value off by ``error``, which is infinite where the error has no bound."""
    return finish_answer(xp, desc, value, error, (error < xp.inf) | ~xp.isfinite(value))


def _scale_bias_gradients(
    xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array], inverse: Array, share: Array
) -> dict[str, Answer]:
    """The gradients by scale and bias, which both forms compute alike, from the tensors given."""
    axes = broadcast_axes(desc)
    x, gradient, mean = (inputs[f"{name}Tensor"].astype(xp.float64) for name in ("Input", "InputGradient", "Mean"))
    terms = products(gradient, x - mean)
    total, _ = sum_along(xp, terms, axes)
    each, _ = sum_along(xp, 2 * UNIT * xp.abs(terms), axes)
    # DirectML.dll stores sums in parts of FLOAT16, whose sizes add up to no more than those of the terms.
    off = sum_error_along(xp, terms, axes) + each + stored_error(xp, desc, sum_along(xp, xp.abs(terms), axes)[0])
    by_scale, by_bias = total * inverse, sum_along(xp, gradient, axes)[0]
    # Each term may be divided before the sum as well, which costs no more.
    error = off * xp.abs(inverse) * (1 + share) + (sum_along(xp, xp.abs(terms), axes)[0] * xp.abs(inverse)) * (share + UNIT)
    bias_error = sum_error_along(xp, gradient, axes) + stored_error(xp, desc, sum_along(xp, xp.abs(gradient), axes)[0])
    return {
        "OutputScaleGradientTensor": _answer(xp, desc, by_scale, error),
        "OutputBiasGradientTensor": _answer(xp, desc, by_bias, bias_error),
    }


@reference("BATCH_NORMALIZATION_GRAD")
def batch_normalization_grad(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``g * Scale / sqrt(Variance + Epsilon)``; by the scale ``sum(g * (x - Mean) / sqrt(Variance + Epsilon))``, by the bias ``sum(g)``."""
    gradient, variance, scale = (inputs[f"{name}Tensor"].astype(xp.float64) for name in ("InputGradient", "Variance", "Scale"))
    inverse, share = inverse_root(xp, variance, xp.zeros_like(variance), desc.number("Epsilon"))
    value = gradient * (scale * inverse)
    return {
        "OutputGradientTensor": _answer(xp, _stores(desc), value, xp.abs(value) * (share + 2 * UNIT)),
        **_scale_bias_gradients(xp, _stores(desc), inputs, inverse, share),
    }


@reference("BATCH_NORMALIZATION_TRAINING_GRAD")
def batch_normalization_training_grad(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``Scale / d * (g - mean(g) - (x - mean(x)) * mean(g * (x - mean(x))) / d^2)`` with ``d = sqrt(Variance + Epsilon)``.

    The page takes the mean of the input again, and DirectML.dll the MeanTensor. The two are one where that is what the training gave.
    """
    desc = _stores(desc)
    x, mean, variance = (inputs[f"{name}Tensor"].astype(xp.float64) for name in ("Input", "Mean", "Variance"))
    inverse, share = inverse_root(xp, variance, xp.zeros_like(variance), desc.number("Epsilon"))
    documented = _centered_gradient(xp, desc, inputs, row_mean(xp, desc, x, broadcast_axes(desc)), inverse, share)
    measured = _centered_gradient(xp, desc, inputs, (mean, xp.zeros_like(mean)), inverse, share)
    return {
        "OutputGradientTensor": replace(documented, contested={MEASURED: measured}),
        **_scale_bias_gradients(xp, desc, inputs, inverse, share),
    }


def _in_parts(xp: Any, desc: OperatorDesc, terms: Array, axes: Sequence[int]) -> Array:
    """What a mean may be off by whose sum is stored in parts, as DirectML.dll does where axes that stay lie between those that are summed.

    The parts' sizes add up to no more than those of the terms. Of FLOAT16 tensors of 13x10x1x1x4x2x8, all 80 sums over axes 0 and 6 were
    those over axis 0, stored toward zero, added up and stored toward zero again.
    """
    total, count = sum_along(xp, xp.abs(terms), axes)
    return stored_error(xp, desc, mean_of(total, count))


def _centered_gradient(
    xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array], means: tuple[Array, Array], inverse: Array, share: Array
) -> Answer:
    """The gradient by the input, whose ``means`` come with what they may be off by; ``inverse`` is one over the deviation."""
    axes = broadcast_axes(desc)
    x, gradient, variance, scale = (
        inputs[f"{name}Tensor"].astype(xp.float64) for name in ("Input", "InputGradient", "Variance", "Scale")
    )
    mean, mean_error = means
    difference = subtract_mean(x, mean)
    off = mean_error + UNIT * xp.abs(difference)
    mean_gradient, gradient_error = row_mean(xp, desc, gradient, axes)
    terms = products(gradient, difference)
    total, count = sum_along(xp, terms, axes)
    each, _ = sum_along(xp, xp.abs(gradient) * off + UNIT * xp.abs(terms), axes)
    covariance = mean_of(total, count)
    covariance_error = (sum_error_along(xp, terms, axes) + each) / count + BY_COUNT * UNIT * xp.abs(covariance)
    covariance_error = covariance_error + stored_error(xp, desc, covariance) + _in_parts(xp, desc, terms, axes)
    square = variance + desc.number("Epsilon")
    slope = covariance / square
    slope_error = covariance_error / xp.abs(square) + (QUOTIENT + 1) * UNIT * xp.abs(slope)
    part = difference * slope
    rest = gradient - mean_gradient
    inner = rest - part
    gradient_error = gradient_error + _in_parts(xp, desc, gradient, axes)
    error = off * (xp.abs(slope) + slope_error) + xp.abs(difference) * slope_error + gradient_error
    error = error + UNIT * (xp.abs(part) + xp.abs(rest) + xp.abs(inner))
    factor = scale * inverse
    value = factor * inner
    return _answer(xp, desc, value, xp.abs(factor) * error * (1 + share) + xp.abs(value) * (share + 2 * UNIT))
