"""Runs a drawn case (generator/random/fuzz_cases), and makes it simpler if it fails, unless the cause is known (causes)."""

from __future__ import annotations

import re
from dataclasses import replace
from time import monotonic, perf_counter

from dmlcts.conformance.backends.backend import SLOW, Backend, BackendInfo
from dmlcts.conformance.execution.execute import outcome_of
from dmlcts.conformance.execution.outcome import HOST, Outcome, result_of
from dmlcts.conformance.properties.causes import Cause, Causes
from dmlcts.generator.case.case import Case, to_json
from dmlcts.generator.facts.factors import model_of
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.random.fuzz_cases import Place, case_of, fuzz_genes, number_in
from dmlcts.generator.random.reduce import Need, Reducer, SearchEnds, traits_of
from dmlcts.reports.record.groups import text_form
from dmlcts.reports.record.record import PASS, UNSUPPORTED, Result
from dmlcts.spec.untrusted.desc_json import write_desc

MOST_TRIES, MOST_SECONDS = 400, 20.0
"""When to be content with a case that is simple enough."""

SIMPLER = "simpler"
"""The kind of a drawn case that was made simpler."""


def execute_drawn(
    case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None, causes: Causes | None = None
) -> tuple[Result, Cause | None]:
    """Runs and judges a drawn case. Where it fails, the result is that of the simplest case found that fails in the same way, and has its cause.

    That case is in the evidence, as the example of a property case is. A case that shows one of the known ``causes`` is not made simpler.
    Raises as ``execute``.
    """
    started = perf_counter()
    outcome = outcome_of(case, backend, info, timeout)
    slow = outcome.evidence.get(HOST) == SLOW  # so would most simpler ones be, at a minute or two each
    if outcome.status in (PASS, UNSUPPORTED) or slow or number_in(case.id) is None:
        return result_of(case, outcome, perf_counter() - started), None
    trial = _Trial(case, outcome, backend, info, timeout)
    if causes is not None and (cause := trial.known_cause(causes)):
        return result_of(case, outcome, perf_counter() - started), cause
    example, found = trial.simplest()
    cause = Cause(case.id, check_of(found), trial.simplifier.needs())
    if causes is not None:
        causes.simplest(case.operator.name, cause)
    remark = "" if example is case else f" (made simpler from a case with {_what(case)})"
    example = replace(example, kind=SIMPLER, covers=())
    found = replace(found, message=f"{found.message}{remark}", evidence={**found.evidence, "example": to_json(example)})
    return replace(result_of(case, found, perf_counter() - started), desc=write_desc(example.desc)), cause


def _what(case: Case) -> str:
    leading = next(iter(dict(case.desc.tensors()).values()))
    return f"{case.data_type} {'x'.join(map(str, leading.sizes))}"


class _Trial:
    """A failing drawn case, which is tried with changes. ``best`` is the outcome of the last one that failed in the same way."""

    def __init__(self, case: Case, outcome: Outcome, backend: Backend, info: BackendInfo, timeout: float | None) -> None:
        self.given, self.best, self.backend, self.info, self.timeout = case, outcome, backend, info, timeout
        self.check = check_of(outcome)
        self.tries, self.until = 0, monotonic() + MOST_SECONDS
        place = number_in(case.id) or Place("", 0, 0)
        model, genes, label = model_of(plan_of(case.operator)), fuzz_genes(*place), f"{place.label}-simpler"
        case_of(model, genes, label)  # asks for all numbers
        self.simplifier = Reducer(model, genes, case, label, self._fails_alike)

    def known_cause(self, causes: Causes) -> Cause | None:
        """The known cause that the case shows, if it shows no other: without any one of its needs, it does not fail in this way."""
        operator, tried = self.given.operator.name, set[object]()
        if cause := causes.likeliest(operator, self.check):
            return cause
        while cause := causes.met_cause(operator, traits_of(self.simplifier.model, self.simplifier.case), self.check, tried):
            tried.add(cause.signature)
            if not self._fails_without_one_of(cause.needs):
                return cause
        return None

    def simplest(self) -> tuple[Case, Outcome]:
        """The simplest case that fails in the same way, and its outcome."""
        return self.simplifier.run(), self.best

    def _fails_without_one_of(self, needs: tuple[Need, ...]) -> bool:
        try:
            for need in needs:
                if self.simplifier.holds_without(need):
                    return True
        except SearchEnds:
            pass
        return False

    def _fails_alike(self, other: Case) -> bool:
        self.tries += 1
        if self.tries > MOST_TRIES or monotonic() > self.until:
            raise SearchEnds
        if other.basis != self.given.basis:
            return False
        found = outcome_of(other, self.backend, self.info, self.timeout)
        if check_of(found) != self.check:
            return False
        self.best = found
        return True


def check_of(outcome: Outcome) -> tuple[str, ...]:
    """Which check failed: wrong values, and of which outputs; or the message, without numbers, of a write, a refusal, a crash, an exception."""
    if outcome.verdicts:
        return outcome.status, *(mismatch.tensor for verdict in outcome.verdicts for mismatch in verdict.mismatches[:1])
    return outcome.status, re.sub(r"#([^\w#]{1,3}#)+", "#", text_form(outcome.message))
