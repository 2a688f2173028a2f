"""GRU: gates say how much of the hidden nodes a step renews, and how much of them its new value sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.recurrent.computed import Arithmetic, RunningSum, WithError
from dmlcts.reference.operators.recurrent.layer import Direction, State, layer
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@reference("GRU")
def gru(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Of each step, where the gates z, r and h follow each other in the weights and biases::

    z = f(X Wz' + H Rz' + Wbz + Rbz)                      how much of the hidden nodes stays
    r = f(X Wr' + H Rr' + Wbr + Rbr)                      how much of them the new value sees
    n = g(X Wh' + (r * H) Rh' + Wbh + Rbh)                or, with LinearBeforeReset,
    n = g(X Wh' + r * (H Rh' + Rbh) + Wbh)
    H = (1 - z) * n + z * H
    """
    return layer(xp, desc, inputs, _step, ("HiddenInitTensor",), ("OutputSingleTensor",))


@stage("recurrent.gru")
def _step(direction: Direction, weighted: RunningSum, state: State) -> State:
    """The state after a step: ``weighted`` is the input's share of the sums, ``state`` what the step before left."""
    arithmetic, (hidden,) = direction.arithmetic, state
    gates = direction.gates(0, 2)
    sums = weighted.columns(gates) + arithmetic.weighted_sum(hidden, direction.recurrence.columns(gates)) + direction.bias(gates)
    both = arithmetic.activate(direction.activations[0], arithmetic.total(sums))
    update, reset = (both.columns(direction.gates(at, at + 1)) for at in (0, 1))
    renewed = arithmetic.activate(direction.activations[1], arithmetic.total(_candidate(direction, weighted, hidden, reset)))
    return (mix_states(arithmetic, update, hidden, renewed),)


@stage("recurrent.candidate")
def _candidate(direction: Direction, weighted: RunningSum, hidden: WithError, reset: WithError) -> RunningSum:
    """The sum of which the new value is the activation."""
    arithmetic, part = direction.arithmetic, direction.gates(2, 3)
    own, recurrence = weighted.columns(part), direction.recurrence.columns(part)
    if not direction.desc.flag("LinearBeforeReset"):
        return own + arithmetic.weighted_sum(arithmetic.product(reset, hidden), recurrence) + direction.bias(part)
    linear = arithmetic.total(arithmetic.weighted_sum(hidden, recurrence) + arithmetic.term(direction.recurrence_bias[part]))
    return own + arithmetic.term(arithmetic.product(reset, linear)) + arithmetic.term(direction.weight_bias[part])


@stage("recurrent.mixed")
def mix_states(arithmetic: Arithmetic, share: WithError, one: WithError, other: WithError) -> WithError:
    """``share * one + (1 - share) * other``."""
    return arithmetic.mix(share, one, other)
