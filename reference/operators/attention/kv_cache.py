"""The keys and values that are attended to: those of the past, and the new ones behind them.

PastKeyTensor and PastValueTensor hold as many positions as they have. With PastSequenceLengthsTensor (MULTIHEAD_ATTENTION1) the past is
kept in place instead. The page says nothing of that; all of it is measured on DirectML.dll. OutputPresentKeyTensor and
OutputPresentValueTensor are buffers with room for more positions than there are yet. They hold the past when the operator starts, as many
positions a batch as its length says; the new keys and values are written behind it, and the rest stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.operators.attention.operands import Estimate, Inputs, four
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@dataclass(frozen=True, slots=True)
class KVCache:
    """Keys and values, past and new: (batch, heads, positions, elements of a head).

    ``known`` marks the positions (of batch, 1, positions, 1) that are known of buffers whose former content nobody told; all are where
    None.
    """

    key: Estimate
    value: Estimate
    known: Array | None = None

    def output_defined(self, xp: Any, sizes: tuple[int, ...]) -> Array | None:
        """Which elements of the output are known: none, if the buffers' content is not."""
        return None if self.known is None else xp.zeros(sizes, dtype=xp.bool)

    def present_defined(self, xp: Any, like: Array, sizes: tuple[int, ...]) -> Array | None:
        """Which elements of a present tensor are known."""
        return None if self.known is None else xp.reshape(xp.broadcast_to(self.known, like.shape), sizes)


def kv_cache(xp: Any, desc: OperatorDesc, inputs: Inputs, key: Estimate, value: Estimate) -> KVCache:
    """The new keys and values with those of the past, which are among the inputs: by the outputs' names where they are kept in place."""
    if "PastSequenceLengthsTensor" not in inputs:
        joined = (append_to_past(xp, part, inputs.get(f"Past{part}Tensor"), new) for part, new in (("Key", key), ("Value", value)))
        return KVCache(*joined)
    starts, room = past_lengths(xp, inputs), desc.tensor("OutputPresentKeyTensor").sizes[-2]
    parts = []
    for part, new in (("Key", key), ("Value", value)):
        name = f"OutputPresent{part}Tensor"
        empty = xp.zeros((*new.value.shape[:2], room, new.value.shape[3]), dtype=xp.float64)
        before = four(xp, inputs[name]) if name in inputs else empty
        parts.append(write_buffer(xp, part, Estimate(before, xp.zeros_like(before)), new, starts))
    known = None if "OutputPresentKeyTensor" in inputs else _places(xp, starts, key.value.shape[2], room)[0]
    return KVCache(parts[0], parts[1], known)


@stage("attention.past_lengths")
def past_lengths(xp: Any, inputs: Inputs) -> Array:
    """How many positions of the past each batch has in its buffers."""
    return xp.reshape(inputs["PastSequenceLengthsTensor"], (-1,)).astype(xp.int64)


@stage("attention.concatenated")
def append_to_past(xp: Any, part: str, past: Array | None, new: Estimate) -> Estimate:
    """The past keys or values (``part``) with the new ones behind them."""
    if past is None:
        return new
    before = four(xp, past)
    return Estimate(xp.concat([before, new.value], axis=2), xp.concat([xp.zeros_like(before), new.error], axis=2))


@stage("attention.written")
def write_buffer(xp: Any, part: str, buffer: Estimate, new: Estimate, starts: Array) -> Estimate:
    """The buffer of keys or values (``part``) with the new ones from a position on that ``starts`` says for each batch."""
    inside, source = _places(xp, starts, new.value.shape[2], buffer.value.shape[2])
    source = xp.broadcast_to(source, buffer.value.shape)
    parts = ((new.value, buffer.value), (new.error, buffer.error))
    return Estimate(*(xp.where(inside, xp.take_along_axis(mine, source, axis=2), old) for mine, old in parts))


def _places(xp: Any, starts: Array, count: int, room: int) -> tuple[Array, Array]:
    """Of each position of a buffer whether one of ``count`` new ones stands there, and which: (batch, 1, positions, 1)."""
    index = (xp.arange(room)[None, :] - starts[:, None])[:, None, :, None]
    return (index >= 0) & (index < count), xp.clip(index, 0, count - 1)
