"""Faults of normalizations: of rows by mean and variance or by a norm, by numbers that are given, by the elements around."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.rows import ELEMENTS, Axes, along_wrong_axes
from dmlcts.conformance.faults.model.fault import (
    PRECISIONS,
    SINGLE,
    Array,
    Fault,
    Faults,
    Steps,
    Table,
    adjust_results,
    as_float16,
    as_tf32,
    compute_instead,
    roundings,
    with_attributes,
    with_input,
)
from dmlcts.reference.stage import Instead
from dmlcts.spec.model.desc import OperatorDesc


def _in_float32(*stages: str) -> Faults:
    """What is no fault: these stages of numbers in FLOAT32."""

    def instead(right: Callable[..., Any], *args: Any) -> Any:
        return right(*(x.astype("f4") if isinstance(x, np.ndarray) else x for x in args))

    return {"in-float32": Fault("computes in FLOAT32", stages={f"normalization.{stage}": instead for stage in stages})}


# Rows

_DIVISORS: Steps = {
    "normalization.inverse-root": {
        "epsilon-outside": ("adds Epsilon outside the root", lambda square, e: 1 / (np.sqrt(square) + e)),
        "epsilon-squared": ("adds the square of Epsilon", lambda square, e: 1 / np.sqrt(square + e * e)),
        "epsilon-least-square": (
            "raises smaller variances to Epsilon instead of adding it",
            lambda square, e: 1 / np.sqrt(np.maximum(square, e)),
        ),
        "root-approximate": (
            "computes the root with 11 bits of mantissa",
            lambda square, e: as_tf32(1 / np.sqrt(square + e)),
            SINGLE,
        ),
    }
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
    "batch-first": Fault("uses the first batch's sums for all batches", stages=_after_sum(lambda sums: sums[:1] + 0 * sums)),
}

_MEAN_VARIANCE: Steps = {
    "normalization.square": {
        "variance-cancelled": (
            "subtracts the square of the mean from the mean square, in FLOAT32",
            lambda difference, x: x.astype("f4") ** 2 - (x - difference).astype("f4") ** 2,
            SINGLE,
        )
    },
    "normalization.variance": {
        "variance-of-a-sample": ("divides the squares by one less", lambda total, count: total / max(count - 1, 1))
    },
    "normalization.sum": {
        "count-of-last-axis": ("divides by the last axis's size", lambda x, axes: (x.sum(axes, keepdims=True), x.shape[axes[-1]]))
    },
}

_FIXED_AXES: Steps = {
    "normalization.axes": {
        "axes-batches-together": ("treats all batches of a channel as a row", lambda axes: (0, 2, 3)),
        "axes-last-axis": ("goes along the last dimension", lambda axes: (3,)),
        "axes-channels-last": ("treats the last dimension as the channels", lambda axes: (1, 2, 3) if 1 in axes else (1, 2)),
    }
}

_NORM: Steps = {"normalization.magnitude": {"signs-kept-in-order-1": ("adds up the elements for order 1", lambda x: x)}}


# Numbers that are given


def _like_last(x: Array, tensor: Array) -> Array:
    """One number after another along the last dimension, round and round, as where channels come last."""
    return tensor.reshape(-1)[np.arange(x.shape[-1]) % tensor.size].reshape((1,) * (x.ndim - 1) + (-1,))


def _read_elsewhere(*names: str) -> Faults:
    """Numbers of a tensor read from other places."""
    places: Mapping[str, tuple[str, Callable[[Array, Array], Array]]] = {
        "of-first-place": ("each channel's first", lambda x, tensor: tensor[:, :, *[slice(1)] * (tensor.ndim - 2)]),
        "by-last-dimension": ("one number after another along the last dimension", _like_last),
    }
    return {
        f"{name.lower()}-{label}": Fault(
            f"reads {words} of {name}Tensor",
            inputs=lambda desc, x, name=f"{name}Tensor", change=change: {**x, name: change(x["InputTensor"], x[name])},  # type: ignore[misc]
            when=lambda desc, name=f"{name}Tensor": desc.fields[name] is not None,  # type: ignore[misc]
        )
        for name in names
        for label, (words, change) in places.items()
    }


_AFFINE: Faults = {
    "activation-before-bias": Fault(
        "activates before it adds the bias",
        lambda desc, x, found: found + x["BiasTensor"],
        inputs=with_input("BiasTensor", np.zeros_like),
        when=lambda desc: desc.fields["BiasTensor"] is not None,
    ),
    "activation-twice": Fault(
        "activates twice",
        stages={
            "normalization.finish": lambda right, xp, desc, value, *more: right(
                xp, desc, right(xp, desc, value, *more).value, *more
            )
        },
    ),
    **_read_elsewhere("Scale", "Bias"),
}


def _fold_bias(x: Array, mean: Array, factor: Array, bias: Array) -> Any:
    x, mean, factor, bias = (each.astype("f4") for each in (x, mean, factor, bias))
    return x * factor + (bias - mean * factor)


_BATCH: Steps = {
    "normalization.batch": {
        "factor-in-float16": ("keeps the factor in FLOAT16", lambda x, mean, factor, bias: (x - mean) * as_float16(factor) + bias),
        "offset-in-float16": (
            "adds an offset in FLOAT16",
            lambda x, mean, factor, bias: x * factor + as_float16(bias - mean * factor),
        ),
        "difference-in-float16": (
            "keeps the difference from the mean in FLOAT16",
            lambda x, mean, factor, bias: as_float16(x - mean) * factor + bias,
            SINGLE,
        ),
        "folded": ("computes x * a + (bias - mean * a) in FLOAT32", _fold_bias),
    }
}

_VALUE_SCALE: Steps = {
    "normalization.value-scale": {
        "bias-by-batch": (
            "adds one bias to each batch",
            lambda x, scale, bias: x * scale + np.resize(bias, len(x)).reshape(-1, 1, 1, 1),
        ),
        "bias-of-first-batch": (
            "adds biases to the first batch",
            lambda x, scale, bias: x * scale + np.pad(bias, [(0, len(x) - 1)] + [(0, 0)] * 3),
        ),
        "bias-of-one-lost": ("adds no bias to a single channel", lambda x, scale, bias: x * scale + bias * (bias.size > 1)),
        "bias-in-float16": ("rounds biases to FLOAT16", lambda x, scale, bias: x * scale + as_float16(bias)),
        "product-in-float16": ("rounds the product to FLOAT16", lambda x, scale, bias: as_float16(x * scale) + bias),
        "bias-scaled": ("adds the bias before it scales", lambda x, scale, bias: (x + bias) * scale),
        "scale-twice": ("scales twice", lambda x, scale, bias: x * scale**2 + bias),
        "scale-of-first-channel": (
            "scales the first channel",
            lambda x, scale, bias: np.append(x[:, :1] * scale, x[:, 1:], 1) + bias,
        ),
        "at-most-255": ("gives nothing beyond 255", lambda x, scale, bias: np.minimum(x * scale + bias, 255)),
    }
}


# Elements around


def _edges_repeated(right: Callable[..., Array], xp: Any, x: Array, axis: int, size: int) -> Array:
    """Windows that find the elements at the ends of the input beyond them too."""
    padded = np.pad(x, [(size, size) if at == axis else (0, 0) for at in range(x.ndim)], mode="edge")
    return np.take(right(xp, padded, axis, size), np.arange(size, size + x.shape[axis]), axis)


def _axes_around(crossed: Axes, beside: Axes) -> Callable[[OperatorDesc], Axes]:
    return lambda desc: crossed if desc.fields["CrossChannel"] else beside


_RESPONSE: Steps = {
    "normalization.reach": {  # before and behind
        "window-one-more-behind": ("reads one element too many behind", lambda size: ((size - 1) // 2, size // 2 + 1)),
        "window-even-the-other-way": ("lets even windows reach further back", lambda size: (size // 2, (size - 1) // 2)),
        "window-of-radius": ("treats LocalSize as the radius", lambda size: (size, size)),
        "window-of-5-at-most": ("limits windows to 5 elements", lambda size: ((min(size, 5) - 1) // 2, min(size, 5) // 2)),
    },
    "normalization.neighborhood": {
        "rows-alone": ("goes along columns alone where channels are not crossed", _axes_around((1,), (2,))),
        "places-too": ("goes along rows and columns too with CrossChannel", _axes_around((1, 2, 3), (2, 3))),
        "channels-too": ("goes along channels too without CrossChannel", _axes_around((1,), (1, 2, 3))),
        "batches-for-channels": ("goes along batches with CrossChannel", _axes_around((0,), (2, 3))),
    },
    "normalization.weight": {"alpha-not-divided": ("does not divide Alpha", lambda alpha, size, total: alpha * total)},
    "normalization.power": {
        "power-as-three-quarters": ("always raises to the power of 3/4", lambda base, beta: base**0.75),
        "by-logarithm": (
            "computes the power by exponential and logarithm in FLOAT32",
            lambda base, beta: np.exp2(np.float32(beta) * np.log2(base.astype("f4"))),
        ),
    },
}
_NEIGHBORS: Faults = {
    **compute_instead(_RESPONSE),
    "edges-repeated": Fault("repeats the elements at the ends beyond them", stages={"normalization.window": _edges_repeated}),
    "alpha-by-present": Fault(
        "divides Alpha by the number of elements that are there",
        stages={"normalization.window": lambda right, xp, x, *of: right(xp, x, *of) / right(xp, np.ones_like(x), *of) * of[1]},
    ),
    "bias-weighted": Fault("weighs Bias by Alpha", desc=with_attributes(lambda fields: {"Bias": fields["Bias"] * fields["Alpha"]})),
    "bias-as-factor": Fault("multiplies by Bias", desc=with_attributes(lambda fields: {"Alpha": fields["Bias"] * fields["Alpha"]})),
    **roundings("sums", "normalization.window"),
    **roundings("powers", "normalization.power"),
    **_in_float32("square", "window", "weight", "power"),
}

FAULTS: Table = {
    "BATCH_NORMALIZATION MEAN_VARIANCE_NORMALIZATION* LP_NORMALIZATION": compute_instead(_DIVISORS),
    "MEAN_VARIANCE_NORMALIZATION1 MEAN_VARIANCE_NORMALIZATION2": along_wrong_axes("normalization.axes"),
    "MEAN_VARIANCE_NORMALIZATION* LP_NORMALIZATION": {
        **_ROWS,
        **_in_float32("sum", "mean", "center", "square", "variance", "inverse-root"),
    },
    "BATCH_NORMALIZATION MEAN_VARIANCE_NORMALIZATION*": _AFFINE,
    "MEAN_VARIANCE_NORMALIZATION*": {
        **compute_instead(_MEAN_VARIANCE),
        **roundings("means", "normalization.mean"),
        **roundings("variances", "normalization.variance"),
        **roundings("differences", "normalization.center"),
    },
    "MEAN_VARIANCE_NORMALIZATION": adjust_results(_FIXED_AXES),
    "LP_NORMALIZATION": {**along_wrong_axes("normalization.axes", several=False), **compute_instead(_NORM)},
    "BATCH_NORMALIZATION": {
        **_read_elsewhere("Mean", "Variance"),
        **compute_instead(_BATCH),
        **_in_float32("inverse-root", "batch"),
    },
    "VALUE_SCALE_2D": {**compute_instead(_VALUE_SCALE), **_in_float32("value-scale")},
    "LOCAL_RESPONSE_NORMALIZATION": _NEIGHBORS,
}
"""What implementations of these operators get wrong."""
