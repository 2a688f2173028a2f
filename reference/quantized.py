"""What operators on quantized tensors share: a real number rounded to 8 bits, as the least and the largest integer that it may become."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.spec.desc import OperatorDesc, TensorDesc

DIVISION = 2.5
"""ULPs that a FLOAT32 division may be off."""


def real(xp: Any, inputs: Mapping[str, Array], name: str) -> Array | float:
    """A tensor as float64; 0 where an optional one is absent."""
    return inputs[name].astype(xp.float64) if name in inputs else 0.0


def power_of_two(xp: Any, x: Array) -> Array:
    """Where a division by x changes the exponent alone."""
    return xp.abs(xp.frexp(x)[0]) == 0.5


def stored(xp: Any, desc: OperatorDesc, quotient: Array, error: Array, zero_point: Array | float, nan: float) -> Answer:
    """The quotient, off by ``error`` at most, rounded, moved by the zero point and saturated; ``nan``, or the least integer above it, for NaN."""
    output = desc.fields["OutputTensor"]
    assert isinstance(output, TensorDesc)
    dtype, (least, most) = (xp.int8, (-128.0, 127.0)) if output.data_type == "INT8" else (xp.uint8, (0.0, 255.0))

    def rounded(value: Array) -> Array:
        moved = xp.round(value) + zero_point
        return xp.where(xp.isnan(value), max(nan, least), xp.clip(xp.where(xp.isnan(moved), 0.0, moved), least, most))

    error = xp.where(xp.isfinite(error), error, 0.0)
    low, high = rounded(quotient - error), rounded(quotient + error)
    return Answer((low + high) / 2, slack=(high - low) / 2, result=rounded(quotient).astype(dtype))
