"""Faults of comparisons, extremes and logic, of tests for NaN and infinity, and of the choice by a condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.elements import (
    Types,
    as_signed,
    as_unsigned,
    change_stored,
    function,
    low,
    operands,
    result,
    step,
    table,
)
from dmlcts.conformance.faults.model.fault import FLOATS, LONG, PRECISIONS, SIGNED, SINGLE, UNSIGNED, Fault, Faults, Table
from dmlcts.reference.answer import Array

Seen = Callable[[Array], Array]


def _in_order(x: Array) -> Array:
    """Floats in the order of their bits, from -0 below 0 on."""
    return np.where(as_signed(x) < 0, as_signed(x) ^ np.iinfo(as_signed(x).dtype).max, as_signed(x))


def _without_denormals(x: Array) -> Array:
    return np.where(np.abs(x) < np.finfo(x.dtype).smallest_normal, 0, x)


_SEEN: Mapping[str, tuple[str, Seen, Types]] = {
    **{label: (f"compares in {type_}", rounding, types) for label, (type_, types, rounding) in PRECISIONS.items()},
    "in-float64": ("compares integers in FLOAT64", np.float64, LONG),
    "low-32-bits": ("compares the low 32 bits", low(32), LONG),
    "of-magnitudes": ("compares magnitudes", np.abs, FLOATS),
    "of-bits": ("compares the bits of floats in their order", _in_order, FLOATS),
    "denormals-as-zero": ("treats denormals as 0", _without_denormals, FLOATS),
}
"""What is compared in the place of both operands."""

_IN_ORDER: Mapping[str, tuple[str, Seen, Types]] = {
    "unsigned": ("compares without sign", as_unsigned, SIGNED),
    "signed": ("compares with a sign", as_signed, UNSIGNED),
    "floats-as-integers": ("compares the bits of floats as integers", as_signed, FLOATS),
}
"""What does not change whether numbers are equal."""


def _extreme(before: Any) -> Faults:
    """NaN beside a number: DirectML.dll gives the number."""
    return {
        label: change_stored(does, lambda y, a, b, seen=seen: np.where(before(seen(a), seen(b)), a, b), types)
        for label, (does, seen, types) in {**_SEEN, **_IN_ORDER}.items()
    } | {
        "nan-for-nan-in-b": function("gives NaN where B is NaN", lambda a, b: np.where(before(a, b), a, b), FLOATS),
        "nan-for-nan-in-a": function("gives NaN where A is NaN", lambda a, b: np.where(before(b, a), b, a), FLOATS),
    }


_TRUE: Faults = {
    "lowest-bit": step("tests the lowest bits alone", "element_wise.truth", lambda x: x & 1 != 0),
    "beyond-1": step("treats what is beyond 1 as true", "element_wise.truth", lambda x: x > 1),
    "without-top-bit": step("does not test the highest bit", "element_wise.truth", lambda x: x & (np.iinfo(x.dtype).max >> 1) != 0),
}
"""What counts as true."""


def _fours(y: Array, c: Array, a: Array, b: Array) -> Array:
    return np.where(np.repeat(c.reshape(-1)[::4], 4)[: c.size].reshape(c.shape) != 0, a, b)


# NaN and infinity


def _is_largest(x: Array) -> Array:
    return np.abs(x) == np.finfo(x.dtype).max


def _infinite(does: str, which: Seen) -> Fault:
    """What counts as infinite, too."""
    return operands(does, lambda x: np.where(which(x), np.copysign(np.inf, x), x))


_FAULTS: Table = {
    "LOGICAL_* IS_*": {
        "all-ones": change_stored("gives all ones for what is true", lambda y, *_: np.where(y, np.iinfo(y.dtype).max, 0))
    },
    "LOGICAL_EQUALS LOGICAL_*_THAN*": {
        **{label: operands(does, seen, types) for label, (does, seen, types) in _SEEN.items()},
        "true-for-nan": result("gives 1 where an operand is NaN", lambda y, a, b: y | np.isnan(a) | np.isnan(b), FLOATS),
        "zeros-differ": operands(
            "treats -0 as less than 0", lambda x: np.where((x == 0) & np.signbit(x), -np.finfo(x.dtype).tiny, x), FLOATS
        ),
    },
    "LOGICAL_*_THAN*": {**{label: operands(does, seen, types) for label, (does, seen, types) in _IN_ORDER.items()}},
    "MAX": _extreme(np.greater),
    "MIN": _extreme(np.less),
    "LOGICAL_AND LOGICAL_OR LOGICAL_XOR LOGICAL_NOT": {
        **_TRUE,
        "lowest-half": step("tests the low 16 bits alone", "element_wise.truth", lambda x: x & 0xFFFF != 0, ("UINT32",)),
    },
    "IF": {
        **_TRUE,
        "condition-of-fours": change_stored("reads one condition for every four elements", _fours),
        "bits-by-mask": change_stored(
            "combines by a mask", lambda y, c, a, b: b ^ ((a ^ b) & c.astype(a.dtype)), UNSIGNED + SIGNED
        ),
    },
    "IS_NAN": {
        "infinities-too": function("gives 1 for infinities too", lambda x: ~np.isfinite(x)),
        "positive-alone": result("misses NaN with a sign", lambda y, x: y & ~np.signbit(x)),
        "largest-too": result("gives 1 for the largest number", lambda y, x: y | _is_largest(x)),
        "high-half-alone": function("tests the high half of FLOAT32", lambda x: as_unsigned(x) >> 16 & 0x7FFF > 0x7F80, SINGLE),
    },
    "IS_INFINITY": {
        "nan-too": _infinite("gives 1 for NaN of such a sign", np.isnan),
        "largest-too": _infinite("gives 1 for the largest number", _is_largest),
    },
}

FAULTS = table("ELEMENT_WISE_", _FAULTS)
"""What implementations of them get wrong."""
