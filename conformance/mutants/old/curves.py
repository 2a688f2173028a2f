"""Faults in the activations by way of the exponential or the error function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi, sqrt
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.activations import pieces
from dmlcts.conformance.mutants.old.fault import (
    SINGLE,
    Computed,
    Fault,
    Faults,
    attributes,
    marked,
    of_attributes,
    planted,
)
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.reference.element_wise.special_functions import erf


def _single(does: str, function: Callable[..., Any]) -> Fault:
    """The same in FLOAT32, of FLOAT32 tensors: steps round and overflow."""
    return Fault(does, _in_single(function), SINGLE)


def _in_single(function: Callable[..., Any]) -> Computed:
    return lambda desc, inputs, right: function(
        inputs["InputTensor"].astype("f4"), *(np.float32(number) for number in attributes(desc))
    )


def _expm1(x: Array) -> Array:
    """Of what is not above 0, so that nothing overflows."""
    return np.expm1(np.minimum(x, 0))


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


def _cancels(x: Array) -> Any:
    """``exp(x) - 1`` of a FLOAT16 exponential."""
    return np.exp(np.minimum(x, 0)).astype("f2").astype("f8") - 1


_CURVES: Faults = {
    "ELU": {
        "alpha-everywhere": pieces("multiplies by Alpha above 0, too", lambda x, alpha: alpha * np.where(x >= 0, x, _expm1(x))),
        "less-one-outside": pieces(
            "subtracts 1 from the product", lambda x, alpha: np.where(x >= 0, x, alpha * np.exp(np.minimum(x, 0)) - 1)
        ),
        "not-less-one": pieces("does not subtract 1", lambda x, alpha: np.where(x >= 0, x, alpha * np.exp(np.minimum(x, 0)))),
        "branchless": _single(
            "adds both branches, one times 0, so that it overflows",
            lambda x, alpha: np.where(x >= 0, x, 0) + (x < 0) * alpha * (np.exp(x) - 1),
        ),
        "alpha-in-exponent": pieces(
            "multiplies the exponent by Alpha", lambda x, alpha: np.where(x >= 0, x, np.expm1(alpha * np.minimum(x, 0)))
        ),
        "cancels-in-float16": Fault(
            "takes the exponential in FLOAT16", of_attributes(lambda x, alpha: np.where(x >= 0, x, alpha * _cancels(x))), SINGLE
        ),
        "base-2": pieces("takes 2 for e", lambda x, alpha: np.where(x >= 0, x, alpha * (np.exp2(np.minimum(x, 0)) - 1))),
    },
    "SCALED_ELU": {
        "gamma-below-alone": pieces(
            "multiplies by Gamma below 0 alone", lambda x, alpha, gamma: np.where(x > 0, x, gamma * alpha * _expm1(x))
        ),
        "gamma-above-alone": pieces(
            "multiplies by Gamma above 0 alone", lambda x, alpha, gamma: np.where(x > 0, gamma * x, alpha * _expm1(x))
        ),
        "without-gamma": pieces("takes 1 for Gamma", lambda x, alpha, gamma: np.where(x > 0, x, alpha * _expm1(x))),
        "constants": pieces("takes the usual constants", lambda x, alpha, gamma: 1.0507 * np.where(x > 0, x, 1.67326 * _expm1(x))),
        "not-less-alpha": pieces(
            "does not subtract Alpha", lambda x, alpha, gamma: gamma * np.where(x > 0, x, alpha * np.exp(np.minimum(x, 0)))
        ),
        "alpha-added": pieces(
            "adds Alpha", lambda x, alpha, gamma: gamma * np.where(x > 0, x, alpha * np.exp(np.minimum(x, 0)) + alpha)
        ),
        "alpha-everywhere": pieces(
            "multiplies by Alpha above 0, too", lambda x, alpha, gamma: gamma * alpha * np.where(x > 0, x, _expm1(x))
        ),
        "cancels-in-float16": Fault(
            "takes the exponential in FLOAT16",
            of_attributes(lambda x, alpha, gamma: gamma * np.where(x > 0, x, alpha * _cancels(x))),
            SINGLE,
        ),
    },
    "CELU": {
        "not-less-one": pieces(
            "does not subtract 1", lambda x, alpha: np.where(x > 0, x, alpha * np.exp(np.minimum(x / alpha, 0)))
        ),
        "not-divided": pieces("does not divide by Alpha", lambda x, alpha: np.maximum(x, 0) + np.minimum(0, alpha * _expm1(x))),
        "multiplied": pieces(
            "multiplies the exponent by Alpha", lambda x, alpha: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x * alpha))
        ),
        "not-scaled": pieces("does not multiply by Alpha", lambda x, alpha: np.maximum(x, 0) + np.minimum(0, np.expm1(x / alpha))),
        "by-sign": pieces("chooses the branch by the sign of x", lambda x, alpha: np.where(x >= 0, x, alpha * np.expm1(x / alpha))),
        "not-rectified": pieces("adds the curve above 0, too", lambda x, alpha: np.maximum(x, 0) + alpha * np.expm1(x / alpha)),
        "cancels-in-float16": Fault(
            "takes the exponential in FLOAT16",
            of_attributes(
                lambda x, alpha: np.maximum(x, 0) + np.minimum(0, alpha * (np.exp(x / alpha).astype("f2").astype("f8") - 1))
            ),
            SINGLE,
        ),
    },
    "GELU": {
        "by-tanh": pieces("approximates by tanh", lambda x: x / 2 * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))),
        "by-sigmoid": pieces("approximates by a sigmoid", lambda x: x * _sigmoid(1.702 * x)),
        "root-forgotten": pieces("does not divide by sqrt(2)", lambda x: x / 2 * (1 + erf(np, x))),
        "half-forgotten": pieces("does not halve", lambda x: x * (1 + erf(np, x / sqrt(2)))),
        "distribution-alone": pieces("forgets the factor", lambda x: (1 + erf(np, x / sqrt(2))) / 2),
        "cancels-in-float16": Fault(
            "takes 1 + erf in FLOAT16",
            of_attributes(lambda x: x / 2 * (1 + erf(np, x / sqrt(2))).astype("f2").astype("f8")),
            SINGLE,
        ),
        "zero-below-minus-3": pieces("gives 0 below -3", lambda x: np.where(x < -3, 0, x / 2 * (1 + erf(np, x / sqrt(2))))),
    },
    "SIGMOID": {
        "by-tanh-of-x": pieces("computes (1 + tanh(x)) / 2", lambda x: (1 + np.tanh(x)) / 2),
        "mirrored": pieces("forgets the sign", lambda x: 1 / (1 + np.exp(x))),
        "overflows": _single("divides infinity by infinity", lambda x: np.exp(x) / (1 + np.exp(x))),
        "limited-to-15": pieces("limits the argument to -15 and 15", lambda x: _sigmoid(np.clip(x, -15, 15))),
        "rational": pieces("approximates by x / (1 + |x|)", lambda x: 0.5 + 0.5 * x / (1 + np.abs(x))),
        "argument-in-float16": Fault(
            "rounds the argument to FLOAT16", of_attributes(lambda x: _sigmoid(x.astype("f2").astype("f8"))), SINGLE
        ),
        "base-2": pieces("takes 2 for e", lambda x: 1 / (1 + np.exp2(-x))),
        "hard": pieces("computes HARD_SIGMOID", lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    },
    "SWISH": {
        "rectified": pieces("gives 0 below 0", lambda x, scale: np.maximum(x, 0) * _sigmoid(scale * x)),
        "mirrored": pieces("forgets the sign of the exponent", lambda x, scale: x * _sigmoid(-scale * x)),
        "by-tanh": pieces("takes tanh for the sigmoid", lambda x, scale: x * np.tanh(scale * x)),
        "limited-to-6": pieces("limits the argument to -6 and 6", lambda x, scale: x * _sigmoid(np.clip(scale * x, -6, 6))),
        "scale-outside": pieces("scales the product", lambda x, scale: scale * x * _sigmoid(x)),
        "scaled-twice": pieces("scales both factors", lambda x, scale: scale * x * _sigmoid(scale * x)),
        "sigmoid-alone": pieces("forgets the factor", lambda x, scale: _sigmoid(scale * x)),
        "hard": pieces("computes HARD_SWISH", lambda x, scale: x * np.clip(scale * x / 6 + 0.5, 0, 1)),
        "overflows": _single("divides infinity by infinity", lambda x, scale: x * (np.exp(scale * x) / (1 + np.exp(scale * x)))),
        "sigmoid-in-float16": Fault(
            "takes the sigmoid in FLOAT16",
            of_attributes(lambda x, scale: x * _sigmoid(scale * x).astype("f2").astype("f8")),
            SINGLE,
        ),
    },
    "TANH": {
        "of-half": pieces("computes (exp(x) - 1) / (exp(x) + 1)", lambda x: np.tanh(x / 2)),
        "sigmoid": pieces("does not move the sigmoid", lambda x: 2 * _sigmoid(2 * x)),
        "overflows": _single("divides infinity by infinity", lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1)),
        "limits": pieces("limits to -1 and 1", lambda x: np.clip(x, -1, 1)),
        "fraction": pieces("approximates by a fraction", lambda x: np.clip(x * (27 + x * x) / (27 + 9 * x * x), -1, 1)),
        "one-beyond-3": pieces("gives 1 beyond 3", lambda x: np.where(np.abs(x) > 3, np.sign(x), np.tanh(x))),
        "magnitude": pieces("gives the magnitude", lambda x: np.abs(np.tanh(x))),
    },
    "SCALED_TANH": {
        "beta-outside": pieces("multiplies by Beta outside", lambda x, alpha, beta: alpha * beta * np.tanh(x)),
        "alpha-inside": pieces("multiplies by Alpha inside", lambda x, alpha, beta: np.tanh(alpha * beta * x)),
        "constants": pieces("takes the usual constants", lambda x, alpha, beta: 1.7159 * np.tanh(2 / 3 * x)),
        "divides": pieces("divides by Beta", lambda x, alpha, beta: alpha * np.tanh(x / beta)),
        "overflows": _single(
            "divides infinity by infinity", lambda x, alpha, beta: alpha * (np.exp(2 * beta * x) - 1) / (np.exp(2 * beta * x) + 1)
        ),
        "limits": pieces("limits to -Alpha and Alpha", lambda x, alpha, beta: alpha * np.clip(beta * x, -1, 1)),
    },
    "SOFTPLUS": {
        "of-magnitude": pieces("forgets what it took out of the logarithm", lambda x, s: np.log1p(np.exp(-np.abs(s * x))) / s),
        "not-divided": pieces("does not divide by Steepness", lambda x, s: _softplus(s * x)),
        "multiplied": pieces("multiplies by Steepness", lambda x, s: s * _softplus(s * x)),
        "not-steep": pieces("takes 1 for Steepness inside", lambda x, s: _softplus(x) / s),
        "overflows": _single("overflows with the exponential", lambda x, s: np.log(1 + np.exp(s * x)) / s),
        "rectified": pieces("rectifies", lambda x, s: np.maximum(x, 0)),
        "line-beyond-3": pieces("gives the input beyond 3", lambda x, s: np.where(x > 3, x, _softplus(s * x) / s)),
        "zero-below-minus-5": pieces("gives 0 below -5", lambda x, s: np.where(s * x < -5, 0, _softplus(s * x) / s)),
        "base-2": pieces("takes the logarithm to base 2", lambda x, s: _softplus(s * x) / s / np.log(2)),
        "exponential-in-float16": Fault(
            "takes the exponential in FLOAT16",
            of_attributes(lambda x, s: np.log1p(np.exp(s * x).astype("f2").astype("f8")) / s),
            SINGLE,
        ),
    },
    "PARAMETRIC_SOFTPLUS": {
        "beta-outside": pieces("multiplies by Beta outside", lambda x, alpha, beta: alpha * beta * _softplus(x)),
        "alpha-inside": pieces("multiplies by Alpha inside", lambda x, alpha, beta: _softplus(alpha * beta * x)),
        "divides": pieces("divides by Beta", lambda x, alpha, beta: _softplus(beta * x) / beta),
        "overflows": _single("overflows with the exponential", lambda x, alpha, beta: alpha * np.log(1 + np.exp(beta * x))),
        "rectified": pieces("rectifies", lambda x, alpha, beta: alpha * np.maximum(beta * x, 0)),
        "alpha-in-logarithm": pieces(
            "multiplies the exponential by Alpha", lambda x, alpha, beta: np.log1p(alpha * np.exp(beta * x))
        ),
        "line-beyond-3": pieces(
            "gives the line beyond 3", lambda x, alpha, beta: np.where(beta * x > 3, alpha * beta * x, alpha * _softplus(beta * x))
        ),
    },
}

CURVES = marked({f"ACTIVATION_{name}": faults for name, faults in _CURVES.items()}, ("ACTIVATION_CELU/by-sign",))


def curve_mutants() -> Iterator[Mutant]:
    """Every value fault of the activations by way of the exponential."""
    yield from planted(CURVES)
