"""Chooses the random graphs that are stored: a number of them as they are drawn, then one for each place and pair of families that is lacking.

What is stored stays: graphs are added behind, with further numbers, where specs grow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from dmlcts.generator.suite.graph_cases.graph_case import RANDOM, STORED, case_of_line, line_of
from dmlcts.generator.suite.graph_cases.places import (
    Place,
    family_pairs,
    lacking_places,
    nodes_placed,
    operators_of,
    places_wanted,
)
from dmlcts.generator.suite.graphs.draw import draw_graph, usable_operators
from dmlcts.generator.suite.graphs.graph import Graph

SEED = 46

_COUNTS: Mapping[str, Sequence[int]] = {"core": (2, 3, 3, 5, 5, 8, 8, 12), "full": (3, 5, 8, 8, 12, 12, 20, 40)}
"""Nodes of a graph by level, at random."""

_DRAWN: Mapping[str, int] = {"core": 60, "full": 330}
"""So many graphs are drawn as they come."""

_LARGE: Mapping[str, Sequence[int]] = {"core": (), "full": (80, 120, 160, 200)}
"""Nodes of further graphs, which have few operators: one that is wrong by itself would make any large graph fail."""

_FEW = 24
"""So many operators."""

_TRIES = 200
"""Graphs that are drawn for one place or pair."""

_SMALL = (3, 4, 5)
"""Nodes of these."""

_MOST_UNDEFINED = 0.25
"""The largest share of nodes without a defined result in a graph that is chosen."""

Judge = Callable[[Graph], float]
"""The share of a graph's nodes whose result is defined; 0 where a graph is not computed."""


@dataclass(eq=False, slots=True)
class _Chosen:
    """The graphs that are chosen so far, as lines."""

    level: str
    judge: Judge
    number: int
    lines: list[str]
    graphs: list[Graph]

    def add(self, graph: Graph, least: float = 1 - _MOST_UNDEFINED) -> bool:
        """Adds a graph, as it is when it is read again, if it is defined far enough."""
        name = f"{RANDOM}/{self.number}"
        line = line_of(name, graph)
        stored = case_of_line(line, self.level).graph()
        if self.judge(stored) < least:
            return False
        self.number += 1
        self.lines.append(line)
        self.graphs.append(stored)
        return True


def choose(level: str, before: Sequence[Graph], added: Sequence[Graph], judge: Judge) -> Iterator[str]:
    """Lines of graphs to add to a level: ``before`` are the graphs of lower levels, ``added`` those that this level has.

    At level core each operator is in some graph; at level full each is in every place where it can be, and every two families
    are adjacent that can be, as far as a few tries find a graph.
    """
    chosen = _Chosen(level, judge, len(before) + len(added), [], [*before, *added])
    if not added:
        _draw_some(chosen)
    _fill(chosen)
    yield from chosen.lines


def _draw_some(chosen: _Chosen) -> None:
    random = Random(f"graphs {SEED} {chosen.level}")  # noqa: S311 (reproducible, no secret)
    for count in [random.choice(_COUNTS[chosen.level]) for _ in range(_DRAWN[chosen.level])]:
        any(chosen.add(draw_graph(random, count)) for _ in range(_TRIES))
    for count in _LARGE[chosen.level]:
        own = Random(f"graphs {SEED} {count}")  # noqa: S311
        any(chosen.add(draw_graph(own, count, among=own.sample(usable_operators(), _FEW))) for _ in range(_TRIES))


def _fill(chosen: _Chosen) -> None:
    """Adds a small graph for each place and pair that is still lacking when its turn comes."""
    places, pairs = lacking_places(chosen.graphs)
    if chosen.level == STORED[0]:
        there = {node.desc.type for graph in chosen.graphs for node in graph.nodes}
        for name in dict.fromkeys(name for name, _ in places_wanted()):
            if name not in there:
                found = _add_with(chosen, name, (), lambda graph, name=name: any(node.desc.type == name for node in graph.nodes))  # type: ignore[misc]
                there |= {node.desc.type for node in found.nodes} if found else set()
        return
    _fill_with(chosen, places, nodes_placed, lambda place: (place[0], ()))
    _fill_with(chosen, pairs, family_pairs, lambda pair: ("", (*operators_of(pair[0]), *operators_of(pair[1]))))


def _fill_with(
    chosen: _Chosen,
    lacking: Sequence[Place],
    having: Callable[[Graph], Iterator[Place]],
    operators: Callable[[Place], tuple[str, Sequence[str]]],
) -> None:
    there: set[Place] = set()
    for place in lacking:
        if place in there:
            continue
        wanted, among = operators(place)
        found = _add_with(chosen, wanted, among, lambda graph, place=place: place in having(graph))  # type: ignore[misc]
        there |= set(having(found)) if found else set()


def _add_with(chosen: _Chosen, wanted: str, among: Sequence[str], is_found: Callable[[Graph], bool]) -> Graph | None:
    """Adds a small graph that is so, all of whose nodes have a defined result, if a few tries find one; else one that is defined far enough."""
    random = Random(f"graphs {SEED} {chosen.level} {chosen.number} {wanted} {among}")  # noqa: S311
    rest: list[Graph] = []
    for _ in range(_TRIES):
        graph = draw_graph(random, random.choice(_SMALL), wanted, among=among)
        if is_found(graph):
            if chosen.add(graph, 1.0):
                return chosen.graphs[-1]
            rest.append(graph)
    return chosen.graphs[-1] if any(chosen.add(graph) for graph in rest) else None
