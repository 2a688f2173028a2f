"""Recipes that make an element by its place: the last, the end of a row, each in turn, a few anywhere."""

import math
from typing import Any

import numpy as np
import pytest

from dmlcts.generator.case.case import Data
from dmlcts.generator.case.inputs import array, recipe_array, stream
from dmlcts.generator.values.recipes import RECIPES
from dmlcts.spec.model.desc import TensorDesc


def made(recipe: str, data_type_name: str, raw: bytes, **parameters: Any) -> list[Any]:
    """What a recipe makes of raw bytes, in a row."""
    count = len(raw) // RECIPES[recipe].width(data_type_name)
    return list(recipe_array(recipe, parameters, TensorDesc(data_type_name, (count,)), raw).tolist())


@pytest.mark.parametrize(("data_type_name", "last"), [("FLOAT32", 9.5), ("FLOAT16", 9.5), ("INT8", 9)])
def test_outlier_last_is_uniform_but_for_the_last_element(data_type_name: str, last: float) -> None:
    raw = stream("outlier", 4 * 100)
    usual = made("uniform", data_type_name, raw, low=-3, high=3)
    assert made("outlier-last", data_type_name, raw, low=-3, high=3, last=last) == [*usual[:-1], last]
    assert usual[-1] != last
    assert made("outlier-last", data_type_name, raw[:4], low=-3, high=3, last=last) == [last]
    assert made("uniform", data_type_name, raw, low=-3, high=3) == usual  # what was made before stays as it is


def test_an_outlier_stands_at_the_end_of_a_tensor_in_its_own_order() -> None:
    tensor = TensorDesc("FLOAT32", (2, 3), (1, 2))
    found = array(Data("outlier-last", {"low": -1, "high": 1, "last": 9}), tensor, "a case")
    assert found[1, 2] == 9
    assert int((found > 1).sum()) == 1


@pytest.mark.parametrize(("row", "masked"), [(16, 14), (3, 2), (1, 0)])
def test_late_rows_are_masked_but_for_their_end(row: int, masked: int) -> None:
    raw = stream("late", 4 * 3 * row)
    usual = made("uniform", "FLOAT16", raw, low=-1, high=1)
    found = made("late", "FLOAT16", raw, low=-1, high=1, row=row)
    for begin in range(0, 3 * row, row):
        assert found[begin : begin + masked] == [-np.inf] * masked
        assert found[begin + masked : begin + row] == usual[begin + masked : begin + row]


def test_a_late_row_may_have_another_mask_and_a_shorter_end() -> None:
    raw = stream("late", 4 * 12)
    usual = made("uniform", "INT16", raw, low=100, high=200)
    found = made("late", "INT16", raw, low=100, high=200, row=6, mask=0, last=1)
    assert found == [0, 0, 0, 0, 0, usual[5], 0, 0, 0, 0, 0, usual[11]]


def test_in_turn_takes_them_in_their_order() -> None:
    assert made("in-turn", "FLOAT32", bytes(7), points="1 2.5 -3") == [1, 2.5, -3, 1, 2.5, -3, 1]
    assert made("in-turn", "UINT32", bytes(range(2)), points="1 2 3") == [1, 2]


def test_rare_has_few_of_its_points_anywhere() -> None:
    places = set()
    for seed in range(20):
        found = np.array(made("rare", "FLOAT32", stream(f"rare {seed}", 4 * 9000), low=1, high=2, points="nan inf"))
        assert (np.isnan(found).sum(), np.isinf(found).sum()) in {(3, 2), (2, 3), (2, 2)}  # one in 2,048; two may fall together
        rest = found[np.isfinite(found)]
        assert len(np.unique(rest)) > 0.99 * len(rest)
        assert rest.min() >= 1
        assert rest.max() < 2
        places |= {int(place) * 3 // 9000 for place in np.flatnonzero(~np.isfinite(found))}
    assert places == {0, 1, 2}


def test_rare_has_one_of_its_points_in_any_tensor() -> None:
    found = [made("rare", "FLOAT16", stream(f"rare {seed}", 4 * 5), low=-1, high=1, points="inf -inf") for seed in range(50)]
    assert {sum(math.isinf(value) for value in values) for values in found} == {1}
    assert {value for values in found for value in values if math.isinf(value)} == {math.inf, -math.inf}
    assert {values.index(value) for values in found for value in values if math.isinf(value)} == set(range(5))
    assert set(made("rare", "INT32", stream("rare", 4 * 5000), low=-2, high=2, points="nan")) == {-2, -1, 0, 1}
