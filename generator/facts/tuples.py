"""Every tuple of values of different factors, as flags: what the rows of a covering array have, and what is missing (generator/covering/search)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Row = tuple[int, ...]
"""The index of a value of each factor; NONE where the factor does not apply."""

NONE = -1

Values = tuple[tuple[int, int], ...]
"""Some values of a row: (factor, index) pairs, in the factors' order."""


class Factors(Protocol):
    """How many values each factor has, and which factors need not occur with two others at once."""

    @property
    def counts(self) -> Sequence[int]:
        """The number of values of each factor."""
        ...

    @property
    def pairs_only(self) -> Set[int]:
        """Factors of which two occur together in pairs only."""
        ...

    @property
    def costly(self) -> Set[int]:
        """Factors whose values make a case cost much: they occur with others in pairs only, which count apart."""
        ...


@dataclass(slots=True)
class Tuples:
    """Every tuple of ``strength`` values of different factors, as one flat array of flags; ``open`` are those that no row has and that may exist.

    Two of the factors in ``pairs_only`` occur together in pairs only. So does each of those in ``costly`` with any other; its pairs are tuples
    of their own, those ``with_costly``.
    """

    counts: Sequence[int]
    strength: int
    pairs_only: Set[int] = frozenset()
    costly: Set[int] = frozenset()
    with_costly: bool = False
    open: NDArray[np.bool_] = field(init=False)
    groups: list[tuple[int, ...]] = field(init=False)
    offsets: dict[tuple[int, ...], int] = field(init=False)

    def __post_init__(self) -> None:
        every = combinations(range(len(self.counts)), self.strength)
        self.groups = [group for group in every if self._counts(set(group))]
        self.offsets, total = {}, 0
        for group in self.groups:
            self.offsets[group] = total
            total += prod(self.counts[f] for f in group)
        self.open = np.ones(total, np.bool_)
        members = np.array(self.groups, np.int64).reshape(-1, self.strength)
        counts = np.array(self.counts, np.int64)
        steps = np.ones_like(members)
        for at in range(self.strength - 2, -1, -1):
            steps[:, at] = steps[:, at + 1] * counts[members[:, at + 1]]
        self._members, self._steps = members, steps
        self._starts = np.array(list(self.offsets.values()), np.int64)
        self._columns = [(members[:, at].copy(), steps[:, at].copy()) for at in range(self.strength)]
        # For each factor the groups that it is in: the other members, their steps, its own step, the start.
        self._around = []
        for f in range(len(counts)):
            rows, column = np.nonzero(members == f)
            others = np.array([[c for c in range(self.strength) if c != own] for own in column], np.int64).reshape(
                len(rows), self.strength - 1
            )
            self._around.append(
                (members[rows[:, None], others], steps[rows[:, None], others], steps[rows, column], self._starts[rows])
            )

    def _counts(self, group: Set[int]) -> bool:
        """Whether values of these factors are tuples of this kind."""
        if len(group) == 1:
            return True
        return bool(self.costly & group) == self.with_costly and (len(group) < 3 or len(self.pairs_only & group) < 2)

    _members: NDArray[np.int64] = field(init=False)
    _steps: NDArray[np.int64] = field(init=False)
    _starts: NDArray[np.int64] = field(init=False)
    _columns: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = field(init=False)
    _around: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]] = field(init=False)

    @classmethod
    def from_space(cls, space: Factors, strength: int, with_costly: bool = False) -> Tuples:
        """Those of a space; of all its factors where it has fewer."""
        return cls(space.counts, min(strength, len(space.counts)), space.pairs_only, space.costly, with_costly)

    def places_of(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """The places of a row's tuples; those of factors that do not apply are left out."""
        found = self._starts.copy()
        applies = np.ones(len(found), np.bool_)
        for members, steps in self._columns:  # a reduction over the second axis of a few takes five times as long
            values = row[members]
            found += values * steps
            applies &= values >= 0
        return found[applies]

    def flags(self, rows: Iterable[Row]) -> NDArray[np.bool_]:
        """Which tuples occur together in some of these rows."""
        found = np.zeros_like(self.open)
        for row in rows:
            found[self.places_of(np.array(row))] = True
        return found

    def gains(self, row: NDArray[np.int64], factor: int) -> NDArray[np.int64]:
        """How many open tuples each value of a factor would bring to the chosen values of a row (NONE where nothing is chosen)."""
        others, steps, own, starts = self._around[factor]
        values = row[others]
        chosen = (values >= 0).all(axis=1)
        base = starts[chosen] + (values[chosen] * steps[chosen]).sum(axis=1)
        places = base[:, None] + own[chosen][:, None] * np.arange(self.counts[factor])
        found: NDArray[np.int64] = self.open[places].sum(axis=0)
        return found

    def tuple_at(self, place: int) -> Values:
        """The tuple at a place."""
        group = int(np.searchsorted(self._starts, place, side="right")) - 1
        rest = place - int(self._starts[group])
        found = []
        for factor, step in zip(self._members[group], self._steps[group], strict=True):
            found.append((int(factor), int(rest // step)))
            rest %= step
        return tuple(found)

    def close(self, values: Values) -> None:
        """Closes every tuple that has these values, at most as many as the strength."""
        given = dict(values)
        for group, start in self.offsets.items():
            if given.keys() <= set(group):
                shape = tuple(self.counts[f] for f in group)
                block = self.open[start : start + prod(shape)].reshape(shape)
                block[tuple(given.get(f, slice(None)) for f in group)] = False
