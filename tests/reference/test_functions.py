"""Powers, exponentials, trigonometric functions and the error function of the reference, against Python's math and against numbers."""

import math
from collections.abc import Callable

import array_api_compat
import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.operators.element_wise.special_functions import erf, erfc
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype

xp = array_api_compat.array_namespace(np.zeros(1))


def unary(name: str, x: list[float], data_type: str = "FLOAT32", **attributes: object) -> Answer:
    array = np.array(x, numpy_dtype(data_type))
    tensor = TensorDesc(data_type, array.shape)
    desc = OperatorDesc(f"ELEMENT_WISE_{name}", {"InputTensor": tensor, "OutputTensor": tensor, "ScaleBias": None, **attributes})
    return compute(desc, {"InputTensor": array})["OutputTensor"]


def power(base: list[float], exponent: list[float], types: str = "FLOAT32 FLOAT32", scale_bias: ScaleBias | None = None) -> Answer:
    first, second = types.split()
    x, e = np.array(base, numpy_dtype(first)), np.array(exponent, numpy_dtype(second))
    tensor = TensorDesc(first, x.shape)
    fields = {"InputTensor": tensor, "ExponentTensor": TensorDesc(second, e.shape), "OutputTensor": tensor, "ScaleBias": scale_bias}
    return compute(OperatorDesc("ELEMENT_WISE_POW", fields), {"InputTensor": x, "ExponentTensor": e})["OutputTensor"]


def same(found: object, wanted: list[float]) -> None:
    """Equal numbers; NaN equals NaN."""
    np.testing.assert_array_equal(np.asarray(found, np.float64), np.array(wanted, np.float64))


INSIDE = {
    "ACOS": (math.acos, [-1, -0.5, 0, 0.999, 1]),
    "ACOSH": (math.acosh, [1, 1.0000001, 1.5, 1e4, 1e38]),
    "ASIN": (math.asin, [-1, -0.5, 1e-7, 0.999, 1]),
    "ASINH": (math.asinh, [-1e6, -3, 1e-7, 3, 1e38]),
    "ATAN": (math.atan, [-1e38, -1, 1e-7, 1, 1e38]),
    "ATANH": (math.atanh, [-0.999, -0.5, 1e-7, 0.5, 0.9999999]),
    "COS": (math.cos, [-314, -1.5707964, 0, 3, 314]),
    "COSH": (math.cosh, [-80, -1, 0, 1e-4, 80]),
    "ERF": (math.erf, [-6, -2, 1e-7, 0.5, 1.9999999, 2, 5.9]),
    "EXP": (math.exp, [-100, -1, 0, 1, 88]),
    "LOG": (math.log, [1e-45, 0.99999994, 1, 1.0000001, 3e38]),
    "RECIP": (lambda x: 1 / x, [-3, 0.1, 1e-38, 3e38]),
    "SIN": (math.sin, [-314, -1.5, 1e-7, 3.1415927, 314]),
    "SINH": (math.sinh, [-80, -1, 1e-7, 1, 80]),
    "SQRT": (math.sqrt, [0, 1e-45, 2, 4, 3e38]),
    "TAN": (math.tan, [-314, -1.5, 1e-7, 3.1415927, 1.56]),
    "TANH": (math.tanh, [-20, -1, 1e-7, 1, 20]),
}


@pytest.mark.parametrize("name", INSIDE)
def test_functions_are_those_of_math(name: str) -> None:
    function, points = INSIDE[name]
    answer = unary(name, points)
    wanted = np.array([function(float(np.float32(x))) for x in points])
    assert answer.value.dtype == np.float64
    assert np.all(np.abs(answer.value - wanted) <= 4e-15 * np.abs(wanted))
    assert answer.defined is None or answer.defined.all()


@pytest.mark.parametrize(
    ("name", "points", "wanted"),
    [
        ("ACOS", [1.001, -2, math.inf, math.nan], [math.nan] * 4),
        ("ASIN", [1.001, -2, math.inf, math.nan], [math.nan] * 4),
        ("ACOSH", [0.999, 0, -1, -math.inf, math.inf], [math.nan] * 4 + [math.inf]),
        ("ATANH", [1, -1, 1.001, -2], [math.inf, -math.inf, math.nan, math.nan]),
        ("COS", [math.inf, -math.inf, math.nan], [math.nan] * 3),
        ("SINH", [90, -90, math.inf], [math.sinh(90), -math.sinh(90), math.inf]),
        ("EXP", [-math.inf, math.inf, 1000], [0, math.inf, math.inf]),
        ("ERF", [-math.inf, math.inf, math.nan, 40], [-1, 1, math.nan, 1]),
        ("LOG", [0, -0.0, -1, math.inf], [-math.inf, -math.inf, math.nan, math.inf]),
        ("SQRT", [-1, -0.0, math.inf], [math.nan, -0.0, math.inf]),
        ("RECIP", [0, -0.0, math.inf, -math.inf], [math.inf, -math.inf, 0, -0.0]),
    ],
)
def test_ends_of_domains(name: str, points: list[float], wanted: list[float]) -> None:
    answer = unary(name, points)
    same(answer.value, wanted)
    numbers = ~np.isnan(wanted)
    assert (np.signbit(answer.value) == np.signbit(wanted))[numbers].all()


@pytest.mark.parametrize(
    ("name", "x", "wanted"), [("EXP", 1.5, math.exp(1.5)), ("LOG", 2, math.log(2.5)), ("SIN", 2, math.sin(2.5))]
)
def test_scale_and_bias_come_first(name: str, x: float, wanted: float) -> None:
    pair = ScaleBias(2, -1.5)
    answer = unary(name, [x], ScaleBias=pair)
    assert answer.value[0] == pytest.approx(wanted, rel=1e-14)
    assert answer.slack is not None
    assert 0 < answer.slack[0] < 1e-5


# Periodic functions


def test_nothing_is_promised_of_a_sine_beyond_100_pi() -> None:
    for name in ("COS", "SIN", "TAN"):
        answer = unary(name, [314, 314.2, -1000, 1e30, math.inf, math.nan])
        assert answer.defined is not None
        assert answer.defined.tolist() == [True, False, False, False, True, True]


def test_a_tangent_is_as_good_as_its_sine_and_cosine() -> None:
    answer = unary("TAN", [0, 1, 1.5, 1.5707964])
    half = unary("TAN", [1], "FLOAT16")
    assert answer.slack is not None
    assert half.slack is not None
    assert answer.slack[0] == 0
    for index, x in ((1, 1.0), (2, 1.5)):  # sin + e over cos - e, first order in e
        worst = (math.sin(x) + 0.0008) / (math.cos(x) - 0.0008) - math.tan(x)
        assert answer.slack[index] == pytest.approx(worst, rel=0.02)
    assert half.slack[0] > 3 * answer.slack[1]
    assert answer.defined is not None
    assert answer.defined.tolist() == [True, True, True, False]


@pytest.mark.parametrize("name", ["ASIN", "ASINH", "ATAN", "ATANH", "ERF", "SINH", "TANH"])
def test_a_zero_may_have_either_sign_and_nothing_else_may(name: str) -> None:
    answer = unary(name, [0, -0.0, 1e-45, 0.5])
    assert answer.slack is not None
    assert (answer.slack > np.abs(answer.value)).tolist() == [True, True, True, False]
    assert answer.slack[2] < 1e-44


@pytest.mark.parametrize(
    ("y", "x"), [(s * a, t * b) for s in (1, -1) for t in (1, -1) for a in (0.0, 1.0, math.inf) for b in (0.0, 2.0, math.inf)]
)
def test_angles_of_all_quadrants(y: float, x: float) -> None:
    tensor = TensorDesc("FLOAT32", (1,))
    desc = OperatorDesc("ELEMENT_WISE_ATAN_YX", {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor})
    answer = compute(desc, {"ATensor": np.array([y], np.float32), "BTensor": np.array([x], np.float32)})["OutputTensor"]
    assert answer.value[0] == math.atan2(y, x)
    assert answer.defined is not None
    assert answer.defined[0] == ((y, x) != (0, 0))


# The error function


@pytest.mark.parametrize(("ours", "python", "error"), [(erf, math.erf, 2e-15), (erfc, math.erfc, 2e-13)])
def test_error_function(ours: Callable[..., np.ndarray], python: Callable[[float], float], error: float) -> None:
    x = np.concatenate([np.linspace(-7, 26, 6601), np.nextafter(2, [0, 3]), np.logspace(-300, 0, 601), -np.logspace(-300, 0, 601)])
    wanted = np.array([python(v) for v in x.tolist()])
    assert np.all(np.abs(ours(xp, x) - wanted) <= error * np.abs(wanted))


def test_error_function_of_what_is_no_number() -> None:
    x = np.array([math.nan, math.inf, -math.inf, -0.0])
    same(erf(xp, x), [math.nan, 1, -1, 0])
    same(erfc(xp, x), [math.nan, 0, 2, 1])


# Powers


@pytest.mark.parametrize(
    ("base", "exponent", "wanted"),
    [
        (-2, 3, -8),
        (-2, -2, 0.25),
        (-2, 0.5, math.nan),
        (-math.inf, 0.5, math.nan),
        (-math.inf, 3, -math.inf),
        (-2, math.inf, math.nan),
        (2, math.inf, math.inf),
        (0.5, math.inf, 0),
        (1, math.inf, math.nan),
        (1, math.nan, math.nan),
        (math.nan, 0, math.nan),
        (math.inf, 0, math.nan),
        (0, 2, 0),
        (-1, 16777217, 1),  # as FLOAT32 it is 16777216
        (1e30, 2, 1e60),
    ],
)
def test_real_powers(base: float, exponent: float, wanted: float) -> None:
    answer = power([base], [exponent])
    single = unary("CONSTANT_POW", [base], Exponent=exponent)
    for found in (answer, single):
        assert found.value[0] == pytest.approx(wanted, rel=1e-6, nan_ok=True)
        assert found.defined is not None
        assert found.defined[0]


def test_the_powers_of_zero_that_are_contested_are_not_judged() -> None:
    answer = power([0, 0, -0.0, 0, 0, 2], [0, -1, -0.5, math.nan, 0.5, 0])
    assert answer.defined is not None
    assert answer.defined.tolist() == [False, False, False, False, True, True]


def test_the_bound_of_a_power_grows_with_its_exponent() -> None:
    answer = power([1.0001, 1.0001, 2, 2], [1, 1000, 1, 100])
    assert answer.slack is not None
    relative = answer.slack / answer.value
    assert relative[1] == pytest.approx(1000 * relative[0], rel=0.01)
    assert relative[3] == pytest.approx(100 * relative[2], rel=0.01)
    assert relative[3] == pytest.approx(100 * (2**-21 + math.log(2) * 2**-23), rel=0.01)


def exact(base: int, exponent: int, low: int, high: int) -> int:
    """What an INT32 or UINT32 unit computes, stored in a type from low to high."""
    if exponent < 0:
        return 0 if abs(base) != 1 else base if exponent % 2 else 1
    value = pow(base, exponent, 1 << 32)
    if low < 0 and value >= 1 << 31:
        value -= 1 << 32
    return min(max(value, low), high)


@pytest.mark.parametrize("base_type", ["INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"])
@pytest.mark.parametrize("exponent_type", ["INT32", "INT8", "UINT32", "UINT8"])
def test_whole_powers_are_exact_modulo_2_to_the_32_and_saturate(base_type: str, exponent_type: str) -> None:
    limits, others = np.iinfo(numpy_dtype(base_type)), np.iinfo(numpy_dtype(exponent_type))
    bases = [v for v in (0, 1, 2, 3, 7, 255, 46341, -1, -2, -3, limits.max, limits.min) if limits.min <= v <= limits.max]
    exponents = [v for v in (0, 1, 2, 5, 7, 8, 31, 32, 33, -1, -2, others.max, others.min) if others.min <= v <= others.max]
    pairs = [(int(b), int(e)) for b in bases for e in exponents]
    answer = power([b for b, _ in pairs], [e for _, e in pairs], f"{base_type} {exponent_type}")
    assert answer.value.dtype == numpy_dtype(base_type)
    assert answer.value.tolist() == [exact(b, e, int(limits.min), int(limits.max)) for b, e in pairs]


def test_an_integer_to_a_real_power_is_cut_off_and_either_neighbour_is_right() -> None:
    answer = power([3, 2, 100, 2, -2, 10], [0.5, 2.5, 1, -0.5, 0.5, 3], "INT8 FLOAT32")
    assert answer.result is not None
    assert answer.result.dtype == np.int8
    assert answer.result.tolist() == [1, 5, 100, 0, 0, 127]
    assert answer.defined is not None
    assert answer.defined.tolist() == [True, True, True, True, False, True]
    assert answer.slack is not None
    assert (answer.slack[:4] >= 0.5).all()
    assert answer.slack[0] < 0.51


def test_scale_and_bias_are_the_bases_alone() -> None:
    pair = ScaleBias(1, 0.75)
    assert power([1.25, 3.25], [1, 2], scale_bias=pair).value.tolist() == [2, 16]
    assert power([1, 2, 3], [2, 2, 3], "INT32 INT32", pair).value.tolist() == [1, 4, 27]
    assert power([-1], [2], "INT32 INT32", ScaleBias(2, -1.5)).value.tolist() == [9]  # -3.5, toward zero
