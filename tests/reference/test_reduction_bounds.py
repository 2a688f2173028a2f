"""The tolerances of reductions against honest implementations in FLOAT32, and against some that are not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load

Array = np.ndarray[Any, np.dtype[Any]]

LENGTHS = [1, 2, 33, 1025]
TYPES = [np.float32, np.float16]


def rows(length: int, dtype: type, low: float = 0.5, high: float = 2.0, negative: bool = False) -> Array:
    """64 rows of numbers, some of them negative where asked."""
    generator = np.random.default_rng(length)
    values = generator.uniform(low, high, (64, length))
    return (np.where(generator.random(values.shape) < 0.3, -values, values) if negative else values).astype(dtype)


def one_by_one(x: Array) -> Array:
    """The sum in the order of the elements, each step rounded to their type."""
    return np.cumsum(x, axis=1, dtype=x.dtype)[:, -1:]


def halving(x: Array) -> Array:
    """The sum as a thread group computes it: halves added to each other."""
    while x.shape[1] > 1:
        middle = (x.shape[1] + 1) // 2
        x = np.concatenate((x[:, : x.shape[1] - middle] + x[:, middle:], x[:, x.shape[1] - middle : middle]), axis=1)
    return x


def in_steps(function: str, x: Array, total: Callable[[Array], Array], step: type) -> Array:
    """The function, every step rounded to the type ``step``."""
    x = x.astype(step)
    with np.errstate(all="ignore"):
        if function == "MULTIPLY":
            return np.cumprod(x, axis=1, dtype=step)[:, -1:]
        terms = {"L1": abs, "L2": np.square, "SUM_SQUARE": np.square, "LOG_SUM_EXP": np.exp}.get(function, lambda x: x)(x)
        found = total(terms)
        finished = {"AVERAGE": lambda s: s / step(x.shape[1]), "L2": np.sqrt, "LOG_SUM": np.log, "LOG_SUM_EXP": np.log}
        return np.asarray(finished.get(function, lambda s: s)(found))


def accepted(function: str, x: Array, found: Array) -> bool:
    """Whether what an implementation computed passes for the rows ``x``."""
    name = x.dtype.name.upper()
    output = TensorDesc(name, (x.shape[0], 1))
    fields = {"Function": function, "InputTensor": TensorDesc(name, x.shape), "OutputTensor": output, "AxisCount": 1, "Axes": (1,)}
    desc = OperatorDesc("REDUCE", fields)
    answer = compute(desc, {"InputTensor": x})["OutputTensor"]
    tolerance = load("REDUCE").tolerance.for_output("OutputTensor", name, fields)
    with np.errstate(over="ignore"):
        stored = found.astype(x.dtype)
    return judge(stored, answer, tolerance, name, BackendInfo("any")).ok


FUNCTIONS = ["AVERAGE", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MULTIPLY", "SUM", "SUM_SQUARE"]


def data_for(function: str, length: int, dtype: type) -> Array:
    low, high = (0.98, 1.02) if function == "MULTIPLY" else (0.5, 2.0)
    return rows(length, dtype, low, high, negative=function not in ("LOG_SUM", "MULTIPLY"))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_float32_in_any_order_is_accepted(function: str, length: int, dtype: type) -> None:
    x = data_for(function, length, dtype)
    for total in (one_by_one, halving, lambda x: one_by_one(x[:, ::-1])):
        assert accepted(function, x, in_steps(function, x, total, np.float32))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_float16_in_between_is_refused(function: str) -> None:
    for dtype in [np.float32] if function.startswith("LOG") else TYPES:  # a logarithm in FLOAT16 shows little of its argument
        x = data_for(function, 257, dtype)
        assert not accepted(function, x, in_steps(function, x, one_by_one, np.float16))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("length", [2, 33])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_element_left_out_is_refused(function: str, length: int, dtype: type) -> None:
    x = data_for(function, length, dtype)
    found = in_steps(function, x[:, :-1], one_by_one, np.float32)
    assert not accepted(function, x, found * (length - 1) / length if function == "AVERAGE" else found)


@pytest.mark.parametrize("function", ["AVERAGE", "L2", "LOG_SUM", "LOG_SUM_EXP"])
def test_the_step_after_the_sum_must_be_as_good_as_float32(function: str) -> None:
    x = data_for(function, 5, np.float32)
    found = in_steps(function, x, one_by_one, np.float32)
    assert accepted(function, x, found)
    assert not accepted(function, x, found * np.float32(1 + 2.0**-18))


def test_exponentials_may_leave_out_what_is_below_float32_and_no_more() -> None:
    x = np.array([[0, -104], [0, -1000], [-20, -80]], np.float32)
    assert accepted("LOG_SUM_EXP", x, x[:, :1])
    assert not accepted("LOG_SUM_EXP", np.array([[0, -12]], np.float32), np.zeros((1, 1), np.float32))


def test_squares_may_be_flushed_and_no_more() -> None:
    assert accepted("L2", np.array([[1e-20, 1e-25]], np.float32), np.zeros((1, 1), np.float32))
    assert not accepted("L2", np.array([[1e-18, 1e-25]], np.float32), np.zeros((1, 1), np.float32))


def test_a_sum_that_cancels_may_be_off_by_what_its_terms_are() -> None:
    x = np.array([[1e6, 30.3, -1e6]], np.float32)
    assert accepted("SUM", x, in_steps("SUM", x, one_by_one, np.float32))
    assert not accepted("SUM", x, np.array([[31.3]], np.float32))
    assert accepted("LOG_SUM", x, in_steps("LOG_SUM", x, one_by_one, np.float32))
    assert not accepted("LOG_SUM", x, np.array([[3.0]], np.float32))


def stable(x: Array, step: type) -> Array:
    """The logarithm of the sum of exponentials with the largest element taken off first."""
    largest = x.max(axis=1, keepdims=True).astype(step)
    return np.asarray(largest + np.log(np.exp(x.astype(step) - largest).sum(axis=1, keepdims=True, dtype=step)))


FAR = [
    [1000, 1000],
    [89, 1],
    [-1000, -1001],
    [300, -300],
    [88.7, 85],
    [-88, -90],
    [-86.9, -90],
    [-95, -101],
    [-103, -200],
    [-150, -105],
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("row", FAR)
def test_where_exponentials_leave_float32_the_definition_and_the_stable_form_are_right(row: list[float], dtype: type) -> None:
    x = np.array([row], dtype)
    with np.errstate(all="ignore"):
        naive = in_steps("LOG_SUM_EXP", x, one_by_one, np.float32)
        terms = np.exp(x.astype(np.float32))
    assert accepted("LOG_SUM_EXP", x, naive)
    assert accepted("LOG_SUM_EXP", x, stable(x, np.float32))
    with np.errstate(all="ignore"):  # flushed
        assert accepted("LOG_SUM_EXP", x, np.log(np.where(terms < 2.0**-126, 0, terms).sum(axis=1, keepdims=True)))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("row", FAR)
def test_and_nothing_else_is(row: list[float], dtype: type) -> None:
    x = np.array([row], dtype)
    right = float(stable(x, np.float64)[0, 0])
    wrong = [-right, 0.0, np.nan, -np.inf if right > 0 else np.inf, right + 20, right - 20]
    if not -104 < right < -86:  # in between lie the sums that are denormals, of which little may be left
        wrong += [right * 1.01, right + 2, right - 2, np.copysign(88.5 if right > 100 else 80, right)]
    for found in wrong:
        assert not accepted("LOG_SUM_EXP", x, np.array([[found]]))


def test_of_a_single_small_exponential_only_itself_or_nothing_is_left() -> None:
    x = np.array([[-88.5]], np.float32)
    for found, right in ((-88.5, True), (-np.inf, True), (-89, False), (-88, False), (-103, False), (np.inf, False)):
        assert accepted("LOG_SUM_EXP", x, np.array([[found]])) == right
