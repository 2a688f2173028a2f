"""What is known of an operator's cases: their facts, as far as this version of the suite has them, and what became of them in a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dmlcts.conformance.runner.explaining.kernels import labels, with_kernels
from dmlcts.generator.case.case import AGREEMENT, LEVELS, REJECTION, RELATION, SEQUENCE, Case
from dmlcts.generator.covering.cases import is_stale
from dmlcts.generator.facts.explanations import Facts, Flags, facts_of
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.random.fuzz_cases import SeenTriples, find_numbered
from dmlcts.generator.random.random_dispatch import KIND as DRAWN
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.explain.explanation import DISPATCHES, LAWS, REJECTIONS, REPETITIONS
from dmlcts.reports.explain.symptom import symptom_of
from dmlcts.reports.record.record import FAILURES, NOT_RUN, REPLAY, SEARCH, UNSUPPORTED, Record, Result
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.shape import FAILURES as SHAPE_FAILURES
from dmlcts.spec.untrusted.desc_json import DescError, read_desc

GROUPS = {REJECTION: REJECTIONS, RELATION: LAWS, AGREEMENT: LAWS, SEQUENCE: REPETITIONS}
"""The group of a case by what it expects; every other is dispatched."""

EXCLUDED = "excluded"
"""In place of the status of a case that the backend's description excludes, or for which the machine lacks memory: it is no news."""

ENOUGH = "core"
"""The level whose cases are enough to explain failures of higher ones, where these fail alike."""

_MANY, _TELLING, _ALIKE, _RARE = 1_500, 12, 2.5, 0.03
"""How many results of an operator make it worth a thought, how many failures must be among the fewer cases, how much more often the others may fail, and
the share of these below which a kind of cases says nothing."""

_AHEAD = 200
"""Of so many drawn cases those are chosen that tell explanations of a search's failures apart."""


@dataclass(frozen=True, slots=True)
class Known:
    """Cases of one group with their facts and statuses; NOT_RUN for those that have not run. ``results`` are of those that have."""

    cases: Sequence[Case]
    facts: Sequence[Facts]
    statuses: Sequence[str]
    results: Mapping[str, Result]

    def cases_having(self, *statuses: str) -> Flags:
        """Which cases have one of these statuses."""
        return np.array([status in statuses for status in self.statuses], np.bool_)

    def kernels(self) -> list[frozenset[str]]:
        """The labels of the code paths that each case ran; none where it has not run, or where the backend named none."""
        return [labels(self.results.get(case.id)) for case in self.cases]

    def results_of(self, which: Flags) -> list[Result]:
        """The results of some cases, which have run."""
        return [self.results[self.cases[at].id] for at in np.flatnonzero(which).tolist()]

    def plainest(self, which: Flags) -> Case:
        """Of some cases the one with the fewest tensors with strides, and of those the smallest."""
        return min((self.cases[at] for at in np.flatnonzero(which).tolist()), key=_size)

    def by_symptom(self, which: Flags) -> dict[str, Flags]:
        """Some cases by their symptom, the most frequent first."""
        found: dict[str, Flags] = {}
        for at, result in zip(np.flatnonzero(which), self.results_of(which), strict=True):
            found.setdefault(symptom_of(result), np.zeros_like(which))[at] = True
        return dict(sorted(found.items(), key=lambda entry: -int(entry[1].sum())))


def known_of(operator: str, results: Sequence[Result], level: str, is_part: bool = False) -> dict[str, Known]:
    """The operator's cases by group, up to a level and those that ran, unless a part of these ``is_part`` enough; only the groups with failures."""
    by_id = {result.case: result for result in results}
    drawn, replayed = _draw_again(results), _replayed_cases(results)
    cases = suite_cases(operator, level) | drawn | replayed
    if (
        not is_part and level != SEARCH and not replayed and 2 * len(by_id.keys() & cases.keys()) < len(by_id)
    ):  # of a higher level, run by name
        cases = suite_cases(operator, LEVELS[-1]) | drawn
    failing = {GROUPS.get(case.expect, DISPATCHES) for case in cases.values() if _status(by_id, case) in FAILURES}

    def facts(case: Case) -> Facts | None:
        return with_kernels(_facts_of(case), labels(by_id.get(case.id)))

    return known_cases(cases.values(), by_id, facts, failing)


def is_enough(operator: str, results: Sequence[Result], level: str) -> bool:
    """Whether an operator's cases of level ``ENOUGH`` tell why those of a higher level fail: many fail there, with the same symptoms, and as often.

    To make the others again takes ten times as long.
    """
    if level not in LEVELS[LEVELS.index(ENOUGH) + 1 :] or len(results) < _MANY:
        return False
    few = suite_cases(operator, ENOUGH)
    inside, outside = _Tally(), _Tally()
    for result in results:
        (inside if result.case in few else outside).add(result)
    usual = inside.share()
    return (
        sum(inside.failing.values()) >= _TELLING
        and outside.symptoms <= inside.symptoms
        and all(
            outside.share(kind) <= _ALIKE * max(usual, inside.share(kind))
            for kind, count in outside.failing.items()
            if count > _RARE * sum(outside.failing.values())
        )
    )


class _Tally:
    """How many results there are of each kind, how many fail, and with which symptoms."""

    def __init__(self) -> None:
        self.every, self.failing = Counter[str](), Counter[str]()
        self.symptoms: set[str] = set()

    def add(self, result: Result) -> None:
        """Adds a result."""
        self.every[result.kind] += 1
        if result.status in FAILURES:
            self.failing[result.kind] += 1
            self.symptoms.add(symptom_of(result))

    def share(self, kind: str = "") -> float:
        """The share of the results of a kind that fail, or of all."""
        failing, every = (sum(each.values()) if not kind else each[kind] for each in (self.failing, self.every))
        return failing / every if every else 0.0


def known_cases(
    cases: Iterable[Case], by_id: Mapping[str, Result], facts: Callable[[Case], Facts | None], groups: Iterable[str]
) -> dict[str, Known]:
    """Cases by group, of some groups, with what became of them."""
    found: dict[str, list[tuple[Case, Facts]]] = {}
    wanted = set(groups)
    for case in cases:
        group = GROUPS.get(case.expect, DISPATCHES)
        if group in wanted and (known := facts(case)) is not None:
            found.setdefault(group, []).append((case, known))
    return {
        group: Known([case for case, _ in known], [facts for _, facts in known], [_status(by_id, case) for case, _ in known], by_id)
        for group, known in sorted(found.items())
    }


def unexplained_operators(record: Record) -> list[str]:
    """The operators whose failures are not explained since their rows are stale: to compute these would take minutes."""
    failing = {result.operator for result in record.results if result.status in FAILURES} & set(operator_names())
    return sorted(name for name in failing if is_stale(load(name)))


def suite_cases(operator: str, level: str) -> dict[str, Case]:
    """An operator's cases by id; none if this version of the suite does not have the operator, or would have to compute its rows anew."""
    if operator not in operator_names():
        return {}
    try:
        if is_stale(load(operator)):
            return {}
        cases = SeenTriples(operator).draw(0, _AHEAD, lambda case: True) if level == SEARCH else operator_cases(operator, level)
        return {case.id: case for case in cases}
    except (SpecError, NotGenerable):
        return {}


def cases_that_ran(operator: str, results: Sequence[Result], level: str) -> list[tuple[Case, Result]]:
    """An operator's dispatches that ran, as far as they can be made again, with their results."""
    return make_again(operator, [result for result in results if result.status != NOT_RUN], level)


def make_again(operator: str, results: Sequence[Result], level: str) -> list[tuple[Case, Result]]:
    """An operator's dispatches, as far as they can be made again, with their results, but for those that the backend does not claim."""
    cases = _draw_again(results) or _replayed_cases(results) or suite_cases(operator, level)
    found = ((cases.get(result.case), result) for result in results if not result.undeclared)
    return [(case, result) for case, result in found if case is not None and case.expect not in GROUPS]


def _size(case: Case) -> tuple[int, int]:
    tensors = [tensor for _, tensor in case.desc.tensors()]
    return sum(tensor.strides is not None for tensor in tensors), sum(tensor.count for tensor in tensors)


def _status(by_id: Mapping[str, Result], case: Case) -> str:
    result = by_id.get(case.id)
    if result is None:
        return NOT_RUN
    return EXCLUDED if result.status == UNSUPPORTED and result.undeclared else result.status


def _draw_again(results: Iterable[Result]) -> dict[str, Case]:
    """The cases that a search drew, made again."""
    found = {result.case: find_numbered(result.case) for result in results if result.kind == DRAWN}
    return {case_id: case for case_id, case in found.items() if case is not None}


def _replayed_cases(results: Iterable[Result]) -> dict[str, Case]:
    """The dispatches of a client that were judged, as cases: what is known of them is their desc."""
    found: dict[str, Case] = {}
    for result in results:
        if result.kind != REPLAY or result.desc is None or result.status == NOT_RUN:
            continue
        try:
            desc = read_desc(result.desc, load, "desc")
        except (DescError, SpecError, KeyError):  # of a record from elsewhere
            continue
        found[result.case] = Case(
            result.case, REPLAY, REPLAY, desc, load(desc.type), result.feature_level, result.data_type, result.basis
        )
    return found


def _facts_of(case: Case) -> Facts | None:
    """The facts of a case; None where a client's desc is beyond what the spec describes."""
    if case.kind != REPLAY:
        return facts_of(case)
    try:
        return facts_of(case)
    except (*SHAPE_FAILURES, KeyError, NotGenerable):
        return None
