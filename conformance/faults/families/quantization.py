"""Faults of quantization by blocks, and of scales and zero points that follow from the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import Array, Faults, Table, adjust_results, compute_instead


def _tile(x: Array, sizes: tuple[int, ...]) -> Array:
    """Blocks that repeat one after the other, in the place of elements that do."""
    return np.tile(x, [size // count for size, count in zip(sizes, x.shape, strict=True)])


def _along_last(x: Array, sizes: tuple[int, ...]) -> Array:
    """Blocks along the last axis alone: of the others the first is read."""
    first = x[(slice(0, 1),) * (x.ndim - 1)]
    return np.broadcast_to(np.repeat(first, sizes[-1] // x.shape[-1], axis=-1), sizes)


BLOCKS: Faults = compute_instead(
    {
        "quantization.each": {
            "blocks-tiled": ("repeats the scales one after the other, not each for its block", _tile),
            "blocks-along-last-axis": ("treats blocks along the last axis alone", _along_last),
            "first-block-for-all": (
                "reads the first scale and zero point for all blocks",
                lambda x, sizes: np.broadcast_to(x.reshape(-1)[0], sizes),
            ),
        },
        "quantization.no-zero-point": {"no-zero-point-is-0": ("treats a missing zero point as 0", lambda quantized: 0.0)},
    }
)


def _with_nan(x: Array) -> tuple[Any, Any]:
    return np.min(x), np.max(x)


DYNAMIC: Faults = {
    **compute_instead(
        {
            "quantization.range": {
                "nan-in-range": ("computes the range with NaN", _with_nan),
                "first-as-least": ("treats the first element as the least", lambda x: (x.reshape(-1)[0], np.nanmax(x))),
                "symmetric": ("makes the range symmetric", lambda x: (-np.nanmax(np.abs(x)), np.nanmax(np.abs(x)))),
            },
            "quantization.with-zero": {
                "from-0": ("begins the range at 0", lambda least, largest: (0 * least, np.maximum(largest, 0))),
                "to-0": ("ends the range at 0", lambda least, largest: (np.minimum(least, 0), 0 * largest)),
            },
        }
    ),
    **adjust_results(
        {"quantization.with-zero": {"range-too-wide": ("widens the range by 1 %", lambda ends: (ends[0] * 1.01, ends[1] * 1.01))}}
    ),
}

FAULTS: Table = {"QUANTIZE DEQUANTIZE": BLOCKS, "DYNAMIC_QUANTIZE_LINEAR": DYNAMIC}
