"""Pooling of quantized numbers and of regions, and unpooling, against loops, element by element."""

import math
from itertools import product

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, Size2D, TensorDesc

Array = np.ndarray
Row = tuple[int, ...]
INF, NAN = math.inf, math.nan


def tensor(x: Array) -> TensorDesc:
    return TensorDesc(x.dtype.name.upper(), x.shape)


# Quantized averages


def quantized(x: Array, window: Row, parameters: dict[str, Array], **attributes: object) -> Answer:
    fields: dict[str, object] = {"Strides": (1, 1), "StartPadding": (0, 0), "EndPadding": (0, 0), "Dilations": (1, 1), **attributes}
    rows = (x.shape[2:], fields["StartPadding"], fields["EndPadding"], window, fields["Strides"], fields["Dilations"])
    out = tuple((s + a + b - (w - 1) * d - 1) // t + 1 for s, a, b, w, t, d in zip(*rows, strict=True))  # type: ignore[call-overload]
    tensors: dict[str, object] = {"InputTensor": tensor(x), **{name: tensor(value) for name, value in parameters.items()}}
    tensors["OutputTensor"] = TensorDesc(x.dtype.name.upper(), (*x.shape[:2], *out))
    fields = {"DimensionCount": 2, "WindowSize": window, "IncludePadding": False, **fields}
    desc = OperatorDesc("QUANTIZED_LINEAR_AVERAGE_POOLING", tensors | fields)
    return compute(desc, {"InputTensor": x, **parameters})["OutputTensor"]


def scale(*values: float) -> Array:
    return np.array(values, np.float32).reshape(1, -1, 1, 1)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("counted", [False, True])
def test_quantized_average(dtype: type, counted: bool) -> None:
    limits = np.iinfo(dtype)
    random = np.random.default_rng(5)
    x = random.integers(limits.min, limits.max, (2, 3, 4, 5), dtype, endpoint=True)
    scales, out_scales = random.uniform(0.3, 2, (2, 1, 3, 1, 1)).astype(np.float32)
    points, out_points = random.integers(0, 9, (2, 1, 3, 1, 1)).astype(dtype)
    answer = quantized(
        x,
        (2, 3),
        {
            "InputScaleTensor": scales,
            "InputZeroPointTensor": points,
            "OutputScaleTensor": out_scales,
            "OutputZeroPointTensor": out_points,
        },
        StartPadding=(1, 1),
        EndPadding=(0, 2),
        Strides=(2, 1),
        IncludePadding=counted,
    )
    for n, c, y, column in product(*map(range, answer.value.shape)):
        places = [(2 * y - 1 + i, column - 1 + j) for i in range(2) for j in range(3)]
        held = [(int(x[n, c, i, j]) - int(points[0, c, 0, 0])) for i, j in places if 0 <= i < 4 and 0 <= j < 5]
        real = sum(held) * float(scales[0, c, 0, 0]) / (6 if counted else len(held)) / float(out_scales[0, c, 0, 0])
        expected = min(max(round(real) + int(out_points[0, c, 0, 0]), limits.min), limits.max)
        assert answer.result is not None
        assert answer.result[n, c, y, column] == expected
        if abs(real % 1 - 0.5) > 1e-3:
            assert answer.slack[n, c, y, column] == 0
            assert answer.value[n, c, y, column] == expected


def test_halves_go_to_even_before_the_zero_point_where_nothing_else_rounds() -> None:
    x = np.array([0, 1, 2, 3, 4], np.uint8).reshape(1, 1, 1, 5)
    parameters = {
        "InputScaleTensor": scale(0.5),
        "OutputScaleTensor": scale(0.5),
        "OutputZeroPointTensor": np.full((1, 1, 1, 1), 3, np.uint8),
    }
    answer = quantized(x, (1, 2), parameters)
    assert answer.value.ravel().tolist() == [3, 5, 5, 7]
    assert not answer.slack.any()
    inexact = quantized(x, (1, 2), {**parameters, "InputScaleTensor": scale(0.7), "OutputScaleTensor": scale(0.7)})
    assert inexact.slack.ravel().tolist() == [0.5] * 4  # either way
    beside = quantized(x, (1, 2), {**parameters, "InputScaleTensor": scale(0.7)})
    assert beside.slack.ravel().tolist() == [0, 0, 0.5, 0]  # 5 / 2 * 0.7 / 0.5 is 3.5


def test_a_quantized_window_of_padding_is_defined_where_padding_counts() -> None:
    x = np.array([[[[9]]]], np.int8)
    parameters = {
        "InputScaleTensor": scale(1),
        "OutputScaleTensor": scale(1),
        "OutputZeroPointTensor": np.full((1, 1, 1, 1), 5, np.int8),
    }
    for counted in (False, True):
        answer = quantized(x, (1, 1), parameters, StartPadding=(0, 1), IncludePadding=counted)
        assert answer.defined.ravel().tolist() == [counted, True]
        assert answer.result is not None
        assert answer.result.ravel().tolist()[1 - counted :] == [5, 14][1 - counted :]


# Unpooling


def unpooled(x: Array, indices: Array, sizes: Row) -> Answer:
    desc = OperatorDesc(
        "MAX_UNPOOLING",
        {"InputTensor": tensor(x), "IndicesTensor": tensor(indices), "OutputTensor": TensorDesc(x.dtype.name.upper(), sizes)},
    )
    return compute(desc, {"InputTensor": x, "IndicesTensor": indices})["OutputTensor"]


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_unpooling(dtype: type) -> None:
    x = np.arange(1, 7, dtype=np.float32).reshape(1, 2, 1, 3)
    answer = unpooled(x, np.array([7, 0, 3, 11, 2, 5], dtype).reshape(x.shape), (1, 2, 2, 3))
    assert answer.value.ravel().tolist() == [2, 0, 5, 3, 0, 6, 0, 1, 0, 0, 0, 4]
    assert answer.defined.all()
    assert answer.value.dtype == np.float32


def test_indices_beyond_the_output_write_nothing_and_duplicates_are_not_defined() -> None:
    x = np.arange(1, 6, dtype=np.int8).reshape(1, 1, 1, 5)
    answer = unpooled(x, np.array([4, 1, 1, 2**32 + 3, 2**64 - 1], np.uint64).reshape(x.shape), (1, 1, 1, 4))
    assert answer.defined.ravel().tolist() == [True, False, True, True]
    assert answer.value.ravel()[[0, 2, 3]].tolist() == [0, 0, 0]


# Regions of interest


def pooled(x: Array, regions: list[list[float]], size: tuple[int, int], spatial: float = 1) -> Answer:
    """``size`` is height and width."""
    rows = np.array(regions, x.dtype).reshape(1, 1, -1, 5)
    sizes = (rows.shape[2], x.shape[1], *size)
    fields = {"InputTensor": tensor(x), "ROITensor": tensor(rows), "OutputTensor": TensorDesc(x.dtype.name.upper(), sizes)}
    desc = OperatorDesc("ROI_POOLING", {**fields, "SpatialScale": spatial, "PooledSize": Size2D(size[1], size[0])})
    return compute(desc, {"InputTensor": x, "ROITensor": rows})["OutputTensor"]


def bounds(o: int, first: int, last: int, count: int, size: int) -> range:
    length = last - first + 1
    start = math.floor(o * length / count) + first
    end = math.ceil((o + 1) * length / count) + first
    return range(min(max(start, 0), size), min(max(end, 0), size))


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (7, 5)])
@pytest.mark.parametrize("spatial", [1, 0.25, 1.7])
def test_regions(size: tuple[int, int], spatial: float) -> None:
    random = np.random.default_rng(9)
    x = -random.permutation(2 * 2 * 6 * 7).reshape(2, 2, 6, 7).astype(np.float32) - 1
    corners = np.sort(random.uniform(-3, 9, (6, 2, 2)), axis=1) / spatial
    regions = [[k % 2, *corners[k].ravel().tolist()] for k in range(6)]
    answer = pooled(x, regions, size, spatial)
    for k, c, y, column in product(range(6), range(2), range(size[0]), range(size[1])):
        x1, y1, x2, y2 = (round(float(np.float32(v) * np.float32(spatial))) for v in regions[k][1:])
        rows, columns = bounds(y, y1, y2, size[0], 6), bounds(column, x1, x2, size[1], 7)
        values = [x[k % 2, c, i, j] for i in rows for j in columns]
        assert answer.defined[k, c, y, column] == bool(values)
        assert answer.value[k, c, y, column] == max(values, default=0)


def test_coordinates_are_rounded_half_to_even_after_a_product_in_float32() -> None:
    x = -np.arange(1, 7, dtype=np.float32).reshape(1, 1, 1, 6)
    ties = pooled(x, [[0, v, 0, v, 0] for v in (0.5, 1.5, 2.5, 3.5, -0.5)], (1, 1))
    assert ties.value.ravel().tolist() == [-1, -3, -3, -5, -1]
    assert ties.defined.all()
    beside = pooled(x, [[0, v, 0, v, 0] for v in (5, 35, 12)], (1, 1), 0.1)  # 5 * 0.1 rounds to 0.5 in FLOAT32
    assert beside.value.ravel().tolist() == [-1, -5, -2]
    assert beside.defined.ravel().tolist() == [False, False, True]


@pytest.mark.parametrize(
    "region",
    [
        [1, 0, 0, 0, 0],
        [-1, 0, 0, 0, 0],
        [0.5, 0, 0, 0, 0],
        [0, 2, 0, 1, 0],
        [0, 0, 1, 0, 0],
        [NAN, 0, 0, 0, 0],
        [0, NAN, 0, 1, 0],
        [0, 0, 0, INF, 0],
    ],
)
def test_invalid_regions_are_not_defined(region: list[float]) -> None:
    x = np.ones((1, 1, 3, 3), np.float32)
    assert not pooled(x, [region], (2, 2)).defined.any()


def test_nan_and_infinity_in_a_bin() -> None:
    x = np.array([NAN, NAN, -3, -INF, -INF, 4], np.float32).reshape(1, 1, 1, 6)
    answer = pooled(x, [[0, first, 0, first + 1, 0] for first in range(5)], (1, 1))
    assert answer.defined.ravel().tolist() == [False, True, True, False, True]
    assert answer.value.ravel()[[1, 2, 4]].tolist() == [-3, -3, 4]
