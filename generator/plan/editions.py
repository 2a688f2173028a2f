"""Editions of a spec: what its cases varied when rows were stored for them, so that cases stay while a spec grows.

A covering array, and every sweep whose ways take turns, would be drawn anew when an attribute gets one more value: other rows, other ids. So an
operator's cases are those of its earlier editions, as far as they are still valid, and of the newest those that bring something new
(generator/suite/suite). An edition is not a copy of a spec: the spec as it is now, limited to what existed then, by name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from dmlcts.generator.plan.attributes import value_text
from dmlcts.generator.plan.plan import plan_of
from dmlcts.spec.model.desc import field_of
from dmlcts.spec.model.operator import Constraint, Field, Operator, Shape, Support, Values

Lists = Mapping[str, list[str]]
"""What cases vary, by name: ``attribute Max`` has the values of an attribute, ``types ATensor`` data types, ``fields`` the desc's fields."""

T = TypeVar("T")


def lists_of(operator: Operator) -> dict[str, list[str]]:
    """What an operator's cases vary. Raises NotGenerable where an attribute has no values."""
    plan = plan_of(operator)
    found = {
        "fields": [field.name for field in operator.fields],
        "configurations": list(operator.configurations),
        "layouts": list(operator.layouts),
        "workloads": list(operator.workloads),
        "in place": [_alias(entry.output, entry.inputs) for entry in operator.in_place],
    }
    found |= {f"attribute {field.name}": [value_text(value) for value in plan.values(field)] for field in plan.chosen}
    for name, values in operator.values.items():
        found |= {f"data {name}": list(values.data), f"special {name}": [*values.special, *values.measured]}
    for symbol, sizes in operator.sizes.items():
        found[f"sizes {symbol}"] = [str(size) for size in sizes]
    for field in operator.fields:
        if field.is_tensor:
            rows = (table.tensors[field.name].data_types for table in operator.support if field.name in table.tensors)
            found[f"types {field.name}"] = list(dict.fromkeys(name for row in rows for name in row))
    return {name: names for name, names in found.items() if names}


def is_edition(operator: Operator, lists: Lists) -> bool:
    """Whether the operator can be limited to these lists: it has no required field that they lack, and each tensor has one of their types.

    A spec that was written anew has nothing in common with the rows that lie there.
    """
    fields = set(lists["fields"])
    own = lists_of(operator)
    required = {field.name for field in operator.fields if field.is_tensor and not field.optional}
    typed = [name for name in own if name.startswith("types ") and name.removeprefix("types ") in fields]
    return required <= fields and all(set(own[name]) & set(lists.get(name, ())) for name in typed)


def as_of(operator: Operator, lists: Lists, edition: int) -> Operator:
    """The operator limited to what ``lists`` names; what they do not name at all, such as an attribute that is new, has its default alone."""
    fields = tuple(field for field in operator.fields if field.name in lists["fields"])
    names = {field.name for field in fields}
    gone = {field.name for field in operator.fields} - names
    sizes = {symbol: _keep_named(sizes, lists.get(f"sizes {symbol}", ()), str) for symbol, sizes in operator.sizes.items()}
    return replace(
        operator,
        edition=edition,
        fields=tuple(_limited_field(operator, field, lists) for field in fields),
        support=tuple(_limited_table(table, lists, names) for table in operator.support),
        constraints=tuple(_drop_constraints(operator.constraints, gone)),
        shapes=tuple(_limited_shapes(operator.shapes, gone)),
        values={name: _limited_values(values, name, lists) for name, values in operator.values.items() if field_of(name) in names},
        in_place=tuple(entry for entry in operator.in_place if _alias(entry.output, entry.inputs) in lists.get("in place", ())),
        sizes={symbol: of for symbol, of in sizes.items() if of},
        workloads=_keep_entries(operator.workloads, lists.get("workloads", ())),
        configurations={
            label: {name: values for name, values in limits.items() if name in names}
            for label, limits in _keep_entries(operator.configurations, lists.get("configurations", ())).items()
        },
        layouts=tuple(layout for layout in operator.layouts if layout in lists.get("layouts", ())),
    )


def _alias(output: str, inputs: Iterable[str]) -> str:
    return f"{output} on {'+'.join(inputs)}"


def _keep_named(values: Iterable[T], names: Collection[str], name_of: Any) -> tuple[T, ...]:
    return tuple(value for value in values if name_of(value) in names)


def _keep_entries(entries: Mapping[str, T], names: Collection[str]) -> dict[str, T]:
    return {name: entry for name, entry in entries.items() if name in names}


def _limited_field(operator: Operator, field: Field, lists: Lists) -> Field:
    """The attribute with the values that it had; a tensor as it is."""
    plan = plan_of(operator)
    if field not in plan.chosen:
        return field
    values = plan.values(field)
    own = _keep_named(values, lists.get(f"attribute {field.name}", ()), value_text)
    return field if own == values or not own else replace(field, values=own)


def _limited_table(table: Support, lists: Lists, names: Collection[str]) -> Support:
    rows = {name: row for name, row in table.tensors.items() if name in names}
    types = {name: tuple(of for of in row.data_types if of in lists.get(f"types {name}", ())) for name, row in rows.items()}
    return replace(table, tensors={name: replace(row, data_types=types[name]) for name, row in rows.items()})


def _drop_constraints(constraints: Iterable[Constraint], gone: Collection[str]) -> Iterator[Constraint]:
    """The constraints without fields that are gone; those that are about them alone, or in an expression, are left out."""
    for constraint in constraints:
        read = [each.names for each in (constraint.that, constraint.when) if each is not None]
        tensors = tuple(name for name in constraint.tensors if field_of(name) not in gone)
        if not any(names & set(gone) for names in read) and (not constraint.same or len(tensors) > 1):
            yield replace(constraint, tensors=tensors)


def _limited_shapes(shapes: Iterable[Shape], gone: Collection[str]) -> Iterator[Shape]:
    """The shapes without tensors that are gone, and without those that ask for them."""
    for shape in shapes:
        if shape.when is None or not shape.when.names & set(gone):
            yield replace(shape, sizes={name: row for name, row in shape.sizes.items() if field_of(name) not in gone})


def _limited_values(values: Values, name: str, lists: Lists) -> Values:
    special = lists.get(f"special {name}", ())
    return replace(
        values,
        special=tuple(of for of in values.special if of in special),
        measured=tuple(of for of in values.measured if of in special),
        data=_keep_entries(values.data, lists.get(f"data {name}", ())),
    )
