"""ScaleBias: ``f(x * Scale + Bias)``, and what the rounding of that argument may do to the result.

The documentation gives the formula and no precision. An implementation computes the argument in FLOAT32 (of FLOAT16 tensors too, unless it
was allowed half precision), with one rounding or two, and may flush a denormal on the way; the reference computes it exactly, and says how far
the result may lie off because of it, beside the function's own bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import Reference
from dmlcts.reference.shared.element_wise import apply_function
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

Function = Callable[[Any, Array], Array]
"""Of an array namespace and float64 values."""

ROUNDOFF = 2.0**-23
"""Of an argument computed in FLOAT32, where truncation is allowed."""

SMALLEST = 2.0**-126
"""The smallest normal FLOAT32: what is below it may be flushed to 0."""

LARGEST = (2.0 - 2.0**-23) * 2.0**127
"""The largest FLOAT32: operators on FLOAT32 and FLOAT16 overflow beyond it on their way."""


@stage("scale_bias.argument")
def scale_argument(xp: Any, desc: OperatorDesc, x: Array) -> tuple[Array, Array | None]:
    """The argument ``x * Scale + Bias`` in float64, and the absolute error that it may have; ``x`` itself and None without ScaleBias."""
    x = x.astype(xp.float64)
    pair = desc.scale_bias()
    if pair is None:
        return x, None
    product = x * pair.scale
    argument = product + pair.bias
    rounding = ROUNDOFF * (xp.abs(product) + xp.abs(argument))
    return argument, xp.maximum(rounding, xp.maximum(_flush_error(xp, product), _flush_error(xp, argument)))


def _flush_error(xp: Any, number: Array) -> Array:
    """What is lost of a number that FLOAT32 may flush."""
    return xp.where(xp.abs(number) < SMALLEST, xp.abs(number), 0.0)


def apply_with_error(xp: Any, function: Function, argument: Array, error: Array | None) -> Answer:
    """``function`` of an argument that may be off by ``error``: the value, and as slack the most that it then changes."""
    value = function(xp, argument)
    if error is None:
        return Answer(value, argument=argument)
    return answer_between(xp, value, (function(xp, argument - error), function(xp, argument + error)), argument)


def answer_between(xp: Any, value: Array, ends: Sequence[Array], argument: Array) -> Answer:
    """The value of a function for an argument that may be off as far as to either end, and as slack the most that it then changes.

    ``ends`` are the function's values there, and where it turns between them. Where the argument may lie on either side of the end of the
    function's domain, nothing is defined.
    """
    slack = reduce(xp.maximum, (xp.abs(end - value) for end in ends))
    same = reduce(xp.logical_and, (xp.isfinite(end) == xp.isfinite(value) for end in ends))
    return Answer(value, argument=argument, slack=xp.where(xp.isfinite(slack), slack, 0.0), defined=same)


def unary(function: Function) -> Reference:
    """The reference of ``OutputTensor = function(InputTensor * Scale + Bias)``, for continuous functions of real numbers."""

    def run(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
        return {
            "OutputTensor": apply_with_error(
                xp, partial(apply_function, function), *scale_argument(xp, desc, inputs["InputTensor"])
            )
        }

    return run
