"""Property cases: the outputs must agree with the reference, or keep a law among themselves, for many sizes, layouts and data.

The case says what to try; conformance/properties/relations tries it. Every example is itself a case, so that a failing one, shrunken, can be
written down and run again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from dmlcts.generator.attributes import attribute_choices
from dmlcts.generator.build import build
from dmlcts.generator.case import AGREEMENT, RELATION, Case, beyond
from dmlcts.generator.shapes import choices_for, few_choices, fewest, make_desc, usual_dimension_count
from dmlcts.generator.types import TypeChoice, Types, covering_choices, representatives, type_choices
from dmlcts.spec.abi import abi
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.loader import load, operator_names
from dmlcts.spec.model import ABSENT, Operator, Relation


def property_cases(operator: Operator, most: str = "full") -> Iterator[Case]:
    """Agreement, and the relations of the spec that speak of it, for each choice of types and attributes; in core for one of each width.

    Raises:
        ValueError: a relation uses an operator that has no spec file or takes none of the data types.
    """
    core = representatives(operator)
    for choice in covering_choices(operator):
        level = "core" if choice in core else "full"
        if beyond(level, most):
            continue
        few = few_choices(operator, choice)
        count = usual_dimension_count(operator, choice)
        descs = [
            (attributes, make_desc(operator, choice.types, _run(count), attributes)) for attributes in choices_for(operator, choice)
        ]
        said = {relation.label: _spoken_of(operator, relation, choice, descs) for relation in operator.relations}
        for attributes, desc in descs:
            if attributes in few:
                yield build(
                    operator,
                    "property",
                    ("property", "agreement"),
                    desc,
                    choice,
                    level=level,
                    expect=AGREEMENT,
                    covers=("relation/agreement",),
                )
            for relation in operator.relations:
                if attributes not in said[relation.label]:
                    continue
                case = build(
                    operator,
                    "property",
                    ("property", relation.label),
                    desc,
                    choice,
                    level=level,
                    basis=relation.basis,
                    expect=RELATION,
                    relation=relation.label,
                    covers=(f"relation/{relation.label}",),
                )
                levels = [case.feature_level, *_used_levels(relation, desc)]
                yield replace(case, feature_level=max(levels, key=lambda name: abi().feature_levels[name].value))


def _spoken_of(
    operator: Operator, relation: Relation, choice: TypeChoice, descs: Sequence[tuple[Mapping[str, object], OperatorDesc]]
) -> Sequence[Mapping[str, object]]:
    """The combinations with which a law is tried: all that it speaks of; where they are many, as few as give it each value that it may meet."""
    about = [attributes for attributes, desc in descs if relation.speaks_of(choice.main, desc.fields)]
    return about if len(few_choices(operator, choice)) == len(descs) else fewest(operator, about)


def _used_levels(relation: Relation, desc: OperatorDesc) -> Iterator[str]:
    """The feature levels that the other operators of a law need."""
    for name in relation.uses.values():
        if name not in operator_names():
            raise ValueError(f"{desc.type}: the relation {relation.label} uses {name}, which has no spec file")
        yield str(used_types(load(name), desc).level)


def _run(count: int) -> tuple[int, ...]:
    return (1,) * (count - 1) + (4,)


def choice_of(operator: Operator, desc: OperatorDesc) -> Mapping[str, object]:
    """The choice of attributes that the desc of a property case was made of.

    It is better than the attributes themselves for a desc of other sizes, as an attribute may be computed from them.
    """
    return _choices_by_desc(operator, tuple((name, tensor.data_type) for name, tensor in desc.tensors()), _count(desc)).get(
        repr(desc.fields)
    ) or {field.name: desc.fields[field.name] for field in operator.attributes()} | {
        field.name: ABSENT for field in operator.fields if field.is_tensor and desc.fields.get(field.name) is None
    }


def _count(desc: OperatorDesc) -> int:
    return next(desc.tensors())[1].DimensionCount


@lru_cache(maxsize=256)
def _choices_by_desc(operator: Operator, types: Types, count: int) -> Mapping[str, Mapping[str, object]]:
    """Every choice of attributes by the fields of the desc that a property case has of it; of choices that give the same desc the first."""
    absent = {field.name for field in operator.fields if field.is_tensor} - {name for name, _ in types}
    found: dict[str, Mapping[str, object]] = {}
    for choice in attribute_choices(operator):
        if {name for name, value in choice.items() if value == ABSENT} == absent:
            found.setdefault(repr(make_desc(operator, types, _run(count), choice).fields), choice)
    return found


def used_types(operator: Operator, desc: OperatorDesc) -> TypeChoice:
    """The data types with which a law about ``desc`` calls another operator.

    All inputs have the type of the desc's first tensor that the operator takes, or if they cannot all that must be there or that the desc
    has too; the outputs have that of the desc's output if they can.

    Raises:
        ValueError: it takes none of the desc's types.
    """
    own = tuple(dict.fromkeys(tensor.data_type for _, tensor in desc.tensors()))
    result = desc.tensor(load(desc.type).outputs()[0].name).data_type
    every = {field.name for field in operator.inputs()}
    needed = {field.name for field in operator.inputs() if not field.optional or field.name in dict(desc.tensors())}
    for inputs in (every, needed):
        for wanted in own:
            fitting = [
                choice for choice in type_choices(operator) if all(t == wanted for name, t in choice.types if name in inputs)
            ]
            if fitting:
                return max(fitting, key=lambda choice: sum(t == result for name, t in choice.types if name not in inputs))
    said = f"{desc.type} uses {operator.name} in a relation, which takes no {' or '.join(own)}"
    raise ValueError(f"{said}: give the relation the `types` for which it holds")
