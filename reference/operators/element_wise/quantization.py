"""Quantization to 8-bit integers and back, and addition of quantized tensors.

An implementation computes in FLOAT32. ``QUANTIZE`` and the addition are judged as integers that rounding may give: the answer's ``value``
and ``slack`` are chosen so that ``value - slack`` and ``value + slack`` are the least and the largest of them, which are one where the
computation is exact in FLOAT32, at a tie too. The pages leave open how ``round`` treats ties and what NaN becomes; DirectML.dll 1.15.4
rounds ties to even, before it adds the zero point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.element_wise.limits import single
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.quantized import DIVISION, power_of_two, real, stored_integers
from dmlcts.reference.shared.scale_bias import ROUNDOFF
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@stage("element_wise.divide_by_scale")
def divide_by_scale(xp: Any, x: Array, scale: Array) -> Array:
    """``x / scale`` of float64 values, which is then rounded."""
    return x / scale


@stage("element_wise.dequantize")
def dequantize_number(xp: Any, x: Array, zero_point: Array | float, scale: Array) -> Array:
    """The real number that a quantized one stands for; all in float64."""
    return (x - zero_point) * scale


@reference("ELEMENT_WISE_QUANTIZE_LINEAR")
def quantize_linear(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``clamp(round(x / scale) + zero_point)``. NaN gives 0 and not the zero point, as DirectML.dll was measured to do."""
    x, scale = inputs["InputTensor"].astype(xp.float64), inputs["ScaleTensor"].astype(xp.float64)
    quotient = divide_by_scale(xp, x, scale)
    converted = single(xp, x)
    error = ROUNDOFF * xp.abs(quotient) * (DIVISION + ~converted)
    error = xp.where(converted & power_of_two(xp, scale), 0.0, error)
    return {"OutputTensor": stored_integers(xp, desc, quotient, error, real(xp, inputs, "ZeroPointTensor"), 0.0)}


@reference("ELEMENT_WISE_DEQUANTIZE_LINEAR")
def dequantize_linear(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``(x - zero_point) * scale``. 32-bit integers and their difference may have been rounded to FLOAT32 before they are multiplied."""
    x, scale = inputs["InputTensor"].astype(xp.float64), inputs["ScaleTensor"].astype(xp.float64)
    zero_point = real(xp, inputs, "ZeroPointTensor")
    value = dequantize_number(xp, x, zero_point, scale)
    if inputs["InputTensor"].dtype.itemsize < 4:
        return {"OutputTensor": Answer(value)}
    steps = [x, x - zero_point, zero_point + xp.zeros_like(x)]
    error = sum(xp.where(single(xp, step), 0.0, ROUNDOFF * xp.abs(step)) for step in steps)
    known = xp.isfinite(scale) | (error == 0)  # an infinite scale asks whether the difference is 0
    return {"OutputTensor": Answer(value, slack=error * xp.abs(scale), defined=known)}


@reference("ELEMENT_WISE_QUANTIZED_LINEAR_ADD")
def quantized_linear_add(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Both tensors dequantized, added, and quantized again. Unlike QUANTIZE_LINEAR, DirectML.dll gives the least integer for NaN."""
    a, b = (
        dequantize_number(xp, *(real(xp, inputs, f"{name}{what}Tensor") for what in ("", "ZeroPoint", "Scale")))
        for name in ("A", "B")
    )
    total, scale = a + b, inputs["OutputScaleTensor"].astype(xp.float64)
    quotient = divide_by_scale(xp, total, scale)
    steps = xp.abs(a) + xp.abs(b) + xp.abs(total)
    error = ROUNDOFF * (steps / xp.abs(scale) + DIVISION * xp.abs(quotient))
    exact = single(xp, a) & single(xp, b) & single(xp, total) & power_of_two(xp, scale)
    zero_point = real(xp, inputs, "OutputZeroPointTensor")
    return {"OutputTensor": stored_integers(xp, desc, quotient, xp.where(exact, 0.0, error), zero_point, -128.0)}
