"""Quantization by blocks, and with a scale that follows from the data: values worked out by hand."""

from typing import Any

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import reference_of
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import DOCUMENTED


def by_blocks(name: str, x: Any, types: tuple[str, str], *blocks: Any) -> Answer:
    """The answer for ``x`` of the first type; a scale, of the floating-point type, and a zero point, if any, of the other."""
    real, whole = types if name == "QUANTIZE" else types[::-1]
    arrays = [np.array(block, numpy_dtype(of)) for block, of in zip(blocks, (real, whole), strict=False)]
    array = np.array(x, numpy_dtype(types[0]))
    fields = {
        "InputTensor": TensorDesc(types[0], array.shape),
        "QuantizationTensors": tuple(TensorDesc(of, b.shape) for b, of in zip(arrays, (real, whole), strict=False)),
        "OutputTensor": TensorDesc(types[1], array.shape),
    }
    function = reference_of(name)
    assert function is not None
    inputs = {"InputTensor": array, **{f"QuantizationTensors[{index}]": block for index, block in enumerate(arrays)}}
    with np.errstate(all="ignore"):
        return function(np, OperatorDesc(name, fields), inputs)["OutputTensor"]


def test_a_scale_for_each_block_of_both_dimensions() -> None:
    found = by_blocks("QUANTIZE", np.arange(8).reshape(2, 4), ("FLOAT32", "INT8"), [[1, 2]], [[0, 10]])
    assert found.stored_value.tolist() == [[0, 1, 11, 12], [4, 5, 13, 14]]  # 3 / 2 and 7 / 2 to even


@pytest.mark.parametrize(
    ("data_type", "stored"), [("INT8", [-3, 0, 127]), ("UINT8", [125, 128, 255]), ("INT4", [-3, 0, 7]), ("UINT4", [5, 8, 15])]
)
def test_without_zero_point_the_middle(data_type: str, stored: list[int]) -> None:
    assert by_blocks("QUANTIZE", [-3, 0, 500], ("FLOAT16", data_type), [1]).stored_value.tolist() == stored


def test_nan_is_the_least_integer() -> None:
    assert by_blocks("QUANTIZE", [np.nan, 0], ("FLOAT32", "INT4"), [0], [3]).stored_value.tolist() == [-8, -8]


def test_dequantized() -> None:
    assert by_blocks("DEQUANTIZE", [0, 15, 8], ("UINT4", "FLOAT32"), [0.5, 1, 2]).value.tolist() == [-4, 7, 0]
    assert by_blocks("DEQUANTIZE", [-128, 127], ("INT8", "FLOAT32"), [2], [127]).value.tolist() == [-510, 0]


def dynamic(x: list[float], data_type: str) -> dict[str, Answer]:
    ones = TensorDesc(data_type, (1,))
    fields = {
        "InputTensor": TensorDesc("FLOAT32", (len(x),)),
        "OutputTensor": TensorDesc(data_type, (len(x),)),
        "OutputScaleTensor": TensorDesc("FLOAT32", (1,)),
        "OutputZeroPointTensor": ones,
    }
    function = reference_of("DYNAMIC_QUANTIZE_LINEAR")
    assert function is not None
    with np.errstate(all="ignore"):
        return function(np, OperatorDesc("DYNAMIC_QUANTIZE_LINEAR", fields), {"InputTensor": np.array(x, np.float32)})


@pytest.mark.parametrize(
    ("x", "data_type", "stored", "scale", "zero_point"),
    [
        ([-100, 0, 155], "UINT8", [0, 100, 255], 1, 100),
        ([51, 255], "INT8", [-77, 127], 1, -128),
        ([-255, -51], "UINT8", [0, 204], 1, 255),
        ([0, 0], "INT8", [-128, -128], 0, -128),
        ([510, 510, 510], "UINT8", [255, 255, 255], 2, 0),
        ([0, np.nan, 255], "UINT8", [0, 0, 255], 1, 0),
    ],
)
def test_dynamic(x: list[float], data_type: str, stored: list[int], scale: float, zero_point: int) -> None:
    found = dynamic(x, data_type)
    assert found["OutputTensor"].stored_value.tolist() == stored
    assert found["OutputScaleTensor"].value.tolist() == [scale]
    assert found["OutputZeroPointTensor"].stored_value.tolist() == [zero_point]


def test_the_formula_of_the_page_is_right_too() -> None:
    formula = {name: answer.contested[DOCUMENTED] for name, answer in dynamic([255, 510], "UINT8").items()}
    assert formula["OutputScaleTensor"].value.tolist() == [1]
    assert formula["OutputZeroPointTensor"].stored_value.tolist() == [0]  # 0 - 255 / 1, saturated
    assert formula["OutputTensor"].stored_value.tolist() == [255, 255]
    assert not dynamic([-1, 2], "UINT8")["OutputTensor"].contested


def test_beside_a_half_either_zero_point() -> None:
    answer = dynamic([-1, 1], "UINT8")["OutputZeroPointTensor"]  # 127.5, were the scale exact
    assert (answer.value - answer.slack).tolist() == [127]
    assert (answer.value + answer.slack).tolist() == [128]
