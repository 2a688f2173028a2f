"""A search for graphs that fail: random ones by seed and number, each failing one made simpler, one kept for each cause."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from time import monotonic
from typing import Any

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.sequences.graphs.execute import graph_outcome, values_on
from dmlcts.generator.suite.graphs.draw import draw_graph
from dmlcts.generator.suite.graphs.families import FAMILIES, TYPES
from dmlcts.generator.suite.graphs.graph import Graph
from dmlcts.generator.suite.graphs.graph_json import write_graph
from dmlcts.generator.suite.graphs.simpler import simplest
from dmlcts.reports.record.record import FAIL, PASS, UNSUPPORTED
from dmlcts.spec.model.abi import feature_level

_COUNTS = (1, 2, 3, 3, 5, 5, 8, 8, 12, 20, 40) * 4 + (100, 200)
"""Nodes of a graph, drawn from these; few are long, as a search of two minutes is to have some thousand graphs."""

BY_ITSELF = "by itself, too"
"""What the symptoms of operators end with that need no graph to be wrong."""

_KEPT = 3
"""So many failures of one symptom are made simpler; further ones are counted."""

_SECONDS = 20.0
"""How long one failure is made simpler at most."""


@dataclass(slots=True)
class Failure:
    """A graph that failed: its family, or its seed and number, the symptom, the message of the simpler graph, and that graph."""

    label: str
    symptom: str
    status: str
    message: str
    graph: dict[str, Any]
    node: int | None = None


@dataclass(slots=True)
class Tally:
    """What a search found: graphs and their nodes by operator, how many nodes of graphs that passed were judged, statuses, failures, symptoms by number."""

    graphs: int = 0
    passed_nodes: int = 0
    judged: int = 0
    nodes: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    symptoms: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Counts another search too."""
        self.graphs += other.graphs
        self.passed_nodes += other.passed_nodes
        self.judged += other.judged
        for name in ("nodes", "statuses", "symptoms"):
            getattr(self, name).update(getattr(other, name))
        for failure in other.failures:
            if sum(known.symptom == failure.symptom for known in self.failures) < _KEPT:
                self.failures.append(failure)


def families(level: str) -> list[tuple[str, Graph]]:
    """The graphs that clients build, by name, as far as a feature level has their operators."""
    every = ((f"{name}, {data_type}", make(data_type)) for name, make in FAMILIES.items() for data_type in TYPES)
    most = feature_level(level)
    return [(name, graph) for name, graph in every if all(feature_level(node.case.feature_level) <= most for node in graph.nodes)]


def graph_of(seed: int, number: int, names: Sequence[str], level: str, among: Sequence[str] = ()) -> Graph:
    """The graph with this number: the same for the same specs. Of ``names``, one in turn is in it. It has operators of a feature level ``among`` those given."""
    random = Random(f"graph-{seed}-{number}")  # noqa: S311 (reproducible, no secret)
    count = random.choice(_COUNTS)
    first = names[number % len(names)] if names else ""
    return draw_graph(random, count, first, level=level, among=among)


def search(
    backend: Backend,
    info: BackendInfo,
    seed: int,
    numbers: Iterator[int],
    names: Sequence[str],
    until: float,
    timeout: float | None = None,
) -> Tally:
    """Runs the graphs with these numbers until a time (of ``monotonic``); below 0 are the families, from the last one on.

    Raises what is no fault of the backend.
    """
    found, known = Tally(), families(info.feature_level)
    for number in numbers:
        if monotonic() > until:
            break
        if number < -len(known):
            continue
        label, graph = (
            known[number] if number < 0 else (f"{seed}-{number}", graph_of(seed, number, names, info.feature_level, info.operators))
        )
        found.graphs += 1
        found.nodes.update(node.desc.type for node in graph.nodes)
        outcome = graph_outcome(graph, backend, info, timeout)
        if outcome.status == PASS:
            found.passed_nodes += len(graph.nodes)
            found.judged += outcome.evidence["judged"]
        found.statuses[outcome.status] += 1
        if outcome.status not in (PASS, UNSUPPORTED):
            symptom = symptom_of(graph, outcome)
            found.symptoms[symptom] += 1
            if sum(known.symptom == symptom for known in found.failures) < _KEPT:
                found.failures.append(_failure(label, graph, symptom, backend, info, timeout))
    return found


def symptom_of(graph: Graph, outcome: Outcome) -> str:
    """What a failure has in common with others of its cause: how it shows, and in which operator."""
    node = outcome.evidence.get("node")
    if node is None:
        return re.sub(r"\bcall \d+ \(([a-z-]+)\)", r"\1", re.sub(r"\boutput \d+ ", "", outcome.message.split(": ")[0]))
    where = graph.nodes[node].desc.type
    if "output" in outcome.evidence:
        return f"{where} is other than when every result is an output"
    return f"{where} is wrong {BY_ITSELF if outcome.evidence.get('alone') else 'in a graph alone'}"


def _failure(label: str, graph: Graph, symptom: str, backend: Backend, info: BackendInfo, timeout: float | None) -> Failure:
    """The failure, made simpler as long as it shows in the same way."""
    last = [graph_outcome(graph, backend, info, timeout)]
    until = monotonic() + _SECONDS

    def fails(simpler: Graph) -> bool:
        if monotonic() > until:
            return False
        outcome = graph_outcome(simpler, backend, info, timeout)
        if outcome.status == PASS or symptom_of(simpler, outcome) != symptom:
            return False
        last[0] = outcome
        return True

    simple = graph
    with suppress(ValueError):  # what no reference computes stays as it is
        simple = simplest(graph, values_on(graph, ReferenceBackend()), fails, last[0].evidence.get("node"))
    outcome = last[0]
    return Failure(
        label,
        symptom,
        FAIL if outcome.status == PASS else outcome.status,
        outcome.message,
        write_graph(simple),
        outcome.evidence.get("node"),
    )
