"""Faults of sums, differences, products, means, quotients, remainders, signs and absolute values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.elements import (
    as_unsigned,
    change_stored,
    function,
    low,
    operands,
    result,
    round_steps,
    table,
    width,
)
from dmlcts.conformance.faults.model.fault import FLOATS, HALF, INTEGERS, LONG, SIGNED, SINGLE, UNSIGNED, WIDE, Fault, Inputs, Table
from dmlcts.reference.answer import Array
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc

_INT32 = ("INT32", "UINT32")
_NARROW = (*SIGNED[:3], *UNSIGNED[:3])


def _saturate(right: Any, given: Any, xp: Any, a: Array, b: Array) -> Array:
    """Exactly, and what the type does not hold as its least or largest number."""
    limits = np.iinfo(a.dtype)
    return np.clip(given(np, a.astype(object), b.astype(object)), int(limits.min), int(limits.max)).astype(a.dtype)


def _by_words(a: Array, b: Array) -> Array:
    """Bytes added four at a time in words, so that carries pass into the next byte."""
    words = [np.pad(as_unsigned(x).reshape(-1), (0, -x.size % 4)).view(np.uint32) for x in (a, b)]
    return (words[0] + words[1]).view(a.dtype)[: a.size].reshape(a.shape)


def _high_half(a: Array, b: Array) -> Array:
    return (a.astype("i8") * b.astype("i8") >> width(a)).astype(a.dtype)


def _activated_twice(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    inner: Any = desc.fields["FusedActivation"]
    return compute(inner, {"InputTensor": right})["OutputTensor"].value


def _in_type(type_: str, made: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Of integers as floating-point numbers, and back."""
    return lambda a, b: made(a.astype(type_), b.astype(type_)).astype("i8").astype(a.dtype)


def _reciprocal_of_16_bits(a: Array, b: Array) -> Array:
    return a * (as_unsigned(np.float32(1 / b)) & np.uint32(0xFFFFFF80)).view("f4")


_FAULTS: Table = {
    "ADD SUBTRACT MULTIPLY DIFFERENCE_SQUARE": {
        "saturates": Fault("saturates where it must wrap around", types=INTEGERS, stages={"element_wise.function": _saturate}),
    },
    "ADD SUBTRACT MULTIPLY": {"low-32-bits": result("gives the low 32 bits alone", lambda y, a, b: low(32)(y), LONG)},
    "ADD": {
        "carries-between-bytes": function("lets carries pass into the next byte", _by_words, ("UINT8", "INT8")),
        "small-b-lost": result("loses small B", lambda y, a, b: np.where(np.abs(b) < np.abs(a) / 1000, a, y), FLOATS),
    },
    "SUBTRACT": {
        "equal-to-small": result("gives 0 for near ones", lambda y, a, b: np.where(np.abs(y) < np.abs(a) / 1000, 0, y), FLOATS),
    },
    "MULTIPLY": {
        "high-half": function("gives the high half of the product", _high_half, (*SIGNED[:3], *UNSIGNED[:2])),
        "zero-times-anything": result("gives 0 for 0 times NaN", lambda y, a, b: np.where((a == 0) | (b == 0), 0, y), FLOATS),
    },
    "DIFFERENCE_SQUARE": {
        "expanded": function("computes a * a - 2 * a * b + b * b", lambda a, b: a * a - np.float32(2 * a * b) + b * b, SINGLE),
        **round_steps("difference", lambda f: lambda a, b: f(a - b) ** 2),
    },
    "MEAN": {
        "floored": function("rounds odd sums of integers down", lambda a, b: (a + b) >> 1, ("INT32",)),
        "rounded-up": function("rounds odd sums of integers up", lambda a, b: (a + b + a.dtype.type(1)) >> 1, _INT32),
        "sum-overflows": function("adds in FLOAT16, where sums overflow", lambda a, b: (np.float16(a) + np.float16(b)) / 2, HALF),
        "wide": function("adds integers in 64 bits", _in_type("f8", lambda a, b: (a + b) / 2), _INT32),
    },
    "ADD1": {
        "activation-twice": Fault("activates twice", _activated_twice, when=lambda desc: desc.fields["FusedActivation"] is not None)
    },
    # Of integers that are divided by 0, nothing is demanded.
    "DIVIDE": {
        "floors": function("rounds quotients of integers down", lambda a, b: a // b, SIGNED),
        "rounds": function("rounds quotients of integers to the nearest", _in_type("f8", lambda a, b: np.rint(a / b)), _NARROW),
        "in-float64": function("divides integers in FLOAT64", _in_type("f8", np.divide), LONG),
        "reciprocal-in-float16": function("multiplies by a reciprocal in FLOAT16", lambda a, b: a * np.float16(1 / b), HALF),
        "reciprocal-of-16-bits": function("multiplies by a reciprocal of 16 bits", _reciprocal_of_16_bits, SINGLE),
        "reciprocal-overflows": result(
            "multiplies by a reciprocal that overflows",
            lambda y, a, b: np.where(np.isinf(np.float32(1 / b)), a * b * np.inf, y),
            SINGLE,
        ),
        "by-zero-gives-zero": result("gives 0 for numbers divided by 0", lambda y, a, b: np.where(b == 0, 0, y), FLOATS),
        "least-by-minus-one": result(
            "saturates the least divided by -1", lambda y, a, b: np.where((b == -1) & (a < 0) & (a == y), ~a, y), SIGNED[:2]
        ),
    },
    "MODULUS_FLOOR MODULUS_TRUNCATE": {
        "nearest": function("gives what is left of the nearest multiple", lambda a, b: a - b * np.rint(a / b), FLOATS),
        "in-float32": function("works on integers in FLOAT32", _in_type("f4", lambda a, b: a - b * np.trunc(a / b)), WIDE),
        "infinite-as-c": change_stored(
            "gives A for an infinite B, as C's fmod", lambda y, a, b: np.where(np.isinf(b), a, y), FLOATS
        ),
        "divisor-added": result("adds B to negative remainders", lambda y, a, b: np.where(y < 0, y + b, y), FLOATS + SIGNED),
        "divisor-of-a-multiple": result("gives B for its multiples", lambda y, a, b: np.where((y == 0) & (b != 0), b, y)),
    },
    "ABS": {"ones-complement": change_stored("inverts the bits of negative integers", lambda y, x: np.where(x < 0, ~x, y), SIGNED)},
    "NEGATE": {
        "low-half": function("negates the low 32 bits", lambda x: (x & ~0xFFFFFFFF) | (-x & 0xFFFFFFFF), ("INT64",)),
    },
    "SIGN": {
        "minus-zero-as-negative": result("gives -1 for -0", lambda y, x: np.where((x == 0) & np.signbit(x), -1, y), FLOATS),
        "positive-alone": result("gives 0 for negative numbers", lambda y, x: np.maximum(y, 0), FLOATS + SIGNED),
        "of-integer-part": operands("cuts fractions off first", np.trunc, FLOATS),
        "low-32-bits": operands("tests the low 32 bits", low(32), LONG),
        "nan-as-positive": result("gives 1 for NaN", lambda y, x: np.where(np.isnan(x), 1, y), FLOATS),
    },
}

FAULTS = table("ELEMENT_WISE_", _FAULTS)
"""What implementations of them get wrong."""
