"""Faults of comparisons, extremes and logic, of tests for NaN and infinity, and of the choice by a condition."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.elements import (
    Types,
    as_signed,
    as_unsigned,
    function,
    low,
    operands,
    result,
    step,
    stored,
    table,
)
from dmlcts.conformance.mutants.fault import (
    FLOATS,
    INTEGERS,
    LONG,
    PRECISIONS,
    SIGNED,
    SINGLE,
    UNSIGNED,
    WIDE,
    Fault,
    Faults,
    Table,
)
from dmlcts.reference.answer import Array

Seen = Callable[[Array], Array]


def _in_order(x: Array) -> Array:
    """Floats in the order of their bits, from -0 below 0 on."""
    return np.where(as_signed(x) < 0, as_signed(x) ^ np.iinfo(as_signed(x).dtype).max, as_signed(x))


def _without_denormals(x: Array) -> Array:
    return np.where(np.abs(x) < np.finfo(x.dtype).smallest_normal, 0, x)


_SEEN: Mapping[str, tuple[str, Seen, Types]] = {
    **{label: (f"compares in {type_}", rounding, types) for label, (type_, types, rounding) in PRECISIONS.items()},
    "in-float32": ("compares integers in FLOAT32", np.float32, WIDE),
    "in-float64": ("compares integers in FLOAT64", np.float64, LONG),
    "low-32-bits": ("compares the low 32 bits", low(32), LONG),
    "high-32-bits": ("compares the high 32 bits", lambda x: x >> 32, LONG),
    "low-bytes": ("compares the lowest bytes", low(8), ("INT16", "UINT16", *WIDE)),
    "of-magnitudes": ("compares magnitudes", np.abs, FLOATS),
    "of-integer-parts": ("compares integer parts", np.trunc, FLOATS),
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


def _difference(right: Any, f: Any, xp: Any, a: Array, b: Array) -> Array:
    return right(f, xp, as_signed(a - b), 0)


def _nearer(does: str, near: Callable[[Array, Array], Array]) -> Fault:
    """Treats as equal what is near."""
    stages = {"element_wise.function": lambda right, f, xp, a, b: right(f, xp, np.where(near(a, b), b, a), b)}
    return Fault(does, types=FLOATS, stages=stages)


def _extreme(before: Any, of_both: Any) -> Faults:
    """NaN beside a number: DirectML.dll gives the number."""
    return {
        label: stored(does, lambda y, a, b, seen=seen: np.where(before(seen(a), seen(b)), a, b), types)
        for label, (does, seen, types) in {**_SEEN, **_IN_ORDER}.items()
    } | {
        "by-difference": function("tests the difference", lambda a, b: np.where(before(as_signed(a - b), 0), a, b), INTEGERS),
        "propagates-nan": function("gives NaN where one operand is NaN", of_both, FLOATS),
        "nan-for-nan-in-b": function("gives NaN where B is NaN", lambda a, b: np.where(before(a, b), a, b), FLOATS),
        "nan-for-nan-in-a": function("gives NaN where A is NaN", lambda a, b: np.where(before(b, a), b, a), FLOATS),
    }


_TRUE: Faults = {
    "lowest-bit": step("tests the lowest bits alone", "element_wise.truth", lambda x: x & 1 != 0),
    "one-alone": step("treats 1 alone as true", "element_wise.truth", lambda x: x == 1),
    "beyond-1": step("treats what is beyond 1 as true", "element_wise.truth", lambda x: x > 1),
    "positive": step("treats what has the highest bit as false", "element_wise.truth", lambda x: as_signed(x) > 0),
    "without-top-bit": step("does not test the highest bit", "element_wise.truth", lambda x: x & (np.iinfo(x.dtype).max >> 1) != 0),
    "all-ones-alone": step("treats all ones alone as true", "element_wise.truth", lambda x: x == np.iinfo(x.dtype).max),
}
"""What counts as true."""

_TRUE_OF_32_BITS: Faults = {
    "lowest-byte": step("tests the lowest bytes alone", "element_wise.truth", lambda x: x & 0xFF != 0, ("UINT32",)),
    "lowest-half": step("tests the low 16 bits alone", "element_wise.truth", lambda x: x & 0xFFFF != 0, ("UINT32",)),
    "as-float": step(
        "treats the bits as FLOAT32 without denormals",
        "element_wise.truth",
        lambda x: _without_denormals(x.view("f4")) != 0,
        ("UINT32",),
    ),
}


def _of_bits(combined: Callable[..., Array]) -> Faults:
    return {"bits-not-zero": stored("combines bits and gives 1 where one is set", lambda y, *inputs: combined(*inputs) != 0)}


def _fours(y: Array, c: Array, a: Array, b: Array) -> Array:
    return np.where(np.repeat(c.reshape(-1)[::4], 4)[: c.size].reshape(c.shape) != 0, a, b)


# NaN and infinity


def _mantissa(x: Array) -> Array:
    """The bits below the exponent."""
    return low(np.finfo(x.dtype).nmant)(as_unsigned(x))


def _is_largest(x: Array) -> Array:
    return np.abs(x) == np.finfo(x.dtype).max


def _infinite(does: str, which: Seen) -> Fault:
    """What counts as infinite, too."""
    return operands(does, lambda x: np.where(which(x), np.copysign(np.inf, x), x))


_FAULTS: Table = {
    "LOGICAL_* IS_*": {
        "all-ones": stored("gives all ones for what is true", lambda y, *_: np.where(y, np.iinfo(y.dtype).max, 0)),
        "float-one": stored("gives FLOAT32's 1", lambda y, *_: np.where(y, 0x3F800000 & np.iinfo(y.dtype).max | 0x3C, 0)),
    },
    "LOGICAL_EQUALS LOGICAL_*_THAN*": {
        **{label: operands(does, seen, types) for label, (does, seen, types) in _SEEN.items()},
        "within-a-millionth": _nearer("treats what differs by a millionth as equal", lambda a, b: np.abs(a - b) < 1e-6),
        "within-an-ulp": _nearer(
            "treats neighboring numbers as equal", lambda a, b: np.abs(a - b) <= np.spacing(np.maximum(np.abs(a), np.abs(b)))
        ),
        "true-for-nan": result("gives 1 where an operand is NaN", lambda y, a, b: y | np.isnan(a) | np.isnan(b), FLOATS),
        "zeros-differ": operands(
            "treats -0 as less than 0", lambda x: np.where((x == 0) & np.signbit(x), -np.finfo(x.dtype).tiny, x), FLOATS
        ),
    },
    "LOGICAL_*_THAN*": {
        **{label: operands(does, seen, types) for label, (does, seen, types) in _IN_ORDER.items()},
        "by-difference": Fault("tests the difference, which wraps", types=INTEGERS, stages={"element_wise.function": _difference}),
    },
    "MAX": _extreme(np.greater, np.maximum),
    "MIN": _extreme(np.less, np.minimum),
    "LOGICAL_AND LOGICAL_OR LOGICAL_XOR LOGICAL_NOT": {**_TRUE, **_TRUE_OF_32_BITS},
    "LOGICAL_AND": _of_bits(operator.and_),
    "LOGICAL_XOR": _of_bits(operator.xor),
    "LOGICAL_NOT": _of_bits(operator.invert),
    "IF": {
        **_TRUE,
        "condition-of-fours": stored("reads one condition for every four elements", _fours),
        "blends": stored(
            "multiplies by the truth and adds",
            lambda y, c, a, b: a * (c != 0).astype(a.dtype) + b * (c == 0).astype(b.dtype),
            FLOATS,
        ),
        "blends-by-number": stored(
            "multiplies by the condition as a number", lambda y, c, a, b: a * c.astype(a.dtype) + b * (c == 0).astype(b.dtype)
        ),
        "bits-by-mask": stored("combines by a mask", lambda y, c, a, b: b ^ ((a ^ b) & c.astype(a.dtype)), UNSIGNED + SIGNED),
    },
    "IS_NAN": {
        "infinities-too": function("gives 1 for infinities too", lambda x: ~np.isfinite(x)),
        "quiet-alone": result("misses signalling NaN", lambda y, x: y & (_mantissa(x) >= 1 << (np.finfo(x.dtype).nmant - 1))),
        "positive-alone": result("misses NaN with a sign", lambda y, x: y & ~np.signbit(x)),
        "canonical-alone": result("knows one NaN", lambda y, x: y & (_mantissa(x) == 1 << (np.finfo(x.dtype).nmant - 1))),
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
