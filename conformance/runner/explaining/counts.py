"""A reason as an explanation: how many cases meet it, and fail."""

from __future__ import annotations

from dataclasses import dataclass

from dmlcts.conformance.runner.explaining.reasons import Reason
from dmlcts.generator.facts.explanations import Flags
from dmlcts.reports.explain.explanation import Explanation


@dataclass(frozen=True, slots=True)
class Subject:
    """What failed, and how: an operator (empty for several), a status, a group of cases and a symptom."""

    operator: str
    status: str
    group: str
    symptom: str = ""


def count_reason(subject: Subject, reason: Reason, failing: Flags, passing: Flags, operators: int = 0) -> Explanation:
    """The explanation, with the numbers of all failing and passing cases that it is about."""
    inside = int((reason.meets & failing).sum())
    outside = ~reason.meets & (failing | passing)
    return Explanation(
        operator=subject.operator,
        status=subject.status,
        group=subject.group,
        conditions=reason.conditions,
        inside=inside + int((reason.meets & passing).sum()),
        failing=inside,
        outside=int(outside.sum()),
        failing_outside=int((outside & failing).sum()),
        explains=int(reason.explains.sum()),
        total=int(failing.sum()),
        operators=operators,
        symptom=subject.symptom,
        needed=reason.needed,
        left=reason.left,
    )
