"""Faults of averages of quantized numbers, beside those of any average (``pooling``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.fault import Array, Fault, Inputs, Table, after, with_input
from dmlcts.reference.answer import Answer
from dmlcts.reference.stage import Instead
from dmlcts.spec.desc import OperatorDesc


def _requantized(store: Callable[[Array, Array, np.iinfo[Any]], Array]) -> Mapping[str, Instead]:
    """What is made of a quotient and the output's zero point, as reals; what the output does not hold wraps around."""

    def instead(right: Callable[..., Answer], xp: Any, desc: OperatorDesc, quotient: Array, error: Array, point: Array) -> Answer:
        dtype = np.dtype(desc.tensor("OutputTensor").data_type.lower())
        found = store(np.nan_to_num(quotient), point, np.iinfo(dtype))
        answer = right(xp, desc, quotient, error, point)
        return replace(
            answer, result=np.broadcast_to(np.clip(found, -(2.0**62), 2.0**62).astype(np.int64).astype(dtype), quotient.shape)
        )

    return {"pooling.requantize": instead}


def _saturated(value: Array, info: np.iinfo[Any]) -> Array:
    return np.clip(value, info.min, info.max)


def _rounded(rounding: Callable[[Array], Array]) -> Mapping[str, Instead]:
    return _requantized(lambda quotient, point, info: _saturated(rounding(quotient) + point, info))


def _by_magnitude(rounding: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda x: np.copysign(rounding(np.abs(x)), x)


def _half_up(x: Array) -> Array:
    return np.floor(x + 0.5)


def _half_down(x: Array) -> Array:
    return np.ceil(x - 0.5)


_ROUNDINGS: Mapping[str, tuple[str, Callable[[Array], Array]]] = {
    "trunc": ("toward zero", np.trunc),
    "floor": ("down", np.floor),
    "ceil": ("up", np.ceil),
    "outward": ("away from zero", _by_magnitude(np.ceil)),
    "away": ("to the nearest, halves away from zero", _by_magnitude(_half_up)),
    "half-up": ("to the nearest, halves up", _half_up),
    "half-down": ("to the nearest, halves down", _half_down),
    "half-inward": ("to the nearest, halves toward zero", _by_magnitude(_half_down)),
    "half-odd": (
        "to the nearest, halves to odd",
        lambda x: np.where(np.abs(x - np.trunc(x)) == 0.5, 2 * np.floor(x / 2) + 1, np.rint(x)),
    ),
}


def _rescaled(function: Callable[[Array, Array, Array, Array], Array]) -> Mapping[str, Instead]:
    """Of the sum of differences, the input's scale, the number of elements and the output's scale."""
    return {"pooling.rescale": lambda right, *args: function(*args)}


def _with_scale(name: str, change: Callable[[Array], Array]) -> Callable[[OperatorDesc, Inputs], Inputs]:
    return with_input(f"{name}ScaleTensor", lambda scale: change(scale).astype(scale.dtype))


def _padded_with_bytes(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    pads: Any = zip(desc.fields["StartPadding"], desc.fields["EndPadding"], strict=True)
    return {**inputs, "InputTensor": np.pad(inputs["InputTensor"], [(0, 0), (0, 0), *pads])}


FAULTS: Table = {
    "QUANTIZED_LINEAR_AVERAGE_POOLING": {
        **{f"rounds-{name}": Fault(f"rounds {does}", stages=_rounded(rounding)) for name, (does, rounding) in _ROUNDINGS.items()},
        "rounded-with-zero-point": Fault(
            "rounds after it adds the zero point", stages=_requantized(lambda q, point, info: _saturated(np.rint(q + point), info))
        ),
        "saturation-lost": Fault("wraps around", stages=_requantized(lambda q, point, info: np.rint(q) + point)),
        "saturated-before-zero-point": Fault(
            "saturates before it adds the zero point",
            stages=_requantized(lambda q, point, info: _saturated(np.rint(q), info) + point),
        ),
        "saturated-as-signed": Fault(
            "saturates between -128 and 127", stages=_requantized(lambda q, point, info: np.clip(np.rint(q) + point, -128, 127))
        ),
        "saturated-as-unsigned": Fault(
            "saturates between 0 and 255", stages=_requantized(lambda q, point, info: np.clip(np.rint(q) + point, 0, 255))
        ),
        "lowest-unused": Fault(
            "gives no -128, and no 0",
            stages=_requantized(lambda q, point, info: np.clip(np.rint(q) + point, info.min + 1, info.max)),
        ),
        "output-zero-point-subtracted": Fault(
            "subtracts OutputZeroPointTensor", stages=_requantized(lambda q, point, info: _saturated(np.rint(q) - point, info))
        ),
        "zero-point-added": Fault("adds InputZeroPointTensor", stages={"pooling.difference": lambda right, x, point: x + point}),
        "zero-point-wraps": Fault(
            "keeps 8 bits of a difference", stages=after("pooling.difference", lambda x: x.astype("i8").astype("i1").astype("f8"))
        ),
        "difference-saturated": Fault(
            "saturates differences at 8 bits", stages=after("pooling.difference", lambda x: np.clip(x, -128, 127))
        ),
        "sums-of-16-bits": Fault(
            "keeps 16 bits of a sum", stages=after("pooling.sum", lambda x: x.astype("i8").astype("i2").astype("f8"))
        ),
        "sums-saturated": Fault("saturates a sum at 16 bits", stages=after("pooling.sum", lambda x: np.clip(x, -32768, 32767))),
        "mean-rounded": Fault(
            "rounds the mean before it scales it",
            stages=_rescaled(lambda total, scale, count, out: np.rint(total / count) * scale / out),
        ),
        "mean-truncated": Fault(
            "cuts the mean before it scales it",
            stages=_rescaled(lambda total, scale, count, out: np.trunc(total / count) * scale / out),
        ),
        "scale-multiplied": Fault(
            "multiplies by the output's scale", stages=_rescaled(lambda total, scale, count, out: total / count * scale * out)
        ),
        "scale-divided": Fault(
            "divides by the input's scale", stages=_rescaled(lambda total, scale, count, out: total / count / scale / out)
        ),
        "scale-twice": Fault(
            "multiplies by the input's scale twice",
            stages=_rescaled(lambda total, scale, count, out: total / count * scale**2 / out),
        ),
        "quotient-of-scales-in-float16": Fault(
            "divides the scales in FLOAT16",
            stages=_rescaled(lambda total, scale, count, out: total / count * (scale / out).astype("f2")),
        ),
        **{
            f"{name}ScaleTensor-one": Fault(f"ignores {name}ScaleTensor", inputs=_with_scale(name, np.ones_like))
            for name in ("Input", "Output")
        },
        "padding-of-zero-bytes": Fault(
            "pads with bytes of 0",
            inputs=_padded_with_bytes,
            stages={"pooling.taps": lambda right, xp, axis, x, outside: right(xp, replace(axis, padding=0), x, outside)},
            when=lambda desc: bool(desc.fields["IncludePadding"]),
        ),
    },
}
"""What implementations of it get wrong."""
