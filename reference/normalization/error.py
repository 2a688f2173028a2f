"""What computing a normalization in FLOAT32 may be off by, step by step: the pieces that the bounds of this family are composed of.

The documentation gives formulas and no precision. Each step counts with the starting bounds of the operator that it is: a sum of L terms
with L units, a product or a sum of two with one, a root with 3, a quotient with 2.5. Errors are absolute, and all are carried on to the
output as ``Answer.slack``.

Between its steps DirectML.dll stores numbers in the tensors' type, and truncates: of FLOAT16 tensors a mean, a variance or a norm has the
error of a FLOAT16 store, whatever the precision in which it was computed; beyond 65504 it is lost. An implementation that keeps FLOAT32 is
far inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.fused import activated, stored_error
from dmlcts.spec.desc import OperatorDesc

UNIT = 2.0**-23
"""Of a number computed in FLOAT32, where truncation is allowed."""

ROOT, QUOTIENT = 3.0, 2.5
"""Units that a square root and a division may be off by."""

_TINY = 2.0**-126
"""What is smaller may be flushed."""


def attribute(xp: Any, desc: OperatorDesc, name: str) -> float:
    """A FLOAT attribute, as the desc holds it."""
    value = desc.fields[name]
    assert isinstance(value, int | float)
    return float(xp.float32(value))


def along(xp: Any, x: Array, axes: Sequence[int]) -> tuple[Array, int]:
    """The sum over ``axes``, which stay as ones, and how many elements each has. Without axes each element is a sum of its own."""
    return (xp.sum(x, axis=tuple(axes), keepdims=True) if axes else x), prod(x.shape[axis] for axis in axes)


def summed(terms: int, magnitude: Array) -> Array:
    """The error of a sum of ``terms`` numbers whose absolute values add up to ``magnitude``, in any order."""
    return terms * (UNIT * magnitude + _TINY)


def inverse_root(xp: Any, square: Array, error: Array, epsilon: float) -> tuple[Array, Array]:
    """``1 / sqrt(square + epsilon)``, and the share of it that it may be off by when ``square`` is off by ``error``.

    The share is infinite where the error reaches down to a root of zero: nothing can be said of such a quotient.
    """
    argument = square + epsilon
    least = argument - error - UNIT * xp.abs(argument)
    share = xp.where(least > 0, xp.sqrt(argument / xp.where(least > 0, least, 1.0)) - 1, xp.inf)
    return 1 / xp.sqrt(argument), xp.where(xp.isfinite(argument), share, 0.0) + (ROOT + QUOTIENT) * UNIT


def finished(xp: Any, desc: OperatorDesc, value: Array, error: Array, known: Array) -> Answer:
    """The answer for a result off by ``error``, or for what the fused activation makes of it; nothing is said where it is not ``known``.

    Of FLOAT16 tensors what an activation sees may have been stored: DirectML.dll does so.
    """
    error = xp.where(xp.isfinite(value) & known, error, 0.0)
    if isinstance(desc.fields.get("FusedActivation"), OperatorDesc):
        error = error + stored_error(xp, desc, value)
    answer = activated(xp, desc.fields, value, error)
    defined = known if answer.defined is None else known & answer.defined
    return replace(answer, defined=xp.broadcast_to(defined, value.shape))
