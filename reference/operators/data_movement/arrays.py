"""Tensors joined to one, and one split into several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@stage("data_movement.join")
def join_parts(xp: Any, parts: list[Array], axis: int) -> Array:
    """The parts one after the other along an axis."""
    return xp.concatenate(parts, axis=axis)


@stage("data_movement.part")
def part(xp: Any, x: Array, axis: int, start: int, size: int) -> Array:
    """``size`` elements of ``x`` along an axis, from ``start`` on."""
    return x[(slice(None),) * axis + (slice(start, start + size),)]


@reference("JOIN")
def join(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """All inputs along Axis."""
    parts = [inputs[name] for name, _ in desc.called("InputTensors")]
    return {"OutputTensor": Answer(join_parts(xp, parts, desc.integer("Axis")))}


@reference("SPLIT")
def split(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Each output has the elements along Axis that follow those of the outputs before it."""
    axis, start = desc.integer("Axis"), 0
    found = {}
    for name, tensor in desc.called("OutputTensors"):
        found[name] = Answer(part(xp, inputs["InputTensor"], axis, start, tensor.sizes[axis]))
        start += tensor.sizes[axis]
    return found
