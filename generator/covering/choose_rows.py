"""Covering arrays made cheaper: of many rows, those whose cases cost least for what they cover.

A greedy search makes more rows than are needed, and a row with 70,000 elements covers no more than one with 70. Which rows are
best is known when all are there: level by level, the row that covers the most new tuples for its cost comes next, and what is chosen of
values and pairs is then pruned (generator/covering/set_cover).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dmlcts.generator.covering.set_cover import extend, prune
from dmlcts.generator.covering.stored import STRENGTHS, WITH_COSTLY, CoveringArray
from dmlcts.generator.facts.tuples import Factors, Row, Tuples

SHARES = {"smoke": 1.0, "core": 1.0, "full": 0.995}
"""How many of a level's tuples its rows must have: the last triples cost as many rows as all others."""

LEAST = 0.99
"""How many triples the rows and the other cases of level full must have together: the last rows bring few that these do not have."""


def choose_rows(
    space: Factors, array: CoveringArray, had: Sequence[Row], costs: Sequence[int], older: Mapping[str, Sequence[Row]] | None = None
) -> CoveringArray:
    """The array with a choice of its rows, in another order: each level may have any of them. ``feasible`` counts the tuples of all.

    ``had`` has the values that the case of each row has, ``costs`` what it costs, ``older`` by level the values that earlier cases have, beside which
    rows are chosen.
    """
    rows = [np.array(row) for row in had]
    chosen, known = list[int](), list[Row]()
    ends, feasible = dict[str, int](), dict[str, int]()
    for level in array.ends:
        lower = len(chosen)
        known += (older or {}).get(level, ())
        for tuples, share in _wanted_tuples(space, level):
            places = [tuples.places_of(row) for row in rows]
            covered = tuples.flags(known)
            feasible[level] = int((covered | tuples.flags(had)).sum())
            tuples.open[covered] = False
            extend(chosen, places.__getitem__, costs, tuples.open, int(share * feasible[level]))
        if STRENGTHS[level] < STRENGTHS["full"]:
            wanted = ~tuples.open & ~covered & ~tuples.flags(had[at] for at in chosen[:lower])
            light = prune(chosen[lower:], places, costs, wanted)
            chosen[lower:] = sorted(light, key=lambda row: (costs[row], row))  # what fails first had better be small
        ends[level] = len(chosen)
    return replace(array, ends=ends, feasible=feasible, rows=tuple(array.rows[at] for at in chosen))


def _wanted_tuples(space: Factors, level: str) -> Iterator[tuple[Tuples, float]]:
    """The tuples that a level's rows are chosen for, with the share that they must have; those of the level's strength last."""
    if level == WITH_COSTLY:
        yield Tuples.from_space(space, 2, with_costly=True), 1.0
    yield Tuples.from_space(space, STRENGTHS[level]), SHARES[level]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What a case has: the values of the factors, and the promises of the spec that it covers."""

    values: Row
    promises: frozenset[str]


def drop_redundant(
    space: Factors,
    array: CoveringArray,
    rows: Sequence[Coverage],
    costs: Sequence[int],
    others: Sequence[Coverage],
    *,
    is_grown: bool = False,
) -> CoveringArray:
    """The array with those rows of level full alone that are needed beside ``others``, what other cases of the level have.

    ``rows`` is what the case of each row has. Rows stay for the triples and the pairs with costly values, and those that alone have a
    promise. ``feasible`` does not count what the others alone have, so that the share is one of both, but for an array that ``is_grown``, whose
    others include earlier rows. An array that was chosen so stays as it is.
    """
    chosen = list(range(array.ends["core"]))
    for tuples, _ in _wanted_tuples(space, "full"):
        places = [tuples.places_of(np.array(row.values)) for row in rows]
        own, elsewhere = (tuples.flags([has.values for has in every]) for every in (rows, others))
        tuples.open[:] = ~elsewhere
        wanted = int((own | elsewhere).sum())
        if not tuples.with_costly:
            of_others = 0 if is_grown else int((elsewhere & ~own).sum())
            wanted = int(LEAST * (array.feasible["full"] + of_others))
        extend(chosen, places.__getitem__, costs, tuples.open, wanted)
    covered = {promise for has in (*others, *(rows[at] for at in chosen)) for promise in has.promises}
    left = {at: row.promises - covered for at, row in enumerate(rows) if not row.promises <= covered}
    while left:
        best = max(left, key=lambda at: (len(left[at]) / costs[at], -at))
        chosen.append(best)
        brought = left[best]
        left = {at: promises - brought for at, promises in left.items() if not promises <= brought}
    return replace(array, ends={**array.ends, "full": len(chosen)}, rows=tuple(array.rows[at] for at in chosen))
