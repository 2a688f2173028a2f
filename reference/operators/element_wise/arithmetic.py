"""Sums, products, quotients and their like. Real numbers in float64; integers in their own type, which wraps around."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.element_wise.extremes import larger, smaller
from dmlcts.reference.registry import Reference, reference
from dmlcts.reference.shared.element_wise import apply_function
from dmlcts.reference.shared.fused import activate_fused
from dmlcts.reference.shared.scale_bias import LARGEST, ROUNDOFF
from dmlcts.spec.model.desc import OperatorDesc

Binary = Callable[[Any, Array, Array], Array]
"""Of an array namespace and the elements of both tensors."""


def is_real(array: Array) -> bool:
    """Whether the elements are floating-point numbers."""
    return bool(array.dtype.kind == "f")


def operands(xp: Any, inputs: Mapping[str, Array]) -> tuple[Array, Array]:
    """Both tensors' elements as they are computed with: real ones in float64, which holds them and their sums and products."""
    a, b = inputs["ATensor"], inputs["BTensor"]
    return (a.astype(xp.float64), b.astype(xp.float64)) if is_real(a) else (a, b)


def _binary(function: Binary) -> Reference:
    """The reference of ``OutputTensor = function(ATensor, BTensor)``, where one formula serves for real numbers and integers."""

    def run(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        return {"OutputTensor": Answer(apply_function(function, xp, *operands(xp, inputs)))}

    return run


def _sum(xp: Any, a: Array, b: Array) -> Array:
    return a + b


reference("ELEMENT_WISE_ADD")(_binary(_sum))
reference("ELEMENT_WISE_SUBTRACT")(_binary(lambda xp, a, b: a - b))
reference("ELEMENT_WISE_MULTIPLY")(_binary(lambda xp, a, b: a * b))
reference("ELEMENT_WISE_DIFFERENCE_SQUARE")(_binary(lambda xp, a, b: (a - b) * (a - b)))

# DirectML.dll was measured to ignore a NaN beside a number; the page's max and min allow either.
reference("ELEMENT_WISE_MAX")(_binary(larger))
reference("ELEMENT_WISE_MIN")(_binary(smaller))


@reference("ELEMENT_WISE_ADD1")
def element_wise_add1(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The sum, and what the fused activation makes of it.

    The sum may be rounded to the tensors' own type in between: DirectML.dll was measured to do so in FLOAT16. Then it may overflow, too.
    """
    total = apply_function(_sum, xp, *operands(xp, inputs))
    if desc.inner() is None:
        return {"OutputTensor": Answer(total)}
    limits = xp.finfo(inputs["ATensor"].dtype)
    size = xp.abs(total)
    error = xp.where(size <= float(limits.max), float(limits.eps) * size, xp.where(xp.isinf(total), 0.0, xp.inf))
    return {"OutputTensor": activate_fused(xp, desc.fields, total, error)}


@reference("ELEMENT_WISE_MEAN")
def mean(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``(a + b) / 2``. Odd sums of integers are truncated, as DirectML.dll does.

    Where the sum overflows, of integers or in FLOAT32, nothing is defined: the page does not say whether it is one before it is halved.
    """
    a, b = operands(xp, inputs)
    total = a + b
    value = apply_function(_mean, xp, a, b)
    if is_real(a):
        return {"OutputTensor": Answer(value, defined=(xp.abs(total) <= LARGEST) | ~(xp.isfinite(a) & xp.isfinite(b)))}
    # A sum that wrapped around lies on the other side of its terms.
    wrapped = (total < a) != (b < 0)
    return {"OutputTensor": Answer(value, defined=~wrapped)}


def _mean(xp: Any, a: Array, b: Array) -> Array:
    total = a + b
    return total / 2 if is_real(a) else (total + (total < 0).astype(total.dtype)) >> 1


# Division and the remainder that it leaves


def least(xp: Any, array: Array) -> Any:
    """The least number of an integer array's type."""
    return xp.iinfo(array.dtype).min


def differs_in_sign(a: Array, b: Array) -> Array:
    """Where exactly one of two integers lies below zero."""
    return (a < 0) != (b < 0)


@reference("ELEMENT_WISE_DIVIDE")
def divide(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``a / b``, truncated in integer types.

    Of integers, nothing is defined that is divided by zero, nor the quotient that no type holds: the least number by -1.
    """
    a, b = operands(xp, inputs)
    quotient = apply_function(_quotient, xp, a, b)
    if is_real(a):
        return {"OutputTensor": Answer(quotient)}
    overflows = (a < 0) & (b < 0) & (quotient < 0)
    return {"OutputTensor": Answer(quotient, defined=(b != 0) & ~overflows)}


def _quotient(xp: Any, a: Array, b: Array) -> Array:
    if is_real(a):
        return a / b
    inexact = xp.remainder(a, b) != 0
    return a // b + (inexact & differs_in_sign(a, b)).astype(a.dtype)


_DIGITS = 2.0**21
"""Quotients beyond this have too few mantissa bits in FLOAT32 to tell on which side of an integer they are; includes 2.5 ULP of error."""

_SMALLEST = 2.0**-125
"""Twice the smallest normal FLOAT32: a quotient below it may be flushed, and is then no longer negative."""


def _modulus(rounded: Callable[[Any, Array], Array], remainder: Binary, whole: Binary) -> Reference:
    """The reference of ``a - b * rounded(a / b)``: ``remainder`` computes it of real numbers, ``whole`` of integers.

    DirectML.dll goes by that formula in FLOAT32 and gives NaN wherever an operand is infinite or the divisor zero. The product
    is rounded, which is the slack. Nothing is defined where the rounding of the quotient decides what it is rounded to, unless it is an integer,
    where a step overflows, and of integers that are divided by zero.
    """

    def run(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        a, b = operands(xp, inputs)
        if not is_real(a):
            return {"OutputTensor": Answer(apply_function(whole, xp, a, b), defined=b != 0)}
        proper = xp.isfinite(a) & xp.isfinite(b) & (b != 0)
        quotient = a / b
        size, off = xp.abs(quotient), xp.abs(quotient - xp.round(quotient))
        clear = (size < _DIGITS) & ((off == 0) | (off > size / _DIGITS)) & ((size >= _SMALLEST) | (quotient == 0))
        product = b * rounded(xp, quotient)
        value = xp.where(
            proper, apply_function(remainder, xp, a, b) + 0.0, xp.nan
        )  # no negative zero: the formula subtracts what is equal
        return {
            "OutputTensor": Answer(
                value, slack=ROUNDOFF * xp.abs(product), defined=~proper | (clear & (xp.abs(product) <= LARGEST))
            )
        }

    return run


def _truncated_remainder(xp: Any, a: Array, b: Array) -> Array:
    """The remainder with the sign of the dividend, of integers."""
    floored = xp.remainder(a, b)
    return floored - b * ((floored != 0) & differs_in_sign(a, b)).astype(a.dtype)


reference("ELEMENT_WISE_MODULUS_FLOOR")(
    _modulus(lambda xp, x: xp.floor(x), lambda xp, a, b: xp.remainder(a, b), lambda xp, a, b: xp.remainder(a, b))
)
reference("ELEMENT_WISE_MODULUS_TRUNCATE")(
    _modulus(lambda xp, x: xp.trunc(x), lambda xp, a, b: xp.fmod(a, b), _truncated_remainder)
)
