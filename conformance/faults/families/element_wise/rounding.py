"""Faults of rounding: ROUND, CEIL, FLOOR, and IDENTITY, which makes integers of scaled numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.element_wise.functions import is_scaled, scale_bias
from dmlcts.conformance.faults.families.elements import Types, change_stored, function, operands, result, table
from dmlcts.conformance.faults.model.fault import FLOATS, HALF, LONG, SINGLE, Fault, Table, Where
from dmlcts.reference.answer import Array
from dmlcts.spec.model.desc import OperatorDesc

Rounding = Callable[[Array], Array]


def _with_sign(rounding: Rounding) -> Rounding:
    """What ``rounding`` gives for the magnitude, with the number's sign."""
    return lambda x: np.copysign(rounding(np.abs(x)), x)


def _half_up(x: Array) -> Array:
    return np.where(np.abs(x) < 2.0**52, np.floor(x + 0.5), x)


def _half_down(x: Array) -> Array:
    return np.where(np.abs(x) < 2.0**52, np.ceil(x - 0.5), x)


_ROUNDINGS: Mapping[str, tuple[str, Rounding]] = {
    "even": ("to the nearest, ties to even", np.rint),
    "trunc": ("toward zero", np.trunc),
    "away": ("to the nearest, ties away from zero", _with_sign(_half_up)),
    "outward": ("away from zero", _with_sign(np.ceil)),
    "half-up": ("to the nearest, ties up", _half_up),
    "half-down": ("to the nearest, ties down", _half_down),
    "half-inward": ("to the nearest, ties toward zero", _with_sign(_half_down)),
    "half-odd": (
        "to the nearest, ties to odd",
        lambda x: np.where(np.abs(np.fmod(x, 1)) == 0.5, 2 * np.floor(x / 2) + 1, np.rint(x)),
    ),
}
"""By name: what it does, of FLOAT64."""

_MODES = {"HALVES_TO_NEAREST_EVEN": "even", "TOWARD_ZERO": "trunc", "TOWARD_INFINITY": "away"}


def _in_mode(mode: str) -> Where:
    return lambda desc: desc.fields["RoundingMode"] == mode


_EVEN, _, _AWAY = map(_in_mode, _MODES)


def _half_added(x: Array) -> Array:
    """In the number's own type, and the fraction cut off."""
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x))


def _half_mended(x: Array) -> Array:
    """In the number's own type, and odd results of ties mended: to even, but for what the sum rounded."""
    up = np.floor(x + x.dtype.type(0.5))
    return np.where((up - x == 0.5) & (up % 2 != 0), up - 1, up)


def _is_denormal(x: Array) -> Array:
    return (x != 0) & (np.abs(x) < np.finfo(x.dtype).smallest_normal)


def _limit_to_type(type_: str, types: Types = FLOATS) -> Fault:
    """Results limited to an integer type's range, where they are numbers."""
    ends = np.iinfo(type_.lower())
    return result(
        f"limits results to {type_}", lambda y, x: np.where(np.isfinite(y), np.clip(y, float(ends.min), float(ends.max)), y), types
    )


def _cut_product(right: Any, xp: Any, desc: OperatorDesc, x: Array) -> tuple[Array, Array]:
    """The argument with the product with the scale cut to an integer."""
    scale, bias = scale_bias(desc)
    return np.trunc(x.astype("f8") * scale) + bias, right(xp, desc, x)[1]


def _makes_integers(desc: OperatorDesc) -> bool:
    return "INT" in desc.tensor("InputTensor").data_type


_FAULTS: Table = {
    "ROUND": {
        **{
            f"{mode}-as-{name}": function(f"rounds {does} in {mode}", rounding, when=_in_mode(mode))
            for mode, right in _MODES.items()
            for name, (does, rounding) in _ROUNDINGS.items()
            if name != right
        },
        "half-added": function("adds a half in FLOAT16 and cuts", lambda x: _half_added(np.float16(x)), HALF, _AWAY),
        "half-mended": function("adds a half in FLOAT32 and mends ties", lambda x: _half_mended(np.float32(x)), SINGLE, _EVEN),
        "denormals-to-1": change_stored("gives 1 for denormals", lambda y, x: np.where(_is_denormal(x) & (x > 0), 1, y)),
        "identity-from-4194304-on": result("rounds below 2^22", lambda y, x: np.where(np.abs(x) >= 2.0**22, x, y), SINGLE),
        "identity-from-512-on": result("rounds FLOAT16 below 2^9", lambda y, x: np.where(np.abs(x) >= 2.0**9, x, y), HALF),
        "nan-to-infinity": result("gives infinity for NaN", lambda y, x: np.where(np.isnan(x), np.inf, y)),
        "infinity-to-nan": result("gives NaN for infinity", lambda y, x: np.where(np.isinf(x), np.nan, y)),
        "negative-to-plus-zero": result("gives 0 for -0.1", lambda y, x: np.where((y == 0) & (x < 0), 0, y)),
        "through-int64": _limit_to_type("INT64", SINGLE),
    },
    "ROUND CEIL FLOOR": {"through-int32": _limit_to_type("INT32", SINGLE)},
    "CEIL FLOOR": {
        "near-integers": operands(
            "ignores fractions below 1/1,000", lambda x: np.where(np.abs(x - np.rint(x)) < 0.001, np.rint(x), x)
        ),
    },
    "IDENTITY": {
        "integers-floored": function("rounds scaled integers down", np.floor, when=_makes_integers),
        "scale-cut": Fault(
            "cuts the product with the scale to an integer", when=is_scaled, stages={"scale_bias.argument": _cut_product}
        ),
        "through-float64": change_stored("converts 64-bit integers to FLOAT64", lambda y, x: np.float64(x), LONG),
    },
}

FAULTS = table("ELEMENT_WISE_", _FAULTS)
"""What implementations of them get wrong."""
