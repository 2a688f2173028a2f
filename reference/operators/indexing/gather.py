"""Elements and slices that indices name: GATHER, GATHER_ELEMENTS, GATHER_ND, GATHER_ND1. All are copied bit by bit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.indexing.places import limit_places, places
from dmlcts.reference.registry import reference
from dmlcts.spec.model.desc import OperatorDesc


def _answer(xp: Any, desc: OperatorDesc, gathered: Array) -> dict[str, Answer]:
    return {"OutputTensor": Answer(xp.reshape(gathered, desc.tensor("OutputTensor").sizes))}


@reference("GATHER")
def gather(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output[b, i, a] = input[b, indices[i], a]`` with the dimensions b before ``Axis`` and a after it."""
    x, axis = inputs["InputTensor"], desc.integer("Axis")
    size = x.shape[axis]
    return _answer(xp, desc, xp.take(x, limit_places(xp, places(xp, inputs["IndicesTensor"].ravel(), size), size), axis=axis))


@reference("GATHER_ELEMENTS")
def gather_elements(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output[b, i, a] = input[b, indices[b, i, a], a]``."""
    x, axis = inputs["InputTensor"], desc.integer("Axis")
    size = x.shape[axis]
    return _answer(xp, desc, xp.take_along_axis(x, limit_places(xp, places(xp, inputs["IndicesTensor"], size), size), axis=axis))


@reference("GATHER_ND")
@reference("GATHER_ND1")
def gather_nd(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output[b, i, a] = input[b, *indices[b, i], a]``: the last dimension of the indices has one for each dimension of the input after b."""
    x, indices = inputs["InputTensor"], inputs["IndicesTensor"]
    batch = desc.integer("BatchDimensionCount", default=0)
    sizes = x.shape[x.ndim - desc.integer("InputDimensionCount") :]
    length = indices.shape[-1]
    count = int(xp.prod(xp.asarray(sizes[:batch], dtype=xp.int64))) if batch else 1
    tuples = xp.reshape(indices, (count, -1, length))
    flat = xp.broadcast_to(xp.arange(count)[:, None], tuples.shape[:2])
    for at, size in enumerate(sizes[batch : batch + length]):
        flat = flat * size + limit_places(xp, places(xp, tuples[..., at], size), size)
    slices = xp.reshape(x, (-1, *sizes[batch + length :]))
    return _answer(xp, desc, slices[flat])
