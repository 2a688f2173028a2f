"""Movement, filling and casting of elements: small literals, worked out by hand or taken from NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype
from dmlcts.spec.model.operator import MEASURED

Array = np.ndarray


def answer(operator: str, x: Array, sizes: tuple[int, ...], output: str = "", **attributes: object) -> Answer:
    """What the operator gives for one input."""
    name = x.dtype.name.upper()
    fields = {"InputTensor": TensorDesc(name, x.shape), "OutputTensor": TensorDesc(output or name, sizes), **attributes}
    return compute(OperatorDesc(operator, fields), {"InputTensor": x})["OutputTensor"]


def padded(x: list[int], mode: str, before: int, after: int) -> list[int]:
    found = answer(
        "PADDING",
        np.array(x, np.int32),
        (before + len(x) + after,),
        PaddingMode=mode,
        PaddingValue=9.75,
        DimensionCount=1,
        StartPadding=(before,),
        EndPadding=(after,),
    )
    return found.value.tolist()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("CONSTANT", [9, 9, 9, 9, 1, 2, 3, 9, 9]),
        ("EDGE", [1, 1, 1, 1, 1, 2, 3, 3, 3]),
        ("REFLECTION", [1, 2, 3, 2, 1, 2, 3, 2, 1]),
        ("SYMMETRIC", [3, 3, 2, 1, 1, 2, 3, 3, 2]),
        ("WRAP", [3, 1, 2, 3, 1, 2, 3, 1, 2]),
    ],
)
def test_padding_longer_than_the_input(mode: str, expected: list[int]) -> None:
    assert padded([1, 2, 3], mode, 4, 2) == expected


@pytest.mark.parametrize("mode", ["EDGE", "REFLECTION", "SYMMETRIC", "WRAP"])
def test_padding_of_a_single_element_repeats_it(mode: str) -> None:
    assert padded([7], mode, 3, 1) == [7] * 5


@pytest.mark.parametrize(
    ("mode", "numpy"), [("EDGE", "edge"), ("REFLECTION", "reflect"), ("SYMMETRIC", "symmetric"), ("WRAP", "wrap")]
)
def test_padding_in_several_dimensions_is_numpys(mode: str, numpy: str) -> None:
    x = np.arange(6, dtype=np.uint8).reshape(2, 3)
    attributes = {"PaddingMode": mode, "PaddingValue": 0.0, "DimensionCount": 2, "StartPadding": (3, 5), "EndPadding": (2, 7)}
    expected = np.pad(x, [(3, 2), (5, 7)], mode=numpy)  # type: ignore[call-overload]
    assert (answer("PADDING", x, (7, 15), **attributes).value == expected).all()


def test_padding_keeps_the_bits_of_nans_and_denormals() -> None:
    x = np.array([0x7F800001, 0xFFC01234, 0x00000001], np.uint32).view(np.float32)
    attributes = {"PaddingMode": "CONSTANT", "PaddingValue": -0.0, "DimensionCount": 1, "StartPadding": (1,), "EndPadding": (0,)}
    found = answer("PADDING", x, (4,), **attributes).value
    assert found.view(np.uint32).tolist() == [0x80000000, 0x7F800001, 0xFFC01234, 0x00000001]


@pytest.mark.parametrize(
    ("stride", "size", "expected"), [(1, 5, [2, 3, 4, 5, 6]), (2, 3, [2, 4, 6]), (-2, 3, [6, 4, 2]), (-3, 2, [6, 3]), (-3, 1, [6])]
)
def test_window_from_either_end(stride: int, size: int, expected: list[int]) -> None:
    attributes = {"DimensionCount": 1, "InputWindowOffsets": (2,), "InputWindowSizes": (5,), "InputWindowStrides": (stride,)}
    assert answer("SLICE1", np.arange(8), (size,), **attributes).value.tolist() == expected


def test_slice_goes_by_the_outputs_sizes() -> None:
    x = np.arange(12, dtype=np.int16).reshape(3, 4)
    found = answer("SLICE", x, (2, 2), DimensionCount=2, Offsets=(1, 0), Sizes=(2, 2), Strides=(1, 3))
    assert found.value.tolist() == [[4, 7], [8, 11]]


@pytest.mark.parametrize(("order", "expected"), [("DEPTH_COLUMN_ROW", [[0, 2], [4, 6]]), ("COLUMN_ROW_DEPTH", [[0, 1], [2, 3]])])
def test_first_channel_of_blocks(order: str, expected: list[list[int]]) -> None:
    x = np.arange(8).reshape(1, 8, 1, 1)
    space = answer("DEPTH_TO_SPACE1", x, (1, 2, 2, 2), BlockSize=2, Order=order).value
    assert space[0, 0].tolist() == expected
    assert (answer("SPACE_TO_DEPTH1", space, x.shape, BlockSize=2, Order=order).value == x).all()


def reversed_part(lengths: list[int]) -> Answer:
    x = np.tile(np.arange(1, 5), (len(lengths), 1))
    fields = {
        "InputTensor": TensorDesc("INT64", x.shape),
        "SequenceLengthsTensor": TensorDesc("UINT64", (len(lengths), 1)),
        "OutputTensor": TensorDesc("INT64", x.shape),
        "Axis": 1,
    }
    inputs = {"InputTensor": x, "SequenceLengthsTensor": np.array(lengths, np.uint64)[:, None]}
    return compute(OperatorDesc("REVERSE_SUBSEQUENCES", fields), inputs)["OutputTensor"]


def test_reversed_first_elements() -> None:
    found = reversed_part([0, 1, 2, 4])
    assert found.value.tolist() == [[1, 2, 3, 4], [1, 2, 3, 4], [2, 1, 3, 4], [4, 3, 2, 1]]
    assert not found.contested


def test_lengths_beyond_the_axis_are_contested() -> None:
    found = reversed_part([3, 5, 6, 2**64 - 1])
    assert found.value.tolist() == [[3, 2, 1, 4], [4, 3, 2, 1], [4, 3, 2, 1], [4, 3, 2, 1]]
    assert found.contested[MEASURED].value.tolist() == [[3, 2, 1, 4], [4, 4, 3, 2], [4, 4, 4, 3], [4, 4, 4, 4]]


def filled(operator: str, name: str, sizes: tuple[int, ...], **attributes: object) -> Answer:
    desc = OperatorDesc(operator, {"OutputTensor": TensorDesc(name, sizes), "ValueDataType": name, **attributes})
    return compute(desc, {})["OutputTensor"]


def test_sequences_wrap_around() -> None:
    assert filled("FILL_VALUE_SEQUENCE", "UINT8", (2, 2), ValueStart=10, ValueDelta=254).value.tolist() == [[10, 8], [6, 4]]
    assert filled("FILL_VALUE_SEQUENCE", "INT64", (2,), ValueStart=2**63 - 1, ValueDelta=1).value.tolist() == [2**63 - 1, -(2**63)]


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        (0, 1, [[5, 0, 0], [0, 5, 0]]),
        (-1, 1, [[5, 0, 0], [5, 5, 0]]),
        (1, -(2**31), [[0, 5, 5], [0, 0, 5]]),
        (2, 0, [[0, 0, 5], [5, 0, 0]]),
        (1, 1, [[0, 0, 0], [0, 0, 0]]),
    ],
)
def test_diagonals(begin: int, end: int, expected: list[list[int]]) -> None:
    found = filled("DIAGONAL_MATRIX1", "INT8", (2, 3), Value=5, DiagonalFillBegin=begin, DiagonalFillEnd=end)
    assert found.value.tolist() == expected


def cast(values: list[float], source: str, target: str) -> Answer:
    return answer("CAST", np.array(values, numpy_dtype(source)), (len(values),), target)


@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        ("FLOAT32", "INT8", [1.9, -1.9, 127.9, 128, -129, np.nan, np.inf, -np.inf], [1, -1, 127, 127, -128, 0, 127, -128]),
        ("FLOAT32", "UINT32", [-1, -0.5, 4294967040, 2.0**32, np.nan], [0, 0, 4294967040, 4294967295, 0]),
        ("FLOAT64", "INT32", [2147483646.9, 2147483647.5, -2147483648.5], [2147483646, 2147483647, -2147483648]),
        ("INT32", "UINT8", [-1, 255, 256, 300], [255, 255, 255, 255]),
        ("INT16", "INT8", [-129, 128, -128], [-128, 127, -128]),
        ("INT64", "INT16", [2**31, 2**32 + 300, -(2**31) - 1], [-32768, 300, 32767]),  # by the lower 32 bits
        ("INT64", "INT32", [2**31, 2**32 + 300], [-(2**31), 300]),
        ("INT8", "UINT64", [-1], [2**64 - 1]),
    ],
)
def test_cast_to_integers(source: str, target: str, values: list[float], expected: list[int]) -> None:
    assert cast(values, source, target).value.tolist() == expected


def test_cast_beyond_32_bits_is_contested() -> None:
    found = cast([2.0**40, -(2.0**40), -5.5], "FLOAT32", "INT64")
    assert found.value.tolist() == [2**40, -(2**40), -5]
    assert found.contested[MEASURED].value.tolist() == [2**63 - 1, -(2**31), -5]
    assert not cast([2.0**31 - 128, -(2.0**31)], "FLOAT32", "INT64").contested


def test_cast_to_floats_is_left_to_the_judge() -> None:
    assert cast([2**53 + 1], "INT64", "FLOAT32").value.tolist() == [2**53 + 1]
    assert cast([0.1], "FLOAT64", "FLOAT16").value.tolist() == [0.1]


def test_a_part_of_rows_that_a_window_takes_whole_is_contested() -> None:
    attributes = {"DimensionCount": 2, "InputWindowOffsets": (1, 0), "InputWindowSizes": (2, 4), "InputWindowStrides": (1, 1)}
    x = np.arange(12).reshape(3, 4)
    found = answer("SLICE1", x, (2, 2), **attributes)
    assert found.value.tolist() == [[4, 5], [8, 9]]
    assert found.contested[MEASURED].value.tolist() == [[4, 5], [6, 7]]
    assert not answer("SLICE1", x, (1, 4), **attributes).contested
    assert not answer("SLICE1", x, (2, 2), **{**attributes, "InputWindowStrides": (1, -1)}).contested
