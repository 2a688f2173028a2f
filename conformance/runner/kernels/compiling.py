"""Cases that a backend compiles and does not execute: it names the kernels that would run (conformance/execution/traced), and there are no results.

A backend that cannot compile alone executes, and its results are not looked at (``execute`` in docs/process-protocol.md).
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.execution.execute import undeclared_outcome
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.execution.memory import missing_memory, without_memory
from dmlcts.conformance.execution.outcome import Outcome, attempt, result_of
from dmlcts.generator.case.case import REFERENCE, VALUES, Case
from dmlcts.generator.case.inputs import inputs
from dmlcts.reports.record.record import MEMORY, NOT_RUN, UNSUPPORTED, Result

NOT_EXECUTED = Outcome(NOT_RUN, "not executed")
"""What becomes of a case that is no single dispatch."""


def is_one_dispatch(case: Case) -> bool:
    """Whether a case is one dispatch of a valid desc. Laws and sequences are several, and rejections none."""
    return case.expect in (REFERENCE, VALUES)


def compile_case(case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None) -> Result:
    """Compiles a case without executing it. The result is one of a failure, where the backend refuses or breaks, and else none: it is not run.

    ``timeout`` is in seconds. Never raises for what the backend does.
    """
    started = perf_counter()
    outcome = _outcome(case, backend, info, timeout) if is_one_dispatch(case) else NOT_EXECUTED
    return result_of(case, outcome, perf_counter() - started)


def _outcome(case: Case, backend: Backend, info: BackendInfo, timeout: float | None) -> Outcome:
    if (excluded := undeclared_outcome(case, info)) is not None:
        return excluded
    if shortage := missing_memory(case, backend):
        return Outcome(UNSUPPORTED, shortage, undeclared=MEMORY)
    failure = attempt(backend, replace(lay_out(case, inputs(case), {}, timeout).dispatch, execute=False))
    return Outcome(NOT_RUN, "compiled, not executed") if failure is None else without_memory(case, failure)
