"""Faults of the largest elements of a region's bins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.elsewise import Inputs, computed_of
from dmlcts.conformance.mutants.old.fault import Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc, Size2D
from dmlcts.spec.model import MEASURED

_X = "InputTensor"

Bounds = Callable[[Array, Array, int], tuple[Array, Array]]
"""(number of each bin, length of each region, number of bins) -> first and end (exclusive) of each bin, from the region's first element."""


def _bins(number: Array, length: Array, count: int) -> tuple[Array, Array]:
    return number * length // count, -(-(number + 1) * length // count)


def _maximum(x: Array) -> float:
    return float(np.nanmax(x))


@dataclass(frozen=True, slots=True)
class Regions:
    """Pooling over regions in steps, each of which may be another than the right one."""

    regions: Callable[[Array], Array] = lambda regions: regions
    scale: Callable[[Array, np.float32], Array] = lambda corners, scale: corners * scale
    rounded: Callable[[Array], Array] = np.rint
    length: Callable[[Array, Array], Array] = lambda first, last: last - first + 1
    bounds: Bounds = _bins
    chosen: Callable[[Array, int], Array] = lambda batch, count: batch
    limited: bool = False
    found: Callable[[Array], float] = _maximum
    empty: float = 0.0

    def __call__(self, desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
        """The output."""
        x, pooled = inputs[_X], desc.fields["PooledSize"]
        assert isinstance(pooled, Size2D)
        regions = self.regions(inputs["ROITensor"].reshape(-1, 5).astype("f4"))
        scale: Any = desc.fields["SpatialScale"]
        corners = self.rounded(self.scale(regions[:, 1:], np.float32(scale))).astype("i8")
        batches = np.clip(self.chosen(regions[:, 0].astype("i8"), x.shape[0]), 0, x.shape[0] - 1)
        rows = self._limits(corners[:, 1], corners[:, 3], right.shape[2], x.shape[2])
        columns = self._limits(corners[:, 0], corners[:, 2], right.shape[3], x.shape[3])
        output = np.full(right.shape, self.empty, "f8")
        for at in np.ndindex(right.shape[0], right.shape[2], right.shape[3]):
            region, row, column = at
            top, left = (slice(*(int(end[region, place]) for end in ends)) for ends, place in ((rows, row), (columns, column)))
            part = x[batches[region], :, top, left]
            if part.shape[1] and part.shape[2]:
                output[region, :, row, column] = [self.found(channel) for channel in part]
        return output

    def _limits(self, first: Array, last: Array, count: int, size: int) -> tuple[Array, Array]:
        if self.limited:
            first, last = np.clip(first, 0, size - 1), np.clip(last, 0, size - 1)
        start, end = self.bounds(np.arange(count)[None, :], self.length(first, last)[:, None], count)
        return np.clip(start + first[:, None], 0, size), np.clip(end + first[:, None], 0, size)


def _cells(order: tuple[int, ...]) -> Callable[[Array], Array]:
    return lambda regions: regions[:, list(order)]


def _half_up(x: Array) -> Array:
    return np.floor(x + np.float32(0.5))


def _pooled(change: Callable[[Size2D], Size2D]) -> Computed:
    def changed(desc: OperatorDesc) -> OperatorDesc:
        pooled = desc.fields["PooledSize"]
        assert isinstance(pooled, Size2D)
        return desc.with_fields(PooledSize=change(pooled))

    return computed_of(changed)


REGIONS: Mapping[str, Fault] = {
    "scale-lost": Fault("takes no notice of SpatialScale", Regions(scale=lambda corners, scale: corners)),
    "scale-inverse": Fault("divides by SpatialScale", Regions(scale=lambda corners, scale: corners / scale)),
    "scale-in-float16": Fault(
        "multiplies in FLOAT16", Regions(scale=lambda corners, scale: corners.astype("f2") * np.float16(scale)), basis=MEASURED
    ),
    "scale-in-float64": Fault(
        "multiplies in FLOAT64", Regions(scale=lambda corners, scale: corners.astype("f8") * float(scale)), basis=MEASURED
    ),
    "corners-floored": Fault("rounds corners down", Regions(rounded=np.floor)),
    "corners-truncated": Fault("rounds corners toward zero", Regions(rounded=np.trunc)),
    "corners-raised": Fault("rounds corners up", Regions(rounded=np.ceil)),
    "corners-half-up": Fault("rounds halves up", Regions(rounded=_half_up), basis=MEASURED),
    "corners-half-away": Fault(
        "rounds halves away from zero", Regions(rounded=lambda x: np.copysign(_half_up(np.abs(x)), x)), basis=MEASURED
    ),
    "corners-exclusive": Fault("leaves out a region's last row and column", Regions(length=lambda first, last: last - first)),
    "corner-as-size": Fault("takes the second corner for a size", Regions(length=lambda first, last: last)),
    "rows-for-columns": Fault("exchanges x and y", Regions(regions=_cells((0, 2, 1, 4, 3)))),
    "corners-by-axis": Fault("takes x1, x2, y1, y2", Regions(regions=_cells((0, 1, 3, 2, 4)))),
    "corners-exchanged": Fault("exchanges the corners", Regions(regions=_cells((0, 3, 4, 1, 2)))),
    "batch-last": Fault("takes the batch for the last of a region's numbers", Regions(regions=_cells((4, 0, 1, 2, 3)))),
    "batch-first": Fault("takes the first batch for all", Regions(chosen=lambda batch, count: 0 * batch)),
    "batch-by-number": Fault("takes the batch of the region's number", Regions(chosen=lambda b, count: np.arange(b.size) % count)),
    "batch-next": Fault("takes the next batch", Regions(chosen=lambda batch, count: (batch + 1) % count)),
    "bins-apart": Fault(
        "gives neighbouring bins no element in common",
        Regions(bounds=lambda n, size, count: (n * size // count, (n + 1) * size // count)),
    ),
    "bins-raised": Fault(
        "rounds the first element of a bin up",
        Regions(bounds=lambda n, size, count: (-(-n * size // count), -(-(n + 1) * size // count))),
    ),
    "bins-of-one-size": Fault(
        "makes bins of the whole quotient",
        Regions(bounds=lambda n, size, count: (n * np.maximum(size // count, 1), (n + 1) * np.maximum(size // count, 1))),
    ),
    "bins-of-raised-size": Fault(
        "makes bins of the quotient rounded up",
        Regions(bounds=lambda n, size, count: (n * -(-size // count), (n + 1) * -(-size // count))),
    ),
    "bins-one-more": Fault(
        "takes one element more of a bin", Regions(bounds=lambda n, s, count: (_bins(n, s, count)[0], _bins(n, s, count)[1] + 1))
    ),
    "bins-first-element": Fault(
        "takes one element of a bin", Regions(bounds=lambda n, s, count: (_bins(n, s, count)[0], _bins(n, s, count)[0] + 1))
    ),
    "limited-first": Fault("limits regions to the input before it divides them", Regions(limited=True)),
    "PooledSize-exchanged": Fault("takes height for width", _pooled(lambda pooled: Size2D(pooled.height, pooled.width))),
    "smallest": Fault("gives the smallest element", Regions(found=lambda x: float(np.nanmin(x)))),
    "averaged": Fault("gives averages", Regions(found=lambda x: float(np.mean(x)))),
    "begun-with-0": Fault("begins with 0", Regions(found=lambda x: max(_maximum(x), 0.0))),
    "begun-with-minus-100": Fault("begins with -100", Regions(found=lambda x: max(_maximum(x), -100.0))),
    "last-of-bin": Fault("gives the last element of a bin", Regions(found=lambda x: float(x[-1, -1]))),
    "nan-handed-on": Fault("hands on NaN", Regions(found=lambda x: float(np.max(x))), basis=MEASURED),
    "empty-lowest": Fault("gives the lowest number for an empty bin", Regions(empty=-65504.0), basis=MEASURED),
}
