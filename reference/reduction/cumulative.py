"""Running sums and products along one axis, from either end, with the element itself or without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.reduction.rows import sound_product
from dmlcts.reference.registry import reference
from dmlcts.spec.desc import OperatorDesc


class _Run:
    """The desc's way through an array: ``along`` brings it to the end of the last dimension, ``back`` takes results to their places."""

    def __init__(self, xp: Any, desc: OperatorDesc, exclusive: str) -> None:
        axis = desc.fields["Axis"]
        assert isinstance(axis, int)
        self.xp, self.axis = xp, axis
        self.decreasing, self.exclusive = desc.fields["AxisDirection"] == "DECREASING", bool(desc.fields[exclusive])

    def along(self, x: Array) -> Array:
        moved = self.xp.moveaxis(x, self.axis, -1)
        return self.xp.flip(moved, axis=-1) if self.decreasing else moved

    def back(self, totals: Array, first: object) -> Array:
        """Totals that have each element in them; without it each stands one further, and ``first`` before all."""
        if self.exclusive:
            shifted = self.xp.full_like(totals, first)
            shifted[..., 1:] = totals[..., :-1]
            totals = shifted
        return self.xp.moveaxis(self.xp.flip(totals, axis=-1) if self.decreasing else totals, -1, self.axis)

    def counts(self, x: Array) -> Array:
        """How many elements each result is made of. ``x`` has been brought along."""
        return self.back(self.xp.broadcast_to(self.xp.arange(1, x.shape[-1] + 1), x.shape), 0)


@reference("CUMULATIVE_SUMMATION")
def cumulative_summation(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Sums of all elements up to each; exclusive ones begin with 0. Integers wrap around: measured, where the page is silent."""
    run = _Run(xp, desc, "HasExclusiveSum")
    x = run.along(inputs["InputTensor"])
    if x.dtype.kind != "f":
        return {"OutputTensor": Answer(run.back(xp.cumsum(x, axis=-1, dtype=x.dtype), 0))}
    x = x.astype(xp.float64)
    total, magnitude = xp.cumsum(x, axis=-1), xp.cumsum(xp.abs(x), axis=-1)
    return {"OutputTensor": Answer(run.back(total, 0.0), magnitude=run.back(magnitude, 0.0), terms=run.counts(x))}


@reference("CUMULATIVE_PRODUCT")
def cumulative_product(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Products of all elements up to each; exclusive ones begin with 1. Integers wrap around: measured, where the page is silent."""
    run = _Run(xp, desc, "HasExclusiveProduct")
    x = run.along(inputs["InputTensor"])
    if x.dtype.kind != "f":
        return {"OutputTensor": Answer(run.back(xp.cumprod(x, axis=-1, dtype=x.dtype), 1))}
    x = x.astype(xp.float64)
    size, infinite, zero = xp.abs(x), xp.isinf(x), x == 0
    above = xp.cumprod(xp.where(infinite | (size <= 1), 1.0, size), axis=-1)
    below = xp.cumprod(xp.where(zero | (size > 1), 1.0, size), axis=-1)
    seen = (xp.cumsum(flag, axis=-1) > 0 for flag in (infinite, zero, xp.isnan(x)))
    infinite, zero, nan = seen
    sound = sound_product(xp, above, below, infinite, zero) | nan
    return {"OutputTensor": Answer(run.back(xp.cumprod(x, axis=-1), 1.0), terms=run.counts(x), defined=run.back(sound, True))}
