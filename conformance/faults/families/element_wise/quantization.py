"""Faults of quantization, its inverse, and the addition of quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmlcts.conformance.faults.families.elements import change_stored, step, table
from dmlcts.conformance.faults.families.quantized import REQUANTIZE
from dmlcts.conformance.faults.model.fault import PRECISIONS, Fault, Inputs, Table, change_result, roundings
from dmlcts.reference.answer import Array
from dmlcts.spec.model.desc import OperatorDesc

_QUOTIENT, _DEQUANTIZE = "element_wise.divide_by_scale", "element_wise.dequantize"


def _infinity_as_zero(right: Any, xp: Any, quotient: Array, *rest: Any) -> Array:
    found: Array = right(xp, np.where(np.isinf(quotient), 0.0, quotient), *rest)
    return found


def _has_point(desc: OperatorDesc) -> bool:
    return desc.fields["ZeroPointTensor"] is not None


def _saturated_difference(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    """Of input and zero point in their own type."""
    x, ends = inputs["InputTensor"], np.iinfo(inputs["InputTensor"].dtype)
    return np.clip(x.astype("f8") - inputs["ZeroPointTensor"], ends.min, ends.max) * inputs["ScaleTensor"].astype("f8")


def _quantize_apart(desc: OperatorDesc, inputs: Inputs, right: Array) -> Array:
    """Both terms quantized before they are added."""
    real: Any = {name: x.astype("f8") for name, x in inputs.items()}
    terms = ((real[f"{n}Tensor"] - real.get(f"{n}ZeroPointTensor", 0)) * real[f"{n}ScaleTensor"] for n in "AB")
    total = sum(np.rint(term / real["OutputScaleTensor"]) for term in terms) + real.get("OutputZeroPointTensor", 0)
    return np.where(np.isnan(total), right, np.clip(total, np.iinfo(right.dtype).min, np.iinfo(right.dtype).max))


_FAULTS: Table = {
    "QUANTIZE_LINEAR QUANTIZED_LINEAR_ADD": {
        **{label: fault for label, fault in REQUANTIZE.items() if not label.startswith("nan-")},
        "infinity-as-zero": Fault("gives the zero point for infinity", stages={"quantized.requantize": _infinity_as_zero}),
        "multiplies": step("multiplies by the scale", _QUOTIENT, lambda x, scale: x * scale),
    },
    "QUANTIZE_LINEAR": {
        **roundings("quotients", _QUOTIENT),
        "point-scaled": change_stored(
            "adds the zero point before it divides", lambda y, x, s, p: np.rint((x + p) / s), (), _has_point
        ),
        "nan-as-point": change_stored(
            "gives the zero point for NaN", lambda y, x, s, p: np.where(np.isnan(x / s), p, y), (), _has_point
        ),
    },
    "DEQUANTIZE_LINEAR QUANTIZED_LINEAR_ADD": {
        "scale-first": step("scales and subtracts the zero point", _DEQUANTIZE, lambda x, point, scale: x * scale - point),
        "at-least-0": step("gives 0 below the zero point", _DEQUANTIZE, lambda x, point, scale: np.maximum(x - point, 0) * scale),
    },
    "DEQUANTIZE_LINEAR": {
        "rounds": change_stored("rounds to integers", lambda y, *_: np.rint(y)),
        "difference-saturates": Fault("saturates the difference", _saturated_difference, when=_has_point),
        "input-of-16-bits": Fault(
            "reads the low 16 bits of the input",
            types=("INT32", "UINT32"),
            inputs=lambda desc, inputs: {**inputs, "InputTensor": inputs["InputTensor"] & 0xFFFF},
        ),
        "input-in-float16": change_stored(
            "converts the input to FLOAT16",
            lambda y, x, s, p=0: (np.float64(np.float16(x)) - p) * s,
            ("INT16", "UINT16", "INT32", "UINT32"),
        ),
    },
    "QUANTIZED_LINEAR_ADD": {
        **{
            f"terms-{label}": Fault(f"rounds both terms to {type_}", stages=change_result(_DEQUANTIZE, rounding))
            for label, (type_, _, rounding) in PRECISIONS.items()
        },
        "requantized-apart": Fault("quantizes both terms before it adds", _quantize_apart),
    },
}

FAULTS = table("ELEMENT_WISE_", _FAULTS)
"""What implementations of them get wrong."""
