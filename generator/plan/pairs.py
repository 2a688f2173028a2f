"""Pairwise combinations: some row has each pair of values of any two parameters, in far fewer rows than the product."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from math import prod
from typing import Any

_ALL_WAYS = 6
"""Up to this number, all combinations are used; above it, every pair of values."""


def combine(parameters: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Combinations of the parameters' values: all where there are few, else such that each pair of values occurs in one."""
    if prod(len(values) for values in parameters.values()) <= _ALL_WAYS or len(parameters) < 2:
        return [dict(zip(parameters, values, strict=True)) for values in product(*parameters.values())]
    return pairwise(parameters)


def pairwise(parameters: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Rows, one value of each parameter, that together hold every pair of values of every two parameters.

    A row begins with a missing pair and takes, parameter by parameter, the value that adds the most missing pairs. Of equal ones the first
    wins, so that the result is deterministic. A single parameter gives its values.
    """
    names = list(parameters)
    if len(names) < 2:
        return [{name: value} for name in names for value in parameters[name]]
    counts = [len(parameters[name]) for name in names]
    missing = {
        (p, i, q, j): None  # a dict keeps the insertion order, a set does not
        for p, q in combinations(range(len(names)), 2)
        for i in range(counts[p])
        for j in range(counts[q])
    }
    rows = []
    while missing:
        p, i, q, j = next(iter(missing))
        row = {p: i, q: j}
        for other in range(len(names)):
            if other not in row:
                row[other] = max(range(counts[other]), key=lambda value, other=other, row=row: _gain(row, other, value, missing))  # type: ignore[misc]
        for pair in combinations(sorted(row), 2):
            missing.pop((pair[0], row[pair[0]], pair[1], row[pair[1]]), None)
        rows.append({name: parameters[name][row[index]] for index, name in enumerate(names)})
    return rows


def _gain(row: Mapping[int, int], other: int, value: int, missing: Mapping[tuple[int, int, int, int], None]) -> int:
    """How many missing pairs the row would cover if parameter ``other`` took this value."""
    return sum(
        ((known, row[known], other, value) if known < other else (other, value, known, row[known])) in missing for known in row
    )
