"""Adam over several steps, against the formulas of its paper in Python's numbers."""

from math import sqrt

import pytest

from dmlcts.reference.operators.training.adam import moment, step_length


def test_steps_of_adam() -> None:
    """With the moments' bias taken out: the form of the paper that the operator's step length is another way to write."""
    m = v = 0.0
    for step, gradient in enumerate([3.0, -1.0, 0.5, 7.0], start=1):
        m, v = moment(m, gradient, 0.9), moment(v, gradient * gradient, 0.999)
        length, error = step_length(step, 0.9, 0.999)
        unbiased = m / (1 - 0.9**step) / sqrt(v / (1 - 0.999**step))
        assert length * m / sqrt(v) == pytest.approx(unbiased, rel=1e-9)
        assert 0 < error < 0.01


def test_large_steps_have_a_length_of_one() -> None:
    assert step_length(4294967295, 0.9, 0.999)[0] == 1
