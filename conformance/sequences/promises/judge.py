"""Promises on a backend: perform the calls, and hold what each gave against what it must give."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from dmlcts.conformance.backends.backend import Backend, BackendFault
from dmlcts.conformance.execution.outcome import Outcome, attempt_to
from dmlcts.conformance.sequences.call_json import call_name
from dmlcts.conformance.sequences.calls import OK, Call, Reply, code_name
from dmlcts.conformance.sequences.perform import Performer
from dmlcts.conformance.sequences.promises.promise import MISUSE, UNDEFINED, Promise
from dmlcts.conformance.sequences.takes_part import end_host, perform_on
from dmlcts.reports.record.record import API, ERROR, FAIL, NOT_RUN, PASS, PROMISE, SEQUENCES, UNSUPPORTED, Result
from dmlcts.spec.model.operator import DOCUMENTED

CALL, CODE = "call", "code"
"""The evidence of a broken promise: the name of the call that broke it, and its HRESULT."""


def execute_promise(promise: Promise, backend: Backend, timeout: float | None = None) -> Result:
    """Performs and judges a promise. ``timeout`` limits each dispatch, in seconds. Never raises for what the backend does."""
    started = perf_counter()
    if promise.limit is not None:
        timeout = promise.limit if timeout is None else min(timeout, promise.limit)
    outcome, grade = promise_outcome(promise, backend, timeout)
    return promise_result(promise, outcome, perf_counter() - started, grade)


def promise_result(promise: Promise, outcome: Outcome, seconds: float = 0.0, grade: str = "") -> Result:
    """The result record of a promise."""
    return Result(
        case=promise.id,
        operator=API,
        data_type="",
        kind=PROMISE,
        basis=DOCUMENTED,
        feature_level=promise.feature_level,
        status=outcome.status,
        message=outcome.message,
        seconds=seconds,
        grade=grade,
        evidence=outcome.evidence,
        undeclared=outcome.undeclared,
    )


def promise_not_run(promise: Promise) -> Result:
    """The result of a promise that was selected and has not run."""
    return promise_result(promise, Outcome(NOT_RUN, "not run"))


def promise_outcome(promise: Promise, backend: Backend, timeout: float | None = None) -> tuple[Outcome, str]:
    """What becomes of a promise on a backend, kept, broken by a call that the message names, or unsupported; and a remark on what misuse led to."""
    if promise.severity == UNDEFINED:
        return Outcome(UNSUPPORTED, "undefined: no page promises anything", undeclared=SEQUENCES), ""
    perform = perform_on(backend, timeout)
    if perform is None:
        return Outcome(UNSUPPORTED, "the backend has no sequences", undeclared=SEQUENCES), ""
    if isinstance(getattr(perform, "__self__", None), Performer) and (_is_about_refusal(promise) or _is_about_threads(promise)):
        return Outcome(UNSUPPORTED, "the suite performs the calls here, and not the implementation", undeclared=SEQUENCES), ""
    replies: list[Reply] = []
    failure = attempt_to(lambda: replies.extend(perform(list(promise.calls))))
    if failure is not None and failure.status == UNSUPPORTED:
        failure.undeclared = SEQUENCES
    outcome, remark = (failure, "") if failure else _judge(promise, replies)
    if promise.isolated and outcome.status != UNSUPPORTED and (problem := _end_of(backend)) and outcome.status == PASS:
        return Outcome(ERROR, f"after its calls {problem}"), ""
    return outcome, remark


def _is_about_refusal(promise: Promise) -> bool:
    """Whether a promise says what is refused: the suite, where it performs the calls itself, refuses nothing."""
    return promise.severity == MISUSE or any(each.removes or OK not in each.codes for each in promise.expected)


def _is_about_threads(promise: Promise) -> bool:
    """Whether several threads are to make calls at once: where the suite performs them, they take turns."""
    return any(call.thread for call in promise.calls)


def _end_of(backend: Backend) -> str:
    """Ends the process that performed a promise, if it is one: the next case starts another. Returns what went wrong at that."""
    try:
        end_host(backend)
    except BackendFault as fault:
        return str(fault)
    return ""


def _judge(promise: Promise, replies: Sequence[Reply]) -> tuple[Outcome, str]:
    if len(replies) != len(promise.calls):
        return Outcome(ERROR, f"{len(promise.calls)} calls were answered with {len(replies)} replies"), ""
    remark = ""
    for index, (call, expected, reply) in enumerate(zip(promise.calls, promise.expected, replies, strict=True)):
        where = _place(index, call)
        if reply.unsupported:
            return Outcome(UNSUPPORTED, f"{where}: {reply.unsupported}", undeclared=SEQUENCES), ""
        if promise.severity == MISUSE:
            remark = remark or _refusal(where, reply)
        elif problem := expected.problem(reply, replies[:index]):
            return Outcome(FAIL, f"{where} {problem}", evidence={CALL: call_name(type(call)), CODE: reply.code}), ""
    return Outcome(PASS), (remark or "survived") if promise.severity == MISUSE else ""


def _place(index: int, call: Call) -> str:
    return f"call {index} ({call_name(type(call))})"


def _refusal(where: str, reply: Reply) -> str:
    """How a call of a misuse was refused; empty if it was not."""
    return "" if reply.is_ok else f"{where} {'removed the device' if reply.removed else f'gave {code_name(reply.code)}'}"
