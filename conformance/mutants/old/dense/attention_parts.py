"""What faults of attention are made of: its steps, each of which may be another.

Queries, keys and values have the sizes (batch, heads, positions, elements of a head) from the first step to the last but one. A fault
changes the inputs, or replaces a step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.normalization_parts import number
from dmlcts.conformance.mutants.old.fault import Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array, Where, fitted
from dmlcts.spec.desc import OperatorDesc

ATTENTION, ATTENTION1 = "MULTIHEAD_ATTENTION", "MULTIHEAD_ATTENTION1"

KEY_LENGTHS, KEY_RANGES = "KEY_SEQUENCE_LENGTH", "KEY_SEQUENCE_END_START"
SEGMENTS, TRUTHS = "KEY_QUERY_SEQUENCE_LENGTH_START_END", "BOOLEAN"

Inputs = Mapping[str, Array]

Three = tuple[Array, Array, Array]
"""Queries, keys and values."""

PARTS = ("Query", "Key", "Value")


@dataclass(frozen=True, slots=True)
class View:
    """A desc and its inputs, as the steps see them. ``keys`` counts those of the past, or all that there is room for."""

    desc: OperatorDesc
    inputs: Inputs
    batch: int = 0
    queries: int = 0
    keys: int = 0

    @property
    def heads(self) -> tuple[int, int, int]:
        """How many heads queries, keys and values have."""
        query: Any = self.desc.fields.get("QueryHeadCount", self.desc.fields.get("HeadCount"))
        shared: Any = self.desc.fields.get("KeyValueHeadCount", query)
        return query, shared, shared

    @property
    def kind(self) -> object:
        """The mask type."""
        return self.desc.fields["MaskType"]

    @property
    def fill(self) -> float:
        """MaskFilterValue."""
        return number(self.desc, "MaskFilterValue")

    @property
    def scale(self) -> float:
        """Scale."""
        return number(self.desc, "Scale")

    @property
    def past(self) -> int:
        """How many positions PastKeyTensor has."""
        return self.inputs["PastKeyTensor"].shape[-2] if "PastKeyTensor" in self.inputs else 0

    @property
    def ends(self) -> Array:
        """MaskTensor's numbers in a row."""
        return self.inputs["MaskTensor"].astype(np.int64).reshape(-1)

    @property
    def lengths(self) -> Array:
        """PastSequenceLengthsTensor, one for each batch."""
        return self.inputs["PastSequenceLengthsTensor"].astype(np.int64).reshape(-1)

    def four(self, name: str) -> Array:
        """A tensor with four dimensions."""
        array = self.inputs[name].astype(np.float64)
        return array.reshape(array.shape[-4:])


# The right steps


def split(view: View) -> Three:
    """Queries, keys and values without their bias."""
    query, key, value = (_part(view, part, count) for part, count in zip(PARTS, view.heads, strict=True))
    return query, key, value


def _part(view: View, part: str, count: int) -> Array:
    alone = view.inputs.get(f"{part}Tensor")
    if alone is None:
        name = next(name for name in view.inputs if name.startswith("Stacked") and part in name)
        return by_head(view.inputs[name][:, :, :, stacked(name).index(part)])
    return by_head(alone.reshape(*alone.shape[-3:-1], count, -1))


def stacked(name: str) -> list[str]:
    """What is stacked in a tensor, in order."""
    return [part for part in PARTS if part in name]


def by_head(apart: Array) -> Array:
    """From (batch, positions, heads, elements)."""
    return apart.swapaxes(1, 2).astype(np.float64)


def biases(view: View, three: Three) -> Three:
    """What is added to queries, keys and values: (heads, 1, elements) of each."""
    bias = view.inputs.get("BiasTensor")
    if bias is None:
        return np.zeros(1), np.zeros(1), np.zeros(1)
    sizes = [(x.shape[1], 1, x.shape[3]) for x in three]
    flat = np.split(bias.astype(np.float64).reshape(-1), np.cumsum([heads * width for heads, _, width in sizes])[:-1])
    query, key, value = (part.reshape(size) for part, size in zip(flat, sizes, strict=True))
    return query, key, value


def joined(view: View, new: Array, part: str) -> Array:
    """Keys or values with those of the past before them, or written where the past ends."""
    if "PastSequenceLengthsTensor" in view.inputs:
        return written(view, new, part, view.lengths)
    past = f"Past{part}Tensor"
    return np.concatenate([view.four(past), new], axis=2) if past in view.inputs else new


def written(view: View, new: Array, part: str, starts: Array) -> Array:
    """A present tensor with new positions from a start on in each batch, as many as there is room for."""
    found = view.four(f"OutputPresent{part}Tensor").copy()
    for batch, start in enumerate(starts):
        place = found[batch, :, max(0, start) : start + new.shape[2]]
        place[...] = new[batch, :, : place.shape[1]]
    return found


def spread(view: View, shared: Array) -> Array:
    """Heads of keys or values, as often as query heads share them."""
    return np.repeat(shared, view.heads[0] // shared.shape[1], axis=1)


def products(query: Array, key: Array) -> Array:
    """The products of each query with each key."""
    found: Array = query @ key.swapaxes(-1, -2)
    return found


def position(view: View) -> Array:
    """The relative position bias: (batch, heads, queries, keys), or a 0."""
    name = "RelativePositionBiasTensor"
    return view.four(name) if name in view.inputs else np.zeros((1, 1, 1, 1))


def hidden(view: View) -> Array:
    """How often MaskFilterValue counts: (batch, heads, queries, keys), or ones in their place."""
    if "PastSequenceLengthsTensor" in view.inputs:
        return causal(view, view.lengths)
    if "MaskTensor" not in view.inputs:
        return np.zeros((1, 1, 1, 1))
    if view.kind == TRUTHS:
        return 1 - view.four("MaskTensor")
    if view.kind == SEGMENTS:
        return outside_segments(view, *numbers_of_segments(view))
    if view.kind == KEY_LENGTHS:
        return outside(view, np.zeros(view.batch, np.int64), view.ends)
    return outside(view, view.ends[view.batch :], view.ends[: view.batch])


def causal(view: View, lengths: Array) -> Array:
    """All keys behind the one that stands as far behind the past as the query among the queries."""
    at = np.arange(view.keys) - lengths[:, None, None, None]
    return (at > np.arange(view.queries)[:, None]).astype(np.float64)


def outside(view: View, starts: Array, ends: Array) -> Array:
    """All keys before a start or from an end on; none where nothing would be left."""
    at = np.arange(view.keys)
    found = ((at < starts[:, None]) | (at >= ends[:, None])) & (starts < ends)[:, None]
    return found[:, None, None, :].astype(np.float64)


def numbers_of_segments(view: View) -> Three:
    """Lengths of keys, starts of queries with the last end, starts of keys."""
    batch, found = view.batch, view.ends
    return found[:batch], found[batch : 2 * batch + 1], found[2 * batch + 1 : 3 * batch + 1]


def outside_segments(view: View, lengths: Array, queries: Array, keys: Array, apart: bool = True) -> Array:
    """All pairs but those of a batch's segments. Positions count through all batches, or (``apart`` false) in each."""
    batch = np.arange(view.batch)[:, None] * apart
    query, key = np.arange(view.queries) + batch * view.queries, np.arange(view.keys) + batch * view.keys
    seen = (query >= queries[:-1, None]) & (query < queries[1:, None])
    shown = (key >= keys[:, None]) & (key < (keys + lengths)[:, None])
    return (~(seen[:, None, :, None] & shown[:, None, None, :])).astype(np.float64)


def scored(view: View, product: Array, bias: Array, hides: Array) -> Array:
    """The scores. Where a range of keys is given, the filter value takes the position bias's place, as in DirectML.dll."""
    if view.kind in (KEY_LENGTHS, KEY_RANGES):
        return view.scale * product + np.where(hides > 0, view.fill, bias)
    return view.scale * product + bias + filled(view, hides)


def filled(view: View, hides: Array) -> Array:
    """What the mask adds."""
    return np.where(hides == 0, 0.0, hides * view.fill)


def softmax(scores: Array) -> Array:
    """The shares of the keys."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares: Array = powers / powers.sum(axis=-1, keepdims=True)
    return shares


def weighted(shares: Array, value: Array) -> Array:
    """The values, summed by their shares."""
    found: Array = shares @ value
    return found


def flat(heads: Array) -> Array:
    """The heads beside each other: (batch, queries, heads * elements)."""
    return heads.swapaxes(1, 2).reshape(heads.shape[0], heads.shape[2], -1)


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of an implementation."""

    split: Callable[[View], Three] = split
    biases: Callable[[View, Three], Three] = biases
    joined: Callable[[View, Array, str], Array] = joined
    seen: Callable[[View, Array, Array, Array], Three] = lambda view, query, key, value: (query, key, value)
    spread: Callable[[View, Array], Array] = spread
    products: Callable[[Array, Array], Array] = products
    position: Callable[[View], Array] = position
    hidden: Callable[[View], Array] = hidden
    scored: Callable[[View, Array, Array, Array], Array] = scored
    shares: Callable[[Array], Array] = softmax
    weighted: Callable[[Array, Array], Array] = weighted
    flat: Callable[[Array], Array] = flat
    present: Callable[[View, Array, Array], tuple[Array, Array]] = lambda view, key, value: (key, value)


RIGHT = Steps()


def outputs_of(steps: Steps, desc: OperatorDesc, inputs: Inputs) -> dict[str, Array]:
    """What the steps give, by output."""
    view = View(desc, inputs)
    three = steps.split(view)
    query, key, value = (x + bias for x, bias in zip(three, steps.biases(view, three), strict=True))
    view = replace(view, batch=query.shape[0], queries=query.shape[2])
    key, value = steps.joined(view, key, "Key"), steps.joined(view, value, "Value")
    view = replace(view, keys=key.shape[2])
    presents = steps.present(view, key, value)
    query, key, value = steps.seen(view, query, key, value)
    product = steps.products(query, steps.spread(view, key))
    scores = steps.scored(view, product, steps.position(view), steps.hidden(view))
    output = steps.flat(steps.weighted(steps.shares(scores), steps.spread(view, value)))
    return {"OutputTensor": output, "OutputPresentKeyTensor": presents[0], "OutputPresentValueTensor": presents[1]}


def of(steps: Steps = RIGHT, change: Callable[[OperatorDesc, Inputs], Inputs] = lambda desc, inputs: inputs) -> Computed:
    """What these steps give, of changed inputs."""

    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
        name = _output(desc, inputs, right)
        found = outputs_of(steps, desc, change(desc, inputs))[name]
        return fitted(found.astype(right.dtype), right.shape)

    return computed


def _output(desc: OperatorDesc, inputs: Inputs, right: Array) -> str:
    """Which output the right one is: that of its sizes, and where several are, that of its numbers."""
    names = [name for name, tensor in desc.tensors() if name.startswith("Output") and tensor.sizes == right.shape]
    if len(names) == 1:
        return names[0]
    found = outputs_of(RIGHT, desc, inputs)
    return min(names, key=lambda name: float(np.abs(np.nan_to_num(found[name].reshape(right.shape) - right)).sum()))


def has(*names: str) -> Where:
    """Whether the desc has all of these tensors."""
    return lambda desc: all(desc.fields.get(name) is not None for name in names)


def masked(*kinds: str) -> Where:
    """Whether the mask is of one of these types."""
    return lambda desc: desc.fields["MaskType"] in kinds


RIGHT_STEPS = Fault("computes what is right", of(), equivalent="the steps are right, and faults differ from them in one")
