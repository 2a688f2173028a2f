"""Sequence cases on a backend: perform the calls, look at every byte that they left, and judge each dispatch as if it had been alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.backends.buffers import read_tensor
from dmlcts.conformance.execution.answers import answers_of
from dmlcts.conformance.execution.execute import compare_outputs, undeclared_outcome
from dmlcts.conformance.execution.memory import stray_writes
from dmlcts.conformance.execution.outcome import Outcome, result_of
from dmlcts.conformance.sequences.calls import Reply
from dmlcts.conformance.sequences.repetition.forms import Held, Repetition, Turn, repetition_of
from dmlcts.conformance.sequences.script import GUARD, NAN
from dmlcts.conformance.sequences.takes_part import perform_on
from dmlcts.conformance.sequences.takes_part.replies import replies_to
from dmlcts.generator.case.case import Case
from dmlcts.generator.suite.repetition import copied_output
from dmlcts.reports.record.record import ERROR, FAIL, PASS, SEQUENCES, UNSUPPORTED, Result

Array = NDArray[Any]

_WHICH = ("first", "second", "third", "fourth")


def execute_sequence(case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None) -> Result:
    """Runs and judges one sequence case. ``timeout`` limits each dispatch, in seconds.

    Never raises for what the backend does; an error of the suite's own is raised.
    """
    started = perf_counter()
    return result_of(case, sequence_outcome(case, backend, info, timeout), perf_counter() - started)


def sequence_outcome(case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None) -> Outcome:
    """The outcome of a sequence case: a pass, or that of the first call or dispatch that is wrong."""
    if (excluded := undeclared_outcome(case, info)) is not None:
        return excluded
    perform = perform_on(backend, timeout)
    if perform is None:
        return Outcome(
            UNSUPPORTED, f"{info.name} has no sequences: its host speaks version 1 of the protocol", undeclared=SEQUENCES
        )
    repetition = repetition_of(case, timeout)
    for turn in repetition.turns:  # one may be of another operator, which copies what the first gave
        if (excluded := undeclared_outcome(turn.case, info)) is not None:
            return excluded
    failure, replies = replies_to(repetition.script.calls, perform)
    if failure is not None and failure.status == UNSUPPORTED and any(call.thread for call in repetition.script.calls):
        failure.undeclared = SEQUENCES  # a host without threads takes no part, and that costs no claim
    return failure or _judge(repetition, replies, info)


def _judge(repetition: Repetition, replies: Sequence[Reply], info: BackendInfo) -> Outcome:
    """The outcome of what was read back: the memory beside the tensors, and every dispatch in its turn."""
    verdicts, matched = [], ""
    for index, turn in enumerate(repetition.turns):
        outcome = _judge_turn(turn, replies, info)
        which = f"the {_WHICH[index]} of {len(repetition.turns)} dispatches"
        if outcome.status != PASS:
            return replace(outcome, message=f"{which}: {outcome.message}", evidence={**outcome.evidence, "dispatch": index + 1})
        verdicts += outcome.verdicts
        matched = matched or outcome.matched_answer
    problem = next(filter(None, (_problem_of(held, replies) for held in repetition.held)), "")
    if problem:
        return Outcome(FAIL, problem, evidence={"memory": problem})
    return Outcome(PASS, verdicts=verdicts, matched_answer=matched)


def _judge_turn(turn: Turn, replies: Sequence[Reply], info: BackendInfo) -> Outcome:
    for index, reading in turn.readings.items():
        found = np.frombuffer(reading.bytes_in(replies), np.uint8)
        wanted = turn.layout.resources[index].size
        if found.size != wanted:
            return Outcome(ERROR, f"{found.size} bytes were read back where {wanted} were asked for")
        turn.layout.resources[index][...] = found
    if stray := stray_writes(turn.case, turn.layout):
        return Outcome(FAIL, stray, evidence={"memory": stray})
    if turn.source is not None:
        given = _outputs_of(turn.source)[copied_output(turn.source.case)]
        turn.inputs = dict.fromkeys(turn.inputs, given)
        turn.answers = answers_of(turn.case, turn.inputs)
    return compare_outputs(turn.case, turn.inputs, _outputs_of(turn), turn.answers, info)


def _outputs_of(turn: Turn) -> dict[str, Array]:
    """The outputs of a turn that was read back, packed, by name."""
    bindings, desc = turn.layout.dispatch.bindings, turn.case.desc
    return {
        name: read_tensor(turn.layout.resources[bindings[name].resource], desc.tensor(name), bindings[name].offset)
        for name in next(iter(turn.answers.values()))
    }


def _problem_of(held: Held, replies: Sequence[Reply]) -> str:
    """What is wrong with memory beside the tensors; empty if nothing is, or the operator needs none."""
    now = held.after.bytes_in(replies)
    guard = bytes([NAN]) * GUARD
    if now and (now[:GUARD] != guard or now[-GUARD:] != guard):
        return f"bytes around {held.name} were overwritten"
    if held.before is not None and held.before.bytes_in(replies) != now:
        return f"{held.name} was changed by a dispatch; only an initializer may write it"
    return ""
