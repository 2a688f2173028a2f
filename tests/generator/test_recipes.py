"""Recipes turn bytes into values of every data type, and a case's data are the same bytes everywhere."""

import math
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dmlcts.generator.case.case import REJECTION, Data
from dmlcts.generator.case.inputs import array, inputs, overlaps, recipe_array, recipe_bytes, same_where_broadcast, stream
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.suite.suite import find_case, operator_cases
from dmlcts.generator.values.layouts import FURTHER, INPUT_LAYOUTS, laid_out
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.spec.model.abi import abi, data_type
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype
from dmlcts.spec.model.operator import Literal

TYPES = tuple(abi().data_types)
FLOATS = ("FLOAT16", "FLOAT32", "FLOAT64")


def made(recipe: str, data_type_name: str, raw: bytes, **parameters: Any) -> list[Any]:
    """What a recipe makes of raw bytes."""
    count = len(raw) // RECIPES[recipe].width(data_type_name)
    values = recipe_array(recipe, parameters, TensorDesc(data_type_name, (count,)), raw)
    assert values.dtype == numpy_dtype(data_type_name)
    return [value.item() for value in values]


# Streams and data are pinned: whoever changes them changes what every case tests, and old results are not comparable any more.


@pytest.mark.parametrize(
    ("seed", "first"),
    [
        ("", "46b9dd2b0ba88d13"),  # SHAKE-256 of nothing, as FIPS 202's test vectors have it
        ("x", "c851121abe809597"),
        ("ELEMENT_WISE_BIT_OR/UINT8/4d/ATensor", "c74cfe2c7b1a527f"),
    ],
)
def test_stream_is_shake_256_of_the_seed(seed: str, first: str) -> None:
    assert stream(seed, 8).hex() == first
    assert stream(seed, 100)[:8].hex() == first
    assert len(stream(seed, 100)) == 100


def test_a_stream_begins_again_after_a_prime_number_of_bytes() -> None:
    period = 65_521
    long = stream("x", 3 * period)
    assert long == 3 * long[:period]
    assert stream("x", period + 1) == long[: period + 1]
    elements = np.frombuffer(stream("x", 1 << 17), np.uint32)
    assert all((elements[: -(1 << shift)] == elements[1 << shift :]).mean() < 0.01 for shift in range(15))


OR_A = [
    199, 76, 254, 44, 123, 26, 82, 127, 32, 90, 107, 41, 48, 202, 239,
    195, 87, 185, 244, 26, 113, 58, 38, 64, 139, 16, 141, 112, 74, 187,
]  # fmt: skip
OR_B = [
    50, 182, 56, 41, 149, 128, 89, 206, 103, 53, 60, 194, 173, 177, 200,
    95, 61, 216, 101, 178, 2, 32, 193, 229, 13, 20, 152, 143, 54, 1,
]  # fmt: skip


@pytest.mark.parametrize(
    ("case", "tensor", "sizes", "values"),
    [
        ("ELEMENT_WISE_BIT_OR/UINT8/4d", "ATensor", (5, 1, 3, 2), OR_A),
        ("ELEMENT_WISE_BIT_OR/UINT8/4d", "BTensor", (5, 1, 3, 2), OR_B),
        ("ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT32/4d", "ATensor", (5, 1, 3, 2), [4272232760, 215196392, 2363075066]),
        ("ELEMENT_WISE_BIT_SHIFT_RIGHT/UINT32/4d", "BTensor", (5, 1, 3, 2), [3, 4, 2, 30, 0, 7]),
        ("ELEMENT_WISE_ROUND/FLOAT16/4d/HALVES_TO_NEAREST_EVEN", "InputTensor", (5, 1, 3, 2), [-190.75, -339.25, -382.0]),
        ("ELEMENT_WISE_ROUND/FLOAT32/4d/HALVES_TO_NEAREST_EVEN", "InputTensor", (5, 1, 3, 2), [-367.5, 70.25, 135.75]),
    ],
)
def test_data_of_a_case_are_pinned(case: str, tensor: str, sizes: tuple[int, ...], values: list[float]) -> None:
    found = inputs(find_case(case))[tensor]
    assert found.shape == sizes
    assert found.ravel().tolist()[: len(values)] == values


def test_data_are_the_same_in_every_process() -> None:
    """Nothing hangs on the order of a set of strings, which differs between processes: xdist's workers must see the same cases."""
    code = (
        "import json, hashlib; from dmlcts.generator.suite.suite import operator_cases; from dmlcts.generator.case.case import to_json;"
        "cases = [to_json(c) for n in ('ELEMENT_WISE_BIT_OR', 'ELEMENT_WISE_ROUND') for c in operator_cases(n)];"
        "print(hashlib.sha256(json.dumps(cases).encode()).hexdigest())"
    )
    command = [sys.executable, "-c", code]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env={**os.environ, "PYTHONHASHSEED": seed}, text=True)
        for seed in ("0", "1")
    ]
    printed = {process.communicate(timeout=300)[0] for process in started}
    assert [process.returncode for process in started] == [0, 0]
    assert len(printed) == 1


def test_every_tensor_of_every_case_has_its_own_stream() -> None:
    data = Data("any-bits")
    tensor = TensorDesc("UINT8", (64,))
    assert array(data, tensor, "a").tolist() == array(data, tensor, "a").tolist()
    assert array(data, tensor, "a").tolist() != array(data, tensor, "b").tolist()
    case = find_case("ELEMENT_WISE_BIT_OR/UINT8/4d")
    other = replace(case, id="ELEMENT_WISE_BIT_OR/UINT8/5d")
    assert inputs(case)["ATensor"].tolist() != inputs(other)["ATensor"].tolist()


# any-bits


@pytest.mark.parametrize(
    ("data_type_name", "raw", "expected"),
    [
        ("UINT8", "00ff80", [0, 255, 128]),
        ("INT8", "00ff807f", [0, -1, -128, 127]),
        ("UINT16", "0100ff00", [1, 255]),
        ("INT16", "00800100", [-32768, 1]),
        ("UINT32", "04030201", [0x01020304]),
        ("INT32", "ffffffff00000080", [-1, -(2**31)]),
        ("UINT64", "0807060504030201", [0x0102030405060708]),
        ("INT64", "0000000000000080", [-(2**63)]),
        ("FLOAT16", "003c007c0080", [1.0, math.inf, -0.0]),
        ("FLOAT32", "0000803f01000000", [1.0, 2.0**-149]),
        ("FLOAT64", "000000000000f03f", [1.0]),
    ],
)
def test_any_bits_are_the_bytes_little_endian(data_type_name: str, raw: str, expected: list[float]) -> None:
    assert made("any-bits", data_type_name, bytes.fromhex(raw)) == expected


@pytest.mark.parametrize("data_type_name", TYPES)
def test_any_bits_reach_every_pattern(data_type_name: str) -> None:
    width = data_type(data_type_name).bits
    if width < 8:
        low = -8 if data_type_name == "INT4" else 0
        raw = bytes(range(256))
        assert sorted(made("any-bits", data_type_name, raw)) == sorted(list(range(low, low + 16)) * 16)
        return
    tensor = TensorDesc(data_type_name, (256,))
    values = array(Data("any-bits"), tensor, "every pattern")
    patterns = values.view(bits_dtype(data_type_name)).astype(object)
    assert np.bitwise_or.reduce(patterns) == 2**width - 1
    assert np.bitwise_and.reduce(patterns) == 0
    assert values.tobytes() == stream("every pattern", recipe_bytes("any-bits", tensor))


def test_any_bits_keep_the_bits_of_a_signalling_nan() -> None:
    raw = bytes.fromhex("010080ff")
    values = recipe_array("any-bits", {}, TensorDesc("FLOAT32", (1,)), raw)
    assert values.tobytes() == raw


# below-width, quarters, uniform


@pytest.mark.parametrize("data_type_name", ["UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT64"])
def test_below_width_are_all_amounts_below_the_width_and_no_other(data_type_name: str) -> None:
    width = data_type(data_type_name).bits
    found = made("below-width", data_type_name, bytes(range(256)))
    assert found == [byte % width for byte in range(256)]
    assert set(found) == set(range(width))


@pytest.mark.parametrize("data_type_name", FLOATS)
def test_quarters_are_multiples_of_a_quarter_within_the_limit(data_type_name: str) -> None:
    raw = np.arange(1 << 16, dtype="<u2").tobytes()
    found = made("quarters", data_type_name, raw, limit=500)
    assert all((4 * value).is_integer() for value in found)
    assert (min(found), max(found), len(set(found))) == (-500.0, 500.0, 4001)
    assert found[:3] == [-500.0, -499.75, -499.5]  # all zero bytes, to which Hypothesis shrinks, are a value like any other
    halves = sum(value % 1 == 0.5 for value in found)
    assert 0.24 < halves / len(found) < 0.26


def test_uniform_leaves_the_upper_bound_out_in_narrow_types_too() -> None:
    highest, lowest = b"\xff\xff\xff\xff", b"\0\0\0\0"
    for data_type_name, below in (("FLOAT16", 1 - 2.0**-11), ("FLOAT32", 1 - 2.0**-24), ("FLOAT64", 1 - 2.0**-32)):
        assert made("uniform", data_type_name, highest + lowest, low=0, high=1) == [below, 0.0]
    assert made("uniform", "INT8", highest + lowest, low=-3, high=4) == [3, -3]
    assert made("uniform", "FLOAT32", b"\0\0\0\x80", low=-2, high=6) == [2.0]


@pytest.mark.parametrize("data_type_name", ["FLOAT16", "FLOAT32", "FLOAT64"])
def test_one_float_in_64_is_exactly_zero_where_the_range_has_zero_inside(data_type_name: str) -> None:
    raw = stream("zeros", 8 * 64_000)
    for recipe, parameters in (("uniform", {"low": -3, "high": 2}), ("numbers", {"least": -4, "most": 4})):
        found = made(recipe, data_type_name, raw, **parameters)
        assert 0.9 < 64 * found.count(0) / len(found) < 1.1
    for low, high in ((0, 1), (-1, 0), (1, 2)):
        assert made("uniform", data_type_name, raw, low=low, high=high).count(0) <= 10  # of FLOAT16 some are rounded to 0
    assert 0 not in made("nonzero", data_type_name, raw, least=-4, most=4)
    assert 0 not in made("positive", data_type_name, raw, least=-4, most=4)


def test_uniform_integers_are_rounded_down_and_not_toward_zero() -> None:
    raw = b"".join(((i << 26).to_bytes(4, "little")) for i in range(64))
    found = made("uniform", "INT8", raw, low=-2, high=2)
    assert [found.count(value) for value in (-2, -1, 0, 1)] == [16, 16, 16, 16]


@pytest.mark.parametrize(
    ("data_type_name", "low", "high", "expected"),
    [
        ("UINT8", -8, 8, (0, 7)),
        ("UINT8", 250, 1000, (250, 255)),
        ("INT8", -1000, 1000, (-128, 127)),
        ("INT4", -100, 3, (-8, 2)),
        ("UINT4", -1, 100, (0, 15)),
        ("UINT16", -3, 70_000, (0, 65_535)),
        ("FLOAT16", -1000, 1000, (-1000, 999.5)),  # floats are not clipped
    ],
)
def test_uniform_has_of_the_range_what_the_type_has(
    data_type_name: str, low: float, high: float, expected: tuple[float, float]
) -> None:
    raw = np.concatenate([np.arange(0, 1 << 32, 1 << 20), [(1 << 32) - 1]]).astype("<u4").tobytes()
    found = made("uniform", data_type_name, raw, low=low, high=high)
    assert (min(found), max(found)) == expected
    if data_type_name == "UINT8":  # what was cut off is not heaped up at the end
        counts = [found.count(value) for value in set(found)]
        assert max(counts) < 1.1 * min(counts) + 2


# numbers, positive, nonzero, small-integers, truth


def float_of(data_type_name: str, sign: int, exponent: int, mantissa: int) -> bytes:
    """The bytes of a float's fields; the exponent is biased."""
    width, digits = data_type(data_type_name).bits, np.finfo(numpy_dtype(data_type_name)).nmant
    return (sign << (width - 1) | exponent << digits | mantissa).to_bytes(width // 8, "little")


@pytest.mark.parametrize("data_type_name", FLOATS)
def test_numbers_have_the_sign_and_mantissa_of_the_bytes_and_an_exponent_of_the_range(data_type_name: str) -> None:
    digits = int(np.finfo(numpy_dtype(data_type_name)).nmant)
    raw = b"".join(float_of(data_type_name, sign, exponent, 5) for exponent in range(8) for sign in (0, 1))
    found = made("numbers", data_type_name, raw, least=-1, most=2)
    sizes = [math.ldexp(1 + 5 / 2**digits, power) for power in (-1, 0, 1, 2)]
    assert found == [sign * size for size in (*sizes, *sizes) for sign in (1, -1)]


@pytest.mark.parametrize("data_type_name", FLOATS)
def test_numbers_are_zero_or_normal_and_finite_however_wide_the_range(data_type_name: str) -> None:
    info = np.finfo(numpy_dtype(data_type_name))
    found = array(Data("numbers", {"least": -5000, "most": 5000}), TensorDesc(data_type_name, (40_000,)), "wide")
    assert np.isfinite(found).all()
    sizes = np.abs(found[found != 0])
    assert sizes.min() >= info.smallest_normal
    powers = set(np.frexp(sizes)[1].tolist())
    assert powers == set(range(int(info.minexp) + 1, int(info.maxexp) + 1))
    assert 0.48 < (found < 0).mean() < 0.52


@pytest.mark.parametrize("data_type_name", [name for name in TYPES if name not in FLOATS])
def test_numbers_of_integers_are_any_bits(data_type_name: str) -> None:
    raw = bytes(range(256)) * 8
    assert made("numbers", data_type_name, raw, least=-1, most=1) == made("any-bits", data_type_name, raw)


@pytest.mark.parametrize("data_type_name", TYPES)
def test_positive_and_nonzero(data_type_name: str) -> None:
    raw = bytes(range(256)) * 8 + b"\0" * 8
    plain = made("numbers", data_type_name, raw, least=-3, most=3)
    positive, nonzero = (made(recipe, data_type_name, raw, least=-3, most=3) for recipe in ("positive", "nonzero"))
    assert nonzero == [value or 1 for value in plain]
    assert min(positive) > 0
    if data_type_name in FLOATS:
        assert positive == [abs(value) or 1 for value in plain]
    elif data_type(data_type_name).kind == "int":  # the bits but for the sign's
        half = 1 << (data_type(data_type_name).bits - 1)
        assert positive == [value % half or 1 for value in plain]
        assert min(nonzero) < 0
    else:
        assert positive == nonzero


@pytest.mark.parametrize("data_type_name", TYPES)
def test_small_integers_are_all_within_the_limit_and_below_zero_where_the_type_is(data_type_name: str) -> None:
    low = 0 if data_type(data_type_name).kind == "uint" else -3
    found = made("small-integers", data_type_name, bytes(range(256)), limit=3)
    assert found[: 4 - low] == [*range(low, 4)]
    assert set(found) == set(range(low, 4))


@pytest.mark.parametrize("data_type_name", TYPES)
def test_truth_is_a_half_of_zeros_and_keeps_the_other_bits(data_type_name: str) -> None:
    width = max(1, data_type(data_type_name).bits // 8)
    raw = np.random.default_rng(1).bytes(4096 * width)
    values = recipe_array("truth", {}, TensorDesc(data_type_name, (4096,)), raw)
    plain = recipe_array("any-bits", {}, TensorDesc(data_type_name, (4096,)), raw)
    found, bits = (array.view(bits_dtype(data_type_name)).tolist() for array in (values, plain))
    odd = [int.from_bytes(raw[i * width : (i + 1) * width], "little").bit_count() % 2 for i in range(4096)]
    assert found == [pattern if one else 0 for pattern, one in zip(bits, odd, strict=True)]
    assert 0.4 < sum(map(bool, found)) / 4096 < 0.6


@pytest.mark.parametrize("data_type_name", FLOATS)
def test_exceptional_numbers_are_a_quarter_nan_and_a_quarter_infinities_of_both_signs(data_type_name: str) -> None:
    raw = stream("exceptional", 4096 * RECIPES["exceptional"].width(data_type_name))
    values = recipe_array("exceptional", {}, TensorDesc(data_type_name, (4096,)), raw)
    plain = recipe_array("any-bits", {}, TensorDesc(data_type_name, (4096,)), raw)
    assert 0.2 < np.isnan(values).mean() < 0.3
    assert 0.2 < np.isposinf(values).mean() + np.isneginf(values).mean() < 0.3
    assert min(np.isposinf(values).sum(), np.isneginf(values).sum()) > 400
    bits = bits_dtype(data_type_name)
    assert np.array_equal(np.signbit(values), np.signbit(plain))
    finite = np.isfinite(values)
    assert np.array_equal(values[finite].view(bits), plain[finite].view(bits))
    kept = bits.type((1 << np.finfo(numpy_dtype(data_type_name)).nmant) - 1)
    nan = np.isnan(values)
    assert np.array_equal(values[nan].view(bits) & kept, plain[nan].view(bits) & kept)  # payloads, signalling ones among them


@pytest.mark.parametrize("data_type_name", ["INT8", "UINT32"])
def test_integers_have_no_exceptional_numbers(data_type_name: str) -> None:
    raw = bytes(range(256))
    assert made("exceptional", data_type_name, raw) == made("any-bits", data_type_name, raw)


# From a recipe to a tensor


SHARED = {
    "last-alone": 4,
    "sliding": 12,
    "broadcast-last": 6,
    "broadcast-middle": 8,
    "broadcast-first": 12,
    "broadcast-second": 8,
    "per-channel": 3,
    "broadcast-all": 1,
}


@pytest.mark.parametrize("layout", [*INPUT_LAYOUTS, *FURTHER])
def test_elements_that_share_a_place_are_equal(layout: str) -> None:
    tensor = laid_out(TensorDesc("UINT32", (2, 3, 4)), layout)
    values = array(Data("any-bits"), tensor, "shared")
    places: dict[int, set[int]] = {}
    for index in np.ndindex(tensor.sizes):
        place = sum(i * stride for i, stride in zip(index, tensor.effective_strides, strict=True))
        places.setdefault(place, set()).add(int(values[index]))
    assert all(len(found) == 1 for found in places.values())
    assert len(places) == SHARED.get(layout, 24)
    assert len({min(found) for found in places.values()}) == len(places)


def test_same_where_broadcast_fills_from_the_first_element_only() -> None:
    values = np.arange(6).reshape(2, 3)
    assert same_where_broadcast(values, TensorDesc("INT64", (2, 3), (0, 1))).tolist() == [[0, 1, 2], [0, 1, 2]]
    assert same_where_broadcast(values, TensorDesc("INT64", (2, 3), (1, 0))).tolist() == [[0, 0, 0], [3, 3, 3]]
    assert same_where_broadcast(values, TensorDesc("INT64", (2, 3), (3, 1))) is values


def test_overlapping_rows_are_filled_in_order() -> None:
    windows = TensorDesc("INT64", (3, 4), (1, 1))
    assert same_where_broadcast(np.arange(12).reshape(3, 4), windows).tolist() == [[0, 1, 2, 3], [1, 2, 3, 7], [2, 3, 7, 11]]
    both = TensorDesc("INT64", (2, 2, 2), (1, 0, 1))
    assert same_where_broadcast(np.arange(8).reshape(2, 2, 2), both).tolist() == [[[0, 1], [0, 1]], [[1, 5], [1, 5]]]


@pytest.mark.parametrize(
    ("sizes", "strides", "expected"),
    [
        ((3, 4), (4, 1), False),
        ((3, 4), (3, 1), True),
        ((3, 4), (1, 3), False),
        ((3, 1), (1, 1), False),
        ((2, 3), (0, 1), False),
        ((2, 3, 2), (0, 1, 2), True),
    ],
)
def test_rows_overlap_where_places_coincide(sizes: tuple[int, ...], strides: tuple[int, ...], expected: bool) -> None:
    assert overlaps(TensorDesc("INT8", sizes, strides)) == expected


def test_special_values_stand_each_times_and_start_again_at_the_end() -> None:
    data = Data(special="zeros", parameters={"each": 2})
    assert [math.copysign(1, x) for x in array(data, TensorDesc("FLOAT32", (2, 3)), "").ravel()] == [1, 1, -1, -1, 1, 1]
    assert array(Data(special="single-bits"), TensorDesc("UINT4", (5,)), "").tolist() == [1, 2, 4, 8, 1]


def test_a_literal_is_taken_as_it_is() -> None:
    literal = Literal("FLOAT32", (2, 2), (1.5, "nan", "0xBF800000", "-inf"))
    found = array(Data(literal=literal), TensorDesc("FLOAT32", (2, 2)), "").ravel()
    assert [found[0], found[2], found[3]] == [1.5, -1.0, -math.inf]
    assert math.isnan(found[1])


# Numbers that a spec writes down


def test_among_takes_numbers_from_the_list_alone() -> None:
    raw = stream("among", 4096)
    values = made("among", "INT32", raw, points="3 -1 7")
    assert set(values) == {3, -1, 7}
    assert max(values.count(value) for value in (3, -1, 7)) < 1.2 * min(values.count(value) for value in (3, -1, 7))
    assert made("among", "FLOAT16", raw[:2], points="0.5") == [0.5]


def test_a_bound_that_cannot_be_computed_is_an_error_for_a_valid_desc_alone() -> None:
    bound = Data("between", {"least": 0, "most": "Missing - 1"})
    case = next(case for case in operator_cases("ELEMENT_WISE_BIT_OR", "smoke") if case.kind == "table")
    case = replace(case, data={**case.data, "ATensor": bound})
    with pytest.raises(NotGenerable, match=f"{case.id}: the data of ATensor: Missing - 1 cannot be computed") as error:
        inputs(case)
    assert "name 'Missing' is not defined" in str(error.value)
    assert not inputs(replace(case, expect=REJECTION))["ATensor"].any()
    known = replace(case, data={**case.data, "ATensor": Data("between", {"least": 3, "most": "len(ATensor.Sizes)"})})
    assert set(inputs(known)["ATensor"].ravel().tolist()) == {3, 4}


def test_a_negative_case_with_nothing_to_choose_from_has_zeros() -> None:
    case = find_case("MAX_UNPOOLING/FLOAT32-UINT32/negative/sizes/zero/InputTensor-alone")
    assert not inputs(case)["IndicesTensor"].any()
