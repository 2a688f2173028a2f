"""Convolutions of 8-bit integers: FORWARD, with the filter as it is.

The pages say that zero points are taken off, and nothing of padding: it is zero after that, as in DirectML.dll. The sums of products of 8-bit
integers are whole numbers far below 2^53, which float64 adds up exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.convolution.windows import (
    Geometry,
    Layer,
    accumulate,
    add_bias,
    forward,
    group_channels,
    grouped_filter,
    magnitudes,
)
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.accumulation import sum_error
from dmlcts.reference.shared.quantized import DIVISION, power_of_two, real, rescale_sum, stored_integers
from dmlcts.reference.shared.scale_bias import ROUNDOFF
from dmlcts.spec.model.desc import OperatorDesc

_EXACT = 2.0**24
"""FLOAT32 holds every integer up to this."""


def _layer(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> Layer:
    """Sizes, with G groups: input (N, G*C, *S), filter (G*M, C, *K), output (N, G*M, *T).

    Zero points have one element, the filter's perhaps one for each output channel, in dimensions of their own.
    """
    w, groups, sizes = inputs["FilterTensor"], desc.integer("GroupCount"), desc.tensor("OutputTensor").sizes
    zero_point = _by_channel(xp, real(xp, inputs, "FilterZeroPointTensor"), w.ndim - 1)
    return Layer(
        group_channels(xp, inputs["InputTensor"], groups),
        grouped_filter(xp, w - zero_point, groups),
        Geometry(desc.integers("Strides"), desc.integers("Dilations"), desc.integers("StartPadding"), sizes[2:]),
        forward,
        xp.reshape(xp.asarray(real(xp, inputs, "InputZeroPointTensor")), ()),
        zero_point if zero_point.size == 1 else xp.reshape(zero_point, (groups, -1, *zero_point.shape[2:])),
    )


def _by_channel(xp: Any, values: Array | float, behind: int) -> Array:
    """One number, or one for each channel, with as many dimensions behind the channels."""
    return xp.reshape(xp.asarray(values), (-1, *(1 for _ in range(behind))))


@reference("CONVOLUTION_INTEGER")
def convolution_integer(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``(Input - InputZeroPoint)`` convolved with ``(Filter - FilterZeroPoint)``; beyond 32 bits it wraps around, as in DirectML.dll."""
    total = xp.reshape(accumulate(xp, _layer(xp, desc, inputs)), desc.tensor("OutputTensor").sizes)
    return {"OutputTensor": Answer(total.astype(xp.int64).astype(xp.int32))}


@reference("QUANTIZED_LINEAR_CONVOLUTION")
def quantized_linear_convolution(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The sum and the bias, in units of ``InputScale * FilterScale``, divided by OutputScale, rounded, moved by OutputZeroPoint, saturated.

    Integers may be summed and scaled at last, as DirectML.dll does, or dequantized first and summed in FLOAT32, as the page words it.
    Where scales are powers of two and the sum is small, both are exact. A NaN counts as 0, so that the zero point is what is stored: measured
    on DirectML.dll.
    """
    layer, sizes = _layer(xp, desc, inputs), desc.tensor("OutputTensor").sizes
    behind = len(sizes) - 2
    bias = _by_channel(xp, real(xp, inputs, "BiasTensor"), behind)
    terms = prod(layer.w.shape[2:]) + 1
    total = add_bias(xp, xp.reshape(accumulate(xp, layer), sizes), bias)
    most = xp.reshape(magnitudes(xp, layer, terms), sizes) + xp.abs(bias)
    scales = [_by_channel(xp, real(xp, inputs, f"{name}ScaleTensor"), behind) for name in ("Input", "Filter", "Output")]
    factor, divisor = scales[0] * scales[1], scales[2]
    quotient = rescale_sum(xp, total, factor, divisor)
    # Three more roundings: of both numbers that are multiplied when they are dequantized, and of the product of their scales.
    error = sum_error(xp, most * xp.abs(factor), terms + 3) / xp.abs(divisor) + DIVISION * ROUNDOFF * xp.abs(quotient)
    exact = most <= _EXACT
    for scale in scales:
        exact = exact & power_of_two(xp, scale)
    zero_point = xp.reshape(xp.asarray(real(xp, inputs, "OutputZeroPointTensor")), ())
    return {"OutputTensor": stored_integers(xp, desc, quotient, xp.where(exact, 0.0, error), zero_point)}
