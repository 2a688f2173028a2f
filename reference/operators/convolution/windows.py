"""Sums over windows, forward and transposed, of any number of spatial dimensions: the sums that every convolution consists of.

Arrays have the channels in groups. The input is (N, G, C, *S), the filter (G, M, C, *K), the result (N, G, M, *T): the C channels of a group
go into each of its M. Beyond the input's ends stand zeros. They are multiplied as other numbers are, so that a filter that is infinite or
NaN gives NaN there; DirectML.dll was measured to do the same.

Both directions come down to one thing, ``out[t] = sum of w[k] * x[t + shift(k)]`` over the taps k of the window. With strides, a tap sees
every stride-th element alone, from one of as many phases on: then there is one such sum for each phase, of the input (forward) or of
the result (transposed). Where the input lies in rows of one length, a shift is the same number of elements everywhere, so that what a tap
sees is a matrix as it lies there, and no window is ever copied out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

from dmlcts.reference.answer import Array
from dmlcts.reference.stage import stage

_BLOCK = 1 << 18
"""Elements of the images that are summed at once: about what a processor's cache holds."""

_ROWS = 192
"""Rows that a matrix must have to be multiplied fast, and not to be multiplied too often: taps are put together to reach it."""

_LONG = 1 << 22
"""Multiplications from which on it pays to sum magnitudes in float32."""

_SAFE = (2.0**-90, 2.0**100)
"""A sum of absolute values in float32 that lies between them has not overflowed, and lost nothing that counts to underflow."""

_MANY_PHASES = 16
"""From more residues of elements by strides on, each of which has a product of its own, windows that hardly overlap are multiplied at once."""

_FEWER = 4
"""How many times more elements the filter must have than the input, for them to change places in a transposed sum."""

Index = tuple[int, ...]
"""A number for each spatial dimension."""

Take = Callable[[Array], Array]
"""What is done to the input's elements before they are multiplied."""


Sums = Callable[..., Array]
"""``forward`` or ``transposed_forward``."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Where windows lie: strides, dilations, leading padding, and the sizes of the result; what is padded behind follows from these."""

    strides: Index
    dilations: Index
    start: Index
    sizes: Index


@dataclass(frozen=True, slots=True)
class Layer:
    """What is summed: the input (N, G, C, *S) as it comes, the filter (G, M, C, *K) as it is multiplied, where windows lie, and the direction.

    Of quantized tensors, also the input's zero point, which is taken off the input's elements before they are multiplied, not off the zeros
    around them; and the filter's, which ``w`` is without already: one number, or (G, M, *1).
    """

    x: Array
    w: Array
    geometry: Geometry
    sums: Sums
    zero_point: Array | None = None
    filter_zero_point: Array | None = None

    def taken_elements(self, part: Array) -> Array:
        """Elements of the input as they are multiplied."""
        return part if self.zero_point is None else part - self.zero_point


@stage("convolution.groups")
def group_channels(xp: Any, x: Array, groups: int) -> Array:
    """The input (N, G*C, *S) with its channels in groups: (N, G, C, *S)."""
    return xp.reshape(x, (x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))


@stage("convolution.filter")
def grouped_filter(xp: Any, w: Array, groups: int, backward: bool = False) -> Array:
    """The filter, (G*M, C, *K) or BACKWARD (G*C, M, *K), with the channels that are summed behind: (G, M, C, *K)."""
    w = xp.reshape(w, (groups, w.shape[0] // groups, *w.shape[1:]))
    return xp.swapaxes(w, 1, 2) if backward else w


class Tap(NamedTuple):
    """An element of the window, and the shift of what it sees."""

    element: Index
    shift: Index


@stage("convolution.accumulate")
def accumulate(xp: Any, layer: Layer) -> Array:
    """The products of input and filter, added up over each window and the channels of each group: (N, G, M, *T), in float64."""
    return layer.sums(xp, layer.geometry, layer.x, layer.w, layer.taken_elements)


@stage("convolution.bias")
def add_bias(xp: Any, sums: Array, bias: Array | float) -> Array:
    """Sums (N, G*M, *T) plus the bias, of which there is one number for each output channel."""
    return sums + bias


def forward(xp: Any, geometry: Geometry, x: Array, w: Array, take: Take) -> Array:
    """``out[i] = sum of w[k] * x[i * stride + k * dilation - start]``, in the type of ``w``."""
    strides = geometry.strides
    axes = [
        [divmod(k * dilation - start, stride) for k in range(size)]
        for size, stride, dilation, start in zip(w.shape[3:], strides, geometry.dilations, geometry.start, strict=True)
    ]
    phases: dict[Index, list[Tap]] = {}
    for element in product(*map(range, w.shape[3:])):
        shift, phase = zip(*(axis[k] for axis, k in zip(axes, element, strict=True)), strict=True)
        phases.setdefault(phase, []).append(Tap(element, shift))
    if len(phases) > _MANY_PHASES and prod(geometry.sizes) * prod(w.shape[3:]) <= 2 * prod(x.shape[3:]):
        return _gather_windows(xp, geometry, x, w, take)
    total: Array = None
    for phase, taps in phases.items():
        part = _shifted_sums(xp, x[_phase_elements(phase, strides)], w, taps, geometry.sizes, take)
        total = part if total is None else total + part
    return total


def _gather_windows(xp: Any, geometry: Geometry, x: Array, w: Array, take: Take) -> Array:
    """``forward`` where windows hardly overlap, as those of a patch embedding: all windows side by side, and one product."""
    window, sizes = w.shape[3:], geometry.sizes
    low = [-start for start in geometry.start]
    reach = [
        (size - 1) * stride + (k - 1) * dilation + 1
        for size, k, stride, dilation in zip(sizes, window, geometry.strides, geometry.dilations, strict=True)
    ]
    source, target = _overlap(x.shape[3:], low, reach)
    seen = xp.zeros((*x.shape[:3], *reach), dtype=w.dtype)
    seen[target] = take(x[source])
    for axis, (size, k, stride, dilation) in enumerate(zip(sizes, window, geometry.strides, geometry.dilations, strict=True)):
        places = xp.arange(k)[:, None] * dilation + xp.arange(size) * stride
        seen = xp.take(seen, xp.reshape(places, -1), axis=3 + axis)
    count, groups, channels = x.shape[:3]
    apart = [length for pair in zip(window, sizes, strict=True) for length in pair]
    ends = range(3, 3 + 2 * len(window))
    seen = xp.transpose(xp.reshape(seen, (count, groups, channels, *apart)), (0, 1, 2, *ends[::2], *ends[1::2]))
    seen = xp.reshape(seen, (count, groups, channels * prod(window), prod(sizes)))
    return xp.reshape(xp.matmul(xp.reshape(w, (*w.shape[:2], -1)), seen), (count, groups, w.shape[1], *sizes))


def transposed_forward(xp: Any, geometry: Geometry, x: Array, w: Array, take: Take) -> Array:
    """``out[i * stride + k * dilation - start] += w[k] * x[i]``, in the type of ``w``: the transpose of ``forward`` as a matrix.

    It is also a sum over windows, of the input with zeros between its elements; those are multiplied like the ones around it.
    """
    finite = bool(xp.all(xp.isfinite(w)))
    if finite and prod(w.shape[3:]) > _FEWER * prod(x.shape[3:]) and bool(xp.all(xp.isfinite(take(x)))):
        return _exchange_operands(xp, geometry, x, w, take)
    strides = geometry.strides
    out = xp.zeros((*x.shape[:2], w.shape[1], *geometry.sizes), dtype=w.dtype)
    for phase in product(*(range(min(pair)) for pair in zip(strides, geometry.sizes, strict=True))):
        axes = [
            [(k, (at + start - k * dilation) // stride) for k in range(size) if (at + start - k * dilation) % stride == 0]
            for at, size, stride, dilation, start in zip(
                phase, w.shape[3:], strides, geometry.dilations, geometry.start, strict=True
            )
        ]
        taps = [Tap(*zip(*pairs, strict=True)) for pairs in product(*axes)]
        place = _phase_elements(phase, strides)
        if taps:
            out[place] = _shifted_sums(xp, x, w, taps, out[place].shape[3:], take)
        if not finite:
            seen = {tap.element for tap in taps}
            idle = (0 * w[(..., *element)] for element in product(*map(range, w.shape[3:])) if element not in seen)
            zeros = sum((xp.sum(each, axis=-1) for each in idle), xp.zeros(w.shape[:2]))
            out[place] += xp.reshape(zeros, (*w.shape[:2], *(1 for _ in phase)))
    return out


def _exchange_operands(xp: Any, geometry: Geometry, x: Array, w: Array, take: Take) -> Array:
    """``transposed_forward`` with the input as the filter: strides and dilations change places. The fewer taps, the less to do.

    What is not finite must not be exchanged: zeros stand around the input alone.
    """
    changed = Geometry(geometry.dilations, geometry.strides, geometry.start, geometry.sizes)
    taken = xp.moveaxis(take(x), 0, 1).astype(w.dtype)
    return xp.swapaxes(transposed_forward(xp, changed, xp.swapaxes(w, 0, 1), taken, lambda part: part), 0, 2)


def _phase_elements(phase: Index, strides: Index) -> tuple[Any, ...]:
    """The elements of one phase, in the spatial dimensions."""
    return (..., *(slice(first, None, stride) for first, stride in zip(phase, strides, strict=True)))


def _shifted_sums(xp: Any, x: Array, w: Array, taps: Sequence[Tap], sizes: Index, take: Take) -> Array:
    """``out[t] = sum over taps and channels of w[element] * x[t + shift]`` for every t below ``sizes``.

    Whole rows of the padded input are multiplied, also where a window would reach beyond their end: what that gives is left out at last.
    """
    count, groups, channels = x.shape[:3]
    outputs = w.shape[1]
    low = [min(shifts) for shifts in zip(*(tap.shift for tap in taps), strict=True)]
    high = [max(shifts) for shifts in zip(*(tap.shift for tap in taps), strict=True)]
    padded = [size + most - least for size, most, least in zip(sizes, high, low, strict=True)]
    steps = [prod(padded[axis + 1 :]) for axis in range(len(padded))]
    extent = 1 + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    offsets = [sum((q - least) * step for q, least, step in zip(tap.shift, low, steps, strict=True)) for tap in taps]
    source, target = _overlap(x.shape[3:], low, padded)
    together = min(len(taps), -(-_ROWS // channels))
    weights = [_side_by_side(xp, w, taps[first : first + together]) for first in range(0, len(taps), together)]
    most = max(prod(padded) * channels, extent * together * channels, extent * outputs)
    block = min(count, max(1, _BLOCK // (groups * most)))
    images = xp.zeros((block, groups, channels, *padded), dtype=w.dtype)
    columns = xp.empty((block, groups, together, channels, extent), dtype=w.dtype) if together > 1 else None
    products = xp.empty((block, groups, outputs, extent), dtype=w.dtype) if len(weights) > 1 else None
    out = xp.empty((count, groups, outputs, sizes[0] * steps[0]), dtype=w.dtype)
    for first in range(0, count, block):
        part = x[first : first + block]
        images[: len(part)][target] = take(part[source])
        rows = xp.reshape(images[: len(part)], (len(part), groups, channels, prod(padded)))
        total = out[first : first + block, ..., :extent]
        for index, weight in enumerate(weights):
            here = offsets[index * together : (index + 1) * together]
            if columns is None:
                seen = rows[..., here[0] : here[0] + extent]
            else:
                for row, offset in enumerate(here):
                    columns[: len(part), :, row] = rows[..., offset : offset + extent]
                seen = xp.reshape(columns[: len(part), :, : len(here)], (len(part), groups, len(here) * channels, extent))
            if products is None or index == 0:
                xp.matmul(weight, seen, out=total)
            else:
                total += xp.matmul(weight, seen, out=products[: len(part)])
    return xp.reshape(out, (count, groups, outputs, sizes[0], *padded[1:]))[(..., *map(slice, sizes))]


def _side_by_side(xp: Any, w: Array, taps: Sequence[Tap]) -> Array:
    """The weights of several taps: (G, M, taps * C)."""
    weights = xp.stack([w[(..., *tap.element)] for tap in taps], axis=2)
    return xp.reshape(weights, (*w.shape[:2], len(taps) * w.shape[2]))


def _overlap(lengths: Sequence[int], low: Sequence[int], padded: Sequence[int]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Which elements of the input lie in a padded one that begins at ``low``, and where in that."""
    begins = [max(least, 0) for least in low]
    ends = [max(begin, min(least + size, n)) for begin, least, size, n in zip(begins, low, padded, lengths, strict=True)]
    source = tuple(map(slice, begins, ends))
    target = tuple(slice(begin - least, end - least) for begin, end, least in zip(begins, ends, low, strict=True))
    return (..., *source), (..., *target)


def magnitudes(xp: Any, layer: Layer, terms: int) -> Array:
    """What the sums of ``terms`` terms are for absolute values, or a little more; 0 where that is no number.

    Long ones are summed in float32, and raised by as much as that may lose, unless a term may have been lost altogether: a magnitude of
    0 says that every term is 0.
    """

    def absolute(part: Array) -> Array:
        return xp.abs(layer.taken_elements(part))

    w = xp.abs(layer.w)
    if layer.x.size * w[0, :, 0].size >= _LONG:
        single = layer.sums(xp, layer.geometry, layer.x, w.astype(xp.float32), absolute)
        if bool(xp.min(single) > _SAFE[0]) and bool(xp.max(single) < _SAFE[1]):  # false for NaN
            single *= 1 + (terms + 2) * 2.0**-23
            return single
    double = layer.sums(xp, layer.geometry, layer.x, w, absolute)
    return xp.where(xp.isfinite(double), double, 0.0)
