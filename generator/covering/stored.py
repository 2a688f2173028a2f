"""Covering arrays as they are stored: one file an operator in ``generator/covering/rows``, written by ``dmlcts spec arrays``.

To compute one takes seconds, to read it milliseconds. A file is text, so that a change can be read: a line of facts, and a line a row with
a character a factor (``-`` where the factor does not apply).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dmlcts.generator.case.case import beyond
from dmlcts.generator.facts.tuples import NONE, Row
from dmlcts.spec.reading.document import SpecError
from dmlcts.spec.writing.files import writing_to

FOLDER = Path(__file__).with_name("rows")

STRENGTHS = {"smoke": 1, "core": 2, "full": 3}
"""How many values of different factors occur together in some case of a level, whichever they are."""

WITH_DEAR = "full"
"""The level at which a dear value (generator/facts/tuples), which lower levels have once, occurs with each other value."""

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_VALUES = {"-": NONE, **{digit: value for value, digit in enumerate(_DIGITS)}}


@dataclass(frozen=True, slots=True)
class CoveringArray:
    """``ends`` has the number of rows of each level, ``feasible`` the number of tuples that can occur together (each value in smoke, pairs
    in core, threes in full), ``digest`` what the array depends on. ``random`` are the numbers of the random dispatches
    (generator/random/cases); the first ``random_core`` are of level core, as they have a pair which no row has."""

    digest: str
    ends: Mapping[str, int]
    feasible: Mapping[str, int]
    rows: tuple[Row, ...]
    random: tuple[int, ...] = ()
    random_core: int = 0

    def levels(self, most: str) -> Iterator[tuple[str, tuple[Row, ...]]]:
        """The rows that each level adds, up to one."""
        start = 0
        for level, end in self.ends.items():
            if not beyond(level, most):
                yield level, self.rows[start:end]
            start = end


def stored(operator: str, digest: str, values: Sequence[int] = ()) -> CoveringArray | None:
    """The stored array of an operator; None if there is none with this digest. ``values`` are the numbers of values of its factors, where known.

    Raises:
        SpecError: the file is damaged. Rows that are lost would be cases that nobody misses.
    """
    path = FOLDER / f"{operator}.txt"
    if not path.exists():
        return None
    first, *lines = path.read_bytes().decode("utf-8", "replace").splitlines() or [""]
    try:
        facts = json.loads(first)
        if facts["digest"] != digest:
            return None
        found = CoveringArray(
            digest, facts["ends"], facts["feasible"], tuple(map(_row, lines)), tuple(facts["random"]), facts["random_core"]
        )
        problem = _problem(found, values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"not as it was written: {type(error).__name__}: {error}"
    if problem:
        raise SpecError(path, None, (), f"{problem}; restore the file, or remove it to have it computed anew")
    return found


def _problem(array: CoveringArray, values: Sequence[int]) -> str:
    """What shows that a stored array is not whole; empty if nothing does."""
    ends, columns = tuple(array.ends.values()), tuple(zip(*array.rows, strict=True))
    if array.ends.keys() - STRENGTHS or ends != tuple(sorted(ends)) or max(ends, default=0) != len(array.rows):
        return f"has {len(array.rows):,} rows, but its first line says {dict(array.ends)}"
    if values and columns and any(most >= number for most, number in zip(map(max, columns), values, strict=True)):
        return "a row has a value that its factor does not have"
    return ""


def _row(line: str) -> Row:
    return tuple(map(_VALUES.__getitem__, line))


def store(operator: str, array: CoveringArray) -> None:
    """Writes an operator's array."""
    facts = {
        "digest": array.digest,
        "ends": dict(array.ends),
        "feasible": dict(array.feasible),
        "random_core": array.random_core,
        "random": array.random,
    }
    lines = ["".join("-" if value == NONE else _DIGITS[value] for value in row) for row in array.rows]
    with writing_to(FOLDER):
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{operator}.txt").write_text("\n".join([json.dumps(facts), *lines, ""]), encoding="utf-8", newline="\n")
