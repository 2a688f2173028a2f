"""Why some bounds are vacuous: the reasons in ``unchecked.yaml``, by operator and case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class Reason:
    """Why elements have a bound of more than half the largest magnitude of their output.

    It is about cases of ``operators`` whose ids match one of the globs ``cases``, after the operator's name: ``*/values/zeros*``.
    """

    why: str
    operators: tuple[str, ...]
    cases: tuple[str, ...]

    def explains(self, case: str) -> bool:
        """Whether it is about the case with this id."""
        operator, _, rest = case.partition("/")
        return operator in self.operators and any(fnmatchcase(rest, glob) for glob in self.cases)


@cache
def all_reasons() -> tuple[Reason, ...]:
    """Every reason of the file. Raises ValueError where an entry is not understood."""
    return read_reasons(yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")))


def read_reasons(entries: Iterable[Any]) -> tuple[Reason, ...]:
    """The reasons of a file's content. Raises ValueError."""
    return tuple(_read(number, entry) for number, entry in enumerate(entries, 1))


def _read(number: int, entry: Any) -> Reason:
    if not isinstance(entry, dict) or entry.keys() != {"why", "operators", "cases"} or not all(entry.values()):
        raise ValueError(f"unchecked.yaml, entry {number} must have why, operators and cases, none of them empty; not {entry!r}")
    return Reason(entry["why"], tuple(entry["operators"]), tuple(entry["cases"]))


def vacuous_reasons(case: str) -> Iterator[str]:
    """Why the case with this id has vacuous bounds; nothing where no reason is about it."""
    return (reason.why for reason in all_reasons() if reason.explains(case))
