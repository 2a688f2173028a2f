"""Clipping and thresholds, and the gradient of clipping.

Where a bound is read as a FLOAT and the tensors are of an integer type, the formulas are taken as those of real numbers, and a result
that has a fraction is truncated, as DirectML.dll does with the bound: the same, since truncation keeps the order. The pages say nothing
of NaN: DirectML.dll was measured to compute ``max(Min, min(x, Max))`` with a min and a max that ignore NaN.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.element_wise.extremes import larger, smaller
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.scale_bias import scale_argument
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype


def _bound(xp: Any, desc: OperatorDesc, name: str) -> float | None:
    """Min or Max as the desc holds it, None where the operator has no such bound; a scalar union keeps every integer exactly."""
    if name not in desc.fields:
        return None
    held = numpy_dtype(desc.constant("MinMaxDataType", default="FLOAT32"))
    return desc.scalar(name) if held.kind != "f" else float(held.type(desc.scalar(name)))


def _limits(dtype: Any) -> tuple[int, int]:
    """The least and the largest value of an integer dtype."""
    width = 8 * dtype.itemsize
    return (-(1 << width - 1), (1 << width - 1) - 1) if dtype.kind == "i" else (0, (1 << width) - 1)


def _integer(bound: float, limits: tuple[int, int]) -> int:
    """A bound as an integer of a type with these limits: truncated and saturated. NaN is not meant to come here."""
    return limits[bound > 0] if math.isinf(bound) else min(max(int(bound), limits[0]), limits[1])


@stage("element_wise.limit")
def _limit_to_bounds(xp: Any, x: Array, low: float | None, high: float | None) -> Array:
    """``max(low, min(x, high))``, as far as there are bounds; a NaN, of either, counts as nothing. Of float64, or of integers and integer bounds."""
    x = x if high is None else smaller(xp, x, high)
    return x if low is None else larger(xp, x, low)


def _limit(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``x * Scale + Bias``, at least Min and at most Max, as far as the operator has them."""
    x = inputs["InputTensor"]
    low, high = (_bound(xp, desc, name) for name in ("Min", "Max"))
    argument, error = scale_argument(xp, desc, x)
    if x.dtype.kind == "f":
        return {"OutputTensor": _limited_answer(xp, argument, error, low, high)}
    limits = _limits(x.dtype)
    if error is None:
        least, most = (
            limit if bound is None else _integer(bound, limits) for bound, limit in zip((low, high), limits, strict=True)
        )
        return {"OutputTensor": Answer(_limit_to_bounds(xp, x, x.dtype.type(least), x.dtype.type(most)))}
    # In FLOAT32 it is exact where every step is; elsewhere the integer itself may have been rounded as well.
    exact = single(xp, x.astype(xp.float64)) & single(xp, argument)
    error = xp.where(exact, 0.0, 2 * error)
    answer = _limited_answer(xp, argument, error, low, high)
    saturated = xp.clip(xp.trunc(answer.value), *(float(limit) for limit in limits))
    defined = xp.abs(answer.value - saturated) < 1  # the page says nothing of what leaves the type
    return {"OutputTensor": Answer(answer.value, slack=answer.slack, defined=defined, result=saturated.astype(x.dtype))}


def single(xp: Any, x: Array) -> Array:
    """Where FLOAT32 holds the value."""
    return x.astype(xp.float32).astype(xp.float64) == x


def _limited_answer(xp: Any, argument: Array, error: Array | None, low: float | None, high: float | None) -> Answer:
    """The limited argument, and how far it may lie off for an argument that may be off by ``error``: by nothing outside the bounds."""
    value = _limit_to_bounds(xp, argument, low, high)
    if error is None:
        return Answer(value)
    error = xp.where(xp.isfinite(error), error, 0.0)
    ends = [_limit_to_bounds(xp, argument + sign * error, low, high) for sign in (-1, 1)]
    slack = xp.fmax(xp.abs(ends[0] - value), xp.abs(ends[1] - value))
    return Answer(value, slack=xp.where(xp.isfinite(slack), slack, 0.0))


for _name in ("ELEMENT_WISE_CLIP1", "ELEMENT_WISE_THRESHOLD"):
    reference(_name)(_limit)


@reference("ELEMENT_WISE_CLIP")
def _clip(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """As CLIP1; but its page takes Max last, so that Max is the result where Min exceeds it. (DirectML.dll gives Min.)"""
    low, high = (_bound(xp, desc, name) for name in ("Min", "Max"))
    crossed = low is not None and high is not None and low > high
    return _limit(xp, desc.with_fields(Min=high) if crossed else desc, inputs)


@reference("ELEMENT_WISE_CLIP_GRAD")
@reference("ELEMENT_WISE_CLIP_GRAD1")
def _gradient(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The incoming gradient, or 0 where x is at most Min or at least Max; neither is true of NaN."""
    x, gradient = inputs["InputTensor"], inputs["InputGradientTensor"]
    low, high = (_bound(xp, desc, name) for name in ("Min", "Max"))
    assert low is not None
    assert high is not None
    return {"OutputGradientTensor": Answer(xp.where(_is_outside(xp, x, low, high), gradient.dtype.type(0), gradient))}


@stage("element_wise.outside")
def _is_outside(xp: Any, x: Array, low: float, high: float) -> Array:
    """Where clipping changes an input, its bounds included, so that no gradient passes."""
    return _at_most(xp, x, low) | _at_least(xp, x, high)


def _at_most(xp: Any, x: Array, bound: float) -> Array:
    """``x <= bound`` as real numbers: of integers, 64-bit ones too, without rounding."""
    if x.dtype.kind == "f":
        return x.astype(xp.float64) <= bound
    least, most = _limits(x.dtype)
    floor = bound if math.isinf(bound) else math.floor(bound)
    return xp.full(x.shape, False) if floor < least else x <= x.dtype.type(min(floor, most))


def _at_least(xp: Any, x: Array, bound: float) -> Array:
    """``x >= bound`` as real numbers."""
    if x.dtype.kind == "f":
        return x.astype(xp.float64) >= bound
    least, most = _limits(x.dtype)
    ceiling = bound if math.isinf(bound) else math.ceil(bound)
    return xp.full(x.shape, False) if ceiling > most else x >= x.dtype.type(max(ceiling, least))
