"""Builds cases, so that ids, data and coverage labels have the same form for all kinds of cases.

An id is ``OPERATOR/TYPES/KIND/...``; it has attributes as ``Name=VALUE``, enumerations as the constant alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import sha256
from typing import Any

from dmlcts.generator.case.case import LONGEST_ID, Case, Data, is_beyond
from dmlcts.generator.plan.attributes import value_label, value_text
from dmlcts.generator.plan.desc_plan import DescPlan
from dmlcts.generator.plan.plan import Plan
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED, Operator

_CUT = "/etc-"
"""What stands before the number in an id that was too long."""

_MANY = 4
"""Up to this number, an id has all attributes."""


def build(
    kind: str,
    parts: Iterable[str],
    desc: OperatorDesc,
    choice: TypeChoice,
    *,
    level: str,
    data: Mapping[str, Data] | None = None,
    covers: Iterable[str] = (),
    basis: str = DOCUMENTED,
    **more: Any,
) -> Case:
    """A case of ``kind``. By default its data are the spec's recipes; it covers its attributes' values besides ``covers``."""
    plan, operator = choice.plan, choice.plan.operator
    configuration = operator.configuration(desc.fields)
    labels = (value_label(field.name, desc.fields.get(field.name)) for field in plan.chosen)
    return Case(
        id=_cut("/".join((operator.name, choice.label, *parts, *attribute_parts(plan, desc, configuration)))),
        kind=kind,
        level=level,
        desc=desc,
        operator=operator,
        feature_level=str(plan.level_of(desc) or choice.level),
        data_type=choice.main,
        basis=operator.basis(desc.fields) if basis == DOCUMENTED else basis,
        data=random_data(operator, desc) if data is None else data,
        covers=tuple(dict.fromkeys((*labels, *covers))),
        **more,
    )


def distinct(cases: Iterable[Case]) -> Iterator[Case]:
    """The first case of each id: two choices of attributes may come to the same."""
    ids = set[str]()
    for case in cases:
        if case.id not in ids:
            ids.add(case.id)
            yield case


def _cut(case_id: str) -> str:
    """An id, with a number instead of its end where it is too long for a file's name."""
    if len(case_id) <= LONGEST_ID:
        return case_id
    number = int.from_bytes(sha256(case_id.encode()).digest()[:4], "big")
    start = case_id[: LONGEST_ID - len(f"{_CUT}{number}") + 1].rpartition("/")[0]
    return f"{start}{_CUT}{number}"


def is_cut(case_id: str) -> bool:
    """Whether an id was too long."""
    return _CUT in case_id


def types_by_level(plan: Plan, core: Iterable[TypeChoice], most: str) -> Iterator[tuple[TypeChoice, str]]:
    """The covering type choices up to a level, each with its level: core for those in ``core``, full for the others."""
    core = tuple(core)
    for choice in plan.covering_choices:
        level = "core" if choice in core else "full"
        if not is_beyond(level, most):
            yield choice, level


def random_data(operator: Operator, desc: OperatorDesc) -> dict[str, Data]:
    """The spec's recipe for every input tensor of the desc; random bits by default."""
    read_outputs = operator.read_outputs(desc.fields)
    outputs = {field.name for field in operator.outputs()}
    return {name: _recipe(operator, name) for field, name, _ in desc.by_field() if field not in outputs or field in read_outputs}


@cache
def _recipe(operator: Operator, tensor: str) -> Data:
    """The recipe of a tensor."""
    found = operator.values_of(tensor)
    return Data(found.recipe, found.parameters) if found else Data("any-bits")


def attribute_parts(plan: DescPlan, desc: OperatorDesc, configuration: str) -> list[str]:
    """The attributes of an id: ``Alpha=0.5``, an enumeration's constant alone, ``no-ZeroPoint`` for an optional tensor that is absent.

    Omitted: what follows from something else (a count, the data type of a scalar), and, if there are many attributes, those with default
    values. The label of a configuration that decides which tensors are present replaces everything that it determines.
    """
    operator = plan.operator
    usual = plan.recompute(desc, plan.usual).fields if len(plan.chosen) > _MANY else {}
    limits = operator.configurations.get(configuration, {})
    implied = {name for name, values in limits.items() if len(values) == 1} if limits.keys() & set(plan.tensors) else set()
    found = [configuration] if implied else []
    for field in operator.fields:
        value = desc.fields.get(field.name)
        if field.name in implied:
            continue
        if field.is_tensor:
            if field.optional and value is None:
                found.append(f"no-{field.name.removesuffix('Tensor')}")
            continue
        follows = field.name in plan.arrays.values() and len(plan.values(field)) == 1  # a count that other attributes decide
        if value is None or follows or field.name in plan.counts or field.enum == "DML_TENSOR_DATA_TYPE":
            continue
        if field.name not in usual or usual[field.name] != value:
            found.append(str(value) if field.enum and isinstance(value, str) else f"{field.name}={value_text(value)}")
    return found


def support_cells(plan: DescPlan, desc: OperatorDesc) -> list[str]:
    """The table cells of a desc, one for each tensor and level: ``support/4_1/ATensor/UINT8/4d``."""
    tables = plan.tables_of(desc)
    return [f"support/{table.level}/{f}/{t.data_type}/{t.DimensionCount}d" for table in tables for f, _, t in desc.by_field()]
