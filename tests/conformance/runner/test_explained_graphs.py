"""What explains failing graphs: faults are planted where a condition holds, and the first explanation must name it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.runner.explaining.beyond.graphs import explain_graphs
from dmlcts.conformance.sequences.graphs.case import graph_result
from dmlcts.generator.suite.graph_cases.graph_case import graph_cases
from dmlcts.generator.suite.graphs.graph import Constant, Graph, Made
from dmlcts.reports.record.record import FAIL, PASS, Result
from dmlcts.spec.model.abi import abi

GRAPHS = [(case, case.graph()) for case in graph_cases("full")]


def results(fails: Callable[[Graph], bool]) -> list[Result]:
    """The results of an implementation whose graphs fail where a condition holds."""
    return [graph_result(case, Outcome(FAIL if fails(graph) else PASS)) for case, graph in GRAPHS]


def first(fails: Callable[[Graph], bool]) -> str:
    found = explain_graphs(results(fails))
    assert found, "nothing explains it"
    return found[0].text


def has(name: str) -> Callable[[Graph], bool]:
    return lambda graph: any(node.desc.type == name for node in graph.nodes)


def reads(name: str, before: str) -> Callable[[Graph], bool]:
    return lambda graph: any(
        graph.nodes[index].desc.type == name and isinstance(feed, Made) and graph.nodes[feed.node].desc.type == before
        for index, _, feed in graph.feeds()
    )


def is_read_twice(graph: Graph) -> bool:
    return any(count > 1 for count in Counter(feed for _, _, feed in graph.feeds() if isinstance(feed, Made)).values())


def has_unused_output(graph: Graph) -> bool:
    return any(not graph.readers(made) and made not in graph.outputs for made in graph.with_outputs_of_all().outputs)


def has_constant(graph: Graph) -> bool:
    return any(isinstance(feed, Constant) for _, _, feed in graph.feeds())


def owns(graph: Graph) -> bool:
    owned = abi().tensor_flags["OWNED_BY_DML"]
    return any(tensor.flags & owned for node in graph.nodes for _, tensor in node.desc.tensors())


def of_type(data_type: str) -> Callable[[Graph], bool]:
    return lambda graph: any(tensor.data_type == data_type for node in graph.nodes for _, tensor in node.desc.tensors())


@pytest.mark.parametrize(
    ("fails", "words"),
    [
        (has("GEMM"), ["whenever GEMM is in it"]),
        (reads("ACTIVATION_RELU", "CONVOLUTION"), ["ACTIVATION_RELU reads CONVOLUTION"]),
        (is_read_twice, ["a result is read twice", "the most readers of a result is 2 or more"]),
        (has_unused_output, ["whenever an output of a node is unused"]),
        (has_constant, ["whenever a constant is read", "whenever the number of constants is"]),
        (owns, ["whenever an input is OWNED_BY_DML"]),
        (of_type("INT64"), ["whenever a tensor is INT64"]),
        (lambda graph: max(graph.depths()) >= 4, ["the depth"]),
        (lambda graph: len(graph.nodes) >= 10, ["the number of nodes"]),
    ],
    ids=["operator", "operators in a row", "read twice", "unused output", "constant", "owned input", "data type", "depth", "nodes"],
)
def test_the_first_line_names_the_condition(fails: Callable[[Graph], bool], words: list[str]) -> None:
    text = first(fails)
    assert any(each in text for each in words), text
    assert "never otherwise" in text


def test_conditions_may_hold_together() -> None:
    text = first(lambda graph: has_constant(graph) and of_type("FLOAT16")(graph))
    assert "FLOAT16" in text
    assert "constant" in text


def test_the_smallest_graph_is_the_example() -> None:
    (found,) = explain_graphs(results(has("GEMM")))
    sizes = {case.id: len(graph.nodes) for case, graph in GRAPHS if has("GEMM")(graph)}
    assert sizes[found.example] == min(sizes.values())


def test_a_single_failure_and_failures_everywhere_have_no_condition() -> None:
    once = results(lambda graph: False)
    once[3] = graph_result(GRAPHS[3][0], Outcome(FAIL))
    assert explain_graphs(once) == []
    assert explain_graphs(results(lambda graph: True)) == []


def test_results_of_another_version_are_left_out() -> None:
    found = [Result("graphs/random/99999", "graphs", "", "graph", "documented", "1_0", FAIL)]
    assert explain_graphs(found) == []
