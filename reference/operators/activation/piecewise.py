"""Activations made of straight lines and one quotient: no exponential in them.

The pages give each as a formula or a case distinction, and none mentions NaN. What becomes of it is what DirectML.dll does, and follows
from no single rule: RELU, HARD_SIGMOID, SHRINK and RELU_GRAD make it 0, the others keep it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, nextafter
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.activation.elementwise import activation, apply_function, attributes, is_integer
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.fused import turns
from dmlcts.reference.shared.scale_bias import ROUNDOFF, apply_with_error
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

_EITHER_SIGN = 2.0**-149
"""As the slack of a zero: class exact allows no error, but a zero that may lie on either side may have either sign."""


@reference("ACTIVATION_IDENTITY")
def identity(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``x``."""
    return {"OutputTensor": Answer(inputs["InputTensor"])}


@reference("ACTIVATION_RELU")
def relu(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``max(0, x)``, NaN giving 0 as in DirectML.dll; which zero the larger of 0 and -0 is, Direct3D leaves to the device."""
    return {"OutputTensor": apply_function(_rectify, xp, inputs["InputTensor"])}


def _rectify(xp: Any, x: Array) -> Answer:
    return Answer(xp.where(x > 0, x, xp.zeros_like(x)), slack=xp.where(x == 0, _EITHER_SIGN, 0.0))


@reference("ACTIVATION_RELU_GRAD")
def relu_grad(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The gradient where the input is above 0, and 0 elsewhere: at 0 too, and at NaN."""
    x, gradient = inputs["InputTensor"], inputs["InputGradientTensor"]
    return {"OutputGradientTensor": Answer(xp.where(_passes(xp, x), gradient, xp.zeros_like(gradient)))}


@stage("activation.passes")
def _passes(xp: Any, x: Array) -> Array:
    """Where the gradient passes."""
    return x > 0


@reference("ACTIVATION_PARAMETERIZED_RELU")
def parameterized_relu(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``x`` from 0 on, and the slope times ``x`` below. A product of integers wraps, as in DirectML.dll; the page is silent."""
    x, slope = inputs["InputTensor"], inputs["SlopeTensor"]
    if not is_integer(x):
        x, slope = x.astype(xp.float64), slope.astype(xp.float64)
    return {"OutputTensor": apply_function(_apply_slope, xp, x, slope)}


def _apply_slope(xp: Any, x: Array, slope: Array | float) -> Answer:
    return Answer(xp.where(x >= 0, x, slope * x))


@reference("ACTIVATION_SHRINK")
def shrink(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``x - Bias`` above Threshold, ``x + Bias`` below -Threshold, 0 in between; of a negative Threshold the first holds.

    Integers are compared and shifted as real numbers; the result is rounded to nearest, ties to even, and limited to the type's
    range, as DirectML.dll does: the page is silent.
    """
    x = inputs["InputTensor"]
    answer = apply_function(_shrink, xp, x.astype(xp.float64), *attributes(xp, desc))
    return {"OutputTensor": Answer(_to_integer(xp, answer.value, x.dtype)) if is_integer(x) else answer}


def _shrink(xp: Any, x: Array, bias: float, threshold: float) -> Answer:
    return Answer(xp.where(x > threshold, x - bias, xp.where(x < -threshold, x + bias, 0.0)))


@stage("activation.to_integer")
def _to_integer(xp: Any, value: Array, dtype: Any) -> Array:
    """A real result as the nearest integer of the type, halves to even."""
    limits = xp.iinfo(dtype)
    return xp.clip(xp.round(value), float(limits.min), float(limits.max)).astype(dtype)


def leaky_relu(xp: Any, x: Array, alpha: float) -> Answer:
    """``x`` from 0 on, and Alpha times ``x`` below."""
    return _apply_slope(xp, x, alpha)


def thresholded_relu(xp: Any, x: Array, alpha: float) -> Answer:
    """``x`` above Alpha, and 0 elsewhere, at Alpha too. NaN stays, as in DirectML.dll, although it is not above Alpha."""
    return Answer(xp.where(x <= alpha, 0.0, x))


@stage("activation.line")
def _line(xp: Any, x: Array, alpha: float, beta: float) -> tuple[Array, Array]:
    """``Alpha * x + Beta``, and the absolute error that its computation in FLOAT32, with one rounding or two, may have."""
    product = alpha * x
    value = product + beta
    error = ROUNDOFF * (xp.abs(product) + xp.abs(value))
    return value, xp.where(xp.isfinite(error), error, 0.0)


def linear(xp: Any, x: Array, alpha: float, beta: float) -> Answer:
    """``Alpha * x + Beta``."""
    value, error = _line(xp, x, alpha, beta)
    return Answer(value, slack=error)


def hard_sigmoid(xp: Any, x: Array, alpha: float, beta: float) -> Answer:
    """``Alpha * x + Beta`` limited to 0 and 1; NaN becomes 0, as in DirectML.dll."""
    return apply_with_error(xp, _limit_to_unit, *_line(xp, x, alpha, beta))


@stage("activation.limit")
def _limit_to_unit(xp: Any, line: Array) -> Array:
    """The line limited to 0 and 1."""
    return xp.where(line > 0, xp.minimum(line, 1.0), 0.0)


def hard_swish(xp: Any, x: Array, alpha: float, beta: float) -> Answer:
    """``x`` times its HARD_SIGMOID: NaN for NaN, and for an infinity where that is 0."""
    factor = hard_sigmoid(xp, x, alpha, beta)
    return Answer(x * factor.value, slack=xp.abs(x) * factor.slack)


def softsign(xp: Any, x: Array) -> Answer:
    """``x / (1 + |x|)``: NaN for infinities, as in DirectML.dll."""
    return Answer(x / (1.0 + xp.abs(x)))


def _turns_of_hard_swish(xp: Any, desc: OperatorDesc) -> tuple[float, ...]:
    """The vertex of the parabola, and its ends."""
    alpha, beta = attributes(xp, desc)
    return (-beta / alpha / 2.0, -beta / alpha, (1.0 - beta) / alpha) if alpha else ()


def _turns_of_shrink(xp: Any, desc: OperatorDesc) -> tuple[float, ...]:
    """Just outside of what becomes 0."""
    _, threshold = attributes(xp, desc)
    return nextafter(threshold, inf), nextafter(-threshold, -inf)


turns("ACTIVATION_HARD_SWISH", _turns_of_hard_swish)
turns("ACTIVATION_SHRINK", _turns_of_shrink)
turns("ACTIVATION_THRESHOLDED_RELU", lambda xp, desc: tuple(nextafter(alpha, inf) for alpha in attributes(xp, desc)))

reference("ACTIVATION_HARD_SIGMOID")(activation(hard_sigmoid))
reference("ACTIVATION_HARD_SWISH")(activation(hard_swish))
reference("ACTIVATION_LEAKY_RELU")(activation(leaky_relu))
reference("ACTIVATION_LINEAR")(activation(linear))
reference("ACTIVATION_SOFTSIGN")(activation(softsign))
reference("ACTIVATION_THRESHOLDED_RELU")(activation(thresholded_relu))
