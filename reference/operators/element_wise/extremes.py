"""The larger and the smaller of two numbers, where a NaN counts as nothing."""

from __future__ import annotations

from typing import Any

from dmlcts.reference.answer import Array


def larger(xp: Any, a: Array, b: Array | float) -> Array:
    """The larger, element by element; NaN only where both are. Real numbers or integers."""
    found: Array = xp.fmax(_quiet(xp, a), _quiet(xp, b))
    return found


def smaller(xp: Any, a: Array, b: Array | float) -> Array:
    """The smaller, element by element; NaN only where both are. Real numbers or integers."""
    found: Array = xp.fmin(_quiet(xp, a), _quiet(xp, b))
    return found


def _quiet(xp: Any, x: Any) -> Any:
    """The same with quiet NaN. Of a signalling one and a number, ``fmax`` gives the number or NaN, by where in the array they stand: the last few
    elements are computed one by one, the others many at a time.
    """
    is_real = not isinstance(x, int | float) and x.dtype.kind == "f"
    return xp.where(xp.isnan(x), xp.nan, x) if is_real else x
