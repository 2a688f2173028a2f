"""A layer of a recurrent network: its directions, the steps of its sequences, and what it stores.

A sequence that is shorter than the others ends early: its output is 0 from there on, as in DirectML.dll, and its last state is that of its
own last step. Backward, the walk begins at the end of each sequence. The pages do not say what the last state of an empty sequence is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.recurrent.computed import Arithmetic, RunningSum, Weights, WithError
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc

State = tuple[WithError, ...]
"""What a step passes on, of each sequence: the hidden nodes (batch, hidden), and of some networks the cells."""


@dataclass(frozen=True)
class Direction:
    """What a cell computes with in one direction.

    ``recurrence`` is from the hidden nodes to (gates * hidden), ``weight_bias`` and ``recurrence_bias`` are (gates * hidden,), or 0 where there is no bias;
    ``activations`` are those of this direction, ``peepholes`` (parts * hidden,) of networks that have such.
    """

    arithmetic: Arithmetic
    desc: OperatorDesc
    hidden: int
    recurrence: Weights
    weight_bias: Array
    recurrence_bias: Array
    activations: Sequence[OperatorDesc]
    peepholes: Array | None

    def gates(self, first: int, last: int) -> slice:
        """The columns of some gates: from the first up to the last, which is not among them."""
        return slice(first * self.hidden, last * self.hidden)

    def bias(self, part: slice) -> RunningSum:
        """Both biases of some gates."""
        return self._biases.columns(part)

    @cached_property
    def _biases(self) -> RunningSum:
        return self.arithmetic.term(self.weight_bias) + self.arithmetic.term(self.recurrence_bias)


Cell = Callable[[Direction, RunningSum, State], State]
"""``f(direction, weighted, state)``: the state after a step. ``weighted`` is its input times the weights, (batch, gates * hidden)."""


def layer(
    xp: Any,
    desc: OperatorDesc,
    inputs: Mapping[str, Array],
    cell: Cell,
    initial: Sequence[str],
    last: Sequence[str],
) -> dict[str, Answer]:
    """The outputs of all directions. ``initial`` are the tensors in which the states begin, ``last`` those in which they are stored at the end."""
    arithmetic = Arithmetic(xp, inputs["InputTensor"].dtype == xp.float16)
    x = arithmetic.exact(inputs["InputTensor"][0])
    _, count, rows, hidden = desc_sizes(inputs)
    steps, batch = x.value.shape[:2]
    lengths = sequence_lengths(xp, inputs, steps, batch)
    sequences, states = [], []
    for at in range(count):
        direction = _direction(xp, arithmetic, desc, inputs, at, rows // hidden, hidden)
        backward = desc.constant("Direction") == "BACKWARD" or at == 1
        weighted = arithmetic.weighted_sum(x, Weights.from_value(inputs["WeightTensor"][0, at].astype(xp.float64).T))
        state = tuple(_initial(xp, inputs.get(name), at, batch, hidden) for name in initial)
        nothing = _initial(xp, None, at, batch, hidden)
        found = [nothing] * steps
        for step, inside in walk_steps(xp, lengths, steps, backward):
            new = cell(direction, weighted.part(step), state)
            state = tuple(arithmetic.choose(inside, one, other) for one, other in zip(new, state, strict=True))
            found[step] = arithmetic.choose(inside, new[0], nothing)
        sequences.append(_stack_parts(xp, found, 0))
        states.append(state)
    answers = {name: _stack_parts(xp, [state[at] for state in states], 0) for at, name in enumerate(last)}
    outputs = {name: WithError(state.value[None], state.error[None]).answer(xp) for name, state in answers.items()}
    outputs["OutputSequenceTensor"] = _stack_parts(xp, sequences, 1).answer(xp)
    empty = (lengths == 0)[None, None, :, None]
    return {
        name: _drop_undefined(xp, answer, empty) if name in last else answer
        for name, answer in outputs.items()
        if desc.find(name) is not None
    }


def desc_sizes(inputs: Mapping[str, Array]) -> tuple[int, ...]:
    """1, the number of directions, that of gates times the hidden nodes, and that of the hidden nodes."""
    return tuple(inputs["RecurrenceTensor"].shape)


@stage("recurrent.lengths")
def sequence_lengths(xp: Any, inputs: Mapping[str, Array], steps: int, batch: int) -> Array:
    """The number of steps of each sequence, (batch,)."""
    lengths = inputs.get("SequenceLengthsTensor")
    return xp.full((batch,), steps) if lengths is None else lengths.reshape(batch).astype(xp.int64)


@stage("recurrent.walk")
def walk_steps(xp: Any, lengths: Array, steps: int, backward: bool) -> Iterator[tuple[int, Array]]:
    """Each step in its turn, and which sequences have it, (batch, 1)."""
    for step in range(steps - 1, -1, -1) if backward else range(steps):
        yield step, (step < lengths)[:, None]


def _direction(
    xp: Any, arithmetic: Arithmetic, desc: OperatorDesc, inputs: Mapping[str, Array], at: int, gates: int, hidden: int
) -> Direction:
    bias, peepholes = inputs.get("BiasTensor"), inputs.get("PeepholeTensor")
    both = xp.zeros(2 * gates * hidden) if bias is None else bias[0, 0, at].astype(xp.float64)
    activations = desc.inners("ActivationDescs")
    each = len(activations) // desc_sizes(inputs)[1]
    return Direction(
        arithmetic,
        desc,
        hidden,
        Weights.from_value(inputs["RecurrenceTensor"][0, at].astype(xp.float64).T),
        both[: gates * hidden],
        both[gates * hidden :],
        activations[at * each : (at + 1) * each],
        None if peepholes is None else peepholes[0, 0, at].astype(xp.float64),
    )


def _initial(xp: Any, tensor: Array | None, at: int, batch: int, hidden: int) -> WithError:
    value = xp.zeros((batch, hidden)) if tensor is None else tensor[0, at].astype(xp.float64)
    return WithError(value, xp.zeros((batch, hidden)))


def _stack_parts(xp: Any, parts: Sequence[WithError], axis: int) -> WithError:
    return WithError(xp.stack([part.value for part in parts], axis), xp.stack([part.error for part in parts], axis))


def of_sequences(answer: Answer, part: slice) -> Answer:
    """The answer of some of a batch's sequences."""
    arrays = {name: getattr(answer, name) for name in ("value", "magnitude", "slack", "defined")}
    return replace(answer, **{name: array[:, :, part] for name, array in arrays.items()})


def _drop_undefined(xp: Any, answer: Answer, empty: Array) -> Answer:
    """The answer without what the pages leave open: the last state of sequences without a step."""
    return Answer(answer.value, magnitude=answer.magnitude, terms=answer.terms, slack=answer.slack, defined=answer.defined & ~empty)
