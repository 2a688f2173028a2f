"""Named sets of special values: for each data type, the values for which implementations tend to be wrong.

A spec lists sets by name; a set may be empty for a data type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.dtypes import bits_dtype, numpy_dtype
from dmlcts.spec.model.expression import compile_expression

Array = NDArray[Any]


def _patterns(name: str, patterns: list[int]) -> Array:
    return np.array(sorted(set(patterns)), bits_dtype(name)).view(numpy_dtype(name))


def _floats(name: str, values: list[float]) -> Array:
    """The values that the type represents exactly, with their negatives."""
    if not data_type(name).is_float:
        return np.empty(0, numpy_dtype(name))
    dtype = numpy_dtype(name)
    with np.errstate(over="ignore"):
        return np.array([s * v for v in dict.fromkeys(values) for s in (1, -1) if float(dtype.type(v)) == v], dtype)


def bit_patterns(name: str) -> Array:
    """0, 1, all ones, the highest bit, all others, and alternating bits of both phases and of widths 1, 2, 4 and 8."""
    width = data_type(name).bits
    ones = (1 << width) - 1
    alternating = [ones // ((1 << (2 * run)) - 1) * ((1 << run) - 1) for run in (1, 2, 4, 8) if 2 * run <= width]
    top = 1 << (width - 1)
    return _patterns(name, [0, 1, ones, top, ones ^ top, ones - 1, *alternating, *(ones ^ a for a in alternating)])


def single_bits(name: str) -> Array:
    """Every single bit."""
    return _patterns(name, [1 << bit for bit in range(data_type(name).bits)])


def shift_amounts(name: str) -> Array:
    """0, 1, half the width and its neighbours, and the largest defined amounts."""
    width = data_type(name).bits
    return np.array(sorted({0, 1, 2, width // 2 - 1, width // 2, width // 2 + 1, width - 2, width - 1}), numpy_dtype(name))


def ties(name: str) -> Array:
    """Ties for rounding (n + 0.5) with even and odd neighbors, from 0.5 to the type's largest, of both signs."""
    digits = np.finfo(numpy_dtype(name)).nmant if data_type(name).is_float else 0
    large = [2.0 ** (digits - 1) + k + 0.5 for k in (0, 1, 2, 3)] + [2.0**digits - 0.5, 2.0**digits - 1.5]
    return _floats(name, [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 127.5, 128.5, 255.5, 256.5, 1023.5, *large])


def beside_ties(name: str) -> Array:
    """The values just below and just above ties."""
    if not data_type(name).is_float:
        return np.empty(0, numpy_dtype(name))
    middle = _floats(name, [0.5, 1.5, 2.5, 3.5, 4.5, 127.5, 128.5])
    zero = numpy_dtype(name).type(0)
    return np.concatenate([np.nextafter(middle, zero), np.nextafter(middle, 2 * middle)])


def beside_integers(name: str) -> Array:
    """The values just below and just above integers, without the ties."""
    if not data_type(name).is_float:
        return np.empty(0, numpy_dtype(name))
    middle = _floats(name, [1.0, 2.0, 3.0, 4.0, 5.0, 127.0, 128.0, 1000.0])
    zero = numpy_dtype(name).type(0)
    return np.concatenate([np.nextafter(middle, zero), np.nextafter(middle, 2 * middle)])


def large_integers(name: str) -> Array:
    """Integers around the point from which the type has no fraction bits, and the largest finite values."""
    if not data_type(name).is_float:
        return np.empty(0, numpy_dtype(name))
    info = np.finfo(numpy_dtype(name))
    edge = 2.0**info.nmant
    around = [edge / 2 - 1, edge / 2, edge / 2 + 1, edge - 2, edge - 1, edge, edge + 1, edge + 2, edge + 3]
    beyond = [2 * edge - 1, 2 * edge, 2 * edge + 2, 4 * edge, 8 * edge]
    return _floats(name, [*around, *beyond, 2.0**31, 2.0**32, 2.0**63, float(info.max)])


def denormals(name: str) -> Array:
    """The smallest and the largest denormal, one in between, and the smallest normal number, of both signs."""
    if not data_type(name).is_float:
        return np.empty(0, numpy_dtype(name))
    dtype = numpy_dtype(name)
    digits = np.finfo(dtype).nmant
    found = np.array([1, 2, (1 << digits) // 3, (1 << digits) - 1, 1 << digits], bits_dtype(name)).view(dtype)
    return np.concatenate([found, -found])


def every_finite(name: str) -> Array:
    """Every finite value of FLOAT16, but only one zero; empty for wider types."""
    if name != "FLOAT16":
        return np.empty(0, numpy_dtype(name))
    patterns = np.arange(1 << 16, dtype=np.uint16)
    values = patterns.view(np.float16)
    found: Array = values[np.isfinite(values) & (patterns != 0x8000)]
    return found


def all_float16(name: str) -> Array:
    """All 65,536 bit patterns of FLOAT16; empty for wider types."""
    if name != "FLOAT16":
        return np.empty(0, numpy_dtype(name))
    found: Array = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    return found


def all_16_bits(name: str) -> Array:
    """All 65,536 bit patterns of a type of 16 bits, integers too; empty for other types."""
    return (
        np.arange(1 << 16, dtype=np.uint16).view(numpy_dtype(name))
        if data_type(name).bits == 16
        else np.empty(0, numpy_dtype(name))
    )


def integer_ends(name: str) -> Array:
    """For integer types 0, small numbers, and those around the minimum, the maximum and the middle of the range; empty for floats."""
    entry = data_type(name)
    if entry.is_float:
        return np.empty(0, numpy_dtype(name))
    low, high = entry.limits
    middle = 1 << entry.bits // 2
    small, ends = (0, 1, 2, 3, 7, -1, -2, -3, -7), (low, low + 1, low + 2, high, high - 1, high // 2, high // 2 + 1)
    found = {*small, *ends, middle - 1, middle, middle + 1}
    return np.array(sorted(value for value in found if low <= value <= high), numpy_dtype(name))


def nonzero_integer_ends(name: str) -> Array:
    """The same without 0."""
    found: Array = integer_ends(name)
    return np.delete(found, np.flatnonzero(found == 0))


def ones(name: str) -> Array:
    """For floats 1 and -1 with their neighbors, and small numbers; for integers 1 and -1."""
    entry = data_type(name)
    dtype = numpy_dtype(name)
    if not entry.is_float:
        return np.array([1, -1] if entry.kind == "int" else [1], dtype)
    one = dtype.type(1)
    beside = (np.nextafter(one, dtype.type(0)), np.nextafter(one, dtype.type(2)))
    found = [one, *beside, *map(dtype.type, (2, 0.5, 3, 10))]
    return np.array([s * v for v in found for s in (dtype.type(1), dtype.type(-1))], dtype)


def magnitudes(name: str) -> Array:
    """Floats from the smallest normal number to the largest, in steps of several powers of two and with odd mantissas, of both signs."""
    if not data_type(name).is_float:
        return np.empty(0, numpy_dtype(name))
    dtype = numpy_dtype(name)
    info = np.finfo(dtype)
    steps = np.linspace(int(info.minexp), int(info.maxexp) - 1, 24).astype(int)
    found = np.array([np.ldexp(mantissa, int(step)) for step in steps for mantissa in (1.0, 4 / 3, 1.9)]).astype(dtype)
    found = np.concatenate([found[np.isfinite(found)], [info.max]]).astype(dtype)
    return np.concatenate([found, -found])


def far_above(name: str) -> Array:
    """Numbers above the largest of FLOAT16, with which a search for the least must not begin; empty for types that have none."""
    return point_values(["100000", "300001", "1000000", "70001", "2000000000"], name)


def far_below(name: str) -> Array:
    """Numbers below the least of FLOAT16, with which a search for the largest must not begin; empty for types that have none."""
    return point_values(["-100000", "-300001", "-1000000", "-70001", "-2000000000"], name)


def every_exponent(name: str) -> Array:
    """Of floats wider than 16 bits three normal numbers of every exponent, of both signs; empty for other types."""
    if not data_type(name).is_float or data_type(name).bits == 16:
        return np.empty(0, numpy_dtype(name))
    dtype = numpy_dtype(name)
    info = np.finfo(dtype)
    found = np.array(
        [np.ldexp(mantissa, step) for step in range(int(info.minexp), int(info.maxexp)) for mantissa in (1.0, 4 / 3, 1.9)]
    )
    return np.concatenate([found, -found]).astype(dtype)


def booleans(name: str) -> Array:
    """Boolean inputs: 0, 1, 2, the highest bit, all bits, and for types wider than 16 bits values with zero low bytes."""
    width = data_type(name).bits
    return _patterns(name, [0, 1, 2, 1 << (width - 1), (1 << width) - 1, *([0x100, 0x10000] if width > 16 else [])])


def zeros(name: str) -> Array:
    """Zero, of both signs for floats."""
    return _floats(name, [0.0]) if data_type(name).is_float else np.zeros(1, numpy_dtype(name))


def infinities(name: str) -> Array:
    """Both infinities."""
    return _floats(name, [np.inf])


def nans(name: str) -> Array:
    """Quiet and signalling NaN with several payloads, of both signs."""
    if not data_type(name).is_float:
        return np.empty(0, numpy_dtype(name))
    mantissa = np.finfo(numpy_dtype(name)).nmant
    exponent = ((1 << (data_type(name).bits - 1 - mantissa)) - 1) << mantissa
    quiet, top = 1 << (mantissa - 1), 1 << (data_type(name).bits - 1)
    found = [exponent | payload for payload in (quiet, quiet | 1, 1, quiet - 1)]
    return _patterns(name, found + [top | pattern for pattern in found])


SPECIAL: dict[str, Callable[[str], Array]] = {
    "beside-halves": beside_ties,
    "beside-integers": beside_integers,
    "bit-patterns": bit_patterns,
    "denormals": denormals,
    "every-16-bits": all_16_bits,
    "every-exponent": every_exponent,
    "every-finite": every_finite,
    "every-half": all_float16,
    "far-above": far_above,
    "far-below": far_below,
    "halves": ties,
    "infinities": infinities,
    "integer-ends": integer_ends,
    "large-integers": large_integers,
    "magnitudes": magnitudes,
    "nans": nans,
    "nonzero-integer-ends": nonzero_integer_ends,
    "ones": ones,
    "shift-amounts": shift_amounts,
    "signed-zeros": zeros,
    "single-bits": single_bits,
    "truths": booleans,
    "zeros": zeros,
}


def special_values(name: str, data_type_name: str, skip: str = "", points: str = "", where: str = "") -> Array:
    """The set ``name`` for a data type; ``skip`` lists bit patterns to leave out, in hexadecimal, separated by spaces.

    ``points`` are the values of an operator's own set, separated by spaces. Without them it is a set of ``SPECIAL``, reduced to the values ``x``
    for which ``where`` is true.
    """
    values = point_values(points.split(), data_type_name) if points else SPECIAL[name](data_type_name)
    if where:
        with np.errstate(over="ignore"):  # a bound outside the type's range
            values = values[np.asarray(compile_expression(where).evaluate({"x": values}), np.bool_)]
    if not skip:
        return values
    patterns = [int(pattern, 16) for pattern in skip.split()]
    return values[~np.isin(values.view(bits_dtype(data_type_name)), patterns)]


def point_values(points: list[str], data_type_name: str) -> Array:
    """Numbers, ``inf``, ``nan`` and bit patterns as values of a type: rounded for floating-point types, omitted if the type does not have them."""
    entry = data_type(data_type_name)
    dtype, found = numpy_dtype(data_type_name), []
    for text in points:
        if text.startswith("0x"):
            if int(text, 16) < 1 << entry.bits:
                found.append(np.array([int(text, 16)], bits_dtype(data_type_name)).view(dtype)[0])
            continue
        number = float(text) if entry.is_float or "." in text or "e" in text or "n" in text else int(text)
        if entry.is_float:
            with np.errstate(over="ignore", under="ignore"):
                rounded = dtype.type(number)
            if np.isinf(rounded) <= np.isinf(number) and (rounded != 0 or number == 0):
                found.append(rounded)
        elif number == number // 1 and entry.holds(int(number)):
            found.append(dtype.type(int(number)))
    unique = dict.fromkeys(value.tobytes() for value in found)  # two numbers may round to one
    return np.frombuffer(b"".join(unique), dtype).copy() if unique else np.empty(0, dtype)
