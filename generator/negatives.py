"""Negative cases: descs and bindings that must be rejected, each of which breaks one rule.

A valid desc is changed in one place, in every way that could break a rule. ``spec.rules`` tells which rules each change breaks, and for each
rule the change that breaks the fewest others is kept. So a new constraint in a spec gets its negative cases without code here. If
DirectML.dll was measured to accept a change (``accepts`` of an operator), a rejection of exactly this change with these data types is not
required.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from dmlcts.generator.attributes import NotGenerable, value_text, within_type
from dmlcts.generator.build import random_data
from dmlcts.generator.case import REJECTION, Binding, Case, Data, beyond
from dmlcts.generator.layouts import laid_out
from dmlcts.generator.plan import Plan, plan_of
from dmlcts.generator.solver import solved
from dmlcts.generator.types import TypeChoice, padded_run
from dmlcts.spec.abi import FeatureLevel, abi
from dmlcts.spec.desc import UNKNOWN, OperatorDesc, TensorDesc
from dmlcts.spec.expression import Expression
from dmlcts.spec.measurement import Acceptance
from dmlcts.spec.model import DOCUMENTED, MEASURED, Field, Operator
from dmlcts.spec.rules import violations

_RUN = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Change:
    """A valid desc changed in one place: ``label`` names the place, ``desc`` or ``bindings`` is the result.

    ``way`` is the change itself, with the new value: ``sizes/OutputTensor=1,2,3,5``. If the change breaks a rule of the operator's own, the
    label names this rule instead. Among changes of descs with the same data types, each has a different way.
    """

    label: str
    desc: OperatorDesc
    bindings: Mapping[str, Binding]
    rules: frozenset[str]
    basis: str = DOCUMENTED
    way: str = ""


def negative_cases(plan: Plan, most: str = "full") -> Iterator[Case]:
    """A case for each rule and each place where it can be broken, for types of all widths; in core one for each rule."""
    return (case for case, _ in negatives(plan, most))


def negatives(plan: Plan, most: str = "full") -> Iterator[tuple[Case, str]]:
    """The negative cases, each with the way in which it changes a valid desc (``Change.way``)."""
    if beyond("core", most):
        return
    operator, accepts = plan.operator, plan.operator.accepts
    constraints = {f"constraint/{constraint.label}" for constraint in operator.constraints}
    made: set[str] = set()
    broken: set[str] = set()
    about: set[str] = set()
    for index, choice in enumerate(plan.representatives):
        if index and beyond("full", most) and (plan.only_tied or constraints <= broken):
            break  # the first types can break every rule but constraints on other types
        for base, change in _all_changes(choice):
            rule, what = _rule(change), f"{change.desc} {change.bindings}"
            if what in made:
                continue  # such as a type that all tensors change to: the same desc for every choice
            made.add(what)
            lowest = plan.level_of(base) or choice.level
            if accepts and _accepted(accepts, change, choice, _level(plan, lowest, change)):
                continue
            level = "full" if change.rules <= broken and rule in about else "core"
            broken |= change.rules
            about.add(rule)
            if beyond(level, most):
                continue
            case = Case(
                id=f"{operator.name}/{choice.label}/negative/{change.label}",
                kind="negative",
                level=level,
                desc=change.desc,
                operator=operator,
                feature_level=str(_level(plan, lowest, change)),
                data_type=choice.main,
                basis=change.basis,
                expect=REJECTION,
                data=_data(operator, change.desc),
                bindings=change.bindings,
                rule=rule,
                base_types=tuple(sorted({tensor.data_type for _, tensor in base.tensors()})),
                covers=tuple(f"rejects/{name}" for name in sorted(change.rules)),
            )
            yield case, change.way


def _all_changes(choice: TypeChoice) -> Iterator[tuple[OperatorDesc, Change]]:
    """The changes of the default desc, and of descs with the tensors that it omits: those about these tensors, or about rules not broken so far."""
    plan = choice.plan
    bases = [(attributes, choice.usual_desc(_RUN, attributes)) for attributes in choice.presences]
    elsewhere = dict(pair for _, base in reversed(bases) for pair in base.tensors())
    met: set[str] = set()
    broken: set[str] = set()
    labels: set[str] = set()
    ways: set[str] = set()
    for attributes, base in bases:
        new = {name for name, _ in base.tensors()} - met
        for change in _changes(plan, base, attributes, elsewhere):
            if met and change.rules <= broken and not any(name in change.label for name in new):
                continue
            if change.label in labels:
                change = replace(change, label=f"{plan.operator.configuration(base.fields)}/{change.label}")
            if change.way in ways:
                change = replace(change, way=f"{plan.operator.configuration(base.fields)}/{change.way}")
            yield base, change
            broken |= change.rules
            labels.add(change.label)
            ways.add(change.way)
        met |= new


def _data(operator: Operator, desc: OperatorDesc) -> dict[str, Data]:
    """Data for the inputs whose arrays can be made: an invalid desc may have none."""
    return {
        name: data
        for name, data in random_data(operator, desc).items()
        if desc.tensor(name).data_type != UNKNOWN and 0 not in desc.tensor(name).sizes
    }


def _level(plan: Plan, base: FeatureLevel, change: Change) -> FeatureLevel:
    """The lowest feature level, from that of the valid desc on, at which the change breaks exactly its rules."""
    steps = plan.steps | {table.level for table in plan.operator.support}
    if change.bindings or not any(level > base for level in steps):
        return base  # the same as at the newest level, at which the rules were checked
    levels = sorted(level for level in abi().feature_levels.values() if level >= base)
    return next(level for level in levels if change.rules == {v.label for v in violations(plan.operator, change.desc, level)})


def _rule(change: Change) -> str:
    """The rule that a change is about: a constraint if one is broken, else the first by name."""
    return min(change.rules, key=lambda label: (not label.startswith(_OWN), label))


def _accepted(accepts: Iterable[Acceptance], change: Change, choice: TypeChoice, level: FeatureLevel) -> bool:
    """Whether DirectML.dll is known to accept exactly this change, whichever rules it breaks, so that a rejection is not required."""
    return change.rules <= {known.rule for known in accepts if known.holds(change.way, choice.label, level)}


@cache
def unenforced(operator: Operator) -> frozenset[str]:
    """The rules without a required rejection: every negative case that breaks them was accepted, or also breaks an enforced rule."""
    found = frozenset(known.rule for known in operator.accepts)
    if found:
        for case in sorted(negative_cases(plan_of(operator)), key=lambda case: len(case.covers)):
            broken = {label.removeprefix("rejects/") for label in case.covers}
            found -= broken if broken <= found else set()
    return found


def _changes(plan: Plan, base: OperatorDesc, usual: Mapping[str, object], elsewhere: Mapping[str, TensorDesc]) -> Iterator[Change]:
    """The changes to keep: all that break general rules, and for each rule of the operator and each place the one that breaks the fewest others."""
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
                    own = f"{rule.removeprefix('constraint/')}/{place}"
                    best[rule, place] = Change(own, desc, {}, rules, basis, _way(label, desc))
        # An unlisted type and a size of 0 are tested even where a constraint is about types or sizes too.
        unlisted = label.startswith("data-type/") and any(rule.startswith("support/") for rule in rules)
        if unlisted or not any(rule.startswith(_OWN) for rule in rules):
            yield Change(label, desc, {}, rules, basis, _way(label, desc))
        elif label.startswith("sizes/zero/"):
            late.append(Change(label, desc, {}, rules, basis, _way(label, desc)))
    yield from best.values()
    yield from _alone(plan, base, usual, {rule for (rule, _), change in best.items() if len(change.rules) == 1})
    yield from late
    if not emptied:
        yield from _consistent_zero(plan, base, usual)
    yield from _binding_changes(base)


def _alone(plan: Plan, base: OperatorDesc, usual: Mapping[str, object], known: Set[str]) -> Iterator[Change]:
    """Tensors that must have the same sizes, changed together: what breaks a constraint alone that no change of one tensor does (``known``)."""
    for group in _there(base, plan.tied("Sizes")):
        sizes, names, made = base.tensor(group[0]).sizes, "+".join(group), set[str]()
        if len(group) == 1 or len(sizes) == 1:
            continue
        counts = {"-1": sizes[1:], "+1": (1, *sizes), "+1-of-ones": (1,) * (len(sizes) + 1)}
        ways = [(names, f"dimension-count/{names}{way}", changed) for way, changed in counts.items()]
        for index, size in enumerate(sizes):
            ways.append((f"{names}-size{index}", f"sizes/{names}", (*sizes[:index], size + 1, *sizes[index + 1 :])))
        for place, label, changed in ways:
            desc = plan.recomputed(_replaced(base, group, sizes=changed), usual)
            broken = violations(plan.operator, desc)
            own = f"{broken[0].label.removeprefix('constraint/')}/{place}" if broken else ""
            if len(broken) == 1 and broken[0].label.startswith(_OWN) and broken[0].label not in known and own not in made:
                yield Change(own, desc, {}, frozenset({broken[0].label}), broken[0].basis, _way(label, desc))
                made.add(own)


def _way(label: str, desc: OperatorDesc) -> str:
    """A change with the value put in, which the labels of all but sizes say."""
    what, _, names = label.partition("/")
    if what != "sizes":
        return label
    sizes = desc.tensor(names.removeprefix("zero/").partition("+")[0]).sizes
    return f"{label}={','.join(map(str, sizes))}"


def _only_zeros(rules: frozenset[str]) -> bool:
    return all(rule.startswith("tensor/") and rule.endswith("/sizes") for rule in rules)


def _consistent_zero(plan: Plan, base: OperatorDesc, usual: Mapping[str, object]) -> Iterator[Change]:
    """The first desc with a size of 0 that no other rule forbids, such as an empty batch: all tensors that share a size have it."""
    name = plan.leading
    for index, size in enumerate(base.tensor(name).sizes):
        sharing = [(other, at) for other, tensor in base.tensors() for at, its in enumerate(tensor.sizes) if its == size]
        same = [(other, at) for other, at in sharing if at == index]
        for places in (same, *([(name, index), place] for place in sharing if place[0] != name)):
            sizes = {other: list(base.tensor(other).sizes) for other, _ in places}
            for other, at in places:
                sizes[other][at] = 0
            emptied = {other: replace(base.tensor(other), sizes=tuple(found)) for other, found in sizes.items()}
            desc = plan.recomputed(base.with_tensors(emptied), usual)
            rules = frozenset(v.label for v in violations(plan.operator, desc))
            if rules and _only_zeros(rules):
                yield Change(f"sizes/zero/{name}-size{index}", desc, {}, rules, way=_way(f"sizes/zero/{name}", desc))
                return


_OWN = ("constraint/", "shape/")
"""Prefixes of an operator's own rules: one change may break several of them, and several changes the same one."""


def _descs(
    plan: Plan, base: OperatorDesc, usual: Mapping[str, object], elsewhere: Mapping[str, TensorDesc]
) -> Iterator[tuple[str, str, OperatorDesc]]:
    """Label, place and desc of every change to try. ``elsewhere`` are tensors from other valid descs."""

    def replaced(names: tuple[str, ...] | list[str], **changes: object) -> OperatorDesc:
        return plan.recomputed(_replaced(base, names, **changes), usual)  # recomputes attributes that depend on the tensors

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
        if len(group) < len(there):  # the other tensors keep their rank, so sizes must stay too
            most = max(table.row(group[0]).dimensions[1] for table in plan.operator.support)
            longer = base.with_tensors(
                {name: replace(t, sizes=padded_run(t.sizes, most + 1)) for name, t in base.tensors() if name in group}
            )
            yield f"dimension-count/{'+'.join(group)}-of-{most + 1}", group[0], longer
    alike = {tensor.sizes: [name for name, other in base.tensors() if other.sizes == tensor.sizes] for _, tensor in base.tensors()}
    for same, names in alike.items():
        yield f"sizes/zero/{'+'.join(names)}", names[0], replaced(names, sizes=(*same[:-1], 0))
        for index, size in enumerate(same):  # sizes that tensors with equal sizes may not have together
            larger = (*same[:index], size + 1, *same[index + 1 :])
            yield f"sizes/{'+'.join(names)}", f"{names[0]}-alike{index}", replaced(names, sizes=larger)
    for field_name, name, tensor in base.by_field():
        yield from _tensor_changes(plan, base, plan.operator.field(field_name), name, tensor)
        if tensor.DimensionCount > 1:
            yield f"dimension-count/{name}-1", name, replaced((name,), sizes=tensor.sizes[1:])


def _there(base: OperatorDesc, groups: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """In each group of tensors, those that the desc has."""
    for group in groups:
        found = tuple(name for of in group for name, _ in base.called(of))
        if found:
            yield found


def _attribute_changes(plan: Plan, field: Field, base: OperatorDesc) -> Iterator[tuple[str, str, OperatorDesc]]:
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
        values += _beyond(field, base)
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


def _beyond(field: Field, base: OperatorDesc) -> Iterator[object]:
    """Values just outside a field's bounds; for an array, in its last element."""
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

    listed: dict[str, FeatureLevel] = {}  # in a fixed order: of those that break the same rules, the first is kept
    for choice in plan.choices:
        listed.setdefault(dict(choice.types)[plan.name_of(name)], choice.level)
    lowest = plan.level_of(base)
    # First the types of the base's own level, which break only their constraint there. Types of the same width are a separate place: an
    # implementation may compare only widths.
    for data_type in sorted(listed, key=lambda other: (listed[other] != lowest, abi().data_types[other].bits != tensor.type.bits)):
        place = f"{name}-same-width" if abi().data_types[data_type].bits == tensor.type.bits else name
        yield f"data-type/{name}={data_type}", place, changed(data_type=data_type)
    for index, size in enumerate(
        tensor.sizes
    ):  # one place for each: an implementation may compare only some sizes, or their product
        larger = (*tensor.sizes[:index], size + 1, *tensor.sizes[index + 1 :])
        yield f"sizes/{name}", f"{name}-size{index}", changed(sizes=larger)
        if size > 1 and not plan.uniform:  # if all tensors have equal sizes, a smaller one makes the others larger
            yield (
                f"sizes/{name}",
                f"{name}-smaller{index}",
                changed(sizes=(*tensor.sizes[:index], size - 1, *tensor.sizes[index + 1 :])),
            )
    yield f"sizes/{name}", f"{name}-exchanged", changed(sizes=tuple(reversed(tensor.sizes)))
    yield f"dimension-count/{name}+1", name, changed(sizes=(1, *tensor.sizes))
    yield f"dimension-count/{name}+1-of-ones", name, changed(sizes=(1,) * (tensor.DimensionCount + 1))
    padded = laid_out(tensor, "padded-rows")
    yield f"total-size/{name}-4", name, changed(total_size=tensor.bytes - 4)
    yield f"total-size/{name}-padded-4", name, changed(strides=padded.strides, total_size=padded.bytes - 4)
    yield f"flags/{name}=2", name, changed(flags=2)
    yield f"alignment/{name}=24", name, changed(alignment=24)
    if tensor.type.bits > 8:
        yield f"alignment/{name}-below-size", name, changed(alignment=tensor.type.bits // 16)
    if field.packed:
        yield f"strides/{name}-spread", name, base.with_tensors({name: laid_out(tensor, "spread")})
    if not field.may_overlap:
        yield f"strides/{name}-broadcast", name, base.with_tensors({name: laid_out(tensor, "broadcast-last")})
    if field.kind == "output":
        yield f"flags/{name}=OWNED_BY_DML", name, changed(flags=abi().tensor_flags["OWNED_BY_DML"])


def _binding_changes(base: OperatorDesc) -> Iterator[Change]:
    """A tensor unbound, bound to too few bytes, or bound at a misaligned offset."""
    for name, _ in base.tensors():
        for way, binding, rule in (
            (f"binding/unbound/{name}", Binding(absent=True), f"binding/{name}"),
            (f"binding/size/{name}-4", Binding(short=4), f"binding/{name}/size"),
            *((f"binding/offset/{name}+{offset}", Binding(offset=offset), f"binding/{name}/offset") for offset in (4, 8)),
        ):
            yield Change(way, base, {name: binding}, frozenset({rule}), way=way)


def resized(
    plan: Plan, base: OperatorDesc, names: tuple[str, ...], run: tuple[int, ...], usual: Mapping[str, object]
) -> OperatorDesc:
    """The desc with the named tensors resized for ``run``; where no shape has this rank, with leading ones added or dimensions removed."""
    try:
        small = base.with_tensors({name: replace(tensor, sizes=(1,) * len(run)) for name, tensor in base.tensors()})
        sizes = solved(plan.operator, plan.recomputed(small, usual), run) if run else {}
    except NotGenerable:
        sizes = {name: padded_run(tensor.sizes, len(run)) for name, tensor in base.tensors()}
    changed = base
    for name in names:
        changed = _replaced(changed, (name,), sizes=sizes.get(name, ()))
    return changed


def _replaced(desc: OperatorDesc, names: tuple[str, ...] | list[str], **changes: object) -> OperatorDesc:
    """The desc with the named tensors changed alike."""
    present = {name: tensor for name, tensor in desc.tensors() if name in names}  # an optional one may be absent
    return desc.with_tensors({name: replace(tensor, **changes) for name, tensor in present.items()})  # type: ignore[arg-type]
