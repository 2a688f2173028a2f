"""ONNX Runtime as a second opinion: models of few nodes, few sessions, and nothing claimed that ONNX defines otherwise."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import Unsupported
from dmlcts.conformance.backends.second_opinions.table import read_table
from dmlcts.conformance.execution.execute import execute
from dmlcts.generator.suite.suite import find_case
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

onnx = pytest.importorskip("onnx", reason="pip install 'directml-conformance[onnxruntime]'")
pytest.importorskip("onnxruntime", reason="pip install 'directml-conformance[onnxruntime]'")


@pytest.fixture(name="module")
def _module() -> ModuleType:
    from dmlcts.conformance.backends.second_opinions import onnxruntime

    return onnxruntime


@pytest.fixture(name="backend")
def _backend(module: ModuleType) -> Any:
    return module.open_onnxruntime("")


def unary(operator: str, data_type: str, sizes: tuple[int, ...], **attributes: object) -> OperatorDesc:
    tensor = TensorDesc(data_type, sizes)
    return OperatorDesc(operator, {"InputTensor": tensor, "OutputTensor": tensor, **attributes})


def test_every_node_is_of_the_operator_set_with_these_attributes(module: ModuleType) -> None:
    table = read_table("onnxruntime")
    nodes = [
        (operator, call.function, {name for name, _ in call.keywords})
        for operator, ways in table.operators.items()
        for way in [*ways, table.scale_bias]
        for call in way.calls()
    ]
    assert len(nodes) > 92
    for operator, function, attributes in nodes:
        if function.startswith("microsoft."):  # ONNX Runtime's own, which the onnx package does not know
            continue
        schema = onnx.defs.get_schema(function, max_inclusive_version=module.OPSET)  # raises if there is none
        assert attributes <= schema.attributes.keys(), operator
        assert not schema.deprecated, operator
    with pytest.raises(onnx.defs.SchemaError):
        onnx.defs.get_schema("Atan2", max_inclusive_version=module.OPSET)


def test_a_session_serves_every_size_rank_and_number(backend: Any) -> None:
    from dmlcts.conformance.backends.second_opinions.onnx_session import session

    session.cache_clear()
    for sizes in ((3,), (2, 2), (1, 2, 1, 3, 1, 1, 1, 2)):
        for low in (-1.0, 0.5):
            desc = unary("ELEMENT_WISE_CLIP", "FLOAT32", sizes, ScaleBias=None, Min=low, Max=2.0)
            x = np.linspace(-3, 3, int(np.prod(sizes)), dtype=np.float32).reshape(sizes)
            assert (backend.compute(desc, {"InputTensor": x})["OutputTensor"] == np.clip(x, np.float32(low), np.float32(2))).all()
    assert session.cache_info().misses == 1
    backend.compute(unary("ELEMENT_WISE_CLIP", "INT32", (1,), Min=0.0, Max=2.0), {"InputTensor": np.zeros(1, np.int32)})
    backend.compute(unary("ACTIVATION_ELU", "FLOAT32", (1,), Alpha=1.0), {"InputTensor": np.zeros(1, np.float32)})
    backend.compute(unary("ACTIVATION_ELU", "FLOAT32", (1,), Alpha=2.0), {"InputTensor": np.zeros(1, np.float32)})
    assert session.cache_info().misses == 4


def test_a_type_without_a_kernel_is_unsupported_and_named(backend: Any) -> None:
    with pytest.raises(Unsupported, match="onnxruntime has no Celu of float16: "):
        backend.compute(unary("ACTIVATION_CELU", "FLOAT16", (1,), Alpha=1.0), {"InputTensor": np.zeros(1, np.float16)})


def test_an_attribute_may_be_a_whole_number(backend: Any) -> None:
    desc = unary("ACTIVATION_LEAKY_RELU", "FLOAT32", (2,), Alpha=2)
    assert backend.compute(desc, {"InputTensor": np.array([-3, 3], np.float32)})["OutputTensor"].tolist() == [-6, 3]


def test_shrinking_takes_bias_and_threshold_for_what_they_are(backend: Any) -> None:
    desc = unary("ACTIVATION_SHRINK", "FLOAT32", (4,), Bias=0.25, Threshold=1.0)
    answer = backend.compute(desc, {"InputTensor": np.array([-2, -1, 0.5, 3], np.float32)})["OutputTensor"]
    assert answer.tolist() == [-1.75, 0, 0, 2.75]


@pytest.mark.parametrize("mode", ["TOWARD_ZERO", "TOWARD_INFINITY"])
def test_rounding_that_onnx_lacks_is_unsupported(backend: Any, mode: str) -> None:
    with pytest.raises(Unsupported, match="halves to even and knows no other mode"):
        backend.compute(unary("ELEMENT_WISE_ROUND", "FLOAT32", (1,), RoundingMode=mode), {"InputTensor": np.ones(1, np.float32)})


def test_a_scale_that_a_half_cannot_hold_is_unsupported(backend: Any) -> None:
    desc = unary("ACTIVATION_LINEAR", "FLOAT16", (1,), Alpha=0.1, Beta=0.0)
    with pytest.raises(Unsupported, match="is no float16"):
        backend.compute(desc, {"InputTensor": np.ones(1, np.float16)})
    assert backend.compute(desc.with_fields(Alpha=0.125), {"InputTensor": np.ones(1, np.float16)})["OutputTensor"] == 0.125


def test_halves_are_stored_to_nearest_even(backend: Any) -> None:
    tensor = TensorDesc("FLOAT16", (3,))
    desc = OperatorDesc("ELEMENT_WISE_ADD", {"ATensor": tensor, "BTensor": tensor, "OutputTensor": tensor})
    inputs = {"ATensor": np.array([2048, 2048, -2048], np.float16), "BTensor": np.array([1, 3, -3], np.float16)}
    assert backend.compute(desc, inputs)["OutputTensor"].tolist() == [2048, 2052, -2052]


def test_denormals_go_through_what_keeps_them(backend: Any) -> None:
    tiny = np.array([1e-40, -1.4e-45], np.float32)
    assert (
        backend.compute(unary("ELEMENT_WISE_ABS", "FLOAT32", (2,)), {"InputTensor": tiny})["OutputTensor"] == np.abs(tiny)
    ).all()
    assert backend.info.denormals == "any"


@pytest.mark.parametrize("zero_point", [None, 3])
@pytest.mark.parametrize(("data_type", "least", "most"), [("INT8", -128, 127), ("UINT8", 0, 255)])
def test_quantizing_saturates_with_and_without_a_zero_point(
    backend: Any, zero_point: int | None, data_type: str, least: int, most: int
) -> None:
    sizes = (2, 2)
    x, quantized = TensorDesc("FLOAT32", sizes), TensorDesc(data_type, sizes)
    zero = None if zero_point is None else quantized
    desc = OperatorDesc(
        "ELEMENT_WISE_QUANTIZE_LINEAR", {"InputTensor": x, "ScaleTensor": x, "ZeroPointTensor": zero, "OutputTensor": quantized}
    )
    inputs = {"InputTensor": np.array([[-1e4, 1e4], [2.5, 12]], np.float32), "ScaleTensor": np.array([[1, 2], [1, 4]], np.float32)}
    if zero_point is not None:
        inputs["ZeroPointTensor"] = np.full(sizes, zero_point, data_type.lower())
    added = zero_point or 0
    answer = backend.compute(desc, inputs)["OutputTensor"]
    assert answer.dtype == data_type.lower()
    assert answer.tolist() == [[least, most], [2 + added, 3 + added]]


def test_a_case_of_the_suite_passes(backend: Any) -> None:
    case = find_case("ELEMENT_WISE_BIT_OR/UINT8/4d")
    assert execute(case, backend, backend.describe()).status == "pass"
