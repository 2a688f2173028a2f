"""Where the wrong elements of an output lie, and how large the errors are."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.reports.record.record import MOST_CELLS, ULP_BINS, ErrorMap

Array = NDArray[Any]


def error_map(tensor: str, right: Array, ulps: Array | None, defined: Array | None = None) -> ErrorMap:
    """The map of an output of which ``right`` says which elements are right, and ``ulps`` their errors. Elements that are not ``defined`` have none."""
    sizes = right.shape
    split = _split_axes(sizes)
    wrong = ~right.reshape(prod(sizes[:split]), prod(sizes[split:]))
    return ErrorMap(tensor, sizes, split, _cells(wrong), *_histograms(right, ulps, defined))


def _split_axes(sizes: tuple[int, ...]) -> int:
    """How many axes become rows: so many that rows and columns differ least in number."""
    return min(range(len(sizes)), key=lambda split: abs(prod(sizes[:split]) - prod(sizes[split:])), default=0)


def _cells(wrong: Array) -> tuple[str, ...]:
    """The share of wrong elements in each cell, in ninths."""
    rows, columns = (np.arange(min(size, MOST_CELLS)) * size // min(size, MOST_CELLS) for size in wrong.shape)
    count = np.add.reduceat(np.add.reduceat(wrong, rows, axis=0, dtype=np.int64), columns, axis=1)
    size = np.outer(np.diff(rows, append=wrong.shape[0]), np.diff(columns, append=wrong.shape[1]))
    return tuple("".join(map(str, row)) for row in (-(-9 * count // size)).tolist())


def _histograms(right: Array, ulps: Array | None, defined: Array | None) -> tuple[tuple[int, ...], ...]:
    """How many right and how many wrong elements are in each bin; nothing if no errors are measured."""
    if ulps is None:
        return ()
    errors = np.broadcast_to(ulps, right.shape)
    bins = np.searchsorted(ULP_BINS, errors) + ~np.isfinite(errors)  # without a distance: past the bin of larger errors
    counted = np.ones_like(right) if defined is None else defined
    return tuple(tuple(np.bincount(bins[of & counted], minlength=len(ULP_BINS) + 2).tolist()) for of in (right, ~right))
