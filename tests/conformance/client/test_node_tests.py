"""ONNX's node tests through a client: one process runs many, what breaks it is named, and what is wrong has an owner."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.client.models import node_tests
from dmlcts.conformance.client.models.node_tests import BROKEN, NOT_RUN, RIGHT, WRONG, NodeTestResult, difference, summary

CLIENT = """
import json, os, pathlib, sys, time
for folder in map(pathlib.Path, sys.argv[1:]):
    does = (folder / "does").read_text()
    if does == "crash":
        print("crashed somewhere", file=sys.stderr, flush=True)
        os._exit(5)
    if does == "hang":
        time.sleep(60)
    result = {"status": "error", "message": does[6:]} if does.startswith("error:") else {
        "status": "ok", "onnxruntime": "1", "device": "", "seconds": [0.1], "outputs": [{"name": "y", "type": "FLOAT32", "sizes": [2], "file": "y.bin"}]}
    (folder / "y.bin").write_bytes(bytes.fromhex("0000803f") + bytes.fromhex("00000040" if does == "right" else "00004040"))
    (folder / "result.json").write_text(json.dumps(result) + chr(10))
    if does.startswith("error:Run: "):
        os._exit(1)
"""
"""Does in each folder what a file in it says: right and wrong results are 1 and 2, and 1 and 3."""


def jobs(folder: Path, *does: str) -> list[Any]:
    found = []
    for number, word in enumerate(does):
        own = folder / str(number)
        own.mkdir()
        (own / "does").write_text(word)
        graph = SimpleNamespace(node=[SimpleNamespace(op_type="Relu")])
        data = [((), (np.array([1, 2], np.float32),))]
        test = SimpleNamespace(name=f"test_{number}", model=SimpleNamespace(graph=graph), data_sets=data, rtol=1e-3, atol=1e-7)
        found.append(node_tests._Job(test, own))
    return found


def processed(folder: Path, *does: str, limit: float = 20.0) -> list[NodeTestResult]:
    """The results of one process."""
    results: list[NodeTestResult] = []
    own = jobs(folder, *does)
    command = [sys.executable, "-c", CLIENT, *(str(job.folder) for job in own)]
    node_tests._process(command, {}, own, folder / "said", limit, results.append)
    return results


def test_one_process_runs_many_and_each_is_judged(tmp_path: Path) -> None:
    results = processed(tmp_path, "right", "wrong", "right")
    assert [(result.test, result.status) for result in results] == [("test_0", RIGHT), ("test_1", WRONG), ("test_2", RIGHT)]
    assert results[1].reason == "output 0: 1 of 2 elements, first at [1]: 3.0, expected 2.0"


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        ("crash", "the client ended with exit code 5: crashed somewhere"),
        ("error:Run: lost", "Run: lost"),
        ("hang", "it did not end within 3 s"),
    ],
)
def test_what_breaks_the_client_is_the_last_of_its_process(does: str, reason: str, tmp_path: Path) -> None:
    results = processed(tmp_path, "right", does, "right", limit=3.0)
    assert [(result.status, result.reason) for result in results] == [(RIGHT, ""), (BROKEN, reason)]


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("CreateSession: graph nodes ..., but fallback to CPU EP has been explicitly disabled by the user.", "the provider leaves a node to the CPU"),
        ("CreateSession: Opset 27 is under development and support for this is limited.", "newer than ONNX Runtime"),
        ("CreateSession: Provider type for TopK node with name '' is not set.", "ONNX Runtime has no kernel for its types"),
        ("CreateSession: anything else", "ONNX Runtime does not take the model"),
    ],
)  # fmt: skip
def test_what_is_not_taken_is_not_run_and_the_next_one_is(message: str, kind: str, tmp_path: Path) -> None:
    results = processed(tmp_path, f"error:{message}", "right")
    assert [(result.status, result.kind) for result in results] == [(NOT_RUN, kind), (RIGHT, "")]
    assert results[0].reason == message


def test_outputs_are_judged_as_onnx_judges_them() -> None:
    right = np.array([1, np.nan, 1000], np.float32)
    assert difference(np.array([1.0005, np.nan, 1000.5], np.float32), right, 1e-3, 0) is None
    for actual, words in (
        (np.array([1.002, np.nan, 1000], np.float32), "1 of 3 elements, first at [0]"),
        (np.array([1, 0, 1000], np.float32), "1 of 3 elements, first at [1]"),
        (right.astype(np.float64), "type float64, expected float32"),
        (right[None], "sizes [1, 3], expected [3]"),
    ):
        found = difference(actual, right, 1e-3, 0)
        assert found is not None
        assert found[1].startswith(words)


def test_a_summary_counts_by_status_reason_and_owner() -> None:
    results = [
        NodeTestResult("test_a", ("Relu",), RIGHT),
        NodeTestResult("test_b", ("Relu",), NOT_RUN, "of no kind"),
        NodeTestResult("test_c", ("Relu", "Tanh"), WRONG, "values", "output 0", whose="DirectML's", why="as it is"),
    ]
    assert list(summary(results)) == [
        "3 node tests: 2 run: 1 right, 1 wrong, 0 broken; 1 not run",
        "      1 not run: of no kind",
        "      1 wrong: values",
        "      1 wrong or broken: DirectML's",
        "test_c (Relu, Tanh): wrong: output 0",
        "  DirectML's: as it is",
    ]


def test_values_that_numpy_lacks_are_not_run() -> None:
    for value in ([np.ones(2, np.float32)], "text", np.array(["a"], object)):
        with pytest.raises(TypeError, match="no tensor of NumPy's numbers"):
            node_tests.data_of(SimpleNamespace(data_sets=[((value,), ())]))
    inputs, _ = node_tests.data_of(SimpleNamespace(data_sets=[((np.float32(2),), ())]))
    assert inputs[0].shape == ()
