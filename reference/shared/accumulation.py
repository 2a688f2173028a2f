"""Sums of products, as an answer: the exact value and what bounds its error, a fused activation included.

The judge composes the bound of a sum from its magnitude and its number of terms (class accumulate). Where an activation follows, the sum
is never seen: what it may be off by comes in as the slack of the activation's argument.

The documentation says nothing of precision, and DirectML.dll does not keep FLOAT32 throughout when the tensors are FLOAT16: what it passes
from one of its programs to the next (the sum before a fused activation, a product before a bias is added, the parts of a long sum) it
stores as FLOAT16. The former is allowed here; which of the others an operator has, its reference says by ``between``.
"""

from __future__ import annotations

from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.shared.fused import HALF_LARGEST, HALF_ROUNDOFF, HALF_SPACING, activate_fused, stored_error
from dmlcts.spec.model.desc import OperatorDesc

_ROUNDOFF = 2.0**-23
"""Of a sum in FLOAT32, where truncation is allowed."""

_SMALLEST = 2.0**-126
"""A term below this may have been flushed."""

PART = 16
"""DirectML.dll splits a long sum of FLOAT16 into parts of whole sixteens of terms, each of which is stored as FLOAT16."""

WHOLE = 64
"""Terms up to which a sum is not split: 95 (CONVOLUTION) and 96 (GEMM) are the most that it was measured to leave whole, whatever the sizes."""

OVERFLOW = 2.0**128
"""What FLOAT32 does not hold."""


def sum_error(xp: Any, magnitude: Array, terms: Array | int) -> Array:
    """What a sum of ``terms`` terms in FLOAT32 may be off by, in any order: Higham's bound. 0 where every term is 0.

    ``terms`` are fewer than 2^23, the most for which a bound holds.
    """
    relative = terms * _ROUNDOFF / (1 - terms * _ROUNDOFF)
    return xp.where(magnitude == 0, 0.0, relative * magnitude + terms * _SMALLEST)


def between_error(xp: Any, between: Array, count: Array | int = 1) -> Array:
    """What ``count`` numbers stored as FLOAT16 are off by together, whose absolute values add up to ``between``.

    Infinite where one of them may not be held: the result may then be anything. 0 where one is infinite itself, or NaN.
    """
    error = (HALF_ROUNDOFF * between + count * HALF_SPACING) * (between > 0)
    if bool((between <= HALF_LARGEST).all()):
        return error
    return xp.where(between <= HALF_LARGEST, error, xp.where(between < xp.inf, xp.inf, 0.0))


def accumulated_answer(
    xp: Any, desc: OperatorDesc, value: Array, magnitude: Array, terms: Array | int, error: Array | None = None
) -> Answer:
    """The answer of a sum (float64), or of the activation in ``FusedActivation`` of it.

    ``magnitude`` is the sum of the terms' absolute values, ``terms`` their number; both may be arrays of the output's sizes. ``error`` is what
    the sum may be off by for other reasons (its terms, ``between_error``), infinite where it has no bound, be it infinite or NaN.
    """
    if error is not None:
        error = xp.where(xp.isfinite(value) | (error == xp.inf), error, 0.0)
    if desc.inner() is None:
        if error is None:
            return Answer(value, magnitude=magnitude, terms=terms)
        return Answer(value, magnitude=magnitude, terms=terms, slack=error, defined=error < xp.inf)
    # A sum that overflows on its way, in one order or another, leaves open what is activated.
    own = xp.where(magnitude < OVERFLOW, sum_error(xp, magnitude, terms), xp.inf)
    own = xp.where(xp.isfinite(value), own, 0.0)
    own = own if error is None else own + error
    own = own + stored_error(xp, desc, xp.where(xp.isfinite(own), xp.abs(value) + own, 0.0))
    return activate_fused(xp, desc.fields, value, own)
