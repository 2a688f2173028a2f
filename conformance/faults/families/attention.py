"""What implementations of attention get wrong in their arithmetic: heads, stacks and biases, scores, softmax and sums of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import (
    Array,
    Fault,
    Faults,
    Inputs,
    Table,
    Where,
    as_float16,
    change_result,
    roundings,
    with_input,
)
from dmlcts.reference.operators.attention.operands import PARTS, Estimate
from dmlcts.reference.stage import Instead
from dmlcts.spec.model.desc import OperatorDesc

Change = Callable[[Array], Array]
Stages = Mapping[str, Instead]
Rows = Mapping[str, tuple[str, Stages]]
"""By label: what it does, and the stages that are replaced."""


def faults_of(rows: Rows, prefix: str = "", when: Where | None = None, types: tuple[str, ...] = ()) -> Faults:
    """The faults that rows name."""
    return {f"{prefix}{label}": Fault(does, stages=stages, when=when, types=types) for label, (does, stages) in rows.items()}


def has(*names: str) -> Where:
    """Whether the desc has all of these tensors."""
    return lambda desc: all(desc.fields.get(name) is not None for name in names)


def change_arguments(stage: str, change: Callable[..., tuple[Any, ...]]) -> Stages:
    """Other arguments of a stage, without the first: the array namespace."""
    return {stage: lambda right, xp, *args: right(xp, *change(*args))}


def written_with(one: int, other: int) -> Change:
    """Written with two axes exchanged in memory, and read without."""
    return lambda x: x.swapaxes(one, other).reshape(x.shape)


def read_as(*order: int) -> Change:
    """Read as if the dimensions stood in another order in memory."""
    return lambda x: x.reshape([x.shape[axis] for axis in order]).transpose(np.argsort(order))


# Heads: arrays of (batch, heads, positions, elements of a head)


def _by_elements(x: Array) -> Array:
    """The elements of heads in turns: the first of each head, then the second of each."""
    batch, heads, positions, width = x.shape
    return x.swapaxes(1, 2).reshape(batch, positions, width, heads).transpose(0, 3, 1, 2)


def _change_split(change: Change, *which: str) -> Stages:
    return {"attention.split": lambda right, xp, part, *rest: (change if part in which else np.asarray)(right(xp, part, *rest))}


def _values_at_key_width(right: Instead, xp: Any, part: str, count: int, inputs: Inputs) -> Array:
    x: Array = right(xp, part, count, inputs)
    columns = x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)
    index = np.arange(count)[:, None] * right(xp, "Key", count, inputs).shape[3] + np.arange(x.shape[3])
    return columns[:, :, index % columns.shape[2]].swapaxes(1, 2) if part == "Value" else x


_HEADS: Mapping[str, tuple[str, Change]] = {
    "heads-by-elements": ("the elements of heads in turns", _by_elements),
    "heads-before-positions": ("heads as if they stood before positions", written_with(1, 2)),
}
HEADS: Faults = {
    **{
        f"{name}-{label}": Fault(f"reads {does} ({name})", stages=_change_split(change, *which))
        for name, which in (("query", PARTS[:1]), ("key", PARTS[1:2]), ("value", PARTS[2:]), ("all", PARTS))
        for label, (does, change) in _HEADS.items()
    },
    "value-width-of-keys": Fault(
        "reads values with heads as wide as those of keys", stages={"attention.split": _values_at_key_width}
    ),
    "output-beyond-16-queries-lost": Fault(
        "computes 16 queries at most",
        stages=change_arguments("attention.merge", lambda x: (x * (np.arange(x.shape[2]) < 16)[:, None],)),
    ),
}


# Stacks: (batch, positions, heads, parts, elements); BiasTensor: what is added to queries, keys and values behind each other

_LAYOUTS: Mapping[str, tuple[str, Change]] = {
    "parts-before-heads": ("parts before heads", read_as(0, 1, 3, 2, 4)),
    "heads-before-positions": ("heads before positions", read_as(0, 2, 1, 3, 4)),
    "parts-reversed": ("the last part first", lambda x: x[:, :, :, ::-1]),
}


def _stacks(*parts: str) -> Faults:
    name, prefix = f"Stacked{''.join(parts)}Tensor", f"stacked-{'-'.join(parts).lower()}-"
    return {
        f"{prefix}{label}": Fault(f"reads {name} as {does}", inputs=with_input(name, change), when=has(name))
        for label, (does, change) in _LAYOUTS.items()
    }


BiasSizes = Sequence[tuple[int, int]]
"""The heads of queries, keys and values, and the elements of a head."""


def bias_read(change: Callable[[Array, BiasSizes], Array]) -> Stages:
    """BiasTensor's elements read in another order."""
    return change_arguments("attention.bias", lambda elements, sizes: (change(elements, sizes), sizes))


def _bias_by_heads(elements: Array, sizes: BiasSizes) -> Array:
    """Of each head what is added to its query, key and value; where there are as many of each."""
    if len({heads for heads, _ in sizes}) > 1:
        return elements
    columns = np.split(elements.reshape(sizes[0][0], -1), np.cumsum([width for _, width in sizes])[:-1], axis=1)
    return np.concatenate([column.reshape(-1) for column in columns])


def _bias_by_thirds(elements: Array, sizes: BiasSizes) -> Array:
    return np.concatenate([np.roll(elements, -part * (elements.size // 3))[: np.prod(size)] for part, size in enumerate(sizes)])


_BIASES: Rows = {
    "not-of-key": ("adds no bias to keys", change_result("attention.bias", lambda found: [found[0], 0 * found[1], found[2]])),
    "by-heads": ("reads BiasTensor as if all of a head stood together", bias_read(_bias_by_heads)),
    "by-thirds": ("uses a third of BiasTensor for each of queries, keys and values", bias_read(_bias_by_thirds)),
}

OPERANDS: Faults = {
    **_stacks("Query", "Key"),
    **_stacks("Key", "Value"),
    **_stacks(*PARTS),
    **faults_of(_BIASES, "bias-", has("BiasTensor")),
}


# Scores: (batch, heads, queries, keys), as products, position bias and mask are


def _elements(count: Callable[[int], int]) -> Stages:
    """The first elements of a head alone."""

    def some_elements(x: Estimate) -> Estimate:
        width = count(x.value.shape[-1])
        return Estimate(x.value[..., :width], x.error[..., :width])

    return change_arguments("attention.product", lambda query, key: (some_elements(query), some_elements(key)))


def _not_of_past(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    bias = inputs["RelativePositionBiasTensor"].copy()
    bias[..., : inputs["PastKeyTensor"].shape[-2]] = 0
    return {**inputs, "RelativePositionBiasTensor": bias}


_SCORES: Rows = {
    "scale-by-root-of-width": (
        "scales by the root of a head's size, and not by Scale",
        change_arguments("attention.score", lambda products, scale, *rest: (products, products.width**-0.5, *rest)),
    ),
    "rest-of-4-elements-lost": ("ignores what a division of a head by 4 leaves", _elements(lambda width: width // 4 * 4 or width)),
    "elements-beyond-32-lost": ("multiplies 32 elements of a head at most", _elements(lambda width: 32)),
}

SCORES: Faults = {
    **faults_of(_SCORES),
    "position-bias-scaled": Fault(
        "scales the position bias too",
        stages=change_arguments("attention.score", lambda products, scale, bias, *rest: (products, scale, scale * bias, *rest)),
        when=has("RelativePositionBiasTensor"),
    ),
    "position-bias-not-of-past": Fault(
        "adds no position bias to the past's keys", inputs=_not_of_past, when=has("RelativePositionBiasTensor", "PastKeyTensor")
    ),
}


# The softmax, and precision


def _sum(powers: Array) -> Array:
    return np.asarray(powers.sum(axis=-1, keepdims=True))


def _weights(less: Callable[[Array], Any], total: Change = _sum, dtype: type = np.float32) -> Stages:
    """Attention weights with something else taken off the scores, or another sum of their exponentials; in another type."""

    def change(scores: Array) -> Array:
        powers = np.exp((scores - less(scores)).astype(dtype))
        found: Array = powers / total(powers)
        return found.astype(np.float64)

    return {"attention.softmax": lambda right, xp, scores, data_type: replace(scores, value=change(scores.value))}


def _max(*axes: int) -> Change:
    return lambda x: x.max(axis=axes, keepdims=True)


def _pad_keys(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    """Keys and values of 0 behind the right ones."""
    behind = [(0, 0)] * (inputs["KeyTensor"].ndim - 2) + [(0, -inputs["KeyTensor"].shape[-2] % 4), (0, 0)]
    return {**inputs, **{name: np.pad(inputs[name], behind) for name in ("KeyTensor", "ValueTensor")}}


def _keys(inside: Callable[[Array, int], Array]) -> Stages:
    """Some of the keys alone, by their index and number."""
    return change_result("attention.score", lambda x: np.where(inside(np.arange(x.shape[-1]), x.shape[-1]), x, -np.inf))


def _sum_in_half(a: Array, b: Array) -> Array:
    """A matrix product whose terms are added one after another in FLOAT16. There may be fewer heads of ``b``."""
    b = np.repeat(b, a.shape[1] // b.shape[1], axis=1)
    terms = a.astype(np.float16)[..., None] * b.astype(np.float16)[:, :, None]
    return np.add.accumulate(terms, axis=-2)[..., -1, :].astype(np.float64)


_SOFTMAX: Rows = {
    "softmax-without-maximum": ("uses the exponential of scores as they are", _weights(lambda x: 0)),
    "softmax-less-largest-of-all": ("subtracts the largest score of all queries", _weights(_max(-1, -2))),
    "rest-of-4-keys-lost": ("ignores the rest of the keys by 4", _keys(lambda at, count: at < (count // 4 * 4 or count))),
    "keys-beyond-256-lost": ("attends to 256 keys at most", _keys(lambda at, count: at < 256)),
}
_OF_FLOAT16: Rows = {
    "scores-of-float16-in-float16": ("computes scores of FLOAT16 in FLOAT16", change_result("attention.score", as_float16)),
    "products-summed-in-float16": (
        "sums products in FLOAT16",
        {
            "attention.product": lambda right, xp, q, k: replace(
                right(xp, q, k), value=_sum_in_half(q.value, k.value.swapaxes(-1, -2))
            )
        },
    ),
    "exponentials-summed-in-float16": (
        "sums exponentials in FLOAT16",
        _weights(_max(-1), lambda powers: np.add.accumulate(powers.astype(np.float16), axis=-1)[..., -1:], np.float64),
    ),
    "values-summed-in-float16": (
        "sums values in FLOAT16",
        {"attention.weigh": lambda right, xp, w, v: replace(right(xp, w, v), value=_sum_in_half(w.value, v.value))},
    ),
}

SOFTMAX: Faults = {
    **faults_of(_SOFTMAX),
    "padding-counts-4": Fault("counts keys of 0 up to a multiple of 4", inputs=_pad_keys, when=has("KeyTensor", "ValueTensor")),
    **faults_of(_OF_FLOAT16, types=("FLOAT16",)),
    **roundings("scores", "attention.score"),
    **roundings("attention-weights", "attention.softmax"),
}

FAULTS: Table = {"MULTIHEAD_ATTENTION*": {**HEADS, **OPERANDS, **SCORES, **SOFTMAX}}
