"""The search for conditions that separate failing from passing cases, on made-up cases."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from dmlcts.reports.explain.separation import Separation, separations

Flags = NDArray[np.bool_]


def drawn(conditions: int, cases: int, seed: int, share: float = 0.5) -> Flags:
    """Which conditions hold for which cases, at random."""
    return np.random.default_rng(seed).random((conditions, cases)) < share


def explained(holds: Flags, failing: Flags, passing: Flags | None = None, weights: list[int] | None = None) -> list[Separation]:
    passing = ~failing if passing is None else passing
    return separations(holds, failing, passing, np.array(weights or [0] * len(holds), np.int64))


@pytest.mark.parametrize("planted", [(3,), (3, 17), (3, 17, 40)])
def test_a_planted_conjunction_is_found(planted: tuple[int, ...]) -> None:
    holds = drawn(60, 400, 1)
    failing = holds[list(planted)].all(axis=0)
    assert explained(holds, failing) == [Separation(planted, int(failing.sum()), 0, int(failing.sum()))]


def test_two_causes_are_two_conjunctions_the_larger_first() -> None:
    holds = drawn(40, 600, 2)
    large, small = holds[[1, 2]].all(axis=0), holds[[7, 8, 9]].all(axis=0)
    first, second = explained(holds, large | small)
    assert (first.conditions, first.failing, first.new) == ((1, 2), large.sum(), large.sum())
    assert (second.conditions, second.failing, second.new) == ((7, 8, 9), small.sum(), (small & ~large).sum())
    assert first.passing == second.passing == 0


def test_the_search_is_as_good_as_trying_every_conjunction() -> None:
    """The most failures that any conjunction of three covers without a passing case, on data that nothing explains whole."""
    for seed in range(12):
        holds = drawn(14, 60, seed, 0.6)
        failing = drawn(1, 60, 100 + seed, 0.3)[0]
        clear = [
            each for n in (1, 2, 3) for each in combinations(range(14), n) if not holds[list(each)][:, ~failing].all(axis=0).any()
        ]
        most = max((int(holds[list(each)][:, failing].all(axis=0).sum()) for each in clear), default=0)
        found = [each for each in explained(holds, failing) if not each.passing]
        if most > 4:  # more than the conditions cost to say
            assert max(each.new for each in found) == most


def test_one_passing_case_does_not_break_an_explanation_in_pieces() -> None:
    holds = drawn(40, 600, 3)
    failing = holds[[4, 5]].all(axis=0)
    count = int(failing.sum())
    failing[np.flatnonzero(failing)[0]] = False
    first, *_ = explained(holds, failing)
    assert (first.conditions, first.failing, first.passing) == ((4, 5), count - 1, 1)


@pytest.mark.parametrize("planted", [(3,), (3, 17), (3, 17, 40)])
def test_a_fault_that_does_not_show_in_every_case_is_explained_without_what_leaves_these_out(planted: tuple[int, ...]) -> None:
    for seed in range(8):
        holds = drawn(400, 600, 20 + seed)
        inside = holds[list(planted)].all(axis=0)
        failing = inside & ~drawn(1, 600, 40 + seed, 0.04)[0]
        first, *_ = explained(holds, failing)
        assert (first.conditions, first.failing, first.passing) == (planted, failing.sum(), inside.sum() - failing.sum())


def test_a_condition_that_leaves_many_passing_cases_out_is_named() -> None:
    """A third of the cases that meet the first condition pass, all without the second: it is no chance."""
    holds = drawn(200, 300, 9)
    holds[1] = drawn(1, 300, 10, 0.67)[0]
    (found,) = explained(holds, holds[0] & holds[1])
    assert (found.conditions, found.passing) == ((0, 1), 0)


def test_what_nothing_separates_gets_the_best_there_is_or_nothing() -> None:
    holds = drawn(3, 900, 4)
    likely = drawn(1, 900, 5, 0.7)[0]
    (found,) = explained(holds, holds[1] & likely)
    assert found.conditions == (1,)
    assert found.failing == (holds[1] & likely).sum()
    assert found.passing == (holds[1] & ~likely).sum()
    assert explained(holds, drawn(1, 900, 6, 0.5)[0]) == []


def test_cases_that_are_alike_are_not_separated() -> None:
    holds = np.ones((2, 4), np.bool_)
    assert explained(holds, np.array([True, True, False, False])) == []
    assert explained(np.zeros((0, 4), np.bool_), np.array([True, True, False, False])) == []


def test_of_equal_conditions_the_simplest_is_named_then_the_most_general() -> None:
    """The last two cases have not run; there the conditions differ."""
    failing, passing = np.array([1, 1, 0, 0, 0, 0], np.bool_), np.array([0, 0, 1, 1, 0, 0], np.bool_)
    holds = np.array([[1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0], [1, 1, 0, 0, 1, 1]], np.bool_)
    (found,) = explained(holds, failing, passing)
    assert (found.conditions, found.rivals) == ((2,), ((1,), (0,)))
    (found,) = explained(holds, failing, passing, [0, 1, 1])
    assert (found.conditions, found.rivals) == ((0,), ((2,), (1,)))


def test_a_single_failure_may_be_explained_too() -> None:
    holds = drawn(60, 50, 7)
    failing = np.zeros(50, np.bool_)
    failing[11] = True
    (found,) = explained(holds, failing)
    assert (found.failing, found.passing, found.new) == (1, 0, 1)
