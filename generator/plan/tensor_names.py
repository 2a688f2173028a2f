"""The tensors of an operator by name, and of arrays: how many a desc has, and which name stands for each.

An array has one name for all its tensors (``OutputTensors``), or one for each that a constraint names (``QuantizationTensors[0]``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dmlcts.generator.plan.attributes import evaluate
from dmlcts.spec.model.desc import field_of
from dmlcts.spec.model.operator import ABSENT, Field, Operator


def tensor_names(operator: Operator) -> tuple[str, ...]:
    """The names that have a data type and a dimension count, in the struct's order."""
    named = dict.fromkeys(name for constraint in operator.constraints for name in constraint.tensors if name != field_of(name))
    found: list[str] = []
    for field in operator.fields:
        if field.is_tensor:
            found += sorted(name for name in named if field_of(name) == field.name) or [field.name]
    return tuple(found)


def arrays_of(operator: Operator) -> dict[str, str]:
    """The arrays of tensors, each with the attribute that counts it."""
    return {field.name: field.count for field in operator.fields if field.is_tensor_array and field.count}


def present(operator: Operator, names: tuple[str, ...], choice: Mapping[str, object]) -> dict[str, str]:
    """The tensors of a desc with these attributes, each with its name among ``names``, in the struct's order.

    How many an array has may depend on the attributes before it.
    """
    arrays = arrays_of(operator)
    if not arrays:
        return {name: name for name in names if choice.get(name) != ABSENT}
    found: dict[str, str] = {}
    known: dict[str, object] = {}
    for field in operator.fields:
        if field.is_tensor_array:
            length = known.get(arrays.get(field.name, ""), 0)
            every = [f"{field.name}[{index}]" for index in range(length if isinstance(length, int) else 0)]
            found |= {name: name if name in names else field.name for name in every}
        elif field.is_tensor:
            found |= {field.name: field.name} if choice.get(field.name) != ABSENT else {}
        elif field.name in arrays.values():
            known[field.name] = evaluate(field, choice.get(field.name), known)
        else:
            known[field.name] = choice.get(field.name)
    return found


def filled_fields(operator: Operator, tensors: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """The fields that hold tensors, each with its content. The tensors of an array are under its name, or each under its own."""
    for field in operator.fields:
        if field.is_tensor_array and field.name not in tensors:
            yield field.name, tuple(tensor for name, tensor in tensors.items() if field_of(name) == field.name)
        elif field.is_tensor:
            yield field.name, tensors.get(field.name)


def tensors_of(operator: Operator) -> list[Field]:
    """The fields that are tensors. The first and the second tensor of an array are treated as fields of their own."""
    found: list[Field] = []
    for field in operator.fields:
        if field.is_tensor_array:
            found += [replace(field, name=f"{field.name}[{index}]", type="TENSOR_DESC", count=None) for index in (0, 1)]
        elif field.is_tensor:
            found.append(field)
    return found


def ranks_of(operator: Operator, field: Field) -> set[int]:
    """The dimension counts that some table lists for a tensor."""
    return {count for table in operator.support for count in table.row(field.name).dimension_counts()}
