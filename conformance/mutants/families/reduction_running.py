"""Faults of running sums and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.rows import along_wrong_axis
from dmlcts.conformance.mutants.fault import FLOATS, HALF, LONG, SINGLE, WIDE, Array, Fault, Table, after, as_float16
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

Totals = Callable[[Array, str], Array]
"""(runs along the last dimension, operation) -> totals that have each element in them."""

_JOIN: Mapping[str, tuple[Callable[..., Array], np.ufunc, int]] = {
    "sum": (np.cumsum, np.add, 0),
    "product": (np.cumprod, np.multiply, 1),
}
"""By operation: the right totals, what joins two, what joins to nothing."""


def _is(direction: str) -> Callable[[OperatorDesc], bool]:
    return lambda desc: desc.fields["AxisDirection"] == direction


def _running(totals: Totals) -> Mapping[str, Instead]:
    return {"reduction.running": lambda right, xp, x, operation: totals(x, operation)}


def _of(change: Callable[[Array], Array]) -> Mapping[str, Instead]:
    """The right totals of changed runs, in the type that these have."""
    return {"reduction.running": lambda right, xp, x, operation: right(xp, change(x), operation)}


def _without(place: int) -> Mapping[str, Instead]:
    """Totals that one element is not in."""

    def totals(x: Array, operation: str) -> Array:
        join, _, first = _JOIN[operation]
        x = x.copy()
        x[..., place] = first
        return join(x, axis=-1, dtype=x.dtype)

    return _running(totals)


def _parts(length: int, carry: Callable[[Array, str], Array]) -> Mapping[str, Instead]:
    """Totals of parts of a length, joined with what is carried, made from the parts' own totals."""

    def totals(x: Array, operation: str) -> Array:
        (join, two, first), count = _JOIN[operation], x.shape[-1]
        if count <= length:
            return join(x, axis=-1, dtype=x.dtype)
        padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -count % length)], constant_values=x.dtype.type(first))
        parts = join(padded.reshape(*x.shape[:-1], -1, length), axis=-1, dtype=x.dtype)
        found: Array = two(parts, carry(parts[..., -1], operation)[..., None])
        return found.reshape(padded.shape)[..., :count]

    return _running(totals)


def _shifted(totals: Array, first: float) -> Array:
    return np.concatenate([np.full_like(totals[..., :1], first), totals[..., :-1]], axis=-1)


def _last(window: Callable[[int], int]) -> Mapping[str, Instead]:
    """Totals of the last so many elements alone."""

    def totals(x: Array, operation: str) -> Array:
        _, two, first = _JOIN[operation]
        found, shifted = x, x
        for _ in range(1, min(window(x.shape[-1]), x.shape[-1])):
            shifted = _shifted(shifted, first)
            found = two(found, shifted)
        return found

    return _running(totals)


def _flat(x: Array, operation: str) -> Array:
    return _JOIN[operation][0](x.reshape(-1), dtype=x.dtype).reshape(x.shape)


def _saturated(x: Array, operation: str) -> Array:
    info, (join, _, _) = np.iinfo(x.dtype), _JOIN[operation]
    exact = join(x.astype("f8"), axis=-1)
    return np.where(np.abs(exact) < info.max, join(x, axis=-1, dtype=x.dtype), np.clip(exact, info.min, info.max)).astype(x.dtype)


def _exclusive(change: Callable[..., Array]) -> Mapping[str, Instead]:
    """Of the totals, the runs and what stands before the first, other exclusive totals."""
    return {"reduction.exclusive": lambda right, xp, totals, x, first: change(totals, x, first)}


def _moved(right: Callable[..., Array], xp: Any, desc: OperatorDesc, x: Array) -> Array:
    """As for INCREASING."""
    return right(xp, desc.with_fields(AxisDirection="INCREASING"), x)


def _opposite(right: Callable[..., Array], xp: Any, totals: Array, *more: Any) -> Array:
    return np.flip(right(xp, np.flip(totals, -1), *more), -1)


def _anew(x: Array, operation: str) -> Array:
    """Each product as if the row began after the last zero before it."""
    found = x.copy()
    for at in range(1, x.shape[-1]):
        found[..., at] = np.where(x[..., at - 1] == 0, 1, found[..., at - 1]) * x[..., at]
    return found


def _by_logarithms(x: Array, operation: str) -> Array:
    logarithms = np.cumsum(np.log(np.abs(x.astype("f4"))), axis=-1, dtype="f4")
    return np.cumprod(np.sign(x), axis=-1) * np.exp(logarithms.astype("f8"))


FAULTS: Table = {
    "CUMULATIVE_*": {
        **along_wrong_axis("last-axis", "first-axis", "counted-from-the-end", "of-the-last-4"),
        "row-after-row": Fault("goes on from row to row", stages=_running(_flat)),
        **{
            f"parts-of-{n}": Fault(
                f"begins anew after {n:,} elements",
                stages=_parts(n, lambda ends, operation: np.full_like(ends, _JOIN[operation][2])),
            )
            for n in (4, 32, 64, 256, 1024, 4096)
        },
        **{
            f"carry-from-{n}": Fault(
                f"carries from parts of {n:,} elements to the next part alone",
                stages=_parts(n, lambda ends, operation: _shifted(ends, _JOIN[operation][2])),
            )
            for n in (4, 32, 256, 1024)
        },
        "carry-too-far": Fault(
            "joins parts of 32 elements with their own totals too",
            stages=_parts(32, lambda ends, operation: _JOIN[operation][0](ends, axis=-1, dtype=ends.dtype)),
        ),
        "last-step-lost": Fault(
            "leaves out the last of its doubling steps", stages=_last(lambda count: 1 << max((count - 1).bit_length() - 1, 0))
        ),
        "last-two": Fault("joins each element with the one before it alone", stages=_last(lambda count: 2)),
        "total-everywhere": Fault(
            "gives the total everywhere", stages=after("reduction.running", lambda found: found[..., -1:] + 0 * found)
        ),
        "other-operation": Fault(
            "computes products for sums, and sums for products",
            stages={"reduction.running": lambda right, xp, x, operation: right(xp, x, "product" if operation == "sum" else "sum")},
        ),
        "copied": Fault("gives the elements", stages=_running(lambda x, operation: x)),
        "running-largest": Fault("gives running maxima", stages=_running(lambda x, operation: np.maximum.accumulate(x, axis=-1))),
        "squared": Fault("takes squares", stages=_of(np.square)),
        "first-left-out": Fault("ignores the first element of a row", stages=_without(0)),
        "last-left-out": Fault("ignores the last element of a row", stages=_without(-1)),
        "begins-wrongly": Fault(
            "begins sums with 1, and products with 0",
            stages={"reduction.running": lambda right, xp, x, of: _JOIN[of][1](right(xp, x, of), x.dtype.type(1 - _JOIN[of][2]))},
        ),
        "reversed-output": Fault("turns the output alone around", stages={"reduction.along": _moved}, when=_is("DECREASING")),
        "reversed-input": Fault("turns the input alone around", stages={"reduction.back": _moved}, when=_is("DECREASING")),
        **{
            f"exclusive-{way}": Fault(
                f"puts exclusive totals one {words} in memory, whatever the direction",
                stages={"reduction.exclusive": _opposite},
                when=_is(direction),
            )
            for way, words, direction in (("forward", "further", "DECREASING"), ("backward", "back", "INCREASING"))
        },
        "exclusive-keeps-first": Fault(
            "keeps the first element in exclusive totals",
            stages=_exclusive(lambda totals, x, first: np.append(x[..., :1], totals[..., :-1], -1)),
        ),
        "exclusive-begins-wrongly": Fault(
            "begins exclusive sums with 1, and products with 0",
            stages=_exclusive(lambda totals, x, first: _shifted(totals, 1 - first)),
        ),
        "exclusive-without-first": Fault(
            "leaves out the first element for each itself", stages={**_without(0), **_exclusive(lambda totals, x, first: totals)}
        ),
        "exclusive-across-rows": Fault(
            "takes the row before for what comes before the first",
            stages=_exclusive(lambda totals, x, first: _shifted(totals.reshape(-1), first).reshape(totals.shape)),
        ),
        "exclusive-twice": Fault(
            "leaves out two elements", stages=_exclusive(lambda totals, x, first: _shifted(_shifted(totals, first), first))
        ),
        **{
            f"exclusive-ignored-{direction.lower()}": Fault(
                f"ignores that totals are exclusive where {direction}",
                stages=_exclusive(lambda totals, x, first: totals),
                when=_is(direction),
            )
            for direction in ("INCREASING", "DECREASING")
        },
        "in-float16": Fault("computes in FLOAT16", types=FLOATS, stages=_of(lambda x: x.astype("f2"))),
        "saturates": Fault("keeps totals within the type", types=("INT32", "UINT32"), stages=_running(_saturated)),
        "in-float32": Fault("computes integers in FLOAT32", types=WIDE, stages=_of(lambda x: x.astype("f4"))),
        "in-float64": Fault("computes 64-bit integers in FLOAT64", types=LONG, stages=_of(lambda x: x.astype("f8"))),
        "in-32-bits": Fault("computes 32 bits of 64", types=LONG, stages=_of(lambda x: x.astype("u4"))),
        "within-float16": Fault(
            "keeps totals within FLOAT16",
            types=HALF,
            stages=after("reduction.running", lambda totals: np.clip(totals, -65504, 65504)),
        ),
    },
    "CUMULATIVE_SUMMATION": {
        "exclusive-subtracted": Fault(
            "subtracts each element from the stored total",
            types=HALF,
            stages=_exclusive(lambda totals, x, first: as_float16(totals) - x),
        ),
        "averaged": Fault(
            "gives running averages",
            types=FLOATS,
            stages=after("reduction.running", lambda totals: totals / np.arange(1, totals.shape[-1] + 1)),
        ),
        "nan-passed-over": Fault("passes over NaN", types=FLOATS, stages=_of(lambda x: np.where(np.isnan(x), 0, x))),
    },
    "CUMULATIVE_PRODUCT": {
        "exclusive-divided": Fault(
            "divides the total by each element", types=FLOATS, stages=_exclusive(lambda totals, x, first: totals / x)
        ),
        "in-logarithms": Fault(
            "adds logarithms", types=FLOATS, stages=_running(lambda x, operation: np.exp(np.cumsum(np.log(x), axis=-1)))
        ),
        "by-logarithms": Fault("adds logarithms of magnitudes, in FLOAT32", types=SINGLE, stages=_running(_by_logarithms)),
        "zeros-passed-over": Fault("passes over zeros", stages=_of(lambda x: np.where(x == 0, 1, x).astype(x.dtype))),
        "begins-anew-at-zero": Fault("begins anew after a zero", stages=_running(_anew)),
        "nan-passed-over": Fault("passes over NaN", types=FLOATS, stages=_of(lambda x: np.where(np.isnan(x), 1, x))),
    },
}
"""What implementations of these operators get wrong."""
