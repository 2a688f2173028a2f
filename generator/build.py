"""One place where a case is put together, so that ids, data and coverage labels look alike whatever makes the case.

An id is ``OPERATOR/TYPES/KIND/...``; attributes that vary stand in it as ``Name=VALUE``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dmlcts.generator.case import Case, Data
from dmlcts.generator.shapes import TypeChoice, level_of
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import DOCUMENTED, Operator


def build(
    operator: Operator,
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
    """A case of ``kind``. Its data are the spec's recipes unless given; it covers its attribute values besides ``covers``."""
    lowest = level_of(operator, desc)
    attributes = attribute_parts(operator, desc)
    return Case(
        id="/".join((operator.name, choice.label, *parts, *attributes)),
        kind=kind,
        level=level,
        desc=desc,
        feature_level=str(lowest or choice.level),
        data_type=choice.main,
        basis=basis,
        data=random_data(operator, desc) if data is None else data,
        covers=(*attribute_labels(operator, desc), *covers),
        **more,
    )


def random_data(operator: Operator, desc: OperatorDesc) -> dict[str, Data]:
    """The spec's recipe for every input tensor of the desc; any bits where the spec says nothing."""
    found = {}
    for name, _ in desc.tensors():
        field = operator.field(name.partition("[")[0])
        if field.kind == "input":
            values = operator.values.get(field.name)
            found[name] = Data(values.recipe, values.parameters) if values else Data("any-bits")
    return found


def attribute_parts(operator: Operator, desc: OperatorDesc) -> list[str]:
    """The attributes of an id: the value alone for an enumeration's constant, ``Name=value`` otherwise."""
    found = []
    for field in operator.attributes():
        value = desc.fields.get(field.name)
        if value is not None:
            found.append(str(value) if isinstance(value, str) else f"{field.name}={value}")
    return found


def attribute_labels(operator: Operator, desc: OperatorDesc) -> list[str]:
    """The coverage labels of enumeration constants: ``attribute/RoundingMode/TOWARD_ZERO``."""
    return [
        f"attribute/{f.name}/{desc.fields[f.name]}" for f in operator.attributes() if f.enum and desc.fields.get(f.name) is not None
    ]


def support_cells(operator: Operator, desc: OperatorDesc) -> list[str]:
    """The table cells that a desc stands in, one a tensor and level: ``support/4_1/ATensor/UINT8/4d``."""
    tensors = [(name.partition("[")[0], tensor) for name, tensor in desc.tensors()]
    found = []
    for table in operator.tables(attributes=desc.fields):
        rows = [(name, tensor, table.tensors[name]) for name, tensor in tensors]
        if all(t.data_type in row.data_types and t.DimensionCount in row.dimension_counts() for _, t, row in rows):
            found += [f"support/{table.level}/{name}/{t.data_type}/{t.DimensionCount}d" for name, t, _ in rows]
    return found
