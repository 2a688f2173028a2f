"""The kernels of a record: which operators and cases run each, how many of these fail, and with which thread groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from dmlcts.reports.kernels.richness import Richness, richness
from dmlcts.reports.record.paths import is_created, labels_of
from dmlcts.reports.record.record import FAILURES, NOT_RUN, UNSUPPORTED, WAIVED, Record, Result

FAILED = FAILURES | {WAIVED}
"""The statuses that count as failures of a kernel: a waiver changes nothing about what it does."""


@dataclass(slots=True)
class Kernel:
    """A kernel: the cases that run it, how many of them each operator has, how many fail, and the different ``numbers`` (groups) with which it ran.

    ``cases`` are ids, in the record's order; ``failing`` those that fail.
    """

    label: str
    operators: dict[str, int] = field(default_factory=dict)
    cases: list[str] = field(default_factory=list)
    failing: list[str] = field(default_factory=list)
    numbers: set[tuple[int, ...]] = field(default_factory=set)

    def add(self, result: Result) -> None:
        """Adds a case that ran it."""
        self.cases.append(result.case)
        self.operators[result.operator] = self.operators.get(result.operator, 0) + 1
        if result.status in FAILED:
            self.failing.append(result.case)
        self.numbers.update(path.numbers for path in result.paths if path.label == self.label)

    @property
    def smallest(self) -> tuple[int, ...]:
        """The fewest groups."""
        return min(self.numbers, key=_size, default=())

    @property
    def largest(self) -> tuple[int, ...]:
        """The most groups."""
        return max(self.numbers, key=_size, default=())

    def to_json(self) -> dict[str, Any]:
        """As data: counts, and the ids of the cases that fail; that of the only case, where one alone runs it."""
        return {
            "label": self.label,
            "operators": self.operators,
            "cases": len(self.cases),
            "failures": len(self.failing),
            "failing": self.failing,
            "only": self.cases[0] if len(self.cases) == 1 else "",
            "numbers": {"different": len(self.numbers), "smallest": list(self.smallest), "largest": list(self.largest)},
        }


def _size(numbers: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
    return prod(numbers), numbers


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many kernels the cases of an operator reach, or of a whole record (``operator`` is empty), of which ``cases`` have code paths."""

    operator: str
    cases: int
    richness: Richness

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {"operator": self.operator, "cases": self.cases, **self.richness.to_json()}


def kernels(results: Iterable[Result]) -> list[Kernel]:
    """The kernels that these cases run: those with failures first, by the share of their cases that fail; then those that the fewest cases run."""
    found: dict[str, Kernel] = {}
    for result in results:
        for label in labels_of(result.paths):
            if label not in found:
                found[label] = Kernel(label)
            found[label].add(result)
    return sorted(found.values(), key=lambda each: (-len(each.failing) / len(each.cases), len(each.cases), each.label))


def coverage(results: Sequence[Result], operator: str = "") -> Coverage:
    """How many kernels these cases reach. What was not created was not reached."""
    ran = [result for result in results if result.paths]
    counts = [len(each.cases) for each in kernels(ran) if is_created(each.label)]
    return Coverage(operator, len(ran), richness(counts, len(ran)))


def without_kernel(record: Record) -> Counter[str]:
    """By operator, how many cases ran and name no kernel, though others of the record do; rejections, which need none, are left out.

    An implementation may copy instead, or have failed before it came to a kernel.
    """
    if not any(result.paths for result in record.results):
        return Counter()
    return Counter(
        result.operator
        for result in record.results
        if not result.paths and result.status not in (NOT_RUN, UNSUPPORTED) and result.kind != "negative"
    )


def coverages(record: Record) -> list[Coverage]:
    """The coverage of each operator with code paths, the most kernels first."""
    by_operator: dict[str, list[Result]] = {}
    for result in record.results:
        if result.paths:
            by_operator.setdefault(result.operator, []).append(result)
    found = [coverage(results, name) for name, results in by_operator.items()]
    return sorted(found, key=lambda each: (-each.richness.reached, each.operator))
