"""Hunts the faults of sequences (conformance/faults/beyond/sequences) with the sequence cases of some operators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dmlcts.conformance.faults.beyond.sequences import FAULTS, LEGAL, FaultySequences
from dmlcts.conformance.sequences.repetition.execute import sequence_outcome
from dmlcts.generator.case.case import Case
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.repetition import sequence_cases
from dmlcts.reports.record.record import FAILURES
from dmlcts.spec.reading.loader import load


@dataclass(frozen=True, slots=True)
class SequenceHunt:
    """What became of a planted step: the first of an operator's cases that fails, and why; empty if none does."""

    label: str
    does: str
    operator: str
    is_legal: bool
    case: str = ""
    message: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether the suite is: a fault that no case finds, or what is legal and fails."""
        return bool(self.case) == self.is_legal


def hunt_sequences(level: str, labels: Sequence[str], operator: str) -> list[SequenceHunt]:
    """Plants each step in the sequences of one operator, and runs its cases up to a level until one fails."""
    cases = list(sequence_cases(plan_of(load(operator)), level))
    return [_hunt(label, operator, cases) for label in labels]


def _hunt(label: str, operator: str, cases: Sequence[Case]) -> SequenceHunt:
    backend = FaultySequences(label)
    does = {**FAULTS, **LEGAL}[label][0]
    for case in cases:
        outcome = sequence_outcome(case, backend, backend.info)
        if outcome.status in FAILURES:
            return SequenceHunt(label, does, operator, label in LEGAL, case.id, outcome.message)
    return SequenceHunt(label, does, operator, label in LEGAL)
