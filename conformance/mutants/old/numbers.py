"""Faults in how numbers are carried: less precision, a smaller range, another sign or width, on the way in or out of any operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from dmlcts.conformance.backend import Bytes
from dmlcts.conformance.mutants.old.mutant import Array, Mutant, Read, Value, Where, read_at
from dmlcts.generator.types import type_choices
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.dtypes import numpy_dtype
from dmlcts.spec.loader import load
from dmlcts.spec.model import DOCUMENTED, MEASURED, Field, Operator

Change = Callable[[Array], Array]

Fields = Callable[[Operator], Sequence[Field]]


def number_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every fault of numbers, for the operators that have numbers of its kind among the first input's types, or the output's.

    Operators to which a type is nothing but its width have no numbers.
    """
    operators = [operator for operator in operators if operator.tolerance.compare != "bits"]
    for name, (kinds, does, basis, change) in _IN.items():
        concerned = tuple(o.name for o in operators if _has(o, _first_input, kinds))
        yield Mutant(
            f"numbers/input-0/{name}",
            concerned,
            f"{does}, in input 0",
            basis,
            read=_read(kinds, change),
            where=_where(_first_input, kinds),
        )
    for name, (kinds, does, basis, change) in _OUT.items():
        concerned = tuple(o.name for o in operators if _has(o, _outputs, kinds))
        yield Mutant(f"numbers/output/{name}", concerned, does, basis, value=_value(kinds, change), where=_where(_outputs, kinds))


def _first_input(operator: Operator) -> Sequence[Field]:
    return operator.inputs()[:1]


def _outputs(operator: Operator) -> Sequence[Field]:
    return operator.outputs()


def _has(operator: Operator, fields: Fields, kinds: tuple[str, ...]) -> bool:
    return any(dict(choice.types)[field.name] in kinds for choice in type_choices(operator) for field in fields(operator))


def _where(fields: Fields, kinds: tuple[str, ...]) -> Where:
    def where(desc: OperatorDesc) -> bool:
        names = {field.name for field in fields(load(desc.type))}
        return any(tensor.data_type in kinds for name, tensor in desc.tensors() if name in names)

    return where


def _read(kinds: tuple[str, ...], change: Change) -> Read:
    def read(position: int, buffer: Bytes, tensor: TensorDesc, offset: int) -> Array:
        right = read_at(position, buffer, tensor, offset)
        with np.errstate(all="ignore"):
            return right if position or tensor.data_type not in kinds else change(right).astype(right.dtype)

    return read


def _value(kinds: tuple[str, ...], change: Change) -> Value:
    dtypes = {numpy_dtype(kind) for kind in kinds}

    def value(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        return change(right).astype(right.dtype) if right.dtype in dtypes else right

    return value


def _through(name: str) -> Change:
    return lambda x: x.astype(name)


def _back_from(name: str) -> Change:
    """Integers through a floating type: what does not fit saturates."""

    def change(x: Array) -> Array:
        info = np.iinfo(x.dtype)
        wide = x.astype(name)
        largest = np.nextafter(np.dtype(name).type(2.0 ** (info.bits - (info.min < 0))), np.dtype(name).type(0))
        back: Array = np.clip(wide, np.dtype(name).type(info.min), largest).astype(x.dtype)
        return back

    return change


def _cut(digits: int) -> Change:
    mask = np.uint32(0xFFFFFFFF << (23 - digits) & 0xFFFFFFFF)
    return lambda x: (np.ascontiguousarray(x).view(np.uint32) & mask).view(np.float32)


def _replaced(which: Callable[[Array], Array], by: Callable[[Array], Array]) -> Change:
    return lambda x: np.where(which(x), by(x), x)


FLOATS, HALF, SINGLE = ("FLOAT64", "FLOAT32", "FLOAT16"), ("FLOAT16",), ("FLOAT32",)
WIDE, LONG = ("INT32", "UINT32", "INT64", "UINT64"), ("INT64", "UINT64")
SIGNED, UNSIGNED = ("INT8", "INT16", "INT32", "INT64"), ("UINT8", "UINT16", "UINT32", "UINT64")

_IN: dict[str, tuple[tuple[str, ...], str, str, Change]] = {
    "through-float16": (SINGLE, "takes FLOAT32 for FLOAT16", DOCUMENTED, _through("float16")),
    "without-sign": (FLOATS, "loses the sign of floats", DOCUMENTED, np.abs),
    "negated": (FLOATS, "turns the sign of floats over", DOCUMENTED, np.negative),
    "nan-as-zero": (FLOATS, "takes NaN for 0", MEASURED, _replaced(np.isnan, np.zeros_like)),
    "infinities-as-largest": (
        FLOATS,
        "takes infinities for the largest number",
        MEASURED,
        _replaced(np.isinf, lambda x: np.copysign(np.finfo(x.dtype).max, x)),
    ),
    "integers-through-float32": (WIDE, "takes integers through FLOAT32", DOCUMENTED, _back_from("float32")),
    "integers-through-float64": (LONG, "takes 64-bit integers through FLOAT64", DOCUMENTED, _back_from("float64")),
    "low-31-bits": (LONG, "takes 31 bits of 64-bit integers", DOCUMENTED, lambda x: x & x.dtype.type(0x7FFFFFFF)),
    "integers-without-sign": (SIGNED, "loses the sign of integers", DOCUMENTED, lambda x: x & x.dtype.type(np.iinfo(x.dtype).max)),
    "without-top-bit": (
        UNSIGNED,
        "loses the highest bit of unsigned integers",
        DOCUMENTED,
        lambda x: x & x.dtype.type(np.iinfo(x.dtype).max >> 1),
    ),
}

_OUT: dict[str, tuple[tuple[str, ...], str, str, Change]] = {
    "through-float16": (SINGLE, "gives FLOAT32 through FLOAT16", DOCUMENTED, _through("float16")),
    "12-digits": (SINGLE, "gives FLOAT32 with 12 digits", DOCUMENTED, _cut(12)),
    "one-percent": (FLOATS, "gives 1 % too much", DOCUMENTED, lambda x: x * x.dtype.type(1.01)),
    "small-as-zero": (FLOATS, "gives 0 for less than 1/8", DOCUMENTED, _replaced(lambda x: np.abs(x) < 0.125, np.zeros_like)),
    "at-most-100": (FLOATS, "gives no number beyond 100", DOCUMENTED, lambda x: np.clip(x, -100, 100)),
    "nan-as-zero": (FLOATS, "gives 0 for NaN", MEASURED, _replaced(np.isnan, np.zeros_like)),
    "minus-zero-lost": (FLOATS, "gives 0 for -0", MEASURED, lambda x: x + x.dtype.type(0)),
    "integers-at-most-100": (
        SIGNED + UNSIGNED,
        "gives no integer beyond 100",
        DOCUMENTED,
        lambda x: np.minimum(x, x.dtype.type(100)),
    ),
}
"""By name: the data types, what it does, the basis whose cases find it, and the change."""
