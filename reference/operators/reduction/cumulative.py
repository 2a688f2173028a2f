"""Running sums and products along one axis, from either end, with the element itself or without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.reduction.rows import sound_product
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@stage("reduction.along")
def move_axis_last(xp: Any, desc: OperatorDesc, x: Array) -> Array:
    """The array with Axis last, in the direction of the run."""
    moved = xp.moveaxis(x, desc.integer("Axis"), -1)
    return xp.flip(moved, axis=-1) if desc.constant("AxisDirection") == "DECREASING" else moved


@stage("reduction.back")
def move_axis_back(xp: Any, desc: OperatorDesc, totals: Array) -> Array:
    """Totals of a run to their places: the inverse of ``move_axis_last``."""
    found = xp.flip(totals, axis=-1) if desc.constant("AxisDirection") == "DECREASING" else totals
    return xp.moveaxis(found, -1, desc.integer("Axis"))


@stage("reduction.running")
def running_totals(xp: Any, x: Array, operation: str) -> Array:
    """The sum or the product (``operation``) of all elements up to each along the last dimension, in the type of ``x``."""
    return (xp.cumsum if operation == "sum" else xp.cumprod)(x, axis=-1, dtype=x.dtype)


@stage("reduction.exclusive")
def exclusive(xp: Any, totals: Array, x: Array, first: float) -> Array:
    """Totals without the element itself, of those that have each element of ``x`` in them; ``first`` before all."""
    return _shift_totals(xp, totals, first)


def _shift_totals(xp: Any, totals: Array, first: float) -> Array:
    """Each total one further, and ``first`` before all."""
    shifted = xp.full_like(totals, first)
    shifted[..., 1:] = totals[..., :-1]
    return shifted


def _place_totals(xp: Any, desc: OperatorDesc, totals: Array, without: bool, first: float) -> Array:
    """What goes with the totals of a run, such as their magnitudes, to its places; ``without`` the elements themselves."""
    return move_axis_back(xp, desc, _shift_totals(xp, totals, first) if without else totals)


def _counts(xp: Any, desc: OperatorDesc, x: Array, without: bool) -> Array:
    """How many elements each result is made of. ``x`` has been brought along."""
    return _place_totals(xp, desc, xp.broadcast_to(xp.arange(1, x.shape[-1] + 1), x.shape), without, 0)


def _accumulate_along(xp: Any, desc: OperatorDesc, array: Array, function: str, without: bool, neutral: int) -> tuple[Array, Array]:
    """The elements along the axis, floats in FLOAT64, and the sums or products up to each; ``without`` its own, they begin with ``neutral``."""
    x = move_axis_last(xp, desc, array)
    x = x.astype(xp.float64) if x.dtype.kind == "f" else x
    total = running_totals(xp, x, function)
    return x, move_axis_back(xp, desc, exclusive(xp, total, x, neutral) if without else total)


@reference("CUMULATIVE_SUMMATION")
def cumulative_summation(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Sums of all elements up to each; exclusive ones begin with 0. Integers wrap around: measured, where the page is silent."""
    without = desc.flag("HasExclusiveSum")
    x, value = _accumulate_along(xp, desc, inputs["InputTensor"], "sum", without, 0)
    if x.dtype.kind != "f":
        return {"OutputTensor": Answer(value)}
    magnitude = _place_totals(xp, desc, xp.cumsum(xp.abs(x), axis=-1), without, 0)
    return {"OutputTensor": Answer(value, magnitude=magnitude, terms=_counts(xp, desc, x, without))}


@reference("CUMULATIVE_PRODUCT")
def cumulative_product(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Products of all elements up to each; exclusive ones begin with 1. Integers wrap around: measured, where the page is silent."""
    without = desc.flag("HasExclusiveProduct")
    x, value = _accumulate_along(xp, desc, inputs["InputTensor"], "product", without, 1)
    if x.dtype.kind != "f":
        return {"OutputTensor": Answer(value)}
    size, infinite, zero = xp.abs(x), xp.isinf(x), x == 0
    above = xp.cumprod(xp.where(infinite | (size <= 1), 1.0, size), axis=-1)
    below = xp.cumprod(xp.where(zero | (size > 1), 1.0, size), axis=-1)
    seen = (xp.cumsum(flag, axis=-1) > 0 for flag in (infinite, zero, xp.isnan(x)))
    infinite, zero, nan = seen
    sound = sound_product(xp, above, below, infinite, zero) | nan
    return {
        "OutputTensor": Answer(value, terms=_counts(xp, desc, x, without), defined=_place_totals(xp, desc, sound, without, True))
    }
