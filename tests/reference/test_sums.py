"""Sums that an activation follows: what they are off by comes into the slack, whatever the activation reads."""

from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.conformance.execution.judgement import tolerance_of
from dmlcts.reference.answer import Answer
from dmlcts.reference.shared.accumulation import accumulated_answer, between_error, sum_error
from dmlcts.reference.shared.fused import activate_fused, stored_error
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.loader import load

Array = np.ndarray
INF, NAN = np.inf, np.nan


def inner(name: str, **attributes: object) -> OperatorDesc:
    return OperatorDesc(name, {"InputTensor": None, "OutputTensor": None, **attributes})


RELU = inner("ACTIVATION_RELU")
LINEAR = inner("ACTIVATION_LINEAR", Alpha=1.0, Beta=0.0)
SIGMOID = inner("ACTIVATION_SIGMOID")
SOFTMAX = inner("ACTIVATION_SOFTMAX")


def desc(activation: OperatorDesc | None, kind: str = "FLOAT32", sizes: tuple[int, ...] = (1, 4)) -> OperatorDesc:
    return OperatorDesc("GEMM", {"OutputTensor": TensorDesc(kind, sizes), "FusedActivation": activation})


def answer(activation: OperatorDesc | None, value: Any, magnitude: Any = 8.0, kind: str = "FLOAT32", **more: Any) -> Answer:
    value = np.array(value, np.float64)
    with np.errstate(all="ignore"):  # as registry.compute does
        return accumulated_answer(np, desc(activation, kind, value.shape), value, np.full(value.shape, magnitude), 4, **more)


def passes(actual: Any, found: Answer, activation: OperatorDesc | None, kind: str = "FLOAT32") -> bool:
    values = np.array(actual).astype(numpy_dtype(kind))
    tolerance = tolerance_of(load("GEMM"), "OutputTensor", desc(activation, kind, values.shape))
    return judge(values, found, tolerance, kind, BackendInfo("any")).ok


def test_a_sum_alone_is_as_it_was_given() -> None:
    found = answer(None, [[1.0, -2.0]])
    assert (found.terms, found.slack, found.defined) == (4, None, None)
    assert found.magnitude.tolist() == [[8, 8]]


def test_what_else_a_sum_is_off_by_is_its_slack() -> None:
    found = answer(None, [[1.0, INF, 3.0, INF]], error=np.array([[0.5, 7.0, INF, INF]]))
    assert found.slack.tolist() == [[0.5, 0, INF, INF]]
    assert found.defined.tolist() == [[True, True, False, False]]


def test_the_bound_of_a_sum() -> None:
    assert sum_error(np, np.array([0.0, 8.0]), 4).tolist() == pytest.approx([0, 4 * 2.0**-23 / (1 - 4 * 2.0**-23) * 8], rel=1e-9)
    between = between_error(np, np.array([0.0, 1.0, 65504.0, 65505.0, INF, NAN]), 3)
    assert between.tolist() == [0, 2.0**-10 + 3 * 2.0**-24, 2.0**-10 * 65504 + 3 * 2.0**-24, INF, 0, 0]


@pytest.mark.parametrize("activation", [RELU, LINEAR])
def test_a_selected_sum_is_off_by_as_much_as_the_sum(activation: OperatorDesc) -> None:
    found = answer(activation, [[3.0, -2.0]])
    bound = float(sum_error(np, np.array(8.0), 4))
    second = 0.0 if activation is RELU else -2.0
    assert passes([[3 + 0.9 * bound, second]], found, activation)
    assert not passes([[3 + 2 * bound, second]], found, activation)
    assert not passes([[3.0, second + 2 * bound]], found, activation)


def test_a_sum_of_float16_may_be_stored_before_it_is_activated() -> None:
    shift = inner("ACTIVATION_LINEAR", Alpha=1.0, Beta=-2048.0)
    found = answer(shift, [[2049.0]], 2049.0, "FLOAT16")
    assert all(passes([[x]], found, shift, "FLOAT16") for x in (0.0, 1.0, 2.0))
    assert not passes([[4.0]], found, shift, "FLOAT16")
    assert not passes([[0.0]], answer(shift, [[2049.0]], 2049.0), shift)


def test_a_sum_that_float16_does_not_hold_leaves_open_what_is_activated() -> None:
    assert answer(RELU, [[70000.0, 60000.0]], 60000.0, "FLOAT16").defined.tolist() == [[False, True]]
    assert answer(RELU, [[70000.0]], 70000.0).defined.tolist() == [[True]]
    assert answer(SIGMOID, [[70000.0]], 70000.0, "FLOAT16").defined.tolist() == [[False]]
    assert answer(RELU, [[3.0]], 1e39).defined.tolist() == [[False]]  # of FLOAT32, on its way


def test_only_float16_is_stored_in_between() -> None:
    value = np.array([0.0, 1e-9, 1.0, -3.0, 65504.0, 65505.0, INF])
    assert stored_error(np, desc(None), value) == 0
    found = stored_error(np, desc(None, "FLOAT16"), value).tolist()
    assert found == [0, 2.0**-24, 2.0**-10, 3 * 2.0**-10, 65504 * 2.0**-10, INF, 0]


def test_a_zero_that_comes_of_no_number_is_not_judged() -> None:
    """DirectML.dll gives NaN for a fused RELU of these, and the page promises what it gives alone."""
    found = answer(RELU, [[-INF, NAN, INF, -1.0]], [INF, NAN, INF, 1.0])
    assert found.value.tolist() == [[0, 0, INF, 0]]
    assert found.defined.tolist() == [[False, False, True, True]]
    assert answer(SIGMOID, [[INF, NAN]], INF).defined.tolist() == [[True, True]]


# Softmax, whose elements depend on each other


def softmax(x: Array) -> Array:
    found = np.exp(x - x.max(axis=-1, keepdims=True))
    return found / found.sum(axis=-1, keepdims=True)


def test_the_errors_of_a_row_spread() -> None:
    rng = np.random.default_rng(3)
    value, error = rng.uniform(-3, 3, (5, 4)), rng.uniform(0, 0.1, (5, 4))
    error[2] = 0
    found = activate_fused(np, desc(SOFTMAX).fields, value, error)
    own = activate_fused(np, desc(SOFTMAX).fields, value, np.zeros_like(error))
    assert (own.slack < 1e-12).all()
    assert found.terms.tolist() == own.terms.tolist()
    reached = np.zeros_like(value)
    for signs in rng.choice([-1, 1], (400, 5, 4)):
        reached = np.maximum(reached, np.abs(softmax(value + signs * error) - softmax(value)))
    assert (reached <= found.slack + 1e-15).all()
    assert found.slack == pytest.approx(reached, rel=1e-9)  # each is reached, by a choice of signs


def test_a_row_with_an_element_that_may_be_anything_is_open() -> None:
    value = np.array([[1.0, 2.0], [3.0, 4.0], [800.0, 0.0]])
    found = activate_fused(np, desc(SOFTMAX).fields, value, np.array([[INF, 0], [0, 0], [5.0, 0.1]]))
    assert found.defined.tolist() == [[False, False], [True, True], [True, True]]
    assert found.slack[2].max() < 1e-9
    wild = activate_fused(np, desc(SOFTMAX).fields, np.array([[50.0, 0.0]]), np.array([[200.0, 0.1]]))
    assert wild.slack.tolist() == [[pytest.approx(1), pytest.approx(1)]]


def test_a_fused_softmax_is_judged_as_one_of_inexact_sums() -> None:
    value, signs = np.array([[10.0, 9.0, -3.0]]), np.array([[1, -1, 1]])
    found = answer(SOFTMAX, value, 100.0)
    off = 0.9 * float(sum_error(np, np.array(100.0), 4))
    assert passes(softmax(value + off * signs), found, SOFTMAX)
    assert not passes(softmax(value + 20 * off * signs), found, SOFTMAX)
