"""Products of quantized matrices: in 32-bit integers, as real numbers, and quantized again.

Scales and zero points have one element, or one for each row of A and of the output, or for each column of B. They have dimensions of their
own, which count from the last one: leading ones may be missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.element_wise.limits import single
from dmlcts.reference.operators.matrix.products import (
    integer_product,
    magnitude,
    matrix_product,
    parts_error,
    plus,
    product,
    total_error,
)
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.accumulation import accumulated_answer, between_error, sum_error
from dmlcts.reference.shared.fused import HALF_LARGEST, HALF_ROUNDOFF, HALF_SPACING
from dmlcts.reference.shared.quantized import DIVISION, power_of_two, rescale_sum, stored_integers
from dmlcts.reference.shared.scale_bias import ROUNDOFF
from dmlcts.spec.model.desc import OperatorDesc

_BYTES = 255
"""The largest difference of two integers of one 8-bit type."""

_LEAST_NORMAL = 2.0**-14
"""Of FLOAT16."""

_EXACT = 2.0**24
"""FLOAT32 holds every integer up to this."""


def _own_part(inputs: Mapping[str, Array], name: str, part: str) -> Any:
    """A tensor of the matrix ``name`` in no more dimensions than it has, as those beyond are ones; None if it is absent."""
    array, count = inputs.get(name + part), inputs["ATensor"].ndim
    return None if array is None else array.reshape(array.shape[max(0, array.ndim - count) :])


def _difference(xp: Any, inputs: Mapping[str, Array], name: str) -> Array:
    """A matrix less its zero point: float64, which holds the differences of 32-bit integers."""
    matrix, zero_point = (_own_part(inputs, name, part) for part in ("Tensor", "ZeroPointTensor"))
    return matrix.astype(xp.float64) if zero_point is None else xp.subtract(matrix, zero_point, dtype=xp.float64)


@reference("MATRIX_MULTIPLY_INTEGER")
def matrix_multiply_integer(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``(A - AZeroPoint) (B - BZeroPoint)`` in 32-bit integers. A sum beyond them wraps around, as in DirectML.dll; the page is silent."""
    a, b = (_difference(xp, inputs, name) for name in ("A", "B"))
    wide = integer_product(xp, a, b, _BYTES).astype(xp.int64)
    return {"OutputTensor": Answer(wide.astype(xp.int32))}


@reference("MATRIX_MULTIPLY_INTEGER_TO_FLOAT")
def matrix_multiply_integer_to_float(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``((A - AZeroPoint) * AScale) ((B - BZeroPoint) * BScale) + Bias``.

    Both matrices may be dequantized before they are multiplied, as DirectML.dll does. 32-bit integers, zero points and their difference
    are then rounded to FLOAT32; where the output is FLOAT16, their difference is stored as that, and so is what is dequantized. The products
    with the scales count as terms.
    """
    half, bias = desc.tensor("OutputTensor").data_type == "FLOAT16", inputs.get("BiasTensor")
    (a, a_error), (b, b_error) = (_dequantize_matrix(xp, inputs, name, half) for name in ("A", "B"))
    value, size, terms = product(xp, a, b), magnitude(xp, a, b), a.shape[-1] + 2
    error = total_error(_spread(xp, a, a_error, b, b_error), parts_error(xp, a, b) if half else None)
    if bias is not None:
        if half:
            error = total_error(error, between_error(xp, xp.abs(value)))
        value, size, terms = plus(xp, value, bias), size + xp.abs(bias), terms + 1
    return {"OutputTensor": accumulated_answer(xp, desc, value, size, terms, error)}


def _spread(xp: Any, a: Array, a_error: Array | None, b: Array, b_error: Array | None) -> Array | None:
    """What a product is off by where its factors are; infinite where one of them may be anything. None if by nothing."""
    if a_error is None and b_error is None:
        return None
    a, b, open_ = xp.abs(a), xp.abs(b), xp.asarray(False)
    for error, axis in ((a_error, -1), (b_error, -2)):
        if error is not None:
            open_ = open_ | xp.any(error == xp.inf, axis=axis, keepdims=True)
    spread = matrix_product(xp, total_error(a, a_error), total_error(b, b_error), xp.float64) - matrix_product(xp, a, b, xp.float64)
    return xp.where(open_, xp.inf, xp.where(xp.isnan(spread), 0.0, spread))


def _dequantize_matrix(xp: Any, inputs: Mapping[str, Array], name: str, half: bool) -> tuple[Array, Array | None]:
    """A matrix as real numbers, and what they are off by besides the rounding of the product; None if by nothing.

    Infinite where one may be anything: beyond FLOAT16, or a difference that rounding may make 0, by an infinite scale.
    """
    matrix, zero_point, scale = (_own_part(inputs, name, part) for part in ("Tensor", "ZeroPointTensor", "ScaleTensor"))
    scale = scale.astype(xp.float64)
    difference = _difference(xp, inputs, name)
    value, error = difference * scale, None
    if matrix.dtype.itemsize == 4:
        steps = [difference, *(x.astype(xp.float64) for x in (matrix, zero_point) if x is not None)]
        error = sum(xp.where(single(xp, step), 0.0, ROUNDOFF * xp.abs(step)) for step in steps)
    if half:
        error = _stored_as_half(xp, difference, error)
    if error is not None:
        error = xp.where(error == xp.inf, xp.inf, xp.abs(scale) * error)
    if half:  # a second time, where the scale may have made more digits of it
        error = _stored_as_half(xp, value, error, power_of_two(xp, scale) & (xp.abs(value) >= _LEAST_NORMAL))
    return value, error if error is not None and bool(xp.any(error)) else None


def _stored_as_half(xp: Any, value: Array, error: Array | None, held: Array | bool = False) -> Array:
    """What a value, off by ``error``, is off by once it is stored as FLOAT16; infinite beyond what that holds, unchanged where ``held``."""
    size = total_error(xp.abs(value), error)
    held = held | (value.astype(xp.float16).astype(xp.float64) == value) | ~xp.isfinite(value)
    rounded = xp.where(held, 0.0, xp.maximum(HALF_ROUNDOFF * size, HALF_SPACING))
    return total_error(error, xp.where((size > HALF_LARGEST) & (size < xp.inf), xp.inf, rounded))


@reference("QUANTIZED_LINEAR_MATRIX_MULTIPLY")
def quantized_linear_matrix_multiply(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``(A - AZeroPoint) * AScale`` by ``(B - BZeroPoint) * BScale``, divided by OutputScale, rounded, moved by OutputZeroPoint, saturated.

    Integers may be summed and scaled afterwards, as DirectML.dll does, or dequantized, multiplied and summed in FLOAT32, as the page
    words it. Where scales are powers of two and the sum is short, both are exact. A NaN counts as 0, so that the zero point is
    what is stored: measured on DirectML.dll.
    """
    a, b = (_difference(xp, inputs, name) for name in ("A", "B"))
    scales = [_own_part(inputs, name, "ScaleTensor").astype(xp.float64) for name in ("A", "B", "Output")]
    a_scale, b_scale, out_scale = scales
    factor, most = a_scale * b_scale, magnitude(xp, a, b)
    quotient = rescale_sum(xp, integer_product(xp, a, b, _BYTES), factor, out_scale)
    summed = sum_error(xp, most * xp.abs(factor), a.shape[-1] + 4) / xp.abs(out_scale)
    exact = most <= _EXACT
    for scale in scales:
        exact = exact & power_of_two(xp, scale)
    error = xp.where(exact, 0.0, summed + DIVISION * ROUNDOFF * xp.abs(quotient))
    zero_point = _own_part(inputs, "Output", "ZeroPointTensor")
    point = 0.0 if zero_point is None else zero_point.astype(xp.float64)
    return {"OutputTensor": stored_integers(xp, desc, quotient, error, point)}
