"""Simpler graphs of a graph: what a failure is made smaller by, a step at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from numpy.typing import NDArray

from dmlcts.generator.case.case import Data
from dmlcts.generator.suite.graphs.graph import Feed, Given, Graph, Made, Node
from dmlcts.generator.suite.graphs.smaller import with_plainer_attributes, with_smaller_tensors
from dmlcts.spec.model.dtypes import array_literal
from dmlcts.spec.rules.rules import violations

Array = NDArray[Any]

Values = Mapping[Made, Array]
"""What the nodes of a graph give."""


class Ended(Exception):
    """Raised by what says whether a graph fails: no further one is to be tried."""


def simplest(
    graph: Graph,
    values_of: Callable[[Graph], Values],
    fails: Callable[[Graph], bool],
    suspect: int | None = None,
    most: int = 600,
) -> Graph:
    """The simplest graph that fails as this one does, after so many trials at most, or when ``fails`` raises Ended.

    ``values_of`` says what the nodes of a graph give, for those that are left out; ``suspect`` is the node that is wrong, if one is known. Nodes are left
    out as in delta debugging, half of them at a time, then a quarter; then edges, outputs and strides one at a time; then tensors are made smaller and
    attributes plainer. Each change is kept that the failure survives.

    Raises:
        ValueError: the nodes give nothing.
    """
    search = _Search(graph, values_of(graph), values_of, fails, most)
    with suppress(Ended):
        search.leave_out_nodes(suspect)
        while any(search.try_step(*step) for step in steps(search.graph, search.values)):
            pass
        while any(
            search.try_step(step) for step in chain(with_smaller_tensors(search.graph), with_plainer_attributes(search.graph))
        ):
            pass
    return search.graph


@dataclass(eq=False, slots=True)
class _Search:
    """The simplest graph so far, what its nodes give, and how many trials are left."""

    graph: Graph
    values: Values
    values_of: Callable[[Graph], Values]
    fails: Callable[[Graph], bool]
    left: int

    def try_step(self, simpler: Graph, values: Values | None = None) -> bool:
        """Whether a simpler graph fails, which is kept then. Its values are computed where none are given. Raises Ended."""
        if self.left <= 0:
            raise Ended
        self.left -= 1
        if not simpler.nodes or not self.fails(simpler):
            return False
        try:
            self.values = self.values_of(simpler) if values is None else values
        except ValueError:  # what gives nothing can have no node left out
            return False
        self.graph = simpler
        return True

    def leave_out_nodes(self, suspect: int | None) -> None:
        """Leaves out as many nodes as possible. Raises Ended."""
        graph, values = self.graph, self.values
        if suspect is not None and len(graph.nodes) > 1:
            made = [Made(suspect, name) for name in graph.nodes[suspect].outputs()]
            if not self.try_step(*node_alone(graph, values, suspect)):
                self.try_step(*only(graph, values, made))
        part = len(self.graph.nodes) // 2
        while part:
            count = len(self.graph.nodes)
            parts = (set(range(first, min(first + part, count))) for first in range(0, count, part))
            if count == 1 or not any(self.try_step(*without_nodes(self.graph, self.values, dropped)) for dropped in parts):
                part //= 2
            part = min(part, len(self.graph.nodes) // 2 or part)


def steps(graph: Graph, values: Values) -> Iterator[tuple[Graph, Values]]:
    """Every graph that is simpler by one step other than a node, with what its nodes give."""
    for made in graph.outputs:
        if len(graph.outputs) > 1 and graph.readers(made):
            yield Graph(graph.nodes, tuple(each for each in graph.outputs if each != made)), values
    for index, name, feed in graph.feeds():
        if not isinstance(feed, Given):
            yield given_instead(graph, values, index, name), values
    for index, node in enumerate(graph.nodes):
        strided = {Made(index, name) for name in node.outputs() if node.desc.tensor(name).strides is not None}
        for made in strided:
            simpler = with_packed_edge(graph, made)
            if simpler is not graph:
                yield simpler, values


def node_alone(graph: Graph, values: Values, index: int) -> tuple[Graph, Values]:
    """A node by itself, which reads what it read in the graph."""
    return without_nodes(graph, values, set(range(len(graph.nodes))) - {index})


def only(graph: Graph, values: Values, wanted: list[Made]) -> tuple[Graph, Values]:
    """What is needed for some outputs of nodes; what else those nodes give is an output too, as nothing may be left unread."""
    needed = {made.node for made in wanted}
    while True:
        more = {feed.node for index in needed for feed in graph.nodes[index].feeds.values() if isinstance(feed, Made)} - needed
        if not more:
            break
        needed |= more
    return _keep(graph, values, needed, wanted)


def without_nodes(graph: Graph, values: Values, dropped: set[int]) -> tuple[Graph, Values]:
    """The graph without some nodes: what read their outputs reads inputs of the graph with the same data."""
    for reader, name, feed in list(graph.feeds()):
        if isinstance(feed, Made) and feed.node in dropped and reader not in dropped:
            graph = given_instead(graph, values, reader, name)
    return _keep(
        graph, values, set(range(len(graph.nodes))) - dropped, [made for made in graph.outputs if made.node not in dropped]
    )


def given_instead(graph: Graph, values: Values, index: int, name: str) -> Graph:
    """The graph in which an input of a node is the graph's, with the same data."""
    node = graph.nodes[index]
    feed = node.feeds[name]
    data = dict(node.case.data)
    if isinstance(feed, Made):
        tensor = node.desc.tensor(name)
        data[name] = Data(literal=array_literal(values[feed].reshape(tensor.sizes), tensor.data_type))
    changed = Node(replace(node.case, data=data), {**node.feeds, name: Given(graph.input_count())})
    nodes = tuple(changed if at == index else each for at, each in enumerate(graph.nodes))
    outputs = graph.outputs
    if isinstance(feed, Made) and feed not in outputs and not Graph(nodes, outputs).readers(feed):
        outputs = (*outputs, feed)
    return Graph(nodes, outputs)


def with_packed_edge(graph: Graph, made: Made) -> Graph:
    """The graph in which an output of a node, and all that reads it, is packed."""
    places = [(made.node, made.tensor), *graph.readers(made)]
    nodes = list(graph.nodes)
    for index, name in places:
        node = nodes[index]
        desc = node.desc.with_tensors({name: replace(node.desc.tensor(name), strides=None)})
        if violations(node.operator, desc):
            return graph
        nodes[index] = Node(replace(node.case, desc=desc), node.feeds)
    return Graph(tuple(nodes), graph.outputs)


def _keep(graph: Graph, values: Values, kept: set[int], wanted: list[Made]) -> tuple[Graph, Values]:
    """The graph of these nodes alone, with inputs of the graph numbered anew; what none of them reads is an output, if it was used before."""
    order = sorted(kept)
    unused = {made for made in values if made not in graph.outputs and not graph.readers(made)}
    place = {old: new for new, old in enumerate(order)}
    numbers: dict[int, int] = {}

    def renumber(feed: Feed) -> Feed:
        if isinstance(feed, Given):
            return Given(numbers.setdefault(feed.number, len(numbers)))
        return Made(place[feed.node], feed.tensor) if isinstance(feed, Made) else feed

    nodes = tuple(
        Node(graph.nodes[old].case, {name: renumber(feed) for name, feed in graph.nodes[old].feeds.items()}) for old in order
    )
    bare = Graph(nodes, ())
    left_out = {Made(place[made.node], made.tensor) for made in unused if made.node in place}
    outputs = [Made(place[made.node], made.tensor) for made in wanted]
    ends = (Made(index, name) for index, node in enumerate(nodes) for name in node.outputs())
    unread = [made for made in ends if not bare.readers(made) and made not in left_out]
    found = {Made(place[made.node], made.tensor): value for made, value in values.items() if made.node in place}
    return Graph(nodes, tuple(dict.fromkeys((*outputs, *unread)))), found
