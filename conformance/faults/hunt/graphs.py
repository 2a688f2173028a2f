"""The hunt for faults of graphs: which of them the graphs of a run find, or random ones, and what these say of legal variations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.faults.beyond.graphs import FAULTS
from dmlcts.conformance.faults.beyond.legal_graphs import AROUND, LEGAL
from dmlcts.conformance.faults.beyond.planted_graphs import changed_backend, draw_conditions
from dmlcts.conformance.sequences.graphs.execute import graph_outcome, outputs_on
from dmlcts.conformance.sequences.graphs.search import graph_of
from dmlcts.generator.suite.graph_cases.graph_case import find_graph, graph_cases
from dmlcts.generator.suite.graphs.graph import Graph
from dmlcts.reports.record.record import FAIL, PASS


@dataclass(frozen=True, slots=True)
class Graphs:
    """What faults are hunted with: the graphs that a run of a ``level`` has, or ``random`` ones of a ``seed``."""

    level: str = "core"
    random: int = 0
    seed: int = 0

    def names(self) -> list[str]:
        """The graphs by name, small ones first where that is known."""
        if self.random:
            return [f"{self.seed}-{number}" for number in range(self.random)]
        return [case.id for case in graph_cases(self.level)]

    def graph(self, name: str) -> Graph:
        """A graph by its name."""
        if not self.random:
            return find_graph(name).graph()
        return graph_of(self.seed, int(name.partition("-")[2]), (), ReferenceBackend().describe().feature_level)


@dataclass(frozen=True, slots=True)
class GraphHunt:
    """One fault or legal variation. ``shown`` of the graphs have other bytes with it (of what is legal, ``shown`` ran), and ``found`` of those fail; ``first`` is the first one."""

    label: str
    where: str
    is_legal: bool
    shown: int
    found: int
    first: str = ""
    message: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether a fault that shows is not found, or what is legal is called a fault."""
        return self.found > 0 if self.is_legal else self.shown > 0 and self.found == 0


def plan_hunts(seed: int, count: int) -> list[tuple[str, int | None]]:
    """What is hunted: each fault and each legal variation everywhere, and ``count`` faults where one or two drawn conditions hold, each by a number."""
    labels = sorted(FAULTS)
    random = Random(f"faults of graphs {seed}")  # noqa: S311 (reproducible, no secret)
    drawn = [(random.choice(labels), random.randrange(1 << 30)) for _ in range(count)]
    return [*((label, None) for label in (*FAULTS, *LEGAL, *AROUND)), *drawn]


def hunt_graphs(graphs: Graphs, plan: tuple[str, int | None]) -> GraphHunt:
    """Runs graphs on a changed reference. For a fault it ends with the first that fails; of what is legal, all run."""
    label, number = plan
    conditions = [] if number is None else draw_conditions(Random(number), 1 + number % 2)  # noqa: S311
    changed, is_legal = changed_backend(label, conditions), label not in FAULTS
    info, where = changed.describe(), " and ".join(each.words for each in conditions) or "everywhere"
    shown = found = 0
    first, message = "", ""
    for name in graphs.names():
        graph = graphs.graph(name)
        if not is_legal and outputs_on(graph, changed) == _right_outputs(graphs, name):
            continue
        shown += 1
        outcome = graph_outcome(graph, changed, info)
        if outcome.status not in (PASS, FAIL):
            raise RuntimeError(f"graph {name} with {label}: {outcome.message}")
        if outcome.status == FAIL:
            found += 1
            if not first:
                first, message = name, outcome.message
            if not is_legal:
                break
    return GraphHunt(label, where, is_legal, shown, found, first, message)


@cache
def _right_outputs(graphs: Graphs, name: str) -> list[bytes] | str:
    return outputs_on(graphs.graph(name), ReferenceBackend())
