"""Faults in the values of BIT_AND, BIT_OR and BIT_XOR."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from dmlcts.conformance.mutants.old.mutant import Array, Mutant, Value
from dmlcts.conformance.mutants.old.patterns import DETOURS, FLOATS, Change, extended, low, through, without
from dmlcts.reference.element_wise.bits import bits
from dmlcts.spec.desc import OperatorDesc

Binary = Callable[[Array, Array], Array]
"""(bit patterns of A, bit patterns of B) -> bit patterns, as integers of any width: what is beyond the element's is cut off."""

AND, OR, XOR = "ELEMENT_WISE_BIT_AND", "ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_BIT_XOR"
RIGHT: dict[str, Binary] = {AND: np.bitwise_and, OR: np.bitwise_or, XOR: np.bitwise_xor}

_WIDE = ("UINT64", "INT64", "FLOAT64")

_FUNCTIONS: dict[str, tuple[str, Binary]] = {
    "as-nor": ("computes NOR", lambda a, b: ~(a | b)),
    "as-xnor": ("computes XNOR", lambda a, b: ~(a ^ b)),
    "as-and-not": ("computes A and not B", lambda a, b: a & ~b),
    "as-sum": ("adds", np.add),
    "as-difference": ("subtracts", np.subtract),
    "as-maximum": ("takes the larger operand", np.maximum),
    "as-logical": ("gives 1 where one operand is not 0", lambda a, b: (a != 0) | (b != 0)),
}

_RESULTS: dict[str, tuple[str, Change, tuple[str, ...]]] = {
    "low-8-bits": ("gives the low 8 bits alone", low(8), ()),
    "low-16-bits": ("gives the low 16 bits alone", low(16), ()),
    "low-32-bits": ("gives the low 32 bits alone", low(32), ()),
    "top-bit-lost": ("loses the highest bit", without(-1), ()),
    "bit-0-lost": ("loses the lowest bit", without(0), ()),
    "bit-32-lost": ("loses bit 32", without(32), _WIDE),
    "sign-extended-from-32": ("extends bit 31 into the upper half", extended, _WIDE),
    "uint64-through-float64": ("gives UINT64 as a FLOAT64 holds it", through("f8"), ("UINT64",)),
    "uint32-through-float32": ("gives UINT32 as a FLOAT32 holds it", through("f4"), ("UINT32",)),
}

_SAME: dict[str, tuple[str, str, Binary]] = {
    "operands-exchanged": (OR, "the operation is commutative", lambda a, b: b | a),
    "by-adding": (OR, "a + b - (a & b) == a | b, modulo the width", lambda a, b: a + b - (a & b)),
    "by-subtracting": (XOR, "(a | b) - (a & b) == a ^ b", lambda a, b: (a | b) - (a & b)),
}
"""What looks like a fault and is none: operator, reason, function."""


def binary(function: Binary, types: tuple[str, ...] = ()) -> Value:
    """A value fault out of a function of two bit patterns; for these data types alone, if any are given."""

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        if types and desc.tensor("ATensor").data_type not in types:
            return right
        a, b = bits(inputs["ATensor"]), bits(inputs["BTensor"])
        return np.asarray(function(a, b)).astype(a.dtype).view(right.dtype)

    return value


def result(change: Change, types: tuple[str, ...] = ()) -> Value:
    """A value fault that changes the bit patterns of the right result."""

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        if types and desc.tensor("OutputTensor").data_type not in types:
            return right
        return change(bits(right)).astype(bits(right).dtype).view(right.dtype)

    return value


def _changed_operands(change: Change, function: Binary, types: tuple[str, ...]) -> Value:
    return binary(lambda a, b: function(change(a), change(b)), types)


def _as_numbers(name: str) -> Value:
    """Floating-point operands converted to integers, and the result back."""

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        if desc.tensor("ATensor").data_type != name:
            return right
        a, b = (np.nan_to_num(inputs[tensor]).astype(np.int64) for tensor in ("ATensor", "BTensor"))
        return RIGHT[desc.type](a, b).astype(right.dtype)

    return value


def _through_float32(name: str) -> Value:
    """The operation on the bits of the operands converted to FLOAT32, and the result converted back."""

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        if desc.tensor("ATensor").data_type != name:
            return right
        a, b = (bits(inputs[tensor].astype(np.float32)) for tensor in ("ATensor", "BTensor"))
        return RIGHT[desc.type](a, b).view(np.float32).astype(right.dtype)

    return value


def logic_mutants() -> Iterator[Mutant]:
    """Every value fault of BIT_AND, BIT_OR and BIT_XOR."""
    for operator, right in RIGHT.items():
        for name, (does, function) in _FUNCTIONS.items():
            if function is not right:
                yield Mutant(f"{operator}/{name}", (operator,), does, value=binary(function))
    every = tuple(RIGHT)
    for name, (does, change, types) in _RESULTS.items():
        yield Mutant(f"bits/{name}", every, does, value=result(change, types))
    for name in FLOATS:
        label = f"bits/{name.lower()}"
        yield Mutant(f"{label}-as-numbers", every, f"converts {name} to integers first", value=_as_numbers(name))
        for detour, (does, change) in DETOURS.items():
            yield Mutant(f"{label}-{detour}-result", every, f"{does} in {name} results", value=result(change, (name,)))
            for operator, right in RIGHT.items():
                value = _changed_operands(change, right, (name,))
                yield Mutant(f"{operator}/{name.lower()}-{detour}-operands", (operator,), f"{does} in {name} operands", value=value)
    for name in ("FLOAT16", "FLOAT64"):
        yield Mutant(f"bits/{name.lower()}-through-float32", every, f"works on {name} as FLOAT32", value=_through_float32(name))
    for name, (operator, reason, function) in _SAME.items():
        yield Mutant(
            f"{operator}/{name}", (operator,), "computes the same in another way", equivalent=reason, value=binary(function)
        )
