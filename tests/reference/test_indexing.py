"""Gathers, scatters, top-k, one-hot and coordinates against loops, element by element, and against small literals."""

from itertools import product

import numpy as np
import pytest

from dmlcts.reference.answer import Answer
from dmlcts.reference.registry import compute
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.reading.loader import load

Array = np.ndarray


def answers(
    name: str, outputs: dict[str, tuple[str, tuple[int, ...]]], inputs: dict[str, Array], **attributes: object
) -> dict[str, Answer]:
    given: dict[str, object] = {key: TensorDesc(x.dtype.name.upper(), x.shape) for key, x in inputs.items()}
    given |= {key: TensorDesc(*entry) for key, entry in outputs.items()} | attributes
    return compute(OperatorDesc(name, {field.name: given[field.name] for field in load(name).fields}), inputs)


def gathered(name: str, sizes: tuple[int, ...], x: Array, indices: Array, **attributes: object) -> Array:
    inputs = {"InputTensor": x, "IndicesTensor": indices}
    return answers(name, {"OutputTensor": (x.dtype.name.upper(), sizes)}, inputs, **attributes)["OutputTensor"].value


def scattered(name: str, x: Array, indices: Array, updates: Array, **attributes: object) -> Answer:
    inputs = {"InputTensor": x, "IndicesTensor": indices, "UpdatesTensor": updates}
    return answers(name, {"OutputTensor": (x.dtype.name.upper(), x.shape)}, inputs, **attributes)["OutputTensor"]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_gather_elements_and_scatter_undo_each_other(axis: int) -> None:
    random = np.random.default_rng(1)
    x = random.integers(0, 99, (3, 4, 5)).astype(np.int32)
    indices = np.argsort(random.random(x.shape), axis=axis)
    indices[0] -= x.shape[axis]  # some from the end
    found = gathered("GATHER_ELEMENTS", x.shape, x, indices, Axis=axis)
    for at in product(*map(range, x.shape)):
        place = list(at)
        place[axis] = int(indices[at]) % x.shape[axis]
        assert found[at] == x[tuple(place)]
    back = scattered("SCATTER", np.zeros_like(x), indices, found, Axis=axis)
    assert (back.value == x).all()
    assert np.all(back.defined)


def test_gather_puts_the_index_dimensions_in_the_place_of_the_axis() -> None:
    x = np.arange(24, dtype=np.uint8).reshape(1, 2, 3, 4)
    indices = np.array([[[[2, 0], [1, 1]]]], np.uint32)
    found = gathered("GATHER", (2, 2, 2, 4), x, indices, Axis=2, IndexDimensions=2)
    assert (found == x[0][:, [[2, 0], [1, 1]]]).all()
    assert (gathered("GATHER", (1, 1, 2, 4), x, indices[..., :1, :1], Axis=2, IndexDimensions=0) == x[:, :, 2]).all()


@pytest.mark.parametrize(
    ("batch", "length", "sizes"),
    [(0, 1, (1, 2, 3, 3, 4)), (0, 3, (1, 1, 1, 2, 3)), (1, 1, (1, 1, 2, 3, 4)), (1, 2, (1, 1, 1, 2, 3))],
)
def test_gather_nd(batch: int, length: int, sizes: tuple[int, ...]) -> None:
    x = np.arange(24, dtype=np.int16).reshape(1, 1, 2, 3, 4)
    indices = np.random.default_rng(2).integers(-2, 2, (1, 1, 2, 3, length)).astype(np.int64)
    found = gathered(
        "GATHER_ND1", sizes, x, indices, InputDimensionCount=3, IndicesDimensionCount=3, BatchDimensionCount=batch
    ).reshape(2, 3, -1)
    for i, j in product(range(2), range(3)):
        at = ((i,) if batch else ()) + tuple(indices[0, 0, i, j])
        assert found[i, j].tolist() == x[0, 0][at].ravel().tolist()


def test_scatter_nd_writes_slices() -> None:
    x = np.zeros((3, 2), np.float32)
    updates = np.array([[1, 2], [3, 4]], np.float32)
    found = scattered("SCATTER_ND", x, np.array([[2], [-3]], np.int32), updates, InputDimensionCount=2, IndicesDimensionCount=2)
    assert found.value.tolist() == [[3, 4], [0, 0], [1, 2]]


@pytest.mark.parametrize(
    ("indices", "defined", "value"),
    [([3, 1, 3, 0], [1, 1, 1, 0, 1], [8, 6, 2, None, 4]), ([5, -6, 2, 2], [1, 1, 0, 1, 1], [0, 1, None, 3, 4])],
)
def test_only_what_is_written_once_is_defined(indices: list[int], defined: list[int], value: list[int | None]) -> None:
    x, updates = np.arange(5, dtype=np.float32), np.array([5, 6, 7, 8], np.float32)
    for name, given, attributes in (
        ("SCATTER", np.array(indices), {"Axis": 0}),
        ("SCATTER_ND", np.array(indices)[:, None], {"InputDimensionCount": 1, "IndicesDimensionCount": 2}),
    ):
        found = scattered(name, x, given, updates, **attributes)
        assert np.asarray(found.defined).tolist() == [bool(each) for each in defined]
        assert all(want is None or got == want for got, want in zip(found.value.tolist(), value, strict=True))


def test_bits_survive() -> None:
    bits = np.array([0x7F800001, 0xFFC12345, 1, 0x80000000], np.uint32)
    found = gathered("GATHER", (4,), bits.view(np.float32), np.arange(4, dtype=np.uint32), Axis=0, IndexDimensions=1)
    assert found.view(np.uint32).tolist() == bits.tolist()
    put = scattered("SCATTER", np.zeros(4, np.float32), np.arange(4), bits.view(np.float32), Axis=0)
    assert put.value.view(np.uint32).tolist() == bits.tolist()


def top(x: Array, k: int, direction: str) -> tuple[Answer, Answer]:
    sizes = (*x.shape[:-1], k)
    outputs = {"OutputValueTensor": (x.dtype.name.upper(), sizes), "OutputIndexTensor": ("UINT32", sizes)}
    found = answers("TOP_K1", outputs, {"InputTensor": x}, Axis=x.ndim - 1, K=k, AxisDirection=direction)
    return found["OutputValueTensor"], found["OutputIndexTensor"]


def test_equal_elements_come_in_their_order_in_either_direction() -> None:
    x = np.array([[2, 3, 2, 3, 1]], np.int8)
    assert [each.value.tolist() for each in top(x, 4, "DECREASING")] == [[[3, 3, 2, 2]], [[1, 3, 0, 2]]]
    assert [each.value.tolist() for each in top(x, 4, "INCREASING")] == [[[1, 2, 2, 3]], [[4, 0, 2, 1]]]


def test_a_row_with_nan_is_not_defined() -> None:
    x = np.array([[1, np.nan], [1, 2]], np.float32)
    assert [np.asarray(each.defined).tolist() for each in top(x, 1, "DECREASING")] == [[[False], [True]]] * 2


def test_denormals_may_compare_as_zeros_and_are_copied() -> None:
    x = np.array([[0, 1e-40, -1e-40]], np.float32)
    values, indices = top(x, 2, "DECREASING")
    assert indices.value.tolist() == [[1, 0]]
    assert indices.contested["measured"].value.tolist() == [[0, 1]]
    assert values.contested["measured"].value.tolist() == x[:, :2].tolist()


def test_one_hot() -> None:
    indices, values = np.array([[-3], [100], [3], [-5]], np.int64), np.array([[5], [7], [9]], np.uint8)
    found = answers("ONE_HOT", {"OutputTensor": ("UINT8", (4, 4))}, {"IndicesTensor": indices, "ValuesTensor": values}, Axis=1)
    assert found["OutputTensor"].value.tolist() == [[5, 7, 5, 5], [5] * 4, [5, 5, 5, 7], [5] * 4]


def test_coordinates_have_the_last_dimensions_and_an_undefined_tail() -> None:
    x = np.array([[[0.0, 2, -0.0], [np.nan, 0, 1e-45]]], np.float32)
    outputs = {"OutputCountTensor": ("UINT32", (1, 1, 1)), "OutputCoordinatesTensor": ("UINT32", (1, 6, 2))}
    found = answers("NONZERO_COORDINATES", outputs, {"InputTensor": x})
    assert found["OutputCountTensor"].value.tolist() == [[[3]]]
    rows = found["OutputCoordinatesTensor"]
    assert rows.value[0, :3].tolist() == [[0, 1], [1, 0], [1, 2]]
    assert np.asarray(rows.defined)[0, :, 0].tolist() == [True] * 3 + [False] * 3
