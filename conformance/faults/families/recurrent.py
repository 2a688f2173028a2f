"""Faults of recurrent networks: what a step passes on, where sequences begin and end, and which gate is which."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dmlcts.conformance.faults.model.fault import SINGLE, Array, Fault, Faults, Table, with_input
from dmlcts.reference.operators.recurrent.computed import Arithmetic, WithError
from dmlcts.reference.operators.recurrent.layer import Direction
from dmlcts.reference.stage import Instead
from dmlcts.spec.model.desc import OperatorDesc

_STEPS = ("recurrent.rnn", "recurrent.gru", "recurrent.lstm")


def _carry(change: Callable[[Array], Array], at: int = 0) -> dict[str, Instead]:
    """Another state before each step: of the hidden nodes, or of the cells."""

    def step(right: Callable[..., Any], *arguments: Any) -> Any:
        *others, state = arguments
        changed = WithError(change(state[at].value), state[at].error)
        return right(*others, (*state[:at], changed, *state[at + 1 :]))

    return dict.fromkeys(_STEPS, step)


def _in_direction(does: str, change: Callable[[Direction], Direction]) -> Fault:
    """Another direction's data in each step."""

    def step(right: Callable[..., Any], *arguments: Any) -> Any:
        *others, direction, weighted, state = arguments
        return right(*others, change(direction), weighted, state)

    return Fault(does, stages=dict.fromkeys(_STEPS, step))


def _walk(does: str, inside: Callable[[int, Array, int], Array], when: Callable[[OperatorDesc], bool]) -> Fault:
    """Other steps of sequences that are shorter than the others."""

    def walk_inside(right: Callable[..., Iterator[tuple[int, Array]]], xp: Any, lengths: Array, steps: int, backward: bool) -> Any:
        for step, known in right(xp, lengths, steps, backward):
            yield step, inside(step, lengths, steps)[:, None] if backward else known

    return Fault(does, stages={"recurrent.walk": walk_inside}, when=when)


def _has_lengths(desc: OperatorDesc) -> bool:
    return desc.fields["SequenceLengthsTensor"] is not None and desc.fields["Direction"] != "FORWARD"


def _bias(desc: OperatorDesc) -> bool:
    return desc.fields["BiasTensor"] is not None


def _half(value: Array) -> Array:
    return value.astype("f2").astype("f8")


def _gates(*order: int) -> Callable[[Array], Array]:
    """The rows of the gates of each direction in another order."""

    def change(weights: Array) -> Array:
        parts = np.split(weights, len(order), axis=2)
        return np.concatenate([parts[at] for at in order], axis=2)

    return change


def _both_weights(does: str, *order: int) -> Fault:
    """Reads weights and recurrence in another order of gates."""
    change = _gates(*order)

    def inputs(desc: OperatorDesc, given: Any) -> Any:
        for name in ("WeightTensor", "RecurrenceTensor"):
            given = with_input(name, change)(desc, given)
        return given

    return Fault(does, inputs=inputs)


_FAULTS: Faults = {
    "carry-in-float16": Fault("keeps the hidden nodes in FLOAT16 between steps", stages=_carry(_half), types=SINGLE),
    "carry-lost": Fault("begins each step with no hidden nodes", stages=_carry(np.zeros_like)),
    "carry-of-another": Fault("exchanges the hidden nodes of sequences", stages=_carry(lambda h: np.roll(h, 1, axis=0))),
    "carry-reversed": Fault("reads the hidden nodes backward", stages=_carry(lambda h: h[:, ::-1])),
    "recurrence-bias-lost": replace(
        _in_direction("ignores the recurrence's bias", lambda d: replace(d, recurrence_bias=np.zeros_like(d.recurrence_bias))),
        when=_bias,
    ),
    "weight-bias-lost": replace(
        _in_direction("ignores the weights' bias", lambda d: replace(d, weight_bias=np.zeros_like(d.weight_bias))), when=_bias
    ),
    "backward-from-the-last-step": _walk(
        "reads the end of shorter sequences backward", lambda step, lengths, steps: step >= steps - lengths, _has_lengths
    ),
    "a-step-too-few": _walk("skips the last step backward", lambda step, lengths, steps: step < lengths - 1, _has_lengths),
}


def _exchange_mixed(
    right: Callable[..., WithError], arithmetic: Arithmetic, share: WithError, one: WithError, other: WithError
) -> WithError:
    return right(arithmetic, share, other, one)


FAULTS: Table = {
    "RNN GRU LSTM": _FAULTS,
    "GRU": {
        "update-exchanged": Fault("keeps what the update gate renews", stages={"recurrent.mixed": _exchange_mixed}),
        "gates-rzh": _both_weights("reads the reset gate before the update gate", 1, 0, 2),
    },
    "LSTM": {
        "gates-ifco": _both_weights("reads the gates as i, f, c, o", 0, 3, 1, 2),
        "cells-in-float16": Fault("keeps the cells in FLOAT16 between steps", stages=_carry(_half, 1), types=SINGLE),
        "cells-lost": Fault("begins each step with no cells", stages=_carry(np.zeros_like, 1)),
    },
}
