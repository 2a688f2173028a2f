"""A fused activation: the operator inside a desc, applied to a result that was not stored in between.

The documentation promises what the activation gives alone. DirectML.dll keeps to that, but for results that are no finite numbers:
ACTIVATION_RELU, fused, multiplies what lies below zero by zero, so that negative infinity and NaN become NaN and not 0. So nothing is required
where an activation gives 0 for a value that is not finite; a contested example in the operators' specs holds what the page promises there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.registry import compute
from dmlcts.reference.shared.scale_bias import LARGEST, answer_between
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

Spread = Callable[[Any, OperatorDesc, Array, Array], Array]
"""``f(xp, activation, argument, error)``: how far the activation's elements may lie off for an argument that may be off by ``error``;
infinite where they may be anything."""

_SPREADS: dict[str, Spread] = {}

Turns = Callable[[Any, OperatorDesc], tuple[float, ...]]
"""``f(xp, activation)``: where the activation turns from falling to rising or back, or jumps."""

_TURNS: dict[str, Turns] = {}

HALF_ROUNDOFF, HALF_LARGEST, HALF_SPACING = 2.0**-10, 65504.0, 2.0**-24
"""Of a number stored as FLOAT16, where truncation is allowed; the largest one; what denormals are multiples of."""


def spreads(name: str) -> Callable[[Spread], Spread]:
    """Says how errors spread through the activation ``name``: needed of one whose elements depend on others than their own."""

    def register(function: Spread) -> Spread:
        _SPREADS[name] = function
        return function

    return register


def turns(name: str, at: Turns) -> None:
    """Says where the activation ``name`` turns: its value there may exceed those for the least and the largest argument."""
    _TURNS[name] = at


def extremes(xp: Any, activation: OperatorDesc, low: Array, high: Array) -> list[Array]:
    """Arguments from ``low`` to ``high``, among them those for which the activation is least and largest: the ends, and where it turns."""
    at = _TURNS[activation.type](xp, activation) if activation.type in _TURNS else ()
    return [low, high, *(xp.minimum(xp.maximum(low, turn), high) for turn in at)]


@stage("fused.activation")
def activate_fused(xp: Any, fields: Mapping[str, object], value: Array, error: Array, name: str = "FusedActivation") -> Answer:
    """The activation in the field ``name`` of ``value`` (float64), which may be off by ``error``; ``value`` itself if there is none.

    ``error`` is what the implementation's own computation of ``value`` may be off by; with the activation's own slack it is the answer's. It
    is infinite where ``value`` may be anything, NaN included: then nothing is required. Where ``value`` is infinite or NaN, it is 0 or infinite.

    An activation that only selects is judged by the operator's own tolerance. For sums that takes magnitude and terms: with the error in the
    slack already, what is left is the store.
    """
    inner = fields.get(name)
    if not isinstance(inner, OperatorDesc):
        return Answer(value, slack=error)
    spread = _SPREADS.get(inner.type)
    exact, ends = _activation_answer(inner, value), list[Answer]()
    error = xp.where(_open_by_overflow(xp, inner, value, exact.value), xp.inf, error)
    if spread is None:
        ends = [_activation_answer(inner, argument) for argument in extremes(xp, inner, value - error, value + error)]
        answer = answer_between(xp, exact.value, [end.value for end in ends], value)
    else:
        reach = spread(xp, inner, value, error)
        answer = Answer(exact.value, argument=value, slack=reach, defined=reach != xp.inf)
    slack: Any = answer.slack
    defined = (error < xp.inf) & (xp.isfinite(value) | (exact.value != 0))
    for part in (answer.defined, exact.defined):
        defined = defined if part is None else defined & part
    return Answer(
        exact.value,
        magnitude=xp.abs(exact.value) if exact.magnitude is None else exact.magnitude,
        terms=0 if exact.terms is None else exact.terms,
        slack=slack if exact.slack is None else slack + _largest(xp, [exact, *ends]),
        argument=answer.argument,
        defined=defined,
    )


def _open_by_overflow(xp: Any, activation: OperatorDesc, value: Array, exact: Array) -> Array:
    """Where the argument overflows FLOAT32, and the activation of infinity differs from that of the argument: SOFTSIGN gives NaN. Also where both
    are 0: DirectML.dll may multiply infinity by zero, which gives NaN (the module's text, on RELU).
    """
    infinite = _overflow_to_infinity(xp, value)
    overflows = xp.isfinite(value) & xp.isinf(infinite)
    if not overflows.any():
        return overflows
    same = _overflow_to_infinity(xp, _activation_answer(activation, infinite).value) == _overflow_to_infinity(xp, exact)
    return overflows & ~(same & (exact != 0))


def _overflow_to_infinity(xp: Any, value: Array) -> Array:
    """The values, infinite beyond the largest FLOAT32."""
    return xp.where(xp.abs(value) > LARGEST, xp.copysign(xp.inf, value), value)


def _activation_answer(activation: OperatorDesc, value: Array) -> Answer:
    return compute(activation, {"InputTensor": value})["OutputTensor"]


def _largest(xp: Any, answers: Sequence[Answer]) -> Array:
    """The largest slack of each element: a function may be exact at 0, and not beside it. What is infinite or NaN at an end does not count."""
    slacks = (xp.where(xp.isfinite(answer.slack), answer.slack, 0.0) for answer in answers)
    return reduce(xp.maximum, slacks)


def stored_error(xp: Any, desc: OperatorDesc, value: Array) -> Array | float:
    """What ``value`` is off by if it was stored in the output's type on its way: DirectML.dll does so before a fused activation.

    0 for FLOAT32. Infinite where FLOAT16 may not hold it: what is made of it then depends on the store.
    """
    if desc.tensor("OutputTensor").data_type != "FLOAT16":
        return 0.0
    size = xp.where(xp.isfinite(value), xp.abs(value), 0.0)
    rounded = xp.where(size == 0, 0.0, xp.maximum(HALF_ROUNDOFF * size, HALF_SPACING))
    return xp.where(size > HALF_LARGEST, xp.inf, rounded)
