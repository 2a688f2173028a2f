"""What a check gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod

from dmlcts.generator.case.case import REJECTION, Case
from dmlcts.spec.model.operator import Operator


@dataclass(frozen=True)
class OperatorCases:
    """An operator with all its cases, of all levels and bases."""

    operator: Operator
    cases: tuple[Case, ...]

    @property
    def positive(self) -> list[Case]:
        """The cases that an implementation must compute."""
        return [case for case in self.cases if case.expect != REJECTION]

    @property
    def negative(self) -> list[Case]:
        """The cases that it must refuse."""
        return [case for case in self.cases if case.expect == REJECTION]

    def cases_breaking(self, rule: str) -> list[Case]:
        """The negative cases in which a rule (``constraint/same-sizes``) is broken, alone or with others."""
        return [case for case in self.negative if f"rejects/{rule}" in case.covers]


Check = Callable[[OperatorCases], Iterator[str]]
"""Yields what is wrong, a sentence each."""


_SOME = 7
"""Of so many cases one is checked."""


def some_cases(cases: Iterable[Case]) -> Iterator[Case]:
    """The first case of each kind, data type and expectation, and every seventh: enough for what code does to any case alike."""
    seen = set[tuple[str, str, str]]()
    for number, case in enumerate(cases):
        new = (case.kind, case.data_type, case.expect) not in seen
        seen.add((case.kind, case.data_type, case.expect))
        if new or number % _SOME == 0:
            yield case


def small(cases: Iterable[Case]) -> Iterator[Case]:
    """A few cases of each kind with small tensors: data and bindings take time."""
    seen: Counter[str] = Counter()
    for case in cases:
        seen[case.kind] += 1
        if seen[case.kind] <= 4 and all(prod(tensor.sizes) < 10_000 for _, tensor in case.desc.tensors()):
            yield case
