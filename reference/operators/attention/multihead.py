"""Attention of several heads: ``softmax(query key^T Scale + bias) value``, a head at a time, and the keys and values for the next time.

What the output may be off by is composed of what its stages may. A score is a sum of products, and its error (an absolute one) is a
relative error of its exponential; an attention weight carries that, and what its neighbours' does to the sum; the output is a sum of
values by their weights, whose own rounding the judge adds. FLOAT16 tensors are computed in FLOAT32, but weights, the mask's addend and
whatever a bias is added to may be stored as FLOAT16 in between: so DirectML.dll does, by truncation on a software adapter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.attention.kv_cache import kv_cache
from dmlcts.reference.operators.attention.masks import Mask, Sizes, addend, mask
from dmlcts.reference.operators.attention.operands import EPSILON, QUANTUM, Estimate, element_type, four, operands
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED

_ROUNDOFF = 2.0**-23
"""Of FLOAT32, where truncation is allowed."""

_EXPONENTIAL, _DIVISION = 3, 3
"""Units in the last place that a weight carries for the functions that it is computed by."""

_MEANINGLESS = 300.0
"""The error of a score from which on every number is as good as another, and exp does not yet overflow."""


def _sum_roundoff(terms: int) -> float:
    """The relative error of a sum of ``terms`` terms: Higham's bound."""
    return terms * _ROUNDOFF / (1 - terms * _ROUNDOFF)


def _group_heads(xp: Any, array: Array, shared: int) -> Array:
    """The query heads that share a head of keys, behind each other: (batch, shared heads, queries of a group, elements)."""
    return xp.reshape(array, (array.shape[0], shared, -1, array.shape[-1]))


@dataclass(frozen=True, slots=True)
class Products:
    """Products of queries and keys: (batch, heads, queries, keys).

    ``magnitude`` sums the terms' sizes, ``error`` is what the operands' errors cost, ``width`` how many elements a head has.
    """

    value: Array
    magnitude: Array
    error: Array
    width: int


@stage("attention.product")
def product(xp: Any, query: Estimate, key: Estimate) -> Products:
    """The products of each query with each key. There may be fewer heads of keys, each for as many neighbouring heads of queries."""
    shared = key.value.shape[1]
    sizes = (*query.value.shape[:3], key.value.shape[2])
    value, error = _group_heads(xp, query.value, shared), _group_heads(xp, query.error, shared)
    turned = Estimate(xp.matrix_transpose(key.value), xp.matrix_transpose(key.error))
    size = xp.abs(value)
    magnitude = size @ xp.abs(turned.value)
    stored = size @ turned.error + error @ (xp.abs(turned.value) + turned.error)
    products, magnitude, stored = (xp.reshape(part, sizes) for part in (value @ turned.value, magnitude, stored))
    return Products(products, magnitude, stored, width=value.shape[-1])


@stage("attention.score")
def score(xp: Any, products: Products, scale: float, position_bias: Array | None, masked: Mask | None, data_type: str) -> Estimate:
    """The scores: products times Scale, with the relative position bias and what the mask adds. (batch, heads, queries, keys)."""
    added = addend(xp, position_bias, masked, data_type)
    value, terms = scale * products.value, products.width + 1
    if added is None:
        return Estimate(value, abs(scale) * (_sum_roundoff(terms) * products.magnitude + products.error))
    magnitude = abs(scale) * products.magnitude + xp.abs(added.value)
    return Estimate(value + added.value, _sum_roundoff(terms + 2) * magnitude + abs(scale) * products.error + added.error)


@stage("attention.softmax")
def softmax(xp: Any, scores: Estimate, data_type: str) -> Estimate:
    """The attention weights: the softmax of the scores over the keys.

    The exponential of a difference from the largest score carries twice that difference in units, beside what the scores are off by.
    """
    below = scores.value - xp.max(scores.value, axis=-1, keepdims=True)
    powers = xp.exp(below)
    weight = powers / xp.sum(powers, axis=-1, keepdims=True)
    distance = xp.where(weight > 0, xp.abs(below), 0.0)
    off = xp.minimum(scores.error + 2 * _ROUNDOFF * distance + _EXPONENTIAL * _ROUNDOFF, _MEANINGLESS)
    of_sum = xp.log(xp.sum(weight * xp.exp(off), axis=-1, keepdims=True))
    relative = xp.expm1(off + of_sum + _sum_roundoff(below.shape[-1] + _DIVISION))
    stored = EPSILON[data_type] if data_type == "FLOAT16" else 0.0
    return Estimate(weight, weight * (relative + (1 + relative) * stored) + QUANTUM[data_type])


@stage("attention.weigh")
def weigh(xp: Any, weights: Estimate, value: Estimate) -> Answer:
    """The values summed by their attention weights: (batch, heads, queries, elements). There may be fewer heads of values.

    However far the weights are off, they are weights: a sum by them lies among the values.
    """
    batch, heads, queries, _ = weights.value.shape
    shared = value.value.shape[1]
    weight, off = _group_heads(xp, weights.value, shared), _group_heads(xp, weights.error, shared)
    size = xp.abs(value.value)
    output = weight @ value.value
    error = off @ (size + value.error) + weight @ value.error
    most = xp.max(size, axis=-2, keepdims=True) + xp.abs(output)
    parts = (output, weight @ size, xp.minimum(error, most))
    found, magnitude, slack = (xp.reshape(part, (batch, heads, queries, -1)) for part in parts)
    return Answer(found, magnitude=magnitude, terms=size.shape[-2], slack=slack)


@stage("attention.merge")
def merge(xp: Any, array: Array) -> Array:
    """The heads of the output beside each other: (batch, queries, heads * elements)."""
    batch, _, queries, _ = array.shape
    return xp.reshape(xp.permute_dims(array, (0, 2, 1, 3)), (batch, queries, -1))


def attention(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The output, and the keys and values of past and present where the desc asks for them."""
    data_type = element_type(desc)
    query, new_key, new_value = operands(xp, desc, inputs)
    cache = kv_cache(xp, desc, inputs, new_key, new_value)
    masked = mask(xp, desc, inputs, Sizes(query.value.shape[0], query.value.shape[2], cache.key.value.shape[2]))
    position = inputs.get("RelativePositionBiasTensor")
    position_bias = None if position is None else four(xp, position)
    scores = score(xp, product(xp, query, cache.key), desc.number("Scale"), position_bias, masked, data_type)
    defined = cache.output_defined(xp, desc.tensor("OutputTensor").sizes)
    found = {"OutputTensor": replace(_output(xp, desc, scores, cache.value), defined=defined)}
    if masked is not None and masked.empty is not None and bool(xp.any(masked.empty)):
        by_page = _output(xp, desc, _masked_whole(xp, scores, masked.empty), cache.value)
        found["OutputTensor"] = replace(found["OutputTensor"], contested={DOCUMENTED: replace(by_page, defined=defined)})
    for name, present in (("OutputPresentKeyTensor", cache.key.value), ("OutputPresentValueTensor", cache.value.value)):
        if desc.find(name) is not None:
            own = desc.tensor(name).sizes
            found[name] = Answer(xp.reshape(present, own), defined=cache.present_defined(xp, present, own))
    return found


def _output(xp: Any, desc: OperatorDesc, scores: Estimate, value: Estimate) -> Answer:
    answer = weigh(xp, softmax(xp, scores, element_type(desc)), value)
    sizes = desc.tensor("OutputTensor").sizes
    found, magnitude, slack = (xp.reshape(merge(xp, part), sizes) for part in (answer.value, answer.magnitude, answer.slack))
    return Answer(found, magnitude=magnitude, terms=answer.terms, slack=slack)


def _masked_whole(xp: Any, scores: Estimate, batches: Array) -> Estimate:
    """The scores as the page has them where it masks all keys of a batch: MaskFilterValue, or with it added. So they may be any."""
    these = batches[:, None, None, None]
    return Estimate(xp.where(these, 0.0, scores.value), xp.where(these, _MEANINGLESS, scores.error))


for _name in ("MULTIHEAD_ATTENTION", "MULTIHEAD_ATTENTION1"):
    reference(_name)(attention)
