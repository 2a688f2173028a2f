"""QUANTIZE and DEQUANTIZE: a scale, and a zero point if there is one, for each block of elements.

The pages leave everything open but the data types. DirectML.dll 1.15.4 computes as ELEMENT_WISE_QUANTIZE_LINEAR and its inverse do, with
scales and zero points whose sizes divide those of the tensor: each stands for a block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.element_wise.limits import single
from dmlcts.reference.operators.element_wise.quantization import dequantize_number, divide_by_scale
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.quantized import DIVISION, power_of_two, stored_integers
from dmlcts.reference.shared.scale_bias import ROUNDOFF
from dmlcts.reference.stage import stage
from dmlcts.spec.model.abi import DataType
from dmlcts.spec.model.desc import OperatorDesc


@stage("quantization.each")
def each_block(xp: Any, x: Array, sizes: tuple[int, ...]) -> Array:
    """Every element of ``x`` in the place of all elements of its block, of a tensor of these sizes."""
    for axis, (size, count) in enumerate(zip(sizes, x.shape, strict=True)):
        x = xp.repeat(x, size // count, axis=axis)
    return x


@stage("quantization.no-zero-point")
def middle(quantized: DataType) -> float:
    """The zero point where none is given: the middle of an unsigned type, other than of the operators that work on elements alone."""
    return 0.0 if quantized.kind == "int" else float(1 << quantized.bits - 1)


def _scale_and_zero_point(
    xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array], quantized: DataType
) -> tuple[Array, Array | float]:
    """Both for each element, as float64."""
    sizes = desc.tensor("OutputTensor").sizes
    found = [each_block(xp, inputs[name].astype(xp.float64), sizes) for name, _ in desc.called("QuantizationTensors")]
    return found[0], found[1] if len(found) > 1 else middle(quantized)


@reference("QUANTIZE")
def quantize(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``clamp(round(x / scale) + zero_point)``. NaN gives the least integer, as DirectML.dll was measured to do."""
    x = inputs["InputTensor"].astype(xp.float64)
    scale, zero_point = _scale_and_zero_point(xp, desc, inputs, desc.tensor("OutputTensor").type)
    quotient = divide_by_scale(xp, x, scale)
    error = xp.where(single(xp, x) & power_of_two(xp, scale), 0.0, DIVISION * ROUNDOFF * xp.abs(quotient))
    return {"OutputTensor": stored_integers(xp, desc, quotient, error, zero_point, -128.0)}


@reference("DEQUANTIZE")
def dequantize(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``(x - zero_point) * scale``; the difference does not wrap around."""
    scale, zero_point = _scale_and_zero_point(xp, desc, inputs, desc.tensor("InputTensor").type)
    return {"OutputTensor": Answer(dequantize_number(xp, inputs["InputTensor"].astype(xp.float64), zero_point, scale))}
