"""The replies to the calls of a sequence: one each, and the outcome where one of them says that a call did not succeed."""

from __future__ import annotations

from collections.abc import Sequence

from dmlcts.conformance.backends.backend import BackendFault
from dmlcts.conformance.execution.outcome import Outcome, attempt_to
from dmlcts.conformance.sequences.call_json import call_name
from dmlcts.conformance.sequences.calls import Call, Perform, Reply
from dmlcts.reports.record.record import FAIL, UNSUPPORTED


def replies_to(calls: list[Call], perform: Perform) -> tuple[Outcome | None, list[Reply]]:
    """The replies of a sequence in which every call must succeed; or the outcome of the first that did not, or of a sequence that was not completed."""
    replies: list[Reply] = []
    failure = attempt_to(lambda: replies.extend(check_replies(perform(calls), calls)))
    return failure or find_refusal(calls, replies), replies


def check_replies(replies: Sequence[Reply], calls: Sequence[Call]) -> Sequence[Reply]:
    """The replies, one a call. Raises BackendFault if there are more or fewer."""
    if len(replies) != len(calls):
        raise BackendFault(f"{len(calls)} calls were answered with {len(replies)} replies")
    return replies


def find_refusal(calls: Sequence[Call], replies: Sequence[Reply]) -> Outcome | None:
    """The outcome of the first call that did not succeed, None if all did."""
    for index, (call, reply) in enumerate(zip(calls, replies, strict=True)):
        if reply.unsupported:
            return Outcome(UNSUPPORTED, reply.unsupported)
        if not reply.is_ok:
            removed = ", and the device was removed" if reply.removed else ""
            detail = f": {reply.message}" if reply.message else ""
            message = f"call {index} ({call_name(type(call))}) gave {reply.code}{removed}{detail}"
            return Outcome(FAIL, message, evidence={"call": index, "code": reply.code})
    return None
