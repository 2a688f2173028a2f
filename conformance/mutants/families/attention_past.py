"""What implementations of attention get wrong in the keys and values of the past: concatenated, given back, and kept in place.

Heads that share keys and values are here too: MULTIHEAD_ATTENTION1 alone has them, and buffers that keys and values are kept in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.attention import Change, Rows, Stages, bias_elements, first, has, read_with, written_with
from dmlcts.conformance.mutants.families.attention_masks import filled
from dmlcts.conformance.mutants.fault import Array, Fault, Faults, Inputs, Table, Where, after, with_input
from dmlcts.reference.attention.kv_cache import past_lengths
from dmlcts.reference.attention.masks import Mask, Sizes, causal
from dmlcts.reference.attention.operands import Estimate
from dmlcts.reference.registry import compute
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

# Past and new


def _joined(change: Callable[[Array, Array], Array], *which: str) -> Stages:
    """Past and new keys or values joined otherwise: (batch, heads, positions, elements) of each."""

    def instead(right: Instead, xp: Any, part: str, past: Array | None, new: Estimate) -> Estimate:
        found: Estimate = right(xp, part, past, new)
        if past is None or part not in (which or ("Key", "Value")):
            return found
        return replace(found, value=change(*np.split(found.value, [past.shape[-2]], axis=2)))

    return {"attention.concatenated": instead}


def _in_turns(past: Array, new: Array) -> Array:
    count = min(past.shape[2], new.shape[2])
    pairs = np.stack([past[:, :, :count], new[:, :, :count]], axis=3).reshape(*past.shape[:2], 2 * count, past.shape[3])
    return np.concatenate([pairs, past[:, :, count:], new[:, :, count:]], axis=2)


def _hidden(change: Callable[[Array, int], Array]) -> Stages:
    """Some keys hidden wholly, by their index and how many are of the past."""

    def instead(right: Instead, xp: Any, desc: OperatorDesc, inputs: Inputs, sizes: Sizes) -> Mask:
        mask = right(xp, desc, inputs, sizes) or Mask(np.zeros((1, 1, 1, sizes.keys)), -1.0)
        hidden = change(np.arange(sizes.keys), inputs["PastKeyTensor"].shape[-2])
        return replace(mask, count=np.where(hidden, np.inf, mask.count))

    return {"attention.mask": instead}


def _past_biased(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    """The bias of keys and of values added to those of the past too."""
    key, value = inputs["PastKeyTensor"], inputs["PastValueTensor"]
    (heads, width), of_values = (key.shape[-3], key.shape[-1]), value.shape[-3] * value.shape[-1]
    bias = inputs["BiasTensor"].reshape(-1)[-heads * width - of_values :]
    added = (bias[:-of_values].reshape(heads, 1, width), bias[-of_values:].reshape(heads, 1, -1))
    return {**inputs, "PastKeyTensor": key + added[0], "PastValueTensor": value + added[1]}


def _before_new(change: Change) -> Stages:
    """The past read otherwise."""
    return _joined(lambda past, new: np.concatenate([change(past), new], axis=2))


_PAST: Rows = {
    "behind": ("puts the past behind what is new", _joined(lambda past, new: np.concatenate([new, past], axis=2))),
    "value-behind": (
        "puts the past's values behind the new ones",
        _joined(lambda past, new: np.concatenate([new, past], axis=2), "Value"),
    ),
    "in-turns": ("puts past and new positions in turns", _joined(_in_turns)),
    "before-heads": ("reads the past as if positions stood before heads", _before_new(read_with(1, 2))),
    "last-lost": (
        "treats the last of the past as 0",
        _before_new(lambda past: past * (np.arange(past.shape[2]) < past.shape[2] - 1)[:, None]),
    ),
    "unseen": ("does not attend to the past", _hidden(lambda index, past: index < past)),
    "alone": ("attends to the past alone", _hidden(lambda index, past: index >= past)),
}

PAST: Faults = {
    **{f"past-{label}": Fault(does, stages=stages, when=has("PastKeyTensor")) for label, (does, stages) in _PAST.items()},
    "past-biased": Fault("adds the bias to the past too", inputs=_past_biased, when=has("PastKeyTensor", "BiasTensor")),
}


# What is given back


def _new_first(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    """The new positions where the past belongs, and zeros behind them."""
    count = desc.tensor("PastKeyTensor").sizes[-2]
    return np.concatenate([right[..., count:, :], 0 * right[..., :count, :]], axis=-2)


def _past_alone(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    return right * (np.arange(right.shape[-2]) < desc.tensor("PastKeyTensor").sizes[-2])[:, None]


def _scaled(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    return right * desc.fields["Scale"]


def _given_back(part: str) -> Faults:
    name, other = f"OutputPresent{part}Tensor", f"OutputPresent{'Key' if part == 'Value' else 'Value'}Tensor"

    def as_other(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        return compute(desc, inputs)[other].value

    def without_bias(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        return compute(desc, {**inputs, "BiasTensor": 0 * inputs["BiasTensor"]})[name].value

    def alike(desc: OperatorDesc) -> bool:
        return has(name, other)(desc) and desc.tensor(name).sizes == desc.tensor(other).sizes

    before_heads = written_with(-3, -2)
    rows: tuple[tuple[str, str, Any, Where], ...] = (
        ("before-heads", "with positions before heads", lambda desc, inputs, right: before_heads(right), has(name)),
        ("scaled", "times Scale", _scaled, has(name)),
        (f"as-{other}", f"as {other}, where it has its sizes", as_other, alike),
        ("without-bias", "without the bias", without_bias, has(name, "BiasTensor")),
        ("without-past", "as what is new alone", _new_first, has(name, "PastKeyTensor")),
        ("without-new", "as the past alone", _past_alone, has(name, "PastKeyTensor")),
    )
    return {f"{name}/{label}": Fault(f"writes {name} {does}", value, when=when, output=name) for label, does, value, when in rows}


# Heads that share keys and values: those of queries by groups


def _key_heads(choose: Callable[[Array, int, int], Array]) -> Stages:
    """Each query head with the head of keys and values that is chosen by its index, and by how many heads of both there are."""

    def instead(right: Instead, xp: Any, mine: Estimate, shared: Estimate) -> Any:
        heads, count = mine.value.shape[1], shared.value.shape[1]
        chosen = choose(np.arange(heads), heads, count)
        return right(xp, mine, Estimate(shared.value[:, chosen], shared.error[:, chosen]))

    return {"attention.product": instead, "attention.weigh": instead}


def _summed(right: Instead, xp: Any, mine: Estimate, shared: Estimate) -> Any:
    return right(xp, mine, replace(shared, value=0 * shared.value + shared.value.sum(axis=1, keepdims=True)))


def _of_groups(choose: Callable[[Array, int], Array]) -> Stages:
    """Other heads of queries, chosen by index and by how many share a head of keys."""

    def instead(right: Instead, xp: Any, query: Estimate, key: Estimate) -> Any:
        heads, count = query.value.shape[1], key.value.shape[1]
        return right(xp, replace(query, value=query.value[:, choose(np.arange(heads), heads // count)]), key)

    return {"attention.product": instead}


def _bias_of_all_heads(elements: Array, sizes: Sequence[tuple[int, int]]) -> Array:
    """Elements of as many heads of keys and values as of queries, of which the first are read."""
    starts = np.cumsum([0, *(sizes[0][0] * width for _, width in sizes)])
    return np.concatenate([np.roll(elements, -at)[: heads * width] for at, (heads, width) in zip(starts, sizes, strict=False)])


def _bias_of_group(right: Instead, xp: Any, elements: Array, sizes: Sequence[tuple[int, int]]) -> list[Array]:
    query, *rest = right(xp, elements, sizes)
    group = sizes[0][0] // sizes[1][0]
    return [query[np.arange(sizes[0][0]) // group * group], *rest]


def _heads_of(name: str, choose: Callable[[Array, int], Array]) -> Callable[[OperatorDesc, Inputs], Inputs]:
    """What a tensor holds of other heads, chosen by index and by how many share a head of keys."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        heads: Any = desc.fields["QueryHeadCount"]
        shared: Any = desc.fields["KeyValueHeadCount"]
        return {**right, name: np.take(right[name], choose(np.arange(heads), heads // shared), axis=-3)}

    return inputs


_GROUPS: Rows = {
    "groups-tiled": ("uses the heads of keys in turns", _key_heads(lambda index, heads, count: index % count)),
    "groups-reversed": (
        "uses the heads of keys from the last to the first",
        _key_heads(lambda index, heads, count: count - 1 - index // (heads // count)),
    ),
    "groups-of-first": ("uses the first head of keys for all", _key_heads(lambda index, heads, count: 0 * index)),
    "groups-of-last": (
        "uses the head of keys of the query head's number, or the last",
        _key_heads(lambda index, heads, count: np.minimum(index, count - 1)),
    ),
    "groups-of-next": (
        "uses the next group's head of keys",
        _key_heads(lambda index, heads, count: (index // (heads // count) + 1) % count),
    ),
    "groups-summed": ("adds up the keys and values of all heads", {"attention.product": _summed, "attention.weigh": _summed}),
    "group-shares-queries": ("computes a group's first head alone", _of_groups(lambda index, group: index // group * group)),
    "group-queries-in-turns": (
        "deals query heads out to groups in turns",
        _of_groups(lambda index, group: index.reshape(-1, group).T.reshape(-1)),
    ),
    "group-bias-of-all-heads": ("reads the bias as if keys had as many heads as queries", bias_elements(_bias_of_all_heads)),
    "group-bias-of-first-head": ("adds the bias of a group's first head to all of it", {"attention.bias": _bias_of_group}),
}


def _grouped(desc: OperatorDesc) -> bool:
    return desc.fields["QueryHeadCount"] != desc.fields["KeyValueHeadCount"]


def _grouped_with(name: str) -> Where:
    boolean = {"MaskTensor": "BOOLEAN"}
    return lambda desc: _grouped(desc) and has(name)(desc) and boolean.get(name, desc.fields["MaskType"]) == desc.fields["MaskType"]


GROUPS: Faults = {
    **{label: Fault(does, stages=stages, when=_grouped) for label, (does, stages) in _GROUPS.items()},
    **{
        f"group-{label}-of-{which}": Fault(f"uses {name} of {does}", inputs=_heads_of(name, choose), when=_grouped_with(name))
        for label, name in (("position-bias", "RelativePositionBiasTensor"), ("mask", "MaskTensor"))
        for which, does, choose in (
            ("first-head", "a group's first head for all of it", lambda index, group: index // group * group),
            ("key-head", "the head with the number of the head of keys", lambda index, group: index // group),
        )
    },
}


# Kept in place


def _written(change: Callable[[Estimate, Estimate, Array], tuple[Estimate, Estimate, Array]]) -> Stages:
    """Another buffer, other new positions or starts of them in each batch."""
    return {"attention.written": lambda right, xp, part, *args: right(xp, part, *change(*args))}


def _new(change: Change) -> Stages:
    return _written(lambda buffer, new, starts: (buffer, replace(new, value=change(new.value)), starts))


def _starts(change: Callable[[Array, int], Array]) -> Stages:
    """Other starts, by how many positions the buffer has behind the new ones at its start."""
    return _written(lambda buffer, new, starts: (buffer, new, change(starts, buffer.value.shape[2] - new.value.shape[2])))


def _zeros_behind(right: Instead, xp: Any, part: str, buffer: Estimate, new: Estimate, starts: Array) -> Estimate:
    found: Estimate = right(xp, part, buffer, new, starts)
    used = np.arange(buffer.value.shape[2])[:, None] < (starts + new.value.shape[2])[:, None, None, None]
    return replace(found, value=found.value * used)


def _keys_alone(right: Instead, xp: Any, part: str, buffer: Estimate, *rest: Any) -> Estimate:
    found: Estimate = buffer if part == "Value" else right(xp, part, buffer, *rest)
    return found


def _causal(change: Callable[[Array], Array]) -> Stages:
    """Keys shown as behind a past of other lengths."""
    return {"attention.causal": lambda right, xp, lengths, sizes: right(xp, change(lengths), sizes)}


def _by_new(change: Callable[[Array, int, Sizes], Array]) -> Stages:
    """Other pairs masked, by the lengths of the past and how many keys are new."""

    def instead(right: Instead, xp: Any, desc: OperatorDesc, inputs: Inputs, sizes: Sizes) -> Mask:
        keys = next(x.shape[1 if x.ndim == 5 and "Stacked" in name else -2] for name, x in inputs.items() if "Key" in name)
        mask: Mask = right(xp, desc, inputs, sizes)
        return replace(mask, count=change(past_lengths(xp, inputs), keys, sizes))

    return {"attention.mask": instead}


def _without_past(right: Instead, xp: Any, lengths: Array, sizes: Sizes) -> Array:
    return np.maximum(right(xp, lengths, sizes), np.arange(sizes.keys) < lengths[:, None, None, None])


_CACHE: Rows = {
    "at-end": ("writes what is new at the end of the buffer", _starts(lambda starts, behind: 0 * starts + behind)),
    "by-first-batch": ("writes what is new where the first batch's belongs", _starts(lambda starts, _: 0 * starts + starts[0])),
    "with-zeros": (
        "fills the rest of the buffer with zeros",
        _written(lambda buffer, new, starts: (replace(buffer, value=0 * buffer.value), new, starts)),
    ),
    "zeros-behind": ("fills what is behind the new positions with zeros", {"attention.written": _zeros_behind}),
    "values-not": ("does not write the new values", {"attention.written": _keys_alone}),
    "before-heads": ("writes positions before heads", _new(written_with(1, 2))),
    "of-first-head": ("writes the first head for all", _new(first(1))),
    "all-new-seen": (
        "shows all new keys to each query",
        _by_new(lambda lengths, new, sizes: causal(np, lengths + new - 1, replace(sizes, queries=1))),
    ),
    "causal-from-last": (
        "shows all keys to the last query, and one less to each before it",
        _by_new(lambda lengths, new, sizes: causal(np, lengths + new - sizes.queries, sizes)),
    ),
    "causal-from-first": ("counts keys for each query from the first of the past", _causal(lambda lengths: 0 * lengths)),
    "own-key-hidden": ("hides the key at a query's own position", _causal(lambda lengths: lengths - 1)),
    "next-key-seen": ("shows the key behind a query's own position", _causal(lambda lengths: lengths + 1)),
    "causal-for-first-batch": ("hides keys as for the first batch", _causal(lambda lengths: 0 * lengths + lengths[0])),
    "all-seen": ("shows all that the buffer has room for", after("attention.causal", lambda hidden: 0 * hidden)),
    "queries-reversed": ("shows the last query the fewest keys", after("attention.causal", lambda hidden: hidden[:, :, ::-1])),
    "past-hidden": ("attends to what is new alone", {"attention.causal": _without_past}),
    "hidden-wholly": ("hides keys wholly, whatever MaskFilterValue is", filled(-np.inf)),
}

_LENGTHS: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "one-more": ("reads lengths as the index of the last position", lambda lengths: lengths + 1),
    "one-less": ("reads lengths as if they counted what is new", lambda lengths: np.maximum(lengths - 1, 0)),
    "longest": ("uses the largest length for all", lambda lengths: 0 * lengths + lengths.max()),
}

_kept_in_place = has("PastSequenceLengthsTensor")

CACHE: Faults = {
    **{f"cache-{label}": Fault(does, stages=stages, when=_kept_in_place) for label, (does, stages) in _CACHE.items()},
    **{
        f"cache-length-{label}": Fault(does, inputs=with_input("PastSequenceLengthsTensor", change), when=_kept_in_place)
        for label, (does, change) in _LENGTHS.items()
    },
    "cache-not-written": Fault(
        "attends to new keys, and does not write them",
        lambda desc, inputs, right: inputs["OutputPresentKeyTensor"],
        when=_kept_in_place,
        output="OutputPresentKeyTensor",
    ),
}

FAULTS: Table = {
    "MULTIHEAD_ATTENTION*": {**PAST, **_given_back("Key"), **_given_back("Value")},
    "MULTIHEAD_ATTENTION1": {**GROUPS, **CACHE},
}
