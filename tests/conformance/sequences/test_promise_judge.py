"""What becomes of a promise: misuse, refusals, values, processes of its own, and what explains several that are broken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dmlcts.conformance.backends.backend import CRASHED, BackendFault
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.runner.explaining.beyond.promises import explain_promises
from dmlcts.conformance.sequences.calls import Call, Reply
from dmlcts.conformance.sequences.promises.judge import execute_promise, promise_outcome, promise_result
from dmlcts.conformance.sequences.promises.promise import Expected, Promise, promises
from dmlcts.reports.record.record import ERROR, FAIL, PASS, UNSUPPORTED, Result

EVERY = {promise.name: promise for promise in promises()}


class Answers(ReferenceBackend):
    """Every call is answered as its promise expects, but for those at the given places."""

    def __init__(self, promise: Promise, changed: dict[int, Reply] | None = None, fault: BackendFault | None = None) -> None:
        super().__init__()
        self.promise, self.changed, self.fault = promise, changed or {}, fault

    def perform(self, calls: list[Call]) -> list[Reply]:
        if self.fault:
            raise self.fault
        given = [Reply(each.codes[0], each.value, each.removes) for each in self.promise.expected]
        return [self.changed.get(index, reply) for index, reply in enumerate(given)]


def judged(name: str, changed: dict[int, Reply] | None = None) -> Result:
    return execute_promise(EVERY[name], Answers(EVERY[name], changed))


def test_misuse_is_reported_by_the_call_that_refused_it_and_its_code() -> None:
    assert judged("OPR-9").grade == "call 2 (compile) gave E_INVALIDARG"
    assert judged("BIN-1").grade.endswith("(bind-inputs) removed the device")
    assert judged("OPR-9", {2: Reply()}).grade == "survived"


def test_a_crash_is_an_error_whatever_the_severity() -> None:
    for name in ("BIN-1", "REC-4"):
        fault = BackendFault("call 3 (create-table): the host crashed", "", CRASHED)
        result = execute_promise(EVERY[name], Answers(EVERY[name], fault=fault))
        assert (result.status, result.message) == (ERROR, "call 3 (create-table): the host crashed")


def test_a_call_that_is_not_performed_costs_no_claim() -> None:
    result = judged("DEV-1", {0: Reply(unsupported="no devices")})
    assert (result.status, result.undeclared) == (UNSUPPORTED, "sequences")
    assert result.message == "call 0 (create-device): no devices"


@pytest.mark.parametrize(
    ("wanted", "given", "is_kept"),
    [
        ({"persistent": 0}, {"persistent": 0, "temporary": 5}, True),
        ({"persistent": 0}, {"persistent": 1}, False),
        ({"persistent": 0}, {}, False),
        ({"persistent": 0}, 0, False),
        (True, True, True),
        (True, 1, False),
        (0, False, False),
        (4096, 4096, True),
        (b"\x01", b"\x01", True),
    ],
)
def test_a_value_must_be_of_its_kind_and_have_the_members_that_are_named(wanted: Any, given: Any, is_kept: bool) -> None:
    assert (Expected(value=wanted).problem(Reply(value=given)) == "") == is_kept


def test_other_codes_than_those_that_are_named_break_a_promise() -> None:
    expected = Expected(("S_OK", "DXGI_ERROR_SDK_COMPONENT_MISSING"))
    assert expected.problem(Reply("0x887A002D")) == ""
    assert expected.problem(Reply("0x80070057")) == "gave E_INVALIDARG, expected S_OK or DXGI_ERROR_SDK_COMPONENT_MISSING"


def test_fewer_replies_than_calls_are_an_error() -> None:
    class Short(Answers):
        def perform(self, calls: list[Call]) -> list[Reply]:
            return super().perform(calls)[:-1]

    assert execute_promise(EVERY["DEV-1"], Short(EVERY["DEV-1"])).status == ERROR


class Program(ProcessBackend):
    """A program in another process, as far as promises are concerned: how often it was ended, and how it ends."""

    def __init__(self, promise: Promise, end: str = "", changed: dict[int, Reply] | None = None) -> None:
        self.answers, self.end, self.ended = Answers(promise, changed), end, 0

    def perform(self, calls: list[Call]) -> list[Reply]:
        return self.answers.perform(calls)

    def close(self) -> None:
        self.ended += 1
        if self.end:
            raise BackendFault(self.end)


def test_a_process_performs_nothing_after_an_isolated_promise() -> None:
    program = Program(EVERY["TMP-1"])
    assert execute_promise(EVERY["TMP-1"], program).status == PASS
    assert program.ended == 1
    shared = Program(EVERY["REC-4"])
    execute_promise(EVERY["REC-4"], shared)
    assert shared.ended == 0


def test_a_process_that_does_not_end_in_order_breaks_an_isolated_promise() -> None:
    result = execute_promise(EVERY["TMP-1"], Program(EVERY["TMP-1"], "the host ended with exit code 5"))
    assert (result.status, result.message) == (ERROR, "after its calls the host ended with exit code 5")


def test_a_process_goes_on_if_it_does_not_perform_an_isolated_promise() -> None:
    program = Program(EVERY["TMP-1"], changed={0: Reply(unsupported="no")})
    assert execute_promise(EVERY["TMP-1"], program).status == UNSUPPORTED
    assert program.ended == 0


def test_a_limit_shortens_the_usual_one_and_lengthens_none(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float | None] = []

    def note(promise: Promise, backend: Any, timeout: float | None) -> Any:
        seen.append(timeout)
        return promise_outcome(replace(promise, severity="undefined"), backend, timeout)

    monkeypatch.setattr("dmlcts.conformance.sequences.promises.judge.promise_outcome", note)
    for timeout in (30.0, 1.0, None):
        execute_promise(replace(EVERY["REC-4"], limit=2), ReferenceBackend(), timeout)
    execute_promise(EVERY["REC-4"], ReferenceBackend(), 30.0)
    assert seen == [2, 1.0, 2, 30.0]


def results(broken: set[str], kept: set[str]) -> list[Result]:
    outcome, _ = promise_outcome(EVERY["DEV-1"], Answers(EVERY["DEV-1"]))
    return [
        replace(promise_result(EVERY[name], outcome), status=FAIL if name in broken else PASS) for name in sorted(broken | kept)
    ]


def test_a_flag_that_all_broken_promises_share_explains_them() -> None:
    (found,) = explain_promises(results({"REC-3", "REC-4"}, {"REC-1", "REC-2", "TAB-4"}))
    assert found.conditions == ("it compiles with DESCRIPTORS_VOLATILE",)
    assert (found.inside, found.failing, found.outside, found.explains) == (2, 2, 3, 2)
    assert found.text.startswith("a promise case fails whenever it compiles with DESCRIPTORS_VOLATILE (2 of 2), never otherwise")


def test_a_reason_may_be_met_by_a_kept_promise_or_two() -> None:
    (found,) = explain_promises(results({"REC-3", "REC-4"}, {"REC-1", "REC-2", "OPR-7"}))
    assert (found.conditions, found.inside, found.failing) == (("it compiles with DESCRIPTORS_VOLATILE",), 3, 2)
    assert explain_promises(results({"REC-3", "REC-1"}, {"REC-4", "OPR-7", "REC-2", "REC-5"})) == []


def test_an_area_explains_what_no_call_does() -> None:
    (found,) = explain_promises(results({"FEA-1", "FEA-2", "DEV-8"}, {"DEV-1", "DEV-2", "REC-13"}))
    assert (found.conditions, found.explains, found.total) == (("it calls check-levels",), 2, 3)


def test_single_broken_promises_and_a_backend_without_a_kept_one_are_not_explained() -> None:
    assert explain_promises(results({"REC-4"}, {"REC-1"})) == []
    assert explain_promises(results({"REC-3", "REC-4"}, set())) == []


def test_a_value_that_only_the_implementation_knows_is_held_against_an_earlier_call() -> None:
    promise = EVERY["PER-2"]
    last = len(promise.calls) - 1
    before = promise.expected[last].same_as
    assert before is not None
    same = {before: Reply(value=b"\1\2"), last: Reply(value=b"\1\2")}
    assert judged("PER-2", same).status == PASS
    result = judged("PER-2", {**same, last: Reply(value=b"\1\3")})
    assert (result.status, result.message) == (FAIL, f"call {last} (read) gave 0103, expected 0102 as in call {before}")
    assert judged("PER-2", {**same, last: Reply("E_FAIL")}).status == FAIL


@pytest.mark.parametrize(
    ("said", "given", "message"),
    [
        (True, Reply(), ""),
        (True, Reply("E_INVALIDARG"), "call 1 (try-operator) gave E_INVALIDARG, expected S_OK"),
        (False, Reply("E_INVALIDARG"), ""),
        (False, Reply("DXGI_ERROR_UNSUPPORTED"), ""),
        (False, Reply(), "call 1 (try-operator) gave S_OK, although call 0 answered that it is not supported"),
        (False, Reply("E_INVALIDARG", removed=True), "call 1 (try-operator) removed the device"),
    ],
)
def test_what_is_said_to_be_supported_is_accepted_and_all_else_refused(said: bool, given: Reply, message: str) -> None:
    others = {index: Reply(value=True) for index in range(2, len(EVERY["FEA-7"].calls), 2)}
    result = judged("FEA-7", {0: Reply(value=said), 1: given, **others})
    assert (result.status, result.message) == (FAIL if message else PASS, message)
