"""Attention of several heads: ``softmax(query key^T Scale + bias) value``, a head at a time, and the keys and values for the next time.

What the output may be off by is composed of what its stages may. A score is a sum of products, and its error (an absolute one) is a
relative error of its exponential; a share carries that, and what its neighbours' does to the sum; the output is a sum of shares times
values, whose own rounding the judge adds. FLOAT16 tensors are computed in FLOAT32, but shares, the mask's addend and whatever a bias is
added to may be stored as FLOAT16 in between: so DirectML.dll does, by truncation on a software adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.attention.kept import Kept, kept
from dmlcts.reference.attention.masks import addend
from dmlcts.reference.attention.operands import EPSILON, QUANTUM, Estimate, Heads, element_type, joined, operands
from dmlcts.reference.registry import reference
from dmlcts.spec.desc import OperatorDesc

_ROUNDOFF = 2.0**-23
"""Of FLOAT32, where truncation is allowed."""

_EXPONENTIAL, _DIVISION = 3, 3
"""Units in the last place that a share carries for the functions that it is computed by."""


def _grown(terms: int) -> float:
    """The relative error of a sum of ``terms`` terms: Higham's bound."""
    return terms * _ROUNDOFF / (1 - terms * _ROUNDOFF)


def _scores(xp: Any, query: Estimate, key: Estimate, scale: float, added: Estimate | None) -> Estimate:
    """Scaled products of each query with each key, and what is added. Sizes: (batch, shared heads, queries of a group, keys)."""
    turned = Estimate(xp.matrix_transpose(key.value), xp.matrix_transpose(key.error))
    size = xp.abs(query.value)
    products = size @ xp.abs(turned.value)
    stored = size @ turned.error + query.error @ (xp.abs(turned.value) + turned.error)
    value = scale * (query.value @ turned.value)
    terms = query.value.shape[-1] + 1
    if added is None:
        return Estimate(value, abs(scale) * (_grown(terms) * products + stored))
    magnitude = abs(scale) * products + xp.abs(added.value)
    return Estimate(value + added.value, _grown(terms + 2) * magnitude + abs(scale) * stored + added.error)


def _shares(xp: Any, scores: Estimate, data_type: str) -> Estimate:
    """The softmax over the keys.

    The exponential of a difference from the largest score carries twice that difference in units, beside what the scores are off by.
    """
    below = scores.value - xp.max(scores.value, axis=-1, keepdims=True)
    powers = xp.exp(below)
    share = powers / xp.sum(powers, axis=-1, keepdims=True)
    distance = xp.where(share > 0, xp.abs(below), 0.0)
    # From here on every number is as good as meaningless, and exp must not overflow.
    off = xp.minimum(scores.error + 2 * _ROUNDOFF * distance + _EXPONENTIAL * _ROUNDOFF, 300.0)
    of_sum = xp.log(xp.sum(share * xp.exp(off), axis=-1, keepdims=True))
    relative = xp.expm1(off + of_sum + _grown(below.shape[-1] + _DIVISION))
    stored = EPSILON[data_type] if data_type == "FLOAT16" else 0.0
    return Estimate(share, share * (relative + (1 + relative) * stored) + QUANTUM[data_type])


def _weighted(xp: Any, share: Estimate, value: Estimate) -> Answer:
    """The values summed by their shares.

    However far the shares are off, they are shares: a sum by them lies among the values.
    """
    size = xp.abs(value.value)
    output = share.value @ value.value
    error = share.error @ (size + value.error) + share.value @ value.error
    most = xp.max(size, axis=-2, keepdims=True) + xp.abs(output)
    return Answer(output, magnitude=share.value @ size, terms=size.shape[-2], slack=xp.minimum(error, most))


def _flat(xp: Any, array: Array, heads: Heads, sizes: tuple[int, ...]) -> Array:
    """From (batch, shared heads, queries of a group, elements) to an output's sizes."""
    batch, _, _, width = array.shape
    apart = xp.reshape(array, (batch, heads.query, -1, width))
    return xp.reshape(xp.permute_dims(apart, (0, 2, 1, 3)), sizes)


def attention(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The output, and the keys and values of past and present where the desc asks for them."""
    heads, data_type = Heads.of(desc), element_type(desc)
    query, new_key, new_value = operands(xp, desc, inputs)
    batch, _, queries, _ = query.value.shape
    if "PastSequenceLengthsTensor" in inputs:
        held = kept(xp, desc, inputs, new_key, new_value, queries)
    else:
        held = Kept(joined(xp, inputs.get("PastKeyTensor"), new_key), joined(xp, inputs.get("PastValueTensor"), new_value))
    keys = held.key.value.shape[2]

    def grouped(array: Array) -> Array:
        """The query heads that share a head of keys, behind each other."""
        return xp.reshape(array, (batch, heads.shared, -1, array.shape[-1]))

    added = held.added if held.added is not None else addend(xp, desc, inputs, (batch, queries, keys))
    if added is not None:
        whole = (batch, heads.query, queries, keys)
        added = Estimate(*(grouped(xp.broadcast_to(part, whole)) for part in (added.value, added.error)))
    number: Any = desc.fields["Scale"]
    together = Estimate(grouped(query.value), grouped(query.error))
    shares = _shares(xp, _scores(xp, together, held.key, float(xp.float32(number)), added), data_type)
    answer = _weighted(xp, shares, held.value)
    sizes = desc.tensor("OutputTensor").sizes
    value, magnitude, slack = (_flat(xp, part, heads, sizes) for part in (answer.value, answer.magnitude, answer.slack))
    found = {"OutputTensor": Answer(value, magnitude=magnitude, terms=answer.terms, slack=slack, defined=held.defined(xp, sizes))}
    for name, present in (("OutputPresentKeyTensor", held.key), ("OutputPresentValueTensor", held.value)):
        if desc.fields.get(name) is not None:
            own = desc.tensor(name).sizes
            found[name] = Answer(xp.reshape(present.value, own), defined=held.known(xp, present.value, own))
    return found


for _name in ("MULTIHEAD_ATTENTION", "MULTIHEAD_ATTENTION1"):
    reference(_name)(attention)
