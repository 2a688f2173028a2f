"""The slack of a value that is computed from a computed argument: what it allows, and what it must not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import FORMATS, ZERO_SIGN, Verdict, judge
from dmlcts.reference.answer import Answer
from dmlcts.spec.model.operator import Tolerance

NATIVE = {"FLOAT16": np.float16, "FLOAT32": np.float32, "FLOAT64": np.float64}
INFO = BackendInfo("x", denormals="preserve")


def judged(
    actual: Any, value: Any, slack: Any, data_type: str = "FLOAT32", name: str = "ulp", checks: Any = (), **how: Any
) -> Verdict:
    output = np.atleast_1d(np.array(actual, NATIVE[data_type]))
    argument = how.pop("x", None)
    answer = Answer(np.atleast_1d(np.asarray(value, FORMATS[data_type].wide)), argument=argument, slack=slack)
    return judge(output, answer, Tolerance(name, "value", how), data_type, INFO, checks=checks)


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("data_type", NATIVE)
@pytest.mark.parametrize(
    ("name", "how", "units"),
    [("ulp", {"ulps": 2}, 2), ("mixed", {"ulps": 3}, 3), ("mixed", {"argument": 3.0}, 3 + 1 + 0.5)],
    ids=["ulp", "mixed", "argument"],
)
def test_slack_is_added_to_the_bound(name: str, how: dict[str, Any], units: float, data_type: str, as_array: bool) -> None:
    """Around 1.5, errors of one ULP less than the bound and 16 ULPs of slack, and of one and a half more."""
    ulp = 2.0 ** -FORMATS[data_type].p
    slack = 16 * ulp
    how = how | ({"x": np.array([0.5])} if "argument" in how else {})
    if "argument" in how:
        units *= 1.5  # in proportion to the value
    actual = np.array([1.5])

    def verdict(error: float, slack: Any) -> Verdict:
        return judged(actual, actual.astype(FORMATS[data_type].wide) - error, slack, data_type, name, **how)

    given = np.array([slack]) if as_array else slack
    assert verdict((units + 15) * ulp, given).ok
    assert not verdict((units + 17.5) * ulp, given).ok
    assert not verdict((units + 15) * ulp, None).ok
    assert not verdict((units + 15) * ulp, 0.0).ok


def test_the_absolute_bound_and_the_slack_add_up() -> None:
    how = {"name": "mixed", "absolute": 2.0**-8}
    assert judged(2.0**-8 + 2.0**-9, 0.0, 2.0**-9, **how).ok
    assert not judged(1.0625 * (2.0**-8 + 2.0**-9), 0.0, 2.0**-9, **how).ok
    assert not judged(2.0**-8 + 2.0**-9, 0.0, None, **how).ok


def test_each_element_has_its_own_slack() -> None:
    value, slack = np.array([1.0, 1.0, 1.0]), np.array([0.0, 0.25, 0.0])
    assert judged([1.0, 1.25, 1.0], value, slack).ok
    assert [m.index for m in judged([1.25, 1.25, 1.25], value, slack).mismatches] == [(0,), (2,)]


def test_a_result_may_be_rounded_where_the_slack_leads_to() -> None:
    """The exact value may be 1, whose ULP is far larger than that of the reference, 0."""
    assert judged(1 + 2**-10, 0.0, 1.0, "FLOAT16").ok
    assert not judged(1 + 2**-9, 0.0, 1.0, "FLOAT16").ok


def test_an_error_in_proportion_to_the_value_is_so_where_the_slack_leads_to() -> None:
    how = {"name": "mixed", "argument": 3.0, "x": np.array([0.0])}
    assert judged(1 + 3 * 2**-23, 0.0, 1.0, **how).ok
    assert not judged(1 + 5 * 2**-23, 0.0, 1.0, **how).ok


@pytest.mark.parametrize("slack", [np.inf, -np.inf, np.nan, -1.0])
@pytest.mark.parametrize("name", ["ulp", "mixed"])
def test_no_slack_is_accepted_that_says_nothing(name: str, slack: float) -> None:
    for given in (slack, np.array([slack])):
        assert judged(1 + 2**-23, 1.0, given, name=name).ok
        for wrong in (1 + 2**-22, 1 - 2**-22, 0.0, -1.0, 3e38, np.inf, np.nan):
            verdict = judged(wrong, 1.0, given, name=name)
            assert (verdict.ok, verdict.warnings) == (False, ()), wrong
    beside = judged([1.25, 1.25], [1.0, 1.0], np.array([0.25, slack]), name=name)
    assert [m.index for m in beside.mismatches] == [(1,)]


@pytest.mark.parametrize("slack", [0.0, 1.0, 1e300, np.inf, np.nan])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_is_exact_whatever_the_slack(value: float, slack: float) -> None:
    assert judged(value, value, slack).ok
    for wrong in {np.inf, -np.inf, 3.4e38, 0.0} - {value}:
        assert not judged(wrong, value, slack).ok, wrong
    assert np.isnan(value) or not judged(np.nan, value, slack).ok


@pytest.mark.parametrize(
    ("value", "slack", "accepted", "refused"),
    [
        pytest.param(1e40, 1e39, [np.inf, np.finfo(np.float32).max], [3e38, 0.0, -np.inf, np.nan], id="all of it overflows"),
        pytest.param(1e39, 9e38, [np.inf, 3e38, 1.1e38], [0.9e38, 0.0, -3e38, np.nan], id="it leads back"),
        pytest.param(-1e39, 9e38, [-np.inf, -3e38, -1.1e38], [-0.9e38, 3e38, np.inf], id="negative"),
        pytest.param(3.3e38, 2e37, [np.inf, 3.2e38], [3e38, -np.inf, np.nan], id="it leads over the top"),
        pytest.param(3.3e38, 0.0, [3.3e38], [np.inf], id="without slack it does not"),
    ],
)
def test_slack_about_the_largest_number(value: float, slack: float, accepted: list[float], refused: list[float]) -> None:
    for actual in accepted:
        assert judged(actual, value, slack, ulps=1).ok, actual
    for actual in refused:
        assert not judged(actual, value, slack, ulps=1).ok, actual


def test_a_slack_that_accepts_every_number_is_warned_of() -> None:
    verdict = judged([7.0, 1.0, np.nan], [1.0, 1.0, 1.0], np.array([7e4, 0.0, 7e4]), "FLOAT16")
    assert verdict.warnings == ("the bound is vacuous (its slack overflows): 2 of 3 elements could not be judged",)
    assert [m.index for m in verdict.mismatches] == [(2,)], "not even then NaN"
    assert judged(1.0, 1.0, 6e4, "FLOAT16").warnings == ()


def test_a_zero_may_have_either_sign_where_the_slack_reaches_across() -> None:
    given = {"value": [2.0**-140, 0.0, 2.0**-140], "checks": (ZERO_SIGN,)}
    assert judged([-0.0, -0.0, 0.0], slack=2.0**-100, **given).ok
    verdict = judged([-0.0, -0.0, 0.0], slack=np.array([2.0**-100, 0.0, 0.0]), ulps=2**20, **given)
    assert [(m.index, m.allowed) for m in verdict.mismatches] == [((1,), "a zero of the expected sign")]


def test_a_zero_may_have_either_sign_where_the_slack_reaches_it() -> None:
    """As where an activation jumps to 0: only a value without slack, or that cannot be zero, asks for the sign."""
    assert judged([0.0, -0.0], value=[-0.75, 0.75], slack=0.75, checks=(ZERO_SIGN,)).ok
    assert not judged([0.0], value=[-0.0], slack=0.0, checks=(ZERO_SIGN,)).ok


def test_the_bound_says_that_there_is_slack() -> None:
    (mismatch,) = judged(2.0, 1.0, 2.0**-20).mismatches
    assert mismatch.allowed == "9 ULP (the slack of a computed argument included)"
    (mismatch,) = judged(2.0, 1.0, 2.0**-20, name="mixed", absolute=2.0**-20).mismatches
    assert mismatch.allowed == "16 ULP (1 ULP or 9.537e-07, the slack of a computed argument included)"
    for none in (None, 0.0, np.inf):
        (mismatch,) = judged(2.0, 1.0, none).mismatches
        assert mismatch.allowed == "1 ULP"


@pytest.mark.parametrize("slack", [np.inf, np.nan, -1.0])
def test_discrete_has_no_endless_slack_either(slack: float) -> None:
    def accepted(given: Any) -> set[int]:
        answer = Answer(np.array([2.5]), slack=given)
        return {i for i in range(-128, 128) if judge(np.array([i], np.int8), answer, Tolerance("discrete"), "INT8", INFO).ok}

    assert accepted(slack) == accepted(None) == {2}
    assert accepted(1e-6) == {2, 3}


# What it is for


def scaled(x: np.ndarray, scale: np.float32, bias: np.float32, fused: bool) -> np.ndarray:
    """``x * scale + bias`` in FLOAT32, rounded twice, or once where it is fused."""
    if fused:
        return (x.astype(np.float64) * float(scale) + float(bias)).astype(np.float32)
    return x * scale + bias


@pytest.mark.parametrize("function", [np.exp, np.tanh, np.sqrt])
def test_scale_and_bias_rounded_before_the_function(function: Callable[..., Any]) -> None:
    """Rounding the argument once or twice is right; a bias left out or a scale of 1 + 2^-12 is not, slack or no slack."""
    rng = np.random.default_rng(3)
    x, scale, bias = rng.uniform(1, 9, 4000).astype(np.float32), np.float32(-1.1), np.float32(10.3)
    t = x.astype(np.float64) * float(scale) + float(bias)
    value = function(t)
    derivative = {np.exp: value, np.tanh: 1 - value**2, np.sqrt: 0.5 / value}[function]
    slack = 1.01 * np.abs(derivative) * 2.0**-24 * (np.abs(t - bias) + np.abs(t))
    for fused in (False, True):
        found = function(scaled(x, scale, bias, fused).astype(np.float64)).astype(np.float32)
        assert judged(found, value, slack).ok
    rough = function(scaled(x, scale, bias, False).astype(np.float64)).astype(np.float32)
    assert not judged(rough, value, None).ok, "without slack a right result would be refused"
    for argument in (t - bias, t * (1 + 2.0**-12), t + 2.0**-10):
        with np.errstate(invalid="ignore"):
            assert not judged(function(argument).astype(np.float32), value, slack).ok


@pytest.mark.parametrize("data_type", NATIVE)
def test_an_infinity_or_nan_may_be_right_as_well(data_type: str) -> None:
    """The value 1, and besides it NaN, infinity, negative infinity, nothing."""
    also = np.array([np.nan, np.inf, -np.inf, 0.0])
    answer = Answer(np.ones(4, FORMATS[data_type].wide), also=also)
    infinity, nan = float("inf"), float("nan")

    def verdict(*actual: float) -> Verdict:
        return judge(np.array(actual, NATIVE[data_type]), answer, Tolerance("ulp", "value", {}), data_type, INFO)

    assert verdict(1, 1, 1, 1).ok
    assert verdict(nan, infinity, -infinity, 1).ok
    for wrong in (
        (infinity, 1, 1, 1),
        (1, nan, 1, 1),
        (1, -infinity, 1, 1),
        (1, 1, infinity, 1),
        (1, 1, 1, nan),
        (1, 1, 1, 0),
        (0, 1, 1, 1),
    ):
        assert verdict(*wrong).wrong == 1
    assert verdict(nan, infinity, -infinity, 1).worst_share == 0
