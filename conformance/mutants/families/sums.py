"""Faults of sums of products, as convolutions and matrix products are: in what type, of how many bits, and what NaN adds to them.

A family says how its products are computed one by one (``Products``); a fault adds them up otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.fault import FLOATS, HALF, PRECISIONS, SINGLE, Array, Fault, Faults, Where, after, as_float16
from dmlcts.reference.stage import Instead

Products = Callable[..., Iterator[Array]]
"""``f(right, *arguments)``: each product of a sum, as an array of the sums' sizes, from a stage that adds them up and its arguments."""

Add = Callable[[Any, Array], Array]
"""The sum so far and the next product -> the sum."""


def has(*names: str) -> Where:
    """Whether the desc has these tensors, or this fused activation."""
    return lambda desc: all(desc.fields.get(name) is not None for name in names)


def one_by_one(stage: str, products: Products, add: Add) -> Mapping[str, Instead]:
    """``stages`` of a fault that adds up products so, one after another."""

    def instead(right: Callable[..., Array], *args: Any) -> Array:
        total: Any = 0.0
        for product in products(right, *args):
            total = add(total, product)
        return total

    return {stage: instead}


def of_reals(stage: str, products: Products) -> Faults:
    """Sums of real numbers that are computed in a type of less precision, or pass over NaN."""
    in_half = one_by_one(stage, products, lambda total, product: as_float16(total + product))
    return {
        **{
            f"sums-{name}": Fault(f"adds up in {of}", types=types, stages=one_by_one(stage, products, _rounded(rounding)))
            for name, (of, types, rounding) in PRECISIONS.items()
        },
        "sums-of-float16-in-float16": Fault("adds up FLOAT16 in FLOAT16", types=HALF, stages=in_half),
        "products-in-float16": Fault(
            "multiplies in FLOAT16",
            types=SINGLE,
            stages=one_by_one(stage, products, lambda total, product: total + as_float16(product)),
        ),
        "sum-in-float16": Fault("keeps a sum in FLOAT16 before it goes on", types=SINGLE, stages=after(stage, as_float16)),
        "error-of-largest": Fault("is off by a part of the largest sum", types=SINGLE, stages=after(stage, _off_by_largest)),
        "nan-passed-over": Fault(
            "passes over products that are NaN",
            types=FLOATS,
            stages=one_by_one(stage, products, lambda total, product: total + np.where(np.isnan(product), 0, product)),
        ),
    }


def _rounded(rounding: Callable[[Array], Array]) -> Add:
    return lambda total, product: rounding(total + rounding(product))


def _off_by_largest(sums: Array) -> Array:
    """As by Winograd's or Strassen's way: what is lost is of the size of the largest sum among the last two dimensions."""
    most = np.max(np.abs(sums), axis=(-1, -2), keepdims=True, initial=0, where=np.isfinite(sums))
    return np.where(np.isfinite(sums), sums + most * 2.0**-16, sums)


def of_integers(stage: str, products: Products) -> Faults:
    """Sums of products of 8-bit integers for which 16 bits are not enough."""
    kept: Mapping[str, tuple[str, Mapping[str, Instead]]] = {
        "products-of-16-bits": (
            "keeps 16 bits of a product",
            one_by_one(stage, products, lambda total, product: total + low_bits(product, 16)),
        ),
        "products-saturated": (
            "saturates products at 16 bits",
            one_by_one(stage, products, lambda total, product: total + _saturated(product)),
        ),
        "pairs-saturated": ("saturates the sum of two products at 16 bits", one_by_one(stage, _pairs(products), np.add)),
        "sums-of-16-bits": ("keeps 16 bits of a sum", after(stage, lambda sums: low_bits(sums, 16))),
        "sums-saturated": ("saturates a sum at 16 bits", after(stage, _saturated)),
        "sums-in-float16": (
            "adds up in FLOAT16",
            one_by_one(stage, products, lambda total, product: as_float16(total + product)),
        ),
        "sums-of-magnitudes": (
            "adds up magnitudes",
            one_by_one(stage, products, lambda total, product: total + np.abs(product)),
        ),
    }
    return {name: Fault(does, stages=stages) for name, (does, stages) in kept.items()}


def exact(stage: str) -> Faults:
    """Sums of integers that are the output themselves, and need all of 32 bits."""
    return {
        "sums-in-float32": Fault("adds up in FLOAT32", stages=after(stage, lambda sums: sums.astype("f4").astype("f8"))),
        "sums-of-24-bits": Fault("keeps 24 bits of a sum", stages=after(stage, lambda sums: low_bits(sums, 24))),
    }


def low_bits(x: Array, bits: int) -> Array:
    """Whole numbers wrapped around to signed ones of so many bits."""
    half = 2.0 ** (bits - 1)
    return (x + half) % (2 * half) - half


def _saturated(x: Array) -> Array:
    return np.clip(x, -(2.0**15), 2.0**15 - 1)


def _pairs(products: Products) -> Products:
    """Two products at a time, as some instructions add them: with a saturated sum."""

    def pairs(right: Callable[..., Array], *args: Any) -> Iterator[Array]:
        every = products(right, *args)
        for one, other in zip_longest(every, every, fillvalue=0.0):
            yield _saturated(one + other)

    return pairs


def _activation(change: Callable[[Callable[[Array], Any], Array], Any]) -> Mapping[str, Instead]:
    """``change(activate, value)`` in the place of ``activate(value)``."""
    return {"fused.activation": lambda right, xp, fields, value, *rest: change(lambda x: right(xp, fields, x, *rest), value)}


ACTIVATION: Faults = {
    "activation-twice": Fault(
        "applies the activation twice",
        stages=_activation(lambda activate, value: activate(activate(value).value)),
        when=has("FusedActivation"),
    ),
    "activation-of-magnitude": Fault(
        "applies the activation to the magnitude",
        stages=_activation(lambda activate, value: activate(np.abs(value))),
        when=has("FusedActivation"),
    ),
}
"""Of operators that have a fused activation."""
