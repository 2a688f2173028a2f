"""RNN: each step activates the sum of its weighted input, the weighted hidden nodes and the biases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.recurrent.computed import RunningSum
from dmlcts.reference.operators.recurrent.layer import Direction, State, layer
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc


@reference("RNN")
def rnn(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """``H = f(X W' + H R' + Wb + Rb)`` of each step."""
    return layer(xp, desc, inputs, _step, ("HiddenInitTensor",), ("OutputSingleTensor",))


@stage("recurrent.rnn")
def _step(direction: Direction, weighted: RunningSum, state: State) -> State:
    """The state after a step: ``weighted`` is the input's share of the sums, ``state`` what the step before left."""
    arithmetic, (hidden,) = direction.arithmetic, state
    sums = weighted + arithmetic.weighted_sum(hidden, direction.recurrence) + direction.bias(direction.gates(0, 1))
    return (arithmetic.activate(direction.activations[0], arithmetic.total(sums)),)
