"""Property cases: the outputs must match the reference, or satisfy a law, for many sizes, layouts and data.

The case says what to test; conformance/properties/relations runs it. Every example is itself a case, so that a failing one, shrunken, can be
saved and run again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from dmlcts.generator.case.build import build, types_by_level
from dmlcts.generator.case.case import AGREEMENT, RELATION, Case, is_beyond
from dmlcts.generator.plan.attributes import Combination
from dmlcts.generator.plan.desc_plan import Attributes, Types
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.desc import OperatorDesc, field_of
from dmlcts.spec.model.operator import ABSENT, Operator, Relation
from dmlcts.spec.reading.loader import error_in, load, operator_names


def property_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Agreement and the spec's applicable relations, with each choice of types and each value of attributes; in core each once.

    The first choice of types to which a law applies has it with all combinations of attributes that are tried, each further one with one of them, in
    turn: laws take more time than anything else for what they find.

    Raises:
        SpecError: a relation uses an operator that has no spec file or supports none of the data types.
    """
    relations, met, begun = plan.operator.relations, Counter[str](), set[str]()
    for choice, _ in types_by_level(plan, plan.representatives, most):
        descs = [(attributes, choice.desc(_run(choice.usual_count), attributes)) for attributes in choice.attributes]
        every = {AGREEMENT: choice.few, **{relation.label: _tried_with(relation, choice, descs) for relation in relations}}
        tried = {label: _in_turn(combinations, met[label]) for label, combinations in every.items()}
        met.update(label for label, combinations in tried.items() if combinations)
        for attributes, desc in descs:
            for relation in (None, *relations):
                label = relation.label if relation else AGREEMENT
                if attributes in tried[label]:
                    level = "core" if label not in begun else "full"
                    begun.add(label)
                    if not is_beyond(level, most):
                        yield _case(relation, label, desc, choice, level)


def _in_turn(combinations: Sequence[Combination], turn: int) -> Sequence[Combination]:
    """All combinations at the first turn, and one of them at each further one."""
    return (combinations[turn % len(combinations)],) if turn and combinations else combinations


def _case(relation: Relation | None, label: str, desc: OperatorDesc, choice: TypeChoice, level: str) -> Case:
    """The case of a law, or of agreement."""
    parts, covers = ("property", label), (f"relation/{label}",)
    if relation is None:
        return build("property", parts, desc, choice, level=level, expect=AGREEMENT, covers=covers)
    case = build("property", parts, desc, choice, level=level, basis=relation.basis, expect=RELATION, relation=label, covers=covers)
    levels = [case.feature_level, *_used_levels(choice.plan.operator, relation, desc)]
    return replace(case, feature_level=max(levels, key=lambda name: abi().feature_levels[name].value))


def _tried_with(relation: Relation, choice: TypeChoice, descs: Sequence[tuple[Combination, OperatorDesc]]) -> Sequence[Combination]:
    """The combinations to test a law with: all to which it applies; of many, as few as include each value."""
    about = [attributes for attributes, desc in descs if relation.speaks_of(choice.main, desc.fields)]
    return about if len(choice.few) == len(descs) else choice.plan.fewest(about)


def _used_levels(operator: Operator, relation: Relation, desc: OperatorDesc) -> Iterator[str]:
    """The feature levels that the other operators of a law need. Raises SpecError."""
    for name, used in relation.uses.items():
        path = ("cases", "relations", relation.label, "uses", name)
        if used not in operator_names():
            raise error_in(operator, path, f"{used} has no spec file")
        try:
            yield str(used_types(plan_of(load(used)), desc).level)
        except ValueError as error:
            raise error_in(operator, path, str(error)) from None


def _run(count: int) -> tuple[int, ...]:
    return (1,) * (count - 1) + (4,)


def choice_of(plan: Plan, desc: OperatorDesc) -> Attributes:
    """The choice of attributes from which the desc of a property case was made.

    For a desc of other sizes it replaces the attributes themselves, which may be computed from the sizes.
    """
    types = tuple({plan.name_of(name): tensor.data_type for name, tensor in desc.tensors()}.items())
    count = next(desc.tensors())[1].DimensionCount
    absent = {name: ABSENT for name in plan.tensors if not desc.called(name)}
    own = {field.name: desc.fields[field.name] for field in plan.operator.attributes()} | absent
    return _choices_by_desc(plan, types, count).get(repr(desc.fields), own)


@lru_cache(maxsize=256)
def _choices_by_desc(plan: Plan, types: Types, count: int) -> Mapping[str, Attributes]:
    """Every choice of attributes, by the fields of a property case's desc; the first if several give the same desc."""
    present = {name for name, _ in types}
    found: dict[str, Attributes] = {}
    for choice in plan.combinations:
        if set(plan.present(choice).values()) == present:
            found.setdefault(repr(plan.desc(types, _run(count), choice).fields), choice)
    return found


def used_types(plan: Plan, desc: OperatorDesc) -> TypeChoice:
    """The data types with which a law about ``desc`` calls another operator.

    If possible, inputs that the desc has too have its types, and the first input has that of the desc's first tensor. Otherwise all inputs have
    the type of the desc's first tensor that the operator supports; or only the required inputs and those in the desc; where no inputs can have
    one type, its tensors have the same types as the desc's, whichever of them has which. The outputs have
    the type of the desc's output if possible.

    Raises:
        ValueError: it supports none of the desc's types.
    """
    own = tuple(dict.fromkeys(tensor.data_type for _, tensor in desc.tensors()))
    result = desc.tensor(load(desc.type).outputs()[0].name).data_type
    inputs = {field.name: field for field in plan.operator.inputs()}
    every = [name for name in plan.tensors if field_of(name) in inputs]
    needed = [name for name in every if not inputs[field_of(name)].optional or desc.called(name)]
    shared = {name: tensor.data_type for name, tensor in desc.tensors() if name in every}
    shared.setdefault(every[0], own[0])
    for wanted in (shared, *(dict.fromkeys(alike, name) for alike in (every, needed) for name in own)):
        fitting = [choice for choice in plan.choices if wanted.items() <= dict(choice.types).items()]
        if fitting:
            return max(fitting, key=lambda choice: sum(t == result for name, t in choice.types if name not in wanted))
    same = next((choice for choice in plan.choices if {of for _, of in choice.types} == set(own)), None)
    if same:
        return same
    problem = f"{desc.type} uses {plan.operator.name} in a relation, which does not support {' or '.join(own)}"
    raise ValueError(f"{problem}: give the relation the `types` to which it applies")
