"""Sequence cases: the reference passes every form, each planted fault is found, what is legal is not, and messages say which dispatch is wrong."""

from dataclasses import replace
from typing import Any

import pytest

from dmlcts.conformance.backends.backend import BackendFault, BackendInfo, Dispatch, Rejected, Unsupported
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.python.in_process import InProcess
from dmlcts.conformance.backends.python.python_host import open_hosted
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.traced import Traced
from dmlcts.conformance.faults.beyond.sequences import FAULTS, LEGAL, FaultySequences
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.sequences.call_json import objects_of
from dmlcts.conformance.sequences.calls import (
    COMPUTE,
    DIRECT,
    Call,
    Close,
    Compile,
    CreateInitializer,
    CreateList,
    CreateOperator,
    CreateTable,
    Meet,
    Record,
    Reply,
)
from dmlcts.conformance.sequences.perform import Performer
from dmlcts.conformance.sequences.repetition.execute import sequence_outcome
from dmlcts.conformance.sequences.repetition.forms import FORMS, repetition_of
from dmlcts.conformance.sequences.takes_part import perform_on
from dmlcts.generator.case.case import Case
from dmlcts.generator.plan.forms import forms
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.repetition import sequence_cases
from dmlcts.reports.record.record import ERROR, FAIL, PASS, UNSUPPORTED
from dmlcts.spec.reading.loader import load


def cases_of(*names: str, level: str = "full") -> list[Case]:
    return [case for name in names for case in sequence_cases(plan_of(load(name)), level)]


CORE = cases_of("CONVOLUTION", "ELEMENT_WISE_ADD", level="core")
FULL = cases_of("ELEMENT_WISE_ADD", "SPLIT", "ADAM_OPTIMIZER")
UNLIKE = cases_of("LSTM", "TOP_K1", "FILL_VALUE_SEQUENCE", "RANDOM_GENERATOR", "MULTIHEAD_ATTENTION", "QUANTIZE")


def form(label: str, name: str = "ELEMENT_WISE_ADD") -> Case:
    return next(case for case in cases_of(name) if case.sequence == label)


def outcome(case: Case, backend: Any) -> tuple[str, str]:
    found = sequence_outcome(case, backend, backend.describe())
    return found.status, found.message


def test_each_form_has_a_sequence() -> None:
    assert list(FORMS) == list(forms())


@pytest.mark.parametrize("case", [*CORE, *FULL, *UNLIKE], ids=lambda case: case.id)
def test_the_reference_passes(case: Case) -> None:
    assert outcome(case, ReferenceBackend()) == (PASS, "")


@pytest.mark.parametrize("label", FAULTS)
def test_a_fault_is_found_at_core_and_in_any_operator_with_owned_inputs_at_full(label: str) -> None:
    backend = FaultySequences(label)
    for cases in (CORE, cases_of("ELEMENT_WISE_ADD"), cases_of("GEMM")):
        assert FAIL in {outcome(case, backend)[0] for case in cases}


@pytest.mark.parametrize("label", LEGAL)
def test_what_is_legal_is_no_fault(label: str) -> None:
    backend = FaultySequences(label)
    wrong = [(case.id, found) for case in (*CORE, *FULL, *UNLIKE) if (found := outcome(case, backend))[0] != PASS]
    assert wrong == []


def test_no_form_is_there_for_nothing() -> None:
    found = {label: {case.sequence for case in CORE if outcome(case, FaultySequences(label))[0] == FAIL} for label in FAULTS}
    needed = {
        "other-buffers": "table-not-reset",
        "other-offsets": "first-offsets",
        "initialized-again": "initialized-once",
        "two-of-one": "persistent-shared",
        "side-by-side": "last-descriptors",
        "in-turn": "no-barriers",
        "recorded-once": "recorded-bindings",
        "compute-queue": "one-queue",
        "threads": "wrong-thread",
    }
    assert {name: found[fault] for name, fault in needed.items()} == {name: {name} for name in needed}
    assert "again" in found["stale-result"]


def test_the_message_says_which_dispatch_is_wrong() -> None:
    status, message = outcome(form("again"), FaultySequences("stale-result"))
    assert status == FAIL
    assert message.startswith("the second of 2 dispatches: OutputTensor: ")


def test_memory_beside_the_tensors_is_looked_at() -> None:
    assert outcome(form("again"), FaultySequences("temporary-overrun")) == (FAIL, "bytes around temporary memory were overwritten")
    assert outcome(form("again"), FaultySequences("persistent-written"))[1].startswith(
        "persistent memory was changed by a dispatch"
    )


def test_threads_begin_together_and_none_uses_what_another_makes() -> None:
    calls = repetition_of(form("threads")).script.calls
    threads = list(dict.fromkeys(call.thread for call in calls if call.thread))
    assert len(threads) == 4
    own: list[set[int]] = []
    for thread in threads:
        mine = [call for call in calls if call.thread == thread]
        assert isinstance(mine[0], Meet)
        assert {CreateOperator, Compile, CreateInitializer, CreateTable, Record, Close} <= {type(call) for call in mine}
        own.append({number for call in mine if (number := getattr(call, "makes", None))})
        others = {number for call in mine for number in objects_of(call)} - own[-1]
        before = calls[: calls.index(mine[0])]
        assert others - {0} <= {getattr(call, "makes", None) for call in before}, "of what is shared, all was made before"
    assert sum(map(len, own)) == len(set().union(*own))
    starts = [next(index for index, call in enumerate(calls) if call.thread == thread) for thread in threads]
    assert starts == list(range(starts[0], starts[0] + 4)), "calls of threads stand in turn"


def test_a_queue_of_type_compute_is_used_and_then_the_other() -> None:
    lists = [call.type for call in repetition_of(form("compute-queue")).script.calls if isinstance(call, CreateList)]
    assert lists == [COMPUTE, COMPUTE, DIRECT]


# What a backend may answer


class Changed(ReferenceBackend):
    """The reference, but for its replies to a sequence."""

    def __init__(self, change: Any) -> None:
        super().__init__()
        self.change = change

    def perform(self, calls: list[Call]) -> list[Reply]:
        found: list[Reply] = self.change(Performer(ReferenceBackend()).perform(calls))
        return found


def test_a_call_that_does_not_succeed_is_named_with_its_code() -> None:
    backend = Changed(lambda replies: [replace(replies[0], code="E_INVALIDARG", message="no"), *replies[1:]])
    assert outcome(form("again"), backend) == (FAIL, "call 0 (create-resource) gave E_INVALIDARG: no")


def test_a_device_that_is_removed_by_a_void_call_is_a_failure() -> None:
    backend = Changed(lambda replies: [replies[0], replace(replies[1], removed=True), *replies[2:]])
    assert outcome(form("again"), backend) == (FAIL, "call 1 (write) gave S_OK, and the device was removed")


def test_replies_that_are_missing_are_an_error() -> None:
    status, message = outcome(form("again"), Changed(lambda replies: replies[:-1]))
    assert status == ERROR
    assert "calls were answered with" in message


def test_bytes_that_are_missing_are_an_error() -> None:
    cut = Changed(
        lambda replies: [replace(r, value=r.value[:-1]) if isinstance(r.value, bytes) and r.value else r for r in replies]
    )
    status, message = outcome(form("again"), cut)
    assert status == ERROR
    assert "bytes were read back where" in message


class Raises(ReferenceBackend):
    """Raises at its second dispatch."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error, self.count = error, 0

    def run(self, dispatch: Dispatch) -> None:
        self.count += 1
        if self.count == 2:
            raise self.error
        super().run(dispatch)


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (Rejected("why", "bind", "E_FAIL"), FAIL, "(submit) gave E_FAIL: refused at bind: why"),
        (Unsupported("not twice"), UNSUPPORTED, "not twice"),
        (BackendFault("lost"), ERROR, "lost"),
        (ValueError("oops"), ERROR, "ValueError: oops"),
    ],
)
def test_what_a_dispatch_raises_is_the_outcome(error: Exception, status: str, message: str) -> None:
    found = outcome(form("again"), Raises(error))
    assert found[0] == status
    assert message in found[1]


# Who takes part


def test_what_a_backend_does_not_declare_is_not_asked_of_it() -> None:
    found = sequence_outcome(form("again"), ReferenceBackend(), BackendInfo("few", operators=("GEMM",)))
    assert (found.status, found.undeclared) == (UNSUPPORTED, "operator")


def test_a_program_of_version_1_of_the_protocol_keeps_its_claim() -> None:
    backend = ProcessBackend.__new__(ProcessBackend)  # not started: it is not asked
    found = sequence_outcome(form("again"), backend, BackendInfo("a host"))
    assert (found.status, found.undeclared) == (UNSUPPORTED, "sequences")
    assert found.message == "a host has no sequences: its host speaks version 1 of the protocol"


def test_a_python_class_in_a_process_of_its_own_takes_part() -> None:
    name = "inprocess:dmlcts.conformance.backends.reference:ReferenceBackend"
    backend = open_hosted(name, name)
    try:
        assert outcome(form("recorded-once"), backend) == (PASS, "")
    finally:
        backend.close()


def test_a_class_in_this_process_may_perform_sequences_itself() -> None:
    assert outcome(form("again"), InProcess(lambda: FaultySequences("stale-result")))[0] == FAIL
    assert outcome(form("again"), InProcess(ReferenceBackend)) == (PASS, "")


def test_a_session_runs_sequences_like_any_case() -> None:
    case = form("again")
    with Session(RunOptions(backend="reference"), FaultySequences("stale-result")) as session:
        found = session.run(case)
    assert (found.status, found.kind) == (FAIL, "sequence")
    assert found.repro == f"dmlcts run --backend reference --case {case.id}"
    assert found.evidence["dispatch"] == 2
    assert found.mismatches


def test_a_program_takes_no_part_whatever_is_noted_of_it() -> None:
    """Noting its code paths made it look like a Python class, whose single dispatches say what lasts."""
    program = ProcessBackend.__new__(ProcessBackend)
    assert perform_on(program) is None
    assert perform_on(Traced(program)) is None
    assert perform_on(Traced(ReferenceBackend())) is not None
