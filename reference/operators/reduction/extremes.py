"""The least and the largest element of a row, and where it stands: MIN, MAX, ARGMIN and ARGMAX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.reduction.rows import axes_of, reduced_sizes, rows
from dmlcts.reference.registry import Reference, reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@stage("reduction.comparable")
def comparable(xp: Any, row: Array, worst: float) -> Array:
    """The elements as MIN and MAX compare them: NaN is the infinity that nothing is worse than."""
    return xp.where(xp.isnan(row), row.dtype.type(worst), row) if row.dtype.kind == "f" else row


@stage("reduction.extreme")
def extreme(xp: Any, row: Array, function: str) -> Array:
    """MIN or MAX of each row. NaN is passed over, and of NaN alone comes the infinity on the other side: measured on DirectML.dll."""
    row = comparable(xp, row, xp.inf if function == "MIN" else -xp.inf)
    return (xp.min if function == "MIN" else xp.max)(row, axis=-1)


@stage("reduction.place")
def place(xp: Any, row: Array, function: str, direction: str, data_type: str) -> Answer:
    """The index in each row of the least or the largest element, of equal ones that of the first, or of the last where DECREASING.

    Nothing is defined for a row with a NaN: which index DirectML.dll gives then depends on the place of the NaN and on the row's length.
    """
    find = xp.argmin if function == "ARGMIN" else xp.argmax
    found = find(row, axis=-1) if direction == "INCREASING" else row.shape[-1] - 1 - find(xp.flip(row, axis=-1), axis=-1)
    known = None if row.dtype.kind != "f" else ~xp.any(xp.isnan(row), axis=-1)
    return Answer(found.astype(getattr(xp, data_type.lower())), defined=known)


def _operator(function: str) -> Reference:
    def run(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        x, axes, data_type = inputs["InputTensor"], axes_of(desc), desc.tensor("OutputTensor").data_type
        answer = place(xp, rows(xp, x, axes), function, desc.constant("AxisDirection"), data_type)
        sizes = reduced_sizes(x, axes)
        known = None if answer.defined is None else xp.reshape(answer.defined, sizes)
        return {"OutputTensor": Answer(xp.reshape(answer.value, sizes), defined=known)}

    return run


for _name in ("ARGMIN", "ARGMAX"):
    reference(_name)(_operator(_name))
