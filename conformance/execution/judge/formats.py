"""The floating-point formats of DirectML, and the two ways to measure an error in them: fractional ULPs and ordered steps.

Neither is a subtraction of raw bit patterns: that metric calls 0 and -1 in FLOAT16 17408 apart and the two zeros 32768.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

EXTENDED: np.dtype[Any] = np.dtype(np.longdouble if np.finfo(np.longdouble).nmant > np.finfo(np.float64).nmant else np.float64)
"""The widest format here: float64 itself on Windows and on ARM under macOS."""


@dataclass(frozen=True, slots=True)
class Format:
    """A binary format: ``p`` bits behind the point, exponents ``emin`` to ``emax``; ``wide`` is what its errors are computed in.

    ``smallest`` is its smallest normal number, ``largest`` its largest finite one, ``last`` the ULP of that, and ``limit`` 2^(emax+1),
    where an infinite result is taken to lie. All are of type ``wide``; ``limit`` is infinite where ``wide`` has no such number.
    """

    p: int
    emin: int
    emax: int
    wide: np.dtype[Any]
    smallest: Any
    largest: Any
    last: Any
    limit: Any


def binary(p: int, emin: int, wide: DTypeLike) -> Format:
    """The IEEE format with ``p`` bits behind the point and smallest exponent ``emin``, measured in ``wide``."""
    dtype = np.dtype(wide)
    one, emax = dtype.type(1), 1 - emin
    last, highest = np.ldexp(one, emax - p), np.ldexp(one, emax)
    with np.errstate(over="ignore"):
        return Format(p, emin, emax, dtype, np.ldexp(one, emin), (highest - last) + highest, last, highest + highest)


FORMATS = {
    "FLOAT16": binary(10, -14, np.float64),
    "FLOAT32": binary(23, -126, np.float64),
    "FLOAT64": binary(52, -1022, EXTENDED),
}


def ulp(value: NDArray[Any], form: Format) -> NDArray[Any]:
    """``2^(max(floor(log2|value|), emin) - p)`` for each value; what overflows counts as 2^emax, NaN as 0."""
    found: NDArray[Any] = np.asarray(np.fmin(np.fmax(np.abs(value), form.smallest), form.largest))
    if form.wide == np.float64 and form.emin - form.p >= np.finfo(np.float64).minexp:
        # All are normal numbers, and so are their ULPs: of each the exponent is left, less p. Several times as fast as what follows.
        patterns = found.view(np.uint64)
        patterns &= np.uint64(0x7FF << 52)
        patterns -= np.uint64(form.p << 52)
        return found
    _, exponent = np.frexp(found)
    return np.asarray(np.ldexp(form.wide.type(1), exponent - (1 + form.p)))


def steps(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    """How many representable numbers lie from ``left`` to ``right``, arrays of one format; both zeros are the same step.

    NaN where either is NaN, which is not ordered.
    """
    a, b = _place(left), _place(right)
    same_side = np.signbit(left) == np.signbit(right)
    # Subtracted as integers, as positions in FLOAT64 do not fit into a float64; across zero their sum exceeds 64 bits.
    apart = np.where(same_side, (np.maximum(a, b) - np.minimum(a, b)).astype(np.float64), a.astype(np.float64) + b)
    return np.where(np.isnan(left) | np.isnan(right), np.nan, apart)


def _place(value: NDArray[Any]) -> NDArray[np.uint64]:
    """How far each value is from zero in the order of its format."""
    return np.ascontiguousarray(np.abs(value)).view(f"u{value.dtype.itemsize}").reshape(value.shape).astype(np.uint64)


def widen(value: NDArray[Any], wide: np.dtype[Any]) -> NDArray[Any]:
    """``value`` in the format ``wide``. An object array holds exact numbers (int, Fraction, float) and loses as little precision as possible."""
    if value.dtype != object:
        return value.astype(wide)
    high: NDArray[np.float64] = value.astype(np.float64)
    rest = [float(Fraction(x) - Fraction(h)) if isfinite(h) else 0.0 for x, h in zip(value.flat, high.flat, strict=True)]
    low = np.array(rest, np.float64).reshape(value.shape)
    found: NDArray[Any] = high.astype(wide) + low.astype(wide)
    return found
