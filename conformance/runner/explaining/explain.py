"""What explains the failures of a record: of several operators that fail with one symptom, then of each operator, then guesses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from dmlcts.conformance.runner.explaining.across import Across
from dmlcts.conformance.runner.explaining.beyond.graphs import explain_graphs
from dmlcts.conformance.runner.explaining.beyond.promises import explain_promises
from dmlcts.conformance.runner.explaining.counts import Subject, count_reason
from dmlcts.conformance.runner.explaining.kernels import named_in, told_by_descs, what_reaches
from dmlcts.conformance.runner.explaining.known import ENOUGH, Known, is_enough, known_of, unexplained_operators
from dmlcts.conformance.runner.explaining.pairs import pairs_left_out
from dmlcts.conformance.runner.explaining.reasons import next_cases, reasons
from dmlcts.conformance.runner.screen.terminal import command_text
from dmlcts.generator.case.case import LEVELS
from dmlcts.generator.facts.explanations import Flags
from dmlcts.reports.explain.explanation import BEYOND, DISPATCHES, NOT_MADE, PAIRS, UNKNOWN, Explanation
from dmlcts.reports.explain.symptom import PAGE, common_detail
from dmlcts.reports.record.record import (
    BEYOND_OPERATORS,
    ERROR,
    FAIL,
    FAILURES,
    GRAPH,
    NOT_RUN,
    PASS,
    PROMISE,
    REPLAY,
    SEARCH,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    Record,
    Result,
)

OTHERS = {
    FAIL: (PASS, UNEXPECTED_PASS),
    ERROR: (PASS, UNEXPECTED_PASS, FAIL, WAIVED),
    UNSUPPORTED: (PASS, UNEXPECTED_PASS, FAIL, WAIVED, ERROR),
}
"""The statuses that are explained, each with those it is set apart from. A case with another status says nothing either way."""

MOST_OPERATORS = 20
"""How many operators the reports of a run explain; ``dmlcts explain`` explains all."""

_MOST_SYMPTOMS = 4
"""How many symptoms of an operator are explained apart; the failures with further ones are explained together."""


def explain(record: Record, most: int | None = None, level: str = "") -> list[Explanation]:
    """The explanations of a record's failures: those of several operators at once, then each operator's, most failures first, then how many
    nothing explains, then guesses across operators. Between them come the pairs of values that ran nowhere since their cases are unsupported, and single failures.

    ``most`` limits the operators. Of an operator without failures nothing but lost pairs is explained. The cases
    to run next are of the run's level, or of a higher ``level``; of a search, drawn ones; of a replay, the suite's own cases of level core.
    Failing cases that this version of the suite does not have, such as those from files, are only counted; and so are those of level full where
    those of level core fail alike, unless a ``level`` is given.
    """
    by_operator: dict[str, list[Result]] = {}
    beyond = {kind: [result for result in record.results if result.kind == kind] for kind in BEYOND_OPERATORS.values()}
    for result in (each for each in record.results if not each.is_beyond):
        by_operator.setdefault(result.operator, []).append(result)
    asked = bool(level)
    ran = {REPLAY: "core"}.get(record.manifest.level, record.manifest.level)
    ran = ran if ran in (*LEVELS, SEARCH) else LEVELS[-1]
    level = (level or ran) if ran == SEARCH else max(ran, level or ran, key=LEVELS.index)
    failing = {name: results for name, results in by_operator.items() if any(result.status in FAILURES for result in results)}
    ordered = sorted(failing, key=lambda name: -sum(result.status in FAILURES for result in failing[name]))
    across = Across(ordered, by_operator)
    found: list[Explanation] = []
    not_made = unexplained_operators(record)
    for name in ordered[:most]:
        few = not asked and is_enough(name, failing[name], level)
        known = known_of(name, failing[name], ENOUGH if few else level, is_part=few)
        rest = NOT_MADE if name in not_made else BEYOND if few else UNKNOWN
        found += _of_operator(name, known, failing[name], record.manifest.backend_spec, rest)
        if DISPATCHES in known:
            across.add(name, known[DISPATCHES])
    sure, guesses = across.explanations(ran)
    pairs = _pairs(by_operator, most) if record.manifest.level in LEVELS else []
    return [
        *sure,
        *sorted((*found, *pairs), key=_turn),
        *explain_graphs(beyond[GRAPH]),
        *explain_promises(beyond[PROMISE]),
        *guesses,
    ]


def _turn(each: Explanation) -> int:
    """What tells most comes first: conditions, then lost pairs, then single failures, which do not show their cause, then what nothing explains."""
    if each.group == PAIRS:
        return 1
    if each.conditions and each.explains == 1:
        return 2
    return 0 if each.conditions or each.inside else 3


def _pairs(by_operator: Mapping[str, Sequence[Result]], most: int | None) -> list[Explanation]:
    """What is unsupported leaves of the pairs of values, of the operators that lose most of them."""
    lacking = {
        name: sum(result.status == UNSUPPORTED and not result.undeclared for result in results)
        for name, results in by_operator.items()
    }
    partly = sorted(
        (name for name, count in lacking.items() if 0 < count < len(by_operator[name])), key=lambda name: -lacking[name]
    )
    found = [each for name in partly[:most] for each in pairs_left_out(name, by_operator[name])]
    return sorted(found, key=lambda each: -each.failing / each.inside)


def _of_operator(name: str, known: dict[str, Known], results: Sequence[Result], backend: str, rest: str) -> Iterator[Explanation]:
    for group, about in known.items():
        for status in OTHERS:
            if about.cases_having(status).any():
                yield from _explain_status(name, group, status, about, backend)
    known_ids = {case.id for about in known.values() for case in about.cases}
    unknown = sum(result.status in FAILURES and result.case not in known_ids for result in results)
    if unknown:
        yield Explanation(name, FAIL, rest, (), 0, 0, 0, 0, unknown, unknown)


def _explain_status(operator: str, group: str, status: str, about: Known, backend: str) -> Iterator[Explanation]:
    """The explanations of one status in one group of an operator's cases, and how many cases they leave, by symptom."""
    passing = about.cases_having(*OTHERS[status])
    for symptom, failing in _by_symptom(about, about.cases_having(status), passing):
        detail = common_detail(about.results_of(failing))
        total = int(failing.sum())
        if not passing.any():
            yield Explanation(
                operator, status, group, (), total, total, 0, 0, total, total, symptom=symptom, detail=detail, left=total
            )
            continue
        left, needed = failing, False
        for reason in reasons(about.facts, failing, passing) if symptom != PAGE else []:
            rival, apart = next_cases(told_by_descs(reason), about.cases_having(NOT_RUN))
            kernels = named_in(reason.conditions)
            cases = tuple(about.cases[at].id for at in apart)
            words = ["dmlcts", "run", "--backend", backend, *(word for case in cases for word in ("--case", case))]
            shown = reason.explains if reason.explains.any() else failing & reason.meets
            yield replace(
                count_reason(Subject(operator, status, group, symptom), reason, failing, passing),
                detail=detail or (common_detail(about.results_of(shown)) if shown.sum() > 1 else ""),
                alternative=rival,
                next=cases,
                command=command_text(words) if cases else "",
                example=about.plainest(shown).id,
                kernels=kernels,
                reached=tuple(what_reaches(label, about.facts, about.kernels()) for label in kernels),
            )
            left, needed = left & ~reason.explains, reason.needed
        if left.any() and not needed:
            yield Explanation(
                operator, status, group, (), 0, 0, 0, 0, int(left.sum()), total, symptom=symptom, left=int(left.sum())
            )


def _by_symptom(about: Known, failing: Flags, passing: Flags) -> Iterable[tuple[str, Flags]]:
    """Failures by symptom, unless one reason explains all: then they are one failure that shows in several ways."""
    found = about.by_symptom(failing)
    if len(found) < 2:
        return found.items()
    first = reasons(about.facts, failing, passing, most=1) if passing.any() else []
    if first and first[0].explains.sum() == failing.sum() and not (first[0].meets & passing).any():
        return [(" or ".join(name or "wrong values" for name in found) if len(found) <= _MOST_SYMPTOMS else "", failing)]
    every = list(found.items())
    if len(every) <= _MOST_SYMPTOMS:
        return every
    others = failing.copy()
    for _, which in every[: _MOST_SYMPTOMS - 1]:
        others &= ~which
    return [*every[: _MOST_SYMPTOMS - 1], ("other symptoms", others)]
