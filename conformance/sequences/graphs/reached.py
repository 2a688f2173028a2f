"""The kernels that a search among graphs has reached, and the graphs that it changes: those that reached a new one."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from dmlcts.reports.record.paths import Form, is_created

_LAST = 100
"""So many graphs of each kind, drawn and changed, say which kind finds more: what was easily found is not found again."""

_LEAST = 0.1
"""The least share of either kind."""


@dataclass(slots=True)
class Reached:
    """The kernels that graphs reached, in their forms, and the numbers of those that reached a new one, again for each time: the best to change.

    ``drawn`` and ``changed`` say of each graph whether it reached a new one.
    """

    forms: set[Form] = field(default_factory=set)
    parents: list[int] = field(default_factory=list)
    drawn: list[bool] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)

    def add(self, forms: frozenset[Form], number: int, *, is_changed: bool) -> None:
        """Notes what the graph with this number reached, or one that was changed from it. Below 0 are families, which are not changed."""
        is_new = not forms <= self.forms
        if number >= 0:
            (self.changed if is_changed else self.drawn).append(is_new)
            if is_new:
                self.parents.append(number)
        self.forms |= forms

    def parent(self, seed: int, number: int) -> int | None:
        """The number of the graph to change in the place of the one with this number; None where a new one is to be drawn.

        At first drawn graphs find more; when they have found what is frequent, those near the rare ones may.
        """
        random = Random(f"parent-{seed}-{number}")  # noqa: S311 (reproducible, no secret)
        if number < 0 or not self.parents or random.random() >= self._share():
            return None
        return random.choice(self.parents)

    def _share(self) -> float:
        """The share of changed graphs, by what either kind found lately."""
        drawn, changed = (((sum(last) + 1) / (len(last) + 4)) ** 3 for last in (self.drawn[-_LAST:], self.changed[-_LAST:]))
        return min(max(changed / (drawn + changed), _LEAST), 1 - _LEAST)

    def copy(self) -> Reached:
        """The same, to be added to."""
        return Reached(set(self.forms), list(self.parents), list(self.drawn), list(self.changed))

    def new_since(self, known: Reached) -> Reached:
        """What is new since this was a copy of ``known``."""
        return Reached(
            self.forms - known.forms,
            self.parents[len(known.parents) :],
            self.drawn[len(known.drawn) :],
            self.changed[len(known.changed) :],
        )

    def extend(self, other: Reached) -> None:
        """Adds what another part of a search reached."""
        self.forms |= other.forms
        self.parents += other.parents
        self.drawn += other.drawn
        self.changed += other.changed

    @property
    def kernels(self) -> int:
        """How many different kernels."""
        return len({label for label, _ in self.forms if is_created(label)})
