"""Faults of sums of products, as convolutions and matrix products are: which terms are left out, and in what type they are added up.

A family says how its products are computed one by one (``Products``); a fault adds them up otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import (
    FLOATS,
    HALF,
    PRECISIONS,
    SINGLE,
    Array,
    Fault,
    Faults,
    as_float16,
    change_result,
    has,
)
from dmlcts.reference.stage import Instead

Products = Callable[..., Iterator[Array]]
"""``f(right, *arguments)``: each product of a sum, as an array of the sums' sizes, from a stage that adds them up and its arguments."""

Stages = Mapping[str, Instead]


def but_rest_of(n: int) -> Callable[[Array], Array]:
    """All but those that are left of a division by n."""
    return lambda i: (i < i.size // n * n) | (i.size < n)


def first(n: int) -> Callable[[Array], Array]:
    """The first n."""
    return lambda i: i < n


def of_terms(weighted: Callable[[Callable[[Array], Array]], Stages]) -> Faults:
    """Sums whose terms are weighted by their places in it: most often by 1 and 0."""
    weights: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
        **{f"rest-of-{n}-lost": (f"leaves out the products that a division by {n} leaves", but_rest_of(n)) for n in (4, 16)},
        "256-products-at-most": ("leaves out products beyond the 256th", first(256)),
    }
    return {name: Fault(does, stages=weighted(weight)) for name, (does, weight) in weights.items()}


def one_by_one(stage: str, products: Products, add: Callable[[Any, Array], Array]) -> Stages:
    """``stages`` of a fault that adds up products so, one after another: the sum so far and the next product -> the sum."""

    def instead(right: Callable[..., Array], *args: Any) -> Any:
        total: Any = 0.0
        for product in products(right, *args):
            total = add(total, product)
        return total

    return {stage: instead}


def of_reals(stage: str, products: Products) -> Faults:
    """Sums of real numbers that are computed in a type of less precision, or pass over NaN."""
    added = partial(one_by_one, stage, products)
    return {
        **{
            f"sums-{name}": Fault(f"adds up in {of}", types=types, stages=added(lambda t, p, to=to: to(t + to(p))))  # type: ignore[misc]
            for name, (of, types, to) in PRECISIONS.items()
        },
        "sums-of-float16-in-float16": Fault("adds up FLOAT16 so", types=HALF, stages=added(lambda t, p: as_float16(t + p))),
        "products-in-float16": Fault("multiplies in FLOAT16", types=SINGLE, stages=added(lambda t, p: t + as_float16(p))),
        "error-of-largest": Fault(
            "is off by a part of the largest sum", types=SINGLE, stages=change_result(stage, _off_by_largest)
        ),
        "largest-for-infinity": Fault("gives the largest number where a sum overflows", lambda desc, inputs, right: _finite(right)),
        "nan-passed-over": Fault(
            "passes over products that are NaN", types=FLOATS, stages=added(lambda t, p: t + np.where(np.isnan(p), 0, p))
        ),
    }


def _finite(x: Array) -> Array:
    return np.clip(x, np.finfo(x.dtype).min, np.finfo(x.dtype).max)


def _off_by_largest(sums: Array) -> Array:
    """As by Winograd's or Strassen's way: what is lost is of the size of the largest sum among the last two dimensions."""
    most = np.max(np.abs(sums), axis=(-1, -2), keepdims=True, initial=0, where=np.isfinite(sums))
    return np.where(np.isfinite(sums), sums + most * 2.0**-16, sums)


def of_integers(stage: str, products: Products) -> Faults:
    """Sums of products of 8-bit integers for which 16 bits are not enough."""
    added = partial(one_by_one, stage, products)
    stages: Mapping[str, tuple[str, Stages]] = {
        "products-of-16-bits": ("keeps 16 bits of a product", added(lambda t, p: t + low_bits(p, 16))),
        "pairs-saturated": ("saturates the sum of two products at 16 bits", one_by_one(stage, _pairs(products), np.add)),
        "sums-in-float16": ("adds up in FLOAT16", added(lambda t, p: as_float16(t + p))),
    }
    return {name: Fault(does, stages=instead) for name, (does, instead) in stages.items()}


def exact(stage: str) -> Faults:
    """Sums of integers that are the output themselves, and need all of 32 bits."""
    return {
        "sums-in-float32": Fault("adds up in FLOAT32", stages=change_result(stage, lambda sums: sums.astype("f4").astype("f8"))),
    }


def low_bits(x: Array, bits: int) -> Array:
    """Whole numbers wrapped around to signed ones of so many bits."""
    half = 2.0 ** (bits - 1)
    return (x + half) % (2 * half) - half


def _saturate(x: Array) -> Array:
    return np.clip(x, -(2.0**15), 2.0**15 - 1)


def _pairs(products: Products) -> Products:
    """Two products at a time, as some instructions add them: with a saturated sum."""

    def pairs(right: Callable[..., Array], *args: Any) -> Iterator[Array]:
        every = products(right, *args)
        return (_saturate(np.add(one, other)) for one, other in zip_longest(every, every, fillvalue=0.0))

    return pairs


def _activated_twice(right: Callable[..., Any], xp: Any, fields: Any, value: Array, *rest: Any) -> Any:
    return right(xp, fields, right(xp, fields, value, *rest).value, *rest)


ACTIVATION: Faults = {
    "activation-twice": Fault("activates twice", stages={"fused.activation": _activated_twice}, when=has("FusedActivation")),
}
"""Of operators that have a fused activation."""
