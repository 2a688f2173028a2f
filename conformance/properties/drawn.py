"""Runs a drawn case (generator/numbered), and makes it simpler if it fails."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic, perf_counter

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.execution.execute import outcome_of
from dmlcts.conformance.execution.outcome import Outcome, result_of
from dmlcts.generator.case import Case, to_json
from dmlcts.generator.factors import model_of
from dmlcts.generator.numbered import case_of, genes_of, number_in
from dmlcts.generator.plan import plan_of
from dmlcts.generator.simpler import Simplifier
from dmlcts.reports.record import PASS, UNSUPPORTED, Result
from dmlcts.spec.desc_json import write_desc

MOST_TRIES, MOST_SECONDS = 400, 20.0
"""When to be content with a case that is simple enough."""

SIMPLER = "simpler"
"""The kind of a drawn case that was made simpler."""


def execute_drawn(case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None) -> Result:
    """Runs and judges a drawn case. Where it fails, the result is that of the simplest case found that fails in the same way.

    That case is in the evidence, as the example of a property case is. Raises as ``execute``.
    """
    started = perf_counter()
    outcome = outcome_of(case, backend, info, timeout)
    if outcome.status in (PASS, UNSUPPORTED):
        return result_of(case, outcome, perf_counter() - started)
    example, found = _simpler(case, outcome, backend, info, timeout)
    remark = "" if example is case else f" (made simpler from a case with {_what(case)})"
    example = replace(example, kind=SIMPLER, covers=())
    found = replace(found, message=f"{found.message}{remark}", evidence={**found.evidence, "example": to_json(example)})
    return replace(result_of(case, found, perf_counter() - started), desc=write_desc(example.desc))


def _what(case: Case) -> str:
    leading = next(iter(dict(case.desc.tensors()).values()))
    return f"{case.data_type} {'x'.join(map(str, leading.sizes))}"


def _simpler(case: Case, outcome: Outcome, backend: Backend, info: BackendInfo, timeout: float | None) -> tuple[Case, Outcome]:
    """The simplest case that fails in the same way, and its outcome."""
    place = number_in(case.id)
    if place is None:
        return case, outcome
    operator, seed, number = place
    model, genes, label = model_of(plan_of(case.operator)), genes_of(operator, seed, number), f"fuzz-{seed}-{number}-simpler"
    case_of(model, genes, label)  # asks for all numbers
    best, tries, until = outcome, 0, monotonic() + MOST_SECONDS

    def fails_alike(other: Case) -> bool:
        nonlocal best, tries
        tries += 1
        if tries > MOST_TRIES or monotonic() > until:
            raise StopIteration
        if other.basis != case.basis:
            return False
        found = outcome_of(other, backend, info, timeout)
        if _check(found) != _check(outcome):
            return False
        best = found
        return True

    return Simplifier(model, genes, case, label, fails_alike).run(), best


def _check(outcome: Outcome) -> tuple[str, ...]:
    """Which check failed: values, memory, a refusal, a crash, an exception."""
    return (outcome.status, *sorted(outcome.evidence), str(outcome.evidence.get("stage", "")))
