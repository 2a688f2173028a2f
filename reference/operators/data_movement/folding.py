"""Windows of a tensor as the columns of a matrix, and back: UNFOLD copies them out, FOLD adds them up where they overlap.

The matrix has a row for each channel and each element of the window, and a column for each place of the window. Tap ``w`` of block ``b``
is the tensor's element ``b * Strides + w * Dilations - StartPadding`` along each dimension; what lies beyond the tensor is padding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@dataclass(frozen=True, slots=True)
class Window:
    """The window along one spatial dimension, which is ``size`` elements long and has ``blocks`` places for it."""

    size: int
    taps: int
    blocks: int
    stride: int
    dilation: int
    padding: int


@reference("UNFOLD")
def unfold(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The windows of a tensor (N, C, *S) as columns: (N, C * taps, blocks), with zeros for padding."""
    x = inputs["InputTensor"]
    return {"OutputTensor": Answer(copied_out(xp, x, windows(desc, x.shape[2:])))}


@reference("FOLD")
def fold(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The sums of the columns' elements (N, C * taps, blocks) at each element of a tensor (N, C, *S).

    Of integers of 8 and 16 bits the sum saturates, of others it wraps.
    """
    x, output = inputs["InputTensor"], desc.tensor("OutputTensor")
    along = windows(desc, output.sizes[2:])
    if not output.type.is_float:
        narrow = output.type.bits < 32
        total = added_up(xp, x.astype(xp.int64) if narrow else x, along)
        return {"OutputTensor": Answer(xp.clip(total, *output.type.limits).astype(x.dtype) if narrow else total)}
    value = x.astype(xp.float64)
    terms = added_up(xp, xp.ones((1, *x.shape[1:]), dtype=xp.float64)[:, : prod(each.taps for each in along)], along)
    return {"OutputTensor": Answer(added_up(xp, value, along), magnitude=added_up(xp, xp.abs(value), along), terms=terms)}


def windows(desc: OperatorDesc, sizes: tuple[int, ...]) -> list[Window]:
    """The window along each spatial dimension of a tensor of these spatial sizes."""
    rows = [desc.integers(name) for name in ("WindowSizes", "Strides", "Dilations", "StartPadding", "EndPadding")]
    return [
        Window(size, taps, (size + start + end - dilation * (taps - 1) - 1) // stride + 1, stride, dilation, start)
        for size, taps, stride, dilation, start, end in zip(sizes, *rows, strict=True)
    ]


@stage("data_movement.window_places")
def places(xp: Any, window: Window) -> tuple[Array, Array]:
    """Which element each tap of each block is, and whether the tensor has it. Shapes: (taps, blocks)."""
    at = xp.arange(window.taps)[:, None] * window.dilation + xp.arange(window.blocks) * window.stride - window.padding
    return at, (at >= 0) & (at < window.size)


def elements(xp: Any, along: list[Window]) -> Array:
    """Which element each tap of each block is, all dimensions taken together, in the order of the columns; beyond the last one in padding."""
    total, found, inside = prod(each.size for each in along), xp.zeros((1, 1), dtype=xp.int64), xp.ones((1, 1), dtype=bool)
    for window in along:
        at, here = places(xp, window)
        found = xp.reshape(found[:, None, :, None] * window.size + at[None, :, None, :], (len(found) * len(at), -1))
        inside = xp.reshape(inside[:, None, :, None] & here[None, :, None, :], found.shape)
    return xp.where(inside, found, total)


@stage("data_movement.window_elements")
def copied_out(xp: Any, x: Array, along: list[Window]) -> Array:
    """The windows of a tensor as columns."""
    at = elements(xp, along)
    flat = xp.reshape(x, (*x.shape[:2], -1))
    padded = xp.concatenate((flat, xp.zeros((*x.shape[:2], 1), dtype=x.dtype)), axis=2)
    return xp.reshape(padded[:, :, at], (x.shape[0], -1, at.shape[1]))


@stage("data_movement.overlap_sum")
def added_up(xp: Any, columns: Array, along: list[Window]) -> Array:
    """The sums of the columns' elements, in their own type."""
    at, size = elements(xp, along), prod(each.size for each in along)
    batch, channels = len(columns), columns.shape[1] // len(at)
    total = xp.zeros(batch * channels * (size + 1), dtype=columns.dtype)
    whole = xp.arange(batch * channels)[:, None] * (size + 1) + xp.ravel(at)
    xp.add.at(total, xp.ravel(whole), xp.ravel(columns))
    return xp.reshape(xp.reshape(total, (-1, size + 1))[:, :size], (batch, channels, *(each.size for each in along)))
