"""Covering arrays: rows in which every pair, or every triple, of values of different factors occur together, as far as they can.

A row has the index of one value of each factor. The rows are made greedily: a row begins with a tuple that no row has so far, and takes,
factor by factor, the value that brings the most new tuples. What cannot occur together is not given but found: a row that no desc can have
is narrowed down to the values that exclude each other, which no later row tries again. What was tried often enough and not
reached counts as not feasible, and so does, at a higher strength, what contains it.

The literature calls this a one-test-at-a-time greedy algorithm (AETG). A library was tried: it needs constraints as predicates over known
factors, while an operator's rules show only in the desc that a row becomes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dmlcts.generator.facts.tuples import NONE, Factors, Row, Tuples, Values

_TRIES, _FEWER_TRIES = 48, 6
"""How often a tuple is tried with other values beside it before it counts as not feasible, of triples less often: those that bring the most,
usual ones, and any, by turns."""

_MORE_TRIES = 256
"""How often a single value is tried: one that is given up is missing in all pairs and triples."""

_ADDING_LITTLE = 10
"""Rows in a row that bring fewer tuples than there are factors, after which each row begins with a tuple that is missing."""

_CANDIDATES, _FEWER_CANDIDATES = 16, 8
"""Of so many rows for a tuple the best is used; of fewer for triples, which cost the most time."""

_RECENT, _FEW_LEFT = 200, 0.004
"""The share of triples that may be missing, estimated from so many that were tried last: the last ones cost as many rows as all others."""

_WARM, _UNUSUAL = 30, 0.2
"""Rows from which conflicts are learned, most of whose values are the usual ones: how many, and the share of other values."""

_SAMPLES = 4
"""How many valid rows a conflict must invalidate before it counts as one."""

_NARROW = 3
"""Conflicts of more values than this are not remembered: they exclude little."""


class Space(Factors, Protocol):
    """What can be covered: factors, and which of their values a desc can have together."""

    @property
    def usual(self) -> Sequence[int]:
        """The usual value of each."""
        ...

    @property
    def structural(self) -> int:
        """How many of them decide about the desc; they come first."""
        ...

    @property
    def conflicts(self) -> Sequence[Values]:
        """What is known from the start to exclude each other."""
        ...

    def needs(self, factor: int, value: int) -> Values:
        """The structural values without which a value of another factor cannot be."""
        ...

    def possible(self, row: Sequence[int], factor: int) -> Sequence[int]:
        """The values that a structural factor can have beside those chosen (NONE where nothing is chosen yet), as far as that is easily known."""
        ...

    def skeleton(self, row: Row) -> Skeleton | None:
        """What the structural values of a row become; None if the rules allow nothing like that."""
        ...

    def allowed_values(self, skeleton: Any, row: Sequence[int], factor: int) -> Sequence[int]:
        """The values that another factor can have there, beside those chosen (NONE where nothing is chosen yet)."""
        ...

    def finish(self, skeleton: Any, row: Row) -> bool:
        """Whether the finished case breaks no rule."""
        ...


class Skeleton(Protocol):
    """The structural part of a case; its rows have NONE elsewhere."""

    @property
    def key(self) -> Row:
        """The values that it was made from."""
        ...

    @property
    def row(self) -> Row:
        """The values that it has."""
        ...


@dataclass(slots=True)
class Covering:
    """Rows that cover the tuples of a strength, after those of a lower one; what excludes each other, and what was not reached.

    ``rows`` have the values that cases have, ``wanted`` those that they were made from.
    """

    space: Space
    seed: str
    rows: list[Row] = field(default_factory=list)
    wanted: list[Row] = field(default_factory=list)
    conflicts: dict[Values, None] = field(default_factory=dict)
    unreached: dict[int, list[Values]] = field(default_factory=dict)
    _bases: list[Row] = field(default_factory=list)
    _plain: bool = False
    """Whether a value that brings nothing is the usual one: the rest of a row can have more values then."""

    _random: Random = field(init=False)
    _by_value: dict[tuple[int, int], list[Values]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)  # noqa: S311 (reproducible, no secret)
        for conflict in self.space.conflicts:
            self._remember(conflict)
        for _ in range(_WARM):
            rolls = [(self._random.random(), self._random.randrange(count)) for count in self.space.counts]
            row = tuple(value if roll < _UNUSUAL else usual for (roll, value), usual in zip(rolls, self.space.usual, strict=True))
            if self.space.skeleton(row) is not None:
                self._bases.append(row)

    def cover(self, strength: int, with_costly: bool = False) -> int:
        """Adds rows until each tuple of this strength is in one, or cannot be; of triples and more nearly each. Returns how many are in one."""
        tuples = Tuples.from_space(self.space, strength, with_costly)
        strength = tuples.strength
        for conflict in (*self.conflicts, *(values for lower in self.unreached.values() for values in lower)):
            if len(conflict) <= strength:
                tuples.close(conflict)
        covered = tuples.flags(self.rows)
        tuples.open &= ~covered
        before = len(self.rows)
        if strength > 2:
            self._add_fullest(tuples)
            covered |= tuples.flags(self.rows[before:])
            self._reach_most(tuples, int(covered.sum()))
        else:
            self._reach_all(tuples)
        return int((covered | tuples.flags(self.rows[before:])).sum())

    def _reach_all(self, tuples: Tuples) -> None:
        """Adds rows for the missing tuples, one after another; notes which are not reached."""
        unreached = self.unreached.setdefault(tuples.strength, [])
        for place in np.flatnonzero(tuples.open).tolist():
            if tuples.open[place]:
                target = tuples.tuple_at(place)
                if not self._reach(target, place, tuples, _TRIES if tuples.strength > 1 else _MORE_TRIES):
                    unreached.append(target)
                tuples.open[place] = False

    def _reach_most(self, tuples: Tuples, covered: int) -> None:
        """The same in an order that is drawn, until few of those left can be: as many as the last ones tried let expect."""
        targets = np.flatnonzero(tuples.open).tolist()
        self._random.shuffle(targets)
        recent: deque[bool] = deque(maxlen=_RECENT)
        for place in targets:
            if not tuples.open[place]:
                continue
            if len(recent) == _RECENT and sum(recent) / _RECENT * int(tuples.open.sum()) < _FEW_LEFT * covered:
                return
            recent.append(self._reach(tuples.tuple_at(place), place, tuples, _FEWER_TRIES))
            tuples.open[place] = False

    def _add_fullest(self, tuples: Tuples) -> None:
        """Adds rows that begin with no tuple, as long as they bring many: no time is lost with what cannot be."""
        adding_little = 0
        while adding_little < _ADDING_LITTLE:
            made = self._complete_row({}, tuples, None, learn=False)
            places = tuples.places_of(np.array(made[1])) if made is not None else np.array([], np.int64)
            brought = int(tuples.open[places].sum())
            tuples.open[places] = False
            if made is not None and brought:
                self.wanted.append(made[0])
                self.rows.append(made[1])
            adding_little = 0 if brought >= len(self.space.counts) else adding_little + 1

    def _reach(self, target: Values, place: int, tuples: Tuples, tries: int) -> bool:
        """Adds a row with the tuple, and perhaps others on the way; True too if the tuple turns out to be impossible."""
        for attempt in range(tries):
            needed = {each for f, value in target if f >= self.space.structural for each in self.space.needs(f, value)}
            given = {**dict(sorted(needed)), **dict(target)}
            if len({f for f, _ in needed | set(target)}) < len(needed | set(target)):
                return True  # they need different values of one factor
            if any(self._is_excluded(given, f, value) for f, value in given.items()):
                return True
            learn = attempt == 1 or tuples.strength == 1
            share = (None, _UNUSUAL, 1.0)[attempt % 3]
            made = self._best(given, tuples) if share is None else self._complete_row(given, tuples, share, learn)
            if made is None:
                continue
            wanted, row = made
            places = tuples.places_of(np.array(row))
            if tuples.open[places].any():
                tuples.open[places] = False
                self.rows.append(row)
                self.wanted.append(wanted)
            if not tuples.open[place]:
                return True
        return False

    def _best(self, given: Mapping[int, int], tuples: Tuples) -> tuple[Row, Row] | None:
        """Of some rows with these values the one with the most open tuples."""
        best, most = None, -1
        for count in range(_CANDIDATES if tuples.strength < 3 else _FEWER_CANDIDATES):
            if count and best is None:
                break  # most likely it cannot be
            self._plain = count % 2 == 1
            made = self._complete_row(given, tuples, None, learn=False)
            brought = int(tuples.open[tuples.places_of(np.array(made[1]))].sum()) if made is not None else -1
            if brought > most:
                best, most = made, brought
        self._plain = False
        return best

    def _complete_row(self, given: Mapping[int, int], tuples: Tuples, unusual: float | None, learn: bool) -> tuple[Row, Row] | None:
        """A row with these values, and of each other factor the one with the most open tuples, or the usual one but for a share that is
        drawn: as wanted, and as it became. None if it becomes nothing.
        """
        space = self.space
        row = np.full(len(space.counts), NONE, np.int64)
        for f, value in given.items():
            if f < space.structural:
                row[f] = value
        for f in self._shuffle(f for f in range(space.structural) if f not in given):
            chosen = {g: value for g, value in enumerate(row.tolist()) if value != NONE}
            allowed = [value for value in space.possible(row.tolist(), f) if not self._is_excluded(chosen, f, value)]
            row[f] = self._choose_value(allowed, row, f, tuples, unusual)
        wanted = tuple(row.tolist())
        skeleton = space.skeleton(wanted)
        if skeleton is None:
            if learn:
                self._narrow(wanted, tuples)
            return None
        row = np.array(skeleton.row)
        if any(row[f] != value for f, value in given.items() if f < space.structural):
            return None
        others = range(space.structural, len(space.counts))
        for f in (*(f for f in others if f in given), *self._shuffle(f for f in others if f not in given)):
            allowed = list(space.allowed_values(skeleton, row.tolist(), f))
            if f in given:
                if given[f] not in allowed:
                    return None
                row[f] = given[f]
            else:
                row[f] = self._choose_value(allowed, row, f, tuples, unusual)
        found = tuple(row.tolist())
        return ((*skeleton.key, *found[space.structural :]), found) if space.finish(skeleton, found) else None

    def _shuffle(self, factors: Iterable[int]) -> list[int]:
        found = list(factors)
        self._random.shuffle(found)
        return found

    def _choose_value(self, allowed: Sequence[int], row: NDArray[np.int64], f: int, tuples: Tuples, unusual: float | None) -> int:
        """The value with the most open tuples beside those chosen, of equal ones any; NONE if none is allowed."""
        if not allowed:
            return NONE
        if unusual is not None:  # some at least, as sizes are drawn anew for other rows
            common = self.space.usual[f] if self.space.usual[f] in allowed else allowed[0]
            return self._random.choice(allowed) if self._random.random() < unusual else common
        if len(allowed) == 1:
            return allowed[0]
        gains = tuples.gains(row, f).tolist()
        if (
            (self._plain or f in self.space.costly)
            and not any(gains[value] for value in allowed)
            and self.space.usual[f] in allowed
        ):
            return self.space.usual[f]
        turn = self._random.randrange(len(allowed))
        return max((*allowed[turn:], *allowed[:turn]), key=gains.__getitem__)

    def _is_excluded(self, chosen: Mapping[int, int], f: int, value: int) -> bool:
        """Whether a conflict excludes this value beside those chosen."""
        conflicts = self._by_value.get((f, value), ())
        return any(all(other == f or chosen.get(other) == wanted for other, wanted in conflict) for conflict in conflicts)

    def _narrow(self, row: Row, tuples: Tuples) -> None:
        """Remembers the fewest values of a failing row that invalidate every valid one that gets them."""
        if len(self._bases) < 2:
            return
        base, *others = self._random.sample(self._bases, min(len(self._bases), _SAMPLES + 1))
        invalid = row
        for f in self._random.sample(range(self.space.structural), self.space.structural):
            repaired = (*invalid[:f], base[f], *invalid[f + 1 :])
            if repaired != invalid and self.space.skeleton(repaired) is None:
                invalid = repaired
        conflict = tuple((f, invalid[f]) for f in range(self.space.structural) if invalid[f] not in (NONE, base[f]))
        while len(conflict) <= _NARROW and (other := self._repaired_by(_with_values(base, conflict), dict(conflict))) is not None:
            conflict = tuple(sorted((*conflict, (other, base[other]))))
        if len(conflict) > _NARROW or not all(self.space.skeleton(_with_values(other, conflict)) is None for other in others):
            return
        self._remember(conflict)
        if len(conflict) <= tuples.strength:
            tuples.close(conflict)

    def _repaired_by(self, invalid: Row, kept: Mapping[int, int]) -> int | None:
        """A further factor of which another value makes a row valid, of a single value if need be with another's: then the value that the
        row has of it is part of the conflict.
        """
        changes = [(f, value) for f in range(self.space.structural) if f not in kept for value in range(self.space.counts[f])]
        for f, value in changes:
            if self.space.skeleton(_with_values(invalid, ((f, value),))) is not None:
                return f
        if len(kept) > 1:
            return None
        pairs = [pair for pair in combinations(changes, 2) if pair[0][0] != pair[1][0]]
        self._random.shuffle(
            pairs
        )  # one value may need two others, as an output of INT8 an input of INT8 and a function for integers
        return next((pair[0][0] for pair in pairs if self.space.skeleton(_with_values(invalid, pair)) is not None), None)

    def _remember(self, conflict: Values) -> None:
        self.conflicts[conflict] = None
        for each in conflict:
            self._by_value.setdefault(each, []).append(conflict)


def _with_values(row: Row, values: Values) -> Row:
    """A row with some values changed."""
    changed = dict(values)
    return tuple(changed.get(f, value) for f, value in enumerate(row))
