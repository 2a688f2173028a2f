"""Negative cases: descs and bindings that must be rejected, each of which breaks one rule.

A valid desc is changed in one place, in every way that could break a rule. ``spec.rules`` tells which rules each change breaks, and for each
rule the change that breaks the fewest others is kept. So a new constraint in a spec gets its negative cases without code here. If
DirectML.dll was measured to accept a change (``accepts`` of an operator), a rejection of exactly this change with these data types is not
required.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from functools import cache

from dmlcts.generator.case.build import random_data
from dmlcts.generator.case.case import REJECTION, Binding, Case, Data, is_beyond
from dmlcts.generator.negative.descs import RUN, groups_in, with_changed, wrong_descs
from dmlcts.generator.negative.one_tensor import mixes, one_tensor_descs
from dmlcts.generator.plan.desc_plan import DescPlan
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.plan.type_choices import TypeChoice
from dmlcts.spec.model.abi import FeatureLevel, abi
from dmlcts.spec.model.desc import UNKNOWN, OperatorDesc, TensorDesc
from dmlcts.spec.model.measurement import Acceptance
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED, Operator
from dmlcts.spec.rules.rules import Violation, violations


@dataclass(frozen=True, slots=True)
class InvalidChange:
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
    if is_beyond("core", most):
        return
    made: set[str] = set()
    yield from _of_each_rule(plan, most, made)
    yield from _of_one_tensor(plan, most, made)


def _of_each_rule(plan: Plan, most: str, made: set[str]) -> Iterator[tuple[Case, str]]:
    """A rule that no earlier change broke is for level core, with the first types that can break it."""
    constraints = {f"constraint/{constraint.label}" for constraint in plan.operator.constraints}
    broken: set[str] = set()
    about: set[str] = set()
    for index, choice in enumerate(plan.representatives):
        if index and is_beyond("full", most) and (plan.only_tied or constraints <= broken):
            break  # the first types can break every rule but constraints on other types
        for base, change in _all_changes(choice):
            if not _is_demanded(choice, base, change, made):
                continue
            rule = _rule(change)
            level = "full" if change.rules <= broken and rule in about else "core"
            broken |= change.rules
            about.add(rule)
            if not is_beyond(level, most):
                yield _case(choice, base, change, level), change.way


def _of_one_tensor(plan: Plan, most: str, made: set[str]) -> Iterator[tuple[Case, str]]:
    """Rules about single tensors, broken by one of several: of each kind and tensor the first for level core, all with the first types.

    With other types data types alone: whether counts and sizes are looked at does not depend on them.
    """
    for index, choice in enumerate(plan.representatives if not is_beyond("full", most) else plan.representatives[:1]):
        met: set[str] = set()
        for base, change in _changes_of_one(choice):
            what = change.label.partition("=")[0]
            if (index and not what.startswith("data-type/")) or not _is_demanded(choice, base, change, made):
                continue
            level = "full" if index or what in met else "core"
            met.add(what)
            if not is_beyond(level, most):
                yield _case(choice, base, change, level), change.way


def _is_demanded(choice: TypeChoice, base: OperatorDesc, change: InvalidChange, made: set[str]) -> bool:
    """Whether a change is new (``made`` has the earlier ones), and DirectML.dll is not known to accept it."""
    what = f"{change.desc} {change.bindings}"
    if what in made:
        return False  # such as a type that all tensors change to: the same desc for every choice
    made.add(what)
    accepts = choice.plan.operator.accepts
    return not (accepts and _is_accepted(accepts, change, choice, _level(choice, base, change)))


def _case(choice: TypeChoice, base: OperatorDesc, change: InvalidChange, level: str) -> Case:
    operator = choice.plan.operator
    return Case(
        id=f"{operator.name}/{choice.label}/negative/{change.label}",
        kind="negative",
        level=level,
        desc=change.desc,
        operator=operator,
        feature_level=str(_level(choice, base, change)),
        data_type=choice.main,
        basis=change.basis,
        expect=REJECTION,
        data=_data(operator, change.desc),
        bindings=change.bindings,
        rule=_rule(change),
        base_types=tuple(sorted({tensor.data_type for _, tensor in base.tensors()})),
        covers=tuple(f"rejects/{name}" for name in sorted(change.rules)),
    )


def _all_changes(choice: TypeChoice) -> Iterator[tuple[OperatorDesc, InvalidChange]]:
    """The changes of the default desc, and of descs with the tensors that it omits: those about these tensors, or about rules not broken so far."""
    plan = choice.plan
    bases = [(attributes, choice.usual_desc(RUN, attributes)) for attributes in choice.presences]
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


def _changes_of_one(choice: TypeChoice) -> Iterator[tuple[OperatorDesc, InvalidChange]]:
    """The changes of one tensor where others follow the same rule: of the default desc, and of others what it cannot have."""
    met: set[str] = set()
    for attributes in mixes(choice):
        base = choice.usual_desc(RUN, attributes)
        for label, desc in one_tensor_descs(choice.plan, base, attributes):
            broken = [] if label in met else violations(choice.plan.operator, desc)
            if broken:
                met.add(label)
                yield base, InvalidChange(label, desc, {}, frozenset(v.label for v in broken), _basis(broken), label)


def _data(operator: Operator, desc: OperatorDesc) -> dict[str, Data]:
    """Data for the inputs whose arrays can be made: an invalid desc may have none."""
    return {
        name: data
        for name, data in random_data(operator, desc).items()
        if desc.tensor(name).data_type != UNKNOWN and 0 not in desc.tensor(name).sizes
    }


def _level(choice: TypeChoice, valid: OperatorDesc, change: InvalidChange) -> FeatureLevel:
    """The lowest feature level, from that of the valid desc on, at which the change breaks exactly its rules."""
    plan = choice.plan
    base = plan.level_of(valid) or choice.level
    steps = plan.steps | {table.level for table in plan.operator.support}
    if change.bindings or not any(level > base for level in steps):
        return base  # the same as at the newest level, at which the rules were checked
    levels = sorted(level for level in abi().feature_levels.values() if level >= base)
    return next(level for level in levels if change.rules == {v.label for v in violations(plan.operator, change.desc, level)})


def _rule(change: InvalidChange) -> str:
    """The rule that a change is about: a constraint if one is broken, else the first by name."""
    return min(change.rules, key=lambda label: (not label.startswith(_OWN), label))


def _is_accepted(accepts: Iterable[Acceptance], change: InvalidChange, choice: TypeChoice, level: FeatureLevel) -> bool:
    """Whether DirectML.dll is known to accept exactly this change, whichever rules it breaks, so that a rejection is not required."""
    return change.rules <= {known.rule for known in accepts if known.holds(change.way, choice.label, level)}


@cache
def unenforced_rules(operator: Operator) -> frozenset[str]:
    """The rules without a required rejection: every negative case that breaks them was accepted, or also breaks an enforced rule."""
    found = frozenset(known.rule for known in operator.accepts)
    if found:
        for case in sorted(negative_cases(plan_of(operator)), key=lambda case: len(case.covers)):
            broken = {label.removeprefix("rejects/") for label in case.covers}
            found -= broken if broken <= found else set()
    return found


def _changes(
    plan: DescPlan, base: OperatorDesc, usual: Mapping[str, object], elsewhere: Mapping[str, TensorDesc]
) -> Iterator[InvalidChange]:
    """The changes to keep: all that break general rules, and for each rule of the operator and each place the one that breaks the fewest others."""
    best: dict[tuple[str, str], InvalidChange] = {}
    late: list[InvalidChange] = []
    emptied = False
    for label, place, desc in wrong_descs(plan, base, usual, elsewhere):
        broken = violations(plan.operator, desc)
        rules = frozenset(v.label for v in broken)
        basis = _basis(broken)
        if not rules:
            continue  # the change is harmless: another valid desc
        emptied |= _only_zeros(rules)
        for rule in sorted(rules):
            if rule.startswith(_OWN):
                known = best.get((rule, place))
                if known is None or len(rules) < len(known.rules):
                    own = f"{rule.removeprefix('constraint/')}/{place}"
                    best[rule, place] = InvalidChange(own, desc, {}, rules, basis, _way(label, desc))
        # An unlisted type and a size of 0 are tested even where a constraint is about types or sizes too.
        unlisted = label.startswith("data-type/") and any(rule.startswith("support/") for rule in rules)
        if unlisted or not any(rule.startswith(_OWN) for rule in rules):
            yield InvalidChange(label, desc, {}, rules, basis, _way(label, desc))
        elif label.startswith("sizes/zero/"):
            late.append(InvalidChange(label, desc, {}, rules, basis, _way(label, desc)))
    yield from best.values()
    yield from _lone_changes(plan, base, usual, {rule for (rule, _), change in best.items() if len(change.rules) == 1})
    yield from late
    if not emptied:
        yield from _consistent_zero(plan, base, usual)
    yield from _binding_changes(base)


def _basis(broken: Iterable[Violation]) -> str:
    return MEASURED if all(violation.basis == MEASURED for violation in broken) else DOCUMENTED


def _lone_changes(plan: DescPlan, base: OperatorDesc, usual: Mapping[str, object], known: Set[str]) -> Iterator[InvalidChange]:
    """Tensors that must have the same sizes, changed together: what breaks a constraint alone that no change of one tensor does (``known``)."""
    for group in groups_in(base, plan.tied_groups("Sizes")):
        sizes, names, made = base.tensor(group[0]).sizes, "+".join(group), set[str]()
        if len(group) == 1 or len(sizes) == 1:
            continue
        counts = {"-1": sizes[1:], "+1": (1, *sizes), "+1-of-ones": (1,) * (len(sizes) + 1)}
        ways = [(names, f"dimension-count/{names}{way}", changed) for way, changed in counts.items()]
        for index, size in enumerate(sizes):
            ways.append((f"{names}-size{index}", f"sizes/{names}", (*sizes[:index], size + 1, *sizes[index + 1 :])))
        for place, label, changed in ways:
            desc = plan.recompute(with_changed(base, group, sizes=changed), usual)
            broken = violations(plan.operator, desc)
            own = f"{broken[0].label.removeprefix('constraint/')}/{place}" if broken else ""
            if len(broken) == 1 and broken[0].label.startswith(_OWN) and broken[0].label not in known and own not in made:
                yield InvalidChange(own, desc, {}, frozenset({broken[0].label}), broken[0].basis, _way(label, desc))
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


def _consistent_zero(plan: DescPlan, base: OperatorDesc, usual: Mapping[str, object]) -> Iterator[InvalidChange]:
    """The first desc with a size of 0 that no other rule forbids, such as an empty batch: all tensors that share a size have it."""
    name = plan.leading_tensor
    for index, size in enumerate(base.tensor(name).sizes):
        sharing = [(other, at) for other, tensor in base.tensors() for at, its in enumerate(tensor.sizes) if its == size]
        same = [(other, at) for other, at in sharing if at == index]
        for places in (same, *([(name, index), place] for place in sharing if place[0] != name)):
            sizes = {other: list(base.tensor(other).sizes) for other, _ in places}
            for other, at in places:
                sizes[other][at] = 0
            emptied = {other: replace(base.tensor(other), sizes=tuple(found)) for other, found in sizes.items()}
            desc = plan.recompute(base.with_tensors(emptied), usual)
            rules = frozenset(v.label for v in violations(plan.operator, desc))
            if rules and _only_zeros(rules):
                yield InvalidChange(f"sizes/zero/{name}-size{index}", desc, {}, rules, way=_way(f"sizes/zero/{name}", desc))
                return


_OWN = ("constraint/", "shape/")
"""Prefixes of an operator's own rules: one change may break several of them, and several changes the same one."""


def _binding_changes(base: OperatorDesc) -> Iterator[InvalidChange]:
    """A tensor unbound, bound to too few bytes, or bound at a misaligned offset."""
    for name, _ in base.tensors():
        for way, binding, rule in (
            (f"binding/unbound/{name}", Binding(absent=True), f"binding/{name}"),
            (f"binding/size/{name}-4", Binding(short=4), f"binding/{name}/size"),
            *((f"binding/offset/{name}+{offset}", Binding(offset=offset), f"binding/{name}/offset") for offset in (4, 8)),
        ):
            yield InvalidChange(way, base, {name: binding}, frozenset({rule}), way=way)
