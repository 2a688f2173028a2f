"""Faults of the maxima of the bins of regions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.fault import Array, Fault, Steps, Table, adjusted, computed, with_input


def _half_up(x: Array) -> Array:
    return np.floor(x + np.float32(0.5))


def _limited(first: Array, last: Array, size: int) -> tuple[Array, Array]:
    first, last = np.clip(first, 0, size - 1), np.clip(last, 0, size - 1)
    return first, last - first + 1


def _of_size(number: Array, size: Array) -> tuple[Array, Array]:
    return number * size, (number + 1) * size


def _average(right: Callable[..., Array], xp: Any, x: Array, start: Array, end: Array, axis: int) -> Any:
    """The mean between start and end along an axis, as a difference of running sums."""
    shape = [start.shape[0] if at == 0 else start.shape[1] if at == axis else 1 for at in range(x.ndim)]
    running = np.insert(np.cumsum(x.astype("f8"), axis), 0, 0, axis)
    ends = (np.take_along_axis(running, at.reshape(shape), axis) for at in (end, start))
    return np.subtract(*ends) / np.maximum((end - start).reshape(shape), 1)


_STEPS: Steps = {
    "pooling.scale": {
        "scale-inverse": ("divides by SpatialScale", lambda corners, scale: corners / scale),
        "scale-in-float16": ("multiplies in FLOAT16", lambda corners, scale: corners.astype("f2") * np.float16(scale)),
        "scale-in-float64": ("multiplies in FLOAT64", lambda corners, scale: corners.astype("f8") * float(scale)),
    },
    "pooling.round": {
        "corners-floored": ("rounds corners down", np.floor),
        "corners-truncated": ("rounds corners toward zero", np.trunc),
        "corners-raised": ("rounds corners up", np.ceil),
        "corners-half-up": ("rounds halves up", _half_up),
        "corners-half-away": ("rounds halves away from zero", lambda x: np.copysign(_half_up(np.abs(x)), x)),
    },
    "pooling.batch": {
        "batch-first": ("takes the first batch for all", lambda batch, count: 0 * batch),
        "batch-by-number": ("takes the batch of the region's number", lambda batch, count: np.arange(batch.size) % count * 1.0),
        "batch-next": ("takes the next batch", lambda batch, count: (batch + 1) % count),
    },
    "pooling.extent": {
        "corners-exclusive": ("leaves out a region's last row and column", lambda first, last, size: (first, last - first)),
        "corner-as-size": ("treats the second corner as a size", lambda first, last, size: (first, last)),
        "limited-first": ("limits regions to the input before it divides them", _limited),
    },
    "pooling.bins": {
        "bins-apart": (
            "gives bins no element in common",
            lambda n, length, count: (n * length // count, (n + 1) * length // count),
        ),
        "bins-raised": (
            "rounds a bin's start up",
            lambda n, length, count: (-(-n * length // count), -(-(n + 1) * length // count)),
        ),
        "bins-of-one-size": ("rounds a bin's size down", lambda n, length, count: _of_size(n, np.maximum(length // count, 1))),
        "bins-of-raised-size": ("rounds a bin's size up", lambda n, length, count: _of_size(n, -(-length // count))),
    },
}
_ENDS: Steps = {
    "pooling.bins": {
        "bins-one-more": ("takes one element more of a bin", lambda ends: (ends[0], ends[1] + 1)),
        "bins-first-element": ("takes one element of a bin", lambda ends: (ends[0], ends[0] + 1)),
    },
    "pooling.bin-maximum": {
        "begun-with-0": ("begins with 0", lambda found: np.maximum(found, 0)),
        "begun-with-minus-100": ("begins with -100", lambda found: np.maximum(found, -100)),
    },
    "pooling.empty": {"empty-lowest": ("gives the lowest number for an empty bin", lambda nothing: -65504.0)},
}

FAULTS: Table = {
    "ROI_POOLING": {
        **computed(_STEPS),
        **adjusted(_ENDS),
        **{
            name: Fault(
                does,
                inputs=with_input("ROITensor", lambda regions, order=order: np.ascontiguousarray(regions[..., order])),  # type: ignore[misc]
            )
            for name, does, order in (
                ("rows-for-columns", "exchanges x and y", [0, 2, 1, 4, 3]),
                ("corners-by-axis", "reads x1, x2, y1, y2", [0, 1, 3, 2, 4]),
                ("corners-exchanged", "exchanges the corners", [0, 3, 4, 1, 2]),
                ("batch-last", "reads the batch as the last of a region's numbers", [4, 0, 1, 2, 3]),
            )
        },
        **{
            name: Fault(does, stages={"pooling.bin-maximum": found})
            for name, does, found in (
                ("smallest", "gives the smallest element", lambda right, xp, x, *bins: -right(xp, -x, *bins)),
                ("averaged", "gives averages", _average),
                ("last-of-bin", "gives the last element", lambda right, xp, x, start, end, axis: right(xp, x, end - 1, end, axis)),
                ("nan-handed-on", "hands on NaN", lambda right, xp, x, *bins: right(xp, np.where(np.isnan(x), np.inf, x), *bins)),
            )
        },
    },
}
"""What implementations of it get wrong."""
