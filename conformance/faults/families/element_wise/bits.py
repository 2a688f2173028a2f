"""Faults of what works on bits, or hands them on: logic, shifts, counts, and elements that are moved as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.elements import as_signed, as_unsigned, function, low, operands, result, table, width
from dmlcts.conformance.faults.model.fault import FLOATS, SIGNED, UNSIGNED, Fault, Faults, Table
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


def _flush(x: Array) -> Array:
    return np.where(x & _infinity(x) == 0, x & _top(x), x)


_MOVES: Mapping[str, tuple[str, Change]] = {
    "nan-quieted": ("makes signalling NaN quiet", lambda x: np.where(x & ~_top(x) > _infinity(x), x | _quiet(x), x)),
    "denormals-flushed": ("makes denormals zero", _flush),
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


def _convert_through(type_: str) -> Change:
    """Integers converted to a floating-point type and back."""
    largest = np.nextafter(np.dtype(type_).type(2.0**64), np.dtype(type_).type(0))
    return lambda x: np.minimum(x.astype(type_), largest).astype("u8").astype(x.dtype)


def _magnitude(x: Array) -> Array:
    return as_unsigned(np.abs(as_signed(x)))


# Shifts: NumPy shifts by the width and more to 0


def _mask_amounts(shift: Shift, mask: int) -> Shift:
    """Amounts cut to the bits of ``mask``, and the shift in a register of 64 bits."""
    return lambda a, b: shift(a.astype("u8"), b.astype("u8") & np.uint64(mask)).astype(a.dtype)


def _shifts(shift: Shift) -> Faults:
    """Of one direction."""
    masks = {"UINT8": (7,), "UINT16": (7, 15), "UINT32": (15, 63), "UINT64": (31,)}
    return {
        f"{type_.lower()}-amount-masked-{mask}": function(
            f"masks {type_}'s amounts with {mask}", _mask_amounts(shift, mask), (type_,)
        )
        for type_, known in masks.items()
        for mask in known
    } | {
        "last-amount-gives-0": result("gives 0 for the width less one", lambda y, a, b: np.where(b == width(a) - 1, 0 * y, y)),
        "amount-0-gives-0": result("gives 0 for the amount 0", lambda y, a, b: np.where(b == 0, 0 * y, y)),
    }


def _divide_as_floats(a: Array, b: Array) -> Array:
    """In FLOAT32 or FLOAT64, as wide as the integers are."""
    real = f"f{a.dtype.itemsize}"
    return np.minimum(np.floor(a.astype(real) / np.exp2(b.astype(real))), 2.0**63).astype(a.dtype)


def _arithmetic(a: Array, b: Array) -> Array:
    return as_unsigned(np.right_shift(as_signed(a), as_signed(b)))


_FAULTS: Table = {
    "AND OR XOR NOT": {
        "low-32-bits": result("gives the low 32 bits alone", lambda y, *_: low(32)(y), _BITS_64),
        "uint64-through-float64": result("converts UINT64 to FLOAT64", lambda y, *_: _convert_through("f8")(y), ("UINT64",)),
        "uint32-through-float32": result("converts UINT32 to FLOAT32", lambda y, *_: _convert_through("f4")(y), ("UINT32",)),
    },
    "NOT": {"magnitude": operands("inverts the bits of the magnitude", _magnitude, SIGNED)},
    "SHIFT_RIGHT": {
        **_shifts(np.right_shift),
        **{f"arithmetic-{type_.lower()}": function(f"shifts {type_} with its sign", _arithmetic, (type_,)) for type_ in UNSIGNED},
        "divides": function("divides in FLOAT32 or FLOAT64", _divide_as_floats, ("UINT32", "UINT64")),
    },
    "SHIFT_LEFT": {**_shifts(np.left_shift)},
    "COUNT": {
        "6-bit-count": result("keeps 6 bits of counts", lambda count, x: count % 64, _BITS_64),
        "low-32-bits": operands("counts the low 32 bits alone", low(32), _BITS_64),
        **{f"{type_.lower()}-magnitude": operands(f"counts the magnitude of {type_}", _magnitude, (type_,)) for type_ in SIGNED},
        "uint64-through-float64": operands("converts UINT64 to FLOAT64", _convert_through("f8"), ("UINT64",)),
        "uint32-through-float32": operands("converts UINT32 to FLOAT32", _convert_through("f4"), ("UINT32",)),
    },
}

FAULTS: Table = {
    **table("ELEMENT_WISE_BIT_", _FAULTS),
    "ELEMENT_WISE_BIT_AND ELEMENT_WISE_BIT_*OR ELEMENT_WISE_BIT_NOT ELEMENT_WISE_BIT_COUNT ELEMENT_WISE_IDENTITY ELEMENT_WISE_IF": _INPUTS_MOVED,
    "ACTIVATION_IDENTITY": {label: fault for label, fault in _INPUTS_MOVED.items() if "nan" not in label and "64" not in label},
}
"""What implementations of them get wrong."""
