"""The ways of one-factor sweeps: choices of data types and attributes that are typical, and what sets each apart.

Kernels take the fast path only for simple dispatches: no activation, no mask, a batch of one, all sizes multiples of 16. That path has bugs of its own:
in the last partial tile, beyond 65,535 groups of threads, or with strides. Cases that differ from the usual in many things at once never reach it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, product
from random import Random

from dmlcts.generator.plan.attributes import Combination, values_within
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps.engine import Way, axes_of
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import ABSENT, Field


@cache
def typical_ways(plan: Plan) -> dict[str, list[Way]]:
    """By configuration, choices of data types with its first attributes, each with every combination of enumerations and axes.

    They have all optional tensors, and none; those with a fused activation come by themselves. A way that is valid in several configurations belongs
    to the first, whose ways with each value of an enumeration come once more by themselves: a transposed convolution is a kernel of its own.
    """
    known = set[str]()
    found: dict[str, list[Way]] = {}
    for name, choice in product(plan.operator.configurations or ("",), plan.representatives):
        usual = next((own for own in choice.attributes if own.configuration == name), None)
        for way in _ways_like(plan, choice, usual) if usual is not None else ():
            key = f"{choice.label} {dict(way[1])}"
            if key not in known:
                known.add(key)
                found.setdefault(f"{name} fused" if _is_fused(plan, way) else name, []).append(way)
    first = next(iter(found.values()), [])
    for field in filter(_is_enumeration, plan.chosen):
        values = dict.fromkeys(str(way[1].get(field.name)) for way in first)
        for value in values if len(values) > 1 else ():
            found[f"{field.name} {value}"] = [way for way in first if str(way[1].get(field.name)) == value]
    for ways in found.values():
        Random(plan.operator.name).shuffle(ways)  # noqa: S311 (reproducible, no secret)
    return found


def _is_fused(plan: Plan, way: Way) -> bool:
    return any(isinstance(way[1].get(field.name), OperatorDesc) for field in plan.chosen)


def _ways_like(plan: Plan, choice: TypeChoice, usual: Combination) -> Iterator[Way]:
    """A combination of attributes with every combination of enumerations, axes and fused operators that its configuration allows."""
    limits = plan.operator.configurations.get(usual.configuration, {})
    fields = [field for field in plan.chosen if _varies(plan, field)]
    bare = {
        field.name: ABSENT
        for field in plan.operator.fields
        if field.type == "TENSOR_DESC" and field.optional and ABSENT in limits.get(field.name, (ABSENT,))
    }
    for values in product(*(values_within(field, plan.values(field), limits) for field in fields)):
        enumerations = {field.name: value for field, value in zip(fields, values, strict=True)}
        for optional in ({}, bare) if bare else ({},):
            attributes = Combination({**usual, **enumerations, **optional}, usual.configuration)
            if plan.keeps(choice.types, attributes):
                yield choice, attributes


def _varies(plan: Plan, field: Field) -> bool:
    """Whether an attribute has all its values: they choose what is computed, and not how much."""
    return field.type in ("BOOL", "OPERATOR_DESC") or _is_enumeration(field) or field.name == axes_of(plan)


def _is_enumeration(field: Field) -> bool:
    return bool(field.enum) and field.enum != "DML_TENSOR_DATA_TYPE"


def apart_by_axes(plan: Plan, ways: Sequence[Way], types: Sequence[str] = (), most_axes: int = 0) -> list[list[Way]]:
    """The ways along each axis; where there are at most so many axes, those of each of these data types."""
    axes = [str(way[1].get(axes_of(plan))) for way in ways]
    own = types if len(set(axes)) <= most_axes else ()
    found: dict[tuple[str, str], list[Way]] = {}
    for axis, way in zip(axes, ways, strict=True):
        found.setdefault((axis, way[0].main if way[0].main in own else ""), []).append(way)
    return list(found.values())


def apart_by_types(ways: Sequence[Way]) -> list[list[Way]]:
    """The ways with each choice of data types."""
    found: dict[str, list[Way]] = {}
    for way in ways:
        found.setdefault(way[0].label, []).append(way)
    return list(found.values())


def apart_by_function(plan: Plan) -> list[list[Way]]:
    """The ways with each choice of data types and each combination of what ``turning.each`` lists, such as the function of a reduction."""
    each = plan.operator.turning.each if plan.operator.turning else ()
    found: dict[object, list[Way]] = {}
    for way in chain.from_iterable(typical_ways(plan).values()):
        found.setdefault((way[0].label, *(way[1].get(name) for name in each)), []).append(way)
    return list(found.values())
