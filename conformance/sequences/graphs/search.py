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

from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.execution.traced import Traced
from dmlcts.conformance.sequences.graphs.execute import graph_outcome, values_on
from dmlcts.conformance.sequences.graphs.reached import Reached
from dmlcts.generator.suite.graphs.draw import draw_graph
from dmlcts.generator.suite.graphs.families import FAMILIES, TYPES
from dmlcts.generator.suite.graphs.graph import Graph, Made
from dmlcts.generator.suite.graphs.graph_json import write_graph
from dmlcts.generator.suite.graphs.simpler import Ended, simplest, without_nodes
from dmlcts.reports.record.paths import forms_of
from dmlcts.reports.record.record import FAIL, PASS, UNSUPPORTED
from dmlcts.spec.model.abi import feature_level

Array = NDArray[Any]

_COUNTS = (1, 2, 3, 3, 5, 5, 8, 8, 12, 20, 40) * 4 + (100, 200)
"""Nodes of a graph, drawn from these; few are long, as a search of two minutes is to have some thousand graphs."""

BY_ITSELF = "by itself, too"
"""What the symptoms of operators end with that need no graph to be wrong."""

_KEPT = 3
"""So many failures of one cause are made simpler; further ones are counted."""

_SECONDS = 40.0
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
class Cause:
    """What failures have in common: how they show, and the operators that each of their simplest graphs has.

    ``labels`` are all graphs that fail so, ``failures`` the first of them, made simpler. ``kept_before`` counts those that another part of the search keeps.
    """

    symptom: str
    operators: frozenset[str]
    labels: list[str] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    kept_before: int = 0

    @property
    def title(self) -> str:
        """The symptom, and the operators that it does not name."""
        more = ", ".join(sorted(self.operators - set(self.symptom.split())))
        return f"{self.symptom} ({more})" if more else self.symptom

    @property
    def is_known(self) -> bool:
        """Whether so many of its failures are kept that its operators are those that it needs."""
        return self.kept_before + len(self.failures) >= _KEPT

    def is_of(self, symptom: str, operators: frozenset[str]) -> bool:
        """Whether a simplest graph of these operators has this cause."""
        return self.symptom == symptom and bool(self.operators & operators or not self.operators)

    def add(self, operators: frozenset[str], labels: Sequence[str], failures: Sequence[Failure]) -> None:
        """Counts further graphs."""
        self.operators &= operators
        self.labels += labels
        self.failures += failures[: max(0, _KEPT - self.kept_before - len(self.failures))]


@dataclass(slots=True)
class Tally:
    """What a search found: graphs and their nodes by operator, how many nodes of graphs that passed were judged, statuses, causes of failures."""

    graphs: int = 0
    passed_nodes: int = 0
    judged: int = 0
    nodes: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    causes: list[Cause] = field(default_factory=list)
    reached: Reached = field(default_factory=Reached)

    @property
    def symptoms(self) -> Counter[str]:
        """How many graphs fail in each way."""
        found = Counter[str]()
        for cause in self.causes:
            found[cause.symptom] += len(cause.labels)
        return found

    @property
    def failures(self) -> list[Failure]:
        """The failures that are kept."""
        return [failure for cause in self.causes for failure in cause.failures]

    def add(self, other: Tally) -> None:
        """Counts another search too."""
        self.graphs += other.graphs
        self.passed_nodes += other.passed_nodes
        self.judged += other.judged
        for name in ("nodes", "statuses"):
            getattr(self, name).update(getattr(other, name))
        self.reached.extend(other.reached)
        for cause in other.causes:
            if cause.labels:
                self.add_failures(cause.symptom, cause.operators, cause.labels, cause.failures)

    def add_failures(self, symptom: str, operators: frozenset[str], labels: Sequence[str], failures: Sequence[Failure]) -> None:
        """Counts graphs with a symptom, whose simplest ones have these operators: of a known cause, or a new one."""
        cause = next((each for each in self.causes if each.is_of(symptom, operators)), None)
        if cause is None:
            self.causes.append(cause := Cause(symptom, operators))
        cause.add(operators, labels, failures)


def families(level: str) -> list[tuple[str, Graph]]:
    """The graphs that clients build, by name, as far as a feature level has their operators."""
    every = ((f"{name}, {data_type}", make(data_type)) for name, make in FAMILIES.items() for data_type in TYPES)
    most = feature_level(level)
    return [(name, graph) for name, graph in every if all(feature_level(node.case.feature_level) <= most for node in graph.nodes)]


def graph_of(
    seed: int, number: int, names: Sequence[str], level: str, among: Sequence[str] = (), change: int | None = None
) -> Graph:
    """The graph with this number: the same for the same specs. Of ``names``, one in turn is in it. It has operators of a feature level ``among`` those given.

    One with a ``change`` begins as the one without, and ends otherwise.
    """
    random = Random(f"graph-{seed}-{number}")  # noqa: S311 (reproducible, no secret)
    count = random.choice(_COUNTS)
    first = names[number % len(names)] if names else ""
    other = Random(f"graph-{seed}-{number}-{change}")  # noqa: S311
    turn = None if change is None else (other.randrange(count), other)
    return draw_graph(random, count, first, level=level, among=among, turn=turn)


def search(
    backend: Backend,
    info: BackendInfo,
    seed: int,
    numbers: Iterator[int],
    names: Sequence[str],
    until: float,
    timeout: float | None = None,
    known: Sequence[Cause] = (),
    reached: Reached | None = None,
) -> Tally:
    """Runs the graphs with these numbers until a time (of ``monotonic``); below 0 are the families, from the last one on.

    ``known`` are the causes that earlier parts of the search found, and ``reached`` the kernels. Where the backend names kernels, graphs that reached a new one
    are changed, as often as that finds more than drawing. Raises what is no fault of the backend.
    """
    known_families = families(info.feature_level)
    found = Tally(causes=[Cause(each.symptom, each.operators, kept_before=len(each.failures)) for each in known])
    known_kernels = reached or Reached()
    seen = known_kernels.copy()
    traced = Traced(backend)
    trial = Trial(traced, info, timeout)
    for number in numbers:
        if monotonic() > until:
            break
        if number < -len(known_families):
            continue
        parent = seen.parent(seed, number)
        label, graph = (
            known_families[number]
            if number < 0
            else (f"{seed}-{number}", graph_of(seed, number, names, info.feature_level, info.operators))
            if parent is None
            else (f"{seed}-{parent}-{number}", graph_of(seed, parent, names, info.feature_level, info.operators, number))
        )
        found.graphs += 1
        found.nodes.update(node.desc.type for node in graph.nodes)
        traced.begin()
        outcome = trial.outcome(graph)
        seen.add(forms_of(traced.distinct()), number if parent is None else parent, is_changed=parent is not None)
        if outcome.status == PASS:
            found.passed_nodes += len(graph.nodes)
            found.judged += outcome.evidence["judged"]
        found.statuses[outcome.status] += 1
        if outcome.status not in (PASS, UNSUPPORTED):
            trial.add_failure(found, label, graph, outcome)
    found.reached = seen.new_since(known_kernels)
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


@dataclass(frozen=True, slots=True)
class Trial:
    """A backend on which failures are looked into."""

    backend: Backend
    info: BackendInfo
    timeout: float | None

    def outcome(self, graph: Graph) -> Outcome:
        """The outcome of a graph."""
        return graph_outcome(graph, self.backend, self.info, self.timeout)

    def add_failure(self, found: Tally, label: str, graph: Graph, outcome: Outcome) -> None:
        """Counts a failure: of a known cause where the graph no longer shows it without the operators of that cause; else it is made simpler."""
        symptom = symptom_of(graph, outcome)
        for cause in found.causes:
            if cause.is_known and cause.is_of(symptom, operators_of(graph)) and cause.operators <= operators_of(graph):
                rest = self._rest(graph, cause.operators, symptom)
                if rest is None:
                    cause.labels.append(label)
                    return
                graph = rest
        failure, operators = self._simplest(label, graph, symptom)
        found.add_failures(symptom, operators, [label], [failure])

    def _rest(self, graph: Graph, operators: frozenset[str], symptom: str) -> Graph | None:
        """The graph without some operators; None where it does not fail in the same way any more, or nothing is left."""
        dropped = {index for index, node in enumerate(graph.nodes) if node.desc.type in operators}
        try:
            rest, _ = without_nodes(graph, _reference_values(graph), dropped)
        except ValueError:  # no reference computes it
            return None
        if not rest.nodes:
            return None
        outcome = self.outcome(rest)
        return rest if outcome.status not in (PASS, UNSUPPORTED) and symptom_of(rest, outcome) == symptom else None

    def _simplest(self, label: str, graph: Graph, symptom: str) -> tuple[Failure, frozenset[str]]:
        """The failure, made simpler as long as it shows in the same way, and the operators that are left."""
        last = [self.outcome(graph)]
        until = monotonic() + _SECONDS

        def fails(simpler: Graph) -> bool:
            if monotonic() > until:
                raise Ended
            outcome = self.outcome(simpler)
            if outcome.status in (PASS, UNSUPPORTED) or symptom_of(simpler, outcome) != symptom:
                return False
            last[0] = outcome
            return True

        simple = graph
        with suppress(ValueError):  # what no reference computes stays as it is
            simple = simplest(graph, _reference_values, fails, last[0].evidence.get("node"))
        outcome = self.outcome(simple)
        outcome = last[0] if outcome.status in (PASS, UNSUPPORTED) else outcome
        status = FAIL if outcome.status == PASS else outcome.status
        failure = Failure(label, symptom, status, outcome.message, write_graph(simple), outcome.evidence.get("node"))
        return failure, operators_of(simple)


def operators_of(graph: Graph) -> frozenset[str]:
    """The operators of a graph's nodes."""
    return frozenset(node.desc.type for node in graph.nodes)


def _reference_values(graph: Graph) -> dict[Made, Array]:
    """What the nodes of a graph give on the reference. Raises ValueError where it gives nothing."""
    return values_on(graph, ReferenceBackend())
