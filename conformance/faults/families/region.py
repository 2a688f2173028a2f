"""Faults of the operators on regions: where samples lie, how many there are, and what they hand back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import Array, Fault, Faults, Steps, Table, adjust_results, compute_instead, with_input
from dmlcts.reference.operators.region.samples import Line, Span

_STEPS: Steps = {
    "region.batches": {"batch-first": ("reads the first batch for all regions", lambda indices: np.zeros(indices.size, np.int64))},
    "region.coordinates": {
        "coordinates-in-float16": (
            "computes coordinates in FLOAT16",
            lambda line, span, behind, steps: _coordinates_at(line, span, behind, steps).astype("f2").astype("f8"),
        ),
        "coordinates-in-8-bits": (
            "keeps 8 bits of a fraction",
            lambda line, span, behind, steps: np.floor(_coordinates_at(line, span, behind, steps) * 256) / 256,
        ),
        "regions-not-inverted": (
            "takes a region's size without its sign",
            lambda line, span, behind, steps: _coordinates_at(
                line, Span(span.first, span.first + abs(span.last - span.first)), behind, steps
            ),
        ),
        "regions-of-one-element": (
            "makes a region at least one element large",
            lambda line, span, behind, steps: _coordinates_at(
                line, Span(span.first, np.maximum(span.last, span.first + 1)), behind, steps
            ),
        ),
    },
}


def _coordinates_at(line: Line, span: Span, behind: Array, steps: Array) -> Array:
    found: Array = behind * ((span.last - span.first)[:, None] / steps) + span.first[:, None] - line.input_offset
    return found


def _numbers(does: str, change: Callable[[Line], Any]) -> Fault:
    """Another number of samples, the same for all regions."""

    def numbers(right: Callable[..., tuple[Array, ...]], xp: Any, line: Line, span: Span) -> tuple[Array, ...]:
        return tuple(np.full_like(of, change(line)) for of in right(xp, line, span))

    return Fault(does, stages={"region.numbers": numbers})


_FAULTS: Faults = {
    **compute_instead(_STEPS),
    **adjust_results(
        {"region.inside": {"never-out-of-bounds": ("reads the element at the end wherever a sample is", np.ones_like)}}
    ),
    "least-samples": _numbers("takes the least number of samples", lambda line: line.least),
    "most-samples": _numbers("takes the greatest number of samples", lambda line: line.most),
    "rows-for-columns": Fault(
        "exchanges x and y", inputs=with_input("ROITensor", lambda regions: np.ascontiguousarray(regions[..., [1, 0, 3, 2]]))
    ),
    "region-by-size": Fault(
        "reads x, y, width and height",
        inputs=with_input("ROITensor", lambda r: np.concatenate([r[..., :2], r[..., :2] + r[..., 2:]], axis=-1)),
    ),
}

_CORNERS: Faults = compute_instead(
    {"region.whole": {"corners-of-elements": ("aligns the outer edges", lambda line, number: np.float64(line.count * number))}}
)

FAULTS: Table = {"ROI_ALIGN ROI_ALIGN1 ROI_ALIGN_GRAD": _FAULTS, "ROI_ALIGN1 ROI_ALIGN_GRAD": _CORNERS}
"""What implementations of these operators get wrong."""
