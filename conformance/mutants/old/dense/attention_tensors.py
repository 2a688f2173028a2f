"""Faults of attention's tensors: heads, stacks and biases misread, batches, keys and values of the past, and those that are given back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dmlcts.conformance.mutants.old.dense.attention_parts import (
    PARTS,
    RIGHT,
    Inputs,
    Steps,
    Three,
    View,
    biases,
    flat,
    has,
    of,
    split,
    stacked,
)
from dmlcts.conformance.mutants.old.dense.attention_scores import like_first
from dmlcts.conformance.mutants.old.fault import SINGLE, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc

Change = Callable[[Array], Array]


def _split(*changes: Change) -> Steps:
    """Queries, keys and values read otherwise."""

    def step(view: View) -> Three:
        query, key, value = (change(x) for change, x in zip(changes, split(view), strict=True))
        return query, key, value

    return replace(RIGHT, split=step)


def _same(array: Array) -> Array:
    return array


def _by_elements(array: Array) -> Array:
    """The heads' elements taken in turns: the first of each head, then the second."""
    batch, heads, positions, width = array.shape
    found: Array = flat(array).reshape(batch, positions, width, heads).transpose(0, 3, 1, 2)
    return found


def _before_positions(array: Array) -> Array:
    """Heads before positions in memory."""
    return flat(array).reshape(array.shape)


def _at_key_width(three: Three) -> Three:
    """Values whose heads begin where those of keys would."""
    query, key, value = three
    width, columns = key.shape[3], flat(value)
    at = np.arange(value.shape[1])[:, None] * width + np.arange(value.shape[3])
    found = columns[:, :, at % columns.shape[2]].swapaxes(1, 2)
    return query, key, found


def _like_key(three: Three) -> Three:
    query, key, value = three
    return query, key, key if key.shape == value.shape else value


def _from_three(change: Callable[[Three], Three]) -> Steps:
    return replace(RIGHT, split=lambda view: change(split(view)))


def next_along(axis: int) -> Change:
    """The next along an axis for each, and the first for the last."""
    return lambda array: np.roll(array, -1, axis=axis)


def turned(axis: int) -> Change:
    """From the last along an axis on."""
    return lambda array: np.flip(array, axis)


def _written(change: Change) -> Steps:
    """The output written otherwise."""
    return replace(RIGHT, flat=lambda heads: flat(change(heads)))


def _last_zero(axis: int) -> Change:
    """What is last along an axis not computed, if it is not all."""

    def change(heads: Array) -> Array:
        count = heads.shape[axis]
        keeps = np.arange(count) < max(1, count - 1)
        return np.where(keeps.reshape(-1, *[1] * (heads.ndim - axis - 1)), heads, 0)

    return change


_HEADS: Mapping[str, tuple[str, Steps]] = {
    "heads-by-elements": ("takes the elements of heads in turns", _split(_by_elements, _by_elements, _by_elements)),
    "query-heads-by-elements": ("takes the elements of the queries' heads in turns", _split(_by_elements, _same, _same)),
    "key-heads-by-elements": ("takes the elements of the keys' heads in turns", _split(_same, _by_elements, _same)),
    "value-heads-by-elements": ("takes the elements of the values' heads in turns", _split(_same, _same, _by_elements)),
    "heads-before-positions": (
        "takes heads to stand before positions",
        _split(_before_positions, _before_positions, _before_positions),
    ),
    "values-before-positions": ("takes the values' heads to stand before positions", _split(_same, _same, _before_positions)),
    "value-width-of-keys": ("takes values to have heads as wide as keys", _from_three(_at_key_width)),
    "key-as-value": ("takes the keys for values, where they have their sizes", _from_three(_like_key)),
    "query-of-first-head": ("takes the first head's queries for all", _split(like_first(1), _same, _same)),
    "query-of-next-head": ("takes the next head's queries", _split(next_along(1), _same, _same)),
    "key-of-first-head": ("takes the first head's keys for all", _split(_same, like_first(1), _same)),
    "key-of-next-head": ("takes the next head's keys", _split(_same, next_along(1), _same)),
    "value-of-first-head": ("takes the first head's values for all", _split(_same, _same, like_first(1))),
    "value-of-next-head": ("takes the next head's values", _split(_same, _same, next_along(1))),
    "query-of-first-batch": ("takes the first batch's queries for all", _split(like_first(0), _same, _same)),
    "key-of-first-batch": ("takes the first batch's keys for all", _split(_same, like_first(0), _same)),
    "value-of-first-batch": ("takes the first batch's values for all", _split(_same, _same, like_first(0))),
    "key-of-next-batch": ("takes the next batch's keys", _split(_same, next_along(0), _same)),
    "query-of-first-place": ("takes the first query for all", _split(like_first(2), _same, _same)),
    "values-reversed": ("takes the values from the last on", _split(_same, _same, turned(2))),
    "values-next": ("takes the next key's value", _split(_same, _same, next_along(2))),
    "elements-reversed-in-keys": ("takes a key's elements from the last on", _split(_same, turned(3), _same)),
    "output-by-elements": (
        "writes the elements of heads in turns",
        replace(RIGHT, flat=lambda heads: heads.transpose(0, 2, 3, 1).reshape(heads.shape[0], heads.shape[2], -1)),
    ),
    "output-before-positions": (
        "writes heads before positions",
        replace(RIGHT, flat=lambda heads: heads.reshape(heads.shape[0], heads.shape[2], -1)),
    ),
    "output-heads-reversed": ("writes the last head first", _written(turned(1))),
    "output-of-first-head": ("writes the first head for all", _written(like_first(1))),
    "output-of-first-batch": ("writes the first batch for all", _written(like_first(0))),
    "last-head-lost": ("does not compute the last head", _written(_last_zero(1))),
    "last-query-lost": ("does not compute the last query", _written(_last_zero(2))),
    "queries-beyond-16-lost": (
        "computes 16 queries at most",
        _written(lambda heads: np.where(np.arange(heads.shape[2])[:, None] < 16, heads, 0)),
    ),
    "heads-summed": (
        "adds up the heads",
        _written(lambda heads: np.broadcast_to(heads.sum(axis=1, keepdims=True), heads.shape)),
    ),
}


# Stacks


def _restacked(change: Callable[[Array, list[str]], Array], *parts: str) -> Callable[[OperatorDesc, Inputs], Inputs]:
    """The stacks of these parts read otherwise."""

    def read(desc: OperatorDesc, inputs: Inputs) -> Inputs:
        return {
            name: change(x, stacked(name)) if name.startswith("Stacked") and stacked(name) == list(parts) else x
            for name, x in inputs.items()
        }

    return read


def _in_memory(*order: int) -> Callable[[Array, list[str]], Array]:
    """The same memory, read with the dimensions in another order."""

    def change(array: Array, parts: list[str]) -> Array:
        sizes = [array.shape[axis] for axis in order]
        return array.reshape(sizes).transpose(np.argsort(order))

    return change


def _in_order(*order: str) -> Callable[[Array, list[str]], Array]:
    """The parts stacked in another order."""
    return lambda array, parts: array[:, :, :, [order.index(part) for part in parts]]


_STACKED = {
    "query-key": ("StackedQueryKeyTensor", ("Query", "Key")),
    "key-value": ("StackedKeyValueTensor", ("Key", "Value")),
    "query-key-value": ("StackedQueryKeyValueTensor", PARTS),
}

_READ: Mapping[str, tuple[str, Callable[[tuple[str, ...]], Callable[[Array, list[str]], Array]]]] = {
    "reversed": ("takes the parts of {} from the last on", lambda parts: _in_order(*parts[::-1])),
    "parts-before-heads": ("takes the parts of {} to stand before the heads", lambda parts: _in_memory(0, 1, 3, 2, 4)),
    "parts-last": ("takes the parts of {} to stand behind a head's elements", lambda parts: _in_memory(0, 1, 2, 4, 3)),
    "parts-first": ("takes the parts of {} to stand before the batches", lambda parts: _in_memory(3, 0, 1, 2, 4)),
    "heads-before-positions": ("takes the heads of {} to stand before the positions", lambda parts: _in_memory(0, 2, 1, 3, 4)),
    "first-alone": ("takes the first part of {} for all", lambda parts: lambda array, _: like_first(3)(array)),
}

_STACKS: Mapping[str, Fault] = {
    **{
        f"stacked-{stack}-{name}": Fault(does.format(tensor), of(change=_restacked(change(parts), *parts)), when=has(tensor))
        for stack, (tensor, parts) in _STACKED.items()
        for name, (does, change) in _READ.items()
    },
    "stacked-query-key-value-rotated": Fault(
        "takes StackedQueryKeyValueTensor to hold keys, values and queries",
        of(change=_restacked(_in_order("Key", "Value", "Query"), *PARTS)),
        when=has("StackedQueryKeyValueTensor"),
    ),
    "stacked-query-key-value-last-two": Fault(
        "takes StackedQueryKeyValueTensor to hold queries, values and keys",
        of(change=_restacked(_in_order("Query", "Value", "Key"), *PARTS)),
        when=has("StackedQueryKeyValueTensor"),
    ),
}


# Bias


def _biased(change: Callable[[Three], Three]) -> Steps:
    return replace(RIGHT, biases=lambda view, three: change(biases(view, three)))


def _bias_read(change: Callable[[Array, Three, list[int]], Array]) -> Steps:
    """The bias's numbers in another order, by how many each part has."""

    def step(view: View, three: Three) -> Three:
        bias = view.inputs["BiasTensor"].reshape(-1)
        changed = change(bias, three, [x.shape[1] * x.shape[3] for x in three])
        return biases(replace(view, inputs={**view.inputs, "BiasTensor": changed}), three)

    return replace(RIGHT, biases=step)


def _bias_order(*order: int) -> Steps:
    """The parts of the bias in another order."""

    def change(bias: Array, three: Three, counts: list[int]) -> Array:
        starts = np.cumsum([0, *(counts[part] for part in order)])
        found = {part: bias[start : start + counts[part]] for part, start in zip(order, starts, strict=False)}
        return np.concatenate([found[part] for part in range(3)])

    return _bias_read(change)


def _bias_by_heads(bias: Array, three: Three, counts: list[int]) -> Array:
    """Of each head the parts of queries, keys and values; where there are as many of each."""
    heads = {x.shape[1] for x in three}
    if len(heads) > 1:
        return bias
    rows = bias.reshape(heads.pop(), -1)
    ends = np.cumsum([x.shape[3] for x in three])[:-1]
    return np.concatenate([part.reshape(-1) for part in np.split(rows, ends, axis=1)])


def _bias_by_thirds(bias: Array, three: Three, counts: list[int]) -> Array:
    """Thirds for queries, keys and values, whatever they need."""
    third = bias.size // 3
    return np.concatenate([np.roll(bias, -part * third)[:count] for part, count in enumerate(counts)])


def _at(change: Change, *parts: int) -> Callable[[Three], Three]:
    """Some of the three changed."""

    def changed(three: Three) -> Three:
        query, key, value = (change(x) if part in parts else x for part, x in enumerate(three))
        return query, key, value

    return changed


def none(array: Array) -> Array:
    """Zeros in their place."""
    return 0 * array


_BIASES: Mapping[str, tuple[str, Steps]] = {
    "bias-ignored": ("takes no notice of the bias", _biased(_at(none, 0, 1, 2))),
    "bias-not-of-queries": ("adds no bias to queries", _biased(_at(none, 0))),
    "bias-not-of-keys": ("adds no bias to keys", _biased(_at(none, 1))),
    "bias-not-of-values": ("adds no bias to values", _biased(_at(none, 2))),
    "bias-subtracted": ("subtracts the bias", _biased(_at(np.negative, 0, 1, 2))),
    "bias-twice": ("adds the bias to queries twice", _biased(_at(lambda x: 2 * x, 0))),
    "bias-keys-first": ("takes the bias to hold that of keys, then queries", _bias_order(1, 0, 2)),
    "bias-values-before-keys": ("takes the bias to hold that of values before keys", _bias_order(0, 2, 1)),
    "bias-values-first": ("takes the bias to hold that of values first", _bias_order(2, 0, 1)),
    "bias-reversed": ("takes the bias to hold that of values, keys, queries", _bias_order(2, 1, 0)),
    "bias-by-heads": ("takes the bias to hold all of a head together", _bias_read(_bias_by_heads)),
    "bias-by-thirds": ("takes a third of the bias for each", _bias_read(_bias_by_thirds)),
    "bias-of-first-head": ("adds the first head's bias to all", _biased(_at(like_first(0), 0, 1, 2))),
    "bias-of-first-element": ("adds a head's first bias to all of it", _biased(_at(like_first(2), 0, 1, 2))),
    "bias-by-elements": (
        "takes the bias of heads in turns",
        _biased(_at(lambda x: x.reshape(x.shape[2], x.shape[0], 1).transpose(1, 2, 0), 0, 1, 2)),
    ),
}


def _bias_in_half(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    return {name: x.astype(np.float16) if name == "BiasTensor" else x for name, x in inputs.items()}


TENSORS: Mapping[str, Fault] = {
    **{name: Fault(does, of(steps)) for name, (does, steps) in _HEADS.items()},
    **_STACKS,
    **{name: Fault(does, of(steps), when=has("BiasTensor")) for name, (does, steps) in _BIASES.items()},
    "bias-in-float16": Fault("reads the bias as FLOAT16", of(change=_bias_in_half), SINGLE, when=has("BiasTensor")),
}
"""Faults of what is read, and of where it is written."""
