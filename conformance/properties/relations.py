"""Property cases: many examples of sizes, layouts and data are run, and a law decides.

There are two kinds of laws: ``agreement`` with the reference, and the relations of the spec (conformance/properties/laws) between outputs,
which need no reference. The examples follow from the case's id and the run's seed alone (conformance/properties/examples). Those of a relation
are run all at once, so that every call in the law is one dispatch.

Hypothesis looks for a small failing example only after one has failed (conformance/properties/shrink). If it finds none, the failing example
is bisected while one half fails. No failure is lost: one that does not recur is reported as such, and smaller examples that are unsupported count as passing. The example becomes a separate case with
literal data, which can be run again (``dmlcts run --case-file``).
"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.execution.execute import outcome_of, undeclared_outcome
from dmlcts.conformance.execution.outcome import Outcome, result_of
from dmlcts.conformance.properties.examples import (
    Draft,
    agreement_cases,
    draft_case,
    relation_draft,
    simpler,
    sized_draft,
    with_data,
)
from dmlcts.conformance.properties.law_dispatch import LawTrial, in_rows
from dmlcts.conformance.properties.laws import law_outcome
from dmlcts.generator.case.case import AGREEMENT, HUGE, RELATION, Case, to_json
from dmlcts.reports.record.record import FAIL, PASS, UNSUPPORTED, Result
from dmlcts.spec.model.dtypes import literal_array

EXAMPLES = {"smoke": 5, "core": 10, "full": 10, HUGE: 10}
"""The number of examples of a property case, by the run's level. The planted faults that property cases alone find are found with those of core."""

_SHARE = 5
"""The factor by which operators with tensors of different sizes have fewer examples: they also have more choices of attributes."""

_UNSTEADY = "an example of {} that does not fail every time: the backend is not deterministic"


def execute_property(
    case: Case, backend: Backend, info: BackendInfo, timeout: float | None = None, examples: int = 25, run_seed: str = ""
) -> Result:
    """Runs a property case on ``examples`` examples, or on the one that it has as literal data.

    Raises:
        SpecError: the law cannot be evaluated: the spec is wrong, not the backend.
    """
    started = perf_counter()
    trial = LawTrial(case, backend, info, timeout)
    excluded = undeclared_outcome(case, info)
    if excluded is not None:
        outcome = excluded
    elif case.expect == RELATION and all(data.literal is not None for data in case.data.values()):
        outcome = _outcome(trial, case)
    else:
        outcome = _try_examples(trial, examples, f"{run_seed}{case.id}")
    return result_of(case, outcome, perf_counter() - started)


def _outcome(trial: LawTrial, example: Case) -> Outcome:
    """The outcome of an example with literal data."""
    if example.expect != RELATION:
        return outcome_of(example, trial.backend, trial.info, trial.timeout)
    return law_outcome(trial, {name: literal_array(data.literal) for name, data in example.data.items() if data.literal})


def _try_examples(trial: LawTrial, examples: int, seed: str) -> Outcome:
    """The outcome of all examples: a pass, or the outcome of the first failing one after shrinking."""
    draft, outcome = first_failure(trial, examples, seed)
    law = trial.case.relation or "agreement"
    if outcome.status in (PASS, UNSUPPORTED):
        return outcome
    if outcome.status != FAIL:
        return _with_example(draft_case(trial, draft), outcome, f"an example of {law}")
    # Importing Hypothesis takes a tenth of a second, and a run without failures does not need it.
    from dmlcts.conformance.properties.shrink import search

    found = search(trial, lambda example: _outcome(trial, example), examples, seed)
    remark = f"shrunken example of {law}"
    if found is None:
        found = _cut_down(trial, draft, outcome)
        remark = f"example of {law}, cut down"
    example, outcome, steady = found
    if outcome.status != FAIL:
        remark = f"an example of {law}"
    return _with_example(example, outcome, remark if steady else _UNSTEADY.format(law))


def first_failure(trial: LawTrial, examples: int, seed: str) -> tuple[Draft, Outcome]:
    """The first draft that does not pass, or the last one that does, with its outcome. Nothing is shrunk."""
    return (_first_of_agreement if trial.case.expect == AGREEMENT else _batch)(trial, examples, seed)


def _first_of_agreement(trial: LawTrial, examples: int, seed: str) -> tuple[Draft, Outcome]:
    """The first example that does not pass, a pass if all do."""
    for draft, case in agreement_cases(trial, _fewer(trial, examples), seed):
        outcome = outcome_of(case, trial.backend, trial.info, trial.timeout)
        if outcome.status != PASS:
            return with_data(draft, case), outcome
    return Draft({}), Outcome(PASS)


def _fewer(trial: LawTrial, examples: int) -> int:
    return examples if in_rows(trial.operator) else -(-examples // _SHARE)


def _batch(trial: LawTrial, examples: int, seed: str) -> tuple[Draft, Outcome]:
    """All examples of a relation at once; if its tensors have different sizes, fewer of them, one by one."""
    if in_rows(trial.operator):
        draft = relation_draft(trial, examples, seed)
        return draft, law_outcome(trial, draft.arrays)
    for index in range(_fewer(trial, examples)):
        draft = sized_draft(trial, f"{seed}/{index}")
        outcome = law_outcome(trial, draft.arrays)
        if outcome.status != PASS:
            break
    return draft, outcome


def _cut_down(trial: LawTrial, draft: Draft, outcome: Outcome) -> tuple[Case, Outcome, bool]:
    """The last of a chain of simpler drafts that all fail: as a case, its outcome, and whether the first one failed again."""
    example = draft_case(trial, draft)
    again = _outcome(trial, example)
    if again.status in (PASS, UNSUPPORTED):
        return example, outcome, False
    outcome, candidates = again, simpler(trial, draft)
    while outcome.status == FAIL and (candidate := next(candidates, None)) is not None:
        smaller = draft_case(trial, candidate)
        smaller_outcome = _outcome(trial, smaller)
        if smaller_outcome.status not in (PASS, UNSUPPORTED):
            example, outcome, candidates = smaller, smaller_outcome, simpler(trial, candidate)
    return example, outcome, True


def _with_example(example: Case, outcome: Outcome, remark: str) -> Outcome:
    return replace(outcome, message=f"{outcome.message} ({remark})", evidence={**outcome.evidence, "example": to_json(example)})
