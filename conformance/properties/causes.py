"""The causes of a search's failures that are known so far: what a case that fails in the same way need not be made simpler for once more.

A cause is of one operator. It has a check, which failed (conformance/properties/drawn), and the needs of the simplest case that shows it: take one away,
and it does not fail in this way. A case that meets all needs of a cause, fails in the same way, and no longer does without any one of them,
shows nothing new. Where it still does without one, there is another cause behind the known one.

The causes lie in a file for each operator, a line each, beside the journal: every process adds to it, and reads what the others added.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dmlcts.generator.random.reduce import Need, Traits
from dmlcts.reports.record.record import Result

CAUSE = "cause"
"""In the evidence of a result: the first case that failed for the same cause."""

MOST_AGAIN = 20
"""After so many cases of an operator that were made simpler and showed a cause that was known, cases that fail in a known way are not any more."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause: the first ``case`` that showed it, and the ``status`` that it has under the waivers; empty until it is known."""

    case: str
    check: tuple[str, ...]
    needs: tuple[Need, ...]
    status: str = ""

    @property
    def signature(self) -> tuple[object, ...]:
        """What is equal of two cases that show the same cause: the check, the values of factors, and whose sizes matter.

        Ranks tell nothing beside others: which one is left depends on how a case was made simpler.
        """
        values = frozenset((factor, value) for need in self.needs for factor, value in need.values)
        sizes = frozenset(symbol for need in self.needs for symbol, _ in need.sizes)
        return self.check, frozenset(value for value in values if value[0].split()[0] != "rank") or values, sizes

    @property
    def can_be_told(self) -> bool:
        """Whether a case shows before it runs that it meets what it needs to fail."""
        return any(need.values or need.sizes for need in self.needs)

    def met_by(self, traits: Traits) -> bool:
        """Whether a case has all that it needs to fail for this cause."""
        return all(traits.meet(need) for need in self.needs)


class Causes:
    """The causes known so far, in a folder. A file that cannot be read counts as empty, and a line as none: then a cause is found again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.again: Counter[str] = Counter()

    def causes_of(self, operator: str) -> list[Cause]:
        """The causes of an operator's failures, in the order in which they were found."""
        with suppress(OSError, UnicodeDecodeError):
            return list(_read(self._file(operator).read_text(encoding="utf-8")))
        return []

    def met_cause(self, operator: str, traits: Traits, check: tuple[str, ...], besides: Container[object] = ()) -> Cause | None:
        """A cause that a failing case may show, as it meets its needs; not one with a signature among ``besides``."""
        alike = (cause for cause in self.causes_of(operator) if cause.check == check and cause.signature not in besides)
        return next((cause for cause in alike if cause.met_by(traits)), None)

    def likeliest(self, operator: str, check: tuple[str, ...]) -> Cause | None:
        """The first cause with this check, once so many cases showed known ones that a further one is not worth the time; None before."""
        alike = (cause for cause in self.causes_of(operator) if cause.check == check)
        return next(alike, None) if self.again[operator] >= MOST_AGAIN else None

    def simplest(self, operator: str, cause: Cause) -> None:
        """A case was made simpler, which shows this cause."""
        self.again[operator] += any(other.signature == cause.signature for other in self.causes_of(operator))

    def first(self, operator: str, cause: Cause) -> str:
        """The first case that showed a cause with this status; this one, which is added, if none did before."""
        alike = [other for other in self.causes_of(operator) if (other.signature, other.status) == (cause.signature, cause.status)]
        if not any(cause.needs == other.needs for other in alike):
            with self._file(operator).open("a", encoding="utf-8", newline="\n") as stream:
                stream.write(json.dumps(asdict(cause)) + "\n")
        return alike[0].case if alike else cause.case

    def _file(self, operator: str) -> Path:
        return self.folder / f"{operator}.causes"


def like_another(result: Result, first: str) -> Result:
    """The short result of a case that shows a cause that is known, by the ``first`` case that did."""
    message = f"{result.message}; the cause is that of {first}"
    return replace(result, message=message, evidence={CAUSE: first}, desc=None, mismatches=(), error_maps=())


def _read(text: str) -> Iterator[Cause]:
    for line in text.splitlines():
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            yield _cause(json.loads(line))


def _cause(data: dict[str, Any]) -> Cause:
    needs = (Need(tuple(need["genes"]), _pairs(need["values"], str), _pairs(need["sizes"], int)) for need in data["needs"])
    return Cause(str(data["case"]), tuple(map(str, data["check"])), tuple(needs), str(data["status"]))


def _pairs(entries: list[Any], kind: type) -> tuple[Any, ...]:
    return tuple((str(name), kind(value)) for name, value in entries)
