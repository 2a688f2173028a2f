"""What implementations do to bit patterns on the way: move them as numbers, cut them, lose a bit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dmlcts.conformance.mutants.old.mutant import Array

Change = Callable[[Array], Array]
"""Bit patterns, as unsigned integers of the element's width, into others."""

FLOATS = ("FLOAT16", "FLOAT32", "FLOAT64")

_DIGITS = {16: 10, 32: 23, 64: 52}


def _width(pattern: Array) -> int:
    return 8 * pattern.dtype.itemsize


def _sign(pattern: Array) -> Array:
    sign: Array = pattern & pattern.dtype.type(1 << (_width(pattern) - 1))
    return sign


def _float(pattern: Array) -> tuple[int, int, Array]:
    """Of floats' bit patterns: the quiet bit, the exponent of infinity, and the magnitudes."""
    digits = _DIGITS[_width(pattern)]
    infinity = ((1 << (_width(pattern) - 1 - digits)) - 1) << digits
    return 1 << (digits - 1), infinity, pattern ^ _sign(pattern)


def quieted(pattern: Array) -> Array:
    """Signalling NaN made quiet, as a move through a floating-point register may."""
    quiet, infinity, magnitude = _float(pattern)
    return np.where(magnitude > infinity, pattern | pattern.dtype.type(quiet), pattern)


def canonical(pattern: Array) -> Array:
    """Every NaN made the same."""
    quiet, infinity, magnitude = _float(pattern)
    return np.where(magnitude > infinity, pattern.dtype.type(infinity | quiet), pattern)


def flushed(pattern: Array) -> Array:
    """Denormals made zeros of their sign."""
    _, infinity, magnitude = _float(pattern)
    return np.where(magnitude & pattern.dtype.type(infinity) == 0, _sign(pattern), pattern)


def unsigned_zero(pattern: Array) -> Array:
    """-0 made +0."""
    return np.where(pattern == _sign(pattern), pattern.dtype.type(0), pattern)


def low(kept: int) -> Change:
    """The low ``kept`` bits, the others cleared."""
    return lambda pattern: pattern & pattern.dtype.type((1 << min(kept, _width(pattern))) - 1)


def without(bit: int) -> Change:
    """Bit ``bit`` cleared; counted from the top where negative, so that -1 is the highest."""
    return lambda pattern: pattern & ~pattern.dtype.type(1 << (bit % _width(pattern)))


def extended(pattern: Array) -> Array:
    """The low 32 bits, extended by their sign."""
    return pattern.astype(np.uint32).view(np.int32).astype(np.int64)


def through(name: str) -> Change:
    """Integers converted to a floating-point type and back."""
    largest = np.nextafter(np.dtype(name).type(2.0**64), np.dtype(name).type(0))
    return lambda pattern: np.minimum(pattern.astype(name), largest).astype(np.uint64)


DETOURS: dict[str, tuple[str, Change]] = {
    "nan-quieted": ("makes signalling NaN quiet", quieted),
    "nan-canonical": ("makes every NaN the same", canonical),
    "denormals-flushed": ("makes denormals zero", flushed),
    "minus-zero-lost": ("makes -0 +0", unsigned_zero),
}
"""What becomes of floats' bit patterns that are moved as numbers."""
