"""Tensors in buffers: where each element of each type lies, and that nothing else is touched."""

import ml_dtypes
import numpy as np
import pytest

from dmlcts.conformance.backends.buffers import element_bytes, read_tensor, write_tensor
from dmlcts.generator.case.case import Data
from dmlcts.generator.case.inputs import array
from dmlcts.generator.values.layouts import INPUT_LAYOUTS, OUTPUT_LAYOUTS, laid_out
from dmlcts.spec.model.abi import abi, data_type
from dmlcts.spec.model.desc import TensorDesc
from dmlcts.spec.model.dtypes import numpy_dtype

TYPES = tuple(abi().data_types)
SHAPES = [(1,), (5,), (2, 3), (3, 1, 2), (2, 3, 4, 5), (2, 3, 1, 5, 1, 2, 3, 1)]


def buffer(desc: TensorDesc, before: int = 0, after: int = 0, fill: int = 0xEE) -> np.ndarray:
    return np.full(before + desc.bytes + after, fill, np.uint8)


# Packing


@pytest.mark.parametrize(
    ("desc", "values", "expected"),
    [
        (TensorDesc("UINT4", (5,)), [1, 2, 3, 4, 5], "21 43 e5 ee"),
        (TensorDesc("INT4", (4,)), [-8, -1, 0, 7], "f8 70 ee ee"),
        (TensorDesc("UINT4", (3,), (2,)), [1, 2, 3], "e1 e2 e3 ee"),
        (TensorDesc("UINT4", (3,), (3,)), [1, 2, 3], "e1 2e ee e3"),
        (TensorDesc("UINT8", (3,)), [1, 2, 255], "01 02 ff ee"),
        (TensorDesc("INT8", (2,), (2,)), [-1, -128], "ff ee 80 ee"),
        (TensorDesc("UINT16", (2,)), [0x0102, 0xFFFE], "02 01 fe ff"),
        (TensorDesc("FLOAT16", (2,)), [1.0, -2.0], "00 3c 00 c0"),
        (TensorDesc("UINT32", (2,), (2,)), [0x01020304, 5], "04 03 02 01 ee ee ee ee 05 00 00 00"),
        (TensorDesc("FLOAT32", (1,)), [-0.0], "00 00 00 80"),
        (TensorDesc("INT64", (1,)), [-2], "fe ff ff ff ff ff ff ff"),
        (TensorDesc("FLOAT64", (1,)), [1.0], "00 00 00 00 00 00 f0 3f"),
        (TensorDesc("UINT8", (2, 3), (1, 2)), [[1, 2, 3], [4, 5, 6]], "01 04 02 05 03 06 ee ee"),
        (TensorDesc("UINT8", (2, 3), (4, 1)), [[1, 2, 3], [4, 5, 6]], "01 02 03 ee 04 05 06 ee"),
    ],
)
def test_where_elements_lie(desc: TensorDesc, values: list[float], expected: str) -> None:
    values_array = np.array(values).astype(numpy_dtype(desc.data_type))
    found = buffer(desc)
    write_tensor(found, desc, values_array)
    assert found.tobytes().hex(" ") == expected
    assert read_tensor(found, desc).tolist() == values


def test_two_elements_of_four_bits_share_a_byte_the_first_in_the_low_half() -> None:
    desc = TensorDesc("UINT4", (5,))
    found = np.zeros(desc.bytes, np.uint8)
    write_tensor(found, desc, np.array([1, 2, 3, 4, 5], ml_dtypes.uint4))
    assert found[:3].tobytes().hex(" ") == "21 43 05"
    assert desc.bytes == 4


@pytest.mark.parametrize("layout", OUTPUT_LAYOUTS)
@pytest.mark.parametrize("name", TYPES)
def test_what_is_written_is_read_back_and_the_rest_is_left(name: str, layout: str) -> None:
    for sizes in SHAPES:
        desc = laid_out(TensorDesc(name, sizes), layout)
        values = array(Data("any-bits"), TensorDesc(name, sizes), "buffers")
        whole = buffer(desc, 32, 16)
        write_tensor(whole, desc, values, 32)
        found = read_tensor(whole, desc, 32)
        assert found.tobytes() == values.tobytes()
        assert found.shape == sizes
        assert (whole[:32] == 0xEE).all()
        assert (whole[-16:] == 0xEE).all()
        gaps = whole[32:-16][~element_bytes(desc)]
        assert (gaps == 0xEE).all()


@pytest.mark.parametrize("name", TYPES)
def test_reading_by_hand_agrees(name: str) -> None:
    """Every element where sum(index * stride) says, in bits."""
    width = data_type(name).bits
    desc = laid_out(TensorDesc(name, (2, 3, 4)), "padded-rows")
    raw = np.random.default_rng(7).integers(0, 256, desc.bytes, np.uint8)
    number = int.from_bytes(raw.tobytes(), "little")
    found = read_tensor(raw, desc)
    for index in np.ndindex(desc.sizes):
        at = width * sum(i * stride for i, stride in zip(index, desc.effective_strides, strict=True))
        expected = (number >> at) & ((1 << width) - 1)
        bits = int.from_bytes(found[index].tobytes(), "little") & ((1 << width) - 1)
        assert bits == expected


@pytest.mark.parametrize("layout", ["broadcast-last", "broadcast-all"])
@pytest.mark.parametrize("name", ["UINT4", "UINT8", "FLOAT32"])
def test_broadcasts_are_read_as_repeated_elements(name: str, layout: str) -> None:
    desc = laid_out(TensorDesc(name, (2, 3)), layout)
    whole = np.zeros(desc.bytes, np.uint8)
    values = np.array([[1, 1, 1], [2, 2, 2]]) if layout == "broadcast-last" else np.full((2, 3), 3)
    write_tensor(whole, desc, values.astype(numpy_dtype(name)))
    assert read_tensor(whole, desc).tolist() == values.tolist()
    assert element_bytes(desc).sum() == {"UINT4": 1, "UINT8": 1, "FLOAT32": 4}[name] * (
        2 if layout == "broadcast-last" and name != "UINT4" else 1
    )


def test_in_one_place_the_last_element_stays() -> None:
    desc = TensorDesc("UINT8", (3,), (0,))
    whole = np.zeros(4, np.uint8)
    write_tensor(whole, desc, np.array([1, 2, 3], np.uint8))
    assert whole.tolist() == [3, 0, 0, 0]


def test_what_is_read_is_a_copy() -> None:
    desc = TensorDesc("UINT8", (4,))
    whole = np.zeros(4, np.uint8)
    read_tensor(whole, desc)[...] = 9
    assert whole.tolist() == [0, 0, 0, 0]
    nibbles = TensorDesc("UINT4", (4,))
    read_tensor(whole, nibbles)[...] = 9
    assert whole.tolist() == [0, 0, 0, 0]


def test_bits_of_a_signalling_nan_are_kept() -> None:
    desc = TensorDesc("FLOAT32", (1,))
    raw = np.frombuffer(bytes.fromhex("010080ff"), np.uint8).copy()
    again = np.zeros(4, np.uint8)
    write_tensor(again, desc, read_tensor(raw, desc))
    assert again.tobytes() == raw.tobytes()


# Which bytes are elements


@pytest.mark.parametrize(
    ("desc", "expected"),
    [
        (TensorDesc("UINT8", (3,)), "1110"),
        (TensorDesc("UINT8", (2, 2), (3, 1)), "11011000"),
        (TensorDesc("UINT16", (2,), (2,)), "11001100"),
        (TensorDesc("FLOAT32", (2,), (0,)), "1111"),
        (TensorDesc("UINT4", (3,)), "1100"),
        (TensorDesc("UINT4", (2,), (4,)), "1010"),
        (TensorDesc("UINT8", (2,), total_size=12), "110000000000"),
    ],
)
def test_element_bytes(desc: TensorDesc, expected: str) -> None:
    assert "".join("1" if used else "0" for used in element_bytes(desc)) == expected


@pytest.mark.parametrize("layout", INPUT_LAYOUTS)
@pytest.mark.parametrize("name", TYPES)
def test_element_bytes_are_those_that_writing_changes(name: str, layout: str) -> None:
    desc = laid_out(TensorDesc(name, (2, 3, 5)), layout)
    zeros, ones = np.zeros(desc.bytes, np.uint8), np.zeros(desc.bytes, np.uint8)
    write_tensor(zeros, desc, np.zeros(desc.sizes, numpy_dtype(name)))
    pattern = np.full(desc.count * numpy_dtype(name).itemsize, 0x55 if data_type(name).bits >= 8 else 5, np.uint8)
    write_tensor(ones, desc, pattern.view(numpy_dtype(name)).reshape(desc.sizes))
    assert ((zeros != ones) == element_bytes(desc)).all()


# Too small


@pytest.mark.parametrize(
    ("desc", "size", "offset"),
    [
        (TensorDesc("UINT32", (3,)), 11, 0),
        (TensorDesc("UINT32", (3,)), 12, 4),
        (TensorDesc("UINT32", (3,)), 12, 16),
        (TensorDesc("UINT32", (3,)), 16, -4),
        (TensorDesc("UINT8", (2, 3), (4, 1)), 6, 0),
        (TensorDesc("UINT8", (2, 3), (0, 1)), 2, 0),
        (TensorDesc("UINT4", (5,)), 2, 0),
        (TensorDesc("UINT4", (5,)), 4, 2),
        (TensorDesc("UINT4", (5,)), 4, 5),
        (TensorDesc("UINT4", (5,)), 4, -1),
        (TensorDesc("UINT4", (3,), (4,)), 4, 0),
    ],
)
def test_a_buffer_that_is_too_small_is_a_value_error(desc: TensorDesc, size: int, offset: int) -> None:
    whole = np.zeros(size, np.uint8)
    with pytest.raises(ValueError, match="the buffer is too small"):
        read_tensor(whole, desc, offset)
    with pytest.raises(ValueError, match="the buffer is too small"):
        write_tensor(whole, desc, np.zeros(desc.sizes, numpy_dtype(desc.data_type)), offset)
    assert not whole.any()


@pytest.mark.parametrize(("desc", "size"), [(TensorDesc("UINT32", (3,)), 12), (TensorDesc("UINT4", (5,)), 3)])
def test_a_buffer_that_just_holds_the_elements_is_enough(desc: TensorDesc, size: int) -> None:
    assert read_tensor(np.zeros(size, np.uint8), desc).shape == desc.sizes


def test_an_array_of_other_sizes_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        write_tensor(np.zeros(16, np.uint8), TensorDesc("UINT8", (4,)), np.zeros(5, np.uint8))
