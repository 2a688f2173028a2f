"""Which cases a run executes, operator by operator: the cases of an operator are made only when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from dmlcts.conformance.runner.planning.beyond import Work, may_have, named_beyond, select_beyond
from dmlcts.conformance.runner.planning.breaker import Breaker
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError, read_case, shard_of
from dmlcts.conformance.runner.planning.plan import RunPlan, Watcher
from dmlcts.conformance.runner.planning.promises import stops_early
from dmlcts.conformance.sequences.promises.profile import profile_names
from dmlcts.generator.case.case import LEVELS, Case
from dmlcts.generator.case.id_filter import matcher, may_match, words_of
from dmlcts.generator.suite.suite import find_case, network_dispatches, operator_cases, select
from dmlcts.reports.record.record import API, BEYOND_OPERATORS, Result
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.reading.loader import measured_folder, operator_names, short_form
from dmlcts.spec.reading.measured import census_networks, networks_of
from dmlcts.spec.untrusted.files import shorten_text


@dataclass(frozen=True)
class Selection:
    """The cases that options select.

    ``operators`` are those that may have some, in the order in which they run; API and GRAPHS among them stand for the promises of the API and for graphs, the last. ``ids`` are the cases given by id, and ``files`` those given as
    a file, by operator; if there are any, nothing else is selected.
    """

    options: RunOptions
    operators: tuple[str, ...]
    ids: dict[str, tuple[str, ...]]
    files: dict[str, tuple[Case, ...]]

    def cases(self, operator: str) -> list[Case]:
        """The selected cases of an operator; there may be none. Makes all its cases, which takes up to 2 s. Raises UsageError for an unknown id."""
        if self.ids or self.files:
            return [*map(_case, self.ids.get(operator, ())), *self.files.get(operator, ())]
        return self._at_level(operator, self.options.level)

    def work(self, operator: str) -> list[Work]:
        """The selected cases of an operator, or the promises of the API, or graphs. Raises as ``cases``."""
        if operator in BEYOND_OPERATORS:
            return [*select_beyond(operator, self.options, self.ids.get(operator))]
        return [*self.cases(operator)]

    def has_case(self) -> bool:
        """Whether there is a case. Makes as few as tell: those of level smoke first. Raises UsageError for an unknown id."""
        if self.ids or self.files:
            return sum(len(self.work(operator)) for operator in self.operators) > 0  # asks all, to find an unknown id
        if any(self.work(name) for name in self.operators if name in BEYOND_OPERATORS):
            return True
        levels = dict.fromkeys((LEVELS[0], self.options.level))
        return any(
            self._at_level(operator, level) for operator in self.operators if operator not in BEYOND_OPERATORS for level in levels
        )

    def number(self, operator: str) -> int:
        """The number of the operator's list of cases in the journal."""
        return self.operators.index(operator)

    def keeps(self, operator: str, status: str, is_known: bool = False) -> bool:
        """Whether the operator's results of that status are kept; ``is_known`` is true of a failure whose cause an earlier one shows."""
        return True

    def note(self, operator: str, case: Case, result: Result, process: str) -> None:
        """Takes notice of a result; ``process`` names this process."""

    def state(self, operator: str) -> dict[str, bytes]:
        """The files below the output folder that making and running the operator's cases reads, for a machine that has none of them."""
        return {}

    def add_state(self, changed: Mapping[str, bytes]) -> None:
        """Takes what making or running cases on such a machine has changed of it."""

    def plan(self, watcher: Watcher, folder: Path, done: dict[str, str]) -> RunPlan:
        """The plan that runs the cases; ``done`` are those with a result from before. ``folder`` is the journal."""
        stops = stops_early(self.options)
        breaker = None if self.options.keep_going else Breaker()
        return RunPlan(self.operators, watcher, done, 1 if stops else self.options.maxfail, breaker, one_by_one=stops)

    def _at_level(self, operator: str, level: str) -> list[Case]:
        given = self.options
        return select(
            network_dispatches(operator, level) if given.network else operator_cases(operator, level),
            level=level,
            basis=given.basis,
            at=feature_level(given.feature_level) if given.feature_level else None,
            matching=matcher(given.expression) if given.expression else None,
            network=given.network,
            shard=shard_of(given.shard),
        )


def selection_of(options: RunOptions) -> Selection:
    """The selection that options describe: the cases that are named, each once, or all that the other options select.

    Raises:
        UsageError: an unknown operator, network, feature level, expression or shard, an invalid case file, or no operator that may have a case.
    """
    shard_of(options.shard)
    try:
        if options.feature_level:
            feature_level(options.feature_level)
        if options.expression:
            matcher(options.expression)
    except (KeyError, ValueError) as error:
        raise UsageError(str(error.args[0])) from None
    if options.cases or options.case_files:
        return _named_selection(options)
    if options.network in profile_names():
        return Selection(options, (API,), {}, {})
    chosen, beyond = _chosen_names(options.operators)
    if options.network:
        chosen, beyond = _dispatched_by(options.network, chosen), []
    if options.expression:
        words = words_of(options.expression)
        named = {name: any(word in name.lower() for word in words) for name in chosen if may_match(options.expression, name)}
        chosen = tuple(sorted(named, key=lambda name: not named[name]))  # likely ones first: the run begins sooner
    chosen = (*chosen, *(name for name in beyond if may_have(name, options)))
    if not chosen:
        raise no_case(options)
    return Selection(options, chosen, {}, {})


def _chosen_names(patterns: tuple[str, ...]) -> tuple[tuple[str, ...], list[str]]:
    """The operators that patterns name, and which of API and GRAPHS they name; all, if there is no pattern. Raises UsageError."""
    if not patterns:
        return operator_names(), [*BEYOND_OPERATORS]
    beyond = {pattern: "" if _is_of_operators(pattern) else named_beyond(pattern) for pattern in patterns}
    of_operators = [pattern for pattern, name in beyond.items() if not name]
    return operators_named(of_operators) if of_operators else (), [name for name in BEYOND_OPERATORS if name in beyond.values()]


def _is_of_operators(pattern: str) -> bool:
    return any(fnmatchcase(form, pattern.upper()) for form in _forms())


def _dispatched_by(network: str, operators: Iterable[str]) -> tuple[str, ...]:
    """The operators that a network dispatches. Raises UsageError, which names similar ones, if the census has no such network."""
    if network not in (known := census_networks(measured_folder())):
        similar = get_close_matches(network, (*known, *profile_names()), n=4, cutoff=0.5)
        which = f"similar names: {', '.join(similar)}" if similar else "docs/clients.md says which there are"
        raise UsageError(
            f"no network {shorten_text(network)!r} in the census, and no profile of the API ({', '.join(profile_names())}); {which}"
        )
    return tuple(name for name in operators if network in networks_of(measured_folder(), name))


def _named_selection(options: RunOptions) -> Selection:
    operators: dict[str, None] = {}
    ids: dict[str, list[str]] = {}
    files: dict[str, list[Case]] = {}
    for case_id in dict.fromkeys(options.cases):
        operator = case_id.partition("/")[0]
        operators[operator] = None
        ids.setdefault(operator, []).append(case_id)
    taken = set(options.cases)
    for file in dict.fromkeys(options.case_files):
        case = read_case(Path(file))
        if case.id in taken:
            raise UsageError(f"{file}: the case {case.id} is already selected; run one of the two at a time")
        taken.add(case.id)
        operators[case.operator.name] = None
        files.setdefault(case.operator.name, []).append(case)
    return Selection(options, tuple(operators), {n: tuple(v) for n, v in ids.items()}, {n: tuple(v) for n, v in files.items()})


def _case(case_id: str) -> Case:
    try:
        return find_case(case_id)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None


def selected_cases(options: RunOptions) -> list[Case]:
    """All cases of operators that options select. Raises UsageError as ``selection_of``."""
    selection = selection_of(options)
    return [case for operator in selection.operators if operator not in BEYOND_OPERATORS for case in selection.cases(operator)]


def operators_named(patterns: Iterable[str]) -> tuple[str, ...]:
    """The operators that any of the patterns names; all if there is no pattern.

    A pattern is a name in any letter case, in full (``ELEMENT_WISE_ADD``, with or without DML_OPERATOR_) or in its short form (``ADD``), or
    has ``*``, ``?`` or ``[]`` and is compared with both. ``ADD`` is not ``ADD1``.

    Raises:
        UsageError: a pattern names no operator, or is the short form of several; the message lists them, or similar names.
    """
    patterns = tuple(patterns)
    if not patterns:
        return operator_names()
    chosen = {name for pattern in patterns for name in _matching_names(pattern)}
    return tuple(name for name in operator_names() if name in chosen)


def _matching_names(given: str) -> list[str]:
    pattern = given.upper().removeprefix("DML_OPERATOR_")
    if pattern in operator_names():
        return [pattern]
    found = [name for name in operator_names() if any(fnmatchcase(form, pattern) for form in (name, short_form(name)))]
    if not found:
        raise UsageError(f"no operator {shorten_text(given)!r}; {near_names(pattern)}")
    if len(found) > 1 and not set("*?[") & set(pattern):
        raise UsageError(f"{given!r} may be {' or '.join(found)}; give the whole name")
    return found


def near_names(word: str) -> str:
    """Operators with a similar name, as the end of a message."""
    found = get_close_matches(word.upper(), _forms(), n=4, cutoff=0.6)
    similar = dict.fromkeys(_forms()[form] for form in found)
    return f"similar names: {', '.join(similar)}" if similar else "`dmlcts spec list` shows the available ones"


@cache
def _forms() -> dict[str, str]:
    """Each operator by its full name and by its short form."""
    return {form: name for name in operator_names() for form in (short_form(name), name)}


def no_case(options: RunOptions) -> UsageError:
    """The error for options that select no case, with what is near."""
    message = "no case matches these options; `dmlcts spec list` lists operators, `dmlcts show -k EXPR` lists cases"
    unknown = [word for word in words_of(options.expression) if not any(word in name.lower() for name in operator_names())]
    similar = [
        f"{word!r} is in no operator's name ({near_names(word)})" for word in unknown if get_close_matches(word.upper(), _forms())
    ]
    return UsageError("; ".join((message, *similar)))
