"""Users' backends in the suite's process: what they leave changed fails, and is restored."""

from __future__ import annotations

import ctypes
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from wrong_backends import NEGATIVE, OR, Good, put, resource, start

from dmlcts.conformance.backends.backend import BackendFault, BackendUnavailable, Dispatch, Rejected
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.backends.python.in_process import InProcess, Watched, unusual_arithmetic
from dmlcts.conformance.execution.execute import execute
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.suite.suite import find_case

CASE = find_case(OR)


def dispatches(count: int) -> Iterator[Dispatch]:
    given = inputs(CASE)
    return (lay_out(CASE, given, {}).dispatch for _ in range(count))


def run_some(backend: Watched, count: int) -> None:
    for dispatch in dispatches(count):
        backend.run(dispatch)


# Floating-point arithmetic

x86 = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the floating-point environment is laid out otherwise"
)


def leaving(control: int) -> Callable[[object], None]:
    """Sets bits of the register that controls this thread's arithmetic: the last word of glibc's fenv_t."""

    def change(_: object = None) -> None:
        library, environment = ctypes.CDLL(None), (ctypes.c_uint32 * 8)()
        library.fegetenv(environment)
        environment[7] |= control
        library.fesetenv(environment)

    return change


CHANGES = {
    "flushes results": (0x8000, "denormals are flushed to zero"),
    "flushes operands": (0x40, "denormals are flushed to zero"),
    "rounds down": (0x2000, "results are not rounded to nearest"),
    "rounds up": (0x4000, "results are not rounded to nearest"),
    "rounds toward zero": (0x6000, "results are not rounded to nearest"),
}
each_change = pytest.mark.parametrize(("control", "message"), CHANGES.values(), ids=CHANGES)


@x86
@each_change
@pytest.mark.parametrize("case", [OR, NEGATIVE])
def test_changed_arithmetic_costs_its_case_and_is_restored(control: int, message: str, case: str) -> None:
    def instead(dispatch: Dispatch) -> None:
        leaving(control)(dispatch)
        if case == NEGATIVE:
            raise Rejected("no")

    backend = InProcess(lambda: Good(instead=instead))
    result = execute(find_case(case), backend, backend.describe())
    assert result.status == "error"
    assert result.message.endswith(f"it left the arithmetic of this process changed: {message}; restore it, or run it as python:")
    assert unusual_arithmetic() == ""


@x86
@each_change
def test_arithmetic_that_is_changed_before_the_first_case_is_restored(control: int, message: str) -> None:
    def make() -> Good:
        leaving(control)(None)
        return Good()

    backend = InProcess(make)
    assert unusual_arithmetic() == ""
    assert execute(CASE, backend, backend.describe()).status == "pass"


@x86
def test_where_arithmetic_cannot_be_restored_nothing_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = InProcess(Good)  # remembers how it was
    monkeypatch.setattr("dmlcts.conformance.backends.python.in_process._restorer", lambda: lambda: None)
    backend = InProcess(lambda: Good(after=leaving(0x8040)))
    try:
        assert [execute(CASE, backend, backend.describe()).status for _ in range(2)] == ["error", "error"]
        with pytest.raises(BackendUnavailable, match="when it is loaded: denormals are flushed to zero; run it as python:"):
            InProcess(Good)
    finally:
        whole.restore()
    assert unusual_arithmetic() == ""


def test_usual_arithmetic_is_left_alone() -> None:
    assert unusual_arithmetic() == ""
    backend = open_backend("inprocess:dmlcts.conformance.backends.reference:ReferenceBackend")
    assert isinstance(backend, InProcess)
    assert execute(CASE, backend, backend.describe()).status == "pass"


# What is written later


@pytest.mark.parametrize("name", ["ATensor", "OutputTensor"])
def test_what_is_written_after_a_dispatch_has_returned_is_found(name: str) -> None:
    seen: list[Dispatch] = []
    backend = Watched(Good(after=seen.append))
    run_some(backend, 3)
    put(seen[0], start(seen[0], name), resource(seen[0], name)[start(seen[0], name)] ^ 1, name)
    with pytest.raises(
        BackendFault, match="an earlier dispatch, of ELEMENT_WISE_BIT_OR, wrote to a resource after it had returned"
    ):
        run_some(backend, 10)
    run_some(backend, 20)  # it is reported once
    backend.close()


def test_what_the_last_dispatch_writes_later_is_found_at_the_end() -> None:
    seen: list[Dispatch] = []
    backend = Watched(Good(after=seen.append))
    run_some(backend, 3)
    resource(seen[-1])[:] = 7
    with pytest.raises(BackendFault, match="after it had returned"):
        backend.close()


def test_resources_that_are_bound_again_may_change() -> None:
    """As in a model of dxdispatch, whose dispatches share resources."""
    (first,) = dispatches(1)
    backend = Watched(Good(after=lambda dispatch: put(dispatch, start(dispatch), len(backend.past) + 1)))
    for _ in range(40):
        backend.run(replace(first, resources=[*first.resources]))
    backend.close()


def test_large_resources_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Watched(Good())
    run_some(backend, 100)
    assert 0 < len(backend.past) < 30
    monkeypatch.setattr("dmlcts.conformance.backends.python.in_process._MOST_BYTES", 16)
    backend = Watched(Good())
    run_some(backend, 3)
    assert not backend.past
