"""Elements before and after a tensor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.data_movement.moving import constant, elements_at
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


def _reflect_index(xp: Any, at: Array, size: int) -> Array:
    """There and back, without the ends twice: 0 1 2 1 0 1 2."""
    at = at % max(1, 2 * size - 2)
    return xp.where(at < size, at, 2 * size - 2 - at)


def _mirror_index(xp: Any, at: Array, size: int) -> Array:
    """There and back, with the ends twice: 0 1 2 2 1 0 0."""
    at = at % (2 * size)
    return xp.where(at < size, at, 2 * size - 1 - at)


# Which element of a dimension of a size stands at a place that may be before it or behind it. In the constant mode it is covered.
_MODES: dict[str, Callable[[Any, Array, int], Array]] = {
    "CONSTANT": lambda xp, at, size: xp.clip(at, 0, size - 1),
    "EDGE": lambda xp, at, size: xp.clip(at, 0, size - 1),
    "REFLECTION": _reflect_index,
    "SYMMETRIC": _mirror_index,
    "WRAP": lambda xp, at, size: at % size,
}


@stage("data_movement.padded_from")
def _place(xp: Any, mode: str, at: Array, size: int) -> Array:
    """Where along a dimension of this size the elements come from that are to stand at ``at``, counted from its first one."""
    return _MODES[mode](xp, at, size)


@reference("PADDING")
@reference("PADDING1")
def padding(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The input, StartPadding from the output's beginning on, and around it the constant or what the mode repeats of it."""
    x, mode = inputs["InputTensor"], desc.constant("PaddingMode")
    before, sizes = desc.integers("StartPadding"), desc.tensor("OutputTensor").sizes
    places = [xp.arange(size) - start for size, start in zip(sizes, before, strict=True)]
    found = elements_at(xp, x, [_place(xp, mode, at, own) for at, own in zip(places, x.shape, strict=True)])
    if mode == "CONSTANT":
        inside = [(at >= 0) & (at < own) for at, own in zip(places, x.shape, strict=True)]
        found = xp.where(reduce(_outer, inside), found, constant(xp, desc, "PaddingValue", "InputTensor"))
    return {"OutputTensor": Answer(found)}


def _outer(one: Array, other: Array) -> Array:
    """True where both are, along the dimensions of the one and then those of the other."""
    return one[..., None] & other
