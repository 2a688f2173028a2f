"""Faults of normalization by numbers that are given: batch normalization, and VALUE_SCALE_2D."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from dmlcts.conformance.mutants.old.dense.normalization_parts import (
    DIVISORS,
    ELSEWHERE,
    Divisor,
    Tensor,
    first_place,
    fused,
    next_channel,
    number,
    root,
)
from dmlcts.conformance.mutants.old.elsewise import Inputs, computed_from
from dmlcts.conformance.mutants.old.fault import SINGLE, Fault, Faults
from dmlcts.conformance.mutants.old.mutant import Array
from dmlcts.spec.desc import OperatorDesc

BatchEnding = Callable[[OperatorDesc, Array, Array, Array, Array, Array], Array]
"""(desc, input, mean, divisor, scale, bias) -> the result."""


def _as_given(tensor: Array, x: Array) -> Array:
    return tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Batch normalization in steps, each of which may be another than the right one."""

    dtype: str = "f8"
    mean: Tensor = _as_given
    variance: Tensor = _as_given
    scale: Tensor = _as_given
    bias: Tensor = _as_given
    divisor: Divisor = root
    ending: BatchEnding = lambda desc, x, mean, divisor, scale, bias: fused(desc, scale * ((x - mean) / divisor) + bias)

    def __call__(self, desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        """The output."""
        x = inputs["InputTensor"].astype(self.dtype)
        mean, variance, scale, bias = (
            change(inputs[f"{name}Tensor"].astype(self.dtype), x)
            for name, change in (("Mean", self.mean), ("Variance", self.variance), ("Scale", self.scale), ("Bias", self.bias))
        )
        found: Array = self.ending(desc, x, mean, self.divisor(variance, number(desc, "Epsilon")), scale, bias)
        return found


def _own_mean(tensor: Array, x: Array) -> Array:
    """The mean of each channel of the input, as in training."""
    mean: Array = np.mean(x, axis=_not_channels(x), keepdims=True)
    return mean


def _own_variance(tensor: Array, x: Array) -> Array:
    variance: Array = np.var(x, axis=_not_channels(x), keepdims=True)
    return variance


def _not_channels(x: Array) -> tuple[int, ...]:
    return tuple(axis for axis in range(x.ndim) if axis != 1)


def _in_order(*names: str) -> Callable[[OperatorDesc, Inputs], Inputs]:
    """Mean, variance, scale and bias read from other tensors, in this order."""

    def changed(desc: OperatorDesc, inputs: Inputs) -> Inputs:
        right = ("MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor")
        return {"InputTensor": inputs["InputTensor"]} | {
            name: inputs[f"{other}Tensor"] for name, other in zip(right, names, strict=True)
        }

    return changed


def _half(value: Array) -> Array:
    return value.astype("f2").astype(value.dtype)


def _ended(ending: BatchEnding, dtype: str = "f8") -> Batch:
    return Batch(dtype=dtype, ending=ending)


_BATCH: Mapping[str, Fault] = {
    **{name: Fault(does, Batch(divisor=divisor), types) for name, (does, divisor, types) in DIVISORS.items()},
    **{
        f"{which}-{name}": Fault(f"takes {words} of {which}", Batch(**{which: change}))  # type: ignore[arg-type]
        for which in ("mean", "variance", "scale", "bias")
        for name, words, change in ELSEWHERE
    },
    **{
        f"{which}-of-first-place-where-spatial": Fault(
            f"takes the first place of each channel of {which} where Spatial is true",
            Batch(**{which: first_place}),  # type: ignore[arg-type]
            when=lambda desc: bool(desc.fields["Spatial"]),
        )
        for which in ("mean", "variance")
    },
    "mean-of-the-input": Fault("takes the input's own mean", Batch(mean=_own_mean)),
    "variance-of-the-input": Fault("takes the input's own variance", Batch(variance=_own_variance)),
    "mean-lost": Fault("does not subtract the mean", Batch(mean=lambda tensor, x: np.zeros_like(tensor))),
    "mean-added": Fault("adds the mean", Batch(mean=lambda tensor, x: -tensor)),
    "mean-not-divided": Fault(
        "subtracts the mean after it divided",
        _ended(lambda desc, x, mean, div, scale, bias: fused(desc, scale * (x / div - mean) + bias)),
    ),
    "mean-last": Fault(
        "subtracts the mean last", _ended(lambda desc, x, mean, d, scale, bias: fused(desc, scale * x / d + bias - mean))
    ),
    "variance-lost": Fault("does not divide", Batch(variance=lambda tensor, x: np.ones_like(tensor), divisor=lambda v, epsilon: v)),
    "scale-lost": Fault("does not scale", Batch(scale=lambda tensor, x: np.ones_like(tensor))),
    "scale-and-1": Fault("scales by 1 more", Batch(scale=lambda tensor, x: tensor + 1)),
    "scale-without-sign": Fault("scales by magnitudes", Batch(scale=lambda tensor, x: np.abs(tensor))),
    "scale-divides": Fault("divides by the scale", Batch(scale=lambda tensor, x: 1 / tensor)),
    "scale-twice": Fault("scales twice", Batch(scale=lambda tensor, x: tensor * tensor)),
    "bias-lost": Fault("adds no bias", Batch(bias=lambda tensor, x: np.zeros_like(tensor))),
    "bias-subtracted": Fault("subtracts the bias", Batch(bias=lambda tensor, x: -tensor)),
    "bias-scaled": Fault(
        "adds the bias before it scales",
        _ended(lambda desc, x, mean, div, scale, bias: fused(desc, scale * ((x - mean) / div + bias))),
    ),
    "bias-divided": Fault(
        "divides the bias, too", _ended(lambda desc, x, mean, div, scale, bias: fused(desc, (scale * (x - mean) + bias) / div))
    ),
    "tensors-as-in-onnx": Fault(
        "takes the tensors for scale, bias, mean and variance", computed_from(_in_order("Scale", "Bias", "Mean", "Variance"))
    ),
    "tensors-in-reverse": Fault(
        "takes the tensors for bias, scale, variance and mean", computed_from(_in_order("Bias", "Scale", "Variance", "Mean"))
    ),
    "scale-and-mean-exchanged": Fault("exchanges mean and scale", computed_from(_in_order("Scale", "Variance", "Mean", "Bias"))),
    "bias-and-mean-exchanged": Fault("exchanges mean and bias", computed_from(_in_order("Bias", "Variance", "Scale", "Mean"))),
    "factor-in-float16": Fault(
        "keeps scale over deviation in FLOAT16",
        _ended(lambda desc, x, mean, div, scale, bias: fused(desc, (x - mean) * _half(scale / div) + bias)),
    ),
    "offset-in-float16": Fault(
        "keeps bias less mean in FLOAT16",
        _ended(lambda desc, x, mean, div, scale, bias: fused(desc, x * (scale / div) + _half(bias - mean * (scale / div)))),
    ),
    "difference-in-float16": Fault(
        "keeps the difference from the mean in FLOAT16",
        _ended(lambda desc, x, mean, div, scale, bias: fused(desc, scale * (_half(x - mean) / div) + bias)),
        SINGLE,
    ),
    "activation-before-bias": Fault(
        "activates before it adds the bias",
        _ended(lambda desc, x, mean, div, scale, bias: fused(desc, scale * ((x - mean) / div)) + bias),
    ),
    "activation-before-scale": Fault(
        "activates before it scales", _ended(lambda desc, x, mean, div, scale, bias: scale * fused(desc, (x - mean) / div) + bias)
    ),
    "activation-of-input": Fault(
        "activates the input", _ended(lambda desc, x, mean, div, scale, bias: scale * ((fused(desc, x) - mean) / div) + bias)
    ),
    "activation-twice": Fault(
        "activates twice",
        _ended(lambda desc, x, mean, div, scale, bias: fused(desc, fused(desc, scale * ((x - mean) / div) + bias))),
    ),
    "activation-of-float16": Fault(
        "keeps in FLOAT16 what it activates",
        _ended(lambda desc, x, mean, div, scale, bias: fused(desc, _half(scale * ((x - mean) / div) + bias))),
        SINGLE,
    ),
    "in-float32": Fault(
        "computes in FLOAT32 from one step to the next", Batch(dtype="f4"), equivalent="no step needs more than FLOAT32"
    ),
    "folded": Fault(
        "computes x * a + (bias - mean * a) in FLOAT32",
        _ended(lambda desc, x, mean, div, scale, bias: fused(desc, x * (scale / div) + (bias - mean * (scale / div))), "f4"),
        equivalent="so does DirectML.dll, and the documentation leaves the order open",
    ),
}


@dataclass(frozen=True, slots=True)
class ValueScale:
    """VALUE_SCALE_2D in FLOAT64, or less: what is made of the biases, and of input, scale and biases."""

    bias: Tensor = _as_given
    ending: Callable[[Array, Array, Array], Array] = lambda x, scale, bias: x * scale + bias
    dtype: str = "f8"

    def __call__(self, desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Array:
        """The output."""
        x = inputs["InputTensor"].astype(self.dtype)
        biases = desc.fields["Bias"]
        assert isinstance(biases, tuple)
        bias = self.bias(np.asarray(biases, "f4").astype(self.dtype).reshape(1, -1, 1, 1), x)
        found: Array = self.ending(x, x.dtype.type(number(desc, "Scale")), bias)
        return found


def _along(axis: int) -> Tensor:
    """The biases one after another along another dimension, round and round."""

    def along(bias: Array, x: Array) -> Array:
        sizes = [1] * x.ndim
        sizes[axis] = x.shape[axis]
        return bias.reshape(-1)[np.arange(x.shape[axis]) % bias.size].reshape(sizes)

    return along


def _flat(bias: Array, x: Array) -> Array:
    return bias.reshape(-1)[np.arange(x.size) % bias.size].reshape(x.shape)


_VALUE_SCALE: Mapping[str, Fault] = {
    "bias-of-next-channel": Fault("adds the next channel's bias", ValueScale(next_channel)),
    "bias-mirrored": Fault("adds the last channel's bias to the first, and so on", ValueScale(lambda bias, x: bias[:, ::-1])),
    "bias-of-first-channel": Fault("adds the first channel's bias to all", ValueScale(lambda bias, x: bias[:, :1])),
    "bias-of-last-channel": Fault("adds the last channel's bias to all", ValueScale(lambda bias, x: bias[:, -1:])),
    "bias-of-mean": Fault("adds the mean of the biases", ValueScale(lambda bias, x: np.mean(bias, keepdims=True))),
    "bias-by-batch": Fault("adds one bias to each batch", ValueScale(_along(0))),
    "bias-by-row": Fault("adds one bias to each row", ValueScale(_along(2))),
    "bias-by-column": Fault("adds one bias to each column", ValueScale(_along(3))),
    "bias-by-element": Fault("adds one bias after another, as where channels come last", ValueScale(_flat)),
    "bias-of-first-batch": Fault(
        "adds the biases to the first batch alone",
        ValueScale(lambda bias, x: np.where(np.arange(len(x)).reshape(-1, 1, 1, 1) == 0, bias, 0)),
    ),
    "bias-lost": Fault("adds no bias", ValueScale(lambda bias, x: np.zeros_like(bias))),
    "bias-of-one-lost": Fault("adds no bias to a single channel", ValueScale(lambda bias, x: bias * (bias.size > 1))),
    "bias-truncated": Fault("cuts biases to integers", ValueScale(lambda bias, x: np.trunc(bias))),
    "bias-without-sign": Fault("adds the magnitudes of the biases", ValueScale(lambda bias, x: np.abs(bias))),
    "bias-in-float16": Fault("takes biases for FLOAT16", ValueScale(lambda bias, x: _half(bias))),
    "scale-in-float16": Fault("takes Scale for FLOAT16", ValueScale(ending=lambda x, s, bias: x * _half(s) + bias)),
    "product-in-float16": Fault("rounds the product to FLOAT16", ValueScale(ending=lambda x, scale, bias: _half(x * scale) + bias)),
    "bias-scaled": Fault("adds the bias before it scales", ValueScale(ending=lambda x, scale, bias: (x + bias) * scale)),
    "bias-subtracted": Fault("subtracts the bias", ValueScale(ending=lambda x, scale, bias: x * scale - bias)),
    "bias-subtracted-first": Fault("takes the biases for means", ValueScale(ending=lambda x, scale, bias: (x - bias) * scale)),
    "scale-lost": Fault("does not scale", ValueScale(ending=lambda x, scale, bias: x + bias)),
    "scale-divides": Fault("divides by Scale", ValueScale(ending=lambda x, scale, bias: x / scale + bias)),
    "scale-twice": Fault("scales twice", ValueScale(ending=lambda x, scale, bias: x * scale * scale + bias)),
    "scale-of-first-channel": Fault(
        "scales the first channel alone",
        ValueScale(ending=lambda x, scale, bias: x * np.where(np.arange(x.shape[1]).reshape(1, -1, 1, 1) == 0, scale, 1) + bias),
    ),
    "at-least-0": Fault("gives nothing below 0", ValueScale(ending=lambda x, scale, bias: np.maximum(x * scale + bias, 0))),
    "at-most-255": Fault("gives nothing beyond 255", ValueScale(ending=lambda x, scale, bias: np.minimum(x * scale + bias, 255))),
    "rounded": Fault("rounds to integers", ValueScale(ending=lambda x, scale, bias: np.rint(x * scale + bias))),
    "in-float32": Fault("computes in FLOAT32", ValueScale(dtype="f4"), equivalent="no step needs more than FLOAT32"),
}

GIVEN: Faults = {"BATCH_NORMALIZATION": _BATCH, "VALUE_SCALE_2D": _VALUE_SCALE}
"""What implementations of these operators get wrong."""
