"""Faults of running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.rows import along_wrong_axis
from dmlcts.conformance.faults.model.fault import FLOATS, HALF, LONG, WIDE, Array, Fault, Faults, Steps, Table, compute_instead

Totals = Callable[[Array, str], Array]
"""(runs along the last dimension, ``sum`` or ``product``) -> totals that have each element in them."""

_JOIN: Mapping[str, tuple[np.ufunc, int]] = {"sum": (np.add, 0), "product": (np.multiply, 1)}
"""By operation: what joins two, and what joins to nothing."""


def _run(x: Array, operation: str) -> Array:
    """The right totals, in the type of the runs."""
    found: Array = _JOIN[operation][0].accumulate(x, axis=-1, dtype=x.dtype)
    return found


def _totals_of(change: Callable[[Array], Array]) -> Totals:
    """The right totals of changed runs."""
    return lambda x, operation: _run(change(x), operation)


def _shift(totals: Array, first: float) -> Array:
    return np.concatenate([np.full_like(totals[..., :1], first), totals[..., :-1]], axis=-1)


def _parts(length: int, carry: Totals) -> Totals:
    """Totals of parts of a length, joined with what is carried, made from the parts' own totals."""

    def totals(x: Array, operation: str) -> Any:
        (join, first), count = _JOIN[operation], x.shape[-1]
        padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -count % length)], constant_values=x.dtype.type(first))
        parts = _run(padded.reshape(*x.shape[:-1], -1, length), operation)
        carried = carry(parts[..., -1], operation) if count > length else np.full_like(parts[..., -1], first)
        return join(parts, carried[..., None]).reshape(padded.shape)[..., :count]

    return totals


def _saturate(x: Array, operation: str) -> Array:
    info, exact = np.iinfo(x.dtype), _run(x.astype("f8"), operation)
    return np.where(np.abs(exact) < info.max, _run(x, operation), np.clip(exact, info.min, info.max)).astype(x.dtype)


_STEPS: Steps = {
    "reduction.running": {
        **{
            f"parts-of-{n}": (f"begins anew after {n:,} elements", _parts(n, lambda ends, of: np.full_like(ends, _JOIN[of][1])))
            for n in (64, 4096)
        },
        **{
            f"carry-from-{n}": (
                f"carries from {n:,} elements to the next alone",
                _parts(n, lambda ends, of: _shift(ends, _JOIN[of][1])),
            )
            for n in (32, 1024)
        },
        "carry-too-far": ("joins parts of 32 elements with their own totals too", _parts(32, _run)),
        "in-float16": ("computes in FLOAT16", _totals_of(lambda x: x.astype("f2")), FLOATS),
        "saturates": ("keeps totals within the type", _saturate, ("INT32", "UINT32")),
        "in-float32": ("computes integers in FLOAT32", _totals_of(lambda x: x.astype("f4")), WIDE),
        "in-float64": ("computes 64-bit integers in FLOAT64", _totals_of(lambda x: x.astype("f8")), LONG),
        "within-float16": ("keeps totals within FLOAT16", lambda x, operation: np.clip(_run(x, operation), -65504, 65504), HALF),
        "nan-passed-over": ("passes over NaN", lambda x, of: _run(np.where(np.isnan(x), _JOIN[of][1], x), of), FLOATS),
    },
    "reduction.exclusive": {
        "exclusive-across-rows": (
            "starts each row with the last total of the row before",
            lambda totals, x, first: _shift(totals.reshape(-1), first).reshape(totals.shape),
        )
    },
}
_DECREASING: Faults = {
    "exclusive-the-other-way": Fault(
        "moves exclusive totals the other way where DECREASING",
        stages={"reduction.exclusive": lambda right, xp, totals, *more: np.flip(right(xp, np.flip(totals, -1), *more), -1)},
        when=lambda desc: desc.fields["AxisDirection"] == "DECREASING",
    )
}
_SUMS: Steps = {
    "reduction.exclusive": {
        "exclusive-subtracted": (
            "subtracts each element from the stored total",
            lambda totals, x, first: totals.astype("f2").astype("f8") - x,
            HALF,
        )
    }
}
_PRODUCTS: Steps = {
    "reduction.running": {"zeros-passed-over": ("passes over zeros", _totals_of(lambda x: np.where(x == 0, 1, x).astype(x.dtype)))},
    "reduction.exclusive": {
        "exclusive-divided": ("divides the total by each element", lambda totals, x, first: totals / x, FLOATS)
    },
}

FAULTS: Table = {
    "CUMULATIVE_*": {**along_wrong_axis("counted-from-the-end", "of-the-last-4"), **compute_instead(_STEPS), **_DECREASING},
    "CUMULATIVE_SUMMATION": compute_instead(_SUMS),
    "CUMULATIVE_PRODUCT": compute_instead(_PRODUCTS),
}
"""What implementations of these operators get wrong."""
