"""Faults in the values of BIT_NOT and BIT_SHIFT_LEFT."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dmlcts.conformance.mutants.old.fault import FLOATS, SIGNED, Computed, Fault, Faults, as_unsigned, planted
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.conformance.mutants.old.patterns import DETOURS, Change, low, without
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

NOT, LEFT = "ELEMENT_WISE_BIT_NOT", "ELEMENT_WISE_BIT_SHIFT_LEFT"

_LONG = ("UINT64", "INT64", "FLOAT64")


def _bits(function: Callable[..., Array]) -> Computed:
    """Of the inputs' bit patterns; what is beyond the element's width is cut off."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        found = np.asarray(function(*(as_unsigned(x) for x in inputs.values())))
        return found.astype(f"u{right.dtype.itemsize}").view(right.dtype)

    return computed


def _turned(mask: int) -> Computed:
    """These bits turned over."""
    return _bits(lambda x: x ^ x.dtype.type(mask & np.iinfo(x.dtype).max))


def _result(change: Change) -> Computed:
    return _bits(lambda x: change(~x))


_NOT: dict[str, Fault] = {
    "negates": Fault("negates, as a number of two's complement", _bits(lambda x: ~x + 1)),
    "logical": Fault("gives 1 for 0, and 0 for all else", _bits(lambda x: x == 0)),
    "low-8-bits": Fault(
        "turns the low 8 bits over",
        _turned(0xFF),
        tuple(name for name in (*_LONG, "UINT16", "INT16", "FLOAT16", "UINT32", "INT32", "FLOAT32")),
    ),
    "low-16-bits": Fault("turns the low 16 bits over", _turned(0xFFFF), (*_LONG, "UINT32", "INT32", "FLOAT32")),
    "low-32-bits": Fault("turns the low 32 bits over", _turned(0xFFFFFFFF), _LONG),
    "sign-kept": Fault("does not turn the highest bit over", _bits(lambda x: x ^ (np.iinfo(x.dtype).max >> 1))),
    "sign-alone": Fault(
        "turns the highest bit over alone", _bits(lambda x: x ^ (np.iinfo(x.dtype).max ^ (np.iinfo(x.dtype).max >> 1)))
    ),
    "lowest-kept": Fault("does not turn the lowest bit over", _bits(lambda x: ~x ^ x.dtype.type(1))),
    "top-bit-lost": Fault("loses the highest bit", _result(without(-1))),
    "low-half-alone": Fault("gives the low 32 bits alone", _result(low(32)), _LONG),
    "magnitude": Fault(
        "turns the bits of the magnitude over", _bits(lambda x: ~as_unsigned(np.abs(x.view(f"i{x.dtype.itemsize}")))), SIGNED
    ),
    **{
        f"{name.lower()}-{detour}": Fault(f"{does} in {name} results", _result(change), (name,))
        for name in FLOATS
        for detour, (does, change) in DETOURS.items()
    },
}


def _by(change: Change) -> Computed:
    """Shifts by the amounts that ``change`` makes of the right ones."""
    return _bits(lambda a, b: np.left_shift(a, change(b).astype(b.dtype)))


def _width(a: Array) -> int:
    return 8 * a.dtype.itemsize


def _magnitude(a: Array) -> Array:
    """Every bit but the highest."""
    return np.asarray(np.iinfo(a.dtype).max >> 1, a.dtype)


def _beyond(function: Callable[[Array], Array]) -> Computed:
    """Right below the width, and a function of A from it on."""
    return _bits(lambda a, b: np.where(b < _width(a), a << b, function(a)))


_LEFT: dict[str, Fault] = {
    "rotates": Fault("rotates", _bits(lambda a, b: (a << b) | (a >> ((_width(a) - b) % _width(a))))),
    "amount-plus-1": Fault("shifts one bit too far", _by(lambda b: b + 1)),
    "amount-minus-1": Fault("shifts one bit too little", _by(lambda b: np.where(b > 0, b - 1, b))),
    "ones-moved-in": Fault("moves ones in", _bits(lambda a, b: ~(~a << b))),
    "sign-kept": Fault("keeps the highest bit", _bits(lambda a, b: ((a << b) & _magnitude(a)) | (a & ~_magnitude(a)))),
    "saturates": Fault(
        "gives all ones where bits are lost", _bits(lambda a, b: np.where(((a << b) >> b) == a, a << b, np.iinfo(a.dtype).max))
    ),
    "amount-as-logical": Fault("shifts by one bit where B is not 0", _by(lambda b: b != 0)),
    "last-amount-gives-0": Fault("gives 0 for the width less one", _bits(lambda a, b: np.where(b == _width(a) - 1, 0, a << b))),
    "amount-0-gives-0": Fault("gives 0 for the amount 0", _bits(lambda a, b: np.where(b == 0, 0, a << b))),
    "low-half": Fault("shifts the low half of UINT64 alone", _bits(lambda a, b: a << b & 0xFFFFFFFF), ("UINT64",)),
    "without-carry": Fault(
        "loses what passes between the halves of UINT64",
        _bits(lambda a, b: ((a & 0xFFFFFFFF) << b & 0xFFFFFFFF) | (a >> 32 << 32) << b),
        ("UINT64",),
    ),
    "from-32-gives-0": Fault(
        "gives 0 in UINT64 from the amount 32 on", _bits(lambda a, b: np.where(b < 32, a << b, 0)), ("UINT64",)
    ),
    "amount-masked-31": Fault("masks UINT64's amounts with 31", _by(lambda b: b & b.dtype.type(31)), ("UINT64",)),
    "amount-masked-15": Fault("masks UINT32's amounts with 15", _by(lambda b: b & b.dtype.type(15)), ("UINT32", "UINT64")),
    "amount-masked-7": Fault("masks amounts with 7", _by(lambda b: b & b.dtype.type(7)), ("UINT16", "UINT32", "UINT64")),
    "multiplied-as-float32": Fault(
        "multiplies UINT32 by a power of two in FLOAT32",
        _bits(lambda a, b: np.mod(np.ldexp(a.astype("f4"), np.minimum(b, 31).astype("i4")).astype("f8"), 2.0**32).astype("u8")),
        ("UINT32",),
    ),
    "beyond-width-0": Fault("gives 0 where B is the width or more", _beyond(np.zeros_like), ("UINT32",), MEASURED),
    "beyond-width-a": Fault("gives A where B is the width or more", _beyond(lambda a: a), ("UINT8", "UINT16"), MEASURED),
    "width-masked": Fault(
        "masks amounts with the width less one", _by(lambda b: b & b.dtype.type(_width(b) - 1)), ("UINT8", "UINT16"), MEASURED
    ),
}

BITWISE: Faults = {NOT: _NOT, LEFT: _LEFT}


def bitwise_mutants() -> Iterator[Mutant]:
    """Every value fault of BIT_NOT and BIT_SHIFT_LEFT."""
    yield from planted(BITWISE)
