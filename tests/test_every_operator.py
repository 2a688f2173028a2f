"""What holds of every operator's cases, whoever writes its spec: ids, valid and invalid descs, data, levels, and a case for each promise.

Each operator's cases are made once: pytest runs all tests of one operator before those of the next, as they share the fixture below.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import Any

import pytest

from dmlcts.conformance.backends.array_backend import binding_violations
from dmlcts.conformance.execution.execute import lay_out
from dmlcts.generator import coverage as coverage_module
from dmlcts.generator.case import AGREEMENT, LEVELS, REJECTION, Binding, Case, from_json, to_json
from dmlcts.generator.coverage import COLUMNS, coverage
from dmlcts.generator.data import inputs
from dmlcts.generator.emit import TITLES
from dmlcts.generator.matching import may_match
from dmlcts.generator.negatives import unenforced
from dmlcts.generator.suite import make_cases
from dmlcts.spec.abi import abi, feature_level
from dmlcts.spec.desc import OperatorDesc, TensorDesc
from dmlcts.spec.loader import load, operator_names
from dmlcts.spec.model import Constraint, Operator
from dmlcts.spec.rules import violations

PART = r"[A-Za-z0-9_.+=,\[\]-]+"
ID = re.compile(rf"[A-Z0-9_]+/[A-Z0-9]+(-[A-Z0-9]+)*/{PART}(/{PART})*")

LONGEST_ID = 240
"""An id becomes the name of a file, which may have 255 bytes."""

MOST_ELEMENTS = 1 << 24
"""Of one tensor: what a backend, the reference and the judge can hold several times over."""


@dataclass(frozen=True)
class Every:
    """An operator with all its cases."""

    operator: Operator
    cases: tuple[Case, ...]

    @property
    def positive(self) -> list[Case]:
        return [case for case in self.cases if case.expect != REJECTION]

    @property
    def negative(self) -> list[Case]:
        return [case for case in self.cases if case.expect == REJECTION]

    @property
    def tensors(self) -> list[str]:
        return [field.name for field in self.operator.fields if field.is_tensor]

    def breaking(self, rule: str) -> list[Case]:
        return [case for case in self.negative if f"rejects/{rule}" in case.covers]


@pytest.fixture(scope="module", params=operator_names())
def every(request: pytest.FixtureRequest) -> Every:
    operator = load(request.param)
    return Every(operator, make_cases(operator))


def accepted(operator: Operator, rule: str) -> bool:
    """Whether DirectML.dll was measured to accept all that breaks the rule, with whatever data types."""
    return rule in unenforced(operator)


# Ids


def test_ids_are_short_and_become_files(every: Every) -> None:
    ids = [case.id for case in every.cases]
    assert [case_id for case_id in ids if not ID.fullmatch(case_id)] == []
    assert [case_id for case_id in ids if len(case_id) > LONGEST_ID] == []
    assert [case_id for case_id, count in Counter(case_id.lower() for case_id in ids).items() if count > 1] == []


def test_an_id_says_operator_types_and_kind(every: Every) -> None:
    for case in every.cases:
        operator, types, kind, *_ = case.id.split("/")
        assert operator == case.operator.name == case.desc.type == every.operator.name
        assert types.split("-")[0] == case.data_type
        assert kind == case.kind or (case.kind == "table" and re.fullmatch(r"[1-8]d", kind))


def test_no_part_of_its_ids_leaves_the_operator_out(every: Every) -> None:
    """``-k`` reads specs' texts: a part of an id that none has would lose the case."""
    for part in {part for case in every.cases for part in case.id.split("/")}:
        for word in re.split(r"[()]+", part):
            assert may_match(word, every.operator.name), part


def test_cases_survive_json(every: Every) -> None:
    for case in every.cases:
        text = json.dumps(to_json(case), allow_nan=False)
        back = from_json(json.loads(text), load)
        # A NaN among the attributes is not equal to itself.
        assert back == case or (holds_nan(case) and json.dumps(to_json(back)) == text), case.id


def holds_nan(case: Case) -> bool:
    return any(value != value for value in case.desc.fields.values())


# Positive cases


def test_positive_descs_are_valid_at_their_level_and_not_below_it(every: Every) -> None:
    levels = sorted(abi().feature_levels.values())
    below = {newer: older for older, newer in pairwise(levels)}
    with_others = {relation.label for relation in every.operator.relations if relation.uses}
    for case in every.positive:
        level = feature_level(case.feature_level)
        assert violations(every.operator, case.desc, level) == [], case.id
        assert violations(every.operator, case.desc) == [], case.id
        if level in below and case.relation not in with_others:  # the other operators of a law may need a newer level
            assert violations(every.operator, case.desc, below[level]) != [], f"{case.id} is promised before {level}"


def test_tensors_are_of_a_size_that_can_be_had(every: Every) -> None:
    sizes = {case.id: max(tensor.count for _, tensor in case.desc.tensors()) for case in every.positive}
    assert {case_id: count for case_id, count in sizes.items() if count > MOST_ELEMENTS} == {}


def small(cases: list[Case]) -> Iterator[Case]:
    """A few of each kind: data and bindings take time."""
    seen: Counter[str] = Counter()
    for case in cases:
        seen[case.kind] += 1
        if seen[case.kind] <= 4 and all(prod(tensor.sizes) < 10_000 for _, tensor in case.desc.tensors()):
            yield case


def test_data_have_sizes_and_type_of_their_tensors(every: Every) -> None:
    given = {field.name for field in every.operator.inputs()}
    for case in every.positive:
        present = given | every.operator.read_outputs(case.desc.fields)
        assert set(case.data) == {name for name, _ in case.desc.tensors() if name.partition("[")[0] in present}, case.id
    for case in small(every.positive):
        for name, values in inputs(case).items():
            assert values.shape == case.desc.tensor(name).sizes, (case.id, name)


def test_positive_bindings_are_valid(every: Every) -> None:
    for case in small([case for case in every.positive if case.expect != AGREEMENT and not case.relation]):
        assert binding_violations(lay_out(case, inputs(case), {}).dispatch) == [], case.id


# Negative cases


def test_negative_cases_break_exactly_what_they_say(every: Every) -> None:
    for case in every.negative:
        if case.bindings:
            broken = binding_violations(lay_out(case, inputs(case), {}).dispatch)
        else:
            broken = violations(every.operator, case.desc)
            # At the level at which the case runs too, and not only at the newest.
            at = violations(every.operator, case.desc, feature_level(case.feature_level))
            assert {f"rejects/{found.label}" for found in at} == set(case.covers), case.id
        assert {f"rejects/{found.label}" for found in broken} == set(case.covers), case.id
        assert f"rejects/{case.rule}" in case.covers, case.id


def test_no_two_negative_cases_are_the_same(every: Every) -> None:
    seen: dict[str, str] = {}
    for case in every.negative:
        what = f"{case.desc} {case.bindings}"
        assert what not in seen, f"{case.id} is {seen.get(what)}"
        seen[what] = case.id


def test_each_constraint_is_broken_alone(every: Every) -> None:
    in_part = {entry.rule for entry in every.operator.accepts}  # the cases that break it alone may be those that were accepted
    for constraint in every.operator.constraints:
        rule = f"constraint/{constraint.label}"
        if constraint.before or accepted(every.operator, rule):
            continue
        found = [set(case.covers) - {f"rejects/{rule}"} for case in every.breaking(rule)]
        assert found, f"no case breaks {rule}"
        assert set() in found or implied(every.operator, constraint) or rule in in_part, f"no case breaks {rule} alone"


def implied(operator: Operator, constraint: Constraint) -> bool:
    """Whether tensors of equal sizes have what the constraint asks for anyway."""
    same = (set(other.tensors) for other in operator.constraints if other.same == "Sizes" and other.when is None)
    return constraint.same == "DimensionCount" and any(set(constraint.tensors) & tensors for tensors in same)


def test_each_constraint_is_broken_at_each_of_its_tensors(every: Every) -> None:
    """An implementation may compare some of the tensors, or some of their sizes, or the product of these."""
    constraints = every.operator.constraints
    lenient = {  # which cannot be changed without breaking what nobody need refuse
        name
        for constraint in constraints
        if constraint.that and accepted(every.operator, f"constraint/{constraint.label}")
        for name in constraint.that.names
    }
    for constraint in constraints:
        rule = f"constraint/{constraint.label}"
        if not constraint.same or constraint.before or accepted(every.operator, rule):
            continue
        odd: dict[str, set[tuple[int, ...]]] = {name: set() for name in constraint.tensors}
        usual: set[tuple[int, ...]] = set()
        for case in every.breaking(rule):
            tensors = {name: case.desc.tensor(name) for name in constraint.tensors if case.desc.fields[name] is not None}
            values = Counter(getattr(tensor, constraint.same) for tensor in tensors.values())
            at = case.id.rpartition("/")[2].partition("-")[0]  # where the case says that it is
            name = next((name for name in tensors if name == at), None)
            if name is None:
                continue
            assert values[getattr(tensors[name], constraint.same)] == 1, case.id
            odd[name].add(tensors[name].sizes)
            usual |= {tensor.sizes for other, tensor in tensors.items() if other != name}
        assert {name for name, found in odd.items() if not found} <= lenient, rule
        if constraint.same == "Sizes":
            assert any(all(changed_everywhere(sizes) <= found for found in odd.values()) for sizes in usual if prod(sizes) > 1), (
                rule
            )


def changed_everywhere(sizes: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Sizes of which one is larger, and all of them in reverse, where that is another order."""
    larger = {(*sizes[:i], size + 1, *sizes[i + 1 :]) for i, size in enumerate(sizes)}
    return larger | ({tuple(reversed(sizes))} - {sizes})


def tied(operator: Operator, what: str) -> set[frozenset[str]]:
    """The tensors in groups that must always have the same ``what``."""
    groups = {frozenset({field.name}) for field in operator.fields if field.is_tensor}
    for constraint in operator.constraints:
        if constraint.same == what and constraint.when is None and constraint.before is None:
            touched = {group for group in groups if group & set(constraint.tensors)}
            groups = groups - touched | {frozenset().union(*touched)}
    return groups


def fixed(operator: Operator, names: Iterable[str]) -> bool:
    """Whether the shapes give these tensors one dimension count."""
    rows = [row for shape in operator.shapes for name, row in shape.sizes.items() if name in names]
    return not any(size.startswith("*") for row in rows for size in row)


@pytest.mark.parametrize(("what", "same"), [("data-type", "DataType"), ("dimension-count", "DimensionCount")])
def test_each_table_rule_is_broken_by_all_tied_tensors_and_no_other(every: Every, what: str, same: str) -> None:
    for group in tied(every.operator, same):
        about = [case for case in every.negative if case.rule in {f"support/{name}/{what}" for name in group}]
        if what == "dimension-count" and not about and fixed(every.operator, group):
            continue  # another count breaks the shape too
        alone = [{f"rejects/support/{name}/{what}" for name in group if case.desc.fields[name] is not None} for case in about]
        assert any(set(case.covers) == expected for case, expected in zip(about, alone, strict=True)), sorted(group)


def test_each_general_rule_is_broken_alone(every: Every) -> None:
    found: dict[str, list[set[str]]] = {}
    for case in every.negative:
        if case.rule.startswith(("tensor/", "binding/", "field/", "enum/", "domain/", "operator/")):
            # A size of 0 breaks the same rule for all tensors of the same sizes.
            labels = {label.rpartition("/")[2] for label in case.covers} if "/zero/" in case.id else set(case.covers)
            found.setdefault(case.rule, []).append(labels)
    lenient = {entry.rule for entry in every.operator.accepts}  # demanded where another rule is broken with it
    assert [rule for rule, broken in found.items() if min(map(len, broken)) > 1 and rule not in lenient] == []


# Levels, order, promises


def test_smoke_is_small_and_has_every_type(every: Every) -> None:
    smoke = [case for case in every.cases if case.level == "smoke"]
    listed = {name for table in every.operator.support for name in next(iter(table.tensors.values())).data_types}
    assert {case.data_type for case in smoke} == listed
    choices = {case.id.split("/")[1] for case in smoke}
    assert len(smoke) < 25 + len(choices)
    assert {case.level for case in every.cases} == set(LEVELS)


def test_core_tries_every_width_and_one_large_tensor(every: Every) -> None:
    core = [case for case in every.cases if case.level in ("smoke", "core")]
    widths = {abi().data_types[case.data_type].bits for case in every.cases}
    for kind in ("layout", "sizes", "values", "property", "gaps"):
        assert {abi().data_types[case.data_type].bits for case in core if case.kind == kind} == widths, kind
    named = every.operator.sizes  # then the large sizes are the operator's own
    assert [case.id for case in (every.cases if named else core) if "65537" in case.id or (named and largest(case) > 500)]


def largest(case: Case) -> int:
    return max(tensor.count for _, tensor in case.desc.tensors())


def test_what_a_person_understands_first_runs_first(every: Every) -> None:
    order = [list(TITLES).index(case.kind) for case in every.cases]
    assert order == sorted(order)


def test_every_promise_has_a_case(every: Every, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage_module, "make_cases", lambda _: every.cases)
    found = coverage(every.operator, True)
    assert {column.name: column.missing for column in found.columns if column.missing} == {}
    assert found.complete
    assert (found.operator, found.cases) == (every.operator.name, len(every.cases))
    assert [column.name for column in found.columns] == list(COLUMNS)
    assert all(column.covered == column.promised for column in found.columns)


# What is wrong is seen


ROUND = "ELEMENT_WISE_ROUND"


def altered(part: str, **changes: Any) -> Callable[[list[Case]], list[Case]]:
    """Changes the first case with this in its id."""

    def alter(cases: list[Case]) -> list[Case]:
        index = next(i for i, case in enumerate(cases) if part in case.id)
        return [*cases[:index], replace(cases[index], **changes), *cases[index + 1 :]]

    return alter


def without(part: str) -> Callable[[list[Case]], list[Case]]:
    """Leaves the cases out whose ids have this in them."""

    def leave_out(cases: list[Case]) -> list[Case]:
        left = [case for case in cases if part not in case.id]
        assert len(left) < len(cases)
        return left

    return leave_out


def twin(cases: list[Case]) -> list[Case]:
    return [*cases, replace(next(case for case in cases if case.expect == REJECTION), id=f"{ROUND}/FLOAT32/negative/twin")]


def with_another_rule(cases: list[Case]) -> list[Case]:
    return [replace(case, covers=(*case.covers, "rejects/b")) if case.rule == "field/InputTensor" else case for case in cases]


HUGE = OperatorDesc(
    ROUND, dict.fromkeys(("InputTensor", "OutputTensor"), TensorDesc("FLOAT32", (1 << 25,))) | {"RoundingMode": "TOWARD_ZERO"}
)
MIXED = HUGE.with_fields(InputTensor=TensorDesc("FLOAT16", (1 << 25,)))


@pytest.mark.parametrize(
    ("check", "change"),
    [
        (test_ids_are_short_and_become_files, altered("/4d/", id=f"{ROUND}/FLOAT32/a:b")),
        (test_ids_are_short_and_become_files, altered("/4d/", id=f"{ROUND}/FLOAT32/{'a' * 240}")),
        (test_ids_are_short_and_become_files, altered("/4d/", id=f"{ROUND}/FLOAT32/4D/TOWARD_ZERO")),
        (test_an_id_says_operator_types_and_kind, altered("/4d/", data_type="UINT8")),
        (test_cases_survive_json, altered("/4d/", checks=["gaps"])),
        (test_positive_descs_are_valid_at_their_level_and_not_below_it, altered("/4d/", feature_level="6_4")),
        (test_positive_descs_are_valid_at_their_level_and_not_below_it, altered("/4d/", feature_level="1_0")),
        (test_positive_descs_are_valid_at_their_level_and_not_below_it, altered("/4d/", desc=MIXED)),
        (test_tensors_are_of_a_size_that_can_be_had, altered("/4d/", desc=HUGE)),
        (test_data_have_sizes_and_type_of_their_tensors, altered("/values/", data={})),
        (test_positive_bindings_are_valid, altered("/example/", bindings={"InputTensor": Binding(short=4)})),
        (test_negative_cases_break_exactly_what_they_say, altered("/negative/", rule="constraint/same-sizes")),
        (test_negative_cases_break_exactly_what_they_say, altered("/negative/", covers=())),
        (test_negative_cases_break_exactly_what_they_say, altered("/negative/same-sizes/", feature_level="1_0")),
        (test_no_two_negative_cases_are_the_same, twin),
        (test_each_constraint_is_broken_alone, without("/same-data-type/")),
        (test_each_constraint_is_broken_at_each_of_its_tensors, without("/same-data-type/OutputTensor")),
        (test_each_constraint_is_broken_at_each_of_its_tensors, without("/same-sizes/InputTensor-size2")),
        (test_each_general_rule_is_broken_alone, with_another_rule),
        (test_smoke_is_small_and_has_every_type, without("FLOAT16/4d")),
        (test_core_tries_every_width_and_one_large_tensor, without("65537")),
        (test_core_tries_every_width_and_one_large_tensor, without("FLOAT16/gaps")),
        (test_what_a_person_understands_first_runs_first, lambda cases: [*cases[1:], cases[0]]),
    ],
)
def test_what_is_wrong_is_seen(check: Callable[[Every], None], change: Callable[[list[Case]], list[Case]]) -> None:
    right = Every(load(ROUND), make_cases(load(ROUND)))
    check(right)
    with pytest.raises(AssertionError):
        check(replace(right, cases=tuple(change(list(right.cases)))))


@pytest.mark.parametrize("what", ["data-type", "dimension-count"])
def test_a_table_rule_that_is_broken_by_some_of_the_tied_tensors_alone_is_seen(what: str) -> None:
    right = Every(load(ROUND), make_cases(load(ROUND)))
    same = {"data-type": "DataType", "dimension-count": "DimensionCount"}[what]
    test_each_table_rule_is_broken_by_all_tied_tensors_and_no_other(right, what, same)
    some = [case if what not in case.rule else replace(case, covers=case.covers[:1]) for case in right.cases]
    with pytest.raises(AssertionError):
        test_each_table_rule_is_broken_by_all_tied_tensors_and_no_other(replace(right, cases=tuple(some)), what, same)
