"""Layouts: the strides of a tensor in its buffer.

| layout | strides | allowed for |
|---|---|---|
| ``packed`` | none given, or given explicitly: row-major, no gaps | all |
| ``padded-rows`` | a gap after each row | all |
| ``padded-planes`` | a gap after each plane | all |
| ``permuted`` | the dimensions in reverse order: column-major | all |
| ``transposed`` | the last two dimensions exchanged | all |
| ``spread`` | a gap after each element | all |
| ``channels-last`` | the second dimension is innermost (NHWC, NDHWC) | operators that list it |
| ``broadcast-all`` | 0 everywhere: one element for the whole tensor | inputs |
| ``per-channel`` | 0 everywhere but along the second dimension | inputs |
| ``broadcast-first``, ``broadcast-last`` | 0 along the first or the last dimension that has more than one element | inputs |
| ``broadcast-middle`` | 0 along a dimension between these | inputs |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod

from dmlcts.spec.model.desc import OperatorDesc, TensorDesc, packed_strides
from dmlcts.spec.model.operator import Field, Operator

Sizes = tuple[int, ...]

CHANNELS_LAST = "channels-last"

GAP = 3
"""Elements of a gap, if nothing else is wanted."""


def _gapped_strides(sizes: Sizes, after: int, gap: int) -> Sizes:
    """Row-major strides with a gap after each block of the last ``after`` dimensions."""
    strides, step = [], 1
    for index, size in enumerate(reversed(sizes)):
        strides.append(step)
        step = step * size + (gap if index + 1 == after else 0)
    return tuple(reversed(strides))


def _reordered_strides(sizes: Sizes, order: Sequence[int]) -> Sizes:
    """The strides of a tensor whose dimensions lie in memory in this order, the outermost first."""
    packed = packed_strides(tuple(sizes[at] for at in order))
    return tuple(packed[order.index(at)] for at in range(len(sizes)))


def _transposed_strides(sizes: Sizes, gap: int) -> Sizes:
    dims = list(range(len(sizes)))
    return _reordered_strides(sizes, [*dims[:-2], *reversed(dims[-2:])])


def _dims(sizes: Sizes) -> list[int]:
    return list(range(len(sizes)))


def _channels_innermost(sizes: Sizes) -> list[int]:
    dims = _dims(sizes)
    return [*dims[:1], *dims[2:], *dims[1:2]]


def _channels_last(sizes: Sizes, gap: int) -> Sizes:
    return _reordered_strides(sizes, _channels_innermost(sizes))


def _broadcast(sizes: Sizes, along: Sequence[int]) -> Sizes:
    """0 along these dimensions, as if they had one element; the others are packed."""
    strides = packed_strides(tuple(1 if at in along else size for at, size in enumerate(sizes)))
    return tuple(0 if at in along else stride for at, stride in enumerate(strides))


def _long(sizes: Sizes) -> list[int]:
    """The dimensions with more than one element; the last one where there is none."""
    return [at for at, size in enumerate(sizes) if size > 1] or [len(sizes) - 1]


def _middle(sizes: Sizes) -> int:
    long = _long(sizes)
    return long[len(long) // 2] if len(long) > 2 else long[0]


LAYOUTS: dict[str, Callable[[Sizes, int], Sizes]] = {
    "packed": lambda sizes, gap: packed_strides(sizes),
    "padded-rows": lambda sizes, gap: _gapped_strides(sizes, 1, gap),
    "padded-planes": lambda sizes, gap: _gapped_strides(sizes, 2, gap),
    "permuted": lambda sizes, gap: _reordered_strides(sizes, list(range(len(sizes)))[::-1]),
    "transposed": _transposed_strides,
    "spread": lambda sizes, gap: tuple((gap // 2 + 2) * stride for stride in packed_strides(sizes)),
    CHANNELS_LAST: _channels_last,
    "broadcast-all": lambda sizes, gap: (0,) * len(sizes),
    "per-channel": lambda sizes, gap: tuple(int(at == 1) for at in range(len(sizes))),
    "broadcast-first": lambda sizes, gap: _broadcast(sizes, _long(sizes)[:1]),
    "broadcast-middle": lambda sizes, gap: _broadcast(sizes, (_middle(sizes),)),
    "broadcast-last": lambda sizes, gap: _broadcast(sizes, _long(sizes)[-1:]),
}
"""The strides for sizes, and for a gap of so many elements where there are gaps."""

FURTHER: dict[str, Callable[[Sizes, int], Sizes]] = {
    "channels-first": lambda sizes, gap: _reordered_strides(
        sizes, [*_dims(sizes)[:1], *_dims(sizes)[1:][-1:], *_dims(sizes)[1:-1]]
    ),
    "middle-exchanged": lambda sizes, gap: _reordered_strides(
        sizes, [*_dims(sizes)[:-3], *_dims(sizes)[-3:-1][::-1], *_dims(sizes)[-1:]]
    ),
    "channels-slice": lambda sizes, gap: (
        _reordered_strides((*sizes[:1], sizes[1] + gap, *sizes[2:]), _channels_innermost(sizes))
        if len(sizes) > 2
        else packed_strides(sizes)
    ),
    "channels-part": lambda sizes, gap: packed_strides((*sizes[:1], sizes[1] + gap, *sizes[2:]) if len(sizes) > 2 else sizes),
    "broadcast-second": lambda sizes, gap: _broadcast(sizes, (1,)) if len(sizes) > 2 else packed_strides(sizes),
    "last-alone": lambda sizes, gap: (*(0 for _ in sizes[1:]), 1),
    "sliding": lambda sizes, gap: (
        (*(sizes[-1] + sizes[-2] - 1 for _ in sizes[2:]), 1, 1) if len(sizes) > 1 else packed_strides(sizes)
    ),
}
"""Strides in plain dispatches alone: channels first, of a tensor whose last dimension is the channels; the two dimensions before the last exchanged, as
heads and positions; some of the channels of a tensor that has channels last, and of one that is packed; a row for all rows, as a bias has it; and rows that begin one
element apart, as windows."""

ALIGNED_ROWS, _VECTOR = "aligned-rows", 8
"""Rows as images have them, with a pitch: each begins at a multiple of the elements of a vector. A kernel that asks for that finds it, with a rest in each row."""

OVERLAPPING = ("broadcast-second", "last-alone", "sliding")
"""Those of them in which elements share memory, for inputs alone."""

BROADCAST = ("broadcast-all", "per-channel", "last-alone")
"""What people broadcast to a tensor of images: a number, one for each channel, one for each column."""

LETTERS = {
    "packed": "pk",
    "padded-rows": "pr",
    "padded-planes": "pp",
    "permuted": "pm",
    "transposed": "tr",
    "spread": "sp",
    CHANNELS_LAST: "cl",
    "broadcast-all": "ba",
    "per-channel": "pc",
    "broadcast-first": "bf",
    "broadcast-middle": "bm",
    "broadcast-last": "bl",
}
"""A two-letter code for each layout, for ids with many tensors."""

INPUT_LAYOUTS = tuple(name for name in LAYOUTS if name != CHANNELS_LAST)
OUTPUT_LAYOUTS = ("packed", "padded-rows", "padded-planes", "permuted", "transposed", "spread")
"""The layouts for every operator's tensors. The others are for operators that list them in the spec."""

PACKED_LAYOUTS = ("packed",)
"""The layout for tensors that must be packed."""

GAPPED = ("padded-rows", "padded-planes", "spread")
"""The layouts that leave bytes between elements."""


def layouts_of(operator: Operator, field: Field) -> tuple[str, ...]:
    """The layouts that the tensors of a field may have."""
    if field.packed:
        return PACKED_LAYOUTS
    return (*(INPUT_LAYOUTS if field.may_overlap else OUTPUT_LAYOUTS), *operator.layouts)


def laid_out_twice(operator: Operator, desc: OperatorDesc) -> list[tuple[str, OperatorDesc]]:
    """The desc as it is, called "", and with channels last if the operator has that layout: then kernels have a way of their own for it."""
    return [("", desc), *([(CHANNELS_LAST, channels_last(operator, desc))] if CHANNELS_LAST in operator.layouts else [])]


def channels_last(operator: Operator, desc: OperatorDesc) -> OperatorDesc:
    """The desc with channels last in every tensor that has some and need not be packed."""
    fitting = (
        (name, tensor) for field, name, tensor in desc.by_field() if _has_channels(tensor) and not operator.field(field).packed
    )
    return desc.with_tensors({name: laid_out(tensor, CHANNELS_LAST) for name, tensor in fitting})


def aligned_rows(operator: Operator, desc: OperatorDesc, of: Collection[str] | None = None) -> OperatorDesc:
    """The desc with aligned rows in every tensor that need not be packed, or in those of some fields alone."""
    fitting = (
        (name, tensor)
        for field, name, tensor in desc.by_field()
        if not operator.field(field).packed and (of is None or field in of) and tensor.sizes[-1] % _VECTOR
    )
    return desc.with_tensors(
        {name: replace(tensor, strides=_gapped_strides(tensor.sizes, 1, -tensor.sizes[-1] % _VECTOR)) for name, tensor in fitting}
    )


def _has_channels(tensor: TensorDesc) -> bool:
    return tensor.DimensionCount > 2


def laid_out(tensor: TensorDesc, layout: str, gap: int = GAP) -> TensorDesc:
    """The tensor desc with the strides of a layout; a packed one has none. Raises KeyError for an unknown one."""
    strides = None if layout == "packed" else (LAYOUTS | FURTHER)[layout](tensor.sizes, gap)
    return TensorDesc(tensor.data_type, tensor.sizes, strides, tensor.flags, tensor.total_size, tensor.alignment)


@lru_cache(1 << 16)
def has_layout(sizes: Sizes, layout: str) -> bool:
    """Whether a tensor of these sizes with the strides of a layout is of no simpler one."""
    return layout_of(laid_out(TensorDesc("UINT8", sizes), layout)) == layout


def layout_of(tensor: TensorDesc) -> str:
    """The layout that a tensor's strides amount to, as far as its sizes let it differ from a simpler one; empty if they are of none.

    The strides of dimensions with one element have no effect, and do not count.
    """
    if tensor.strides is None:
        return "packed"
    long = [at for at, size in enumerate(tensor.sizes) if size > 1]

    def alike(strides: Sizes) -> bool:
        return all(strides[at] == own[at] for at in long)

    own, count = tensor.strides, len(tensor.sizes)
    if alike(packed_strides(tensor.sizes)):
        return "packed"
    flat = [at for at in long if own[at] == 0]
    if len(flat) == len(long):
        return "broadcast-all"
    if flat:
        if len(flat) > 1 and [at for at in long if at not in flat] == [1]:
            return "per-channel"
        return "broadcast-last" if flat[-1] == long[-1] else "broadcast-first" if flat[0] == long[0] else "broadcast-middle"
    for name in ("transposed", "permuted", CHANNELS_LAST):
        if alike(LAYOUTS[name](tensor.sizes, GAP)):
            return name
    for after, name in ((1, "padded-rows"), (2, "padded-planes")):
        outer = [at for at in long if at < count - after]
        gap = own[outer[-1]] - prod(tensor.sizes[count - after :]) if outer else 0
        if gap > 0 and alike(_gapped_strides(tensor.sizes, after, gap)):
            return name
    return "spread" if alike(tuple(own[long[-1]] * stride for stride in packed_strides(tensor.sizes))) else ""
