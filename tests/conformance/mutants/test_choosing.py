"""Random dispatches are chosen for the conditions that they meet together, which are not those that judge them."""

from __future__ import annotations

from random import Random

import pytest
from drawn_cases import some_cases

from dmlcts.conformance.mutants.interactions import choosing
from dmlcts.conformance.mutants.interactions.choosing import _Dispatches, _greedy, chosen
from dmlcts.conformance.mutants.interactions.conditions import OF_ONE, drawn
from dmlcts.conformance.mutants.interactions.planting import drawn_faults
from dmlcts.conformance.mutants.interactions.situation import Situations, of_case
from dmlcts.generator.case import Case
from dmlcts.generator.random_cases import Room
from dmlcts.spec.loader import load

OR = "ELEMENT_WISE_BIT_OR"


@pytest.mark.parametrize("operator", [OR, "GEMM"])
def test_a_condition_holds_of_many_dispatches_as_of_each(operator: str) -> None:
    cases, random = some_cases(operator), Random(1)
    every, each = Situations([of_case(case) for case in cases]), [of_case(case) for case in cases]
    seen = set()
    for _ in range(200):
        condition = drawn(load(operator), random)
        if condition is not None and condition.kind not in OF_ONE:
            assert condition.holds(every).tolist() == [bool(condition.holds(one)) for one in each], condition.words
            seen.add(condition.kind)
    assert {"size", "remainder", "two sizes", "strides", "rank", "offset"} <= seen


def test_dispatches_meet_what_they_meet_one_by_one() -> None:
    cases = some_cases(OR, 200)
    dispatches, situations = _Dispatches(cases), [of_case(case) for case in cases]
    for one in drawn_faults(OR, "test", 60):
        conditions = [condition for condition in one.conditions if condition.kind != "data"]
        assert dispatches.meeting(one) == [
            at
            for at, (case, situation) in enumerate(zip(cases, situations, strict=True))
            if one.fault.applies(case.desc) and all(condition.holds(situation) for condition in conditions)
        ]


def test_the_dispatch_that_brings_most_for_its_cost_comes_first() -> None:
    meeting = [[0, 1], [0, 1], [1], [2], [2]]  # of each condition
    assert _greedy(meeting, [1, 1, 1], Room(9, 3)) == [1, 2, 0]  # once 1 is chosen, 0 brings half of two
    assert _greedy(meeting, [1, 4, 1], Room(9, 6)) == [0, 2, 1]
    assert _greedy(meeting, [1, 4, 1], Room(9, 5)) == [0, 2]  # too dear for what is left
    assert _greedy(meeting, [1, 4, 1], Room(1, 6)) == [0]
    assert _greedy([], [1], Room(9, 5)) == []


def test_chosen_dispatches_meet_more_conditions_of_another_seed_than_as_many_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "_DRAWN", 2000)
    cases = some_cases(OR, 900)
    costs = [1] * len(cases)
    found = chosen(cases, costs, cases[:20], Room(60, 1000))
    assert len(found) == len(set(found)) == 60
    assert found == chosen(cases, costs, cases[:20], Room(60, 1000))

    def met(some: list[Case]) -> int:
        dispatches = _Dispatches(some)
        return sum(bool(dispatches.meeting(one)) for one in drawn_faults(OR, "test", 1000))

    assert met([cases[at] for at in found]) > 1.1 * met(cases[:60])
