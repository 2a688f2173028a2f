"""Faults of reductions along axes, whatever they make of a row, and of the places of extremes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.rows import ELEMENTS, Axes, along_wrong_axes
from dmlcts.conformance.faults.model.fault import FLOATS, LONG, SIGNED, WIDE, Array, Fault, Faults, Inputs, Table, adjust_results
from dmlcts.reference.answer import Answer
from dmlcts.reference.operators.reduction.rows import axes_of, rows
from dmlcts.reference.stage import Instead
from dmlcts.spec.model.desc import OperatorDesc

Change = Callable[[Array], Array]

# Rows


def _steps_of_1(right: Callable[..., Array], xp: Any, x: Array, axes: Axes) -> Array:
    """From each row's first element on, those that follow in memory."""
    first = right(xp, np.arange(x.size).reshape(x.shape), axes)
    return x.reshape(-1)[(first[..., :1] + np.arange(first.shape[-1])) % x.size]


_ROWS: Faults = {
    **along_wrong_axes("reduction.axes"),
    **adjust_results({"reduction.rows": ELEMENTS}),
    "steps-of-1": Fault("steps by 1 along a row, whatever its stride", stages={"reduction.rows": _steps_of_1}),
}


# Which element's place


def _signed_bits(x: Array) -> Array:
    """The elements' bits as signed integers."""
    return np.ascontiguousarray(x).view(f"i{x.dtype.itemsize}")


KEYS: Mapping[str, tuple[str, Change, tuple[str, ...]]] = {
    "of-magnitudes": ("compares magnitudes", np.abs, FLOATS + SIGNED),
    "in-float32": ("compares integers in FLOAT32", lambda row: row.astype("f4"), WIDE),
    "by-bits": ("compares the bits of floats as integers", _signed_bits, FLOATS),
    "high-32-bits": ("compares the high 32 bits", lambda row: row >> row.dtype.type(32), LONG),
}
"""By name: what is compared instead of the elements, in words and as a function, and the types."""


def _is_place(desc: OperatorDesc) -> bool:
    return desc.fields.get("Function", desc.type) in ("ARGMIN", "ARGMAX")


def _find_instead(does: str, instead: Instead, types: tuple[str, ...] = ()) -> Fault:
    """``instead(right, xp, row, function, direction, data type)``."""
    return Fault(does, types=types, stages={"reduction.place": instead}, when=_is_place)


def _compare_by(does: str, key: Callable[[Array, str], Array], types: tuple[str, ...] = ()) -> Fault:
    """Of the rows and of ARGMIN or ARGMAX, other numbers that are compared."""
    return _find_instead(does, lambda right, xp, row, function, *how: right(xp, key(row, function), function, *how), types)


def _in_order(does: str, number: Change) -> Fault:
    """Elements compared in the order of a number made of their place, so that of equals another is taken."""

    def instead(right: Callable[..., Answer], xp: Any, row: Array, *how: str) -> Answer:
        order = np.argsort(number(np.arange(row.shape[-1])), kind="stable")
        answer = right(xp, row[..., order], *how)
        return replace(answer, value=order[answer.value].astype(answer.value.dtype))

    return _find_instead(does, instead)


_PLACES: Faults = {
    **{name: _compare_by(does, lambda row, function, key=key: key(row), types) for name, (does, key, types) in KEYS.items()},  # type: ignore[misc]
    "zeros-told-apart": _compare_by(
        "treats -0 as less than 0", lambda row, function: np.where((row == 0) & np.signbit(row), -1e-300, row.astype("f8")), FLOATS
    ),
    "infinity-passed-over": _compare_by(
        "passes over infinities", lambda row, f: np.where(np.isinf(row), np.inf if f == "ARGMIN" else -np.inf, row), FLOATS
    ),
    "begins-with-0": _compare_by(
        "begins with 0, so that nothing worse is found",
        lambda row, f: (np.minimum if f == "ARGMIN" else np.maximum)(row, row.dtype.type(0)),
    ),
    "lanes-of-32": _in_order("prefers, of equals, the one in the first of 32 threads", lambda at: at % 32),
    "parts-of-1024": _in_order("prefers, of equals, the first in the last part of 1,024", lambda at: -(at // 1024)),
}


# What its place is


def _place(does: str, change: Callable[[OperatorDesc, Array, Array], Any]) -> Fault:
    """Of the desc, the input and the right places, as INT64, another number."""
    return Fault(does, lambda desc, inputs, right: change(desc, inputs["InputTensor"], right.astype("i8")), when=_is_place)


def _count_places(order: Callable[[OperatorDesc], Axes]) -> Callable[[OperatorDesc, Array, Array], Array]:
    """Places counted along a row's dimensions in another order, or along some of them."""

    def place(desc: OperatorDesc, x: Array, right: Array) -> Array:
        axes, other = axes_of(desc), order(desc)
        found = np.unravel_index(right, [x.shape[axis] for axis in axes]) if axes else ()
        return np.ravel_multi_index([found[axes.index(a)] for a in other], [x.shape[a] for a in other]) if other else right

    return place


def _given_axes(desc: OperatorDesc) -> Axes:
    axes: Any = desc.fields["Axes"]
    return tuple(dict.fromkeys(axes))


_NUMBERS: Faults = {
    "along-last-axis": _place("gives the place along the last of the axes", _count_places(lambda desc: axes_of(desc)[-1:])),
    "column-major": _place("counts places column by column", _count_places(lambda desc: axes_of(desc)[::-1])),
    "in-order-of-Axes": _place("counts places in the order of Axes", _count_places(lambda desc: _given_axes(desc))),
    "16-bits": _place("keeps places in 16 bits", lambda desc, x, at: at & 0xFFFF),
    "in-part-of-1024": _place("gives the place in a part of 1,024", lambda desc, x, at: at % 1024),
    "as-float16": _place("keeps places as FLOAT16", lambda desc, x, at: at.astype("f2").astype("f8")),
    "high-half-doubled": Fault(
        "writes a place into both halves of 64 bits",
        lambda desc, inputs, right: right | right << right.dtype.type(32),
        when=lambda desc: _is_place(desc) and desc.tensor("OutputTensor").data_type in LONG,
    ),
}


def _is_decreasing(desc: OperatorDesc) -> bool:
    return desc.fields["AxisDirection"] == "DECREASING"


def _last_along_last_axis(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    """The last of equals along the last of the axes alone, in the first of the others that has one."""
    axes, x = axes_of(desc), inputs["InputTensor"]
    if not axes:
        return right
    row = rows(np, x, axes)
    same = row == np.take_along_axis(row, right.astype("i8").reshape(row.shape[:-1])[..., None], axis=-1)
    parts = same.reshape(*same.shape[:-1], -1, x.shape[axes[-1]])
    part = np.argmax(parts.any(-1), axis=-1)[..., None]
    last = parts.shape[-1] - 1 - np.argmax(np.take_along_axis(parts, part[..., None], -2)[..., 0, ::-1], axis=-1)
    return (part[..., 0] * parts.shape[-1] + last).reshape(right.shape)


_DIRECTIONS: Faults = {
    "place-from-the-end": Fault(
        "counts places from the end where DECREASING",
        stages={
            "reduction.place": lambda right, xp, row, *how: replace(a := right(xp, row, *how), value=row.shape[-1] - 1 - a.value)
        },
        when=_is_decreasing,
    ),
    "directions-of-last-axis": Fault("applies DECREASING to the last axis alone", _last_along_last_axis, when=_is_decreasing),
}

FAULTS: Table = {"REDUCE ARGMIN ARGMAX": {**_ROWS, **_PLACES, **_NUMBERS}, "ARGMIN ARGMAX": _DIRECTIONS}
"""What implementations of these operators get wrong."""
