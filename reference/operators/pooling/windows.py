"""What the pooling operators share: a window that slides over the spatial dimensions of an input, and what lies in it.

Element ``o`` of an output's dimension looks at the input's elements ``o * Strides - StartPadding + k * Dilations`` for ``k`` below
WindowSize. Those outside the input are padding, whether EndPadding covers them or not: an output may be larger than the pages' formula
makes it, as DirectML.dll was measured to accept, and then its last windows reach further out.

What is computed of a window (a sum, a maximum, the first place of a maximum) is computed along one dimension after the other, so that a
window of 64 x 64 elements takes 128 steps and not 4096.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

from dmlcts.reference.answer import Array
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@dataclass(frozen=True, slots=True)
class WindowAxis:
    """The window along one dimension of the tensors: that of number ``axis``, ``size`` elements long in the input, ``count`` in the output."""

    axis: int
    size: int
    count: int
    window: int
    stride: int
    dilation: int
    padding: int

    def starts(self) -> Iterator[int]:
        """Where the first output element's window looks at, tap by tap; negative in the padding at the start."""
        return (tap * self.dilation - self.padding for tap in range(self.window))

    def inside_count(self, xp: Any) -> Array:
        """How many elements of the input each window holds along this dimension. Shape: (count,)."""
        place = xp.arange(self.count) * self.stride
        found = xp.zeros(self.count, dtype=xp.int64)
        for start in self.starts():
            found = found + ((place + start >= 0) & (place + start < self.size))
        return found

    def part_index(self, dimensions: int, part: slice) -> tuple[slice, ...]:
        """A part of an array of so many dimensions along this one."""
        return (slice(None),) * self.axis + (part,) + (slice(None),) * (dimensions - self.axis - 1)


@stage("pooling.taps")
def taps(xp: Any, axis: WindowAxis, x: Array, outside: float | int) -> Iterator[Array]:
    """What each tap of the window finds, for all output elements of this dimension at once; ``outside`` in the padding.

    The arrays have ``count`` elements along the axis, and the sizes of ``x`` along the others.
    """
    before = axis.padding
    reach = (axis.count - 1) * axis.stride + (axis.window - 1) * axis.dilation + 1
    sizes = list(x.shape)
    sizes[axis.axis] = max(reach, before + axis.size)
    padded = xp.full(tuple(sizes), outside, dtype=x.dtype)
    padded[axis.part_index(x.ndim, slice(before, before + axis.size))] = x
    for start in axis.starts():
        first = start + before
        yield padded[axis.part_index(x.ndim, slice(first, first + (axis.count - 1) * axis.stride + 1, axis.stride))]


@stage("pooling.scattered")
def scatter_windows(xp: Any, axis: WindowAxis, y: Array) -> Array:
    """The adjoint of ``taps``: each of the ``count`` elements along the axis added to all that its window holds. Padding gets nothing.

    The result has the ``size`` of the input along the axis, and the sizes of ``y`` along the others.
    """
    before = axis.padding
    reach = (axis.count - 1) * axis.stride + (axis.window - 1) * axis.dilation + 1
    sizes = list(y.shape)
    sizes[axis.axis] = max(reach, before + axis.size)
    padded = xp.zeros(tuple(sizes), dtype=y.dtype)
    for start in axis.starts():
        first = start + before
        padded[axis.part_index(y.ndim, slice(first, first + (axis.count - 1) * axis.stride + 1, axis.stride))] += y
    return padded[axis.part_index(y.ndim, slice(before, before + axis.size))]


def forward(desc: OperatorDesc) -> OperatorDesc:
    """The desc of a gradient with the tensors that its forward operator had: the incoming gradient has the sizes of the output."""
    return desc.with_fields(InputTensor=desc.tensor("OutputGradientTensor"), OutputTensor=desc.tensor("InputGradientTensor"))


def axes(desc: OperatorDesc) -> list[WindowAxis]:
    """The window along each spatial dimension, as the desc's attributes and the output's sizes say."""
    source, target = desc.tensor("InputTensor"), desc.tensor("OutputTensor")
    windows, strides, paddings = (desc.integers(name) for name in ("WindowSize", "Strides", "StartPadding"))
    dilations = desc.integers("Dilations", default=(1,) * len(windows))
    return [
        WindowAxis(i + 2, source.sizes[i + 2], target.sizes[i + 2], windows[i], strides[i], dilations[i], paddings[i])
        for i in range(len(windows))
    ]


def fold_windows(xp: Any, desc: OperatorDesc, x: Array, outside: float | int, join: Callable[[Array, Array], Array]) -> Array:
    """``join`` over the elements of every window; ``outside`` stands for each of the padding.

    ``join`` is associative and commutative. Shape: the output's.
    """
    for axis in reversed(axes(desc)):
        x = reduce(join, taps(xp, axis, x, outside))
    return x


@stage("pooling.sum")
def sums(xp: Any, desc: OperatorDesc, x: Array) -> Array:
    """The sum of every window's elements, in the type of ``x``. Shape: the output's."""
    return fold_windows(xp, desc, x, 0, lambda a, b: a + b)


def inside_counts(xp: Any, desc: OperatorDesc) -> Array:
    """How many elements of the input every window holds. Shape: the output's, with ones for batch and channel."""
    counts: Array = xp.ones((1, 1), dtype=xp.int64)
    for axis in axes(desc):
        counts = counts[..., None] * axis.inside_count(xp)
    return counts


@stage("pooling.divisor")
def divisors(xp: Any, desc: OperatorDesc) -> Array:
    """By what the sum of each window is divided for its average: all of its elements where IncludePadding is set, else those of the input.

    0 where a window holds nothing. Shape: as ``inside_counts``.
    """
    held = inside_counts(xp, desc)
    return xp.full_like(held, prod(desc.integers("WindowSize"))) if desc.flag("IncludePadding") else held
