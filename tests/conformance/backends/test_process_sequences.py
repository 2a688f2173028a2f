"""Version 2 of the process protocol: sequences of calls on a program, and what its answers may not be."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dmlcts.conformance.backends.backend import BackendFault, BackendUnavailable, Unsupported
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.process.protocol import PREFIX, ProtocolError
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.sequences.call_json import read_calls
from dmlcts.conformance.sequences.calls import Call, Reply
from dmlcts.conformance.sequences.takes_part import perform_on
from dmlcts.conformance.sequences.takes_part.wire import UNKNOWN_INTERFACE, Answer, perform_request, wire_call
from dmlcts.reports.record.record import PASS, UNSUPPORTED
from dmlcts.spec.reading.loader import load
from dmlcts.spec.untrusted.files import parse_json, validator

DOCS = Path(__file__).parents[3] / "docs"
TENSOR = {"DataType": "FLOAT32", "Sizes": [2]}
ABS = {"Type": "ELEMENT_WISE_ABS", "InputTensor": TENSOR, "OutputTensor": TENSOR}


def calls_of(*calls: dict[str, Any]) -> list[Call]:
    return read_calls(calls, load)


RESOURCE = {"call": "create-resource", "makes": 1, "size": 8}
READ = {"call": "read", "resource": 1}
TWO = calls_of(RESOURCE, READ)


# Requests


def test_a_request_has_numbers_in_the_place_of_names_and_the_bytes_behind_it() -> None:
    calls = calls_of(
        {"call": "create-device", "makes": 1, "level": "7_1"},
        {"call": "create-device", "makes": 2},
        {"call": "create-operator", "makes": 3, "desc": ABS},
        {"call": "compile", "makes": 4, "operator": 3, "flags": ["DISABLE_META_COMMANDS", "DESCRIPTORS_VOLATILE"]},
        {"call": "create-resource", "makes": 5, "size": {"of": 4, "size": "temporary", "around": 512}, "heap": "UPLOAD"},
        {"call": "write", "resource": 5, "data": {"hex": "0102"}, "offset": 4},
        {"call": "write", "resource": 5, "data": {"type": "UINT16", "values": [3]}},
        {"call": "query-interface", "of": 4, "interface": "IDMLPageable"},
        {"call": "query-interface", "of": 4, "interface": "IUnheardOf"},
    )
    head, *payload = perform_request(calls, 7)
    header = parse_json(bytes(head[PREFIX.size :]).decode())
    assert (header["request"], header["id"]) == ("perform", 7)
    assert PREFIX.unpack(head[: PREFIX.size])[2] == 4
    assert b"".join(payload) == b"\1\2\3\0"
    sent = header["calls"]
    assert (sent[0]["level"], "level" in sent[1]) == (0x7100, False)
    assert (sent[2]["desc"]["operator_type"], sent[2]["desc"]["fields"][0]["value"]["data_type"]) == (2, 1)
    assert sent[3]["flags"] == 6
    assert sent[4] == {
        "call": "create-resource",
        "makes": 5,
        "size": {"of": 4, "size": "temporary", "around": 512},
        "heap": "UPLOAD",
    }
    assert sent[5:7] == [
        {"call": "write", "resource": 5, "data": {"size": 2}, "offset": 4},
        {"call": "write", "resource": 5, "data": {"size": 2}},
    ]
    assert [each["iid"] for each in sent[7:]] == ["b1ab0825-4542-4a4b-8617-6dde6e8f6201", UNKNOWN_INTERFACE]


def test_calls_that_show_what_is_refused_are_sent_like_the_others() -> None:
    calls = calls_of(
        {"call": "check-feature", "feature": 0, "query": {"hex": "01000000"}, "size": 4},
        {"call": "set-private-data", "of": 0, "key": 1, "content": {"hex": "0203"}},
        {"call": "set-private-data", "of": 0, "key": 1},
        {"call": "try-device", "level": "5_0", "interface": "IDMLObject"},
        {"call": "try-operator", "desc": ABS},
    )
    head, *payload = perform_request(calls, 1)
    sent = parse_json(bytes(head[PREFIX.size :]).decode())["calls"]
    assert b"".join(payload) == b"\1\0\0\0\2\3"
    assert sent[0] == {"call": "check-feature", "feature": 0, "query": {"size": 4}, "size": 4}
    assert (sent[1]["content"], "content" in sent[2]) == ({"size": 2}, False)
    assert (sent[3]["level"], sent[3]["iid"]) == (0x5000, "c8263aac-9e0c-4a2d-9b8e-007521a3317c")
    assert (sent[4]["desc"]["operator_type"], "iid" in sent[4]) == (2, False)


def test_slots_are_sent_as_they_are_written() -> None:
    slot = [[None, {"resource": 1, "offset": 16, "size": {"of": 2, "size": "persistent"}}], None]
    (call,) = calls_of(
        RESOURCE, {**RESOURCE, "makes": 2}, {**RESOURCE, "makes": 3}, {"call": "bind-inputs", "table": 3, "to": slot}
    )[3:]
    assert wire_call(call) == {"call": "bind-inputs", "table": 3, "to": slot}


# Answers


def read_answer(header: dict[str, Any], payload: bytes = b"", calls: list[Call] = TWO) -> list[Reply]:
    """What the suite makes of an answer."""
    answer, at = Answer(calls), 0
    for view in answer.places(header, len(payload), 1):
        view[:] = payload[at : at + len(view)]
        at += len(view)
    return answer.replies(header)


def ok(*replies: Any) -> dict[str, Any]:
    return {"status": "ok", "id": 1, "replies": list(replies)}


def test_replies_have_codes_values_and_bytes() -> None:
    found = read_answer(ok({"code": "0x887A0005", "removed": True, "message": "no more"}, {"size": 8}), b"12345678")
    assert found == [Reply("0x887A0005", None, True, "no more"), Reply(value=b"12345678")]
    found = read_answer(ok({}, {"unsupported": "not here"}))
    assert found == [Reply(), Reply(unsupported="not here")]
    levels = calls_of({"call": "check-levels", "levels": [4096]}, {"call": "get-properties", "of": 0})
    found = read_answer(ok({"value": 4096}, {"value": {"temporary": 1 << 40}}), calls=levels)
    assert [reply.value for reply in found] == [4096, {"temporary": 1 << 40}]


def test_what_a_feature_gives_is_bytes() -> None:
    calls = calls_of({"call": "check-feature", "feature": 9, "size": 2}, {"call": "check-feature", "feature": 9})
    assert [reply.value for reply in read_answer(ok({"size": 2, "code": "0x80070057"}, {}), b"ab", calls)] == [b"ab", None]
    with pytest.raises(ProtocolError, match="has 3 bytes, and 2 were asked for"):
        read_answer(ok({"size": 3}, {}), b"abc", calls)


BAD: dict[str, tuple[dict[str, Any], bytes]] = {
    "the answer has 1 replies, but the request had 2 calls": (ok({}), b""),
    "the answer has 3 replies": (ok({}, {"size": 0}, {}), b""),
    "the answer has no replies": ({"status": "ok", "id": 1, "replies": {}}, b""),
    r"the reply to call 0 \(create-resource\) is no object": (ok([], {"size": 8}), b"12345678"),
    "has an unknown member 'colour'; there are code, value": (ok({"colour": 1}, {"size": 8}), b"12345678"),
    "its code cannot be 'E_FAIL'": (ok({"code": "E_FAIL"}, {"size": 8}), b"12345678"),
    "its code cannot be '5'": (ok({"code": 5}, {"size": 8}), b"12345678"),
    "its removed cannot be '1'": (ok({"removed": 1}, {"size": 8}), b"12345678"),
    "its value cannot be '-1'": (ok({"value": -1}, {"size": 8}), b"12345678"),
    "its value cannot be 'text'": (ok({"value": "text"}, {"size": 8}), b"12345678"),
    "its size cannot be 'True'": (ok({}, {"size": True}), b"1"),
    "its unsupported cannot be ''": (ok({"unsupported": ""}, {"size": 8}), b"12345678"),
    r"call 1 \(read\) has 9 bytes, and 8 were asked for": (ok({}, {"size": 9}), b"123456789"),
    r"call 1 \(read\) has 1000000000000 bytes": (ok({}, {"size": 10**12}), b""),
    "call 0 .* has bytes, and is none to a read": (ok({"size": 8}, {"size": 8}), b"1234567812345678"),
    r"call 1 \(read\) has no bytes": (ok({}, {}), b""),
    "the answer's payload has 7 bytes, but its replies have 8": (ok({}, {"size": 8}), b"1234567"),
    "the answer has the id 2": ({**ok({}, {"size": 8}), "id": 2}, b"12345678"),
    "the answer to perform is rejected": ({"status": "rejected", "id": 1, "stage": "bind", "message": "m"}, b""),
    "the answer has the status 'fine'": ({"status": "fine", "id": 1}, b""),
}


@pytest.mark.parametrize("message", BAD)
def test_an_answer_is_not_believed_unchecked(message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        read_answer(*BAD[message])


def test_a_read_of_what_only_the_implementation_knows_has_a_limit() -> None:
    calls = calls_of({**RESOURCE, "size": {"of": 0, "size": "temporary"}}, READ)
    assert read_answer(ok({}, {"size": 3}), b"123", calls)[1].value == b"123"
    with pytest.raises(ProtocolError, match="1073741824 were asked for"):
        read_answer(ok({}, {"size": 1 << 40}), b"", calls)


def test_a_host_may_refuse_a_sequence_as_a_whole() -> None:
    with pytest.raises(Unsupported, match="no memory"):
        read_answer({"status": "unsupported", "id": 1, "message": "no memory"})
    with pytest.raises(BackendFault, match="lost"):
        read_answer({"status": "error", "id": 1, "message": "lost"})


def test_the_schema_of_answers_says_the_same() -> None:
    schema = validator("dmlcts.conformance.backends.process", "answer", "perform")
    for message, (header, _) in BAD.items():
        if "unknown member" in message or "cannot be" in message or "no object" in message or "no replies" in message:
            assert not schema.is_valid(header), message
    assert schema.is_valid(ok({"code": "0x887A0005", "removed": True, "message": "m"}, {"size": 8}, {"value": {"a": 1}}, {}))
    assert not schema.is_valid({"status": "rejected", "id": 1, "stage": "bind", "message": "m"})
    calling = validator("dmlcts.conformance.backends.process", "answer", "calling")
    assert calling.is_valid({"status": "calling", "id": 1, "call": 0})
    assert not calling.is_valid({"status": "calling", "id": 1, "call": -1})


# A program


@pytest.fixture(scope="module")
def example() -> Iterator[ProcessBackend]:
    backend = ProcessBackend([sys.executable, "-S", "-E", str(DOCS / "example_sequence_host.py")])
    yield backend
    backend.close()


def test_the_example_host_passes_the_forms_of_its_operator_that_it_can_perform(example: ProcessBackend) -> None:
    options = RunOptions(level="full", expression="bit_or and sequence")
    session = Session(options, example)
    found = {result.case: result for result in map(session.run, selected_cases(options))}
    assert len(found) >= 14
    for form, why in (("/in-turn/", "operator"), ("/threads/", "sequences")):  # it has no operator that copies, and no threads
        cases = [case for case in found if form in case]
        assert {(found[case].status, found[case].undeclared) for case in cases} == {(UNSUPPORTED, why)}
        found = {case: result for case, result in found.items() if case not in cases}
    assert [result.message for result in found.values() if result.status != PASS] == []


def test_the_example_host_runs_single_dispatches_too(example: ProcessBackend) -> None:
    options = RunOptions(level="smoke", expression="bit_or and not sequence")
    session = Session(options, example)
    assert {session.run(case).status for case in selected_cases(options)} == {PASS}


def test_the_example_host_says_what_it_does_not_perform(example: ProcessBackend) -> None:
    perform = perform_on(example)
    assert perform is not None
    found = perform(calls_of(RESOURCE, {"call": "create-device", "makes": 2}, READ))
    assert [reply.unsupported for reply in found] == ["", *["this host does not perform create-device"] * 2]
    found = perform(calls_of({"call": "create-operator", "makes": 1, "desc": ABS}, {"call": "compile", "makes": 2, "operator": 1}))
    assert [found[0].code, found[1].unsupported] == ["0x80070057", "object 1 was not made"]


HOST = f"""
import sys
sys.path.insert(0, {str(DOCS)!r})
from example_host import *
requests, answers = sys.stdin.buffer, sys.stdout.buffer
while frame := read_frame(requests):
    request = frame[0]
    if request["request"] == "describe":
        write_frame(answers, {{"status": "ok", "name": "h", **DESCRIBED}})
    elif request["request"] == "perform":
"""


def started(described: dict[str, Any], *lines: str) -> ProcessBackend:
    """A host that describes itself so and answers a request to perform with these lines of Python."""
    body = "".join(f"        {line}\n" for line in lines)
    return ProcessBackend([sys.executable, "-S", "-E", "-c", f"DESCRIBED = {described}{HOST}{body}"], timeout=10.0)


def calling(call: object) -> str:
    return f'write_frame(answers, {{"status": "calling", "id": request["id"], "call": {call!r}}})'


def test_a_host_that_ends_in_a_call_is_reported_with_the_call_and_started_again() -> None:
    with closing(started({"protocol": 2}, calling(0), calling(1), "sys.exit(5)")) as backend:
        perform = perform_on(backend)
        assert perform is not None
        for _ in range(2):
            with pytest.raises(BackendFault, match=r"^call 1 \(read\): the output ended .* exit code 5") as raised:
                perform(TWO)
            assert raised.value.call == 1


def test_a_host_that_hangs_in_a_call_is_reported_with_the_call() -> None:
    with closing(started({"protocol": 2}, calling(1), "import time", "time.sleep(60)")) as backend:
        perform = perform_on(backend, timeout=0.5)
        assert perform is not None
        with pytest.raises(BackendFault, match=r"^call 1 \(read\): no answer within 0.5 s"):
            perform(TWO)


def test_what_was_said_of_one_sequence_is_not_said_of_the_next() -> None:
    lines = (
        f"if request['id'] == 1: {calling(1)}",
        "if request['id'] == 2: sys.exit(5)",
        """write_frame(answers, {"status": "ok", "id": request["id"], "replies": [{}, {"size": 8}]}, bytes(8))""",
    )
    with closing(started({"protocol": 2}, *lines)) as backend:
        perform = perform_on(backend)
        assert perform is not None
        assert perform(TWO)[1].value == bytes(8)
        with pytest.raises(BackendFault, match=r"^the output ended"):
            perform(TWO)


@pytest.mark.parametrize("call", [-1, "1", True, None])
def test_the_number_of_a_call_is_not_believed_unchecked(call: object) -> None:
    with closing(started({"protocol": 2}, calling(call))) as backend:
        perform = perform_on(backend)
        assert perform is not None
        with pytest.raises(BackendFault, match="call"):
            perform(TWO)


def test_a_number_beyond_the_calls_names_none() -> None:
    with closing(started({"protocol": 2}, calling(99), "sys.exit(5)")) as backend:
        perform = perform_on(backend)
        assert perform is not None
        with pytest.raises(BackendFault, match=r"^the output ended"):
            perform(TWO)


def test_a_host_of_version_1_is_asked_for_no_sequences() -> None:
    for described in ({}, {"protocol": 1}):
        with closing(started(described, "sys.exit(5)")) as backend:
            assert perform_on(backend) is None


@pytest.mark.parametrize("version", [3, 0, "2", True, 2.0])
def test_a_version_that_there_is_not_is_refused(version: object) -> None:
    with pytest.raises(BackendUnavailable, match="the description's protocol cannot be"):
        started({"protocol": version}, "sys.exit(5)")
