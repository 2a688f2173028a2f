"""Special values: infinities, NaN, zeros of either sign, the ends of a range. Every combination of the inputs' sets, and each as a scalar operand.

Further random data that the spec lists come here too: they are typical of something that usual data never show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from math import prod

from dmlcts.generator.case.build import build, random_data
from dmlcts.generator.case.case import Case, Data, is_beyond
from dmlcts.generator.case.inputs import data_values
from dmlcts.generator.plan.attributes import Combination
from dmlcts.generator.plan.desc_plan import DescPlan
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps.table import MOST_IN_CORE
from dmlcts.generator.sweeps.usual import example_desc, usual_run
from dmlcts.generator.values.layouts import laid_out
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.dtypes import bits_dtype, literal_array
from dmlcts.spec.model.operator import CONTESTED, DOCUMENTED, MEASURED, Example, Operator, RandomData, Values
from dmlcts.spec.rules.rules import violations


def data_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The further random data in the spec, for one tensor at a time; in core, one choice of types of each width and kind."""
    if not any(values.data for values in plan.operator.values.values()):
        return
    for choice in plan.covering_choices:
        for index, attributes in enumerate(choice.few):
            level = "core" if choice in plan.kind_representatives and index == 0 else "full"
            if is_beyond(level, most):
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
        if is_beyond("core" if core else "full", most):
            continue
        for names, basis in combined_sets(plan, attributes):
            for part, (desc, data) in enumerate(_value_parts(choice, attributes, names)):
                level = "core" if core and prod(next(desc.tensors())[1].sizes) <= MOST_IN_CORE else "full"
                if is_beyond(level, most):
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


def scalar_operand_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Of operators whose tensors have the same sizes: each value of each set as one number for all elements of an input, beside all values of
    the set of that name in the other inputs.
    """
    if is_beyond("full", most) or not plan.uniform:
        return
    for choice in plan.representatives:
        for names, basis in combined_sets(plan, choice.attributes[0]):
            if len(names) > 1 and len(set(names.values())) == 1:
                yield from _of_set(choice, names, basis)


def _of_set(choice: TypeChoice, names: dict[str, str], basis: str) -> Iterator[Case]:
    plan, attributes = choice.plan, choice.attributes[0]
    operator, usual = plan.operator, choice.usual_desc((1,), attributes)
    found = fill(plan, usual, names)
    if not found:
        return
    lengths = {tensor: data_values(data, usual.tensor(tensor).data_type).size for tensor, data in found.items()}
    for single in (tensor for tensor in found if operator.field(tensor).may_overlap):
        others = every_combination({tensor: data for tensor, data in found.items() if tensor != single}, lengths)
        total = prod(lengths[tensor] for tensor in others)
        desc = choice.usual_desc((total,), attributes)
        desc = desc.with_tensors({single: laid_out(desc.tensor(single), "broadcast-all")})
        if violations(operator, desc):
            continue
        for at in range(lengths[single]):
            own = replace(found[single], parameters={"after": at, "each": total, **found[single].parameters})
            yield build(
                "values",
                ("values", f"{names[single]}-single-{single.removesuffix('Tensor')}-{at}"),
                desc,
                choice,
                level="full",
                data=random_data(operator, desc) | others | {single: own},
                basis=basis,
                checks=("zero-sign",) if basis == MEASURED else (),
            )


def combined_sets(plan: Plan, attributes: Combination) -> Iterator[tuple[dict[str, str], str]]:
    """Every combination of the special sets of tensors that are present, by tensor, with its basis; none where no tensor has a set."""
    present = {name for pair in plan.present(attributes).items() for name in pair}
    tensors = {name: values for name, values in plan.operator.values.items() if name in present}
    sets = {name: _sets(values) for name, values in tensors.items() if values.special or values.measured}
    for row in product(*sets.values()) if sets else ():
        names = {tensor: name for tensor, (name, _) in zip(sets, row, strict=True)}
        yield names, MEASURED if any(basis == MEASURED for _, basis in row) else DOCUMENTED


def fill(plan: DescPlan, desc: OperatorDesc, sets: Mapping[str, str]) -> dict[str, Data] | None:
    """Each tensor filled with its special set, by tensor; None where a set is empty for its type."""
    found = {
        tensor: special_set(plan.operator, of, name, _contested_bits(plan, tensor, its.data_type, desc.fields))
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
    found = fill(plan, usual, sets)
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


def _contested_bits(plan: DescPlan, tensor: str, data_type: str, fields: Mapping[str, object]) -> str:
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
