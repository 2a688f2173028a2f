"""The reference of clipping, thresholds and the gradient of clipping, against Python's own integers and fractions."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype

INTEGERS = ("INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")
NAN, INF = math.nan, math.inf


def unary(operator: str, name: str, values: list[Any], **attributes: object) -> Answer:
    x = np.array(values, numpy_dtype(name))
    tensor = TensorDesc(name, x.shape)
    desc = OperatorDesc(operator, {"InputTensor": tensor, "OutputTensor": tensor, **attributes})
    return compute(desc, {"InputTensor": x})["OutputTensor"]


def gradient(name: str, values: list[Any], **attributes: object) -> list[Any]:
    """What passes of gradients 1, 2, 3, ..."""
    x = np.array(values, numpy_dtype(name))
    g = np.arange(1, x.size + 1).astype(x.dtype)
    tensor = TensorDesc(name, x.shape)
    operator = "ELEMENT_WISE_CLIP_GRAD1" if "MinMaxDataType" in attributes else "ELEMENT_WISE_CLIP_GRAD"
    desc = OperatorDesc(
        operator, {"InputTensor": tensor, "InputGradientTensor": tensor, "OutputGradientTensor": tensor, **attributes}
    )
    answer = compute(desc, {"InputTensor": x, "InputGradientTensor": g})["OutputGradientTensor"]
    assert answer.value.dtype == x.dtype
    return answer.value.tolist()


def ends(name: str) -> tuple[int, int, list[int]]:
    """The least and the largest value of an integer type, and values at which things go wrong."""
    info = np.iinfo(numpy_dtype(name))
    low, high = int(info.min), int(info.max)
    near = [low, low + 1, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 2**53, 2**53 + 1, high - 1, high]
    return low, high, [value for value in near if low <= value <= high]


# Limits


@pytest.mark.parametrize(("operator", "expected"), [("ELEMENT_WISE_CLIP", -2), ("ELEMENT_WISE_CLIP1", 2)])
def test_the_pages_of_clip_and_clip1_take_crossed_bounds_in_different_order(operator: str, expected: float) -> None:
    more = {"MinMaxDataType": "FLOAT32"} if operator.endswith("1") else {}
    found = unary(operator, "FLOAT32", [-5, 0, 5], ScaleBias=None, **more, Min=2, Max=-2)
    assert found.value.tolist() == [expected] * 3


@pytest.mark.parametrize("operator", ["ELEMENT_WISE_CLIP", "ELEMENT_WISE_CLIP1"])
@pytest.mark.parametrize(
    ("low", "high", "x", "expected"),
    [
        (-2, 2.5, [-INF, -3, -2, 0.25, 2.5, 3, INF], [-2, -2, -2, 0.25, 2.5, 2.5, 2.5]),
        (-INF, INF, [-INF, -1e-40, 3e38, INF], [-INF, -1e-40, 3e38, INF]),
        (-2, 2, [NAN], [2]),
        (-2, NAN, [-3, 7], [-2, 7]),
        (NAN, 2, [-3, 7], [-3, 2]),
    ],
)
def test_clip_of_floats(operator: str, low: float, high: float, x: list[float], expected: list[float]) -> None:
    more = {"MinMaxDataType": "FLOAT32"} if operator.endswith("1") else {}
    found = unary(operator, "FLOAT32", x, ScaleBias=None, **more, Min=low, Max=high)
    assert found.slack is None
    assert found.value.tolist() == [float(np.float32(value)) for value in expected]


def test_clip_holds_its_bounds_as_floats() -> None:
    assert unary("ELEMENT_WISE_CLIP", "FLOAT32", [0, 1], ScaleBias=None, Min=0.1, Max=0.7).value.tolist() == [
        float(np.float32(0.1)),
        float(np.float32(0.7)),
    ]


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize(("low", "high"), [(-3, 4), (-3.75, 4.75), (0.5, 2.5), (-1e30, 1e30), (-INF, 3), (2, INF), (1e30, 2e30)])
def test_clip_of_integers(name: str, low: float, high: float) -> None:
    least, most, x = ends(name)

    def right(value: int) -> int:
        real = max(Fraction(low) if math.isfinite(low) else least, min(value, Fraction(high) if math.isfinite(high) else most))
        return min(max(math.trunc(real), least), most)

    found = unary("ELEMENT_WISE_CLIP", name, x, ScaleBias=None, Min=low, Max=high).value
    assert found.dtype == numpy_dtype(name)
    assert found.tolist() == [right(value) for value in x]


@pytest.mark.parametrize("name", INTEGERS)
def test_clip1_keeps_every_integer(name: str) -> None:
    least, most, x = ends(name)
    found = unary("ELEMENT_WISE_CLIP1", name, x, ScaleBias=None, MinMaxDataType=name, Min=least + 1, Max=most - 1)
    assert found.value.tolist() == [min(max(value, least + 1), most - 1) for value in x]


def test_threshold() -> None:
    found = unary("ELEMENT_WISE_THRESHOLD", "FLOAT32", [-INF, -3, 2.5, 3, INF, NAN], ScaleBias=None, Min=2.5)
    assert found.value.tolist() == [2.5, 2.5, 2.5, 3, INF, 2.5]
    assert unary("ELEMENT_WISE_THRESHOLD", "INT8", [-128, -3, 2, 3], ScaleBias=None, Min=2.5).value.tolist() == [2, 2, 2, 3]
    assert unary("ELEMENT_WISE_THRESHOLD", "UINT8", [0, 255], ScaleBias=None, Min=-7).value.tolist() == [0, 255]


# ScaleBias


def test_scaled_floats_have_slack_between_the_bounds_alone() -> None:
    found = unary("ELEMENT_WISE_CLIP", "FLOAT32", [-9, 1.1, 9, INF, -INF, NAN], ScaleBias=ScaleBias(3, -5), Min=-2, Max=7)
    inner = float(np.float32(1.1)) * 3 - 5
    assert found.value.tolist() == [-2, inner, 7, 7, -2, 7]
    assert found.slack.tolist()[0] == found.slack.tolist()[2] == found.slack.tolist()[3] == found.slack.tolist()[4] == 0
    assert 0 < found.slack[1] < 1e-6


def test_scaled_integers_are_exact_where_float32_is() -> None:
    found = unary("ELEMENT_WISE_CLIP", "INT32", [-3, 0, 3, 16777217, 2**31 - 1], ScaleBias=ScaleBias(2, -1.5), Min=-INF, Max=INF)
    assert found.value.tolist()[:3] == [-7.5, -1.5, 4.5]
    assert found.result.tolist() == [-7, -1, 4, 33554432, 2**31 - 1]  # truncated, saturated
    assert found.defined.tolist() == [True] * 4 + [False]  # nobody says what becomes of 2^32 - 3.5
    assert found.slack.tolist()[:3] == [0, 0, 0]
    assert 2 <= found.slack[3] < 20


def test_scaled_integers_are_limited_after_it() -> None:
    found = unary("ELEMENT_WISE_CLIP1", "UINT8", [0, 1, 3, 200], ScaleBias=ScaleBias(3, -5), MinMaxDataType="UINT8", Min=2, Max=250)
    assert found.result.tolist() == [2, 2, 4, 250]


# The gradient


def test_gradient_is_zero_at_the_bounds() -> None:
    below, above = float(np.nextafter(np.float32(-2), np.float32(0))), float(np.nextafter(np.float32(2), np.float32(0)))
    assert gradient("FLOAT32", [-3, -2, below, 0, above, 2, INF], Min=-2, Max=2) == [0, 0, 3, 4, 5, 0, 0]
    assert gradient("FLOAT32", [NAN], Min=-2, Max=2) == [1]  # as the page's formula has it


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize(("low", "high"), [(-3, 4), (-3.5, 4.5), (1.5, 1e30), (-INF, INF), (3, 1), (-1e30, 2)])
def test_gradient_of_integers(name: str, low: float, high: float) -> None:
    _, _, x = ends(name)
    expected = [0 if value <= low or value >= high else index + 1 for index, value in enumerate(x)]  # Python compares exactly
    assert gradient(name, x, Min=low, Max=high) == expected


@pytest.mark.parametrize("name", INTEGERS)
def test_gradient1_keeps_every_integer(name: str) -> None:
    least, most, x = ends(name)
    expected = [0 if value <= least + 1 or value >= most - 1 else index + 1 for index, value in enumerate(x)]
    assert gradient(name, x, MinMaxDataType=name, Min=least + 1, Max=most - 1) == expected


@pytest.mark.parametrize("count", range(1, 20))
def test_a_signalling_nan_counts_as_nothing_wherever_it_stands(count: int) -> None:
    x = np.full(count, 0x7C01, np.uint16).view(np.float16)
    tensor = TensorDesc("FLOAT16", x.shape)
    fields = {"InputTensor": tensor, "OutputTensor": tensor, "ScaleBias": None, "Min": 2, "Max": 7}
    found = compute(OperatorDesc("ELEMENT_WISE_CLIP", fields), {"InputTensor": x})["OutputTensor"]
    assert found.value.tolist() == [7] * count
