"""Faults of indices: what they count from, the order of what is ranked, and what is written where."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import FLOATS, LONG, SIGNED, WIDE, Array, Steps, Table, compute_instead
from dmlcts.reference.answer import Answer


def _count_places(indices: Array, size: int, before: int = 0) -> Array:
    """Places from either end; those of negative indices ``before`` the right ones."""
    if indices.dtype.kind == "u":
        return np.asarray(np.minimum(indices, indices.dtype.type(size)), np.int64)
    found = indices.astype(np.int64)
    return np.asarray(np.clip(np.where(found < 0, found + size - before, found), -1, size))


_PLACES: Steps = {
    "indexing.places": {
        "negative-as-first": ("takes negative indices for 0", lambda i, size: np.minimum(np.maximum(i, 0), size).astype(np.int64)),
        "negative-one-before": ("treats -1 as the last index but one", lambda i, size: _count_places(i, size, before=1)),
        "negative-without-sign": ("takes -1 for 1", lambda i, size: np.clip(np.abs(i.astype(np.int64)), -1, size)),
        "indices-of-8-bits": ("takes the lower 8 bits of a place", lambda i, size: _count_places(i, size) & 0xFF),
    },
}
_LIMITED: Steps = {
    "indexing.places": {
        "beyond-as-last": (
            "treats an index beyond the end as the last one",
            lambda i, size: np.minimum(_count_places(i, size), size - 1),
        ),
    },
}


def _order(rows: Array, direction: str) -> Array:
    """The right order: in either direction, equal elements in the order of their places."""
    if direction == "INCREASING":
        return np.argsort(rows, axis=-1, kind="stable")
    return np.asarray(rows.shape[-1] - 1 - np.flip(np.argsort(np.flip(rows, axis=-1), axis=-1, kind="stable"), axis=-1))


def _last_of_equals(rows: Array, direction: str) -> Array:
    return np.asarray(rows.shape[-1] - 1 - _order(np.flip(rows, axis=-1), direction))


def _in_blocks(rows: Array, direction: str) -> Array:
    """The first 1,024 elements in order, and the others behind them."""
    head = _order(rows[..., :1024], direction)
    rest = np.arange(head.shape[-1], rows.shape[-1])
    return np.concatenate((head, np.broadcast_to(rest, (*rows.shape[:-1], len(rest)))), axis=-1)


_ORDER: Steps = {
    "indexing.order": {
        "last-of-equals": ("puts the last of equal elements first", _last_of_equals),
        "by-magnitude": ("ranks by absolute values", lambda rows, way: _order(np.abs(rows), way), FLOATS + SIGNED),
        "as-float32": ("compares integers as FLOAT32", lambda rows, way: _order(rows.astype(np.float32), way), WIDE),
        "lower-words": ("compares the lower 32 bits", lambda rows, way: _order(rows & 0xFFFFFFFF, way), LONG),
        "first-block": ("ranks the first 1,024 elements of a row", _in_blocks),
        "stored-order": ("leaves the elements where they are", lambda rows, way: np.indices(rows.shape)[-1]),
    },
}


def _write_changed(change: Any) -> Any:
    """What is written once, of an input and updates that are changed."""

    def instead(x: Array, at: Array, updates: Array) -> Answer:
        found, within = x.copy(), at >= 0
        change(found, at[within], updates[within])
        once = np.bincount(at[within], minlength=len(x)) < 2
        return Answer(found, defined=np.broadcast_to(once[:, None], x.shape))

    return instead


def _onto_zeros(found: Array, at: Array, updates: Array) -> None:
    found[:] = 0
    found[at] = updates


def _add_at(found: Array, at: Array, updates: Array) -> None:
    with np.errstate(all="ignore"):
        np.add.at(found, at, updates)


def _but_the_last(found: Array, at: Array, updates: Array) -> None:
    found[at[:-1]] = updates[:-1]


_WRITTEN: Steps = {
    "indexing.written": {
        "onto-zeros": ("has zeros where nothing is written", _write_changed(_onto_zeros)),
        "added": ("adds updates to the input", _write_changed(_add_at)),
        "last-update-lost": ("leaves out the last update", _write_changed(_but_the_last)),
    },
}
_NONZERO: Steps = {
    "indexing.nonzero": {
        "minus-zero": ("counts -0", lambda x: np.argwhere((x != 0) | np.signbit(x)), FLOATS),
        "positive-alone": ("leaves out negative numbers", lambda x: np.argwhere((x > 0) | (x != x)), FLOATS + SIGNED),
        "column-major": ("lists coordinates in column-major order", lambda x: np.argwhere(x.T)[:, ::-1]),
        "nan-is-zero": ("treats NaN as zero", lambda x: np.argwhere((x != 0) & (x == x)), FLOATS),
        "last-lost": ("leaves out the last coordinates", lambda x: np.argwhere(x)[:-1] if x.flat[-1] else np.argwhere(x)),
    },
}

FAULTS: Table = {
    "GATHER GATHER_* SCATTER SCATTER_*": compute_instead(_PLACES),
    "ONE_HOT": {**compute_instead(_PLACES), **compute_instead(_LIMITED)},
    "SCATTER SCATTER_ND": compute_instead(_WRITTEN),
    "TOP_K TOP_K1": compute_instead(_ORDER),
    "NONZERO_COORDINATES": compute_instead(_NONZERO),
}
"""What implementations of them get wrong."""
