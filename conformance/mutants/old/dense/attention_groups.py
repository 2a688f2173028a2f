"""Faults of MULTIHEAD_ATTENTION1 alone: query heads that share keys and values, and keys and values that are kept in place.

The page describes neither, so that all of this is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from dmlcts.conformance.mutants.old.dense.attention_parts import (
    RIGHT,
    TRUTHS,
    Inputs,
    Steps,
    Three,
    View,
    biases,
    causal,
    has,
    hidden,
    of,
    position,
    split,
    spread,
    written,
)
from dmlcts.conformance.mutants.old.fault import Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED


def _spread(change: Callable[[View, Array], Array]) -> Steps:
    return replace(RIGHT, spread=change)


def _at(places: Callable[[int, int], Array]) -> Steps:
    """Each query head with the head of keys that ``places`` of (query heads, heads of keys) says."""
    return _spread(lambda view, shared: shared[:, places(view.heads[0], shared.shape[1])])


def _of_group(array: Array, view: View) -> Array:
    """What belongs to the group's first head, for all of it."""
    size = view.heads[0] // view.heads[1]
    return array[:, np.arange(array.shape[1]) // size * size]


def _of_key_head(array: Array, view: View) -> Array:
    """What stands at the place of the head of keys."""
    return array[:, np.arange(array.shape[1]) // (view.heads[0] // view.heads[1])]


def _bias_for_all_heads(view: View, three: Three) -> Three:
    """Parts of as many heads as queries have, of which keys and values take the first."""
    flat, start, found = view.inputs["BiasTensor"].astype(np.float64).reshape(-1), 0, []
    for x in three:
        count, width = x.shape[1], x.shape[3]
        found.append(np.roll(flat, -start)[: count * width].reshape(count, 1, width))
        start += view.heads[0] * width
    query, key, value = found
    return query, key, value


def _first_of_group(view: View) -> Three:
    query, key, value = split(view)
    return _of_group(query, view), key, value


def _queries_by_group(view: View) -> Three:
    """The queries' heads dealt out to the groups in turns, and their outputs in that order."""
    query, key, value = split(view)
    batch, _, positions, width = query.shape
    return query.reshape(batch, view.heads[1], -1, positions, width).swapaxes(1, 2).reshape(query.shape), key, value


_GROUPS: Mapping[str, tuple[str, Steps]] = {
    "groups-tiled": ("takes the heads of keys in turns", _at(lambda query, shared: np.arange(query) % shared)),
    "groups-reversed": (
        "takes the heads of keys from the last on",
        _at(lambda query, shared: shared - 1 - np.arange(query) // (query // shared)),
    ),
    "groups-of-first": ("takes the first head of keys for all", _at(lambda query, shared: 0 * np.arange(query))),
    "groups-of-last": (
        "takes the head of keys of the query head's number, or the last",
        _at(lambda q, s: np.minimum(np.arange(q), s - 1)),
    ),
    "groups-of-next": (
        "takes the next group's head of keys",
        _at(lambda query, shared: (np.arange(query) // (query // shared) + 1) % shared),
    ),
    "group-shares-queries": ("computes a group's first head alone", replace(RIGHT, split=_first_of_group)),
    "group-queries-in-turns": ("deals query heads out to groups in turns", replace(RIGHT, split=_queries_by_group)),
    "groups-summed": (
        "adds the keys of all heads up",
        _spread(lambda view, shared: np.broadcast_to(shared.sum(axis=1, keepdims=True), spread(view, shared).shape)),
    ),
}

_GROUP_BIASES: Mapping[str, tuple[str, Steps, str]] = {
    "group-bias-of-all-heads": (
        "takes the bias to hold as many heads of keys as of queries",
        replace(RIGHT, biases=_bias_for_all_heads),
        "BiasTensor",
    ),
    "group-bias-of-first-head": (
        "adds the first query head's bias of a group to all of it",
        replace(RIGHT, biases=lambda view, three: (_of_group(biases(view, three)[0][None], view)[0], *biases(view, three)[1:])),
        "BiasTensor",
    ),
    "group-position-bias": (
        "takes a group's first position bias for all of it",
        replace(RIGHT, position=lambda view: _of_group(position(view), view)),
        "RelativePositionBiasTensor",
    ),
    "group-position-bias-of-key-head": (
        "takes position biases by heads of keys",
        replace(RIGHT, position=lambda view: _of_key_head(position(view), view)),
        "RelativePositionBiasTensor",
    ),
    "group-mask": (
        "masks a group as its first head",
        replace(RIGHT, hidden=lambda view: _of_group(hidden(view), view)),
        TRUTHS,
    ),
    "group-mask-of-key-head": (
        "masks by heads of keys",
        replace(RIGHT, hidden=lambda view: _of_key_head(hidden(view), view)),
        TRUTHS,
    ),
}


def _grouped(desc: OperatorDesc) -> bool:
    return desc.fields["QueryHeadCount"] != desc.fields["KeyValueHeadCount"]


def _grouped_with(what: str) -> Callable[[OperatorDesc], bool]:
    return lambda desc: _grouped(desc) and (desc.fields.get(what) is not None or desc.fields["MaskType"] == what)


# Kept in place


def _seen(step: Callable[[View], Array]) -> Steps:
    """With others of the keys hidden."""
    return replace(RIGHT, hidden=step)


def _written(starts: Callable[[View, Array, str], Array]) -> Steps:
    """The new ones written elsewhere."""
    return replace(RIGHT, joined=lambda view, new, part: written(view, new, part, starts(view, new, part)))


def _as_lengths(change: Callable[[Array], Array]) -> Callable[[OperatorDesc, Inputs], Inputs]:
    """Lengths read otherwise, for what is written and for what is seen."""

    def read(desc: OperatorDesc, inputs: Inputs) -> Inputs:
        name = "PastSequenceLengthsTensor"
        flat = inputs[name].astype(np.int64).reshape(-1)
        return {**inputs, name: change(flat).reshape(inputs[name].shape)}

    return read


def _room(view: View) -> int:
    return int(view.four("OutputPresentKeyTensor").shape[2])


def _only_new(view: View, new: Array, part: str) -> Array:
    """The new ones, and zeros in the rest of the buffer."""
    empty = {**view.inputs, f"OutputPresent{part}Tensor": 0 * view.inputs[f"OutputPresent{part}Tensor"]}
    return written(replace(view, inputs=empty), new, part, view.lengths)


def _zeros_behind(view: View, new: Array, part: str) -> Array:
    """Zeros in what the buffer has room for behind the new ones."""
    found = written(view, new, part, view.lengths)
    at = np.arange(found.shape[2])[:, None]
    return np.where(at < (view.lengths + new.shape[2])[:, None, None, None], found, 0)


def _for_first_batch(view: View, new: Array, part: str) -> Array:
    """Each batch's new ones where the first batch's belong."""
    return written(view, new, part, 0 * view.lengths + view.lengths[0])


def _transposed(view: View, new: Array, part: str) -> Array:
    """New ones written with positions before heads."""
    turned = new.swapaxes(1, 2).reshape(new.shape)
    return written(view, turned, part, view.lengths)


def _values_not(view: View, new: Array, part: str) -> Array:
    found = view.four(f"OutputPresent{part}Tensor")
    return found if part == "Value" else written(view, new, part, view.lengths)


def _new(view: View) -> int:
    """How many keys are new."""
    return int(split(view)[1].shape[2])


_LENGTHS: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "kept-length-of-first": ("takes the first batch's length for all", lambda lengths: 0 * lengths + lengths[0]),
    "kept-lengths-reversed": ("takes the batches' lengths from the last on", lambda lengths: lengths[::-1]),
    "kept-length-ignored": ("takes no notice of the lengths", lambda lengths: 0 * lengths),
    "kept-length-one-more": ("takes lengths for places of the last", lambda lengths: lengths + 1),
    "kept-length-one-less": ("takes lengths to count what is new", lambda lengths: np.maximum(lengths - 1, 0)),
    "kept-length-longest": ("takes the largest length for all", lambda lengths: 0 * lengths + lengths.max()),
}

_KEPT: Mapping[str, tuple[str, Steps]] = {
    "kept-at-end": (
        "writes what is new at the end of the buffer",
        _written(lambda view, new, part: 0 * view.lengths + _room(view) - new.shape[2]),
    ),
    "kept-with-zeros": ("fills the rest of the buffer with zeros", replace(RIGHT, joined=_only_new)),
    "kept-zeros-behind": ("fills what is behind the new ones with zeros", replace(RIGHT, joined=_zeros_behind)),
    "kept-by-first-batch": ("writes each batch's where the first one's belong", replace(RIGHT, joined=_for_first_batch)),
    "kept-before-heads": ("writes positions before heads", replace(RIGHT, joined=_transposed)),
    "kept-values-not": ("does not write the new values", replace(RIGHT, joined=_values_not)),
    "kept-not-written": (
        "attends to what is new, and does not write it",
        replace(
            RIGHT, present=lambda view, key, value: (view.four("OutputPresentKeyTensor"), view.four("OutputPresentValueTensor"))
        ),
    ),
    "kept-of-first-head": (
        "writes the first head for all",
        replace(RIGHT, joined=lambda view, new, part: written(view, new[:, :1] + 0 * new, part, view.lengths)),
    ),
    "kept-all-new-seen": (
        "shows all new keys to each query",
        _seen(lambda view: (np.arange(view.keys) >= (view.lengths + _new(view))[:, None, None, None]).astype(np.float64)),
    ),
    "kept-all-seen": ("shows all that the buffer has room for", _seen(lambda view: np.zeros((1, 1, 1, 1)))),
    "kept-causal-from-first": (
        "counts keys for each query from the first of the past",
        _seen(lambda view: causal(view, 0 * view.lengths)),
    ),
    "kept-own-key-hidden": (
        "hides the key at a query's own place",
        _seen(lambda view: causal(view, view.lengths - 1)),
    ),
    "kept-next-key-seen": (
        "shows the key behind a query's own place",
        _seen(lambda view: causal(view, view.lengths + 1)),
    ),
    "kept-causal-from-last": (
        "shows all keys to the last query, and one less to each before it",
        _seen(lambda view: causal(view, view.lengths + _new(view) - view.queries)),
    ),
    "kept-causal-for-first-batch": (
        "hides keys as for the first batch",
        _seen(lambda view: causal(view, 0 * view.lengths + view.lengths[0])),
    ),
    "kept-past-hidden": (
        "attends to what is new alone",
        _seen(lambda view: np.maximum(causal(view, view.lengths), np.arange(view.keys) < view.lengths[:, None, None, None])),
    ),
    "kept-queries-reversed": ("shows the last query the fewest keys", _seen(lambda view: hidden(view)[:, :, ::-1])),
    "kept-hidden-wholly": (
        "hides keys wholly, whatever MaskFilterValue is",
        _seen(lambda view: np.where(hidden(view) > 0, np.inf, 0.0)),
    ),
}

_has_lengths = has("PastSequenceLengthsTensor")

GROUPS: Mapping[str, Fault] = {
    **{name: Fault(does, of(steps), basis=MEASURED, when=_grouped) for name, (does, steps) in _GROUPS.items()},
    **{
        name: Fault(does, of(steps), basis=MEASURED, when=_grouped_with(what))
        for name, (does, steps, what) in _GROUP_BIASES.items()
    },
    **{
        name: Fault(does, of(change=_as_lengths(change)), basis=MEASURED, when=_has_lengths)
        for name, (does, change) in _LENGTHS.items()
    },
    **{name: Fault(does, of(steps), basis=MEASURED, when=_has_lengths) for name, (does, steps) in _KEPT.items()},
}
"""Faults of what MULTIHEAD_ATTENTION does not have."""
