"""A graph on a backend: executed with every result as an output, then as it is, and judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.execution.execute import dispatch_case, undeclared_outcome
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.sequences.calls import Perform
from dmlcts.conformance.sequences.graphs.judge import inputs_of, judge_nodes, judge_outputs
from dmlcts.conformance.sequences.graphs.script import GraphScript, data_of, script_of
from dmlcts.conformance.sequences.takes_part import perform_on
from dmlcts.conformance.sequences.takes_part.replies import replies_to
from dmlcts.generator.suite.graphs.graph import CONSTANTS_SINCE, Graph, Made
from dmlcts.reports.record.record import FAIL, PASS, SEQUENCES, UNSUPPORTED
from dmlcts.spec.model.abi import feature_level

Array = NDArray[Any]


def graph_outcome(
    graph: Graph, backend: Backend, info: BackendInfo, timeout: float | None = None, flags: tuple[str, ...] = ()
) -> Outcome:
    """The outcome of a graph: a pass, or what is wrong first. ``timeout`` limits each execution, in seconds.

    The evidence of a pass has the number of ``nodes``, and how many of them were judged (``judged``): the first ones always, a later one where its result is defined.
    """
    perform = perform_on(backend, timeout)
    if perform is None:
        return Outcome(
            UNSUPPORTED, f"{info.name} has no sequences: its host speaks version 1 of the protocol", undeclared=SEQUENCES
        )
    if beyond := _find_beyond(graph, info):
        return beyond
    given, constants = data_of(graph)
    whole = graph.with_outputs_of_all()
    failure, results = _results(script_of(whole, given, constants, flags), perform)
    if failure is not None:
        return failure
    values = dict(zip(whole.outputs, results, strict=True))
    outcome = judge_nodes(whole, given, constants, values, info)
    if outcome.status != PASS:
        return _with_alone(whole, outcome, given, constants, values, backend, info, timeout)
    failure, results = _results(script_of(graph, given, constants, flags), perform)
    closed = failure or judge_outputs(graph, given, constants, values, results, info)
    return replace(closed, evidence={**outcome.evidence, "nodes": len(graph.nodes)}) if closed.status == PASS else closed


def _find_beyond(graph: Graph, info: BackendInfo) -> Outcome | None:
    """The outcome where a node is beyond what the backend declares."""
    for index, node in enumerate(graph.nodes):
        if feature_level(node.case.feature_level) > feature_level(info.feature_level):
            return Outcome(UNSUPPORTED, f"node {index} ({node.desc.type}) needs feature level {node.case.feature_level}")
        excluded = undeclared_outcome(node.case, info)
        if excluded is not None:
            return replace(excluded, message=f"node {index} ({node.desc.type}): {excluded.message}")
    if feature_level(graph.feature_level()) > feature_level(info.feature_level):
        return Outcome(UNSUPPORTED, f"constant nodes need feature level {CONSTANTS_SINCE}")
    return None


def values_on(graph: Graph, backend: Backend) -> dict[Made, Array]:
    """What every node of a graph gives on a backend that is trusted.

    Raises:
        ValueError: it does not complete there.
    """
    whole = graph.with_outputs_of_all()
    perform = perform_on(backend)
    failure, results = _results(script_of(whole, *data_of(whole)), perform) if perform else (Outcome(UNSUPPORTED), [])
    if failure is not None:
        raise ValueError(f"the graph does not run: {failure.message}")
    return dict(zip(whole.outputs, results, strict=True))


def outputs_on(graph: Graph, backend: Backend) -> list[bytes] | str:
    """The bytes of the outputs of a graph as it is; or what kept it from running."""
    results = run_graph(graph, backend)
    return results.message if isinstance(results, Outcome) else [content.tobytes() for content in results]


def run_graph(graph: Graph, backend: Backend, timeout: float | None = None) -> list[Array] | Outcome:
    """The outputs of a graph as it is, in order, judged by nobody; or the outcome where it did not run. ``timeout`` is in seconds."""
    perform = perform_on(backend, timeout)
    if perform is None:
        return Outcome(UNSUPPORTED, "the backend has no sequences", undeclared=SEQUENCES)
    failure, results = _results(script_of(graph, *data_of(graph)), perform)
    return results if failure is None else failure


def _with_alone(
    graph: Graph,
    outcome: Outcome,
    given: Sequence[Array],
    constants: Mapping[tuple[int, str], Array],
    values: Mapping[Made, Array],
    backend: Backend,
    info: BackendInfo,
    timeout: float | None,
) -> Outcome:
    """The outcome of a wrong node, which tells whether the operator is as wrong without a graph, on the same inputs."""
    index = outcome.evidence["node"]
    inputs = inputs_of(graph, index, given, constants, values)
    alone, _ = dispatch_case(graph.nodes[index].case, inputs, backend, info, timeout)
    says = "the operator alone gives it as well" if alone.status == FAIL else "the operator alone is right"
    return replace(outcome, message=f"{outcome.message}; {says}", evidence={**outcome.evidence, "alone": alone.status == FAIL})


def _results(script: GraphScript, perform: Perform) -> tuple[Outcome | None, list[Array]]:
    """The outputs of one execution; or the outcome where it was refused, did not complete, or wrote elsewhere."""
    failure, replies = replies_to(script.calls, perform)
    if failure is not None:
        return failure, []
    if problem := script.overwritten(replies):
        return Outcome(FAIL, problem, evidence={"memory": problem}), []
    return None, script.results(replies)
