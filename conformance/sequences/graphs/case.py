"""A graph that is a case of a run: executed, judged, and its result record."""

from __future__ import annotations

from time import perf_counter

from dmlcts.conformance.backends.backend import Backend, BackendFault, BackendInfo
from dmlcts.conformance.execution.outcome import Outcome
from dmlcts.conformance.sequences.graphs.execute import graph_outcome
from dmlcts.conformance.sequences.takes_part import end_host
from dmlcts.generator.suite.graph_cases.graph_case import GraphCase
from dmlcts.reports.record.record import ERROR, GRAPH, GRAPHS, NOT_RUN, PASS, UNSUPPORTED, Result
from dmlcts.spec.model.operator import DOCUMENTED


def execute_graph(case: GraphCase, backend: Backend, info: BackendInfo, timeout: float | None = None) -> Result:
    """Runs and judges a graph. ``timeout`` limits each of its two executions, in seconds. Never raises for what the backend does."""
    started = perf_counter()
    outcome = graph_outcome(case.graph(), backend, info, timeout)
    if case.isolated and outcome.status != UNSUPPORTED and (problem := _end_of(backend)) and outcome.status == PASS:
        outcome = Outcome(ERROR, f"after the graph {problem}")
    return graph_result(case, outcome, perf_counter() - started)


def _end_of(backend: Backend) -> str:
    """Ends the process that ran a graph, if it is one. Returns what went wrong at that."""
    try:
        end_host(backend)
    except BackendFault as fault:
        return str(fault)
    return ""


def graph_result(case: GraphCase, outcome: Outcome, seconds: float = 0.0) -> Result:
    """The result record of a graph. The grade of a pass says where not every node could be judged."""
    evidence = dict(outcome.evidence)
    judged, nodes = evidence.pop("judged", 0), evidence.pop("nodes", 0)
    return Result(
        case=case.id,
        operator=GRAPHS,
        data_type="",
        kind=GRAPH,
        basis=DOCUMENTED,
        feature_level=case.feature_level,
        status=outcome.status,
        message=outcome.message,
        seconds=seconds,
        grade=f"{judged} of {nodes} nodes judged" if judged < nodes else "",
        evidence=evidence,
        undeclared=outcome.undeclared,
    )


def graph_not_run(case: GraphCase) -> Result:
    """The result of a graph that was selected and has not run."""
    return graph_result(case, Outcome(NOT_RUN, "not run"))
