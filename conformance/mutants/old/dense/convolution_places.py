"""Faults of any convolution: strides, dilations and padding misapplied, groups, channels and filters mistaken for others, products left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.convolution_terms import (
    Added,
    Change,
    Layer,
    added,
    multiplied,
    of_layer,
    of_sums,
    placed,
    right_finish,
)
from dmlcts.conformance.mutants.old.elsewise import computed_of
from dmlcts.conformance.mutants.old.fault import Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc

Numbers = tuple[int, ...]


def is_forward(desc: OperatorDesc) -> bool:
    """Whether windows lie on the input; else on one with zeros between its elements."""
    return desc.fields.get("Direction", "FORWARD") == "FORWARD"


# Attributes


def _with(name: str, change: Callable[[Numbers], Numbers]) -> Computed:
    return computed_of(lambda desc: desc.with_fields(**{name: change(_numbers(desc, name))}))


def _numbers(desc: OperatorDesc, name: str) -> Numbers:
    found: Any = desc.fields[name]
    return tuple(found)


_LISTS: Mapping[str, tuple[str, Callable[[Numbers], Numbers]]] = {
    "reversed": ("from the last dimension on", lambda numbers: numbers[::-1]),
    "of-first": ("with its first number for all", lambda numbers: numbers[:1] * len(numbers)),
    "of-last": ("with its last number for all", lambda numbers: numbers[-1:] * len(numbers)),
    "at-most-2": ("with no number beyond 2", lambda numbers: tuple(min(number, 2) for number in numbers)),
    "last-unused": ("for all dimensions but the last", lambda numbers: (*numbers[:-1], 1)),
    "first-unused": ("for all dimensions but the first", lambda numbers: (1, *numbers[1:])),
}

_OWN_LISTS: Mapping[str, tuple[str, Callable[[Numbers], Numbers]]] = {
    "Strides-lost": ("takes every stride for 1", lambda numbers: (1,) * len(numbers)),
    "Dilations-lost": ("takes every dilation for 1", lambda numbers: (1,) * len(numbers)),
    "Dilations-one-more": ("takes a dilation for what is left out", lambda numbers: tuple(number + 1 for number in numbers)),
    "StartPadding-lost": ("pads at the end alone", lambda numbers: (0,) * len(numbers)),
    "StartPadding-one-less": ("begins one element later where it pads", lambda numbers: tuple(max(n - 1, 0) for n in numbers)),
    "StartPadding-at-most-1": ("pads one element at most", lambda numbers: tuple(min(number, 1) for number in numbers)),
    "StartPadding-negative": ("cuts off what it should pad", lambda numbers: tuple(-number for number in numbers)),
}


def _start(start: Callable[[int, Mapping[str, int]], int]) -> Computed:
    """Another StartPadding, of itself and of the dimension's stride, dilation, padding behind, and elements of input and window."""

    def change(desc: OperatorDesc) -> OperatorDesc:
        names = ("Strides", "Dilations", "EndPadding")
        sizes = {"Input": desc.tensor("InputTensor").sizes[2:], "Window": desc.tensor("FilterTensor").sizes[2:]}
        lists = {name: _numbers(desc, name) for name in names} | sizes
        found = [
            start(padding, {name: numbers[axis] for name, numbers in lists.items()})
            for axis, padding in enumerate(_numbers(desc, "StartPadding"))
        ]
        return desc.with_fields(StartPadding=tuple(found))

    return computed_of(change)


_STARTS: Mapping[str, tuple[str, Callable[[int, Mapping[str, int]], int]]] = {
    "StartPadding-mean": ("shares the padding equally between both ends", lambda start, of: (start + of["EndPadding"]) // 2),
    "StartPadding-below-window": (
        "pads no more than the window reaches over",
        lambda start, of: min(start, (of["Window"] - 1) * of["Dilations"]),
    ),
    "StartPadding-by-stride": ("counts the padding in strides", lambda start, of: start * of["Strides"]),
    "StartPadding-by-dilation": ("counts the padding in dilations", lambda start, of: start * of["Dilations"]),
    "window-centred": (
        "lays the middle of the window where its beginning belongs",
        lambda start, of: start + of["Dilations"] * (of["Window"] // 2),
    ),
}

ATTRIBUTES: Mapping[str, Fault] = {
    **{
        f"{field}-{name}": Fault(f"takes {field} {does}", _with(field, change))
        for field in ("Strides", "Dilations")
        for name, (does, change) in _LISTS.items()
    },
    **{
        f"StartPadding-{name}": Fault(f"takes StartPadding {does}", _with("StartPadding", _LISTS[name][1]))
        for name, (does, _) in _LISTS.items()
        if name in ("reversed", "of-first", "of-last")
    },
    **{name: Fault(does, _with(name.partition("-")[0], change)) for name, (does, change) in _OWN_LISTS.items()},
    **{name: Fault(does, _start(change)) for name, (does, change) in _STARTS.items()},
}


# Padding


def _reflected(at: Array, size: int) -> Array:
    period = max(2 * (size - 1), 1)
    folded = at % period
    found: Array = np.minimum(folded, period - folded) % size
    return found


def _next_row(layer: Layer) -> Array:
    """The sums of windows that go on in memory where a row, or an image, ends."""
    strides = [int(np.prod(layer.x.shape[3 + axis + 1 :])) for axis in range(len(layer.beyond))]
    seen = replace(layer, places=tuple(np.zeros_like(place) for place in layer.places)).seen()
    flat = layer.x.reshape(*layer.x.shape[:3], -1)
    count = len(strides)
    at = sum(
        np.expand_dims(place * stride, [i for i in range(2 * count) if i // 2 != axis])
        for axis, (place, stride) in enumerate(zip(layer.beyond, strides, strict=True))
    )
    found = np.where((at >= 0) & (at < flat.shape[-1]), flat[..., np.clip(at, 0, flat.shape[-1] - 1)], 0.0)
    outputs = [3 + 2 * axis for axis in range(count)]
    found = found.transpose(0, 1, *outputs, 2, *(axis + 1 for axis in outputs)).reshape(seen.shape)
    return multiplied(layer.weights(), found)


def _whole_windows(layer: Layer) -> Array:
    """Sums of 0 where a window reaches over an end."""
    inside: Array = np.ones(())
    for place in layer.places:
        inside = np.multiply.outer(inside, np.all(place >= 0, axis=1))
    return added(layer) * inside.reshape(-1)


def _within_the_end(layer: Layer) -> Array:
    """Sums of 0 where a window reaches over the end, as without EndPadding."""
    inside: Array = np.ones(())
    for at, size in zip(layer.beyond, layer.x.shape[3:], strict=True):
        inside = np.multiply.outer(inside, np.all(at < size, axis=1))
    return added(layer) * inside.reshape(-1)


def _mean_of_window(layer: Layer) -> Array:
    """Sums divided by the share of the window that lies on the input, as averages that leave padding out."""
    inside: Array = np.ones(())
    for place in layer.places:
        inside = np.multiply.outer(inside, np.mean(place >= 0, axis=1))
    share = inside.reshape(-1)
    return added(layer) / np.where(share > 0, share, 1)


_OUTSIDE: Mapping[str, tuple[str, Change]] = {
    "padding-of-edge": ("pads with the outermost element", lambda layer: placed(layer, lambda at, size: np.clip(at, 0, size - 1))),
    "padding-reflected": ("pads with the input reflected", lambda layer: placed(layer, _reflected)),
    "padding-around": ("goes on at the other end of the input", lambda layer: placed(layer, lambda at, size: at % size)),
    "padding-of-one": ("pads with 1", lambda layer: replace(layer, outside=1.0)),
}

PADDING: Mapping[str, Fault] = {
    **{name: Fault(does, of_layer(change), when=is_forward) for name, (does, change) in _OUTSIDE.items()},
    "padding-of-next-row": Fault("reads on in memory beyond the end of a row", of_sums(right_finish, _next_row), when=is_forward),
    "padded-windows-lost": Fault("gives 0 where a window reaches over an end", of_sums(right_finish, _whole_windows)),
    "EndPadding-lost": Fault(
        "gives 0 where a window reaches over the end", of_sums(right_finish, _within_the_end), when=is_forward
    ),
    "padding-not-counted": Fault("divides by the share of the window that is no padding", of_sums(right_finish, _mean_of_window)),
}


# Groups, channels, images, elements of the window


def _groups(function: Callable[[Array], Array]) -> Change:
    """Other channels of the input for each group, of (N, G, C, *S)."""
    return lambda layer: replace(layer, x=np.ascontiguousarray(np.broadcast_to(function(layer.x), layer.x.shape)))


def _filters(function: Callable[[Array], Array]) -> Change:
    """Another filter, of (G, M, C, *K)."""
    return lambda layer: replace(layer, w=np.ascontiguousarray(np.broadcast_to(function(layer.w), layer.w.shape)))


def _interleaved(x: Array) -> Array:
    """The channels of a group apart by the number of groups."""
    return x.reshape(x.shape[0], x.shape[2], x.shape[1], *x.shape[3:]).swapaxes(1, 2)


def _channels_last(array: Array) -> Array:
    """What lies in memory, taken to have the third dimension last."""
    return np.moveaxis(array.reshape(*array.shape[:2], *array.shape[3:], array.shape[2]), -1, 2)


def _exchanged(w: Array) -> Array:
    """What lies in memory, taken to have input channels before output channels."""
    return w.reshape(w.shape[0], w.shape[2], w.shape[1], *w.shape[3:]).swapaxes(1, 2)


def _window_transposed(w: Array) -> Array:
    """What lies in memory, taken to have the window's last two dimensions exchanged."""
    if w.ndim < 5:
        return w
    return w.reshape(*w.shape[:-2], w.shape[-1], w.shape[-2]).swapaxes(-1, -2)


def _kept(which: Callable[[Array], Any], axis: int) -> Change:
    """The filter where its channels (axis 2), or the window along a dimension, are among those that count."""

    def change(layer: Layer) -> Layer:
        axes = (axis,) if axis == 2 else range(3, layer.w.ndim)
        w = layer.w
        for each in axes:
            kept = np.asarray(which(np.arange(w.shape[each])))
            w = w * kept.reshape(-1, *[1] * (w.ndim - each - 1))
        return replace(layer, w=w)

    return change


def _taps(which: Callable[[Array], Any]) -> Added:
    """The products that count of a sum, by their place in it."""

    def add(layer: Layer) -> Array:
        weights = layer.weights()
        kept = np.asarray(which(np.arange(weights.shape[-1])))
        return multiplied(weights * kept, layer.seen())

    return add


def _sums(function: Callable[[Array], Array]) -> Added:
    """Other sums, of the right ones (N, G, M, T)."""
    return lambda layer: np.ascontiguousarray(function(added(layer)))


_LAYERS: Mapping[str, tuple[str, Change]] = {
    "first-group-read": ("gives every group the channels of the first", _groups(lambda x: x[:, :1])),
    "last-group-read": ("gives every group the last channels", _groups(lambda x: x[:, -1:])),
    "next-group-read": ("gives each group the channels of the next", _groups(lambda x: np.roll(x, -1, axis=1))),
    "channels-by-groups": ("takes the channels of a group to be apart by the number of groups", _groups(_interleaved)),
    "two-groups-at-most": (
        "gives groups beyond the second the channels of that",
        _groups(lambda x: x[:, np.arange(x.shape[1]).clip(0, 1)]),
    ),
    "input-channels-last": ("reads the input as if its channels came last", _groups(_channels_last)),
    "first-image-for-all": ("reads the first image for each", _groups(lambda x: x[:1])),
    "next-image": ("reads the next image", _groups(lambda x: np.roll(x, -1, axis=0))),
    "channels-reversed": ("reads the channels of a group from the last on", _groups(lambda x: x[:, :, ::-1])),
    "first-channel-for-all": ("reads the first channel of a group for each", _groups(lambda x: x[:, :, :1])),
    "first-group-filters": ("takes the first group's filters for each", _filters(lambda w: w[:1])),
    "next-group-filters": ("takes the next group's filters", _filters(lambda w: np.roll(w, -1, axis=0))),
    "first-filter-for-all": ("takes a group's first filter for each", _filters(lambda w: w[:, :1])),
    "next-filter": ("takes the filter of the next output channel", _filters(lambda w: np.roll(w, -1, axis=1))),
    "filter-channels-exchanged": ("reads the filter with its channels of input and output exchanged", _filters(_exchanged)),
    "filter-channels-last": ("reads the filter as if its input channels came last", _filters(_channels_last)),
    "window-transposed": ("reads the window column by column", _filters(_window_transposed)),
    "channels-added-up": ("applies one filter to the sum of channels", _filters(lambda w: w[:, :, :1])),
    "first-channel-alone": ("leaves out all channels but the first", _kept(lambda i: i == 0, 2)),
    "last-channel-left-out": ("leaves out the last channel", _kept(lambda i: (i < i.size - 1) | (i.size == 1), 2)),
    "rest-of-4-channels-left-out": (
        "leaves out the channels that are left of a division by 4",
        _kept(lambda i: (i < i.size // 4 * 4) | (i.size < 4), 2),
    ),
    "16-channels-at-most": ("leaves out channels beyond the 16th", _kept(lambda i: i < 16, 2)),
    "32-channels-at-most": ("leaves out channels beyond the 32nd", _kept(lambda i: i < 32, 2)),
    "window-of-3-at-most": ("leaves out what a window has beyond 3 in a dimension", _kept(lambda i: i < 3, 3)),
    "window-of-5-at-most": ("leaves out what a window has beyond 5 in a dimension", _kept(lambda i: i < 5, 3)),
    "window-end-left-out": (
        "leaves out the last of a window in each dimension",
        _kept(lambda i: (i < i.size - 1) | (i.size == 1), 3),
    ),
    "window-begin-left-out": ("leaves out the first of a window in each dimension", _kept(lambda i: (i > 0) | (i.size == 1), 3)),
}

_SUMS: Mapping[str, tuple[str, Added]] = {
    "outputs-by-groups": (
        "takes the output channels of a group to be apart by the number of groups",
        _sums(lambda sums: sums.swapaxes(1, 2)),
    ),
    "last-group-lost": (
        "gives 0 for the last of several groups",
        _sums(lambda s: s * (np.arange(s.shape[1]) < max(s.shape[1] - 1, 1))[:, None, None]),
    ),
    "last-product-left-out": ("leaves out the last product of a sum", _taps(lambda i: (i < i.size - 1) | (i.size == 1))),
    "rest-of-4-products-left-out": (
        "leaves out the products that are left of a division by 4",
        _taps(lambda i: (i < i.size // 4 * 4) | (i.size < 4)),
    ),
    "rest-of-16-products-left-out": (
        "leaves out the products that are left of a division by 16",
        _taps(lambda i: (i < i.size // 16 * 16) | (i.size < 16)),
    ),
    "256-products-at-most": ("leaves out products beyond the 256th", _taps(lambda i: i < 256)),
    "first-product-twice": ("adds the first product twice", _taps(lambda i: 1 + (i == 0))),
    "mean": ("divides a sum by the number of its products", lambda layer: added(layer) / layer.weights().shape[-1]),
    "subtracts": ("gives the negative of a sum", _sums(np.negative)),
}

TERMS: Mapping[str, Fault] = {
    **{name: Fault(does, of_layer(change)) for name, (does, change) in _LAYERS.items()},
    **{name: Fault(does, of_sums(right_finish, add)) for name, (does, add) in _SUMS.items()},
}


# Depth


def _first_slice(layer: Layer) -> Layer:
    """The first slice of a window that has a depth."""
    if layer.w.ndim < 6:
        return layer
    kept = np.arange(layer.w.shape[3]) == 0
    return replace(layer, w=layer.w * kept.reshape(-1, 1, 1))


def _without_depth(name: str, value: int) -> Computed:
    return _with(name, lambda numbers: (value, *numbers[1:]) if len(numbers) == _VOLUME else numbers)


_VOLUME = 3
"""Spatial dimensions of a volume: its depth is the first."""

DEPTH: Mapping[str, Fault] = {
    "first-slice-alone": Fault("takes the first slice alone of a window that has a depth", of_layer(_first_slice)),
    **{
        f"{name}-not-of-depth": Fault(f"takes no notice of {name} along the depth", _without_depth(name, value))
        for name, value in (("Strides", 1), ("Dilations", 1), ("StartPadding", 0))
    },
}
