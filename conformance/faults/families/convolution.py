"""What implementations of convolutions get wrong: where windows lie, what padding holds, which channel meets which, and what is added to sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from dmlcts.conformance.faults.families import sums
from dmlcts.conformance.faults.families.quantized import REQUANTIZE, RESCALE, zero_points
from dmlcts.conformance.faults.families.sums import but_rest_of, first
from dmlcts.conformance.faults.model.fault import (
    Array,
    Desc,
    Fault,
    Faults,
    Inputs,
    Table,
    change_result,
    has,
    with_attributes,
    without_input,
)
from dmlcts.reference.operators.convolution.windows import Layer
from dmlcts.spec.model.desc import OperatorDesc

Change = Callable[[Array], Array]
Right = Callable[..., Array]

_SUMS, _FILTER, _BIAS = "convolution.accumulate", "convolution.filter", "BiasTensor"


def is_forward(desc: OperatorDesc) -> bool:
    """Whether windows lie on the input; else on one with zeros between its elements."""
    return desc.fields.get("Direction", "FORWARD") == "FORWARD"


# Where windows lie


class SpatialAxis(NamedTuple):
    """What an operator desc says about a spatial dimension, and the size of the window."""

    start: int
    end: int
    stride: int
    dilation: int
    window: int


def _start(change: Callable[[SpatialAxis], int]) -> Desc:
    """Another StartPadding, of each dimension."""

    def misread(desc: OperatorDesc) -> OperatorDesc:
        numbers: list[Any] = [desc.fields[name] for name in ("StartPadding", "EndPadding", "Strides", "Dilations")]
        axes = zip(*numbers, desc.tensor("FilterTensor").sizes[2:], strict=True)
        return desc.with_fields(StartPadding=tuple(change(SpatialAxis(*axis)) for axis in axes))

    return misread


def _change_each(name: str, change: Callable[[int], int]) -> Desc:
    return with_attributes(lambda fields: {name: tuple(map(change, fields[name]))})


WINDOWS: Faults = {
    "Strides/at-most-2": Fault("has strides of 2 at most", desc=_change_each("Strides", lambda stride: min(stride, 2))),
    "Dilations/at-most-2": Fault("has dilations of 2 at most", desc=_change_each("Dilations", lambda dilation: min(dilation, 2))),
    "StartPadding/at-most-1": Fault("pads one element at most", desc=_start(lambda axis: min(axis.start, 1))),
    "StartPadding/mean": Fault("pads alike at both ends", desc=_start(lambda axis: (axis.start + axis.end) // 2)),
    "StartPadding/below-window": Fault(
        "pads less than a window", desc=_start(lambda axis: min(axis.start, (axis.window - 1) * axis.dilation))
    ),
    "StartPadding/in-dilations": Fault("counts the padding in dilations", desc=_start(lambda axis: axis.start * axis.dilation)),
}


# What lies outside the input


def _pad_with(does: str, pad: Callable[[Array, list[tuple[int, int]]], Array]) -> Fault:
    """Padding that holds something else: of the input (N, G, C, *S) and what windows reach over at both ends of its dimensions."""

    def instead(right: Right, xp: Any, of: Layer) -> Array:
        widths = [(start, max(beyond[-1], 0)) for start, beyond in zip(of.geometry.start, _reach_beyond(of), strict=True)]
        geometry = replace(of.geometry, start=(0,) * len(widths))
        return right(xp, replace(of, x=pad(of.x, [(0, 0)] * 3 + widths), geometry=geometry))

    return Fault(does, stages={_SUMS: instead}, when=is_forward)


def _reach_beyond(of: Layer) -> list[Array]:
    """How far each window reaches beyond the end of the input, by dimension."""
    g = of.geometry
    axes = zip(g.sizes, of.w.shape[3:], g.strides, g.dilations, g.start, of.x.shape[3:], strict=True)
    return [np.arange(t) * stride + (k - 1) * dilation - start - (size - 1) for t, k, stride, dilation, start, size in axes]


def _next_row(x: Array, widths: list[tuple[int, int]]) -> Array:
    front, behind = widths[-1]
    rows, width = prod(x.shape[3:-1]), x.shape[-1]
    flat = np.pad(x.reshape(*x.shape[:3], -1), [(0, 0)] * 3 + [(front, behind)])
    seen = flat[..., np.arange(rows)[:, None] * width + np.arange(front + width + behind)]
    return np.pad(seen.reshape(*x.shape[:-1], -1), [*widths[:-1], (0, 0)])


def _end_lost(right: Right, xp: Any, of: Layer) -> Array:
    return np.where(reduce(np.logical_and.outer, [beyond <= 0 for beyond in _reach_beyond(of)]), right(xp, of), 0.0)


def _count_inside(right: Right, xp: Any, of: Layer) -> Array:
    """How many elements of the window lie on the input."""
    x, w = (np.ones((1, 1, 1, *array.shape[3:])) for array in (of.x, of.w))
    return right(xp, Layer(x, w, of.geometry, of.sums))


PADDING: Faults = {
    "padding-of-edge": _pad_with("pads with the outermost element", lambda x, widths: np.pad(x, widths, "edge")),
    "padding-of-next-row": _pad_with("reads on in memory beyond the end of a row", _next_row),
    "EndPadding/lost": Fault("gives 0 where a window reaches over the end", stages={_SUMS: _end_lost}, when=is_forward),
}


# Groups, channels, elements of the window


def _input(does: str, change: Change) -> Fault:
    """Other channels for each group, of the input (N, G, C, *S)."""
    return Fault(does, stages=change_result("convolution.groups", lambda x: np.broadcast_to(change(x), x.shape)))


def _filter(does: str, change: Change) -> Fault:
    """Another filter, of (G, M, C, *K)."""
    return Fault(does, stages=change_result(_FILTER, lambda w: np.broadcast_to(change(w), w.shape)))


def _mask(w: Array, axis: int, kept: Change) -> Array:
    """Which entries along a dimension of (C, *K) are kept."""
    return kept(np.arange(w.shape[2 + axis])).reshape(-1, *[1] * (w.ndim - 3 - axis))


def _channels_last(array: Array) -> Array:
    """What lies in memory, read as if the third dimension came last."""
    return np.moveaxis(array.reshape(*array.shape[:2], *array.shape[3:], array.shape[2]), -1, 2)


def _exchange_dimensions(x: Array) -> Array:
    """What lies in memory, read as if the second and the third dimension were the other way round."""
    return x.reshape(x.shape[0], x.shape[2], x.shape[1], *x.shape[3:]).swapaxes(1, 2)


CHANNELS: Faults = {
    "two-groups-at-most": _input("gives later groups the channels of the second", lambda x: x[:, np.arange(x.shape[1]).clip(0, 1)]),
    "channels-by-groups": _input("reads the channels of a group as apart by the number of groups", _exchange_dimensions),
    "first-group-filters": _filter("applies the first group's filters in each", lambda w: w[:1]),
    "filter-channels-exchanged": _filter(
        "reads the filter's channels of input and output the other way round", _exchange_dimensions
    ),
    "filter-channels-last": _filter("reads the filter as if its input channels came last", _channels_last),
    "rest-of-4-channels-lost": _filter(
        "leaves out the channels that a division by 4 leaves", lambda w: w * _mask(w, 0, but_rest_of(4))
    ),
    "32-channels-at-most": _filter("leaves out channels beyond the 32nd", lambda w: w * _mask(w, 0, first(32))),
    "window-of-5-at-most": _filter(
        "leaves out what a window has beyond 5",
        lambda w: reduce(np.multiply, (_mask(w, axis, first(5)) for axis in range(1, w.ndim - 2)), w),
    ),
    **sums.of_terms(lambda weight: change_result(_FILTER, lambda w: w * weight(np.arange(prod(w.shape[2:]))).reshape(w.shape[2:]))),
    "outputs-by-groups": Fault(
        "writes a group's channels apart by the number of groups", stages=change_result(_SUMS, lambda found: found.swapaxes(1, 2))
    ),
}


# Sums


def products(right: Right, xp: Any, of: Layer) -> Iterator[Array]:
    """Each product of a sum: of one channel and one element of the window."""
    for tap in _taps(of):
        for channel in range(of.w.shape[2]):
            one = slice(channel, channel + 1)
            yield right(xp, replace(tap, x=tap.x[:, :, one], w=tap.w[:, :, one]))


def _taps(of: Layer) -> Iterator[Layer]:
    """Each element of the window as a window of its own."""
    for element in product(*map(range, of.w.shape[3:])):
        axes = zip(of.geometry.start, element, of.geometry.dilations, strict=True)
        geometry = replace(of.geometry, start=tuple(start - k * dilation for start, k, dilation in axes))
        yield replace(of, w=of.w[(..., *(slice(k, k + 1) for k in element))], geometry=geometry)


def _last_written(right: Right, xp: Any, of: Layer) -> Any:
    total: Any = 0.0
    for tap in _taps(of):
        total = np.where(_count_inside(right, xp, tap) > 0, right(xp, tap), total)
    return total


# Directions, modes, volumes: of CONVOLUTION alone


_OTHER_MODE = {"CROSS_CORRELATION": "CONVOLUTION", "CONVOLUTION": "CROSS_CORRELATION"}


def _other_mode(desc: OperatorDesc) -> OperatorDesc:
    return desc.with_fields(Mode=_OTHER_MODE[str(desc.fields["Mode"])])


def _as_forward(right: Right, xp: Any, w: Array, groups: int, backward: bool) -> Array:
    return np.reshape(right(xp, w, groups), right(xp, w, groups, backward).shape)


_BACKWARD: Faults = {
    "filter-misread": Fault("reads its filter as that of FORWARD", stages={_FILTER: _as_forward}),
    "last-written": Fault("writes over what other elements of the input gave", stages={_SUMS: _last_written}),
    "zeros-first": Fault("puts the zeros of strides before elements", desc=_start(lambda axis: axis.start - (axis.stride - 1))),
    "modes-exchanged": Fault("exchanges the modes", desc=_other_mode),
}


def _reverses(does: str, axes: Callable[[int], tuple[int, ...]]) -> Fault:
    """The filter reversed along other dimensions than its last ones, of which there are so many."""
    return Fault(does, stages={"convolution.reverse": lambda right, xp, w, spatial: np.flip(w, axes(spatial))})


def _is_volume(desc: OperatorDesc) -> bool:
    return len(desc.tensor("InputTensor").sizes) == 5  # the depth is the first of three spatial dimensions


def _no_depth(name: str, usual: int) -> Desc:
    return with_attributes(lambda fields: {name: (usual, *fields[name][1:])})


CONVOLUTION: Faults = {
    **sums.of_reals(_SUMS, products),
    **{
        f"backward-{name}": replace(fault, does=f"{fault.does} in BACKWARD", when=lambda desc: not is_forward(desc))
        for name, fault in _BACKWARD.items()
    },
    "reverses-last-alone": _reverses("reverses the filter along the last dimension alone", lambda spatial: (-1,)),
    "reverses-x-and-y": _reverses("reverses no depth of the filter", lambda spatial: tuple(range(-min(spatial, 2), 0))),
    **{
        f"{name}/not-of-depth": Fault(f"ignores {name} along the depth", desc=_no_depth(name, usual), when=_is_volume)
        for name, usual in (("Strides", 1), ("Dilations", 1), ("StartPadding", 0))
    },
}


# Bias, padding of the output


def _of_first_group(name: str) -> Faults:
    """The first group's numbers for each group, of a tensor that has one for each output channel."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        groups: Any = desc.fields["GroupCount"]
        x = right[name]
        return right if x.size < groups else {**right, name: np.resize(x.reshape(-1)[: x.size // groups], x.shape)}

    return {f"{name}/first-group-for-all": Fault(f"gives every group {name} of the first", inputs=inputs)}


BIAS: Faults = {
    **_of_first_group(_BIAS),
    "bias-by-column": Fault(
        "adds one bias to each column",
        stages={"convolution.bias": lambda right, xp, found, bias: found + np.resize(bias, found.shape[-1])},
        when=has(_BIAS),
    ),
}


def _in_padding(desc: OperatorDesc, right: Array, number: Any) -> Array:
    """Something else in the output's padding."""
    padding: Any = desc.fields["OutputPadding"]
    inside: Any = (..., *(slice(size - behind) for size, behind in zip(right.shape[2:], padding, strict=True)))
    out = np.array(np.broadcast_to(number, right.shape), np.float64)
    out[inside] = right[inside]
    return out


OUTPUT: Faults = {
    "bias-after-activation": Fault(
        "adds the bias to what the activation gives",
        lambda desc, inputs, right: right + inputs[_BIAS].astype("f8"),
        inputs=without_input(_BIAS),
        when=has(_BIAS, "FusedActivation"),
    ),
    "bias-on-padding": Fault(
        "adds the bias to the output's padding, too",
        lambda desc, inputs, right: _in_padding(desc, right, inputs[_BIAS]),
        when=lambda desc: has(_BIAS)(desc) and not has("FusedActivation")(desc),
    ),
    "OutputPadding/not-activated": Fault("does not activate padding", lambda desc, inputs, right: _in_padding(desc, right, 0)),
}


# Integers


def _without_product_of_points(right: Right, xp: Any, of: Any) -> Any:
    return right(xp, of) - prod(of.w.shape[2:]) * of.zero_point * of.filter_zero_point


INTEGERS: Faults = {
    **zero_points("Input", "Filter"),
    **_of_first_group("FilterZeroPointTensor"),
    **sums.of_integers(_SUMS, products),
    "padding-of-byte-0": _pad_with("subtracts the zero point from padding too", np.pad),
    "product-of-points-lost": Fault(
        "leaves out the product of both zero points, where they come off afterwards",
        stages={_SUMS: _without_product_of_points},
    ),
}


def _first_scale(desc: OperatorDesc, right: Inputs) -> Inputs:
    bias, scale = right[_BIAS], right["FilterScaleTensor"].reshape(-1).astype("f8")
    return {**right, _BIAS: (bias.reshape(-1) * (scale[:1] / scale)).reshape(bias.shape)}


QUANTIZED: Faults = {
    **_of_first_group("FilterScaleTensor"),
    **RESCALE,
    **REQUANTIZE,
    "bias-of-first-scale": Fault("reads the bias in units of the first filter's scale", inputs=_first_scale),
}

FAULTS: Table = {
    "CONVOLUTION CONVOLUTION_INTEGER QUANTIZED_LINEAR_CONVOLUTION": {**WINDOWS, **PADDING, **CHANNELS},
    "CONVOLUTION QUANTIZED_LINEAR_CONVOLUTION": BIAS,
    "CONVOLUTION_INTEGER QUANTIZED_LINEAR_CONVOLUTION": INTEGERS,
    "CONVOLUTION": {**CONVOLUTION, **OUTPUT, **sums.ACTIVATION},
    "CONVOLUTION_INTEGER": sums.exact(_SUMS),
    "QUANTIZED_LINEAR_CONVOLUTION": QUANTIZED,
}
