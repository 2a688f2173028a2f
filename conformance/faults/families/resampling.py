"""Faults of resampling: where an output element lies in the input, which element is the nearest, and what is interpolated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import Array, Fault, Faults, Table
from dmlcts.reference.operators.resampling.coordinates import Coordinates, ScaledAxis
from dmlcts.reference.stage import Instead
from dmlcts.spec.model.desc import OperatorDesc


def _change_coordinates(does: str, change: Callable[[Array, ScaledAxis], Array]) -> Fault:
    """Other coordinates: a function of the right ones and of the axis."""

    def coordinates(right: Callable[..., Coordinates], xp: Any, axis: ScaledAxis) -> Coordinates:
        found = right(xp, axis)
        return replace(found, at=change(found.at, axis))

    return Fault(does, stages={"resampling.coordinates": coordinates})


def _index(does: str, change: Callable[[Array, ScaledAxis], Array]) -> Fault:
    """Another index in place of the nearest, of which nothing is limited to the input so far."""
    instead: Instead = lambda right, xp, axis, index: right(xp, axis, change(index, axis))  # noqa: E731
    return Fault(does, stages={"resampling.nearest": instead}, when=_nearest)


def _nearest(desc: OperatorDesc) -> bool:
    return desc.fields["InterpolationMode"] == "NEAREST_NEIGHBOR"


def _to_the_corners(at: Array, axis: ScaledAxis) -> Array:
    return np.arange(axis.count) * ((axis.size - 1) / max(1, axis.count - 1))


_FAULTS: Faults = {
    "corners-aligned": _change_coordinates("lays the first and the last elements upon each other", _to_the_corners),
    "half-pixel-left-out": _change_coordinates("leaves out half an element", lambda at, axis: at + 0.5),
    "ends-reflected": _change_coordinates(
        "reflects at the ends", lambda at, axis: np.where(at < 0, -at, np.where(at > axis.size - 1, 2 * (axis.size - 1) - at, at))
    ),
    "coordinates-in-8-bits": _change_coordinates("keeps 8 bits of a fraction", lambda at, axis: np.floor(at * 256) / 256),
    "coordinates-in-float16": _change_coordinates("computes coordinates in FLOAT16", lambda at, axis: at.astype("f2").astype("f8")),
    "weights-squared": Fault(
        "smooths the weights",
        stages={
            "resampling.linear": lambda right, xp, axis, at, given: right(
                xp, axis, replace(at, at=np.floor(at.at) + _smooth(at.at - np.floor(at.at))), given
            )
        },
    ),
}
_ANY_SIZE: Faults = {
    "output-sizes-for-scale": _change_coordinates(
        "uses the ratio of the sizes as the scale",
        lambda at, axis: (np.arange(axis.count) - axis.output_offset) * axis.size / axis.count - axis.input_offset,
    ),
    "first-two-dimensions-unscaled": _change_coordinates(
        "resamples the last two dimensions alone", lambda at, axis: at if axis.axis >= 2 else 0 * at + np.arange(axis.count)
    ),
    "end-wrapped": _index("begins anew beyond the end", lambda index, axis: np.where(index >= axis.size, index - axis.size, index)),
}
"""Those of any scale, output and dimension."""


def _smooth(weight: Array) -> Array:
    found: Array = weight * weight * (3 - 2 * weight)
    return found


FAULTS: Table = {
    "RESAMPLE RESAMPLE1 RESAMPLE2 RESAMPLE3 UPSAMPLE_2D": _FAULTS,
    "RESAMPLE RESAMPLE1 RESAMPLE2 RESAMPLE3": _ANY_SIZE,
}
"""What implementations of these operators get wrong."""
