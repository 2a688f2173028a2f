"""Values of attributes: which ones cases use, how ids and labels show them, and how they are computed for a desc.

An enumeration has all its constants, a BOOL both values, an operator desc every allowed operator with its default attributes; other
attributes need ``values`` in the spec. The plan (generator/plan/plan) decides which values are combined.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType

from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.operator import ABSENT, Field


class NotGenerable(ValueError):
    """The generator cannot make cases from a spec; the message says why."""


class Combination(dict[str, object]):
    """A value of each attribute, and PRESENT or ABSENT for each optional tensor; ``configuration`` is the label of its configuration."""

    def __init__(self, values: Mapping[str, object], configuration: str = "") -> None:
        super().__init__(values)
        self.configuration = configuration


def constants(field: Field) -> tuple[object, ...] | None:
    """The values of an attribute in the spec or the ABI, the default first; None where cases need a fused operator."""
    if field.values:
        return field.values
    if field.enum and field.enum != "DML_TENSOR_DATA_TYPE":
        return tuple(abi().enums[field.enum].values)
    if field.type == "BOOL":
        return (False, True)
    if field.type == "OPERATOR_DESC":
        return None
    if field.optional:
        return (None,)
    raise NotGenerable(f"the attribute {field.name} has no `values` in the spec; add them to `cases.attributes`")


def values_within(field: Field, values: tuple[object, ...], limits: Mapping[str, tuple[object, ...]]) -> tuple[object, ...]:
    """The values of an attribute in a configuration, which lists operators by name."""
    if field.name not in limits:
        return values
    if field.operators:
        return tuple(value for value in values if (value.type if isinstance(value, OperatorDesc) else value) in limits[field.name])
    return limits[field.name]


def has_value(desc: OperatorDesc, name: str, value: object) -> bool:
    """Whether an attribute of a desc has this constant value; a fused operator is recognized by its name, as its own attributes may be computed."""
    found = desc.fields[name]
    if isinstance(found, tuple) and isinstance(value, tuple):
        return alike(tuple(map(_name_of, found)), tuple(map(_name_of, value)))
    return alike(_name_of(found), _name_of(value))


def _name_of(value: object) -> object:
    """A fused operator's name; any other value itself."""
    return value.type if isinstance(value, OperatorDesc) else value


_PLAIN = (str, int, NoneType)
"""Types of values without NaN in them."""


def alike(one: object, other: object) -> bool:
    """Whether two values are equal; NaN equals NaN."""
    return one == other or (not isinstance(one, _PLAIN) and repr(one) == repr(other))


def choice_labels(choice: Mapping[str, object]) -> list[str]:
    """The coverage labels of a combination: ``attribute/RoundingMode/TOWARD_ZERO``."""
    return [value_label(name, value) for name, value in choice.items()]


def value_label(name: str, value: object) -> str:
    """The coverage label of one value of an attribute, or of an optional tensor's presence."""
    return f"attribute/{name}/{value_text(value)}"


def value_text(value: object) -> str:
    """A value as text for ids and labels."""
    if value is None:
        return ABSENT
    if isinstance(value, Expression):
        return value.text.replace(" ", "")
    if isinstance(value, OperatorDesc):
        return value.type
    if isinstance(value, tuple):  # of operators, a list of short names
        return ",".join(value_text(element).removeprefix("ACTIVATION_") for element in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def evaluate(field: Field, value: object, known: Mapping[str, object]) -> object:
    """A value for a desc whose tensors and earlier attributes are ``known``: an expression computed, a scalar within its type."""
    if isinstance(value, Expression):
        value = value.evaluate(known)
        if isinstance(value, list | range):
            value = tuple(value)
    if field.type == "SCALAR_UNION" and field.data_type and isinstance(value, int | float):
        return within_type(value, str(known.get(field.data_type)))
    return value


def within_type(value: float, data_type: str) -> float:
    """``value`` clamped to the range of a scalar union of this type: -1 becomes 0 for an unsigned integer."""
    entry = abi().data_types.get(data_type)
    if entry is None or entry.is_float:
        return value
    least, most = entry.limits
    return min(max(int(value), least), most)
