"""Layouts: the strides of a tensor in its buffer.

| layout | strides | allowed for |
|---|---|---|
| ``packed`` | none given: row-major, no gaps | all |
| ``strided`` | row-major, given explicitly | all |
| ``padded`` | a gap after each row and each plane | all |
| ``permuted`` | the dimensions in reverse order: column-major | all |
| ``spread`` | a gap after each element | all |
| ``channels-last`` | the second dimension is innermost (NHWC, NDHWC) | operators that list it |
| ``broadcast`` | 0 along the last dimension that has more than one element | inputs |
| ``broadcast-first`` | 0 along the first dimension that has more than one element | inputs |
| ``broadcast-all`` | 0 everywhere: one element for the whole tensor | inputs |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from dmlcts.spec.desc import TensorDesc, packed_strides
from dmlcts.spec.model import Field, Operator

Sizes = tuple[int, ...]


def _padded(sizes: Sizes) -> Sizes:
    strides = []
    step = 1
    for index, size in enumerate(reversed(sizes)):
        strides.append(step)
        step = step * size + (3 if index == 0 else 5)
    return tuple(reversed(strides))


def _permuted(sizes: Sizes) -> Sizes:
    return tuple(reversed(packed_strides(tuple(reversed(sizes)))))


def _spread(sizes: Sizes) -> Sizes:
    return tuple(2 * stride for stride in packed_strides(sizes))


def _channels_last(sizes: Sizes) -> Sizes:
    if len(sizes) < 3:
        return packed_strides(sizes)
    strides = packed_strides((sizes[0], *sizes[2:], sizes[1]))
    return (strides[0], strides[-1], *strides[1:-1])


def _broadcast(sizes: Sizes, first: bool = False) -> Sizes:
    long = [index for index, size in enumerate(sizes) if size > 1] or [len(sizes) - 1]
    flat = long[0 if first else -1]
    strides = packed_strides(tuple(1 if index == flat else size for index, size in enumerate(sizes)))
    return tuple(0 if index == flat else stride for index, stride in enumerate(strides))


LAYOUTS: dict[str, Callable[[Sizes], Sizes] | None] = {
    "packed": None,
    "strided": packed_strides,
    "padded": _padded,
    "permuted": _permuted,
    "spread": _spread,
    "channels-last": _channels_last,
    "broadcast": _broadcast,
    "broadcast-first": lambda sizes: _broadcast(sizes, first=True),
    "broadcast-all": lambda sizes: (0,) * len(sizes),
}

INPUT_LAYOUTS = tuple(name for name in LAYOUTS if name != "channels-last")
OUTPUT_LAYOUTS = ("packed", "strided", "padded", "permuted", "spread")
"""The layouts for every operator's tensors. The others are for operators that list them in the spec."""

PACKED_LAYOUTS = ("packed", "strided")
"""The layouts for tensors that must be packed."""

LETTERS = {
    "packed": "pk",
    "strided": "st",
    "padded": "pd",
    "permuted": "pm",
    "spread": "sp",
    "channels-last": "cl",
    "broadcast": "bc",
    "broadcast-first": "bf",
    "broadcast-all": "ba",
}
"""A two-letter code for each layout, for ids with many tensors."""

GAPPED = ("padded", "spread")
"""The layouts that leave bytes between elements."""


def layouts_of(operator: Operator, field: Field) -> tuple[str, ...]:
    """The layouts that the tensors of a field may have."""
    if field.packed:
        return PACKED_LAYOUTS
    return (*(INPUT_LAYOUTS if field.kind == "input" else OUTPUT_LAYOUTS), *operator.layouts)


@lru_cache(maxsize=4096)
def laid_out(tensor: TensorDesc, layout: str) -> TensorDesc:
    """The tensor desc with the strides of a layout. Raises KeyError for an unknown one."""
    strides = LAYOUTS[layout]
    return replace(tensor, strides=strides(tensor.sizes) if strides else None)
