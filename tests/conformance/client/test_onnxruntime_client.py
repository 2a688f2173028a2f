"""ONNX Runtime on a real DirectML.dll, through the capture DLL and without it. Needs what ``dmlcts setup --client`` prepares."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.client.capture.data import CapturedData
from dmlcts.conformance.client.capture.reading import read_capture
from dmlcts.conformance.client.capture.records import Capture, Compiled, Graph, Initializer, Piece
from dmlcts.conformance.client.onnx_file import Node, onnx_model
from dmlcts.conformance.client.onnxruntime import CaptureWish, ClientError, ModelRun, run_model
from dmlcts.conformance.client.programs.programs import need_programs


@pytest.fixture(scope="module", autouse=True)
def prepared() -> None:
    try:
        need_programs()
    except BackendUnavailable as error:
        pytest.skip(f"no client can run here: {error}")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolution, a bias, an activation and a product."""
    draw = np.random.default_rng(1)
    weights = {"w": draw.standard_normal((4, 3, 3, 3), np.float32), "m": draw.standard_normal((64, 5), np.float32)}
    nodes = [
        Node("Conv", ["x", "w"], ["c"], {"pads": [1, 1, 1, 1], "strides": [2, 2]}, "conv"),
        Node("Relu", ["c"], ["r"], name="relu"),
        Node("Flatten", ["r"], ["f"], name="flatten"),
        Node("MatMul", ["f", "m"], ["y"], name="product"),
    ]
    file = tmp_path_factory.mktemp("model") / "mödel.onnx"
    file.write_bytes(onnx_model(nodes, {"x": ("float32", (1, 3, 8, 8))}, {"y": ("float32", (1, 5))}, weights))
    return file


def captured(model: Path, folder: Path, data: str, *options: str, every: int = 1, limit: int = 1 << 30) -> tuple[Capture, ModelRun]:
    wish = CaptureWish(folder / "a.capture", data, limit, every)
    run = run_model(model, options, capture=wish)
    return read_capture(wish.file), run


@pytest.mark.parametrize("options", [(), ("--no-graph",), ("--optimize",)], ids=" ".join)
def test_captured_or_not_the_outputs_are_the_same_bytes(options: tuple[str, ...], model: Path, tmp_path: Path) -> None:
    plain = run_model(model, options)
    for data in ("none", "all"):
        capture, run = captured(model, tmp_path, data, *options, "--runs", "2")
        assert run.outputs == plain.outputs
        assert run.references == plain.references == 0, "no object of the client is kept alive"
        assert capture.refusals == []
        assert capture.remarks == []


def test_a_graph_is_captured_with_its_nodes_weights_and_outputs(model: Path, tmp_path: Path) -> None:
    capture, run = captured(model, tmp_path, "all")
    (compiled,) = capture.graphs
    assert isinstance(compiled.content, Graph)
    kinds = [operator.name for operator in compiled.operators]
    assert kinds[:2] == ["CONVOLUTION", "ACTIVATION_RELU"]
    assert "GEMM" in kinds
    initialization, execution = capture.executions
    assert isinstance(initialization.dispatchable, Initializer)
    assert initialization.dispatchable.compiled == (compiled,)
    assert execution.dispatchable is compiled
    with CapturedData(capture) as data:
        (weights,) = initialization.inputs
        assert isinstance(weights, tuple)
        sizes = {len(data.read(piece)) for piece in weights if piece is not None}
        assert sizes == {4 * 27 * 4, 64 * 5 * 4}
        (output,) = execution.outputs
        assert isinstance(output, Piece)
        assert data.read(output)[:20] == run.outputs[0][1]


def test_each_operator_by_itself_has_its_bytes(model: Path, tmp_path: Path) -> None:
    capture, run = captured(model, tmp_path, "all", "--no-graph")
    dispatched = [execution for execution in capture.executions if isinstance(execution.dispatchable, Compiled)]
    assert len(dispatched) >= 3
    assert all(execution.inputs and execution.outputs for execution in dispatched)
    with CapturedData(capture) as data:
        piece = dispatched[-1].outputs[0]
        assert isinstance(piece, Piece)
        assert data.read(piece)[:20] == run.outputs[0][1]


def test_each_nth_dispatch_has_bytes_and_initializations_all(model: Path, tmp_path: Path) -> None:
    capture, _ = captured(model, tmp_path, "inputs", "--runs", "5", every=2)
    numbers = [e.number for e in capture.executions if e.inputs and isinstance(e.dispatchable, Compiled)]
    assert numbers == [2, 4, 6], "the first of five, and then every second"
    assert all(e.inputs for e in capture.executions if isinstance(e.dispatchable, Initializer))
    assert not any(e.outputs for e in capture.executions)


def test_no_more_data_than_the_limit_is_written(model: Path, tmp_path: Path) -> None:
    capture, _ = captured(model, tmp_path, "all", limit=1000)
    assert any("the limit was reached; no more data" in remark for remark in capture.remarks)
    assert not capture.data_file.exists() or capture.data_file.stat().st_size <= 1000


def test_a_model_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    with pytest.raises(ClientError, match="CreateSession"):
        run_model(tmp_path / "broken.onnx", ())
    with pytest.raises(ClientError, match="there is no such file"):
        run_model(tmp_path / "none.onnx", ())
