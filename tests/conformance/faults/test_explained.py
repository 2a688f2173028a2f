"""Planted conditions are named; `dmlcts explain --self-test 200` plants them in more operators."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from dmlcts.conformance.faults.hunt.explained import Planter, trials
from dmlcts.conformance.faults.hunt.explained_kernels import kernel_trials, names
from dmlcts.conformance.runner.explaining.reasons import Reason
from dmlcts.generator.facts.explanations import kernel_text

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


def test_wrong_kernels_are_named_first_and_none_for_what_is_in_none() -> None:
    """`dmlcts explain --self-test 100 --kernels` plants them in more operators."""
    found = list(kernel_trials(OPERATORS, 20, 3))
    assert len(found) >= 18
    assert sum(trial.right for trial in found) >= 0.95 * len(found)
    assert sum(trial.unsteady for trial in found) >= 0.8 * len(found)
    assert sum(trial.innocent for trial in found) >= 0.9 * len(found)
    assert all(trial.kernels > 1 and trial.inside >= 3 for trial in found)


def test_a_trial_that_names_the_wrong_kernel_is_seen() -> None:
    """A reason counts only if it is the planted kernel, and that alone."""
    meets = np.ones(1, np.bool_)
    for conditions, right in (
        ((kernel_text("a"),), True),
        ((kernel_text("b"),), False),
        ((kernel_text("a"), "the rank is 4"), False),
        ((), False),
    ):
        assert names(Reason(conditions, meets, meets, 1), "a") is right
    assert not names(None, "a")
