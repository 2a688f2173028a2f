"""Descs to try as negative cases: a valid desc changed in one place, in every way that could break a rule.

Which rules a change breaks, if any, and which changes are worth a case, is not known here (generator/negative/cases).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dmlcts.generator.plan.attributes import NotGenerable, value_text, within_type
from dmlcts.generator.plan.desc_plan import DescPlan
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.plan.sizes import solve_sizes
from dmlcts.generator.plan.type_choices import padded_run
from dmlcts.generator.values.layouts import laid_out
from dmlcts.spec.model.abi import FeatureLevel, abi
from dmlcts.spec.model.desc import UNKNOWN, OperatorDesc, TensorDesc
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.operator import Field, Operator

RUN = (1, 2, 3, 4)
"""Sizes of the leading tensor."""


def wrong_descs(
    plan: DescPlan, base: OperatorDesc, usual: Mapping[str, object], elsewhere: Mapping[str, TensorDesc]
) -> Iterator[tuple[str, str, OperatorDesc]]:
    """Label, place and desc of every change to try. ``elsewhere`` are tensors from other valid descs."""

    def replace_fields(names: tuple[str, ...] | list[str], **changes: object) -> OperatorDesc:
        return plan.recompute(with_changed(base, names, **changes), usual)  # recomputes attributes that depend on the tensors

    for field in plan.operator.fields:
        if field.is_tensor and not field.optional and field.type == "TENSOR_DESC":
            yield f"missing/{field.name}", field.name, base.with_fields(**{field.name: None})
        if field.optional and field.type == "TENSOR_DESC" and field.name in elsewhere:
            present = base.fields[field.name] is not None
            label = f"{'without' if present else 'with'}/{field.name}"
            yield label, field.name, base.with_fields(**{field.name: None if present else elsewhere[field.name]})
        if field in plan.chosen and field.name not in plan.arrays.values():  # a count changes with its array
            yield from _attribute_changes(plan, field, base)
    for name in (*plan.counts, *plan.arrays.values()):
        yield from _count_changes(plan.operator, name, base)
    for group in groups_in(base, plan.tied_groups("DataType")):
        for name in (*abi().data_types, UNKNOWN):
            yield f"data-type/{'+'.join(group)}={name}", group[0], replace_fields(group, data_type=name)
    for group in groups_in(base, plan.tied_groups("DimensionCount")):
        for count in range(abi().limits["dimension_count"] + 2):
            run = padded_run(RUN, count) if count else ()
            desc = plan.recompute(resize_tensors(plan, base, group, run, usual), usual)
            yield f"dimension-count/{'+'.join(group)}={count}", group[0], desc
    there = [name for name, _ in base.tensors()]
    for group in groups_in(base, plan.tied_groups("DimensionCount")):
        if len(group) < len(there):  # the other tensors keep their rank, so sizes must stay too
            most = max(table.row(group[0]).dimensions[1] for table in plan.operator.support)
            longer = base.with_tensors(
                {name: replace(t, sizes=padded_run(t.sizes, most + 1)) for name, t in base.tensors() if name in group}
            )
            yield f"dimension-count/{'+'.join(group)}-of-{most + 1}", group[0], longer
    alike = {tensor.sizes: [name for name, other in base.tensors() if other.sizes == tensor.sizes] for _, tensor in base.tensors()}
    for same, names in alike.items():
        yield f"sizes/zero/{'+'.join(names)}", names[0], replace_fields(names, sizes=(*same[:-1], 0))
        for index, size in enumerate(same):  # sizes that tensors with equal sizes may not have together
            larger = (*same[:index], size + 1, *same[index + 1 :])
            yield f"sizes/{'+'.join(names)}", f"{names[0]}-alike{index}", replace_fields(names, sizes=larger)
    for field_name, name, tensor in base.by_field():
        yield from _tensor_changes(plan, base, plan.operator.field(field_name), name, tensor)
        if tensor.DimensionCount > 1:
            yield f"dimension-count/{name}-1", name, replace_fields((name,), sizes=tensor.sizes[1:])


def groups_in(base: OperatorDesc, groups: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """In each group of tensors, those that the desc has."""
    for group in groups:
        found = tuple(name for of in group for name, _ in base.called(of))
        if found:
            yield found


def _attribute_changes(plan: DescPlan, field: Field, base: OperatorDesc) -> Iterator[tuple[str, str, OperatorDesc]]:
    """An attribute outside its enumeration or bounds, of another data type, or an operator that is not allowed there.

    Also its valid values: a constraint may forbid one of them for the desc's data types.
    """
    values: list[object] = [value for value in plan.values(field) if not isinstance(value, Expression)]
    if field.enum == "DML_TENSOR_DATA_TYPE":
        values += abi().data_types
    if field.enum:
        values += (name for name in abi().enums[field.enum].values if name not in values)
        values += (max(abi().enums[field.enum].values.values()) + 1, *_NO_CONSTANTS)
    if field.domain:
        values += _values_beyond(field, base)
    if field.type in ("INT", "INT_ARRAY"):  # what counts steps of either sign may forbid 0
        value = base.fields[field.name]
        values.append((*value[:-1], 0) if isinstance(value, tuple) else 0)
    if field.operators:
        itself, value = (
            OperatorDesc(base.type, dict.fromkeys(base.fields)),
            base.fields[field.name],
        )  # no operator may contain itself
        values.append((*value[:-1], itself) if isinstance(value, tuple) else itself)
    if field.type == "SCALAR_UNION" and field.data_type:
        values = [within_type(value, str(base.fields[field.data_type])) for value in values if isinstance(value, int | float)]
    for value in values:
        label = "enum" if field.enum else "operator" if field.operators else "domain" if field.domain else "value"
        yield f"{label}/{field.name}={value_text(value)}", field.name, base.with_fields(**{field.name: value})


def _count_changes(operator: Operator, name: str, base: OperatorDesc) -> Iterator[tuple[str, str, OperatorDesc]]:
    """One element more, one less, and none, in every array that an attribute counts."""
    arrays = {field.name: base.fields[field.name] for field in operator.fields if field.count == name}
    ways: dict[str, Callable[[tuple[Any, ...]], tuple[Any, ...]]] = {
        "+1": lambda array: (*array, array[-1]),
        "-1": lambda array: array[:-1],
    }
    if operator.field(name).domain:
        ways["=0"] = lambda array: ()
    for way, change in ways.items():
        changed = {key: change(array) for key, array in arrays.items() if isinstance(array, tuple) and array}
        if changed:
            count = len(next(iter(changed.values())))
            yield f"count/{name}{way}", name, base.with_fields(**changed, **{name: count})


_NO_CONSTANTS = (0xFFFFFFFF,)
"""Numbers that are not constants of any enumeration."""


def _values_beyond(field: Field, base: OperatorDesc) -> Iterator[object]:
    """Values just outside a field's bounds; for an array, in its last element."""
    assert field.domain
    value = base.fields[field.name]
    for bound, step in ((field.domain.least, -1), (field.domain.most, 1)):
        limit = bound.evaluate(base.fields) if bound else None
        if isinstance(limit, int | float) and not (limit + step < 0 and field.type.startswith("UINT")):
            yield (*value[:-1], limit + step) if isinstance(value, tuple) else limit + step


def _tensor_changes(
    plan: DescPlan, base: OperatorDesc, field: Field, name: str, tensor: TensorDesc
) -> Iterator[tuple[str, str, OperatorDesc]]:
    def change_tensor(**changes: object) -> OperatorDesc:
        return with_changed(base, (name,), **changes)

    listed: dict[str, FeatureLevel] = {}  # in a fixed order: of those that break the same rules, the first is kept
    for choice in plan_of(plan.operator).choices:
        listed.setdefault(dict(choice.types)[plan.name_of(name)], choice.level)
    lowest = plan.level_of(base)
    # First the types of the base's own level, which break only their constraint there. Types of the same width are a separate place: an
    # implementation may compare only widths.
    for data_type in sorted(listed, key=lambda other: (listed[other] != lowest, abi().data_types[other].bits != tensor.type.bits)):
        place = f"{name}-same-width" if abi().data_types[data_type].bits == tensor.type.bits else name
        yield f"data-type/{name}={data_type}", place, change_tensor(data_type=data_type)
    for index, size in enumerate(
        tensor.sizes
    ):  # one place for each: an implementation may compare only some sizes, or their product
        larger = (*tensor.sizes[:index], size + 1, *tensor.sizes[index + 1 :])
        yield f"sizes/{name}", f"{name}-size{index}", change_tensor(sizes=larger)
        if size > 1 and not plan.uniform:  # if all tensors have equal sizes, a smaller one makes the others larger
            yield (
                f"sizes/{name}",
                f"{name}-smaller{index}",
                change_tensor(sizes=(*tensor.sizes[:index], size - 1, *tensor.sizes[index + 1 :])),
            )
    yield f"sizes/{name}", f"{name}-exchanged", change_tensor(sizes=tuple(reversed(tensor.sizes)))
    yield f"dimension-count/{name}+1", name, change_tensor(sizes=(1, *tensor.sizes))
    yield f"dimension-count/{name}+1-of-ones", name, change_tensor(sizes=(1,) * (tensor.DimensionCount + 1))
    padded = laid_out(tensor, "padded-rows")
    yield f"total-size/{name}-4", name, change_tensor(total_size=tensor.bytes - 4)
    yield f"total-size/{name}-padded-4", name, change_tensor(strides=padded.strides, total_size=padded.bytes - 4)
    yield f"flags/{name}=2", name, change_tensor(flags=2)
    yield f"alignment/{name}=24", name, change_tensor(alignment=24)
    if tensor.type.bits > 8:
        yield f"alignment/{name}-below-size", name, change_tensor(alignment=tensor.type.bits // 16)
    if field.packed:
        yield f"strides/{name}-spread", name, base.with_tensors({name: laid_out(tensor, "spread")})
    if not field.may_overlap:
        yield f"strides/{name}-broadcast", name, base.with_tensors({name: laid_out(tensor, "broadcast-last")})
    if field.kind == "output":
        yield f"flags/{name}=OWNED_BY_DML", name, change_tensor(flags=abi().tensor_flags["OWNED_BY_DML"])


def resize_tensors(
    plan: DescPlan, base: OperatorDesc, names: tuple[str, ...], run: tuple[int, ...], usual: Mapping[str, object]
) -> OperatorDesc:
    """The desc with the named tensors resized for ``run``; where no shape has this rank, with leading ones added or dimensions removed."""
    try:
        small = base.with_tensors({name: replace(tensor, sizes=(1,) * len(run)) for name, tensor in base.tensors()})
        sizes = solve_sizes(plan.operator, plan.recompute(small, usual), run) if run else {}
    except NotGenerable:
        sizes = {name: padded_run(tensor.sizes, len(run)) for name, tensor in base.tensors()}
    changed = base
    for name in names:
        changed = with_changed(changed, (name,), sizes=sizes.get(name, ()))
    return changed


def with_changed(desc: OperatorDesc, names: tuple[str, ...] | list[str], **changes: object) -> OperatorDesc:
    """The desc with the named tensors changed alike."""
    present = {name: tensor for name, tensor in desc.tensors() if name in names}  # an optional one may be absent
    return desc.with_tensors({name: replace(tensor, **changes) for name, tensor in present.items()})  # type: ignore[arg-type]
