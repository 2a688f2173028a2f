"""Faults of attention's arithmetic: scores and their scale, the position bias, the softmax, the sum of values, and in which type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dmlcts.conformance.mutants.old.dense.attention_parts import (
    RIGHT,
    TRUTHS,
    Inputs,
    Steps,
    View,
    filled,
    has,
    masked,
    of,
    position,
    products,
    scored,
    softmax,
)
from dmlcts.conformance.mutants.old.elsewise import added_up
from dmlcts.conformance.mutants.old.fault import HALF, SINGLE, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc

Scored = Callable[[View, Array, Array, Array], Array]
"""(view, products, position bias, how often the filter value counts) -> scores."""


def _by_root(view: View) -> float:
    """One by the root of how many elements a head of queries has."""
    query = next(name for name in view.inputs if "Query" in name)
    sizes = view.inputs[query].shape
    return float((sizes[-1] if query.startswith("Stacked") else sizes[-1] / view.heads[0]) ** -0.5)


def _scaled(scale: Callable[[View], float]) -> Scored:
    """With another scale."""
    return lambda view, product, bias, hides: scored(view, scale(view) / view.scale * product, bias, hides)


def _mask_scaled(view: View, product: Array, bias: Array, hides: Array) -> Array:
    return scored(view, product, bias, hides) + (view.scale - 1) * filled(view, hides)


_SCALES: Mapping[str, tuple[str, Scored]] = {
    "scale-ignored": ("takes no notice of Scale", _scaled(lambda view: 1.0)),
    "scale-squared": ("scales queries and keys each by Scale", _scaled(lambda view: view.scale**2)),
    "scale-as-divisor": ("divides by Scale", _scaled(lambda view: 1 / view.scale)),
    "scale-by-root-of-width": ("scales by the root of the size of a head, and not by Scale", _scaled(_by_root)),
    "scale-and-root-of-width": ("scales by the root of the size of a head too", _scaled(lambda view: view.scale * _by_root(view))),
    "root-of-scale": ("scales by the root of Scale's magnitude", _scaled(lambda view: abs(view.scale) ** 0.5)),
}


def _placed(change: Callable[[View, Array], Array]) -> Steps:
    """With another position bias."""
    return replace(RIGHT, position=lambda view: change(view, position(view)))


def transposed(array: Array) -> Array:
    """Rows read as columns, in the same memory."""
    return array.reshape(*array.shape[:-2], array.shape[-1], array.shape[-2]).swapaxes(-1, -2)


def like_first(axis: int) -> Callable[[Array], Array]:
    """The first along an axis for all."""
    return lambda array: np.broadcast_to(np.take(array, [0], axis=axis), array.shape)


_POSITIONS: Mapping[str, tuple[str, Steps]] = {
    "position-bias-ignored": ("takes no notice of the position bias", _placed(lambda view, bias: 0 * bias)),
    "position-bias-subtracted": ("subtracts the position bias", _placed(lambda view, bias: -bias)),
    "position-bias-twice": ("adds the position bias twice", _placed(lambda view, bias: 2 * bias)),
    "position-bias-transposed": ("takes the position bias by keys and queries", _placed(lambda view, bias: transposed(bias))),
    "position-bias-of-first-batch": (
        "takes the first batch's position bias for all",
        _placed(lambda view, bias: like_first(0)(bias)),
    ),
    "position-bias-of-first-head": (
        "takes the first head's position bias for all",
        _placed(lambda view, bias: like_first(1)(bias)),
    ),
    "position-bias-of-first-query": (
        "takes the first query's position bias for all",
        _placed(lambda view, bias: like_first(2)(bias)),
    ),
    "position-bias-of-next-head": ("takes the next head's position bias", _placed(lambda view, bias: np.roll(bias, -1, axis=1))),
    "position-bias-batches-last": (
        "takes the position bias by heads, then batches",
        _placed(lambda view, bias: bias.swapaxes(0, 1).reshape(bias.shape)),
    ),
    "position-bias-not-of-past": (
        "adds no position bias to the past's keys",
        _placed(lambda view, bias: np.where(np.arange(view.keys) < view.past, 0, bias)),
    ),
    "position-bias-multiplied": (
        "multiplies by the position bias",
        replace(RIGHT, scored=lambda view, product, bias, hides: scored(view, product * bias, 0 * bias, hides)),
    ),
    "position-bias-scaled": (
        "scales the position bias too",
        replace(RIGHT, scored=lambda view, product, bias, hides: scored(view, product, view.scale * bias, hides)),
    ),
}


def _rows(total: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Shares by another sum of a row's exponentials."""

    def shares(scores: Array) -> Array:
        powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
        found: Array = powers / total(powers)
        return found

    return shares


def _along(*axes: int) -> Callable[[Array], Array]:
    """The softmax along other axes."""

    def shares(scores: Array) -> Array:
        powers = np.exp(scores - scores.max(axis=axes, keepdims=True))
        found: Array = powers / powers.sum(axis=axes, keepdims=True)
        return found

    return shares


def _without_maximum(scores: Array) -> Array:
    powers = np.exp(scores.astype(np.float32))
    found: Array = powers / powers.sum(axis=-1, keepdims=True)
    return found.astype(np.float64)


def _largest_of(*axes: int) -> Callable[[Array], Array]:
    """The softmax in FLOAT32, less the largest score of more than a row."""

    def shares(scores: Array) -> Array:
        powers = np.exp((scores - scores.max(axis=axes, keepdims=True)).astype(np.float32))
        found: Array = powers / powers.sum(axis=-1, keepdims=True)
        return found.astype(np.float64)

    return shares


def _first_maximum(scores: Array) -> Array:
    powers = np.exp((scores - scores[..., :1]).astype(np.float32))
    found: Array = powers / powers.sum(axis=-1, keepdims=True)
    return found.astype(np.float64)


def _padded(count: int) -> Callable[[Array], Array]:
    """Scores of 0 behind the keys, up to a multiple: their exponentials are in the sum."""

    def shares(scores: Array) -> Array:
        behind = [(0, 0)] * (scores.ndim - 1) + [(0, -scores.shape[-1] % count)]
        return softmax(np.pad(scores, behind))[..., : scores.shape[-1]]

    return shares


def _largest_alone(scores: Array) -> Array:
    found: Array = (scores == scores.max(axis=-1, keepdims=True)).astype(np.float64)
    return found


def _some_keys(kept: Callable[[Array, int], Array]) -> Callable[[Array], Array]:
    """Some of the keys alone, by their places and number."""

    def shares(scores: Array) -> Array:
        count = scores.shape[-1]
        return softmax(np.where(kept(np.arange(count), count), scores, -np.inf))

    return shares


def _causal(scores: Array) -> Array:
    queries, keys = scores.shape[-2:]
    return softmax(np.where(np.arange(keys) <= np.arange(queries)[:, None], scores, -np.inf))


_SHARES: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "softmax-without-maximum": ("takes the exponential of scores as they are, in FLOAT32", _without_maximum),
    "softmax-less-first": ("takes the first score off, and not the largest", _first_maximum),
    "softmax-less-largest-of-all": ("takes the largest score of all queries off", _largest_of(-1, -2)),
    "softmax-unnormalized": ("does not divide by the sum", _rows(lambda powers: np.ones(1))),
    "softmax-over-queries": ("takes the softmax over the queries", _along(-2)),
    "softmax-over-heads": ("takes the softmax over the heads", _along(1)),
    "softmax-over-matrix": ("takes the softmax over queries and keys together", _along(-1, -2)),
    "softmax-by-2": ("takes powers of 2", lambda scores: softmax(scores * np.log(2))),
    "softmax-with-a-1": ("adds 1 to the sum", _rows(lambda powers: powers.sum(axis=-1, keepdims=True) + 1)),
    "softmax-by-count": ("divides by the number of keys", _rows(lambda powers: np.full(1, powers.shape[-1]))),
    "softmax-twice": ("takes the softmax of the softmax", lambda scores: softmax(softmax(scores))),
    "largest-alone": ("takes the value of the largest score alone", _largest_alone),
    "padding-counts-4": ("counts keys of 0 up to a multiple of 4", _padded(4)),
    "padding-counts-16": ("counts keys of 0 up to a multiple of 16", _padded(16)),
    "last-key-lost": ("leaves out the last key", _some_keys(lambda at, count: at < max(1, count - 1))),
    "first-key-lost": ("leaves out the first key", _some_keys(lambda at, count: at >= min(1, count - 1))),
    "rest-of-4-keys-lost": (
        "leaves out what is left of a division of the keys by 4",
        _some_keys(lambda at, n: at < (n // 4 * 4 or n)),
    ),
    "keys-beyond-16-lost": ("attends to 16 keys at most", _some_keys(lambda at, count: at < 16)),
    "keys-beyond-32-lost": ("attends to 32 keys at most", _some_keys(lambda at, count: at < 32)),
    "keys-beyond-256-lost": ("attends to 256 keys at most", _some_keys(lambda at, count: at < 256)),
    "causal-always": ("hides the keys behind a query's own place", _causal),
}


def _terms(keep: Callable[[int], slice]) -> Callable[[Array, Array], Array]:
    """Only some of a head's elements."""
    return lambda query, key: products(query[..., keep(query.shape[-1])], key[..., keep(key.shape[-1])])


def _one_by_one(a: Array, b: Array, dtype: str) -> Array:
    """A matrix product whose terms are multiplied, and added one after another, in a type of few bits."""
    terms = a.astype(dtype)[..., :, :, None] * b.astype(dtype)[..., None, :, :]
    return added_up(dtype)(terms, -2)


def _cut(digits: int) -> Callable[[Array], Array]:
    """Cut to so many digits."""

    def change(array: Array) -> Array:
        fraction, exponent = np.frexp(array)
        found: Array = np.ldexp(np.trunc(fraction * 2**digits) / 2**digits, exponent)
        return found

    return change


def _half(array: Array) -> Array:
    return array.astype(np.float16).astype(np.float64)


def _of_read(change: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda query, key: products(change(query), change(key))


_PRODUCTS: Mapping[str, tuple[str, Callable[[Array, Array], Array]]] = {
    "last-element-lost": ("leaves out a head's last element", _terms(lambda count: slice(max(1, count - 1)))),
    "rest-of-4-elements-lost": ("leaves out what is left of a division of a head by 4", _terms(lambda n: slice(n // 4 * 4 or n))),
    "elements-beyond-16-lost": ("multiplies 16 elements of a head at most", _terms(lambda count: slice(16))),
    "elements-beyond-32-lost": ("multiplies 32 elements of a head at most", _terms(lambda count: slice(32))),
    "all-heads-in-one": (
        "multiplies queries and keys of all heads together",
        lambda query, key: np.repeat(products(query, key).sum(axis=1, keepdims=True), query.shape[1], axis=1),
    ),
    "keys-reversed": ("takes the keys from the last on", lambda query, key: products(query, key[:, :, ::-1])),
    "queries-reversed": ("takes the queries from the last on", lambda query, key: products(query[:, :, ::-1], key)),
    "distances": ("scores by distance", lambda query, key: -np.abs(query[:, :, :, None] - key[:, :, None]).sum(axis=-1)),
    "scores-by-columns": ("writes the scores column after column", lambda query, key: transposed(products(query, key))),
}

_NUMBERS: Mapping[str, tuple[str, Steps, tuple[str, ...]]] = {
    "operands-in-float16": ("multiplies FLOAT32 as FLOAT16", replace(RIGHT, products=_of_read(_half)), SINGLE),
    "operands-of-10-digits": ("multiplies FLOAT32 with 10 digits", replace(RIGHT, products=_of_read(_cut(11))), SINGLE),
    "scores-in-float16": ("keeps the scores in FLOAT16", replace(RIGHT, shares=lambda scores: softmax(_half(scores))), SINGLE),
    "shares-in-float16": ("keeps the shares in FLOAT16", replace(RIGHT, shares=lambda scores: _half(softmax(scores))), SINGLE),
    "scores-of-float16-in-float16": (
        "keeps the scores of FLOAT16 in FLOAT16",
        replace(RIGHT, shares=lambda scores: softmax(_half(scores))),
        HALF,
    ),
    "products-of-float16-in-float16": (
        "adds up the products of FLOAT16 in FLOAT16",
        replace(RIGHT, products=lambda query, key: _one_by_one(query, key.swapaxes(-1, -2), "f2")),
        HALF,
    ),
    "exponentials-of-float16-in-float16": (
        "adds up the exponentials of FLOAT16 in FLOAT16",
        replace(RIGHT, shares=_rows(lambda powers: added_up("f2")(powers, -1)[..., None])),
        HALF,
    ),
    "values-of-float16-in-float16": (
        "adds up the values of FLOAT16 in FLOAT16",
        replace(RIGHT, weighted=lambda shares, value: _one_by_one(shares, value, "f2")),
        HALF,
    ),
    "values-in-float16": (
        "adds up values as FLOAT16",
        replace(RIGHT, weighted=lambda shares, value: shares @ _half(value)),
        SINGLE,
    ),
}


def _half_position(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    return {name: x.astype(np.float16) if name == "RelativePositionBiasTensor" else x for name, x in inputs.items()}


SCORES: Mapping[str, Fault] = {
    **{name: Fault(does, of(replace(RIGHT, scored=step))) for name, (does, step) in _SCALES.items()},
    "scale-of-mask-too": Fault("scales what the mask adds too", of(replace(RIGHT, scored=_mask_scaled)), when=masked(TRUTHS)),
    **{name: Fault(does, of(steps), when=has("RelativePositionBiasTensor")) for name, (does, steps) in _POSITIONS.items()},
    "position-bias-in-float16": Fault(
        "reads the position bias as FLOAT16", of(change=_half_position), SINGLE, when=has("RelativePositionBiasTensor")
    ),
    **{name: Fault(does, of(replace(RIGHT, shares=step))) for name, (does, step) in _SHARES.items()},
    **{name: Fault(does, of(replace(RIGHT, products=step))) for name, (does, step) in _PRODUCTS.items()},
    **{name: Fault(does, of(steps), types) for name, (does, steps, types) in _NUMBERS.items()},
}
"""Faults between the operands and the output."""
