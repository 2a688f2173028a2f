"""Faults of the place of an extreme: ARGMIN, ARGMAX, and REDUCE with these functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.reduction_rows import row_axes, rows_of
from dmlcts.conformance.mutants.old.fault import (
    FLOATS,
    HALF,
    LONG,
    SIGNED,
    SINGLE,
    UNSIGNED,
    WIDE,
    Computed,
    Fault,
    as_signed,
    as_unsigned,
    of_result,
)
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED


def is_largest(desc: OperatorDesc) -> bool:
    """Whether the largest element is looked for."""
    return "ARGMAX" in (desc.type, desc.fields.get("Function"))


def is_last(desc: OperatorDesc) -> bool:
    """Whether of equal elements the last is taken."""
    return desc.fields.get("AxisDirection") == "DECREASING"


def place(rows: Array, largest: bool, last: bool) -> Array:
    """The place of the extreme in each row."""
    find = np.argmax if largest else np.argmin
    found: Array = rows.shape[1] - 1 - find(rows[:, ::-1], axis=1) if last else find(rows, axis=1)
    return found


def of_keys(key: Callable[[Array], Array]) -> Computed:
    """The place of the extreme among other numbers than the elements."""
    return _placed(lambda desc, rows: place(key(rows), is_largest(desc), is_last(desc)))


def _placed(function: Callable[[OperatorDesc, Array], Any]) -> Computed:
    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        return np.asarray(function(desc, rows_of(desc, inputs["InputTensor"]))).reshape(right.shape)

    return computed


def _begun(number: float) -> Computed:
    """Where the search begins with a number, and the first place: nothing worse is ever found."""

    def found(desc: OperatorDesc, rows: Array) -> Array:
        key = np.maximum(rows, rows.dtype.type(number)) if is_largest(desc) else np.minimum(rows, rows.dtype.type(number))
        return place(key, is_largest(desc), is_last(desc))

    return _placed(found)


def _without(which: Callable[[Array], Array]) -> Computed:
    """Where some elements are passed over."""

    def found(desc: OperatorDesc, rows: Array) -> Array:
        worst = -np.inf if is_largest(desc) else np.inf
        return place(np.where(which(rows), worst, rows.astype("f8")), is_largest(desc), is_last(desc))

    return _placed(found)


def _in_lanes(lanes: int) -> Computed:
    """Where each of some threads goes through every so manieth element, and of equals that of the first thread is taken."""

    def found(desc: OperatorDesc, rows: Array) -> Array:
        order = np.argsort(np.arange(rows.shape[1]) % lanes, kind="stable")
        return order[place(rows[:, order], is_largest(desc), is_last(desc))]

    return _placed(found)


def _in_parts(length: int) -> Computed:
    """Where rows are cut into parts, and of parts with equals the last is taken: the first where the last is asked for."""

    def found(desc: OperatorDesc, rows: Array) -> Array:
        parts = -(np.arange(rows.shape[1]) // length)
        order = np.argsort(parts, kind="stable")
        return order[place(rows[:, order], is_largest(desc), is_last(desc))]

    return _placed(found)


def _sizes(desc: OperatorDesc, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(desc.tensor("InputTensor").sizes[axis] for axis in axes)


def _along(which: int) -> Computed:
    """The place along one of a row's dimensions."""

    def changed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        axes = row_axes(desc)
        return np.unravel_index(right, _sizes(desc, axes))[which] if axes else right

    return changed


def _counted(order: Callable[[OperatorDesc, tuple[int, ...]], tuple[int, ...]]) -> Computed:
    """The place counted with the dimensions of a row in another order."""

    def changed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        axes = row_axes(desc)
        if not axes:
            return right
        found, other = np.unravel_index(right, _sizes(desc, axes)), order(desc, axes)
        return np.ravel_multi_index(tuple(found[axes.index(axis)] for axis in other), _sizes(desc, other))

    return changed


def _as_given(desc: OperatorDesc, axes: tuple[int, ...]) -> tuple[int, ...]:
    given = desc.fields["Axes"]
    assert isinstance(given, tuple)
    return tuple(dict.fromkeys(given))


def _in_tensor(desc: OperatorDesc, rows: Array, inputs: Mapping[str, Array], right: Array) -> Array:
    places = rows_of(desc, np.arange(inputs["InputTensor"].size).reshape(inputs["InputTensor"].shape))
    return np.take_along_axis(places, right.reshape(-1, 1).astype("i8"), axis=1).reshape(right.shape)


def _bfloat16(rows: Array) -> Array:
    bits = rows.astype("f4").view("u4") & np.uint32(0xFFFF0000)
    return bits.view("f4")


def _told_apart(rows: Array) -> Array:
    """Zeros of either sign beside one another, as 0 and the least number there is."""
    wide = rows.astype("f8")
    return np.where((rows == 0) & np.signbit(rows), -np.finfo("f8").tiny, wide)


Key = Callable[[Array], Array]
"""Rows -> the numbers that are compared for their elements."""

KEYS: Mapping[str, tuple[str, Key, tuple[str, ...]]] = {
    "of-magnitudes": ("compares magnitudes", np.abs, FLOATS + SIGNED),
    "in-float16": ("compares in FLOAT16", lambda rows: rows.astype("f2"), SINGLE),
    "in-bfloat16": ("compares the first 16 bits of FLOAT32", _bfloat16, SINGLE + HALF),
    "in-float32": ("compares integers in FLOAT32", lambda rows: rows.astype("f4"), WIDE),
    "in-float64": ("compares 64-bit integers in FLOAT64", lambda rows: rows.astype("f8"), LONG),
    "signed": ("takes unsigned numbers for signed ones", as_signed, UNSIGNED),
    "unsigned": ("takes signed numbers for unsigned ones", as_unsigned, SIGNED),
    "by-bits": ("compares the bits of floats as integers", as_signed, FLOATS),
    "low-32-bits": ("compares the low 32 bits", lambda rows: rows & rows.dtype.type(0xFFFFFFFF), LONG),
    "high-32-bits": ("compares the high 32 bits", lambda rows: rows >> rows.dtype.type(32), LONG),
    "low-byte": ("compares the low bytes", lambda rows: rows.astype("i1"), ("INT16", "UINT16", "INT32", "UINT32")),
}
"""By name: what is compared instead of the elements, in words and as a function, and the types."""

PLACES: Mapping[str, Fault] = {
    # which element
    "other-extreme": Fault(
        "looks for the other extreme", _placed(lambda desc, rows: place(rows, not is_largest(desc), is_last(desc)))
    ),
    "other-of-equals": Fault(
        "takes the last of equals for the first, and the first for the last",
        _placed(lambda desc, rows: place(rows, is_largest(desc), not is_last(desc))),
    ),
    **{name: Fault(does, of_keys(key), types) for name, (does, key, types) in KEYS.items()},
    "begins-with-0": Fault("begins with 0, so that nothing worse is found", _begun(0)),
    "begins-with-1": Fault("begins with 1, so that nothing worse is found", _begun(1)),
    "infinity-passed-over": Fault("passes over infinities", _without(np.isinf), FLOATS, basis=MEASURED),
    "zeros-told-apart": Fault("takes -0 for less than 0", of_keys(_told_apart), FLOATS, basis=MEASURED),
    "lanes-of-4": Fault("takes of equals the first of a vector of 4", _in_lanes(4)),
    "lanes-of-32": Fault("takes of equals that of the first of 32 threads", _in_lanes(32)),
    "lanes-of-256": Fault("takes of equals that of the first of 256 threads", _in_lanes(256)),
    "parts-of-2": Fault("takes of equals the first of the last pair", _in_parts(2)),
    "parts-of-256": Fault("takes of equals the first in the last part of 256", _in_parts(256)),
    "parts-of-1024": Fault("takes of equals the first in the last part of 1,024", _in_parts(1024)),
    # what its place is
    "counted-from-1": Fault("counts places from 1", of_result(lambda right: right + right.dtype.type(1))),
    "in-tensor": Fault(
        "gives the place in the whole tensor",
        lambda desc, inputs, right: _in_tensor(desc, rows_of(desc, inputs["InputTensor"]), inputs, right),
    ),
    "along-last-axis": Fault("gives the place along the last of several dimensions", _along(-1)),
    "along-first-axis": Fault("gives the place along the first of several dimensions", _along(0)),
    "column-major": Fault("counts places column by column", _counted(lambda desc, axes: axes[::-1])),
    "in-order-of-Axes": Fault("counts places in the order that Axes are given in", _counted(_as_given)),
    "element": Fault("gives the element", lambda desc, inputs, right: _element(desc, inputs["InputTensor"], right)),
    "8-bits": Fault("keeps places in 8 bits", of_result(lambda right: right & right.dtype.type(0xFF))),
    "in-part-of-64": Fault("gives the place in a part of 64", of_result(lambda right: right % right.dtype.type(64))),
    "in-part-of-1024": Fault("gives the place in a part of 1,024", of_result(lambda right: right % right.dtype.type(1024))),
    "16-bits": Fault("keeps places in 16 bits", of_result(lambda right: right & right.dtype.type(0xFFFF))),
    "16-bits-signed": Fault("keeps places in 16 bits with a sign", of_result(lambda right: right.astype("i2"))),
    "as-float16": Fault("keeps places as FLOAT16", of_result(lambda right: right.astype("f2").astype("f8"))),
    "high-half-doubled": Fault(
        "writes a place into both halves of 64 bits",
        of_result(lambda right: right | right << right.dtype.type(32)),
        when=lambda desc: desc.tensor("OutputTensor").data_type in LONG,
    ),
}
"""For rows of any operator that gives places."""


def _element(desc: OperatorDesc, x: Array, right: Array) -> Array:
    return np.take_along_axis(rows_of(desc, x), right.reshape(-1, 1).astype("i8"), axis=1).reshape(right.shape)


DIRECTIONS: Mapping[str, Fault] = {
    "counted-from-the-end": Fault(
        "counts places from the end where DECREASING",
        lambda desc, inputs, right: (
            right.dtype.type(rows_of(desc, inputs["InputTensor"]).shape[1] - 1) - right if is_last(desc) else right
        ),
    ),
    "direction-as-extreme": Fault(
        "looks for the other extreme where DECREASING",
        _placed(lambda desc, rows: place(rows, is_largest(desc) != is_last(desc), False)),
    ),
    "directions-of-last-axis": Fault(
        "takes the last of equals along the last dimension alone",
        lambda desc, inputs, right: _last_of_last(desc, inputs["InputTensor"], right),
    ),
}
"""Of operators with AxisDirection."""


def _last_of_last(desc: OperatorDesc, x: Array, right: Array) -> Any:
    axes = row_axes(desc)
    if not is_last(desc) or not axes:
        return right
    rows = rows_of(desc, x)
    first, length = place(rows, is_largest(desc), False), x.shape[axes[-1]]
    inner = np.take_along_axis(rows.reshape(len(rows), -1, length), (first // length)[:, None, None], axis=1)[:, 0]
    return (first // length * length + place(inner, is_largest(desc), True)).reshape(right.shape)
