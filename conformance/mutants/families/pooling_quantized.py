"""Faults of averages of quantized numbers, beside those of any average (``pooling``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.fault import Array, Fault, Inputs, Steps, Table, adjusted, computed
from dmlcts.reference.answer import Answer
from dmlcts.spec.desc import OperatorDesc


def _stored(store: Callable[[Array, Array, np.iinfo[Any]], Array]) -> Callable[..., Answer]:
    """Of a quotient and the output's zero point, as reals, another result; what the output does not hold wraps around."""

    def answer(desc: OperatorDesc, quotient: Array, error: Array, point: Array) -> Answer:
        dtype = np.dtype(desc.tensor("OutputTensor").data_type.lower())
        found = np.clip(store(np.nan_to_num(quotient), point, np.iinfo(dtype)), -(2.0**62), 2.0**62).astype(np.int64).astype(dtype)
        return Answer(quotient, result=np.broadcast_to(found, quotient.shape))

    return answer


def _rounded(rounding: Callable[[Array], Array]) -> Callable[..., Answer]:
    return _stored(lambda quotient, point, info: np.clip(rounding(quotient) + point, info.min, info.max))


def _padded_with_bytes(desc: OperatorDesc, inputs: Inputs) -> Inputs:
    fields: Mapping[str, Any] = desc.fields
    pads = zip(fields["StartPadding"], fields["EndPadding"], strict=True)
    return {**inputs, "InputTensor": np.pad(inputs["InputTensor"], [(0, 0), (0, 0), *pads])}


_STEPS: Steps = {
    "pooling.difference": {"zero-point-added": ("adds InputZeroPointTensor", lambda x, point: x + point)},
    "pooling.rescale": {
        "mean-rounded": (
            "rounds the mean before it scales it",
            lambda total, scale, count, out: np.rint(total / count) * scale / out,
        ),
        "mean-truncated": (
            "cuts the mean before it scales it",
            lambda total, scale, count, out: np.trunc(total / count) * scale / out,
        ),
        "input-scale-ignored": ("ignores InputScaleTensor", lambda total, scale, count, out: total / count / out),
        "output-scale-ignored": ("ignores OutputScaleTensor", lambda total, scale, count, out: total / count * scale),
        "scale-multiplied": ("multiplies by the output's scale", lambda total, scale, count, out: total / count * scale * out),
        "scale-divided": ("divides by the input's scale", lambda total, scale, count, out: total / count / scale / out),
        "scale-twice": ("multiplies by the input's scale twice", lambda total, scale, count, out: total / count * scale**2 / out),
        "scales-in-float16": (
            "divides scales in FLOAT16",
            lambda total, scale, count, out: total / count * (scale / out).astype("f2"),
        ),
    },
    "pooling.requantize": {
        "rounds-trunc": ("rounds toward zero", _rounded(np.trunc)),
        "rounds-floor": ("rounds down", _rounded(np.floor)),
        "rounds-ceil": ("rounds up", _rounded(np.ceil)),
        "rounds-away": ("rounds halves away from zero", _rounded(lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x))),
        "rounds-half-up": ("rounds halves up", _rounded(lambda x: np.floor(x + 0.5))),
        "rounds-half-inward": ("rounds halves toward zero", _rounded(lambda x: np.copysign(np.ceil(np.abs(x) - 0.5), x))),
        "rounded-with-zero-point": (
            "rounds after it adds the zero point",
            _stored(lambda quotient, point, info: np.clip(np.rint(quotient + point), info.min, info.max)),
        ),
        "output-zero-point-subtracted": (
            "subtracts OutputZeroPointTensor",
            _stored(lambda quotient, point, info: np.clip(np.rint(quotient) - point, info.min, info.max)),
        ),
        "saturation-lost": ("wraps around", _stored(lambda quotient, point, info: np.rint(quotient) + point)),
        "saturated-before-zero-point": (
            "saturates before it adds the zero point",
            _stored(lambda quotient, point, info: np.clip(np.rint(quotient), info.min, info.max) + point),
        ),
        "saturated-as-signed": (
            "saturates between -128 and 127",
            _stored(lambda q, point, info: np.clip(np.rint(q) + point, -128, 127)),
        ),
        "saturated-as-unsigned": (
            "saturates between 0 and 255",
            _stored(lambda q, point, info: np.clip(np.rint(q) + point, 0, 255)),
        ),
        "lowest-unused": ("gives no -128, and no 0", _stored(lambda q, p, info: np.clip(np.rint(q) + p, info.min + 1, info.max))),
    },
}
_RANGES: Steps = {
    "pooling.difference": {
        "zero-point-wraps": ("keeps 8 bits of a difference", lambda x: x.astype("i8").astype("i1").astype("f8")),
        "difference-saturated": ("saturates differences at 8 bits", lambda x: np.clip(x, -128, 127)),
    },
    "pooling.sum": {
        "sums-of-16-bits": ("keeps 16 bits of a sum", lambda x: x.astype("i8").astype("i2").astype("f8")),
        "sums-saturated": ("saturates a sum at 16 bits", lambda x: np.clip(x, -32768, 32767)),
    },
}

FAULTS: Table = {
    "QUANTIZED_LINEAR_AVERAGE_POOLING": {
        **computed(_STEPS),
        **adjusted(_RANGES),
        "padding-of-zero-bytes": Fault(
            "pads with bytes of 0",
            inputs=_padded_with_bytes,
            stages={"pooling.taps": lambda right, xp, axis, x, outside: right(xp, replace(axis, padding=0), x, outside)},
            when=lambda desc: bool(desc.fields["IncludePadding"]),
        ),
    },
}
"""What implementations of it get wrong."""
