"""Recipes: raw bytes into a tensor's values.

The bytes come from a stream that the case's id seeds (generator/data) or from Hypothesis, which shrinks them; the recipe is the same, so
that both kinds of test see the same kind of data. Only IEEE arithmetic that every machine does alike is used.

A spec names a recipe and its parameters: ``random: {recipe: quarters, limit: 500}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.spec.abi import data_type
from dmlcts.spec.dtypes import bits_dtype, numpy_dtype

Array = NDArray[Any]
Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recipe:
    """``width`` gives the raw bytes an element takes, ``make`` turns (count, width) of them into count values.

    ``parameters`` are the names that a spec may give; those among ``computed`` may be expressions over the desc. ``bits`` says that the
    values are bit patterns, so that a relation computes with them as unsigned integers whatever the type.
    """

    width: Callable[[str], int]
    make: Callable[[NDArray[np.uint8], str, Parameters], Array]
    parameters: frozenset[str] = frozenset()
    bits: bool = False
    computed: frozenset[str] = frozenset()


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


def _uniform(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    low, high = float(parameters["low"]), float(parameters["high"])
    if not data_type(name).is_float:  # the part of the range that the type has
        least, most = data_type(name).limits
        low, high = max(low, least), min(high, most + 1.0)
    share = np.ascontiguousarray(raw).view("<u4")[:, 0] / 2.0**32
    values = low + share * (high - low)
    if not data_type(name).is_float:
        return np.floor(values).astype(numpy_dtype(name))
    dtype = numpy_dtype(name)
    rounded = values.astype(dtype)  # to high, where it lies nearer than what the type has below it
    return np.where(rounded < high, rounded, np.nextafter(dtype.type(high), dtype.type(low)))


def _between(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    least, most = (np.resize(np.asarray(parameters[end], np.float64), len(raw)) for end in ("least", "most"))
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
    return found


def _positive(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    values = _numbers(raw, name, parameters)
    if data_type(name).is_float:
        return np.abs(values)
    if data_type(name).kind == "int":
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
    return np.array([float(point) for point in str(parameters["points"]).split()]).astype(numpy_dtype(name))


def _among(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    points = _points(name, parameters)
    found: Array = points[np.ascontiguousarray(raw).view("<u2")[:, 0] % len(points)]
    return found


def _in_turn(raw: NDArray[np.uint8], name: str, parameters: Parameters) -> Array:
    return np.resize(_points(name, parameters), len(raw))


def _size(name: str) -> int:
    return max(1, data_type(name).bits // 8)


RECIPES: dict[str, Recipe] = {
    # Every bit pattern alike: NaN, infinities and denormals among the floats.
    "any-bits": Recipe(_size, _any_bits, bits=True),
    # 0 to the type's width in bits, less one: amounts of a shift.
    "below-width": Recipe(lambda name: 1, _below_width, bits=True),
    # Multiples of 1/4 between -limit and limit: exact in every floating type, and a quarter of them are halves.
    "quarters": Recipe(lambda name: 2, _quarters, frozenset({"limit"})),
    # Evenly from low to high, high left out; integers are rounded down, from the part of the range that their type has.
    "uniform": Recipe(lambda name: 4, _uniform, frozenset({"low", "high"})),
    # Whole numbers from least to most, which may be expressions over the desc and have a number for each element: indices, lengths and
    # offsets that fit the sizes at hand.
    "between": Recipe(lambda name: 4, _between, frozenset({"least", "most"}), computed=frozenset({"least", "most"})),
    # Floats of either sign, every power of two from 2^least to 2^most alike (as far as they are normal numbers); any bits of integers.
    "numbers": Recipe(_size, _numbers, frozenset({"least", "most"})),
    # The same without 0, and without a sign; or with one.
    "positive": Recipe(_size, _positive, frozenset({"least", "most"})),
    "nonzero": Recipe(_size, _nonzero, frozenset({"least", "most"})),
    # Integers from -limit (0 for unsigned types) to limit, at most 127, in any type: many of them equal.
    "small-integers": Recipe(lambda name: 1, _small_integers, frozenset({"limit"})),
    # Half of them 0, and half any bits: conditions.
    "truth": Recipe(_size, _truth),
    # One of the numbers in `points`, written with spaces between them: indices and lengths that must be valid.
    "among": Recipe(lambda name: 2, _among, frozenset({"points"})),
    # The same in their order, round and round, and nothing random: rows whose columns mean different things.
    "in-turn": Recipe(lambda name: 1, _in_turn, frozenset({"points"})),
    # Any bits; of floats every fourth is made a NaN (or an infinity) and every fourth an infinity.
    "exceptional": Recipe(_size, _exceptional, bits=True),
}
