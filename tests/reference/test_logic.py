"""The reference of comparisons, logic, selection and rounding up or down, against Python's own numbers and operators."""

import math
import operator
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dmlcts.generator.values.special_sets import special_values
from dmlcts.reference.answer import Answer, host
from dmlcts.reference.registry import compute
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.desc import OperatorDesc, ScaleBias, TensorDesc
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype

INTEGERS = ("INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8")
FLOATS = ("FLOAT32", "FLOAT16")
ANY = ("FLOAT64", *FLOATS, *INTEGERS)

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "EQUALS": operator.eq,
    "GREATER_THAN": operator.gt,
    "GREATER_THAN_OR_EQUAL": operator.ge,
    "LESS_THAN": operator.lt,
    "LESS_THAN_OR_EQUAL": operator.le,
}


def answer(name: str, output: str, inputs: dict[str, np.ndarray], **attributes: object) -> Answer:
    types = {tensor: next(n for n in ANY if numpy_dtype(n) == array.dtype) for tensor, array in inputs.items()}
    tensors = {tensor: TensorDesc(types[tensor], array.shape) for tensor, array in inputs.items()}
    tensors["OutputTensor"] = TensorDesc(output, next(iter(inputs.values())).shape)
    return compute(OperatorDesc(f"ELEMENT_WISE_{name}", {**tensors, **attributes}), inputs)["OutputTensor"]


def stored(name: str, output: str, inputs: dict[str, np.ndarray], **attributes: object) -> list[Any]:
    return list(host(answer(name, output, inputs, **attributes).stored_value).tolist())


def pairs(values: np.ndarray) -> dict[str, np.ndarray]:
    return {"ATensor": np.repeat(values, values.size), "BTensor": np.tile(values, values.size)}


# Comparisons


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_compare_as_pythons(name: str, kind: str) -> None:
    extra = [2**53, 2**53 + 1] if data_type(kind).bits == 64 else []
    found = pairs(np.concatenate([special_values("integer-ends", kind), np.array(extra, numpy_dtype(kind))]))
    a, b = (array.tolist() for array in found.values())
    assert stored(f"LOGICAL_{name}", "UINT8", found) == [int(COMPARISONS[name](x, y)) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("kind", FLOATS)
def test_floats_compare_as_pythons(name: str, kind: str) -> None:
    sets = ("zeros", "ones", "denormals", "infinities", "nans", "large-integers")
    found = pairs(np.concatenate([special_values(entry, kind) for entry in sets]))
    with np.errstate(invalid="ignore"):  # of signalling NaN
        a, b = (array.astype(np.float64).tolist() for array in found.values())  # Python's floats hold them all
    assert stored(f"LOGICAL_{name}", "UINT32", found) == [int(COMPARISONS[name](x, y)) for x, y in zip(a, b, strict=True)]


@pytest.mark.parametrize(("name", "expected"), [("EQUALS", 0), ("GREATER_THAN_OR_EQUAL", 0), ("LESS_THAN_OR_EQUAL", 0)])
def test_nan_is_not_equal_to_itself(name: str, expected: int) -> None:
    x = np.array([math.nan], np.float32)
    assert stored(f"LOGICAL_{name}", "UINT8", {"ATensor": x, "BTensor": x}) == [expected]


# Logic


@pytest.mark.parametrize("kind", ["UINT32", "UINT8"])
@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("AND", lambda a, b: a and b),
        ("OR", lambda a, b: a or b),
        ("XOR", lambda a, b: a is not b),
    ],
)
def test_whatever_is_not_zero_is_true(name: str, function: Callable[[bool, bool], bool], kind: str) -> None:
    found = pairs(special_values("truths", kind))
    a, b = ([bool(x) for x in array.tolist()] for array in found.values())
    assert stored(f"LOGICAL_{name}", kind, found) == [int(function(x, y)) for x, y in zip(a, b, strict=True)]


def test_not() -> None:
    x = np.array([0, 1, 2, 0x100, 0x80000000, 0xFFFFFFFF], np.uint32)
    assert stored("LOGICAL_NOT", "UINT32", {"InputTensor": x}) == [1, 0, 0, 0, 0, 0]


# Tests of single elements


@pytest.mark.parametrize("name", ["IS_NAN", "EITHER", "POSITIVE", "NEGATIVE"])
def test_nan_and_infinity_by_their_bits(name: str) -> None:
    patterns = np.arange(1 << 16, dtype=np.uint16)
    x = {"InputTensor": patterns.view(np.float16)}
    expected = {
        "IS_NAN": [int((p & 0x7FFF) > 0x7C00) for p in patterns.tolist()],
        "EITHER": [int(p in (0x7C00, 0xFC00)) for p in patterns.tolist()],
        "POSITIVE": [int(p == 0x7C00) for p in patterns.tolist()],
        "NEGATIVE": [int(p == 0xFC00) for p in patterns.tolist()],
    }
    found = stored("IS_NAN", "UINT8", x) if name == "IS_NAN" else stored("IS_INFINITY", "UINT8", x, InfinityMode=name)
    assert found == expected[name]


# Bits


@pytest.mark.parametrize("kind", ANY)
def test_and_and_not(kind: str) -> None:
    values = np.concatenate([special_values("bit-patterns", kind), special_values("single-bits", kind)])
    found, full = pairs(values), (1 << data_type(kind).bits) - 1
    a, b = ([int(p) for p in array.view(bits_dtype(kind))] for array in found.values())
    both = host(answer("BIT_AND", kind, found).value)
    inverted = host(answer("BIT_NOT", kind, {"InputTensor": values}).value)
    assert both.dtype == inverted.dtype == numpy_dtype(kind)
    assert both.view(bits_dtype(kind)).tolist() == [x & y for x, y in zip(a, b, strict=True)]
    assert inverted.view(bits_dtype(kind)).tolist() == [int(p) ^ full for p in values.view(bits_dtype(kind))]


@pytest.mark.parametrize("kind", ["UINT64", "UINT32", "UINT16", "UINT8"])
def test_shift_left_below_the_width(kind: str) -> None:
    width = data_type(kind).bits
    a = np.repeat(special_values("bit-patterns", kind), width)
    b = np.tile(np.arange(width).astype(numpy_dtype(kind)), a.size // width)
    expected = [(x << k) % (1 << width) for x, k in zip(a.tolist(), b.tolist(), strict=True)]
    assert stored("BIT_SHIFT_LEFT", kind, {"ATensor": a, "BTensor": b}) == expected


def test_shift_left_from_the_width_on() -> None:
    b = np.array([7, 8, 31, 32, 33, 255], np.uint8)
    assert stored("BIT_SHIFT_LEFT", "UINT8", {"ATensor": np.full(6, 0xFF, np.uint8), "BTensor": b}) == [128, 0, 0, 255, 254, 0]


# Selection


@pytest.mark.parametrize("kind", ANY)
def test_if_takes_bits_as_they_are(kind: str) -> None:
    a = np.concatenate([special_values(name, kind) for name in ("nans", "zeros", "denormals", "bit-patterns")])
    b = np.roll(a, 1)
    condition = np.resize(np.array([1, 0, 2, 0, 128, 255], np.uint8), a.size)
    found = host(answer("IF", kind, {"ConditionTensor": condition, "ATensor": a, "BTensor": b}).value)
    assert found.dtype == a.dtype
    wanted = [x if c else y for c, x, y in zip(condition, a.view(bits_dtype(kind)), b.view(bits_dtype(kind)), strict=True)]
    assert found.view(bits_dtype(kind)).tolist() == wanted


def test_identity_keeps_every_bit() -> None:
    x = np.array([0x7F800001, 0xFFFFFFFF, 1, 0x80000000], np.uint32)
    found = host(answer("IDENTITY", "FLOAT32", {"InputTensor": x.view(np.float32)}).value)
    assert found.view(np.uint32).tolist() == x.tolist()


@pytest.mark.parametrize(
    ("kind", "x", "expected"),
    [  # of x * 1.5 + 0.25
        ("INT8", [0, 2, -3, 84, 85, 127, -85, -86, -128], [0, 3, -4, 126, 127, 127, -127, -128, -128]),
        ("UINT8", [0, 3, 170, 171, 255], [0, 4, 255, 255, 255]),
        ("INT32", [1, -1, 2**31 - 1, -(2**31)], [1, -1, 2**31 - 1, -(2**31)]),
    ],
)
def test_identity_of_scaled_integers_saturates(kind: str, x: list[int], expected: list[int]) -> None:
    array = {"InputTensor": np.array(x, numpy_dtype(kind))}
    assert stored("IDENTITY", kind, array, ScaleBias=ScaleBias(1.5, 0.25)) == expected


def test_identity_defines_what_the_type_holds() -> None:
    x = np.array([0, 1, 127, 128, 129, 255], np.uint8)
    found = answer("IDENTITY", "UINT8", {"InputTensor": x}, ScaleBias=ScaleBias(2.0, -3.0))
    assert host(found.defined).tolist() == [False, False, True, True, True, False]  # of -3, -1, 251, 253, 255 and 507
    assert host(found.slack).tolist() == [0.0] * 6  # FLOAT32 holds them all: nothing is rounded


def test_identity_of_scaled_floats_is_exact() -> None:
    x = np.array([1.0, -2.5, 3e4], np.float16)
    found = answer("IDENTITY", "FLOAT16", {"InputTensor": x}, ScaleBias=ScaleBias(0.5, 0.25))
    assert host(found.value).tolist() == [0.75, -1.0, 15000.25]
    assert all(0 < d <= 2.0**-21 * abs(v) for d, v in zip(host(found.slack).tolist(), host(found.value).tolist(), strict=True))


# Up and down


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize(("name", "function"), [("CEIL", math.ceil), ("FLOOR", math.floor)])
def test_ceil_and_floor_as_pythons(name: str, function: Callable[[float], int], kind: str) -> None:
    sets = ("zeros", "ones", "halves", "beside-halves", "beside-integers", "large-integers", "denormals", "magnitudes")
    x = np.concatenate([special_values(entry, kind) for entry in sets])
    assert stored(name, kind, {"InputTensor": x}) == [function(Fraction(value)) for value in x.astype(np.float64).tolist()]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("CEIL", [0.0, -0.0, -0.0, 1.0, -0.0]), ("FLOOR", [0.0, -0.0, -1.0, 0.0, -1.0])],
)
def test_ceil_and_floor_keep_the_sign_of_zero(name: str, expected: list[float]) -> None:
    x = np.array([0.0, -0.0, -0.25, 0.25, -0.75], np.float32)
    found = stored(name, "FLOAT32", {"InputTensor": x})
    assert [struct.pack("d", value) for value in found] == [struct.pack("d", value) for value in expected]


@pytest.mark.parametrize("name", ["CEIL", "FLOOR"])
def test_ceil_and_floor_keep_what_is_no_number(name: str) -> None:
    x = {"InputTensor": np.array([math.inf, -math.inf, math.nan], np.float16)}
    for pair in (None, ScaleBias(2.0, -1.5)):
        found = stored(name, "FLOAT16", x, ScaleBias=pair)
        assert found[:2] == [math.inf, -math.inf]
        assert math.isnan(found[2])


def test_a_scaled_argument_is_open_only_where_it_is_rounded() -> None:
    x = np.array([1.0, 0.25, 3.0], np.float32)
    held = answer("CEIL", "FLOAT32", {"InputTensor": x}, ScaleBias=ScaleBias(2.0, -1.5))
    assert host(held.value).tolist() == [0.5, -1.0, 4.5]
    assert host(held.slack).tolist() == [0.0, 0.0, 0.0]
    assert host(held.stored_value).tolist() == [1.0, -1.0, 5.0]
    x = np.array([3.0, 5.0, 7.0], np.float32)
    rounded = answer("FLOOR", "FLOAT32", {"InputTensor": x}, ScaleBias=ScaleBias(0.1, 0.0))
    assert all(2.0**-25 * v < d < 2.0**-20 * v for d, v in zip(host(rounded.slack), host(rounded.value), strict=True))


def test_a_scaled_result_that_the_type_does_not_hold_is_open() -> None:
    x = np.array([1026.0, 2048.0, 60000.0, 100.0], np.float16)  # 2050.5, 4094.5, 119998.5 and 198.5 before rounding
    found = answer("FLOOR", "FLOAT16", {"InputTensor": x}, ScaleBias=ScaleBias(2.0, -1.5))
    assert host(found.defined).tolist() == [True, True, False, True]
    assert [bool(d >= 2) for d in host(found.slack).tolist()] == [True, True, True, False]
    assert host(found.slack).tolist()[3] == 0.0
