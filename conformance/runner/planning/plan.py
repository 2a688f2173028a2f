"""What is left of a run, while it goes on: which operators' cases are not made yet, and which of the made ones have not run."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from dmlcts.conformance.runner.planning.breaker import Breaker, Ending
from dmlcts.reports.record.record import FAILURES


class Watcher(Protocol):
    """What hears of progress."""

    def on_cases(self, cases: int, done: int) -> None:
        """An operator's cases are made; ``done`` of them have a result from before."""

    def on_result(self, status: str) -> None:
        """A case has a result."""


class RunPlan:
    """The work of a run.

    ``unlisted`` are the operators whose cases nobody has made yet or is making; ``ids`` are the cases that were made, by operator, and
    ``left`` the indices in it of those still to run. ``done`` has the cases with a result from before, and their statuses; ``statuses`` has
    those and what this run reported; ``further`` counts results that are not kept. After ``maxfail`` failures (0: no limit) the remaining cases are listed but not run;
    so are those of the operators that the ``breaker`` stops, and all once it stops the run. Without one, nothing does. ``one_by_one``: a case is
    handed out when the one before it has its result.
    """

    def __init__(
        self,
        operators: Sequence[str],
        watcher: Watcher,
        done: Mapping[str, str] | None = None,
        maxfail: int = 0,
        breaker: Breaker | None = None,
        one_by_one: bool = False,
    ) -> None:
        self.operators, self.watcher, self.maxfail, self.breaker = operators, watcher, maxfail, breaker
        self.done = dict(done or {})
        self.statuses = dict(self.done)
        self.unlisted = deque(operators)
        self.ids: dict[str, list[str]] = {}
        self.left: dict[str, deque[int]] = {}
        self.failures = 0
        self.further: Counter[str] = Counter()
        self.one_by_one = one_by_one

    def begin_with(self, operators: Collection[str]) -> None:
        """Of what is not listed, the cases of these operators come first."""
        self.unlisted = deque(sorted(self.unlisted, key=lambda name: name not in operators))

    def add(self, operator: str, ids: list[str]) -> None:
        """The cases of an operator are made."""
        self.ids[operator] = ids
        todo = deque(index for index, case_id in enumerate(ids) if case_id not in self.done)
        self.watcher.on_cases(len(ids), len(ids) - len(todo))
        if todo and not self.leaves(operator):
            self.left[operator] = todo

    def take(self, operator: str, most: int) -> list[int]:
        """The next cases of an operator, at most so many."""
        todo = self.left[operator]
        taken = [todo.popleft() for _ in range(min(1 if self.one_by_one else most, len(todo)))]
        if not todo:
            del self.left[operator]
        return taken

    def give_back(self, operator: str, indices: Iterable[int]) -> None:
        """Cases that were taken and did not run."""
        todo = deque(indices)
        if todo and not self.leaves(operator):
            self.left.setdefault(operator, deque()).extendleft(reversed(todo))

    def on_result(self, operator: str, index: int, status: str, is_known: bool = False) -> None:
        """A case has a result; ``is_known``: a failure whose cause an earlier one shows."""
        self.statuses[self.ids[operator][index]] = status
        self.failures += status in FAILURES and not is_known
        if self.is_stopped:
            self.left.clear()
        self.watcher.on_result(status)

    def watch(self, process: int, operator: str, ending: Ending) -> None:
        """How a case that has a result ended in a process, which is a number: after too many that lost the host, others are left."""
        if self.breaker is not None:
            self.breaker.on_ending(process, operator, ending)
        if self.leaves(operator):
            self.left.pop(operator, None)
        if self.is_stopped:
            self.left.clear()

    def leaves(self, operator: str) -> bool:
        """Whether no further case of an operator runs."""
        return self.is_stopped or (self.breaker is not None and operator in self.breaker.operators)

    def on_other_result(self, operator: str, case_id: str, status: str) -> None:
        """A case that had a result has another one."""
        if case_id not in self.ids.setdefault(operator, []):
            self.ids[operator].append(case_id)
        self.statuses[case_id] = status
        self.failures += status in FAILURES

    @property
    def is_stopped(self) -> bool:
        """Whether enough cases failed, or the breaker has stopped the run."""
        return 0 < self.maxfail <= self.failures or bool(self.breaker and self.breaker.run)

    def has_ended(self, interrupted: bool) -> bool:
        """Whether the run came to its end; an interrupted one did not."""
        return not interrupted

    @property
    def not_listed(self) -> tuple[str, ...]:
        """The operators whose cases were not made."""
        return tuple(operator for operator in self.operators if operator not in self.ids)

    @property
    def not_reached(self) -> tuple[str, ...]:
        """The operators that a complete run may lack."""
        return ()
