"""Windows of a tensor, and every so many elements of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.data_movement.moving import elements_at
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import MEASURED


@reference("SLICE")
def slice_(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``output[i] = input[Offsets + i * Strides]``."""
    starts, steps = desc.integers("Offsets"), desc.integers("Strides")
    return {"OutputTensor": Answer(_strided_part(xp, desc, inputs["InputTensor"], starts, steps))}


@reference("SLICE1")
def slice1(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """As SLICE; along a dimension with a negative stride from the window's last element on.

    DirectML.dll was measured to treat a dimension that is taken whole as one with the dimension before it in memory, also where the output
    is shorter: its elements then come from one place after the other.
    """
    x = inputs["InputTensor"]
    offsets, windows, steps = (desc.integers(f"InputWindow{name}") for name in ("Offsets", "Sizes", "Strides"))
    starts = tuple(_start(o, n, t) for o, n, t in zip(offsets, windows, steps, strict=True))
    value = _strided_part(xp, desc, x, starts, steps)
    groups = _joined_dimensions(desc.tensor("InputTensor"), desc.tensor("OutputTensor"), windows, steps)
    if _nothing_left_out(groups, x.shape, value.shape):
        return {"OutputTensor": Answer(value)}
    order = [i for group in groups for i in group]
    flat = xp.reshape(xp.transpose(x, order), [prod(x.shape[i] for i in group) for group in groups])
    read = elements_at(xp, flat, _places(xp, groups, starts, x.shape, value.shape, steps))
    joined = xp.transpose(xp.reshape(read, [value.shape[i] for i in order]), _inverse(order))
    return {"OutputTensor": Answer(value, contested={MEASURED: Answer(joined)})}


@reference("SLICE_GRAD")
def slice_grad(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Zeros of the output's sizes, with the gradient where SLICE1 took its elements; DirectML.dll joins dimensions as there."""
    gradient, target = inputs["InputGradientTensor"], desc.tensor("OutputGradientTensor")
    offsets, windows, steps = (desc.integers(f"InputWindow{name}") for name in ("Offsets", "Sizes", "Strides"))
    starts = tuple(_start(o, n, t) for o, n, t in zip(offsets, windows, steps, strict=True))
    sizes, taken = target.sizes, gradient.shape
    each = [[i] for i in range(gradient.ndim)]
    answer = Answer(_spread(xp, gradient, sizes, _places(xp, each, starts, sizes, taken, steps)))
    groups = _joined_dimensions(target, desc.tensor("InputGradientTensor"), windows, steps)
    if _nothing_left_out(groups, sizes, taken):
        return {"OutputGradientTensor": answer}
    order = [i for group in groups for i in group]
    places = _places(xp, groups, starts, sizes, taken, steps)
    flat = xp.reshape(xp.transpose(gradient, order), [place.size for place in places])
    spread = xp.reshape(_spread(xp, flat, [prod(sizes[i] for i in group) for group in groups], places), [sizes[i] for i in order])
    return {"OutputGradientTensor": replace(answer, contested={MEASURED: Answer(xp.transpose(spread, _inverse(order)))})}


def _joined_dimensions(x: TensorDesc, part: TensorDesc, windows: tuple[int, ...], steps: tuple[int, ...]) -> list[list[int]]:
    """The dimensions that DirectML.dll treats as one: of a size above 1, and in both tensors without gaps between them. Those of size 1
    first, the others in the order in which ``x`` lies in memory, whatever that of its part."""
    order = sorted((i for i, size in enumerate(x.sizes) if size > 1), key=lambda i: -x.effective_strides[i])
    strides = _strides_of_part(part, order)
    groups: list[list[int]] = []
    for i in order:
        before = groups[-1][-1] if groups else i
        whole = windows[i] == x.sizes[i] and steps[i] == steps[before] == 1
        adjacent = x.effective_strides[before] == x.sizes[i] * x.effective_strides[i]
        inner = strides[i]
        if groups and whole and adjacent and (inner is None or strides[before] == part.sizes[i] * inner):
            groups[-1].append(i)
        else:
            groups.append([i])
    return [*([i] for i, size in enumerate(x.sizes) if size == 1), *groups]


def _strides_of_part(part: TensorDesc, order: Sequence[int]) -> list[int | None]:
    """Strides by which the part's dimensions are compared: one with a single element has no gap to the next, and None if no other follows."""
    found: list[int | None] = list(part.effective_strides)
    beyond: int | None = None
    for i in reversed(order):
        stride = found[i] = beyond if part.sizes[i] == 1 else found[i]
        beyond = None if stride is None else stride * part.sizes[i]
    return found


def _nothing_left_out(groups: list[list[int]], sizes: Sequence[int], taken: Sequence[int]) -> bool:
    """Whether joining makes no difference: of each dimension that is joined to one before it, all is taken."""
    return all(taken[i] == sizes[i] for group in groups for i in group[1:])


def _places(
    xp: Any, groups: list[list[int]], starts: Sequence[int], sizes: Sequence[int], taken: Sequence[int], steps: Sequence[int]
) -> list[Array]:
    """Along each group of dimensions, as one, the places of the elements taken."""
    return [
        starts[first] * prod(sizes[i] for i in rest) + xp.arange(prod(taken[i] for i in (first, *rest))) * steps[first]
        for first, *rest in groups
    ]


def _inverse(order: Sequence[int]) -> list[int]:
    return [order.index(i) for i in range(len(order))]


def _spread(xp: Any, x: Array, sizes: Sequence[int], places: Sequence[Array]) -> Array:
    """Zeros of these sizes, with ``x`` at the places along each dimension."""
    value = xp.zeros(tuple(sizes), dtype=x.dtype)
    value[xp.ix_(*places)] = x
    return value


@stage("data_movement.window_start")
def _start(offset: int, window: int, step: int) -> int:
    """Where along a dimension the first element is: at the end of the window that the steps lead away from."""
    return offset if step > 0 else offset + window - 1


def _strided_part(xp: Any, desc: OperatorDesc, x: Array, starts: tuple[int, ...], steps: tuple[int, ...]) -> Array:
    """As many elements as the output has, from ``starts`` on, ``steps`` apart."""
    sizes = desc.tensor("OutputTensor").sizes
    places = [start + xp.arange(size) * step for size, start, step in zip(sizes, starts, steps, strict=True)]
    return elements_at(xp, x, places)
