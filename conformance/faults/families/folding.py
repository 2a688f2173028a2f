"""Faults of windows that are copied out into columns, and added up again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import Array, Fault, Faults, Table, roundings
from dmlcts.reference.operators.data_movement.folding import Window


def _pad_with(does: str, change: Callable[[Array, int], Array]) -> Fault:
    """Elements of the tensor in place of padding."""

    def places(right: Callable[..., tuple[Array, Array]], xp: Any, window: Window) -> tuple[Array, Array]:
        at, _ = right(xp, window)
        found = change(at, window.size)
        return found, np.ones_like(at, dtype=bool)

    return Fault(does, stages={"data_movement.window_places": places})


def _exchange_rows(right: Callable[..., Array], xp: Any, x: Array, along: list[Window]) -> Array:
    """The rows in the order of the window's elements first, then the channels."""
    columns = right(xp, x, along)
    count, rows, blocks = columns.shape
    return columns.reshape(count, x.shape[1], rows // x.shape[1], blocks).swapaxes(1, 2).reshape(columns.shape)


def _last_wins(right: Callable[..., Array], xp: Any, columns: Array, along: list[Window]) -> Array:
    """Of each row of windows that overlap along the last dimension, every stride's last alone."""
    apart = [replace(window, taps=min(window.taps, window.stride)) for window in along[-1:]]
    if apart[0].taps == along[-1].taps:
        return right(xp, columns, along)
    kept = columns.reshape(*columns.shape[:1], -1, along[-1].taps, columns.shape[2])[:, :, : apart[0].taps]
    return right(xp, kept.reshape(columns.shape[0], -1, columns.shape[2]), [*along[:-1], *apart])


def _window(does: str, **changes: int) -> Fault:
    """Windows that lie elsewhere, of which there are as many."""
    return Fault(does, stages={"data_movement.window_places": lambda right, xp, window: right(xp, replace(window, **changes))})


_PLACES: Faults = {
    "windows-side-by-side": _window("moves on by one element", stride=1),
    "windows-undilated": _window("has windows of neighbors", dilation=1),
    "windows-unpadded": _window("begins with the first element", padding=0),
}
_COPIES: Faults = {
    "padding-of-edges": _pad_with("repeats the elements at the ends as padding", lambda at, size: np.clip(at, 0, size - 1)),
    "padding-wrapped": _pad_with("wraps round at the ends", lambda at, size: at % size),
    "channels-last": Fault(
        "has the channels behind the window's elements", stages={"data_movement.window_elements": _exchange_rows}
    ),
}
_SUMS: Faults = {
    "overlap-left-out": Fault(
        "does not add up what overlaps along the last dimension", stages={"data_movement.overlap_sum": _last_wins}
    ),
    **roundings("sums", "data_movement.overlap_sum"),
}

FAULTS: Table = {"FOLD UNFOLD": _PLACES, "UNFOLD": _COPIES, "FOLD": _SUMS}
"""What implementations of these operators get wrong."""
