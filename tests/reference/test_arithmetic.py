"""The reference of sums, products, quotients, remainders, means, extrema, signs and absolute values, against exact arithmetic and literal numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import copysign, fmod, inf, isnan, nan
from typing import Any

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype

INTEGERS = ("INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")
SIGNED = INTEGERS[:4]


def _answer(name: str, data_type: str, *columns: list[Any], **attributes: object) -> Answer:
    tensors = ("ATensor", "BTensor") if len(columns) == 2 else ("InputTensor",)
    desc = TensorDesc(data_type, (len(columns[0]),))
    fields = {**dict.fromkeys((*tensors, "OutputTensor"), desc), **attributes}
    arrays = {tensor: np.array(column, numpy_dtype(data_type)) for tensor, column in zip(tensors, columns, strict=True)}
    return compute(OperatorDesc(f"ELEMENT_WISE_{name}", fields), arrays)["OutputTensor"]


def _ends(data_type: str) -> tuple[int, int]:
    info = np.iinfo(numpy_dtype(data_type))
    return int(info.min), int(info.max)


def _wrapped(value: int, data_type: str) -> int:
    low, high = _ends(data_type)
    return (value - low) % (high - low + 1) + low


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _pairs(data_type: str) -> list[tuple[int, int]]:
    low, high = _ends(data_type)
    values = {low, low + 1, -7, -3, -2, -1, 0, 1, 2, 3, 6, 7, high // 2, high // 2 + 1, high - 1, high}
    fitting = sorted(value for value in values if low <= value <= high)
    return list(product(fitting, fitting))


EXACT: dict[str, Callable[[int, int], int]] = {
    "ADD": lambda a, b: a + b,
    "SUBTRACT": lambda a, b: a - b,
    "MULTIPLY": lambda a, b: a * b,
    "DIFFERENCE_SQUARE": lambda a, b: (a - b) ** 2,
    "MAX": max,
    "MIN": min,
}


@pytest.mark.parametrize("data_type", INTEGERS)
@pytest.mark.parametrize("name", EXACT)
def test_integers_wrap_around_in_every_width(name: str, data_type: str) -> None:
    pairs = _pairs(data_type)
    answer = _answer(name, data_type, [a for a, _ in pairs], [b for _, b in pairs])
    assert answer.value.tolist() == [_wrapped(EXACT[name](a, b), data_type) for a, b in pairs]
    assert answer.defined is None


QUOTIENTS: dict[str, Callable[[int, int], int]] = {
    "DIVIDE": _truncated,
    "MODULUS_FLOOR": lambda a, b: a % b,
    "MODULUS_TRUNCATE": lambda a, b: a - b * _truncated(a, b),
}


@pytest.mark.parametrize("data_type", INTEGERS)
@pytest.mark.parametrize("name", QUOTIENTS)
def test_integer_quotients_and_remainders(name: str, data_type: str) -> None:
    pairs, (low, high) = _pairs(data_type), _ends(data_type)
    answer = _answer(name, data_type, [a for a, _ in pairs], [b for _, b in pairs])
    for (a, b), value, defined in zip(pairs, answer.value.tolist(), answer.defined.tolist(), strict=True):
        expected = QUOTIENTS[name](a, b) if b else None
        held = expected is not None and low <= expected <= high
        assert (defined, value if held else None) == (held, expected if held else None), (a, b)


def test_only_the_quotient_that_no_type_holds_is_undefined() -> None:
    assert _answer("DIVIDE", "INT8", [-128, -128, -127, 127, 5], [-1, 1, -1, -1, 0]).defined.tolist() == [
        False,
        True,
        True,
        True,
        False,
    ]
    assert _answer("MODULUS_FLOOR", "INT8", [-128, 5], [-1, 0]).defined.tolist() == [True, False]


@pytest.mark.parametrize("data_type", ["INT32", "UINT32"])
def test_the_mean_of_integers_is_truncated_and_undefined_where_the_sum_overflows(data_type: str) -> None:
    pairs, (low, high) = _pairs(data_type), _ends(data_type)
    answer = _answer("MEAN", data_type, [a for a, _ in pairs], [b for _, b in pairs])
    for (a, b), value, defined in zip(pairs, answer.value.tolist(), answer.defined.tolist(), strict=True):
        assert defined == (low <= a + b <= high), (a, b)
        assert value == _truncated(_wrapped(a + b, data_type), 2), (a, b)  # what DirectML.dll gives


def test_the_mean_of_large_numbers_is_left_open_in_float32_and_known_in_float16() -> None:
    large = float(np.finfo(np.float32).max)
    answer = _answer("MEAN", "FLOAT32", [large, large, large, inf], [large, 0, -large, 1])
    assert answer.defined.tolist() == [False, True, True, True]
    assert answer.value[1:].tolist() == [large / 2, 0, inf]
    half = _answer("MEAN", "FLOAT16", [65504, 1], [65504, 2])
    assert half.defined.all()
    assert half.value.tolist() == [65504, 1.5]


def test_real_numbers_are_not_rounded() -> None:
    third = float(np.float32(1 / 3))
    for name, expected in {
        "ADD": Fraction(1) + Fraction(third),
        "SUBTRACT": Fraction(1) - Fraction(third),
        "MULTIPLY": Fraction(third) * Fraction(third),
        "DIFFERENCE_SQUARE": (Fraction(1) - Fraction(third)) ** 2,
        "MEAN": (Fraction(1) + Fraction(third)) / 2,
    }.items():
        a = third if name == "MULTIPLY" else 1.0
        assert Fraction(float(_answer(name, "FLOAT32", [a], [third]).value[0])) == expected, name
    assert float(_answer("DIVIDE", "FLOAT16", [1], [3]).value[0]) == 1 / 3


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("ADD", [-0.0, 0.0, inf, inf, nan], [-0.0, -0.0, -inf, 1, 1], [-0.0, 0.0, nan, inf, nan]),
        ("SUBTRACT", [-0.0, 0.0, inf, 1], [0.0, 0.0, inf, inf], [-0.0, 0.0, nan, -inf]),
        ("MULTIPLY", [-0.0, -1, 0.0, inf], [1, 0.0, inf, -2], [-0.0, -0.0, nan, -inf]),
        ("DIVIDE", [1, -1, 1, 0.0, inf, -1], [0.0, 0.0, -0.0, 0.0, inf, inf], [inf, -inf, -inf, nan, nan, -0.0]),
        ("MAX", [nan, 1, nan, -inf], [1, nan, nan, nan], [1, 1, nan, -inf]),
        ("MIN", [nan, 1, nan, inf], [1, nan, nan, nan], [1, 1, nan, inf]),
        ("MODULUS_FLOOR", [1, inf, 1, -1, -0.0, -4], [inf, 1, 0.0, 1, 1, 2], [nan, nan, nan, 0.0, 0.0, 0.0]),
        ("MODULUS_TRUNCATE", [1, inf, 1, -1, -0.0, -4], [inf, 1, 0.0, 1, 1, 2], [nan, nan, nan, 0.0, 0.0, 0.0]),
    ],
)
@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16"])
def test_values_that_are_no_numbers(name: str, a: list[float], b: list[float], expected: list[float], data_type: str) -> None:
    answer = _answer(name, data_type, a, b)
    assert list(map(_shown, answer.value.tolist())) == list(map(_shown, expected))
    assert answer.defined is None or answer.defined.all()


def _shown(value: float) -> tuple[str, float]:
    """A value with the sign of its zero; one NaN is like another."""
    return ("nan", 0.0) if isnan(value) else (repr(value + 0.0), copysign(1, value))


@pytest.mark.parametrize("name", ["MODULUS_FLOOR", "MODULUS_TRUNCATE"])
def test_remainders_of_real_numbers(name: str) -> None:
    pairs = [(a, b) for a in (7.5, -7.5, 6.25, -0.25, 100.0, -1000.5) for b in (2.0, -2.0, 3.25, -3.25, 1000.0)]
    answer = _answer(name, "FLOAT32", [a for a, _ in pairs], [b for _, b in pairs])
    exact = {"MODULUS_FLOOR": lambda a, b: a % b, "MODULUS_TRUNCATE": fmod}[name]
    assert answer.value.tolist() == [exact(a, b) for a, b in pairs]
    assert answer.defined.all()
    whole = [abs(a - exact(a, b)) for a, b in pairs]
    np.testing.assert_allclose(answer.slack, [2.0**-23 * size for size in whole])


@pytest.mark.parametrize(
    ("a", "b", "defined"),
    [
        (6.0, 3.0, True),  # an integer, and nothing remains
        (2.0**21 * 3, 3.0, False),  # too large a quotient
        (3000003.0, 3.0, True),
        (float(np.nextafter(np.float32(3e6), np.float32(inf))), 3.0, False),  # just above an integer
        (float(np.nextafter(np.float32(6), np.float32(0))), 3.0, False),
        (-1e-30, 1.0, True),  # it is below zero, however little
        (-1e-30, 1e30, False),  # the quotient underflows
        (-3e38, 2e38, False),  # 2 * 2e38 overflows
    ],
)
def test_remainders_that_single_precision_cannot_tell_are_left_open(a: float, b: float, defined: bool) -> None:
    assert _answer("MODULUS_FLOOR", "FLOAT32", [a], [b]).defined.tolist() == [defined]


@pytest.mark.parametrize("data_type", SIGNED)
@pytest.mark.parametrize("name", ["NEGATE", "ABS"])
def test_the_least_integer_is_left_open(name: str, data_type: str) -> None:
    low, high = _ends(data_type)
    answer = _answer(name, data_type, [low, low + 1, -1, 0, high])
    assert answer.defined.tolist() == [False, True, True, True, True]
    least = low if data_type in ("INT64", "INT32") else high  # what DirectML.dll gives
    assert answer.value.tolist() == [least, high, 1, 0, -high if name == "NEGATE" else high]


@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16"])
def test_signs_of_real_numbers(data_type: str) -> None:
    x = [2.5, -2.5, 0.0, -0.0, inf, -inf, nan]
    for name, expected in {
        "NEGATE": [-2.5, 2.5, -0.0, 0.0, -inf, inf, nan],
        "ABS": [2.5, 2.5, 0.0, 0.0, inf, inf, nan],
        "SIGN": [1.0, -1.0, 0.0, 0.0, 1.0, -1.0, 0.0],
    }.items():
        assert list(map(_shown, _answer(name, data_type, x).value.tolist())) == list(map(_shown, expected)), name


@pytest.mark.parametrize("data_type", INTEGERS)
def test_signs_of_integers(data_type: str) -> None:
    low, high = _ends(data_type)
    assert _answer("SIGN", data_type, [low, 0, 1, high]).value.tolist() == [-1 if low else 0, 0, 1, 1]


def test_the_absolute_value_of_a_scaled_integer() -> None:
    answer = _answer("ABS", "INT8", [-5, -2, 0, 1, 5, 100], ScaleBias=ScaleBias(2.5, -0.75))
    assert answer.value.tolist() == [13.25, 5.75, 0.75, 1.75, 11.75, 249.25]
    assert answer.stored_value.tolist() == [13, 5, 0, 1, 11, 127]
    assert answer.defined.tolist() == [True, True, True, True, True, False]


def test_the_absolute_value_of_a_scaled_number() -> None:
    answer = _answer("ABS", "FLOAT32", [1, -1, 1.5], ScaleBias=ScaleBias(2, -3))
    assert answer.value.tolist() == [1, 5, 0]
    assert (answer.slack > 0).all()
    assert (answer.slack < 2e-6).all()


def test_a_sum_is_activated_unrounded_and_may_be_rounded() -> None:
    linear = OperatorDesc("ACTIVATION_LINEAR", {"InputTensor": None, "OutputTensor": None, "Alpha": 2.0, "Beta": 1.0})
    for data_type, roundoff in {"FLOAT32": 2.0**-23, "FLOAT16": 2.0**-10}.items():
        answer = _answer("ADD1", data_type, [2048, -2], [1, 3], FusedActivation=linear)
        assert answer.value.tolist() == [4099, 3]
        assert (answer.slack >= [2 * 2049 * roundoff, 2 * roundoff]).all()
        assert (answer.slack < [2 * 2049 * roundoff + 0.01, 2 * roundoff + 0.01]).all()
    plain = _answer("ADD1", "FLOAT16", [2048, 60000], [1, 60000], FusedActivation=None)
    assert plain.value.tolist() == [2049, 120000]
    assert plain.slack is None


def test_a_sum_beyond_float16_leaves_its_activation_open() -> None:
    relu = OperatorDesc("ACTIVATION_RELU", {"InputTensor": None, "OutputTensor": None})
    answer = _answer("ADD1", "FLOAT16", [60000, 60000], [60000, 1], FusedActivation=relu)
    assert answer.defined.tolist() == [False, True]


@pytest.mark.parametrize("count", range(1, 20))
@pytest.mark.parametrize("name", ["MAX", "MIN"])
def test_a_signalling_nan_beside_a_number_counts_as_nothing_wherever_it_stands(name: str, count: int) -> None:
    tensor = TensorDesc("FLOAT16", (count,))
    a, b = np.full(count, 0x7C01, np.uint16).view(np.float16), np.full(count, 2, np.float16)
    desc = OperatorDesc(f"ELEMENT_WISE_{name}", dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), tensor))
    assert compute(desc, {"ATensor": a, "BTensor": b})["OutputTensor"].value.tolist() == [2] * count
