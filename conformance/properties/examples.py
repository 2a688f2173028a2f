"""Examples of a property case: their parts, the generation of examples, and the simplification of one.

Examples come from a seeded byte stream (generator/case/inputs), so they are the same on every machine. An agreement example has sizes of 1 to
``MOST_SIZE``, any layout of each tensor, and the spec's random data. All examples of a relation are in one draft, a row of ``ROW`` elements
each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.properties.law_dispatch import LawTrial, all_types, in_rows
from dmlcts.conformance.properties.laws import relation_of
from dmlcts.generator.case.case import AGREEMENT, REFERENCE, RELATION, Case, Data
from dmlcts.generator.case.inputs import inputs as case_inputs
from dmlcts.generator.case.inputs import recipe_array, recipe_bytes, same_where_broadcast, stream
from dmlcts.generator.sweeps.properties import choice_of
from dmlcts.generator.values.layouts import laid_out
from dmlcts.generator.values.layouts import layouts_of as layouts_for
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import array_literal

Array = NDArray[Any]

MOST_SIZE = 5
"""The largest size of a dimension in an example of agreement."""

ROW = 8
"""The elements of an example of a relation."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An example before it becomes a case. ``arrays`` are packed, by tensor for agreement and by variable for a relation.

    ``run`` are the sizes for the desc, if tensors have different sizes; ``layouts``, of each tensor, are for agreement.
    """

    arrays: Mapping[str, Array]
    run: tuple[int, ...] = ()
    layouts: Mapping[str, str] = field(default_factory=dict)


def draft_case(trial: LawTrial, draft: Draft) -> Case:
    """The example as a separate case with literal data."""
    case = trial.case
    if case.expect == AGREEMENT:
        desc, expect = draft_desc(trial, choice_of(trial.plan, case.desc), draft.run, draft.layouts), REFERENCE
        types = {name: desc.tensor(name).data_type for name in draft.arrays}
    else:
        desc, expect, types = case.desc, RELATION, variable_types(trial)
    data = {name: Data(literal=array_literal(array, types[name])) for name, array in draft.arrays.items()}
    return replace(case, id=f"{case.id}/example", desc=desc, expect=expect, data=data, covers=())


def draft_desc(trial: LawTrial, choice: Mapping[str, object], run: tuple[int, ...], layouts: Mapping[str, str]) -> OperatorDesc:
    """The case's desc with other sizes and layouts. Raises NotGenerable."""
    desc = trial.plan.desc(all_types(trial.plan, trial.case.desc), run, choice)
    return desc.with_tensors({name: laid_out(desc.tensor(name), layout) for name, layout in layouts.items()})


def variable_types(trial: LawTrial) -> dict[str, str]:
    """The data type of each variable of the case's law."""
    given = relation_of(trial.operator, trial.case.relation).given
    return {variable: trial.case.desc.tensor(name).data_type for variable, name in given.items()}


def layouts_of(trial: LawTrial) -> dict[str, tuple[str, ...]]:
    """The layouts that each tensor of the case may have."""
    operator = trial.operator
    return {name: layouts_for(operator, operator.field(field)) for field, name, _ in trial.case.desc.by_field()}


def agreement_cases(trial: LawTrial, examples: int, seed: str) -> Iterator[tuple[Draft, Case]]:
    """Drafts of agreement examples, each with its case, whose data depend on its id as usual. Generated one by one, with empty ``arrays``."""
    case, layouts = trial.case, layouts_of(trial)
    choice = choice_of(trial.plan, case.desc)
    count = next(case.desc.tensors())[1].DimensionCount
    for index in range(examples):
        name = f"{seed}/example/{index}"
        raw = stream(name, count + len(layouts))
        run = tuple(1 + byte % MOST_SIZE for byte in raw[:count])
        chosen = {tensor: those[byte % len(those)] for (tensor, those), byte in zip(layouts.items(), raw[count:], strict=True)}
        desc = draft_desc(trial, choice, run, chosen)
        yield Draft({}, run, chosen), replace(case, id=name, desc=desc, expect=REFERENCE, covers=())


def with_data(draft: Draft, case: Case) -> Draft:
    """A draft of agreement with the data of its case."""
    return replace(draft, arrays=case_inputs(case))


def relation_draft(trial: LawTrial, examples: int, seed: str) -> Draft:
    """All examples of a relation: each variable has the sizes (examples, ROW)."""
    types = variable_types(trial)
    arrays = {}
    for variable, recipe in variable_data(trial).items():
        tensor = TensorDesc(types[variable], (examples, ROW))
        raw = stream(f"{seed}/{variable}", recipe_bytes(recipe.recipe, tensor))
        arrays[variable] = recipe_array(recipe.recipe, recipe.parameters, tensor, raw)
    return Draft(arrays)


def variable_data(trial: LawTrial) -> dict[str, Data]:
    """The random data of each variable of the case's law: the relation's own, or its tensor's."""
    relation = relation_of(trial.operator, trial.case.relation)
    own = {variable: Data(data.recipe, data.parameters) for variable, data in relation.data.items()}
    return {variable: own.get(variable) or trial.case.data[name] for variable, name in relation.given.items()}


def variable_tensors(trial: LawTrial, run: tuple[int, ...]) -> tuple[Mapping[str, object], dict[str, TensorDesc]]:
    """A desc's fields, and the tensor of each variable of the case's law, of the sizes that ``run`` gives. Raises NotGenerable."""
    desc = draft_desc(trial, choice_of(trial.plan, trial.case.desc), run, {})
    given = relation_of(trial.operator, trial.case.relation).given
    return desc.fields, {variable: desc.tensor(name) for variable, name in given.items()}


def sized_draft(trial: LawTrial, seed: str) -> Draft:
    """One example of a relation whose variables have their tensors' sizes."""
    count = next(trial.case.desc.tensors())[1].DimensionCount
    run = tuple(1 + byte % MOST_SIZE for byte in stream(seed, count))
    arrays, data = {}, variable_data(trial)
    fields, tensors = variable_tensors(trial, run)
    for variable, tensor in tensors.items():
        recipe = data[variable]
        raw = stream(f"{seed}/{variable}", recipe_bytes(recipe.recipe, tensor))
        arrays[variable] = recipe_array(recipe.recipe, recipe.parameters, tensor, raw, fields)
    return Draft(arrays, run)


# Simplification


def simpler(trial: LawTrial, draft: Draft) -> Iterator[Draft]:
    """Every draft that is one step simpler: with a layout replaced by packed, or one half of a dimension."""
    if trial.case.expect != AGREEMENT and in_rows(trial.operator):
        yield from _halves(draft)
        return
    for name, layout in draft.layouts.items():
        if layout != "packed":
            yield replace(draft, layouts={**draft.layouts, name: "packed"})
    choice = choice_of(trial.plan, trial.case.desc)
    for axis, size in enumerate(draft.run):
        if size > 1:
            run = (*draft.run[:axis], size // 2, *draft.run[axis + 1 :])
            if trial.case.expect == AGREEMENT:
                desc = draft_desc(trial, choice, run, draft.layouts)
                tensors = {name: desc.tensor(name) for name in draft.arrays}
            else:
                _, tensors = variable_tensors(trial, run)
            for low in (True, False):
                cut = {name: _cut_array(array, tensors[name], low) for name, array in draft.arrays.items()}
                arrays = {name: array for name, array in cut.items() if array is not None}
                if len(arrays) == len(cut):
                    yield replace(draft, run=run, arrays=arrays)


def _halves(draft: Draft) -> Iterator[Draft]:
    """A relation's variables, all cut alike."""
    sizes = next(iter(draft.arrays.values())).shape
    for axis, size in enumerate(sizes):
        if size > 1:
            for half in (slice(0, size // 2), slice(size // 2, size)):
                at = (slice(None),) * axis + (half,)
                yield replace(draft, arrays={name: np.ascontiguousarray(array[at]) for name, array in draft.arrays.items()})


def _cut_array(array: Array, tensor: TensorDesc, low: bool) -> Array | None:
    """The low or the high end of an array in every dimension in which the tensor has become smaller; None if it has grown."""
    if array.ndim != len(tensor.sizes) or any(new > old for new, old in zip(tensor.sizes, array.shape, strict=True)):
        return None
    ends = zip(tensor.sizes, array.shape, strict=True)
    cut = array[tuple(slice(0, new) if low else slice(old - new, old) for new, old in ends)]
    return same_where_broadcast(np.ascontiguousarray(cut), tensor)
