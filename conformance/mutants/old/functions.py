"""Faults in exponentials, logarithms, roots, trigonometric and hyperbolic functions and their inverses, and the error function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import pi, sqrt
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.fault import SINGLE, Fault, Faults, marked, of_argument, of_reals, of_single, planted
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.reference.element_wise.special_functions import erf
from dmlcts.spec.model import MEASURED

Function = Callable[[Array], Any]

_DEGREE = pi / 180


def _named(name: str) -> str:
    return f"ELEMENT_WISE_{name}"


def _argument(does: str, function: Function) -> Fault:
    """Of the scaled argument in FLOAT64."""
    return Fault(does, of_argument(function))


def _single(does: str, function: Function) -> Fault:
    """Of the scaled argument in FLOAT32, of FLOAT32 tensors."""
    return Fault(does, of_single(function), SINGLE)


def _half(x: Array) -> Array:
    half: Array = x.astype("f2").astype("f8")
    return half


def _linear_below(bound: float, function: Function) -> Function:
    """x itself near 0."""
    return lambda x: np.where(np.abs(x) < bound, x, function(x))


_POWERS: Faults = {
    "EXP": {
        "base-2": _argument("takes 2 for e", np.exp2),
        "less-one": _argument("computes exp(x) - 1", np.expm1),
        "argument-in-float16": Fault("rounds the argument to FLOAT16", of_argument(lambda x: np.exp(_half(x))), SINGLE),
        "four-terms": _argument("sums four terms of the series", lambda x: 1 + x + x**2 / 2 + x**3 / 6),
        "by-exponent-bits": _argument(
            "writes the argument into the exponent's bits",
            lambda x: np.ldexp(1 + np.mod(x / np.log(2), 1), np.floor(np.clip(x / np.log(2), -2000, 2000)).astype("i4")),
        ),
        "overflows-early": _argument("gives infinity beyond 80", lambda x: np.where(x > 80, np.inf, np.exp(x))),
        "zero-early": _argument("gives 0 below -15", lambda x: np.where(x < -15, 0, np.exp(x))),
        "scaled-after": Fault(
            "loses the argument's fraction beyond 10", of_argument(lambda x: np.exp(np.where(np.abs(x) > 10, np.trunc(x), x)))
        ),
    },
    "LOG": {
        "base-2": _argument("takes the logarithm to base 2", np.log2),
        "base-10": _argument("takes the logarithm to base 10", np.log10),
        "of-one-more": _argument("computes log(1 + x)", np.log1p),
        "ten-digits-near-1": _argument(
            "rounds the argument to FLOAT16 near 1", lambda x: np.log(np.where(np.abs(x - 1) < 0.5, _half(x), x))
        ),
        "exponent-alone": _argument(
            "takes the exponent and interpolates", lambda x: (np.frexp(x)[1] - 2 + 2 * np.frexp(x)[0]) * np.log(2)
        ),
        "at-least-minus-87": Fault(
            "gives a number for the logarithm of 0", of_argument(lambda x: np.log(np.where(x == 0, 2.0**-126, x)))
        ),
        "of-magnitude": _argument("takes the magnitude of negative numbers", lambda x: np.log(np.abs(x))),
    },
    "SQRT": {
        "by-reciprocal-root": _single("multiplies by the reciprocal root: NaN for 0", lambda x: x * (np.float32(1) / np.sqrt(x))),
        "halved-exponent": _argument(
            "halves the exponent and interpolates",
            lambda x: np.exp2(np.floor(np.log2(x)) / 2) * (1 + np.mod(np.log2(x), 1) * 0.4142),
        ),
        "one-newton-step": _argument(
            "stops after one step from a rough start", lambda x: (lambda y: (y + x / y) / 2)(np.exp2(np.floor(np.log2(x)) / 2))
        ),
        "of-magnitude": _argument("takes the magnitude of negative numbers", lambda x: np.sqrt(np.abs(x))),
        "negative-as-zero": _argument("gives 0 for negative numbers", lambda x: np.sqrt(np.where(x < 0, 0, x))),
        "cube-root": _argument("takes the cube root", np.cbrt),
        "reciprocal": _argument("gives the reciprocal root", lambda x: 1 / np.sqrt(x)),
    },
    "RECIP": {
        "of-magnitude": _argument("gives the reciprocal of the magnitude", lambda x: 1 / np.abs(x)),
        "one-newton-step": _argument(
            "stops after one step from a rough start", lambda x: (lambda y: y * (2 - x * y))(1 / (x * 1.01))
        ),
        "of-float16": Fault("rounds the argument to FLOAT16", of_argument(lambda x: 1 / _half(x)), SINGLE),
        "zero-for-zero": _argument("gives 0 for 0", lambda x: np.where(x == 0, 0, 1 / x)),
        "infinity-without-sign": Fault(
            "gives infinity without sign for -0", of_argument(lambda x: np.where(x == 0, np.inf, 1 / x)), basis=MEASURED
        ),
        "largest-for-zero": _argument("gives the largest number for 0", lambda x: np.where(x == 0, np.finfo("f4").max, 1 / x)),
        "negated-exponent": _argument(
            "turns the exponent over",
            lambda x: np.copysign(np.exp2(-np.log2(np.abs(x))) * (1 + 0.06 * np.sin(8 * np.log2(np.abs(x)))), x),
        ),
    },
    "ERF": {
        "complement": _argument("computes erfc", lambda x: 1 - _erf(x)),
        "three-digits": _argument(
            "approximates to three digits",
            lambda x: np.copysign(
                1 - (1 + 0.278393 * np.abs(x) + 0.230389 * x**2 + 0.000972 * np.abs(x) ** 3 + 0.078108 * x**4) ** -4.0, x
            ),
        ),
        "five-digits": _argument(
            "approximates to five digits",
            lambda x: np.copysign(
                1 - _polynomial(1 / (1 + 0.47047 * np.abs(x)), 0.3480242, -0.0958798, 0.7478556) * np.exp(-x * x), x
            ),
        ),
        "by-tanh": _argument("computes tanh(1.1283 x + 0.1009 x^3)", lambda x: np.tanh(x * 2 / sqrt(pi) + 0.1009 * x**3)),
        "two-terms": _argument("sums two terms of the series", lambda x: np.clip(2 / sqrt(pi) * (x - x**3 / 3), -1, 1)),
        "one-beyond-2": _argument("gives 1 beyond 2", lambda x: np.where(np.abs(x) > 2, np.sign(x), _erf(x))),
        "without-factor": _argument("forgets the factor 2 / sqrt(pi)", lambda x: _erf(x) * sqrt(pi) / 2),
        "of-normal-distribution": _argument("divides the argument by sqrt(2)", lambda x: _erf(x / sqrt(2))),
    },
}


def _erf(x: Array) -> Array:
    found: Array = erf(np, x)
    return found


def _polynomial(x: Array, *factors: float) -> Array:
    """Without a constant term."""
    return np.asarray(sum(factor * x ** (at + 1) for at, factor in enumerate(factors)))


def _periodic(function: Function, series: Function) -> dict[str, Fault]:
    """Faults of a function of an angle; ``series`` is its beginning about 0."""
    return {
        "degrees": _argument("takes degrees", lambda x: function(x * _DEGREE)),
        "half-turns": _argument("takes half turns", lambda x: function(x * pi)),
        "without-reduction": _argument("sums the series beyond pi too", series),
        "reduced-by-three-digits": _argument("reduces the range by 6.28", lambda x: function(x - 6.28 * np.rint(x / 6.28))),
        "reduced-by-half-turns": _argument(
            "reduces the range by pi and loses the sign", lambda x: function(x - pi * np.rint(x / pi)) + 0.5 * (np.rint(x / pi) % 2)
        ),
        "argument-in-float16": Fault("rounds the argument to FLOAT16", of_argument(lambda x: function(_half(x))), SINGLE),
        "beyond-pi-as-pi": _argument("limits the argument to -pi and pi", lambda x: function(np.clip(x, -pi, pi))),
    }


_ANGLES: Faults = {
    "SIN": _periodic(np.sin, lambda x: x - x**3 / 6 + x**5 / 120 - x**7 / 5040)
    | {
        "parabola": _argument(
            "approximates by a parabola",
            lambda x: (lambda y: 4 / pi * y - 4 / pi**2 * y * np.abs(y))(x - 2 * pi * np.rint(x / (2 * pi))),
        ),
        "argument-near-0": _argument("gives the argument below 1/2", _linear_below(0.5, np.sin)),
    },
    "COS": _periodic(np.cos, lambda x: 1 - x**2 / 2 + x**4 / 24 - x**6 / 720)
    | {
        "parabola": _argument(
            "approximates by a parabola",
            lambda x: (lambda y: 4 / pi * y - 4 / pi**2 * y * np.abs(y))(
                (lambda z: z - 2 * pi * np.rint(z / (2 * pi)))(x + pi / 2)
            ),
        ),
        "one-near-0": _argument("gives 1 below 1/8", lambda x: np.where(np.abs(x) < 0.125, 1, np.cos(x))),
    },
    "TAN": _periodic(np.tan, lambda x: x + x**3 / 3 + 2 * x**5 / 15)
    | {
        "cotangent": _argument("divides the cosine by the sine", lambda x: 1 / np.tan(x)),
        "argument-near-0": _argument("gives the argument below 1/2", _linear_below(0.5, np.tan)),
        "at-most-1": _argument("limits the result to -1 and 1", lambda x: np.clip(np.tan(x), -1, 1)),
    },
    "ASIN": {
        "degrees": _argument("gives degrees", lambda x: np.arcsin(x) / _DEGREE),
        "two-terms": _argument("sums two terms of the series", lambda x: np.where(np.abs(x) <= 1, x + x**3 / 6, np.nan)),
        "limited": _argument("limits the argument to -1 and 1", lambda x: np.arcsin(np.clip(x, -1, 1))),
        "without-sign": _argument("gives the magnitude", lambda x: np.abs(np.arcsin(x))),
        "from-pi": _argument("subtracts from pi", lambda x: pi - np.arcsin(x)),
        "three-digits": _argument(
            "approximates to three digits",
            lambda x: np.copysign(pi / 2 - np.sqrt(1 - np.abs(x)) * (1.5707288 - 0.2121144 * np.abs(x) + 0.06 * x**2), x),
        ),
    },
    "ACOS": {
        "degrees": _argument("gives degrees", lambda x: np.arccos(x) / _DEGREE),
        "limited": _argument("limits the argument to -1 and 1", lambda x: np.arccos(np.clip(x, -1, 1))),
        "of-magnitude": _argument("takes the magnitude", lambda x: np.arccos(np.abs(x))),
        "mirrored": _argument("gives the negative", lambda x: -np.arccos(x)),
        "two-terms": _argument("sums two terms of the series", lambda x: np.where(np.abs(x) <= 1, pi / 2 - x - x**3 / 6, np.nan)),
        "quarter-turn-of-two-digits": _argument("subtracts the arc sine from 1.57", lambda x: 1.57 - np.arcsin(x)),
    },
    "ATAN": {
        "degrees": _argument("gives degrees", lambda x: np.arctan(x) / _DEGREE),
        "beyond-1-as-1": _argument("limits the argument to -1 and 1", lambda x: np.arctan(np.clip(x, -1, 1))),
        "two-digits": _argument(
            "approximates to two digits",
            lambda x: np.where(np.abs(x) <= 1, x / (1 + 0.28 * x**2), np.copysign(pi / 2, x) - x / (x**2 + 0.28)),
        ),
        "reciprocal-not-mirrored": _argument(
            "takes the reciprocal beyond 1 and forgets pi / 2", lambda x: np.arctan(np.where(np.abs(x) > 1, 1 / x, x))
        ),
        "of-magnitude": _argument("takes the magnitude", lambda x: np.arctan(np.abs(x))),
        "infinity-as-nan": Fault(
            "gives NaN for infinity", of_argument(lambda x: np.where(np.isinf(x), np.nan, np.arctan(x))), basis=MEASURED
        ),
    },
    "ATAN_YX": {
        "without-quadrants": Fault("computes atan(a / b)", of_reals(lambda y, x: np.arctan(y / x))),
        "from-zero-to-a-turn": Fault("gives angles from 0 to 2 pi", of_reals(lambda y, x: np.mod(np.arctan2(y, x), 2 * pi))),
        "degrees": Fault("gives degrees", of_reals(lambda y, x: np.arctan2(y, x) / _DEGREE)),
        "half-turn-added": Fault(
            "adds pi wherever B is negative", of_reals(lambda y, x: np.arctan(y / x) + np.where(x < 0, pi, 0))
        ),
        "vertical-as-nan": Fault("gives NaN where B is 0", of_reals(lambda y, x: np.where(x == 0, np.nan, np.arctan2(y, x)))),
        "quotient-in-float16": Fault(
            "rounds the quotient to FLOAT16",
            of_reals(lambda y, x: np.arctan(_half(y / x)) + np.where(x < 0, np.copysign(pi, y), 0)),
            SINGLE,
        ),
        "infinities-as-nan": Fault(
            "gives NaN for two infinities",
            of_reals(lambda y, x: np.where(np.isinf(y) & np.isinf(x), np.nan, np.arctan2(y, x))),
            basis=MEASURED,
        ),
        "without-sign": Fault("gives the magnitude", of_reals(lambda y, x: np.abs(np.arctan2(y, x)))),
    },
}

_HYPERBOLIC: Faults = {
    "SINH": {
        "half-exponential": _argument("computes exp(x) / 2", lambda x: np.exp(x) / 2),
        "not-halved": _argument("forgets to halve", lambda x: 2 * np.sinh(x)),
        "cancels": _single("subtracts exponentials in FLOAT32 near 0", lambda x: (np.exp(x) - np.exp(-x)) / 2),
        "overflows-early": _single(
            "halves after the exponential overflowed", lambda x: np.where(np.abs(x) < 1, np.sinh(x), (np.exp(x) - np.exp(-x)) / 2)
        ),
        "two-terms": _argument("sums two terms of the series", lambda x: x + x**3 / 6),
        "argument-near-0": _argument("gives the argument below 1/2", _linear_below(0.5, np.sinh)),
    },
    "COSH": {
        "half-exponential": _argument("computes exp(|x|) / 2", lambda x: np.exp(np.abs(x)) / 2),
        "not-halved": _argument("forgets to halve", lambda x: 2 * np.cosh(x)),
        "positive-alone": _argument("computes exp(x) / 2 beyond 1", lambda x: np.where(np.abs(x) < 1, np.cosh(x), np.exp(x) / 2)),
        "overflows-early": _single("halves after the exponential overflowed", lambda x: (np.exp(x) + np.exp(-x)) / 2),
        "two-terms": _argument("sums two terms of the series", lambda x: 1 + x**2 / 2),
        "one-near-0": _argument("gives 1 below 1/8", lambda x: np.where(np.abs(x) < 0.125, 1, np.cosh(x))),
    },
    "TANH": {
        "limits": _argument("limits the argument to -1 and 1", lambda x: np.clip(x, -1, 1)),
        "fraction": _argument("approximates by a fraction", lambda x: np.clip(x * (27 + x**2) / (27 + 9 * x**2), -1, 1)),
        "of-half": _argument("computes (exp(x) - 1) / (exp(x) + 1)", lambda x: np.tanh(x / 2)),
        "overflows": _single("divides infinity by infinity", lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1)),
        "argument-near-0": _argument("gives the argument below 1/4", _linear_below(0.25, np.tanh)),
        "one-beyond-3": _argument("gives 1 beyond 3", lambda x: np.where(np.abs(x) > 3, np.sign(x), np.tanh(x))),
    },
    "ASINH": {
        "cancels": _single("computes log(x + sqrt(x * x + 1)) in FLOAT32", lambda x: np.log(x + np.sqrt(x * x + 1))),
        "square-overflows": _single(
            "computes log(|x| + sqrt(x * x + 1)) in FLOAT32, where the square overflows",
            lambda x: np.copysign(np.log(np.abs(x) + np.sqrt(x * x + 1)), x),
        ),
        "of-magnitude": _argument("takes the magnitude", lambda x: np.arcsinh(np.abs(x))),
        "large-alone": _argument("computes log(2 |x|)", lambda x: np.copysign(np.log(2 * np.abs(x)), x)),
        "argument-near-0": _argument("gives the argument below 1/4", _linear_below(0.25, np.arcsinh)),
        "base-2": _argument("takes the logarithm to base 2", lambda x: np.arcsinh(x) / np.log(2)),
    },
    "ACOSH": {
        "square-overflows": _single(
            "computes log(x + sqrt(x * x - 1)) in FLOAT32, where the square overflows", lambda x: np.log(x + np.sqrt(x * x - 1))
        ),
        "below-1-as-1": _argument("gives 0 below 1", lambda x: np.arccosh(np.where(x < 1, 1, x))),
        "of-magnitude": _argument("takes the magnitude", lambda x: np.arccosh(np.abs(x))),
        "large-alone": _argument("computes log(2 x)", lambda x: np.where(x < 1, np.nan, np.log(2 * x))),
        "negative": _argument("gives the negative", lambda x: -np.arccosh(x)),
        "base-2": _argument("takes the logarithm to base 2", lambda x: np.arccosh(x) / np.log(2)),
    },
    "ATANH": {
        "not-halved": _argument("forgets to halve", lambda x: 2 * np.arctanh(x)),
        "cancels": _single("computes log((1 + x) / (1 - x)) / 2 in FLOAT32", lambda x: np.log((1 + x) / (1 - x)) / 2),
        "finite-at-1": _argument("gives a number at 1", lambda x: np.arctanh(np.where(np.abs(x) == 1, x * (1 - 2.0**-24), x))),
        "beyond-1": _argument("gives a number beyond 1", lambda x: 0.5 * np.log(np.abs((1 + x) / (1 - x)))),
        "two-terms": _argument("sums two terms of the series", lambda x: np.where(np.abs(x) < 1, x + x**3 / 3, np.arctanh(x))),
        "argument-near-0": _argument("gives the argument below 1/4", _linear_below(0.25, np.arctanh)),
    },
}

_MEASURED = {
    "LOG": ("of-magnitude",),
    "RECIP": ("zero-for-zero", "largest-for-zero"),
    "SQRT": ("of-magnitude", "negative-as-zero"),
    "ACOS": ("limited",),
    "ASIN": ("limited",),
    "ACOSH": ("below-1-as-1", "of-magnitude"),
    "ATANH": ("finite-at-1", "beyond-1"),
}
"""Outside the domain, and at its ends, the documentation says nothing."""

_FORMULA = "it is what DirectML.dll does and the documentation does not: either answer passes"
_LITTLE = "an absolute error is allowed that is larger, as DirectML.dll computes so itself"

_SAME = {
    "SINH": {"overflows-early": _FORMULA, "cancels": _LITTLE},
    "COSH": {"overflows-early": _FORMULA},
    "ASINH": {"cancels": _FORMULA, "square-overflows": _FORMULA},
    "ACOSH": {"square-overflows": _FORMULA},
    "ATANH": {"cancels": _LITTLE},
}

FUNCTIONS: Faults = marked(
    {_named(name): faults for table in (_POWERS, _ANGLES, _HYPERBOLIC) for name, faults in table.items()},
    [f"{_named(name)}/{fault}" for name, faults in _MEASURED.items() for fault in faults],
    {f"{_named(name)}/{fault}": why for name, reasons in _SAME.items() for fault, why in reasons.items()},
)


def function_mutants() -> Iterator[Mutant]:
    """Every value fault of functions of real numbers."""
    yield from planted(FUNCTIONS)
