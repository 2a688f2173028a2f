"""Faults of running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.rows import along_wrong_axis
from dmlcts.conformance.mutants.fault import (
    FLOATS,
    HALF,
    LONG,
    SINGLE,
    WIDE,
    Array,
    Fault,
    Faults,
    Steps,
    Table,
    computed,
)
from dmlcts.spec.desc import OperatorDesc

Totals = Callable[[Array, str], Array]
"""(runs along the last dimension, ``sum`` or ``product``) -> totals that have each element in them."""

_JOIN: Mapping[str, tuple[np.ufunc, int]] = {"sum": (np.add, 0), "product": (np.multiply, 1)}
"""By operation: what joins two, and what joins to nothing."""


def _run(x: Array, operation: str) -> Array:
    """The right totals, in the type of the runs."""
    found: Array = _JOIN[operation][0].accumulate(x, axis=-1, dtype=x.dtype)
    return found


def _of(change: Callable[[Array], Array]) -> Totals:
    """The right totals of changed runs."""
    return lambda x, operation: _run(change(x), operation)


def _shifted(totals: Array, first: float) -> Array:
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


def _last(window: Callable[[int], int]) -> Totals:
    """Totals of the last so many elements alone."""

    def totals(x: Array, operation: str) -> Array:
        found = shifted = x
        for _ in range(1, min(window(x.shape[-1]), x.shape[-1])):
            shifted = _shifted(shifted, _JOIN[operation][1])
            found = _JOIN[operation][0](found, shifted)
        return found

    return totals


def _without(place: int) -> Totals:
    """Totals that one element is not in."""

    def totals(x: Array, operation: str) -> Array:
        x = x.copy()
        x[..., place] = _JOIN[operation][1]
        return _run(x, operation)

    return totals


def _saturated(x: Array, operation: str) -> Array:
    info, exact = np.iinfo(x.dtype), _run(x.astype("f8"), operation)
    return np.where(np.abs(exact) < info.max, _run(x, operation), np.clip(exact, info.min, info.max)).astype(x.dtype)


def _anew(x: Array, operation: str) -> Array:
    """Each product as if the row began after the last zero before it."""
    found = x.copy()
    for at in range(1, x.shape[-1]):
        found[..., at] = np.where(x[..., at - 1] == 0, 1, found[..., at - 1]) * x[..., at]
    return found


def _by_logarithms(x: Array, operation: str) -> Any:
    logarithms = np.cumsum(np.log(np.abs(x.astype("f4"))), axis=-1, dtype="f4")
    return np.cumprod(np.sign(x), axis=-1) * np.exp(logarithms.astype("f8"))


def _is(direction: str) -> Callable[[OperatorDesc], bool]:
    return lambda desc: desc.fields["AxisDirection"] == direction


def _as_increasing(right: Callable[..., Array], xp: Any, desc: OperatorDesc, x: Array) -> Array:
    return right(xp, desc.with_fields(AxisDirection="INCREASING"), x)


_STEPS: Steps = {
    "reduction.running": {
        "row-after-row": ("goes on from row to row", lambda x, operation: _run(x.reshape(-1), operation).reshape(x.shape)),
        **{
            f"parts-of-{n}": (f"begins anew after {n:,} elements", _parts(n, lambda ends, of: np.full_like(ends, _JOIN[of][1])))
            for n in (4, 32, 64, 256, 1024, 4096)
        },
        **{
            f"carry-from-{n}": (
                f"carries from {n:,} elements to the next alone",
                _parts(n, lambda ends, of: _shifted(ends, _JOIN[of][1])),
            )
            for n in (4, 32, 256, 1024)
        },
        "carry-too-far": ("joins parts of 32 elements with their own totals too", _parts(32, _run)),
        "last-step-lost": ("leaves out the last doubling step", _last(lambda count: 1 << max((count - 1).bit_length() - 1, 0))),
        "last-two": ("joins each element with the one before it alone", _last(lambda count: 2)),
        "total-everywhere": ("gives the total everywhere", lambda x, operation: _run(x, operation)[..., -1:] + 0 * x),
        "other-operation": (
            "exchanges sums and products",
            lambda x, operation: _run(x, "product" if operation == "sum" else "sum"),
        ),
        "copied": ("gives the elements", lambda x, operation: x),
        "running-largest": ("gives running maxima", lambda x, operation: np.maximum.accumulate(x, axis=-1)),
        "squared": ("takes squares", _of(np.square)),
        "first-left-out": ("ignores the first element of a row", _without(0)),
        "last-left-out": ("ignores the last element of a row", _without(-1)),
        "begins-wrongly": (
            "begins sums with 1, and products with 0",
            lambda x, of: _JOIN[of][0](_run(x, of), x.dtype.type(1 - _JOIN[of][1])),
        ),
        "in-float16": ("computes in FLOAT16", _of(lambda x: x.astype("f2")), FLOATS),
        "saturates": ("keeps totals within the type", _saturated, ("INT32", "UINT32")),
        "in-float32": ("computes integers in FLOAT32", _of(lambda x: x.astype("f4")), WIDE),
        "in-float64": ("computes 64-bit integers in FLOAT64", _of(lambda x: x.astype("f8")), LONG),
        "in-32-bits": ("computes 32 bits of 64", _of(lambda x: x.astype("u4")), LONG),
        "within-float16": ("keeps totals within FLOAT16", lambda x, operation: np.clip(_run(x, operation), -65504, 65504), HALF),
        "nan-passed-over": ("passes over NaN", lambda x, of: _run(np.where(np.isnan(x), _JOIN[of][1], x), of), FLOATS),
    },
    "reduction.exclusive": {
        "exclusive-keeps-first": ("keeps the first element", lambda totals, x, first: np.append(x[..., :1], totals[..., :-1], -1)),
        "exclusive-begins-wrongly": (
            "begins exclusive sums with 1, products with 0",
            lambda totals, x, first: _shifted(totals, 1 - first),
        ),
        "exclusive-across-rows": (
            "takes the row before for what comes before the first",
            lambda totals, x, first: _shifted(totals.reshape(-1), first).reshape(totals.shape),
        ),
        "exclusive-twice": ("leaves out two elements", lambda totals, x, first: _shifted(_shifted(totals, first), first)),
    },
}
_DIRECTED: Faults = {
    label.format(direction.lower()): Fault(f"{does} where {direction}", stages={stage: instead}, when=_is(direction))
    for label, does, stage, instead, directions in (
        ("reversed-output-{}", "turns the output alone around", "reduction.along", _as_increasing, ("DECREASING",)),
        ("reversed-input-{}", "turns the input alone around", "reduction.back", _as_increasing, ("DECREASING",)),
        (
            "exclusive-the-other-way-{}",
            "moves exclusive totals the other way",
            "reduction.exclusive",
            lambda right, xp, totals, *more: np.flip(right(xp, np.flip(totals, -1), *more), -1),
            ("INCREASING", "DECREASING"),
        ),
        (
            "exclusive-ignored-{}",
            "ignores that totals are exclusive",
            "reduction.exclusive",
            lambda right, xp, totals, *more: totals,
            ("INCREASING", "DECREASING"),
        ),
    )
    for direction in directions
}
_SUMS: Steps = {
    "reduction.running": {
        "averaged": ("gives running averages", lambda x, of: _run(x, of) / np.arange(1, x.shape[-1] + 1), FLOATS)
    },
    "reduction.exclusive": {
        "exclusive-subtracted": (
            "subtracts each element from the stored total",
            lambda totals, x, first: totals.astype("f2").astype("f8") - x,
            HALF,
        ),
    },
}
_PRODUCTS: Steps = {
    "reduction.running": {
        "in-logarithms": ("adds logarithms", lambda x, operation: np.exp(np.cumsum(np.log(x), axis=-1)), FLOATS),
        "by-logarithms": ("adds logarithms of magnitudes, in FLOAT32", _by_logarithms, SINGLE),
        "zeros-passed-over": ("passes over zeros", _of(lambda x: np.where(x == 0, 1, x).astype(x.dtype))),
        "begins-anew-at-zero": ("begins anew after a zero", _anew),
    },
    "reduction.exclusive": {
        "exclusive-divided": ("divides the total by each element", lambda totals, x, first: totals / x, FLOATS)
    },
}

FAULTS: Table = {
    "CUMULATIVE_*": {
        **along_wrong_axis("last-axis", "first-axis", "counted-from-the-end", "of-the-last-4"),
        **computed(_STEPS),
        **_DIRECTED,
    },
    "CUMULATIVE_SUMMATION": computed(_SUMS),
    "CUMULATIVE_PRODUCT": computed(_PRODUCTS),
}
"""What implementations of these operators get wrong."""
