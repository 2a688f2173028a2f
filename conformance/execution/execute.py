"""One case on one backend: lay out, dispatch, check every byte, judge, and report.

The backend is not trusted: the buffers are filled so that what it does wrong shows (layout), and checked byte by byte (memory) before the
outputs are compared with the right ones (answers, judgement).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Backend, BackendFault, BackendInfo, Rejected, Unsupported
from dmlcts.conformance.backends.buffers import read_tensor
from dmlcts.conformance.execution.answers import answers_of, computed_answers, flush_denormals, holds_bits
from dmlcts.conformance.execution.judge import ZERO_SIGN
from dmlcts.conformance.execution.judgement import judge_case
from dmlcts.conformance.execution.layout import lay_out
from dmlcts.conformance.execution.memory import missing_memory, stray_writes, stray_writes_of_a_rejection, without_memory
from dmlcts.conformance.execution.outcome import Outcome, attempt, fault_evidence, result_of, traceback_of, written_by
from dmlcts.generator.case.case import REJECTION, VALUES, Case
from dmlcts.generator.case.inputs import inputs as case_inputs
from dmlcts.reference.answer import Answer
from dmlcts.reports.record.record import ALLOWED_BY_PAGE, ERROR, FAIL, MEMORY, PASS, UNSUPPORTED, Result
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import DOCUMENTED, MEASURED
from dmlcts.spec.untrusted import sanitize

DATA_TYPE = "data type"
"""What excludes a case of a data type that the backend does not declare."""

Array = NDArray[Any]


def execute(case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None) -> Result:
    """Runs and judges one case other than a property case (see conformance/properties/relations).

    ``timeout`` limits the dispatch, in seconds. Never raises for what the backend does; an error of the suite's own is raised.
    """
    started = perf_counter()
    outcome = outcome_of(case, backend, info, timeout)
    return result_of(case, outcome, perf_counter() - started)


def outcome_of(case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None) -> Outcome:
    """The outcome of a case other than a property case."""
    excluded = undeclared_outcome(case, info)
    if excluded is not None:
        return excluded
    if shortage := missing_memory(case, backend):
        return Outcome(UNSUPPORTED, shortage, undeclared=MEMORY)
    inputs = case_inputs(case)
    if case.expect == REJECTION:
        return _rejection_outcome(case, backend, info, inputs, timeout)
    return dispatch_case(case, inputs, backend, info, timeout)[0]


def dispatch_case(
    case: Case, inputs: Mapping[str, Array], backend: Backend, info: BackendInfo, timeout: float | None = None
) -> tuple[Outcome, dict[str, Array]]:
    """The outcome of a case that expects results, with these inputs, and the outputs, packed, by tensor name; none if the dispatch did not complete."""
    answers = answers_of(case, inputs)
    first = next(iter(answers.values()))
    layout = lay_out(case, inputs, first, timeout)
    failure = attempt(backend, layout.dispatch)
    if failure is not None:
        return without_memory(case, failure), {}
    bindings = layout.dispatch.bindings
    outputs = {
        name: read_tensor(layout.resources[bindings[name].resource], case.desc.tensor(name), bindings[name].offset)
        for name in first
    }
    stray = stray_writes(case, layout)
    if stray:
        return Outcome(FAIL, stray, evidence={"memory": stray}), outputs
    return compare_outputs(case, inputs, outputs, answers, info), outputs


def compare_outputs(
    case: Case,
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    answers: Mapping[str, Mapping[str, Answer]],
    info: BackendInfo,
) -> Outcome:
    """The outcome of outputs, packed and by tensor name, beside the right ``answers`` by basis."""
    outcome = judge_case(case, outputs, answers, info)
    bits = case.operator.tolerance.compare == "bits"
    if outcome.status == FAIL and case.expect != VALUES and info.denormals != "preserve" and not bits:
        # An implementation may flush denormal inputs to zero: then the result for flushed inputs is right.
        flushed = {name: a if holds_bits(case.operator, name) else flush_denormals(a) for name, a in inputs.items()}
        if any(flushed[name] is not array for name, array in inputs.items()):
            retried = judge_case(case, outputs, computed_answers(case, flushed), info)
            outcome = retried if retried.status == PASS else outcome
    if outcome.status == FAIL and case.basis == MEASURED and _page_allows(case, inputs, outputs, info):
        evidence = {**outcome.evidence, ALLOWED_BY_PAGE: True}
        return replace(outcome, message=f"{outcome.message}; not what was measured, but the page allows it", evidence=evidence)
    return outcome


def _page_allows(case: Case, inputs: Mapping[str, Array], outputs: Mapping[str, Array], info: BackendInfo) -> bool:
    """Whether outputs of a case of basis measured keep the documented tolerance, which says nothing of the sign of a zero."""
    documented = replace(case, basis=DOCUMENTED, checks=tuple(check for check in case.checks if check != ZERO_SIGN))
    return compare_outputs(documented, inputs, outputs, answers_of(documented, inputs), info).status == PASS


def undeclared_outcome(case: Case, info: BackendInfo) -> Outcome | None:
    """The outcome of a case that the backend's description excludes, None if it must be run.

    A negative case needs the data types of the valid desc that it changes. What the change brings in may be a type that no implementation has.
    """
    negative = case.expect == REJECTION
    needed = case.base_types if negative else tuple(tensor.data_type for _, tensor in case.desc.tensors())
    excluded = {
        "operator": {case.operator.name} - set(info.operators or [case.operator.name]),
        DATA_TYPE: _undeclared_types(needed, info),
        "validation": {"the validation of descs and bindings"} if negative and not info.validates else set(),
    }
    for what, names in excluded.items():
        if names:
            return Outcome(UNSUPPORTED, f"{info.name} does not claim {', '.join(sorted(names))}", undeclared=what)
    return None


def _undeclared_types(types: Collection[str], info: BackendInfo) -> set[str]:
    """Which of these data types the backend does not declare. One that declares none claims all."""
    return {name for name in types if name in abi().data_types} - set(info.data_types or types)


_LOST = {"0x887a0005": "removed", "0x887a0006": "hung", "0x887a0007": "reset"}
"""What has become of the device, by the HRESULT."""

_BINDING = frozenset({"initialize", "bind", "dispatch"})
"""The stages at which DirectML rejects a binding by removing the device."""


def _lost_device(rejection: Rejected) -> str:
    """What happened to the device if that is why nothing runs: no rejection of this desc or binding. Empty if it is one."""
    state = _LOST.get(rejection.code.lower(), "")
    rejects = not state or (state == "removed" and rejection.stage in _BINDING)
    return "" if rejects else f"the device is {state} ({rejection.code})"


def _rejection_outcome(
    case: Case, backend: Backend, info: BackendInfo, inputs: Mapping[str, Array], timeout: float | None
) -> Outcome:
    """Runs a negative case: only a rejection passes. "Unsupported" is within the declaration where the change brings in a data type beyond it."""
    layout = lay_out(case, inputs, {}, timeout)
    try:
        backend.run(layout.dispatch)
    except Rejected as error:
        evidence = {"stage": error.stage, "code": error.code}
        if lost := _lost_device(error):
            message = f"must be rejected ({case.rule}), but {lost} at {error.stage}: {error}"
            return Outcome(ERROR, message, evidence={**evidence, **written_by(error)})
        if stray := stray_writes_of_a_rejection(layout):
            return Outcome(FAIL, f"rejected, but {stray}", evidence={**evidence, "memory": stray})
        return Outcome(PASS, evidence=evidence)
    except Unsupported as error:
        beyond = _undeclared_types([tensor.data_type for _, tensor in case.desc.tensors()], info)
        return Outcome(UNSUPPORTED, str(error), undeclared=DATA_TYPE if beyond else "")
    except BackendFault as error:
        return Outcome(ERROR, f"must be rejected ({case.rule}), but: {error}", evidence=fault_evidence(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        message = f"must be rejected ({case.rule}) with Rejected, but raised {sanitize.error_line(error)}"
        return Outcome(ERROR, message, evidence={"traceback": traceback_of(error)})
    return Outcome(FAIL, f"accepted, but must be rejected: it breaks {case.rule}")
