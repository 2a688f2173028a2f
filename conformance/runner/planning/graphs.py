"""Which graphs a run executes: those of its level, as far as the other options leave them in.

Level core has the first ones: a first look (smoke) has none.
"""

from __future__ import annotations

from collections.abc import Iterable

from dmlcts.conformance.runner.planning.options import RunOptions, UsageError, shard_of
from dmlcts.generator.case.case import LEVELS
from dmlcts.generator.case.id_filter import matcher
from dmlcts.generator.suite.graph_cases.graph_case import GraphCase, find_graph, graph_cases
from dmlcts.generator.suite.suite import in_shard
from dmlcts.reports.record.record import GRAPHS
from dmlcts.spec.model.abi import feature_level


def is_about_graphs(pattern: str) -> bool:
    """Whether a word of the command line names the graphs."""
    return pattern.lower() == GRAPHS


def may_have_graphs(options: RunOptions) -> bool:
    """Whether options may select graphs. False only where they select none; looks at no graph unless there is an expression."""
    if options.level not in LEVELS or options.level == LEVELS[0]:
        return False
    return not options.expression or any(matcher(options.expression)(case.id) for case in graph_cases(options.level))


def select_graphs(options: RunOptions, ids: Iterable[str] | None = None) -> list[GraphCase]:
    """The graphs that options select, those last that need a process of their own; with ``ids``, these alone.

    Raises:
        UsageError: there is no graph with such an id.
    """
    if ids is not None:
        return [graph_named(each) for each in ids]
    return [case for case in graph_cases(options.level) if _is_wanted(case, options)]


def graph_named(case_id: str) -> GraphCase:
    """The graph whose id a user gave. Raises UsageError."""
    try:
        return find_graph(case_id)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None


def _is_wanted(case: GraphCase, options: RunOptions) -> bool:
    return (
        (not options.feature_level or feature_level(case.feature_level) <= feature_level(options.feature_level))
        and (not options.expression or matcher(options.expression)(case.id))
        and in_shard(case.id, shard_of(options.shard))
    )
