"""Faults of normalizations: of rows by mean and variance or by a norm, by numbers that are given, by the elements around."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    Table,
    after,
    as_float16,
    mantissa_bits,
    roundings,
    skipped,
    with_attributes,
)
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc


def _in_float32(*stages: str) -> Mapping[str, Instead]:
    """Stages of numbers in FLOAT32."""

    def instead(right: Callable[..., Any], *args: Any) -> Any:
        return right(*(x.astype("f4") if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in args))

    return {f"normalization.{stage}": instead for stage in stages}


# Divisors, sums and rows


def _divisor(change: Callable[[Array, float], Any]) -> Mapping[str, Instead]:
    """Of a variance or the square of a norm, and Epsilon, another divisor."""
    return {"normalization.inverse-root": lambda right, xp, square, epsilon: 1 / change(square, epsilon)}


_DIVISORS: Faults = {
    "epsilon-outside": Fault("adds Epsilon outside the root", stages=_divisor(lambda square, epsilon: np.sqrt(square) + epsilon)),
    "epsilon-lost": Fault("ignores Epsilon", stages=_divisor(lambda square, epsilon: np.sqrt(square))),
    "epsilon-squared": Fault("adds the square of Epsilon", stages=_divisor(lambda square, epsilon: np.sqrt(square + epsilon**2))),
    "epsilon-least-square": Fault(
        "treats Epsilon as the least that is under the root",
        stages=_divisor(lambda square, epsilon: np.sqrt(np.maximum(square, epsilon))),
    ),
    "epsilon-least-root": Fault(
        "treats Epsilon as the least divisor", stages=_divisor(lambda square, epsilon: np.maximum(np.sqrt(square), epsilon))
    ),
    "root-forgotten": Fault("takes no root", stages=_divisor(lambda square, epsilon: square + epsilon)),
    "root-twice": Fault("takes the root twice", stages=_divisor(lambda square, epsilon: (square + epsilon) ** 0.25)),
    "multiplied": Fault("multiplies by the root", stages=_divisor(lambda square, epsilon: (square + epsilon) ** -0.5)),
    "not-divided": Fault("never divides", stages=_divisor(lambda square, epsilon: np.ones_like(square))),
    "root-of-11-digits": Fault(
        "takes the root with 11 mantissa bits", types=SINGLE, stages=after("normalization.inverse-root", mantissa_bits(10))
    ),
}


def _sums(change: Callable[[Array, Axes], Array]) -> Mapping[str, Instead]:
    """Of the terms and the axes of rows, other sums; the axes stay as ones."""
    return {"normalization.sum": lambda right, xp, x, axes: (change(x, axes) if axes else x, right(xp, x, axes)[1])}


def _rows(function: Callable[[Array], Array]) -> Callable[[Array, Axes], Array]:
    """A function of rows that lie along the last dimension."""

    def of(x: Array, axes: Axes) -> Array:
        rows = np.moveaxis(x, axes, range(-len(axes), 0))
        return np.expand_dims(function(rows.reshape(*rows.shape[: -len(axes)], -1)), axes)

    return of


def _added(change: Callable[[Array], Array]) -> Mapping[str, Instead]:
    return _sums(_rows(lambda rows: change(rows).sum(axis=-1)))


def _after_sum(change: Callable[[Array], Array]) -> Mapping[str, Instead]:
    return _sums(lambda x, axes: change(x.sum(axis=axes, keepdims=True)))


_ROWS: Faults = {
    **along_wrong_axes("normalization.axes"),
    **{name: Fault(does, stages=_added(change)) for name, (does, change) in ELEMENTS.items()},
    "nan-passed-over": Fault("passes over NaN in its sums", stages=_added(lambda rows: np.where(np.isnan(rows), 0, rows))),
    **{
        f"sums-{name}": Fault(f"adds up in {of}", types=types, stages=_after_sum(rounding))
        for name, (of, types, rounding) in PRECISIONS.items()
    },
    "row-next": Fault("takes the sums of the row before", stages=_after_sum(lambda sums: np.roll(sums, 1))),
    "row-first": Fault(
        "takes the first row's sums for all", stages=_after_sum(lambda sums: sums[(slice(1),) * sums.ndim] + 0 * sums)
    ),
    "batch-first": Fault("takes the first batch's sums for all", stages=_after_sum(lambda sums: sums[:1] + 0 * sums)),
    "in-float32": Fault("computes in FLOAT32", stages=_in_float32("sum", "mean", "center", "square", "variance", "inverse-root")),
}


# Scale, bias and activation


def _given(**change: Callable[..., Array]) -> Callable[[OperatorDesc, Inputs], Inputs]:
    """Tensors read as functions of others, which the functions' arguments name: ``Scale=lambda Scale: Scale + 1``. All must be present."""

    def inputs(desc: OperatorDesc, right: Inputs) -> Inputs:
        found = dict(right)
        for name, function in change.items():
            code: Any = function.__code__
            found[f"{name}Tensor"] = function(*(right[f"{other}Tensor"] for other in code.co_varnames[: code.co_argcount]))
        return found

    return inputs


def _affine(desc: OperatorDesc) -> bool:
    return desc.fields["ScaleTensor"] is not None and desc.fields["BiasTensor"] is not None


def _like_last(x: Array, tensor: Array) -> Array:
    """One number after another along the last dimension, round and round, as where channels come last."""
    return tensor.reshape(-1)[np.arange(x.shape[-1]) % tensor.size].reshape((1,) * (x.ndim - 1) + (-1,))


def _elsewhere(*names: str) -> Faults:
    """Numbers of a tensor read from other places."""
    return {
        f"{name.lower()}-{label}": Fault(
            f"takes {words} of {name}Tensor",
            inputs=lambda desc, x, name=f"{name}Tensor", change=change: {**x, name: change(x["InputTensor"], x[name])},  # type: ignore[misc]
            when=lambda desc, name=f"{name}Tensor": desc.fields[name] is not None,  # type: ignore[misc]
        )
        for name in names
        for label, words, change in (
            ("of-next-channel", "the next channel's", lambda x, tensor: np.roll(tensor, 1, min(1, tensor.ndim - 1))),
            (
                "of-first-place",
                "the first place's",
                lambda x, tensor: tensor[:, :, *[slice(1)] * (tensor.ndim - 2)] if tensor.ndim > 1 else tensor[:1],
            ),
            ("by-last-dimension", "one number after another along the last dimension", _like_last),
        )
    }


def _finished(change: Callable[..., Any]) -> Mapping[str, Instead]:
    return {"normalization.finish": change}


_FUSED = {"when": lambda desc: desc.fields["FusedActivation"] is not None}

_AFFINE: Faults = {
    "scale-divides": Fault("divides by the scale", inputs=_given(Scale=lambda Scale: 1 / Scale), when=_affine),
    "scale-and-1": Fault("scales by 1 more", inputs=_given(Scale=lambda Scale: Scale + 1), when=_affine),
    "scale-twice": Fault("scales twice", inputs=_given(Scale=lambda Scale: Scale * Scale), when=_affine),
    "scale-added": Fault(
        "adds the scale",
        inputs=_given(Scale=lambda Scale: np.ones_like(Scale), Bias=lambda Bias, Scale: Bias + Scale),
        when=_affine,
    ),
    "bias-scaled": Fault("adds the bias before it scales", inputs=_given(Bias=lambda Bias, Scale: Bias * Scale), when=_affine),
    **_elsewhere("Scale", "Bias"),
    "activation-before-bias": Fault(
        "activates before it adds the bias",
        lambda desc, inputs, found: found + inputs["BiasTensor"],
        inputs=_given(Bias=lambda Bias: np.zeros_like(Bias)),
        when=_affine,
    ),
    "activation-first": Fault(
        "activates before it scales",
        lambda desc, inputs, found: found * inputs["ScaleTensor"] + inputs["BiasTensor"],
        inputs=_given(Bias=lambda Bias: np.zeros_like(Bias), Scale=lambda Scale: np.ones_like(Scale)),
        when=_affine,
    ),
    "activation-twice": Fault(
        "activates twice",
        stages=_finished(lambda right, xp, desc, value, *more: right(xp, desc, right(xp, desc, value, *more).value, *more)),
    ),
    **{
        f"activation-{name}": Fault(
            f"activates what it keeps in {of}",
            types=types,
            stages=_finished(lambda right, xp, desc, value, *more, rounding=rounding: right(xp, desc, rounding(value), *more)),
            **_FUSED,
        )
        for name, (of, types, rounding) in PRECISIONS.items()
    },
}


# Mean and variance

_MEAN_VARIANCE: Faults = {
    **roundings("means", "normalization.mean"),
    **roundings("variances", "normalization.variance"),
    **roundings("differences", "normalization.center"),
    "variance-of-a-sample": Fault(
        "divides the squares by one less", stages={"normalization.variance": lambda right, total, count: total / max(count - 1, 1)}
    ),
    "variance-not-divided": Fault("takes the sum of the squares for the variance", stages=skipped("normalization.variance", 0)),
    "variance-about-zero": Fault(
        "takes the mean square for the variance", stages={"normalization.square": lambda right, difference, x: x * x}
    ),
    "variance-of-magnitudes": Fault(
        "takes the mean difference for the variance",
        stages={"normalization.square": lambda right, difference, x: np.abs(difference)},
    ),
    "variance-cancelled": Fault(
        "subtracts the square of the mean from the mean square, in FLOAT32",
        types=SINGLE,
        stages={"normalization.square": lambda right, difference, x: x.astype("f4") ** 2 - (x - difference).astype("f4") ** 2},
    ),
    "mean-not-subtracted": Fault("ignores the mean", stages=skipped("normalization.center", 0)),
    "mean-added": Fault("adds the mean", stages={"normalization.center": lambda right, x, mean: x + mean}),
    "mean-twice": Fault("subtracts the mean twice", stages={"normalization.center": lambda right, x, mean: x - 2 * mean}),
    "mean-not-divided": Fault("takes the sum for the mean", stages=skipped("normalization.mean", 0)),
    "medians": Fault("takes medians for means", stages=_sums(_rows(lambda rows: np.median(rows, axis=-1) * rows.shape[-1]))),
    **{
        f"count-of-{which}": Fault(
            f"divides by the size of {words}",
            stages={
                "normalization.sum": lambda right, xp, x, axes, count=count: (
                    right(xp, x, axes)[0],
                    count(x.shape, axes) if axes else 1,
                )
            },
        )
        for which, words, count in (
            ("last-axis", "the last axis", lambda sizes, axes: sizes[axes[-1]]),
            ("first-axis", "the first axis", lambda sizes, axes: sizes[axes[0]]),
            ("tensor", "the tensor", lambda sizes, axes: int(np.prod(sizes))),
        )
    },
}

_FIXED_AXES: Faults = {
    f"axes-{name}": Fault(does, stages={"normalization.axes": lambda right, desc, choose=choose: choose(right(desc))})
    for name, does, choose in (
        ("batches-together", "treats all batches of a channel as a row", lambda axes: (0, 2, 3)),
        ("channels-alone", "treats the channels of each place as a row", lambda axes: (1,)),
        ("channels-last", "treats the last dimension as the channels", lambda axes: (1, 2, 3) if 1 in axes else (1, 2)),
    )
}


# Norms

_NORM: Faults = {
    "orders-exchanged": Fault("takes order 1 for 2, and 2 for 1", desc=with_attributes(lambda fields: {"P": 3 - fields["P"]})),
    "order-of-infinity": Fault("divides by the largest magnitude", stages=_sums(lambda x, axes: x.max(axes, keepdims=True))),
    "signs-kept-in-order-1": Fault("adds up the elements for order 1", stages=skipped("normalization.magnitude", 1)),
    "root-mean-square": Fault("divides by means for sums", stages=_sums(lambda x, axes: x.mean(axes, keepdims=True))),
    "gives-norm": Fault("gives the norm", lambda desc, inputs, right: inputs["InputTensor"] / right),
    "squared": Fault("gives shares of the square", lambda desc, inputs, right: right * np.abs(right)),
    "norm-at-least-1": Fault(
        "divides by 1 at least", stages=_divisor(lambda square, epsilon: np.maximum(np.sqrt(square + epsilon), 1))
    ),
}


# Numbers that are given


def _batch(change: Callable[[Array, Array, Array, Array], Any]) -> Mapping[str, Instead]:
    """Of the input, the mean, the scale over the deviation and the bias, another result."""
    return {"normalization.batch": lambda right, x, mean, factor, bias: change(x, mean, factor, bias)}


def _in_order(*names: str) -> Callable[[OperatorDesc, Inputs], Inputs]:
    """Mean, variance, scale and bias read from other tensors, in this order."""
    right = ("Mean", "Variance", "Scale", "Bias")
    return lambda desc, inputs: {
        **inputs,
        **{f"{name}Tensor": inputs[f"{other}Tensor"] for name, other in zip(right, names, strict=True)},
    }


def _own(moment: Callable[..., Array]) -> Callable[[Array, Array], Array]:
    """A moment of each channel of the input, as in training."""
    return lambda Input, given: moment(Input, axis=tuple(a for a in range(Input.ndim) if a != 1), keepdims=True)


_BATCH: Faults = {
    **_elsewhere("Mean", "Variance"),
    "mean-of-the-input": Fault("takes the input's own mean", inputs=_given(Mean=lambda Input: _own(np.mean)(Input, Input))),
    "variance-of-the-input": Fault(
        "takes the input's own variance", inputs=_given(Variance=lambda Input: _own(np.var)(Input, Input))
    ),
    "mean-not-divided": Fault(
        "subtracts the mean after it divided",
        inputs=_given(Mean=lambda Mean, Variance: Mean * np.sqrt(Variance + Variance.dtype.type(1e-5))),
    ),
    "mean-last": Fault("subtracts the mean last", stages=_batch(lambda x, mean, factor, bias: x * factor + bias - mean)),
    "bias-divided": Fault(
        "divides the bias too", inputs=_given(Bias=lambda Bias, Variance: Bias / np.sqrt(Variance + Variance.dtype.type(1e-5)))
    ),
    "tensors-as-in-onnx": Fault("reads scale, bias, mean and variance", inputs=_in_order("Scale", "Bias", "Mean", "Variance")),
    "tensors-in-reverse": Fault("reads bias, scale, variance and mean", inputs=_in_order("Bias", "Scale", "Variance", "Mean")),
    **{
        f"{what}-{name}": Fault(
            f"keeps the {what} in {of}", types=types, stages=_batch(lambda *args, c=change, r=rounding: c(r, *args))
        )
        for what, change in (
            ("factor", lambda rounded, x, mean, factor, bias: (x - mean) * rounded(factor) + bias),
            ("offset", lambda rounded, x, mean, factor, bias: x * factor + rounded(bias - mean * factor)),
            ("difference", lambda rounded, x, mean, factor, bias: rounded(x - mean) * factor + bias),
        )
        for name, (of, types, rounding) in PRECISIONS.items()
    },
    "in-float32": Fault("computes in FLOAT32", stages=_in_float32("inverse-root", "batch")),
    "folded": Fault(
        "computes x * a + (bias - mean * a) in FLOAT32",
        stages=_batch(
            lambda *args: (lambda x, mean, factor, bias: x * factor + (bias - mean * factor))(*(a.astype("f4") for a in args))
        ),
    ),
}


def _value_scale(change: Callable[[Array, float, Array], Any]) -> Mapping[str, Instead]:
    return {"normalization.value-scale": lambda right, x, scale, bias: change(x, scale, bias)}


def _along(axis: int, x: Array, bias: Array) -> Array:
    """The biases one after another along another dimension, round and round."""
    return bias.reshape(-1)[np.arange(x.shape[axis]) % bias.size].reshape([-1 if at == axis else 1 for at in range(x.ndim)])


_VALUE_SCALE: Faults = {
    **{
        f"bias-by-{name}": Fault(
            f"adds one bias to each {name}",
            stages=_value_scale(lambda x, scale, bias, axis=axis: x * scale + _along(axis, x, bias)),
        )
        for axis, name in ((0, "batch"), (2, "row"), (3, "column"))
    },
    "bias-of-first-batch": Fault(
        "adds the biases to the first batch alone",
        stages=_value_scale(lambda x, scale, bias: x * scale + bias * (np.arange(len(x)).reshape(-1, 1, 1, 1) == 0)),
    ),
    "bias-of-mean": Fault("adds the mean of the biases", stages=_value_scale(lambda x, scale, bias: x * scale + bias.mean())),
    "bias-of-one-lost": Fault(
        "adds no bias to a single channel", stages=_value_scale(lambda x, scale, bias: x * scale + bias * (bias.size > 1))
    ),
    "bias-truncated": Fault("cuts biases to integers", stages=_value_scale(lambda x, scale, bias: x * scale + np.trunc(bias))),
    "bias-without-sign": Fault(
        "adds the magnitudes of the biases", stages=_value_scale(lambda x, scale, bias: x * scale + np.abs(bias))
    ),
    "bias-in-float16": Fault("rounds biases to FLOAT16", stages=_value_scale(lambda x, scale, bias: x * scale + as_float16(bias))),
    "product-in-float16": Fault(
        "rounds the product to FLOAT16", stages=_value_scale(lambda x, scale, bias: as_float16(x * scale) + bias)
    ),
    "bias-lost": Fault("adds no bias", stages=_value_scale(lambda x, scale, bias: x * scale)),
    "bias-scaled": Fault("adds the bias before it scales", stages=_value_scale(lambda x, scale, bias: (x + bias) * scale)),
    "bias-subtracted": Fault("subtracts the bias", stages=_value_scale(lambda x, scale, bias: x * scale - bias)),
    "bias-subtracted-first": Fault("treats the biases as means", stages=_value_scale(lambda x, scale, bias: (x - bias) * scale)),
    "scale-divides": Fault("divides by Scale", stages=_value_scale(lambda x, scale, bias: x / scale + bias)),
    "scale-twice": Fault("scales twice", stages=_value_scale(lambda x, scale, bias: x * scale**2 + bias)),
    "scale-of-first-channel": Fault(
        "scales the first channel alone",
        stages=_value_scale(lambda x, scale, bias: np.concatenate([x[:, :1] * scale, x[:, 1:]], 1) + bias),
    ),
    "at-least-0": Fault("gives nothing below 0", lambda desc, inputs, right: np.maximum(right, 0)),
    "at-most-255": Fault("gives nothing beyond 255", lambda desc, inputs, right: np.minimum(right, 255)),
    "rounded": Fault("rounds to integers", lambda desc, inputs, right: np.rint(right)),
    "in-float32": Fault("computes in FLOAT32", stages=_in_float32("value-scale")),
}


# Elements around


def _reach(change: Callable[[int], tuple[int, int]]) -> Mapping[str, Instead]:
    return {"normalization.reach": lambda right, size: change(size)}


def _further(before: int, behind: int) -> Mapping[str, Instead]:
    """Windows that reach further, or less far, though never beyond the element itself."""
    return _reach(lambda size: (max((size - 1) // 2 + before, 0), max(size // 2 + behind, 0)))


def _around(crossed: Axes, beside: Axes) -> Mapping[str, Instead]:
    return {"normalization.neighborhood": lambda right, desc: crossed if desc.fields["CrossChannel"] else beside}


def _edges(mode: Any) -> Callable[..., Array]:
    """Windows that find elements of the input beyond its ends, as ``numpy.pad`` has them."""

    def window(right: Callable[..., Array], xp: Any, x: Array, axis: int, size: int) -> Array:
        padded = np.pad(x, [(size, size) if at == axis else (0, 0) for at in range(x.ndim)], mode=mode)
        return np.take(right(xp, padded, axis, size), np.arange(size, size + x.shape[axis]), axis)

    return window


def _weight(change: Callable[[float, int, Array], Array]) -> Mapping[str, Instead]:
    return {"normalization.weight": lambda right, alpha, size, total: change(alpha, size, total)}


def _power(change: Callable[[Array, float], Array]) -> Mapping[str, Instead]:
    return {"normalization.power": lambda right, xp, base, beta: change(base, beta)}


_RESPONSE: Faults = {
    "window-one-more-behind": Fault("takes one element more behind", stages=_further(0, 1)),
    "window-one-more-before": Fault("takes one element more before", stages=_further(1, 0)),
    "window-one-less-behind": Fault("takes one element less behind", stages=_further(0, -1)),
    "window-one-less-before": Fault("takes one element less before", stages=_further(-1, 0)),
    "window-even-the-other-way": Fault(
        "lets even windows reach further back", stages=_reach(lambda size: (size // 2, (size - 1) // 2))
    ),
    "window-of-radius": Fault("treats LocalSize as the radius", stages=_reach(lambda size: (size, size))),
    "window-behind": Fault("takes the elements behind alone", stages=_reach(lambda size: (0, size - 1))),
    "window-before": Fault("takes the elements before alone", stages=_reach(lambda size: (size - 1, 0))),
    "window-of-5-at-most": Fault("takes windows of 5 at most", stages=_reach(lambda n: ((min(n, 5) - 1) // 2, min(n, 5) // 2))),
    **{
        f"itself-{name}": Fault(
            does, stages={"normalization.window": lambda right, xp, x, *of, more=more: right(xp, x, *of) + more * x}
        )
        for name, does, more in (("left-out", "leaves the element itself out", -1), ("twice", "counts the element itself twice", 1))
    },
    "edges-repeated": Fault("repeats the elements at the ends beyond them", stages={"normalization.window": _edges("edge")}),
    "edges-wrapped": Fault("goes on at the other end", stages={"normalization.window": _edges("wrap")}),
    "rows-alone": Fault("goes along columns alone where channels are not crossed", stages=_around((1,), (2,))),
    "columns-alone": Fault("goes along rows alone where channels are not crossed", stages=_around((1,), (3,))),
    "places-too": Fault("goes along rows and columns too with CrossChannel", stages=_around((1, 2, 3), (2, 3))),
    "channels-too": Fault("goes along channels too without CrossChannel", stages=_around((1,), (1, 2, 3))),
    "channels-last": Fault("treats the last dimension as the channels", stages=_around((3,), (1, 2))),
    "batches-for-channels": Fault("goes along batches with CrossChannel", stages=_around((0,), (2, 3))),
    "alpha-not-divided": Fault("does not divide Alpha", stages=_weight(lambda alpha, size, total: alpha * total)),
    "alpha-by-square": Fault(
        "divides Alpha by the number of places in a square window",
        stages=_weight(lambda alpha, size, total: alpha / size**2 * total),
        when=lambda desc: not desc.fields["CrossChannel"],
    ),
    "alpha-by-present": Fault(
        "divides Alpha by the number of elements that are there",
        stages={"normalization.window": lambda right, xp, x, *of: right(xp, x, *of) / right(xp, np.ones_like(x), *of) * of[1]},
        when=lambda desc: bool(desc.fields["CrossChannel"]),
    ),
    "alpha-by-radius": Fault(
        "divides Alpha by half of LocalSize", stages=_weight(lambda alpha, size, total: alpha / max(size // 2, 1) * total)
    ),
    "alpha-squared": Fault("squares Alpha", stages=_weight(lambda alpha, size, total: alpha**2 / size * total)),
    "bias-weighted": Fault("weighs Bias by Alpha", desc=with_attributes(lambda fields: {"Bias": fields["Bias"] * fields["Alpha"]})),
    "bias-as-factor": Fault("multiplies by Bias", desc=with_attributes(lambda fields: {"Alpha": fields["Bias"] * fields["Alpha"]})),
    "terms-not-squared": Fault("adds up magnitudes", stages={"normalization.square": lambda right, difference, x: np.abs(x)}),
    "terms-signed": Fault("adds up the elements", stages=skipped("normalization.square", 1)),
    "root-of-squares": Fault("takes the root of the sum", stages=_weight(lambda alpha, size, total: alpha * np.sqrt(total / size))),
    "power-lost": Fault("takes no power", stages=_power(lambda base, beta: base)),
    "power-as-factor": Fault("multiplies by Beta", stages=_power(lambda base, beta: base * beta)),
    "power-as-three-quarters": Fault("takes the power of 3/4 always", stages=_power(lambda base, beta: base**0.75)),
    "multiplied": Fault("multiplies by the power", stages=_power(lambda base, beta: base**-beta)),
    "inverted": Fault("gives the inverse of the power", lambda desc, inputs, right: right / inputs["InputTensor"]),
    **roundings("sums", "normalization.window"),
    **roundings("powers", "normalization.power"),
    "base-in-float16": Fault(
        "keeps in FLOAT16 what it takes the power of", stages=_power(lambda base, beta: as_float16(base) ** beta)
    ),
    "in-float32": Fault("computes in FLOAT32", stages=_in_float32("square", "window", "weight", "power")),
    "by-logarithm": Fault(
        "takes the power by exponential and logarithm in FLOAT32",
        stages=_power(lambda base, beta: np.exp2(np.float32(beta) * np.log2(base.astype("f4")))),
    ),
}

FAULTS: Table = {
    "BATCH_NORMALIZATION MEAN_VARIANCE_NORMALIZATION* LP_NORMALIZATION": _DIVISORS,
    "MEAN_VARIANCE_NORMALIZATION* LP_NORMALIZATION": _ROWS,
    "BATCH_NORMALIZATION MEAN_VARIANCE_NORMALIZATION*": _AFFINE,
    "MEAN_VARIANCE_NORMALIZATION*": _MEAN_VARIANCE,
    "MEAN_VARIANCE_NORMALIZATION": _FIXED_AXES,
    "LP_NORMALIZATION": _NORM,
    "BATCH_NORMALIZATION": _BATCH,
    "VALUE_SCALE_2D": _VALUE_SCALE,
    "LOCAL_RESPONSE_NORMALIZATION": _RESPONSE,
}
"""What implementations of these operators get wrong."""
