"""What explains the failures of a record: the cases' conditions (generator/facts/explanations) that separate them from what passed (reports/explain/separation)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dmlcts.conformance.runner.screen.terminal import command_text
from dmlcts.generator.case.case import AGREEMENT, LEVELS, REJECTION, RELATION, Case
from dmlcts.generator.covering.cases import is_stale
from dmlcts.generator.facts.explanations import Conditions, Facts, Flags, conditions, facts_of, shared_facts
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.generator.random.fuzz_cases import SeenTriples, find_numbered
from dmlcts.generator.random.random_dispatch import KIND as DRAWN
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.explain.explanation import DISPATCHES, LAWS, NOT_MADE, REJECTIONS, UNKNOWN, Explanation
from dmlcts.reports.explain.separation import Separation, separations
from dmlcts.reports.record.record import (
    ERROR,
    FAIL,
    FAILURES,
    NOT_RUN,
    PASS,
    REPLAY,
    SEARCH,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Record,
    Result,
)
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.reading.loader import load, operator_names
from dmlcts.spec.rules.shape import FAILURES as SHAPE_FAILURES
from dmlcts.spec.untrusted.desc_json import DescError, read_desc

GROUPS = {REJECTION: REJECTIONS, RELATION: LAWS, AGREEMENT: LAWS}
"""The group of a case by what it expects; every other is dispatched."""

OTHERS = {
    FAIL: (PASS, UNEXPECTED_PASS),
    ERROR: (PASS, UNEXPECTED_PASS, FAIL, WAIVED),
    UNSUPPORTED: (PASS, UNEXPECTED_PASS, FAIL, WAIVED, ERROR),
}
"""The statuses that are explained, each with those it is set apart from. A case with another status says nothing either way."""

MOST_OPERATORS = 20
"""How many operators the reports of a run explain; ``dmlcts explain`` explains all."""

_MOST_FAILING, _MOST_PASSING = 16, 8
"""How many operators what holds for several is looked for in: those with the most failures, and some without any. Their cases are made again."""

_AHEAD = 200
"""Of so many drawn cases those are chosen that tell explanations of a search's failures apart."""

MOST_NEXT = 3
"""How many cases are named that would tell explanations apart."""


@dataclass(frozen=True, slots=True)
class Known:
    """Cases of one group with their facts and statuses; NOT_RUN for those that have not run."""

    cases: Sequence[Case]
    facts: Sequence[Facts]
    statuses: Sequence[str]

    def having(self, *statuses: str) -> Flags:
        """Which cases have one of these statuses."""
        return np.array([status in statuses for status in self.statuses], np.bool_)


def explain(record: Record, most: int | None = None, level: str = "") -> list[Explanation]:
    """The explanations of a record's failures: those of several operators at once, then each operator's, most failures first.

    ``most`` limits the operators. Of an operator without failures nothing is explained, not even why cases are unsupported. The cases
    to run next are of the run's level, or of a higher ``level``; of a search, drawn ones; of a replay, the suite's own cases of level core.
    Failing cases that this version of the suite does not have, such as those from files, are only counted.
    """
    by_operator: dict[str, list[Result]] = {}
    for result in record.results:
        by_operator.setdefault(result.operator, []).append(result)
    ran = {REPLAY: "core"}.get(record.manifest.level, record.manifest.level)
    ran = ran if ran in (*LEVELS, SEARCH) else LEVELS[-1]
    level = (level or ran) if ran == SEARCH else max(ran, level or ran, key=LEVELS.index)
    failing = {name: results for name, results in by_operator.items() if any(result.status in FAILURES for result in results)}
    found: list[Explanation] = []
    ordered = sorted(failing, key=lambda name: -sum(result.status in FAILURES for result in failing[name]))
    if len(failing) > 1:
        found += _of_the_run({name: by_operator[name] for name in _chosen(ordered, by_operator)}, ran)
    for name in ordered[:most]:
        results = failing[name]
        known = _known(name, results, level)
        for group, about in known.items():
            for status in OTHERS:
                if (about.having(status)).any():
                    found += _explained(name, group, status, about, record.manifest.backend_spec)
        known_ids = {case.id for about in known.values() for case in about.cases}
        unknown = sum(result.status in FAILURES and result.case not in known_ids for result in results)
        if unknown:
            group = NOT_MADE if name in operator_names() and is_stale(load(name)) else UNKNOWN
            found.append(Explanation(name, FAIL, group, (), 0, 0, 0, 0, unknown, unknown))
    return found


def unexplained(record: Record) -> list[str]:
    """The operators whose failures are not explained since their rows are stale: to compute these would take minutes."""
    failing = {result.operator for result in record.results if result.status in FAILURES} & set(operator_names())
    return sorted(name for name in failing if is_stale(load(name)))


def _chosen(failing: Sequence[str], names: Iterable[str]) -> list[str]:
    """Of operators that fail, most failures first, those with the most, and of the others some, spread evenly."""
    passing = [name for name in names if name not in failing]
    step = max(1, -(-len(passing) // _MOST_PASSING))
    return [*failing[:_MOST_FAILING], *passing[::step]]


def _drawn(results: Iterable[Result]) -> dict[str, Case]:
    """The cases that a search drew, made again."""
    found = {result.case: find_numbered(result.case) for result in results if result.kind == DRAWN}
    return {case_id: case for case_id, case in found.items() if case is not None}


def _replayed(results: Iterable[Result]) -> dict[str, Case]:
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


def _cases(operator: str, level: str) -> dict[str, Case]:
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


def _known(operator: str, results: Sequence[Result], level: str) -> dict[str, Known]:
    """The operator's cases by group, with the statuses that they have."""
    statuses = {result.case: result.status for result in results}
    drawn, replayed = _drawn(results), _replayed(results)
    cases = _cases(operator, level) | drawn | replayed
    if (
        level != SEARCH and not replayed and 2 * len(statuses.keys() & cases.keys()) < len(statuses)
    ):  # cases of a higher level, run by name
        cases = _cases(operator, LEVELS[-1]) | drawn
    groups: dict[str, list[tuple[Case, Facts]]] = {}
    failing = {GROUPS.get(case.expect, DISPATCHES) for case in cases.values() if statuses.get(case.id) in FAILURES}
    for case in cases.values():
        group = GROUPS.get(case.expect, DISPATCHES)
        if group in failing and (facts := _facts_of(case)) is not None:
            groups.setdefault(group, []).append((case, facts))
    return {
        group: Known(
            [case for case, _ in known], [facts for _, facts in known], [statuses.get(case.id, NOT_RUN) for case, _ in known]
        )
        for group, known in sorted(groups.items())
    }


def _of_the_run(by_operator: Mapping[str, Sequence[Result]], level: str) -> Iterator[Explanation]:
    """The explanations that hold for the dispatches of several operators."""
    cases: list[Case] = []
    statuses: list[str] = []
    for name, results in by_operator.items():
        known = _drawn(results) or _replayed(results) or _cases(name, level)
        for result in results:
            case = known.get(result.case)
            if case is not None and case.expect not in GROUPS:
                cases.append(case)
                statuses.append(result.status)
    about = Known(cases, [shared_facts(case) for case in cases], statuses)
    operators = np.array([case.operator.name for case in cases])
    for status in (FAIL, ERROR):
        failing, passing = about.having(status), about.having(*OTHERS[status])
        if len(np.unique(operators[failing])) < 2:
            continue
        made = conditions(about.facts, failing, passing)
        for found in separations(made.holds, failing, passing, made.weights):
            inside = made.meeting(found.conditions)
            count = len(np.unique(operators[inside & failing]))
            if count > 1 and 10 * found.new >= failing.sum():
                yield _explanation("", DISPATCHES, status, found, made, failing, passing, operators=count)


def _explained(operator: str, group: str, status: str, about: Known, backend: str) -> Iterator[Explanation]:
    """The explanations of one status in one group of an operator's cases, and how many cases they leave."""
    failing, passing = about.having(status), about.having(*OTHERS[status])
    if not passing.any():
        count = int(failing.sum())
        yield Explanation(operator, status, group, (), count, count, 0, 0, count, count)
        return
    made = conditions(about.facts, failing, passing)
    left = total = int(failing.sum())
    for found in separations(made.holds, failing, passing, made.weights):
        rival, apart = next_cases(found, made, about.having(NOT_RUN))
        alternative = tuple(made.texts[at] for at in rival)
        cases = tuple(about.cases[at].id for at in apart)
        words = ["dmlcts", "run", "--backend", backend, *(word for case in cases for word in ("--case", case))]
        command = command_text(words) if cases else ""
        yield _explanation(
            operator, group, status, found, made, failing, passing, alternative=alternative, next=cases, command=command
        )
        left -= found.new
    if left:
        yield Explanation(operator, status, group, (), 0, 0, 0, 0, left, total)


def _explanation(
    operator: str,
    group: str,
    status: str,
    found: Separation,
    made: Conditions,
    failing: Flags,
    passing: Flags,
    *,
    operators: int = 0,
    alternative: tuple[str, ...] = (),
    next: tuple[str, ...] = (),  # noqa: A002 (as the report calls it)
    command: str = "",
) -> Explanation:
    total, inside = int(failing.sum()), found.failing + found.passing
    return Explanation(
        operator=operator,
        status=status,
        group=group,
        conditions=tuple(made.texts[at] for at in found.conditions),
        inside=inside,
        failing=found.failing,
        outside=total + int(passing.sum()) - inside,
        failing_outside=total - found.failing,
        explains=found.new,
        total=total,
        operators=operators,
        alternative=alternative,
        next=next,
        command=command,
    )


def next_cases(found: Separation, made: Conditions, ahead: Flags) -> tuple[tuple[int, ...], list[int]]:
    """The simplest other conjunction that differs from the one found in cases ``ahead``, and those that tell most of them apart, at most three.

    Each case is chosen for how evenly it splits the conjunctions that those before it do not tell apart.
    """
    waiting = np.flatnonzero(ahead)
    every = np.array([made.meeting(each)[waiting] for each in (found.conditions, *found.rivals)], np.bool_)
    differs = (every != every[0]).any(axis=1)
    if not differs.any():
        return (), []
    chosen: list[int] = []
    parts = np.zeros(len(every), np.int64)
    for _ in range(MOST_NEXT):
        gain = np.zeros(len(waiting), np.int64)
        for part in np.unique(parts):
            met = every[parts == part]
            gain += np.minimum(met.sum(axis=0), (~met).sum(axis=0))
        best = int(gain.argmax())
        if gain[best] == 0:
            break
        chosen.append(int(waiting[best]))
        parts = 2 * parts + every[:, best]
    return found.rivals[int(differs.argmax()) - 1], chosen
