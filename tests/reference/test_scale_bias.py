"""ScaleBias and fused activations: the exact value, and a slack that holds whatever FLOAT32 makes of the argument."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.reference.shared.fused import activate_fused
from dmlcts.reference.shared.scale_bias import ROUNDOFF, apply_with_error, scale_argument, unary
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias, TensorDesc

Array = np.ndarray


def with_pair(scale: float, bias: float) -> OperatorDesc:
    return OperatorDesc("ANY", {"ScaleBias": ScaleBias(scale, bias)})


WITHOUT = OperatorDesc("ANY", {"ScaleBias": None})
NUMBERS = np.array([0, 1, -1, 0.1, -2.5, 1e-3, 1e6, 3e38, -65504], np.float32)


def exp(xp: Any, x: Array) -> Array:
    return xp.exp(x)


def log(xp: Any, x: Array) -> Array:
    return xp.log(x)


# The argument


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("desc", [WITHOUT, OperatorDesc("ANY")])
def test_without_scale_bias_the_argument_is_the_element_itself(desc: OperatorDesc, dtype: type) -> None:
    x = np.array([0.1, -2, 60_000], dtype)
    argument, error = scale_argument(np, desc, x)
    assert argument.dtype == np.float64
    assert argument.tolist() == x.tolist()
    assert error is None


def test_scale_and_bias_are_those_of_the_desc_which_holds_them_as_float32() -> None:
    argument, error = scale_argument(np, with_pair(0.1, -0.7), NUMBERS)
    scale, bias = (Fraction(float(np.float32(number))) for number in (0.1, -0.7))
    assert Fraction(float(np.float32(0.1))) != Fraction(0.1)
    for x, found, off in zip(NUMBERS.tolist(), argument.tolist(), error.tolist(), strict=True):
        product = Fraction(x) * scale
        assert found == pytest.approx(float(product + bias), rel=1e-15)
        assert off == pytest.approx(2.0**-23 * float(abs(product) + abs(product + bias)), rel=1e-12)


def test_an_argument_of_float16_is_not_rounded_to_float16() -> None:
    argument, _ = scale_argument(np, with_pair(1, 2.0**-13), np.array([1.0], np.float16))
    assert argument.tolist() == [1 + 2.0**-13]


@pytest.mark.parametrize(("scale", "bias"), [(0.75, 0), (-0.75, 0), (1, 2.0**-130), (2.0**-30, 2.0**-120)])
def test_a_denormal_on_the_way_may_be_flushed(scale: float, bias: float) -> None:
    x = np.array([2.0**-126, -(2.0**-126), 2.0**-110], np.float32)
    argument, error = scale_argument(np, with_pair(scale, bias), x)
    product = x * np.float32(scale).astype(np.float64)
    flushed = np.where(np.abs(product) < 2.0**-126, 0, product) + bias
    flushed = np.where(np.abs(flushed) < 2.0**-126, 0, flushed)
    assert (np.abs(argument - flushed) <= error).all()
    assert (error < 2.0**-125).all()


@pytest.mark.parametrize("operator", ["ELEMENT_WISE_CEIL", "ELEMENT_WISE_FLOOR"])
def test_a_flushed_argument_rounds_to_0(operator: str) -> None:
    x = np.array([2.0**-126, -(2.0**-126), 0.5, 4], np.float32)
    tensor = TensorDesc("FLOAT32", x.shape)
    desc = OperatorDesc(operator, {"InputTensor": tensor, "OutputTensor": tensor, "ScaleBias": ScaleBias(0.75, 0)})
    answer = compute(desc, {"InputTensor": x})["OutputTensor"]
    slack = np.asarray(answer.slack)
    assert (np.abs(answer.value[:2]) <= slack[:2]).all()
    assert slack[2:].tolist() == [0, 0]


def truncated(value: Fraction) -> Fraction:
    """The FLOAT32 next to ``value`` on the side of zero."""
    near = np.float32(float(value))
    return Fraction(float(np.nextafter(near, np.float32(0)) if abs(Fraction(float(near))) > abs(value) else near))


def nearest(value: Fraction) -> Fraction:
    return Fraction(float(np.float32(float(value))))


@pytest.mark.parametrize("rounded", [nearest, truncated])
@pytest.mark.parametrize(("scale", "bias"), [(2, -1.5), (0.1, 0.3), (-3.7, 1e-3), (1 + 2.0**-23, -1), (1e-4, 1e4)])
def test_the_error_holds_for_one_rounding_and_for_two(scale: float, bias: float, rounded: Any) -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.uniform(-4, 4, 300), 1 + rng.uniform(-1e-6, 1e-6, 300)]).astype(np.float32)  # cancelling, too
    argument, error = scale_argument(np, with_pair(scale, bias), x)
    a, b = (Fraction(float(np.float32(number))) for number in (scale, bias))
    used = 0.0
    for value, exact, off in zip(x.tolist(), argument.tolist(), error.tolist(), strict=True):
        product = Fraction(value) * a
        for found in (rounded(product + b), rounded(rounded(product) + b)):
            assert abs(found - Fraction(exact)) <= Fraction(off) * (1 + Fraction(1, 2**20))
            used = max(used, float(abs(found - Fraction(exact)) / Fraction(off)) if off else 0)
    assert used > 0.2  # no more than a few times what is needed


def test_a_product_that_cancels_keeps_its_own_error() -> None:
    _, error = scale_argument(np, with_pair(3, -3), np.array([1, 1 + 2.0**-20], np.float32))
    assert error.tolist() == pytest.approx([3 * ROUNDOFF, 3 * ROUNDOFF], rel=1e-5)


# Through a function


def test_an_exact_argument_gives_no_slack() -> None:
    x = np.array([0.5, 2.0])
    found = apply_with_error(np, exp, x, None)
    assert found.value.tolist() == [math.exp(0.5), math.exp(2)]
    assert found.argument is x
    assert found.slack is None
    assert found.defined is None


def test_slack_is_the_larger_change_on_either_side() -> None:
    argument, error = np.array([0.0, 3.0, -1.0]), np.array([0.5, 0.01, 0.0])
    found = apply_with_error(np, exp, argument, error)
    assert found.slack.tolist() == [math.exp(0.5) - 1, math.exp(3.01) - math.exp(3), 0]
    falling = apply_with_error(np, lambda xp, x: xp.exp(-x), argument, error)
    assert falling.slack.tolist() == pytest.approx([math.exp(0.5) - 1, math.exp(-2.99) - math.exp(-3), 0], rel=1e-12)
    assert falling.value.tolist() == [1, math.exp(-3), math.exp(1)]
    assert found.defined.all()


@np.errstate(all="ignore")  # as compute has it
def test_where_the_argument_may_leave_the_domain_nothing_is_defined() -> None:
    argument = np.array([1e-3, 1e-9, -1e-9, -1e-3, 0.0, math.inf, math.nan])
    error = np.array([1e-6, 1e-6, 1e-6, 1e-6, 0.0, 0.0, 0.0])
    found = apply_with_error(np, log, argument, error)
    assert found.defined.tolist() == [True, False, False, True, True, True, True]
    assert np.isfinite(found.slack).all()  # an infinite one would be no bound
    assert found.slack[0] > 0
    assert math.isnan(found.value[3])
    assert found.value[4] == -math.inf


@np.errstate(all="ignore")
def test_overflow_on_one_side_is_not_defined() -> None:
    end = math.log(np.finfo(np.float64).max)
    found = apply_with_error(np, exp, np.array([end - 1, end - 1e-9, end + 1]), np.full(3, 1e-6))
    assert found.defined.tolist() == [True, False, True]


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_unary_operator_is_the_function_of_the_argument(dtype: type) -> None:
    run = unary(lambda xp, x: xp.abs(x))
    x = np.array([-2, 0.5, 3], dtype)
    plain = run(np, WITHOUT, {"InputTensor": x})["OutputTensor"]
    assert plain.value.tolist() == [2, 0.5, 3]
    assert plain.slack is None
    pair = run(np, with_pair(2, -1), {"InputTensor": x})["OutputTensor"]
    assert pair.value.tolist() == [5, 0, 5]
    assert pair.argument.tolist() == [-5, 0, 5]
    assert pair.slack.tolist() == [9 * ROUNDOFF, ROUNDOFF, 11 * ROUNDOFF]


def test_an_operator_in_use_has_it() -> None:
    desc = OperatorDesc("ELEMENT_WISE_EXP", {"InputTensor": None, "OutputTensor": None, "ScaleBias": ScaleBias(2, -1.5)})
    found = compute(desc, {"InputTensor": np.array([1, -3], np.float32)})["OutputTensor"]
    assert found.value.tolist() == [math.exp(0.5), math.exp(-7.5)]
    assert found.slack.tolist() == pytest.approx([math.exp(0.5) * 2.5 * ROUNDOFF, math.exp(-7.5) * 13.5 * ROUNDOFF], rel=1e-5)


# Fused


VALUE, ERROR = np.array([1.0, -3.0]), np.array([0.25, 1e-3])
EXP = OperatorDesc("ELEMENT_WISE_EXP", {"InputTensor": None, "OutputTensor": None, "ScaleBias": None})


@pytest.mark.parametrize("fields", [{}, {"FusedActivation": None}, {"Activation": EXP}])
def test_without_an_activation_the_error_is_the_slack(fields: dict[str, object]) -> None:
    found = activate_fused(np, fields, VALUE, ERROR)
    assert (found.value is VALUE, found.slack is ERROR, found.defined) == (True, True, None)


@pytest.mark.parametrize("name", ["FusedActivation", "Activation"])
def test_an_activation_takes_the_error_with_it(name: str) -> None:
    found: Answer = activate_fused(np, {name: EXP}, VALUE, ERROR, name)
    assert found.value.tolist() == [math.e, math.exp(-3)]
    assert found.argument is VALUE
    assert found.slack.tolist() == [math.exp(1.25) - math.e, math.exp(-2.999) - math.exp(-3)]
    assert activate_fused(np, {name: EXP}, VALUE, np.zeros(2), name).slack.tolist() == [0, 0]


def test_an_activation_that_is_exact_at_0_is_not_so_beside_it() -> None:
    elu = OperatorDesc("ACTIVATION_ELU", {"InputTensor": None, "OutputTensor": None, "Alpha": 1.0})
    zeros = np.array([0.0, -0.0, 0.0])
    found = activate_fused(np, {"FusedActivation": elu}, zeros, np.array([0, 1e-9, np.inf]))
    assert np.signbit(found.value).tolist() == [False, True, False]
    assert found.slack[0] == 0
    assert 2.0**-24 < found.slack[1] < 2.0**-20
    assert found.defined.tolist() == [True, True, False]


def test_an_activation_has_its_own_attributes() -> None:
    inner = OperatorDesc("ELEMENT_WISE_EXP", {**EXP.fields, "ScaleBias": ScaleBias(2, 0)})
    assert activate_fused(np, {"FusedActivation": inner}, VALUE, ERROR).value.tolist() == [math.exp(2), math.exp(-6)]


def test_an_activation_without_a_reference_is_an_error() -> None:
    with pytest.raises(KeyError, match="NO_SUCH"):
        activate_fused(np, {"FusedActivation": OperatorDesc("NO_SUCH")}, VALUE, ERROR)
