"""Graphs: their order, random ones, simpler ones, and their files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pytest

from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.graphs.draw import draw_graph, is_open, usable_operators
from dmlcts.generator.suite.graphs.graph import Constant, Given, Graph, Made, in_order
from dmlcts.generator.suite.graphs.graph_json import GraphError, read_graph, write_graph
from dmlcts.generator.suite.graphs.simpler import Ended, only, simplest, with_packed_edge, without_nodes
from dmlcts.generator.suite.graphs.smaller import with_plainer_attributes, with_smaller_tensors
from dmlcts.spec.model.desc import ScaleBias
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.reading.loader import load
from dmlcts.spec.rules.rules import violations

NAMES = ("GEMM", "ELEMENT_WISE_ADD", "ACTIVATION_RELU", "JOIN", "SPLIT", "CAST", "REDUCE", "ACTIVATION_SOFTMAX1")


def drawn(count: int = 40, nodes: int = 6) -> Iterator[Graph]:
    for number in range(count):
        yield draw_graph(Random(number), nodes, NAMES[number % len(NAMES)])


@pytest.fixture(scope="module")
def graphs() -> list[Graph]:
    return list(drawn())


def values_of(graph: Graph) -> dict[Made, Any]:
    """Some value for each output of a node, of its type and sizes."""
    every = graph.with_outputs_of_all().outputs
    return {made: np.ones(graph.tensor(made).sizes, numpy_dtype(graph.tensor(made).data_type)) for made in every}


# The model


def test_each_node_comes_after_those_that_feed_it() -> None:
    assert in_order([{2}, set(), {1}]) == [1, 2, 0]


def test_a_cycle_has_no_order() -> None:
    with pytest.raises(ValueError, match="nodes 0, 2 are part of a cycle, or behind one"):
        in_order([{2}, set(), {0}])


def test_with_all_outputs_nothing_is_left_inside(graphs: list[Graph]) -> None:
    for graph in graphs:
        whole = graph.with_outputs_of_all()
        assert whole.outputs[: len(graph.outputs)] == graph.outputs
        assert len(set(whole.outputs)) == len(whole.outputs) == sum(len(node.outputs()) for node in graph.nodes)


# Random graphs


def test_the_same_number_draws_the_same_graph() -> None:
    one, other = (write_graph(draw_graph(Random(7), 8, "GEMM")) for _ in range(2))
    assert json.dumps(one) == json.dumps(other)


def test_every_node_is_valid_and_every_input_is_fed(graphs: list[Graph]) -> None:
    for graph in graphs:
        for node in graph.nodes:
            assert not violations(node.operator, node.desc)
            assert node.feeds.keys() == node.case.data.keys()


def test_an_edge_joins_tensors_of_one_type_and_as_many_bytes(graphs: list[Graph]) -> None:
    edges = [
        (graph.tensor(feed), graph.nodes[index].desc.tensor(name))
        for graph in graphs
        for index, name, feed in graph.feeds()
        if isinstance(feed, Made)
    ]
    assert len(edges) > 80
    for source, target in edges:
        assert (source.data_type, source.bytes, source.count) == (target.data_type, target.bytes, target.count)
        assert source.strides == target.strides
    assert any(source.sizes != target.sizes for source, target in edges)
    assert any(source.strides for source, _ in edges)


def test_only_inputs_that_may_have_any_value_are_fed_by_a_node(graphs: list[Graph]) -> None:
    for graph in graphs:
        for index, name, feed in graph.feeds():
            if isinstance(feed, Made):
                assert is_open(plan_of(graph.nodes[index].operator), name.partition("[")[0])
    assert not is_open(plan_of(load("GATHER")), "IndicesTensor")
    assert not is_open(plan_of(load("ELEMENT_WISE_SQRT")), "InputTensor")


def is_optional(graph: Graph, made: Made) -> bool:
    """Whether an output is optional beside another one of its node."""
    node = graph.nodes[made.node]
    return made.tensor != node.outputs()[0] and node.operator.field(made.tensor.partition("[")[0]).optional


def test_what_nobody_reads_is_an_output_unless_it_is_optional(graphs: list[Graph]) -> None:
    for graph in graphs:
        for made in graph.with_outputs_of_all().outputs:
            assert graph.readers(made) or made in graph.outputs or is_optional(graph, made)


def unused(graph: Graph) -> list[Made]:
    """The outputs that are neither read nor the graph's."""
    return [made for made in values_of(graph) if not graph.readers(made) and made not in graph.outputs]


def test_some_optional_outputs_are_unused_and_stay_so() -> None:
    many = [draw_graph(Random(number), 3, "MAX_POOLING1") for number in range(60)]
    found = [graph for graph in many if unused(graph)]
    assert 3 < len(found) < 40
    for graph in found:
        made = unused(graph)[0]
        part, _ = without_nodes(graph, values_of(graph), set(range(len(graph.nodes))) - {made.node})
        assert unused(part) == [Made(0, made.tensor)]


def test_the_operator_that_is_wanted_is_there_at_any_place(graphs: list[Graph]) -> None:
    depths = Counter[str]()
    for number, graph in enumerate(graphs):
        wanted = NAMES[number % len(NAMES)]
        assert any(node.desc.type == wanted for node in graph.nodes)
        for node, depth in zip(graph.nodes, graph.depths(), strict=True):
            if node.desc.type == wanted:
                depths["first" if depth == 1 else "later"] += 1
    assert min(depths.values()) > 5


def test_graphs_have_all_that_graphs_may_have() -> None:
    feeds = Counter[str]()
    names = set[str]()
    shared = orders = owned = several = 0
    for number in range(60):
        graph = draw_graph(Random(f"all {number}"), 10)
        feeds.update(type(feed).__name__ for _, _, feed in graph.feeds())
        names |= {node.desc.type for node in graph.nodes}
        given = Counter(feed.number for _, _, feed in graph.feeds() if isinstance(feed, Given))
        shared += any(times > 1 for times in given.values())
        several += any(len(graph.readers(made)) > 1 for made in values_of(graph))
        orders += graph.in_order() != list(range(len(graph.nodes)))
        owned += any(tensor.flags for node in graph.nodes for _, tensor in node.desc.tensors())
    assert feeds.keys() == {"Given", "Made", "Constant"}
    assert min(shared, several, orders, owned) > 3
    assert len(names) > 0.6 * len(usable_operators())


def test_a_graph_keeps_to_a_feature_level() -> None:
    for number in range(10):
        for node in draw_graph(Random(number), 6, level="2_1").nodes:
            level = plan_of(node.operator).level_of(node.desc)
            assert level is not None
            assert level.name <= "2_1"
            assert not any(isinstance(feed, Constant) for feed in node.feeds.values())


def test_a_graph_has_operators_among_those_that_an_implementation_has() -> None:
    few = ("ELEMENT_WISE_ADD", "ACTIVATION_RELU")
    assert {node.desc.type for number in range(5) for node in draw_graph(Random(number), 6, among=few).nodes} == set(few)


# Simpler graphs


def test_a_failure_of_one_operator_comes_down_to_it() -> None:
    graph = next(graph for graph in drawn(40, 12) if sum(node.desc.type == "JOIN" for node in graph.nodes) == 1)
    simple = simplest(graph, values_of, lambda each: any(node.desc.type == "JOIN" for node in each.nodes))
    assert [node.desc.type for node in simple.nodes] == ["JOIN"]


def test_a_failure_of_an_edge_keeps_both_of_its_ends() -> None:
    def fails(graph: Graph) -> bool:
        return any(
            isinstance(feed, Made)
            and graph.nodes[index].desc.type == "ACTIVATION_RELU"
            and graph.nodes[feed.node].desc.type == "ELEMENT_WISE_ADD"
            for index, _, feed in graph.feeds()
        )

    graph = next(graph for number in range(3000) if fails(graph := draw_graph(Random(f"edge {number}"), 12, NAMES[1 + number % 2])))
    simple = simplest(graph, values_of, fails)
    assert sorted(node.desc.type for node in simple.nodes) == ["ACTIVATION_RELU", "ELEMENT_WISE_ADD"]


def test_what_says_that_it_has_ended_keeps_what_is_found() -> None:
    graph = draw_graph(Random(5), 12)
    tried = list[Graph]()

    def fails(simpler: Graph) -> bool:
        if len(tried) == 3:
            raise Ended
        tried.append(simpler)
        return True

    assert simplest(graph, values_of, fails) is tried[-1]


def test_trials_are_counted() -> None:
    tried = list[Graph]()
    simplest(draw_graph(Random(5), 12), values_of, lambda simpler: bool(tried.append(simpler)), most=7)
    assert len(tried) == 7


def test_what_is_left_out_comes_in_as_data() -> None:
    graph = next(graph for graph in drawn() if any(isinstance(feed, Made) for _, _, feed in graph.feeds()))
    reader, name, feed = next(edge for edge in graph.feeds() if isinstance(edge[2], Made))
    assert isinstance(feed, Made)
    simpler, values = without_nodes(graph, values_of(graph), set(range(len(graph.nodes))) - {reader})
    assert isinstance(simpler.nodes[0].feeds[name], Given)
    data = simpler.nodes[0].case.data[name].literal
    assert data is not None
    assert set(data.data) == {1}
    assert set(values) == set(simpler.with_outputs_of_all().outputs)


def test_what_is_kept_of_a_part_is_whole(graphs: list[Graph]) -> None:
    for graph in graphs:
        part, _ = only(graph, values_of(graph), [graph.outputs[0]])
        assert sorted({feed.number for _, _, feed in part.feeds() if isinstance(feed, Given)}) == list(range(part.input_count()))
        for made in part.with_outputs_of_all().outputs:
            assert part.readers(made) or made in part.outputs or is_optional(part, made)


def test_both_ends_of_an_edge_become_packed(graphs: list[Graph]) -> None:
    graph, made = next(
        (graph, made)
        for graph in graphs
        for made in values_of(graph)
        if graph.tensor(made).strides is not None and graph.readers(made)
    )
    simpler = with_packed_edge(graph, made)
    assert simpler.tensor(made).strides is None
    for index, name in simpler.readers(made):
        assert simpler.nodes[index].desc.tensor(name).strides is None


# Files


def test_a_graph_survives_being_written_and_read(graphs: list[Graph]) -> None:
    for graph in graphs[:10]:
        data = json.loads(json.dumps(write_graph(graph)))
        again = read_graph(data, load)
        assert json.loads(json.dumps(write_graph(again))) == data
        assert again.outputs == graph.outputs


def a_file() -> dict[str, Any]:
    tensor = {"DataType": "FLOAT32", "Sizes": [2]}
    node = {
        "desc": {"Type": "ELEMENT_WISE_ABS", "InputTensor": tensor, "OutputTensor": tensor},
        "feeds": {"InputTensor": {"given": 0}},
        "data": {"InputTensor": {"type": "FLOAT32", "sizes": [2], "data": [-1, 2]}},
    }
    return {"nodes": [node], "outputs": [{"node": 0, "tensor": "OutputTensor"}]}


def test_the_plainest_file_is_a_graph() -> None:
    assert read_graph(a_file(), load).input_count() == 1


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("nodes",), 1, "a graph has lists of nodes and of outputs"),
        (("nodes", 0, "desc", "Type"), "NOTHING", r"nodes\[0\]: "),
        (("nodes", 0, "feeds"), {"OtherTensor": {"given": 0}}, "ELEMENT_WISE_ABS has no OtherTensor here"),
        (("nodes", 0, "feeds", "InputTensor"), {"given": -1}, r"nodes\[0\].feeds.InputTensor: must be"),
        (("nodes", 0, "feeds", "InputTensor"), {"given": 1}, "no node reads input 0 of the graph"),
        (("nodes", 0, "feeds", "InputTensor"), {"node": 0, "tensor": "OutputTensor"}, "nodes 0 are part of a cycle"),
        (("nodes", 0, "feeds", "InputTensor"), {"node": 3, "tensor": "OutputTensor"}, "node 3 has no output OutputTensor"),
        (("nodes", 0, "data"), {}, r"InputTensor needs data of sizes \[2\]"),
        (("outputs", 0, "tensor"), "InputTensor", "node 0 has no output InputTensor"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(path: tuple[Any, ...], value: Any, message: str) -> None:
    data = a_file()
    at: Any = data
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    with pytest.raises(GraphError, match=message):
        read_graph(data, load)


def test_a_constant_stays_one() -> None:
    many = (draw_graph(Random(number), 8) for number in range(100))
    graph = next(graph for graph in many if any(isinstance(feed, Constant) for _, _, feed in graph.feeds()))
    again = read_graph(write_graph(graph), load)
    assert [type(feed) for _, _, feed in again.feeds()] == [type(feed) for _, _, feed in graph.feeds()]


def test_an_attribute_of_named_numbers_stays_of_its_type() -> None:
    graph = next(graph for number in range(200) if has_scale(graph := draw_graph(Random(number), 1, "ELEMENT_WISE_ASINH")))
    simple = simplest(graph, values_of, has_scale)
    assert isinstance(simple.nodes[0].desc.scale_bias(), ScaleBias)


def has_scale(graph: Graph) -> bool:
    """Whether the first node has a ScaleBias."""
    return graph.nodes[0].desc.fields["ScaleBias"] is not None


@pytest.mark.parametrize("changes", [with_smaller_tensors, with_plainer_attributes])
def test_what_is_smaller_is_a_graph_still(changes: Any, graphs: list[Graph]) -> None:
    found = [(graph, smaller) for graph in graphs[:12] for smaller in islice(changes(graph), 6)]
    assert len(found) > 20
    for graph, smaller in found:
        assert elements(smaller) <= elements(graph)
        assert [node.desc for node in smaller.nodes] != [node.desc for node in graph.nodes]
        for index, node in enumerate(smaller.nodes):
            assert not violations(node.operator, node.desc)
            for name, feed in node.feeds.items():
                if isinstance(feed, Made):
                    assert smaller.tensor(feed).count == node.desc.tensor(name).count
                data = node.case.data.get(name)
                if not isinstance(feed, Made) and data and data.literal:
                    assert data.literal.sizes == smaller.nodes[index].desc.tensor(name).sizes


def test_a_size_that_is_cut_is_cut_along_the_edges() -> None:
    def at_least_two(graph: Graph) -> bool:
        is_chain = len(graph.nodes) == 3 and graph.input_count() == 1
        return is_chain and graph.nodes[0].desc.tensor("OutputTensor").count >= 2

    data = a_file()
    for source in (0, 1):
        node = json.loads(json.dumps(data["nodes"][0]))
        node |= {"feeds": {"InputTensor": {"node": source, "tensor": "OutputTensor"}}, "data": {}}
        data["nodes"].append(node)
    text = json.dumps({**data, "outputs": [{"node": 2, "tensor": "OutputTensor"}]})
    graph = read_graph(json.loads(text.replace("[2]", "[7]").replace("[-1, 2]", "[1, 2, 3, 4, 5, 6, 7]")), load)
    simple = simplest(graph, values_of, at_least_two)
    assert [node.desc.tensor("InputTensor").sizes for node in simple.nodes] == [(2,)] * 3


def elements(graph: Graph) -> int:
    """The elements of all tensors of all nodes."""
    return sum(tensor.count for node in graph.nodes for _, tensor in node.desc.tensors())
