"""Covering arrays as they are stored: one file an operator in ``generator/covering/rows``, written by ``dmlcts spec arrays``.

To compute one takes seconds, to read it milliseconds. A file has a section for each time that rows were computed, and only grows: a section says
what the operator's cases varied then (generator/plan/editions) and names the values of each factor, followed by a line a row with a character
a factor, the place of its value (``-`` where the factor does not apply). So a change of the spec shows as some lines at the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from dmlcts.generator.case.case import is_beyond
from dmlcts.generator.facts.tuples import NONE, Row
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.writing.files import writing_to

FOLDER = Path(__file__).with_name("rows")

STRENGTHS = {"smoke": 1, "core": 2, "full": 3}
"""How many values of different factors occur together in some case of a level, whichever they are."""

WITH_COSTLY = "full"
"""The level at which a costly value (generator/facts/tuples), which lower levels have once, occurs with each other value."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_START = '{"digest":'
_VALUES = {"-": NONE, **{digit: value for value, digit in enumerate(_DIGITS)}}


@dataclass(frozen=True, slots=True)
class CoveringArray:
    """``ends`` has the number of rows of each level, ``feasible`` the number of tuples that can occur together (each value in smoke, pairs
    in core, triples in full), ``digest`` what the array depends on. ``random`` are the numbers of the random dispatches
    (generator/random/cases); the first ``random_core`` are of level core, as they have a pair which no row has. ``lists`` are what cases varied when it was
    computed, ``factors`` the names of each factor's values."""

    digest: str
    ends: Mapping[str, int]
    feasible: Mapping[str, int]
    rows: tuple[Row, ...]
    random: tuple[int, ...] = ()
    random_core: int = 0
    lists: Mapping[str, list[str]] = field(default_factory=dict)
    factors: Mapping[str, list[str]] = field(default_factory=dict)

    def levels(self, most: str) -> Iterator[tuple[str, tuple[Row, ...]]]:
        """The rows that each level adds, up to one."""
        start = 0
        for level, end in self.ends.items():
            if not is_beyond(level, most):
                yield level, self.rows[start:end]
            start = end


@lru_cache(maxsize=16)
def _read(path: Path, changed: int) -> tuple[CoveringArray, ...]:
    text = path.read_bytes().decode("utf-8", "replace")
    try:
        sections = [_section(part) for part in _parts(text.splitlines())]
        problem = "" if sections else "is empty"
        problem = problem or next(filter(None, map(_problem, sections)), "")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"not as it was written: {type(error).__name__}: {error}"
    if problem:
        raise SpecError(path, None, (), f"{problem}; restore the file, or remove it to have it computed anew")
    return tuple(sections)


def read_arrays(operator: str) -> tuple[CoveringArray, ...]:
    """The stored sections of an operator, the oldest first; none where nothing is stored.

    Raises:
        SpecError: the file is damaged. Rows that are lost would be cases that nobody misses.
    """
    path = FOLDER / f"{operator}.txt"
    return _read(path, path.stat().st_mtime_ns) if path.exists() else ()


def _parts(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines of each section, which begins with the line of its facts."""
    starts = [at for at, line in enumerate(lines) if line.startswith(_START) or not at]
    yield from (list(lines[start:end]) for start, end in pairwise([*starts, len(lines)]))


def _section(lines: Sequence[str]) -> CoveringArray:
    first, *others = lines
    rows = [line for line in others if not line.startswith("{")]
    facts = json.loads(first)
    for line in others[: len(others) - len(rows)]:
        facts |= json.loads(line)
    return CoveringArray(
        facts["digest"],
        facts["ends"],
        facts["feasible"],
        tuple(map(_row, rows)),
        tuple(facts["random"]),
        facts["random_core"],
        facts["lists"],
        facts["factors"],
    )


def _problem(array: CoveringArray) -> str:
    """What shows that a stored array is not whole; empty if nothing does."""
    ends, columns = tuple(array.ends.values()), tuple(zip(*array.rows, strict=True))
    if array.ends.keys() - STRENGTHS or ends != tuple(sorted(ends)) or max(ends, default=0) != len(array.rows):
        return f"has {len(array.rows):,} rows, but its first line says {dict(array.ends)}"
    numbers = [len(values) for values in array.factors.values()]
    if columns and any(most >= number for most, number in zip(map(max, columns), numbers, strict=True)):
        return "a row has a value that its factor does not have"
    return ""


def _row(line: str) -> Row:
    return tuple(map(_VALUES.__getitem__, line))


def write_arrays(operator: str, *sections: CoveringArray) -> None:
    """Writes an operator's sections, the oldest first."""
    lines: list[str] = []
    for array in sections:
        facts = {
            "digest": array.digest,
            "ends": dict(array.ends),
            "feasible": dict(array.feasible),
            "random_core": array.random_core,
        }
        lines += [json.dumps(facts), json.dumps({"lists": dict(array.lists)}), json.dumps({"factors": dict(array.factors)})]
        lines += [json.dumps({"random": array.random})]
        lines += ["".join("-" if value == NONE else _DIGITS[value] for value in row) for row in array.rows]
    with writing_to(FOLDER):
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{operator}.txt").write_text("\n".join([*lines, ""]), encoding="utf-8", newline="\n")
