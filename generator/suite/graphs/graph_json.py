"""Graphs as JSON: each node's desc, what feeds it, and the data of every input of the graph and of every constant, as numbers.

{"nodes": [{"desc": {"Type": "JOIN", ...}, "feeds": {"InputTensors[0]": {"given": 0}, "InputTensors[1]": {"node": 2, "tensor": "OutputTensor"}},
"data": {"InputTensors[0]": {"type": "FLOAT32", "sizes": [2], "data": [1, "nan"]}}}], "outputs": [{"node": 0, "tensor": "OutputTensor"}]}
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dmlcts.generator.case.case import Case, Data, literal_json, read_literal
from dmlcts.generator.case.inputs import array
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.graphs.graph import Constant, Feed, Given, Graph, Made, Node
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import array_literal
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.untrusted.desc_json import DescError, read_desc, write_desc

KIND = "graph"
"""The kind of the cases of nodes, and the part of their ids."""


class GraphError(ValueError):
    """A graph file is wrong; the message names the place, and what is wrong there."""


def _write_numbers(case: Case, name: str) -> dict[str, Any]:
    """The data of an input as numbers."""
    tensor = case.desc.tensor(name)
    return literal_json(array_literal(array(case.data[name], tensor, f"{case.id}/{name}", case.desc.fields), tensor.data_type))


def write_graph(graph: Graph, write_data: Callable[[Case, str], dict[str, Any]] = _write_numbers) -> dict[str, Any]:
    """A graph as JSON. ``write_data`` gives the data of a node's input by name."""
    nodes = [_write_node(node, write_data) for node in graph.nodes]
    return {"nodes": nodes, "outputs": [_write_feed(made) for made in graph.outputs]}


def _write_node(node: Node, write_data: Callable[[Case, str], dict[str, Any]]) -> dict[str, Any]:
    data = {name: write_data(node.case, name) for name, feed in node.feeds.items() if not isinstance(feed, Made)}
    return {"desc": write_desc(node.desc), "feeds": {name: _write_feed(feed) for name, feed in node.feeds.items()}, "data": data}


def _write_feed(feed: Feed) -> dict[str, Any]:
    if isinstance(feed, Given):
        return {"given": feed.number}
    return {"node": feed.node, "tensor": feed.tensor} if isinstance(feed, Made) else {"constant": True}


def _read_numbers(entry: Any) -> Data:
    return Data(literal=read_literal(entry))


def read_graph(
    data: Mapping[str, Any], find: Callable[[str], Operator], label: str = "", read_data: Callable[[Any], Data] = _read_numbers
) -> Graph:
    """A graph from its JSON; ``find`` gives an operator's spec by name. ``label`` begins the names of its nodes' cases, by which recipes make
    their data; ``read_data`` reads these, which are numbers in files of users.

    Raises:
        GraphError: a node, an edge or its data are wrong.
    """
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list) or not isinstance(data.get("outputs"), list):
        raise GraphError("a graph has lists of nodes and of outputs")
    nodes = tuple(_read_node(entry, index, find, label, read_data) for index, entry in enumerate(data["nodes"]))
    outputs = tuple(_read_made(entry, f"outputs[{index}]") for index, entry in enumerate(data["outputs"]))
    graph = Graph(nodes, outputs)
    _check(graph)
    return graph


def _read_node(entry: Any, index: int, find: Callable[[str], Operator], label: str, read_data: Callable[[Any], Data]) -> Node:
    where = f"nodes[{index}]"
    if not isinstance(entry, dict) or not isinstance(entry.get("feeds"), dict):
        raise GraphError(f"{where}: a node has a desc, feeds and data")
    try:
        desc = read_desc(entry.get("desc"), find, f"{where}.desc")
        held = {name: read_data(each) for name, each in entry.get("data", {}).items()}
    except (DescError, KeyError, TypeError, AttributeError) as error:
        raise GraphError(f"{where}: {error.args[0] if error.args else error}") from None
    feeds = {str(name): _read_feed(feed, f"{where}.feeds.{name}") for name, feed in entry["feeds"].items()}
    for name, feed in feeds.items():
        if desc.find(name) is None:
            raise GraphError(f"{where}.feeds: {desc.type} has no {name} here")
        if not isinstance(feed, Made) and not _has_data(held.get(name), desc.tensor(name)):
            raise GraphError(f"{where}.data: {name} needs data of sizes {list(desc.tensor(name).sizes)}")
    return Node(_case(desc, f"{desc.type}/{KIND}/{label}{index}", find(desc.type), held), feeds)


def _has_data(data: Data | None, tensor: TensorDesc) -> bool:
    return data is not None and (data.literal is None or data.literal.sizes == tensor.sizes)


def _case(desc: OperatorDesc, label: str, operator: Operator, data: Mapping[str, Data]) -> Case:
    level = plan_of(operator).level_of(desc)
    return Case(
        id=label,
        kind=KIND,
        level="full",
        desc=desc,
        operator=operator,
        feature_level=str(level) if level else "6_4",
        data_type=next(desc.tensors())[1].data_type,
        data=data,
    )


def _read_feed(entry: Any, where: str) -> Feed:
    if isinstance(entry, dict) and entry.get("constant") is True:
        return Constant()
    if isinstance(entry, dict) and type(entry.get("given")) is int and entry["given"] >= 0:
        return Given(entry["given"])
    return _read_made(entry, where)


def _read_made(entry: Any, where: str) -> Made:
    if not isinstance(entry, dict) or type(entry.get("node")) is not int or not isinstance(entry.get("tensor"), str):
        raise GraphError(f'{where}: must be {{"given": N}}, {{"node": N, "tensor": NAME}} or {{"constant": true}}')
    return Made(entry["node"], entry["tensor"])


def _check(graph: Graph) -> None:
    """Raises GraphError where an edge begins at no output, an input of the graph is not read, or there is a cycle."""
    for made in (*graph.outputs, *(feed for _, _, feed in graph.feeds() if isinstance(feed, Made))):
        if not 0 <= made.node < len(graph.nodes) or made.tensor not in graph.nodes[made.node].outputs():
            raise GraphError(f"node {made.node} has no output {made.tensor}")
    if missing := sorted(set(range(graph.input_count())) - graph.first_readers().keys()):
        raise GraphError(f"no node reads input {missing[0]} of the graph")
    try:
        graph.in_order()
    except ValueError as error:
        raise GraphError(str(error)) from None
