"""Pooling over regions of interest: the maximum of each bin of a grid that is laid over a region.

The coordinates of a region are multiplied by SpatialScale and rounded to whole elements, both corners inclusive; bin ``o`` of ``P`` along
an axis of ``L`` elements goes from ``o * L / P`` (rounded down) to ``(o + 1) * L / P`` (rounded up), so that neighbours may share an
element. The page does not say how ``round`` treats ties: DirectML.dll 1.15.4 multiplies in FLOAT32 and rounds ties to even.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@stage("pooling.scale")
def scale_coordinates(coordinates: Array, scale: Any) -> Array:
    """Coordinates of a region in elements of the input; both FLOAT32."""
    return coordinates * scale


@stage("pooling.round")
def round_coordinates(xp: Any, coordinates: Array) -> Array:
    """Whole elements: halves to even."""
    return xp.round(coordinates)


@stage("pooling.batch")
def batches(numbers: Array, count: int) -> Array:
    """The batch of ``count`` that each region names, as it gives the number. Shape: (regions,)."""
    return numbers


def _corners(xp: Any, desc: OperatorDesc, regions: Array) -> tuple[Array, Array]:
    """The rounded coordinates ``x1, y1, x2, y2`` of each region, and where rounding may not go the other way. Shapes: (regions, 4), (regions,).

    Where the product lies so close to a tie that its own rounding decides, nothing is defined but at the tie itself.
    """
    scale = xp.float32(desc.number("SpatialScale"))
    coordinates = regions[:, 1:].astype(xp.float32)
    exact = coordinates.astype(xp.float64) * float(scale)
    tie = xp.abs(exact - xp.floor(exact) - 0.5)
    sure = (tie == 0) | (tie > 2.0**-23 * xp.abs(exact))
    return round_coordinates(xp, scale_coordinates(coordinates, scale)).astype(xp.int64), xp.all(sure, axis=1)


@stage("pooling.extent")
def extent(first: Array, last: Array, size: int) -> tuple[Array, Array]:
    """Where a region starts along an axis of ``size`` elements, and how many it has, of its inclusive coordinates."""
    return first, last - first + 1


@stage("pooling.bins")
def bins(number: Array, length: Array, count: int) -> tuple[Array, Array]:
    """Where bin ``number`` of ``count`` starts and ends (exclusive) in a region of ``length`` elements, counted from its first."""
    return number * length // count, -(-(number + 1) * length // count)


def _limits(xp: Any, first: Array, last: Array, count: int, size: int) -> tuple[Array, Array]:
    """Where each of ``count`` bins starts and ends (exclusive) between two inclusive coordinates, limited to ``size``. Shape: (regions, count)."""
    first, length = extent(first, last, size)
    start, end = bins(xp.arange(count)[None, :], length[:, None], count)
    return xp.clip(start + first[:, None], 0, size), xp.clip(end + first[:, None], 0, size)


@stage("pooling.bin-maximum")
def _maximum_along(xp: Any, x: Array, start: Array, end: Array, axis: int) -> Array:
    """The maximum between start and end along an axis, -inf where there is nothing. ``x`` has a row of its own for each region.

    Shapes: x (regions, channels, ...), start and end (regions, bins); the axis becomes bins.
    """
    shape = [1] * x.ndim
    shape[0], shape[axis] = start.shape
    start, end = xp.reshape(start, shape), xp.reshape(end, shape)
    sizes = list(x.shape)
    sizes[axis] = shape[axis]
    found = xp.full(tuple(sizes), -xp.inf, dtype=x.dtype)
    for tap in range(int(xp.max(end - start))):
        place = xp.minimum(start + tap, x.shape[axis] - 1)
        value = xp.take_along_axis(x, xp.broadcast_to(place, tuple(sizes)), axis=axis)
        found = xp.where((start + tap < end) & (value > found), value, found)
    return found


@stage("pooling.empty")
def empty_bin() -> float:
    """What a bin without an element of the input gives."""
    return 0.0


@reference("ROI_POOLING")
def roi_pooling(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The largest element of each bin of each region; NaN is ignored.

    Not defined: regions of a batch that there is not; bins without an element of the input, for which DirectML.dll gives 0, and which are
    all that a region has whose second corner lies before the first; bins whose every element is NaN or -inf, for which it gives the least finite number, as maximum pooling does.
    """
    x, regions = inputs["InputTensor"], xp.reshape(inputs["ROITensor"], (-1, 5))
    pooled = desc.size_2d("PooledSize")
    corners, sure = _corners(xp, desc, regions)
    x1, y1, x2, y2 = (corners[:, i] for i in range(4))
    batch = batches(regions[:, 0].astype(xp.float64), x.shape[0])
    valid = sure & (batch >= 0) & (batch < x.shape[0]) & (batch == xp.floor(batch))
    rows, columns = _limits(xp, y1, y2, pooled.height, x.shape[2]), _limits(xp, x1, x2, pooled.width, x.shape[3])
    chosen = x[xp.where(valid, batch, 0.0).astype(xp.int64)]
    found = _maximum_along(xp, _maximum_along(xp, chosen, *rows, 2), *columns, 3)
    empty = (rows[0] >= rows[1])[:, None, :, None] | (columns[0] >= columns[1])[:, None, None, :]
    defined = valid[:, None, None, None] & (found > -xp.inf)
    value = xp.where(empty, empty_bin(), xp.maximum(found, xp.finfo(x.dtype).min)).astype(x.dtype)
    return {"OutputTensor": Answer(value, defined=defined)}
