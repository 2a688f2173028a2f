"""Runs the suite's cases on mutants until one fails: which does it find, and which survive?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory

from dmlcts.conformance.mutants.mutant import Mutant, MutantBackend
from dmlcts.conformance.options import RunOptions
from dmlcts.conformance.session import Session
from dmlcts.generator.case import Case
from dmlcts.generator.suite import operator_cases, select
from dmlcts.reports.record import ERROR, FAIL, PASS, Result
from dmlcts.spec.model import DOCUMENTED


@dataclass(frozen=True, slots=True)
class Kill:
    """The first case that found a mutant, whether as a failure or as an error, and its message."""

    case: str
    kind: str
    status: str
    message: str


@dataclass(frozen=True, slots=True)
class Hunt:
    """What became of a mutant."""

    mutant: Mutant
    kill: Kill | None

    @property
    def surprising(self) -> bool:
        """Whether a fault survives, or what was reviewed to be none is found."""
        return (self.kill is None) != bool(self.mutant.no_fault)


def chosen_cases(operator: str, level: str, basis: str) -> list[Case]:
    """The cases of an operator that a hunt runs, in the suite's order."""
    return select(operator_cases(operator, level), level=level, basis=basis)


def wanted(mutants: Iterable[Mutant], basis: str) -> list[Mutant]:
    """The mutants that cases of a basis should find. What no document says is required on the basis ``measured`` alone."""
    return [mutant for mutant in mutants if basis != DOCUMENTED or mutant.basis == DOCUMENTED]


def hunt(
    operator: str, mutants: Sequence[Mutant], level: str, basis: str, choose: Callable[[Case], bool] = lambda case: True
) -> list[Hunt]:
    """Runs the operator's cases, all or those chosen, on each of its mutants until the first that fails.

    What is unsupported neither finds a mutant nor clears it. Cases that found other mutants come first.
    """
    cases = [case for case in chosen_cases(operator, level, basis) if choose(case)]
    finds: dict[str, int] = {}
    found = []
    with TemporaryDirectory() as folder:
        for mutant in mutants:
            options = RunOptions(backend=mutant.backend, level=level, basis=basis, out=folder)
            shown = sorted(
                (case for case in cases if mutant.fault.may_show(case)),
                key=lambda case: (case.kind == "property", case.kind not in mutant.fault.kinds, -finds.get(case.id, 0)),
            )
            with Session(options, MutantBackend(mutant)) as session:
                kill = first_kill(session, shown)
            if kill is not None:
                finds[kill.case] = finds.get(kill.case, 0) + 1
            found.append(Hunt(mutant, kill))
    return found


def first_kill(session: Session, cases: Iterable[Case]) -> Kill | None:
    """The first case that fails or ends in an error, None if there is none."""
    for case in cases:
        result = session.run(case)
        if result.status in (FAIL, ERROR):
            return Kill(case.id, case.kind, result.status, result.message)
    return None


def reference_failure(operator: str, level: str, basis: str) -> Result | None:
    """The first case that the reference itself does not pass, None if it passes all: only then do mutants prove anything."""
    with TemporaryDirectory() as folder, Session(RunOptions(level=level, basis=basis, out=folder)) as session:
        return next((r for r in map(session.run, chosen_cases(operator, level, basis)) if r.status != PASS), None)
