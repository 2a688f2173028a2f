"""What a case has of each factor (generator/facts/factors): the row of a covering array that it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dmlcts.generator.case.build import random_data
from dmlcts.generator.case.case import INPUTS, OFFSETS, Case
from dmlcts.generator.facts.factors import ANY, LONG, MANY, MANY_LEAST, NO_LONG, RESOURCES, USUAL, Factor, Model, short, size_class
from dmlcts.generator.facts.tuples import NONE, Row
from dmlcts.generator.plan.attributes import has_value
from dmlcts.generator.values.layouts import layout_of
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.operator import ABSENT, PRESENT
from dmlcts.spec.rules.symbols import symbols_of


def row_of(model: Model, case: Case, symbols: Mapping[str, Any] | None = None) -> Row:
    """The index of the value that a case has of each factor; NONE where it has none of them. ``symbols`` are those of its desc, if they are
    known (generator/facts/factors, symbols_of).
    """
    symbols = symbols_of(model.plan.operator, case.desc) if symbols is None else symbols
    return tuple(_index(model, factor, case, symbols) for factor in model.factors)


def values_of(model: Model, case: Case, kinds: Collection[str], symbols: Mapping[str, Any]) -> Iterator[tuple[Factor, str]]:
    """The factors of some kinds, each with the value that a case has; those without any are left out."""
    for factor in model.factors:
        if factor.kind in kinds and (value := _MEASURES[factor.kind](model, factor, case, symbols)) in factor.values:
            yield factor, value


def structure_of(model: Model, desc: OperatorDesc, symbols: Mapping[str, Any]) -> Row:
    """The structural part of the row of a desc, whose symbols stand for these sizes; of attribute values that amount to the same, the first."""
    case = Case("", "", "", desc, model.plan.operator, "", "")
    found = [_index(model, factor, case, symbols) for factor in model.factors[: model.structural]]
    return (*found, *(NONE for _ in model.factors[model.structural :]))


def _index(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> int:
    value = _MEASURES[factor.kind](model, factor, case, symbols)
    return factor.values.index(value) if value in factor.values else NONE


# Of each kind of factor; empty where a case has nothing of it


def _type(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    group = next(group for group in model.type_groups if group[0] == factor.of)
    return next((tensor.data_type for name, tensor in case.desc.tensors() if model.plan.name_of(name) in group), "")


def _rank(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    group = next(group for group in model.rank_groups if group[0] == factor.of)
    return next((str(tensor.DimensionCount) for name, tensor in case.desc.tensors() if model.plan.name_of(name) in group), "")


def _size(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    value = symbols.get(factor.of)
    if value is None:
        return ""
    if not isinstance(value, tuple):
        return size_class(value)
    end = factor.name.rpartition(" ")[2]
    middle = value[1:-1]
    if end == "last":
        return size_class(value[-1]) if value else ""
    if end == "first":
        return size_class(value[0]) if len(value) > 1 else ""
    return size_class(max(middle)) if middle else ""


def _long(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    free = {symbol: sizes if isinstance(sizes, tuple) else (sizes,) for symbol, sizes in symbols.items() if symbol in model.free}
    found = [
        name
        for name, (symbol, at) in model.long.items()
        if -(at or -1) <= len(free.get(symbol, ())) and free[symbol][at or -1] >= LONG[0]
    ]
    if found:
        return found[0] if len(found) == 1 else ""
    return MANY if model.work(free) >= MANY_LEAST else NO_LONG


def _layout(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    found = {layout_of(tensor) for _, tensor in case.desc.called(factor.of)}
    strided = found - {"packed"}  # of the tensors of an array, some may be packed
    return next(iter(strided or found), "") if len(strided) < 2 else ""


def _configuration(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    return model.plan.operator.configuration(case.desc.fields)


def _presence(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    return ABSENT if case.desc.fields.get(factor.of) is None else PRESENT


def _attribute(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    field = model.plan.operator.field(factor.of)
    for value, shown in zip(model.plan.values(field), factor.values, strict=True):
        actual = value.evaluate(case.desc.fields) if isinstance(value, Expression) else value
        if has_value(case.desc, factor.of, tuple(actual) if isinstance(actual, list | range) else actual):
            return shown
    return ""


def _data(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    operator = model.plan.operator
    for name in model.data_names:
        for tensor, data in case.data.items():
            values = operator.values_of(tensor)
            other = values.data.get(name) if values else None
            if other is not None and (data.recipe, dict(data.parameters)) == (other.recipe, dict(other.parameters)):
                return name
    usual = {name: replace(data, alike=False) if data.alike else data for name, data in case.data.items()}
    return USUAL if usual == random_data(operator, case.desc) else ""


def _in_place(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    if not case.in_place:
        return "no"
    return next((name for name, alias in model.aliases.items() if alias == case.in_place), "")


def _owned_value(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    flagged = tuple(dict.fromkeys(model.plan.name_of(name) for name, tensor in case.desc.tensors() if tensor.flags))
    if not flagged:
        return "none"
    every = tuple(name for name in model.owned_sets.get("all", ()) if case.desc.called(name))
    return "all" if len(flagged) > 1 and flagged == every else short(flagged[0]) if len(flagged) == 1 else ""


def _offset(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    return str(case.offset) if case.offset in OFFSETS else ANY


def _resource(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    inputs = {field.name for field in model.plan.operator.inputs()}
    if case.resource == INPUTS and sum(field in inputs for field, _, _ in case.desc.by_field()) < 2:
        return ""
    return next(name for name, value in RESOURCES.items() if value == case.resource)


def _slack(model: Model, factor: Factor, case: Case, symbols: Mapping[str, Any]) -> str:
    tensors = [tensor for _, tensor in case.desc.tensors()]
    if any(tensor.total_size is not None and tensor.total_size > tensor.least_bytes for tensor in tensors):
        return "total-size"
    if any(tensor.alignment for tensor in tensors):
        return "alignment"
    return "binding" if any(binding.short < 0 for binding in case.bindings.values()) else "none"


_MEASURES = {
    "type": _type,
    "rank": _rank,
    "size": _size,
    "long": _long,
    "layout": _layout,
    "presence": _presence,
    "configuration": _configuration,
    "attribute": _attribute,
    "data": _data,
    "in place": _in_place,
    "owned": _owned_value,
    "offset": _offset,
    "resource": _resource,
    "slack": _slack,
}
