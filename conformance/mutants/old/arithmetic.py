"""Faults in sums, differences, products, means, extremes, signs and absolute values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.fault import (
    FLOATS,
    HALF,
    INTEGERS,
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
    beside,
    for_each,
    is_scaled,
    merged,
    of_inputs,
    of_reals,
    of_result,
    planted,
    saturated,
    scale_bias,
)
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.reference.registry import compute
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

ADD, SUBTRACT, MULTIPLY = (f"ELEMENT_WISE_{name}" for name in ("ADD", "SUBTRACT", "MULTIPLY"))
ADD1, SQUARE, MEAN = (f"ELEMENT_WISE_{name}" for name in ("ADD1", "DIFFERENCE_SQUARE", "MEAN"))
MAX, MIN = "ELEMENT_WISE_MAX", "ELEMENT_WISE_MIN"
ABS, NEGATE, SIGN = (f"ELEMENT_WISE_{name}" for name in ("ABS", "NEGATE", "SIGN"))


def _low(bits: int) -> Callable[[Array], Array]:
    return lambda x: x & x.dtype.type((1 << bits) - 1)


def _swar(a: Array, b: Array) -> Array:
    """Bytes added four at a time in words, so that carries pass into the next byte."""
    flat = [np.pad(as_unsigned(x).reshape(-1), (0, -x.size % 4)).view(np.uint32) for x in (a, b)]
    return (flat[0] + flat[1]).view(np.uint8)[: a.size].reshape(a.shape)


_RESULTS = {
    "low-16-bits": Fault("gives the low 16 bits alone", of_result(_low(16)), WIDE),
    "low-32-bits": Fault("gives the low 32 bits alone", of_result(_low(32)), LONG),
}

_SUMS: Faults = {
    ADD: {
        "saturates": Fault("saturates where it must wrap around", of_inputs(saturated(lambda a, b: a + b)), INTEGERS),
        "carries-between-bytes": Fault("lets carries pass into the next byte", of_inputs(_swar), ("UINT8", "INT8")),
        "without-carry": Fault("loses carries", of_inputs(lambda a, b: as_unsigned(a) ^ as_unsigned(b)), INTEGERS),
        "magnitudes": Fault("adds magnitudes", of_reals(lambda a, b: np.abs(a) + np.abs(b)), FLOATS),
        "b-in-float16": Fault("rounds B to FLOAT16", of_reals(lambda a, b: a + b.astype("f2").astype("f8")), SINGLE),
        "small-b-lost": Fault(
            "loses B where it is less than 1/1,000 of A",
            of_reals(lambda a, b: np.where(np.abs(b) < np.abs(a) / 1000, a, a + b)),
            FLOATS,
        ),
    },
    SUBTRACT: {
        "saturates": Fault("saturates where it must wrap around", of_inputs(saturated(lambda a, b: a - b)), INTEGERS),
        "absolute": Fault("gives the absolute difference", of_reals(lambda a, b: np.abs(a - b)), FLOATS),
        "ones-complement": Fault("adds the complement and forgets the 1", of_inputs(lambda a, b: a + ~b), INTEGERS),
        "equal-to-small": Fault(
            "gives 0 where the difference is below 1/1,000 of A",
            of_reals(lambda a, b: np.where(np.abs(a - b) < np.abs(a) / 1000, 0, a - b)),
            FLOATS,
        ),
    },
    MULTIPLY: {
        "saturates": Fault("saturates where it must wrap around", of_inputs(saturated(lambda a, b: a * b)), INTEGERS),
        "high-half": Fault(
            "gives the high half of the product",
            of_inputs(lambda a, b: a.astype("i8") * b.astype("i8") >> 8 * a.dtype.itemsize),
            ("INT8", "INT16", "INT32", "UINT8", "UINT16"),
        ),
        "halves-not-crossed": Fault(
            "leaves the cross products of 64 bits out", of_inputs(lambda a, b: _low(32)(a) * _low(32)(b)), LONG
        ),
        "without-sign": Fault("gives the magnitude", of_reals(lambda a, b: np.abs(a * b)), FLOATS),
        "zero-times-anything": Fault(
            "gives 0 for 0 times infinity or NaN", of_reals(lambda a, b: np.where((a == 0) | (b == 0), 0, a * b)), FLOATS, MEASURED
        ),
        "by-logarithms": Fault("multiplies by adding logarithms", of_reals(lambda a, b: np.exp2(np.log2(a) + np.log2(b))), FLOATS),
    },
    ADD1: {},
    SQUARE: {
        "absolute": Fault("gives the absolute difference", of_reals(lambda a, b: np.abs(a - b))),
        "of-squares": Fault("gives the difference of the squares", of_inputs(lambda a, b: a * a - b * b)),
        "of-sum": Fault("squares the sum", of_inputs(lambda a, b: (a + b) * (a + b))),
        "expanded": Fault("computes a * a - 2 * a * b + b * b", of_inputs(lambda a, b: a * a - 2 * a * b + b * b), FLOATS),
        "saturates": Fault("saturates where it must wrap around", of_inputs(saturated(lambda a, b: (a - b) * (a - b))), INTEGERS),
        "in-float16": Fault(
            "takes the difference in FLOAT16", of_reals(lambda a, b: (a - b).astype("f2").astype("f8") ** 2), SINGLE
        ),
    },
    MEAN: {
        "floored": Fault("rounds odd sums of integers down", of_inputs(lambda a, b: (a + b) >> 1), ("INT32",)),
        "rounded-up": Fault("rounds odd sums of integers up", of_inputs(lambda a, b: (a + b + 1) >> 1), ("INT32", "UINT32")),
        "halved-first": Fault("halves integers before it adds", of_inputs(lambda a, b: (a >> 1) + (b >> 1)), ("INT32", "UINT32")),
        "sum-overflows-float16": Fault("adds in FLOAT16, where sums overflow", of_inputs(lambda a, b: (a + b) / 2), HALF),
        "weighted": Fault("gives A twice the weight", of_reals(lambda a, b: (2 * a + b) / 3)),
        "geometric": Fault("gives the geometric mean", of_reals(lambda a, b: np.sqrt(a * b))),
        "wide": Fault(
            "computes sums of integers in 64 bits",
            of_inputs(lambda a, b: np.trunc((a.astype("f8") + b.astype("f8")) / 2)),
            ("INT32", "UINT32"),
            basis=MEASURED,
        ),
    },
}


# Extremes


def _extreme(operator: str) -> dict[str, Fault]:
    larger = operator == MAX
    of_both: Any = np.maximum if larger else np.minimum
    ignoring: Any = np.fmax if larger else np.fmin

    def chosen(test: Callable[[Array, Array], Array]) -> Computed:
        return of_inputs(lambda a, b: np.where(test(a, b) == larger, a, b))

    return {
        "propagates-nan": Fault("gives NaN where one operand is NaN", of_inputs(of_both), FLOATS, MEASURED),
        "nan-for-nan-in-b": Fault(
            "gives NaN where B is NaN", of_inputs(lambda a, b: np.where(a > b if larger else a < b, a, b)), FLOATS, MEASURED
        ),
        "nan-for-nan-in-a": Fault(
            "gives NaN where A is NaN", of_inputs(lambda a, b: np.where(b > a if larger else b < a, b, a)), FLOATS, MEASURED
        ),
        "zero-for-nan": Fault(
            "takes NaN for 0",
            of_inputs(lambda a, b: ignoring(np.nan_to_num(a, posinf=np.inf, neginf=-np.inf), b)),
            FLOATS,
            MEASURED,
        ),
        "by-bits": Fault("compares the bits of floats", chosen(lambda a, b: as_signed(a) > as_signed(b)), FLOATS),
        "by-magnitude": Fault("compares magnitudes", chosen(lambda a, b: np.abs(a) > np.abs(b)), FLOATS),
        "in-float16": Fault("compares in FLOAT16", chosen(lambda a, b: a.astype("f2") > b.astype("f2")), SINGLE),
        "signed": Fault("compares with a sign", chosen(lambda a, b: as_signed(a) > as_signed(b)), UNSIGNED),
        "unsigned": Fault("compares without sign", chosen(lambda a, b: as_unsigned(a) > as_unsigned(b)), SIGNED),
        "in-float32": Fault("compares integers in FLOAT32", chosen(lambda a, b: a.astype("f4") > b.astype("f4")), WIDE),
        "in-float64": Fault("compares integers in FLOAT64", chosen(lambda a, b: a.astype("f8") > b.astype("f8")), LONG),
        "low-32-bits": Fault("compares the low 32 bits", chosen(lambda a, b: _low(32)(a) > _low(32)(b)), LONG),
        "high-32-bits": Fault("compares the high 32 bits", chosen(lambda a, b: a >> 32 > b >> 32), LONG),
        "by-difference": Fault(
            "looks at the sign of the difference, which wraps around", chosen(lambda a, b: as_signed(a - b) > 0), INTEGERS
        ),
    }


# One operand, and the fused activation


def _activated(desc: OperatorDesc, x: Array) -> Array:
    inner = desc.fields.get("FusedActivation")
    found: Array = compute(inner, {"InputTensor": x})["OutputTensor"].value if isinstance(inner, OperatorDesc) else x
    return found


def _fused(function: Callable[[Callable[[Array], Array], Array, Array], Any]) -> Computed:
    return lambda desc, inputs, right: function(lambda x: _activated(desc, x), *(x.astype("f8") for x in inputs.values()))


def _is_fused(desc: OperatorDesc) -> bool:
    return desc.fields.get("FusedActivation") is not None


_FUSED: Faults = {
    ADD1: {
        "activation-of-a": Fault("activates A alone", _fused(lambda f, a, b: f(a) + b), when=_is_fused),
        "activation-of-b": Fault("activates B alone", _fused(lambda f, a, b: a + f(b)), when=_is_fused),
        "activation-first": Fault("activates both before it adds", _fused(lambda f, a, b: f(a) + f(b)), when=_is_fused),
        "activation-twice": Fault("activates twice", _fused(lambda f, a, b: f(f(a + b))), when=_is_fused),
        "activation-added": Fault("adds the activated sum to the sum", _fused(lambda f, a, b: a + b + f(a + b)), when=_is_fused),
        "relu-for-any": Fault("rectifies, whatever the activation", _fused(lambda f, a, b: np.maximum(a + b, 0)), when=_is_fused),
        "difference": Fault("activates the difference", _fused(lambda f, a, b: f(a - b))),
    }
}


def _scaled(function: Callable[[Array, float, float], Any]) -> Computed:
    return lambda desc, inputs, right: function(inputs["InputTensor"].astype("f8"), *scale_bias(desc))


_ONE: Faults = {
    ABS: {
        "ones-complement": Fault(
            "turns the bits of negative integers over",
            beside(lambda x, right: np.where(x < 0, ~x, x)),
            SIGNED,
            when=lambda desc: not is_scaled(desc),
        ),
        "unchanged": Fault("gives the argument", _scaled(lambda x, scale, bias: x * scale + bias)),
        "before-bias": Fault(
            "adds the bias to the absolute value", _scaled(lambda x, scale, bias: np.abs(x * scale) + bias), when=is_scaled
        ),
        "negative": Fault("gives the negative of the absolute value", of_result(np.negative)),
        "rectified": Fault("gives 0 for negative numbers", _scaled(lambda x, scale, bias: np.maximum(x * scale + bias, 0))),
        "sign-of-nan": Fault(
            "leaves the sign of NaN",
            beside(lambda x, right: np.where(np.isnan(x), x, right)),
            FLOATS,
            equivalent="NaN agrees with NaN, whatever its sign",
        ),
    },
    NEGATE: {
        "magnitude": Fault("gives the magnitude", of_inputs(np.abs)),
        "ones-complement": Fault("turns the bits of integers over", of_inputs(lambda x: ~x), SIGNED),
        "negative-magnitude": Fault("gives the negative of the magnitude", of_inputs(lambda x: -np.abs(x))),
        "top-bit-turned": Fault("turns the highest bit of integers over", of_inputs(lambda x: x ^ np.iinfo(x.dtype).min), SIGNED),
        "low-half": Fault("negates the low 32 bits alone", of_inputs(lambda x: (x & ~0xFFFFFFFF) | (-x & 0xFFFFFFFF)), ("INT64",)),
        "from-zero": Fault(
            "subtracts from 0, which loses the sign of zero", of_inputs(lambda x: x.dtype.type(0) - x), FLOATS, MEASURED
        ),
    },
    SIGN: {
        "zero-as-positive": Fault("gives 1 for 0", beside(lambda x, right: np.where(x == 0, 1, right))),
        "zero-as-negative": Fault("gives -1 for 0", beside(lambda x, right: np.where(x == 0, -1, right)), FLOATS + SIGNED),
        "minus-zero-as-negative": Fault(
            "gives -1 for -0", beside(lambda x, right: np.where((x == 0) & np.signbit(x), -1, right)), FLOATS
        ),
        "positive-alone": Fault("gives 0 for negative numbers", of_result(lambda right: np.maximum(right, 0)), FLOATS + SIGNED),
        "of-integer-part": Fault("cuts fractions off first", of_inputs(lambda x: np.sign(np.trunc(x))), FLOATS),
        "of-float16": Fault("rounds to FLOAT16 first", of_inputs(lambda x: np.sign(x.astype("f2"))), SINGLE),
        "signed": Fault("takes unsigned integers for signed ones", of_inputs(lambda x: np.sign(as_signed(x))), UNSIGNED),
        "low-32-bits": Fault("looks at the low 32 bits", of_inputs(lambda x: np.sign(_low(32)(x))), LONG),
        "nan-as-positive": Fault("gives 1 for NaN", beside(lambda x, right: np.where(np.isnan(x), 1, right)), FLOATS),
        "nan-kept": Fault("gives NaN for NaN", beside(lambda x, right: np.where(np.isnan(x), x, right)), FLOATS),
        "number-itself": Fault(
            "limits to -1 and 1", of_inputs(lambda x: np.clip(x, -1, 1) if x.dtype.kind != "u" else np.minimum(x, 1)), FLOATS
        ),
    },
}


ARITHMETIC = merged(for_each((ADD, SUBTRACT, MULTIPLY), _RESULTS), _SUMS, _FUSED, {MAX: _extreme(MAX), MIN: _extreme(MIN)}, _ONE)


def arithmetic_mutants() -> Iterator[Mutant]:
    """Every value fault of arithmetic."""
    yield from planted(ARITHMETIC)
