"""The kernels that a record lacks of all that it and others reach: other runs, and what searches kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dmlcts.reports.record.paths import is_created, labels_of
from dmlcts.reports.record.record import Result


@dataclass(frozen=True, slots=True)
class Known:
    """How many kernels a record has ``reached``, and what it is ``lacking``: each kernel that others reach, with the id of a case that reaches it."""

    reached: int
    lacking: Mapping[str, str]

    @property
    def share(self) -> float:
        """The share of the known kernels that are reached, 0 to 1."""
        return self.reached / (self.reached + len(self.lacking) or 1)

    def by_operator(self) -> dict[str, list[str]]:
        """What is lacking by the operator of the case that reaches it, the most first."""
        found: dict[str, list[str]] = {}
        for label, case in self.lacking.items():
            found.setdefault(case.partition("/")[0], []).append(label)
        return dict(sorted(found.items(), key=lambda each: (-len(each[1]), each[0])))

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {"reached": self.reached, "known": self.reached + len(self.lacking), "lacking": dict(self.lacking)}


def cases_by_kernel(results: Iterable[Result]) -> dict[str, str]:
    """The kernels that were created, each with the id of the first case that reaches it."""
    found: dict[str, str] = {}
    for result in results:
        for label in filter(is_created, labels_of(result.paths)):
            found.setdefault(label, result.case)
    return found


def find_lacking(results: Iterable[Result], others: Iterable[Mapping[str, str]]) -> Known:
    """What these results reach of what they and ``others`` reach; ``others`` are as ``cases_by_kernel`` gives them."""
    own = cases_by_kernel(results)
    lacking: dict[str, str] = {}
    for other in others:
        for label, case in other.items():
            if label not in own:
                lacking.setdefault(label, case)
    return Known(len(own), lacking)
