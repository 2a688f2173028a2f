"""Activations by way of the exponential or error function.

The values are those of mathematics, without overflow or cancellation on the way. An implementation writes ``exp(x) - 1`` and
``log(1 + exp(x))`` in FLOAT32, and the error of what stands inside does not shrink with the result: it is the answer's slack. An ``exp``
that is right to ``4 + |x|`` units of roundoff (the bound of ELEMENT_WISE_EXP) is the exact one of an argument that is off by as much, so
that the slack is what the function changes by for that argument.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf, sqrt
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.activation.elementwise import activation, attributes
from dmlcts.reference.operators.element_wise.special_functions import erfc
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.fused import turns
from dmlcts.reference.shared.scale_bias import ROUNDOFF, Function, apply_with_error
from dmlcts.reference.stage import stage

_PRODUCT, _QUOTIENT = 1.0, 2.5
"""Units of roundoff in an argument that is itself computed."""

_LOGARITHM = 4.0
"""Units of roundoff of ``log(1 + y)`` where ``y`` is small: of the sum, and of a logarithm near 1 (Direct3D allows 2^-21 there)."""

_TANH = 2.0
"""Units of roundoff, beside those of an exponential: it is a quotient of differences."""

_ERF = 8.0
"""Units of roundoff, of a result that is 1 or less: 16 ULP, what published suites allow ``erf``."""

_SMALLEST = 2.0**-126
"""The smallest normal FLOAT32 number: below it, 1 / (1 + exp(-x)) is 0 wherever the exponential overflows."""


_LARGEST = 2.0**128
"""What overflows FLOAT32."""


def _by_exponential(xp: Any, function: Function, argument: Array, computed: float = 0.0) -> Answer:
    """``function`` of an argument whose exponential is computed, and which is itself ``computed`` units of roundoff off."""
    error = ROUNDOFF * (4.0 + (1.0 + computed) * xp.abs(argument))
    return apply_with_error(xp, function, argument, xp.where(xp.isfinite(argument), error, 0.0))


def _wider(answer: Answer, more: Array | float) -> Answer:
    """The answer with that much more slack."""
    slack: Any = answer.slack
    return replace(answer, slack=slack + more)


def elu(xp: Any, x: Array, alpha: float) -> Answer:
    """``x`` from 0 on, and ``Alpha * (exp(x) - 1)`` below."""
    return _line_or_curve(xp, x >= 0, x, _curve(xp, x, alpha))


def scaled_elu(xp: Any, x: Array, alpha: float, gamma: float) -> Answer:
    """``Gamma * x`` above 0, and ``Gamma * (Alpha * exp(x) - Alpha)`` elsewhere."""
    return _line_or_curve(xp, x > 0, gamma * x, _curve(xp, x, gamma * alpha))


def _curve(xp: Any, x: Array, factor: float) -> Answer:
    """``factor * (exp(x) - 1)`` of what is not above 0."""
    return _by_exponential(xp, lambda xp, y: factor * _less_one(xp, y), xp.minimum(x, 0.0))


@stage("activation.exponential_less_one")
def _less_one(xp: Any, y: Array) -> Array:
    """``exp(y) - 1``: the curve below 0 of ELU and its relatives, unscaled."""
    return xp.expm1(y)


def _line_or_curve(xp: Any, where: Array, line: Array, curve: Answer) -> Answer:
    """The line, which has no slack, where the mask says so, and the curve elsewhere."""
    return replace(curve, value=xp.where(where, line, curve.value), slack=xp.where(where, 0.0, curve.slack))


def celu(xp: Any, x: Array, alpha: float) -> Answer:
    """``max(0, x) + min(0, Alpha * (exp(x / Alpha) - 1))``; the 0 is taken instead of NaN, as in DirectML.dll."""

    def negative_part(xp: Any, y: Array) -> Array:
        curve = alpha * _less_one(xp, y)
        return xp.where(curve < 0, curve, 0.0)

    # A fraction of arrays, since Alpha may be 0.
    answer = _by_exponential(xp, negative_part, x / xp.asarray(alpha, dtype=xp.float64), _QUOTIENT)
    return replace(answer, value=xp.where(x > 0, x, 0.0) + answer.value)


@stage("activation.sigmoid")
def _sigmoid(xp: Any, y: Array) -> Array:
    """``1 / (1 + exp(-y))``."""
    return 1.0 / (1.0 + xp.exp(-y))


def _sigmoid_answer(xp: Any, y: Array, computed: float = 0.0) -> Answer:
    answer = _by_exponential(xp, _sigmoid, y, computed)
    return _wider(answer, xp.minimum(answer.value, _SMALLEST))


def sigmoid(xp: Any, x: Array) -> Answer:
    """``1 / (1 + exp(-x))``."""
    return _sigmoid_answer(xp, x)


def swish(xp: Any, x: Array, scale: float) -> Answer:
    """``x * sigmoid(SigmoidInputScale * x)``: NaN for an infinity whose sigmoid is 0, as in DirectML.dll."""
    factor = _sigmoid_answer(xp, scale * x, _PRODUCT)
    return replace(factor, value=x * factor.value, slack=xp.abs(x) * factor.slack)


def tanh(xp: Any, x: Array) -> Answer:
    """The hyperbolic tangent."""
    return scaled_tanh(xp, x, 1.0, 1.0, 0.0)


def scaled_tanh(xp: Any, x: Array, alpha: float, beta: float, computed: float = _PRODUCT) -> Answer:
    """``Alpha * tanh(Beta * x)``."""
    answer = _by_exponential(xp, lambda xp, y: alpha * _tanh(xp, y), beta * x, computed)
    return _wider(answer, _TANH * ROUNDOFF * abs(alpha))


@stage("activation.tanh")
def _tanh(xp: Any, y: Array) -> Array:
    """The hyperbolic tangent of the scaled input."""
    return xp.tanh(y)


@stage("activation.softplus")
def _softplus(xp: Any, y: Array) -> Array:
    """``ln(1 + exp(y))`` of the scaled input."""
    return xp.maximum(y, 0.0) + xp.log1p(xp.exp(-xp.abs(y)))


def parametric_softplus(xp: Any, x: Array, alpha: float, beta: float) -> Answer:
    """``Alpha * ln(1 + exp(Beta * x))``; it does not overflow where only the exponential does.

    Where a finite ``x`` makes ``Beta * x`` overflow FLOAT32, nothing is required, as an implementation may compute it so.
    """
    y = beta * x
    answer = _by_exponential(xp, lambda xp, y: alpha * _softplus(xp, y), y, _PRODUCT)
    overflows = xp.isfinite(x) & (xp.abs(y) >= _LARGEST)
    return replace(_wider(answer, _LOGARITHM * ROUNDOFF * abs(alpha)), defined=answer.defined & ~overflows)


def softplus(xp: Any, x: Array, steepness: float) -> Answer:
    """``ln(1 + exp(Steepness * x)) / Steepness``; it does not overflow where only the exponential does."""
    return parametric_softplus(xp, x, 1.0 / steepness if steepness else inf, steepness)


def gelu(xp: Any, x: Array) -> Answer:
    """``x / 2 * (1 + erf(x / sqrt(2)))``: NaN for -infinity, as in DirectML.dll."""
    half = x / 2.0
    return Answer(half * erfc(xp, x / -sqrt(2.0)), slack=xp.abs(half) * (_ERF * ROUNDOFF))


_GELU_TURNS, _SWISH_TURNS = -0.7517915246935645, -1.2784645427610738
"""Where the derivative is 0: of GELU, and of SWISH for its scaled argument."""

turns("ACTIVATION_GELU", lambda xp, desc: (_GELU_TURNS,))
turns("ACTIVATION_SWISH", lambda xp, desc: tuple(_SWISH_TURNS / scale for scale in attributes(xp, desc) if scale))
for _name in ("CELU", "ELU", "SCALED_ELU"):  # below 0 they fall where a factor is negative
    turns(f"ACTIVATION_{_name}", lambda xp, desc: (0.0,))

reference("ACTIVATION_CELU")(activation(celu))
reference("ACTIVATION_ELU")(activation(elu))
reference("ACTIVATION_GELU")(activation(gelu))
reference("ACTIVATION_PARAMETRIC_SOFTPLUS")(activation(parametric_softplus))
reference("ACTIVATION_SCALED_ELU")(activation(scaled_elu))
reference("ACTIVATION_SCALED_TANH")(activation(scaled_tanh))
reference("ACTIVATION_SIGMOID")(activation(sigmoid))
reference("ACTIVATION_SOFTPLUS")(activation(softplus))
reference("ACTIVATION_SWISH")(activation(swish))
reference("ACTIVATION_TANH")(activation(tanh))
