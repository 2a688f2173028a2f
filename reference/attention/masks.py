"""What is added to the scores before the softmax: relative position bias and mask.

The page says of one mask type that MaskFilterValue is added, of others that scores are set to it. DirectML.dll adds it always, but with
the types that give a range of keys it does so in the place of the relative position bias. All else here is measured on it too, but for
BOOLEAN with zeros and ones.
"""

from __future__ import annotations

from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.attention.operands import EPSILON, Estimate, Inputs, element_type, fill_error, four
from dmlcts.spec.desc import OperatorDesc

Sizes = tuple[int, int, int]
"""Batch, queries and keys, those of the past among them."""


def addend(xp: Any, desc: OperatorDesc, inputs: Inputs, sizes: Sizes) -> Estimate | None:
    """What is added, for sizes of (batch, heads or 1, queries, keys); None if nothing is.

    What is added may be stored in the tensors' own type on its way. MaskFilterValue alone is then the same for every key: a type that holds
    it costs nothing, and a row that is masked whole is the softmax of its scores. The sum with a bias is rounded for each key apart.
    """
    position = inputs.get("RelativePositionBiasTensor")
    bias = None if position is None else four(xp, position)
    mask = inputs.get("MaskTensor")
    if mask is None:
        return None if bias is None else Estimate(bias, xp.zeros_like(bias))
    numbers = mask.astype(xp.int64)
    kind = desc.fields.get("MaskType")
    number: Any = desc.fields["MaskFilterValue"]
    fill = xp.asarray(float(xp.float32(number)))
    if kind in ("KEY_SEQUENCE_LENGTH", "KEY_SEQUENCE_END_START"):
        outside = _outside_range(xp, xp.reshape(numbers, (-1, sizes[0])), sizes[2])
        value = xp.where(outside, fill, 0.0 if bias is None else bias)
        return Estimate(value, xp.where(outside, fill_error(xp, fill, element_type(desc)), 0.0))
    if kind == "BOOLEAN":
        share = four(xp, 1 - numbers)
    else:
        share = _outside_segments(xp, xp.reshape(numbers, (-1,)), sizes).astype(xp.float64)
    filled = xp.where(share == 0, 0.0, share * fill)
    if bias is None:
        return Estimate(filled, fill_error(xp, filled, element_type(desc)))
    return Estimate(bias + filled, xp.abs(filled) * EPSILON[element_type(desc)])


def _outside_range(xp: Any, ends: Array, keys: int) -> Array:
    """Which keys are masked for a length each, or for an end (exclusive) each and then a start each. None is, where no range is left."""
    end = ends[0][:, None]
    start = ends[1][:, None] if ends.shape[0] == 2 else xp.zeros_like(end)
    at = xp.arange(keys)[None, :]
    outside = ((at < start) | (at >= end)) & (start < end)
    return outside[:, None, None, :]


def _outside_segments(xp: Any, numbers: Array, sizes: Sizes) -> Array:
    """Which pairs are masked for lengths of keys, starts of queries with the last end, and starts of keys with the last end.

    Positions count through all batches. A segment of queries ends where the next begins; one of keys is as long as its length says, so
    that the last number is without effect. Each batch has its own segment only.
    """
    batch, queries, keys = sizes
    lengths, query_starts, key_starts = numbers[:batch], numbers[batch : 2 * batch + 1], numbers[2 * batch + 1 : 3 * batch + 1]
    query = xp.reshape(xp.arange(batch * queries), (batch, queries))
    key = xp.reshape(xp.arange(batch * keys), (batch, keys))
    query_inside = (query >= query_starts[:-1, None]) & (query < query_starts[1:, None])
    key_inside = (key >= key_starts[:, None]) & (key < (key_starts + lengths)[:, None])
    return ~(query_inside[:, None, :, None] & key_inside[:, None, None, :])
