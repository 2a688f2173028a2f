"""Few cheap rows that cover all tuples (set cover): a greedy choice, and a local search that makes one cheaper.

A greedy choice has a tenth more rows than are needed: early ones are there for tuples that later ones bring as well. So some rows are dropped at
random, the gap is covered greedily, and the result is kept if it is cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from random import Random

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
"""Those of a row's tuples."""


def best_first(items: Iterable[int], rating: Callable[[int], float]) -> Iterator[int]:
    """Items by their rating, the highest first, of equal ones the lowest number (lazy greedy).

    A rating only falls while items are taken: it is asked again when the item comes first, and only then.
    """
    heap = [(-rating(item), item) for item in items]
    heapify(heap)
    while heap:
        _, item = heappop(heap)
        now = (-rating(item), item)
        if heap and now > heap[0]:
            heappush(heap, now)
        else:
            yield item


def extend(
    chosen: list[int],
    places: Callable[[int], Places],
    costs: Sequence[float],
    missing: NDArray[np.bool_],
    wanted: int,
) -> None:
    """Adds rows to those chosen, each time that which covers the most missing tuples for its cost, until ``wanted`` tuples are covered.
    ``places`` gives a row's tuples.
    """
    for at in chosen:
        missing[places(at)] = False
    covered = len(missing) - int(missing.sum())
    if covered >= wanted:
        return
    for at in best_first(range(len(costs)), lambda at: int(missing[places(at)].sum()) / costs[at]):
        gain = int(missing[places(at)].sum())
        if not gain:
            return
        missing[places(at)] = False
        chosen.append(at)
        covered += gain
        if covered >= wanted:
            return


ROUNDS = 300
"""How often rows are given up; a third as many bring nine tenths of what these do."""

_SHARES = (0.03, 0.06, 0.12)
"""How many of the rows are given up at once, at least two."""

_NOISE = 0.1
"""Costs are off by as much, up or down, so that not the same rows come back."""


def prune(chosen: Sequence[int], places: Sequence[Places], costs: Sequence[int], wanted: NDArray[np.bool_]) -> list[int]:
    """Rows that cover all wanted tuples as those chosen do, at no higher cost. The same for the same arguments."""
    number = np.cumsum(wanted) - 1
    own = [number[of[wanted[of]]] for of in places]
    total = int(wanted.sum())
    random = Random(len(chosen))  # noqa: S311 (reproducible, no secret)
    best = _needed_rows(chosen, own, costs, total)
    for round_ in range(ROUNDS if len(best) > 2 else 0):
        given_up = _given_up(best, own, costs, total, max(2, int(random.choice(_SHARES) * len(best))), random, round_ % 2 == 1)
        kept = [row for row in best if row not in given_up]
        noisy = [cost * random.uniform(1 - _NOISE, 1 + _NOISE) for cost in costs]
        extend(kept, own.__getitem__, noisy, np.ones(total, np.bool_), total)
        found = _needed_rows(kept, own, costs, total)
        if sum(costs[row] for row in found) <= sum(costs[row] for row in best):
            best = found
    return best


def _counts(rows: Sequence[int], places: Sequence[Places], total: int) -> NDArray[np.int64]:
    """How many of the rows have each tuple."""
    found = np.zeros(total, np.int64)
    for row in rows:
        found[places[row]] += 1
    return found


def _needed_rows(rows: Sequence[int], places: Sequence[Places], costs: Sequence[int], total: int) -> list[int]:
    """The rows without those whose tuples all others have, the dearest left out first."""
    counts, left_out = _counts(rows, places, total), set[int]()
    for row in sorted(rows, key=lambda row: (-costs[row], row)):
        if (counts[places[row]] > 1).all():
            counts[places[row]] -= 1
            left_out.add(row)
    return [row for row in rows if row not in left_out]


def _given_up(
    rows: Sequence[int], places: Sequence[Places], costs: Sequence[int], total: int, count: int, random: Random, anyhow: bool
) -> set[int]:
    """Some of the rows: any, or those that alone have few tuples for their cost."""
    if anyhow:
        return set(random.sample(rows, count))
    counts = _counts(rows, places, total)
    alone = {row: int((counts[places[row]] == 1).sum()) / costs[row] * random.uniform(0.5, 1.5) for row in rows}
    return set(sorted(rows, key=alone.__getitem__)[:count])
