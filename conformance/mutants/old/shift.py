"""Faults in the values of BIT_SHIFT_RIGHT."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dmlcts.conformance.mutants.old.logic import Binary, binary
from dmlcts.conformance.mutants.old.mutant import Array, Mutant
from dmlcts.conformance.mutants.old.patterns import Change
from dmlcts.spec.model import MEASURED

SHIFT = "ELEMENT_WISE_BIT_SHIFT_RIGHT"
NARROW = ("UINT8", "UINT16", "UINT32")

# NumPy shifts by the width and more to 0, or to -1 for a negative number.


def _width(a: Array) -> int:
    return 8 * a.dtype.itemsize


def _arithmetic(a: Array, b: Array) -> Array:
    signed = a.view(f"i{a.dtype.itemsize}")
    shifted: Array = np.right_shift(signed, b.astype(signed.dtype))
    return shifted


def _rotated(a: Array, b: Array) -> Array:
    rotated: Array = (a >> b) | (a << ((_width(a) - b) % _width(a)))
    return rotated


def _rounded(a: Array, b: Array) -> Array:
    last_out = np.where(b > 0, a >> np.where(b > 0, b - 1, 0).astype(a.dtype), 0)
    return (a >> b) + (last_out & 1)


def _halves(carry: bool, by_zero: bool) -> Binary:
    """64 bits by halves: with what passes from the upper to the lower, and with an amount of 0 looked at, or not."""

    def shifted(a: Array, b: Array) -> Array:
        # Processors that take amounts modulo 32 leave the upper half as it is where it should go 32 to the left.
        lower, upper = a & 0xFFFFFFFF, a >> 32
        passing = np.where(b == 0, 0 if by_zero else upper, upper << ((32 - b) % 32)) & 0xFFFFFFFF
        near = (upper >> b) << 32 | (lower >> b) | (passing if carry else 0)
        return np.where(b < 32, near, upper >> np.where(b < 32, 0, b - 32).astype(a.dtype))

    return shifted


def _neighbours(a: Array, b: Array) -> Array:
    """Elements shifted two at a time in a word of twice the width: the second one's bits come into the first."""
    following = np.roll(a.ravel(), -1).reshape(a.shape)
    coming = np.where(b == 0, 0, following << ((_width(a) - b) % _width(a)))
    first = np.arange(a.size).reshape(a.shape) % 2 == 0
    return np.where(first, (a >> b) | coming, a >> b)


def _divided(name: str) -> Binary:
    """Divided by a power of two as a number of a floating-point type."""
    return lambda a, b: np.minimum(np.floor(a.astype(name) / np.exp2(b.astype(name))), np.dtype(name).type(2.0**63)).astype(
        np.uint64
    )


def _masked(mask: int) -> Binary:
    """The amount cut to the bits of ``mask``, and the shift in a register of 64 bits."""
    return lambda a, b: a.astype(np.uint64) >> (b.astype(np.uint64) & np.uint64(mask))


def _by(change: Change) -> Binary:
    """Shifts by the amounts that ``change`` makes of the right ones."""
    return lambda a, b: a >> change(b).astype(b.dtype)


def _at_most(most: int) -> Binary:
    return _by(lambda b: np.minimum(b, b.dtype.type(most)))


def _beyond_width(beyond: Change) -> Binary:
    """Right below the width, and ``beyond`` of A from it on."""
    return lambda a, b: np.where(b < _width(a), a >> b, beyond(a))


_FAULTS: dict[str, tuple[str, Binary, tuple[str, ...]]] = {
    **{
        f"arithmetic-{name.lower()}": (f"shifts {name} with its sign", _arithmetic, (name,))
        for name in ("UINT8", "UINT16", "UINT32", "UINT64")
    },
    "rotates": ("rotates", _rotated, ()),
    "rounds": ("rounds to nearest", _rounded, ()),
    "operands-exchanged": ("shifts B by A", lambda a, b: b >> a, ()),
    "amount-plus-1": ("shifts one bit too far", _by(lambda b: b + 1), ()),
    "amount-minus-1": ("shifts one bit too little", _by(lambda b: np.where(b > 0, b - 1, b)), ()),
    "amount-at-most-7": ("shifts by 7 at most", _at_most(7), ("UINT16", "UINT32", "UINT64")),
    "amount-at-most-15": ("shifts by 15 at most", _at_most(15), ("UINT32", "UINT64")),
    "amount-at-most-31": ("shifts by 31 at most", _at_most(31), ("UINT64",)),
    "amount-of-first-element": ("shifts every element by B's first", lambda a, b: a >> b.flat[0], ()),
    "amount-as-logical": ("shifts by one bit where B is not 0", _by(lambda b: b != 0), ()),
    "last-amount-gives-0": ("gives 0 for the width less one", lambda a, b: np.where(b == _width(a) - 1, 0, a >> b), ()),
    "amount-0-gives-0": ("gives 0 for the amount 0", lambda a, b: np.where(b == 0, 0, a >> b), ()),
    "amount-8-gives-a": ("does not shift by 8", lambda a, b: np.where(b == 8, a, a >> b), ("UINT16", "UINT32", "UINT64")),
    "uint64-without-carry": ("loses what passes between the halves of UINT64", _halves(False, True), ("UINT64",)),
    "uint64-halves-by-0": ("mixes the halves of UINT64 for the amount 0", _halves(True, False), ("UINT64",)),
    "uint64-low-half": ("shifts the low half of UINT64 alone", lambda a, b: (a & 0xFFFFFFFF) >> b, ("UINT64",)),
    "uint64-from-32-gives-0": ("gives 0 in UINT64 from the amount 32 on", lambda a, b: np.where(b < 32, a >> b, 0), ("UINT64",)),
    "uint64-divided-as-float64": ("divides UINT64 as FLOAT64", _divided("f8"), ("UINT64",)),
    "uint32-divided-as-float32": ("divides UINT32 as FLOAT32", _divided("f4"), ("UINT32",)),
    "uint8-neighbours": ("lets bits of the next UINT8 in", _neighbours, ("UINT8",)),
    "uint16-neighbours": ("lets bits of the next UINT16 in", _neighbours, ("UINT16",)),
    "uint16-amount-masked-7": ("masks UINT16's amounts with 7", _masked(7), ("UINT16",)),
    "uint32-amount-masked-7": ("masks UINT32's amounts with 7", _masked(7), ("UINT32",)),
    "uint64-amount-masked-7": ("masks UINT64's amounts with 7", _masked(7), ("UINT64",)),
    "uint32-amount-masked-15": ("masks UINT32's amounts with 15", _masked(15), ("UINT32",)),
    "uint64-amount-masked-15": ("masks UINT64's amounts with 15", _masked(15), ("UINT64",)),
    "uint64-amount-masked-31": ("masks UINT64's amounts with 31", _masked(31), ("UINT64",)),
}

_BEYOND: dict[str, tuple[str, Binary, tuple[str, ...]]] = {
    "uint8-amount-masked-7": ("masks UINT8's amounts with 7", _masked(7), ("UINT8",)),
    "uint16-amount-masked-15": ("masks UINT16's amounts with 15", _masked(15), ("UINT16",)),
    **{f"{name.lower()}-amount-masked-63": (f"masks {name}'s amounts with 63", _masked(63), (name,)) for name in NARROW},
    **{
        f"{name.lower()}-beyond-width-0": (f"gives 0 in {name} where B is the width or more", _beyond_width(np.zeros_like), (name,))
        for name in NARROW
    },
    "beyond-width-a": ("gives A where B is the width or more", _beyond_width(lambda a: a), NARROW),
}
"""Amounts of the width and more: the documentation says nothing of them, and DirectML.dll was measured."""

_SAME: dict[str, tuple[str, str, Binary, tuple[str, ...]]] = {
    **{
        f"{name.lower()}-amount-masked-31": (
            f"masks {name}'s amounts with 31",
            "no amount below the width is changed, and beyond it DirectML.dll does the same",
            _masked(31),
            (name,),
        )
        for name in NARROW
    },
    "uint64-amount-masked-63": (
        "masks UINT64's amounts with 63",
        "no amount below the width is changed, and what UINT64 gives beyond it is demanded of nobody",
        _masked(63),
        ("UINT64",),
    ),
    "uint64-amount-of-one-byte": (
        "reads the low byte of UINT64's amounts alone",
        "amounts below the width fit into a byte, and what UINT64 gives beyond it is demanded of nobody",
        _masked(255),
        ("UINT64",),
    ),
}


def shift_mutants() -> Iterator[Mutant]:
    """Every value fault of BIT_SHIFT_RIGHT."""
    for name, (does, function, types) in _FAULTS.items():
        yield Mutant(f"{SHIFT}/{name}", (SHIFT,), does, value=binary(function, types))
    for name, (does, function, types) in _BEYOND.items():
        yield Mutant(f"{SHIFT}/{name}", (SHIFT,), does, basis=MEASURED, value=binary(function, types))
    for name, (does, reason, function, types) in _SAME.items():
        yield Mutant(f"{SHIFT}/{name}", (SHIFT,), does, equivalent=reason, value=binary(function, types))
