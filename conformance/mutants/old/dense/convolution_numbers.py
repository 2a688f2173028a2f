"""Faults of CONVOLUTION alone: direction and mode, bias, padding of the output, activation, and the precision of sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.convolution_places import is_forward
from dmlcts.conformance.mutants.old.dense.convolution_terms import (
    Added,
    Inputs,
    Layer,
    activated,
    added,
    biased,
    of_inputs,
    of_layer,
    of_sums,
    one_by_one,
    padded,
    real,
)
from dmlcts.conformance.mutants.old.elsewise import computed_of, with_attributes
from dmlcts.conformance.mutants.old.fault import FLOATS, HALF, SINGLE, Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import MEASURED

Bias = Callable[[Array, tuple[int, ...], OperatorDesc], Array]
"""(the bias of each channel, the output's sizes, operator desc) -> what is added, which broadcasts to the output's sizes."""


def _is_backward(desc: OperatorDesc) -> bool:
    return not is_forward(desc)


def _has_bias(desc: OperatorDesc) -> bool:
    return desc.fields["BiasTensor"] is not None


def _has_activation(desc: OperatorDesc) -> bool:
    return desc.fields["FusedActivation"] is not None


def _is_padded(desc: OperatorDesc) -> bool:
    padding: Any = desc.fields["OutputPadding"]
    return any(padding)


def _fits_reversed(desc: OperatorDesc) -> bool:
    padding: Any = desc.fields["OutputPadding"]
    sizes = desc.tensor("OutputTensor").sizes[2:]
    return all(other < size for other, size in zip(reversed(padding), sizes, strict=True))


# Direction and mode


def _flipped(axes: Callable[[int], tuple[int, ...]]) -> Computed:
    """The filter reversed along these dimensions of so many, and no others, where the mode asks for a reversed one."""

    def change(desc: OperatorDesc, inputs: Inputs) -> Inputs:
        w = inputs["FilterTensor"]
        if desc.fields["Mode"] != "CONVOLUTION":
            return inputs
        again = set(range(2, w.ndim)) ^ set(axes(w.ndim))  # the layer reverses what is right: what should stay is reversed twice
        return {**inputs, "FilterTensor": np.flip(w, tuple(sorted(again)))}

    return lambda desc, inputs, right: of_sums(biased)(desc, change(desc, inputs), right)


def _other_mode(when: Callable[[OperatorDesc], bool]) -> Computed:
    other = {"CONVOLUTION": "CROSS_CORRELATION", "CROSS_CORRELATION": "CONVOLUTION"}
    return computed_of(lambda desc: desc.with_fields(Mode=other[str(desc.fields["Mode"])]) if when(desc) else desc)


def _last_written(layer: Layer) -> Array:
    """Each place of a transposed convolution has what the last element of the window wrote there, and not the sum."""
    window = int(np.prod(layer.w.shape[3:]))
    weights = layer.weights().reshape(*layer.w.shape[:3], window)
    seen = layer.seen().reshape(*layer.x.shape[:2], -1, layer.x.shape[2], window)
    inside: Array = np.ones(())
    for place in layer.places:
        inside = np.multiply.outer(inside, place >= 0)
    count = len(layer.places)
    inside = inside.transpose(*range(0, 2 * count, 2), *range(1, 2 * count, 2)).reshape(-1, window).astype(bool)
    total = np.zeros((*seen.shape[:2], weights.shape[1], seen.shape[2]))
    for tap in range(window):
        part = np.einsum("gmc,ngtc->ngmt", weights[..., tap], seen[..., tap])
        total = np.where(inside[:, tap], part, total)
    return total


def _averaged(layer: Layer) -> Array:
    """Sums divided by how many elements of the window meet in a place."""
    meeting: Array = np.ones(())
    for place in layer.places:
        meeting = np.multiply.outer(meeting, np.sum(place >= 0, axis=1))
    return added(layer) / np.maximum(meeting.reshape(-1), 1)


def _misread_backward(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    """The filter of BACKWARD read with output channels first, as FORWARD has them."""

    def change(layer: Layer) -> Layer:
        w = layer.w.swapaxes(1, 2)  # as it lies in memory: G, C, M
        return replace(layer, w=w.reshape(w.shape[0], w.shape[2], w.shape[1], *w.shape[3:]))

    return of_layer(change, finish=biased)(desc, inputs, right)


def _zeros_first(desc: OperatorDesc) -> OperatorDesc:
    """The zeros of strides before each element of the input, and not behind."""
    start: Any = desc.fields["StartPadding"]
    strides: Any = desc.fields["Strides"]
    return desc.with_fields(StartPadding=tuple(a - (s - 1) for a, s in zip(start, strides, strict=True)))


_DIRECTION: Mapping[str, Fault] = {
    "reverses-first-alone": Fault("reverses the filter along the first spatial dimension alone", _flipped(lambda n: (2,))),
    "reverses-last-alone": Fault("reverses the filter along the last dimension alone", _flipped(lambda n: (n - 1,))),
    "reverses-x-and-y": Fault(
        "reverses no depth of the filter", _flipped(lambda n: (n - 2, n - 1) if n > 3 else (2,)), basis=MEASURED
    ),
    "reverses-channels": Fault("reverses the filter's channels, too", _flipped(lambda n: tuple(range(1, n)))),
    "reverses-outputs": Fault("reverses the filter along every dimension", _flipped(lambda n: tuple(range(n)))),
    "modes-exchanged": Fault("takes each mode for the other", _other_mode(lambda desc: True)),
    "modes-exchanged-backward": Fault("takes each mode for the other in BACKWARD", _other_mode(_is_backward), when=_is_backward),
    "modes-exchanged-forward": Fault("takes each mode for the other in FORWARD", _other_mode(is_forward), when=is_forward),
    "backward-last-written": Fault(
        "writes over what other elements of the input gave", of_sums(biased, _last_written), when=_is_backward
    ),
    "backward-averaged": Fault("divides by how many products meet", of_sums(biased, _averaged), when=_is_backward),
    "backward-filter-misread": Fault("reads the filter of BACKWARD as that of FORWARD", _misread_backward, when=_is_backward),
    "backward-zeros-first": Fault("puts the zeros of strides before each element", computed_of(_zeros_first), when=_is_backward),
    "backward-strides-lost": Fault(
        "takes no notice of strides in BACKWARD",
        computed_of(lambda desc: desc.with_fields(Strides=(1,) * len(desc.tensor("InputTensor").sizes[2:]))),
        when=_is_backward,
    ),
}


# Bias, padding of the output, activation


def _with_bias(bias: Bias) -> Computed:
    def finish(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Array:
        given = real(inputs, "BiasTensor").reshape(-1)
        return activated(desc, padded(sums + bias(given, sums.shape, desc), right.shape))

    return of_sums(finish)


def _channels(values: Array, sizes: tuple[int, ...]) -> Array:
    return values.reshape(-1, *[1] * (len(sizes) - 2))


def _groups(desc: OperatorDesc) -> int:
    count: Any = desc.fields["GroupCount"]
    return int(count)


_BIASES: Mapping[str, tuple[str, Bias]] = {
    "bias-lost": ("adds no bias", lambda bias, sizes, desc: np.zeros(1)),
    "bias-subtracted": ("subtracts the bias", lambda bias, sizes, desc: -_channels(bias, sizes)),
    "bias-twice": ("adds the bias twice", lambda bias, sizes, desc: 2 * _channels(bias, sizes)),
    "bias-of-first": ("adds the first channel's bias to each", lambda bias, sizes, desc: bias[:1]),
    "bias-of-next": ("adds the next channel's bias", lambda bias, sizes, desc: _channels(np.roll(bias, -1), sizes)),
    "bias-reversed": ("adds the biases from the last on", lambda bias, sizes, desc: _channels(bias[::-1], sizes)),
    "bias-of-first-group": (
        "adds the first group's biases in each",
        lambda bias, sizes, desc: _channels(np.resize(bias[: bias.size // _groups(desc)], bias.size), sizes),
    ),
    "bias-by-groups": (
        "takes the biases of a group to be apart by the number of groups",
        lambda bias, sizes, desc: _channels(bias.reshape(-1, _groups(desc)).T.reshape(-1), sizes),
    ),
    "bias-by-column": ("takes a bias for each column", lambda bias, sizes, desc: np.resize(bias, sizes[-1])),
    "bias-by-image": (
        "takes a bias for each image",
        lambda bias, sizes, desc: np.resize(bias, (sizes[0], *[1] * (len(sizes) - 1))),
    ),
    "bias-by-groups-count": ("adds the bias once for each group", lambda bias, sizes, desc: _groups(desc) * _channels(bias, sizes)),
    "bias-by-channels": (
        "adds the bias once for each channel of a group",
        lambda bias, sizes, desc: _channels(bias, sizes) * (desc.tensor("InputTensor").sizes[1] // _groups(desc)),
    ),
    "bias-first-row": (
        "adds the bias to the first row alone",
        lambda bias, sizes, desc: _channels(bias, sizes) * (np.arange(sizes[2]) == 0).reshape(-1, *[1] * (len(sizes) - 3)),
    ),
    "bias-first-image": (
        "adds the bias to the first image alone",
        lambda bias, sizes, desc: _channels(bias, sizes) * (np.arange(sizes[0]) == 0).reshape(-1, *[1] * (len(sizes) - 1)),
    ),
}


def _biased_everywhere(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Array:
    return activated(desc, padded(sums, right.shape) + real(inputs, "BiasTensor"))


def _bias_last(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Array:
    return padded(activated(desc, padded(sums, right.shape)) + real(inputs, "BiasTensor"), right.shape)


def _at_front(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Array:
    return activated(desc, padded(sums + real(inputs, "BiasTensor"), right.shape, front=True))


def _not_activated(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Array:
    return padded(activated(desc, sums + real(inputs, "BiasTensor")), right.shape)


def _repeated(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Array:
    whole = [(0, size - n) for n, size in zip(sums.shape, right.shape, strict=True)]
    return activated(desc, np.pad(sums + real(inputs, "BiasTensor"), whole, mode="edge"))


def _twice(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Array:
    return activated(desc, biased(desc, inputs, sums, right))


def _magnitude(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Array:
    return activated(desc, padded(np.abs(sums + real(inputs, "BiasTensor")), right.shape))


_FINISHES: Mapping[str, Fault] = {
    **{name: Fault(does, _with_bias(bias), when=_has_bias) for name, (does, bias) in _BIASES.items()},
    "bias-multiplied": Fault(
        "multiplies by the bias",
        of_sums(lambda desc, inputs, sums, right: activated(desc, padded(sums * real(inputs, "BiasTensor"), right.shape))),
        when=_has_bias,
    ),
    "bias-after-activation": Fault(
        "adds the bias to what the activation gives",
        of_sums(_bias_last),
        when=lambda desc: _has_bias(desc) and _has_activation(desc),
    ),
    "bias-on-padding": Fault(
        "adds the bias to the output's padding, too",
        of_sums(_biased_everywhere),
        when=lambda desc: _has_bias(desc) and _is_padded(desc),
    ),
    "OutputPadding-first": Fault("puts the output's padding before the sums", of_sums(_at_front), when=_is_padded),
    "OutputPadding-summed": Fault(
        "computes sums where the output is padded",
        computed_of(lambda desc: desc.with_fields(OutputPadding=(0,) * len(desc.tensor("OutputTensor").sizes[2:]))),
        when=_is_padded,
    ),
    "OutputPadding-repeated": Fault("repeats the last sums where the output is padded", of_sums(_repeated), when=_is_padded),
    "OutputPadding-reversed": Fault(
        "takes OutputPadding from the last dimension on",
        computed_of(with_attributes(lambda fields: {**fields, "OutputPadding": tuple(reversed(fields["OutputPadding"]))})),
        when=_fits_reversed,
    ),
    "OutputPadding-not-activated": Fault(
        "leaves the output's padding 0 whatever the activation",
        of_sums(_not_activated),
        when=lambda desc: _is_padded(desc) and _has_activation(desc),
    ),
    "activation-twice": Fault("applies the activation twice", of_sums(_twice), when=_has_activation),
    "activation-of-magnitude": Fault("applies the activation to the magnitude", of_sums(_magnitude), when=_has_activation),
}


# Numbers


def _cut(digits: int) -> Callable[[Array], Array]:
    """FLOAT32 with so many digits behind the first."""

    def change(x: Array) -> Array:
        mask = np.uint32(0xFFFFFFFF << (23 - digits) & 0xFFFFFFFF)
        return (np.ascontiguousarray(x, np.float32).view(np.uint32) & mask).view(np.float32)

    return change


def _read(change: Callable[[Array], Array], *names: str) -> Computed:
    """These tensors changed when they are read."""
    return of_inputs(lambda inputs: {name: change(x) if name in names else x for name, x in inputs.items()})


def _half(x: Array) -> Array:
    return x.astype(np.float16)


def _in(dtype: str) -> Added:
    """Products and sums in a type, one after another."""
    return lambda layer: one_by_one(layer, lambda total, product: total + product, dtype=dtype)


def _rounded(layer: Layer) -> Array:
    return one_by_one(layer, lambda total, product: total + product.astype(np.float16))


def _noisy(layer: Layer) -> Array:
    """As by a Fourier transform: what is lost is of the size of an image's largest sum."""
    sums = added(layer)
    most = np.max(np.abs(sums), axis=-1, keepdims=True, initial=0, where=np.isfinite(sums))
    return np.where(np.isfinite(sums), sums + most * 2.0**-18, sums)


def _nan_passed_over(layer: Layer) -> Array:
    return one_by_one(layer, lambda total, product: total + np.where(np.isnan(product), 0, product))


def _zeros_skipped(layer: Layer) -> Array:
    """Products that have a factor of 0 left out, so that 0 times infinity adds nothing."""
    seen, weights = layer.seen(), layer.weights()
    total: Array = np.zeros((*seen.shape[:2], weights.shape[1], seen.shape[2]))
    for term in range(weights.shape[-1]):
        w, x = weights[None, :, :, None, term], seen[:, :, None, :, term]
        total = total + np.where((w == 0) | (x == 0), 0, w * x)
    return total


_INPUT, _FILTER, _BIAS = "InputTensor", "FilterTensor", "BiasTensor"

_NUMBERS: Mapping[str, Fault] = {
    "sums-in-float16": Fault("adds up in FLOAT16", of_sums(biased, _in("f2")), SINGLE),
    "sums-of-float16-in-float16": Fault("adds up FLOAT16 in FLOAT16", of_sums(biased, _in("f2")), HALF),
    "products-in-float16": Fault("multiplies in FLOAT16", of_sums(biased, _rounded), SINGLE),
    "10-digits": Fault("reads FLOAT32 with 10 digits", _read(_cut(10), _INPUT, _FILTER), SINGLE),
    "7-digits": Fault("reads FLOAT32 with 7 digits", _read(_cut(7), _INPUT, _FILTER), SINGLE),
    "filter-in-float16": Fault("reads the filter as FLOAT16", _read(_half, _FILTER), SINGLE),
    "bias-in-float16": Fault("reads the bias as FLOAT16", _read(_half, _BIAS), SINGLE, when=_has_bias),
    "bias-of-integers": Fault("cuts the bias to an integer", _read(np.trunc, _BIAS), when=_has_bias),
    "filter-without-sign": Fault("loses the filter's sign", _read(np.abs, _FILTER)),
    "bias-without-sign": Fault("loses the bias's sign", _read(np.abs, _BIAS), when=_has_bias),
    "error-of-largest": Fault("is off by a part of an image's largest sum", of_sums(biased, _noisy), SINGLE),
    "largest-for-infinity": Fault(
        "gives the largest number where a sum overflows",
        lambda desc, inputs, right: np.clip(right, np.finfo(right.dtype).min, np.finfo(right.dtype).max),
        basis=MEASURED,
    ),
    "nan-passed-over": Fault("passes over products that are NaN", of_sums(biased, _nan_passed_over), FLOATS, basis=MEASURED),
    "zeros-skipped": Fault("leaves out products with a factor of 0", of_sums(biased, _zeros_skipped), FLOATS, basis=MEASURED),
}

NUMBERS: Mapping[str, Fault] = {**_DIRECTION, **_FINISHES, **_NUMBERS}
