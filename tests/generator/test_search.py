"""Covering arrays over small spaces whose feasible tuples are known by going through all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np
import pytest

from dmlcts.generator.covering.search import Covering
from dmlcts.generator.facts.tuples import NONE, Row, Tuples, Values


@dataclass(frozen=True)
class Made:
    key: Row
    row: Row


@dataclass
class Small:
    """A space whose last ``free`` factors are not structural; ``valid`` judges the structural values, ``fits`` each other one."""

    counts: Sequence[int]
    valid: Callable[[Row], bool] = lambda row: True
    fits: Callable[[Row, int, int], bool] = lambda row, factor, value: True
    free: int = 1
    pairs_only: frozenset[int] = frozenset()
    costly: frozenset[int] = frozenset()
    conflicts: Sequence[Values] = ()
    usual: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.usual = [0] * len(self.counts)
        self.structural = len(self.counts) - self.free

    def needs(self, factor: int, value: int) -> Values:
        return ()

    def possible(self, row: Sequence[int], factor: int) -> Sequence[int]:
        return range(self.counts[factor])

    def skeleton(self, row: Row) -> Made | None:
        key = row[: self.structural]
        return Made(key, (*key, *(NONE,) * self.free)) if self.valid(key) else None

    def allowed_values(self, skeleton: Made, row: Sequence[int], factor: int) -> Sequence[int]:
        return [value for value in range(self.counts[factor]) if self.fits(skeleton.key, factor, value)]

    def finish(self, skeleton: Made, row: Row) -> bool:
        return True

    def rows(self) -> list[Row]:
        """Every valid row."""
        return [
            row
            for row in product(*map(range, self.counts))
            if self.valid(row[: self.structural])
            and all(self.fits(row[: self.structural], f, row[f]) for f in range(self.structural, len(row)))
        ]


def tuples_of(rows: Sequence[Row], strength: int) -> set[Values]:
    return {values for row in rows for values in combinations(enumerate(row), strength) if all(v != NONE for _, v in values)}


def no_two_of(row: Row) -> bool:
    """Two of the first factor exclude 1 of the second and 0 of the third."""
    return not (row[0] == 2 and row[1] == 1) and not (row[0] == 1 and row[2] == 0)


def tied(row: Row) -> bool:
    """The second factor follows from the first, like a type that must be another's."""
    return row[1] == min(row[0], 1)


def three(row: Row) -> bool:
    return row[:3] != (1, 1, 1)


SPACES = {
    "all": Small((3, 2, 4, 2, 3)),
    "pairs": Small((3, 2, 4, 2, 3), no_two_of),
    "tied": Small((3, 2, 4, 2, 3), tied),
    "three": Small((2, 2, 2, 2, 3), three),
    "free": Small((3, 2, 4, 5, 3), free=2, fits=lambda row, factor, value: factor != 3 or value < 2 or row[0] == 2),
}


@pytest.mark.parametrize("name", SPACES)
def test_every_tuple_that_can_be_is_in_a_row_and_no_other(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dmlcts.generator.covering.search._RECENT", 1 << 20)  # the search for triples goes on to the end,
    monkeypatch.setattr("dmlcts.generator.covering.search._FEWER_TRIES", 16)  # and tries each as often as a pair
    space = SPACES[name]
    covering = Covering(space, name)
    for strength in (1, 2, 3):
        wanted = tuples_of(space.rows(), strength)
        assert covering.cover(strength) == len(wanted)
        assert tuples_of(covering.rows, strength) == wanted
    assert set(covering.rows) <= set(space.rows())
    assert len(covering.rows) < len(space.rows())


@pytest.mark.parametrize(
    ("every", "tries"),
    [
        (1, 981),  # each tuple tried is reached: the 19 left are fewer than 0.4 % of 5,000
        (4, 921),  # one in four is: of the 79 left fewer than 20 are to be expected
        (None, 200),  # none of so many is
    ],
)
def test_the_search_for_threes_ends_when_hardly_any_is_left_that_can_be(
    every: int | None, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []

    def reach(covering: Covering, target: Values, place: int, tuples: Tuples, tries: int) -> bool:
        tried.append(place)
        return every is not None and len(tried) % every == 0

    monkeypatch.setattr(Covering, "_reach", reach)
    tuples = Tuples((10, 10, 10), 3)
    Covering(Small((10, 10, 10)), "ends")._reach_most(tuples, covered=5000)
    assert len(set(tried)) == len(tried) == tries
    assert tried != sorted(tried)  # the last ones tried stand for those that are left
    assert int(tuples.open.sum()) == 1000 - tries


@pytest.mark.parametrize("name", SPACES)
def test_what_is_not_covered_is_reported_and_conflicts_are_true(name: str) -> None:
    space = SPACES[name]
    covering = Covering(space, name)
    for strength in (1, 2):
        covering.cover(strength)
    possible = tuples_of(space.rows(), 2) | tuples_of(space.rows(), 1) | tuples_of(space.rows(), 3)
    assert not possible & set(covering.conflicts)
    assert not possible & {values for unreached in covering.unreached.values() for values in unreached}
    every = tuples_of(list(product(*map(range, space.counts))), 2)
    impossible = every - tuples_of(space.rows(), 2)
    explained = {values for values in every if any(set(found) <= set(values) for found in covering.conflicts)}
    assert impossible == set(covering.unreached[2]) | explained


def test_a_value_that_needs_an_unusual_one_of_another_factor_is_no_conflict() -> None:
    """FLOAT16 needs FLOAT16 scales, which few rows have: it may not count as excluded with everything else."""
    space = Small((8, 2, 2, 3), lambda row: row[1] == row[2])
    for seed in "abcdefgh":
        covering = Covering(space, seed)
        covering.cover(1)
        assert covering.cover(2) == len(tuples_of(space.rows(), 2))
        assert set(covering.conflicts) <= {((1, 0), (2, 1)), ((1, 1), (2, 0))}


def test_a_value_that_needs_two_unusual_ones_is_no_conflict() -> None:
    """An output of INT8 needs an input of INT8 and a function for integers: no row with one other value has it."""
    space = Small((10, 10, 8, 3), lambda row: row[1] == 0 if row[2] == 0 else row[1] == row[0])
    for seed in "abcdefgh":
        covering = Covering(space, seed)
        assert covering.cover(1) == len(tuples_of(space.rows(), 1))
        covering.cover(2)
        assert not [conflict for conflict in covering.conflicts if len(conflict) < 2]
        assert not tuples_of(space.rows(), 2) & set(covering.conflicts)


def test_rows_are_always_the_same_and_a_longer_array_begins_with_the_shorter() -> None:
    one, other = (Covering(SPACES["pairs"], "seed") for _ in range(2))
    one.cover(1)
    ones = list(one.rows)
    one.cover(2)
    for strength in (1, 2):
        other.cover(strength)
    assert one.rows == other.rows
    assert one.wanted == other.wanted
    assert one.rows[: len(ones)] == ones


def test_few_rows_are_enough() -> None:
    covering = Covering(Small((4, 4, 4, 4, 4)), "few")
    covering.cover(2)
    assert 16 <= len(covering.rows) <= 30  # the product has 1,024


def test_conflicts_that_are_given_are_not_tried() -> None:
    tried: list[Row] = []

    def valid(row: Row) -> bool:
        tried.append(row)
        return row[:2] != (0, 1)

    covering = Covering(Small((2, 2, 2, 2), valid, conflicts=[((0, 0), (1, 1))]), "given")
    tried.clear()  # the first rows, from which conflicts are learned, are drawn freely
    covering.cover(2)
    assert all(row[:2] != (0, 1) for row in tried)


def test_two_weak_factors_stand_together_in_pairs_only() -> None:
    strong, pairs_only = (Tuples((2, 2, 2, 2), 3, frozenset(of)) for of in ((), (0, 1)))
    assert len(strong.groups) - len(pairs_only.groups) == 2  # (0, 1, 2) and (0, 1, 3)
    assert len(Tuples((2, 2, 2, 2), 2, frozenset((0, 1))).groups) == 6


def test_a_dear_factor_stands_with_others_in_pairs_only() -> None:
    every, without = (Tuples((2, 2, 2, 2), 3, costly=frozenset(of)) for of in ((), (0,)))
    assert len(every.groups) == 4
    assert without.groups == [(1, 2, 3)]
    pairs, with_costly = (Tuples((2, 2, 2, 2), 2, costly=frozenset((0,)), with_costly=of).groups for of in (False, True))
    assert pairs == [(1, 2), (1, 3), (2, 3)]
    assert with_costly == [(0, 1), (0, 2), (0, 3)]
    assert len(Tuples((2, 2, 2, 2), 1, costly=frozenset((0,))).groups) == 4


def test_a_dear_value_that_brings_nothing_is_not_used() -> None:
    """Rows for pairs and triples have the usual one of the costly factor, but those for its own pairs."""
    space = Small((3, 2, 4, 3, 3), costly=frozenset((0,)))
    covering = Covering(space, "costly")
    covering.cover(1)
    for strength, with_costly, values in ((2, False, {0}), (2, True, {1, 2}), (3, False, {0})):
        before = len(covering.rows)
        covering.cover(strength, with_costly)
        assert len(covering.rows) > before
        assert {row[0] for row in covering.rows[before:]} == values
        if with_costly:
            assert tuples_of(covering.rows, 2) == tuples_of(space.rows(), 2)


def test_a_place_is_that_of_its_tuple() -> None:
    tuples = Tuples((3, 1, 4, 2), 3)
    for place in range(len(tuples.open)):
        row = np.full(4, NONE)
        for factor, value in tuples.tuple_at(place):
            row[factor] = value
        assert tuples.places_of(row).tolist() == [place]
    assert len(tuples.open) == 3 * 1 * 4 + 3 * 1 * 2 + 3 * 4 * 2 + 1 * 4 * 2
    tuples.close(((0, 2), (2, 1)))
    assert int((~tuples.open).sum()) == 1 + 2
