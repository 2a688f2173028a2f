"""Ways of rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dmlcts.conformance.mutants.old.mutant import Array

Rounding = Callable[[Array], Array]
"""Numbers into numbers, FLOAT64 unless said otherwise."""


def _with_sign(rounding: Rounding) -> Rounding:
    """What ``rounding`` gives for the magnitude, with the number's sign."""
    return lambda x: np.copysign(rounding(np.abs(x)), x)


def _to_odd(x: Array) -> Array:
    return np.where(np.abs(x - np.trunc(x)) == 0.5, 2 * np.floor(x / 2) + 1, np.rint(x))


def _half_up(x: Array) -> Array:
    return np.where(np.abs(x) < 2.0**52, np.floor(x + 0.5), x)


def _half_down(x: Array) -> Array:
    return np.where(np.abs(x) < 2.0**52, np.ceil(x - 0.5), x)


ROUNDINGS: dict[str, tuple[str, Rounding]] = {
    "even": ("to the nearest, halves to even", np.rint),
    "trunc": ("toward zero", np.trunc),
    "away": ("to the nearest, halves away from zero", _with_sign(_half_up)),
    "floor": ("down", np.floor),
    "ceil": ("up", np.ceil),
    "outward": ("away from zero", _with_sign(np.ceil)),
    "half-up": ("to the nearest, halves up", _half_up),
    "half-down": ("to the nearest, halves down", _half_down),
    "half-inward": ("to the nearest, halves toward zero", _with_sign(_half_down)),
    "half-odd": ("to the nearest, halves to odd", _to_odd),
}
