"""Sets of special values, against facts about the formats that are worked out here with Python's own numbers."""

import math
import struct
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from dmlcts.generator.values.special_sets import SPECIAL, special_values
from dmlcts.spec.model.abi import abi, data_type
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype

TYPES = tuple(abi().data_types)
INTEGERS = tuple(name for name in TYPES if not data_type(name).is_float)
FORMATS = {"FLOAT16": ("e", 16, 10), "FLOAT32": ("f", 32, 23), "FLOAT64": ("d", 64, 52)}
"""The letter of ``struct``, the width and the digits behind the point."""


def patterns(name: str, set_name: str, skip: str = "") -> list[int]:
    """The bit patterns of a set, as Python integers."""
    values = special_values(set_name, name, skip)
    assert values.dtype == numpy_dtype(name)
    width = data_type(name).bits
    return [int(value) & ((1 << width) - 1) for value in values.view(bits_dtype(name))]


def decode(name: str, pattern: int) -> float:
    """The number of a bit pattern."""
    letter, width, _ = FORMATS[name]
    value: float = struct.unpack(f"<{letter}", pattern.to_bytes(width // 8, "little"))[0]
    return value


def numbers(name: str, set_name: str) -> list[float]:
    return [decode(name, pattern) for pattern in patterns(name, set_name)]


@pytest.mark.parametrize("set_name", SPECIAL)
@pytest.mark.parametrize("name", TYPES)
def test_no_set_has_a_value_twice(set_name: str, name: str) -> None:
    found = patterns(name, set_name)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("set_name", ["halves", "beside-halves", "large-integers", "denormals", "infinities", "nans"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_have_none_of_what_only_floats_have(set_name: str, name: str) -> None:
    assert patterns(name, set_name) == []


# Bits


@pytest.mark.parametrize("name", TYPES)
def test_bit_patterns_hold_zero_one_all_ones_the_top_bit_and_alternations(name: str) -> None:
    width = data_type(name).bits
    found = set(patterns(name, "bit-patterns"))
    texts = {"0" * width, "0" * (width - 1) + "1", "1" * width, "1" + "0" * (width - 1), "0" + "1" * (width - 1)}
    for run in (1, 2, 4, 8):
        if 2 * run <= width:
            texts |= {("0" * run + "1" * run) * (width // (2 * run)), ("1" * run + "0" * run) * (width // (2 * run))}
    assert {int(text, 2) for text in texts} <= found
    assert all(0 <= pattern < 1 << width for pattern in found)


@pytest.mark.parametrize("name", TYPES)
def test_single_bits_are_every_one_of_them(name: str) -> None:
    assert patterns(name, "single-bits") == [2**bit for bit in range(data_type(name).bits)]


@pytest.mark.parametrize(("name", "width"), [("UINT8", 8), ("UINT16", 16), ("UINT32", 32), ("UINT64", 64)])
def test_shift_amounts_reach_from_nothing_to_the_last_bit(name: str, width: int) -> None:
    found = patterns(name, "shift-amounts")
    assert {0, 1, width - 1, width // 2} <= set(found)
    assert max(found) == width - 1  # from the width on the documentation is silent


# Halves and what lies beside them


@pytest.mark.parametrize("name", FORMATS)
def test_halves_are_halves_of_both_signs_up_to_the_largest(name: str) -> None:
    found = numbers(name, "halves")
    assert all(Fraction(value) % 1 == Fraction(1, 2) for value in found)
    assert {-value for value in found} == set(found)
    digits = FORMATS[name][2]
    assert max(found) == 2.0**digits - 0.5  # the next number is 2^digits, and from there on all are whole
    even = [value for value in found if value > 0 and math.floor(value) % 2 == 0]
    odd = [value for value in found if value > 0 and math.floor(value) % 2 == 1]
    assert len(even) > 3
    assert len(odd) > 3
    assert {0.5, 1.5, 2.5} <= set(found)


@pytest.mark.parametrize("name", FORMATS)
def test_beside_halves_are_the_next_numbers_on_both_sides(name: str) -> None:
    found = set(patterns(name, "beside-halves"))
    sides = set()
    for pattern in found:
        for step in (1, -1):
            neighbour = decode(name, pattern + step)
            if Fraction(neighbour) % 1 == Fraction(1, 2):
                sides.add((neighbour, step))
    assert all(any(Fraction(decode(name, p + s)) % 1 == Fraction(1, 2) for s in (1, -1)) for p in found)
    for half in (0.5, -0.5, 1.5, -1.5, 2.5, -2.5):
        assert {(half, 1), (half, -1)} <= sides
    assert not any(Fraction(decode(name, pattern)) % 1 == Fraction(1, 2) for pattern in found)


def test_beside_halves_have_the_number_that_adding_a_half_rounds_up() -> None:
    assert {0x3EFFFFFF, 0xBEFFFFFF} <= set(patterns("FLOAT32", "beside-halves"))


# Large numbers, denormals, zeros, infinities, NaN


@pytest.mark.parametrize("name", FORMATS)
def test_large_integers_are_whole_and_lie_around_the_end_of_fractions(name: str) -> None:
    found = numbers(name, "large-integers")
    assert all(value.is_integer() for value in found)
    assert {-value for value in found} == set(found)
    edge = 2.0 ** FORMATS[name][2]
    assert {edge - 1, edge, edge + 1, edge + 2, 2 * edge - 1, 2 * edge} <= set(found)  # the odd ones of [2^p, 2^(p+1)) among them
    largest = decode(name, {"FLOAT16": 0x7BFF, "FLOAT32": 0x7F7FFFFF, "FLOAT64": 0x7FEFFFFFFFFFFFFF}[name])
    assert max(found) == largest
    if name != "FLOAT16":
        assert {2.0**31, 2.0**32, 2.0**63} <= set(found)  # what overflows on a way through an integer


@pytest.mark.parametrize("name", FORMATS)
def test_denormals_have_the_smallest_the_largest_and_the_first_normal_of_both_signs(name: str) -> None:
    _, width, digits = FORMATS[name]
    found = set(patterns(name, "denormals"))
    sign = 1 << (width - 1)
    assert {1, (1 << digits) - 1, 1 << digits} <= found
    assert {pattern ^ sign for pattern in found} == found
    assert all(0 < pattern & (sign - 1) <= 1 << digits for pattern in found)
    assert sum(0 < pattern < 1 << digits for pattern in found) >= 3


@pytest.mark.parametrize("name", TYPES)
def test_zeros_are_of_both_signs_where_there_are_two(name: str) -> None:
    width = data_type(name).bits
    expected = {0, 1 << (width - 1)} if name in FORMATS else {0}
    assert set(patterns(name, "zeros")) == set(patterns(name, "signed-zeros")) == expected


@pytest.mark.parametrize("name", FORMATS)
def test_infinities_are_both(name: str) -> None:
    assert sorted(numbers(name, "infinities")) == [-math.inf, math.inf]


@pytest.mark.parametrize("name", FORMATS)
def test_nans_are_quiet_and_signalling_of_both_signs(name: str) -> None:
    _, width, digits = FORMATS[name]
    found = patterns(name, "nans")
    assert all(math.isnan(decode(name, pattern)) for pattern in found)
    quiet = 1 << (digits - 1)
    kinds = {(pattern >> (width - 1), bool(pattern & quiet)) for pattern in found}
    assert kinds == {(0, False), (0, True), (1, False), (1, True)}
    payloads = {pattern & (quiet - 1) for pattern in found if pattern & quiet}
    assert len(payloads) > 1


def test_every_finite_half_is_there_once() -> None:
    found = patterns("FLOAT16", "every-finite")
    finite = {pattern for pattern in range(1 << 16) if math.isfinite(decode("FLOAT16", pattern))}
    assert set(found) == finite - {0x8000}
    assert patterns("FLOAT32", "every-finite") == []


def test_every_half_is_every_pattern_once() -> None:
    assert patterns("FLOAT16", "every-half") == list(range(1 << 16))


@pytest.mark.parametrize("name", [name for name in TYPES if name != "FLOAT16"])
def test_no_other_type_has_every_half(name: str) -> None:
    assert patterns(name, "every-half") == patterns(name, "every-finite") == []


@pytest.mark.parametrize("name", TYPES)
def test_every_pattern_of_16_bits(name: str) -> None:
    assert patterns(name, "every-16-bits") == (list(range(1 << 16)) if name in ("FLOAT16", "INT16", "UINT16") else [])


# Numbers of every size


def ends(name: str) -> tuple[int, int]:
    """The least and the largest number of an integer type."""
    width = data_type(name).bits
    return (0, 2**width - 1) if name.startswith("U") else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def integers(name: str, set_name: str) -> list[int]:
    return [int(value) for value in special_values(set_name, name).tolist()]


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_ends_are_those_of_the_range_and_of_its_halves(name: str) -> None:
    low, high = ends(name)
    found = integers(name, "integer-ends")
    middle = 2 ** (data_type(name).bits // 2)  # whose square is one too large
    assert {low, low + 1, high - 1, high, 0, 1, 2, 3, high // 2, high // 2 + 1, middle - 1} <= set(found)
    assert ({-1, -2, -3} <= set(found)) == (low < 0)
    assert (middle in found) == (middle <= high)
    assert found == sorted(found)
    assert all(low <= value <= high for value in found)
    assert integers(name, "nonzero-integer-ends") == [value for value in found if value != 0]


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("set_name", ["integer-ends", "nonzero-integer-ends"])
def test_floats_have_no_integer_ends(name: str, set_name: str) -> None:
    assert patterns(name, set_name) == []


@pytest.mark.parametrize("name", FORMATS)
def test_ones_have_the_numbers_next_to_one(name: str) -> None:
    _, width, digits = FORMATS[name]
    one = int.from_bytes(struct.pack(f"<{FORMATS[name][0]}", 1.0), "little")
    assert one == ((1 << (width - 2 - digits)) - 1) << digits  # the bias of the exponent alone
    found = set(patterns(name, "ones"))
    sign = 1 << (width - 1)
    assert {one - 1, one, one + 1, sign | (one - 1), sign | one, sign | (one + 1)} <= found
    assert {0.5, 2.0, 3.0, 10.0, -0.5, -2.0, -3.0, -10.0} <= set(numbers(name, "ones"))


@pytest.mark.parametrize("name", INTEGERS)
def test_ones_of_integers(name: str) -> None:
    assert sorted(integers(name, "ones")) == ([1] if name.startswith("U") else [-1, 1])


@pytest.mark.parametrize("name", FORMATS)
def test_magnitudes_are_normal_numbers_from_the_smallest_to_the_largest(name: str) -> None:
    _, width, digits = FORMATS[name]
    found = patterns(name, "magnitudes")
    sign = 1 << (width - 1)
    sizes = {pattern & (sign - 1) for pattern in found}
    assert {pattern ^ sign for pattern in found} == set(found)
    highest = (((1 << (width - 1 - digits)) - 1) << digits) - 1
    assert (min(sizes), max(sizes)) == (1 << digits, highest)
    powers = sorted({pattern >> digits for pattern in sizes})
    steps = [after - before for before, after in pairwise(powers)]
    assert max(steps) <= math.ceil((powers[-1] - powers[0]) / 20)  # evenly over all powers of two
    assert sum(pattern & 1 for pattern in sizes) > len(sizes) / 4  # odd mantissas, which nothing narrower holds


@pytest.mark.parametrize("name", ["FLOAT32", "FLOAT64", "INT32", "INT64"])
def test_numbers_far_above_and_below_are_beyond_float16(name: str) -> None:
    above, below = special_values("far-above", name), special_values("far-below", name)
    assert len(set(above.tolist())) == len(set(below.tolist())) == 5
    assert above.min() > 65504
    assert below.max() < -65504


def test_what_float16_and_small_integers_hold_is_not_far() -> None:
    assert not any(
        len(special_values(label, name)) for label in ("far-above", "far-below") for name in ("FLOAT16", "INT16", "UINT8")
    )
    assert len(special_values("far-above", "UINT32")) == 5
    assert len(special_values("far-below", "UINT32")) == 0


@pytest.mark.parametrize("name", FORMATS)
def test_wide_floats_have_numbers_of_every_exponent(name: str) -> None:
    _, width, digits = FORMATS[name]
    found = patterns(name, "every-exponent")
    exponents = {(pattern & ((1 << (width - 1)) - 1)) >> digits for pattern in found}
    assert exponents == (set() if width == 16 else set(range(1, (1 << (width - 1 - digits)) - 1)))


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_have_no_magnitudes(name: str) -> None:
    assert patterns(name, "magnitudes") == []


@pytest.mark.parametrize("name", TYPES)
def test_truths_are_of_every_byte(name: str) -> None:
    width = data_type(name).bits
    found = set(patterns(name, "truths"))
    assert {0, 1, 2, 1 << (width - 1), (1 << width) - 1} <= found
    for bit in (8, 16):  # a 1 that the lowest byte, or the lowest two, have nothing of
        assert ((1 << bit) in found) == (width > 16)


# An operator's own points


def point_patterns(name: str, points: str, skip: str = "") -> list[int]:
    values = special_values("its own", name, skip, points)
    assert values.dtype == numpy_dtype(name)
    return [int(value) & ((1 << data_type(name).bits) - 1) for value in values.view(bits_dtype(name))]


@pytest.mark.parametrize(
    ("name", "points", "expected"),
    [
        ("FLOAT32", "0.1 -2 3", [0x3DCCCCCD, 0xC0000000, 0x40400000]),  # rounded, and in their order
        ("FLOAT16", "0.1 65504 65519 65520 1e6", [0x2E66, 0x7BFF]),  # 65519 is rounded to 65504; the others would be infinite
        ("FLOAT32", "1e38 1e39 -1e39", [0x7E967699]),
        ("FLOAT16", "6e-8 1e-8 1e-60", [0x0001]),  # what is no 0 does not become one
        ("FLOAT32", "inf -inf nan", [0x7F800000, 0xFF800000, 0x7FC00000]),
        ("FLOAT32", "1 1.0 1.00000000001 2", [0x3F800000, 0x40000000]),  # once each
        ("FLOAT32", "0 -0.0", [0x00000000, 0x80000000]),
        ("FLOAT32", "0x7FC00001 0xFF 0x100000000", [0x7FC00001, 0x000000FF]),  # patterns, as far as they have room
        ("UINT8", "0 255 256 -1 0.5 2.0 1e2 inf nan 0x80 0x100", [0, 255, 2, 100, 128]),
        ("INT8", "127 128 -128 -129 0xFF", [0x7F, 0x80, 0xFF]),
        ("INT64", "9007199254740993 9223372036854775807", [2**53 + 1, 2**63 - 1]),  # which no float64 is
        ("UINT4", "15 16 0xF 0x10", [15]),
        ("UINT8", "-1 300 0.5", []),
    ],
)
def test_points_are_what_each_type_can_hold(name: str, points: str, expected: list[int]) -> None:
    assert point_patterns(name, points) == expected


def test_points_can_be_skipped() -> None:
    assert point_patterns("FLOAT32", "1 2 nan 3", skip="0x40000000 0x7fc00000") == [0x3F800000, 0x40400000]


# Leaving values out


def test_skipped_patterns_are_left_out_and_nothing_else() -> None:
    every = patterns("FLOAT32", "beside-halves")
    left = patterns("FLOAT32", "beside-halves", "0x3effffff 0xbeffffff 0x12345678")
    assert [pattern for pattern in every if pattern not in (0x3EFFFFFF, 0xBEFFFFFF)] == left


def test_an_unknown_set_is_a_key_error() -> None:
    unknown: Any = "thirds"
    with pytest.raises(KeyError):
        special_values(unknown, "FLOAT32")


def test_sets_are_not_shared_between_calls() -> None:
    first = special_values("zeros", "FLOAT32")
    first[...] = 7
    assert not np.any(special_values("zeros", "FLOAT32") == 7)
