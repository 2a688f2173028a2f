"""The bit operators. They work on the elements' bits; a data type matters for its width alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import Reference, reference
from dmlcts.reference.shared.element_wise import apply_function
from dmlcts.spec.model.desc import OperatorDesc


def bits(array: Array) -> Array:
    """The array's bit patterns as unsigned integers of the same width, without a copy."""
    return array.view(f"u{array.dtype.itemsize}")


def _binary(function: Callable[[Any, Array, Array], Array]) -> Reference:
    def run(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        a, b = inputs["ATensor"], inputs["BTensor"]
        return {"OutputTensor": Answer(apply_function(function, xp, bits(a), bits(b)).view(a.dtype))}

    return run


reference("ELEMENT_WISE_BIT_AND")(_binary(lambda xp, a, b: a & b))
reference("ELEMENT_WISE_BIT_OR")(_binary(lambda xp, a, b: a | b))
reference("ELEMENT_WISE_BIT_XOR")(_binary(lambda xp, a, b: a ^ b))


def _shift_right(xp: Any, a: Array, b: Array) -> Array:
    """``a >> b``. From the width on the page is silent, and DirectML.dll was measured: narrow types shift as 32-bit numbers, by five bits."""
    if a.dtype.itemsize == 8:
        return a >> b
    return (a.astype("u4") >> (b.astype("u4") & 31)).astype(a.dtype)


def _shift_left(xp: Any, a: Array, b: Array) -> Array:
    """``a << b``. From the width on as for the shift to the right."""
    if a.dtype.itemsize == 8:
        return a << b
    return (a.astype("u4") << (b.astype("u4") & 31)).astype(a.dtype)


reference("ELEMENT_WISE_BIT_SHIFT_RIGHT")(_binary(_shift_right))
reference("ELEMENT_WISE_BIT_SHIFT_LEFT")(_binary(_shift_left))


@reference("ELEMENT_WISE_BIT_NOT")
def bit_not(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Every bit inverted."""
    x = inputs["InputTensor"]
    return {"OutputTensor": Answer(apply_function(lambda xp, x: ~x, xp, bits(x)).view(x.dtype))}


@reference("ELEMENT_WISE_BIT_COUNT")
def bit_count(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The number of bits set."""
    return {"OutputTensor": Answer(apply_function(_bits_set, xp, bits(inputs["InputTensor"])))}


def _bits_set(xp: Any, pattern: Array) -> Array:
    """By adding neighbouring fields of 1, 2, 4, ... 32 bits."""
    count = pattern.astype(xp.uint64)
    for width, mask in (
        (1, 0x5555555555555555),
        (2, 0x3333333333333333),
        (4, 0x0F0F0F0F0F0F0F0F),
        (8, 0x00FF00FF00FF00FF),
        (16, 0x0000FFFF0000FFFF),
        (32, 0x00000000FFFFFFFF),
    ):
        count = (count & xp.uint64(mask)) + ((count >> xp.uint64(width)) & xp.uint64(mask))
    return count
