"""Where the samples of regions lie in the input, and how far a coordinate that is computed in FLOAT32 may be off.

The pages give ``input = (sample - OutputPixelOffset) * size / samples + corner - InputPixelOffset`` for the coordinates of a region along each
dimension. Of three things they say too little: how the number of samples becomes a whole one, what AlignRegionsToCorners does, and where
exactly a sample is out of bounds. What is computed is what DirectML.dll does; what else the pages allow is marked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

_ROUNDING = 2.0**-23
"""What a number of FLOAT32 is off by, relative to itself, truncated or by a division with a reciprocal."""

DOCUMENTED, MEASURED = 0, 1
"""Two readings: all that the pages leave open, and what DirectML.dll leaves open because FLOAT32 does not decide it."""


@dataclass(frozen=True, slots=True)
class Line:
    """A dimension: ``size`` elements of the input, ``count`` of each region in the output; the attributes of the operator."""

    size: int
    count: int
    scale: float
    input_offset: float
    output_offset: float
    least: int
    most: int
    corners: bool


@dataclass(frozen=True, slots=True)
class Span:
    """Where regions begin and end along a dimension, in elements of the input. Shape: (regions,)."""

    first: Array
    last: Array


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples along a dimension. Shape, if no other is given: (regions, count * samples), ``samples`` being the most that a region has.

    ``at``: coordinates, not limited to the input; ``error``: what they may be off by. ``taken``: whether the region has so many.
    ``inside``: whether one is within bounds. ``maybe`` and ``surely``: whether it may be, and must be, by reading: (2, regions, ...).
    ``number``: samples of each output element, shape (regions,); ``most``: the most of these.
    """

    line: Line
    at: Array
    error: Array
    taken: Array
    inside: Array
    maybe: Array
    surely: Array
    number: Array
    most: int


def lines(desc: OperatorDesc, image: tuple[int, ...], output: tuple[int, ...]) -> tuple[Line, Line]:
    """Rows and columns, for an input and an output of these sizes."""

    def line(axis: int, scale: str) -> Line:
        return Line(
            image[axis],
            output[axis],
            desc.number(scale),
            desc.number("InputPixelOffset", default=0.5),
            desc.number("OutputPixelOffset", default=-0.5),
            desc.integer("MinimumSamplesPerOutput"),
            desc.integer("MaximumSamplesPerOutput"),
            desc.flag("AlignRegionsToCorners", default=False),
        )

    return line(2, "SpatialScaleY"), line(3, "SpatialScaleX")


@stage("region.spans")
def spans(xp: Any, regions: Array, rows: Line, columns: Line) -> tuple[Span, Span]:
    """The scaled regions. Shape of ``regions``: (regions, 4), with x1, y1, x2, y2."""
    x1, y1, x2, y2 = (regions[:, i].astype(xp.float64) for i in range(4))
    return Span(y1 * rows.scale, y2 * rows.scale), Span(x1 * columns.scale, x2 * columns.scale)


@stage("region.numbers")
def numbers(xp: Any, line: Line, span: Span) -> tuple[Array, Array, Array]:
    """The samples of each output element, and as many as there may be where FLOAT32 does not decide it, and by the pages. Shapes: (regions,).

    The pages divide and say nothing of a fraction. DirectML.dll rounds up, as Mask R-CNN does.
    """
    ratio = xp.abs(span.last - span.first) / line.count
    error = 4 * _ROUNDING * (xp.abs(span.first) + xp.abs(span.last)) / line.count
    if line.count & (line.count - 1) == 0:
        error = xp.where(
            _is_float32(xp, span.first) & _is_float32(xp, span.last) & _is_float32(xp, span.last - span.first), 0.0, error
        )

    def clip_number(number: Array) -> Array:
        known = xp.where(number == number, number, line.least)  # of a region that is no number as few as may be
        return xp.clip(known, line.least, line.most).astype(xp.int64)

    number = clip_number(xp.ceil(ratio))
    low, high = clip_number(xp.ceil(ratio - error)), clip_number(xp.ceil(ratio + error))
    other = xp.where(low != number, low, high)
    floor = clip_number(xp.floor(ratio - error))
    return number, other, xp.where(floor != number, floor, other)


@stage("region.whole")
def whole(xp: Any, line: Line, number: Array) -> Array:
    """Into how many steps a region is divided: as many as it has samples, or from the first to the last of them."""
    return xp.maximum(line.count * number - line.corners, 1).astype(xp.float64)


@stage("region.moved")
def steps_from_corner(xp: Any, line: Line, number: Array, sample: Array) -> Array:
    """How many steps samples are behind a region's first corner; a single one that is aligned to both corners lies in the middle."""
    alone = (line.count * number == 1) & line.corners
    return xp.where(alone[:, None], 0.5, sample - line.output_offset)


@stage("region.coordinates")
def coordinates(xp: Any, line: Line, span: Span, behind: Array, steps: Array) -> Array:
    """The coordinates of samples so many steps behind a region's first corner, not limited to the input. Shape: (regions, any)."""
    return behind * ((span.last - span.first)[:, None] / steps) + span.first[:, None] - line.input_offset


@stage("region.inside")
def is_inside(xp: Any, line: Line, at: Array) -> Array:
    """Which coordinates are within bounds, in DirectML.dll."""
    return (at >= 0) & (at <= line.size - 1) if line.corners else (at > -1) & (at < line.size)


def samples(xp: Any, line: Line, span: Span, number: Array) -> Samples:
    """All samples of regions with ``number`` each, along one dimension."""
    most = int(xp.max(number))
    element, one = xp.arange(line.count)[None, :, None], xp.arange(most)[None, None, :]
    sample = xp.reshape(element * number[:, None, None] + one, (len(number), -1)).astype(xp.float64)
    taken = xp.reshape(xp.broadcast_to(one < number[:, None, None], (len(number), line.count, most)), sample.shape)
    steps = whole(xp, line, number)[:, None]
    behind = steps_from_corner(xp, line, number, sample)
    at = coordinates(xp, line, span, behind, steps)
    error = _error(xp, line, span, behind, steps, at)
    within = is_inside(xp, line, at)
    ends = [is_inside(xp, line, at - error), is_inside(xp, line, at + error)]
    # The page speaks of regions that lie outside the bounds: what an offset moves there lies outside no longer.
    sides = [(at + line.input_offset + off >= 0) & (at + line.input_offset + off <= line.size) for off in (-error, error)]
    maybe, surely = within | ends[0] | ends[1], within & ends[0] & ends[1]
    return Samples(
        line,
        at,
        error,
        taken,
        within,
        xp.stack([maybe | sides[0] | sides[1], maybe]),
        xp.stack([surely & sides[0] & sides[1], surely]),
        number,
        most,
    )


def _error(xp: Any, line: Line, span: Span, behind: Array, steps: Array, at: Array) -> Array:
    """What coordinates in FLOAT32 may be off by: 0 where every step of the computation is exact in any order."""
    first, last = span.first[:, None], span.last[:, None]
    size, ends = last - first, xp.abs(first) + xp.abs(last)
    part = size / steps
    error = _ROUNDING * (xp.abs(behind) / steps * (2 * ends + 3 * xp.abs(size)) + 2 * xp.abs(first) + 2 * abs(line.input_offset))
    exact = (xp.frexp(steps)[0] == 0.5) | (size == 0)
    for number in (first, last, size, part, behind, behind * part, behind * part + first, first - line.input_offset, at):
        exact = exact & _is_float32(xp, number)
    return xp.where(exact, 0.0, error)


def _is_float32(xp: Any, x: Array) -> Array:
    """Whether FLOAT32 holds a number."""
    return x.astype(xp.float32) == x
