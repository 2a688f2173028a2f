"""Cases for each choice of data types, for large sizes, examples and special values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from math import prod
from typing import Any

from dmlcts.generator.case.build import build, random_data, support_cells
from dmlcts.generator.case.case import VALUES, Case, Data, beyond
from dmlcts.generator.case.inputs import data_values
from dmlcts.generator.plan.attributes import Combination, choice_labels
from dmlcts.generator.plan.desc_plan import DescPlan
from dmlcts.generator.plan.pairs import pairwise
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, field_of
from dmlcts.spec.model.dtypes import bits_dtype, literal_array
from dmlcts.spec.model.operator import CONTESTED, DOCUMENTED, MEASURED, Example, Literal, Operator, RandomData, Values

_RUN = (2, 3, 1, 5, 1, 2, 3, 1)
"""Sizes of table cases, from the last dimension on: small, odd, with some ones, and no two equal neighbors."""

_LARGE = 65_537
"""One more than the range of a 16-bit index, or of a dispatch of 256 groups of 256 threads: as elements of a row, and as rows."""

_MANY = 10_000
"""Sets with more values, and tensors with more elements, are only in level full."""

HUGE_COUNT = 16 * _LARGE
"""Tensors with more elements are large in two sizes at once; one choice of data types is enough for them."""


def usual_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """One case for each choice of data types, with the usual dimension count and attributes, packed: the easiest to understand."""
    for choice in plan.choices:
        desc = choice.desc(usual_run(choice.usual_count), choice.attributes[0])
        if plan.level_of(desc) is not None:
            covers = (*support_cells(plan, desc), *choice_labels(choice.attributes[0]))
            yield build("table", (f"{choice.usual_count}d",), desc, choice, level="smoke", covers=covers)


def usual_run(count: int) -> tuple[int, ...]:
    """The sizes of a usual tensor of so many dimensions."""
    return _RUN[:count][::-1]


def size_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Large tensors and the sizes that the spec gives, for one type of each width; generator/covering/cases has all others."""
    if plan.operator.sizes:
        yield from symbol_cases(plan, most)
        return
    for choice in () if beyond("full", most) else plan.representatives:
        for sizes in ((1, 1, 1, _LARGE), (1, 1, _LARGE, 1)):
            label = f"sizes/{'x'.join(map(str, sizes))}"
            yield build("sizes", (label,), choice.usual_desc(sizes, choice.whole[0]), choice, level="full", covers=(label,))


def symbol_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The sizes in the spec, pairwise: every pair of values of any two symbols. In core for one type of each width, if small."""
    if beyond("core", most):
        return
    core = plan.representatives
    rows = pairwise(plan.operator.sizes)
    for choice in core:
        for index, symbols in enumerate(rows):
            desc = choice.desc(usual_run(choice.usual_count), choice.whole[index % len(choice.whole)], symbols)
            most_elements = max(tensor.count for _, tensor in desc.tensors())
            if most_elements > HUGE_COUNT and choice != core[0]:
                continue
            level = "core" if most_elements <= _MANY else "full"
            if beyond(level, most):
                continue
            parts = [f"{symbol}={_size_text(size)}" for symbol, size in symbols.items()]
            covers = [f"sizes/{part}" for part in parts]
            yield build("sizes", ("sizes", ".".join(parts)), desc, choice, level=level, covers=covers)


def _size_text(size: int | tuple[int, ...]) -> str:
    return "x".join(map(str, size)) if isinstance(size, tuple) else str(size)


def data_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The further random data in the spec, for one tensor at a time; in core, one choice of types of each width and kind."""
    if not any(values.data for values in plan.operator.values.values()):
        return
    for choice in plan.covering:
        for index, attributes in enumerate(choice.few):
            level = "core" if choice in plan.kind_representatives and index == 0 else "full"
            if beyond(level, most):
                continue
            desc = choice.desc(usual_run(choice.usual_count), attributes)
            usual = random_data(plan.operator, desc)
            for tensor, name, other in other_data(plan.operator, desc):
                yield build(
                    "values",
                    ("values", name if len(usual) == 1 else f"{tensor.removesuffix('Tensor')}-{name}"),
                    desc,
                    choice,
                    level=level,
                    data=usual | {own: Data(other.recipe, other.parameters) for own, _ in desc.called(tensor)},
                    basis=other.basis,
                    covers=(f"values/{tensor}/{name}",),
                )


def other_data(operator: Operator, desc: OperatorDesc) -> Iterator[tuple[str, str, RandomData]]:
    """The further random data of each tensor that a desc has, with the tensor and its name."""
    present = random_data(operator, desc)
    for tensor, values in operator.values.items():
        if any(name in present for name, _ in desc.called(tensor)):
            yield from ((tensor, name, other) for name, other in values.data.items())


def value_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Special values: every combination of the inputs' sets, each in one case with every combination of their values.

    An input without a set has its random data. In core, one choice of types of each width and kind, and the default attributes. Where
    tensors differ in size, each set fills its tensor repeatedly.
    """
    core_choices, only_constants = plan.kind_representatives, _only_constants(plan.operator)
    chosen = [(choice, *each) for choice in plan.of_each_format for each in enumerate(choice.few)]
    for choice, index, attributes in chosen:
        core = choice in core_choices and (index == 0 or only_constants)
        if beyond("core" if core else "full", most):
            continue
        for names, basis in combined_sets(plan, attributes):
            for part, (desc, data) in enumerate(_value_parts(choice, attributes, names)):
                level = "core" if core and prod(next(desc.tensors())[1].sizes) <= _MANY else "full"
                if beyond(level, most):
                    continue
                label = "-x-".join(names.values())
                yield build(
                    "values",
                    ("values", f"{label}-part{part + 1}" if part else label),
                    desc,
                    choice,
                    level=level,
                    data=data,
                    basis=basis,
                    checks=("zero-sign",) if basis == MEASURED else (),
                    covers=[f"values/{tensor}/{name}" for tensor, name in names.items()],
                )


def combined_sets(plan: Plan, attributes: Combination) -> Iterator[tuple[dict[str, str], str]]:
    """Every combination of the special sets of tensors that are present, by tensor, with its basis; none where no tensor has a set."""
    present = {name for pair in plan.present(attributes).items() for name in pair}
    tensors = {name: values for name, values in plan.operator.values.items() if name in present}
    sets = {name: _sets(values) for name, values in tensors.items() if values.special or values.measured}
    for row in product(*sets.values()) if sets else ():
        names = {tensor: name for tensor, (name, _) in zip(sets, row, strict=True)}
        yield names, MEASURED if any(basis == MEASURED for _, basis in row) else DOCUMENTED


def filled(plan: DescPlan, desc: OperatorDesc, sets: Mapping[str, str]) -> dict[str, Data] | None:
    """Each tensor filled with its special set, by tensor; None where a set is empty for its type."""
    found = {
        tensor: special_set(plan.operator, of, name, _contested(plan, tensor, its.data_type, desc.fields))
        for of, name in sets.items()
        for tensor, its in desc.called(of)
    }
    return found if all(data_values(data, desc.tensor(tensor).data_type).size for tensor, data in found.items()) else None


def every_combination(sets: Mapping[str, Data], lengths: Mapping[str, int]) -> dict[str, Data]:
    """Sets of so many values by tensor, each value repeated so that all of them together have every combination."""
    found, each = dict[str, Data](), prod(lengths[tensor] for tensor in sets)
    for tensor, data in sets.items():
        each //= lengths[tensor]
        found[tensor] = replace(data, parameters={"each": each, **data.parameters})
    return found


def _only_constants(operator: Operator) -> bool:
    """Whether all attributes are enumerations: then each constant is a different operation, and has its special values in core."""
    return all(field.enum for field in operator.attributes())


def _sets(values: Values) -> list[tuple[str, str]]:
    return [*((name, DOCUMENTED) for name in values.special), *((name, MEASURED) for name in values.measured)]


def _value_parts(
    choice: TypeChoice, attributes: Combination, sets: Mapping[str, str]
) -> Iterator[tuple[OperatorDesc, dict[str, Data]]]:
    """Desc and data with every combination of the sets' values; none where a set is empty for its type.

    Where tensors have different sizes, each set fills its tensor, and a longer one continues in the next part.
    """
    plan, operator = choice.plan, choice.plan.operator
    usual = choice.desc(usual_run(choice.usual_count), attributes)
    found = filled(plan, usual, sets)
    if not found:
        return
    lengths = {tensor: data_values(data, usual.tensor(tensor).data_type).size for tensor, data in found.items()}
    total = prod(lengths.values())
    if plan.uniform:
        desc = choice.usual_desc((total,), attributes)
        yield desc, random_data(operator, desc) | every_combination(found, lengths)
        return
    room = {tensor: usual.tensor(tensor).count for tensor in found}
    for part in range(max(-(-lengths[tensor] // room[tensor]) for tensor in found)):
        after = {tensor: part * room[tensor] % lengths[tensor] for tensor in found}
        moved = {
            tensor: replace(data, parameters={"after": after[tensor], **data.parameters}) if after[tensor] else data
            for tensor, data in found.items()
        }
        yield usual, random_data(operator, usual) | moved


def special_set(operator: Operator, tensor: str, name: str, skip: str = "") -> Data:
    """A set by name, the operator's own or a common one; ``skip`` are the bit patterns to omit."""
    values = operator.values[tensor]
    skipped = {"skip": skip} if skip else {}
    if name in values.parts:
        of, where = values.parts[name]
        return Data(special=of, parameters={"where": where.text} | skipped)
    points = {"points": " ".join(map(str, values.sets[name]))} if name in values.sets else {}
    return Data(special=name, parameters=points | skipped)


def _contested(plan: DescPlan, tensor: str, data_type: str, fields: Mapping[str, object]) -> str:
    """The bit patterns that a contested example has for these attributes: cases of another basis omit them."""
    found: set[int] = set()
    for example, disputed in _contested_examples(plan):
        literal = example.inputs.get(tensor)
        alike = all(disputed[field.name] == fields[field.name] for field in plan.operator.attributes())
        if literal and literal.data_type == data_type and alike:
            found |= {int(pattern) for pattern in literal_array(literal).ravel().view(bits_dtype(data_type))}
    return " ".join(f"{pattern:#x}" for pattern in sorted(found))


@cache
def _contested_examples(plan: DescPlan) -> tuple[tuple[Example, Mapping[str, object]], ...]:
    """The contested examples with their descs' fields."""
    return tuple((e, example_desc(plan, e).fields) for e in plan.operator.examples if e.basis == CONTESTED)


def example_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The documentation's examples, and what DirectML.dll was measured to give, with literal inputs and outputs."""
    operator = plan.operator
    for example in operator.examples:
        level = "smoke" if example.basis == DOCUMENTED else "core"
        if beyond(level, most):
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
