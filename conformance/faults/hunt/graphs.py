"""The hunt for faults of graphs: which of them the search finds, in how many graphs, and what it says of legal variations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.faults.beyond.graphs import FAULTS, LEGAL, ChangedBackend, draw_conditions
from dmlcts.conformance.sequences.graphs.execute import graph_outcome, outputs_on
from dmlcts.conformance.sequences.graphs.search import graph_of
from dmlcts.reports.record.record import FAIL, PASS


@dataclass(frozen=True, slots=True)
class GraphHunt:
    """One fault or legal variation. ``shown`` of the graphs have other bytes with it, and ``found`` of those fail; ``first`` is the number of the first one."""

    label: str
    where: str
    is_legal: bool
    shown: int
    found: int
    first: int | None
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
    return [*((label, None) for label in (*FAULTS, *LEGAL)), *drawn]


def hunt_graphs(seed: int, graphs: int, names: Sequence[str], plan: tuple[str, int | None]) -> GraphHunt:
    """Runs so many graphs on a changed reference. For a fault it ends with the first that fails; of what is legal, all run."""
    label, number = plan
    conditions = [] if number is None else draw_conditions(Random(number), 1 + number % 2)  # noqa: S311
    right = ReferenceBackend()
    changed = ChangedBackend({**FAULTS, **LEGAL}[label], conditions)
    info, where = right.describe(), " and ".join(each.words for each in conditions) or "everywhere"
    shown = found = 0
    first, message = None, ""
    for index in range(graphs):
        graph = graph_of(seed, index, names, info.feature_level)
        if outputs_on(graph, changed) == outputs_on(graph, right):
            continue
        shown += 1
        outcome = graph_outcome(graph, changed, info)
        if outcome.status not in (PASS, FAIL):
            raise RuntimeError(f"graph {index} with {label}: {outcome.message}")
        if outcome.status == FAIL:
            found += 1
            if first is None:
                first, message = index, outcome.message
            if label in FAULTS:
                break
    return GraphHunt(label, where, label in LEGAL, shown, found, first, message)
