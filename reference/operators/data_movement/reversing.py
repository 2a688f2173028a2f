"""Reversed parts of a tensor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED


@reference("REVERSE_SUBSEQUENCES")
def reverse_subsequences(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The first elements along Axis in reverse order, as many as the lengths say.

    By the page a length beyond the axis counts as the axis's size. DirectML.dll counts back from the length itself, and gives the last
    element where that leads beyond the axis.
    """
    x, axis = inputs["InputTensor"], desc.integer("Axis")
    size = x.shape[axis]
    lengths = xp.minimum(inputs["SequenceLengthsTensor"], 2 * size).astype(xp.int64)  # beyond that nothing changes any more
    clamped = xp.minimum(lengths, size)
    answer = Answer(_reverse_elements(xp, x, clamped, axis))
    if bool(xp.any(lengths > size)):
        return {"OutputTensor": Answer(answer.value, contested={MEASURED: Answer(_reverse_elements(xp, x, lengths, axis))})}
    return {"OutputTensor": answer}


@stage("data_movement.reversed")
def _reverse_elements(xp: Any, x: Array, lengths: Array, axis: int) -> Array:
    """``x`` with the elements at ``i < length`` taken from ``length - 1 - i``, or from the last place where that is beyond the axis."""
    size = x.shape[axis]
    at = xp.reshape(xp.arange(size), [size if i == axis else 1 for i in range(x.ndim)])
    return xp.take_along_axis(x, xp.where(at < lengths, xp.minimum(lengths - 1 - at, size - 1), at), axis=axis)
