"""What the references of activations have in common: one input, and attributes that are FLOATs.

They are also called as the activation inside another operator's desc: with float64 values, and without tensor descs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import Reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

Activation = Callable[..., Answer]
"""``f(xp, x, ...)`` of an array namespace, the input in float64, and the attributes in the struct's order."""


def attributes(xp: Any, desc: OperatorDesc) -> tuple[float, ...]:
    """The FLOAT attributes in the struct's order, as the desc holds them: rounded to FLOAT32."""
    return tuple(float(xp.float32(value)) for value in desc.fields.values() if isinstance(value, int | float))


@stage("activation.function")
def apply_function(function: Callable[..., Answer], xp: Any, *operands: Any) -> Answer:
    """``function(xp, *operands)``: what the activation makes of its elements, of an input in float64 and the attributes for most."""
    return function(xp, *operands)


def activation(function: Activation) -> Reference:
    """The reference of ``OutputTensor = function(InputTensor)`` for floating-point types."""

    def run(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        x = inputs["InputTensor"].astype(xp.float64)
        return {"OutputTensor": apply_function(function, xp, x, *attributes(xp, desc))}

    return run


def is_integer(x: Array) -> bool:
    """Whether the array is of an integer type."""
    return bool(x.dtype.kind in "iu")
