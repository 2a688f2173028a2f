"""What implementations of convolutions get wrong: where windows lie, what padding holds, which channel meets which, and what is added to sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from itertools import product
from math import prod
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.quantized import REQUANTIZE, RESCALE, own, scales, zero_points
from dmlcts.conformance.mutants.families.sums import ACTIVATION, exact, has, of_integers, of_reals
from dmlcts.conformance.mutants.fault import Array, Desc, Fault, Faults, Inputs, Table, after, with_attributes, with_input
from dmlcts.reference.convolution.windows import Geometry
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc

_ALL = "CONVOLUTION CONVOLUTION_INTEGER QUANTIZED_LINEAR_CONVOLUTION"
_BYTES = "CONVOLUTION_INTEGER QUANTIZED_LINEAR_CONVOLUTION"
_BIASED = "CONVOLUTION QUANTIZED_LINEAR_CONVOLUTION"

_SUMS = "convolution.accumulate"


def is_forward(desc: OperatorDesc) -> bool:
    """Whether windows lie on the input; else on one with zeros between its elements."""
    return desc.fields.get("Direction", "FORWARD") == "FORWARD"


def is_backward(desc: OperatorDesc) -> bool:
    """The other way round."""
    return not is_forward(desc)


# Where windows lie

_ENTRIES: Mapping[str, tuple[str, str, Callable[[int], int]]] = {
    "Strides-at-most-2": ("treats every stride beyond 2 as 2", "Strides", lambda n: min(n, 2)),
    "Dilations-at-most-2": ("treats every dilation beyond 2 as 2", "Dilations", lambda n: min(n, 2)),
    "Dilations-one-more": ("treats a dilation as the number of elements left out", "Dilations", lambda n: n + 1),
    "StartPadding-at-most-1": ("pads one element at most", "StartPadding", lambda n: min(n, 1)),
    "StartPadding-one-less": ("begins one element later where it pads", "StartPadding", lambda n: max(n - 1, 0)),
    "StartPadding-negative": ("cuts off what it should pad", "StartPadding", lambda n: -n),
}


def _entries(name: str, change: Callable[[int], int]) -> Desc:
    return with_attributes(lambda fields: {name: tuple(map(change, fields[name]))})


def _start(change: Callable[[int, int, int, int, int], int]) -> Desc:
    """Another StartPadding, of each dimension's own, its EndPadding, stride, dilation, and size of the window."""

    def misread(desc: OperatorDesc) -> OperatorDesc:
        numbers: list[Any] = [desc.fields[name] for name in ("StartPadding", "EndPadding", "Strides", "Dilations")]
        axes = zip(*numbers, desc.tensor("FilterTensor").sizes[2:], strict=True)
        return desc.with_fields(StartPadding=tuple(change(*axis) for axis in axes))

    return misread


WINDOWS: Faults = {
    **{name: Fault(does, desc=_entries(attribute, change)) for name, (does, attribute, change) in _ENTRIES.items()},
    "StartPadding-mean": Fault(
        "shares the padding equally between both ends", desc=_start(lambda start, end, *rest: (start + end) // 2)
    ),
    "StartPadding-below-window": Fault(
        "pads no more than the window reaches over",
        desc=_start(lambda start, end, stride, dilation, window: min(start, (window - 1) * dilation)),
    ),
    "StartPadding-by-stride": Fault("counts the padding in strides", desc=_start(lambda start, end, stride, *rest: start * stride)),
    "StartPadding-by-dilation": Fault(
        "counts the padding in dilations", desc=_start(lambda start, end, stride, dilation, window: start * dilation)
    ),
    "window-centred": Fault(
        "lays the middle of the window where its beginning belongs",
        desc=_start(lambda start, end, stride, dilation, window: start + dilation * (window // 2)),
    ),
}

_VOLUME = 3
"""Spatial dimensions of a volume; its depth is the first."""


def _other_mode(desc: OperatorDesc) -> OperatorDesc:
    return desc.with_fields(Mode="CROSS_CORRELATION" if desc.fields["Mode"] == "CONVOLUTION" else "CONVOLUTION")


def _reverses(does: str, axes: Callable[[int, int], tuple[int, ...]]) -> Fault:
    """The filter reversed along other dimensions, of so many spatial ones and of so many."""
    return Fault(does, stages={"convolution.reverse": lambda right, xp, w, spatial: np.flip(w, axes(spatial, w.ndim))})


def _without_depth(name: str, value: int) -> Desc:
    return with_attributes(lambda fields: {name: (value, *fields[name][1:])})


DIRECTION: Faults = {
    **{
        f"{name}-not-of-depth": Fault(
            f"ignores {name} along the depth of a volume",
            desc=_without_depth(name, value),
            when=lambda desc: len(desc.tensor("InputTensor").sizes) == 2 + _VOLUME,
        )
        for name, value in (("Strides", 1), ("Dilations", 1), ("StartPadding", 0))
    },
    "first-slice-alone": Fault(
        "multiplies by the first slice alone of a window that has a depth",
        stages=after("convolution.filter", lambda w: _masked(w, w.ndim - 6, lambda i: i == 0)),
        when=lambda desc: len(desc.tensor("InputTensor").sizes) == 2 + _VOLUME,
    ),
    "modes-exchanged-backward": Fault("exchanges the modes in BACKWARD", desc=_other_mode, when=is_backward),
    "modes-exchanged-forward": Fault("exchanges the modes in FORWARD", desc=_other_mode, when=is_forward),
    "backward-strides-lost": Fault("ignores strides in BACKWARD", desc=_entries("Strides", lambda stride: 1), when=is_backward),
    "backward-zeros-first": Fault(
        "puts the zeros of strides before each element",
        desc=_start(lambda start, end, stride, *rest: start - (stride - 1)),
        when=is_backward,
    ),
    "backward-filter-misread": Fault(
        "reads the filter of BACKWARD as that of FORWARD",
        stages={
            "convolution.filter": lambda right, xp, w, groups, backward: np.reshape(
                right(xp, w, groups), right(xp, w, groups, backward).shape
            )
        },
        when=is_backward,
    ),
    "reverses-first-alone": _reverses("reverses the filter along the first spatial dimension alone", lambda n, ndim: (-n,)),
    "reverses-last-alone": _reverses("reverses the filter along the last dimension alone", lambda n, ndim: (-1,)),
    "reverses-x-and-y": _reverses("reverses no depth of the filter", lambda n, ndim: tuple(range(-min(n, 2), 0))),
    "reverses-channels": _reverses("reverses the filter's channels, too", lambda n, ndim: tuple(range(-n - 1, 0))),
    "reverses-outputs": _reverses("reverses the filter along every dimension", lambda n, ndim: tuple(range(ndim))),
}
"""Of CONVOLUTION alone, as volumes, directions and modes are."""


# What lies outside the input

_Widths = list[tuple[int, int]]


def _padding(pad: Callable[[Array, _Widths], Array]) -> Mapping[str, Instead]:
    """Padding that holds something else: of the input (N, G, C, *S) and what windows reach over at both ends of its dimensions."""

    def instead(right: Callable[..., Array], xp: Any, sums: Any, geometry: Geometry, x: Array, w: Array, *take: Any) -> Array:
        ends = [max(beyond[-1], 0) for beyond in _beyond(geometry, x, w)]
        padded = pad(x, [(0, 0)] * 3 + list(zip(geometry.start, ends, strict=True)))
        return right(xp, sums, replace(geometry, start=(0,) * len(ends)), padded, w, *take)

    return {_SUMS: instead}


def _beyond(geometry: Geometry, x: Array, w: Array) -> list[Array]:
    """How far each window reaches beyond the end of the input, by dimension."""
    axes = zip(geometry.sizes, w.shape[3:], geometry.strides, geometry.dilations, geometry.start, x.shape[3:], strict=True)
    return [np.arange(t) * stride + (k - 1) * dilation - start - (size - 1) for t, k, stride, dilation, start, size in axes]


def _next_row(x: Array, widths: _Widths) -> Array:
    front, behind = widths[-1]
    rows, width = prod(x.shape[3:-1]), x.shape[-1]
    flat = np.pad(x.reshape(*x.shape[:3], -1), [(0, 0)] * 3 + [(front, behind)])
    seen = flat[..., np.arange(rows)[:, None] * width + np.arange(front + width + behind)]
    return np.pad(seen.reshape(*x.shape[:-1], -1), [*widths[:-1], (0, 0)])


def _by_inside(change: Callable[[Array, Array, int], Array]) -> Mapping[str, Instead]:
    """Sums changed by how many elements of the window lie on the input, and how many it has."""

    def instead(right: Callable[..., Array], xp: Any, sums: Any, geometry: Geometry, x: Array, w: Array, *take: Any) -> Array:
        return change(right(xp, sums, geometry, x, w, *take), _inside(right, xp, sums, geometry, x, w), prod(w.shape[3:]))

    return {_SUMS: instead}


def _inside(right: Callable[..., Array], xp: Any, sums: Any, geometry: Geometry, x: Array, w: Array) -> Array:
    return right(xp, sums, geometry, np.ones((1, 1, 1, *x.shape[3:])), np.ones((1, 1, 1, *w.shape[3:])))


def _end_lost(right: Callable[..., Array], xp: Any, sums: Any, geometry: Geometry, x: Array, w: Array, *take: Any) -> Array:
    within = reduce(np.logical_and.outer, [beyond <= 0 for beyond in _beyond(geometry, x, w)])
    return np.where(within, right(xp, sums, geometry, x, w, *take), 0.0)


PADDING: Faults = {
    "padding-of-edge": Fault(
        "pads with the outermost element", stages=_padding(lambda x, n: np.pad(x, n, "edge")), when=is_forward
    ),
    "padding-reflected": Fault(
        "pads with the input reflected", stages=_padding(lambda x, n: np.pad(x, n, "reflect")), when=is_forward
    ),
    "padding-around": Fault(
        "goes on at the other end of the input", stages=_padding(lambda x, n: np.pad(x, n, "wrap")), when=is_forward
    ),
    "padding-of-one": Fault("pads with 1", stages=_padding(lambda x, n: np.pad(x, n, constant_values=1)), when=is_forward),
    "padding-of-next-row": Fault("reads on in memory beyond the end of a row", stages=_padding(_next_row), when=is_forward),
    "padded-windows-lost": Fault(
        "gives 0 where a window reaches over an end",
        stages=_by_inside(lambda sums, inside, window: np.where(inside == window, sums, 0.0)),
    ),
    "EndPadding-lost": Fault("gives 0 where a window reaches over the end", stages={_SUMS: _end_lost}, when=is_forward),
    "padding-not-counted": Fault(
        "divides by the share of the window that is no padding",
        stages=_by_inside(lambda sums, inside, window: sums * window / np.maximum(inside, 1)),
    ),
}


# Groups and channels


def _input(does: str, change: Callable[[Array], Array]) -> Fault:
    """Other channels of the input for each group, of (N, G, C, *S)."""
    return Fault(does, stages=after("convolution.groups", lambda x: np.broadcast_to(change(x), x.shape)))


def _filter(does: str, change: Callable[[Array], Array]) -> Fault:
    """Another filter, of (G, M, C, *K)."""
    return Fault(does, stages=after("convolution.filter", lambda w: np.broadcast_to(change(w), w.shape)))


def _masked(w: Array, axis: int, which: Callable[[Array], Array]) -> Array:
    """The filter where its entries along a dimension behind the groups and the outputs (0 is the channels) are among those that count."""
    return w * which(np.arange(w.shape[2 + axis])).reshape(-1, *[1] * (w.ndim - 3 - axis))


def _channels(does: str, which: Callable[[Array], Array]) -> Fault:
    return _filter(does, lambda w: _masked(w, 0, which))


def _window(does: str, which: Callable[[Array], Array]) -> Fault:
    def change(w: Array) -> Array:
        for axis in range(1, w.ndim - 2):
            w = _masked(w, axis, which)
        return w

    return _filter(does, change)


def _terms(does: str, weights: Callable[[Array], Array]) -> Fault:
    """Products of a sum weighted by their places in it."""
    return _filter(does, lambda w: w * weights(np.arange(prod(w.shape[2:]))).reshape(w.shape[2:]))


def _channels_last(array: Array) -> Array:
    """What lies in memory, read as if the third dimension came last."""
    return np.moveaxis(array.reshape(*array.shape[:2], *array.shape[3:], array.shape[2]), -1, 2)


def _apart(x: Array) -> Array:
    """The channels of a group apart by the number of groups."""
    return x.reshape(x.shape[0], x.shape[2], x.shape[1], *x.shape[3:]).swapaxes(1, 2)


CHANNELS: Faults = {
    "first-group-read": _input("gives every group the channels of the first", lambda x: x[:, :1]),
    "next-group-read": _input("gives each group the channels of the next", lambda x: np.roll(x, -1, axis=1)),
    "two-groups-at-most": _input("gives later groups the channels of the second", lambda x: x[:, np.arange(x.shape[1]).clip(0, 1)]),
    "channels-by-groups": _input("reads the channels of a group as apart by the number of groups", _apart),
    "input-channels-last": _input("reads the input as if its channels came last", _channels_last),
    "first-group-filters": _filter("applies the first group's filters in each", lambda w: w[:1]),
    "next-group-filters": _filter("applies the next group's filters", lambda w: np.roll(w, -1, axis=0)),
    "first-filter-for-all": _filter("applies a group's first filter for each", lambda w: w[:, :1]),
    "filter-channels-exchanged": _filter(
        "exchanges the filter's channels of input and output",
        lambda w: w.reshape(w.shape[0], w.shape[2], w.shape[1], *w.shape[3:]).swapaxes(1, 2),
    ),
    "filter-channels-last": _filter("reads the filter as if its input channels came last", _channels_last),
    "channels-added-up": _filter("applies one filter to the sum of channels", lambda w: w[:, :, :1]),
    "first-channel-alone": _channels("leaves out all channels but the first", lambda i: i == 0),
    "last-channel-left-out": _channels("leaves out the last channel", lambda i: (i < i.size - 1) | (i.size == 1)),
    "rest-of-4-channels-left-out": _channels(
        "leaves out the channels that are left of a division by 4", lambda i: (i < i.size // 4 * 4) | (i.size < 4)
    ),
    **{f"{n}-channels-at-most": _channels(f"leaves out channels beyond {n}", lambda i, n=n: i < n) for n in (16, 32)},  # type: ignore[misc]
    **{f"window-of-{n}-at-most": _window(f"leaves out what a window has beyond {n}", lambda i, n=n: i < n) for n in (3, 5)},  # type: ignore[misc]
    "window-end-left-out": _window("leaves out the end of a window", lambda i: (i < i.size - 1) | (i.size == 1)),
    "window-begin-left-out": _window("leaves out the beginning of a window", lambda i: (i > 0) | (i.size == 1)),
    "last-product-left-out": _terms("leaves out the last product of a sum", lambda i: (i < i.size - 1) | (i.size == 1)),
    **{
        f"rest-of-{n}-products-left-out": _terms(
            f"leaves out the products that are left of a division by {n}",
            lambda i, n=n: (i < i.size // n * n) | (i.size < n),  # type: ignore[misc]
        )
        for n in (4, 16)
    },
    "256-products-at-most": _terms("leaves out products beyond the 256th", lambda i: i < 256),
    "first-product-twice": _terms("adds the first product twice", lambda i: 1 + (i == 0)),
    "outputs-by-groups": Fault(
        "writes the output channels of a group apart by the number of groups",
        stages=after(_SUMS, lambda sums: sums.swapaxes(1, 2).copy()),
    ),
    "last-group-lost": Fault(
        "gives 0 for the last of several groups",
        stages=after(_SUMS, lambda sums: np.concatenate([sums[:, :-1], 0 * sums[:, -1:]], 1) if sums.shape[1] > 1 else sums),
    ),
    "mean": Fault(
        "divides a sum by the number of its products",
        stages={_SUMS: lambda right, xp, sums, geometry, x, w, *take: right(xp, sums, geometry, x, w / prod(w.shape[2:]), *take)},
    ),
    "subtracts": Fault("subtracts products", stages=after(_SUMS, np.negative)),
}


# Sums


def products(
    right: Callable[..., Array], xp: Any, sums: Any, geometry: Geometry, x: Array, w: Array, *take: Any
) -> Iterator[Array]:
    """Each product of a sum: of one channel and one element of the window."""
    for start, tap in _taps(geometry, w):
        for channel in range(w.shape[2]):
            one = slice(channel, channel + 1)
            yield right(xp, sums, start, x[:, :, one], tap[:, :, one], *take)


def _taps(geometry: Geometry, w: Array) -> Iterator[tuple[Geometry, Array]]:
    """Each element of the window as a window of its own."""
    for element in product(*map(range, w.shape[3:])):
        axes = zip(geometry.start, element, geometry.dilations, strict=True)
        start = tuple(first - at * dilation for first, at, dilation in axes)
        yield replace(geometry, start=start), w[(..., *(slice(at, at + 1) for at in element))]


def _last_written(right: Callable[..., Array], xp: Any, sums: Any, geometry: Geometry, x: Array, w: Array) -> Array:
    total: Any = 0.0
    for start, tap in _taps(geometry, w):
        total = np.where(_inside(right, xp, sums, start, x, tap) > 0, right(xp, sums, start, x, tap), total)
    return np.asarray(total)


def _zeros_skipped(right: Callable[..., Array], xp: Any, sums: Any, geometry: Geometry, x: Array, w: Array) -> Array:
    finite = [np.nan_to_num(factor, nan=np.nan, posinf=1.0, neginf=1.0) for factor in (x, w)]
    every = zip(products(right, xp, sums, geometry, x, w), products(right, xp, sums, geometry, *finite), strict=True)
    return np.asarray(sum(np.where(zero == 0, 0.0, found) for found, zero in every))


OF_REALS: Faults = {
    **of_reals(_SUMS, products),
    "zeros-skipped": Fault("leaves out products with a factor of 0", stages={_SUMS: _zeros_skipped}),
    "backward-last-written": Fault(
        "writes over what other elements of the input gave", stages={_SUMS: _last_written}, when=is_backward
    ),
    "backward-averaged": Fault(
        "divides by how many products meet",
        stages=_by_inside(lambda sums, inside, window: sums / np.maximum(inside, 1)),
        when=is_backward,
    ),
}


# Bias, padding of the output, activation


def _bias(does: str, bias: Callable[[Array, tuple[int, ...]], Array]) -> Fault:
    """Another bias, of the right one and the sizes (N, G*M, *T) of the sums."""
    return Fault(
        does, stages={"convolution.bias": lambda right, xp, sums, b: right(xp, sums, bias(b, sums.shape))}, when=has("BiasTensor")
    )


def _first_along(axis: int) -> Callable[[Array, tuple[int, ...]], Array]:
    """The bias for the first entry along a dimension alone."""
    return lambda bias, sizes: bias * (np.arange(sizes[axis]) == 0).reshape(-1, *[1] * (len(sizes) - 1 - axis))


def _by_group(does: str, name: str, change: Callable[[Array, int], Array]) -> Fault:
    """Another number for each output channel, of those that there are in memory and of the number of groups."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        groups: Any = desc.fields["GroupCount"]
        x = right[name]
        return {**right, name: change(x.reshape(-1), groups).reshape(x.shape) if x.size >= groups else x}

    return Fault(does, inputs=inputs, when=has(name))


def of_first_group(name: str) -> Faults:
    """What output channels have, by their places in the first group."""
    first = _by_group(f"reads {name} of the first group in each", name, lambda x, groups: np.resize(x[: x.size // groups], x.size))
    return {f"{name}-of-first-group": first}


BIAS: Faults = {
    **of_first_group("BiasTensor"),
    "bias-by-groups": _by_group(
        "reads the biases of a group as apart by the number of groups", "BiasTensor", lambda x, groups: x.reshape(-1, groups).T
    ),
    "bias-by-groups-count": _by_group("adds the bias once for each group", "BiasTensor", lambda x, groups: x * groups),
    "bias-by-column": _bias("adds a bias of its own to each column", lambda bias, sizes: np.resize(bias, sizes[-1])),
    "bias-by-image": _bias(
        "adds a bias of its own to each image", lambda bias, sizes: np.resize(bias, (sizes[0], *[1] * (len(sizes) - 1)))
    ),
    "bias-first-row": _bias("adds the bias to the first row alone", _first_along(2)),
    "bias-first-image": _bias("adds the bias to the first image alone", _first_along(0)),
    "bias-multiplied": Fault(
        "multiplies by the bias", stages={"convolution.bias": lambda right, xp, sums, bias: sums * bias}, when=has("BiasTensor")
    ),
    "bias-by-channels": Fault(
        "adds the bias once for each channel of a group",
        inputs=lambda desc, inputs: {**inputs, "BiasTensor": inputs["BiasTensor"] * _channels_of_group(desc)},
        when=has("BiasTensor"),
    ),
}


def _channels_of_group(desc: OperatorDesc) -> int:
    groups: Any = desc.fields["GroupCount"]
    return desc.tensor("InputTensor").sizes[1] // int(groups)


def _is_padded(desc: OperatorDesc) -> bool:
    padding: Any = desc.fields["OutputPadding"]
    return any(padding)


def _in_padding(number: Callable[[Inputs], Any]) -> Callable[[OperatorDesc, Inputs, Array], Array]:
    """Something else in the output's padding."""

    def value(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
        padding: Any = desc.fields["OutputPadding"]
        inside = (..., *(slice(size - behind) for size, behind in zip(right.shape[2:], padding, strict=True)))
        out = np.array(np.broadcast_to(number(inputs), right.shape), np.float64)
        out[inside] = right[inside]
        return out

    return value


OUTPUT: Faults = {
    "bias-of-integers": Fault("cuts the bias to integers", inputs=with_input("BiasTensor", np.trunc), when=has("BiasTensor")),
    "bias-after-activation": Fault(
        "adds the bias to what the activation gives",
        lambda desc, inputs, right: right + inputs["BiasTensor"].astype("f8"),
        inputs=lambda desc, inputs: {name: x for name, x in inputs.items() if name != "BiasTensor"},
        when=has("BiasTensor", "FusedActivation"),
    ),
    "bias-on-padding": Fault(
        "adds the bias to the output's padding, too",
        _in_padding(lambda inputs: inputs["BiasTensor"]),
        when=lambda desc: _is_padded(desc) and has("BiasTensor")(desc) and not has("FusedActivation")(desc),
    ),
    "OutputPadding-not-activated": Fault(
        "leaves the output's padding 0 whatever the activation",
        _in_padding(lambda inputs: 0.0),
        when=lambda desc: _is_padded(desc) and has("FusedActivation")(desc),
    ),
    "OutputPadding-first": Fault(
        "puts the output's padding before the sums",
        stages={"convolution.output_padding": lambda right, xp, part, sizes: np.flip(right(xp, np.flip(part), sizes))},
        when=_is_padded,
    ),
    "OutputPadding-repeated": Fault(
        "repeats the last sums where the output is padded",
        stages={
            "convolution.output_padding": lambda right, xp, part, sizes: np.pad(
                part, [(0, size - n) for n, size in zip(part.shape, sizes, strict=True)], "edge"
            )
        },
        when=_is_padded,
    ),
}
"""Of CONVOLUTION alone, which has an output that may be padded, and an activation."""


# Integers


Correction = Callable[[OperatorDesc, Inputs], Array]
"""What each output channel (G*M) is off by, before it is scaled."""


def _correction(number: Callable[[Array, Array, Array], Array]) -> Correction:
    """Of the filter's bytes (G*M, C, prod K) and the zero points of the input (1) and of the filter (1 or G*M)."""

    def correction(desc: OperatorDesc, inputs: Inputs) -> Array:
        w = inputs["FilterTensor"].astype(np.int64)
        points = (own(inputs, name, "ZeroPoint").reshape(-1).astype(np.int64) for name in ("Input", "Filter"))
        return np.broadcast_to(number(w.reshape(*w.shape[:2], -1), *points), w.shape[:1])

    return correction


_CORRECTIONS: Mapping[str, tuple[str, Correction]] = {
    "product-of-points-lost": (
        "leaves out the product of both zero points, where it takes them off afterwards",
        _correction(lambda w, x_point, w_point: -w[0].size * x_point * w_point),
    ),
    "product-of-points-of-a-channel": (
        "counts the product of both zero points for one channel alone",
        _correction(lambda w, x_point, w_point: (w[0, 0].size - w[0].size) * x_point * w_point),
    ),
    "point-times-first-channel": (
        "takes the input's zero point off with the filter's first channel alone",
        _correction(lambda w, x_point, w_point: x_point * w[:, 1:].sum(axis=(1, 2))),
    ),
}


def _added(correction: Correction) -> Callable[[OperatorDesc, Inputs, Array], Array]:
    return lambda desc, inputs, right: right + correction(desc, inputs).reshape(-1, *[1] * (right.ndim - 2))


def _as_bias(correction: Correction) -> Callable[[OperatorDesc, Inputs], Inputs]:
    return lambda desc, inputs: {
        **inputs,
        "BiasTensor": inputs.get("BiasTensor", np.zeros(1)).reshape(-1) + correction(desc, inputs),
    }


INTEGERS: Faults = {
    **zero_points("Input", "Filter"),
    **of_first_group("FilterZeroPointTensor"),
    **of_integers(_SUMS, products),
    "padding-of-byte-0": Fault(
        "takes the zero point off padding, too", stages=_padding(lambda x, n: np.pad(x, n)), when=has("InputZeroPointTensor")
    ),
}


def _bias_in_units(does: str, unit: Callable[[Array, Array, Array], Array]) -> Fault:
    """The bias in other units than the product of the scales of input and filter; of them and of the output's scale."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        x, w, y = (right[f"{name}ScaleTensor"].reshape(-1).astype("f8") for name in ("Input", "Filter", "Output"))
        bias = right["BiasTensor"]
        return {**right, "BiasTensor": (bias.reshape(-1) * (unit(x, w, y) / (x * w))).reshape(bias.shape)}

    return Fault(does, inputs=inputs, when=has("BiasTensor"))


QUANTIZED: Faults = {
    **of_first_group("FilterScaleTensor"),
    **scales("Input", "Filter", "Output"),
    **RESCALE,
    **REQUANTIZE,
    **{name: Fault(does, inputs=_as_bias(correction)) for name, (does, correction) in _CORRECTIONS.items()},
    "bias-of-8-bits": Fault(
        "keeps 8 bits of the bias",
        inputs=with_input("BiasTensor", lambda bias: bias.astype(np.int8).astype(bias.dtype)),
        when=has("BiasTensor"),
    ),
    "bias-in-output": _bias_in_units("reads the bias in units of the output's scale", lambda x, w, y: y),
    "bias-real": _bias_in_units("reads the bias as it is", lambda x, w, y: np.ones(1)),
    "bias-in-input": _bias_in_units("reads the bias in units of the input's scale", lambda x, w, y: x),
    "bias-in-filter": _bias_in_units("reads the bias in units of the filter's scale", lambda x, w, y: w),
    "bias-of-first-scale": _bias_in_units("reads each bias in units of the first filter's scale", lambda x, w, y: x * w[:1]),
}


FAULTS: Table = {
    _ALL: {**WINDOWS, **PADDING, **CHANNELS},
    _BIASED: BIAS,
    _BYTES: INTEGERS,
    "CONVOLUTION": {**DIRECTION, **OF_REALS, **OUTPUT, **ACTIVATION},
    "CONVOLUTION_INTEGER": {
        **exact(_SUMS),
        **{name: Fault(does, _added(correction)) for name, (does, correction) in _CORRECTIONS.items()},
    },
    "QUANTIZED_LINEAR_CONVOLUTION": QUANTIZED,
}
