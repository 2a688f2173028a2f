"""Any attribute of any operator misread, another operator computed, a fused activation ignored.

A fault is called after its attribute: ``Axes/reversed``. Where what is misread would be no valid value, the mutant does what is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import Desc, Fault
from dmlcts.generator.plan.plan import plan_of
from dmlcts.reference.registry import references
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias, Size2D
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.operator import Field, Operator
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import violations


def faults(operator: Operator) -> Iterator[tuple[str, Fault]]:
    """Every misreading of every attribute, and every operator of the same fields computed instead."""
    plan = plan_of(operator)
    fields = [
        field for field in plan.chosen if field.name not in plan.arrays.values()
    ]  # a count alone, without its tensors, is no desc
    for field in fields:
        if field.enum != "DML_TENSOR_DATA_TYPE":
            for label, does, desc in _misreadings(operator, field):
                yield f"{field.name}/{label}", _misread(operator, does, desc)
    for one, other in combinations(fields, 2):
        if one.type == other.type and not (one.enum or other.enum or one.operators):
            does = f"exchanges {one.name} and {other.name}"
            yield f"{one.name}/exchanged-with-{other.name}", _misread(operator, does, _exchange(one.name, other.name))
    for name in operator_names():
        if name != operator.name and name in references() and _signature(load(name)) == _signature(operator):
            yield f"as/{name}", _misread(operator, f"computes {name}", _as_operator(name))


def _signature(operator: Operator) -> tuple[tuple[str, str, str], ...]:
    return tuple((field.name, field.kind, field.type) for field in operator.fields)


def _as_operator(name: str) -> Desc:
    return lambda desc: OperatorDesc(name, desc.fields)


def _exchange(one: str, other: str) -> Desc:
    return lambda desc: desc.with_fields(**{one: desc.fields[other], other: desc.fields[one]})


def _misread(operator: Operator, does: str, desc: Desc) -> Fault:
    def misread(given: OperatorDesc) -> OperatorDesc:
        found = desc(given)
        return given if found == given or (found.type == given.type and _is_invalid(operator, found)) else found

    return Fault(does, desc=misread, when=lambda given: misread(given) != given)


def _is_invalid(operator: Operator, desc: OperatorDesc) -> bool:
    """Whether an attribute's value is none that the operator has for these tensors."""
    return any(found.label.startswith(("domain/", "count/", "field/")) for found in violations(operator, desc))


def _misreadings(operator: Operator, field: Field) -> Iterator[tuple[str, str, Desc]]:
    """Label, what it does, and the desc that is misread."""
    values = plan_of(operator).values(field)
    usual = values[0]
    if len(values) > 1 or field.type == "OPERATOR_DESC":
        # The usual value may be computed from the tensors and from other attributes.
        yield (
            "ignored",
            f"ignores {field.name}",
            lambda desc: plan_of(operator).recompute(desc, {**desc.fields, field.name: usual}),
        )
    if field.enum:
        names = list(abi().enums[field.enum].values)
        for constant in values[1:]:
            yield f"is-{constant}", f"treats {field.name} as {constant} always", _change_field(field, _set_to(constant))
        yield "next", f"reads the next constant for {field.name}", _change_field(field, _next_of(names))
    elif field.type == "OPERATOR_DESC":
        present = [value for value in values if isinstance(value, OperatorDesc)]
        for one, other in zip(present, present[1:] + present[:1], strict=True):
            yield f"{one.type}-as-{other.type}", f"fuses {other.type} for {one.type}", _fused_as(operator, field, one.type, other)
    else:
        shared = field.count and sum(other.count == field.count for other in operator.fields) > 1
        for label, (does, change) in _CHANGES.get(field.type, {}).items():
            given: tuple[Any, ...] = (*values, *(example.attributes.get(field.name) for example in operator.examples))
            constants = [value for value in given if isinstance(value, int | float | tuple) and value == value]  # NaN is not
            if shared and label.endswith("-alone"):  # of arrays that one count counts together, none can be shorter
                continue
            computed = any(isinstance(value, Expression) for value in values) and label not in ("in-float16", "truncated")
            if computed or any(change(value) != value for value in constants if value != ()):
                yield label, does.format(field.name), _change_field(field, change)
        if field.type.endswith("_ARRAY") and len(values) > 1:
            for label, place in (("first", 0), ("last", -1)):
                does = f"ignores the {label} element of {field.name}"
                yield f"{label}-ignored", does, _element_ignored(operator, field, usual, place)


Change = Callable[[Any], Any]
"""An attribute's value into another."""


def _set_to(value: object) -> Change:
    return lambda _: value


def _next_of(constants: list[str]) -> Change:
    return lambda value: constants[(constants.index(value) + 1) % len(constants)]


def _change_field(field: Field, change: Change) -> Desc:
    def desc(given: OperatorDesc) -> OperatorDesc:
        value = given.fields[field.name]
        if value is None or value == ():
            return given
        changed = {field.name: change(value)}
        array = changed[field.name]
        if field.count and isinstance(array, tuple):  # the count follows
            changed[field.count] = len(array)
        return given.with_fields(**changed)

    return desc


def _fused_as(operator: Operator, field: Field, one: str, other: OperatorDesc) -> Desc:
    def desc(given: OperatorDesc) -> OperatorDesc:
        fused = given.fields[field.name]
        if not isinstance(fused, OperatorDesc) or fused.type != one:
            return given
        return plan_of(operator).recompute(given, {**given.fields, field.name: other})

    return desc


def _element_ignored(operator: Operator, field: Field, usual: object, place: int) -> Desc:
    def desc(given: OperatorDesc) -> OperatorDesc:
        value = given.fields[field.name]
        unset = plan_of(operator).recompute(given, {**given.fields, field.name: usual}).fields[field.name]
        if not (isinstance(value, tuple) and isinstance(unset, tuple)) or len(value) != len(unset) or not value:
            return given
        found = list(value)
        found[place] = unset[place]
        return given.with_fields(**{field.name: tuple(found)})

    return desc


def _pair(change: Callable[[Any, Any], tuple[Any, Any]]) -> Change:
    return lambda value: type(value)(*change(*value)) if isinstance(value, ScaleBias | Size2D) else value


def _plus(step: int, *places: int) -> Change:
    return lambda value: tuple(x + step * (at in places or at - len(value) in places) for at, x in enumerate(value))


_NUMBER: Mapping[str, tuple[str, Change]] = {
    "plus-1": ("adds 1 to {}", lambda value: value + 1),
    "minus-1": ("subtracts 1 from {}", lambda value: value - 1),
    "doubled": ("doubles {}", lambda value: value + value),
}
_SIGNED: Mapping[str, tuple[str, Change]] = {
    "negated": ("negates {}", lambda value: -value),
    "absolute": ("ignores the sign of {}", abs),
}
_REAL: Mapping[str, tuple[str, Change]] = {
    **_NUMBER,
    **_SIGNED,
    "truncated": ("cuts {} to an integer", lambda value: float(int(value)) if abs(value) < 2**31 else value),
    "in-float16": ("rounds {} to FLOAT16", lambda value: float(np.float16(value)) if abs(value) < 65504 else value),
    "two-percent": ("reads {} 2 % too large", lambda value: value * 1.02),
}
_ARRAY: Mapping[str, tuple[str, Change]] = {
    "reversed": ("reads {} from the last to the first", lambda value: value[::-1]),
    "rotated": ("reads {} from the second on, then the first", lambda value: value[1:] + value[:1]),
    "first-for-all": ("reads the first of {} for all", lambda value: value[:1] * len(value)),
    "last-for-all": ("reads the last of {} for all", lambda value: value[-1:] * len(value)),
    "first-alone": ("reads the first of {} alone", lambda value: value[:1]),
    "last-alone": ("reads the last of {} alone", lambda value: value[-1:]),
    "first-plus-1": ("adds 1 to the first of {}", _plus(1, 0)),
    "last-plus-1": ("adds 1 to the last of {}", _plus(1, -1)),
    "first-minus-1": ("subtracts 1 from the first of {}", _plus(-1, 0)),
    "last-minus-1": ("subtracts 1 from the last of {}", _plus(-1, -1)),
}
_CHANGES: Mapping[str, Mapping[str, tuple[str, Change]]] = {
    "FLOAT": _REAL,
    "SCALAR_UNION": _REAL,
    "UINT": _NUMBER,
    "UINT64": _NUMBER,
    "INT": {**_NUMBER, **_SIGNED},
    "BOOL": {"flipped": ("reads {} as its opposite", lambda value: not value)},
    "UINT_ARRAY": _ARRAY,
    "INT_ARRAY": _ARRAY,
    "FLOAT_ARRAY": _ARRAY,
    "SIZE_2D": {
        "reversed": ("exchanges width and height of {}", _pair(lambda width, height: (height, width))),
        "first-plus-1": ("adds 1 to the width of {}", _pair(lambda width, height: (width + 1, height))),
        "last-plus-1": ("adds 1 to the height of {}", _pair(lambda width, height: (width, height + 1))),
    },
    "SCALE_BIAS": {
        "bias-lost": ("ignores the bias of {}", _pair(lambda scale, bias: (scale, 0.0))),
        "scale-lost": ("ignores the scale of {}", _pair(lambda scale, bias: (1.0, bias))),
        "bias-first": ("adds the bias of {} first", _pair(lambda scale, bias: (scale, scale * bias))),
        "twice": ("applies {} twice", _pair(lambda scale, bias: (scale * scale, scale * bias + bias))),
        "bias-subtracted": ("subtracts the bias of {}", _pair(lambda scale, bias: (scale, -bias))),
    },
}
"""What implementations do to attributes, by the field's type."""
