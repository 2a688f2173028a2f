"""Recipes of indices: valid for the sizes and layouts at hand, from both ends, and different where they must be."""

from math import prod
from types import MappingProxyType

import numpy as np
import pytest

from dmlcts.generator.case.inputs import Array, recipe_array, recipe_bytes, same_where_broadcast, stream
from dmlcts.generator.plan.attributes import NotGenerable
from dmlcts.spec.model.desc import TensorDesc


def made(recipe: str, tensor: TensorDesc, **parameters: float | str) -> Array:
    values = recipe_array(recipe, parameters, tensor, stream("x", recipe_bytes(recipe, tensor)), MappingProxyType({}))
    return same_where_broadcast(values, tensor)


@pytest.mark.parametrize(("data_type", "least"), [("INT64", -3), ("INT32", -3), ("UINT64", 0), ("UINT32", 0)])
def test_any_index(data_type: str, least: int) -> None:
    found = made("indices", TensorDesc(data_type, (200,)), below=3)
    assert found.dtype == np.dtype(data_type.lower())
    assert set(found.tolist()) == set(range(least, 3))


def test_each_index_of_a_tuple_has_its_own_bound() -> None:
    found = made("indices", TensorDesc("UINT32", (100, 2)), below="[2, 5]")
    assert [set(found[:, at]) for at in range(2)] == [set(range(2)), set(range(5))]


def test_a_tuple_of_one_element_has_the_least_bound() -> None:
    for recipe in ("indices", "distinct-tuples"):
        found = made(recipe, TensorDesc("INT32", (100, 2), (1, 0)), below="[2, 5]")
        assert set(found.ravel()) <= set(range(-2, 2)), recipe


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("data_type", ["INT32", "UINT32"])
def test_indices_along_an_axis_differ(axis: int, data_type: str) -> None:
    sizes = (4, 5, 6)
    found = made("distinct-indices", TensorDesc(data_type, sizes), below=7, along=axis).astype(int)
    lines = np.moveaxis(found % 7, axis, -1).reshape(-1, sizes[axis])
    assert all(len(set(line)) == sizes[axis] for line in lines)
    assert (found < 7).all()
    assert (found >= -7).all()
    assert (found < 0).any() == (data_type == "INT32")
    assert len({tuple(line) for line in lines}) > len(lines) // 2  # not all lines alike
    assert any(list(line) != sorted(line) for line in lines)


def test_all_places_where_there_are_as_many_indices_and_some_again_where_there_are_more() -> None:
    assert sorted(made("distinct-indices", TensorDesc("UINT32", (64,)), below=64, along=0)) == list(range(64))
    assert set(made("distinct-indices", TensorDesc("UINT32", (64,)), below=5, along=0)) == set(range(5))


@pytest.mark.parametrize(
    ("recipe", "tensor", "parameters"),
    [
        ("indices", TensorDesc("UINT32", (500,)), {}),
        ("distinct-indices", TensorDesc("UINT32", (30, 8)), {"along": 1}),
        ("distinct-indices", TensorDesc("UINT32", (30, 8)), {"along": 0}),  # more than the last 16
    ],
)
def test_the_last_places_of_many(recipe: str, tensor: TensorDesc, parameters: dict[str, int]) -> None:
    along = tensor.sizes[parameters["along"]] if parameters else 0
    found = made(recipe, tensor, below=70_001, last=16, **parameters)
    assert set(found.ravel().tolist()) == set(range(70_001 - max(16, along), 70_001))
    assert made(recipe, tensor, below=3, last=16, **parameters).max() == 2


def test_the_last_tuples_of_many() -> None:
    found = made("distinct-tuples", TensorDesc("UINT32", (10, 2)), below="[7, 70_001]", last=16)
    assert len({tuple(row) for row in found.tolist()}) == 10
    assert set(found[:, 0].tolist()) == {6}
    assert found[:, 1].min() >= 70_001 - 16


def test_indices_need_their_axis() -> None:
    with pytest.raises(NotGenerable, match="no axis 2"):
        made("distinct-indices", TensorDesc("UINT32", (4, 4)), below=4, along=2)


@pytest.mark.parametrize("below", ["0", "[]", "[2, 0]"])
@pytest.mark.parametrize("recipe", ["indices", "distinct-tuples"])
def test_there_must_be_something_to_index(recipe: str, below: str) -> None:
    with pytest.raises(NotGenerable, match="nothing to index"):
        made(recipe, TensorDesc("UINT32", (4, 2)), below=below)


@pytest.mark.parametrize("data_type", ["INT64", "UINT64"])
def test_tuples_differ(data_type: str) -> None:
    bounds = (3, 4, 5)
    found = made("distinct-tuples", TensorDesc(data_type, (2, prod(bounds) // 2, 3)), below=str(list(bounds))).astype(int)
    assert len({tuple(row) for row in (found % bounds).reshape(-1, 3)}) == prod(bounds)
    assert ((found < bounds) & (found >= np.negative(bounds))).all()
