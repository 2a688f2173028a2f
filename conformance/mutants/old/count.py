"""Faults in the values of BIT_COUNT."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from dmlcts.conformance.backends.backend import Bytes
from dmlcts.conformance.backends.buffers import write_tensor
from dmlcts.conformance.mutants.old.mutant import Array, Mutant, Value, Write
from dmlcts.conformance.mutants.old.patterns import DETOURS, FLOATS, Change, low, through, without
from dmlcts.reference.element_wise.bits import bits
from dmlcts.spec.desc import OperatorDesc, TensorDesc

COUNT = "ELEMENT_WISE_BIT_COUNT"

_WIDE = ("UINT64", "INT64", "FLOAT64")


def ones(x: Array) -> Array:
    """The number of bits set in each element."""
    counts: Array = np.bitwise_count(bits(x)).astype(np.int64)
    return counts


def _width(x: Array) -> int:
    return 8 * x.dtype.itemsize


def _counted(function: Callable[[Array], Array], types: tuple[str, ...] = ()) -> Value:
    """A value fault out of a function of the input; for these data types alone, if any are given."""

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        if types and desc.tensor("InputTensor").data_type not in types:
            return right
        return function(inputs["InputTensor"]).astype(right.dtype)

    return value


def _ones_of(change: Change, types: tuple[str, ...] = ()) -> Value:
    """Counts the ones of changed bit patterns."""
    return _counted(lambda x: ones(change(bits(x))), types)


def _count(change: Change) -> Value:
    """Changes the right counts."""
    return lambda desc, inputs, right: change(right.astype(np.int64)).astype(right.dtype)


def _trailing_zeros(x: Array) -> Array:
    """By x & -x, which is the lowest bit that is set: below it are ones in that less one."""
    pattern = bits(x)
    return np.where(pattern == 0, _width(x), ones((pattern & (~pattern + 1)) - 1))


def _leading_zeros(x: Array) -> Array:
    """By setting every bit below the highest that is set."""
    filled = bits(x)
    for step in (1, 2, 4, 8, 16, 32):
        filled = filled | (filled >> filled.dtype.type(step))
    return _width(x) - ones(filled)


def _integers(x: Array) -> Array:
    return np.clip(np.nan_to_num(x.astype(np.float64)), -(2.0**62), 2.0**62).astype(np.int64)


def _extended(name: str) -> Change:
    signed = np.dtype(name.lower())
    return lambda pattern: pattern.view(signed).astype(np.int64).view(np.uint64)


def _magnitude(pattern: Array) -> Array:
    magnitude: Array = bits(np.abs(pattern.view(f"i{pattern.dtype.itemsize}")))
    return magnitude


def _modulo(divisor: int, count: Array) -> Array:
    return count % divisor


def _at_most(most: int, count: Array) -> Array:
    return np.minimum(count, most)


_FAULTS: dict[str, tuple[str, Value]] = {
    **{f"low-{n}-bits": (f"counts the low {n} bits alone", _ones_of(low(n))) for n in (8, 16, 32)},
    "top-bit-not-counted": ("does not count the highest bit", _ones_of(without(-1))),
    "bit-0-not-counted": ("does not count the lowest bit", _ones_of(without(0))),
    "bit-31-not-counted": ("does not count bit 31 of 64", _ones_of(without(31), _WIDE)),
    "bit-32-not-counted": ("does not count bit 32 of 64", _ones_of(without(32), _WIDE)),
    "low-half-twice": ("counts the low half of 64 bits twice", _counted(lambda x: 2 * ones(low(32)(bits(x))), _WIDE)),
    "zeros": ("counts zeros", _counted(lambda x: _width(x) - ones(x))),
    "leading-zeros": ("counts leading zeros", _counted(_leading_zeros)),
    "trailing-zeros": ("counts trailing zeros", _counted(_trailing_zeros)),
    "any-bit": ("gives 1 where a bit is set", _count(lambda count: count > 0)),
    "one-too-many": ("counts one too many", _count(lambda count: count + 1)),
    **{f"{n}-bit-count": (f"keeps the low {n} bits of the count", _count(partial(_modulo, 1 << n))) for n in range(1, 7)},
    **{f"at-most-{n}": (f"counts to {n} at most", _count(partial(_at_most, n))) for n in (7, 15, 31, 63)},
    **{
        f"{name.lower()}-sign-extended": (f"counts {name} extended to 64 bits by its sign", _ones_of(_extended(name), (name,)))
        for name in ("INT8", "INT16", "INT32")
    },
    **{
        f"{name.lower()}-magnitude": (f"counts the magnitude of {name}", _ones_of(_magnitude, (name,)))
        for name in ("INT8", "INT16", "INT32", "INT64")
    },
    **{
        f"{name.lower()}-as-number": (f"counts {name} converted to an integer", _counted(lambda x: ones(_integers(x)), (name,)))
        for name in FLOATS
    },
    **{
        f"{name.lower()}-as-float32": (f"counts {name} converted to FLOAT32", _counted(lambda x: ones(x.astype("f4")), (name,)))
        for name in ("FLOAT16", "FLOAT64")
    },
    **{
        f"{name.lower()}-{detour}": (f"{does} in {name} before it counts", _ones_of(change, (name,)))
        for name in FLOATS
        for detour, (does, change) in DETOURS.items()
    },
    "uint64-through-float64": ("counts UINT64 as a FLOAT64 holds it", _ones_of(through("f8"), ("UINT64",))),
    "uint32-through-float32": ("counts UINT32 as a FLOAT32 holds it", _ones_of(through("f4"), ("UINT32",))),
}

_SAME: dict[str, tuple[str, Value]] = {
    "zeros-of-complement": ("the ones of x are the zeros of ~x", _counted(lambda x: _width(x) - ones(~bits(x)))),
    "7-bit-count": ("no count is beyond 64", _count(partial(_modulo, 128))),
}
"""What looks like a fault and is none, with the reason."""


def _as_type(name: str, other: str) -> Write:
    """Writes an output of one type as if it were of another."""

    def write(buffer: Bytes, tensor: TensorDesc, array: Array, offset: int) -> None:
        if tensor.data_type != name:
            write_tensor(buffer, tensor, array, offset)
            return
        written = np.ascontiguousarray(array.astype(other.lower())).reshape(-1).view(np.uint8)[: buffer.size - offset]
        buffer[offset : offset + written.size] = written

    return write


def count_mutants() -> Iterator[Mutant]:
    """Every value fault of BIT_COUNT."""
    for name, (does, value) in _FAULTS.items():
        yield Mutant(f"{COUNT}/{name}", (COUNT,), does, value=value)
    for name, other in (("UINT8", "UINT32"), ("UINT32", "UINT8")):
        yield Mutant(
            f"{COUNT}/{name.lower()}-as-{other.lower()}", (COUNT,), f"writes {name} as {other}", write=_as_type(name, other)
        )
    for name, (reason, value) in _SAME.items():
        yield Mutant(f"{COUNT}/{name}", (COUNT,), "counts in another way", equivalent=reason, value=value)
