"""Repetition along dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.data_movement.moving import elements_at
from dmlcts.reference.registry import reference
from dmlcts.spec.model.desc import OperatorDesc


@reference("TILE")
def tile(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output[i] = input[i % input's size]`` along each dimension."""
    x = inputs["InputTensor"]
    sizes = desc.tensor("OutputTensor").sizes
    return {"OutputTensor": Answer(elements_at(xp, x, [xp.arange(size) % own for size, own in zip(sizes, x.shape, strict=True)]))}
