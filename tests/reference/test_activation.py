"""The references of activations, against Python's own mathematics, and what their slack lets pass and does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import BackendInfo
from dmlcts.conformance.execution.judge import judge
from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.reading.loader import load

Array = NDArray[Any]
NAN, INF = math.nan, math.inf
STRICT = BackendInfo("strict", denormals="preserve", nearest=True)


def answer(name: str, *inputs: Array, **attributes: float) -> Answer:
    """What the reference says, called as for an activation inside another operator: without tensor descs."""
    operator = load(f"ACTIVATION_{name}")
    desc = OperatorDesc(operator.name, {field.name: attributes.get(field.name) for field in operator.fields})
    arrays = {field.name: array for field, array in zip(operator.inputs(), inputs, strict=True)}
    return compute(desc, arrays)[operator.outputs()[0].name]


def values(name: str, x: list[float], **attributes: float) -> list[float]:
    return answer(name, np.array(x, np.float64), **attributes).value.tolist()


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


FORMULAS: list[tuple[str, dict[str, float], Callable[[float], float]]] = [
    ("CELU", {"Alpha": 2.5}, lambda x: max(0, x) + min(0, 2.5 * math.expm1(x / 2.5))),
    ("CELU", {"Alpha": -1}, lambda x: max(0, x) + min(0, -math.expm1(-x))),
    ("ELU", {"Alpha": -2}, lambda x: x if x >= 0 else -2 * math.expm1(x)),
    ("GELU", {}, lambda x: x / 2 * math.erfc(-x / math.sqrt(2))),
    ("HARD_SIGMOID", {"Alpha": -0.75, "Beta": 0.25}, lambda x: max(0, min(-0.75 * x + 0.25, 1))),
    ("HARD_SWISH", {"Alpha": 0.5, "Beta": 0.25}, lambda x: x * max(0, min(0.5 * x + 0.25, 1))),
    ("IDENTITY", {}, lambda x: x),
    ("LEAKY_RELU", {"Alpha": 2.5}, lambda x: x if x >= 0 else 2.5 * x),
    ("LINEAR", {"Alpha": 1.5, "Beta": -0.25}, lambda x: 1.5 * x - 0.25),
    ("PARAMETRIC_SOFTPLUS", {"Alpha": -2, "Beta": 0.5}, lambda x: -2 * math.log1p(math.exp(x / 2))),
    ("RELU", {}, lambda x: max(0, x)),
    ("SCALED_ELU", {"Alpha": 1.5, "Gamma": -2}, lambda x: -2 * (x if x > 0 else 1.5 * math.expm1(x))),
    ("SCALED_TANH", {"Alpha": -2, "Beta": 0.5}, lambda x: -2 * math.tanh(x / 2)),
    ("SHRINK", {"Bias": 1.5, "Threshold": 2}, lambda x: x - 1.5 if x > 2 else x + 1.5 if x < -2 else 0),
    ("SIGMOID", {}, sigmoid),
    ("SOFTPLUS", {"Steepness": 2.5}, lambda x: math.log1p(math.exp(2.5 * x)) / 2.5),
    ("SOFTSIGN", {}, lambda x: x / (1 + abs(x))),
    ("SWISH", {"SigmoidInputScale": -2}, lambda x: x * sigmoid(-2 * x)),
    ("TANH", {}, math.tanh),
    ("THRESHOLDED_RELU", {"Alpha": 1}, lambda x: x if x > 1 else 0),
]
POINTS = [-20, -6.5, -3, -2.000001, -2, -1, -0.5, -1e-9, 0, 1e-9, 0.25, 1, 1.000001, 2, 3, 7.5, 20]


@pytest.mark.parametrize(("name", "attributes", "formula"), FORMULAS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(FORMULAS)])
def test_is_the_formula(name: str, attributes: dict[str, float], formula: Callable[[float], float]) -> None:
    assert values(name, POINTS, **attributes) == pytest.approx([formula(x) for x in POINTS], rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        # What NaN, infinity and -infinity become.
        ("CELU", {"Alpha": 1}, [0, INF, -1]),
        ("CELU", {"Alpha": 0}, [0, INF, 0]),
        ("ELU", {"Alpha": 1}, [NAN, INF, -1]),
        ("GELU", {}, [NAN, INF, NAN]),
        ("HARD_SIGMOID", {"Alpha": 0.2, "Beta": 0.5}, [0, 1, 0]),
        ("HARD_SIGMOID", {"Alpha": 0, "Beta": 0.5}, [0, 0, 0]),
        ("HARD_SWISH", {"Alpha": 0.2, "Beta": 0.5}, [NAN, INF, NAN]),
        ("LEAKY_RELU", {"Alpha": 0}, [NAN, INF, NAN]),
        ("LINEAR", {"Alpha": -1, "Beta": 1}, [NAN, -INF, INF]),
        ("PARAMETRIC_SOFTPLUS", {"Alpha": -2, "Beta": -1}, [NAN, 0, -INF]),
        ("RELU", {}, [0, INF, 0]),
        ("SCALED_ELU", {"Alpha": 1, "Gamma": 2}, [NAN, INF, -2]),
        ("SHRINK", {"Bias": 1, "Threshold": 1}, [0, INF, -INF]),
        ("SIGMOID", {}, [NAN, 1, 0]),
        ("SOFTPLUS", {"Steepness": 1}, [NAN, INF, 0]),
        ("SOFTSIGN", {}, [NAN, NAN, NAN]),
        ("SWISH", {"SigmoidInputScale": 1}, [NAN, INF, NAN]),
        ("TANH", {}, [NAN, 1, -1]),
        ("THRESHOLDED_RELU", {"Alpha": 1}, [NAN, INF, 0]),
    ],
)
def test_nan_and_infinities(name: str, attributes: dict[str, float], expected: list[float]) -> None:
    found = answer(name, np.array([NAN, INF, -INF]), **attributes)
    np.testing.assert_array_equal(found.value, expected)
    assert found.defined is None or np.all(found.defined[1:])  # the judge looks at them


def test_no_overflow_or_cancellation_on_the_way() -> None:
    assert values("SOFTPLUS", [1000, -50], Steepness=1) == pytest.approx([1000, math.exp(-50)], rel=1e-12)
    assert values("TANH", [-1e30, 1e-10]) == [-1, 1e-10]
    assert values("SIGMOID", [-700, 1e30]) == pytest.approx([math.exp(-700), 1], rel=1e-12)
    assert values("ELU", [-1e-12, -1e30], Alpha=1) == pytest.approx([-1e-12, -1], rel=1e-9)
    assert values("GELU", [-8.0]) == pytest.approx(
        [-4.976768e-15], rel=1e-6
    )  # from the expansion -phi(x) * (1 - 1/x^2 + 3/x^4 - ...)


def test_attributes_are_float32() -> None:
    assert values("LEAKY_RELU", [-1], Alpha=0.1) == [-float(np.float32(0.1))]
    assert values("SHRINK", [float(np.float16(0.3))], Bias=0, Threshold=0.3) == [float(np.float16(0.3))]


def test_softplus_is_undefined_only_where_its_argument_overflows() -> None:
    found = answer("SOFTPLUS", np.array([1e38, 2e38, INF]), Steepness=2.5)
    assert found.defined is not None
    assert found.defined.tolist() == [True, False, True]


# Two inputs, and integers


def test_relu_grad_stops_at_zero_and_nan() -> None:
    x, gradient = np.array([1, 0.0, -0.0, -1, NAN, 1e-45]), np.array([NAN, 2, 2, NAN, 2, 3])
    np.testing.assert_array_equal(answer("RELU_GRAD", x, gradient).value, [NAN, 0, 0, 0, 0, 3])


def test_parameterized_relu() -> None:
    found = answer("PARAMETERIZED_RELU", np.array([2.0, 0.0, -2.0, -0.0, -1.0]), np.array([INF, NAN, 0.25, NAN, -INF])).value
    np.testing.assert_array_equal(found, [2, 0, -0.5, 0, INF])
    assert np.signbit(found[3])


@pytest.mark.parametrize("name", ["int8", "int16", "int32"])
def test_a_product_of_integers_wraps(name: str) -> None:
    low, high = np.iinfo(name).min, np.iinfo(name).max
    x, slope = np.array([low, low, -3, high], name), np.array([-1, 2, high, high], name)
    found = answer("PARAMETERIZED_RELU", x, slope).value
    assert found.dtype == x.dtype
    assert found.tolist() == [low, 0, low + 3, high]


def test_relu_of_integers() -> None:
    assert answer("RELU", np.array([-128, -1, 0, 1, 127], np.int8)).value.tolist() == [0, 0, 0, 1, 127]


@pytest.mark.parametrize(
    ("name", "bias", "threshold", "x", "expected"),
    [
        ("int32", 1.5, 2.5, [2, 3, -3, 4, -4, 5], [0, 2, -2, 2, -2, 4]),  # halves to even
        ("int8", 300, 1, [1, 2, -2, 127, -128], [0, -128, 127, -128, 127]),
        ("uint8", 3, 0.5, [0, 1, 5, 255], [0, 0, 2, 252]),
        ("uint16", -2, 1.5, [1, 2, 65534], [0, 4, 65535]),
    ],
)
def test_shrink_of_integers(name: str, bias: float, threshold: float, x: list[int], expected: list[int]) -> None:
    found = answer("SHRINK", np.array(x, name), Bias=bias, Threshold=threshold).value
    assert found.dtype == name
    assert found.tolist() == expected


def test_shrink_of_a_negative_threshold_takes_the_first_condition() -> None:
    assert values("SHRINK", [-2, -1, 0, 1], Bias=0.25, Threshold=-1) == [-1.75, -0.75, -0.25, 0.75]


# What an implementation may be off by

ONE, HALF = np.float32(1), np.float32(0.5)
erf = np.vectorize(math.erf, otypes=[np.float32])


def stable_softplus(x: Array, steepness: float) -> Array:
    y: Array = x * np.float32(steepness)
    return (np.maximum(y, 0) + np.log(ONE + np.exp(-np.abs(y)))) / np.float32(steepness)


def judged(name: str, x: Array, actual: Array, **attributes: float) -> bool:
    data_type = {"float32": "FLOAT32", "float16": "FLOAT16"}[x.dtype.name]
    return judge(actual, answer(name, x, **attributes), load(f"ACTIVATION_{name}").tolerance, data_type, STRICT).ok


GRID = np.concatenate([np.linspace(-12, 12, 2001), np.geomspace(1e-30, 1e-2, 200), -np.geomspace(1e-30, 1e-2, 200)]).astype(
    np.float32
)
FLOAT32_FORMULAS: list[tuple[str, dict[str, float], Callable[[Array], Array], Callable[[Array], Array]]] = [
    # What single precision gives for the page's formula, and something that is subtly wrong.
    ("ELU", {"Alpha": 1}, lambda x: np.where(x >= 0, x, np.exp(x) - ONE), lambda x: np.where(x >= 0, x, np.exp(x * (ONE + ONE / 2**17)) - ONE)),
    ("SIGMOID", {}, lambda x: ONE / (ONE + np.exp(-x)), lambda x: HALF + HALF * np.tanh(x / 2)),
    ("TANH", {}, lambda x: (ONE - np.exp(-2 * x)) / (ONE + np.exp(-2 * x)), lambda x: np.tanh(x) * (ONE + ONE / 2**17)),
    ("GELU", {}, lambda x: HALF * x * (ONE + erf(x * np.float32(math.sqrt(0.5)))), lambda x: HALF * x * (ONE + np.tanh(np.float32(0.7978846) * (x + np.float32(0.044715) * x**3)))),
    ("SOFTPLUS", {"Steepness": 2.5}, lambda x: stable_softplus(x, 2.5), lambda x: np.where(x > 4, x, stable_softplus(x, 2.5))),
    ("HARD_SIGMOID", {"Alpha": 0.2, "Beta": 0.5}, lambda x: np.clip(np.float32(0.2) * x + HALF, 0, 1), lambda x: np.clip(np.float32(np.float16(0.2)) * x + HALF, 0, 1)),
    ("LEAKY_RELU", {"Alpha": 2.5}, lambda x: np.where(x >= 0, x, np.float32(2.5) * x), lambda x: np.maximum(x, np.float32(2.5) * x)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "attributes", "right", "wrong"), FLOAT32_FORMULAS, ids=[row[0] for row in FLOAT32_FORMULAS])
def test_single_precision_passes_and_a_shortcut_does_not(
    name: str, attributes: dict[str, float], right: Callable[[Array], Array], wrong: Callable[[Array], Array]
) -> None:
    assert judged(name, GRID, right(GRID).astype(np.float32), **attributes)
    assert not judged(name, GRID, wrong(GRID).astype(np.float32), **attributes)


def test_the_right_branch_has_no_slack() -> None:
    x = np.array([1e-10, 0.5], np.float32)
    assert judged("ELU", x, x, Alpha=1)
    assert not judged("ELU", x, np.array([2e-10, 0.5], np.float32), Alpha=1)


def test_a_zero_of_relu_may_have_either_sign_and_nothing_more() -> None:
    x = np.array([-0.0, 0.0, -1.0], np.float32)
    tolerance = load("ACTIVATION_RELU").tolerance
    for actual, passes in (([-0.0, -0.0, 0.0], True), ([0.0, 0.0, -0.0], False), ([1e-45, 0.0, 0.0], False)):
        found = judge(np.array(actual, np.float32), answer("RELU", x), tolerance, "FLOAT32", STRICT, checks=("zero-sign",))
        assert found.ok is passes
