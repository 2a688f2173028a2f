"""``dmlcts exec`` of a graph: what its outputs are, judged by nobody."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import dmlcts
from exec_models import printed, run

GRAPH = Path(__file__).parents[3] / "docs" / "measured" / "graphs" / "one-hot-values.json"
NAME = "output 0, OutputTensor of node 0 (ONE_HOT)"


def test_the_outputs_of_a_graph_are_printed() -> None:
    assert printed(run(GRAPH)) == [f"Resource '{NAME}': 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1 (INT32 [3, 5])"]


def test_the_outputs_of_a_graph_are_written_shaped(tmp_path: Path) -> None:
    run(GRAPH, "--out", tmp_path / "o")
    (file,) = (tmp_path / "o").iterdir()
    assert np.load(file).tolist() == [[1, 2, 1, 1, 1], [1, 1, 2, 1, 1], [1, 1, 1, 2, 1]]


def test_a_graph_as_json_has_its_outputs() -> None:
    data = json.loads(run(GRAPH, "--json").stdout)
    assert (data["status"], data["backend"]) == ("completed", "reference")
    assert data["resources"][NAME]["values"] == [1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2, 1]


def test_a_backend_that_has_no_sequences_cannot_run_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.conformance.sequences.graphs.execute.perform_on", lambda *arguments: None)
    done = run(GRAPH)
    assert done.exit_code == 1
    assert "the graph: unsupported: the backend has no sequences" in done.stderr


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outputs": [{"node": 1, "tensor": "OutputTensor"}]}, "node 1 has no output OutputTensor"),
        ({"outputs": 1}, "a graph has lists of nodes and of outputs"),
    ],
)
def test_a_wrong_graph_is_an_error_of_input(
    change: dict[str, object], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "graph.json"
    file.write_text(json.dumps({**json.loads(GRAPH.read_text(encoding="utf-8")), **change}), encoding="utf-8")
    assert dmlcts("exec", file) == 2
    assert message in capsys.readouterr().err


def test_a_graph_has_no_contested_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert dmlcts("exec", GRAPH, "--basis", "measured") == 2
    assert "leave out --basis" in capsys.readouterr().err
