"""Cases that must be refused: each rule broken alone.

A valid desc is changed in one place in every way that a rule could mind; what each change breaks is asked of ``spec.rules``, and for
each rule the change that breaks least besides it is kept. So a new constraint in a spec has its negative cases without a line here.
A rule that DirectML.dll was measured not to enforce (``accepts`` in the spec) is demanded of nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from dmlcts.generator.attributes import NotGenerable, value_text, within_type
from dmlcts.generator.build import random_data
from dmlcts.generator.case import REJECTION, Binding, Case, Data, beyond
from dmlcts.generator.layouts import laid_out
from dmlcts.generator.plan import Plan
from dmlcts.generator.solver import solved
from dmlcts.generator.types import TypeChoice, padded_run
from dmlcts.spec.abi import FeatureLevel, abi
from dmlcts.spec.desc import UNKNOWN, OperatorDesc, TensorDesc
from dmlcts.spec.expression import Expression
from dmlcts.spec.model import DOCUMENTED, MEASURED, Field, Operator
from dmlcts.spec.rules import violations

_RUN = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Change:
    """A valid desc changed in one place: ``label`` names the place, ``desc`` or ``bindings`` is what became of it."""

    label: str
    desc: OperatorDesc
    bindings: Mapping[str, Binding]
    rules: frozenset[str]
    basis: str = DOCUMENTED


def negative_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """A case for each rule and each place where it can be broken; in full for types of all widths, in core for the first that can break it."""
    if beyond("core", most):
        return
    operator = plan.operator
    made: set[str] = set()
    broken: set[str] = set()
    for index, choice in enumerate(plan.representatives):
        if index and beyond("full", most) and plan.only_tied:
            break  # every rule can be broken by the first types
        for base, change in _all_changes(choice):
            rule, what = _rule(change), f"{change.desc} {change.bindings}"
            if what in made or _accepted(operator, change.rules, choice):
                continue  # such as a type that all tensors change to: the same desc for every choice
            made.add(what)
            level = (
                "core" if index == 0 or any(name.startswith(_FOR_SOME) and name not in broken for name in change.rules) else "full"
            )
            broken |= change.rules
            if beyond(level, most):
                continue
            yield Case(
                id=f"{operator.name}/{choice.label}/negative/{change.label}",
                kind="negative",
                level=level,
                desc=change.desc,
                operator=operator,
                feature_level=str(_level(plan, plan.level_of(base) or choice.level, change)),
                data_type=choice.main,
                basis=change.basis,
                expect=REJECTION,
                data=_data(operator, change.desc),
                bindings=change.bindings,
                rule=rule,
                covers=tuple(f"rejects/{name}" for name in sorted(change.rules)),
            )


def _all_changes(choice: TypeChoice) -> Iterator[tuple[OperatorDesc, Change]]:
    """The changes of a usual desc, and of those that have the tensors which it leaves out: about these, or about rules that no other broke."""
    plan = choice.plan
    bases = [(attributes, choice.usual_desc(_RUN, attributes)) for attributes in choice.presences]
    elsewhere = dict(pair for _, base in reversed(bases) for pair in base.tensors())
    met: set[str] = set()
    broken: set[str] = set()
    labels: set[str] = set()
    for attributes, base in bases:
        new = {name for name, _ in base.tensors()} - met
        for change in _changes(plan, base, attributes, elsewhere):
            if met and change.rules <= broken and not any(name in change.label for name in new):
                continue
            if change.label in labels:
                change = replace(change, label=f"{plan.operator.configuration(base.fields)}/{change.label}")
            yield base, change
            broken |= change.rules
            labels.add(change.label)
        met |= new


def _data(operator: Operator, desc: OperatorDesc) -> dict[str, Data]:
    """Data for the inputs whose arrays can be made: a desc that is wrong enough has none."""
    return {
        name: data
        for name, data in random_data(operator, desc).items()
        if desc.tensor(name).data_type != UNKNOWN and 0 not in desc.tensor(name).sizes
    }


def _level(plan: Plan, base: FeatureLevel, change: Change) -> FeatureLevel:
    """The lowest feature level, from that of the valid desc on, at which the change breaks just its rules."""
    steps = plan.steps | {table.level for table in plan.operator.support}
    if change.bindings or not any(level > base for level in steps):
        return base  # the newest level, at which the rules were asked for, says the same
    levels = sorted(level for level in abi().feature_levels.values() if level >= base)
    return next(level for level in levels if change.rules == {v.label for v in violations(plan.operator, change.desc, level)})


def _rule(change: Change) -> str:
    """The rule that a change is about: a constraint if one is broken, else the first by name."""
    return min(change.rules, key=lambda label: (not label.startswith(_OWN), label))


def _accepted(operator: Operator, rules: frozenset[str], choice: TypeChoice) -> bool:
    """Whether DirectML.dll is known to enforce none of the rules, so that nobody else must."""
    lenient = {a.rule for a in operator.accepts if not a.data_types or choice.main in a.data_types}
    return rules <= lenient


def _changes(plan: Plan, base: OperatorDesc, usual: Mapping[str, object], elsewhere: Mapping[str, TensorDesc]) -> Iterator[Change]:
    """The changes kept: all that break general rules, and for each of the operator's own and each place the one that breaks least besides."""
    best: dict[tuple[str, str], Change] = {}
    late: list[Change] = []
    emptied = False
    for label, place, desc in _descs(plan, base, usual, elsewhere):
        broken = violations(plan.operator, desc)
        rules = frozenset(v.label for v in broken)
        basis = MEASURED if all(v.basis == MEASURED for v in broken) else DOCUMENTED
        if not rules:
            continue  # the change is harmless: another valid desc
        emptied |= _only_zeros(rules)
        for rule in sorted(rules):
            if rule.startswith(_OWN):
                known = best.get((rule, place))
                if known is None or len(rules) < len(known.rules):
                    best[rule, place] = Change(f"{rule.removeprefix('constraint/')}/{place}", desc, {}, rules, basis)
        # A type that no table lists, and a size of 0, are asked for even where a constraint speaks of types or sizes too.
        unlisted = label.startswith("data-type/") and any(rule.startswith("support/") for rule in rules)
        if unlisted or not any(rule.startswith(_OWN) for rule in rules):
            yield Change(label, desc, {}, rules, basis)
        elif label.startswith("sizes/zero/"):
            late.append(Change(label, desc, {}, rules, basis))
    yield from best.values()
    yield from late
    if not emptied:
        yield from _consistent_zero(plan, base, usual)
    yield from _binding_changes(base)


def _only_zeros(rules: frozenset[str]) -> bool:
    return all(rule.startswith("tensor/") and rule.endswith("/sizes") for rule in rules)


def _consistent_zero(plan: Plan, base: OperatorDesc, usual: Mapping[str, object]) -> Iterator[Change]:
    """The first desc found with a size of 0 that nothing else forbids, such as an empty batch: tensors that share a size have it together."""
    name = plan.leading
    for index, size in enumerate(base.tensor(name).sizes):
        sharing = [(other, at) for other, tensor in base.tensors() for at, its in enumerate(tensor.sizes) if its == size]
        same = [(other, at) for other, at in sharing if at == index]
        for places in (same, *([(name, index), place] for place in sharing if place[0] != name)):
            sizes = {other: list(base.tensor(other).sizes) for other, _ in places}
            for other, at in places:
                sizes[other][at] = 0
            emptied = {other: replace(base.tensor(other), sizes=tuple(found)) for other, found in sizes.items()}
            desc = plan.recomputed(base.with_fields(**emptied), usual)
            rules = frozenset(v.label for v in violations(plan.operator, desc))
            if rules and _only_zeros(rules):
                yield Change(f"sizes/zero/{name}-size{index}", desc, {}, rules)
                return


_OWN = ("constraint/", "shape/")
"""The rules that an operator has of its own: one change may break several of them, and several changes one."""

_FOR_SOME = (*_OWN, "binding/")
"""The rules that may be demanded with some data types alone."""


def _descs(
    plan: Plan, base: OperatorDesc, usual: Mapping[str, object], elsewhere: Mapping[str, TensorDesc]
) -> Iterator[tuple[str, str, OperatorDesc]]:
    """Label, place and desc of every change of a desc that is tried. ``elsewhere`` are tensors of other descs, valid there."""

    def replaced(names: tuple[str, ...] | list[str], **changes: object) -> OperatorDesc:
        return plan.recomputed(_replaced(base, names, **changes), usual)  # what is computed from the tensors follows them

    for field in plan.operator.fields:
        if field.is_tensor and not field.optional and field.type == "TENSOR_DESC":
            yield f"missing/{field.name}", field.name, base.with_fields(**{field.name: None})
        if field.optional and field.type == "TENSOR_DESC" and field.name in elsewhere:
            present = base.fields[field.name] is not None
            label = f"{'without' if present else 'with'}/{field.name}"
            yield label, field.name, base.with_fields(**{field.name: None if present else elsewhere[field.name]})
        if field in plan.chosen:
            yield from _attribute_changes(plan, field, base)
    for name in plan.counts:
        yield from _count_changes(plan.operator, name, base)
    for group in _there(base, plan.tied("DataType")):
        for name in (*abi().data_types, UNKNOWN):
            yield f"data-type/{'+'.join(group)}={name}", group[0], replaced(group, data_type=name)
    for group in _there(base, plan.tied("DimensionCount")):
        for count in range(abi().limits["dimension_count"] + 2):
            run = padded_run(_RUN, count) if count else ()
            desc = plan.recomputed(resized(plan, base, group, run, usual), usual)
            yield f"dimension-count/{'+'.join(group)}={count}", group[0], desc
    there = [name for name, _ in base.tensors()]
    for group in _there(base, plan.tied("DimensionCount")):
        if len(group) < len(there):  # the others stay as they are, so that sizes must too
            most = max(table.tensors[group[0]].dimensions[1] for table in plan.operator.support)
            longer = base.with_fields(
                **{name: replace(t, sizes=padded_run(t.sizes, most + 1)) for name, t in base.tensors() if name in group}
            )
            yield f"dimension-count/{'+'.join(group)}-of-{most + 1}", group[0], longer
    alike = {tensor.sizes: [name for name, other in base.tensors() if other.sizes == tensor.sizes] for _, tensor in base.tensors()}
    for same, names in alike.items():
        yield f"sizes/zero/{'+'.join(names)}", names[0], replaced(names, sizes=(*same[:-1], 0))
        for index, size in enumerate(same):  # what tensors that are alike may not be together
            larger = (*same[:index], size + 1, *same[index + 1 :])
            yield f"sizes/{'+'.join(names)}", f"{names[0]}-alike{index}", replaced(names, sizes=larger)
    for field_name, name, tensor in base.by_field():
        yield from _tensor_changes(plan, base, plan.operator.field(field_name), name, tensor)
        if tensor.DimensionCount > 1:
            yield f"dimension-count/{name}-1", name, replaced((name,), sizes=tensor.sizes[1:])


def _there(base: OperatorDesc, groups: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Of each group of tensors those that the desc has."""
    for group in groups:
        found = tuple(name for name in group if base.fields[name] is not None)
        if found:
            yield found


def _attribute_changes(plan: Plan, field: Field, base: OperatorDesc) -> Iterator[tuple[str, str, OperatorDesc]]:
    """An attribute outside its enumeration or its bounds, of another data type, or an operator that cannot stand there.

    Its valid values too: a constraint may forbid one of them for the data types at hand.
    """
    values: list[object] = [value for value in plan.values(field) if not isinstance(value, Expression)]
    if field.enum == "DML_TENSOR_DATA_TYPE":
        values += (*abi().data_types, *_NO_CONSTANTS)
    elif field.enum:
        values += (len(abi().enums[field.enum].values), *_NO_CONSTANTS)
    if field.domain:
        values += _beyond(field, base)
    if field.operators:
        values.append(OperatorDesc(base.type, dict.fromkeys(base.fields)))  # no operator can stand inside itself
    if field.type == "SCALAR_UNION" and field.data_type:
        values = [within_type(value, str(base.fields[field.data_type])) for value in values if isinstance(value, int | float)]
    for value in values:
        label = "enum" if field.enum else "operator" if field.operators else "domain" if field.domain else "value"
        yield f"{label}/{field.name}={value_text(value)}", field.name, base.with_fields(**{field.name: value})


def _count_changes(operator: Operator, name: str, base: OperatorDesc) -> Iterator[tuple[str, str, OperatorDesc]]:
    """One element more, and one less, in every array that an attribute counts."""
    arrays = {field.name: base.fields[field.name] for field in operator.fields if field.count == name}
    for way, change in (("+1", lambda array: (*array, array[-1])), ("-1", lambda array: array[:-1])):
        changed = {key: change(array) for key, array in arrays.items() if isinstance(array, tuple) and array}
        if changed:
            count = len(next(iter(changed.values())))
            yield f"count/{name}{way}", name, base.with_fields(**changed, **{name: count})


_NO_CONSTANTS = (0xFFFFFFFF,)
"""Numbers that no enumeration has."""


def _beyond(field: Field, base: OperatorDesc) -> Iterator[object]:
    """Values next to a field's bounds, outside; of an array the last element."""
    assert field.domain
    value = base.fields[field.name]
    for bound, step in ((field.domain.least, -1), (field.domain.most, 1)):
        limit = bound.evaluate(base.fields) if bound else None
        if isinstance(limit, int | float) and not (limit + step < 0 and field.type.startswith("UINT")):
            yield (*value[:-1], limit + step) if isinstance(value, tuple) else limit + step


def _tensor_changes(
    plan: Plan, base: OperatorDesc, field: Field, name: str, tensor: TensorDesc
) -> Iterator[tuple[str, str, OperatorDesc]]:
    def changed(**changes: object) -> OperatorDesc:
        return _replaced(base, (name,), **changes)

    listed: dict[str, FeatureLevel] = {}  # in a fixed order, as the first of those that break the same rules is kept
    for choice in plan.choices:
        listed.setdefault(dict(choice.types)[name], choice.level)
    lowest = plan.level_of(base)
    # First the types of the base's own level, which break nothing but their constraint there. Types of the same width are a place of their
    # own: an implementation may compare widths alone.
    for data_type in sorted(listed, key=lambda other: (listed[other] != lowest, abi().data_types[other].bits != tensor.type.bits)):
        place = f"{name}-same-width" if abi().data_types[data_type].bits == tensor.type.bits else name
        yield f"data-type/{name}={data_type}", place, changed(data_type=data_type)
    for index, size in enumerate(tensor.sizes):  # a place each: an implementation may compare some of the sizes, or their product
        larger = (*tensor.sizes[:index], size + 1, *tensor.sizes[index + 1 :])
        yield f"sizes/{name}", f"{name}-size{index}", changed(sizes=larger)
        if size > 1 and not plan.uniform:  # where all are alike, one that is smaller makes the others larger
            yield (
                f"sizes/{name}",
                f"{name}-smaller{index}",
                changed(sizes=(*tensor.sizes[:index], size - 1, *tensor.sizes[index + 1 :])),
            )
    yield f"sizes/{name}", f"{name}-exchanged", changed(sizes=tuple(reversed(tensor.sizes)))
    yield f"dimension-count/{name}+1", name, changed(sizes=(1, *tensor.sizes))
    yield f"dimension-count/{name}+1-of-ones", name, changed(sizes=(1,) * (tensor.DimensionCount + 1))
    padded = laid_out(tensor, "padded")
    yield f"total-size/{name}-4", name, changed(total_size=tensor.bytes - 4)
    yield f"total-size/{name}-padded-4", name, changed(strides=padded.strides, total_size=padded.bytes - 4)
    yield f"flags/{name}=2", name, changed(flags=2)
    yield f"alignment/{name}=24", name, changed(alignment=24)
    if tensor.type.bits > 8:
        yield f"alignment/{name}-below-size", name, changed(alignment=tensor.type.bits // 16)
    if field.packed:
        yield f"strides/{name}-spread", name, base.with_fields(**{name: laid_out(tensor, "spread")})
    if field.kind == "output":
        yield f"strides/{name}-broadcast", name, base.with_fields(**{name: laid_out(tensor, "broadcast")})
        yield f"flags/{name}=OWNED_BY_DML", name, changed(flags=abi().tensor_flags["OWNED_BY_DML"])


def _binding_changes(base: OperatorDesc) -> Iterator[Change]:
    """A tensor unbound, bound to too few bytes, or bound at an offset that is not aligned."""
    for name, _ in base.tensors():
        yield Change(f"binding/unbound/{name}", base, {name: Binding(absent=True)}, frozenset({f"binding/{name}"}))
        yield Change(f"binding/size/{name}-4", base, {name: Binding(short=4)}, frozenset({f"binding/{name}/size"}))
        for offset in (4, 8):
            yield Change(
                f"binding/offset/{name}+{offset}", base, {name: Binding(offset=offset)}, frozenset({f"binding/{name}/offset"})
            )


def resized(
    plan: Plan, base: OperatorDesc, names: tuple[str, ...], run: tuple[int, ...], usual: Mapping[str, object]
) -> OperatorDesc:
    """The desc with the named tensors of the sizes that ``run`` gives them; where no shape has so few or many, ones in front or less."""
    try:
        small = base.with_fields(**{name: replace(tensor, sizes=(1,) * len(run)) for name, tensor in base.tensors()})
        sizes = solved(plan.operator, plan.recomputed(small, usual).fields, run) if run else {}
    except NotGenerable:
        sizes = {name: padded_run(tensor.sizes, len(run)) for name, tensor in base.tensors()}
    changed = base
    for name in names:
        changed = _replaced(changed, (name,), sizes=sizes.get(name, ()))
    return changed


def _replaced(desc: OperatorDesc, names: tuple[str, ...] | list[str], **changes: object) -> OperatorDesc:
    """The desc with the named tensors changed alike."""
    fields = {}
    for name in names:
        tensor = desc.fields[name]
        if isinstance(tensor, TensorDesc):  # an optional one may be absent
            fields[name] = replace(tensor, **changes)  # type: ignore[arg-type]
    return desc.with_fields(**fields)
