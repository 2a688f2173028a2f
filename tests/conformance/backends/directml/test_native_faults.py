"""Faults of a DirectML that computes one operator in memory (fake_directml/computing.h) are found through the host: by sequence cases, and by promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.sequences.calls import BindInputs, Call, CreateOperator
from dmlcts.conformance.sequences.promises.judge import promise_outcome
from dmlcts.conformance.sequences.promises.promise import Promise, promises
from dmlcts.reports.record.record import FAIL, PASS, Result
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

Open = Callable[[str], ProcessBackend]

EVERY = {promise.name: promise for promise in promises()}


def results(backend: ProcessBackend) -> list[Result]:
    """Of all forms that the fake can: not the one that copies an output by another operator."""
    options = RunOptions(level="full", expression="bit_xor and sequence and not turn")
    session = Session(options, backend)
    return [session.run(case) for case in selected_cases(options)]


def test_no_sequence_fails_on_an_operator_that_is_right(opened: Open) -> None:
    found = results(opened("computes"))
    assert len(found) >= 12
    assert [(result.case, result.message) for result in found if result.status != PASS] == []


@pytest.mark.parametrize(
    "fault",
    [
        "stale-result",
        "initializer-once",
        "offset-remembered",
        "table-not-reset",
        "temporary-zero",
        "persistent-shared",
        "wrong-thread",
    ],
)
def test_each_fault_is_found(fault: str, opened: Open) -> None:
    failures = [result for result in results(opened(fault)) if result.status == FAIL]
    assert failures, fault
    assert all("dispatches" in result.message for result in failures)


# What objects do


def on_xor(promise: Promise) -> Promise:
    """The promise with the one operator that the fake has, in the place of one with as many inputs or with one less."""
    return replace(promise, calls=tuple(_calls_on_xor(promise.calls)))


def _calls_on_xor(calls: tuple[Call, ...]) -> Iterator[Call]:
    missing = 0
    for call in calls:
        if isinstance(call, CreateOperator):
            tensors = [tensor for _, tensor in call.desc.tensors()]
            missing = 3 - len(tensors)
            every = [replace(tensor, data_type="UINT32") for tensor in (*tensors[:1] * missing, *tensors)]
            assert all(isinstance(tensor, TensorDesc) for tensor in every)
            desc = OperatorDesc("ELEMENT_WISE_BIT_XOR", dict(zip(("ATensor", "BTensor", "OutputTensor"), every, strict=True)))
            yield replace(call, desc=desc)
        elif isinstance(call, BindInputs):
            yield replace(call, to=(*call.to[:1] * missing, *call.to))
        else:
            yield call


KEPT = ("OBJ-6", "TAB-9", "INI-8", "REM-1")


@pytest.mark.parametrize("name", KEPT)
def test_a_promise_about_objects_is_kept_by_what_is_right(name: str, opened: Open) -> None:
    outcome, _ = promise_outcome(on_xor(EVERY[name]), opened("computes"), 20.0)
    assert (outcome.status, outcome.message) == (PASS, "")


@pytest.mark.parametrize(
    ("fault", "name", "message"),
    [
        ("reference-dropped", "TAB-9", "(add-reference) gave 2, expected 3"),
        ("reference-dropped", "INI-8", "(add-reference) gave 2, expected 3"),
        ("object-leaked", "OBJ-6", "(add-reference) gave 4, expected 2"),
        ("removal-unnoticed", "REM-1", "(bind-inputs) did not remove the device"),
    ],
)
def test_a_fault_of_objects_breaks_a_promise(fault: str, name: str, message: str, opened: Open) -> None:
    outcome, _ = promise_outcome(on_xor(EVERY[name]), opened(fault), 20.0)
    assert outcome.status == FAIL
    assert outcome.message.endswith(message)
