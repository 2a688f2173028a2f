"""Each rule that a desc can break is broken alone, at each tensor that it is about, and a negative case breaks what it says and no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from math import prod

from dmlcts.generator.checks.given import Check, OperatorCases
from dmlcts.generator.negative.cases import unenforced_rules
from dmlcts.generator.plan.tensor_names import tensor_names
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.model.desc import field_of
from dmlcts.spec.model.measurement import ALL
from dmlcts.spec.model.operator import Constraint, Operator
from dmlcts.spec.rules.rules import violations

TABLE_RULES = {"data-type": "DataType", "dimension-count": "DimensionCount"}
"""The rules of a tensor's row in the support tables, each with what constraints tie together."""


def is_accepted(operator: Operator, rule: str) -> bool:
    """Whether DirectML.dll was measured to accept all that breaks the rule, with whatever data types."""
    return rule in unenforced_rules(operator)


def _accepted_at(operator: Operator, rule: str, tensor: str) -> bool:
    """Whether DirectML.dll was measured to accept a dimension more of this tensor alone, with whatever data types."""
    return any(
        known.rule == rule and known.types == ALL and f"dimension-count/{tensor}+1" in known.ways for known in operator.accepts
    )


def break_what_they_say(given: OperatorCases) -> Iterator[str]:
    """A case that breaks more than it says would hide that an implementation does not see its rule."""
    for case in given.negative:
        if f"rejects/{case.rule}" not in case.covers:
            yield f"{case.id}: does not cover rejects/{case.rule}"
        if case.bindings:
            continue  # conformance/execution/binding_checks.py looks at these
        # At the level at which the case runs too, and not only at the newest.
        newest, own = (
            violations(given.operator, case.desc),
            violations(given.operator, case.desc, feature_level(case.feature_level)),
        )
        for broken in {frozenset(f"rejects/{found.label}" for found in each) for each in (newest, own)}:
            yield from unlike_covers(case.id, case.covers, broken)


def unlike_covers(case_id: str, covers: Iterable[str], broken: Set[str]) -> Iterator[str]:
    """What is wrong where a case breaks other rules than it says."""
    if broken != set(covers):
        breaks, says = (", ".join(sorted(labels)) or "nothing" for labels in (broken, set(covers)))
        yield f"{case_id}: breaks {breaks}, and says that it covers {says}"


def are_different(given: OperatorCases) -> Iterator[str]:
    """No two negative cases are the same."""
    seen: dict[str, str] = {}
    for case in given.negative:
        first = seen.setdefault(f"{case.desc} {case.bindings}", case.id)
        if first != case.id:
            yield f"{case.id}: is {first} again"


def constraints_are_broken_alone(given: OperatorCases) -> Iterator[str]:
    """Where a constraint is broken with others only, an implementation that knows the others alone would pass."""
    in_part = {entry.rule for entry in given.operator.accepts}  # the cases that break it alone may be those that were accepted
    for constraint in given.operator.constraints:
        rule = f"constraint/{constraint.label}"
        if constraint.before or is_accepted(given.operator, rule):
            continue
        found = [set(case.covers) - {f"rejects/{rule}"} for case in given.cases_breaking(rule)]
        if not found:
            yield f"no case breaks {rule}; {_TO_BREAK}"
        elif set() not in found and not _is_implied(given.operator, constraint) and rule not in in_part:
            others = sorted(label.removeprefix("rejects/") for label in min(found, key=len))
            yield f"no case breaks {rule} alone: {', '.join(others)} is broken with it; {_TO_BREAK}"


_TO_BREAK = (
    "write what it asks for as a domain of the attribute or of a symbol in shapes, say it of fewer tensors, "
    "or leave out what another rule says already (generator/negative/cases.py says how descs are broken)"
)


def _is_implied(operator: Operator, constraint: Constraint) -> bool:
    """Whether tensors have as many dimensions anyway: those of equal sizes, or those for which the tables list one count."""
    same = (set(other.tensors) for other in operator.constraints if other.same == "Sizes" and other.when is None)
    rows = [row for table in operator.tables() for name, row in table.tensors.items() if name in constraint.tensors]
    one_count = all(row.dimensions[0] == row.dimensions[1] for row in rows)
    return constraint.same == "DimensionCount" and (one_count or any(set(constraint.tensors) <= tensors for tensors in same))


def constraints_are_broken_at_each_tensor(given: OperatorCases) -> Iterator[str]:
    """An implementation may compare some of the tensors, or some of their sizes, or the product of these."""
    constraints = given.operator.constraints
    lenient = {  # which cannot be changed without breaking what nobody need refuse
        name
        for constraint in constraints
        if constraint.that and is_accepted(given.operator, f"constraint/{constraint.label}")
        for name in constraint.that.names
    }
    for constraint in constraints:
        rule = f"constraint/{constraint.label}"
        if not constraint.same or constraint.before or is_accepted(given.operator, rule):
            continue
        odd: dict[str, set[tuple[int, ...]]] = {}
        usual: set[tuple[int, ...]] = set()
        for case in given.cases_breaking(rule):
            tensors = {name: tensor for of in constraint.tensors for name, tensor in case.desc.called(of)}
            odd |= {name: set() for name in tensors if name not in odd}
            values = Counter(getattr(tensor, constraint.same) for tensor in tensors.values())
            at = case.id.rpartition("/")[2].partition("-")[0]  # where the case says that it is
            name = next((name for name in tensors if name == at), None)
            if name is None:
                continue
            if values[getattr(tensors[name], constraint.same)] != 1:
                yield f"{case.id}: {name} is not the one that is unlike the others"
            odd[name].add(tensors[name].sizes)
            usual |= {tensor.sizes for other, tensor in tensors.items() if other != name}
        for name, found in odd.items():
            if not found and field_of(name) not in lenient and not _accepted_at(given.operator, rule, name):
                yield f"no case breaks {rule} at {name}; {_TO_BREAK}"
        if constraint.same == "Sizes" and not any(
            all(_changed_everywhere(sizes) <= found for found in odd.values()) for sizes in usual if prod(sizes) > 1
        ):
            yield f"no cases break {rule} in each of the sizes, and in their order, for every tensor; {_TO_BREAK}"


def _changed_everywhere(sizes: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Sizes of which one is larger, and all of them in reverse, where that is another order."""
    larger = {(*sizes[:i], size + 1, *sizes[i + 1 :]) for i, size in enumerate(sizes)}
    return larger | ({tuple(reversed(sizes))} - {sizes})


def table_rules_are_broken_by_tied_tensors(given: OperatorCases) -> Iterator[str]:
    """A data type or a dimension count that no table has: in all tensors that must have the same, and in no other."""
    for what, same in TABLE_RULES.items():
        for group in _tied_groups(given.operator, same):
            about = [
                case
                for case in given.negative
                if case.rule in {f"support/{name}/{what}" for of in group for name, _ in case.desc.called(of)}
            ]
            if what == "dimension-count" and not about and _is_rank_fixed(given.operator, group):
                continue  # another count breaks the shape too
            expected = ({f"rejects/support/{name}/{what}" for of in group for name, _ in case.desc.called(of)} for case in about)
            if not any(set(case.covers) == labels for case, labels in zip(about, expected, strict=True)):
                yield (
                    f"no case gives {', '.join(sorted(group))} a {what.replace('-', ' ')} that no table has and breaks nothing else; "
                    f"say by `same: {same}` which tensors have the same"
                )


def _tied_groups(operator: Operator, what: str) -> set[frozenset[str]]:
    """The tensors in groups that must always have the same ``what``."""
    groups = {frozenset({name}) for name in tensor_names(operator)}
    for constraint in operator.constraints:
        if constraint.same == what and constraint.when is None and constraint.before is None:
            touched = {group for group in groups if any({name, field_of(name)} & set(constraint.tensors) for name in group)}
            groups = groups - touched | {frozenset().union(*touched)}
    return groups


def _is_rank_fixed(operator: Operator, names: Iterable[str]) -> bool:
    """Whether the shapes give these tensors one dimension count."""
    rows = [row for shape in operator.shapes for name, row in shape.sizes.items() if name in names]
    return not any(size.startswith("*") for row in rows for size in row)


def general_rules_are_broken_alone(given: OperatorCases) -> Iterator[str]:
    """Rules of every operator: tensor descs, bindings, fields that must be there, enumerations, domains."""
    found: dict[str, list[set[str]]] = {}
    for case in given.negative:
        if case.rule.startswith(("tensor/", "binding/", "field/", "enum/", "domain/", "operator/")):
            # A size of 0 breaks the same rule for all tensors of the same sizes.
            labels = {label.rpartition("/")[2] for label in case.covers} if "/zero/" in case.id else set(case.covers)
            found.setdefault(case.rule, []).append(labels)
    lenient = {entry.rule for entry in given.operator.accepts}  # demanded where another rule is broken with it
    for rule, broken in found.items():
        fewest = min(broken, key=len)
        if len(fewest) > 1 and rule not in lenient:
            yield f"no case breaks {rule} alone; {', '.join(sorted(fewest))} are always broken together"


CHECKS: tuple[Check, ...] = (
    break_what_they_say,
    are_different,
    constraints_are_broken_alone,
    constraints_are_broken_at_each_tensor,
    table_rules_are_broken_by_tied_tensors,
    general_rules_are_broken_alone,
)
