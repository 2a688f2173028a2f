"""The choice of a covering array's rows: generator/covering/choose_rows."""

from itertools import combinations, product

import pytest

from dmlcts.generator.covering import set_cover
from dmlcts.generator.covering.cases import array_of
from dmlcts.generator.covering.choose_rows import SHARES, Coverage, choose_rows, drop_redundant
from dmlcts.generator.covering.space import space_of
from dmlcts.generator.covering.stored import CoveringArray
from dmlcts.generator.facts.tuples import NONE, Row, Tuples
from dmlcts.generator.plan.plan import plan_of
from dmlcts.spec.reading.loader import load


class Factors:
    """A space of which the choice reads the factors' numbers of values alone."""

    counts = (2, 2, 3)
    pairs_only = costly = frozenset[int]()


EVERY: list[Row] = list(product(range(2), range(2), range(3)))


def chosen(rows: list[Row], costs: list[int], *levels: str) -> CoveringArray:
    array = CoveringArray("digest", dict.fromkeys(levels, len(rows)), {}, tuple(rows))
    return choose_rows(Factors(), array, rows, costs)  # type: ignore[arg-type]


def pairs(rows: tuple[Row, ...]) -> set[tuple[tuple[int, int], ...]]:
    return {pair for row in rows for pair in combinations(enumerate(row), 2) if NONE not in (pair[0][1], pair[1][1])}


def test_the_rows_cover_all_that_they_can_and_no_row_is_there_for_nothing() -> None:
    found = chosen(EVERY, [1] * len(EVERY), "smoke", "core")
    assert pairs(found.rows) == pairs(tuple(EVERY))
    assert {value for row in found.rows[: found.ends["smoke"]] for value in enumerate(row)} == {
        (f, value) for f, count in enumerate(Factors.counts) for value in range(count)
    }
    assert found.feasible == {"smoke": 7, "core": 16}
    assert found.ends["smoke"] == 3
    assert 6 <= found.ends["core"] == len(found.rows) <= 8


def test_a_dear_row_gives_way_to_cheap_ones() -> None:
    """The first row alone has all values of the second and third, but costs more than both."""
    rows: list[Row] = [(1, 1, 2), (1, 1, NONE), (NONE, 1, 2), (1, NONE, 2)]
    assert set(chosen(rows, [100, 1, 1, 1], "core").rows) == {rows[1], rows[2], rows[3]}
    assert chosen(rows, [2, 1, 1, 1], "core").rows == (rows[0],)


def test_the_cheapest_rows_of_a_level_come_first() -> None:
    rows: list[Row] = [(0, 0, 0), (1, 1, 1), (1, 1, 2)]
    assert chosen(rows, [9, 5, 7], "core").rows == (rows[1], rows[2], rows[0])


def test_a_level_may_have_rows_that_were_made_for_a_higher_one() -> None:
    found = chosen([(0, 0, 0), (1, 1, 1), (0, 1, 2), (1, 0, 2)], [1] * 4, "smoke", "core")
    assert found.rows[: found.ends["smoke"]] != ((0, 0, 0),)
    assert pairs(found.rows) == pairs(((0, 0, 0), (1, 1, 1), (0, 1, 2), (1, 0, 2)))


def beside(rows: list[Row], others: list[Row], *having: Row, elsewhere: str = "") -> tuple[Row, ...]:
    """The rows of level full that stay; the first row is of level core. Some rows have a promise, and all others or none."""
    array = CoveringArray("digest", {"core": 1, "full": len(rows)}, {"full": len(rows)}, tuple(rows))
    own = [Coverage(row, frozenset({"support/3_0"} if row in having else ())) for row in rows]
    return drop_redundant(
        Factors(), array, own, [1] * len(rows), [Coverage(row, frozenset(elsewhere.split())) for row in others]
    ).rows  # type: ignore[arg-type]


def test_rows_that_other_cases_replace_are_left_out_but_not_those_of_lower_levels() -> None:
    assert beside(EVERY, EVERY[:4]) == (EVERY[0], *EVERY[4:-1])  # 11 of 12 triples are the share that is wanted
    assert beside(EVERY, EVERY) == (EVERY[0],)


def test_a_row_that_alone_covers_a_promise_stays() -> None:
    assert beside(EVERY, EVERY, EVERY[7]) == (EVERY[0], EVERY[7])
    assert beside(EVERY, EVERY, EVERY[7], EVERY[9]) == (EVERY[0], EVERY[7])


def test_of_rows_with_promises_the_one_with_the_most_stays() -> None:
    array = CoveringArray("digest", {"core": 1, "full": len(EVERY)}, {"full": len(EVERY)}, tuple(EVERY))
    promises = {7: "a", 8: "a b c", 9: "b"}
    own = [Coverage(row, frozenset(promises.get(at, "").split())) for at, row in enumerate(EVERY)]
    others = [Coverage(row, frozenset()) for row in EVERY]
    found = drop_redundant(Factors(), array, own, [1] * len(EVERY), others)  # type: ignore[arg-type]
    assert found.rows == (EVERY[0], EVERY[8])


class WithDear(Factors):
    costly = frozenset((0,))


def test_pairs_with_a_dear_value_are_of_level_full_whatever_other_cases_have() -> None:
    array = CoveringArray("digest", dict.fromkeys(("smoke", "core", "full"), len(EVERY)), {}, tuple(EVERY))
    found = choose_rows(WithDear(), array, EVERY, [1] * len(EVERY))  # type: ignore[arg-type]
    core = found.rows[: found.ends["core"]]
    assert {row[1:] for row in core} == set(product(range(2), range(3)))
    assert pairs(core) < pairs(found.rows) == pairs(tuple(EVERY))
    others = [Coverage((NONE, *row[1:]), frozenset()) for row in EVERY]  # all but the costly value
    kept = drop_redundant(WithDear(), found, [Coverage(row, frozenset()) for row in found.rows], [1] * len(found.rows), others)  # type: ignore[arg-type]
    assert pairs(kept.rows) == pairs(tuple(EVERY))


def test_promises_kept_elsewhere_need_no_row() -> None:
    assert beside(EVERY, EVERY, EVERY[0], EVERY[9]) == (EVERY[0],)
    assert beside(EVERY, EVERY, EVERY[7], elsewhere="support/3_0") == (EVERY[0],)


@pytest.mark.parametrize("name", ["ELEMENT_WISE_ROUND", "ROI_POOLING"])
def test_of_a_stored_array_a_choice_has_nothing_to_leave_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chosen again, at most the share of triples that may be missing is lost, and no row is new."""
    monkeypatch.setattr(set_cover, "ROUNDS", 20)
    plan = plan_of(load(name))
    space, array = space_of(plan), array_of(plan, "full")
    found = choose_rows(space, array, list(map(space.final_row, array.rows)), list(map(space.cost, array.rows)))
    assert set(found.rows) <= set(array.rows)
    assert len(found.rows) > 0.8 * len(array.rows)
    assert found.feasible["core"] == array.feasible["core"]
    triples = Tuples.from_space(space, 3)
    kept, every = (int(triples.flags(map(space.final_row, rows)).sum()) for rows in (found.rows, array.rows))
    assert kept >= int(SHARES["full"] * every)
