"""Faults of activations that are a formula of each element: straight lines, and curves by the exponential or the error function."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.elements import Types, change_stored, function, result, round_steps, step, table
from dmlcts.conformance.faults.model.fault import FLOATS, SINGLE, Fault, Table, roundings
from dmlcts.reference.answer import Array
from dmlcts.reference.operators.element_wise.special_functions import erf

_PASSES, _LIMIT, _SHORT = "activation.passes", "activation.limit", ("INT16", "INT32")


def _instead_below(does: str, instead: Callable[..., Any], types: Types = ()) -> Fault:
    """``instead(x, slope)`` below 0."""
    return result(does, lambda y, x, s: np.where(x >= 0, x, instead(x, s)), types)


def _line(does: str, instead: Callable[..., Any], types: Types = ()) -> Fault:
    """``instead(x, Alpha, Beta)`` for the line."""
    line = lambda right, xp, *operands: (instead(*operands), right(xp, *operands)[1])  # noqa: E731
    return Fault(does, types=types, stages={"activation.line": line})


_LESS_ONE, _SIGMOID, _TANH, _SOFTPLUS = (f"activation.{step}" for step in ("exponential_less_one", "sigmoid", "tanh", "softplus"))


def _single(instead: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """In FLOAT32, which overflows."""
    return lambda y: np.float64(instead(np.float32(y)))


def _float16(y: Array) -> Array:
    return np.float64(np.float16(y))


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


def _normal(x: Array) -> Array:
    """Twice the distribution function of the normal distribution."""
    return 1 + erf(np, x / sqrt(2))


def _elu(x: Array, line: Array, curve: Array) -> Array:
    return np.where(x > 0, line, curve)


def _celu(x: Array, curve: Array) -> Array:
    return np.fmax(x, 0) + np.fmin(0, curve)


_FAULTS: Table = {
    "IDENTITY": {"limited": change_stored("limits to -1 and 1", lambda y, x: np.clip(y, -1, 1))},
    "RELU SHRINK HARD_SIGMOID": {"nan-kept": change_stored("gives NaN for NaN", lambda y, x: np.where(np.isnan(x), x, y), FLOATS)},
    "RELU": {
        "leaky": change_stored("multiplies what is below 0 by 0.01", lambda y, x: np.where(x < 0, 0.01 * x, x), FLOATS),
        "six": function("limits to 6", lambda x: np.clip(x, 0, 6)),
    },
    "RELU_GRAD": {
        "passes-at-0": step("lets the gradient pass at 0", _PASSES, lambda x: x >= 0),
        "passes-at-minus-0": step("lets the gradient pass at -0", _PASSES, lambda x: (x > 0) | ((x == 0) & np.signbit(x)), FLOATS),
        "passes-at-nan": step("lets the gradient pass at NaN", _PASSES, lambda x: ~(x <= 0), FLOATS),
        "low-byte": step("tests the low byte", _PASSES, lambda x: (x > 0) & (x & 0xFF != 0), _SHORT),
        "gradient-limited": change_stored("limits the gradient to -1 and 1", lambda y, x, g: np.maximum(np.minimum(y, 1), -1.0)),
    },
    "PARAMETERIZED_RELU LEAKY_RELU": {
        **round_steps("products", lambda f: lambda x, s: f(f(x) * f(s)), _instead_below),
        "larger": function("gives the larger of the input and the product", lambda x, s: np.maximum(x, s * x)),
    },
    "PARAMETERIZED_RELU": {
        "slope-at-most-1": _instead_below("limits slopes to 1", lambda x, s: np.minimum(s, 1) * x),
        "slope-cut": _instead_below("cuts slopes to integers", lambda x, s: np.trunc(s) * x, FLOATS),
        "slope-of-one-byte": _instead_below("reads the low byte of slopes", lambda x, s: s.astype("i1") * x, _SHORT),
        "from-minus-1": function("keeps what is above -1", lambda x, s: np.where(x > -1, x, s * x), FLOATS),
    },
    "LINEAR HARD_SIGMOID HARD_SWISH": {**round_steps("products", lambda f: lambda x, a, b: f(a * x) + b, _line)},
    "HARD_SIGMOID HARD_SWISH": {
        "not-below": step("does not limit to 0", _LIMIT, lambda line: np.minimum(line, 1)),
        "not-above": step("does not limit to 1", _LIMIT, lambda line: np.maximum(line, 0)),
    },
    "HARD_SWISH": {"rectified": result("gives 0 below 0", lambda y, x, *_: np.where((x < 0) | (y < 0), 0, y))},
    "SHRINK": {
        "bias-added": function("moves outward", lambda x, b, t: np.where(x > t, x + b, np.where(x < -t, x - b, 0)), FLOATS),
        "bias-not-below": function("does not add below", lambda x, b, t: np.where(x > t, x - b, np.where(x < -t, x, 0))),
        "open": result(
            "shrinks at the threshold, too", lambda y, x, b, t: np.where(np.abs(x) == t, x - np.copysign(b, x), y), FLOATS
        ),
        "wraps": step("lets integers wrap around", "activation.to_integer", lambda y, dtype: np.int64(np.rint(y)).astype(dtype)),
    },
    "SOFTSIGN": {
        **round_steps("divisors", lambda f: lambda x: x / f(1 + np.abs(x))),
        "without-magnitude": function("divides by 1 + x", lambda x: x / (1 + x)),
        "sign-beyond-1000": result("gives the sign beyond 1,000", lambda y, x: np.where(np.abs(x) > 1000, np.sign(x), y)),
        "infinity-as-1": result("gives 1 for infinity", lambda y, x: np.where(np.isinf(x), np.sign(x), y)),
    },
    "THRESHOLDED_RELU": {
        "at-threshold": result("keeps what is Alpha", lambda y, x, alpha: np.where(x == alpha, x, y)),
        "shifted": result("subtracts Alpha", lambda y, x, alpha: np.where(x > alpha, x - alpha, y)),
        "of-magnitude": function("compares magnitudes", lambda x, alpha: np.where(np.abs(x) <= alpha, 0, x)),
        "nan-as-0": result("gives 0 for NaN", lambda y, x, alpha: np.where(np.isnan(x), 0, y)),
    },
    "ELU SCALED_ELU CELU": {
        "cancels": step("computes the exponential in FLOAT16", _LESS_ONE, lambda y: _float16(np.exp(y)) - 1, SINGLE),
    },
    "ELU": {
        "alpha-everywhere": function("multiplies by Alpha above 0, too", lambda x, a: a * _elu(x, x, np.expm1(x))),
        "alpha-in-exponent": function("multiplies the exponent by Alpha", lambda x, a: _elu(x, x, np.expm1(a * x))),
        "branchless": function(
            "adds both branches, one times 0", lambda x, a: np.fmax(x, 0) + (x < 0) * a * (np.exp(np.float32(x)) - 1), SINGLE
        ),
    },
    "SCALED_ELU": {
        "gamma-below-alone": function("multiplies by Gamma below 0 alone", lambda x, a, g: _elu(x, x, g * a * np.expm1(x))),
    },
    "CELU": {
        "multiplied": function("multiplies the exponent by Alpha", lambda x, a: _celu(x, a * np.expm1(x * a))),
        "not-rectified": function("adds the curve above 0, too", lambda x, a: np.fmax(x, 0) + a * np.expm1(np.divide(x, a))),
        "by-sign": function("chooses by the sign of x", lambda x, a: _elu(x, x, a * np.expm1(np.divide(x, a)))),
    },
    "GELU": {
        "by-tanh": function("approximates by tanh", lambda x: x / 2 * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))),
        "cancels": function("adds 1 in FLOAT16", lambda x: x / 2 * _float16(_normal(x)), SINGLE),
        "zero-below-minus-3": function("gives 0 below -3", lambda x: np.where(x < -3, 0, x / 2 * _normal(x))),
    },
    "SIGMOID SWISH": {
        **roundings("sigmoids", _SIGMOID),
        "overflows": step("divides infinity by infinity", _SIGMOID, _single(lambda y: np.exp(y) / (1 + np.exp(y))), SINGLE),
    },
    "SWISH": {
        "scale-outside": function("scales the product", lambda x, scale: scale * x * _sigmoid(x)),
        "scaled-twice": function("scales both factors", lambda x, scale: scale * x * _sigmoid(scale * x)),
    },
    "TANH SCALED_TANH": {
        **roundings("curves", _TANH),
        "overflows": step("divides infinities", _TANH, _single(lambda y: (np.exp(2 * y) - 1) / (np.exp(2 * y) + 1)), SINGLE),
        "one-beyond-3": step("gives 1 beyond 3", _TANH, lambda y: np.where(np.abs(y) > 3, np.sign(y), np.tanh(y))),
    },
    "SCALED_TANH": {"alpha-inside": function("multiplies by Alpha inside", lambda x, alpha, beta: np.tanh(alpha * beta * x))},
    "SOFTPLUS PARAMETRIC_SOFTPLUS": {
        "overflows": step("overflows with the exponential", _SOFTPLUS, _single(lambda y: np.log(1 + np.exp(y))), SINGLE),
        "line-beyond-3": step("gives the line beyond 3", _SOFTPLUS, lambda y: np.where(y > 3, y, _softplus(y))),
        "zero-below-minus-5": step("gives 0 below -5", _SOFTPLUS, lambda y: np.where(y < -5, 0, _softplus(y))),
    },
    "SOFTPLUS": {"not-divided": function("does not divide by Steepness", lambda x, s: _softplus(s * x))},
    "PARAMETRIC_SOFTPLUS": {
        "beta-outside": function("multiplies by Beta outside", lambda x, alpha, beta: alpha * beta * _softplus(x)),
        "alpha-inside": function("multiplies by Alpha inside", lambda x, alpha, beta: _softplus(alpha * beta * x)),
    },
}

FAULTS = table("ACTIVATION_", _FAULTS)
"""What implementations of them get wrong."""
