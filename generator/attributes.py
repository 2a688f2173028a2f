"""Values of attributes: which ones the cases go through, how they are written in ids and labels, and how they are computed for a desc.

An enumeration gives all its constants, a BOOL both its values, an operator desc every operator that may stand there with its own usual
attributes; other attributes need ``values`` in the spec. Which values stand together is the plan's (generator/plan).
"""

from __future__ import annotations

from collections.abc import Mapping

from dmlcts.spec.abi import abi
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.expression import Expression
from dmlcts.spec.model import ABSENT, Field


class NotGenerable(ValueError):
    """A spec says something that the generator cannot make cases of; the message says what."""


class Combination(dict[str, object]):
    """A value of each attribute, and PRESENT or ABSENT for each optional tensor; ``configuration`` is the label of the one that it is of."""

    def __init__(self, values: Mapping[str, object], configuration: str = "") -> None:
        super().__init__(values)
        self.configuration = configuration


def constants(field: Field) -> tuple[object, ...] | None:
    """The values of an attribute that the spec or the ABI lists, the usual one first; None where cases need a fused operator."""
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
    raise NotGenerable(f"the attribute {field.name} has no `values` in the spec")


def limited(field: Field, values: tuple[object, ...], limits: Mapping[str, tuple[object, ...]]) -> tuple[object, ...]:
    """The values of an attribute in a configuration; operators are named there."""
    if field.name not in limits:
        return values
    if field.operators:
        return tuple(value for value in values if (value.type if isinstance(value, OperatorDesc) else value) in limits[field.name])
    return limits[field.name]


def has_value(desc: OperatorDesc, name: str, value: object) -> bool:
    """Whether an attribute of a desc has this constant value; a fused operator is told by its name, as its own attributes may be computed."""
    found = desc.fields[name]
    return found.type == value.type if isinstance(found, OperatorDesc) and isinstance(value, OperatorDesc) else alike(found, value)


def alike(one: object, other: object) -> bool:
    """Whether two values are equal, a NaN and a NaN too."""
    return one == other or repr(one) == repr(other)


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


def evaluated(field: Field, value: object, known: Mapping[str, object]) -> object:
    """A value for a desc whose tensors and earlier attributes are ``known``: an expression computed, a scalar within its type."""
    if isinstance(value, Expression):
        value = value.evaluate(known)
        if isinstance(value, list | range):
            value = tuple(value)
    if field.type == "SCALAR_UNION" and field.data_type and isinstance(value, int | float):
        return within_type(value, str(known.get(field.data_type)))
    return value


def within_type(value: float, data_type: str) -> float:
    """The value nearest to ``value`` that a scalar union of this type holds: -1 is 0 for an unsigned integer."""
    entry = abi().data_types.get(data_type)
    if entry is None or entry.is_float:
        return value
    least, most = entry.limits
    return min(max(int(value), least), most)
