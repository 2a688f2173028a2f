"""Sums of products, as an answer: the exact value and what bounds its error, a fused activation included.

The judge composes the bound of a sum from its magnitude and its number of terms (class accumulate). Where an activation follows, the sum
is never seen: what it may be off by comes in as the slack of the activation's argument.
"""

from __future__ import annotations

from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.fused import activated
from dmlcts.spec.desc import OperatorDesc

_ROUNDOFF = 2.0**-23
"""Of a sum in FLOAT32, where truncation is allowed."""

_SMALLEST = 2.0**-126
"""A term below this may have been flushed."""


def sum_error(xp: Any, magnitude: Array, terms: Array | int) -> Array:
    """What a sum of ``terms`` terms in FLOAT32 may be off by, in any order: Higham's bound. 0 where every term is 0.

    Raises:
        ZeroDivisionError: never for tensors that fit in memory: it takes 2^23 terms.
    """
    relative = terms * _ROUNDOFF / (1 - terms * _ROUNDOFF)
    return xp.where(magnitude == 0, 0.0, relative * magnitude + terms * _SMALLEST)


def accumulated(xp: Any, desc: OperatorDesc, value: Array, magnitude: Array, terms: Array | int) -> Answer:
    """The answer of a sum (float64), or of the activation in ``FusedActivation`` of it.

    ``magnitude`` is the sum of the terms' absolute values, ``terms`` their number; both may be arrays of the output's sizes.
    """
    if not isinstance(desc.fields.get("FusedActivation"), OperatorDesc):
        return Answer(value, magnitude=magnitude, terms=terms)
    return activated(xp, desc.fields, value, sum_error(xp, magnitude, terms))
