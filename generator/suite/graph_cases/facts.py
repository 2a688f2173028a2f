"""The facts of a graph, in words: what conditions that explain failing graphs may be about (generator/facts/conditions)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dmlcts.generator.facts.explanations import Facts, Key
from dmlcts.generator.suite.graphs.graph import Constant, Given, Graph, Made, Node
from dmlcts.spec.model.abi import abi
from dmlcts.spec.reading.loader import family_of


def facts_of_graph(graph: Graph) -> Facts:
    """Everything about a graph that may explain a failure."""
    found: Facts = dict(_numbers(graph))
    depths = graph.depths()
    read = Counter(feed for _, _, feed in graph.feeds() if isinstance(feed, Made))
    for index, node in enumerate(graph.nodes):
        feeds = list(node.feeds.values())
        made = [feed for feed in feeds if isinstance(feed, Made)]
        for what in _names(node):
            found |= _flag(f"{what} is in it", f"{what} is not in it")
            for feed in made:
                for before in _names(graph.nodes[feed.node]):
                    found |= _flag(f"{what} reads {before}", f"{what} does not read {before}")
            for name in node.outputs():
                found |= _flag(
                    f"{what} gives {node.desc.tensor(name).data_type}", f"{what} does not give {node.desc.tensor(name).data_type}"
                )
            if made and any(read[Made(index, name)] for name in node.outputs()):
                found |= _flag(f"{what} is between others", f"{what} is not between others")
            if any(read[Made(index, name)] > 1 for name in node.outputs()):
                found |= _flag(f"a result of {what} is read twice", f"no result of {what} is read twice")
        found |= _of_node(graph, node, made)
        found["the depth"] = max(int(found.get("the depth", 0)), depths[index])
    if any(read[made] for made in graph.outputs):
        found |= _flag("an output of the graph is read as well", "no output of the graph is read as well")
    if any(not read[made] and made not in graph.outputs for made in graph.with_outputs_of_all().outputs):
        found |= _flag("an output of a node is unused", "no output of a node is unused")
    if any(count > 1 for count in read.values()):
        found |= _flag("a result is read twice", "no result is read twice")
    return found


def _names(node: Node) -> Iterator[str]:
    """What a node is called: its operator, and its operator's family."""
    yield node.desc.type
    if family := family_of(node.desc.type):
        yield f"an operator of the family {family}"


def _numbers(graph: Graph) -> Iterator[tuple[Key, float]]:
    feeds = [feed for _, _, feed in graph.feeds()]
    yield "the number of nodes", len(graph.nodes)
    yield "the number of edges between nodes", sum(isinstance(feed, Made) for feed in feeds)
    yield "the number of constants", sum(isinstance(feed, Constant) for feed in feeds)
    yield "the number of inputs", graph.input_count()
    yield "the most readers of an input", max(Counter(feed for feed in feeds if isinstance(feed, Given)).values(), default=0)
    yield "the number of outputs", len(graph.outputs)
    yield "the most readers of a result", max(Counter(feed for feed in feeds if isinstance(feed, Made)).values(), default=0)


def _of_node(graph: Graph, node: Node, made: list[Made]) -> Facts:
    found: Facts = {}
    feeds = list(node.feeds.values())
    tensors = [tensor for _, tensor in node.desc.tensors()]
    for tensor in tensors:
        found |= _flag(f"a tensor is {tensor.data_type}", f"no tensor is {tensor.data_type}")
    if any(node.desc.tensor(name).strides is not None for name in node.outputs()):
        found |= _flag("a result has strides", "no result has strides")
    if any(graph.tensor(feed).strides is not None for feed in made):
        found |= _flag("a result with strides is read", "no result with strides is read")
    if any(graph.tensor(feed).sizes != node.desc.tensor(name).sizes for name, feed in node.feeds.items() if isinstance(feed, Made)):
        found |= _flag("sizes change along an edge", "sizes change along no edge")
    if any(isinstance(feed, Constant) for feed in feeds):
        found |= _flag("a constant is read", "no constant is read")
    if any(tensor.flags & abi().tensor_flags["OWNED_BY_DML"] for tensor in tensors):
        found |= _flag("an input is OWNED_BY_DML", "no input is OWNED_BY_DML")
    if len(set(made)) < len(made):
        found |= _flag("a node reads a result twice", "no node reads a result twice")
    if len(node.outputs()) > 1:
        found |= _flag("a node has several outputs", "no node has several outputs")
    return found


def _flag(holds: str, holds_not: str) -> Facts:
    return {(holds, holds_not): True}
