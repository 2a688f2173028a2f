"""REDUCE: one number for each row of elements, by twelve functions.

Sums are judged by the composed bound of a sum. A root or a logarithm of one is judged by its own, and what the sum may be off by comes in
as slack. Where a sum or a product leaves the range of FLOAT32 on the way although the function's value is within it, nothing is defined, but
for LOG_SUM_EXP, which is the value or infinite: the page gives formulas, DirectML.dll computes them step by step, and the examples that are
contested say what either gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.reduction.extremes import extreme, place
from dmlcts.reference.operators.reduction.rows import LIMIT, SMALLEST, axes_of, reduced_sizes, rows, sound_product
from dmlcts.reference.registry import reference
from dmlcts.reference.shared.accumulation import sum_error
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

_ROUNDOFF = 2.0**-23
"""Of FLOAT32, where truncation is allowed."""

_DIVISION = 2.5
"""ULPs that a FLOAT32 division may be off."""

_LARGEST_LOGARITHM = 128 * log(2)
"""Of a number that FLOAT32 holds."""

_DENORMAL, _LEAST_LOGARITHM = 2.0**-149, -149 * log(2)
"""The least number that FLOAT32 holds, where denormals are kept, and its logarithm. What is less than half of it is 0."""

_EXPONENTIAL = 4.0
"""Units that the exponential in FLOAT32 of a small number may be off; the number's size is added."""


def _may_overflow(xp: Any, magnitude: Array, terms: int) -> Array:
    """Where a sum in FLOAT32 of finite terms may leave its range in some order."""
    return xp.isfinite(magnitude) & (magnitude + sum_error(xp, magnitude, terms) >= LIMIT)


@stage("reduction.terms")
def terms_of(xp: Any, x: Array, function: str) -> Array:
    """What a function adds up of each element."""
    if function == "L1":
        return xp.abs(x)
    return x * x if function in ("L2", "SUM_SQUARE") else x


@stage("reduction.total")
def total_of(xp: Any, terms: Array) -> Array:
    """The sum of each row, in the type of the terms: integers wrap around, as measured on DirectML.dll, where the page is silent."""
    return xp.sum(terms, axis=-1, dtype=terms.dtype)


@stage("reduction.product")
def product_of(xp: Any, x: Array) -> Array:
    """The product of each row, as ``total_of``."""
    return xp.prod(x, axis=-1, dtype=x.dtype)


@stage("reduction.finish")
def finish_total(xp: Any, total: Array, count: int, function: str) -> Array:
    """What a function makes of a total of ``count`` terms."""
    if function == "AVERAGE":
        return total / count
    return {"L2": xp.sqrt, "LOG_SUM": xp.log}[function](total)


def _sum(xp: Any, x: Array) -> Answer:
    return Answer(total_of(xp, x), magnitude=xp.sum(xp.abs(x), axis=-1), terms=x.shape[-1])


def _average(xp: Any, x: Array) -> Answer:
    """The sum, divided: where it overflows, the average may be infinite, as it is from DirectML.dll, or not."""
    count = x.shape[-1]
    magnitude = xp.sum(xp.abs(x), axis=-1)
    return Answer(
        finish_total(xp, total_of(xp, x), count, "AVERAGE"),
        magnitude=magnitude / count,
        terms=count + _DIVISION,
        defined=~_may_overflow(xp, magnitude, count),
    )


def _root_of_squares(xp: Any, x: Array) -> Answer:
    """Squares that are too small for FLOAT32 are in the slack; where they are too large and the root is not, nothing is defined."""
    total, count = total_of(xp, terms_of(xp, x, "L2")), x.shape[-1]
    value, error = finish_total(xp, total, count, "L2"), sum_error(xp, total, count)
    slack = xp.maximum(xp.sqrt(total + error) - value, value - xp.sqrt(xp.maximum(total - error, 0.0)))
    return Answer(value, slack=slack, defined=~(total + error >= LIMIT) | (value >= LIMIT))


def _log_of_sum(xp: Any, x: Array) -> Answer:
    """A relative error of the sum is an absolute one of its logarithm. That of a sum which is negative or may be is not defined."""
    total, magnitude, count = total_of(xp, x), xp.sum(xp.abs(x), axis=-1), x.shape[-1]
    error = sum_error(xp, magnitude, count)
    value = finish_total(xp, total, count, "LOG_SUM")
    slack = xp.maximum(xp.log(total + error) - value, value - xp.log(total - error))
    positive = xp.isfinite(magnitude) & (total > error) & (magnitude + error < LIMIT)
    return Answer(value, slack=slack, defined=positive | (magnitude == 0) | xp.isnan(total) | (total == xp.inf))


@stage("reduction.log-sum-exp")
def _log_of_exponentials(xp: Any, x: Array) -> Answer:
    """The logarithm of the sum of the exponentials, as the page defines it, or with the largest element taken off first and added again.

    As defined, the exponentials and their sum may leave FLOAT32. Above, that gives infinity; below, negative infinity or, as long as the sum
    is one that FLOAT32 holds as a denormal, the logarithm of what is left of it. With the largest taken off nothing is lost. Wherever the
    former loses the sum, these two are right and nothing else.
    """
    largest = xp.max(x, axis=-1, keepdims=True)
    largest = xp.where(xp.isfinite(largest), largest, 0.0)
    terms = xp.exp(x - largest)
    total = xp.sum(terms, axis=-1)
    value, count = largest[..., 0] + xp.log(total), x.shape[-1]

    def relative_error(argument: Array) -> Array:
        """What the exponentials of ``argument`` and their sum are off by, as a share of the sum."""
        units = xp.where((terms > 0) & xp.isfinite(x), terms * (_EXPONENTIAL + xp.abs(argument)), 0.0)
        return _ROUNDOFF * (count + xp.sum(units, axis=-1) / total)

    flushed = count * SMALLEST / xp.exp(value)
    share = relative_error(x) + flushed
    high = value + relative_error(x) >= _LARGEST_LOGARITHM
    low = (share >= 0.5) & ~high
    # With the largest taken off: its sum is 1 or more, and the last addition rounds once.
    apart = -xp.log1p(-xp.minimum(relative_error(x - largest), 0.5)) + _ROUNDOFF * (xp.abs(value) + xp.log(total))
    # Where some sums of denormals are not 0: at least the smallest term that is not, at most all of them, each of them rounded.
    denormal = low & (value + relative_error(x) >= _LEAST_LOGARITHM - log(2))
    least = xp.maximum(xp.min(x, axis=-1), _LEAST_LOGARITHM)
    left = value - least + xp.log1p(count * _DENORMAL / xp.exp(least)) + relative_error(x)
    lost = (low & ~denormal) | (value - share >= _LARGEST_LOGARITHM)
    slack = xp.where(lost, apart, xp.where(denormal, xp.maximum(left, apart), -xp.log1p(-xp.minimum(share, 0.5))))
    known = xp.isfinite(value)
    return Answer(value, slack=slack, also=xp.where(known & high, xp.inf, xp.where(known & low, -xp.inf, 0.0)))


def _product(xp: Any, x: Array) -> Answer:
    size = xp.abs(x)
    infinite, zero = xp.isinf(x), x == 0
    above = xp.prod(xp.where(infinite | (size <= 1), 1.0, size), axis=-1)
    below = xp.prod(xp.where(zero | (size > 1), 1.0, size), axis=-1)
    sound = sound_product(xp, above, below, xp.any(infinite, axis=-1), xp.any(zero, axis=-1))
    return Answer(product_of(xp, x), terms=x.shape[-1], defined=sound | xp.any(xp.isnan(x), axis=-1))


_REAL: Mapping[str, Callable[[Any, Array], Answer]] = {
    "AVERAGE": _average,
    "L1": lambda xp, x: _sum(xp, terms_of(xp, x, "L1")),
    "L2": _root_of_squares,
    "LOG_SUM": _log_of_sum,
    "LOG_SUM_EXP": _log_of_exponentials,
    "MULTIPLY": _product,
    "SUM": _sum,
    "SUM_SQUARE": lambda xp, x: _sum(xp, terms_of(xp, x, "SUM_SQUARE")),
}
"""Of rows of float64."""


@reference("REDUCE")
def reduce(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """One element for each row along Axes; of equal extremes ARGMIN and ARGMAX take the first, as the operators of those names do."""
    x, function, axes = inputs["InputTensor"], desc.constant("Function"), axes_of(desc)
    row, sizes = rows(xp, x, axes), reduced_sizes(x, axes)
    if function in ("MIN", "MAX"):
        answer = Answer(extreme(xp, row, function))
    elif function in ("ARGMIN", "ARGMAX"):
        answer = place(xp, row, function, "INCREASING", desc.tensor("OutputTensor").data_type)
    elif row.dtype.kind != "f":
        answer = Answer(product_of(xp, row) if function == "MULTIPLY" else total_of(xp, terms_of(xp, row, function)))
    else:
        answer = _REAL[function](xp, row.astype(xp.float64))
    return {"OutputTensor": _reshape_answer(xp, answer, sizes)}


def _reshape_answer(xp: Any, answer: Answer, sizes: tuple[int, ...]) -> Answer:
    """The answer with its arrays in the output's sizes."""

    def reshape_array(array: Any) -> Any:
        return xp.reshape(array, sizes) if hasattr(array, "shape") else array

    return Answer(
        reshape_array(answer.value),
        magnitude=reshape_array(answer.magnitude),
        terms=answer.terms,
        slack=reshape_array(answer.slack),
        also=reshape_array(answer.also),
        defined=reshape_array(answer.defined),
    )
