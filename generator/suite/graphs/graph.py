"""A graph of operators, as IDMLDevice1::CompileGraph takes it: nodes, what feeds each input of each, and which of their outputs are the graph's.

Nodes are in any order. Nothing is numbered but nodes and the graph's inputs and outputs; an edge is written where it ends, so that a graph cannot have
two edges into one slot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dmlcts.generator.case.case import Case
from dmlcts.spec.model.abi import feature_level
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Operator

CONSTANTS_SINCE = "6_2"
"""The feature level that constant nodes need: no page names one, and DirectML.dll has them from 1.13.0 on, which is of that level."""


@dataclass(frozen=True, slots=True)
class Given:
    """The graph's input with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Made:
    """The output of a node, by the name of its tensor."""

    node: int
    tensor: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant node (DML_CONSTANT_DATA_GRAPH_NODE_DESC) that has the data of the input."""


Feed = Given | Made | Constant
"""What an input of a node is fed with."""


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """An operator of a graph. ``case`` has its desc, and the data of those of its inputs that no node makes; ``feeds`` has each input that is present."""

    case: Case
    feeds: Mapping[str, Feed]

    @property
    def desc(self) -> OperatorDesc:
        """The operator's desc."""
        return self.case.desc

    @property
    def operator(self) -> Operator:
        """The operator's spec."""
        return self.case.operator

    def outputs(self) -> list[str]:
        """The names of the outputs that are present, in the order of the slots."""
        fields = {field.name for field in self.operator.outputs()}
        return [name for field, name, _ in self.desc.by_field() if field in fields]


@dataclass(frozen=True, eq=False, slots=True)
class Graph:
    """Nodes, and what of them is the graph's output, in order."""

    nodes: tuple[Node, ...]
    outputs: tuple[Made, ...]

    def input_count(self) -> int:
        """How many inputs the graph has: one more than the highest number."""
        return max((feed.number for _, _, feed in self.feeds() if isinstance(feed, Given)), default=-1) + 1

    def feeds(self) -> Iterator[tuple[int, str, Feed]]:
        """Every edge into a node: the node, the name of its tensor, and what feeds it."""
        for index, node in enumerate(self.nodes):
            for name, feed in node.feeds.items():
                yield index, name, feed

    def feature_level(self) -> str:
        """The lowest feature level that has all of the graph."""
        constants = [CONSTANTS_SINCE for _, _, feed in self.feeds() if isinstance(feed, Constant)]
        return max([*constants, *(node.case.feature_level for node in self.nodes)], key=feature_level)

    def readers(self, made: Made) -> list[tuple[int, str]]:
        """The inputs that read an output of a node."""
        return [(index, name) for index, name, feed in self.feeds() if feed == made]

    def first_readers(self) -> dict[int, tuple[int, str]]:
        """For each of the graph's inputs the first node that reads it, and by which tensor: its desc and its data are the input's."""
        found: dict[int, tuple[int, str]] = {}
        for index, name, feed in self.feeds():
            if isinstance(feed, Given):
                found.setdefault(feed.number, (index, name))
        return found

    def tensor(self, made: Made) -> TensorDesc:
        """The tensor desc of an output of a node."""
        return self.nodes[made.node].desc.tensor(made.tensor)

    def in_order(self) -> list[int]:
        """The nodes, each after those that feed it.

        Raises:
            ValueError: the graph has a cycle.
        """
        return in_order([{feed.node for feed in node.feeds.values() if isinstance(feed, Made)} for node in self.nodes])

    def depths(self) -> list[int]:
        """For each node how many nodes the longest way to it has, itself included."""
        found = [0] * len(self.nodes)
        for index in self.in_order():
            before = (found[feed.node] for feed in self.nodes[index].feeds.values() if isinstance(feed, Made))
            found[index] = 1 + max(before, default=0)
        return found

    def with_outputs_of_all(self) -> Graph:
        """The same graph whose outputs are those of all nodes: nothing can be left out of it, and each node can be judged by itself."""
        every = [Made(index, name) for index, node in enumerate(self.nodes) for name in node.outputs()]
        return Graph(self.nodes, tuple(dict.fromkeys((*self.outputs, *every))))


def in_order(before: Sequence[set[int]]) -> list[int]:
    """Numbers from 0 on, each after those that must come before it. Raises ValueError where that is impossible."""
    found: list[int] = []
    done = set[int]()
    left = list(range(len(before)))
    while left:
        ready = [index for index in left if before[index] <= done]
        if not ready:
            raise ValueError(f"nodes {', '.join(map(str, left))} are part of a cycle, or behind one")
        found += ready
        done |= set(ready)
        left = [index for index in left if index not in done]
    return found
