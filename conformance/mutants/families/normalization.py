"""Faults of normalizations: of rows by mean and variance or by a norm, by numbers that are given, by the elements around."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.rows import ELEMENTS, Axes, along_wrong_axes
from dmlcts.conformance.mutants.fault import (
    PRECISIONS,
    SINGLE,
    Array,
    Fault,
    Faults,
    Inputs,
    Steps,
    Table,
    as_float16,
    as_tf32,
    computed,
    roundings,
    with_attributes,
)
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc


def _in_float32(*stages: str) -> Faults:
    """What is no fault: these stages of numbers in FLOAT32."""

    def instead(right: Callable[..., Any], *args: Any) -> Any:
        return right(*(x.astype("f4") if isinstance(x, np.ndarray) else x for x in args))

    return {"in-float32": Fault("computes in FLOAT32", stages={f"normalization.{stage}": instead for stage in stages})}


# Rows

_DIVISORS: Steps = {
    "normalization.inverse-root": {
        "epsilon-outside": ("adds Epsilon outside the root", lambda square, e: 1 / (np.sqrt(square) + e)),
        "epsilon-lost": ("ignores Epsilon", lambda square, e: 1 / np.sqrt(square)),
        "epsilon-squared": ("adds the square of Epsilon", lambda square, e: 1 / np.sqrt(square + e * e)),
        "epsilon-least-square": ("takes Epsilon for the least variance", lambda square, e: 1 / np.sqrt(np.maximum(square, e))),
        "epsilon-least-root": ("takes Epsilon for the least divisor", lambda square, e: 1 / np.maximum(np.sqrt(square), e)),
        "root-forgotten": ("takes no root", lambda square, e: 1 / (square + e)),
        "root-twice": ("takes the root twice", lambda square, e: (square + e) ** -0.25),
        "multiplied": ("multiplies by the root", lambda square, e: np.sqrt(square + e)),
        "not-divided": ("never divides", lambda square, e: np.ones_like(square)),
        "root-approximate": ("takes the root with 11 bits", lambda square, e: as_tf32(1 / np.sqrt(square + e)), SINGLE),
    },
}


def _sums(change: Callable[[Array, Axes], Array]) -> Mapping[str, Instead]:
    """Of the terms and the axes of rows, other sums; the axes stay as ones."""
    return {"normalization.sum": lambda right, xp, x, axes: (change(x, axes) if axes else x, right(xp, x, axes)[1])}


def _rows(function: Callable[[Array], Array]) -> Mapping[str, Instead]:
    """Sums by a function of rows that lie along the last dimension."""

    def sums(x: Array, axes: Axes) -> Array:
        rows = np.moveaxis(x, axes, range(-len(axes), 0))
        return np.expand_dims(function(rows.reshape(*rows.shape[: -len(axes)], -1)), axes)

    return _sums(sums)


def _after_sum(change: Callable[[Array], Array]) -> Mapping[str, Instead]:
    return _sums(lambda x, axes: change(x.sum(axis=axes, keepdims=True)))


_ROWS: Faults = {
    **{name: Fault(does, stages=_rows(lambda rows, cut=cut: cut(rows).sum(-1))) for name, (does, cut) in ELEMENTS.items()},  # type: ignore[misc]
    "nan-passed-over": Fault("passes over NaN in its sums", stages=_rows(lambda rows: np.nansum(rows, axis=-1))),
    **{f"sums-{name}": Fault(f"adds up in {of}", types=types, stages=_after_sum(f)) for name, (of, types, f) in PRECISIONS.items()},
    "row-next": Fault("takes the sums of the row before", stages=_after_sum(lambda sums: np.roll(sums, 1))),
    "row-first": Fault("takes the first row's sums for all", stages=_after_sum(lambda sums: np.full_like(sums, sums.flat[0]))),
    "batch-first": Fault("takes the first batch's sums for all", stages=_after_sum(lambda sums: sums[:1] + 0 * sums)),
}

_MEAN_VARIANCE: Steps = {
    "normalization.mean": {"mean-not-divided": ("takes the sum for the mean", lambda total, count: total)},
    "normalization.center": {
        "mean-not-subtracted": ("ignores the mean", lambda x, mean: x),
        "mean-added": ("adds the mean", lambda x, mean: x + mean),
        "mean-twice": ("subtracts the mean twice", lambda x, mean: x - 2 * mean),
    },
    "normalization.square": {
        "variance-about-zero": ("takes the mean square for the variance", lambda difference, x: x * x),
        "variance-of-magnitudes": ("takes the mean difference for the variance", lambda difference, x: np.abs(difference)),
        "variance-cancelled": (
            "subtracts the square of the mean from the mean square, in FLOAT32",
            lambda difference, x: x.astype("f4") ** 2 - (x - difference).astype("f4") ** 2,
            SINGLE,
        ),
    },
    "normalization.variance": {
        "variance-of-a-sample": ("divides the squares by one less", lambda total, count: total / max(count - 1, 1)),
        "variance-not-divided": ("takes the sum of the squares for the variance", lambda total, count: total),
    },
    "normalization.sum": {
        "count-of-last-axis": ("divides by the last axis's size", lambda x, axes: (x.sum(axes, keepdims=True), x.shape[axes[-1]])),
        "count-of-first-axis": ("divides by the first axis's size", lambda x, axes: (x.sum(axes, keepdims=True), x.shape[axes[0]])),
        "count-of-tensor": ("divides by the tensor's size", lambda x, axes: (x.sum(axes, keepdims=True), x.size)),
    },
}

_FIXED_AXES: Faults = {
    f"axes-{name}": Fault(does, stages={"normalization.axes": lambda right, desc, choose=choose: choose(right(desc))})
    for name, does, choose in (
        ("batches-together", "treats all batches of a channel as a row", lambda axes: (0, 2, 3)),
        ("channels-alone", "treats the channels of each place as a row", lambda axes: (1,)),
        ("channels-last", "treats the last dimension as the channels", lambda axes: (1, 2, 3) if 1 in axes else (1, 2)),
        ("whole-tensor", "treats the whole tensor as a row", lambda axes: (0, 1, 2, 3)),
        ("last-axis", "goes along the last dimension", lambda axes: (3,)),
    )
}

_NORM: Faults = {
    **computed({"normalization.magnitude": {"signs-kept-in-order-1": ("adds up the elements for order 1", lambda x: x)}}),
    "orders-exchanged": Fault("takes order 1 for 2, and 2 for 1", desc=with_attributes(lambda fields: {"P": 3 - fields["P"]})),
    "order-of-infinity": Fault("divides by the largest magnitude", stages=_sums(lambda x, axes: x.max(axes, keepdims=True))),
    "root-mean-square": Fault("divides by means for sums", stages=_sums(lambda x, axes: x.mean(axes, keepdims=True))),
    "gives-norm": Fault("gives the norm", lambda desc, inputs, right: inputs["InputTensor"] / right),
    "squared": Fault("gives shares of the square", lambda desc, inputs, right: right * np.abs(right)),
}


# Numbers that are given


def _given(does: str, value: Any = None, **changes: Callable[[SimpleNamespace], Any]) -> Fault:
    """Tensors read as functions of all, whose names are short here: ``scale`` for ScaleTensor. For descs that have them all."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        short = SimpleNamespace(**{name.removesuffix("Tensor").lower(): array for name, array in right.items()})
        return {**right, **{f"{name.capitalize()}Tensor": change(short) for name, change in changes.items()}}

    return Fault(does, value, inputs=inputs, when=lambda desc: all(desc.fields[f"{name}Tensor"] for name in ("Scale", "Bias")))


def _like_last(x: Array, tensor: Array) -> Array:
    """One number after another along the last dimension, round and round, as where channels come last."""
    return tensor.reshape(-1)[np.arange(x.shape[-1]) % tensor.size].reshape((1,) * (x.ndim - 1) + (-1,))


def _elsewhere(*names: str) -> Faults:
    """Numbers of a tensor read from other places."""
    places: Mapping[str, tuple[str, Callable[[Array, Array], Array]]] = {
        "of-next-channel": ("the next channel's", lambda x, tensor: np.roll(tensor, 1, min(1, tensor.ndim - 1))),
        "of-first-place": ("each channel's first", lambda x, tensor: tensor[:, :, *[slice(1)] * (tensor.ndim - 2)]),
        "by-last-dimension": ("one number after another along the last dimension", _like_last),
    }
    return {
        f"{name.lower()}-{label}": Fault(
            f"takes {words} of {name}Tensor",
            inputs=lambda desc, x, name=f"{name}Tensor", change=change: {**x, name: change(x["InputTensor"], x[name])},  # type: ignore[misc]
            when=lambda desc, name=f"{name}Tensor": desc.fields[name] is not None,  # type: ignore[misc]
        )
        for name in names
        for label, (words, change) in places.items()
    }


def _activated(rounding: Callable[[Array], Array]) -> Mapping[str, Instead]:
    return {"normalization.finish": lambda right, xp, desc, value, *more: right(xp, desc, rounding(value), *more)}


_AFFINE: Faults = {
    "scale-divides": _given("divides by the scale", scale=lambda t: 1 / t.scale),
    "scale-and-1": _given("scales by 1 more", scale=lambda t: t.scale + 1),
    "scale-twice": _given("scales twice", scale=lambda t: t.scale * t.scale),
    "scale-added": _given("adds the scale", scale=lambda t: np.ones_like(t.scale), bias=lambda t: t.bias + t.scale),
    "bias-scaled": _given("adds the bias before it scales", bias=lambda t: t.bias * t.scale),
    "activation-before-bias": _given(
        "activates before it adds the bias", lambda desc, x, found: found + x["BiasTensor"], bias=lambda t: 0 * t.bias
    ),
    "activation-first": _given(
        "activates before it scales",
        lambda desc, x, found: found * x["ScaleTensor"] + x["BiasTensor"],
        scale=lambda t: np.ones_like(t.scale),
        bias=lambda t: 0 * t.bias,
    ),
    "activation-twice": Fault(
        "activates twice",
        stages={
            "normalization.finish": lambda right, xp, desc, value, *more: right(
                xp, desc, right(xp, desc, value, *more).value, *more
            )
        },
    ),
    **{
        f"activation-{name}": Fault(f"activates what it keeps in {of}", types=t, stages=_activated(f))
        for name, (of, t, f) in PRECISIONS.items()
    },
    **_elsewhere("Scale", "Bias"),
}


def _in_order(does: str, *names: str) -> Fault:
    """Mean, variance, scale and bias read from other tensors, in this order."""
    return _given(
        does,
        **{
            name: lambda t, o=other: getattr(t, o) for name, other in zip(("mean", "variance", "scale", "bias"), names, strict=True)
        },
    )


def _moment(function: Callable[..., Array], x: Array) -> Any:
    """A moment of each channel of the input, as in training."""
    return function(x, axis=tuple(axis for axis in range(x.ndim) if axis != 1), keepdims=True)


def _folded(x: Array, mean: Array, factor: Array, bias: Array) -> Any:
    return x * factor + (bias - mean * factor)


_BATCH: Faults = {
    **_elsewhere("Mean", "Variance"),
    "mean-of-the-input": _given("takes the input's own mean", mean=lambda t: _moment(np.mean, t.input)),
    "variance-of-the-input": _given("takes the input's own variance", variance=lambda t: _moment(np.var, t.input)),
    "mean-not-divided": _given("subtracts the mean after it divided", mean=lambda t: t.mean * np.sqrt(t.variance)),
    "bias-divided": _given("divides the bias too", bias=lambda t: t.bias / np.sqrt(t.variance)),
    "tensors-as-in-onnx": _in_order("reads scale, bias, mean and variance", "scale", "bias", "mean", "variance"),
    "tensors-in-reverse": _in_order("reads bias, scale, variance and mean", "bias", "scale", "variance", "mean"),
    **computed(
        {
            "normalization.batch": {
                "mean-last": ("subtracts the mean last", lambda x, mean, factor, bias: x * factor + bias - mean),
                "factor-in-float16": (
                    "keeps the factor in FLOAT16",
                    lambda x, mean, factor, bias: (x - mean) * as_float16(factor) + bias,
                ),
                "offset-in-float16": (
                    "adds an offset in FLOAT16",
                    lambda x, mean, factor, bias: x * factor + as_float16(bias - mean * factor),
                ),
                "difference-in-float16": (
                    "keeps the difference from the mean in FLOAT16",
                    lambda x, mean, factor, bias: as_float16(x - mean) * factor + bias,
                    SINGLE,
                ),
                "folded": (
                    "computes x * a + (bias - mean * a) in FLOAT32",
                    lambda *args: _folded(*(each.astype("f4") for each in args)),
                ),
            }
        }
    ),
}


def _along(axis: int, x: Array, bias: Array) -> Array:
    """The biases one after another along another dimension, round and round."""
    return bias.reshape(-1)[np.arange(x.shape[axis]) % bias.size].reshape([-1 if at == axis else 1 for at in range(x.ndim)])


_VALUE_SCALE: Steps = {
    "normalization.value-scale": {
        "bias-by-batch": ("adds one bias to each batch", lambda x, scale, bias: x * scale + _along(0, x, bias)),
        "bias-by-row": ("adds one bias to each row", lambda x, scale, bias: x * scale + _along(2, x, bias)),
        "bias-by-column": ("adds one bias to each column", lambda x, scale, bias: x * scale + _along(3, x, bias)),
        "bias-of-first-batch": (
            "adds biases to the first batch",
            lambda x, scale, bias: x * scale + np.pad(bias, [(0, len(x) - 1)] + [(0, 0)] * 3),
        ),
        "bias-of-mean": ("adds the mean of the biases", lambda x, scale, bias: x * scale + bias.mean()),
        "bias-of-one-lost": ("adds no bias to a single channel", lambda x, scale, bias: x * scale + bias * (bias.size > 1)),
        "bias-truncated": ("cuts biases to integers", lambda x, scale, bias: x * scale + np.trunc(bias)),
        "bias-without-sign": ("adds the magnitudes of the biases", lambda x, scale, bias: x * scale + np.abs(bias)),
        "bias-in-float16": ("rounds biases to FLOAT16", lambda x, scale, bias: x * scale + as_float16(bias)),
        "product-in-float16": ("rounds the product to FLOAT16", lambda x, scale, bias: as_float16(x * scale) + bias),
        "bias-lost": ("adds no bias", lambda x, scale, bias: x * scale),
        "bias-scaled": ("adds the bias before it scales", lambda x, scale, bias: (x + bias) * scale),
        "bias-subtracted": ("subtracts the bias", lambda x, scale, bias: x * scale - bias),
        "bias-subtracted-first": ("treats the biases as means", lambda x, scale, bias: (x - bias) * scale),
        "scale-divides": ("divides by Scale", lambda x, scale, bias: x / scale + bias),
        "scale-twice": ("scales twice", lambda x, scale, bias: x * scale**2 + bias),
        "scale-of-first-channel": (
            "scales the first channel",
            lambda x, scale, bias: np.append(x[:, :1] * scale, x[:, 1:], 1) + bias,
        ),
        "at-least-0": ("gives nothing below 0", lambda x, scale, bias: np.maximum(x * scale + bias, 0)),
        "at-most-255": ("gives nothing beyond 255", lambda x, scale, bias: np.minimum(x * scale + bias, 255)),
        "rounded": ("rounds to integers", lambda x, scale, bias: np.rint(x * scale + bias)),
    },
}


# Elements around


def _edges(mode: Any) -> Mapping[str, Instead]:
    """Windows that find elements of the input beyond its ends, as ``numpy.pad`` has them."""

    def window(right: Callable[..., Array], xp: Any, x: Array, axis: int, size: int) -> Array:
        padded = np.pad(x, [(size, size) if at == axis else (0, 0) for at in range(x.ndim)], mode=mode)
        return np.take(right(xp, padded, axis, size), np.arange(size, size + x.shape[axis]), axis)

    return {"normalization.window": window}


def _around(crossed: Axes, beside: Axes) -> Callable[[OperatorDesc], Axes]:
    return lambda desc: crossed if desc.fields["CrossChannel"] else beside


_RESPONSE: Steps = {
    "normalization.reach": {  # before and behind
        "window-one-more-behind": ("takes one element more behind", lambda size: ((size - 1) // 2, size // 2 + 1)),
        "window-one-more-before": ("takes one element more before", lambda size: ((size + 1) // 2, size // 2)),
        "window-one-less-behind": ("takes one element less behind", lambda size: ((size - 1) // 2, max(size // 2 - 1, 0))),
        "window-one-less-before": ("takes one element less before", lambda size: (max((size - 3) // 2, 0), size // 2)),
        "window-even-the-other-way": ("lets even windows reach further back", lambda size: (size // 2, (size - 1) // 2)),
        "window-of-radius": ("treats LocalSize as the radius", lambda size: (size, size)),
        "window-behind": ("takes the elements behind alone", lambda size: (0, size - 1)),
        "window-before": ("takes the elements before alone", lambda size: (size - 1, 0)),
        "window-of-5-at-most": ("takes windows of 5 at most", lambda size: ((min(size, 5) - 1) // 2, min(size, 5) // 2)),
    },
    "normalization.neighborhood": {
        "rows-alone": ("goes along columns alone where channels are not crossed", _around((1,), (2,))),
        "columns-alone": ("goes along rows alone where channels are not crossed", _around((1,), (3,))),
        "places-too": ("goes along rows and columns too with CrossChannel", _around((1, 2, 3), (2, 3))),
        "channels-too": ("goes along channels too without CrossChannel", _around((1,), (1, 2, 3))),
        "channels-last": ("treats the last dimension as the channels", _around((3,), (1, 2))),
        "batches-for-channels": ("goes along batches with CrossChannel", _around((0,), (2, 3))),
    },
    "normalization.square": {
        "terms-not-squared": ("adds up magnitudes", lambda difference, x: np.abs(x)),
        "terms-signed": ("adds up the elements", lambda difference, x: x),
    },
    "normalization.weight": {
        "alpha-not-divided": ("does not divide Alpha", lambda alpha, size, total: alpha * total),
        "alpha-by-radius": ("divides Alpha by half of LocalSize", lambda alpha, size, total: alpha / max(size // 2, 1) * total),
        "alpha-by-square": ("divides Alpha by the square of LocalSize", lambda alpha, size, total: alpha / size**2 * total),
        "alpha-squared": ("squares Alpha", lambda alpha, size, total: alpha**2 / size * total),
        "root-of-squares": ("takes the root of the sum", lambda alpha, size, total: alpha * np.sqrt(total / size)),
    },
    "normalization.power": {
        "power-lost": ("takes no power", lambda base, beta: base),
        "power-as-factor": ("multiplies by Beta", lambda base, beta: base * beta),
        "power-as-three-quarters": ("takes the power of 3/4 always", lambda base, beta: base**0.75),
        "multiplied": ("multiplies by the power", lambda base, beta: base**-beta),
        "base-in-float16": ("keeps in FLOAT16 what it takes the power of", lambda base, beta: as_float16(base) ** beta),
        "by-logarithm": (
            "takes the power by exponential and logarithm in FLOAT32",
            lambda base, beta: np.exp2(np.float32(beta) * np.log2(base.astype("f4"))),
        ),
    },
}
_NEIGHBORS: Faults = {
    **computed(_RESPONSE),
    **{
        name: Fault(does, stages={"normalization.window": lambda right, xp, x, *of, n=n: right(xp, x, *of) + n * x})
        for name, does, n in (
            ("itself-left-out", "leaves the element itself out", -1),
            ("itself-twice", "counts the element itself twice", 1),
        )
    },
    "edges-repeated": Fault("repeats the elements at the ends beyond them", stages=_edges("edge")),
    "edges-wrapped": Fault("goes on at the other end", stages=_edges("wrap")),
    "alpha-by-present": Fault(
        "divides Alpha by the number of elements that are there",
        stages={"normalization.window": lambda right, xp, x, *of: right(xp, x, *of) / right(xp, np.ones_like(x), *of) * of[1]},
    ),
    "bias-weighted": Fault("weighs Bias by Alpha", desc=with_attributes(lambda fields: {"Bias": fields["Bias"] * fields["Alpha"]})),
    "bias-as-factor": Fault("multiplies by Bias", desc=with_attributes(lambda fields: {"Alpha": fields["Bias"] * fields["Alpha"]})),
    "inverted": Fault("gives the inverse of the power", lambda desc, inputs, right: right / inputs["InputTensor"]),
    **roundings("sums", "normalization.window"),
    **roundings("powers", "normalization.power"),
    **_in_float32("square", "window", "weight", "power"),
}

FAULTS: Table = {
    "BATCH_NORMALIZATION MEAN_VARIANCE_NORMALIZATION* LP_NORMALIZATION": computed(_DIVISORS),
    "MEAN_VARIANCE_NORMALIZATION1 MEAN_VARIANCE_NORMALIZATION2": along_wrong_axes("normalization.axes"),
    "MEAN_VARIANCE_NORMALIZATION* LP_NORMALIZATION": {
        **_ROWS,
        **_in_float32("sum", "mean", "center", "square", "variance", "inverse-root"),
    },
    "BATCH_NORMALIZATION MEAN_VARIANCE_NORMALIZATION*": _AFFINE,
    "MEAN_VARIANCE_NORMALIZATION*": {
        **computed(_MEAN_VARIANCE),
        **roundings("means", "normalization.mean"),
        **roundings("variances", "normalization.variance"),
        **roundings("differences", "normalization.center"),
        "medians": Fault("takes medians for means", stages=_rows(lambda rows: np.median(rows, axis=-1) * rows.shape[-1])),
    },
    "MEAN_VARIANCE_NORMALIZATION": _FIXED_AXES,
    "LP_NORMALIZATION": {**along_wrong_axes("normalization.axes", several=False), **_NORM},
    "BATCH_NORMALIZATION": {**_BATCH, **_in_float32("inverse-root", "batch")},
    "VALUE_SCALE_2D": {**computed(_VALUE_SCALE), **_in_float32("value-scale")},
    "LOCAL_RESPONSE_NORMALIZATION": _NEIGHBORS,
}
"""What implementations of these operators get wrong."""
