"""Which of many random dispatches to keep: those that together meet the most conditions, drawn as for planted faults but with a seed of their own.

Any dispatch meets common conditions. A rare one, such as a size of some thousands beside a remainder by 50 in the third of six dimensions, is met by
the dispatch in hundreds that is unusual in several ways at once, and such a dispatch meets many others of its like. Conditions of other seeds
show how far this reaches (``dmlcts mutants --interactions``).
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from dmlcts.conformance.mutants.interactions.conditions import DATA, OF_ONE
from dmlcts.conformance.mutants.interactions.planting import Drawn, drawn_faults
from dmlcts.conformance.mutants.interactions.situation import Situations, of_case
from dmlcts.generator.case import Case
from dmlcts.generator.random_cases import Room

SEED = "choice"
"""No number, as the seeds of planted faults are."""

_DRAWN = 24_000
"""How many twos and threes of conditions are drawn. Twice as many would not let more of those of other seeds be met."""

_COMMON = 0.1
"""Conditions that a larger share of the dispatches meets are met by any choice."""

_LEAST = 2.0**-8
"""What meeting conditions again is worth at the least: each time it is worth half. A fault need not show the first time."""


def chosen(cases: Sequence[Case], costs: Sequence[int], others: Sequence[Case], room: Room) -> list[int]:
    """The indices of the cases of an operator to keep, the best first. ``others`` are its other cases."""
    some, known = (_Dispatches(every) for every in (cases, others))
    drawn = drawn_faults(cases[0].operator.name, SEED, _DRAWN)
    meeting = (some.meeting(one) for one in drawn if not known.meeting(one))
    return _greedy([found for found in meeting if len(found) <= len(cases) * _COMMON], costs, room)


class _Dispatches:
    """Cases, and in which of them a fault goes wrong, which is asked once a fault."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.situations = Situations([of_case(case) for case in cases])
        self._applies: dict[str, NDArray[np.bool_]] = {}

    def meeting(self, one: Drawn) -> list[int]:
        """Which of them meet the conditions of a fault. Those on data, which cost the most to ask, are left out."""
        every = self.situations.every
        if one.label not in self._applies:
            self._applies[one.label] = np.array([one.fault.applies(situation.desc) for situation in every])
        of_many = [condition for condition in one.conditions if condition.kind not in OF_ONE]
        flags = [self._applies[one.label], *(condition.holds(self.situations) for condition in of_many)]
        rows = np.flatnonzero(np.logical_and.reduce(flags)).tolist()
        for condition in one.conditions:
            if condition.kind in OF_ONE and condition.kind != DATA:
                rows = [row for row in rows if condition.holds(every[row])]
        return rows


def _greedy(meeting: Sequence[Sequence[int]], costs: Sequence[int], room: Room) -> list[int]:
    """Dispatches by what they bring for their cost, the best first. ``meeting`` has those that meet each of some conditions."""
    worth = np.ones(len(meeting))
    found_in: dict[int, list[int]] = {}
    for at, found in enumerate(meeting):
        for dispatch in found:
            found_in.setdefault(dispatch, []).append(at)
    met = {dispatch: np.array(conditions) for dispatch, conditions in found_in.items()}

    def rating(dispatch: int) -> float:
        return -float(worth[met[dispatch]].sum()) / costs[dispatch]

    heap = [(rating(dispatch), dispatch) for dispatch in met]
    heapify(heap)
    order, left = list[int](), room.cost
    while heap and len(order) < room.count:
        _, best = heappop(heap)
        now = rating(best)
        if heap and now > heap[0][0]:  # what was chosen since made it worth less
            heappush(heap, (now, best))
            continue
        if costs[best] > left:
            continue
        order.append(best)
        left -= costs[best]
        worth[met[best]] = np.maximum(worth[met[best]] / 2, _LEAST)
    return order
