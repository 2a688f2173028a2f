"""Faults of convolutions of 8-bit integers: zero points, signs and widths; and of their quantization: scales, bias, rounding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.dense.convolution_terms import (
    Added,
    Inputs,
    Layer,
    added,
    by_channel,
    layer_of,
    of_inputs,
    of_sums,
    one_by_one,
    quotient,
    real,
    right_finish,
    summed,
)
from dmlcts.conformance.mutants.old.fault import Computed, Fault
from dmlcts.conformance.mutants.old.mutant import Array, Where
from dmlcts.conformance.mutants.old.rounding import ROUNDINGS
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import DOCUMENTED, MEASURED

_X, _W = "InputTensor", "FilterTensor"
_XP, _WP, _YP = "InputZeroPointTensor", "FilterZeroPointTensor", "OutputZeroPointTensor"
_XS, _WS, _YS = "InputScaleTensor", "FilterScaleTensor", "OutputScaleTensor"
_BIAS = "BiasTensor"


def _has(*names: str) -> Where:
    """Whether the desc has all of these tensors."""
    return lambda desc: all(desc.fields.get(name) is not None for name in names)


def _replaced(name: str, change: Callable[[Array], Array]) -> Computed:
    """A tensor changed when it is read."""
    return of_inputs(lambda inputs: {**inputs, name: change(inputs[name])} if name in inputs else inputs)


def _without(name: str) -> Computed:
    """A zero point or a bias taken to be absent."""
    return of_inputs(lambda inputs: {other: x for other, x in inputs.items() if other != name})


def _read_for(name: str, other: str) -> Computed:
    """One tensor read for another, as it lies in memory."""
    return of_inputs(lambda inputs: {**inputs, name: inputs[other].view(inputs[name].dtype)})


def _other_sign(x: Array) -> Array:
    """Bytes with a sign as bytes without, and the reverse."""
    return x.view({"i": "u", "u": "i"}[x.dtype.kind] + str(x.dtype.itemsize))


def _of_group(desc: OperatorDesc, x: Array) -> Array:
    """What each output channel has, by the channel's place in its group: the first group's in each."""
    count: Any = desc.fields["GroupCount"]
    return np.resize(x.reshape(-1)[: max(x.size // int(count), 1)], x.shape)


def _of_first_group(name: str) -> Computed:
    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        changed = {**inputs, name: _of_group(desc, inputs[name])} if name in inputs else inputs
        return of_sums(right_finish)(desc, changed, right)

    return computed


# Zero points and widths


def _corrected(correction: Callable[[Layer, float, Array], Array]) -> Computed:
    """The right sums, and another number for each output channel, of the layer of the bytes and both zero points (one; (G, M))."""

    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        layer = layer_of(desc, inputs)
        bare = layer_of(desc, {name: x for name, x in inputs.items() if name not in (_XP, _WP)})
        point = float(real(inputs, _XP).reshape(-1)[0])
        points = np.broadcast_to(real(inputs, _WP).reshape(-1), (right.shape[1],)).reshape(layer.w.shape[:2])
        sums = added(layer) + correction(bare, point, points)[None, :, :, None]
        return right_finish(desc, inputs, sums.reshape(*right.shape[:2], *summed(desc)), right)

    return computed


def _products(layer: Layer) -> int:
    return int(layer.weights().shape[-1])


def _negated(name: str) -> Computed:
    """A zero point added instead of taken off."""
    return of_inputs(lambda inputs: {**inputs, name: -inputs[name].astype(np.int64)} if name in inputs else inputs)


def _raw_padding(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
    """Bytes of 0 around the input, from which the zero point is taken like from others."""
    layer = replace(layer_of(desc, inputs), outside=-float(real(inputs, _XP).reshape(-1)[0]))
    return right_finish(desc, inputs, added(layer).reshape(*right.shape[:2], *summed(desc)), right)


def _differences(change: Callable[[Array, Any], Array], *names: str) -> Computed:
    """Bytes less their zero points, changed before they are multiplied."""

    def computed(desc: OperatorDesc, inputs: Inputs, right: Array) -> Any:
        layer = layer_of(desc, inputs)
        x = change(layer.x, inputs[_X].dtype) if _X in names else layer.x
        w = change(layer.w, inputs[_W].dtype) if _W in names else layer.w
        sums = added(replace(layer, x=x, w=w))
        return right_finish(desc, inputs, sums.reshape(*right.shape[:2], *summed(desc)), right)

    return computed


def _wrapped(x: Array, dtype: Any) -> Array:
    return x.astype(np.int64).astype(dtype).astype(np.float64)


def _limited(x: Array, dtype: Any) -> Array:
    return np.clip(x, np.iinfo(dtype).min, np.iinfo(dtype).max)


def _short(x: Array) -> Array:
    return _wrapped(x, np.int16)


def _pairs_saturated(layer: Layer) -> Array:
    """Two products at a time, whose sum saturates at 16 bits, as some instructions add them."""
    seen, weights = layer.seen(), layer.weights()
    total: Array = np.zeros((*seen.shape[:2], weights.shape[1], seen.shape[2]))
    for first in range(0, weights.shape[-1], 2):
        pair = np.matmul(weights[None, ..., first : first + 2], seen[..., first : first + 2].swapaxes(-1, -2))
        total = total + _limited(pair, np.int16)
    return total


_ADDED: Mapping[str, tuple[str, Added]] = {
    "products-of-16-bits": ("keeps 16 bits of a product", lambda layer: one_by_one(layer, lambda total, p: total + _short(p))),
    "products-saturated": (
        "saturates products at 16 bits",
        lambda layer: one_by_one(layer, lambda total, p: total + _limited(p, np.int16)),
    ),
    "pairs-saturated": ("saturates the sum of two products at 16 bits", _pairs_saturated),
    "sums-of-16-bits": ("keeps 16 bits of a sum", lambda layer: _short(added(layer))),
    "sums-saturated": ("saturates a sum at 16 bits", lambda layer: _limited(added(layer), np.int16)),
    "sums-in-float16": ("adds up in FLOAT16", lambda layer: one_by_one(layer, lambda total, p: total + p, dtype="f2")),
    "sums-of-magnitudes": ("adds the magnitudes of products", lambda layer: one_by_one(layer, lambda total, p: total + np.abs(p))),
}

POINTS: Mapping[str, Fault] = {
    **{f"{name}-lost": Fault(f"takes no notice of {name}", _without(name), when=_has(name)) for name in (_XP, _WP)},
    **{f"{name}-added": Fault(f"adds {name}", _negated(name), when=_has(name)) for name in (_XP, _WP)},
    **{
        f"{name}-of-other-sign": Fault(f"reads {name} with the other sign", _replaced(name, _other_sign), when=_has(name))
        for name in (_X, _W, _XP, _WP)
    },
    "points-exchanged": Fault(
        "exchanges the zero points",
        of_inputs(
            lambda inputs: {
                **inputs,
                _XP: inputs[_WP].view(inputs[_XP].dtype).reshape(-1)[:1],
                _WP: np.broadcast_to(inputs[_XP].view(inputs[_WP].dtype).reshape(-1)[:1], inputs[_WP].shape),
            }
        ),
        when=_has(_XP, _WP),
    ),
    "point-of-first-filter": Fault(
        "takes the first filter's zero point for each", _replaced(_WP, lambda x: np.full_like(x, x.flat[0]))
    ),
    "point-of-next-filter": Fault("takes the next filter's zero point", _replaced(_WP, lambda x: np.roll(x.reshape(-1), -1))),
    "points-of-first-group": Fault("takes the first group's zero points in each", _of_first_group(_WP)),
    "points-of-filters-reversed": Fault(
        "takes the filters' zero points from the last on", _replaced(_WP, lambda x: x.reshape(-1)[::-1])
    ),
    "padding-of-byte-0": Fault("takes the zero point off padding, too", _raw_padding, when=_has(_XP)),
    "product-of-points-lost": Fault(
        "leaves out the product of both zero points, where it takes them off afterwards",
        _corrected(lambda layer, point, points: -_products(layer) * point * points),
        when=_has(_XP, _WP),
    ),
    "product-of-points-of-a-channel": Fault(
        "counts the product of both zero points for one channel alone",
        _corrected(lambda layer, point, points: (layer.w[0, 0, 0].size - _products(layer)) * point * points),
        when=_has(_XP, _WP),
    ),
    "point-times-first-channel": Fault(
        "takes the input's zero point off with the filter's first channel alone",
        _corrected(lambda layer, point, points: point * (layer.w[:, :, 1:].reshape(*layer.w.shape[:2], -1).sum(-1))),
        when=_has(_XP),
    ),
    **{
        f"{name.removesuffix('Tensor')}-{how}": Fault(f"{does} {name}", _differences(change, name))
        for name in (_X, _W)
        for how, does, change in (
            ("difference-wraps", "subtracts the zero point in 8 bits of", _wrapped),
            ("difference-saturates", "saturates at 8 bits what is left of", _limited),
            ("difference-at-least-0", "takes 0 for what lies below the zero point in", lambda x, dtype: np.maximum(x, 0)),
            ("low-7-bits", "leaves out the lowest bit of", lambda x, dtype: np.floor(x / 2) * 2),
        )
    },
    **{name: Fault(does, of_sums(right_finish, add)) for name, (does, add) in _ADDED.items()},
}


SINGLE_SUMS: Mapping[str, Fault] = {
    "sums-in-float32": Fault("adds up in FLOAT32", of_sums(right_finish, lambda layer: added(layer).astype(np.float32))),
    "sums-of-24-bits": Fault(
        "keeps 24 bits of a sum", of_sums(right_finish, lambda layer: (added(layer) + 2.0**23) % 2.0**24 - 2.0**23)
    ),
}
"""What is wrong where sums are the output themselves; one that is scaled and rounded may be in FLOAT32."""


# Quantization


def _scaled(value: Callable[[Array, Array, Array, Array, Array], Array]) -> Computed:
    """Rounded and moved: what is made of the sums, the bias, and the scales of input, filter and output."""

    def finish(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Any:
        bias, *scales = (by_channel(real(inputs, name), sums.ndim - 2) for name in (_BIAS, _XS, _WS, _YS))
        return np.rint(np.nan_to_num(value(sums, bias, *scales))) + real(inputs, _YP).reshape(-1)[0]

    return of_sums(finish)


def _end(finish: Callable[[Array, float, Array], Any]) -> Computed:
    """Of the quotient before it is rounded, the output's zero point, and the right output."""

    def finished(desc: OperatorDesc, inputs: Inputs, sums: Array, right: Array) -> Any:
        return finish(quotient(desc, inputs, sums), float(real(inputs, _YP).reshape(-1)[0]), right)

    return of_sums(finished)


def _rounding(rounded: Callable[[Array], Array]) -> Computed:
    return _end(lambda q, point, right: rounded(np.nan_to_num(q)) + point)


def _float16(x: Array) -> Array:
    return x.astype(np.float16).astype(np.float64)


def _low_byte(x: Array) -> Array:
    """As integers whose low byte is kept."""
    whole: Array = np.clip(np.nan_to_num(x), -(2.0**62), 2.0**62).astype(np.int64)
    return whole


def _fewer_bits(bits: int) -> Callable[[Array], Array]:
    """The factor with so many digits, as integers that a shift follows have."""

    def cut(factor: Array) -> Array:
        mantissa, exponent = np.frexp(factor)
        return np.ldexp(np.rint(mantissa * 2.0**bits) / 2.0**bits, exponent)

    return cut


_SCALES: Mapping[str, tuple[str, Callable[[Array, Array, Array, Array, Array], Array]]] = {
    "input-scale-lost": ("takes no notice of the input's scale", lambda s, b, x, w, y: (s + b) * w / y),
    "filter-scale-lost": ("takes no notice of the filter's scale", lambda s, b, x, w, y: (s + b) * x / y),
    "output-scale-lost": ("takes no notice of the output's scale", lambda s, b, x, w, y: (s + b) * x * w),
    "output-scale-multiplied": ("multiplies by the output's scale", lambda s, b, x, w, y: (s + b) * x * w * y),
    "input-scale-twice": ("takes the input's scale for the filter's", lambda s, b, x, w, y: (s + b) * x * x / y),
    "filter-scale-twice": ("takes the filter's scale for the input's", lambda s, b, x, w, y: (s + b) * w * w / y),
    "scales-added": ("adds the scales of input and filter", lambda s, b, x, w, y: (s + b) * (x + w) / y),
    "scale-of-first-filter": ("takes the first filter's scale for each", lambda s, b, x, w, y: (s + b) * x * w[:1] / y),
    "scale-of-next-filter": ("takes the next filter's scale", lambda s, b, x, w, y: (s + b) * x * np.roll(w, -1, axis=0) / y),
    "scales-of-filters-reversed": ("takes the filters' scales from the last on", lambda s, b, x, w, y: (s + b) * x * w[::-1] / y),
    "factor-of-8-bits": ("takes the factor of all scales with 8 bits", lambda s, b, x, w, y: (s + b) * _fewer_bits(8)(x * w / y)),
    "factor-in-float16": ("takes the factor of all scales as FLOAT16", lambda s, b, x, w, y: (s + b) * _float16(x * w / y)),
    "reciprocal-in-float16": (
        "takes the reciprocal of the output's scale as FLOAT16",
        lambda s, b, x, w, y: (s + b) * x * w * _float16(1 / y),
    ),
    "factor-of-power-of-2": (
        "takes the next power of two for the factor",
        lambda s, b, x, w, y: np.ldexp(s + b, np.frexp(x * w / y)[1]),
    ),
}

_BIASES: Mapping[str, tuple[str, Callable[[Array, Array, Array, Array, Array], Array]]] = {
    "bias-subtracted": ("subtracts the bias", lambda s, b, x, w, y: (s - b) * x * w / y),
    "bias-twice": ("adds the bias twice", lambda s, b, x, w, y: (s + 2 * b) * x * w / y),
    "bias-of-first": ("adds the first channel's bias to each", lambda s, b, x, w, y: (s + b[:1]) * x * w / y),
    "bias-of-next": ("adds the next channel's bias", lambda s, b, x, w, y: (s + np.roll(b, -1, axis=0)) * x * w / y),
    "bias-reversed": ("adds the biases from the last on", lambda s, b, x, w, y: (s + b[::-1]) * x * w / y),
    "bias-of-8-bits": ("keeps 8 bits of the bias", lambda s, b, x, w, y: (s + _wrapped(b, np.int8)) * x * w / y),
    "bias-in-output": ("takes the bias in units of the output's scale", lambda s, b, x, w, y: s * x * w / y + b),
    "bias-real": ("takes the bias as it is", lambda s, b, x, w, y: (s * x * w + b) / y),
    "bias-in-input": ("takes the bias in units of the input's scale", lambda s, b, x, w, y: (s * x * w + b * x) / y),
    "bias-in-filter": ("takes the bias in units of the filter's scale", lambda s, b, x, w, y: (s * x * w + b * w) / y),
    "bias-of-first-scale": (
        "takes each bias in units of the first filter's scale",
        lambda s, b, x, w, y: (s * w + b * w[:1]) * x / y,
    ),
}

_ENDS: Mapping[str, tuple[str, Callable[[Array, float, Array], Any], Where | None]] = {
    "point-subtracted": ("subtracts the output's zero point", lambda q, point, right: np.rint(q) - point, _has(_YP)),
    "wraps": ("does not saturate", lambda q, point, right: _low_byte(np.rint(q) + point), None),
    "saturates-before-point": (
        "saturates before it adds the zero point",
        lambda q, point, right: _limited(np.rint(q), right.dtype) + point,
        _has(_YP),
    ),
    "wraps-behind-point": (
        "saturates before it adds the zero point, and wraps around then",
        lambda q, point, right: _low_byte(_limited(np.rint(q), right.dtype) + point),
        _has(_YP),
    ),
    "saturates-at-127": (
        "saturates symmetrically",
        lambda q, point, right: np.maximum(np.rint(q) + point, -127),
        lambda desc: desc.tensor("OutputTensor").data_type == "INT8",
    ),
    "saturates-as-signed": (
        "saturates UINT8 at 127",
        lambda q, point, right: np.clip(np.rint(q) + point, 0, 127),
        lambda desc: desc.tensor("OutputTensor").data_type == "UINT8",
    ),
    "at-least-point": ("gives no less than the zero point", lambda q, point, right: np.maximum(np.rint(q), 0) + point, None),
    "at-most-point": ("gives no more than the zero point", lambda q, point, right: np.minimum(np.rint(q), 0) + point, None),
}

_NAN: Mapping[str, tuple[str, Callable[[Array, float, Array], Any]]] = {
    "nan-as-0": ("gives 0 for NaN", lambda q, point, right: np.where(np.isnan(q), 0, np.rint(q) + point)),
    "nan-as-least": ("gives the least number for NaN", lambda q, point, right: np.rint(np.where(np.isnan(q), -np.inf, q)) + point),
    "nan-as-largest": (
        "gives the largest number for NaN",
        lambda q, point, right: np.rint(np.where(np.isnan(q), np.inf, q)) + point,
    ),
    "point-before-rounding": ("adds the zero point before it rounds", lambda q, point, right: np.rint(np.nan_to_num(q) + point)),
}

QUANTIZATION: Mapping[str, Fault] = {
    **{name: Fault(does, _scaled(value)) for name, (does, value) in _SCALES.items()},
    **{name: Fault(does, _scaled(value), when=_has(_BIAS)) for name, (does, value) in _BIASES.items()},
    "bias-lost": Fault("adds no bias", _without(_BIAS), when=_has(_BIAS)),
    "output-point-lost": Fault("takes no notice of the output's zero point", _without(_YP), when=_has(_YP)),
    "output-point-of-other-sign": Fault(
        "reads the output's zero point with the other sign", _replaced(_YP, _other_sign), when=_has(_YP)
    ),
    "output-point-of-input": Fault("takes the input's zero point for the output's", _read_for(_YP, _XP), when=_has(_XP, _YP)),
    "output-point-of-filter": Fault(
        "takes the filter's zero point for the output's, as the page names it", _read_for(_YP, _WP), when=_has(_WP, _YP)
    ),
    "output-scale-of-input": Fault("takes the input's scale for the output's", _read_for(_YS, _XS)),
    "scales-of-first-group": Fault("takes the first group's scales in each", _of_first_group(_WS)),
    "biases-of-first-group": Fault("takes the first group's biases in each", _of_first_group(_BIAS), when=_has(_BIAS)),
    **{
        f"{name.removesuffix('Tensor')}-in-float16": Fault(f"reads {name} as FLOAT16", _replaced(name, _float16))
        for name in (_XS, _WS, _YS)
    },
    **{name: Fault(does, _end(end), when=when) for name, (does, end, when) in _ENDS.items()},
    **{name: Fault(does, _end(end), basis=MEASURED) for name, (does, end) in _NAN.items()},
    **{
        f"rounds-{name}": Fault(
            f"rounds {does}", _rounding(rounded), basis=MEASURED if name.startswith(("half", "away")) else DOCUMENTED
        )
        for name, (does, rounded) in ROUNDINGS.items()
        if name != "even"
    },
}
