"""Graphs as a backend takes them that compiles them itself, and what such a one may fuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import dmlcts
from whole_graphs import Refusing, Whole, WrongWhole

from dmlcts.conformance.backends.backend import Backend, BackendInfo
from dmlcts.conformance.execution.traced import Traced
from dmlcts.conformance.sequences.graphs.execute import graph_outcome
from dmlcts.conformance.sequences.graphs.judge import judge_nodes
from dmlcts.conformance.sequences.graphs.script import data_of
from dmlcts.generator.suite.graph_cases.graph_case import graph_cases
from dmlcts.generator.suite.graphs.graph import Graph, Made
from dmlcts.generator.suite.graphs.graph_json import read_graph
from dmlcts.reports.record.record import FAIL, PASS
from dmlcts.spec.reading.loader import load

GRAPHS = graph_cases("core")


def outcomes(backend: Backend) -> list[str]:
    return [graph_outcome(case.graph(), backend, backend.describe()).status for case in GRAPHS[::4]]


def test_a_backend_gets_graphs_as_a_whole_and_its_code_paths_are_noted() -> None:
    traced = Traced(Whole())
    for case in GRAPHS[::6]:
        graph = case.graph()
        traced.begin()
        outcome = graph_outcome(graph, traced, traced.describe())
        assert (case.id, outcome.status, outcome.message) == (case.id, PASS, "")
        _, constants = data_of(graph)
        assert traced.distinct() == (("whole", (len(graph.nodes) + len(constants),)),)


def test_what_it_gives_is_judged() -> None:
    assert set(outcomes(WrongWhole())) == {FAIL}


def test_nodes_run_one_after_another_where_it_does_not_take_a_graph() -> None:
    traced = Traced(Refusing())
    assert set(outcomes(traced)) == {PASS}
    assert not any(label == "whole" for label, _ in traced.distinct())


@pytest.mark.parametrize("how", ["python", "inprocess"])
def test_a_class_of_the_user_takes_graphs_in_a_process_of_its_own_and_in_this_one(how: str, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    for name, code in (("Whole", 0), ("Refusing", 0), ("WrongWhole", 1)):
        assert dmlcts("run", "graphs", "-k", "family", "--backend", f"{how}:whole_graphs:{name}", "-q", "--out", out) == code
        lines = (tmp_path / "out" / "results.jsonl").read_text(encoding="utf-8").splitlines()
        paths = [json.loads(line)["path"] for line in lines if line.startswith('{"path"')]
        assert paths == ([] if name == "Refusing" else ["whole"])


# What is stored in FLOAT16, and read before it was rounded


def tensor(data_type: str, **more: Any) -> dict[str, Any]:
    return {"DataType": data_type, "Sizes": [2], **more}


def difference(first: dict[str, Any], inputs: int) -> Graph:
    """A node, and another that subtracts the graph's last input from its FLOAT16 result."""
    half = tensor("FLOAT16")
    minus = {
        "desc": {"Type": "ELEMENT_WISE_SUBTRACT", "ATensor": half, "BTensor": half, "OutputTensor": half},
        "feeds": {"ATensor": {"node": 0, "tensor": "OutputTensor"}, "BTensor": {"given": inputs}},
        "data": {"BTensor": {"type": "FLOAT16", "sizes": [2], "data": [2048, 2048]}},
    }
    return read_graph({"nodes": [first, minus], "outputs": [{"node": 1, "tensor": "OutputTensor"}]}, load).with_outputs_of_all()


def add_one(data_type: str) -> dict[str, Any]:
    """2048 + 1, of which FLOAT16 has no number."""
    of = tensor(data_type)
    data = {"type": data_type, "sizes": [2]}
    return {
        "desc": {"Type": "ELEMENT_WISE_ADD", "ATensor": of, "BTensor": of, "OutputTensor": of},
        "feeds": {"ATensor": {"given": 0}, "BTensor": {"given": 1}},
        "data": {"ATensor": {**data, "data": [2048, 2048]}, "BTensor": {**data, "data": [1, 1]}},
    }


CAST = {
    "desc": {"Type": "CAST", "InputTensor": tensor("FLOAT32"), "OutputTensor": tensor("FLOAT16")},
    "feeds": {"InputTensor": {"given": 0}},
    "data": {"InputTensor": {"type": "FLOAT32", "sizes": [2], "data": [2049, 2049]}},
}


@pytest.mark.parametrize(
    ("first", "inputs", "given", "status"),
    [
        pytest.param(add_one("FLOAT16"), 2, 0, PASS, id="the stored sum"),
        pytest.param(add_one("FLOAT16"), 2, 1, PASS, id="the sum before it is rounded"),
        pytest.param(add_one("FLOAT16"), 2, 64, FAIL, id="another number"),
        pytest.param(CAST, 1, 0, PASS, id="what the cast gives"),
        pytest.param(CAST, 1, 1, FAIL, id="a cast that the graph asks for and nobody does"),
    ],
)
def test_a_result_in_float16_may_be_read_before_it_is_rounded(
    first: dict[str, Any], inputs: int, given: float, status: str
) -> None:
    graph = difference(first, inputs)
    values = {
        Made(0, "OutputTensor"): np.array([2048, 2048], np.float16),
        Made(1, "OutputTensor"): np.array([given, given], np.float16),
    }
    assert judge_nodes(graph, *data_of(graph), values, BackendInfo("any")).status == status
