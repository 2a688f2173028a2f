"""Each step of a replay on a backend, or its captured outputs, judged by the reference within the operator's tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.client.replay.flow import Step
from dmlcts.conformance.execution.answers import computed_answers
from dmlcts.conformance.execution.domains import undefined_inputs
from dmlcts.conformance.execution.execute import compare_outputs, dispatch_case, undeclared_outcome
from dmlcts.conformance.execution.outcome import Outcome, result_of
from dmlcts.generator.case.case import Case, Data
from dmlcts.reference.registry import reference_of
from dmlcts.reports.record.record import FAIL, NOT_RUN, REPLAY, Result
from dmlcts.spec.model.abi import abi, newest_level
from dmlcts.spec.model.desc import OperatorDesc
from dmlcts.spec.model.operator import DOCUMENTED
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations
from dmlcts.spec.rules.shape import FAILURES
from dmlcts.spec.untrusted.desc_json import write_desc

Array = NDArray[Any]

CAPTURED = "captured"
"""Stands for a backend: the outputs that were captured."""


@dataclass(frozen=True, slots=True)
class Rules:
    """On what steps run, and how they are judged. ``backend`` is None where captured outputs are judged; ``info`` is what it declares."""

    backend: Backend | None
    info: BackendInfo
    basis: str = DOCUMENTED
    timeout: float = 30.0


@dataclass(frozen=True, slots=True)
class Judged:
    """A step that was judged. ``outputs`` are what later nodes get; ``notes`` say what of its inputs or its desc defines no result."""

    step: Step
    case: Case | None
    result: Result
    outputs: Mapping[str, Array]
    actual: Mapping[str, Array]
    notes: tuple[str, ...] = ()

    @property
    def is_failure(self) -> bool:
        """Whether the implementation is wrong here."""
        return self.result.status == FAIL


def case_of(step: Step, desc: OperatorDesc, basis: str) -> Case:
    """A step as a case. Its data are given: the same in every run of this capture, and of no other."""
    node = "" if step.node is None else f"/{step.node}"
    first = next((tensor.data_type for _, tensor in desc.tensors()), "")
    return Case(
        id=f"{desc.type}/{first}/{REPLAY}/{step.execution.number}{node}",
        kind=REPLAY,
        level=REPLAY,
        desc=desc,
        operator=load(desc.type),
        feature_level=str(newest_level()),
        data_type=first,
        basis=basis,
        data={name: Data(recipe=CAPTURED, alike=_alike(values)) for name, values in step.inputs.items()},
        note=step.name,
    )


def judge(step: Step, rules: Rules) -> Judged:
    """Runs and judges a step. Never raises for what a backend does."""
    started = perf_counter()
    problem = step.problem or _reason_unjudged(step)
    if step.desc is None or problem:
        return Judged(step, None, _not_run(step, problem), {}, {})
    case = case_of(step, step.desc, rules.basis)
    notes = _beyond_rules(case.desc)
    try:
        notes += tuple(undefined_inputs(case.operator, case.desc, step.inputs))
        right = ReferenceBackend().compute(case.desc, step.inputs)
        outcome, actual = _outcome(case, step, rules)
    except (*FAILURES, KeyError, MemoryError) as error:
        return Judged(
            step, None, _not_run(step, f"the reference cannot compute it: {type(error).__name__}: {error}"), {}, {}, notes
        )
    if outcome is None:
        return Judged(step, case, _not_run(step, "its outputs were not captured"), right, {})
    # With the desc of what is right, too: `dmlcts explain` sets apart what is wrong from it.
    result = replace(result_of(case, outcome, perf_counter() - started), desc=write_desc(case.desc))
    # After a wrong node, the right values flow on: the next ones are judged by what they themselves do.
    return Judged(step, case, result, actual if actual and outcome.status != FAIL else right, actual, notes)


def _outcome(case: Case, step: Step, rules: Rules) -> tuple[Outcome | None, Mapping[str, Array]]:
    if rules.backend is None:
        if not step.captured:
            return None, {}
        return compare_outputs(case, step.inputs, step.captured, computed_answers(case, step.inputs), rules.info), step.captured
    if excluded := undeclared_outcome(case, rules.info):
        return excluded, {}
    return dispatch_case(case, step.inputs, rules.backend, rules.info, rules.timeout)


def _reason_unjudged(step: Step) -> str:
    """Why a step cannot be judged; empty if it can."""
    if step.desc is None:
        return "its desc is not known"
    return "" if reference_of(step.desc.type) else f"{step.desc.type} has no reference function"


def _beyond_rules(desc: OperatorDesc) -> tuple[str, ...]:
    """The rules that a desc breaks, which the implementation accepted all the same."""
    return tuple(f"no rule allows this desc: {found.message}" for found in violations(load(desc.type), desc)[:1])


def _not_run(step: Step, message: str) -> Result:
    """The result of a step that is not judged."""
    desc = step.desc
    first = (
        "FLOAT32" if desc is None else next((t.data_type for _, t in desc.tensors() if t.data_type in abi().data_types), "FLOAT32")
    )
    node = "" if step.node is None else f"/{step.node}"
    return Result(
        case=f"{step.operator.name}/{first}/{REPLAY}/{step.execution.number}{node}",
        operator=step.operator.name,
        data_type=first,
        kind=REPLAY,
        basis=DOCUMENTED,
        feature_level=str(newest_level()),
        status=NOT_RUN,
        message=message,
    )


def _alike(values: Array) -> bool:
    """Whether all elements have one value: then the terms of its sums do not vary."""
    return values.size > 1 and bool((values == values.flat[0]).all())


def captured_info(version: str) -> BackendInfo:
    """What is assumed of an implementation of which only outputs are known: nothing but its ``version``."""
    return BackendInfo("captured outputs", version, data_types=tuple(abi().data_types))
