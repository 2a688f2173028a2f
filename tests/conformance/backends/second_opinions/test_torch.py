"""PyTorch as a second opinion: functions that there are, types that it says it lacks, and nothing claimed that it defines otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlcts.conformance.backends.backend import Unsupported
from dmlcts.conformance.backends.second_opinions.table import read_table
from dmlcts.conformance.execution.execute import execute
from dmlcts.generator.suite.suite import find_case
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

pytest.importorskip("torch", reason="pip install 'directml-conformance[torch]'")


@pytest.fixture(name="backend")
def _backend() -> Any:
    from dmlcts.conformance.backends.second_opinions.torch import open_torch

    return open_torch("")


def unary(operator: str, data_type: str, sizes: tuple[int, ...], **attributes: object) -> OperatorDesc:
    tensor = TensorDesc(data_type, sizes)
    return OperatorDesc(operator, {"InputTensor": tensor, "OutputTensor": tensor, **attributes})


def binary(operator: str, data_type: str, sizes: tuple[int, ...], output: str | None = None) -> OperatorDesc:
    tensor = TensorDesc(data_type, sizes)
    return OperatorDesc(operator, {"ATensor": tensor, "BTensor": tensor, "OutputTensor": TensorDesc(output or data_type, sizes)})


def test_every_function_is_there(backend: Any) -> None:
    from dmlcts.conformance.backends.second_opinions.torch import function

    table = read_table("torch")
    ways = [way for ways in table.operators.values() for way in ways] + [table.scale_bias]
    functions = {call.function for way in ways for call in way.calls()}
    assert len(functions) > 70
    assert all(callable(function(backend.torch, name)) for name in functions)
    with pytest.raises(AttributeError):
        function(backend.torch, "F.hardmax")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("HALVES_TO_NEAREST_EVEN", [-2, -2, 0, 2, 2]), ("TOWARD_ZERO", [-2, -1, 0, 1, 2]), ("TOWARD_INFINITY", None)],
)
def test_rounding_in_the_modes_that_it_has(backend: Any, mode: str, expected: list[int] | None) -> None:
    desc, x = unary("ELEMENT_WISE_ROUND", "FLOAT32", (5,), RoundingMode=mode), np.array([-2.5, -1.75, 0.5, 1.75, 2.5], np.float32)
    if expected is None:
        with pytest.raises(Unsupported, match="halves away from zero"):
            backend.compute(desc, {"InputTensor": x})
    else:
        assert backend.compute(desc, {"InputTensor": x})["OutputTensor"].tolist() == expected


@pytest.mark.parametrize(("bias", "expected"), [(0.0, [-2, 0, 0, 3]), (1.5, [-0.5, 0, 0, 1.5]), (1.0, None)])
def test_shrinking_with_the_biases_that_it_has(backend: Any, bias: float, expected: list[float] | None) -> None:
    desc, x = unary("ACTIVATION_SHRINK", "FLOAT32", (4,), Bias=bias, Threshold=1.5), np.array([-2, -1.5, 1, 3], np.float32)
    if expected is None:
        with pytest.raises(Unsupported, match="a bias of zero or of the threshold"):
            backend.compute(desc, {"InputTensor": x})
    else:
        assert backend.compute(desc, {"InputTensor": x})["OutputTensor"].tolist() == expected


def test_a_type_without_a_kernel_is_unsupported_and_named(backend: Any) -> None:
    ones = np.ones(2, np.uint32)
    with pytest.raises(Unsupported, match=r"torch has no such add: .* not implemented for 'UInt32'"):
        backend.compute(binary("ELEMENT_WISE_ADD", "UINT32", (2,)), {"ATensor": ones, "BTensor": ones})


def test_an_answer_in_another_type_is_unsupported(backend: Any) -> None:
    x, exponent = TensorDesc("INT32", (1,)), TensorDesc("FLOAT32", (1,))
    desc = OperatorDesc("ELEMENT_WISE_POW", {"InputTensor": x, "ExponentTensor": exponent, "OutputTensor": x, "ScaleBias": None})
    with pytest.raises(Unsupported, match="torch returns float32, but INT32 is required"):
        backend.compute(desc, {"InputTensor": np.array([2], np.int32), "ExponentTensor": np.array([3], np.float32)})


def test_integers_stay_integers_beside_a_float_attribute(backend: Any) -> None:
    x = np.array([-(2**62) - 1, 5], np.int64)
    answer = backend.compute(unary("ELEMENT_WISE_THRESHOLD", "INT64", (2,), Min=-(2.0**63)), {"InputTensor": x})["OutputTensor"]
    assert (answer == x).all()  # a float would have rounded the first


def test_truth_is_zero_and_one_of_the_output_s_type(backend: Any) -> None:
    a, b = np.array([1, 2, 3], np.float16), np.array([3, 2, 1], np.float16)
    answer = backend.compute(binary("ELEMENT_WISE_LOGICAL_LESS_THAN", "FLOAT16", (3,), "UINT32"), {"ATensor": a, "BTensor": b})
    assert (answer["OutputTensor"].dtype, answer["OutputTensor"].tolist()) == (np.uint32, [1, 0, 0])


def test_inputs_that_cannot_be_written_are_left_alone(backend: Any) -> None:
    a = np.broadcast_to(np.float32(2), (2, 3))
    answer = backend.compute(binary("ELEMENT_WISE_MULTIPLY", "FLOAT32", (2, 3)), {"ATensor": a, "BTensor": a})["OutputTensor"]
    assert (answer == 4).all()
    assert answer.shape == (2, 3)


def test_a_slope_for_every_element(backend: Any) -> None:
    tensor = TensorDesc("FLOAT32", (2, 2))
    desc = OperatorDesc("ACTIVATION_PARAMETERIZED_RELU", {"InputTensor": tensor, "SlopeTensor": tensor, "OutputTensor": tensor})
    inputs = {"InputTensor": np.array([[-1, -2], [3, -4]], np.float32), "SlopeTensor": np.array([[1, 2], [3, 0.5]], np.float32)}
    assert backend.compute(desc, inputs)["OutputTensor"].tolist() == [[-1, -4], [3, -2]]


def test_a_case_of_the_suite_passes(backend: Any) -> None:
    case = find_case("ELEMENT_WISE_BIT_OR/UINT8/4d")
    assert execute(case, backend, backend.describe()).status == "pass"
