"""Descs that a spec lists, each as plain as can be: so a refusal shows what is refused.

| kind | one desc for each |
|---|---|
| ``table`` | cell of a table, with every combination of attributes; dimension count of a tensor that has its own |
| ``layout`` | layout of each tensor, the others packed |
| ``in-place`` | permitted alias |

The suite's own cases combine all this (generator/covering/cases).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dmlcts.generator.case.build import build, support_cells
from dmlcts.generator.case.case import Case
from dmlcts.generator.facts.factors import model_of, short
from dmlcts.generator.plan.attributes import Combination, NotGenerable, choice_labels
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.values.layouts import laid_out, layout_of, layouts_of
from dmlcts.spec.model.operator import ABSENT

_RUN = (2, 3, 1, 5, 1, 2, 3, 1)
"""Sizes of the leading tensor, from the last dimension on."""

_SIZES = (2, 3, 4, 5)
"""Sizes that let layouts differ."""


def listed_cases(plan: Plan) -> Iterator[Case]:
    """Every desc that the spec lists."""
    yield from _cells(plan)
    yield from _other_counts(plan)
    yield from _layouts(plan)
    yield from _in_place(plan)


def _cells(plan: Plan) -> Iterator[Case]:
    """Choices that add no new type have the usual dimension count only."""
    for choice in plan.choices:
        for count in choice.dimension_counts if choice in plan.covering_choices else (choice.usual_count,):
            for attributes in choice.attributes:
                desc = choice.desc(_run(count), attributes)
                if plan.level_of(desc) is not None:  # a table for these attributes may list fewer dimension counts
                    covers = (*support_cells(plan, desc), *choice_labels(attributes))
                    yield build("table", (f"{count}d",), desc, choice, level="full", covers=covers)


def _run(count: int) -> tuple[int, ...]:
    return _RUN[:count][::-1]


def _other_counts(plan: Plan) -> Iterator[Case]:
    """Tensors whose dimension count does not depend on the leading one."""
    groups = [group for group in plan.tied_groups("DimensionCount") if plan.leading_tensor not in group]
    for choice in plan.covering_choices if groups else ():
        run = _run(choice.usual_count)
        for group in groups:
            for count in sorted(plan.ranks(choice.types)[group[0]]):
                for attributes in _with_any(choice, group):
                    try:
                        desc = choice.desc(run, attributes, counts=dict.fromkeys(group, count))
                    except NotGenerable:
                        continue
                    alike = {tensor.DimensionCount for name, tensor in desc.tensors() if plan.name_of(name) in group} == {count}
                    if alike and plan.level_of(desc) is not None:
                        parts = (f"{len(run)}d", f"{short(group[0])}-{count}d")
                        yield build("table", parts, desc, choice, level="full", covers=support_cells(plan, desc))
                        break


def _layouts(plan: Plan) -> Iterator[Case]:
    for choice in plan.covering_choices:
        for field in (field for field in plan.operator.fields if field.is_tensor):
            for attributes in _with_any(choice, (field.name,))[:1]:
                base = choice.usual_desc(_SIZES, attributes)
                for layout in layouts_of(plan.operator, field):
                    tensors = {name: laid_out(tensor, layout) for name, tensor in base.called(field.name)}
                    if any(layout_of(tensor) == layout for tensor in tensors.values()):
                        desc = base.with_tensors(tensors)
                        covers = (f"layout/{field.name}/{layout}",)
                        yield build(
                            "layout", ("layout", f"{short(field.name)}-{layout}"), desc, choice, level="full", covers=covers
                        )


def _in_place(plan: Plan) -> Iterator[Case]:
    model = model_of(plan)
    for choice in plan.covering_choices:
        for name, covers in model.alias_labels.items():
            alias = model.aliases.get(name, {})
            for attributes in _with_any(choice, (*alias, *alias.values()))[:1] if alias else ():
                desc = choice.usual_desc(_SIZES, attributes)
                yield build("in-place", ("in-place", name), desc, choice, level="full", in_place=alias, covers=covers)


def _with_any(choice: TypeChoice, tensors: Iterable[str]) -> list[Combination]:
    """The attributes with which one of these tensors at least is present; those with the most of them first."""
    names = list(tensors)
    absent = [(sum(attributes.get(name) == ABSENT for name in names), attributes) for attributes in choice.whole]
    return [attributes for count, attributes in sorted(absent, key=lambda pair: pair[0]) if count < len(names)]
