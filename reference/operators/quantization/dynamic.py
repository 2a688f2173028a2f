"""DYNAMIC_QUANTIZE_LINEAR: the scale and the zero point follow from the least and the largest element.

The page's formula takes them as they are. DirectML.dll 1.15.4 widens the range to include 0, as ONNX does; the answers are the same where
the elements are of both signs. An implementation computes in FLOAT32, so that a zero point beside a half may be either neighbor, and the
elements with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dmlcts.reference.answer import Answer, Array, held_type
from dmlcts.reference.operators.element_wise.quantization import divide_by_scale
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.quantized import DIVISION, requantize
from dmlcts.reference.shared.scale_bias import ROUNDOFF
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import DOCUMENTED

_SUM = 0.5
"""ULPs that a FLOAT32 sum may be off."""


@stage("quantization.range")
def extremes(xp: Any, x: Array) -> tuple[Array, Array]:
    """The least and the largest number; NaN is none, and 0 for both where there is no number."""
    known = ~xp.isnan(x)
    some = xp.any(known)
    least = xp.min(xp.where(known, x, xp.inf))
    largest = xp.max(xp.where(known, x, -xp.inf))
    return xp.where(some, least, 0.0), xp.where(some, largest, 0.0)


@stage("quantization.with-zero")
def with_zero(xp: Any, least: Array, largest: Array) -> tuple[Array, Array]:
    """The range widened to include 0."""
    return xp.minimum(least, 0.0), xp.maximum(largest, 0.0)


@reference("DYNAMIC_QUANTIZE_LINEAR")
def dynamic_quantize_linear(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """What DirectML.dll gives, and where no 0 is among the elements' range the page's formula as the other right answer."""
    x = inputs["InputTensor"].astype(xp.float64)
    least, largest = extremes(xp, x)
    wide = with_zero(xp, least, largest)
    found = _quantize_input(xp, desc, x, *wide)
    if bool(xp.all(least == wide[0])) and bool(xp.all(largest == wide[1])):
        return found
    formula = _quantize_input(xp, desc, x, least, largest)
    return {name: replace(answer, contested={DOCUMENTED: formula[name]}) for name, answer in found.items()}


def _quantize_input(xp: Any, desc: OperatorDesc, x: Array, least: Array, largest: Array) -> dict[str, Answer]:
    output = desc.tensor("OutputTensor")
    dtype, (low, high) = numpy_dtype(output.data_type), output.type.limits
    scale = (largest - least) / (high - low)
    scale = xp.where(scale > float(xp.finfo(xp.float32).max), xp.inf, scale)
    relative = ROUNDOFF * (2 * DIVISION + _SUM)  # of a quotient by the scale, which is itself a quotient of a difference

    def integers(value: Array, error: Array, zero_points: tuple[Any, Any, Any]) -> Answer:
        error = xp.where(xp.isfinite(error), error, 0.0)
        ends = zip((value - error, value, value + error), zero_points, strict=True)
        first, middle, last = (requantize(xp, at, zero, low, low, high) for at, zero in ends)
        return Answer((first + last) / 2, slack=(last - first) / 2, result=middle.astype(held_type(xp, dtype)))

    start = low - divide_by_scale(xp, least, scale)
    zero_point = integers(start, relative * xp.abs(start - low) + _SUM * ROUNDOFF * xp.abs(start), (0.0, 0.0, 0.0))
    value, slack, result = (xp.asarray(part) for part in (zero_point.value, zero_point.slack, zero_point.result))
    quotient = divide_by_scale(xp, x, scale)
    spread = (value - slack, result.astype(xp.float64), value + slack)
    ones = (1,) * len(output.sizes)
    return {
        "OutputTensor": integers(quotient, relative * xp.abs(quotient), spread),
        "OutputScaleTensor": Answer(scale.reshape(ones)),
        "OutputZeroPointTensor": Answer(value.reshape(ones), slack=slack.reshape(ones), result=result.reshape(ones)),
    }
