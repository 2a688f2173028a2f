"""Faults in quantization, its inverse, and the addition of quantized tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.old.fault import Computed, Fault, Faults, of_result, planted
from dmlcts.conformance.mutants.old.mutant import Array, Mutant, Where
from dmlcts.conformance.mutants.old.rounding import ROUNDINGS
from dmlcts.spec.desc import OperatorDesc
from dmlcts.spec.model import DOCUMENTED, MEASURED

QUANTIZE, DEQUANTIZE = "ELEMENT_WISE_QUANTIZE_LINEAR", "ELEMENT_WISE_DEQUANTIZE_LINEAR"
QUANTIZED_ADD = "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"

Step = Callable[[Array], Array]


def _has(*names: str) -> Where:
    """Whether the desc has all of these tensors."""
    return lambda desc: all(desc.fields.get(name) is not None for name in names)


def _real(inputs: Mapping[str, Array], name: str) -> Any:
    return inputs[name].astype("f8") if name in inputs else 0.0


def _other_sign(x: Array) -> Array:
    """Bytes with a sign as bytes without, and the reverse."""
    return x.view({"i": "u", "u": "i"}[x.dtype.kind] + str(x.dtype.itemsize))


def _range(right: Array) -> tuple[float, float]:
    info = np.iinfo(right.dtype)
    return float(info.min), float(info.max)


def _limited(x: Any, right: Array) -> Any:
    return np.clip(x, *_range(right))


def _wrapped(x: Any) -> Any:
    """As an integer whose low byte is kept."""
    return np.clip(np.nan_to_num(x), -(2.0**62), 2.0**62).astype("i8")


@dataclass(frozen=True, slots=True)
class _Parts:
    """Quantization step by step: the quotient, and what is made of it with the zero point."""

    quotient: Callable[[Array, Array], Any] = lambda x, scale: x / scale
    point: Callable[[Any], Any] = lambda point: point
    stored: Callable[[Any, Any, Array], Any] = lambda quotient, point, right: _limited(np.rint(quotient) + point, right)


def _quantized(parts: _Parts) -> Computed:
    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        quotient = parts.quotient(inputs["InputTensor"].astype("f8"), inputs["ScaleTensor"].astype("f8"))
        return parts.stored(quotient, parts.point(_real(inputs, "ZeroPointTensor")), right)

    return computed


def _rounding(rounded: Step) -> Computed:
    return _quantized(_Parts(stored=lambda quotient, point, right: _limited(rounded(quotient) + point, right)))


def _signed_other(inputs: Mapping[str, Array], name: str) -> dict[str, Array]:
    return {**inputs, name: _other_sign(inputs[name])} if name in inputs else dict(inputs)


def _misread(computed: Computed, name: str) -> Computed:
    """With a tensor of bytes read with the other sign."""
    return lambda desc, inputs, right: computed(desc, _signed_other(inputs, name), right)


_ZERO_POINT = _has("ZeroPointTensor")

_QUANTIZE: dict[str, Fault] = {
    **{
        f"rounds-{name}": Fault(
            f"rounds {does}", _rounding(rounded), basis=MEASURED if name.startswith(("half", "away")) else DOCUMENTED
        )
        for name, (does, rounded) in ROUNDINGS.items()
        if name != "even"
    },
    "point-before-rounding": Fault(
        "adds the zero point before it rounds",
        _quantized(_Parts(stored=lambda q, point, right: _limited(np.rint(q + point), right))),
        basis=MEASURED,
        when=_ZERO_POINT,
    ),
    "point-ignored": Fault("takes no notice of the zero point", _quantized(_Parts(point=lambda point: 0.0)), when=_ZERO_POINT),
    "point-subtracted": Fault("subtracts the zero point", _quantized(_Parts(point=lambda point: -point)), when=_ZERO_POINT),
    "point-of-other-sign": Fault(
        "reads the zero point with the other sign", _misread(_quantized(_Parts()), "ZeroPointTensor"), when=_ZERO_POINT
    ),
    "point-scaled": Fault(
        "adds the zero point before it divides",
        lambda desc, inputs, right: _limited(
            np.rint((inputs["InputTensor"].astype("f8") + _real(inputs, "ZeroPointTensor")) / inputs["ScaleTensor"].astype("f8")),
            right,
        ),
        when=_ZERO_POINT,
    ),
    "wraps": Fault("does not saturate", _quantized(_Parts(stored=lambda q, point, right: _wrapped(np.rint(q) + point)))),
    "saturates-before-point": Fault(
        "saturates before it adds the zero point",
        _quantized(_Parts(stored=lambda q, point, right: _wrapped(_limited(np.rint(q), right) + point))),
        when=_ZERO_POINT,
    ),
    "saturates-at-127": Fault(
        "saturates symmetrically",
        _quantized(
            _Parts(stored=lambda q, point, right: np.clip(np.rint(q) + point, max(-127.0, _range(right)[0]), _range(right)[1]))
        ),
        when=lambda desc: desc.tensor("OutputTensor").data_type == "INT8",
    ),
    "saturates-as-signed": Fault(
        "saturates UINT8 at 127",
        _quantized(_Parts(stored=lambda q, point, right: np.clip(np.rint(q) + point, 0, 127))),
        when=lambda desc: desc.tensor("OutputTensor").data_type == "UINT8",
    ),
    "multiplies": Fault("multiplies by the scale", _quantized(_Parts(quotient=lambda x, scale: x * scale))),
    "by-reciprocal-of-float16": Fault(
        "multiplies by the scale's reciprocal in FLOAT16",
        _quantized(_Parts(quotient=lambda x, scale: x * (1 / scale).astype("f2").astype("f8"))),
    ),
    "scale-without-sign": Fault("takes the scale's magnitude", _quantized(_Parts(quotient=lambda x, scale: x / np.abs(scale)))),
    "not-scaled": Fault("does not divide", _quantized(_Parts(quotient=lambda x, scale: x))),
    "nan-as-point": Fault(
        "gives the zero point for NaN",
        _quantized(_Parts(stored=lambda q, point, right: _limited(np.where(np.isnan(q), 0, np.rint(q)) + point, right))),
        basis=MEASURED,
        when=_ZERO_POINT,
    ),
    "infinity-as-zero": Fault(
        "gives the zero point for infinity",
        _quantized(
            _Parts(
                stored=lambda q, point, right: np.where(
                    np.isnan(q), right, _limited(np.where(np.isfinite(q), np.rint(q), 0) + point, right)
                )
            )
        ),
        basis=MEASURED,
    ),
}


def _dequantized(function: Callable[[Any, Any, Any], Any]) -> Computed:
    """Of input, scale and zero point in FLOAT64."""
    return lambda desc, inputs, right: function(
        inputs["InputTensor"].astype("f8"), inputs["ScaleTensor"].astype("f8"), _real(inputs, "ZeroPointTensor")
    )


_BYTES = ("INT8", "UINT8")
_RIGHT_DEQUANTIZED = _dequantized(lambda x, scale, point: (x - point) * scale)

_DEQUANTIZE: dict[str, Fault] = {
    "rounds": Fault("rounds to integers", of_result(np.rint)),
    "magnitude": Fault("gives the magnitude", of_result(np.abs)),
    "scaled-twice": Fault("scales twice", _dequantized(lambda x, scale, point: (x - point) * scale * scale)),
    "scale-of-last": Fault("takes the last scale for all", _dequantized(lambda x, scale, point: (x - point) * scale.flat[-1])),
    "scale-added": Fault("adds the scale", _dequantized(lambda x, scale, point: (x - point) + scale)),
    "scale-first": Fault(
        "subtracts the zero point after it scaled", _dequantized(lambda x, scale, point: x * scale - point), when=_ZERO_POINT
    ),
    "point-ignored": Fault("takes no notice of the zero point", _dequantized(lambda x, scale, point: x * scale), when=_ZERO_POINT),
    "point-added": Fault("adds the zero point", _dequantized(lambda x, scale, point: (x + point) * scale), when=_ZERO_POINT),
    "divides": Fault("divides by the scale", _dequantized(lambda x, scale, point: (x - point) / scale)),
    "not-scaled": Fault("does not scale", _dequantized(lambda x, scale, point: x - point)),
    "input-of-other-sign": Fault("reads the input with the other sign", _misread(_RIGHT_DEQUANTIZED, "InputTensor")),
    "point-of-other-sign": Fault(
        "reads the zero point with the other sign", _misread(_RIGHT_DEQUANTIZED, "ZeroPointTensor"), when=_ZERO_POINT
    ),
    "difference-wraps": Fault(
        "subtracts in the input's own type",
        lambda desc, inputs, right: (
            (inputs["InputTensor"] - inputs["ZeroPointTensor"]).astype("f8") * inputs["ScaleTensor"].astype("f8")
        ),
        when=_ZERO_POINT,
    ),
    "difference-saturates": Fault(
        "saturates the difference to the input's type",
        lambda desc, inputs, right: (
            _limited(inputs["InputTensor"].astype("f8") - inputs["ZeroPointTensor"], inputs["InputTensor"])
            * inputs["ScaleTensor"].astype("f8")
        ),
        when=_ZERO_POINT,
    ),
    "difference-at-least-0": Fault(
        "gives 0 below the zero point", _dequantized(lambda x, scale, point: np.maximum(x - point, 0) * scale)
    ),
    "input-of-16-bits": Fault(
        "reads the low 16 bits of the input",
        lambda desc, inputs, right: (
            ((inputs["InputTensor"] & 0xFFFF).astype("f8") - _real(inputs, "ZeroPointTensor")) * inputs["ScaleTensor"].astype("f8")
        ),
        ("INT32", "UINT32"),
    ),
    "input-in-float16": Fault(
        "takes the input as FLOAT16",
        _dequantized(lambda x, scale, point: (x.astype("f2").astype("f8") - point) * scale),
        ("INT16", "UINT16", "INT32", "UINT32"),
    ),
    "scale-without-sign": Fault("takes the scale's magnitude", _dequantized(lambda x, scale, point: (x - point) * np.abs(scale))),
    "scale-in-float16": Fault(
        "takes the scale as FLOAT16",
        _dequantized(lambda x, scale, point: (x - point) * scale.astype("f2").astype("f8")),
        when=lambda desc: desc.tensor("ScaleTensor").data_type == "FLOAT32",
    ),
}


# Addition


def _added(function: Callable[[Any, Any, Any, Any, Array], Any], *left_out: str) -> Computed:
    """Of both dequantized tensors, the output's scale and zero point, and the right output; with tensors left out: scales are then 1."""

    def computed(desc: OperatorDesc, inputs: Mapping[str, Array], right: Array) -> Any:
        values = []
        for name in ("A", "B"):
            scale = 1.0 if f"{name}ScaleTensor" in left_out else inputs[f"{name}ScaleTensor"].astype("f8")
            point = 0.0 if f"{name}ZeroPointTensor" in left_out else _real(inputs, f"{name}ZeroPointTensor")
            values.append((inputs[f"{name}Tensor"].astype("f8") - point) * scale)
        scale = 1.0 if "OutputScaleTensor" in left_out else inputs["OutputScaleTensor"].astype("f8")
        point = 0.0 if "OutputZeroPointTensor" in left_out else _real(inputs, "OutputZeroPointTensor")
        a, b = values
        return function(a, b, scale, point, right)

    return computed


def _stored_sum(a: Any, b: Any, scale: Any, point: Any, right: Array) -> Any:
    return _limited(np.rint((a + b) / scale) + point, right)


def _sum_rounded(rounded: Step) -> Computed:
    return _added(lambda a, b, scale, point, right: _limited(rounded((a + b) / scale) + point, right))


def _misread_scale(name: str, other: str) -> Computed:
    """One scale read for the other."""
    return lambda desc, inputs, right: _added(_stored_sum)(desc, {**inputs, name: inputs[other]}, right)


_ADD: dict[str, Fault] = {
    **{
        f"{name}-ignored": Fault(f"takes no notice of {name}", _added(_stored_sum, name))
        for name in ("AScaleTensor", "BScaleTensor", "OutputScaleTensor")
    },
    **{
        f"{name}-ignored": Fault(f"takes no notice of {name}", _added(_stored_sum, name), when=_has(name))
        for name in ("AZeroPointTensor", "BZeroPointTensor", "OutputZeroPointTensor")
    },
    **{
        f"{name}-of-other-sign": Fault(f"reads {name} with the other sign", _misread(_added(_stored_sum), name), when=_has(name))
        for name in ("ATensor", "BTensor", "AZeroPointTensor", "BZeroPointTensor", "OutputZeroPointTensor")
    },
    **{
        f"rounds-{name}": Fault(
            f"rounds {does}", _sum_rounded(rounded), basis=MEASURED if name.startswith(("half", "away")) else DOCUMENTED
        )
        for name, (does, rounded) in ROUNDINGS.items()
        if name != "even"
    },
    "scale-of-a-for-b": Fault("scales B by A's scale", _misread_scale("BScaleTensor", "AScaleTensor")),
    "scale-of-b-for-a": Fault("scales A by B's scale", _misread_scale("AScaleTensor", "BScaleTensor")),
    "integers-added": Fault(
        "adds the integers as they are",
        lambda desc, inputs, right: _limited(inputs["ATensor"].astype("f8") + inputs["BTensor"].astype("f8"), right),
    ),
    "point-before-rounding": Fault(
        "adds the zero point before it rounds",
        _added(lambda a, b, scale, point, right: _limited(np.rint((a + b) / scale + point), right)),
        basis=MEASURED,
        when=_has("OutputZeroPointTensor"),
    ),
    "requantized-apart": Fault(
        "quantizes both terms before it adds",
        _added(lambda a, b, scale, point, right: _limited(np.rint(a / scale) + np.rint(b / scale) + point, right)),
    ),
    "wraps": Fault("does not saturate", _added(lambda a, b, scale, point, right: _wrapped(np.rint((a + b) / scale) + point))),
    "saturates-before-point": Fault(
        "saturates before it adds the zero point",
        _added(lambda a, b, scale, point, right: _wrapped(_limited(np.rint((a + b) / scale), right) + point)),
        when=_has("OutputZeroPointTensor"),
    ),
    "multiplies": Fault(
        "multiplies by the output's scale",
        _added(lambda a, b, scale, point, right: _limited(np.rint((a + b) * scale) + point, right)),
    ),
    "subtracts": Fault("subtracts B", _added(lambda a, b, scale, point, right: _stored_sum(a, -b, scale, point, right))),
}

QUANTIZATION: Faults = {QUANTIZE: _QUANTIZE, DEQUANTIZE: _DEQUANTIZE, QUANTIZED_ADD: _ADD}


def quantization_mutants() -> Iterator[Mutant]:
    """Every value fault of quantization."""
    yield from planted(QUANTIZATION)
