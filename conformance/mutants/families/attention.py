"""What implementations of attention get wrong in their arithmetic: heads, stacks and biases, scores, softmax and sums of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.fault import (
    HALF,
    Array,
    Fault,
    Faults,
    Inputs,
    Table,
    Where,
    after,
    as_float16,
    roundings,
    with_attributes,
    with_input,
)
from dmlcts.reference.attention.masks import Mask
from dmlcts.reference.attention.multihead import Products
from dmlcts.reference.attention.operands import PARTS, Estimate
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

Change = Callable[[Array], Array]
Stages = Mapping[str, Instead]
Rows = Mapping[str, tuple[str, Any]]
"""Labels, what each does, and what makes it."""


def has(*names: str) -> Where:
    """Whether the desc has all of these tensors."""
    return lambda desc: all(desc.fields.get(name) is not None for name in names)


def first(axis: int) -> Change:
    """The first along an axis for all."""
    return lambda x: np.broadcast_to(np.take(x, [0], axis), x.shape)


def following(axis: int) -> Change:
    """The next along an axis for each, and the first for the last."""
    return lambda x: np.roll(x, -1, axis)


def written_with(one: int, other: int) -> Change:
    """Written with two axes exchanged in memory, and read without."""
    return lambda x: x.swapaxes(one, other).reshape(x.shape)


def read_with(one: int, other: int) -> Change:
    """Read as if two axes were exchanged in memory."""

    def change(x: Array) -> Array:
        sizes = list(x.shape)
        sizes[one], sizes[other] = sizes[other], sizes[one]
        return x.reshape(sizes).swapaxes(one, other)

    return change


# Heads: arrays of (batch, heads, positions, elements of a head)


def parts(change: Change, *which: str) -> Stages:
    """Queries, keys or values split into heads otherwise."""
    return {"attention.split": lambda right, xp, part, *rest: (change if part in which else np.asarray)(right(xp, part, *rest))}


def _by_elements(x: Array) -> Array:
    """The elements of heads in turns: the first of each head, then the second of each."""
    batch, heads, positions, width = x.shape
    return x.swapaxes(1, 2).reshape(batch, positions, width, heads).transpose(0, 3, 1, 2)


def _values_at_key_width(right: Instead, xp: Any, part: str, count: int, inputs: Inputs) -> Array:
    x = right(xp, part, count, inputs)
    if part != "Value":
        return x
    columns = x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)
    index = np.arange(count)[:, None] * right(xp, "Key", count, inputs).shape[3] + np.arange(x.shape[3])
    return columns[:, :, index % columns.shape[2]].swapaxes(1, 2)


def _merged(change: Change) -> Stages:
    """The heads of the output changed before they are written beside each other."""
    return {"attention.merge": lambda right, xp, x: right(xp, change(x))}


def _last_lost(axis: int) -> Change:
    """0 for what is last along an axis, if it is not all."""
    return lambda x: np.where(np.ones(x.shape).cumsum(axis) < max(2, x.shape[axis]), x, 0)


_HEADS: Rows = {
    "heads-by-elements": ("reads the elements of heads in turns", _by_elements),
    "heads-before-positions": ("reads heads as if they stood before positions", written_with(1, 2)),
    "of-first-head": ("uses the first head for all", first(1)),
    "of-next-head": ("uses the next head", following(1)),
}

_OUTPUT: Rows = {
    "heads-reversed": ("writes the last head first", _merged(lambda x: x[:, ::-1])),
    "of-first-head": ("writes the first head for all", _merged(first(1))),
    "heads-summed": ("adds up the heads", _merged(lambda x: 0 * x + x.sum(axis=1, keepdims=True))),
    "last-head-lost": ("does not compute the last head", _merged(_last_lost(1))),
    "last-query-lost": ("does not compute the last query", _merged(_last_lost(2))),
    "beyond-16-queries-lost": (
        "computes 16 queries at most",
        _merged(lambda x: np.where(np.arange(x.shape[2])[:, None] < 16, x, 0)),
    ),
    "before-positions": (
        "writes heads before positions",
        {"attention.merge": lambda right, xp, x: x.reshape(x.shape[0], x.shape[2], -1)},
    ),
    "by-elements": (
        "writes the elements of heads in turns",
        {"attention.merge": lambda right, xp, x: x.transpose(0, 2, 3, 1).reshape(x.shape[0], x.shape[2], -1)},
    ),
}

HEADS: Faults = {
    **{
        f"{name}-{label}": Fault(f"{does} (of {name} tensors)", stages=parts(change, *which))
        for name, which in (("query", PARTS[:1]), ("key", PARTS[1:2]), ("value", PARTS[2:]), ("all", PARTS))
        for label, (does, change) in _HEADS.items()
        if name != "all" or label.startswith("heads")
    },
    "key-elements-reversed": Fault(
        "reads a key's elements from the last to the first", stages=parts(lambda x: x[..., ::-1], "Key")
    ),
    "value-width-of-keys": Fault(
        "reads values as if their heads were as wide as those of keys", stages={"attention.split": _values_at_key_width}
    ),
    **{f"output-{label}": Fault(does, stages=stages) for label, (does, stages) in _OUTPUT.items()},
}


# Stacks: (batch, positions, heads, parts, elements); BiasTensor: what is added to queries, keys and values behind each other


def _laid_out(*order: int) -> Change:
    """The same memory, read with the dimensions in another order."""
    return lambda x: x.reshape([x.shape[axis] for axis in order]).transpose(np.argsort(order))


def _stacks() -> Faults:
    found = {}
    for stacked in (PARTS[:2], PARTS[1:], PARTS):
        name = f"Stacked{''.join(stacked)}Tensor"
        label = f"stacked-{'-'.join(stacked).lower()}"
        reads = {
            "parts-before-heads": ("parts before heads", _laid_out(0, 1, 3, 2, 4)),
            "parts-first": ("parts before batches", _laid_out(3, 0, 1, 2, 4)),
            "heads-before-positions": ("heads before positions", _laid_out(0, 2, 1, 3, 4)),
            **{
                f"as-{'-'.join(stacked[part] for part in order).lower()}": (
                    f"{', '.join(stacked[part] for part in order)} in this order",
                    lambda x, order=order: x[:, :, :, np.argsort(order)],
                )
                for order in list(permutations(range(len(stacked))))[1:]
            },
        }
        for which, (does, change) in reads.items():
            found[f"{label}-{which}"] = Fault(f"reads {name} as {does}", inputs=with_input(name, change), when=has(name))
    return found


def _biases(change: Callable[[list[Array]], Sequence[Array]]) -> Stages:
    """What is added to queries, keys and values changed: of each (heads, 1, elements)."""
    return after("attention.bias", change)


def bias_elements(change: Callable[[Array, Sequence[tuple[int, int]]], Array]) -> Stages:
    """BiasTensor's elements in another order, by the heads of each part and the elements of a head."""
    return {"attention.bias": lambda right, xp, elements, sizes: right(xp, change(elements, sizes), sizes)}


def _in_order(order: Sequence[int]) -> Stages:
    def change(elements: Array, sizes: Sequence[tuple[int, int]]) -> Array:
        counts = [sizes[part][0] * sizes[part][1] for part in order]
        found = np.split(elements, np.cumsum(counts)[:-1])
        return np.concatenate([found[order.index(part)] for part in range(3)])

    return bias_elements(change)


def _by_heads(elements: Array, sizes: Sequence[tuple[int, int]]) -> Array:
    """Of each head what is added to its query, key and value; where there are as many of each."""
    if len({heads for heads, _ in sizes}) > 1:
        return elements
    columns = np.split(elements.reshape(sizes[0][0], -1), np.cumsum([width for _, width in sizes])[:-1], axis=1)
    return np.concatenate([column.reshape(-1) for column in columns])


def _by_thirds(elements: Array, sizes: Sequence[tuple[int, int]]) -> Array:
    third = elements.size // 3
    return np.concatenate([np.roll(elements, -part * third)[: heads * width] for part, (heads, width) in enumerate(sizes)])


_BIASES: Rows = {
    **{
        f"bias-not-of-{part.lower()}": (
            f"adds no bias to {part} tensors",
            _biases(lambda found, lost=index: [x * (at != lost) for at, x in enumerate(found)]),
        )
        for index, part in enumerate(PARTS)
    },
    **{
        f"bias-as-{'-'.join(PARTS[part] for part in order).lower()}": (
            f"reads BiasTensor as {', '.join(PARTS[part] for part in order)} in this order",
            _in_order(order),
        )
        for order in list(permutations(range(3)))[1:]
    },
    "bias-by-heads": ("reads BiasTensor as if all of a head stood together", bias_elements(_by_heads)),
    "bias-by-thirds": ("uses a third of BiasTensor for each of queries, keys and values", bias_elements(_by_thirds)),
    "bias-of-first-head": ("adds the first head's bias to all", _biases(lambda found: [first(0)(x) for x in found])),
    "bias-of-first-element": ("adds a head's first bias to all of it", _biases(lambda found: [first(2)(x) for x in found])),
    "bias-by-elements": (
        "reads the bias of heads in turns",
        _biases(lambda found: [x.reshape(x.shape[2], x.shape[0], 1).transpose(1, 2, 0) for x in found]),
    ),
}

OPERANDS: Faults = {
    **_stacks(),
    **{label: Fault(does, stages=stages, when=has("BiasTensor")) for label, (does, stages) in _BIASES.items()},
}


# Products and scores: (batch, heads, queries, keys)


def _multiplied(change: Callable[[Array, Array], tuple[Array, Array]]) -> Stages:
    """Queries and keys changed before they are multiplied."""

    def instead(right: Instead, xp: Any, query: Estimate, key: Estimate) -> Products:
        changed = change(query.value, key.value)
        found: Products = right(xp, *(Estimate(x, np.zeros_like(x)) for x in changed))
        return found

    return {"attention.product": instead}


def _some_elements(count: Callable[[int], int]) -> Stages:
    """The first elements of a head alone."""
    return _multiplied(lambda query, key: (query[..., : count(query.shape[-1])], key[..., : count(key.shape[-1])]))


def scores(change: Callable[[Array, float, Any, Mask | None, Products], tuple[Array, float, Any, Mask | None]]) -> Stages:
    """Scores of other products, another scale, position bias or mask."""

    def instead(right: Instead, xp: Any, products: Products, scale: float, position: Any, mask: Mask | None, data_type: str) -> Any:
        value, *rest = change(products.value, scale, position, mask, products)
        return right(xp, replace(products, value=value), *rest, data_type)

    return {"attention.score": instead}


def _scaled(change: Callable[[float, int], float]) -> Stages:
    """Another scale, by the right one and how many elements a head has."""
    return scores(lambda x, scale, position, mask, products: (x, change(scale, products.width), position, mask))


def _positions(change: Change) -> Stages:
    """Another relative position bias."""
    return scores(lambda x, scale, position, mask, _: (x, scale, None if position is None else change(position), mask))


def _distances(right: Instead, xp: Any, query: Estimate, key: Estimate) -> Products:
    keys = np.repeat(key.value, query.value.shape[1] // key.value.shape[1], axis=1)
    return replace(right(xp, query, key), value=-np.abs(query.value[:, :, :, None] - keys[:, :, None]).sum(axis=-1))


def _position_bias_not_of_past(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    index = np.arange(inputs["RelativePositionBiasTensor"].shape[-1])
    inside = index >= inputs["PastKeyTensor"].shape[-2]
    return {**inputs, "RelativePositionBiasTensor": inputs["RelativePositionBiasTensor"] * inside.astype(np.float16)}


_SCORES: Rows = {
    "scale-as-divisor": ("divides by Scale", _scaled(lambda scale, width: 1 / scale)),
    "scale-by-root-of-width": ("scales by the root of a head's size, and not by Scale", _scaled(lambda scale, width: width**-0.5)),
    "scale-and-root-of-width": ("scales by the root of a head's size too", _scaled(lambda scale, width: scale * width**-0.5)),
    "root-of-scale": ("scales by the root of Scale's magnitude", _scaled(lambda scale, width: abs(scale) ** 0.5)),
    "element-last-lost": ("ignores a head's last element", _some_elements(lambda width: max(1, width - 1))),
    "elements-rest-of-4-lost": (
        "ignores what a division of a head by 4 leaves",
        _some_elements(lambda width: width // 4 * 4 or width),
    ),
    **{
        f"elements-beyond-{n}-lost": (f"multiplies {n} elements of a head at most", _some_elements(lambda _, n=n: n))
        for n in (16, 32)
    },
    "keys-reversed": ("multiplies the last key first", _multiplied(lambda query, key: (query, key[:, :, ::-1]))),
    "queries-reversed": ("multiplies the last query first", _multiplied(lambda query, key: (query[:, :, ::-1], key))),
    "all-heads-in-one": (
        "multiplies queries and keys of all heads together",
        after("attention.product", lambda x: 0 * x + x.sum(axis=1, keepdims=True)),
    ),
    "distances": ("scores by distance", {"attention.product": _distances}),
    "scores-by-columns": ("writes scores column after column", after("attention.product", read_with(-1, -2))),
}

_POSITIONS: Rows = {
    "multiplied": (
        "multiplies by the position bias",
        scores(lambda x, scale, position, mask, _: (x if position is None else x * position, scale, None, mask)),
    ),
    "scaled": (
        "scales the position bias too",
        scores(lambda x, scale, position, mask, _: (x, scale, None if position is None else scale * position, mask)),
    ),
    "transposed": ("reads the position bias by keys and queries", _positions(read_with(-1, -2))),
    "batches-last": ("reads the position bias by heads, then batches", _positions(written_with(0, 1))),
}

SCORES: Faults = {
    "scale-squared": Fault("scales queries and keys each by Scale", desc=with_attributes(lambda f: {"Scale": f["Scale"] ** 2})),
    **{label: Fault(does, stages=stages) for label, (does, stages) in _SCORES.items()},
    **{
        f"position-bias-{label}": Fault(does, stages=stages, when=has("RelativePositionBiasTensor"))
        for label, (does, stages) in _POSITIONS.items()
    },
    "position-bias-not-of-past": Fault(
        "adds no position bias to the past's keys",
        inputs=_position_bias_not_of_past,
        when=has("RelativePositionBiasTensor", "PastKeyTensor"),
    ),
}


# The softmax, and its precision


def _softmax(change: Callable[[Change, Array], Array]) -> Stages:
    """Other attention weights, out of the right softmax (of an array, along the last axis) and the scores."""

    def instead(right: Instead, xp: Any, estimate: Estimate, data_type: str) -> Estimate:
        def softmax(x: Array) -> Array:
            found: Array = right(xp, Estimate(x, np.zeros_like(x)), data_type).value
            return found

        return replace(estimate, value=change(softmax, estimate.value))

    return {"attention.softmax": instead}


def _in_float32(less: Change) -> Stages:
    """The softmax in FLOAT32, with something else taken off the scores than a row's largest."""

    def change(softmax: Change, x: Array) -> Array:
        powers = np.exp((x - less(x)).astype(np.float32))
        return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float64)

    return _softmax(change)


def _divided(total: Change) -> Stages:
    """Exponentials divided by something else than a row's sum."""

    def change(softmax: Change, x: Array) -> Array:
        powers = np.exp(x - x.max(axis=-1, keepdims=True))
        return powers / total(powers)

    return _softmax(change)


def _along(*axes: int) -> Stages:
    """The softmax along other axes."""

    def change(softmax: Change, x: Array) -> Array:
        powers = np.exp(x - x.max(axis=axes, keepdims=True))
        return powers / powers.sum(axis=axes, keepdims=True)

    return _softmax(change)


def _padded(multiple: int) -> Stages:
    """Scores of 0 behind the keys, up to a multiple: their exponentials are in the sum."""
    return _softmax(lambda softmax, x: softmax(np.pad(x, [(0, 0)] * 3 + [(0, -x.shape[-1] % multiple)]))[..., : x.shape[-1]])


def _keys(inside: Callable[[Array, int], Array]) -> Stages:
    """Some of the keys alone, by their index and number."""
    return _softmax(lambda softmax, x: softmax(np.where(inside(np.arange(x.shape[-1]), x.shape[-1]), x, -np.inf)))


def _summed(a: Array, b: Array) -> Array:
    """A matrix product whose terms are added one after another in FLOAT16. There may be fewer heads of ``b``."""
    b = np.repeat(b, a.shape[1] // b.shape[1], axis=1)
    terms = a.astype(np.float16)[..., None] * b.astype(np.float16)[:, :, None]
    return np.add.accumulate(terms, axis=-2)[..., -1, :].astype(np.float64)


_SOFTMAX: Rows = {
    "softmax-without-maximum": ("uses the exponential of scores as they are, in FLOAT32", _in_float32(lambda x: 0)),
    "softmax-less-first": ("subtracts the first score, and not the largest", _in_float32(lambda x: x[..., :1])),
    "softmax-less-largest-of-all": (
        "subtracts the largest score of all queries",
        _in_float32(lambda x: x.max(axis=(-1, -2), keepdims=True)),
    ),
    "softmax-unnormalized": ("does not divide by the sum", _divided(lambda powers: 1)),
    "softmax-by-count": ("divides by the number of keys", _divided(lambda powers: powers.shape[-1])),
    "softmax-with-a-1": ("adds 1 to the sum", _divided(lambda powers: powers.sum(axis=-1, keepdims=True) + 1)),
    "softmax-over-queries": ("computes the softmax over the queries", _along(-2)),
    "softmax-over-heads": ("computes the softmax over the heads", _along(1)),
    "softmax-over-matrix": ("computes the softmax over queries and keys together", _along(-1, -2)),
    "softmax-by-2": ("computes powers of 2", _softmax(lambda softmax, x: softmax(x * np.log(2)))),
    "softmax-twice": ("computes the softmax of the softmax", _softmax(lambda softmax, x: softmax(softmax(x)))),
    "largest-alone": (
        "uses the value of the largest score alone",
        _softmax(lambda softmax, x: (x == x.max(axis=-1, keepdims=True)).astype(np.float64)),
    ),
    "causal-always": (
        "hides the keys behind a query's own position",
        _softmax(lambda softmax, x: softmax(np.where(np.tri(*x.shape[-2:], dtype=bool), x, -np.inf))),
    ),
    **{f"padding-counts-{n}": (f"counts keys of 0 up to a multiple of {n}", _padded(n)) for n in (4, 16)},
    **{f"keys-beyond-{n}-lost": (f"attends to {n} keys at most", _keys(lambda at, _, n=n: at < n)) for n in (16, 32, 256)},
    "last-key-lost": ("ignores the last key", _keys(lambda at, count: at < max(1, count - 1))),
    "first-key-lost": ("ignores the first key", _keys(lambda at, count: at >= min(1, count - 1))),
    "keys-rest-of-4-lost": ("ignores what a division of the keys by 4 leaves", _keys(lambda at, n: at < (n // 4 * 4 or n))),
}

_OF_FLOAT16: Rows = {
    "scores-of-float16-in-float16": ("computes scores of FLOAT16 in FLOAT16", after("attention.score", as_float16)),
    "products-summed-in-float16": (
        "sums products in FLOAT16",
        {"attention.product": lambda right, xp, q, k: replace(right(xp, q, k), value=_summed(q.value, k.value.swapaxes(-1, -2)))},
    ),
    "exponentials-summed-in-float16": (
        "sums exponentials in FLOAT16",
        _divided(lambda powers: np.add.accumulate(powers.astype(np.float16), axis=-1)[..., -1:]),
    ),
    "values-summed-in-float16": (
        "sums values in FLOAT16",
        {"attention.weigh": lambda right, xp, w, v: replace(right(xp, w, v), value=_summed(w.value, v.value))},
    ),
}

SOFTMAX: Faults = {
    **{label: Fault(does, stages=stages) for label, (does, stages) in _SOFTMAX.items()},
    **{label: Fault(does, stages=stages, types=HALF) for label, (does, stages) in _OF_FLOAT16.items()},
    **roundings("scores", "attention.score"),
    **roundings("attention-weights", "attention.softmax"),
}

FAULTS: Table = {"MULTIHEAD_ATTENTION*": {**HEADS, **OPERANDS, **SCORES, **SOFTMAX}}
