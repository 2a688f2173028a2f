"""Updates of the elements and slices that indices name: SCATTER, SCATTER_ND. All are copied bit by bit.

What is written more than once is not defined. An index without a place writes nothing: measured on DirectML.dll. NaN may become quiet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.indexing.places import places
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED


@stage("indexing.written")
def write_updates(xp: Any, x: Array, at: Array, updates: Array) -> Answer:
    """``x`` (places, elements) with the updates (indices, elements) at the places ``at``, one or more of which -1 for none."""
    within = at >= 0
    once = xp.broadcast_to((xp.bincount(at[within], minlength=len(x)) < 2)[:, None], x.shape)

    def write_over(elements: Array) -> Answer:
        found = elements.copy()
        found[at[within]] = updates[within]
        return Answer(found, defined=once)

    contested = {MEASURED: write_over(_quiet(xp, x))} if x.dtype == xp.float16 else {}
    return replace(write_over(x), contested=contested)


def _quiet(xp: Any, x: Array) -> Array:
    """FLOAT16 with signalling NaNs made quiet, as arithmetic makes them. DirectML.dll copies the input so where its layout is not the output's."""
    bits = x.view(xp.uint16)
    return xp.where((bits & 0x7FFF) > 0x7C00, bits | 0x0200, bits).view(x.dtype)


def _answer(xp: Any, x: Array, answer: Answer) -> dict[str, Answer]:
    def reshape_answer(found: Answer) -> Answer:
        return Answer(xp.reshape(found.value, x.shape), defined=xp.reshape(found.defined, x.shape))

    contested = {basis: reshape_answer(found) for basis, found in answer.contested.items()}
    return {"OutputTensor": replace(reshape_answer(answer), contested=contested)}


@reference("SCATTER")
def scatter(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output[b, indices[b, i, a], a] = updates[b, i, a]``, with the dimensions b before ``Axis`` and a after it."""
    x, axis = inputs["InputTensor"], desc.integer("Axis")
    size, after = x.shape[axis], prod(x.shape[axis + 1 :])
    found = places(xp, xp.reshape(inputs["IndicesTensor"], (prod(x.shape[:axis]), -1, after)), size)
    before, _, rest = xp.meshgrid(*map(xp.arange, found.shape), indexing="ij")
    flat = xp.where((found < 0) | (found >= size), -1, (before * size + found) * after + rest)
    return _answer(xp, x, write_updates(xp, xp.reshape(x, (-1, 1)), flat.ravel(), xp.reshape(inputs["UpdatesTensor"], (-1, 1))))


@reference("SCATTER_ND")
def scatter_nd(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output[*indices[i], a] = updates[i, a]``: the last dimension of the indices has one for each of the first dimensions of the input."""
    x, indices = inputs["InputTensor"], inputs["IndicesTensor"]
    sizes, length = x.shape[x.ndim - desc.integer("InputDimensionCount") :], indices.shape[-1]
    tuples = xp.reshape(indices, (-1, length))
    flat, within = xp.zeros(len(tuples), dtype=xp.int64), xp.ones(len(tuples), dtype=bool)
    for at, size in enumerate(sizes[:length]):
        found = places(xp, tuples[:, at], size)
        within = within & (found >= 0) & (found < size)
        flat = flat * size + found
    slices = xp.reshape(x, (prod(sizes[:length]), -1))
    updates = xp.reshape(inputs["UpdatesTensor"], (len(tuples), -1))
    return _answer(xp, x, write_updates(xp, slices, xp.where(within, flat, -1), updates))
