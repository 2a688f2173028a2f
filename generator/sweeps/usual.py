"""Usual cases: one for each choice of data types, the sizes that the spec lists, and examples with literal inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dmlcts.generator.case.build import build, support_cells
from dmlcts.generator.case.case import VALUES, Case, Data, is_beyond
from dmlcts.generator.plan.attributes import choice_labels
from dmlcts.generator.plan.desc_plan import DescPlan
from dmlcts.generator.plan.pairs import pairwise
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.sweeps.table import BEYOND_16_BITS, MOST_IN_CORE, ONE_TYPE_BEYOND, USUAL_SIZES
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, field_of
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED, Example, Literal


def usual_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """One case for each choice of data types, with the usual dimension count and attributes, packed: the easiest to understand."""
    for choice in plan.choices:
        desc = choice.desc(usual_run(choice.usual_count), choice.attributes[0])
        if plan.level_of(desc) is not None:
            covers = (*support_cells(plan, desc), *choice_labels(choice.attributes[0]))
            yield build("table", (f"{choice.usual_count}d",), desc, choice, level="smoke", covers=covers)


def usual_run(count: int) -> tuple[int, ...]:
    """The sizes of a usual tensor of so many dimensions."""
    return USUAL_SIZES[:count][::-1]


def size_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Large tensors and the sizes that the spec gives, for one type of each width; generator/covering/cases has all others."""
    if plan.operator.sizes:
        yield from symbol_cases(plan, most)
        return
    for choice in () if is_beyond("full", most) else plan.representatives:
        for sizes in ((1, 1, 1, BEYOND_16_BITS), (1, 1, BEYOND_16_BITS, 1)):
            label = f"sizes/{'x'.join(map(str, sizes))}"
            yield build("sizes", (label,), choice.usual_desc(sizes, choice.whole[0]), choice, level="full", covers=(label,))


def symbol_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The sizes in the spec, pairwise: every pair of values of any two symbols. In core for one type of each width, if small."""
    if is_beyond("core", most):
        return
    core = plan.representatives
    rows = pairwise(plan.operator.sizes)
    for choice in core:
        for index, symbols in enumerate(rows):
            desc = choice.desc(usual_run(choice.usual_count), choice.whole[index % len(choice.whole)], symbols)
            most_elements = max(tensor.count for _, tensor in desc.tensors())
            if most_elements > ONE_TYPE_BEYOND and choice != core[0]:
                continue
            level = "core" if most_elements <= MOST_IN_CORE else "full"
            if is_beyond(level, most):
                continue
            parts = [f"{symbol}={_size_text(size)}" for symbol, size in symbols.items()]
            covers = [f"sizes/{part}" for part in parts]
            yield build("sizes", ("sizes", ".".join(parts)), desc, choice, level=level, covers=covers)


def _size_text(size: int | tuple[int, ...]) -> str:
    return "x".join(map(str, size)) if isinstance(size, tuple) else str(size)


def example_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The documentation's examples, and what DirectML.dll was measured to give, with literal inputs and outputs."""
    operator = plan.operator
    for example in operator.examples:
        level = "smoke" if example.basis == DOCUMENTED else "core"
        if is_beyond(level, most):
            continue
        desc = example_desc(plan, example)
        literals = [*example.inputs.values(), *(literal for outputs in example.answers.values() for literal in outputs.values())]
        label = "-".join(dict.fromkeys(literal.data_type for literal in literals))
        yield Case(
            id=f"{operator.name}/{label}/example/{example.id}",
            kind="example",
            level=level,
            desc=desc,
            operator=operator,
            feature_level=str(plan.level_of(desc) or operator.introduced),
            data_type=literals[0].data_type,
            basis=example.basis,
            expect=VALUES,
            data={name: Data(literal=literal) for name, literal in example.inputs.items()},
            answers=example.answers,
            checks=("zero-sign",) if example.basis == MEASURED else (),
            covers=(f"example/{example.id}",),
            note=example.note,
        )


def example_desc(plan: DescPlan, example: Example) -> OperatorDesc:
    """The desc of an example: packed tensors, and its attributes with their counts."""
    answers = next(iter(example.answers.values()))
    literals: dict[str, Literal] = {**example.inputs, **answers}
    tensors: dict[str, Any] = {}
    for field in plan.operator.fields:
        found = [literal for name, literal in literals.items() if field_of(name) == field.name]
        descs = tuple(TensorDesc(literal.data_type, literal.sizes) for literal in found)
        if field.type == "TENSOR_DESC":
            tensors[field.name] = descs[0] if descs else None
        elif field.is_tensor:
            tensors[field.name] = descs
    return OperatorDesc(plan.operator.name, plan.fields(tensors, example.attributes))
