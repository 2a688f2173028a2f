"""Sequence cases: an operator is initialized, bound or dispatched again, and what one dispatch leaves must not show in the next.

A case says which dispatch is repeated, and in which form; conformance/sequences has the calls. Forms and reasons: generator/plan/forms.yaml.

| level | what there is |
|---|---|
| core | the plainest form of every operator, and of the first operator of each family every form |
| full | every form of every operator, in two unlike configurations |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from dmlcts.generator.case.build import build
from dmlcts.generator.case.case import SEQUENCE, Case, is_beyond
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.plan.desc_plan import DescPlan
from dmlcts.generator.plan.forms import Form, copying_operator, forms
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.generator.sweeps.usual import usual_run
from dmlcts.spec.model.abi import FeatureLevel, abi
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, field_of
from dmlcts.spec.reading.loader import family_of, load, operator_names
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES


def sequence_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """The operator's cases of every form."""
    plainest = next(iter(forms()))
    for index, (choice, desc) in enumerate(_configurations(plan)):
        for form in forms().values():
            level = "core" if index == 0 and (form.label == plainest or _is_first(plan.operator.name)) else "full"
            if is_beyond(level, most):
                continue
            case = _case(form, choice, desc, level)
            if form.copies:
                case = _with_copy(case)
            if case is not None:
                yield case


def _case(form: Form, choice: TypeChoice, desc: OperatorDesc, level: str) -> Case | None:
    """The case of a form; with owned inputs where the form has some, and the operator may."""
    owned = _with_owned_inputs(choice.plan, desc) if form.owned else desc
    parts = ("sequence", form.label, f"{len(next(desc.tensors())[1].sizes)}d")
    covers = (f"sequence/{form.label}", *(f"owned/{name}" for name in owned_fields(owned)))
    case = build("sequence", parts, owned, choice, level=level, covers=covers, basis=form.basis)
    return replace(case, expect=SEQUENCE, sequence=form.label)


def owned_fields(desc: OperatorDesc) -> tuple[str, ...]:
    """The fields of the tensors that DirectML owns."""
    owned = abi().tensor_flags["OWNED_BY_DML"]
    return tuple(dict.fromkeys(field for field, _, tensor in desc.by_field() if tensor.flags & owned))


def _with_owned_inputs(plan: DescPlan, desc: OperatorDesc) -> OperatorDesc:
    """The desc with the inputs after the first owned by DirectML, as weights are; of an operator with one input, that one."""
    may = {field.name for field in plan.operator.inputs() if field.owned_by_dml}
    inputs = {field.name for field in plan.operator.inputs()}
    names = [name for name, _ in desc.tensors() if field_of(name) in inputs]
    chosen = [name for name in names[1:] or names if field_of(name) in may]
    flags = abi().tensor_flags["OWNED_BY_DML"]
    found = desc.with_tensors({name: replace(desc.tensor(name), flags=flags) for name in chosen})
    return desc if violations(plan.operator, found) else found


def _configurations(plan: Plan) -> Iterator[tuple[TypeChoice, OperatorDesc]]:
    """Two unlike configurations: the usual one, and one of other types, attributes, present tensors and dimension count, as far as there are others."""
    choices = plan.choices
    usual = next(_valid(plan, choices))
    yield usual
    for choice, desc in _valid(plan, choices[::-1], unlike=True):
        if desc != usual[1]:
            yield choice, desc
            return


def _valid(plan: Plan, choices: tuple[TypeChoice, ...], unlike: bool = False) -> Iterator[tuple[TypeChoice, OperatorDesc]]:
    """What some feature level allows of these choices of types: with the first of everything, or with the last."""
    for choice in choices:
        counts = sorted(choice.dimension_counts, key=lambda count: (count == choice.usual_count, count))
        for count in counts if unlike else (choice.usual_count,):
            for attributes in choice.whole[::-1] if unlike else choice.attributes[:1]:
                try:
                    desc = choice.desc(usual_run(count), attributes)
                except (NotGenerable, *FAILURES):
                    continue
                if plan.level_of(desc) is not None:
                    yield choice, desc


@cache
def _is_first(name: str) -> bool:
    """Whether an operator is the first of its family, by the ABI's numbers."""
    family = family_of(name)
    return family is not None and name == next(other for other in operator_names() if family_of(other) == family)


# The copy of an output


def _with_copy(case: Case | None) -> Case | None:
    """The case at the feature level that the copy needs too; None where no level has that."""
    level = None if case is None else copy_level(case)
    if case is None or level is None:
        return None
    levels = (str(level), case.feature_level)
    return replace(case, feature_level=max(levels, key=lambda name: abi().feature_levels[name].value))


def copy_level(case: Case) -> FeatureLevel | None:
    """The lowest feature level that has the copy of the case's output; None where none has."""
    return plan_of(load(copying_operator())).level_of(copy_desc(case))


def copied_output(case: Case) -> str:
    """The output that is copied: the first."""
    outputs = {field.name for field in case.operator.outputs()}
    return next(name for field, name, _ in case.desc.by_field() if field in outputs)


def copy_desc(case: Case) -> OperatorDesc:
    """The desc that copies an output of the case."""
    operator, tensor = load(copying_operator()), case.desc.tensor(copied_output(case))
    source, target = replace(tensor, flags=0), TensorDesc(tensor.data_type, tensor.sizes)
    tensors: dict[str, object] = {operator.inputs()[0].name: source, operator.outputs()[0].name: target}
    return OperatorDesc(operator.name, {field.name: tensors.get(field.name) for field in operator.fields})
