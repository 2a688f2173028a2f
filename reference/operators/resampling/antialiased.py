"""Antialiased resampling: when a tensor shrinks to less than half, more than two input elements decide on an output element.

The page stretches the filter of the interpolation by 1 / Scale, and leaves open what that means where the filter reaches beyond the
input. DirectML.dll was measured to shrink the tensor in steps instead, from power of two to power of two. An output must match one of the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.resampling.coordinates import ScaledAxis, coordinates
from dmlcts.reference.operators.resampling.resample import (
    Interpolated,
    along,
    interpolated,
    interpolated_answer,
    resampled,
    row_of,
    scaled_axes,
    shrinking_first,
)
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED


@reference("RESAMPLE3")
def resample3(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """As RESAMPLE2, unless Antialiased is set and the interpolation shrinks a dimension to less than half."""
    x, axes = inputs["InputTensor"], scaled_axes(desc)
    shrinks = any(1 / axis.scale > 2 for axis in axes)
    if not (desc.flag("Antialiased") and shrinks and desc.constant("InterpolationMode") == "LINEAR"):
        return {"OutputTensor": resampled(xp, desc, x, axes)}
    found, defined = stretched(xp, x, axes)
    answer = interpolated_answer(xp, desc, anything_at_ends(xp, x, axes, found, defined))
    stored = interpolated_answer(xp, desc, found).stored
    in_steps = interpolated_answer(xp, desc, interpolated(xp, x, steps(axes)))
    return {"OutputTensor": replace(answer, result=stored, defined=found.finite, contested={MEASURED: in_steps})}


@stage("resampling.stretched")
def stretched(xp: Any, x: Array, axes: Sequence[ScaledAxis]) -> tuple[Interpolated, Array]:
    """Each dimension weighted with a triangle that reaches 1 / Scale to both sides, and where it does not reach beyond the input."""
    found = interpolated(xp, x, [])
    defined: Array = xp.ones((1,) * x.ndim, dtype=bool)
    for axis in shrinking_first(axes):
        if 1 / axis.scale <= 2:
            found = along(xp, axis, coordinates(xp, axis), found)
            continue
        at = coordinates(xp, axis)
        far = at.at[:, None] - xp.arange(axis.size)
        raised = xp.maximum(1 - xp.abs(far) * axis.scale, 0.0)
        weights = raised / xp.maximum(xp.sum(raised, axis=1, keepdims=True), 2.0**-60)
        reach = 1 / axis.scale + at.error
        defined = defined & row_of(axis, (at.at - reach > -1) & (at.at + reach < axis.size), x.ndim)
        value, largest, slack = (_weighted(xp, weights, of, axis.axis) for of in (found.value, found.largest, found.slack))
        finite = xp.broadcast_to(xp.all(found.finite), value.shape)
        # an error of the coordinate moves each weight as far as the triangle is steep, and so their sum
        moved = 4 * xp.max(at.error) * axis.scale * (1 + axis.scale) * xp.max(found.largest)
        found = Interpolated(value, largest, slack + moved, finite, found.places + xp.inf, found.terms + axis.size + 4)
    return found, defined


def anything_at_ends(xp: Any, x: Array, axes: Sequence[ScaledAxis], found: Interpolated, defined: Array) -> Interpolated:
    """Where the triangle reaches beyond the input, anything between the least and the largest of 0 and the elements along the axes."""
    wide, among = x.astype(xp.float64), tuple(axis.axis for axis in axes)
    low = xp.minimum(xp.min(wide, axis=among, keepdims=True), 0.0)
    high = xp.maximum(xp.max(wide, axis=among, keepdims=True), 0.0)
    middle, half = (low + high) / 2, (high - low) / 2
    return replace(found, value=xp.where(defined, found.value, middle), slack=xp.where(defined, found.slack, found.slack + half))


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


def _weighted(xp: Any, weights: Array, x: Array, axis: int) -> Array:
    """The weighted sums along an axis."""
    return xp.moveaxis(xp.tensordot(x, weights, axes=((axis,), (1,))), -1, axis)
