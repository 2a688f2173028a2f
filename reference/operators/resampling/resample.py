"""Resampling: each output element is the nearest element of the input, or interpolated along each dimension between the two nearest.

What lies beyond the input is the element at its end. Dimensions are treated one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.resampling.coordinates import CENTER, Coordinates, ScaledAxis, coordinates
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED

_ANY_ROUNDING = 0.5 - 2.0**-20
"""The page does not say how an interpolated value becomes an integer: either neighbour is right, and of a whole number itself alone."""

_EXACT_PLACES = 15
"""Binary places that an interpolated 8-bit integer may have so that FLOAT32 computes it exactly in any order: the difference of two takes 9
of its 24 bits. Each weight adds its own places."""

_TERMS = 4
"""Roundings of an interpolation along one dimension: of a weight, two products and a sum, or of a difference, a product and a sum."""


@dataclass(frozen=True, slots=True)
class Interpolated:
    """Values in float64; the largest absolute value among those that they lie between; what coordinates may change of them;
    whether all of those are finite, and no difference of two overflows; how many binary places more than the input's own the value has, which
    is infinite where FLOAT32 does not give the coordinates exactly; roundings.
    """

    value: Array
    largest: Array
    slack: Array
    finite: Array
    places: Array
    terms: int = 0


@reference("RESAMPLE")
@reference("RESAMPLE1")
def resample(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The nearest element or the interpolated value at each coordinate, with the offsets of centers where there are none.

    Of integers, DirectML.dll gives the element below in place of the nearest one.
    """
    x, axes = inputs["InputTensor"], scaled_axes(desc)
    answer = resample_input(xp, desc, x, axes)
    if desc.constant("InterpolationMode") == "NEAREST_NEIGHBOR" and not desc.tensor("InputTensor").type.is_float:
        answer = replace(answer, contested={MEASURED: select_nearest(xp, x, axes, xp.floor, xp.floor)})
    return {"OutputTensor": answer}


@reference("RESAMPLE2")
def resample2(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The element above or below, by RoundingDirection, or the interpolated value at each coordinate."""
    return {"OutputTensor": resample_input(xp, desc, inputs["InputTensor"], scaled_axes(desc))}


@reference("UPSAMPLE_2D")
def upsample_2d(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The last two dimensions stretched by whole factors."""
    x, scale = inputs["InputTensor"], desc.size_2d("ScaleSize")
    axes = [
        ScaledAxis(at, x.shape[at], x.shape[at] * factor, float(factor), *CENTER)
        for at, factor in ((x.ndim - 2, scale.height), (x.ndim - 1, scale.width))
    ]
    return {"OutputTensor": resample_input(xp, desc, x, axes)}


def scaled_axes(desc: OperatorDesc) -> list[ScaledAxis]:
    """The dimensions of the tensors, with their scales and offsets."""
    source, target = desc.tensor("InputTensor").sizes, desc.tensor("OutputTensor").sizes
    middle = [(offset,) * len(source) for offset in CENTER]
    rows = desc.numbers("Scales"), desc.numbers("InputPixelOffsets", middle[0]), desc.numbers("OutputPixelOffsets", middle[1])
    return [ScaledAxis(at, *each) for at, each in enumerate(zip(source, target, *rows, strict=True))]


def resample_input(xp: Any, desc: OperatorDesc, x: Array, axes: Sequence[ScaledAxis]) -> Answer:
    """The answer for an input, by InterpolationMode and, if there is one, RoundingDirection."""
    if desc.constant("InterpolationMode") == "LINEAR":
        return interpolated_answer(xp, desc, interpolate_axes(xp, x, axes))
    direction = {"INCREASING": xp.ceil, "DECREASING": xp.floor}.get(desc.constant("RoundingDirection", default=""))
    return select_nearest(xp, x, axes, direction or partial(half_up, xp), direction or partial(half_down, xp))


def half_up(xp: Any, x: Array) -> Array:
    """The nearest integer, of two the greater."""
    return xp.floor(x + 0.5)


def half_down(xp: Any, x: Array) -> Array:
    """The nearest integer, of two the smaller."""
    return xp.ceil(x - 0.5)


def select_nearest(
    xp: Any, x: Array, axes: Sequence[ScaledAxis], nearest: Callable[[Array], Array], or_below: Callable[[Array], Array]
) -> Answer:
    """The elements that are the nearest by ``nearest``, as DirectML.dll has it, or by ``or_below``, as the page allows too.

    Where FLOAT32 does not decide which one that is, what lies between the two is right; if they are not both finite, nothing is defined.
    """
    axes = shrinking_first(axes)
    at = [coordinates(xp, axis) for axis in axes]
    value = x
    for axis, here in zip(axes, at, strict=True):
        value = xp.take(value, nearest_index(xp, axis, nearest(here.at)), axis=axis.axis)
    slack, measured = (
        _doubt(xp, x, value, [_choice(xp, axis, here, lower, nearest) for axis, here in zip(axes, at, strict=True)])
        for lower in (or_below, nearest)
    )
    return Answer(value, slack=slack, measured_slack=measured, defined=xp.broadcast_to(xp.isfinite(slack), value.shape))


@dataclass(frozen=True, slots=True)
class NearestRange:
    """For each element along an axis, the indices of the lowest and the highest element that may be the nearest one."""

    axis: ScaledAxis
    lowest: Array
    highest: Array


def _choice(
    xp: Any, axis: ScaledAxis, at: Coordinates, lower: Callable[[Array], Array], upper: Callable[[Array], Array]
) -> NearestRange:
    return NearestRange(axis, nearest_index(xp, axis, lower(at.at - at.error)), nearest_index(xp, axis, upper(at.at + at.error)))


def _doubt(xp: Any, x: Array, value: Array, choices: Sequence[NearestRange]) -> Array:
    """How far the elements that may be the nearest ones are from the values; 0 where there is but one."""
    if not any(bool(xp.any(choice.lowest != choice.highest)) for choice in choices):
        return xp.zeros((1,) * x.ndim)
    one: Array = xp.ones((1,) * x.ndim, dtype=bool)
    least = greatest = x
    for choice in choices:
        one = one & row_of(choice.axis, choice.lowest == choice.highest, x.ndim)
        ends = [xp.take(of, index, axis=choice.axis.axis) for of in (least, greatest) for index in (choice.lowest, choice.highest)]
        least, greatest = xp.minimum(*ends[:2]), xp.maximum(*ends[2:])
    with np.errstate(all="ignore"):
        distances = (xp.abs(end.astype(xp.float64) - value.astype(xp.float64)) for end in (least, greatest))
        return xp.where(one, 0.0, xp.maximum(*distances))


@stage("resampling.nearest")
def nearest_index(xp: Any, axis: ScaledAxis, index: Array) -> Array:
    """The index of the nearest element for each of the output's, within the input."""
    return _clip_index(xp, axis, index)


def interpolate_axes(xp: Any, x: Array, axes: Sequence[ScaledAxis]) -> Interpolated:
    """The input interpolated along all axes, along some of them perhaps several times."""
    value = x.astype(xp.float64)
    found = Interpolated(value, xp.abs(value), xp.zeros(x.shape), xp.abs(value) < 2.0**126, xp.zeros((1,) * x.ndim))
    for axis in shrinking_first(axes):
        found = interpolate_along(xp, axis, coordinates(xp, axis), found)
    return found


def shrinking_first(axes: Sequence[ScaledAxis]) -> list[ScaledAxis]:
    """Those that shrink the most first, so that nothing in between is larger than both the input and the output; the steps of one in their order."""
    growth: dict[int, float] = {}
    for axis in axes:
        growth[axis.axis] = growth.get(axis.axis, 1.0) * axis.count / axis.size
    return sorted(axes, key=lambda axis: growth[axis.axis])


@stage("resampling.linear")
def interpolate_along(xp: Any, axis: ScaledAxis, at: Coordinates, given: Interpolated) -> Interpolated:
    """Interpolated along one axis. A coordinate that is off by its error may also lie between the next two elements."""
    below = xp.floor(at.at)
    weight = row_of(axis, at.at - below, given.value.ndim)

    def ends(of: Array, first: Array = below) -> tuple[Array, Array]:
        """The elements on both sides of each coordinate."""
        low, high = (xp.take(of, _clip_index(xp, axis, index), axis=axis.axis) for index in (first, first + 1))
        return low, high

    def interpolate_between(of: Array) -> Array:
        low, high = ends(of)
        return xp.where(weight == 0, low, low * (1 - weight) + high * weight)

    low, high = ends(given.largest)
    # one number for all elements, unless this axis was interpolated along before
    places = given.places if given.places.shape[axis.axis] == 1 else xp.maximum(*ends(given.places))
    own = xp.where(at.error > 0, xp.inf, _binary_places(xp, at.at - below))
    slopes = [xp.abs(b - a) for a, b in (ends(given.value, xp.floor(at.at + off)) for off in (-at.error, at.error))]
    return Interpolated(
        interpolate_between(given.value),
        xp.where(weight == 0, low, xp.maximum(low, high)),
        interpolate_between(given.slack) + row_of(axis, at.error, weight.ndim) * xp.maximum(*slopes),
        xp.logical_and(*ends(given.finite)),
        places + row_of(axis, own, weight.ndim),
        given.terms + _TERMS,
    )


def _binary_places(xp: Any, fraction: Array) -> Array:
    """How many binary places a number from 0 to 1 has: infinitely many if more than FLOAT32 has bits."""
    whole = xp.floor(fraction * 2.0**24).astype(xp.int64)
    last = xp.maximum(whole & -whole, 1).astype(xp.float64)
    return xp.where(fraction == 0, 0.0, xp.where(fraction * 2.0**24 == whole, 24 - xp.log2(last), xp.inf))


def interpolated_answer(xp: Any, desc: OperatorDesc, found: Interpolated) -> Answer:
    """The answer for an interpolated value, in an integer type too.

    A copy is not rounded, and neither is what FLOAT32 computes exactly in any order: of a whole number among these only itself is right.
    """
    output = desc.tensor("OutputTensor").type
    if output.is_float:
        terms = xp.where(found.places == 0, 0, found.terms)
        return Answer(found.value, magnitude=found.largest, terms=terms, slack=found.slack, defined=found.finite)
    close = found.slack + xp.where(found.places <= _EXACT_PLACES, 0.0, found.terms * 2.0**-23 * found.largest)
    stored = xp.trunc(found.value).astype(xp.int8 if output.kind == "int" else xp.uint8)
    return Answer(found.value, slack=close + _ANY_ROUNDING, measured_slack=close, result=stored)


def _clip_index(xp: Any, axis: ScaledAxis, index: Array) -> Array:
    """The index of the element at an end in place of one beyond it."""
    return xp.clip(index, 0, axis.size - 1).astype(xp.int64)


def row_of(axis: ScaledAxis, numbers: Array, dimensions: int) -> Array:
    """Numbers for the elements along an axis, as an array of so many dimensions."""
    return numbers.reshape((1,) * axis.axis + (-1,) + (1,) * (dimensions - axis.axis - 1))
