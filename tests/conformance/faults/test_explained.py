"""Planted conditions are named; `dmlcts explain --self-test 200` plants them in more operators."""

from __future__ import annotations

from random import Random

import pytest

from dmlcts.conformance.faults.hunt.explained import Planter, trials

OPERATORS = ("ELEMENT_WISE_ADD", "ELEMENT_WISE_BIT_OR", "ELEMENT_WISE_ABS")


def test_nine_of_ten_planted_conditions_are_named_first() -> None:
    found = list(trials(OPERATORS, 36, 3))
    assert len(found) >= 30
    assert {len(trial.planted) for trial in found} == {1, 2, 3}
    assert sum(trial.right for trial in found) >= 0.9 * len(found)
    assert sum(trial.unsteady for trial in found) >= 0.75 * len(found)
    assert all(trial.inside >= 3 for trial in found)
    assert sum(trial.asked for trial in found) >= sum(trial.half for trial in found)


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_each_planted_property_counts(parts: int) -> None:
    planter, random = Planter("ELEMENT_WISE_ADD", "core"), Random(5)
    for _ in range(5):
        planted = planter.plant(parts, random)
        assert planted is not None
        assert len({each.about for each in planted}) == parts
        inside = planter.cases_with_all(planted)
        assert 3 <= inside.sum() <= len(inside) - 3
        for other in planted:
            rest = planter.cases_with_all([each for each in planted if each is not other])
            assert rest.sum() > inside.sum()
