"""The case that a process ran last becomes an error where its backend shows only afterwards that it has done damage: it dies, or fails to close."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.planning.beyond import work_called
from dmlcts.conformance.runner.planning.plan import RunPlan
from dmlcts.conformance.runner.planning.selection import Selection
from dmlcts.conformance.runner.workers.session import Session
from dmlcts.conformance.runner.workers.worker import Ran, not_run
from dmlcts.reports.record.record import ERROR, FAILURES


@dataclass(frozen=True, slots=True)
class LateFailure:
    """Makes errors of cases that passed. ``session`` need not be open; ``folder`` is the journal."""

    session: Session
    selection: Selection
    folder: Path

    def charge(self, last: Ran | None, problem: str, plan: RunPlan) -> bool:
        """Whether the case that ran last is, or has become, a failure; not if there is none, or enough cases failed anyway."""
        if last is None or plan.is_stopped:
            return False
        if plan.statuses.get(last.case) in FAILURES:
            return True
        number = self.selection.number(last.operator)
        is_listed = journal.is_listed(self.folder, number)  # a search lists for a while
        result = journal.read_listed(self.folder, number)[last.index] if is_listed else not_run(work_called(last.case))
        crash = replace(result, status=ERROR, message=f"after this case, the last one, {problem}", waiver="")
        # A waiver of the case is about the case itself. One that excuses this names it.
        crash = self.session.settle(crash, [waiver for waiver in self.session.waivers if waiver.message])
        journal.write_crashed(self.folder, crash)
        plan.on_other_result(last.operator, last.case, crash.status)
        return True
