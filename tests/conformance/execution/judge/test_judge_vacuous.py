"""How many elements have a bound that excuses everything: more than half the largest magnitude of the output."""

from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.answer import Answer
from dmlcts.spec.model.operator import Tolerance

NATIVE = {"FLOAT16": np.float16, "FLOAT32": np.float32, "UINT8": np.uint8}
INFO = BackendInfo("x", denormals="preserve")


def vacuous(values: Any, name: str, data_type: str = "FLOAT32", how: dict[str, Any] | None = None, **answer: Any) -> int:
    value = np.array(values, np.float64)
    arrays = {key: np.broadcast_to(np.asarray(part), value.shape) for key, part in answer.items()}
    with np.errstate(over="ignore"):
        actual = np.rint(value).astype(NATIVE[data_type]) if data_type == "UINT8" else value.astype(NATIVE[data_type])
    return judge(actual, Answer(value, **arrays), Tolerance(name, "value", how or {}), data_type, INFO).vacuous


@pytest.mark.parametrize(
    ("values", "absolute", "expected"),
    [
        ([0, 0, 0], 0.0008, 3),
        ([1e-4, -1e-4], 0.0008, 2),
        ([0, 0, 0.0015], 0.0008, 3),
        ([0, 0, -0.0017], 0.0008, 0),
        ([1, 1, 1], 0.4, 0),
        ([1, 1, 1], 0.6, 3),
        ([0.5], 1.1, 1),
        ([], 1.0, 0),
    ],
    ids=str,
)
def test_the_bound_is_compared_with_the_largest_magnitude(values: list[float], absolute: float, expected: int) -> None:
    assert vacuous(values, "mixed", how={"absolute": absolute}) == expected


def test_equal_numbers_and_a_single_one_are_judged() -> None:
    """Their range is 0, and yet their bound excuses nothing."""
    assert vacuous([3, 3, 3], "ulp", how={"ulps": 4}) == 0
    assert vacuous([3], "ulp", how={"ulps": 4}) == 0


def test_denormals_may_be_flushed_and_are_not_judged_by_their_own_size() -> None:
    assert vacuous([1e-42, 0], "ulp", how={"ulps": 2}) == 0
    assert vacuous([1e-42, 0], "mixed", how={"absolute": 1e-38}) == 2


def test_each_element_has_its_own_bound() -> None:
    assert vacuous([1, 1, 1], "ulp", slack=[0, 0.4, 0.6]) == 1
    assert vacuous([1, 1, 4], "ulp", slack=[0, 0.4, 0.6]) == 0


def test_what_is_not_defined_counts_neither_way() -> None:
    assert vacuous([0, 100], "mixed", how={"absolute": 0.1}, defined=[True, False]) == 1
    assert vacuous([0, 100], "mixed", how={"absolute": 0.1}, defined=[False, True]) == 0
    assert vacuous([np.nan, np.inf, 0], "mixed", how={"absolute": 0.1}) == 1


def test_a_sum_that_cancels_is_counted_and_others_are_not() -> None:
    assert vacuous([0.001], "accumulate", magnitude=[1e6], terms=[4]) == 1
    assert vacuous([0.001, 10], "accumulate", magnitude=[1e6, 10], terms=[4, 4]) == 0


def test_a_factor_of_half_is_no_bound() -> None:
    assert vacuous([1.0], "product", how={"accumulator": 10}, terms=[400]) == 0
    assert vacuous([1.0], "product", how={"accumulator": 10}, terms=[4000]) == 1


def test_an_integer_beside_a_tie_is_judged() -> None:
    assert vacuous([0.5, 1.5], "discrete", "UINT8", slack=[0.01, 0.01]) == 0
    assert vacuous([54, 128], "discrete", "UINT8", slack=[80, 0]) == 1
    assert vacuous([54, 250], "discrete", "UINT8", slack=[80, 0]) == 0


def test_a_power_that_overflows_by_far_must_overflow() -> None:
    """The bound leads back from where the exact value is, and not from the largest number."""
    x = np.array([700.0])
    answer = Answer(np.exp(x), argument=x)
    tolerance = Tolerance("mixed", "value", {"argument": 1})

    def verdict(actual: float) -> Any:
        with np.errstate(over="ignore"):
            return judge(np.array([actual], np.float16), answer, tolerance, "FLOAT16", INFO)

    assert verdict(np.inf).ok
    assert verdict(np.inf).vacuous == 0
    assert not verdict(30000.0).ok
    assert not verdict(22000.0).ok


@pytest.mark.parametrize(("x", "least"), [(11.0898, 64800), (11.1, 65300)])
def test_a_power_that_just_overflows_may_be_the_largest_number(x: float, least: float) -> None:
    answer = Answer(np.exp(np.array([x])), argument=np.array([x]))
    tolerance = Tolerance("mixed", "value", {"argument": 1})
    for actual, ok in ((np.inf, True), (65504, True), (least - 900, False)):
        assert judge(np.array([actual], np.float16), answer, tolerance, "FLOAT16", INFO).ok == ok
