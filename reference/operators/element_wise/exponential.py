"""Powers, exponentials, logarithms, and the error function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.element_wise.special_functions import either_zero, erf
from dmlcts.reference.registry import Reference, reference
from dmlcts.reference.shared.element_wise import apply_function
from dmlcts.reference.shared.scale_bias import ROUNDOFF, Function, apply_with_error, scale_argument, unary
from dmlcts.spec.model.abi import data_type
from dmlcts.spec.model.desc import OperatorDesc

reference("ELEMENT_WISE_ERF")(either_zero(unary(erf)))
reference("ELEMENT_WISE_EXP")(unary(lambda xp, x: xp.exp(x)))
reference("ELEMENT_WISE_LOG")(unary(lambda xp, x: xp.log(x)))
reference("ELEMENT_WISE_RECIP")(unary(lambda xp, x: 1.0 / x))
reference("ELEMENT_WISE_SQRT")(unary(lambda xp, x: xp.sqrt(x)))


def exponential(function: Function) -> Reference:
    """The reference of a function that grows as e to the power of its argument, which is as exact as FLOAT32 holds an argument.

    A relative error of the argument is an absolute one of the exponent: it grows with the argument, and so does what it makes of the result.
    """
    run = unary(function)

    def run_with_growth(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        answer = run(xp, desc, inputs)["OutputTensor"]
        off = _growth(xp, answer.value, answer.argument)
        return {"OutputTensor": replace(answer, slack=off if answer.slack is None else off + answer.slack)}

    return run_with_growth


def _growth(xp: Any, value: Array, argument: Array) -> Array:
    """The absolute error of ``exp(argument)`` in FLOAT32 that a rounded argument makes; none of an infinite one."""
    return xp.where(xp.isfinite(argument), xp.abs(value * argument) * ROUNDOFF, 0.0)


LOGARITHM_ERROR = 2.0**-21
"""Absolute, of a base 2 logarithm in FLOAT32 near 1, by the rules of graphics APIs. A power multiplies it by the exponent."""


@reference("ELEMENT_WISE_CONSTANT_POW")
def constant_pow(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``(x * Scale + Bias) ** Exponent``."""
    exponent = desc.number("Exponent")
    argument, error = scale_argument(xp, desc, inputs["InputTensor"])
    answer = apply_with_error(xp, lambda xp, x: apply_function(power, xp, x, xp.full_like(x, exponent)), argument, error)
    return {"OutputTensor": _power_answer(xp, answer, argument, xp.full_like(argument, exponent))}


@reference("ELEMENT_WISE_POW")
def pow_(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``(x * Scale + Bias) ** e``, where Scale and Bias are the base's alone, as the page has it (DirectML.dll scales the exponent too).

    Integers are powered exactly; what 0 gives for a negative exponent is left undefined, as a division by 0 is. That DirectML.dll brings a scaled base of an integer type to an integer toward zero, computes modulo
    2^32 and stores the nearest number that a narrower type has, was measured.
    """
    base, exponent = inputs["InputTensor"], inputs["ExponentTensor"]
    whole_base, whole_exponent = (not data_type(desc.tensor(n).data_type).is_float for n in ("InputTensor", "ExponentTensor"))
    argument, error = scale_argument(xp, desc, base)
    if whole_base and desc.scale_bias() is not None:
        argument, error = xp.trunc(argument), None
    if whole_base and whole_exponent:
        whole = partial(_whole_power, dtype=base.dtype)
        found = apply_function(whole, xp, argument.astype(xp.int64), exponent.astype(xp.int64))
        return {"OutputTensor": Answer(found, defined=(argument != 0) | (exponent >= 0))}
    wide = exponent.astype(xp.float64)
    answer = _power_answer(
        xp, apply_with_error(xp, lambda xp, x: apply_function(power, xp, x, wide), argument, error), argument, wide
    )
    return {"OutputTensor": _stored_as_integer(xp, answer, base.dtype) if whole_base else answer}


def power(xp: Any, base: Array, exponent: Array) -> Array:
    """``base ** exponent`` of float64 values.

    NaN for a negative base and an exponent without an integral value, as the page says; an infinite exponent has none. NaN too for
    ``1 ** inf``, ``inf ** 0`` and wherever a NaN stands, which C's pow gives 1 for: DirectML.dll computes ``exp2(e * log2(x))``.
    """
    whole = (xp.floor(exponent) == exponent) & xp.isfinite(exponent)
    odd = whole & (xp.remainder(exponent, 2.0) == 1.0)
    size = xp.pow(xp.abs(base), exponent)
    indefinite = (
        (xp.isnan(base) | xp.isnan(exponent))
        | ((base < 0) & ~whole)
        | ((xp.abs(base) == 1) & xp.isinf(exponent))
        | (xp.isinf(base) & (exponent == 0))
    )
    return xp.where(indefinite, xp.nan, xp.where((base < 0) & odd, -size, size))


def _power_answer(xp: Any, answer: Answer, base: Array, exponent: Array) -> Answer:
    """A power's answer with what its bound depends on.

    0 to the power of 0 or less is left undefined: the page's pow and DirectML.dll's 0 differ. Of zeros, either sign is right.
    """
    argument = exponent * xp.log(xp.abs(base))
    off = xp.abs(answer.value * exponent) * LOGARITHM_ERROR + _growth(xp, answer.value, argument)
    slack = off if answer.slack is None else off + answer.slack
    defined = (base != 0) | (exponent > 0)
    return replace(
        answer,
        argument=argument,
        slack=xp.where(answer.value == 0, xp.maximum(slack, 2.0**-1000), slack),
        defined=defined if answer.defined is None else defined & answer.defined,
    )


def _whole_power(xp: Any, base: Array, exponent: Array, dtype: Any) -> Array:
    """Exact integers modulo 2^32, brought into the range of ``dtype``; of a negative exponent what remains of the fraction toward 0."""
    mask = xp.uint64(0xFFFFFFFF)
    square = base.astype(xp.uint64) & mask
    left = xp.maximum(exponent, 0).astype(xp.uint64)
    found = xp.ones_like(square)
    while bool((left != 0).any()):
        found = xp.where(left & xp.uint64(1) != 0, found * square & mask, found)
        square = square * square & mask
        left = left >> xp.uint64(1)
    value = found.astype(xp.int64)
    limits = xp.iinfo(dtype)
    if limits.min < 0:
        value = xp.where(value >= 1 << 31, value - (1 << 32), value)
    odd = exponent % 2 != 0
    fraction = xp.where(base == 1, 1, xp.where(base == -1, xp.where(odd, -1, 1), 0))
    return xp.clip(xp.where(exponent < 0, fraction, value), int(limits.min), int(limits.max)).astype(dtype)


def _stored_as_integer(xp: Any, answer: Answer, dtype: Any) -> Answer:
    """A power of an integer and a real exponent: either integer beside it is right, the page being silent; DirectML.dll's is nearer to 0.

    NaN, which no integer is, is not defined.
    """
    value = xp.where(xp.isnan(answer.value), 0.0, answer.value)
    limits = xp.iinfo(dtype)
    stored = xp.clip(xp.trunc(value), float(limits.min), float(limits.max)).astype(dtype)
    return replace(
        answer,
        value=value,
        slack=answer.slack + 4.0 * xp.abs(value) * ROUNDOFF + 0.5,
        result=stored,
        defined=answer.defined & ~xp.isnan(answer.value),
    )
