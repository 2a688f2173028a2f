"""How much of a bound was used: the largest error as a share of what was allowed, and which elements count in it."""

import json
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import Verdict, judge
from dmlcts.reference.answer import Answer
from dmlcts.spec.model.operator import Tolerance

PRESERVE, FLUSH = BackendInfo("strict", denormals="preserve"), BackendInfo("flushing", denormals="flush")
ULP = 2.0**-23


def judged(actual: Any, value: Any, name: str = "ulp", how: Any = None, info: BackendInfo = PRESERVE, **more: Any) -> Verdict:
    output = np.array(actual)
    output = output if output.dtype in (np.float16, np.float64) else output.astype(np.float32)
    answer = Answer(np.asarray(value, np.longdouble), **more)
    return judge(output, answer, Tolerance(name, "value", how or {}), output.dtype.name.upper(), info)


def f64(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(("error", "ulps", "share"), [(0, 1, 0), (0.5, 1, 0.5), (0.5, 2, 0.25), (1, 1, 1), (3, 2, 1.5)])
def test_share_of_an_ulp_bound(error: float, ulps: float, share: float) -> None:
    verdict = judged(f32(1.5), [1.5 - error * ULP], how={"ulps": ulps})
    assert (verdict.worst_ulp, verdict.worst_share, verdict.ok) == (error, share, share <= 1)


def test_the_largest_share_is_not_always_the_largest_error() -> None:
    """2^-22 next to 0 is 2^127 denormals and a quarter of the absolute bound; 1.5 ULPs of 5 are three quarters of the two allowed."""
    how = {"ulps": 2, "absolute": 2.0**-20}
    verdict = judged(f32(2**-22, 5.0), [0.0, 5 - 1.5 * 4 * ULP], "mixed", how)
    assert verdict.worst_ulp == 2.0**127
    assert verdict.worst_share == 0.75


@pytest.mark.parametrize("data_type", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("name", "how"), [("ulp", {"ulps": 1.5}), ("mixed", {"ulps": 1, "absolute": 1e-20}), ("accumulate", {}), ("product", {})]
)
def test_an_output_is_right_as_long_as_no_share_is_above_1(name: str, how: dict[str, float], data_type: Any) -> None:
    rng = np.random.default_rng(4)
    outcomes = set()
    for size in (0.0, 0.1, 0.5, 1.0, 1.5, 2.0, 30.0):
        output = rng.standard_normal(50).astype(data_type)
        value = output * (np.longdouble(1) + size * float(np.finfo(data_type).eps) * rng.uniform(-1, 1, 50))
        verdict = judged(output, value, name, how, magnitude=np.abs(value), terms=4)
        assert verdict.worst_share is not None
        assert verdict.ok is (verdict.worst_share <= 1)
        outcomes.add(verdict.ok)
    assert outcomes == {True, False}


def test_what_is_truncated_where_it_may_be_uses_no_more_than_all() -> None:
    value = 1 + 2.0**-10 - 2.0**-20
    half = np.array([1.0], np.float16)
    assert judged(half, [value], how={"ulps": 0.5}).worst_share == pytest.approx(2, rel=1e-2)
    truncating = BackendInfo("truncating", half_store="truncate")
    assert judged(half, [value], how={"ulps": 0.5}, info=truncating).worst_share == pytest.approx(1, rel=1e-2)


# Who counts


@pytest.mark.parametrize("wrong", [False, True], ids=["passes", "fails"])
def test_flushed_denormals_do_not_count(wrong: bool) -> None:
    actual, value = f32(0.0, 1.5), [2.0**-130, 1.5 - (4 if wrong else 0.25) * ULP]
    verdict = judged(actual, value, info=FLUSH)
    expected = 4 if wrong else 0.25
    assert (verdict.ok, verdict.worst_ulp, verdict.worst_share) == (not wrong, expected, expected)
    assert (judged(actual, value, info=PRESERVE).worst_share or 0) == 2.0**19, "where it is kept, its error counts"
    assert judged(f32(0.0), [2.0**-130], info=FLUSH).worst_ulp is None
    assert judged(f32(0.0), [2.0**-130], info=FLUSH).worst_share is None


@pytest.mark.parametrize("wrong", [False, True], ids=["passes", "fails"])
def test_overflows_on_the_way_do_not_count(wrong: bool) -> None:
    """3e38 + 3e38 - 3e38 is infinite in one order."""
    off = 1e37 if wrong else 0.0
    verdict = judged(f32(np.inf, 3e38), [3e38, np.float32(3e38) - off], "accumulate", magnitude=f64(9e38, 3e38), terms=3)
    assert verdict.ok is not wrong
    assert verdict.worst_share is not None
    assert verdict.worst_ulp is not None
    assert (verdict.worst_share > 1, verdict.worst_ulp > 1) == (wrong, wrong)
    assert verdict.worst_ulp < 1e6, "the infinity lies two million ULPs from 3e38"


def test_undefined_elements_do_not_count() -> None:
    verdict = judged(f32(9.0, 1.5), [1.5, 1.5 - ULP / 4], defined=np.array([False, True]))
    assert (verdict.worst_ulp, verdict.worst_share) == (0.25, 0.25)
    assert judged(f32(9.0), [1.5], defined=np.array([False])).worst_share is None


def test_values_that_are_no_numbers_do_not_count() -> None:
    verdict = judged(f32(np.nan, np.inf, 1.5), [np.nan, np.inf, 1.5 - ULP / 4])
    assert (verdict.ok, verdict.worst_ulp, verdict.worst_share) == (True, 0.25, 0.25)
    verdict = judged(f32(np.nan, 1.5), [1.5, 1.5 - ULP / 4])
    assert (verdict.ok, verdict.worst_ulp, verdict.worst_share) == (False, 0.25, 0.25)


def test_an_exact_zero_where_nothing_is_allowed_counts_as_nothing() -> None:
    verdict = judged(f32(0.0), [0.0], "accumulate", magnitude=f64(0.0), terms=4)
    assert (verdict.ok, verdict.worst_share) == (True, 0.0)
    beside = judged(f32(0.0, 1.0), [0.0, 1 - 2 * ULP], "accumulate", magnitude=f64(0.0, 1.0), terms=4)
    assert beside.worst_share == pytest.approx(0.5, rel=1e-3)


def test_there_is_no_share_of_nothing() -> None:
    verdict = judged(f32(2.0**-149, 1.0), [0.0, 1.0], "accumulate", magnitude=f64(0.0, 1.0), terms=4)
    assert (verdict.ok, verdict.worst_ulp, verdict.worst_share) == (False, 1, None)


def test_a_vacuous_bound_is_not_used() -> None:
    half = BackendInfo("half", accumulator=10)
    verdict = judged(np.array([7.0], np.float16), [1.0], "accumulate", info=half, magnitude=f64(1.0), terms=1024)
    assert (verdict.ok, verdict.worst_share, len(verdict.warnings)) == (True, 0.0, 1)


def test_slack_is_part_of_what_is_allowed() -> None:
    assert judged(f32(1.5), [1.5 - 2 * ULP], slack=3 * ULP).worst_share == 0.5


@pytest.mark.parametrize("name", ["exact", "discrete", "check"])
def test_classes_that_measure_nothing_have_no_share(name: str) -> None:
    answer = Answer(f32(1.0, 2.0))
    right = judge(f32(1.0, 2.0), answer, Tolerance(name), "FLOAT32", PRESERVE)
    assert (right.ok, right.worst_ulp, right.worst_share) == (True, None, None)
    for output in (f32(1.0, 3.0), f32(1.0, np.nan)):
        wrong = judge(output, answer, Tolerance(name), "FLOAT32", PRESERVE)
        assert (wrong.ok, wrong.worst_share) == (False, None)


def test_what_no_float_holds_is_not_written_down() -> None:
    """1e308 is 2^2097 denormals from 0: no JSON has such a number."""
    for slack in (None, 1e-300):
        verdict = judged(f64(1e308, 1.0), [0.0, 1.0], slack=slack)
        assert not verdict.ok
        for figure in (verdict.worst_ulp, verdict.worst_share, verdict.mismatches[0].ulp):
            json.dumps(figure, allow_nan=False)
