"""Rows become the cases that they want; arrays are stored as they are, and used as far as they are valid where stale; missing interactions are reported."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dmlcts.generator.case.case import LEVELS, LONGEST_ID, OFFSETS, Case, is_beyond
from dmlcts.generator.checks.ids import ID
from dmlcts.generator.covering import stored as stored_arrays
from dmlcts.generator.covering.cases import array_of, combination_cases, digest, empty_array, is_stale
from dmlcts.generator.covering.grow import compute_rows, rows_by_id
from dmlcts.generator.covering.space import Combinations, Packed, space_of
from dmlcts.generator.covering.stored import CoveringArray, read_arrays, write_arrays
from dmlcts.generator.facts.factor_values import row_of
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.facts.tuples import NONE, Row
from dmlcts.generator.plan.plan import Plan, plan_of
from dmlcts.generator.random.cases import cases_by_number, random_cases
from dmlcts.generator.random.choose import with_random
from dmlcts.generator.random.most_conditions import Budget
from dmlcts.generator.suite.interactions import interactions, random_rows
from dmlcts.generator.suite.suite import make_cases
from dmlcts.generator.sweeps.usual import usual_cases
from dmlcts.generator.sweeps.workloads import workload_cases
from dmlcts.generator.values.layouts import layout_of, layouts_of
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.operator import MEASURED
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.rules import violations

ROUND = "ELEMENT_WISE_ROUND"
SAMPLE = (ROUND, "ELEMENT_WISE_CLIP1", "CUMULATIVE_SUMMATION", "ELEMENT_WISE_BIT_COUNT")
"""With attributes of every kind, sizes of their own, and tensors of several types."""


def plan(name: str) -> Plan:
    return plan_of(load(name))


def rows(name: str, level: str = "core") -> Iterator[tuple[Row, Case]]:
    """The rows of an operator's array with their cases."""
    space, array = space_of(plan(name)), array_of(plan(name), level)
    return ((row, space.case(row)) for _, part in array.levels(level) for row in part)


# Rows and cases


@pytest.mark.parametrize("name", SAMPLE)
def test_every_row_becomes_a_valid_case_with_the_values_that_it_has(name: str) -> None:
    operator, space = load(name), space_of(plan(name))
    for row, case in rows(name):
        assert violations(operator, case.desc) == [], case.id
        skeleton = space.skeleton(row)
        assert skeleton is not None
        became = (*skeleton.row[: space.structural], *row[space.structural :])
        found = row_of(space.model, case)
        for factor, value, wanted in zip(space.model.factors, found, became, strict=True):
            if wanted != NONE:
                assert value == wanted, (case.id, factor.name)


@pytest.mark.parametrize("name", SAMPLE)
def test_ids_are_short_and_different(name: str) -> None:
    cases = list(combination_cases(plan(name)))
    assert len({case.id.lower() for case in cases}) == len(cases)
    for case in cases:
        assert len(case.id) <= LONGEST_ID
        assert ID.fullmatch(case.id), case.id


def test_an_id_names_what_is_not_usual() -> None:
    for _, case in rows(ROUND):
        parts = case.id.split("/")
        tensor = case.desc.tensor("InputTensor")
        assert parts[2:4] == [f"{tensor.DimensionCount}d", "x".join(map(str, tensor.sizes))]
        assert (f"offset-{case.offset if case.offset in OFFSETS else 'any'}" in parts) == (case.offset != 64)
        assert (f"resource-{case.resource}" in parts) == bool(case.resource)
        assert ("in-place-Output-on-Input" in parts) == bool(case.in_place)
        layouts = {f"{short}-{layout_of(case.desc.tensor(f'{short}Tensor'))}" for short in ("Input", "Output")}
        assert {each for each in layouts if not each.endswith("-packed")} == set(parts[4].split(".")) & layouts


@pytest.mark.parametrize("name", SAMPLE)
def test_what_lies_in_one_place_has_one_desc_and_nothing_else_is_owned_there(name: str) -> None:
    operator = load(name)
    permitted = {(entry.output, tensor) for entry in operator.in_place for tensor in entry.inputs}
    for _, case in rows(name):
        for tensor, on in case.in_place.items():
            assert (tensor, on) in permitted or operator.field(tensor).kind == "input", case.id
            assert case.desc.tensor(tensor) == case.desc.tensor(on), case.id  # of the types of these operators
            assert not case.desc.tensor(on).flags, case.id
        for field, _, tensor in case.desc.by_field():
            assert layout_of(tensor) in layouts_of(operator, operator.field(field)), case.id


def test_an_alias_that_was_only_measured_is_not_documented() -> None:
    found = [case for _, case in rows("ACTIVATION_GELU") if case.in_place]
    assert found
    assert {case.basis for case in found} == {MEASURED}


def test_levels_add_rows() -> None:
    levels = {level: {case.id for case in combination_cases(plan(ROUND), level)} for level in LEVELS}
    assert levels["smoke"] < levels["core"] < levels["full"]
    for level in LEVELS:
        found = list(combination_cases(plan(ROUND), level))
        assert {case.level for case in found} == {each for each in LEVELS[:3] if not is_beyond(each, level)}


def test_random_rows_are_of_valid_descs_and_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Combinations(model_of(plan(ROUND)))
    made: dict[Row, Row] = {}
    finish = Combinations.finish

    def noted(space: Combinations, skeleton: Packed, row: Row) -> bool:
        made[row] = (*skeleton.key, *row[space.structural :])
        return finish(space, skeleton, row)

    monkeypatch.setattr(Combinations, "finish", noted)
    found = list(random_rows(space, 20))
    assert len(set(found)) > 15
    assert found == list(random_rows(space, 20))
    for row in found:
        case = space.case(made[row])
        assert violations(load(ROUND), case.desc) == []
        assert all(wanted in (NONE, value) for wanted, value in zip(row, row_of(space.model, case), strict=True))


# Stored arrays


SMALL = CoveringArray(
    "abc",
    {"smoke": 1, "core": 2, "full": 3},
    {"smoke": 3, "core": 9, "full": 11},
    ((0, 10, NONE), (1, 2, 3), (35, 0, 1)),
    lists={"fields": ["A"]},
    factors={"one": [f"{n}" for n in range(36)], "two": [f"{n}" for n in range(11)], "three": ["a", "b", "c", "d"]},
)


def test_an_array_is_read_as_it_was_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_arrays, "FOLDER", tmp_path / "rows")
    write_arrays("SOME", SMALL)
    assert read_arrays("SOME") == (SMALL,)
    assert read_arrays("OTHER") == ()
    text = (tmp_path / "rows" / "SOME.txt").read_text(encoding="utf-8")
    assert text.splitlines()[4:] == ["0a-", "123", "z01"]
    assert json.loads(text.splitlines()[0])["digest"] == "abc"
    assert [(level, len(part)) for level, part in SMALL.levels("core")] == [("smoke", 1), ("core", 1)]


def test_a_further_section_stands_behind_those_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_arrays, "FOLDER", tmp_path)
    later = replace(SMALL, digest="abd", rows=SMALL.rows[:1], ends={"core": 1})
    write_arrays("SOME", SMALL)
    before = (tmp_path / "SOME.txt").read_text(encoding="utf-8")
    write_arrays("SOME", SMALL, later)
    assert (tmp_path / "SOME.txt").read_text(encoding="utf-8").startswith(before)
    assert read_arrays("SOME") == (SMALL, later)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: text.rindex("\n", 0, -1) + 1], "rows, but its first line says"),
        (lambda text: text + text.splitlines()[-1] + "\n", "rows, but its first line says"),
        (lambda text: text[:-2] + "\n", "not as it was written: ValueError: zip"),
        (lambda text: text.replace("z01", "z04"), "a row has a value that its factor does not have"),
        (lambda text: text.replace('"core": 2', '"core": 5'), "rows, but its first line says"),
        (lambda text: text.replace('"core": 2', '"cone": 2'), "rows, but its first line says"),
        (lambda text: text[:-2] + "?\n", "not as it was written: KeyError: '\\?'"),
        (lambda text: text[10:], "not as it was written: JSONDecodeError"),
        (lambda text: "\n".join(text.splitlines()[1:]), "not as it was written: KeyError: 'digest'"),
        (lambda text: text.replace('{"factors"', '{"fact"'), "not as it was written: KeyError: 'factors'"),
        (lambda text: "", "is empty"),
        (lambda text: "[1]\n" + text, "not as it was written: TypeError"),
    ],
)
def test_a_damaged_array_is_an_error_and_no_fewer_cases(
    damage: Callable[[str], str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_arrays, "FOLDER", tmp_path)
    write_arrays("SOME", SMALL)
    file = tmp_path / "SOME.txt"
    file.write_text(damage(file.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(SpecError, match=message):
        read_arrays("SOME")


def test_stale_rows_are_taken_where_they_are_valid_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stored_arrays, "FOLDER", tmp_path)
    known, operator = array_of(plan(ROUND), "full"), replace(load(ROUND), summary="of another identity")
    write_arrays(ROUND, replace(known, digest="of another spec", rows=known.rows[:2], ends={"smoke": 2}, random=()))
    assert is_stale(operator)
    assert array_of(plan_of(operator), "full").rows == known.rows[:2]
    assert f"the rows of {ROUND} are stale" in capsys.readouterr().err


def test_rows_that_are_not_stored_are_computed_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stored_arrays, "FOLDER", tmp_path)
    operator = replace(load(ROUND), summary="of another identity")
    assert len(array_of(plan_of(operator), "smoke").rows) > 4
    assert f"no rows of {ROUND} are stored: computed" in capsys.readouterr().err


def test_the_digest_depends_on_what_decides_which_rows_can_be() -> None:
    operator = load(ROUND)
    now = digest(model_of(plan_of(operator)))
    assert digest(model_of(plan_of(replace(operator, summary="in other words")))) == now
    assert digest(model_of(plan_of(replace(operator, in_place=())))) != now
    assert digest(model_of(plan_of(replace(operator, constraints=operator.constraints[1:])))) != now
    assert digest(model_of(plan_of(replace(operator, largest={"S": 100})))) != now
    assert digest(model_of(plan_of(replace(operator, most_elements=1 << 13)))) != now
    assert digest(model_of(plan_of(replace(operator, usual_elements=300)))) != now


@pytest.mark.parametrize("name", [ROUND, "GEMM", "CONVOLUTION"])
def test_a_long_dimension_needs_as_many_dimensions(name: str) -> None:
    """The conflicts that are known from the start are true: no random row has both values."""
    space = space_of(plan(name))
    names = {space.model.values_text(conflict) for conflict in space.conflicts}
    wanted = {ROUND: "rank 7, long S[-8]", "GEMM": "rank 2, long A[-3]", "CONVOLUTION": "rank 4, long Spatial[-3]"}
    assert wanted[name] in names
    for row in random_rows(space, 60):
        has = dict(enumerate(row))
        assert not [conflict for conflict in space.conflicts if all(has[f] == value for f, value in conflict)]


def test_an_array_computed_again_is_the_same() -> None:
    one, other = (
        compute_rows(own, "core", empty_array(own)) for own in (plan_of(replace(load(ROUND), summary=text)) for text in "ab")
    )
    assert one == other


# Interactions


def test_every_pair_and_triple_is_covered() -> None:
    found = interactions(load(ROUND), make_cases(load(ROUND)), samples=20)
    assert found["pairs"].missing == ()
    assert (found["pairs"].share, found["pairs"].covered) == (1.0, found["pairs"].feasible)
    assert found["triples"].share >= 0.99
    assert found["triples"].feasible > found["pairs"].feasible > 1_000


def test_a_pair_that_no_case_has_any_more_is_reported() -> None:
    operator = load(ROUND)

    def gone(case: Case) -> bool:
        tensor = case.desc.fields["InputTensor"]
        return isinstance(tensor, TensorDesc) and tensor.DimensionCount == 5 and case.desc.fields["RoundingMode"] == "TOWARD_ZERO"

    left = tuple(case for case in make_cases(operator) if not gone(case))
    found = interactions(operator, left, samples=200)["pairs"]
    assert found.covered < found.feasible
    assert "rank 5, RoundingMode TOWARD_ZERO" in found.missing


def test_a_pair_that_full_alone_has_is_missing_at_core() -> None:
    late = tuple(replace(case, level="full") for case in make_cases(load(ROUND)))
    found = interactions(load(ROUND), late, samples=1)
    assert found["pairs"].covered == 0
    assert found["pairs"].feasible > 1_300
    assert found["triples"].share > 0.999


def test_what_a_case_with_an_unlisted_attribute_shows_does_not_count() -> None:
    operator = load("CONVOLUTION_INTEGER")
    by_label = {case.id.split("/")[3]: case for case in workload_cases(plan_of(operator))}
    assert by_label["depthwise"].desc.fields["GroupCount"] == 32  # no value in combinations
    assert interactions(operator, [by_label["depthwise"]], samples=0)["pairs"].feasible == 0
    usual = next(usual_cases(plan_of(operator)))
    assert interactions(operator, [replace(usual, level="full")], samples=0)["pairs"].feasible > 100


def test_the_first_random_dispatches_are_of_core() -> None:
    name = "CONVOLUTION_INTEGER"
    array = array_of(plan(name), "full")
    assert 0 < array.random_core < len(array.random)
    for level, count in (("core", array.random_core), ("full", len(array.random))):
        cases = list(random_cases(plan(name), level))
        assert [case.id.split("/random-")[1].split("/")[0] for case in cases] == [str(n) for n in array.random[:count]]
        assert sum(case.level == "core" for case in cases) == array.random_core
    assert not list(random_cases(plan(name), "smoke"))


@pytest.mark.parametrize("name", operator_names())
def test_a_stored_number_gives_what_the_rules_allow(name: str) -> None:
    numbers = array_of(plan(name), "full").random[:2]
    found = list(cases_by_number(plan(name), numbers))
    assert [number for number, _ in found] == list(numbers)
    assert found == list(cases_by_number(plan(name), numbers, are_known=True))


def test_a_random_dispatch_with_a_pair_that_no_row_has_is_of_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.generator.random.choose._TRIES", 800)
    monkeypatch.setattr("dmlcts.generator.random.choose._PAIRS", 400)
    name, asked = "ELEMENT_WISE_BIT_NOT", list[tuple[int, int, int]]()

    def every_third(cases: Sequence[Case], costs: Sequence[int], others: Sequence[Case], room: Budget) -> list[int]:
        asked.append((len(cases), len(costs), len(others)))
        assert min(costs) > 0
        return list(range(2, len(cases), 3))

    array = array_of(plan(name), "full")
    found = with_random(plan(name), array, every_third)
    [(candidates, costs, others)] = asked
    assert candidates == costs > 600
    early = len(found.random) - candidates // 3
    assert others == len(array.rows) + early
    assert max(found.random[:early], default=0) < 400 < max(found.random)
    assert with_random(plan(name), array, every_third) == found
    without = replace(array, rows=array.rows[: array.ends["smoke"]], ends={**array.ends, "core": array.ends["smoke"]})
    assert found.random_core < 10 < with_random(plan(name), without, every_third).random_core


def test_of_rows_whose_cases_have_one_id_the_first_counts() -> None:
    plan = plan_of(load("ELEMENT_WISE_ROUND"))
    space, rows = space_of(plan), array_of(plan, "full").rows[:3]
    found = rows_by_id(space, [*rows, rows[1]])
    assert tuple(found) == rows
    assert [case.id for case in found.values()] == [space.case(row).id for row in rows]
