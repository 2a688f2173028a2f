"""Which values of its attributes an operator's cases go through, and which of its optional tensors are absent.

An enumeration gives all its constants, a BOOL both its values, an operator desc every operator that may stand there with its own usual
attributes; other attributes need ``values`` in the spec. A few attributes are combined in every way, more of them pairwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from math import prod
from typing import Any

from dmlcts.generator.pairwise import pairwise
from dmlcts.spec.abi import abi
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.expression import Expression
from dmlcts.spec.loader import load, operator_names
from dmlcts.spec.model import ABSENT, PRESENT, Field, Operator
from dmlcts.spec.shape import FAILURES

_ALL_WAYS = 6
"""As many combinations as this are all tried; of more, every pair of values."""


class NotGenerable(ValueError):
    """A spec says something that the generator cannot make cases of; the message says what."""


def attribute_values(field: Field) -> tuple[object, ...]:
    """The values of an attribute that cases go through, the usual one first; an Expression among them is computed for each desc.

    Raises:
        NotGenerable: the spec gives no values for it.
    """
    if field.values:
        return field.values
    if field.enum and field.enum != "DML_TENSOR_DATA_TYPE":
        return tuple(abi().enums[field.enum].values)
    if field.type == "BOOL":
        return (False, True)
    if field.type == "OPERATOR_DESC":
        inner = tuple(_inner_desc(name) for name in field.operators if name in operator_names())
        return (None, *inner) if field.optional else inner
    if field.optional:
        return (None,)
    raise NotGenerable(f"the attribute {field.name} has no `values` in the spec")


@cache
def _inner_desc(name: str) -> OperatorDesc:
    """An operator as it stands inside another: without tensors, with its usual attributes."""
    operator = load(name)
    usual = attribute_choices(operator)[0]
    return OperatorDesc(name, {field.name: None if field.is_tensor else usual.get(field.name) for field in operator.fields})


@cache
def counted_by(operator: Operator) -> Mapping[str, str]:
    """The attributes that count the elements of another: ``{"AxisCount": "Axes"}``. They follow, and are not chosen."""
    return {field.count: field.name for field in operator.fields if field.count}


@cache
def attribute_choices(operator: Operator) -> tuple[Mapping[str, object], ...]:
    """Combinations of attribute values and of optional tensors (ABSENT), the usual one first; one empty mapping where nothing varies.

    Each configuration of the spec has its own, one after another.

    Raises:
        NotGenerable: an attribute has no values.
    """
    return tuple(choice for choice, _ in _configured(operator))


@cache
def _configured(operator: Operator) -> tuple[tuple[Mapping[str, object], Mapping[str, tuple[object, ...]]], ...]:
    """Each combination with the configuration that it is of; a combination of several is of the first."""
    found: list[tuple[Mapping[str, object], Mapping[str, tuple[object, ...]]]] = []
    for limits in operator.configurations.values() or ({},):
        parameters = {name: _limited(operator.field(name), values, limits) for name, values in _parameters(operator).items()}
        known = [choice for choice, _ in found]
        found += [(choice, limits) for choice in _combinations(parameters) if choice not in known]
    return tuple(found)


def _parameters(operator: Operator) -> dict[str, tuple[object, ...]]:
    counts = counted_by(operator)
    parameters: dict[str, tuple[object, ...]] = {}
    for field in operator.fields:
        if field.kind == "attribute" and field.name not in counts:
            parameters[field.name] = attribute_values(field)
        elif field.type == "TENSOR_DESC" and field.optional:
            parameters[field.name] = (PRESENT, ABSENT)
    return parameters


def _limited(field: Field, values: tuple[object, ...], limits: Mapping[str, tuple[object, ...]]) -> tuple[object, ...]:
    """The values of an attribute in a configuration; operators are named there."""
    if field.name not in limits:
        return values
    if field.operators:
        return tuple(value for value in values if (value.type if isinstance(value, OperatorDesc) else value) in limits[field.name])
    return limits[field.name]


def _combinations(parameters: Mapping[str, tuple[object, ...]]) -> Iterable[Mapping[str, object]]:
    if prod(len(values) for values in parameters.values()) <= _ALL_WAYS or len(parameters) < 2:
        return (dict(zip(parameters, values, strict=True)) for values in product(*parameters.values()))
    return pairwise(parameters)


def present_throughout(operator: Operator, choice: Mapping[str, object]) -> Mapping[str, object]:
    """The combination with every optional tensor present that its configuration lets be."""
    limits: Mapping[str, tuple[object, ...]] = next((limits for known, limits in _configured(operator) if known == choice), {})
    return {k: PRESENT if v == ABSENT and PRESENT in limits.get(k, (PRESENT,)) else v for k, v in choice.items()}


def configuration_of(operator: Operator, choice: Mapping[str, object]) -> str:
    """The label of the configuration that a combination is of, empty where there is none."""
    limits = next((limits for known, limits in _configured(operator) if known == choice), {})
    return next((label for label, known in operator.configurations.items() if known is limits), "")


def constant_values(operator: Operator) -> Iterator[tuple[Field, object]]:
    """Each attribute with each of its values that is the same for every desc."""
    for field in operator.attributes():
        if field.name not in counted_by(operator):
            yield from ((field, value) for value in attribute_values(field) if not isinstance(value, Expression))


def has_value(desc: OperatorDesc, name: str, value: object) -> bool:
    """Whether an attribute of a desc has this constant value; a fused operator is told by its name, as its own attributes may be computed."""
    found = desc.fields[name]
    return found.type == value.type if isinstance(found, OperatorDesc) and isinstance(value, OperatorDesc) else found == value


def choice_labels(choice: Mapping[str, object]) -> list[str]:
    """The coverage labels of a combination: ``attribute/RoundingMode/TOWARD_ZERO``."""
    return [value_label(name, value) for name, value in choice.items()]


def value_label(name: str, value: object) -> str:
    """The coverage label of one value of an attribute, or of an optional tensor's presence."""
    return f"attribute/{name}/{value_text(value)}"


def value_text(value: object) -> str:
    """A value as an id or label shows it."""
    if value is None:
        return ABSENT
    if isinstance(value, Expression):
        return value.text.replace(" ", "")
    if isinstance(value, OperatorDesc):
        return value.type
    if isinstance(value, tuple):
        return ",".join(value_text(element) for element in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_attributes(
    operator: Operator, tensors: Mapping[str, TensorDesc | None], choice: Mapping[str, object]
) -> dict[str, object]:
    """All fields of a desc in the struct's order: its tensors, and the values of a choice, computed where they are expressions."""
    known: dict[str, object] = dict(tensors)
    counts = counted_by(operator)
    for field in operator.fields:
        if field.kind == "attribute" and field.name not in counts:
            known[field.name] = _computed(field, choice.get(field.name), known)
    for name, counted in counts.items():
        value = known[counted]
        known[name] = len(value) if isinstance(value, tuple) else 0
    return {field.name: known[field.name] for field in operator.fields}


def recomputed(operator: Operator, desc: OperatorDesc, choice: Mapping[str, object]) -> OperatorDesc:
    """The desc with the attributes of a choice computed anew, for tensors that were changed; where that cannot be, as they were."""
    tensors: dict[str, Any] = {field.name: desc.fields.get(field.name) for field in operator.fields if field.is_tensor}
    try:
        fields = with_attributes(operator, tensors, choice)
    except FAILURES:
        return desc
    unsigned = (fields[field.name] for field in operator.attributes() if field.type.startswith("UINT") and not field.enum)
    if any(
        number < 0 for value in unsigned for number in (value if isinstance(value, tuple) else (value,)) if isinstance(number, int)
    ):
        return desc  # no struct holds it
    return OperatorDesc(desc.type, fields)


def _computed(field: Field, value: object, known: Mapping[str, object]) -> object:
    if isinstance(value, Expression):
        value = value.evaluate(known)
        if isinstance(value, list | range):
            value = tuple(value)
    if field.type == "SCALAR_UNION" and field.data_type and isinstance(value, int | float):
        return within_type(value, str(known.get(field.data_type)))
    return _fused(value, known) if isinstance(value, OperatorDesc) else value


def _fused(inner: OperatorDesc, known: Mapping[str, object]) -> OperatorDesc:
    """An operator inside another, its attributes computed: its tensors are like the output that it follows."""
    operator = load(inner.type)
    output = next((tensor for name, tensor in known.items() if name.startswith("Output") and isinstance(tensor, TensorDesc)), None)
    tensors = {field.name: output for field in operator.fields if field.is_tensor}
    fields = with_attributes(operator, tensors, inner.fields)
    return OperatorDesc(inner.type, {**fields, **dict.fromkeys(tensors)})


def within_type(value: float, data_type: str) -> float:
    """The value nearest to ``value`` that a scalar union of this type holds: -1 is 0 for an unsigned integer."""
    entry = abi().data_types.get(data_type)
    if entry is None or entry.is_float:
        return value
    least, most = entry.limits
    return min(max(int(value), least), most)
