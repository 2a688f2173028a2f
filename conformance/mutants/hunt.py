"""Runs the suite's cases on mutants until one fails: which mutants does it find, and which survive?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any

from dmlcts.conformance.mutants.mutant import Mutant, MutantBackend
from dmlcts.conformance.runner.options import RunOptions
from dmlcts.conformance.runner.session import Session
from dmlcts.generator.case import Case
from dmlcts.generator.suite import operator_cases, select
from dmlcts.reports.record import ERROR, FAIL, PASS, Result
from dmlcts.spec.model import DOCUMENTED


@dataclass(frozen=True, slots=True)
class Kill:
    """The first case that found a mutant, whether as a failure or as an error, and what it said."""

    case: str
    status: str
    message: str


@dataclass(frozen=True, slots=True)
class Hunt:
    """What became of a mutant: ``kills`` by operator."""

    mutant: Mutant
    kills: Mapping[str, Kill]

    @property
    def survives_in(self) -> tuple[str, ...]:
        """The operators in which no case finds it."""
        return tuple(name for name in self.mutant.operators if name not in self.kills)

    @property
    def killed(self) -> bool:
        """Whether it is found in every operator that it concerns."""
        return not self.survives_in

    @property
    def surprising(self) -> bool:
        """Whether a fault survives, or what is said to be no fault is found."""
        return bool(self.kills) if self.mutant.equivalent else not self.killed

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON."""
        return {
            "name": self.mutant.name,
            "operators": list(self.mutant.operators),
            "does": self.mutant.does,
            "basis": self.mutant.basis,
            "equivalent": bool(self.mutant.equivalent),
            "reason": self.mutant.equivalent,
            "killed": self.killed,
            "kills": {operator: asdict(kill) for operator, kill in self.kills.items()},
        }


def chosen_cases(operator: str, level: str, basis: str) -> list[Case]:
    """The cases of an operator that a hunt runs, in the suite's order."""
    return select(operator_cases(operator, level), level=level, basis=basis)


def hunt(mutant: Mutant, level: str, basis: str, choose: Callable[[Case], bool] = lambda case: True) -> Hunt:
    """Runs the cases of every operator that the mutant concerns and in which it may show, all or those chosen, until the first that fails.

    What is unsupported neither finds a mutant nor clears it.
    """
    kills = {operator: kills_in(operator, [mutant], level, basis, choose).get(mutant.name) for operator in mutant.operators}
    return Hunt(mutant, {operator: kill for operator, kill in kills.items() if kill is not None})


def kills_in(
    operator: str, mutants: Iterable[Mutant], level: str, basis: str, choose: Callable[[Case], bool] = lambda case: True
) -> dict[str, Kill]:
    """Of the mutants that the operator's cases find, by name: the first case that fails."""
    cases = [case for case in chosen_cases(operator, level, basis) if choose(case)]
    kills: dict[str, Kill] = {}
    with TemporaryDirectory() as folder:
        for mutant in mutants:
            options = RunOptions(backend=mutant.backend, level=level, basis=basis, out=folder)
            shown = [case for case in cases if mutant.may_show(case)]
            with Session(options, MutantBackend(mutant)) as session:
                found = first_failure(session, sorted(shown, key=lambda case: case.kind not in mutant.first))
            if found is not None:
                kills[mutant.name] = Kill(found.case, found.status, found.message)
    return kills


def first_failure(session: Session, cases: Iterable[Case]) -> Result | None:
    """The first result that is a failure or an error, None if there is none."""
    return next((result for result in map(session.run, cases) if result.status in (FAIL, ERROR)), None)


def reference_failure(operators: Sequence[str], level: str, basis: str) -> Result | None:
    """The first case that the reference itself does not pass, None if it passes all: only then do mutants prove anything."""
    with TemporaryDirectory() as folder, Session(RunOptions(level=level, basis=basis, out=folder)) as session:
        results = (session.run(case) for operator in operators for case in chosen_cases(operator, level, basis))
        return next((result for result in results if result.status != PASS), None)


def summary(hunts: Sequence[Hunt], operators: Sequence[str]) -> dict[str, Any]:
    """Totals as JSON: of mutants overall, and of mutants in each operator. Equivalent mutants are counted apart from the rest."""
    faults = [entry for entry in hunts if not entry.mutant.equivalent]
    by_operator = {}
    for operator in operators:
        concerned = [entry for entry in hunts if operator in entry.mutant.operators]
        planted = [entry for entry in concerned if not entry.mutant.equivalent]
        by_operator[operator] = {
            "killed": sum(operator in entry.kills for entry in planted),
            "total": len(planted),
            "equivalent": len(concerned) - len(planted),
        }
    return {
        "killed": sum(entry.killed for entry in faults),
        "total": len(faults),
        "equivalent": len(hunts) - len(faults),
        "survivors": [
            {
                "name": entry.mutant.name,
                "operators": list(entry.survives_in),
                "equivalent": bool(entry.mutant.equivalent),
                "reason": entry.mutant.equivalent,
            }
            for entry in hunts
            if not entry.killed
        ],
        "mutants": [entry.to_json() for entry in hunts],
        "by_operator": by_operator,
    }


def wanted(mutants: Iterable[Mutant], operators: Sequence[str], basis: str) -> list[Mutant]:
    """The mutants that concern one of the operators and that cases of a basis should find, each for these operators alone.

    What DirectML.dll was measured to do and no document says is demanded on the basis ``measured`` alone.
    """
    return [
        replace(mutant, operators=concerned)
        for mutant in mutants
        if (basis != DOCUMENTED or mutant.basis == DOCUMENTED)
        and (concerned := tuple(name for name in mutant.operators if name in operators))
    ]
