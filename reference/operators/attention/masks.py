"""Which pairs of a query and a key are masked, by each type of mask, and what that and the relative position bias add to their scores.

The page says of one mask type that MaskFilterValue is added, of others that scores are set to it. DirectML.dll adds it always, but with
the types that give a range of keys it does so in the place of the relative position bias. Where a range is empty it masks no key, and the
page all of them alike. All else here is measured on it too, but for BOOLEAN with zeros and ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.operators.attention.kv_cache import past_lengths
from dmlcts.reference.operators.attention.operands import EPSILON, Estimate, Inputs, fill_error, four
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many batches there are, queries, and keys, those of the past among them."""

    batch: int
    queries: int
    keys: int


@dataclass(frozen=True, slots=True)
class Mask:
    """``count`` says how often MaskFilterValue (``fill``) counts: (batch, heads or 1, queries or 1, keys), mostly 0 or 1.

    It is added beside the relative position bias, or in its place (``replaces_bias``). ``empty`` says for which batches the range of keys is
    empty, (batch,); None for other types of masks.
    """

    count: Array
    fill: float
    replaces_bias: bool = False
    empty: Array | None = None


@stage("attention.mask")
def mask(xp: Any, desc: OperatorDesc, inputs: Inputs, sizes: Sizes) -> Mask | None:
    """What is masked; None if nothing is."""
    fill = desc.number("MaskFilterValue")
    if "PastSequenceLengthsTensor" in inputs:
        return Mask(causal(xp, past_lengths(xp, inputs), sizes), fill)
    tensor = inputs.get("MaskTensor")
    if tensor is None:
        return None
    numbers, kind = tensor.astype(xp.int64), desc.constant("MaskType")
    if kind == "BOOLEAN":
        return Mask(four(xp, 1 - numbers), fill)
    numbers = xp.reshape(numbers, (-1,))
    batch = sizes.batch
    if kind in ("KEY_SEQUENCE_LENGTH", "KEY_SEQUENCE_END_START"):
        ends = numbers[:batch]
        starts = numbers[batch : 2 * batch] if kind == "KEY_SEQUENCE_END_START" else xp.zeros_like(ends)
        return Mask(outside_range(xp, starts, ends, sizes), fill, replaces_bias=True, empty=starts >= ends)
    lengths, queries, keys = numbers[:batch], numbers[batch : 2 * batch + 1], numbers[2 * batch + 1 : 3 * batch + 1]
    return Mask(outside_segments(xp, lengths, queries, keys, sizes), fill)


@stage("attention.outside_range")
def outside_range(xp: Any, starts: Array, ends: Array, sizes: Sizes) -> Array:
    """1 for keys before a start or from an end on, of which there is one for each batch. None is where no range is left."""
    start, end = starts[:, None], ends[:, None]
    index = xp.arange(sizes.keys)[None, :]
    outside = ((index < start) | (index >= end)) & (start < end)
    return outside[:, None, None, :].astype(xp.float64)


@stage("attention.outside_segments")
def outside_segments(xp: Any, lengths: Array, query_starts: Array, key_starts: Array, sizes: Sizes) -> Array:
    """1 for pairs outside a batch's segment of queries and keys: lengths of keys, starts of queries with the last end, starts of keys.

    Positions count through all batches. A segment of queries ends where the next begins; one of keys is as long as its length says, so
    that the last number of the mask, an end, is without effect. Each batch has its own segment only.
    """
    query = xp.reshape(xp.arange(sizes.batch * sizes.queries), (sizes.batch, sizes.queries))
    key = xp.reshape(xp.arange(sizes.batch * sizes.keys), (sizes.batch, sizes.keys))
    query_inside = (query >= query_starts[:-1, None]) & (query < query_starts[1:, None])
    key_inside = (key >= key_starts[:, None]) & (key < (key_starts + lengths)[:, None])
    return (~(query_inside[:, None, :, None] & key_inside[:, None, None, :])).astype(xp.float64)


@stage("attention.causal")
def causal(xp: Any, lengths: Array, sizes: Sizes) -> Array:
    """1 for the keys that a query does not see behind a past of these lengths: the first sees one new key, each further one one more.

    Positions that hold nothing yet are among them.
    """
    index = xp.arange(sizes.keys)[None, :] - lengths[:, None]
    return (index[:, None, :] > xp.arange(sizes.queries)[None, :, None])[:, None, :, :].astype(xp.float64)


def addend(xp: Any, position_bias: Array | None, masked: Mask | None, data_type: str) -> Estimate | None:
    """What is added to the scores, of sizes that broadcast to theirs; None if nothing is.

    What is added may be stored in the tensors' own type on its way. MaskFilterValue alone is then the same for every key: a type that
    holds it costs nothing, and a row that is masked whole is the softmax of its scores. The sum with a bias is rounded for each key apart.
    """
    if masked is None:
        return None if position_bias is None else Estimate(position_bias, xp.zeros_like(position_bias))
    filled = xp.where(masked.count == 0, 0.0, masked.count * masked.fill)
    if position_bias is None:
        return Estimate(filled, fill_error(xp, filled, data_type))
    if masked.replaces_bias:
        return Estimate(xp.where(masked.count == 0, position_bias, filled), fill_error(xp, filled, data_type))
    return Estimate(position_bias + filled, xp.abs(filled) * EPSILON[data_type])
