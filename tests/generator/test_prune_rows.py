"""A choice of rows made lighter: generator/covering/set_cover."""

from random import Random

import numpy as np
import pytest

from dmlcts.generator.covering.set_cover import Places, prune


def covered(rows: list[int], places: list[Places]) -> set[int]:
    return {int(place) for row in rows for place in places[row]}


def drawn(seed: int) -> tuple[list[Places], list[int]]:
    """Forty rows of some of thirty tuples each, and what they cost."""
    random = Random(seed)
    return [np.array(sorted(random.sample(range(30), random.randint(3, 8)))) for _ in range(40)], random.choices((10, 11, 30), k=40)


def test_two_rows_take_the_place_of_three() -> None:
    """The greedy first row has most and makes two others needed."""
    places = [np.array(row) for row in ([0, 1, 3, 4], [2], [5], [0, 1, 2], [3, 4, 5])]
    assert set(prune([0, 1, 2], places, [1] * 5, np.ones(6, np.bool_))) == {3, 4}


def test_a_row_that_the_others_replace_is_left_out_and_the_dearest_first() -> None:
    places = [np.array(row) for row in ([0, 1], [0, 1], [2])]
    assert prune([0, 1, 2], places, [5, 1, 1], np.ones(3, np.bool_)) == [1, 2]


@pytest.mark.parametrize("seed", range(6))
def test_what_is_wanted_stays_covered_and_costs_less(seed: int) -> None:
    places, costs = drawn(seed)
    wanted = np.zeros(30, np.bool_)
    wanted[sorted(covered(list(range(0, 40, 2)), places))[::2]] = True
    before = list(range(0, 40, 2))
    after = prune(before, places, costs, wanted)
    assert set(np.flatnonzero(wanted)) <= covered(after, places)
    assert len(after) == len(set(after))
    assert sum(costs[row] for row in after) < sum(costs[row] for row in before)
    assert after == prune(before, places, costs, wanted)
