"""Average pooling, and Lp pooling.

An implementation computes in FLOAT32. Padding is zero, and with IncludePadding FALSE it is not counted either. Where the pages do not say
what comes out, nothing is defined here, and the specs' examples hold what was measured: the quotient 0 / 0 of a window that holds no
element of the input, and what a sum becomes that leaves FLOAT32's range though the result would not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.pooling.windows import divisors, fold_windows, inside_counts, sums
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED

_OVERFLOW = 2.0**127
"""From here on a sum in FLOAT32, which may be off, may overflow."""

_SMALLEST = 2.0**-126
"""A term below this may be flushed to 0 in FLOAT32."""

_POWER = 4.0
"""Units of 2^-23 that a power may be off by, beside one for each unit of its exponent in natural logarithms (as ELEMENT_WISE_POW)."""

_MEAN = 2.0
"""Units of 2^-23 that a sum may be off by besides where it is a mean times its count, as in PyTorch."""

_ROOT = 3.0
"""Units of 2^-23 that a square root may be off by."""


@reference("AVERAGE_POOLING")
@reference("AVERAGE_POOLING1")
def average_pooling(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """The sum of each window's elements by their number, the padding's included where the desc says so."""
    x = inputs["InputTensor"].astype(xp.float64)
    held, count = inside_counts(xp, desc), divisors(xp, desc)
    total, absolute = sums(xp, desc, x), sums(xp, desc, xp.abs(x))
    defined = (count > 0) & ((absolute < _OVERFLOW) | ~xp.isfinite(absolute))
    return {
        "OutputTensor": Answer(
            total / count,
            magnitude=absolute / count,
            terms=xp.broadcast_to(xp.maximum(held, 1), total.shape),
            defined=defined,
        )
    }


@stage("pooling.power")
def power(xp: Any, x: Array, p: int) -> Array:
    """What is added up of an element."""
    return xp.abs(x) ** p


@stage("pooling.root")
def root(xp: Any, powers: Array, p: int) -> Array:
    """The norm of a window whose powers add up to ``powers``."""
    return powers ** (1 / p) if p > 1 else powers


@reference("LP_POOLING")
@reference("LP_POOLING1")
def lp_pooling(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``(sum(|x|^P))^(1/P)``. The page's formula lacks the absolute value, which DirectML.dll takes: with an odd P and negative elements
    the answer is contested.

    What it may be off by is counted in units of 2^-23 of the result, of which the root of the sum has one P-th of the sum's own: a term of
    the sum is as good as its power, whose units grow with ``|P ln x|`` from P = 3 on and which is the element itself or its square below.
    """
    p = desc.integer("P")
    signed = inputs["InputTensor"].astype(xp.float64)
    x, held = xp.abs(signed), inside_counts(xp, desc)
    largest = fold_windows(xp, desc, x, 0.0, xp.maximum)
    powers = sums(xp, desc, power(xp, signed, p))
    units = 1.0 * held
    if p == 1:
        units = units + _MEAN
    elif p == 2:
        units = units + 1
    elif p > 2:
        logarithm = xp.abs(xp.log(xp.where(x > 0, x, 1.0)))
        units = units + sums(xp, desc, x**p * (_POWER + p * logarithm)) / xp.where(powers > 0, powers, 1.0)
    defined = (powers < _OVERFLOW) | ~xp.isfinite(largest)
    answer = _root_of_powers(xp, p, powers, units, held, defined)
    if p % 2 and bool(xp.any(signed < 0)):
        formula = _root_of_signed_powers(xp, p, sums(xp, desc, signed**p), powers, units, held, defined)
        answer = replace(answer, contested={DOCUMENTED: formula})
    return {"OutputTensor": answer}


def _root_of_powers(xp: Any, p: int, powers: Array, units: Array, held: Array, defined: Array) -> Answer:
    """The P-th root of sums of ``held`` powers without a sign, which are off by ``units``."""
    value = root(xp, powers, p)
    if p == 2:
        units = units / 2 + _ROOT
    elif p > 2:
        units = units / p + _root_units(xp, value)
    lost = xp.maximum(powers - held * _SMALLEST, 0.0)
    flushed = value - (lost ** (1 / p) if p > 1 else lost)
    finite = xp.isfinite(value)
    return Answer(
        value,
        magnitude=xp.where(finite, value, 0.0),
        terms=xp.where(finite, xp.maximum(units, 1.0), 1.0),
        slack=xp.where(finite, flushed, 0.0),
        defined=defined,
    )


def _root_of_signed_powers(xp: Any, p: int, total: Array, powers: Array, units: Array, held: Array, defined: Array) -> Answer:
    """The same of an odd P's powers, which have their elements' signs and cancel; ``powers`` are the sums without.

    A negative sum has no root: NaN, as C's pow gives it. Where the sum may be of either sign, nothing is defined.
    """
    finite = xp.isfinite(total)
    if p == 1:
        magnitude, terms = xp.where(finite, powers, 0.0), xp.where(finite, xp.maximum(units, 1.0), 1.0)
        return Answer(total, magnitude=magnitude, terms=terms, slack=xp.where(finite, held * _SMALLEST, 0.0), defined=defined)
    off = xp.where(finite & (powers > 0), powers * units * 2.0**-23 + held * _SMALLEST, 0.0)
    value = xp.where(total < 0, xp.nan, xp.maximum(total, 0.0) ** (1 / p))
    reach = xp.maximum((total + off) ** (1 / p) - value, value - xp.maximum(total - off, 0.0) ** (1 / p))
    known = xp.isfinite(value)
    return Answer(
        value,
        magnitude=xp.where(known, value, 0.0),
        terms=xp.where(known, xp.maximum(_root_units(xp, value), 1.0), 1.0),
        slack=xp.where(known, reach, 0.0),
        defined=defined & ((xp.abs(total) > off) | (powers == 0) | ~finite) & (total != -xp.inf),
    )


def _root_units(xp: Any, value: Array) -> Array:
    """Units of 2^-23 that a root which is computed as a power may be off by."""
    return _POWER + xp.abs(xp.log(xp.where(value > 0, value, 1.0)))
