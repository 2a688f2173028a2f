"""Where the elements of a resampled tensor lie in the input, and how far a coordinate that is computed in FLOAT32 may be off.

The pages give ``output = (input + InputPixelOffset) * Scale + OutputPixelOffset`` for the coordinates along each dimension. An implementation
computes its inverse in FLOAT32, in one of several orders. So a coordinate is exact only where every order gives the same number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.stage import stage

_ROUNDINGS = 3 * 2.0**-23
"""What a division of FLOAT32 or a product with a reciprocal, and two sums, may be off together, relative to the largest number among them."""

CENTER = (0.5, -0.5)
"""InputPixelOffset and OutputPixelOffset by which the centers of elements lie upon each other."""


@dataclass(frozen=True, slots=True)
class ScaledAxis:
    """The dimension ``axis``, ``size`` elements long in the input and ``count`` in the output, with its scale and offsets as FLOAT32s."""

    axis: int
    size: int
    count: int
    scale: float
    input_offset: float
    output_offset: float


@dataclass(frozen=True, slots=True)
class Coordinates:
    """For each element of the output along an axis, the coordinate in the input, and by how much one in FLOAT32 may be off. Shape: (count,)."""

    at: Array
    error: Array


@stage("resampling.coordinates")
def coordinates(xp: Any, axis: ScaledAxis) -> Coordinates:
    """The coordinates along an axis, not limited to the input."""
    outputs = xp.arange(axis.count, dtype=xp.float64)
    moved, shift = outputs - axis.output_offset, -axis.output_offset / axis.scale - axis.input_offset
    at = moved / axis.scale - axis.input_offset
    error = _ROUNDINGS * ((outputs + abs(axis.output_offset)) / abs(axis.scale) + abs(axis.input_offset))
    if abs(xp.frexp(xp.asarray(axis.scale))[0]) == 0.5 and _is_float32(xp, xp.asarray(shift)):
        error = xp.where(_is_float32(xp, moved) & _is_float32(xp, at), 0.0, error)
    return Coordinates(at, error)


def _is_float32(xp: Any, x: Array) -> Array:
    """Whether FLOAT32 holds a number."""
    return x.astype(xp.float32) == x
