"""What explains failing graphs: conditions of what is in them, as those of an operator's cases explain these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from dmlcts.conformance.runner.explaining.counts import Subject, count_reason
from dmlcts.conformance.runner.explaining.reasons import reasons
from dmlcts.generator.facts.explanations import Facts, Flags
from dmlcts.generator.suite.graph_cases.facts import facts_of_graph
from dmlcts.generator.suite.graph_cases.graph_case import GraphCase, graph_cases
from dmlcts.reports.explain.explanation import Explanation
from dmlcts.reports.record.record import ERROR, FAIL, GRAPH, GRAPHS, PASS, UNEXPECTED_PASS, WAIVED, Result

_LEAST = 2
"""So many failing graphs need a common reason: a single one names its wrong node."""

_OTHERS = {FAIL: (PASS, UNEXPECTED_PASS), ERROR: (PASS, UNEXPECTED_PASS, FAIL, WAIVED)}


def explain_graphs(results: Iterable[Result]) -> list[Explanation]:
    """The explanations of each status, those of most graphs first."""
    known = {case.id: case for case in graph_cases()}
    ran = [(known[result.case], result.status) for result in results if result.case in known]
    return [each for status in _OTHERS for each in _of_status(status, ran)]


def _of_status(status: str, ran: Sequence[tuple[GraphCase, str]]) -> Iterator[Explanation]:
    told = [(case, own) for case, own in ran if own == status or own in _OTHERS[status]]
    failing: Flags = np.array([own == status for _, own in told], np.bool_)
    if failing.sum() < _LEAST or failing.all():
        return
    facts = [_facts(case) for case, _ in told]
    for reason in reasons(facts, failing, ~failing):
        explained = np.flatnonzero(reason.explains if reason.explains.any() else failing & reason.meets)
        smallest = min(explained, key=lambda at: int(facts[at]["the number of nodes"]))
        found = count_reason(Subject(GRAPHS, status, GRAPH), reason, failing, ~failing)
        yield replace(found, example=told[smallest][0].id)


@cache
def _facts(case: GraphCase) -> Facts:
    return facts_of_graph(case.graph())
