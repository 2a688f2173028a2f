"""Random dispatches are chosen for the conditions that they meet together, which are not those that judge them."""

from __future__ import annotations

from random import Random

import pytest
from drawn_cases import some_cases

from dmlcts.generator.case.case import Case
from dmlcts.generator.facts.random_conditions import OF_ONE, draw_condition
from dmlcts.generator.facts.situation import Situations, of_case
from dmlcts.generator.random import most_conditions
from dmlcts.generator.random.most_conditions import Budget, _Dispatches, _draw_conjunctions, _greedy, choose_dispatches
from dmlcts.spec.reading.loader import load

OR = "ELEMENT_WISE_BIT_OR"


@pytest.mark.parametrize("operator", [OR, "GEMM"])
def test_a_condition_holds_of_many_dispatches_as_of_each(operator: str) -> None:
    cases, random = some_cases(operator), Random(1)
    every, each = Situations([of_case(case) for case in cases]), [of_case(case) for case in cases]
    seen = set()
    for _ in range(200):
        condition = draw_condition(load(operator), random)
        if condition is not None and condition.kind not in OF_ONE:
            assert condition.holds(every).tolist() == [bool(condition.holds(one)) for one in each], condition.words
            seen.add(condition.kind)
    assert {"size", "remainder", "two sizes", "strides", "rank", "offset"} <= seen


def test_dispatches_meet_what_they_meet_one_by_one() -> None:
    cases = some_cases(OR, 200)
    dispatches, situations = _Dispatches(cases), [of_case(case) for case in cases]
    for conditions in _draw_conjunctions(OR, 60, "test"):
        asked = [condition for condition in conditions if condition.kind != "data"]
        assert dispatches.dispatches_meeting(conditions) == [
            at for at, situation in enumerate(situations) if all(condition.holds(situation) for condition in asked)
        ]


def test_the_dispatch_that_brings_most_for_its_cost_comes_first() -> None:
    meeting = [[0, 1], [0, 1], [1], [2], [2]]  # of each condition
    assert _greedy(meeting, [1, 1, 1], Budget(9, 3)) == [1, 2, 0]  # once 1 is chosen, 0 brings half of two
    assert _greedy(meeting, [1, 4, 1], Budget(9, 6)) == [0, 2, 1]
    assert _greedy(meeting, [1, 4, 1], Budget(9, 5)) == [0, 2]  # too dear for what is left
    assert _greedy(meeting, [1, 4, 1], Budget(1, 6)) == [0]
    assert _greedy([], [1], Budget(9, 5)) == []


def test_chosen_dispatches_meet_more_conditions_of_another_seed_than_as_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(most_conditions, "_DRAWN", 2000)
    cases = some_cases(OR, 900)
    costs = [1] * len(cases)
    found = choose_dispatches(cases, costs, cases[:20], Budget(60, 1000))
    assert len(found) == len(set(found)) == 60
    assert found == choose_dispatches(cases, costs, cases[:20], Budget(60, 1000))

    def met(some: list[Case]) -> int:
        dispatches = _Dispatches(some)
        return sum(bool(dispatches.dispatches_meeting(one)) for one in _draw_conjunctions(OR, 1000, "test"))

    assert met([cases[at] for at in found]) > 1.1 * met(cases[:60])
