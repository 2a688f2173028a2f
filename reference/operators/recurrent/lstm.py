"""LSTM: gates say what a step adds to its cells, what the cells keep, and what of them the hidden nodes show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from dmlcts.reference.answer import Answer, Array
from dmlcts.reference.operators.recurrent.computed import Arithmetic, RunningSum, WithError
from dmlcts.reference.operators.recurrent.layer import Direction, State, layer, of_sequences
from dmlcts.reference.registry import reference
from dmlcts.reference.stage import stage
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import MEASURED

_INPUT, _OUTPUT, _FORGET, _CELL = range(4)
"""The gates in the order of the weights and biases; the peepholes have the first three."""

_OF_EACH_SEQUENCE = ("InputTensor", "HiddenInitTensor", "CellMemInitTensor", "SequenceLengthsTensor")


@reference("LSTM")
def lstm(xp: Any, desc: OperatorDesc, inputs: Mapping[str, Array]) -> dict[str, Answer]:
    """Of each step, with the gates i, o, f and c::

        i = f(clip(X Wi' + H Ri' + Pi * C + Wbi + Rbi))       what is added to the cells
        f = f(clip(X Wf' + H Rf' + Pf * C + Wbf + Rbf))       what they keep; 1 - i with CoupleInputForget
        c = g(clip(X Wc' + H Rc' + Wbc + Rbc))
        C = f * C + i * c
        o = f(clip(X Wo' + H Ro' + Po * C + Wbo + Rbo))
        H = o * h(C)

    In all of them the peepholes see the cells before the step, says the page; in DirectML.dll, as in ONNX, the output gate sees the new ones.
    """
    initial, last = ("HiddenInitTensor", "CellMemInitTensor"), ("OutputSingleTensor", "OutputCellSingleTensor")
    if "PeepholeTensor" not in inputs:
        return layer(xp, desc, inputs, partial(_step, None), initial, last)
    # Both at once, each in a half of a batch that is twice as large: the time goes by the number of steps.
    batch = inputs["InputTensor"].shape[2]
    twice = {
        name: xp.concatenate([array, array], -1 if name == "SequenceLengthsTensor" else 2) if name in _OF_EACH_SEQUENCE else array
        for name, array in inputs.items()
    }
    is_before = (xp.arange(2 * batch) < batch)[:, None]
    answers = layer(xp, desc, twice, partial(_step, is_before), initial, last)
    return {
        name: replace(of_sequences(answer, slice(batch)), contested={MEASURED: of_sequences(answer, slice(batch, None))})
        for name, answer in answers.items()
    }


@stage("recurrent.lstm")
def _step(is_before: Array | None, direction: Direction, weighted: RunningSum, state: State) -> State:
    """The state after a step: ``weighted`` is the input's share of the sums, ``state`` what the step before left.

    With peepholes, ``is_before`` says of each sequence, (batch, 1), whether its output gate sees the cells before the step.
    """
    arithmetic, (hidden, cells) = direction.arithmetic, state
    gate, shown, squash = direction.activations
    sums = weighted + arithmetic.weighted_sum(hidden, direction.recurrence) + direction.bias(direction.gates(0, 4))
    gates = arithmetic.activate(
        gate, _argument(direction, sums, _INPUT, _FORGET + 1, cells)
    )  # with peepholes, the output gate is computed below
    added, open_, kept = (gates.columns(direction.gates(at, at + 1)) for at in (_INPUT, _OUTPUT, _FORGET))
    coupled = direction.desc.flag("CoupleInputForget")
    value = arithmetic.activate(shown, _argument(direction, sums, _CELL, _CELL + 1, None))
    renewed = arithmetic.mix(added, value, cells) if coupled else renewed_cells(arithmetic, kept, cells, added, value)
    if direction.peepholes is not None:
        seen = arithmetic.choose(is_before, cells, renewed)
        open_ = arithmetic.activate(gate, _argument(direction, sums, _OUTPUT, _OUTPUT + 1, seen))
    return arithmetic.product(open_, arithmetic.activate(squash, renewed)), renewed


@stage("recurrent.cells")
def renewed_cells(arithmetic: Arithmetic, kept: WithError, cells: WithError, added: WithError, value: WithError) -> WithError:
    """``kept * cells + added * value``."""
    old, new = arithmetic.product(kept, cells), arithmetic.product(added, value)
    return arithmetic.total(arithmetic.term(old) + arithmetic.term(new))


@stage("recurrent.argument")
def _argument(direction: Direction, sums: RunningSum, first: int, last: int, seen: WithError | None) -> WithError:
    """What the activations of gates are applied to: with peepholes into the cells seen, if there are such, and clipped."""
    arithmetic, part = direction.arithmetic, direction.gates(first, last)
    terms = sums.columns(part)
    if direction.peepholes is not None and seen is not None:
        every = seen if last - first == 1 else arithmetic.repeat_number(seen, last - first)
        terms = terms + arithmetic.term(arithmetic.product(arithmetic.exact(direction.peepholes[part]), every))
    total = arithmetic.total(terms)
    desc = direction.desc
    return arithmetic.clip(total, desc.number("ClipThreshold")) if desc.flag("UseClipThreshold") else total
