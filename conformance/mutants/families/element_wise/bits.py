"""Faults of what works on bits, or hands them on: logic, shifts, counts, and elements that are moved as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.elements import (
    as_signed,
    as_unsigned,
    function,
    low,
    operands,
    result,
    stored,
    table,
    width,
)
from dmlcts.conformance.mutants.fault import FLOATS, SIGNED, UNSIGNED, Fault, Faults, Table
from dmlcts.reference.answer import Array

Change = Callable[[Array], Array]
"""Bit patterns, as unsigned integers of the element's width, into others."""

Shift = Callable[[Array, Array], Array]

_BITS_64 = ("UINT64", "INT64", "FLOAT64")


def _top(x: Array) -> Array:
    """The highest bit."""
    return np.array(1 << (width(x) - 1)).astype(x.dtype)


# Moved as numbers


def _quiet(x: Array) -> Array:
    """The highest bit of a float's mantissa."""
    return np.array(1 << ({16: 10, 32: 23, 64: 52}[width(x)] - 1)).astype(x.dtype)


def _infinity(x: Array) -> Array:
    return (_top(x) - 1) & ~(2 * _quiet(x) - 1)


def _flushed(x: Array) -> Array:
    return np.where(x & _infinity(x) == 0, x & _top(x), x)


_MOVES: Mapping[str, tuple[str, Change]] = {
    "nan-quieted": ("makes signalling NaN quiet", lambda x: np.where(x & ~_top(x) > _infinity(x), x | _quiet(x), x)),
    "nan-canonical": ("makes every NaN the same", lambda x: np.where(x & ~_top(x) > _infinity(x), _infinity(x) | _quiet(x), x)),
    "denormals-flushed": ("makes denormals zero", _flushed),
    "minus-zero-lost": ("makes -0 +0", lambda x: np.where(x == _top(x), 0 * x, x)),
}
"""What becomes of floats' bit patterns that are moved as numbers."""


def _moved_inputs(change: Change) -> Any:
    return lambda desc, inputs: {n: change(as_unsigned(x)).view(x.dtype) if x.dtype.kind == "f" else x for n, x in inputs.items()}


_INPUTS_MOVED: Faults = {
    f"{type_.lower()}-{label}": Fault(f"{does} in {type_}", types=(type_,), inputs=_moved_inputs(change))
    for type_ in FLOATS
    for label, (does, change) in _MOVES.items()
}


def _through(type_: str) -> Change:
    """Integers converted to a floating-point type and back."""
    largest = np.nextafter(np.dtype(type_).type(2.0**64), np.dtype(type_).type(0))
    return lambda x: np.minimum(x.astype(type_), largest).astype("u8").astype(x.dtype)


def _as_number(x: Array) -> Array:
    """A float's bits as those of the integer that it is converted to."""
    return np.clip(np.nan_to_num(x.view(f"f{x.dtype.itemsize}").astype("f8")), -(2.0**62), 2.0**62).astype("i8").astype(x.dtype)


def _to_float32(x: Array) -> Array:
    """A float's bits as those of the FLOAT32 that it is converted to."""
    return as_unsigned(x.view(f"f{x.dtype.itemsize}").astype("f4"))


def _as_float32(right: Any, given: Any, xp: Any, a: Array, b: Array) -> Array:
    """The operation on the bits of FLOAT32, and the result converted back."""
    return as_unsigned(right(given, xp, _to_float32(a), _to_float32(b)).view("f4").astype(f"f{a.dtype.itemsize}"))


def _magnitude(x: Array) -> Array:
    return as_unsigned(np.abs(as_signed(x)))


# Shifts: NumPy shifts by the width and more to 0


def _masked(shift: Shift, mask: int) -> Shift:
    """Amounts cut to the bits of ``mask``, and the shift in a register of 64 bits."""
    return lambda a, b: shift(a.astype("u8"), b.astype("u8") & np.uint64(mask)).astype(a.dtype)


def _shifts(shift: Shift, other: Shift) -> Faults:
    """Of one direction."""
    masks = {"UINT8": (7, 63), "UINT16": (7, 15, 63), "UINT32": (7, 15, 63), "UINT64": (7, 15, 31)}
    return {
        f"{type_.lower()}-amount-masked-{mask}": function(f"masks {type_}'s amounts with {mask}", _masked(shift, mask), (type_,))
        for type_, known in masks.items()
        for mask in known
    } | {
        "amount-at-most-31": function("shifts by 31 at most", lambda a, b: shift(a, np.minimum(b, b.dtype.type(31))), UNSIGNED[3:]),
        "last-amount-gives-0": result("gives 0 for the width less one", lambda y, a, b: np.where(b == width(a) - 1, 0 * y, y)),
        "amount-0-gives-0": result("gives 0 for the amount 0", lambda y, a, b: np.where(b == 0, 0 * y, y)),
        "from-32-gives-0": result("gives 0 from the amount 32 on", lambda y, a, b: np.where(b < 32, y, 0 * y), UNSIGNED[3:]),
        "beyond-width-0": result("gives 0 from the width on", lambda y, a, b: np.where(b < width(a), y, 0 * y), UNSIGNED[:3]),
        "beyond-width-a": result("gives A from the width on", lambda y, a, b: np.where(b < width(a), y, a), UNSIGNED[:3]),
        "low-half": function("shifts the low half of UINT64 alone", lambda a, b: low(32)(shift(low(32)(a), b)), UNSIGNED[3:]),
        "without-carry": function(
            "loses what passes between the halves of UINT64",
            lambda a, b: low(32)(shift(low(32)(a), b)) | shift(a >> 32 << 32, b) >> 32 << 32,
            UNSIGNED[3:],
        ),
        "rotates": function("rotates", lambda a, b: shift(a, b) | other(a, (width(a) - b % width(a)) % width(a))),
    }


def _neighbors(a: Array, b: Array) -> Array:
    """Elements shifted two at a time in a word of twice the width: the second one's bits come into the first."""
    coming = np.where(b == 0, 0 * a, np.roll(a.ravel(), -1).reshape(a.shape) << ((width(a) - b) % width(a)))
    return np.where(np.arange(a.size).reshape(a.shape) % 2 == 0, (a >> b) | coming, a >> b)


def _rounded(a: Array, b: Array) -> Array:
    return (a >> b) + np.where(b > 0, a >> np.maximum(b, 1) - b.dtype.type(1) & 1, 0 * a)


def _divided(a: Array, b: Array) -> Array:
    """In FLOAT32 or FLOAT64, as wide as the integers are."""
    real = f"f{a.dtype.itemsize}"
    return np.minimum(np.floor(a.astype(real) / np.exp2(b.astype(real))), 2.0**63).astype(a.dtype)


def _arithmetic(a: Array, b: Array) -> Array:
    return as_unsigned(np.right_shift(as_signed(a), as_signed(b)))


_FAULTS: Table = {
    "AND OR XOR NOT": {
        **{f"low-{n}-bits": result(f"gives the low {n} bits alone", lambda y, *_, n=n: low(n)(y)) for n in (8, 16, 32)},
        "sign-extended-from-32": result(
            "extends bit 31 into the upper half", lambda y, *_: y.astype("u4").view("i4").astype("i8").view("u8"), _BITS_64
        ),
        "uint64-through-float64": result("converts UINT64 to FLOAT64", lambda y, *_: _through("f8")(y), ("UINT64",)),
        "uint32-through-float32": result("converts UINT32 to FLOAT32", lambda y, *_: _through("f4")(y), ("UINT32",)),
    },
    "AND OR XOR": {
        "floats-as-numbers": operands("converts floats to integers first", _as_number, FLOATS),
        "floats-as-float32": Fault(
            "works on floats as FLOAT32", types=("FLOAT64", "FLOAT16"), stages={"element_wise.function": _as_float32}
        ),
    },
    "NOT": {
        "negates": function("negates, as a number of two's complement", lambda x: -x),
        **{f"low-{n}-inverted": function(f"inverts {n} bits", lambda x, n=n: x ^ low(n)(~(0 * x)), _BITS_64) for n in (8, 16, 32)},
        "sign-kept": function("does not invert the highest bit", lambda x: ~x ^ _top(x)),
        "magnitude": operands("inverts the bits of the magnitude", _magnitude, SIGNED),
    },
    "SHIFT_RIGHT": {
        **_shifts(np.right_shift, np.left_shift),
        **{f"arithmetic-{type_.lower()}": function(f"shifts {type_} with its sign", _arithmetic, (type_,)) for type_ in UNSIGNED},
        "rounds": function("rounds to nearest", _rounded),
        "divides": function("divides in FLOAT32 or FLOAT64", _divided, ("UINT32", "UINT64")),
        "neighbors": function("lets bits of the next element in", _neighbors, ("UINT8", "UINT16")),
    },
    "SHIFT_LEFT": {
        **_shifts(np.left_shift, np.right_shift),
        "ones-moved-in": function("moves ones in", lambda a, b: ~(~a << b)),
        "sign-kept": function("keeps the highest bit", lambda a, b: ((a << b) & ~_top(a)) | (a & _top(a))),
        "saturates": result("gives all ones where bits are lost", lambda y, a, b: np.where(y >> b == a, y, ~(0 * y))),
        "multiplied-as-float32": function(
            "multiplies in FLOAT32", lambda a, b: np.mod(np.ldexp(np.float32(a), np.minimum(b, 31)), 2.0**32), ("UINT32",)
        ),
    },
    "COUNT": {
        **{f"low-{n}-bits": operands(f"counts the low {n} bits alone", low(n)) for n in (8, 16, 32)},
        "low-half-twice": function("counts the low half twice", lambda x: 2 * np.bitwise_count(low(32)(x)), _BITS_64),
        **{f"{n}-bit-count": result(f"keeps {n} bits of counts", lambda count, x, n=n: count % (1 << n)) for n in range(1, 7)},
        **{f"at-most-{n}": result(f"counts to {n}", lambda count, x, n=n: np.minimum(count, n)) for n in (7, 15, 31, 63)},
        **{
            f"{type_.lower()}-{label}": operands(f"{does} {type_}", change, (type_,))
            for label, does, change, types in (
                ("sign-extended", "extends by its sign", lambda x: as_signed(x).astype("i8").view("u8"), SIGNED[:3]),
                ("magnitude", "counts the magnitude of", _magnitude, SIGNED),
                ("as-number", "converts to an integer", _as_number, FLOATS),
                ("as-float32", "converts to FLOAT32", _to_float32, ("FLOAT16", "FLOAT64")),
                ("through-float64", "converts to FLOAT64", _through("f8"), ("UINT64",)),
                ("through-float32", "converts to FLOAT32", _through("f4"), ("UINT32",)),
            )
            for type_ in types
        },
        "output-as-bytes": stored(
            "writes counts as bytes",
            lambda y, x: np.pad(y.astype("u1").ravel(), (0, 3 * y.size)).view("u4").reshape(y.shape),
            (),
            lambda desc: desc.tensor("OutputTensor").data_type == "UINT32",
        ),
    },
}

FAULTS: Table = {
    **table("ELEMENT_WISE_BIT_", _FAULTS),
    "ELEMENT_WISE_BIT_AND ELEMENT_WISE_BIT_*OR ELEMENT_WISE_BIT_NOT ELEMENT_WISE_BIT_COUNT ELEMENT_WISE_IDENTITY ELEMENT_WISE_IF": _INPUTS_MOVED,
    "ACTIVATION_IDENTITY": {label: fault for label, fault in _INPUTS_MOVED.items() if "nan" not in label and "64" not in label},
}
"""What implementations of them get wrong."""
