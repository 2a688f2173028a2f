"""What a run has beyond cases of single operators, each by what stands for the operator: promises of the API, and graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from dmlcts.conformance.runner.planning.graphs import is_about_graphs, may_have_graphs, select_graphs
from dmlcts.conformance.runner.planning.options import RunOptions
from dmlcts.conformance.runner.planning.promises import find_promise, may_have_promises, promises_named, select_promises
from dmlcts.conformance.sequences.promises.promise import Promise
from dmlcts.generator.case.case import Case
from dmlcts.generator.suite.graph_cases.graph_case import GraphCase, find_graph
from dmlcts.generator.suite.suite import find_case
from dmlcts.reports.record.record import API, GRAPHS

Beyond = Promise | GraphCase
"""A case that is none of a single operator."""

Work = Case | Beyond
"""What a run executes one of at a time."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Which words name some, whether options may select some, those that they select, and the one with an id, or KeyError."""

    is_named: Callable[[str], bool]
    may_have: Callable[[RunOptions], bool]
    select: Callable[[RunOptions, Iterable[str] | None], list[Promise] | list[GraphCase]]
    find: Callable[[str], Beyond]


_PARTS: Mapping[str, _Part] = {
    GRAPHS: _Part(is_about_graphs, may_have_graphs, select_graphs, find_graph),
    API: _Part(lambda word: bool(promises_named(word)), may_have_promises, select_promises, find_promise),
}
"""By what stands for the operator. A word that names several names the first: `graphs` is also an area of the API, `api/graphs`."""


def named_beyond(word: str) -> str:
    """What a word of the command line names, API or GRAPHS; empty if neither."""
    return next((name for name, part in _PARTS.items() if part.is_named(word)), "")


def may_have(name: str, options: RunOptions) -> bool:
    """Whether options may select some; false only where they select none."""
    return _PARTS[name].may_have(options)


def select_beyond(name: str, options: RunOptions, ids: Iterable[str] | None = None) -> list[Beyond]:
    """Those that options select; with ``ids``, these alone. Raises UsageError for an unknown id."""
    return [*_PARTS[name].select(options, ids)]


def work_called(case_id: str) -> Work:
    """The case with this id, of an operator or beyond. Raises KeyError, with similar ids."""
    part = _PARTS.get(case_id.partition("/")[0])
    return find_case(case_id) if part is None else part.find(case_id)
