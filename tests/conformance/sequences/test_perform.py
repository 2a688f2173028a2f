"""Sequences on a backend that runs single dispatches: a dispatch is a sequence written short, and what is not performed answers so."""

from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BufferBinding, Dispatch
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.sequences.call_json import read_calls
from dmlcts.conformance.sequences.calls import (
    Call,
    CreateDevice,
    CreateResource,
    CreateTable,
    GetProperties,
    Meet,
    Read,
    Reply,
    SetName,
    Wait,
    Write,
)
from dmlcts.conformance.sequences.perform import Performer
from dmlcts.conformance.sequences.script import sequence_of
from dmlcts.generator.case.case import AGREEMENT, REFERENCE, VALUES
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import find_case, operator_cases
from dmlcts.spec.reading.loader import load

BACKEND = ReferenceBackend()


def perform(calls: list[Any]) -> list[Reply]:
    return Performer(BACKEND).perform(read_calls(calls, load))


def floats(reply: Reply) -> list[float]:
    return [float(x) for x in np.frombuffer(reply.value, np.float32)]


TENSOR = {"DataType": "FLOAT32", "Sizes": [4]}
ABS = {"Type": "ELEMENT_WISE_ABS", "InputTensor": TENSOR, "OutputTensor": TENSOR}
ADD = {"Type": "ELEMENT_WISE_ADD", "ATensor": TENSOR, "BTensor": {**TENSOR, "Flags": "OWNED_BY_DML"}, "OutputTensor": TENSOR}


def write(resource: int, *values: float, offset: int = 0) -> dict[str, Any]:
    return {"call": "write", "resource": resource, "offset": offset, "data": {"type": "FLOAT32", "values": list(values)}}


def bound_abs(*flags: str) -> list[Any]:
    """ABS as object 2, with buffers 3 to 5 and a table 6 that reads 3 and writes 4."""
    return [
        {"call": "create-operator", "makes": 1, "desc": ABS},
        {"call": "compile", "makes": 2, "operator": 1, "flags": list(flags)},
        *({"call": "create-resource", "makes": number, "size": 16, "fill": 0} for number in (3, 4, 5)),
        write(3, -1, 2, -3, 4),
        write(5, -5, -6, 7, 8),
        {"call": "create-table", "makes": 6, "of": 2},
        {"call": "bind-inputs", "table": 6, "to": [{"resource": 3}]},
        {"call": "bind-outputs", "table": 6, "to": [{"resource": 4}]},
    ]


RECORD = [
    {"call": "create-list", "makes": 7},
    {"call": "record", "list": 7, "dispatchable": 2, "table": 6},
    {"call": "close", "list": 7},
]
SUBMIT = [{"call": "submit", "lists": [7]}, {"call": "wait"}, {"call": "read", "resource": 4}]
REBIND = [{"call": "bind-inputs", "table": 6, "to": [{"resource": 5}]}]


def test_a_dispatch_is_a_sequence_written_short() -> None:
    for name in ("ELEMENT_WISE_BIT_OR", "SPLIT", "GEMM"):
        cases = [case for case in operator_cases(name, "core") if case.expect in (REFERENCE, VALUES)]
        assert cases
        for case in cases[:: max(1, len(cases) // 12)]:
            alone, calls = (lay_out(case, inputs(case), {}).dispatch for _ in range(2))
            BACKEND.run(alone)
            sequence, readings = sequence_of(calls)
            replies = Performer(BACKEND).perform(sequence)
            assert all(reply.is_ok for reply in replies), case.id
            found = [reading.bytes_in(replies) for reading in readings]
            assert found == [resource.tobytes() for resource in alone.resources], case.id


def test_a_recorded_dispatch_is_executed_when_its_list_is_submitted() -> None:
    *_, before, _, _, after = perform([*bound_abs(), *RECORD, {"call": "read", "resource": 4}, *SUBMIT])
    assert floats(before) == [0, 0, 0, 0]
    assert floats(after) == [1, 2, 3, 4]


def test_bindings_of_recording_count_unless_descriptors_are_volatile() -> None:
    assert floats(perform([*bound_abs(), *RECORD, *REBIND, *SUBMIT])[-1]) == [1, 2, 3, 4]
    assert floats(perform([*bound_abs("DESCRIPTORS_VOLATILE"), *RECORD, *REBIND, *SUBMIT])[-1]) == [5, 6, 7, 8]


def test_a_list_may_be_submitted_again() -> None:
    replies = perform([*bound_abs(), *RECORD, *SUBMIT, write(3, -9, 0, 0, 0), *SUBMIT])
    assert floats(replies[-1]) == [9, 0, 0, 0]


def test_a_table_that_was_reset_holds_nothing() -> None:
    reset = [{"call": "reset-table", "table": 6, "of": 2}, *RECORD, {"call": "submit", "lists": [7]}]
    refused = perform([*bound_abs(), *reset])[-1]
    assert not refused.is_ok
    assert "InputTensor is not bound" in refused.message


def test_an_owned_input_is_copied_at_initialization() -> None:
    calls = [
        {"call": "create-operator", "makes": 1, "desc": ADD},
        {"call": "compile", "makes": 2, "operator": 1},
        {"call": "get-properties", "of": 2},
        *({"call": "create-resource", "makes": number, "size": 16} for number in (3, 4, 5)),
        {"call": "create-resource", "makes": 8, "size": {"of": 2, "size": "persistent", "around": 256}},
        write(3, 1, 1, 1, 1),
        write(5, 1, 2, 3, 4),
        {"call": "create-initializer", "makes": 9, "over": [2]},
        {"call": "create-table", "makes": 10, "of": 9},
        {"call": "bind-inputs", "table": 10, "to": [[None, {"resource": 5}]]},
        {"call": "bind-outputs", "table": 10, "to": [{"resource": 8, "size": {"of": 2, "size": "persistent"}}]},
        {"call": "create-list", "makes": 11},
        {"call": "record", "list": 11, "dispatchable": 9, "table": 10},
        {"call": "submit", "lists": [11]},
        write(5, 0, 0, 0, 0),
        {"call": "create-table", "makes": 6, "of": 2},
        {"call": "bind-inputs", "table": 6, "to": [{"resource": 3}, None]},
        {"call": "bind-outputs", "table": 6, "to": [{"resource": 4}]},
        {"call": "bind-persistent", "table": 6, "to": {"resource": 8, "size": {"of": 2, "size": "persistent"}}},
        *RECORD,
        *SUBMIT,
    ]
    replies = perform(calls)
    assert replies[2].value == {"descriptors": 3, "temporary": 0, "persistent": 16}
    assert floats(replies[-1]) == [2, 3, 4, 5]


def test_memory_that_is_not_needed_has_no_bytes() -> None:
    calls = [*bound_abs(), {"call": "create-resource", "makes": 8, "size": {"of": 2, "size": "temporary", "around": 512}}]
    assert perform([*calls, {"call": "read", "resource": 8}])[-1].value == b""


@pytest.mark.parametrize("call", [CreateDevice(1), SetName(0, "x"), CreateTable(1, device=5)])
def test_what_needs_more_than_dispatches_is_unsupported_and_so_is_all_after_it(call: Call) -> None:
    replies = Performer(BACKEND).perform([Wait(), call, Wait()])
    assert [bool(reply.unsupported) for reply in replies] == [False, True, True]
    assert type(call).__name__ in replies[1].unsupported


def test_an_object_that_was_not_made_is_the_authors_mistake() -> None:
    with pytest.raises(KeyError):
        Performer(BACKEND).perform([GetProperties(3)])


def test_a_backend_gets_memory_that_it_may_not_go_on_with() -> None:
    class Keeps(ReferenceBackend):
        kept: Dispatch | None = None

        def run(self, dispatch: Dispatch) -> None:
            if self.kept is not None:
                self.kept.resources[0][...] = 0xEE
            super().run(dispatch)
            self.kept = dispatch

    case = find_case("ELEMENT_WISE_ABS/FLOAT32/4d")
    assert case.expect != AGREEMENT
    replies = Performer(Keeps()).perform(read_calls([*bound_abs(), *RECORD, *SUBMIT, *SUBMIT], load))
    assert floats(replies[-1]) == [1, 2, 3, 4]


def test_a_binding_is_what_the_backend_gets() -> None:
    seen = []

    class Looks(ReferenceBackend):
        def run(self, dispatch: Dispatch) -> None:
            seen.append(dict(dispatch.bindings))
            super().run(dispatch)

    Performer(Looks()).perform(read_calls([*bound_abs(), *RECORD, *SUBMIT], load))
    assert seen == [{"InputTensor": BufferBinding(0, 0, 16), "OutputTensor": BufferBinding(1, 0, 16)}]


def test_threads_take_turns_in_the_order_of_their_calls() -> None:
    calls: list[Call] = [
        CreateResource(1, 2),
        *(Meet("here", 2, thread=name) for name in ("one", "other")),
        Write(1, b"\1\1", thread="one"),
        Write(1, b"\2", thread="other"),
        Read(1, thread="one"),
    ]
    replies = Performer(BACKEND).perform(calls)
    assert [reply.unsupported for reply in replies] == [""] * len(calls)
    assert replies[-1].value == b"\2\1"
