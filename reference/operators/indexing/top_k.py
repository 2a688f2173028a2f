"""The largest or smallest elements of a row in order, and where they stood: TOP_K, TOP_K1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED


@stage("indexing.order")
def order(xp: Any, rows: Array, direction: str) -> Array:
    """The places of each row's elements in the order of their values; equal ones in the order of their places, in either direction."""
    if direction == "INCREASING":
        return xp.argsort(rows, axis=-1, kind="stable")
    return rows.shape[-1] - 1 - xp.flip(xp.argsort(xp.flip(rows, axis=-1), axis=-1, kind="stable"), axis=-1)


@reference("TOP_K")
@reference("TOP_K1")
def top_k(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The first ``K`` elements along ``Axis`` in order. Nothing is defined for a row with a NaN.

    Whether denormals compare as zeros is not stated. They are copied as they are, whatever the order.
    """
    x, axis, k = inputs["InputTensor"], desc.integer("Axis"), desc.integer("K")
    rows = xp.moveaxis(x, axis, -1)
    direction = desc.constant("AxisDirection", default="DECREASING")
    known = None
    if rows.dtype.kind == "f":
        known = xp.broadcast_to(~xp.any(xp.isnan(rows), axis=-1, keepdims=True), (*rows.shape[:-1], k))
        known = None if xp.all(known) else xp.moveaxis(known, -1, axis)
    data_type = desc.tensor("OutputIndexTensor").data_type.lower()

    def choose_first(keys: Array) -> tuple[Array, Array]:
        found = order(xp, keys, direction)[..., :k]
        values = xp.take_along_axis(rows, found, axis=-1)
        return xp.moveaxis(values, -1, axis), xp.moveaxis(found, -1, axis).astype(getattr(xp, data_type))

    values, indices = choose_first(rows)
    other: dict[str, tuple[Array, Array]] = {}
    if rows.dtype.kind == "f":
        tiny = (xp.abs(rows) < xp.finfo(rows.dtype).smallest_normal) & (rows != 0)
        if xp.any(tiny):
            other = {MEASURED: choose_first(xp.where(tiny, rows.dtype.type(0), rows))}
    contested = [{basis: Answer(pair[at], defined=known) for basis, pair in other.items()} for at in range(2)]
    return {
        "OutputValueTensor": Answer(values, defined=known, contested=contested[0]),
        "OutputIndexTensor": Answer(indices, defined=known, contested=contested[1]),
    }
