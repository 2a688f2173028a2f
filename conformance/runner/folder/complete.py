"""The record of a run that reached its end, held against the plan that it carried out."""

from __future__ import annotations

from dataclasses import replace

from dmlcts.conformance.runner.planning.plan import RunPlan
from dmlcts.reports.record.record import FAILURES, NOT_RUN, SEARCH, Record, RecordError, Result


def complete_record(record: Record, plan: RunPlan) -> Record:
    """The record of a run that reached its end: a result for each case of the plan and no other.

    Raises:
        RecordError: the journal lacks a case, or has another status than was reported when the case ran. Foreign code may have written to it.
    """
    cases = {case_id: plan.statuses.get(case_id, NOT_RUN) for ids in plan.ids.values() for case_id in ids}
    found = {result.case: result.status for result in record.results}
    wrong = [case_id for case_id, status in cases.items() if found.get(case_id) != status]
    if wrong and not plan.is_stopped:
        first = f"{wrong[0]}: {found.get(wrong[0], 'no result')} instead of {cases[wrong[0]]}"
        raise RecordError(
            f"something changed the journal of this run: {len(wrong):,} of {len(cases):,} cases are wrong, such as {first}"
        )
    lacking = [name for name in (*record.manifest.unlisted, *plan.not_listed) if name not in plan.not_reached]
    if lacking:
        raise RecordError(f"something changed the journal of this run: it lacks {', '.join(dict.fromkeys(lacking))}")
    stopped, by_operator = (plan.breaker.run, plan.breaker.operators) if plan.breaker else ("", {})
    # A resumed run may have had others; of a search that was interrupted, a failure may be in the journal that nobody reported any more.
    late = FAILURES if record.manifest.level == SEARCH else frozenset[str]()
    results = tuple(
        _left_out(result, by_operator.get(result.operator, stopped))
        for result in record.results
        if result.case in cases or result.status in late
    )
    manifest = replace(
        record.manifest,
        selected=len(results),
        unlisted=list(plan.not_reached),
        stopped=stopped,
        stopped_operators=dict(by_operator),
    )
    return Record(manifest, results)


def _left_out(result: Result, why: str) -> Result:
    """A result that says why its case was not run, if it was not."""
    return replace(result, message=f"not run: {why}") if why and result.status == NOT_RUN else result
