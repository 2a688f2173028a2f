"""Faults of functions of real numbers: exponentials, roots, powers, angles and their like; and of every ScaleBias."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt

import numpy as np

from dmlcts.conformance.faults.families.elements import change_stored, function, operands, result, round_steps, single, table
from dmlcts.conformance.faults.model.fault import FLOATS, INTEGERS, PRECISIONS, Fault, Faults, Inputs, Table
from dmlcts.reference.answer import Array
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias

_SCALED = """ABS ACOS ACOSH ASIN ASINH ATAN ATANH CEIL CLIP CLIP1 CONSTANT_POW COS COSH ERF EXP FLOOR LOG POW RECIP SIN SINH SQRT TAN
TANH THRESHOLD"""
"""What has a ScaleBias, but for IDENTITY, which may be followed by it as well."""


def is_scaled(desc: OperatorDesc) -> bool:
    """Whether there is a ScaleBias."""
    return isinstance(desc.fields.get("ScaleBias"), ScaleBias)


def scale_bias(desc: OperatorDesc) -> tuple[float, float]:
    """Scale and bias as the desc holds them."""
    pair = desc.fields["ScaleBias"]
    assert isinstance(pair, ScaleBias)
    return float(np.float32(pair.scale)), float(np.float32(pair.bias))


def _scaled_after(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    """Scale and bias applied to the result."""
    scale, bias = scale_bias(desc)
    y: Array = compute(desc.with_fields(ScaleBias=None), inputs)["OutputTensor"].stored_value
    return y.astype("f8") * scale + bias


def _near_0(bound: float, instead: Callable[[Array], Array] = lambda x: x) -> Faults:
    """Something simple near 0: the argument itself, or 1."""
    return {"simple-near-0": result(f"simplifies below {bound}", lambda y, x: np.where(np.abs(x) < bound, instead(x), y))}


def _erf_of_five_digits(x: Array) -> Array:
    """Abramowitz and Stegun 7.1.25."""
    t = 1 / (1 + 0.47047 * np.abs(x))
    return np.copysign(1 - t * (0.3480242 + t * (-0.0958798 + t * 0.7478556)) * np.exp(-x * x), x)


def _is_whole(e: Array) -> Array:
    return np.floor(e) == e


def _of_integers(desc: OperatorDesc) -> bool:
    """Whether base and exponent are integers, and the base is not scaled."""
    return desc.tensor("ExponentTensor").data_type in INTEGERS and not is_scaled(desc)


def _half_turn_lost(x: Array) -> Array:
    return x - pi * np.rint(x / pi)


_FAULTS: Table = {
    _SCALED: {
        "scale-bias-after": Fault("scales the result", _scaled_after, when=is_scaled),
    },
    "SIN SINH TAN": _near_0(0.5),
    "TANH ASINH ATANH": _near_0(0.25),
    "COS COSH": _near_0(0.125, np.ones_like),
    "EXP SIN COS TAN": {
        f"argument-{label}": operands(f"rounds the argument to {type_}", rounding, types)
        for label, (type_, types, rounding) in PRECISIONS.items()
    },
    "EXP": {"overflows-early": result("gives infinity beyond 80", lambda y, x: np.where(x > 80, np.inf, y))},
    "LOG": {
        "float16-near-1": operands("reads FLOAT16 near 1", lambda x: np.where(np.abs(x - 1) < 0.5, np.float16(x), x)),
        "at-least-minus-87": operands("gives a number for the logarithm of 0", lambda x: np.where(x == 0, 2.0**-126, x)),
    },
    "LOG SQRT ACOSH": {"of-magnitude": operands("ignores the argument's sign", np.abs)},
    "SQRT": {
        "by-reciprocal-root": single("multiplies by the reciprocal root: NaN for 0", lambda x: x * (np.float32(1) / np.sqrt(x))),
        "negative-as-zero": operands("gives 0 for negative numbers", lambda x: np.where(x < 0, 0, x)),
    },
    "RECIP": {"zero-for-zero": result("gives 0 for 0", lambda y, x: np.where(x == 0, 0, y))},
    "ERF": {
        "five-digits": function("approximates to five decimal digits", _erf_of_five_digits),
        "by-tanh": function("approximates by tanh", lambda x: np.tanh(x * 2 / sqrt(pi) + 0.1009 * x**3)),
        "one-beyond-2": result("gives 1 beyond 2", lambda y, x: np.where(np.abs(x) > 2, np.sign(x), y)),
    },
    "COSH": {"positive-alone": result("computes exp(x) / 2 beyond 1", lambda y, x: np.where(np.abs(x) < 1, y, np.exp(x) / 2))},
    "TANH": {
        "overflows": single("divides infinity by infinity", lambda x: (np.exp(2 * x) - 1) / (np.exp(2 * x) + 1)),
        "one-beyond-3": result("gives 1 beyond 3", lambda y, x: np.where(np.abs(x) > 3, np.sign(x), y)),
    },
    "ACOSH": {"large-alone": function("computes log(2 x)", lambda x: np.where(x < 1, np.nan, np.log(2 * x)))},
    "ATANH": {
        "finite-at-1": operands("gives a number at 1", lambda x: np.where(np.abs(x) == 1, x * (1 - 2.0**-24), x)),
        "beyond-1": function("gives a number beyond 1", lambda x: 0.5 * np.log(np.abs((1 + x) / (1 - x)))),
    },
    "POW CONSTANT_POW": {
        "negative-base-of-fraction": result(
            "gives a number for roots of negatives", lambda y, x, e: np.where((x < 0) & ~_is_whole(e), np.abs(x) ** e, y), FLOATS
        ),
        "sign-of-odd-lost": result("gives positive odd powers", lambda y, x, e: np.where(_is_whole(e), np.abs(y), y), FLOATS),
        "zeroth-power": result("gives 0 for the exponent 0", lambda y, x, e: np.where(e == 0, 0, y), FLOATS),
        "infinity-to-zeroth": result("gives 1 for inf ** 0", lambda y, x, e: np.where(np.isinf(x) & (e == 0), 1, y), FLOATS),
        **round_steps("logarithms", lambda f: lambda x, e: np.copysign(np.exp2(f(e * np.log2(np.abs(x)))), np.power(x, e))),
    },
    "POW": {
        "first-power": result("gives |x| for the exponent 1", lambda y, x, e: np.where(e == 1, np.abs(x), y), FLOATS),
        "saturates": change_stored(
            "saturates where it must wrap around", lambda y, x, e: np.power(np.float64(x), e), ("INT32", "UINT32"), _of_integers
        ),
        "in-float32": change_stored(
            "computes in FLOAT32", lambda y, x, e: np.power(np.float32(x), np.float32(e)), ("INT32", "UINT32"), _of_integers
        ),
        "negative-exponent-as-0": result(
            "gives 1 for negative exponents of integers", lambda y, x, e: np.where(e < 0, 1, y), INTEGERS, _of_integers
        ),
    },
    "SIN COS": {"half-turn-lost": operands("reduces the range by pi and loses the sign", _half_turn_lost)},
    "ASIN ACOS ATAN": {"limited": operands("limits the argument to -1 and 1", lambda x: np.clip(x, -1, 1))},
    "ATAN": {"infinity-as-nan": result("gives NaN for infinity", lambda y, x: np.where(np.isinf(x), np.nan, y))},
    "ATAN_YX": {
        "vertical-as-nan": result("gives NaN where B is 0", lambda angle, y, x: np.where(x == 0, np.nan, angle)),
        "infinities-as-nan": result(
            "gives NaN for two infinities", lambda angle, y, x: np.where(np.isinf(x) & np.isinf(y), np.nan, angle)
        ),
        **round_steps("quotients", lambda f: lambda y, x: np.arctan(f(y / x)) + np.where(x < 0, np.copysign(pi, y), 0)),
    },
}

FAULTS = table("ELEMENT_WISE_", _FAULTS)
"""What implementations of them get wrong."""
