"""Signs and absolute values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.element_wise.arithmetic import is_real, least
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.element_wise import apply_function
from dmlcts.reference.shared.scale_bias import ROUNDOFF, apply_with_error, scale_argument
from dmlcts.spec.model.desc import OperatorDesc


def _positive(xp: Any, x: Array, value: Array) -> Answer:
    """``value``, of integers ``x``: their negatives or absolute values.

    The least of a type has none in it. The page does not say what it becomes, so that nothing is defined; DirectML.dll was measured to
    limit it to the largest number in narrow types, which it computes in 32 bits, and to leave it as it is in others.
    """
    known = x != least(xp, x)
    if x.dtype.itemsize < 4:
        value = xp.where(known, value, x.dtype.type(xp.iinfo(x.dtype).max))
    return Answer(value, defined=known)


@reference("ELEMENT_WISE_NEGATE")
def negate(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``-x``."""
    x = inputs["InputTensor"]
    value = apply_function(lambda xp, x: -x, xp, x)
    return {"OutputTensor": Answer(value) if is_real(x) else _positive(xp, x, value)}


@reference("ELEMENT_WISE_SIGN")
def sign(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """1 above zero, -1 below, else 0: of both zeros, and of NaN."""
    x = inputs["InputTensor"]
    return {"OutputTensor": Answer(apply_function(lambda xp, x: (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype), xp, x))}


@reference("ELEMENT_WISE_ABS")
def absolute(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``abs(x * Scale + Bias)``.

    Of integers, DirectML.dll was measured to compute the argument in FLOAT32 and to truncate it. What lies beyond the type the page leaves
    open: not defined.
    """
    x = inputs["InputTensor"]
    size = partial(apply_function, lambda xp, x: xp.abs(x))
    argument, error = scale_argument(xp, desc, x)
    if is_real(x):
        return {"OutputTensor": apply_with_error(xp, size, argument, error)}
    if error is None:
        return {"OutputTensor": _positive(xp, x, size(xp, x))}
    # The conversion of a large integer to FLOAT32 is rounded as well.
    slack = error + ROUNDOFF * (xp.abs(argument) + error)
    value, largest = size(xp, argument), float(xp.iinfo(x.dtype).max)
    stored = xp.minimum(xp.trunc(value), largest).astype(x.dtype)
    return {"OutputTensor": Answer(value, slack=slack, result=stored, defined=value + slack < largest + 1)}
