"""ROI_ALIGN_GRAD: what each sample hands back to the elements that it was made of, and to the corners of its region.

The gradient of the input is the adjoint of ROI_ALIGN1. For that of the regions the page has pseudo code, for one sample an output element,
and DirectML.dll does something else (``weights``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.region.align import (
    Image,
    Sampling,
    batches,
    candidates,
    cross_flags,
    images,
    left_open,
    linear,
    place_samples,
    sample_image,
    separate_samples,
    slope,
    whole_numbers,
)
from dmlcts.reference.operators.region.samples import DOCUMENTED, MEASURED, Samples, lines, steps_from_corner, whole
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model import operator
from dmlcts.spec.model.desc import OperatorDesc

_TERMS = 12
"""Roundings of what one sample adds: of weights, products, and the division by the number of samples."""

_CLOSE = 2.0**-18
"""Of samples that differ by less than this, relative to the elements near them, either may be the maximum: both are computed."""


@dataclass(frozen=True, slots=True)
class SampleShare:
    """What each sample gets of the gradient of its output element. Shape: (regions, channels, rows, columns).

    ``least`` and ``most``: what its absolute value is between, by reading (samples.DOCUMENTED, MEASURED): (2, regions, ...).
    """

    value: Array
    least: Array
    most: Array


@dataclass(frozen=True, slots=True)
class GradientSum:
    """A sum in float64; the sum of the terms' absolute values; how many they are; what the sum may be off by, by reading."""

    value: Array
    magnitude: Array
    terms: Array | int
    doubt: Array


@reference("ROI_ALIGN_GRAD")
def roi_align_grad(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The gradients with respect to InputTensor and to ROITensor, as far as there are such outputs."""
    present = dict(desc.tensors())
    gradient = inputs["InputGradientTensor"].astype(xp.float64)
    sizes = present["OutputGradientTensor" if "OutputGradientTensor" in present else "InputTensor"].sizes
    batch = batches(xp, inputs["BatchIndicesTensor"])
    image = images(xp, inputs["InputTensor"], batch)[0] if "InputTensor" in inputs else None
    ways = list(place_samples(xp, inputs["ROITensor"], *lines(desc, sizes, gradient.shape)))
    places_of = [way.places for way in ways]
    answers: dict[str, Answer] = {}
    if "OutputGradientTensor" in present:
        shares = [share_gradient(xp, desc, gradient, image, *places, element_or_place(xp, desc)) for places in places_of]
        sums = [scatter_shares(xp, desc, share, batch, sizes, *places) for share, places in zip(shares, places_of, strict=True)]
        answers["OutputGradientTensor"] = _answer(xp, sums, ways, sizes)
    if "OutputROIGradientTensor" in present and image is not None:
        shape = present["OutputROIGradientTensor"].sizes
        shares = [share_gradient(xp, desc, gradient, image, *places, lambda places: places.at) for places in places_of]
        sums = [corners(xp, share, image, *places, MEASURED) for share, places in zip(shares, places_of, strict=True)]
        answers["OutputROIGradientTensor"] = found = _answer(xp, sums, ways, shape)
        if _has_pseudo_code(desc):
            documented = _answer(xp, [corners(xp, shares[0], image, *places_of[0], DOCUMENTED)], ways[:1], shape)
            answers["OutputROIGradientTensor"] = replace(documented, contested={operator.MEASURED: found})
    return answers


def _has_pseudo_code(desc: OperatorDesc) -> bool:
    """Whether the page's pseudo code is about this: it interpolates one sample an element."""
    one = desc.integer("MaximumSamplesPerOutput") == 1
    return one and desc.constant("InterpolationMode") == "LINEAR" and not desc.flag("AlignRegionsToCorners")


def _answer(xp: Any, sums: Sequence[GradientSum], ways: Sequence[Sampling], shape: Sequence[int]) -> Answer:
    """The first of the sums, which may also be any of the others."""
    found, doubt = sums[0], left_open(xp, sums[0], sums[1:], ways[1:])
    terms = found.terms if isinstance(found.terms, int) else xp.reshape(found.terms, shape)
    value, magnitude, slack, measured = (
        xp.reshape(of, shape) for of in (found.value, found.magnitude, doubt[DOCUMENTED], doubt[MEASURED])
    )
    return Answer(value, magnitude=magnitude, terms=terms, slack=slack, measured_slack=measured)


Place = Callable[[Samples], Array]
"""Where samples are, for those who ask whether two are at one place. Shape: (regions, samples)."""


def element_or_place(xp: Any, desc: OperatorDesc) -> Place:
    """The nearest elements, of which it does not matter which sample has chosen them; coordinates, if samples lie between elements."""
    if desc.constant("InterpolationMode") != "NEAREST_NEIGHBOR":
        return lambda places: places.at
    return lambda places: whole_numbers(xp, places.at)


def share_gradient(
    xp: Any, desc: OperatorDesc, gradient: Array, image: Image | None, rows: Samples, columns: Samples, place: Place
) -> SampleShare:
    """What each sample gets: an equal part, or all if it is the maximum. One out of bounds gets nothing, and counts as 0."""
    taken, within, maybe, surely = (
        cross_flags(getattr(rows, name), getattr(columns, name)) for name in ("taken", "inside", "maybe", "surely")
    )
    each = xp.repeat(xp.repeat(gradient, rows.most, axis=2), columns.most, axis=3)
    if desc.constant("ReductionFunction") == "AVERAGE":
        part = xp.where(taken, each / (rows.number * columns.number)[:, None, None, None], 0.0)
        return SampleShare(part * within, xp.abs(part) * surely, xp.abs(part) * maybe)
    assert image is not None, "the spec demands InputTensor of a maximum"
    found = sample_image(xp, desc, image, rows, columns, 0.0)
    chosen, may, must = winners(xp, found, taken, maybe, surely, rows, columns, place)
    return SampleShare(xp.where(chosen & within, each, 0.0), xp.where(must, xp.abs(each), 0.0), xp.where(may, xp.abs(each), 0.0))


@stage("region.winners")
def winners(
    xp: Any, found: Image, taken: Array, maybe: Array, surely: Array, rows: Samples, columns: Samples, place: Place
) -> tuple[Array, Array, Array]:
    """Which samples are the maximum of their output element, and by reading, which may be it and which must be it.

    The page does not say what counts for a sample out of bounds; in DirectML.dll it is 0, and the gradient is lost if it is the maximum.
    """
    shape, over = found.value.shape, (-3, -1)

    def each(of: Array) -> Array:
        return separate_samples(xp.broadcast_to(of, (*of.shape[:-4], *shape)), rows, columns)

    def top(of: Array) -> Array:
        return xp.max(of, axis=over, keepdims=True)

    taken, maybe, surely = each(taken), each(maybe), each(surely)
    value, close = xp.where(taken, each(found.value), -xp.inf), each(found.doubt + _CLOSE * found.largest)
    order = xp.reshape(xp.arange(rows.most * columns.most), (rows.most, 1, columns.most))
    chosen = order == xp.min(xp.where(value == top(value), order, order.size), axis=over, keepdims=True)
    near = taken & (value + close >= top(value - close))
    # Whoever passes over samples out of bounds finds a maximum among the others.
    among = taken & maybe & (value + close >= top(xp.where(surely, value - close, -xp.inf)))
    may, rivals = xp.stack([among[DOCUMENTED], near[MEASURED] & maybe[MEASURED]]), xp.stack([near[0] | among[0], near[1]])
    same = xp.ones((1,) * len(value.shape), dtype=bool)  # samples at one place, of which any may be chosen
    for axis, places in ((2, rows), (3, columns)):
        at = place(places)
        at = xp.where(places.inside, xp.clip(at, 0, places.line.size - 1), places.at)
        at = each(at[:, None, :, None] if axis == 2 else at[:, None, None, :])
        same = same & (at == xp.sum(xp.where(chosen, at, 0.0), axis=over, keepdims=True))
    must = chosen & surely & ~xp.any(rivals & ~same, axis=over, keepdims=True)
    return tuple(xp.reshape(of, (*of.shape[:-6], *shape)) for of in (chosen, may & (chosen | ~same), must))


def scatter_shares(
    xp: Any, desc: OperatorDesc, share: SampleShare, batch: Array, sizes: Sequence[int], rows: Samples, columns: Samples
) -> GradientSum:
    """The shares, added to the elements that the samples were made of. Shapes: (elements,), in the order of the input.

    Regions of a batch that there is not add to no element. They are sorted behind the last one, so that memory stays bounded.
    """
    channels, height, width = sizes[1:]
    batch = xp.where((batch >= 0) & (batch < sizes[0]), batch, sizes[0])
    image = xp.reshape(batch[:, None] * channels + xp.arange(channels), (len(batch), channels, 1, 1)) * (height * width)
    count = sizes[0] * channels * height * width

    def add(amount: Array, row: Array, column: Array) -> Array:
        place = image + (row[:, :, None] * width + column[:, None, :])[:, None]
        amount = xp.broadcast_to(amount, place.shape)
        return xp.bincount(xp.reshape(place, (-1,)), weights=xp.reshape(amount, (-1,)), minlength=count)[:count]

    mode = nearest_parts if desc.constant("InterpolationMode") == "NEAREST_NEIGHBOR" else linear_parts
    value, magnitude, terms, doubt = xp.zeros(count), xp.zeros(count), xp.zeros(count), xp.zeros((2, count))
    for (row, high), (column, wide) in product(mode(xp, rows, None), mode(xp, columns, None)):
        weight = (high[0][:, :, None] * wide[0][:, None, :])[:, None]
        value = value + add(share.value * weight, row, column)
        magnitude = magnitude + add(xp.abs(share.value) * weight, row, column)
        terms = terms + add((share.most[DOCUMENTED] > 0) & (weight > 0), row, column)
    for reading in (DOCUMENTED, MEASURED):
        for (row, high), (column, wide) in product(mode(xp, rows, reading), mode(xp, columns, reading)):
            least, most = ((down[:, :, None] * across[:, None, :])[:, None] for down, across in zip(high, wide, strict=True))
            spare = share.most[reading] * most - share.least[reading] * least
            if bool(xp.any(spare)):
                doubt[reading] += add(spare, row, column)
    return GradientSum(value, magnitude, terms + _TERMS, doubt)


Part = tuple[Array, tuple[Array, ...]]
"""For each sample along a dimension, an element that it is made of, and its weight; or the least and the most that this may be, by a reading."""


def nearest_parts(xp: Any, places: Samples, reading: int | None) -> Iterator[Part]:
    """The nearest element."""
    one = xp.ones(places.at.shape)
    if reading is None:
        yield _clip_index(xp, places, whole_numbers(xp, places.at)), (one,)
        return
    low, high = (_clip_index(xp, places, end) for end in candidates(xp, places, reading))
    yield low, (one * (low == high), one)
    yield high, (0 * one, one * (low != high))


def linear_parts(xp: Any, places: Samples, reading: int | None) -> Iterator[Part]:
    """The elements on both sides; three, if FLOAT32 does not decide which these are."""
    error = 0.0 if reading is None else places.error
    below = xp.floor(places.at - error)
    for more in (0, 1, 2) if reading is not None and bool(xp.any(places.error)) else (0, 1):
        weight = 1 - xp.abs(places.at - below - more)
        ends = (weight,) if reading is None else (weight - error, weight + error)
        yield _clip_index(xp, places, below + more), tuple(xp.clip(end, 0, 1) for end in ends)


def _clip_index(xp: Any, places: Samples, index: Array) -> Array:
    return xp.clip(index, 0, places.line.size - 1).astype(xp.int64)


def corners(xp: Any, share: SampleShare, image: Image, rows: Samples, columns: Samples, reading: int) -> GradientSum:
    """What the samples hand back to x1, y1, x2 and y2 of each region, by the page or as DirectML.dll does. Shapes: (regions, 4)."""
    ways = (
        (linear(xp, steepness(xp, image, columns, 3, reading), rows, 2), columns, 3),
        (linear(xp, steepness(xp, image, rows, 2, reading), columns, 3), rows, 2),
    )
    found = [
        add_shares(xp, share, steep, weight)
        for pair in zip(*(_weight_slopes(xp, *way, reading) for way in ways), strict=True)
        for steep, weight in pair
    ]
    value, magnitude, doubt = (
        xp.stack([getattr(each, name) for each in found], axis=-1) for name in ("value", "magnitude", "doubt")
    )
    return GradientSum(value, magnitude, image.value.shape[1] * rows.at.shape[1] * columns.at.shape[1] + _TERMS, doubt)


def _weight_slopes(xp: Any, steep: Image, places: Samples, axis: int, reading: int) -> list[tuple[Image, Array]]:
    """The slopes with the weights of a region's first and of its last corner."""
    both = weights(xp, places, reading)
    return [(steep, each[:, None, :, None] if axis == 2 else each[:, None, None, :]) for each in both]


def add_shares(xp: Any, share: SampleShare, steep: Image, weight: Array) -> GradientSum:
    """The shares times slopes and weights, added for each region. Shape: (regions,)."""
    over = (-3, -2, -1)
    size = xp.abs(weight)
    sure = xp.where(share.value != 0, share.value * steep.value, 0.0)
    spare = share.most * steep.doubt + (share.most - share.least) * (xp.abs(steep.value) + steep.doubt)
    return GradientSum(
        xp.sum(sure * weight, axis=over),
        xp.sum(share.most[DOCUMENTED] * steep.largest * size, axis=over),
        0,
        xp.sum(spare * size, axis=over),
    )


@stage("region.steepness")
def steepness(xp: Any, image: Image, places: Samples, axis: int, reading: int) -> Image:
    """How steep the image is along an axis, between the elements on both sides of each sample.

    In the page's pseudo code these are one element where the coordinate is a whole number, and in DirectML.dll it and the next.
    """
    low, high = (xp.floor(places.at + off) for off in (-places.error, places.error))
    below = xp.floor(places.at)
    value = slope(xp, image.value, below, axis)
    largest = slope(xp, image.largest, below, axis, 1)
    others = [slope(xp, image.value, end, axis) for end in (low, high)] if bool(xp.any(places.error)) else []
    if reading == DOCUMENTED:
        flat = (places.at == below)[:, None, :, None] if axis == 2 else (places.at == below)[:, None, None, :]
        crossing = (low != high)[:, None, :, None] if axis == 2 else (low != high)[:, None, None, :]
        value = xp.where(flat, 0.0, value)
        others.append(xp.where(crossing, 0.0, value))
    doubt = xp.zeros((2, *value.shape))
    for other in others:
        doubt = xp.maximum(doubt, xp.abs(other - value))
    return Image(value, largest, doubt)


@stage("region.weights")
def weights(xp: Any, places: Samples, reading: int) -> tuple[Array, Array]:
    """The weights of a region's first and of its last corner for each sample.

    On the page, the output element's index counts for the last corner, and the input's size less that for the first. In DirectML.dll the
    index is made a share of the input's size by the number of all samples, but without the sample's own. Shapes: (regions, samples).
    """
    line = places.line
    index = xp.repeat(xp.arange(line.count, dtype=xp.float64), places.most)[None, :]
    if reading == DOCUMENTED:
        last = xp.broadcast_to(index, places.at.shape)
        return line.size - last, last
    size = line.size - line.corners
    last = (
        size
        * steps_from_corner(xp, replace(line, output_offset=0.0), places.number, index)
        / whole(xp, line, places.number)[:, None]
    )
    return size - last, last
