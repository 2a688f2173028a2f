"""Antialiased resampling: when a tensor shrinks to less than half, more than two input elements decide on an output element.

The page stretches the filter of the interpolation by 1 / Scale, and leaves open what that means where the filter reaches beyond the
input: ``end_weights`` has the ways that implementations know, and between them each is right. DirectML.dll was measured to shrink the tensor in
steps instead, from power of two to power of two. An output must match one of the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.resampling.coordinates import ScaledAxis, coordinates
from dmlcts.reference.operators.resampling.resample import (
    Interpolated,
    interpolate_along,
    interpolate_axes,
    interpolated_answer,
    resample_input,
    scaled_axes,
    shrinking_first,
)
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.fused import stored_error
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED

_ROUNDOFF = 2.0**-23
"""Of a number in FLOAT32, where truncation is allowed."""


@reference("RESAMPLE3")
def resample3(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """As RESAMPLE2, unless Antialiased is set and the interpolation shrinks a dimension to less than half."""
    x, axes = inputs["InputTensor"], scaled_axes(desc)
    shrinks = any(1 / axis.scale > 2 for axis in axes)
    if not (desc.flag("Antialiased") and shrinks and desc.constant("InterpolationMode") == "LINEAR"):
        return {"OutputTensor": resample_input(xp, desc, x, axes)}
    found, low, high = stretch_input(xp, x, axes)
    half, most = (high - low) / 2, xp.maximum(xp.abs(low), xp.abs(high))
    # At the ends of the range a result may be larger than in its middle, and is rounded to its own digits.
    rounded = xp.where(half > 0, stored_error(xp, desc, most) + _ROUNDOFF * most, 0.0)
    ends = replace(found, value=(low + high) / 2, slack=found.slack + half + rounded)
    answer = interpolated_answer(xp, desc, ends)
    stored = interpolated_answer(xp, desc, found).stored_value
    in_steps = interpolated_answer(xp, desc, interpolate_axes(xp, x, steps(axes)))
    return {"OutputTensor": replace(answer, result=stored, defined=found.finite, contested={MEASURED: in_steps})}


@stage("resampling.stretched")
def stretch_input(xp: Any, x: Array, axes: Sequence[ScaledAxis]) -> tuple[Interpolated, Array, Array]:
    """Each dimension weighted with a triangle that reaches 1 / Scale to both sides, and the least and the largest of what that may give at ends."""
    found = interpolate_axes(xp, x, [])
    low = high = found.value
    for axis in shrinking_first(axes):
        at = coordinates(xp, axis)
        if 1 / axis.scale <= 2:
            low, high = (interpolate_along(xp, axis, at, replace(found, value=of)).value for of in (low, high))
            found = interpolate_along(xp, axis, at, found)
            continue
        weights = end_weights(xp, axis, at.at)[0]
        reach = 1 / axis.scale + at.error
        beyond = xp.nonzero((at.at - reach <= -1) | (at.at + reach >= axis.size))[0]
        low, high = _least_and_largest(xp, axis, at.at, (low, high), weights, beyond)
        value, largest, slack = (_weighted_sums(xp, weights, of, axis.axis) for of in (found.value, found.largest, found.slack))
        finite = xp.broadcast_to(xp.all(found.finite), value.shape)
        # an error of the coordinate moves each weight as far as the triangle is steep, and so their sum
        moved = 4 * xp.max(at.error) * axis.scale * (1 + axis.scale) * xp.max(found.largest)
        found = Interpolated(value, largest, slack + moved, finite, found.places + xp.inf, found.terms + axis.size + 4)
    return found, low, high


def end_weights(xp: Any, axis: ScaledAxis, at: Array) -> list[Array]:
    """The weights of the input's elements (columns) for the coordinates (rows), by what is done with those beyond the ends.

    First, and as Pillow and ONNX's exclude_outside: what is inside shares the whole weight. What is outside is 0. What is outside is the
    element at the end, as where nothing is antialiased.
    """
    inside = xp.maximum(1 - xp.abs(at[:, None] - xp.arange(axis.size)) * axis.scale, 0.0)
    reach = int(xp.ceil(xp.asarray(1 / axis.scale)))
    place = xp.floor(at)[:, None] + xp.arange(-reach, reach + 2)
    raised = xp.maximum(1 - xp.abs(at[:, None] - place) * axis.scale, 0.0)
    before, behind = (xp.sum(raised * mask, axis=1, keepdims=True) for mask in (place < 0, place >= axis.size))
    whole, columns = xp.sum(raised, axis=1, keepdims=True), xp.arange(axis.size)
    ended = inside + before * (columns == 0) + behind * (columns == axis.size - 1)
    return [inside / xp.maximum(xp.sum(inside, axis=1, keepdims=True), 2.0**-60), inside / whole, ended / whole]


def _least_and_largest(
    xp: Any, axis: ScaledAxis, at: Array, ends: tuple[Array, Array], weights: Array, beyond: Array
) -> tuple[Array, Array]:
    """The least and the largest weighted sums along an axis of numbers from the one end to the other: more than one where the filter
    reaches ``beyond`` the input, by every way, and with coordinates that are limited to the input before as well.
    """
    low, high = (xp.array(_weighted_sums(xp, weights, of, axis.axis)) for of in ends)
    if beyond.size:
        outside = at[beyond]
        ways = [way for place in (outside, xp.clip(outside, 0, axis.size - 1)) for way in end_weights(xp, axis, place)]
        here = (slice(None),) * axis.axis + (beyond,)
        low[here] = reduce(xp.minimum, [_weighted_sums(xp, way, ends[0], axis.axis) for way in ways])
        high[here] = reduce(xp.maximum, [_weighted_sums(xp, way, ends[1], axis.axis) for way in ways])
    return low, high


def steps(axes: Sequence[ScaledAxis]) -> list[ScaledAxis]:
    """The steps in which DirectML.dll resamples, with the offsets in each and with its own scales.

    A dimension that shrinks to less than half becomes the next smaller power of two, and again until the output is not smaller than half of
    it. The others get the output's size at once. All take as many steps as the longest way has, and two at least.
    """
    ways = [_powers_of_two_between(axis) if axis.size > 2 * axis.count else [] for axis in axes]
    count = max(1, *map(len, ways))
    found = []
    for axis, way in zip(axes, ways, strict=True):
        sizes = [axis.size, *way, *[axis.count] * (count + 1 - len(way))]
        found += [replace(axis, size=a, count=b, scale=b / a) for a, b in pairwise(sizes)]
    return found


def _powers_of_two_between(axis: ScaledAxis) -> list[int]:
    """Those smaller than the input and larger than the output, the largest first."""
    return [size for size in (1 << n for n in reversed(range(axis.size.bit_length()))) if axis.count < size < axis.size]


def _weighted_sums(xp: Any, weights: Array, x: Array, axis: int) -> Array:
    """The weighted sums along an axis."""
    return xp.moveaxis(xp.tensordot(x, weights, axes=((axis,), (1,))), -1, axis)
