"""Faults of reductions: of rows, of the functions of REDUCE, and of the places of extremes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.rows import ELEMENTS, Axes, along_wrong_axes
from dmlcts.conformance.mutants.fault import (
    FLOATS,
    HALF,
    LONG,
    SIGNED,
    SINGLE,
    UNSIGNED,
    WIDE,
    Array,
    Fault,
    Faults,
    Inputs,
    Table,
    Where,
    after,
    as_bfloat16,
    as_float16,
)
from dmlcts.reference.answer import Answer
from dmlcts.reference.reduction.rows import axes_of, rows
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

Change = Callable[[Array], Array]

# Rows


def _instead(at: int, other: int) -> Change:
    """One element for another, so that places stay what they are."""

    def change(row: Array) -> Array:
        found = row.copy()
        if row.shape[-1] > 1:
            found[..., at] = row[..., other]
        return found

    return change


def _steps_of_1(right: Callable[..., Array], xp: Any, x: Array, axes: Axes) -> Array:
    """From each row's first element on, those that follow in memory."""
    first = right(xp, np.arange(x.size).reshape(x.shape), axes)
    return x.reshape(-1)[(first[..., :1] + np.arange(first.shape[-1])) % x.size]


_ROWS: Faults = {
    **along_wrong_axes("reduction.axes"),
    "no-axis": Fault("treats each element as a row", stages=after("reduction.axes", lambda axes: ())),
    **{
        name: Fault(does, stages=after("reduction.rows", change))
        for name, (does, change) in ELEMENTS.items()
        if name != "first-left-out"
    },
    "first-lost": Fault("takes the second element for the first", stages=after("reduction.rows", _instead(0, 1))),
    "last-lost": Fault("takes the one before it for the last element", stages=after("reduction.rows", _instead(-1, -2))),
    "middle-lost": Fault(
        "takes the first element for that in the middle",
        stages=after("reduction.rows", lambda row: _instead(row.shape[-1] // 2, 0)(row)),
    ),
    "side-by-side": Fault(
        "takes elements that lie side by side",
        stages={"reduction.rows": lambda right, xp, x, axes: x.reshape(right(xp, x, axes).shape)},
    ),
    "steps-of-1": Fault("steps by 1 along a row, whatever its stride", stages={"reduction.rows": _steps_of_1}),
}


# Places of extremes


def _key(does: str, key: Change, types: tuple[str, ...] = ()) -> Fault:
    """Other numbers compared than the elements."""
    return Fault(
        does, types=types, stages={"reduction.place": lambda right, xp, row, *how: right(xp, key(row), *how)}, when=_is_place
    )


def _in_order(does: str, number: Callable[[Array], Array]) -> Fault:
    """Elements compared in the order of a number made of their place, so that of equals another is taken."""

    def instead(right: Callable[..., Answer], xp: Any, row: Array, *how: str) -> Answer:
        order = np.argsort(number(np.arange(row.shape[-1])), kind="stable")
        answer = right(xp, row[..., order], *how)
        return replace(answer, value=order[answer.value].astype(answer.value.dtype))

    return Fault(does, stages={"reduction.place": instead}, when=_is_place)


def _place(does: str, change: Callable[[OperatorDesc, Array, Array], Any], when: Where | None = None) -> Fault:
    """Of the desc, the input and the right places, as INT64, another number."""
    return Fault(
        does,
        lambda desc, inputs, right: change(desc, inputs["InputTensor"], right.astype("i8")),
        when=lambda desc: _is_place(desc) and (when is None or when(desc)),
    )


def _is_place(desc: OperatorDesc) -> bool:
    return desc.fields.get("Function", desc.type) in ("ARGMIN", "ARGMAX")


def _counted(order: Callable[[OperatorDesc], Axes]) -> Callable[[OperatorDesc, Array, Array], Array]:
    """Places counted along a row's dimensions in another order, or along some of them."""

    def place(desc: OperatorDesc, x: Array, right: Array) -> Array:
        axes, other = axes_of(desc), order(desc)
        found = np.unravel_index(right, [x.shape[axis] for axis in axes]) if axes else ()
        return np.ravel_multi_index([found[axes.index(a)] for a in other], [x.shape[a] for a in other]) if other else right

    return place


def _at(desc: OperatorDesc, x: Array, right: Array) -> Array:
    """What stands at each row's place."""
    row = rows(np, x, axes_of(desc))
    return np.take_along_axis(row, right.reshape(row.shape[:-1])[..., None], axis=-1).reshape(right.shape)


def _without(number: float) -> Callable[..., Answer]:
    """Where the search begins with a number, and the first place: nothing worse is ever found."""

    def instead(right: Callable[..., Answer], xp: Any, row: Array, function: str, *how: str) -> Answer:
        limit = np.minimum if function == "ARGMIN" else np.maximum
        return right(xp, limit(row, row.dtype.type(number)), function, *how)

    return instead


def _finite(right: Callable[..., Answer], xp: Any, row: Array, function: str, *how: str) -> Answer:
    worst = np.inf if function == "ARGMIN" else -np.inf
    return right(xp, np.where(np.isinf(row), row.dtype.type(worst), row), function, *how)


def _told_apart(row: Array) -> Array:
    """Zeros of either sign beside one another, as 0 and the least number there is."""
    return np.where((row == 0) & np.signbit(row), -np.finfo("f8").tiny, row.astype("f8"))


def signed(x: Array) -> Array:
    return np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")


def _unsigned(x: Array) -> Array:
    return np.ascontiguousarray(x).view(f"u{x.dtype.itemsize}")


KEYS: Mapping[str, tuple[str, Change, tuple[str, ...]]] = {
    "of-magnitudes": ("compares magnitudes", np.abs, FLOATS + SIGNED),
    "in-float16": ("compares in FLOAT16", as_float16, SINGLE),
    "in-bfloat16": ("compares in bfloat16", as_bfloat16, SINGLE + HALF),
    "in-float32": ("compares integers in FLOAT32", lambda row: row.astype("f4"), WIDE),
    "in-float64": ("compares 64-bit integers in FLOAT64", lambda row: row.astype("f8"), LONG),
    "signed": ("treats unsigned numbers as signed ones", signed, UNSIGNED),
    "unsigned": ("treats signed numbers as unsigned ones", _unsigned, SIGNED),
    "by-bits": ("compares the bits of floats as integers", signed, FLOATS),
    "low-32-bits": ("compares the low 32 bits", lambda row: row & row.dtype.type(0xFFFFFFFF), LONG),
    "high-32-bits": ("compares the high 32 bits", lambda row: row >> row.dtype.type(32), LONG),
    "low-byte": ("compares the low bytes", lambda row: row.astype("i1"), ("INT16", "UINT16", "INT32", "UINT32")),
}
"""By name: what is compared instead of the elements, in words and as a function, and the types."""

_PLACES: Faults = {
    **{name: _key(*row) for name, row in KEYS.items()},
    "zeros-told-apart": _key("treats -0 as less than 0", _told_apart, FLOATS),
    **{
        name: Fault(does, stages={"reduction.place": instead}, types=types, when=_is_place)
        for name, does, instead, types in (
            ("begins-with-0", "begins with 0, so that nothing worse is found", _without(0), ()),
            ("begins-with-1", "begins with 1, so that nothing worse is found", _without(1), ()),
            ("infinity-passed-over", "passes over infinities", _finite, FLOATS),
        )
    },
    **{
        f"lanes-of-{n}": _in_order(f"takes of equals that of the first of {n} threads", lambda at, n=n: at % n)
        for n in (4, 32, 256)
    },
    **{
        f"parts-of-{n}": _in_order(f"takes of equals the first of the last {n}", lambda at, n=n: -(at // n)) for n in (2, 256, 1024)
    },
    "other-of-equals": Fault(
        "takes the last of equals for the first, and the first for the last",
        stages={"reduction.place": lambda right, xp, row, function, direction, to: right(xp, row, function, _OTHER[direction], to)},
        when=_is_place,
    ),
    "other-extreme": Fault(
        "looks for the other extreme",
        stages={"reduction.place": lambda right, xp, row, function, direction, to: right(xp, row, _OTHER[function], direction, to)},
        when=_is_place,
    ),
    "place-from-1": _place("counts places from 1", lambda desc, x, at: at + 1),
    "in-tensor": _place(
        "gives the place in the whole tensor", lambda desc, x, at: _at(desc, np.arange(x.size).reshape(x.shape), at)
    ),
    "along-last-axis": _place("gives the place along the last of the axes", _counted(lambda desc: axes_of(desc)[-1:])),
    "along-first-axis": _place("gives the place along the first of the axes", _counted(lambda desc: axes_of(desc)[:1])),
    "column-major": _place("counts places column by column", _counted(lambda desc: axes_of(desc)[::-1])),
    "in-order-of-Axes": _place(
        "counts places in the order of Axes", _counted(lambda desc: tuple(dict.fromkeys(desc.fields["Axes"])))
    ),
    "element": _place("gives the element", _at),
    "8-bits": _place("keeps places in 8 bits", lambda desc, x, at: at & 0xFF),
    "16-bits": _place("keeps places in 16 bits", lambda desc, x, at: at & 0xFFFF),
    "16-bits-signed": _place("keeps places in 16 bits with a sign", lambda desc, x, at: at.astype("i2")),
    "in-part-of-64": _place("gives the place in a part of 64", lambda desc, x, at: at % 64),
    "in-part-of-1024": _place("gives the place in a part of 1,024", lambda desc, x, at: at % 1024),
    "as-float16": _place("keeps places as FLOAT16", lambda desc, x, at: at.astype("f2").astype("f8")),
    "high-half-doubled": _place(
        "writes a place into both halves of 64 bits",
        lambda desc, x, at: at | at << 32,
        when=lambda desc: desc.tensor("OutputTensor").data_type in LONG,
    ),
}

_OTHER = {"ARGMIN": "ARGMAX", "ARGMAX": "ARGMIN", "INCREASING": "DECREASING", "DECREASING": "INCREASING"}


def _direction(does: str, instead: Instead) -> Fault:
    return Fault(does, stages={"reduction.place": instead}, when=lambda desc: desc.fields["AxisDirection"] == "DECREASING")


def _last_along_last_axis(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    """The last of equals along the last of the axes alone, in the first of the others that has one."""
    axes, x = axes_of(desc), inputs["InputTensor"]
    if not axes:
        return right
    row, length = rows(np, x, axes), x.shape[axes[-1]]
    parts = row.reshape(*row.shape[:-1], -1, length)
    same = parts == np.take_along_axis(row, right.reshape(row.shape[:-1])[..., None].astype("i8"), -1)[..., None]
    part = np.argmax(same.any(-1), axis=-1)
    inner = np.take_along_axis(same, part[..., None, None], -2)[..., 0, :]
    return (part * length + length - 1 - np.argmax(inner[..., ::-1], axis=-1)).reshape(right.shape)


_DIRECTIONS: Faults = {
    "place-from-the-end": _direction(
        "counts places from the end where DECREASING",
        lambda right, xp, row, *how: replace(answer := right(xp, row, *how), value=row.shape[-1] - 1 - answer.value),
    ),
    "direction-as-extreme": _direction(
        "looks for the other extreme where DECREASING",
        lambda right, xp, row, function, direction, to: right(xp, row, _OTHER[function], "INCREASING", to),
    ),
    "directions-of-last-axis": Fault(
        "takes the last of equals along the last axis alone",
        _last_along_last_axis,
        when=lambda desc: desc.fields["AxisDirection"] == "DECREASING",
    ),
}


FAULTS: Table = {
    "REDUCE ARGMIN ARGMAX": {**_ROWS, **_PLACES},
    "ARGMIN ARGMAX": _DIRECTIONS,
}
"""What implementations of these operators get wrong."""
