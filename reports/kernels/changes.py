"""What changed between two records: which cases run other kernels, and which failures go with that."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from dmlcts.reports.kernels.table import FAILED
from dmlcts.reports.record.record import NOT_RUN, UNSUPPORTED, Record, Result

_NEITHER = frozenset({NOT_RUN, UNSUPPORTED})
"""The statuses of cases that tell nothing about a change."""


@dataclass(slots=True)
class Changes:
    """Of an operator: of ``both``, the cases with code paths in both records, those that run ``other`` kernels, and those that run the same with other numbers.

    ``new`` and ``gone`` are kernels of one record alone. ``instead`` counts which kernels ran in place of which. ``failing`` and ``fixed`` are the
    cases that fail in one record alone, and ``with_change`` those of them that run other kernels.
    """

    operator: str
    both: int = 0
    other: list[str] = field(default_factory=list)
    regrouped: int = 0
    new: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    instead: Counter[tuple[str, str]] = field(default_factory=Counter)
    failing: list[str] = field(default_factory=list)
    fixed: list[str] = field(default_factory=list)

    @property
    def with_change(self) -> list[str]:
        """The cases whose failure came or went with other kernels."""
        changed = set(self.other)
        return [case for case in (*self.failing, *self.fixed) if case in changed]

    def to_json(self) -> dict[str, Any]:
        """As data."""
        return {
            "operator": self.operator,
            "cases": self.both,
            "other": self.other,
            "regrouped": self.regrouped,
            "new": self.new,
            "gone": self.gone,
            "instead": [{"before": before, "now": now, "cases": count} for (before, now), count in self.instead.most_common()],
            "failing": self.failing,
            "fixed": self.fixed,
            "with_change": self.with_change,
        }


def changes(new: Record, old: Record) -> list[Changes]:
    """The changes of each operator with code paths in both records, those of most cases first; an operator without any is there too."""
    before = {result.case: result for result in old.results if result.paths}
    found: dict[str, Changes] = {}
    labels: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for result in new.results:
        earlier = before.get(result.case)
        if not result.paths or earlier is None:
            continue
        _add(found.setdefault(result.operator, Changes(result.operator)), result, earlier)
        now, then = labels.setdefault(result.operator, ({}, {}))
        now.update(dict.fromkeys(_labels(result)))
        then.update(dict.fromkeys(_labels(earlier)))
    for operator, (now, then) in labels.items():
        found[operator].new = [label for label in now if label not in then]
        found[operator].gone = [label for label in then if label not in now]
    return sorted(found.values(), key=lambda each: (-len(each.other), each.operator))


def _add(changes: Changes, result: Result, earlier: Result) -> None:
    """Adds a case that both records have."""
    changes.both += 1
    now, then = _labels(result), _labels(earlier)
    if now != then:
        changes.other.append(result.case)
        if len(now) == len(then):
            changes.instead.update(pair for pair in zip(then, now, strict=True) if pair[0] != pair[1])
        else:
            changes.instead[" then ".join(then), " then ".join(now)] += 1
    elif result.paths != earlier.paths:
        changes.regrouped += 1
    if not {result.status, earlier.status} & _NEITHER and (result.status in FAILED) != (earlier.status in FAILED):
        (changes.failing if result.status in FAILED else changes.fixed).append(result.case)


def _labels(result: Result) -> list[str]:
    return [path.label for path in result.paths]
