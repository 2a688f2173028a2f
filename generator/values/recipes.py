"""Recipes: from raw bytes to a tensor's values.

The bytes come from a stream seeded by the case's id (generator/case/inputs) or from Hypothesis, which shrinks them. Both use the same recipes.
Only IEEE arithmetic is used, which gives the same results on every machine.

A spec names a recipe and its parameters: ``random: {recipe: quarters, limit: 500}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.generator.values.indices import cycle_values, distinct_indices, distinct_tuples, indices
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype

Array = NDArray[Any]
Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recipe:
    """``width`` gives the raw bytes for an element, ``make`` turns an array (count, width) of them into count values.

    ``parameters`` are the names that a spec must give, ``optional`` those that it may; those in ``computed`` may be expressions over the desc.
    ``make`` finds the tensor desc among them as ``tensor``: where an element stands may matter. ``bits`` says that the values are bit patterns,
    which a relation treats as unsigned integers for any type, ``differ`` that elements may not be equal, ``by_place`` that it matters where an
    element stands: for what is valid, or for what a kernel that counts in 16 bits does not find.
    """

    width: Callable[[str], int]
    make: Callable[[NDArray[np.uint8], str, Parameters], Array]
    parameters: frozenset[str] = frozenset()
    bits: bool = False
    computed: frozenset[str] = frozenset()
    differ: bool = False
    by_place: bool = False
    optional: frozenset[str] = frozenset()


_LAST = frozenset({"last"})


def _any_bits(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    if data_type(name).bits < 8:
        return (
            (raw[:, 0] & 15).view(numpy_dtype(name))
            if name == "UINT4"
            else ((raw[:, 0] & 15).astype(np.int8) - 8).astype(numpy_dtype(name))
        )
    return np.ascontiguousarray(raw).view(numpy_dtype(name))[:, 0]


def _below_width(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    return (raw[:, 0] % data_type(name).bits).astype(numpy_dtype(name))


def _quarters(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    limit = int(parameters["limit"]) * 4
    steps = np.ascontiguousarray(raw).view("<u2")[:, 0].astype(np.int64) % (2 * limit + 1)
    return ((steps - limit) / 4).astype(numpy_dtype(name))


_ZEROS = 64
"""Of `uniform` and `numbers` one float in so many is exactly 0, as in activations and masks: kernels skip zeros, and give them a sign."""


def _uniform(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    low, high = float(parameters["low"]), float(parameters["high"])
    if not data_type(name).is_float:  # clamped to the type's range
        least, most = data_type(name).limits
        low, high = max(low, least), min(high, most + 1.0)
    numbers = np.ascontiguousarray(raw).view("<u4")[:, 0]
    values = low + numbers / 2.0**32 * (high - low)
    if low < 0 < high and data_type(name).is_float:  # whole numbers have enough zeros
        values[(numbers & np.uint32(_ZEROS - 1)) == _ZEROS // 2] = 0
    if not data_type(name).is_float:
        return np.floor(values).astype(numpy_dtype(name))
    dtype = numpy_dtype(name)
    rounded = values.astype(dtype)  # to high, if that is nearer than the type's next lower value
    return np.where(rounded < high, rounded, np.nextafter(dtype.type(high), dtype.type(low)))


def _outlier_last(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    values = _uniform(raw, name, parameters).copy()
    values[-1:] = float(parameters["last"])
    return values


_LATE = 8
"""Of `late`, so large a part of each row is not the value that masks: the end."""


def _late(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    values, row = _uniform(raw, name, parameters), int(parameters["row"])
    last = int(parameters.get("last", max(1, row // _LATE)))
    masked = np.arange(len(values)) % row < row - last
    return np.where(masked, numpy_dtype(name).type(float(parameters.get("mask", -np.inf))), values)


_RARE = 2048
"""Of `rare`, one element in so many is none of the usual, at least one of a tensor."""


def _rare(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    values = _uniform(raw, name, parameters).copy()
    if data_type(name).is_float:
        numbers, points = np.ascontiguousarray(raw).view("<u4")[:, 0], _points(name, parameters)
        places = numbers[: 1 + len(values) // _RARE] % np.uint32(max(1, len(values)))
        values[places] = np.roll(points, int(numbers[-1:].sum()) % len(points))[np.arange(len(places)) % len(points)]
    return values


def _draw_between(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    least, most = (cycle_values(np.asarray(parameters[end], np.float64), len(raw)) for end in ("least", "most"))
    share = np.ascontiguousarray(raw).view("<u4")[:, 0] / 2.0**32
    found: Array = np.floor(least + share * (most - least + 1)).astype(numpy_dtype(name))
    return found


def _numbers(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    if not data_type(name).is_float:
        return _any_bits(raw, name, parameters)
    dtype, bits = numpy_dtype(name), bits_dtype(name)
    info = np.finfo(dtype)
    low = max(int(parameters["least"]), int(info.minexp))
    high = min(int(parameters["most"]), int(info.maxexp) - 1)
    patterns = np.ascontiguousarray(raw).view(bits)[:, 0]
    mantissa = patterns & bits.type((1 << info.nmant) - 1)
    sign = patterns & bits.type(1 << (data_type(name).bits - 1))
    exponent = (patterns >> bits.type(info.nmant)) % bits.type(high - low + 1) + bits.type(low + info.maxexp - 1)
    found: Array = (sign | exponent << bits.type(info.nmant) | mantissa).astype(bits).view(dtype)
    return np.where(mantissa % _ZEROS == _ZEROS // 2, dtype.type(0), found)


def _positive(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    values = _numbers(raw, name, parameters)
    if data_type(name).is_float:
        values = np.abs(values)
    elif data_type(name).kind == "int":
        values = (values & values.dtype.type(data_type(name).limits[1])).astype(values.dtype)
    return np.where(values == 0, values.dtype.type(1), values)


def _nonzero(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    values = _numbers(raw, name, parameters)
    return np.where(values == 0, values.dtype.type(1), values)


def _small_integers(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    limit = int(parameters["limit"])
    signed = data_type(name).is_float or data_type(name).kind == "int"
    steps = raw[:, 0].astype(np.int64) % (2 * limit + 1 if signed else limit + 1)
    return (steps - limit if signed else steps).astype(numpy_dtype(name))


def _truth(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    values = _any_bits(raw, name, parameters)
    return np.where(np.bitwise_count(raw).sum(axis=1) % 2 == 0, values.dtype.type(0), values)


def _exceptional(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    values = _any_bits(raw, name, parameters)
    if not data_type(name).is_float:
        return values
    dtype, bits = numpy_dtype(name), bits_dtype(name)
    infinity = np.array(np.inf, dtype).view(bits)
    mantissa = bits.type((1 << np.finfo(dtype).nmant) - 1)
    patterns, kind = values.view(bits), np.bitwise_count(raw).sum(axis=1) % 4
    patterns = np.where(kind == 0, patterns | infinity, np.where(kind == 1, (patterns & ~mantissa) | infinity, patterns))
    return np.ascontiguousarray(patterns.astype(bits)).view(dtype)


def _points(name: str, parameters: Parameters) -> Array:
    """The points that the type holds, a fraction left out of integers. Others are left out: what a cast makes of them differs by machine."""
    texts, entry = str(parameters["points"]).split(), data_type(name)
    if entry.is_float:
        return np.array([float(text) for text in texts if entry.holds(float(text))]).astype(numpy_dtype(name))
    whole = [int(text) if text.lstrip("-").isdigit() else int(float(text)) for text in texts]
    return np.array([number for number in whole if entry.holds(number)], numpy_dtype(name))


def _draw_among(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    points = _points(name, parameters)
    found: Array = points[np.ascontiguousarray(raw).view("<u2")[:, 0] % len(points)]
    return found


def _in_turn(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    return cycle_values(_points(name, parameters), len(raw))


def _multiples(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    place, period, times = np.arange(len(raw)), int(parameters["period"]), int(parameters["times"])
    return ((place % period + 1) * (place // period % times + 1)).astype(numpy_dtype(name))


def _size(name: str) -> int:
    return max(1, data_type(name).bits // 8)


RECIPES: dict[str, Recipe] = {
    # All bit patterns with equal probability, including NaN, infinities and denormals.
    "any-bits": Recipe(_size, _any_bits, bits=True),
    # 0 to the type's width in bits minus one: shift amounts.
    "below-width": Recipe(lambda name: 1, _below_width, bits=True),
    # Multiples of 1/4 between -limit and limit: exact in every floating-point type; a quarter of them are ties for rounding.
    "quarters": Recipe(lambda name: 2, _quarters, frozenset({"limit"})),
    # Uniformly from low to high, high excluded; integers are rounded down, and the range is clamped to their type. Both may be expressions
    # over the desc: weights that many terms need to be small, say.
    "uniform": Recipe(lambda name: 4, _uniform, frozenset({"low", "high"}), computed=frozenset({"low", "high"})),
    # The same, but for the last element of the tensor, which is `last`.
    "outlier-last": Recipe(lambda name: 4, _outlier_last, frozenset({"low", "high", "last"})),
    # The same, but `mask`, or -infinity, for all but the `last`, or the last eighth, of each `row`, an expression over the desc: what hides a
    # row's first blocks.
    "late": Recipe(
        lambda name: 4,
        _late,
        frozenset({"low", "high", "row"}),
        computed=frozenset({"row"}),
        by_place=True,
        optional=_LAST | {"mask"},
    ),
    # The same, but for few elements anywhere, which take `points` in turn: one NaN in a long row, and rows without. Integers are all the same.
    "rare": Recipe(lambda name: 4, _rare, frozenset({"low", "high", "points"}), computed=frozenset({"low", "high"}), by_place=True),
    # Integers from least to most. These may be expressions over the desc, with a value for each element: indices, lengths and offsets that
    # fit the desc's sizes.
    "between": Recipe(
        lambda name: 4, _draw_between, frozenset({"least", "most"}), computed=frozenset({"least", "most"}), by_place=True
    ),
    # Valid indices (generator/values/indices): any, such that differ along an axis, and tuples of which no two are alike.
    "indices": Recipe(lambda name: 4, indices, frozenset({"below"}), computed=frozenset({"below"}), by_place=True, optional=_LAST),
    "distinct-indices": Recipe(
        lambda name: 8,
        distinct_indices,
        frozenset({"below", "along"}),
        computed=frozenset({"below", "along"}),
        differ=True,
        by_place=True,
        optional=_LAST,
    ),
    "distinct-tuples": Recipe(
        lambda name: 8,
        distinct_tuples,
        frozenset({"below"}),
        computed=frozenset({"below"}),
        differ=True,
        by_place=True,
        optional=_LAST,
    ),
    # Floats of either sign, with uniformly distributed exponents from 2^least to 2^most (normal numbers only); random bits for integers.
    "numbers": Recipe(_size, _numbers, frozenset({"least", "most"})),
    # The same without 0: positive only, or of either sign.
    "positive": Recipe(_size, _positive, frozenset({"least", "most"})),
    "nonzero": Recipe(_size, _nonzero, frozenset({"least", "most"})),
    # Integers from -limit (0 for unsigned types) to limit, at most 127, in any type: many are equal.
    "small-integers": Recipe(lambda name: 1, _small_integers, frozenset({"limit"})),
    # Half zeros, half random bits: conditions.
    "truth": Recipe(_size, _truth),
    # Random picks from `points`, a list separated by spaces: indices and lengths that must be valid.
    "among": Recipe(lambda name: 2, _draw_among, frozenset({"points"})),
    # The same in their order, repeated, without randomness: rows with columns of different meaning.
    "in-turn": Recipe(lambda name: 1, _in_turn, frozenset({"points"}), by_place=True),
    # i * j, for i from 1 to `period` and j from 1 to `times`, without randomness: beside the same with times 1, whole multiples.
    "multiples": Recipe(lambda name: 1, _multiples, frozenset({"period", "times"}), by_place=True),
    # Random bits; of floats, every fourth is made a NaN (or an infinity) and every fourth an infinity.
    "exceptional": Recipe(_size, _exceptional, bits=True),
}
