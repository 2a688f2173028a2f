"""One place where a case is put together, so that ids, data and coverage labels look alike whatever makes the case.

An id is ``OPERATOR/TYPES/KIND/...``; attributes stand in it as ``Name=VALUE``, an enumeration's as its constant alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dmlcts.generator.attributes import attribute_choices, counted_by, recomputed, value_label, value_text
from dmlcts.generator.case import Case, Data
from dmlcts.generator.shapes import level_of
from dmlcts.generator.types import TypeChoice
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
    """A case of ``kind``. Its data are the spec's recipes unless given; it covers its attributes' values besides ``covers``."""
    lowest = level_of(operator, desc)
    basis = operator.basis(desc.fields) if basis == DOCUMENTED else basis
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
        covers=tuple(dict.fromkeys((*attribute_labels(operator, desc), *covers))),
        **more,
    )


def random_data(operator: Operator, desc: OperatorDesc) -> dict[str, Data]:
    """The spec's recipe for every input tensor of the desc; any bits where the spec says nothing."""
    found = {}
    held = operator.held(desc.fields)
    for name, _ in desc.tensors():
        field = operator.field(name.partition("[")[0])
        if field.kind == "input" or name in held:
            values = operator.values.get(field.name)
            found[name] = Data(values.recipe, values.parameters) if values else Data("any-bits")
    return found


def attribute_parts(operator: Operator, desc: OperatorDesc) -> list[str]:
    """The attributes of an id: ``Alpha=0.5``, an enumeration's constant alone, ``no-ZeroPoint`` for an optional tensor that is absent.

    What follows from something else (a count, the data type of a scalar) is left out; of many attributes those too that are as usual. A
    configuration that says which tensors there are stands there by its label, for all that it leaves no choice of.
    """
    counts = counted_by(operator)
    usual = _usual(operator, desc) if len(operator.attributes()) - len(counts) > _MANY else {}
    label = operator.configuration(desc.fields)
    limits = operator.configurations.get(label, {})
    said = (
        {name for name, values in limits.items() if len(values) == 1}
        if any(operator.field(name).is_tensor for name in limits)
        else set()
    )
    found = [label] if said else []
    for field in operator.fields:
        if field.name in said:
            continue
        value = desc.fields.get(field.name)
        if field.is_tensor and field.optional and value is None:
            found.append(f"no-{field.name.removesuffix('Tensor')}")
        if field.is_tensor or value is None or field.name in counts or field.enum == "DML_TENSOR_DATA_TYPE":
            continue
        if field.name in usual and usual[field.name] == value:
            continue
        found.append(str(value) if field.enum and isinstance(value, str) else f"{field.name}={value_text(value)}")
    return found


_MANY = 4
"""As many attributes as this all stand in an id."""


def _usual(operator: Operator, desc: OperatorDesc) -> Mapping[str, object]:
    """The usual values of the attributes for the tensors of a desc."""
    return recomputed(operator, desc, attribute_choices(operator)[0]).fields


def attribute_labels(operator: Operator, desc: OperatorDesc) -> list[str]:
    """The coverage labels of a desc's attributes: ``attribute/RoundingMode/TOWARD_ZERO``."""
    counts = counted_by(operator)
    return [value_label(field.name, desc.fields.get(field.name)) for field in operator.attributes() if field.name not in counts]


def support_cells(operator: Operator, desc: OperatorDesc) -> list[str]:
    """The table cells that a desc stands in, one a tensor and level: ``support/4_1/ATensor/UINT8/4d``."""
    tensors = [(name.partition("[")[0], tensor) for name, tensor in desc.tensors()]
    found = []
    for table in operator.tables(attributes=desc.fields):
        rows = [(name, tensor, table.tensors[name]) for name, tensor in tensors]
        if all(t.data_type in row.data_types and t.DimensionCount in row.dimension_counts() for _, t, row in rows):
            found += [f"support/{table.level}/{name}/{t.data_type}/{t.DimensionCount}d" for name, t, _ in rows]
    return found
