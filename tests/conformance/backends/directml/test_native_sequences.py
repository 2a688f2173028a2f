"""The host performs sequences of calls: on a DirectML and a D3D12 that compute one operator in memory (fake_directml/computing.h)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from directml_host import answers, on_fake_d3d12

from dmlcts.conformance.backends.backend import BackendFault
from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.backends.process.protocol import frame
from dmlcts.conformance.sequences.call_json import read_calls
from dmlcts.conformance.sequences.calls import Reply
from dmlcts.conformance.sequences.takes_part import perform_on
from dmlcts.spec.reading.loader import load

Open = Callable[[str], ProcessBackend]
Calls = list[dict[str, Any]]

TENSOR = {"DataType": "UINT32", "Sizes": [4]}
XOR = {"Type": "ELEMENT_WISE_BIT_XOR", "ATensor": TENSOR, "BTensor": TENSOR, "OutputTensor": TENSOR}
REMOVED = "0x887A0005"


def perform(backend: ProcessBackend, calls: Calls) -> list[Reply]:
    found = perform_on(backend, 20.0)
    assert found is not None
    return found(read_calls(calls, load))


def codes(replies: list[Reply]) -> list[str]:
    return [reply.code for reply in replies if reply.code != "S_OK"]


def setting_up(device: int = 0) -> Calls:
    """Operator 1, compiled as 2, its inputs 3 and 4, output 5, temporary memory 6, and a table 7 with all of them bound."""
    return [
        {"call": "create-operator", "makes": 1, "desc": XOR, "device": device},
        {"call": "compile", "makes": 2, "operator": 1, "device": device},
        {"call": "create-resource", "makes": 3, "size": 16},
        {"call": "create-resource", "makes": 4, "size": 16},
        {"call": "write", "resource": 3, "data": {"type": "UINT32", "values": [1, 2, 3, 4]}},
        {"call": "write", "resource": 4, "data": {"type": "UINT32", "values": [5, 5, 5, 5]}},
        {"call": "create-resource", "makes": 5, "size": 32},
        {"call": "create-resource", "makes": 6, "size": {"of": 2, "size": "temporary", "around": 256}, "fill": 255},
        {"call": "create-table", "makes": 7, "of": 2, "device": device},
        {"call": "bind-inputs", "table": 7, "to": [{"resource": 3}, {"resource": 4}]},
        {"call": "bind-outputs", "table": 7, "to": [{"resource": 5, "offset": 16}]},
        {"call": "bind-temporary", "table": 7, "to": {"resource": 6, "size": {"of": 2, "size": "temporary"}}},
        {"call": "bind-persistent", "table": 7, "to": None},
    ]


def execution(kind: str = "DIRECT", number: int = 20) -> Calls:
    """Records, submits and waits, and reads the output back."""
    return [
        {"call": "create-list", "makes": number, "type": kind},
        {"call": "record", "list": number, "dispatchable": 2, "table": 7},
        {"call": "barrier", "list": number},
        {"call": "barrier", "list": number, "resource": 5},
        {"call": "close", "list": number},
        {"call": "submit", "lists": [number]},
        {"call": "wait"},
        {"call": "read", "resource": 5},
    ]


RIGHT = b"\xa5" * 16 + np.array([4, 7, 6, 1], np.uint32).tobytes()


@pytest.mark.parametrize("kind", ["DIRECT", "COMPUTE"])
def test_an_operator_computes_on_either_queue_and_writes_nothing_else(kind: str, opened: Open) -> None:
    replies = perform(opened("computes"), [*setting_up(), *execution(kind)])
    assert codes(replies) == []
    assert replies[-1].value == RIGHT


def test_a_list_is_submitted_again_with_other_data(opened: Open) -> None:
    again: Calls = [
        {"call": "write", "resource": 4, "data": {"type": "UINT32", "values": [0]}, "offset": 4},
        {"call": "submit", "lists": [20]},
        {"call": "wait"},
        {"call": "read", "resource": 5, "offset": 20, "size": 4},
    ]
    replies = perform(opened("computes"), [*setting_up(), *execution(), *again])
    assert replies[-1].value == b"\2\0\0\0"


def test_an_initializer_copies_what_its_operator_owns_from_memory_for_upload(opened: Open) -> None:
    owned = {**XOR, "BTensor": {**TENSOR, "Flags": "OWNED_BY_DML"}}
    calls: Calls = [
        {**setting_up()[0], "desc": owned},
        *setting_up()[1:3],
        {"call": "create-resource", "makes": 4, "size": 16, "heap": "UPLOAD"},
        *setting_up()[4:8],
        {"call": "create-resource", "makes": 8, "size": {"of": 2, "size": "persistent"}},
        {"call": "create-initializer", "makes": 9, "over": []},
        {"call": "reset-initializer", "initializer": 9, "over": [2]},
        {"call": "get-properties", "of": 9},
        {"call": "get-properties", "of": 2},
        {"call": "create-table", "makes": 10, "of": 9},
        {"call": "bind-inputs", "table": 10, "to": [[None, {"resource": 4}]]},
        {"call": "bind-outputs", "table": 10, "to": [{"resource": 8}]},
        {"call": "create-list", "makes": 11},
        {"call": "record", "list": 11, "dispatchable": 9, "table": 10},
        {"call": "close", "list": 11},
        {"call": "submit", "lists": [11]},
        {"call": "wait"},
        {"call": "write", "resource": 4, "data": {"hex": "00"}},
        *setting_up()[8:9],
        {"call": "bind-inputs", "table": 7, "to": [{"resource": 3}, None]},
        *setting_up()[10:12],
        {"call": "bind-persistent", "table": 7, "to": {"resource": 8}},
        *execution(),
    ]
    replies = perform(opened("computes"), calls)
    assert codes(replies) == []
    assert replies[-1].value == RIGHT
    properties = [reply.value for reply in replies if isinstance(reply.value, dict)]
    assert properties == [
        {"descriptors": 0, "temporary": 0, "persistent": 0},
        {"descriptors": 3, "temporary": 64, "persistent": 256},
    ]


def test_a_table_lies_where_a_heap_of_the_sequence_says(opened: Open) -> None:
    place = {"heap": 8, "first": 5, "count": 3}
    calls: Calls = [
        *setting_up()[:8],
        {"call": "create-heap", "makes": 8, "count": 16},
        {"call": "create-table", "makes": 7, "of": 2, **place},
        {"call": "reset-table", "table": 7},
        {"call": "reset-table", "table": 7, "of": 2, **place},
        *setting_up()[9:],
        *execution(),
    ]
    replies = perform(opened("computes"), calls)
    assert codes(replies) == []
    assert replies[-1].value == RIGHT


def test_a_table_is_staged_and_a_list_records_with_the_heaps_that_it_has(opened: Open) -> None:
    calls: Calls = [
        *setting_up()[:8],
        {"call": "create-staging-heap", "makes": 8, "count": 16},
        {"call": "create-heap", "makes": 9, "count": 16},
        {"call": "create-staged-table", "makes": 7, "of": 2, "staging": 8, "heap": 9},
        *setting_up()[9:],
        {"call": "copy-descriptors", "staging": 8, "heap": 9, "count": 3},
        *({"call": "try-table", "of": 2, "what": what} for what in ("dispatchable", "cpu", "gpu")),
        *({"call": "evict-nothing", "what": what} for what in ("evict", "make-resident")),
        *({**call, "call": "record-without-heaps"} if call["call"] == "record" else call for call in execution()),
    ]
    replies = perform(opened("computes"), calls)
    assert [reply.unsupported for reply in replies] == [""] * len(calls)
    assert codes(replies) == []
    assert replies[-1].value == RIGHT


def test_memory_of_every_heap_is_filled_written_and_read(opened: Open) -> None:
    for heap in ("DEFAULT", "UPLOAD", "READBACK", "CUSTOM"):
        replies = perform(
            opened("computes"),
            [
                {"call": "create-resource", "makes": 1, "size": 7, "fill": 3, "heap": heap},
                {"call": "write", "resource": 1, "data": {"hex": "0102"}, "offset": 4},
                {"call": "read", "resource": 1},
                {"call": "read", "resource": 1, "offset": 4, "size": 1},
            ],
        )
        assert [reply.value for reply in replies[2:]] == [b"\3\3\3\3\1\2\3", b"\1"], heap


def test_a_resource_larger_than_what_is_copied_at_once_is_filled_to_its_end(opened: Open) -> None:
    size = (9 << 20) + 5
    replies = perform(
        opened("computes"), [{"call": "create-resource", "makes": 1, "size": size, "fill": 7}, {"call": "read", "resource": 1}]
    )
    assert replies[1].value == b"\7" * size


def test_a_resource_of_no_bytes_is_there_and_binds_nothing(opened: Open) -> None:
    calls: Calls = [
        *setting_up(),
        {"call": "create-resource", "makes": 8, "size": {"of": 2, "size": "persistent", "around": 512}},
        {"call": "bind-persistent", "table": 7, "to": {"resource": 8, "size": {"of": 2, "size": "persistent"}}},
        {"call": "read", "resource": 8},
        {"call": "release", "of": 8},
    ]
    replies = perform(opened("computes"), calls)
    assert codes(replies) == []
    assert replies[-2].value == b""


def test_the_device_says_what_it_supports_and_each_object_takes_what_any_takes(opened: Open) -> None:
    replies = perform(
        opened("computes"),
        [
            {"call": "check-levels", "levels": [0x1000, 0x6400]},
            {"call": "check-data-type", "type": 1},
            {"call": "get-removed-reason"},
            {"call": "create-device", "makes": 8, "level": "5_0"},
            {"call": "create-device", "makes": 9},
            *setting_up(device=8),
            {"call": "evict", "objects": [2]},
            {"call": "make-resident", "objects": [2]},
            {"call": "query-interface", "of": 2, "interface": "IDMLPageable"},
            {"call": "add-reference", "of": 2},
            {"call": "release", "of": 2},
            {"call": "set-name", "of": 5, "name": "Ausgabe \u00e4"},
            *execution(),
        ],
    )
    assert [reply.value for reply in replies[:2]] == [0x6400, True]
    assert codes(replies) == ["0x80004002"]  # the fake's objects know no interfaces
    assert replies[-1].value == RIGHT


def test_the_call_that_removes_a_device_is_named_and_the_next_sequence_has_a_new_one(opened: Open) -> None:
    calls: Calls = [
        *setting_up(),
        {"call": "bind-inputs", "table": 7, "to": [{"resource": 3}]},
        {"call": "get-removed-reason"},
        {"call": "reset-table", "table": 7, "of": 2},
        {"call": "read", "resource": 5, "size": 1},
    ]
    replies = perform(opened("computes"), calls)
    assert [index for index, reply in enumerate(replies) if reply.removed] == [len(setting_up())]
    assert [reply.code for reply in replies[-4:]] == ["S_OK", REMOVED, REMOVED, "S_OK"]
    assert perform(opened("computes"), [*setting_up(), *execution()])[-1].value == RIGHT


def test_a_removal_that_is_not_noticed_shows(opened: Open) -> None:
    calls: Calls = [*setting_up(), {"call": "bind-inputs", "table": 7, "to": [{"resource": 3}]}]
    assert not any(reply.removed for reply in perform(opened("removal-unnoticed"), calls))


def test_what_was_not_made_leaves_the_calls_behind_it_unsupported(opened: Open) -> None:
    other = {**XOR, "Type": "ELEMENT_WISE_BIT_OR"}
    replies = perform(opened("computes"), [{**setting_up()[0], "desc": other}, *setting_up()[1:3]])
    assert [reply.code for reply in replies[:1]] == ["0x80070057"]
    assert [reply.unsupported for reply in replies[1:]] == ["object 1 was not made, or is gone"] * 2


def test_a_number_is_free_when_the_last_reference_is_gone(opened: Open) -> None:
    calls: Calls = [
        {"call": "create-resource", "makes": 1, "size": 4, "fill": 1},
        {"call": "add-reference", "of": 1},
        {"call": "release", "of": 1},
        {"call": "read", "resource": 1},
        {"call": "release", "of": 1},
        {"call": "create-resource", "makes": 1, "size": 8, "fill": 2},
        {"call": "read", "resource": 1, "size": 8},
    ]
    replies = perform(opened("computes"), calls)
    assert [reply.value for reply in replies] == [None, 2, 1, b"\1" * 4, 0, None, b"\2" * 8]


def test_calls_that_show_what_is_refused_are_performed(opened: Open) -> None:
    calls: Calls = [
        *setting_up(),
        {"call": "get-device", "of": 2},
        {"call": "try-device", "flags": 1, "level": "9_0", "interface": "IDMLDevice"},
        {"call": "try-device"},
        {"call": "try-operator", "desc": {**XOR, "Type": "ELEMENT_WISE_BIT_OR"}, "interface": "IDMLOperator"},
        {"call": "try-type", "type": 999},
        {"call": "try-compile", "operator": 1, "flags": 8, "interface": "IDMLCompiledOperator"},
        {"call": "check-feature", "feature": 0, "query": {"hex": "01000000"}, "size": 4},
        {"call": "get-parent"},
        {"call": "set-private-data", "of": 2, "key": 1, "content": {"hex": "01"}},
        {"call": "set-private-interface", "of": 2, "key": 1, "object": 1},
        {"call": "get-private-data", "of": 2, "key": 1, "size": 1},
        {"call": "set-no-name", "of": 2},
        {"call": "bind-nothing", "table": 7, "what": "temporary"},
        {"call": "create-plain-resource", "makes": 30, "size": 16},
        {"call": "create-other-list", "makes": 31, "type": "COPY"},
        {"call": "bind-nothing", "table": 7, "what": "outputs", "count": 0},
        {"call": "remove-parent"},
    ]
    replies = perform(opened("computes"), calls)[len(setting_up()) :]
    assert [(reply.code, reply.value) for reply in replies[:9]] == [
        *(("S_OK", 0), ("S_OK", None), ("S_OK", None), ("0x80070057", None), ("0x80070057", None), ("S_OK", None)),
        *(("S_OK", b"\1\0\0\0"), ("0x80004002", None), ("0x80004001", None)),
    ]
    assert [index for index, reply in enumerate(replies) if reply.removed] == [15]
    assert replies[-1].unsupported == "RemoveDevice does not remove this Direct3D 12 device"
    assert [reply.unsupported for reply in replies[:-1]] == [""] * 16


# Threads


def test_calls_of_threads_run_at_the_same_time_and_meet(opened: Open) -> None:
    calls: Calls = [
        {"call": "wait"},
        {"call": "create-resource", "makes": 5, "size": 4, "fill": 5, "thread": "one"},
        {"call": "create-resource", "makes": 6, "size": 4, "fill": 6, "thread": "other"},
        *({"call": "meet", "point": "both are there", "threads": 2, "thread": thread} for thread in ("one", "other")),
        {"call": "read", "resource": 6, "thread": "one"},
        {"call": "read", "resource": 5, "thread": "other"},
        {"call": "read", "resource": 6},
    ]
    found = [reply.value for reply in perform(opened("computes"), calls)]
    assert found == [None, None, None, None, None, b"\6" * 4, b"\5" * 4, b"\6" * 4]


def test_a_thread_that_fails_leaves_nobody_waiting(opened: Open) -> None:
    calls: Calls = [
        {"call": "create-resource", "makes": 1, "size": 4},
        {"call": "meet", "point": "here", "threads": 2, "thread": "one"},
        {"call": "write", "resource": 1, "data": {"hex": "00" * 5}, "thread": "other"},
        {"call": "meet", "point": "here", "threads": 2, "thread": "other"},
    ]
    with pytest.raises(BackendFault, match=r"call [12] \((meet|write)\)"):
        perform(opened("computes"), calls)


# What goes wrong


def test_a_crash_says_in_which_call_and_the_next_sequence_has_a_new_host(opened: Open) -> None:
    backend = opened("crashes-on-thread")
    calls = [*setting_up(), {**setting_up()[10], "thread": "another"}, *execution()]
    with pytest.raises(BackendFault, match=r"^call 13 \(bind-outputs\): the output ended before a frame") as raised:
        perform(backend, calls)
    assert "0xC0000005 (access violation) at " in raised.value.evidence
    assert "during call 13 (bind-outputs)" in raised.value.evidence
    assert perform(backend, [*setting_up(), *execution()])[-1].value == RIGHT


WRONG: list[tuple[dict[str, Any], str, str]] = [
    ({"call": "dance"}, "ok", "this host knows no call 'dance'"),
    ({"call": "read", "resource": 0}, "error", "call 0 (read): object 0 is a device and not a resource"),
    ({"call": "compile", "makes": 1}, "error", "call 0 (compile): 'operator' is missing"),
    ({"call": "create-resource", "makes": 0, "size": 4}, "error", "call 0 (create-resource): object 0 is there already"),
    ({"call": "create-list", "makes": 1, "type": "COPY"}, "error", "there is no type of lists 'COPY'"),
    ({"call": "create-resource", "makes": 1, "size": {"of": 0, "size": "temporary"}}, "error", "object 0 is a device"),
    ({"call": "query-interface", "of": 0, "iid": "x"}, "error", "iid must be 32 hexadecimal digits"),
    ({"call": "meet", "point": "here", "threads": 2}, "error", "call 0 (meet): it names no thread"),
    ({"call": "write", "resource": 0, "data": {"size": 1}}, "error", "the payload has 0 bytes, and the calls 1"),
    ({"call": 5}, "error", "call must be a string"),
]


def test_a_request_that_makes_no_sense_is_refused_and_says_why(fake: Callable[[str], Path]) -> None:
    asked = [frame({"request": "perform", "id": number, "calls": [call]}) for number, (call, _, _) in enumerate(WRONG)]
    asked.append(frame({"request": "perform", "id": len(WRONG), "calls": [{"call": "wait"}]}))
    with on_fake_d3d12(fake("computes")) as command:
        (*found, last), _ = answers(command, asked)
    for answer, (call, status, message) in zip(found, WRONG, strict=True):
        assert answer["status"] == status, call
        assert message in json.dumps(answer)
    assert last == {"status": "ok", "id": len(WRONG), "replies": [{}]}
