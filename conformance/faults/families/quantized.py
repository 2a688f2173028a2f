"""Faults of operators on quantized tensors: zero points taken off wrongly, scales misapplied, results rounded and saturated otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import Array, Fault, Faults, Inputs, as_float16
from dmlcts.spec.model.desc import OperatorDesc

# Zero points


def own_part(inputs: Inputs, name: str, part: str) -> Array:
    """The scale or zero point of a tensor, so that it broadcasts to it; 0 where it is absent."""
    x, values = inputs[f"{name}Tensor"], inputs.get(f"{name}{part}Tensor", np.zeros(1, np.int64))
    if name == "Filter":  # one for each output channel
        return values.reshape(-1, *[1] * (x.ndim - 1))
    return values.reshape(values.shape[max(0, values.ndim - x.ndim) :])


def difference(inputs: Inputs, name: str) -> Array:
    """A tensor less its zero point."""
    return inputs[f"{name}Tensor"].astype(np.int64) - own_part(inputs, name, "ZeroPoint").astype(np.int64)


def with_differences(inputs: Inputs, differences: Mapping[str, Array]) -> Inputs:
    """Tensors that these are in the place of, without their zero points."""
    kept = {name: x for name, x in inputs.items() if name.removesuffix("ZeroPointTensor") not in differences}
    return {**kept, **{f"{name}Tensor": x for name, x in differences.items()}}


def zero_points(*names: str) -> Faults:
    """Tensors of these names whose differences from their zero points are computed in their own type."""

    def wrap_zero_point(name: str) -> Callable[[OperatorDesc, Inputs], Inputs]:
        def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
            in_type = difference(right, name).astype(right[f"{name}Tensor"].dtype)
            return with_differences(right, {name: in_type.astype(np.int64)})

        return inputs

    does = "subtracts the zero point in the type of"
    return {f"{name}-difference-wraps": Fault(f"{does} {name}Tensor", inputs=wrap_zero_point(name)) for name in names}


# Scales


def _factor(does: str, factor: Callable[[Array, Array], Array]) -> Fault:
    """Another number that sums are multiplied by, of the product of the inputs' scales and of the output's scale."""
    return Fault(does, stages={"quantized.rescale": lambda right, xp, total, f, divisor: total * factor(f, divisor)})


RESCALE: Faults = {
    "factor-in-float16": _factor("rounds the factor of all scales to FLOAT16", lambda f, divisor: as_float16(f / divisor)),
    "reciprocal-in-float16": _factor("rounds the output scale's reciprocal to FLOAT16", lambda f, y: f * as_float16(1 / y)),
}
"""Of operators that scale a sum of products of integers."""


# What is stored


def _half_up(x: Array) -> Array:
    return np.where(np.abs(x) < 2.0**52, np.floor(x + 0.5), x)


def _replace_stored(instead: Callable[..., Array]) -> Callable[..., Array]:
    return lambda right, xp, *args: instead(lambda *other: right(xp, *other), *args)


def _wrap_byte(x: Array, least: float, nan: Any) -> Array:
    """The low byte of whole numbers."""
    return np.where(np.isnan(x), nan, (np.clip(x, -(2.0**62), 2.0**62) - least) % 256 + least)


_STORED: Mapping[str, tuple[str, Callable[..., Array]]] = {
    "rounds-trunc": ("rounds toward zero", lambda f, x, *rest: f(np.trunc(x), *rest)),
    "rounds-half-up": ("rounds ties up", lambda f, x, *rest: f(_half_up(x), *rest)),
    "rounds-half-away": ("rounds ties away from zero", lambda f, x, *rest: f(np.copysign(_half_up(np.abs(x)), x), *rest)),
    "point-before-rounding": ("adds the zero point before it rounds", lambda f, x, p, *rest: f(np.rint(x + p) - p, p, *rest)),
    "wraps": ("does not saturate", lambda f, x, p, nan, low, high: _wrap_byte(np.rint(x) + p, low, nan)),
    "saturates-before-point": (
        "saturates before it adds the zero point",
        lambda f, x, p, nan, low, high: f(np.clip(np.rint(x), low, high), p, nan, low, high),
    ),
    "saturates-at-127": ("saturates INT8 symmetrically", lambda f, x, p, nan, low, high: f(x, p, nan, max(low, -127.0), high)),
    "saturates-as-signed": ("saturates UINT8 at 127", lambda f, x, p, nan, low, high: f(x, p, nan, low, min(high, 127.0))),
    "nan-as-0": ("gives 0 for NaN", lambda f, x, p, nan, *limits: f(x, p, 0.0, *limits)),
}
"""``f(x, zero point, what NaN gives, least, largest)`` is right, and what is stored otherwise is computed of the same."""

REQUANTIZE: Faults = {
    name: Fault(does, stages={"quantized.requantize": _replace_stored(instead)}) for name, (does, instead) in _STORED.items()
}
"""Of operators that quantize their results. How a tie is rounded, and what NaN becomes, no document says."""
