"""Faults of graphs where some conditions hold, drawn by chance: an operator or its family, a data type, a depth, how many read the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from dmlcts.conformance.backends.reference import ReferenceBackend
from dmlcts.conformance.faults.beyond.graphs import FAULTS, ChangedGraph
from dmlcts.conformance.faults.beyond.legal_graphs import AROUND, LEGAL
from dmlcts.conformance.sequences.calls import Call, Reply
from dmlcts.conformance.sequences.compose import CompiledGraph
from dmlcts.conformance.sequences.perform import Performer
from dmlcts.generator.suite.graphs.draw import usable_operators
from dmlcts.spec.reading.loader import family_of


@dataclass(frozen=True, slots=True)
class Condition:
    """Where a fault shows: in words, and as a function of a graph and a node."""

    words: str
    holds: Callable[[ChangedGraph, int], bool]


def draw_conditions(random: Random, count: int) -> list[Condition]:
    """So many conditions of different kinds, drawn at random."""
    families = sorted({family_of(name) or "" for name in usable_operators()} - {""})
    family, data_type = random.choice(families), random.choice(("FLOAT32", "FLOAT16", "INT32", "UINT8"))
    depth, least = random.choice((2, 3, 4)), random.choice((3, 5, 8))
    every = (
        Condition(f"the operator is of the family {family}", lambda graph, node: family_of(graph.type_of(node)) == family),
        Condition(
            f"its result is {data_type}", lambda graph, node: getattr(graph.tensor(node, "output", 0), "data_type", "") == data_type
        ),
        Condition(f"it is node {depth} of a chain or later", lambda graph, node: graph.depths[node] >= depth),
        Condition("several nodes read it", lambda graph, node: len(graph.readers(node)) > 1),
        Condition("its result is read by none but one", lambda graph, node: len(graph.readers(node)) == 1),
        Condition(f"the graph has {least} nodes or more", lambda graph, node: len(graph.descs) >= least),
    )
    return random.sample(every, count)


class ChangedBackend(ReferenceBackend):
    """The reference, whose graphs have a changed step at the nodes where all conditions hold."""

    def __init__(self, step: type[ChangedGraph], conditions: list[Condition] | None = None) -> None:
        super().__init__()

        class Changed(step):  # type: ignore[misc, valid-type]
            def holds(self, node: int) -> bool:
                return all(each.holds(self, node) for each in conditions or ())

        self.step: type[CompiledGraph] = Changed

    def perform(self, calls: list[Call]) -> list[Reply]:
        """Performs a sequence whose graphs have the step."""
        performer = Performer(self)
        performer.graph_type = self.step
        return performer.perform(calls)


class OtherwiseBackend(ReferenceBackend):
    """The reference, which performs the calls around a graph otherwise."""

    def __init__(self, performer: type[Performer]) -> None:
        super().__init__()
        self.performer = performer

    def perform(self, calls: list[Call]) -> list[Reply]:
        """Performs a sequence with the changed step."""
        return self.performer(ReferenceBackend()).perform(calls)


def changed_backend(label: str, conditions: list[Condition] | None = None) -> ReferenceBackend:
    """The reference with a fault or a legal variation, the first where all conditions hold."""
    if label in AROUND:
        return OtherwiseBackend(AROUND[label])
    return ChangedBackend({**FAULTS, **LEGAL}[label], conditions)
