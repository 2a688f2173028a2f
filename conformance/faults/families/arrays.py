"""Faults of joins and splits: parts that begin elsewhere, are as long as others, or come in another order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import Array, Fault, Faults, Table

Join = Callable[[list[Array], int], Array]


def _at_equal_steps(parts: list[Array], axis: int) -> Array:
    """Each part where it would begin if all were as long as the first."""
    out = np.concatenate(parts, axis=axis)
    moved = np.zeros_like(out)
    step = parts[0].shape[axis]
    for index, part in enumerate(parts):
        room = max(min(part.shape[axis], out.shape[axis] - index * step), 0)
        target = (slice(None),) * axis + (slice(index * step, index * step + room),)
        moved[target] = part[(slice(None),) * axis + (slice(0, room),)]
    return moved


def _first_again(count: int) -> Join:
    """The parts from ``count`` on read as the first, as far as they are as long."""

    def join(parts: list[Array], axis: int) -> Array:
        given = [parts[0] if at >= count and part.shape == parts[0].shape else part for at, part in enumerate(parts)]
        return np.concatenate(given, axis=axis)

    return join


_JOINS: Mapping[str, tuple[str, Join]] = {
    "backwards": ("joins the inputs from the last to the first", lambda parts, axis: np.concatenate(parts[::-1], axis=axis)),
    "at-equal-steps": ("puts each input where it would be if all were as long as the first", _at_equal_steps),
    "first-twice": ("reads the first input for the second, where it is as long", _first_again(1)),
    "first-after-8": ("reads the first input for all beyond the eighth that are as long", _first_again(8)),
}
"""What is computed for the parts and the axis."""

_STARTS: Mapping[str, tuple[str, Callable[[int, int], int]]] = {
    "at-equal-steps": (
        "begins each output where it would if those before it were as long",
        lambda start, size: -(-start // size) * size,
    ),
    "one-late": ("begins each output but the first an element late", lambda start, size: start + (start > 0)),
    "one-early": ("begins each output but the first an element early", lambda start, size: max(start - 1, 0)),
    "all-from-0": ("begins every output at the beginning", lambda start, size: 0),
}
"""Where an output begins that is so long, in the place of where it does."""


def _join_as(join: Join) -> Any:
    return lambda right, xp, parts, axis: join(parts, axis)


def _begin_at(begin: Callable[[int, int], int]) -> Any:
    def part(right: Any, xp: Any, x: Array, axis: int, start: int, size: int) -> Array:
        found: Array = right(xp, x, axis, min(begin(start, size), x.shape[axis] - size), size)
        return found

    return part


JOINS: Faults = {label: Fault(does, stages={"data_movement.join": _join_as(join)}) for label, (does, join) in _JOINS.items()}
PARTS: Faults = {label: Fault(does, stages={"data_movement.part": _begin_at(begin)}) for label, (does, begin) in _STARTS.items()}

FAULTS: Table = {"JOIN": JOINS, "SPLIT": PARTS}
