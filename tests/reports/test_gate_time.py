"""A run against an older one: time beyond noise, and two feature levels."""

from __future__ import annotations

from dataclasses import replace

import pytest
from gates import OTHER, TODAY, WHOLE, gated, older
from records import result, run

from dmlcts.reports.gate.gate import compare
from dmlcts.reports.gate.noise import SLOW_FLOOR
from dmlcts.reports.record.record import (
    FAIL,
    PASS,
    SEARCH,
    UNSUPPORTED,
    Result,
)

# ---- Time


@pytest.mark.parametrize(
    ("before", "after", "slower"),
    [
        (1.0, 3.1, True),
        (1.0, 3.0, False),
        (0.01, 0.01 + SLOW_FLOOR, False),
        (0.01, 0.02 + SLOW_FLOOR, True),
        (0.0, 1.0, True),
        (5, 1, False),
    ],
)
def test_slower_is_a_warning_unless_a_limit_is_given(before: float, after: float, slower: bool) -> None:
    old, new = run(OTHER, result(seconds=before)), run(OTHER, result(seconds=after))
    gate = gated(new, old)
    assert (gate.counts["slower"], gate.ok) == (int(slower), True)
    assert gated(new, old, slowdown=3.0).ok is not bool(slower)
    assert gated(new, old, slowdown=1000.0).ok or before == 0


def test_a_failure_is_not_slow() -> None:
    assert gated(run(OTHER, result(FAIL, seconds=9.0)), run(OTHER, result(FAIL, seconds=0.1))).counts["slower"] == 0


def test_no_case_vanishes_from_a_random_search() -> None:
    """What it did not draw again says nothing; what fails in it is new."""
    gate = gated(run(OTHER, result(FAIL, 2), level=SEARCH), run(OTHER, result(), level=SEARCH))
    assert (gate.counts["vanished"], gate.counts["newly_fails"]) == (0, 1)
    assert gated(run(OTHER), run(OTHER, result())).counts["vanished"] == 1


@pytest.mark.parametrize(
    ("others", "slower"),
    [
        ([], 1),
        ([result(number=2, seconds=1.0)], 1),
        ([result(number=2, seconds=0.9), result(number=3, seconds=2.0)], 1),
        ([result(number=2, seconds=1.0), result(number=3, seconds=9.0)], 0),
    ],
)
def test_slower_is_more_than_what_others_got_faster_by_chance(others: list[Result], slower: int) -> None:
    """The case took five times as long; on a busy machine another took nine times less."""
    old = run(OTHER, result(seconds=0.27), *others)
    new = run(OTHER, result(seconds=1.35), *(replace(each, seconds=1.0) for each in others))
    gate = gated(new, old, slowdown=3.0)
    assert gate.counts["slower"] == slower
    assert ("others took 9.0 times less time" in " ".join(gate.warnings)) is not bool(slower)


def test_an_operator_that_got_faster_hides_no_other_that_got_slower() -> None:
    """What all its cases gain is no noise."""
    gained = [result(number=n, operator="GEMM", seconds=20.0) for n in range(9)]
    old = run(OTHER, result(seconds=1.0), *gained)
    new = run(OTHER, result(seconds=5.0), *(replace(each, seconds=1.0) for each in gained))
    assert gated(new, old).counts["slower"] == 1


@pytest.mark.parametrize(("again", "slower"), [(0.3, 0), (1.3, 1)])
def test_of_repeated_runs_the_least_time_counts(again: float, slower: int) -> None:
    old, new = run(OTHER, result(seconds=0.27)), run(OTHER, result(seconds=1.34))
    gate = compare(new, older(old), (), TODAY, 3.0, repeats=[run(result(seconds=again))])
    assert (gate.counts["slower"], gate.ok) == (slower, not slower)
    assert [change.seconds for change in gate.changes] == [(0.27, again)] * slower


def test_a_repeated_run_of_something_else_is_never_green() -> None:
    other = run(result(seconds=0.1), backend={"name": "theirs"})
    assert compare(WHOLE, older(WHOLE), (), TODAY, repeats=[other]).problems == (
        "a repeated run is of another implementation: theirs",
    )


# ---- Two feature levels


def test_what_a_higher_level_adds_is_new_and_no_regression() -> None:
    low = replace(OTHER, feature_level="4_1")
    gate = gated(run(low, result(FAIL), result(number=1)), run(low, feature_level="4_1"))
    assert (gate.ok, gate.feature_level, gate.counts["new_fails"], gate.counts["newly_fails"]) == (True, "4_1", 1, 0)
    assert "compared at feature level 4.1: 2 cases of the new run above it are new" in gate.warnings


def test_up_to_the_lower_level_a_new_case_that_fails_is_a_regression() -> None:
    low, failing = (replace(each, feature_level="4_1") for each in (OTHER, result(FAIL)))
    gate = gated(run(low, failing), run(low, feature_level="4_1"))
    assert (gate.ok, gate.counts["newly_fails"]) == (False, 1)


def test_a_lower_level_than_before_is_never_green_and_nothing_vanishes_for_it() -> None:
    low = replace(OTHER, feature_level="4_1")
    gate = gated(run(low, feature_level="4_1"), run(low, result()))
    assert (gate.ok, gate.counts["vanished"], len(gate.problems)) == (False, 0, 1)
    assert "compared at feature level 4.1: 1 case of the baseline above it is left out" in gate.warnings


@pytest.mark.parametrize(
    ("before", "more", "new"),
    [
        ([], {}, True),
        ([result(UNSUPPORTED, 1, "GEMM")], {}, True),
        ([result(UNSUPPORTED, 1, "GEMM"), result(PASS, 2, "GEMM")], {}, False),
        ([], {"unlisted": ["GEMM"], "interrupted": True}, False),
        ([], {"finished": ""}, False),
        ([], {"selection": "ROUND"}, False),
    ],
)
def test_failures_of_a_new_operator_are_new_and_of_one_that_the_baseline_lost_are_not(
    before: list[Result], more: dict[str, object], new: bool
) -> None:
    old = run(OTHER, *before, **more)
    gate = gated(run(OTHER, result(FAIL, 1, "GEMM"), result(PASS, 2, "GEMM")), old)
    assert (gate.counts["new_fails"], gate.counts["newly_fails"]) == ((1, 0) if new else (0, 1))
    assert any("1 operator of which the baseline supports no case, with 2 cases: GEMM" in each for each in gate.warnings) is new
