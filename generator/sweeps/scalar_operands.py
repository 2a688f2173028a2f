"""Special values as the only element of an input, broadcast to those of the others: kernels often have separate code for such an operand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from dmlcts.generator.case.build import build, random_data
from dmlcts.generator.case.case import Case, beyond
from dmlcts.generator.case.inputs import data_values
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps.tables import combined_sets, every_combination, filled
from dmlcts.generator.values.layouts import laid_out
from dmlcts.spec.model.operator import MEASURED
from dmlcts.spec.rules.rules import violations


def single_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """Of operators whose tensors have the same sizes: each value of each set as one number for all elements of an input, beside all values of
    the set of that name in the other inputs.
    """
    if beyond("full", most) or not plan.uniform:
        return
    for choice in plan.representatives:
        for names, basis in combined_sets(plan, choice.attributes[0]):
            if len(names) > 1 and len(set(names.values())) == 1:
                yield from _of_set(choice, names, basis)


def _of_set(choice: TypeChoice, names: dict[str, str], basis: str) -> Iterator[Case]:
    plan, attributes = choice.plan, choice.attributes[0]
    operator, usual = plan.operator, choice.usual_desc((1,), attributes)
    found = filled(plan, usual, names)
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
