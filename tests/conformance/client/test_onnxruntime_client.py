"""ONNX Runtime on a real DirectML.dll, through the capture DLL and without it. Needs what ``dmlcts setup --client`` prepares."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from fake_dlls import MODE, built_fake, written

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.directml.dll import read_dll
from dmlcts.conformance.backends.directml.stack import default_dll, need_prepared, place
from dmlcts.conformance.backends.opening import open_backend
from dmlcts.conformance.client.capture.data import CapturedData
from dmlcts.conformance.client.capture.reading import read_capture
from dmlcts.conformance.client.capture.records import Capture, Compiled, Graph, Initializer, Piece
from dmlcts.conformance.client.models.onnxruntime import CaptureWish, ClientError, ModelRun, arrays_of, run_model
from dmlcts.conformance.client.models.writing import Node, onnx_model
from dmlcts.conformance.client.programs.programs import need_programs
from dmlcts.conformance.client.replay.judging import Rules, captured_info
from dmlcts.conformance.client.replay.replay import replay
from dmlcts.conformance.commands.cli import dmlcts


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


# A DLL that is wrong


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Gives a DirectML.dll that is wrong in some way, on top of the real one."""
    programs = need_programs()
    folder = tmp_path_factory.mktemp("fake")
    if programs.stack is None:
        pytest.skip("the real DLL is looked for in a stack")
    real = read_dll(default_dll(need_prepared()[1]))
    built = built_fake(folder, programs.path_in_stack(programs.stack.dlls / place(real, programs.stack.dlls) / "DirectML.dll"))

    def file(mode: str) -> Path:
        (folder / f"{mode}.dll").write_bytes(written(built, MODE, mode))
        return folder / f"{mode}.dll"

    return file


@pytest.fixture(scope="module")
def bits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """AND, XOR and AND of 0 and 1 with 3, in a row: the fake takes XOR for OR."""
    steps = (("And", "x", "t"), ("Xor", "t", "y"), ("And", "y", "z"))
    nodes = [Node(f"Bitwise{op}", [given, "c"], [made], name=made) for op, given, made in steps]
    shape = {"x": ("uint32", (2, 8))}
    file = tmp_path_factory.mktemp("bits") / "bits.onnx"
    file.write_bytes(onnx_model(nodes, shape, {"z": ("uint32", (2, 8))}, {"c": np.full((2, 8), 3, np.uint32)}, opset=18))
    return file


@pytest.mark.parametrize("options", [(), ("--no-graph",)], ids=" ".join)
def test_the_wrong_node_of_a_model_is_named(
    options: tuple[str, ...], bits: Path, fake: Callable[[str], Path], tmp_path: Path
) -> None:
    wish, dll = CaptureWish(tmp_path / "bits.capture", "all"), fake("two-wrong")
    run_model(bits, options, dll, wish)
    backend = open_backend(f"directml:'{dll}'")
    try:
        info = backend.describe()
        found = replay(
            read_capture(wish.file), Rules(backend, info), (), date(2027, 1, 1), lambda one: True, lambda number, judged: None
        )
    finally:
        backend.close()
    assert [result.operator for _, _, result in found.wrong()] == ["ELEMENT_WISE_BIT_XOR"]
    assert len(found.steps) == 3
    captured = Rules(None, captured_info(""))
    again = replay(read_capture(wish.file), captured, (), date(2027, 1, 1), lambda one: True, lambda number, judged: None)
    if options:
        assert [result.operator for _, _, result in again.wrong()] == ["ELEMENT_WISE_BIT_XOR"]
    else:
        assert not again.graphs[0].ok
        assert "elements differ from the reference's" in again.graphs[0].message


@pytest.mark.parametrize("mode", ["crashes", "exits", "create-fails"])
def test_a_client_that_ends_early_leaves_a_capture_that_can_be_read(
    mode: str, bits: Path, fake: Callable[[str], Path], tmp_path: Path
) -> None:
    wish = CaptureWish(tmp_path / "bits.capture", "all")
    with pytest.raises(ClientError):
        run_model(bits, ("--no-graph",), fake(mode), wish)
    capture = read_capture(wish.file)
    if mode == "create-fails":
        assert [(refusal.what, refusal.code) for refusal in capture.refusals] == [("device", "0x887A0004")]
    else:
        assert [operator.name for operator in capture.operators] == ["ELEMENT_WISE_BIT_AND"]


def test_a_model_that_cannot_be_read_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "broken.onnx").write_bytes(b"no model")
    with pytest.raises(ClientError, match="CreateSession"):
        run_model(tmp_path / "broken.onnx", ())
    with pytest.raises(ClientError, match="there is no such file"):
        run_model(tmp_path / "none.onnx", ())


@pytest.mark.parametrize("options", [(), ("--no-graph",)], ids=" ".join)
def test_a_wrong_model_is_bisected_to_its_wrong_node(
    options: tuple[str, ...], fake: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Node 13 of 20 alone is an XOR, which the fake takes for OR; its part fails as the model did. Without a graph, no name leads to it."""
    operators = ["And", "Or"] * 10
    operators[13] = "Xor"
    nodes = [
        Node(f"Bitwise{op}", [f"v{at - 1}" if at else "x", f"c{at}"], [f"v{at}"], name=f"n{at}") for at, op in enumerate(operators)
    ]
    draw, shape = np.random.default_rng(5), ("uint32", (2, 8))
    weights = {f"c{at}": draw.integers(0, 2**32, (2, 8), dtype=np.uint32) for at in range(20)}
    monkeypatch.chdir(tmp_path)
    Path("bits.onnx").write_bytes(onnx_model(nodes, {"x": shape}, {"v19": shape}, weights, opset=18))
    words = ["client", "onnxruntime", "--judge", "--dll", str(fake("two-wrong")), *options]
    done = CliRunner().invoke(dmlcts, [*words, "bits.onnx"])
    assert done.exit_code == 1, done.output
    assert "The first wrong dispatch is 14 of 20: ELEMENT_WISE_BIT_XOR" in done.output
    assert "the smallest model that is wrong: 1 node of it" in done.output
    again = CliRunner().invoke(dmlcts, [*words, "bits.smallest/model.onnx", "--inputs", "bits.smallest/test_data_set_0"])
    assert again.exit_code == 1, again.output
    assert "The first wrong dispatch is 1 of 1: ELEMENT_WISE_BIT_XOR" in again.output


def test_a_model_gets_the_inputs_that_are_given(tmp_path: Path) -> None:
    file = tmp_path / "relu.onnx"
    file.write_bytes(onnx_model([Node("Relu", ["x"], ["y"])], {"x": ("float32", (4,))}, {"y": ("float32", (4,))}))
    run = run_model(file, (), inputs=(np.array([-1, 2, -3, 4], np.float32),))
    assert arrays_of(run)["y"].tolist() == [0, 2, 0, 4]
    with pytest.raises(ClientError, match=r"the input x needs 16 bytes, but .* has 32"):
        run_model(file, (), inputs=(np.ones(4, np.float64),))


def test_node_tests_of_a_wrong_dll_are_wrong_and_its_own(fake: Callable[[str], Path], tmp_path: Path) -> None:
    """The fake takes XOR for OR; AND is right."""
    pytest.importorskip("onnx")
    words = [
        "client",
        "onnxruntime",
        "--conformance",
        "-k",
        "bitwise_and_ui64 or bitwise_xor_ui64",
        "--dll",
        str(fake("two-wrong")),
    ]
    done = CliRunner().invoke(dmlcts, [*words, "--out", str(tmp_path)])
    assert done.exit_code == 1, done.output
    results = [json.loads(line) for line in (tmp_path / "node-tests.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {(operator, result["status"], result["whose"]) for result in results for operator in result["operators"]}
    assert found == {("BitwiseAnd", "right", ""), ("BitwiseXor", "wrong", "DirectML's")}
