"""Any tensor of any operator carried wrongly: its numbers changed, its elements in other places, another tensor read for it.

A fault is called after its tensor: ``FilterTensor/negated``. What changes numbers goes over operators that compute with numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import (
    FLOATS,
    INTEGERS,
    LONG,
    PRECISIONS,
    SIGNED,
    WIDE,
    Array,
    Fault,
    Inputs,
    has,
    without_input,
)
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.tensor_names import tensors_of
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.desc import OperatorDesc, field_of
from dmlcts.spec.model.operator import ABSENT, PRESENT, Field, Operator, Shape

Change = Callable[[Array], Array]

BOTH, INPUT, OUTPUT = ("input", "output"), ("input",), ("output",)


def faults(operator: Operator) -> Iterator[tuple[str, Fault]]:
    """The faults of every input and output."""
    tensors = tensors_of(operator)
    for field in tensors:
        types = types_of(operator, field)
        if operator.tolerance.compare != "bits":
            for label, (kinds, does, of, change) in _NUMBERS.items():
                if field.kind in kinds and types & set(of) and _is_tried(operator, field, label):
                    yield f"{field.name}/{label}", change_tensor(field, does, change, of)
        for label, (does, change) in _ORDERS.items():
            yield f"{field.name}/{label}", change_tensor(field, does, change)
        wide = tuple(of for of in types if data_type(of).bits > 8)
        if wide:
            yield f"{field.name}/big-endian", change_tensor(field, "reads {} as big-endian", lambda x: x.byteswap(), wide)
        for axis in axes_of(operator, field):
            for label, (does, change_along) in _ALONG.items():
                name = f"axis {axis}" if axis >= 0 else "the last axis" if axis == -1 else f"the axis {-1 - axis} before the last"
                fault = change_tensor(field, f"{does} along {name}", change_along(axis), (), axis)
                yield f"{field.name}/{label}-along-{axis_label(axis)}", fault
        if field.kind == "input" and field.optional and _may_be_absent(operator, field):
            yield f"{field.name}/absent", Fault(f"ignores {field.name}", inputs=without_input(field.name), when=has(field.name))
    for one, other in combinations([field for field in tensors if field.kind == "input"], 2):
        if types_of(operator, one) & types_of(operator, other) and _may_be_alike(operator, one.name, other.name):
            yield from _confuse_inputs(one.name, other.name)
            yield from list(_confuse_inputs(other.name, one.name))[:1]


def types_of(operator: Operator, field: Field) -> set[str]:
    """The data types that a tensor may have."""
    plan = plan_of(operator)
    names = [name for name in plan.tensors if plan.name_of(field.name) in (name, field_of(name))]
    return {dict(choice.types)[name] for choice in plan.choices for name in names}


def axes_of(operator: Operator, field: Field) -> list[int]:
    """The axes of a tensor that its shapes tell apart and that may be longer than 1; counted from the end behind a ``*``."""
    rows = [row for shape in operator.shapes if (row := _row(shape, field.name))]
    found: dict[int, None] = {}
    for row in rows or [("*S",)]:
        star = next((at for at, size in enumerate(row) if size.startswith("*")), len(row))
        for at, size in enumerate(row):
            if size not in ("1", "*1"):
                found |= dict.fromkeys([at] if at < star else [at, -1 - (len(row) - 1 - at)] if at == star else [at - len(row)])
    return sorted(found)


def _row(shape: Shape, name: str) -> tuple[str, ...]:
    """The sizes of a tensor in a shape, or those of its array; none where the shape is not about it."""
    return shape.sizes.get(name, shape.sizes.get(field_of(name), ()))


def axis_label(axis: int) -> str:
    """An axis in a label: ``axis-1``, ``last-axis``, ``last-axis-but-1``."""
    return f"axis-{axis}" if axis >= 0 else "last-axis" + (f"-but-{-1 - axis}" if axis < -1 else "")


def _may_be_absent(operator: Operator, field: Field) -> bool:
    """Whether the tensor may be left out where all others stay."""
    plan = plan_of(operator)
    choices = (choice for choice in plan.combinations if choice.get(field.name) == PRESENT)
    return any(plan.keeps(plan.choices[0].types, {**choice, field.name: ABSENT}) for choice in choices)


_TRIED: Mapping[str, tuple[set[str], set[str]]] = {
    "nan-as-zero": ({"nans", "bit-patterns"}, {"nan"}),
    "infinities-as-largest": ({"infinities", "bit-patterns"}, {"inf", "-inf"}),
    "minus-zero-lost": ({"zeros", "signed-zeros"}, {"-0.0", "0x80000000", "0x8000"}),
}
"""By label of a fault: the sets of special values that ask for it, and how a set of the spec's own, or an example, writes them."""


def _is_tried(operator: Operator, field: Field, label: str) -> bool:
    """Whether the spec asks for the values that a fault is about, in this input; for an output, in any tensor."""
    if label not in _TRIED:
        return True
    names, texts = _TRIED[label]
    own_values = operator.values_of(field.name)
    known = list(operator.values.values()) if field.kind == "output" else [own_values] if own_values else []
    used = {name for values in known for name in (*values.special, *values.measured, *(of for of, _ in values.parts.values()))}
    own = [data for values in known for name, data in values.sets.items() if name in used]
    examples = [tensors for example in operator.examples for tensors in (example.inputs, *example.answers.values())]
    own += [tensors[field.name].data for tensors in examples if field.name in tensors]
    return bool(names & used) or any(str(x) in texts for data in own for x in data)


def _may_be_alike(operator: Operator, one: str, other: str) -> bool:
    """Whether two tensors may have the same sizes: where shapes speak of both, rows of the same form."""
    pairs = [(_row(shape, one), _row(shape, other)) for shape in operator.shapes]
    rows = [(a, b) for a, b in pairs if a and b]
    whole = [row for pair in rows for row in pair if len(row) == 1 and row[0] != "*1"]  # *S may be of any sizes
    return not rows or bool(whole) or any(len(a) == len(b) and all(map(_may_be_same, a, b)) for a, b in rows)


def _may_be_same(size: str, other: str) -> bool:
    return size.startswith("*") == other.startswith("*") and (size == other or not (size.isdigit() or other.isdigit()))


def change_tensor(field: Field, does: str, change: Change, types: tuple[str, ...] = (), axis: int | None = None) -> Fault:
    """The fault of one tensor. It is no fault of an absent one, of other types, nor along an axis of one element."""
    name = field.name

    def when(desc: OperatorDesc) -> bool:
        tensor = desc.find(name)
        if tensor is None or (types and tensor.data_type not in types):
            return False
        return axis is None or (-len(tensor.sizes) <= axis < len(tensor.sizes) and tensor.sizes[axis] > 1)

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        return {**right, name: change_elements(right[name])}

    def change_elements(x: Array) -> Array:
        found = np.asarray(change(x))
        return np.ascontiguousarray(found if found.dtype.itemsize == x.dtype.itemsize else found.astype(x.dtype)).reshape(x.shape)

    if field.kind == "input":
        return Fault(does.format(name), inputs=inputs, when=when)
    return Fault(does.format(name), lambda desc, given, right: change_elements(right), when=when, output=name)


def _confuse_inputs(one: str, other: str) -> Iterator[tuple[str, Fault]]:
    """One input read for another, and two exchanged: where they are of one type and of the same sizes."""

    def when(desc: OperatorDesc) -> bool:
        a, b = desc.find(one), desc.find(other)
        return a is not None and b is not None and (a.data_type, a.sizes) == (b.data_type, b.sizes)

    yield f"{one}/as-{other}", Fault(f"reads {other} for {one} too", inputs=lambda d, x: {**x, one: x[other]}, when=when)
    exchanged = Fault(f"exchanges {one} and {other}", inputs=lambda d, x: {**x, one: x[other], other: x[one]}, when=when)
    yield f"{one}/exchanged-with-{other}", exchanged


# Numbers


def _change_where(which: Change, by: Callable[[Array], Any]) -> Change:
    return lambda x: np.where(which(x), by(x), x)


def _convert_through(name: str) -> Change:
    """Integers through a floating type: what does not fit saturates."""
    real = np.dtype(name).type

    def change(x: Array) -> Array:
        info = np.iinfo(x.dtype)
        largest = np.nextafter(real(2.0 ** (info.bits - (info.min < 0))), real(0))
        back: Array = np.clip(x.astype(name), real(info.min), largest).astype(x.dtype)
        return back

    return change


def _other_sign(x: Array) -> Array:
    return x.view(x.dtype.str.replace("i", "u") if x.dtype.kind == "i" else x.dtype.str.replace("u", "i"))


_NUMBERS: Mapping[str, tuple[tuple[str, ...], str, tuple[str, ...], Change]] = {
    "lost": (BOTH, "treats {} as 0", FLOATS + INTEGERS, np.zeros_like),
    "negated": (BOTH, "negates {}", FLOATS + SIGNED, np.negative),
    "absolute": (BOTH, "ignores the signs of {}", FLOATS + SIGNED, np.abs),
    "doubled": (BOTH, "doubles {}", FLOATS + INTEGERS, lambda x: x + x),
    **{name: (BOTH, f"rounds {{}} to {of}", types, change) for name, (of, types, change) in PRECISIONS.items()},
    "nan-as-zero": (BOTH, "treats NaN in {} as 0", FLOATS, _change_where(np.isnan, np.zeros_like)),
    "infinities-as-largest": (
        INPUT,
        "treats infinities in {} as the largest number",
        FLOATS,
        _change_where(np.isinf, lambda x: np.copysign(np.finfo(x.dtype).max, x)),
    ),
    "minus-zero-lost": (OUTPUT, "gives 0 for -0 in {}", FLOATS, lambda x: x + x.dtype.type(0)),
    "one-percent": (OUTPUT, "gives 1 % too much in {}", FLOATS, lambda x: x * x.dtype.type(1.01)),
    "small-as-zero": (OUTPUT, "gives 0 for less than 1/8 in {}", FLOATS, _change_where(lambda x: np.abs(x) < 0.125, np.zeros_like)),
    "at-most-100": (OUTPUT, "gives no number beyond 100 in {}", FLOATS, lambda x: np.clip(x, -100, 100)),
    "integers-at-most-100": (OUTPUT, "gives no integer beyond 100 in {}", INTEGERS, lambda x: np.minimum(x, x.dtype.type(100))),
    "through-float32": (INPUT, "converts integers of {} to FLOAT32", WIDE, _convert_through("float32")),
    "through-float64": (INPUT, "converts integers of {} to FLOAT64", LONG, _convert_through("float64")),
    "low-31-bits": (INPUT, "reads 31 bits of the integers of {}", LONG, lambda x: x & x.dtype.type(0x7FFFFFFF)),
    "without-top-bit": (
        INPUT,
        "loses the highest bit of the integers of {}",
        INTEGERS,
        lambda x: x & x.dtype.type(np.iinfo(x.dtype).max >> (x.dtype.kind == "u")),
    ),
    "other-sign": (INPUT, "reads integers of {} as signed where they are not, and the other way round", INTEGERS, _other_sign),
}
"""By label: inputs, outputs or both; what it does; the data types; the change."""


# Places


def _exchange_axes(array: Array, one: int, other: int) -> Array:
    """Read as if two axes were exchanged in memory."""
    return array.swapaxes(one, other) if array.ndim > 1 else array


def _ends_exchanged(array: Array) -> Array:
    flat = array.reshape(-1).copy()
    flat[[0, -1]] = flat[[-1, 0]]
    return flat


_ORDERS: Mapping[str, tuple[str, Change]] = {
    "first-for-all": ("treats all of {} as its first element", lambda x: np.full_like(x, x.flat[0])),
    "next": ("reads the next element of {} instead of each", lambda x: np.roll(x, -1)),
    "ends-exchanged": ("exchanges the first and the last element of {}", _ends_exchanged),
    "column-major": ("reads {} as column-major", lambda x: x.T),
    "last-two-exchanged": ("exchanges the last two dimensions of {}", lambda x: _exchange_axes(x, -1, -2)),
    "first-two-exchanged": ("exchanges the first two dimensions of {}", lambda x: _exchange_axes(x, 0, 1)),
}

_ALONG: Mapping[str, tuple[str, Callable[[int], Change]]] = {
    "first": ("reads the first element of {} for all", lambda axis: lambda x: np.broadcast_to(np.take(x, [0], axis), x.shape)),
    "next": ("reads the next element of {}", lambda axis: lambda x: np.roll(x, -1, axis)),
}
"""Along an axis."""
