"""Which random dispatches meet the most conditions together, drawn as for planted faults but with a seed of their own.

Any dispatch meets common conditions. A rare one, such as a size of some thousands beside a remainder by 50 in the third of six dimensions, is met by
the dispatch in hundreds that is unusual in several ways at once, and such a dispatch meets many others of its like. Conditions of other seeds
show how far this reaches (``dmlcts faults conditions``). This is a greedy maximum coverage: the dispatch that brings the most for its cost
comes next, and what it meets is worth half from then on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from dmlcts.generator.case.case import Case
from dmlcts.generator.covering.set_cover import best_first
from dmlcts.generator.facts.random_conditions import DATA, OF_ONE, Condition
from dmlcts.generator.facts.situation import Situations, of_case
from dmlcts.generator.random.conjunctions import conditions_of

SEED = "choice"
"""No number, as the seeds of planted faults are."""

_DRAWN = 24_000
"""How many twos and triples of conditions are drawn. Twice as many would not let more of those of other seeds be met."""

_COMMON = 0.1
"""Conditions that a larger share of the dispatches meets are met by any choice."""

_LEAST = 2.0**-8
"""What meeting conditions again is worth at the least: each time it is worth half. A fault need not show the first time."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How many cases are kept at the most, and what they cost together."""

    count: int
    cost: int


def choose_dispatches(cases: Sequence[Case], costs: Sequence[int], others: Sequence[Case], budget: Budget) -> list[int]:
    """The indices of the cases of an operator to keep, the best first. ``others`` are its other cases."""
    some, known = (_Dispatches(every) for every in (cases, others))
    meeting = (
        some.dispatches_meeting(conditions)
        for conditions in _draw_conjunctions(cases[0].operator.name, _DRAWN)
        if not known.dispatches_meeting(conditions)
    )
    return _greedy([found for found in meeting if len(found) <= len(cases) * _COMMON], costs, budget)


def _draw_conjunctions(operator: str, count: int, seed: str = SEED) -> Iterator[tuple[Condition, ...]]:
    """So many twos and triples of conditions. Raises ValueError where the operator has nothing to make conditions of."""
    for number in range(count):
        random = Random(f"{operator}/{seed}/{number}")  # noqa: S311 (reproducible, no secret)
        yield conditions_of(operator, 2 + number % 2, random)


class _Dispatches:
    """Cases as dispatches, of which it can be asked which meet some conditions."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.situations = Situations([of_case(case) for case in cases])

    def dispatches_meeting(self, conditions: Sequence[Condition]) -> list[int]:
        """Which of them meet all of these. Conditions on data, which cost the most to ask, are left out."""
        every = self.situations.every
        flags = [np.ones(len(every), np.bool_)]
        flags += [condition.holds(self.situations) for condition in conditions if condition.kind not in OF_ONE]
        rows: list[int] = np.flatnonzero(np.logical_and.reduce(flags)).tolist()
        for condition in conditions:
            if condition.kind in OF_ONE and condition.kind != DATA:
                rows = [row for row in rows if condition.holds(every[row])]
        return rows


def _greedy(meeting: Sequence[Sequence[int]], costs: Sequence[int], budget: Budget) -> list[int]:
    """Dispatches by what they bring for their cost, the best first. ``meeting`` has those that meet each of some conditions."""
    worth = np.ones(len(meeting))
    found_in: dict[int, list[int]] = {}
    for at, found in enumerate(meeting):
        for dispatch in found:
            found_in.setdefault(dispatch, []).append(at)
    met = {dispatch: np.array(conditions) for dispatch, conditions in found_in.items()}

    order, left = list[int](), budget.cost
    for best in best_first(met, lambda dispatch: float(worth[met[dispatch]].sum()) / costs[dispatch]):
        if len(order) == budget.count:
            break
        if costs[best] <= left:
            order.append(best)
            left -= costs[best]
            worth[met[best]] = np.maximum(worth[met[best]] / 2, _LEAST)
    return order
