"""A run is a sequence written short: on DirectML.dll both leave the same bytes, though the host has its own way to run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from directml_host import host_command, host_environment

from dmlcts.conformance.backends.process.process import ProcessBackend
from dmlcts.conformance.execution.answers import answers_of
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.selection import selected_cases
from dmlcts.conformance.sequences.script import sequence_of
from dmlcts.conformance.sequences.takes_part import perform_on
from dmlcts.generator.case.inputs import inputs

CASES = RunOptions(
    level="smoke", expression="(add1 or convolution or gemm or reduce or gru or join) and not sequence and not negative"
)


@pytest.fixture(scope="module")
def backend() -> Iterator[ProcessBackend]:
    opened = ProcessBackend(host_command(None), 60.0, host_environment())
    yield opened
    opened.close()


def test_a_run_and_its_sequence_leave_the_same_bytes(backend: ProcessBackend) -> None:
    perform = perform_on(backend)
    assert perform is not None
    chosen = list(selected_cases(CASES))[::10]
    assert len(chosen) >= 20
    for case in chosen:
        given = inputs(case)
        dispatch = lay_out(case, given, next(iter(answers_of(case, given).values()))).dispatch
        calls, readings = sequence_of(dispatch)
        replies = perform(calls)
        assert [reply for reply in replies if not reply.is_ok] == [], case.id
        backend.run(dispatch)
        assert [reading.bytes_in(replies) for reading in readings] == [each.tobytes() for each in dispatch.resources], case.id
