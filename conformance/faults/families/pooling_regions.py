"""Faults of the maxima of the bins of regions."""

from __future__ import annotations

import numpy as np

from dmlcts.conformance.faults.model.fault import Array, Fault, Steps, Table, adjust_results, compute_instead, with_input


def _limit_region(first: Array, last: Array, size: int) -> tuple[Array, Array]:
    first, last = np.clip(first, 0, size - 1), np.clip(last, 0, size - 1)
    return first, last - first + 1


_STEPS: Steps = {
    "pooling.scale": {
        "scale-inverse": ("divides by SpatialScale", lambda corners, scale: corners / scale),
        "scale-in-float16": ("multiplies in FLOAT16", lambda corners, scale: corners.astype("f2") * np.float16(scale)),
        "scale-in-float64": ("multiplies in FLOAT64", lambda corners, scale: corners.astype("f8") * float(scale)),
    },
    "pooling.round": {
        "corners-floored": ("rounds corners down", np.floor),
        "corners-raised": ("rounds corners up", np.ceil),
        "corners-half-away": ("rounds halves away from zero", lambda x: np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x)),
    },
    "pooling.batch": {"batch-first": ("reads the first batch for all regions", lambda batch, count: 0 * batch)},
    "pooling.extent": {
        "corners-exclusive": ("leaves out a region's last row and column", lambda first, last, size: (first, last - first)),
        "limited-first": ("limits regions to the input before it divides them", _limit_region),
    },
    "pooling.bins": {
        "bins-apart": (
            "gives bins no element in common",
            lambda n, length, count: (n * length // count, (n + 1) * length // count),
        ),
        "bins-of-one-size": (
            "rounds a bin's size down",
            lambda n, length, count: (n * np.maximum(length // count, 1), (n + 1) * np.maximum(length // count, 1)),
        ),
    },
}
_ENDS: Steps = {
    "pooling.bin-maximum": {"begun-with-minus-100": ("begins with -100", lambda found: np.maximum(found, -100))},
    "pooling.empty": {"empty-lowest": ("gives the lowest number for an empty bin", lambda nothing: -65504.0)},
}

FAULTS: Table = {
    "ROI_POOLING": {
        **compute_instead(_STEPS),
        **adjust_results(_ENDS),
        "rows-for-columns": Fault(
            "exchanges x and y", inputs=with_input("ROITensor", lambda regions: np.ascontiguousarray(regions[..., [0, 2, 1, 4, 3]]))
        ),
        "nan-handed-on": Fault(
            "hands on NaN",
            stages={"pooling.bin-maximum": lambda right, xp, x, *bins: right(xp, np.where(np.isnan(x), np.inf, x), *bins)},
        ),
    }
}
"""What implementations of it get wrong."""
