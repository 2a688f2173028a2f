"""Checks of an operator's cases, which ``dmlcts spec coverage`` runs: each finds what is wrong, and complains of nothing in cases that are right.

``.ci/run`` runs that command for every operator; here are a few of different kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from dmlcts.conformance.execution import binding_checks
from dmlcts.generator.case.case import REJECTION, Binding, Case, Data
from dmlcts.generator.checks import CHECKS, ids, levels, negative, positive
from dmlcts.generator.checks.given import Check, OperatorCases
from dmlcts.generator.checks.promises import COLUMNS, coverage
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reference.registry import reference_of
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Literal
from dmlcts.spec.reading.loader import load

EVERY_CHECK = (*CHECKS, *binding_checks.CHECKS)


ROUND = "ELEMENT_WISE_ROUND"
SAMPLE = (ROUND, "ELEMENT_WISE_BIT_COUNT", "ARGMAX", "MATRIX_MULTIPLY_INTEGER", "ROI_POOLING")


@cache
def given(name: str) -> OperatorCases:
    operator = load(name)
    return OperatorCases(operator, operator_cases(name))


@pytest.mark.parametrize("name", SAMPLE)
def test_nothing_is_wrong_with_its_cases(name: str) -> None:
    assert [problem for check in EVERY_CHECK for problem in check(given(name))] == []


@pytest.mark.parametrize("name", SAMPLE)
def test_every_promise_has_a_case(name: str) -> None:
    found = coverage(load(name), given(name).cases, reference_of(name) is not None)
    assert {column.name: column.missing for column in found.columns if column.missing} == {}
    assert found.complete
    assert (found.operator, found.cases) == (name, len(given(name).cases))
    assert [column.name for column in found.columns] == list(COLUMNS)
    assert all(column.covered_count == column.promised for column in found.columns)


# What is wrong is seen


def altered(part: str, **changes: Any) -> Callable[[list[Case]], list[Case]]:
    """Changes the first case with this in its id."""

    def alter(cases: list[Case]) -> list[Case]:
        index = next(i for i, case in enumerate(cases) if part in case.id)
        return [*cases[:index], replace(cases[index], **changes), *cases[index + 1 :]]

    return alter


def without(*parts: str) -> Callable[[list[Case]], list[Case]]:
    """Leaves the cases out whose ids have one of these in them."""

    def leave_out(cases: list[Case]) -> list[Case]:
        left = [case for case in cases if not any(part in case.id for part in parts)]
        assert len(left) < len(cases)
        return left

    return leave_out


def twin(cases: list[Case]) -> list[Case]:
    return [*cases, replace(next(case for case in cases if case.expect == REJECTION), id=f"{ROUND}/FLOAT32/negative/twin")]


def with_another_rule(cases: list[Case]) -> list[Case]:
    return [replace(case, covers=(*case.covers, "rejects/b")) if case.rule == "field/InputTensor" else case for case in cases]


def never_alone(cases: list[Case]) -> list[Case]:
    rule = "constraint/same-data-type"
    return [replace(case, covers=(*case.covers, "rejects/b")) if case.rule == rule else case for case in cases]


def of_some_tensors(what: str) -> Callable[[list[Case]], list[Case]]:
    """A rule of the support tables, broken by one of the tensors that must have the same."""
    return lambda cases: [replace(case, covers=case.covers[:1]) if what in case.rule else case for case in cases]


def later(kind: str) -> Callable[[list[Case]], list[Case]]:
    """The cases of a kind are all in level full."""
    return lambda cases: [replace(case, level="full") if case.kind == kind else case for case in cases]


def every_case(level: str) -> Callable[[list[Case]], list[Case]]:
    return lambda cases: [replace(case, level=level) for case in cases]


FOUR = {"InputTensor": Data(literal=Literal("FLOAT32", (4,), (0.0, 1.0, 2.0, 3.0)))}
HUGE = OperatorDesc(
    ROUND, dict.fromkeys(("InputTensor", "OutputTensor"), TensorDesc("FLOAT32", (1 << 25,))) | {"RoundingMode": "TOWARD_ZERO"}
)
MIXED = HUGE.with_fields(InputTensor=TensorDesc("FLOAT16", (1 << 25,)))


WRONG: list[tuple[Check, Callable[[list[Case]], list[Case]], str]] = [
    (ids.short_and_unique, altered("/4d/", id=f"{ROUND}/FLOAT32/a:b"), "parts of an id have letters"),
    (ids.short_and_unique, altered("/4d/", id=f"{ROUND}/FLOAT32/{'a' * 240}"), "at most 240 characters"),
    (ids.short_and_unique, altered("/4d/", id=f"{ROUND}/FLOAT16/4D/HALVES_TO_NEAREST_EVEN"), "2 cases have this id"),
    (ids.true_to_the_case, altered("/4d/", data_type="UINT8"), "is called FLOAT32 and is of UINT8"),
    (ids.true_to_the_case, altered("/4d/", kind="gaps"), "is a case of kind gaps"),
    (ids.found_by_words, altered("/4d/", id=f"{ROUND}/FLOAT32/4d/sideways"), "-k sideways does not find"),
    (ids.survive_json, altered("/4d/", checks=["gaps"]), "is another case once written"),
    (positive.valid_at_its_level_and_not_below, altered("/4d/", feature_level="6_4"), "is promised before 6_4"),
    (positive.valid_at_its_level_and_not_below, altered("/4d/", feature_level="1_0"), "at feature level 1_0"),
    (
        positive.valid_at_its_level_and_not_below,
        altered("/4d/", desc=MIXED),
        "constraint/same-data-type at the newest feature level",
    ),
    (positive.not_too_large, altered("/4d/", desc=HUGE), "a tensor has 33,554,432 elements"),
    (positive.data_fit, altered("/values/", data={}), "has data of none, and its inputs are InputTensor"),
    (positive.data_fit, altered("/example/", data=FOUR), "have sizes [4]"),
    (
        binding_checks.valid_bindings,
        altered("/example/", bindings={"InputTensor": Binding(short=4)}),
        "bindings break binding/InputTensor/size",
    ),
    (
        binding_checks.broken_bindings,
        altered("/negative/binding/unbound/InputTensor", bindings={"InputTensor": Binding(short=4)}),
        "and says that it covers",
    ),
    (
        negative.break_what_they_say,
        altered("/negative/", rule="constraint/same-sizes"),
        "does not cover rejects/constraint/same-sizes",
    ),
    (negative.break_what_they_say, altered("/negative/", covers=()), "does not cover"),
    (
        negative.break_what_they_say,
        altered("/negative/same-sizes/", feature_level="1_0"),
        "and says that it covers rejects/constraint/same-sizes",
    ),
    (negative.are_different, twin, "again"),
    (negative.constraints_are_broken_alone, without("/same-data-type/"), "no case breaks constraint/same-data-type alone: "),
    (negative.constraints_are_broken_alone, never_alone, "no case breaks constraint/same-data-type alone: b is broken with it"),
    (
        negative.constraints_are_broken_at_each_tensor,
        without("/same-data-type/OutputTensor", "/data-type/OutputTensor-alone"),
        "same-data-type at OutputTensor",
    ),
    (negative.constraints_are_broken_at_each_tensor, without("/same-sizes/InputTensor-size2"), "in each of the sizes"),
    (negative.table_rules_are_broken_by_tied_tensors, of_some_tensors("data-type"), "a data type that no table has"),
    (negative.table_rules_are_broken_by_tied_tensors, of_some_tensors("dimension-count"), "a dimension count that no table has"),
    (negative.general_rules_are_broken_alone, with_another_rule, "no case breaks field/InputTensor alone"),
    (levels.smoke_is_small_and_has_every_type, without("/FLOAT16/"), "level smoke has no case of FLOAT16"),
    (levels.smoke_is_small_and_has_every_type, every_case("smoke"), "level smoke has"),
    (levels.every_width_and_a_large_tensor_are_tried, without("65537"), "no case has a size of 65537"),
    (levels.every_width_and_a_large_tensor_are_tried, without("FLOAT16/gaps"), "no gaps case of 16-bit elements"),
    (levels.every_width_and_a_large_tensor_are_tried, later("values"), "level core has no values case of 16-bit elements"),
    (levels.core_has_each_rule_law_and_gap, later("property"), "level core has no property case of relation/agreement"),
    (levels.core_has_each_rule_law_and_gap, later("gaps"), "level core has no gaps case of gaps/OutputTensor/padded-rows"),
    (levels.core_has_each_rule_law_and_gap, later("negative"), "level core has no negative case of rejects/"),
    (
        levels.each_feature_level_tests_its_tables,
        lambda cases: [replace(case, feature_level="6_4") if case.data_type == "FLOAT16" else case for case in cases],
        "runs at that feature level: all have something newer",
    ),
    (levels.simplest_first, lambda cases: [*cases[1:], cases[0]], "comes after one of"),
]


@pytest.mark.parametrize(("check", "change", "complaint"), WRONG)
def test_what_is_wrong_is_seen(check: Check, change: Callable[[list[Case]], list[Case]], complaint: str) -> None:
    right = given(ROUND)
    found = list(check(replace(right, cases=tuple(change(list(right.cases))))))
    assert found
    assert complaint in found[0]


def test_every_check_is_fed_something_wrong() -> None:
    assert {check for check, _, _ in WRONG} == set(EVERY_CHECK)
