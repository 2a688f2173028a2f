"""A greedy choice of rows: each time that which covers the most missing tuples for its cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
"""Those of a row's tuples."""


def add(
    chosen: list[int],
    places: Callable[[int], Places],
    costs: Sequence[float],
    missing: NDArray[np.bool_],
    wanted: int,
) -> None:
    """Adds rows to those chosen, each time that which covers the most missing tuples for its cost, until ``wanted`` tuples are covered.
    ``places`` gives a row's tuples.

    A row's gain only falls: it is counted again when the row comes first, and only then.
    """
    for at in chosen:
        missing[places(at)] = False
    covered = len(missing) - int(missing.sum())
    heap = [(-len(places(at)) / price, at) for at, price in enumerate(costs)]
    heapify(heap)
    while heap and covered < wanted:
        _, at = heappop(heap)
        row = places(at)
        gain = int(missing[row].sum())
        worth = (-gain / costs[at], at)
        if heap and worth > heap[0]:
            if gain:
                heappush(heap, worth)
        elif gain:
            missing[row] = False
            covered += gain
            chosen.append(at)
