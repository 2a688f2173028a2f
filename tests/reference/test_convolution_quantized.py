"""Convolutions of 8-bit integers against exact fractions."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc

Array = np.ndarray
INF, NAN = math.inf, math.nan
KINDS = ("Scale", "ZeroPoint")


def answer(name: str, output: TensorDesc, tensors: dict[str, Array], **attributes: object) -> Answer:
    """The reference's answer for operator ``name``; ``tensors`` by name without Tensor, attributes as usual where not given."""
    inputs = {f"{key}Tensor": np.asarray(array) for key, array in tensors.items()}
    count = tensors["Input"].ndim - 2
    usual = {"DimensionCount": count, "Strides": (1,) * count, "Dilations": (1,) * count}
    usual |= {"StartPadding": (0,) * count, "EndPadding": (0,) * count, "GroupCount": 1}
    descs = {key: TensorDesc(str(array.dtype).upper(), array.shape) for key, array in inputs.items()}
    return compute(OperatorDesc(name, {**descs, "OutputTensor": output, **usual, **attributes}), inputs)["OutputTensor"]


def any_bytes(sizes: tuple[int, ...], dtype: type, seed: int) -> Array:
    return np.frombuffer(np.random.default_rng(seed).bytes(math.prod(sizes)), dtype).reshape(sizes)


def convolved(x: Array, w: Array, groups: int, strides: tuple, dilations: tuple, start: tuple, sizes: tuple) -> Array:
    """The convolution of integers, element by element."""
    out = np.zeros(sizes, object)
    inputs, outputs = x.shape[1] // groups, w.shape[0] // groups
    for at in np.ndindex(*sizes):
        group = at[1] // outputs
        for c, k in product(range(inputs), np.ndindex(*w.shape[2:])):
            place = [t * s + e * d - p for t, s, e, d, p in zip(at[2:], strides, k, dilations, start, strict=True)]
            if all(0 <= i < n for i, n in zip(place, x.shape[2:], strict=True)):
                out[at] += int(x[(at[0], group * inputs + c, *place)]) * int(w[(at[1], c, *k)])
    return out


LAYERS = [
    (1, 3, 2, (7,), (3,), (1,), (1,), (0,), (5,)),
    (2, 2, 1, (5, 6), (3, 2), (2, 1), (1, 2), (1, 1), (3, 6)),
    (3, 1, 2, (4, 4), (3, 3), (1, 1), (1, 1), (1, 2), (4, 5)),
]


@pytest.mark.parametrize("types", list(product((np.uint8, np.int8), repeat=2)))
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("points", ["none", "one", "each channel"])
def test_integers_less_their_zero_points(layer: tuple, types: tuple[type, type], points: str) -> None:
    groups, inputs, outputs, spatial, window, strides, dilations, start, out = layer
    x = any_bytes((2, groups * inputs, *spatial), types[0], 1)
    w = any_bytes((groups * outputs, inputs, *window), types[1], 2)
    tensors = {"Input": x, "Filter": w}
    lifted, weights = x.astype(int), w.astype(int)
    if points != "none":
        channels = groups * outputs if points == "each channel" else 1
        tensors["InputZeroPoint"] = any_bytes((1,), types[0], 3)
        tensors["FilterZeroPoint"] = any_bytes((1, channels, 1, 1)[: max(2, x.ndim - 1)], types[1], 4)
        lifted = lifted - int(tensors["InputZeroPoint"][0])
        weights = weights - tensors["FilterZeroPoint"].astype(int).reshape(-1, *(1 for _ in w.shape[1:]))
    sizes = (2, groups * outputs, *out)
    attributes = {"Strides": strides, "Dilations": dilations, "StartPadding": start, "GroupCount": groups}
    found = answer("CONVOLUTION_INTEGER", TensorDesc("INT32", sizes), tensors, **attributes).value
    assert found.dtype == np.int32
    assert np.array_equal(found, convolved(lifted, weights, groups, strides, dilations, start, sizes))


def test_integers_beyond_32_bits_wrap_around() -> None:
    full = np.full((1, 40000, 1), 255, np.uint8)
    found = answer("CONVOLUTION_INTEGER", TensorDesc("INT32", (1, 1, 1)), {"Input": full, "Filter": full})
    assert found.value == 40000 * 255 * 255 - 2**32


def quantized(output: str, x: Array, w: Array, **others: object) -> Answer:
    """QUANTIZED_LINEAR_CONVOLUTION of rows with one channel, all scales 1 where not given."""
    scales = {f"{name}Scale": np.ones(1, np.float32) for name in ("Input", "Filter", "Output")}
    tensors = {"Input": x.reshape(1, 1, -1), "Filter": w.reshape(1, 1, -1)} | scales | others
    sizes = (1, 1, x.size - w.size + 1)
    return answer("QUANTIZED_LINEAR_CONVOLUTION", TensorDesc(output, sizes), tensors)


def single(value: float) -> Array:
    return np.array([value], np.float32)


def int8(*values: int) -> Array:
    return np.array(values, np.int8)


@pytest.mark.parametrize(
    ("scale", "point", "output", "expected"),
    [
        (0.5, None, "INT8", [-2, -2, 0, 0, 2, 2, 4]),  # halves to even
        (0.5, 1, "INT8", [-1, -1, 1, 1, 3, 3, 5]),  # before the zero point, which is odd
        (-0.5, None, "INT8", [2, 2, 0, 0, -2, -2, -4]),
        (0.5, None, "UINT8", [0, 0, 0, 0, 2, 2, 4]),
        (100.0, 100, "INT8", [-128, -128, 0, 127, 127, 127, 127]),
        (INF, 5, "INT8", [-128, -128, -128, 127, 127, 127, 127]),
        (NAN, 5, "INT8", [5] * 7),
    ],
)
def test_rounding_saturation_and_what_is_no_number(scale: float, point: int | None, output: str, expected: list) -> None:
    points = {} if point is None else {"OutputZeroPoint": np.array([point], output.lower())}
    found = quantized(output, int8(-5, -3, -1, 1, 3, 5, 7), int8(1), InputScale=single(scale), **points)
    assert found.result.ravel().tolist() == expected
    assert found.result.dtype == np.dtype(output.lower())
    assert not found.slack.any()


@pytest.mark.parametrize("others", [{"InputScale": single(INF)}, {"OutputScale": single(0)}])
def test_zero_times_infinity_is_the_zero_point(others: dict) -> None:
    assert quantized("INT8", int8(0), int8(1), OutputZeroPoint=int8(5), **others).result == 5


def test_the_bias_is_in_units_of_both_scales() -> None:
    scales = {"InputScale": single(0.5), "FilterScale": np.array([1, 2, 4], np.float32).reshape(1, 3, 1), "OutputScale": single(2)}
    bias = np.array([10, 20, -30], np.int32).reshape(1, 3, 1)
    tensors = {"Input": int8(3).reshape(1, 1, 1), "Filter": int8(2, 2, 2).reshape(3, 1, 1), "Bias": bias, **scales}
    found = answer("QUANTIZED_LINEAR_CONVOLUTION", TensorDesc("INT8", (1, 3, 1)), tensors)
    assert found.result.ravel().tolist() == [4, 13, -24]


def test_every_zero_point_and_scale_has_its_place() -> None:
    x, w = any_bytes((2, 4, 5, 4), np.uint8, 1), any_bytes((6, 2, 3, 2), np.int8, 2)
    channels = np.random.default_rng(3).uniform(0.01, 0.1, 6).astype(np.float32)
    tensors = {
        "Input": x,
        "InputScale": single(0.03),
        "InputZeroPoint": np.array([[100]], np.uint8),
        "Filter": w,
        "FilterScale": channels.reshape(1, 6),
        "FilterZeroPoint": any_bytes((1, 6), np.int8, 4),
        "Bias": np.arange(-300, 300, 100, dtype=np.int32).reshape(1, 6, 1, 1),
        "OutputScale": single(0.7),
        "OutputZeroPoint": np.array([[[77]]], np.uint8),
    }
    attributes = {"Strides": (1, 2), "Dilations": (2, 1), "StartPadding": (1, 0), "GroupCount": 2}
    found = answer("QUANTIZED_LINEAR_CONVOLUTION", TensorDesc("UINT8", (2, 6, 3, 2)), tensors, **attributes)
    weights = w.astype(int) - tensors["FilterZeroPoint"].astype(int).reshape(6, 1, 1, 1)
    sums = convolved(x.astype(int) - 100, weights, 2, (1, 2), (2, 1), (1, 0), (2, 6, 3, 2))
    scale = Fraction(float(single(0.03)[0])) / Fraction(float(single(0.7)[0]))
    for at in np.ndindex(sums.shape):
        exact = (sums[at] + int(tensors["Bias"][0, at[1], 0, 0])) * scale * Fraction(float(channels[at[1]]))
        assert found.result[at] == min(max(round(exact) + 77, 0), 255)


def test_a_tie_may_go_either_way_where_scales_are_not_exact() -> None:
    found = quantized("INT8", int8(5), int8(1), InputScale=single(0.3), OutputScale=single(3))
    assert found.slack == 0.5  # 0.5, as far as FLOAT32 can tell
    assert found.value == 0.5
    assert quantized("INT8", int8(5), int8(1), InputScale=single(0.5), OutputScale=single(5)).slack == 0.5
    assert quantized("INT8", int8(5), int8(1), InputScale=single(0.5), OutputScale=single(4)).slack == 0


def test_a_long_sum_is_not_exact_in_float32() -> None:
    full = np.full(301, 255, np.uint8)
    found = quantized("INT8", full, full, Bias=np.array([[[-301 * 255 * 255]]], np.int32))
    assert found.result == 0
    assert found.slack > 1  # 2^24 and more, added and taken off again
