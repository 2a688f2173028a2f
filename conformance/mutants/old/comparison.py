"""Faults in comparisons, in logic, in tests for NaN and infinity, and in the choice by a condition."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.fault import (
    FLOATS,
    LONG,
    SIGNED,
    SINGLE,
    UNSIGNED,
    WIDE,
    Computed,
    Fault,
    Faults,
    as_signed,
    as_unsigned,
    marked,
    merged,
    of_inputs,
    of_result,
    planted,
)
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

Test = Callable[[Any, Any], Any]

EQUALS = "ELEMENT_WISE_LOGICAL_EQUALS"
TESTS: Mapping[str, Test] = {
    EQUALS: operator.eq,
    "ELEMENT_WISE_LOGICAL_GREATER_THAN": operator.gt,
    "ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL": operator.ge,
    "ELEMENT_WISE_LOGICAL_LESS_THAN": operator.lt,
    "ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL": operator.le,
}

_Seen = Callable[[Array], Array]


def _by(test: Test, seen: _Seen) -> Computed:
    """A comparison of what is seen of both operands."""
    return of_inputs(lambda a, b: test(seen(a), seen(b)))


def _either_nan(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


def _total(x: Array) -> Array:
    """Floats in the order of their bits, from -0 below 0 on."""
    pattern = as_signed(x)
    return np.where(pattern < 0, pattern ^ np.iinfo(pattern.dtype).max, pattern)


_ALL: Mapping[str, Callable[[Test], Fault]] = {
    "within-a-millionth": lambda test: Fault(
        "takes numbers that differ by less than a millionth for equal",
        of_inputs(lambda a, b: test(np.where(np.abs(a - b) < 1e-6, b, a), b)),
        FLOATS,
    ),
    "within-an-ulp": lambda test: Fault(
        "takes neighbouring numbers for equal",
        of_inputs(lambda a, b: test(np.where(np.abs(a - b) <= np.spacing(np.maximum(np.abs(a), np.abs(b))), b, a), b)),
        FLOATS,
    ),
    "in-float16": lambda test: Fault("compares in FLOAT16", _by(test, lambda x: x.astype("f2")), SINGLE),
    "in-float32": lambda test: Fault("compares integers in FLOAT32", _by(test, lambda x: x.astype("f4")), WIDE),
    "in-float64": lambda test: Fault("compares 64-bit integers in FLOAT64", _by(test, lambda x: x.astype("f8")), LONG),
    "low-32-bits": lambda test: Fault("compares the low 32 bits", _by(test, lambda x: x & 0xFFFFFFFF), LONG),
    "high-32-bits": lambda test: Fault("compares the high 32 bits", _by(test, lambda x: x >> 32), LONG),
    "low-bytes": lambda test: Fault("compares the lowest bytes", _by(test, lambda x: x & 0xFF), ("INT16", "UINT16", *WIDE)),
    "of-magnitudes": lambda test: Fault("compares magnitudes", _by(test, np.abs), FLOATS),
    "of-integer-parts": lambda test: Fault("compares integer parts", _by(test, np.trunc), FLOATS),
    "of-bits": lambda test: Fault("compares the bits of floats in their order", _by(test, _total), FLOATS),
    "denormals-as-zero": lambda test: Fault(
        "takes denormals for 0", _by(test, lambda x: np.where(np.abs(x) < np.finfo(x.dtype).smallest_normal, 0, x)), FLOATS
    ),
    "infinities-as-largest": lambda test: Fault(
        "takes infinities for the largest number", _by(test, lambda x: np.nan_to_num(x, nan=np.nan)), FLOATS, MEASURED
    ),
    "true-for-nan": lambda test: Fault(
        "gives 1 where an operand is NaN", of_inputs(lambda a, b: test(a, b) | _either_nan(a, b)), FLOATS, MEASURED
    ),
    "nan-as-zero": lambda test: Fault("takes NaN for 0", _by(test, lambda x: np.where(np.isnan(x), 0, x)), FLOATS, MEASURED),
    "zeros-differ": lambda test: Fault(
        "takes -0 for less than 0",
        _by(test, lambda x: np.where((x == 0) & np.signbit(x), -np.finfo(x.dtype).tiny, x)),
        FLOATS,
        MEASURED,
    ),
    "all-ones": lambda test: Fault(
        "gives all ones for what is true", of_result(lambda right: np.where(right, np.iinfo(right.dtype).max, 0))
    ),
    "inverted": lambda test: Fault("gives 0 for what is true and 1 for what is not", of_result(lambda right: 1 - right)),
    "float-one": lambda test: Fault(
        "gives FLOAT32's bits of 1 for what is true",
        of_result(lambda right: np.where(right, 0x3F800000 & np.iinfo(right.dtype).max | 0x3C, 0)),
    ),
}

_ORDERED: Mapping[str, Callable[[Test], Fault]] = {
    "unsigned": lambda test: Fault("compares without sign", _by(test, as_unsigned), SIGNED),
    "signed": lambda test: Fault("compares with a sign", _by(test, as_signed), UNSIGNED),
    "floats-as-integers": lambda test: Fault("compares the bits of floats as integers", _by(test, as_signed), FLOATS),
    "by-difference": lambda test: Fault(
        "looks at the sign of the difference, which wraps around",
        of_inputs(lambda a, b: test(as_signed(a - b), 0)),
        SIGNED + UNSIGNED,
    ),
}
"""What does not change whether numbers are equal."""

_COMPARISONS: Faults = {
    name: {label: fault(test) for label, fault in (_ALL if name == EQUALS else {**_ALL, **_ORDERED}).items()}
    for name, test in TESTS.items()
}


# Logic

AND, OR, XOR, NOT = (f"ELEMENT_WISE_LOGICAL_{name}" for name in ("AND", "OR", "XOR", "NOT"))

_LOGIC: Mapping[str, Callable[..., Any]] = {
    AND: lambda a, b: a & b,
    OR: lambda a, b: a | b,
    XOR: lambda a, b: a ^ b,
    NOT: lambda a: ~a,
}
"""Of truth values, and of bits."""

_TRUTHS: Mapping[str, tuple[str, _Seen, tuple[str, ...]]] = {
    "lowest-bit": ("looks at the lowest bits alone", lambda x: x & 1 != 0, ()),
    "lowest-byte": ("looks at the lowest bytes alone", lambda x: x & 0xFF != 0, ("UINT32",)),
    "lowest-half": ("looks at the low 16 bits alone", lambda x: x & 0xFFFF != 0, ("UINT32",)),
    "one-alone": ("takes 1 alone for true", lambda x: x == 1, ()),
    "beyond-1": ("takes what is beyond 1 for true", lambda x: x > 1, ()),
    "positive": ("takes what has the highest bit for false", lambda x: as_signed(x) > 0, ()),
    "without-top-bit": ("does not look at the highest bit", lambda x: x & (np.iinfo(x.dtype).max >> 1) != 0, ()),
    "all-ones-alone": ("takes all ones alone for true", lambda x: x == np.iinfo(x.dtype).max, ()),
    "as-float": (
        "takes the bits for FLOAT32, where denormals are 0",
        lambda x: np.abs(x.view("f4")) >= np.finfo("f4").smallest_normal,
        ("UINT32",),
    ),
}


def _seen_as(name: str, seen: _Seen) -> Computed:
    return of_inputs(lambda *inputs: _LOGIC[name](*(seen(x) for x in inputs)))


_LOGICAL: Faults = {
    name: {
        **{label: Fault(does, _seen_as(name, seen), types) for label, (does, seen, types) in _TRUTHS.items()},
        "bits-not-zero": Fault(
            "combines bits and gives 1 where one is set", of_inputs(lambda *inputs, function=function: function(*inputs) != 0)
        ),
        "all-ones": Fault(
            "gives all ones for what is true", of_result(lambda right: np.where(right, np.iinfo(right.dtype).max, 0))
        ),
        "inverted": Fault("gives 0 for what is true and 1 for what is not", of_result(lambda right: 1 - right)),
    }
    for name, function in _LOGIC.items()
}


# Tests for NaN and infinity

IS_NAN, IS_INFINITY, IF = "ELEMENT_WISE_IS_NAN", "ELEMENT_WISE_IS_INFINITY", "ELEMENT_WISE_IF"


def _digits(x: Array) -> Array:
    """The bits below the exponent."""
    return np.asarray(as_unsigned(x) & as_unsigned(x).dtype.type((1 << np.finfo(x.dtype).nmant) - 1))


def _quiet(x: Array) -> Array:
    return np.asarray(as_unsigned(x) & as_unsigned(x).dtype.type(1 << (np.finfo(x.dtype).nmant - 1)) != 0)


def _mode(mode: str, test: Callable[[Array], Any]) -> Computed:
    """A test of its own in one mode, and right in the others."""
    return lambda desc, inputs, right: test(inputs["InputTensor"]) if desc.fields["InfinityMode"] == mode else right


def _matching(desc: OperatorDesc, x: Array) -> Array:
    mode = str(desc.fields["InfinityMode"])
    return np.asarray((mode == "EITHER") | ((x > 0) == (mode == "POSITIVE")))


_SPECIAL: Faults = {
    IS_NAN: {
        "never": Fault("gives 0, as a comparison that is optimized away", of_inputs(lambda x: x - x > 0)),
        "infinities-too": Fault("gives 1 for infinities too", of_inputs(lambda x: ~np.isfinite(x))),
        "quiet-alone": Fault("misses signalling NaN", of_inputs(lambda x: np.isnan(x) & _quiet(x))),
        "positive-alone": Fault("misses NaN with a sign", of_inputs(lambda x: np.isnan(x) & ~np.signbit(x))),
        "canonical-alone": Fault(
            "knows NaN without payload alone", of_inputs(lambda x: np.isnan(x) & (_digits(x) == 1 << (np.finfo(x.dtype).nmant - 1)))
        ),
        "largest-too": Fault(
            "gives 1 for the largest number", of_inputs(lambda x: np.isnan(x) | (np.abs(x) == np.finfo(x.dtype).max))
        ),
        "high-half-alone": Fault(
            "looks at the high half of FLOAT32", of_inputs(lambda x: as_unsigned(x) >> 16 & 0x7FFF > 0x7F80), SINGLE
        ),
        "all-ones": Fault(
            "gives all ones for what is true", of_result(lambda right: np.where(right, np.iinfo(right.dtype).max, 0))
        ),
        "inverted": Fault("gives 1 for numbers", of_result(lambda right: 1 - right)),
    },
    IS_INFINITY: {
        "positive-as-either": Fault("gives 1 for both in POSITIVE", _mode("POSITIVE", np.isinf)),
        "negative-as-either": Fault("gives 1 for both in NEGATIVE", _mode("NEGATIVE", np.isinf)),
        "negative-as-positive": Fault("gives 1 for infinity in NEGATIVE", _mode("NEGATIVE", np.isposinf)),
        "positive-as-negative": Fault("gives 1 for -infinity in POSITIVE", _mode("POSITIVE", np.isneginf)),
        "either-as-positive": Fault("misses -infinity in EITHER", _mode("EITHER", np.isposinf)),
        "either-as-negative": Fault("misses infinity in EITHER", _mode("EITHER", np.isneginf)),
        "nan-too": Fault(
            "gives 1 for NaN of such a sign",
            lambda desc, inputs, right: (
                right | (np.isnan(inputs["InputTensor"]) & _matching(desc, np.copysign(1, inputs["InputTensor"])))
            ),
        ),
        "largest-too": Fault(
            "gives 1 for the largest number",
            lambda desc, inputs, right: (
                right
                | (
                    (np.abs(inputs["InputTensor"]) == np.finfo(inputs["InputTensor"].dtype).max)
                    & _matching(desc, inputs["InputTensor"])
                )
            ),
        ),
        "beyond-float16": Fault(
            "rounds FLOAT32 to FLOAT16 first",
            lambda desc, inputs, right: np.isinf(inputs["InputTensor"].astype("f2")) & _matching(desc, inputs["InputTensor"]),
            SINGLE,
        ),
        "never": Fault("gives 0", of_result(np.zeros_like)),
        "all-ones": Fault(
            "gives all ones for what is true", of_result(lambda right: np.where(right, np.iinfo(right.dtype).max, 0))
        ),
        "inverted": Fault("gives 1 for what is no such infinity", of_result(lambda right: 1 - right)),
    },
}


def _chosen(true: _Seen) -> Computed:
    return of_inputs(lambda condition, a, b: np.where(true(condition), a, b))


_CHOICE: Faults = {
    IF: {
        "a-always": Fault("gives A", of_inputs(lambda c, a, b: a)),
        "b-always": Fault("gives B", of_inputs(lambda c, a, b: b)),
        "condition-of-next": Fault("takes the next condition", _chosen(lambda c: np.roll(c, -1) != 0)),
        "condition-of-row": Fault(
            "takes the first condition of each row", _chosen(lambda c: np.broadcast_to(c[..., :1], c.shape) != 0)
        ),
        "one-alone": Fault("takes 1 alone for true", _chosen(lambda c: c == 1)),
        "lowest-bit": Fault("looks at the lowest bit", _chosen(lambda c: c & 1 != 0)),
        "highest-bit": Fault("looks at the highest bit", _chosen(lambda c: c & 0x80 != 0)),
        "positive": Fault("takes what has the highest bit for false", _chosen(lambda c: as_signed(c) > 0)),
        "beyond-1": Fault("takes what is beyond 1 for true", _chosen(lambda c: c > 1)),
        "all-ones-alone": Fault("takes 255 alone for true", _chosen(lambda c: c == 255)),
        "condition-of-first": Fault("takes the first condition for all", _chosen(lambda c: np.full_like(c, c.flat[0]) != 0)),
        "condition-of-fours": Fault(
            "takes one condition for every four elements",
            _chosen(lambda c: np.repeat(c.reshape(-1)[::4], 4)[: c.size].reshape(c.shape) != 0),
        ),
        "blends": Fault(
            "multiplies by the condition and adds",
            of_inputs(lambda c, a, b: a * (c != 0).astype(a.dtype) + b * (c == 0).astype(a.dtype)),
            FLOATS,
        ),
        "blends-by-number": Fault(
            "multiplies by the condition as a number",
            of_inputs(lambda c, a, b: a * c.astype(a.dtype) + b * (1 - np.minimum(c, 1)).astype(a.dtype)),
        ),
        "bits-by-mask": Fault(
            "combines bits by the condition as a mask",
            of_inputs(lambda c, a, b: b ^ ((a ^ b) & c.astype(a.dtype))),
            UNSIGNED + SIGNED,
        ),
        "larger": Fault("gives the larger of both", of_inputs(lambda c, a, b: np.maximum(a, b))),
    }
}

COMPARISON = marked(
    merged(_COMPARISONS, _LOGICAL, _SPECIAL, _CHOICE),
    [f"{name}/of-bits" for name in TESTS],
    {f"{OR}/bits-not-zero": "a | b is not 0 where one of them is not"},
)


def comparison_mutants() -> Iterator[Mutant]:
    """Every value fault of comparisons and logic."""
    yield from planted(COMPARISON)
