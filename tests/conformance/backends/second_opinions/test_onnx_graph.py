"""A graph of operators as one ONNX model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import GraphDispatch, Source, Unsupported
from dmlcts.conformance.backends.second_opinions.opinion import OpinionBackend
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

pytest.importorskip("onnx", reason="pip install 'directml-conformance[onnxruntime]'")
pytest.importorskip("onnxruntime", reason="pip install 'directml-conformance[onnxruntime]'")


@pytest.fixture(name="backend", scope="module")
def _backend() -> Any:
    from dmlcts.conformance.backends.second_opinions.onnxruntime import open_onnxruntime

    return open_onnxruntime("")


def desc(name: str, **fields: Any) -> OperatorDesc:
    return OperatorDesc(name, fields)


def floats(*sizes: int, **more: Any) -> TensorDesc:
    return TensorDesc("FLOAT32", sizes, **more)


def abs_of(read: TensorDesc, written: TensorDesc) -> OperatorDesc:
    return desc("ELEMENT_WISE_ABS", InputTensor=read, OutputTensor=written, ScaleBias=None)


def run(backend: OpinionBackend, nodes: list[Any], feeds: list[dict[str, Source]], *given: Any, size: int) -> GraphDispatch:
    """Executes a graph whose output is that of its last node, and gives the dispatch, with the output's bytes last."""
    inputs = [np.frombuffer(np.asarray(each).tobytes(), np.uint8).copy() for each in given]
    output = np.full(size, 0xEE, np.uint8)
    dispatch = GraphDispatch(
        tuple(nodes), tuple(feeds), ((len(nodes) - 1, "OutputTensor"),), [*inputs, output], len(inputs), paths=[]
    )
    backend.run_graph(dispatch)  # type: ignore[attr-defined]
    return dispatch


def test_nodes_are_one_model_whose_inputs_are_the_graph_s(backend: OpinionBackend) -> None:
    add = desc("ELEMENT_WISE_ADD", ATensor=floats(4), BTensor=floats(4), OutputTensor=floats(4))
    nodes = [add, np.array([1, 2, 3, 4], np.float32).tobytes(), add]
    feeds: list[dict[str, Source]] = [{"ATensor": 0, "BTensor": 0}, {}, {"ATensor": (0, "OutputTensor"), "BTensor": (1, "")}]
    found = run(backend, nodes, feeds, np.array([-1, 5, 7, 9], np.float32), size=16)
    assert found.resources[1].view(np.float32).tolist() == [-1, 12, 17, 22]
    assert found.paths is not None
    assert [label for label, _ in found.paths] == ["one ONNX model"]


@pytest.mark.parametrize(
    ("written", "read", "expected"),
    [
        pytest.param(floats(2, 3), floats(2, 3), [0, 1, 2, 3, 4, 5], id="the same"),
        pytest.param(floats(2, 3), floats(6), [0, 1, 2, 3, 4, 5], id="other sizes"),
        pytest.param(floats(2, 3), floats(3, 2, strides=(1, 3)), [0, 3, 1, 4, 2, 5], id="transposed"),
        pytest.param(floats(2, 3, strides=(1, 2)), floats(6), [0, 3, 1, 4, 2, 5], id="written transposed"),
        pytest.param(floats(2, 3, strides=(4, 1)), floats(2, 3, strides=(4, 1)), [0, 1, 2, 3, 4, 5], id="rows apart"),
        pytest.param(floats(1, 3), floats(2, 3, strides=(0, 1)), [0, 1, 2, 0, 1, 2], id="read twice"),
    ],
)
def test_bytes_stay_along_an_edge(backend: OpinionBackend, written: TensorDesc, read: TensorDesc, expected: list[int]) -> None:
    plain = floats(*written.sizes)
    nodes = [abs_of(plain, written), abs_of(read, floats(*read.sizes))]
    given = -np.arange(plain.count, dtype=np.float32)
    found = run(backend, nodes, [{"InputTensor": 0}, {"InputTensor": (0, "OutputTensor")}], given, size=4 * read.count)
    assert found.resources[1].view(np.float32).tolist() == expected


def test_bytes_between_the_elements_of_an_output_stay(backend: OpinionBackend) -> None:
    nodes = [abs_of(floats(2), floats(2)), abs_of(floats(2), floats(2, strides=(2,)))]
    found = run(backend, nodes, [{"InputTensor": 0}, {"InputTensor": (0, "OutputTensor")}], np.float32([-1, -2]), size=12)
    assert found.resources[1].tobytes() == np.float32(1).tobytes() + b"\xee" * 4 + np.float32(2).tobytes()


def test_truth_is_0_and_1_in_the_type_of_its_tensor(backend: OpinionBackend) -> None:
    truth = TensorDesc("UINT8", (3,))
    less = desc("ELEMENT_WISE_LOGICAL_LESS_THAN", ATensor=floats(3), BTensor=floats(3), OutputTensor=truth)
    add = desc("ELEMENT_WISE_ADD", ATensor=truth, BTensor=truth, OutputTensor=truth)
    feeds: list[dict[str, Source]] = [
        {"ATensor": 0, "BTensor": 1},
        {"ATensor": (0, "OutputTensor"), "BTensor": (0, "OutputTensor")},
    ]
    found = run(backend, [less, add], feeds, np.float32([1, 2, 3]), np.float32([2, 2, 4]), size=4)
    assert found.resources[2][:3].tolist() == [2, 0, 2]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([abs_of(floats(2), floats(2, strides=(2,))), abs_of(floats(3), floats(3))], "reads between elements"),
        (
            [
                abs_of(floats(2), floats(2)),
                desc("ELEMENT_WISE_BIT_COUNT", InputTensor=TensorDesc("UINT32", (2,)), OutputTensor=TensorDesc("UINT32", (2,))),
            ],
            "ELEMENT_WISE_BIT_COUNT does not map",
        ),
        (
            [abs_of(floats(2), floats(2)), desc("CAST", InputTensor=floats(2), OutputTensor=TensorDesc("UINT8", (2,)))],
            "depends on numbers which another node gives",
        ),
    ],
)
def test_what_onnx_cannot_say_is_no_model(backend: OpinionBackend, nodes: list[OperatorDesc], message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        run(backend, nodes, [{"InputTensor": 0}, {"InputTensor": (0, "OutputTensor")}], np.float32([1, 2]), size=16)
