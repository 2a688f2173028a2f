"""The number of elements that are not zero, and their coordinates: NONZERO_COORDINATES."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@stage("indexing.nonzero")
def nonzero(xp: Any, x: Array) -> Array:
    """The coordinates of the elements that are not zero, in row-major order, a row each. Both zeros of a float are zero."""
    return xp.stack(xp.nonzero(x), axis=-1)


@reference("NONZERO_COORDINATES")
def nonzero_coordinates(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The count, and as many rows with the last coordinates of each; the rows behind them are not defined."""
    found = nonzero(xp, inputs["InputTensor"])
    count, coordinates = desc.tensor("OutputCountTensor"), desc.tensor("OutputCoordinatesTensor")
    most, length = coordinates.sizes[-2:]
    rows = xp.zeros((most, length), dtype=xp.uint32)
    rows[: len(found)] = found[:, found.shape[1] - length :]
    known = xp.broadcast_to(xp.arange(most)[:, None] < len(found), rows.shape)
    return {
        "OutputCountTensor": Answer(xp.full(count.sizes, len(found), dtype=xp.uint32)),
        "OutputCoordinatesTensor": Answer(xp.reshape(rows, coordinates.sizes), defined=xp.reshape(known, coordinates.sizes)),
    }
