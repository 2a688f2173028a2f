"""Faults of quantization, its inverse, and the addition of quantized tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dmlcts.conformance.mutants.families.element_wise.rounding import ROUNDINGS
from dmlcts.conformance.mutants.families.elements import step, stored, table
from dmlcts.conformance.mutants.fault import PRECISIONS, Fault, Inputs, Table, Value, after, roundings
from dmlcts.reference.answer import Array
from dmlcts.spec.desc import OperatorDesc

_QUOTIENT, _DEQUANTIZE = "element_wise.divide_by_scale", "element_wise.dequantize"


def _stored(does: str, instead: Callable[..., Any], type_: str = "") -> Fault:
    """``instead(quotient, zero point, least, most)``: what is rounded, moved and saturated; integers wrap around."""

    def requantized(right: Any, xp: Any, quotient: Array, point: Any, nan: float, least: float, most: float) -> Array:
        found = np.int64(np.clip(np.nan_to_num(instead(quotient, point, least, most)), -(2.0**62), 2.0**62))
        wrapped = found.astype("i1" if least < 0 else "u1").astype("f8")
        return np.where(np.isnan(quotient), right(xp, quotient, point, nan, least, most), wrapped)

    when = (lambda desc: desc.tensor("OutputTensor").data_type == type_) if type_ else None
    return Fault(does, when=when, stages={"quantized.requantize": requantized})


def _has_point(desc: OperatorDesc) -> bool:
    return desc.fields["ZeroPointTensor"] is not None


def _difference(difference: Callable[[Array, Array], Array]) -> Value:
    """Of input and zero point in their own type, or 0."""
    return lambda desc, inputs, right: (
        difference(inputs["InputTensor"], inputs["ZeroPointTensor"]).astype("f8") * inputs["ScaleTensor"].astype("f8")
    )


def _saturated_difference(x: Array, point: Array) -> Array:
    return np.clip(x.astype("f8") - point, np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)


def _without_scale(name: str) -> Fault:
    return Fault(f"ignores {name}", inputs=lambda desc, inputs: {**inputs, name: np.ones_like(inputs[name])})


def _apart(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    """Both terms quantized before they are added."""
    real: Any = {name: x.astype("f8") for name, x in inputs.items()}
    terms = ((real[f"{n}Tensor"] - real.get(f"{n}ZeroPointTensor", 0)) * real[f"{n}ScaleTensor"] for n in "AB")
    total = sum(np.rint(term / real["OutputScaleTensor"]) for term in terms) + real.get("OutputZeroPointTensor", 0)
    return np.where(np.isnan(total), right, np.clip(total, np.iinfo(right.dtype).min, np.iinfo(right.dtype).max))


_FAULTS: Table = {
    "QUANTIZE_LINEAR QUANTIZED_LINEAR_ADD": {
        **{
            f"rounds-{name}": _stored(f"rounds {does}", lambda q, point, *ends, f=rounding: np.clip(f(q) + point, *ends))
            for name, (does, rounding) in ROUNDINGS.items()
            if name != "even"
        },
        "point-before-rounding": _stored("adds the zero point first", lambda q, point, *ends: np.clip(np.rint(q + point), *ends)),
        "point-subtracted": _stored("subtracts the zero point", lambda q, point, *ends: np.clip(np.rint(q) - point, *ends)),
        "wraps": _stored("does not saturate", lambda q, point, *ends: np.rint(q) + point),
        "saturates-first": _stored("saturates before it adds", lambda q, point, *ends: np.clip(np.rint(q), *ends) + point),
        "saturates-at-127": _stored("has no -128", lambda q, point, *ends: np.clip(np.rint(q) + point, -127, 127), "INT8"),
        "saturates-as-signed": _stored("has no 128", lambda q, point, *ends: np.clip(np.rint(q) + point, 0, 127), "UINT8"),
        "infinity-as-zero": _stored(
            "gives the zero point for infinity",
            lambda q, point, *ends: np.clip(np.where(np.isinf(q), 0, np.rint(q)) + point, *ends),
        ),
        "multiplies": step("multiplies by the scale", _QUOTIENT, lambda x, scale: x * scale),
    },
    "QUANTIZE_LINEAR": {
        **roundings("quotients", _QUOTIENT),
        "point-scaled": stored("adds the zero point before it divides", lambda y, x, s, p: np.rint((x + p) / s), (), _has_point),
        "nan-as-point": stored("gives the zero point for NaN", lambda y, x, s, p: np.where(np.isnan(x / s), p, y), (), _has_point),
    },
    "DEQUANTIZE_LINEAR QUANTIZED_LINEAR_ADD": {
        "scale-first": step("scales and subtracts the zero point", _DEQUANTIZE, lambda x, point, scale: x * scale - point),
        "point-added": step("adds the zero point", _DEQUANTIZE, lambda x, point, scale: (x + point) * scale),
        "divides": step("divides by the scale", _DEQUANTIZE, lambda x, point, scale: (x - point) / scale),
        "at-least-0": step("gives 0 below the zero point", _DEQUANTIZE, lambda x, point, scale: np.maximum(x - point, 0) * scale),
    },
    "DEQUANTIZE_LINEAR": {
        "rounds": stored("rounds to integers", lambda y, *_: np.rint(y)),
        "difference-wraps": Fault("subtracts in the input's own type", _difference(np.subtract), when=_has_point),
        "difference-saturates": Fault("saturates the difference", _difference(_saturated_difference), when=_has_point),
        "input-of-16-bits": Fault(
            "reads the low 16 bits of the input",
            types=("INT32", "UINT32"),
            inputs=lambda desc, inputs: {**inputs, "InputTensor": inputs["InputTensor"] & 0xFFFF},
        ),
        "input-in-float16": stored(
            "converts the input to FLOAT16",
            lambda y, x, s, p=0: (np.float64(np.float16(x)) - p) * s,
            ("INT16", "UINT16", "INT32", "UINT32"),
        ),
    },
    "QUANTIZED_LINEAR_ADD": {
        **{f"{name}-ignored": _without_scale(name) for name in ("AScaleTensor", "BScaleTensor", "OutputScaleTensor")},
        **{
            f"terms-{label}": Fault(f"rounds both terms to {type_}", stages=after(_DEQUANTIZE, rounding))
            for label, (type_, _, rounding) in PRECISIONS.items()
        },
        "requantized-apart": Fault("quantizes both terms before it adds", _apart),
        "subtracts": Fault("subtracts B", inputs=lambda desc, inputs: {**inputs, "BScaleTensor": -inputs["BScaleTensor"]}),
    },
}

FAULTS = table("ELEMENT_WISE_", _FAULTS)
"""What implementations of them get wrong."""
