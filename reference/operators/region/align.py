"""ROI_ALIGN: each element of a region's output is the average or the maximum of samples of the input, the nearest elements or interpolated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.region.samples import DOCUMENTED, MEASURED, Line, Samples, lines, numbers, samples, spans
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.accumulation import OVERFLOW
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import numpy_dtype

_TERMS = 10
"""Roundings of an interpolation along two dimensions: of weights, products and sums."""

_LARGE = 2.0**126
"""The difference of two smaller numbers does not overflow in FLOAT32."""


@dataclass(frozen=True, slots=True)
class Image:
    """Values (regions, channels, rows, columns) in float64; the largest absolute value that each comes from, infinite where it is not defined;
    what they may be off by, by reading (samples.DOCUMENTED, MEASURED): (2, regions, ...), with sizes of 1 where all are alike, as in the input.
    """

    value: Array
    largest: Array
    doubt: Array


@dataclass(frozen=True, slots=True)
class Sampling:
    """Samples along rows and along columns, and whether DirectML.dll may have them, or only who reads the page otherwise."""

    places: tuple[Samples, Samples]
    measured: bool


@reference("ROI_ALIGN")
@reference("ROI_ALIGN1")
def roi_align(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The samples of each output element, reduced. Regions of a batch that there is not are not defined, nor are averages whose sums overflow."""
    rows, columns = lines(desc, desc.tensor("InputTensor").sizes, desc.tensor("OutputTensor").sizes)
    image, valid = images(xp, inputs["InputTensor"], batches(xp, inputs["BatchIndicesTensor"]))
    beyond = desc.number("OutOfBoundsInputValue")
    ways = list(place_samples(xp, inputs["ROITensor"], rows, columns))
    found, *others = (reduce_samples(xp, desc, sample_image(xp, desc, image, *way.places, beyond), *way.places) for way in ways)
    doubt = left_open(xp, found, others, ways[1:])
    added = rows.most * columns.most * (desc.constant("ReductionFunction") == "AVERAGE")
    terms = _TERMS + added
    defined = valid[:, None, None, None] & (found.largest < OVERFLOW / max(1, added))
    answer = Answer(
        found.value, magnitude=found.largest, terms=terms, slack=doubt[DOCUMENTED], measured_slack=doubt[MEASURED], defined=defined
    )
    return {"OutputTensor": answer}


def left_open(xp: Any, found: Any, others: Sequence[Any], ways: Sequence[Sampling]) -> Array:
    """What values may be off by (``doubt``), where they may also be others, which are right by some readings: (2, ...)."""
    doubt = xp.broadcast_to(found.doubt, (2, *found.value.shape))
    for other, way in zip(others, ways, strict=True):
        also = xp.maximum(doubt, other.doubt + xp.abs(other.value - found.value))
        doubt = xp.stack([also[DOCUMENTED], also[MEASURED] if way.measured else doubt[MEASURED]])
    return doubt


@stage("region.batches")
def batches(xp: Any, indices: Array) -> Array:
    """The batch of each region. Shape: (regions,)."""
    return xp.reshape(indices, (-1,)).astype(xp.int64)


def images(xp: Any, x: Array, batch: Array) -> tuple[Image, Array]:
    """The image that each region lies in, and whether there is one. Shapes: (regions, channels, ...), (regions,)."""
    valid = (batch >= 0) & (batch < x.shape[0])
    value = x[xp.where(valid, batch, 0)].astype(xp.float64)
    return Image(value, xp.abs(value), xp.zeros((2, 1, 1, 1, 1))), valid


def place_samples(xp: Any, regions: Array, rows: Line, columns: Line) -> Iterator[Sampling]:
    """The samples of all regions along rows and columns; first those of DirectML.dll, then, where there are such, others that may be right."""
    down, across = spans(xp, xp.reshape(regions, (-1, 4)), rows, columns)
    (high, other_high, said_high), (wide, other_wide, said_wide) = numbers(xp, rows, down), numbers(xp, columns, across)
    for heights, widths, measured in ((high, wide, True), (other_high, other_wide, True), (said_high, said_wide, False)):
        if heights is high or bool(xp.any(heights != high)) or bool(xp.any(widths != wide)):
            yield Sampling((samples(xp, rows, down, heights), samples(xp, columns, across, widths)), measured)


def sample_image(xp: Any, desc: OperatorDesc, image: Image, rows: Samples, columns: Samples, beyond: float) -> Image:
    """The image at each sample, ``beyond`` where that is out of bounds. Shape: (regions, channels, rows, columns)."""
    along = nearest if desc.constant("InterpolationMode") == "NEAREST_NEIGHBOR" else linear
    found = along(xp, along(xp, image, columns, 3), rows, 2)
    within, maybe, surely = (
        cross_flags(of, to)
        for of, to in ((rows.inside, columns.inside), (rows.maybe, columns.maybe), (rows.surely, columns.surely))
    )
    largest = xp.where(maybe[DOCUMENTED], xp.maximum(found.largest, abs(beyond)), abs(beyond))
    doubt = xp.where(maybe, found.doubt, 0.0)
    open_ = maybe & ~surely
    if bool(xp.any(open_)):
        doubt = doubt + xp.where(open_, xp.abs(found.value - beyond), 0.0)
    return Image(xp.where(within, found.value, beyond), xp.where(surely[DOCUMENTED], found.largest, largest), doubt)


def cross_flags(rows: Array, columns: Array) -> Array:
    """Whether something is true along rows and along columns. Shapes: (..., regions, rows), (..., regions, columns), (..., regions, 1, rows, columns)."""
    return rows[..., None, :, None] & columns[..., None, None, :]


def _elements_at(xp: Any, image: Array, index: Array, axis: int) -> Array:
    """The elements of each region's image at its own indices along an axis, those at the ends in place of those beyond. Index: (regions, any).

    Of a region that is no number any element is as good as another.
    """
    index = xp.clip(xp.where(index == index, index, 0), 0, image.shape[axis - 4] - 1).astype(xp.int64)
    index = index[:, None, :, None] if axis == 2 else index[:, None, None, :]
    shape = list(image.shape)
    shape[axis - 4] = index.shape[axis]
    return xp.take_along_axis(image, xp.broadcast_to(index, tuple(shape)), axis=axis - 4)


def _doubt_at(xp: Any, image: Image, index: Array, axis: int) -> Array:
    """What the same elements may be off by."""
    return image.doubt if image.doubt.shape[axis - 4] == 1 else _elements_at(xp, image.doubt, index, axis)


def _row(numbers: Array, axis: int) -> Array:
    """Numbers for the samples along an axis, shape (regions, any), beside images."""
    return numbers[:, None, :, None] if axis == 2 else numbers[:, None, None, :]


@stage("region.nearest")
def whole_numbers(xp: Any, at: Array) -> Array:
    """The nearest element of each coordinate, of two the next: that is DirectML.dll's choice, and the page makes none."""
    return xp.floor(at + 0.5)


def nearest(xp: Any, image: Image, places: Samples, axis: int) -> Image:
    """The nearest elements along an axis."""
    index = whole_numbers(xp, places.at)
    value = _elements_at(xp, image.value, index, axis)
    doubt = xp.broadcast_to(_doubt_at(xp, image, index, axis), (2, *value.shape)).copy()
    for reading in (DOCUMENTED, MEASURED):
        low, high = candidates(xp, places, reading)
        for end in (low, high) if bool(xp.any(low != high)) else ():
            other = xp.abs(_elements_at(xp, image.value, end, axis) - value)
            doubt[reading] = xp.maximum(doubt[reading], other + _doubt_at(xp, image, end, axis)[reading])
    return Image(value, _elements_at(xp, image.largest, index, axis), doubt)


def candidates(xp: Any, places: Samples, reading: int) -> tuple[Array, Array]:
    """The first and the last element that may be the nearest one."""
    low, high = (places.at + off for off in (-places.error, places.error))
    return xp.ceil(low - 0.5) if reading == DOCUMENTED else whole_numbers(xp, low), whole_numbers(xp, high)


@stage("region.linear")
def linear(xp: Any, image: Image, places: Samples, axis: int) -> Image:
    """Interpolated along an axis between the two nearest elements. A coordinate that is off by its error may lie beside others."""
    below = xp.floor(places.at)
    weight = _row(places.at - below, axis)
    low, high = (_elements_at(xp, image.value, index, axis) for index in (below, below + 1))
    largest = xp.maximum(*(_elements_at(xp, image.largest, index, axis) for index in (below, below + 1)))
    doubt = xp.maximum(*(_doubt_at(xp, image, index, axis) for index in (below, below + 1)))
    if bool(xp.any(places.error)):
        steep = xp.maximum(
            *(xp.abs(slope(xp, image.value, xp.floor(places.at + off), axis)) for off in (-places.error, places.error))
        )
        doubt = doubt + _row(places.error, axis) * steep
    return Image(low * (1 - weight) + high * weight, xp.where(largest < _LARGE, largest, xp.inf), doubt)


def slope(xp: Any, image: Array, below: Array, axis: int, sign: int = -1) -> Array:
    """The differences of the elements on both sides, the one below given; with a sign of 1 their sums."""
    return _elements_at(xp, image, below + 1, axis) + sign * _elements_at(xp, image, below, axis)


def separate_samples(image: Array, rows: Samples, columns: Samples) -> Array:
    """Samples, with those of an output element in dimensions of their own: (..., rows of the output, samples, columns of the output, samples)."""
    return image.reshape(*image.shape[:-2], rows.line.count, rows.most, columns.line.count, columns.most)


def reduce_samples(xp: Any, desc: OperatorDesc, found: Image, rows: Samples, columns: Samples) -> Image:
    """The average or the maximum of the samples of each output element."""
    taken = separate_samples(cross_flags(rows.taken, columns.taken), rows, columns)
    value, largest, doubt = (separate_samples(of, rows, columns) for of in (found.value, found.largest, found.doubt))
    over = (-3, -1)
    if desc.constant("ReductionFunction") == "AVERAGE":
        number = (rows.number * columns.number)[:, None, None, None]
        return Image(*(xp.sum(xp.where(taken, of, 0.0), axis=over) / number for of in (value, largest, doubt)))
    whole = xp.where(xp.isnan(value), -xp.inf, value)
    most = xp.max(xp.where(taken, whole, -xp.inf), axis=over)
    ends = (xp.max(xp.where(taken, whole + off, -xp.inf), axis=over) for off in (doubt, -doubt))
    unclear = xp.any(taken & xp.isnan(value), axis=over) | (most == -xp.inf)
    size = xp.max(xp.where(taken, largest, 0.0), axis=over)
    doubt = xp.maximum(*(xp.where(xp.isfinite(most), xp.abs(end - most), 0.0) for end in ends))
    lowest = float(xp.finfo(numpy_dtype(desc.tensor("OutputTensor").data_type)).min)
    return Image(xp.maximum(most, lowest), xp.where(unclear, xp.inf, size), doubt)
