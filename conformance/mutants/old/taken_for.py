"""Faults of a desc that is misread: one operator taken for another of the same fields, and attributes ignored, exchanged or misapplied.

They need no code of an operator's own: what is wrong is the reference of another operator, or with other attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from dmlcts.conformance.mutants.old.mutant import Desc, Mutant
from dmlcts.generator.attributes import attribute_values, counted_by
from dmlcts.spec.desc import OperatorDesc, ScaleBias
from dmlcts.spec.expression import Expression
from dmlcts.spec.model import Field, Operator
from dmlcts.spec.rules import violations


def misread_mutants(operators: Sequence[Operator]) -> Iterator[Mutant]:
    """Every operator taken for each other one of the same fields, and every attribute misread."""
    for operator in operators:
        for other in operators:
            if other is not operator and _signature(other) == _signature(operator):
                yield _misread(operator, f"as-{other.name}", f"computes {other.name}", _as(other.name))
        for name, does, desc in _of_attributes(operator):
            yield _misread(operator, name, does, desc)


def _misread(operator: Operator, name: str, does: str, desc: Desc) -> Mutant:
    def misread(given: OperatorDesc) -> OperatorDesc:
        found = desc(given)
        return given if found.type == given.type and _is_wrong(operator, found) else found

    return Mutant(f"{operator.name}/{name}", (operator.name,), does, desc=misread, where=lambda given: misread(given) != given)


def _is_wrong(operator: Operator, desc: OperatorDesc) -> bool:
    """Whether an attribute that was misread is none that the operator has for these tensors: there the mutant does what is right."""
    return any(found.label.startswith(("domain/", "count/", "field/")) for found in violations(operator, desc))


def _signature(operator: Operator) -> tuple[tuple[str, str, str], ...]:
    return tuple((field.name, field.kind, field.type) for field in operator.fields)


def _as(name: str) -> Desc:
    return lambda desc: OperatorDesc(name, desc.fields)


Change = Callable[[object], object]
"""An attribute's value into another."""


def _of_attributes(operator: Operator) -> Iterator[tuple[str, str, Desc]]:
    """Name, what it does, and the desc that an attribute's misreading makes of one."""
    fields = [field for field in operator.attributes() if field.name not in counted_by(operator)]
    for field in fields:
        values = attribute_values(field)
        if len(values) > 1 and not isinstance(values[0], Expression):
            yield (
                f"{field.name}-ignored",
                f"takes {field.name} to be {values[0]} always",
                _changed(field, _always(values[0])),
            )
        shared = field.count and sum(other.count == field.count for other in operator.fields) > 1
        # Of arrays that one count counts together, none can be shorter.
        for name, (does, change) in () if shared else _CHANGES.get(field.type, {}).items():
            yield f"{field.name}-{name}", f"takes {field.name} {does}", _changed(field, change)
    for one, other in combinations(fields, 2):
        if one.type == other.type and not (one.enum or other.enum):
            yield f"{one.name}-{other.name}-exchanged", f"exchanges {one.name} and {other.name}", _exchanged(one.name, other.name)


def _always(value: object) -> Change:
    return lambda _: value


def _changed(field: Field, change: Change) -> Desc:
    def desc(given: OperatorDesc) -> OperatorDesc:
        value = given.fields[field.name]
        if value is None and field.type not in ("OPERATOR_DESC", "SCALE_BIAS"):
            return given
        changed = {field.name: change(value)}
        array = changed[field.name]
        if field.count and isinstance(array, tuple):  # the count follows
            changed[field.count] = len(array)
        return given.with_fields(**changed)

    return desc


def _exchanged(one: str, other: str) -> Desc:
    return lambda desc: desc.with_fields(**{one: desc.fields[other], other: desc.fields[one]})


def _pair(change: Callable[[float, float], tuple[float, float]]) -> Change:
    return lambda value: ScaleBias(*change(*value)) if isinstance(value, ScaleBias) else value


def _number(change: Callable[[float], float]) -> Change:
    return lambda value: change(value) if isinstance(value, int | float) else value


def _elements(change: Callable[[tuple[object, ...]], tuple[object, ...]]) -> Change:
    return lambda value: change(value) if isinstance(value, tuple) else value


_CHANGES: dict[str, dict[str, tuple[str, Change]]] = {
    "SCALE_BIAS": {
        "bias-lost": ("without its bias", _pair(lambda scale, bias: (scale, 0.0))),
        "scale-lost": ("without its scale", _pair(lambda scale, bias: (1.0, bias))),
        "bias-first": ("with the bias added first", _pair(lambda scale, bias: (scale, scale * bias))),
        "twice": ("to be applied twice", _pair(lambda scale, bias: (scale * scale, scale * bias + bias))),
        "bias-subtracted": ("with the bias subtracted", _pair(lambda scale, bias: (scale, -bias))),
    },
    "FLOAT": {
        "truncated": ("cut to an integer", _number(lambda value: float(int(value)) if abs(value) < 2**31 else value)),
        "unsigned": ("without its sign", _number(abs)),
        "off-by-2-percent": ("2 % too large", _number(lambda value: value * 1.02)),
    },
    "UINT_ARRAY": {
        "first-alone": ("to be its first element alone", _elements(lambda value: value[:1])),
        "last-alone": ("to be its last element alone", _elements(lambda value: value[-1:])),
    },
}
"""What implementations do to attributes, by the field's type."""
