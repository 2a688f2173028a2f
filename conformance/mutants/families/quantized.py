"""Faults of operators on quantized tensors: zero points taken off wrongly, scales misapplied, results rounded and saturated otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.fault import Array, Fault, Faults, Inputs, as_float16, with_input
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

# Zero points


def own(inputs: Inputs, name: str, part: str) -> Array:
    """A scale or zero point, of the matrix or the image ``name``, so that it broadcasts to it; a zero point of 0 where it is absent."""
    x, values = inputs[f"{name}Tensor"], inputs.get(f"{name}{part}Tensor", np.zeros(1, np.int64))
    if name == "Filter":  # one for each output channel
        return values.reshape(-1, *[1] * (x.ndim - 1))
    return values.reshape(values.shape[max(0, values.ndim - x.ndim) :])


def difference(inputs: Inputs, name: str) -> Array:
    """A tensor less its zero point."""
    return inputs[f"{name}Tensor"].astype(np.int64) - own(inputs, name, "ZeroPoint").astype(np.int64)


def with_differences(inputs: Inputs, differences: Mapping[str, Array]) -> Inputs:
    """Tensors that these are in the place of, without their zero points."""
    points = [f"{name}ZeroPointTensor" for name in differences]
    kept = {name: x for name, x in inputs.items() if name not in points}
    return {**kept, **{f"{name}Tensor": x for name, x in differences.items()}}


def zero_points(*names: str) -> Faults:
    """Tensors of these names whose differences from their zero points are computed wrongly."""
    return {
        f"{name}-{how}": Fault(f"{does} {name}Tensor", inputs=_of_difference(name, change))
        for name in names
        for how, does, change in (
            ("difference-wraps", "subtracts the zero point in the type of", lambda x, dtype: x.astype(dtype)),
            ("difference-saturates", "saturates in its type what is left of", _saturated),
            ("difference-at-least-0", "takes 0 for what lies below the zero point in", lambda x, dtype: np.maximum(x, 0)),
            ("low-bit-lost", "leaves out the lowest bit of", lambda x, dtype: x & ~1),
        )
    }


def _of_difference(name: str, change: Callable[[Array, Any], Array]) -> Callable[[OperatorDesc, Inputs], Inputs]:
    return lambda desc, inputs: with_differences(
        inputs, {name: change(difference(inputs, name), inputs[f"{name}Tensor"].dtype).astype(np.int64)}
    )


def _saturated(x: Array, dtype: Any) -> Array:
    return np.clip(x, np.iinfo(dtype).min, np.iinfo(dtype).max)


# Scales


def scales(*names: str) -> Faults:
    """Scales that the reference multiplies by, and an implementation does not, twice, or the other way round."""
    return {
        f"{name}ScaleTensor-{how}": Fault(f"{does} {name}ScaleTensor", inputs=with_input(f"{name}ScaleTensor", change))
        for name in names
        for how, does, change in (
            ("ignored", "ignores", np.ones_like),
            ("squared", "applies twice", np.square),
            ("inverted", "applies the reciprocal of", np.reciprocal),
            ("in-64ths", "keeps in steps of 1/64", lambda x: np.rint(x * 64) / 64),
        )
    }


def _cut(x: Array) -> Array:
    """With 8 bits, as integers have that a shift follows."""
    mantissa, exponent = np.frexp(x)
    return np.ldexp(np.rint(mantissa * 2.0**8) / 2.0**8, exponent)


def _factor(does: str, factor: Callable[[Array, Array], Array]) -> Fault:
    """Another number that sums are multiplied by, of the product of the inputs' scales and of the output's scale."""
    return Fault(does, stages={"quantized.rescale": lambda right, xp, total, f, divisor: total * factor(f, divisor)})


RESCALE: Faults = {
    "factor-of-8-bits": _factor("keeps 8 bits of the factor of all scales", lambda f, divisor: _cut(f / divisor)),
    "factor-in-float16": _factor("rounds the factor of all scales to FLOAT16", lambda f, divisor: as_float16(f / divisor)),
    "factor-of-power-of-2": _factor(
        "shifts by the factor of all scales", lambda f, divisor: np.ldexp(1.0, np.frexp(f / divisor)[1])
    ),
    "reciprocal-in-float16": _factor(
        "rounds the reciprocal of the output's scale to FLOAT16", lambda f, divisor: f * as_float16(1 / divisor)
    ),
    "scales-product-in-float16": _factor(
        "rounds the product of the inputs' scales to FLOAT16", lambda f, divisor: as_float16(f) / divisor
    ),
}
"""Of operators that scale a sum of products of integers."""


# What is stored


def _half_up(x: Array) -> Array:
    return np.where(np.abs(x) < 2.0**52, np.floor(x + 0.5), x)


def _half_down(x: Array) -> Array:
    return -_half_up(-x)


def _of_magnitude(rounding: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: np.copysign(rounding(np.abs(x)), x)


ROUNDINGS: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "trunc": ("toward zero", np.trunc),
    "floor": ("down", np.floor),
    "ceil": ("up", np.ceil),
    "outward": ("away from zero", _of_magnitude(np.ceil)),
    "half-away": ("to the nearest, halves away from zero", _of_magnitude(_half_up)),
    "half-up": ("to the nearest, halves up", _half_up),
    "half-down": ("to the nearest, halves down", _half_down),
    "half-inward": ("to the nearest, halves toward zero", _of_magnitude(_half_down)),
    "half-odd": ("to the nearest, halves to odd", lambda x: np.where(x - np.floor(x) == 0.5, 2 * np.floor(x / 2) + 1, np.rint(x))),
}
"""By name: how results may be rounded wrongly. Those of halves differ from the right one at ties alone."""


def stored(does: str, instead: Callable[..., Array], data_type: str = "") -> Fault:
    """Integers stored otherwise: ``f(right, value, zero_point, nan, least, most)``, where ``right`` gets the same. ``data_type`` is the output's."""

    def stage(right: Callable[..., Array], xp: Any, *args: Any) -> Array:
        return instead(lambda *other: right(xp, *other), *args)

    stages: Mapping[str, Instead] = {"quantized.requantize": stage}
    return Fault(does, stages=stages, when=(lambda desc: desc.tensor("OutputTensor").data_type == data_type) if data_type else None)


def _rounds(rounding: Callable[[Array], Array]) -> Callable[..., Array]:
    return lambda right, value, *rest: right(rounding(value), *rest)


def _wrapped(x: Array, least: float, nan: Any) -> Array:
    """The low byte of whole numbers."""
    return np.where(np.isnan(x), nan, (np.clip(x, -(2.0**62), 2.0**62) - least) % 256 + least)


REQUANTIZE: Faults = {
    **{f"rounds-{name}": stored(f"rounds {does}", _rounds(rounding)) for name, (does, rounding) in ROUNDINGS.items()},
    "point-before-rounding": stored(
        "adds the zero point before it rounds",
        lambda right, value, point, *rest: right(np.rint(value + point) - point, point, *rest),
    ),
    "point-subtracted": stored(
        "subtracts the output's zero point", lambda right, value, point, *rest: right(value, -1.0 * point, *rest)
    ),
    "off-by-one": stored("gives 1 more", lambda right, value, point, *rest: right(value, point + 1.0, *rest)),
    "wraps": stored(
        "does not saturate", lambda right, value, point, nan, least, most: _wrapped(np.rint(value) + point, least, nan)
    ),
    "saturates-before-point": stored(
        "saturates before it adds the zero point",
        lambda right, value, point, nan, least, most: right(np.clip(np.rint(value), least, most), point, nan, least, most),
    ),
    "wraps-behind-point": stored(
        "saturates before it adds the zero point, and wraps around then",
        lambda right, value, point, nan, least, most: _wrapped(np.clip(np.rint(value), least, most) + point, least, nan),
    ),
    "saturates-at-127": stored(
        "saturates symmetrically", lambda right, value, point, nan, least, most: right(value, point, nan, -most, most), "INT8"
    ),
    "saturates-as-signed": stored(
        "saturates UINT8 at 127", lambda right, value, point, nan, least, most: right(value, point, nan, least, 127.0), "UINT8"
    ),
    "at-least-point": stored("gives no less than the zero point", lambda right, value, *rest: right(np.maximum(value, 0.0), *rest)),
    "at-most-point": stored("gives no more than the zero point", lambda right, value, *rest: right(np.minimum(value, 0.0), *rest)),
    "nan-as-0": stored("gives 0 for NaN", lambda right, value, point, nan, *limits: right(value, point, 0.0, *limits)),
    "nan-as-least": stored(
        "gives the least number for NaN", lambda right, value, point, nan, least, most: right(value, point, least, least, most)
    ),
    "nan-as-largest": stored(
        "gives the largest number for NaN", lambda right, value, point, nan, least, most: right(value, point, most, least, most)
    ),
}
"""Of operators that quantize their results. A tie that is rounded otherwise, and what NaN becomes, no document says."""
