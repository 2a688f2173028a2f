"""What failures of several operators have in common, told by facts that cases of all operators have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dmlcts.conformance.runner.explaining.counts import Subject, count_reason
from dmlcts.conformance.runner.explaining.kernels import labels, named_in, with_kernels
from dmlcts.conformance.runner.explaining.known import EXCLUDED, Known, cases_that_ran
from dmlcts.conformance.runner.explaining.reasons import reasons
from dmlcts.generator.case.case import LEVELS
from dmlcts.generator.facts.explanations import Facts, Flags, shared_facts
from dmlcts.reports.explain.explanation import DISPATCHES, Explanation
from dmlcts.reports.explain.symptom import OF_VALUES, PAGE, symptom_of
from dmlcts.reports.record.record import ERROR, FAIL, NOT_RUN, PASS, UNEXPECTED_PASS, WAIVED, Result

MOST_FAILING, MOST_PASSING = 40, 8
"""How many operators what holds for several is looked for in: those with the most failures, and some without any. Of the latter, cases are made again."""

_OTHERS = {FAIL: (PASS, UNEXPECTED_PASS), ERROR: (PASS, UNEXPECTED_PASS, FAIL, WAIVED)}

_ENOUGH = 0.1
"""The share of the failures with a symptom that a guess must explain."""


def spread_evenly(names: Sequence[str]) -> Sequence[str]:
    """At most ``MOST_PASSING`` of these names, from all parts."""
    return names[:: max(1, -(-len(names) // MOST_PASSING))]


class Across:
    """The dispatches of the operators that fail, most failures first, as they become known, and of some of the others."""

    def __init__(self, failing: Sequence[str], results: Mapping[str, Sequence[Result]]) -> None:
        self.failing, self.results = failing, results
        self.facts: list[Facts] = []
        self.statuses: list[str] = []
        self.symptoms: list[str] = []
        self.operators: list[str] = []
        self.kernels: list[frozenset[str]] = []

    def add(self, operator: str, known: Known) -> None:
        """Adds an operator's dispatches, if it is among those with the most failures."""
        if operator not in self.failing[:MOST_FAILING]:
            return
        for case, status in zip(known.cases, known.statuses, strict=True):
            if status in (NOT_RUN, EXCLUDED):
                continue
            self._add(operator, shared_facts(case), known.results[case.id])

    def explanations(self, level: str) -> tuple[list[Explanation], list[Explanation]]:
        """Those that are sure: one symptom that a backend itself states, or conditions that explain all failures; and guesses."""
        self._add_passing(level)
        sure: list[Explanation] = []
        guesses: list[Explanation] = []
        every = Counter(
            (status, symptom) for status, symptom in zip(self.statuses, self.symptoms, strict=True) if status in _OTHERS
        )
        for status, symptom in [kind for kind, _ in every.most_common()]:
            for found in self._explanations_of(status, symptom):
                stated = symptom not in OF_VALUES and found is not None
                whole = not found.failing_outside and found.precise
                (sure if stated or whole else guesses).append(found)
        return sure, guesses

    def _explanations_of(self, status: str, symptom: str) -> list[Explanation]:
        """What explains one symptom, if several operators have it."""
        statuses, symptoms, operators = (np.array(each) for each in (self.statuses, self.symptoms, self.operators))
        failing = (statuses == status) & (symptoms == symptom)
        passing = np.isin(statuses, _OTHERS[status])
        count = len(np.unique(operators[failing]))
        if count < 2:
            return []
        subject, total = Subject("", status, DISPATCHES, symptom), int(failing.sum())
        found: list[Explanation] = []
        for reason in reasons(self._facts(failing), failing, passing) if passing.any() and symptom != PAGE else []:
            own = len(np.unique(operators[reason.meets & failing]))
            if own > 1 and (reason.needed or reason.explains.sum() >= _ENOUGH * total):
                found.append(replace(count_reason(subject, reason, failing, passing, own), kernels=named_in(reason.conditions)))
        if not found and symptom not in OF_VALUES:
            return [Explanation("", status, DISPATCHES, (), 0, 0, 0, 0, total, total, count, symptom=symptom, left=total)]
        return found

    def _add_passing(self, level: str) -> None:
        """Adds dispatches of operators without failures, spread evenly: of level core at most, which is enough to tell."""
        for name in spread_evenly([name for name in self.results if name not in self.failing]):
            enough = min(level, "core", key=LEVELS.index) if level in LEVELS else level
            for case, result in cases_that_ran(name, self.results[name], enough):
                self._add(name, shared_facts(case), result)

    def _add(self, operator: str, facts: Facts, result: Result) -> None:
        self.facts.append(facts)
        self.statuses.append(result.status)
        self.symptoms.append(symptom_of(result) if result.status in _OTHERS else "")
        self.operators.append(operator)
        self.kernels.append(labels(result))

    def _facts(self, failing: Flags) -> Sequence[Facts]:
        """The facts of the cases, with the code paths that failures of several operators ran."""
        by_label: dict[str, set[str]] = {}
        for at in map(int, np.flatnonzero(failing)):
            for label in self.kernels[at]:
                by_label.setdefault(label, set()).add(self.operators[at])
        shared = {label for label, operators in by_label.items() if len(operators) > 1}
        return [with_kernels(facts, ran & shared) or facts for facts, ran in zip(self.facts, self.kernels, strict=True)]
