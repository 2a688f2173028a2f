"""What was reviewed: no fault in some operators, one that measured cases alone find, or one that no case finds so far: ``reviewed.yaml``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from dmlcts.spec.model.operator import Operator, Relation
from dmlcts.spec.reading.loader import load

FILE = Path(__file__).with_name("reviewed.yaml")

NO_FAULT, MEASURED, OPEN = "no_fault", "measured", "open"


class ReviewError(ValueError):
    """The file says something that it cannot mean; the message says which entry and what."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: ``faults`` and ``operators`` are globs, ``when`` names a property that an operator must have (``PROPERTIES``)."""

    kind: str
    number: int
    faults: tuple[str, ...]
    operators: tuple[str, ...]
    reason: str
    when: str = ""

    def speaks_of(self, operator: str, fault: str) -> bool:
        """Whether it is about this fault in this operator."""
        named = any(fnmatchcase(operator, glob) for glob in self.operators) and any(
            fnmatchcase(fault, glob) for glob in self.faults
        )
        return named and (not self.when or PROPERTIES[self.when](load(operator)))

    def __str__(self) -> str:
        return f"{FILE.name}, {self.kind}, entry {self.number} ({', '.join(self.faults)})"


@cache
def entries() -> tuple[Entry, ...]:
    """Every entry of the file. Raises ReviewError."""
    return read_entries(yaml.safe_load(FILE.read_text(encoding="utf-8")))


def read_entries(data: Mapping[str, Any]) -> tuple[Entry, ...]:
    """The entries of a file's content. Raises ReviewError."""
    if not isinstance(data, dict) or data.keys() - {NO_FAULT, MEASURED, OPEN}:
        raise ReviewError(f"{FILE.name} has {NO_FAULT}, {MEASURED} and {OPEN}, and nothing else")
    return tuple(_read(kind, number, entry) for kind in data for number, entry in enumerate(data[kind] or (), 1))


def _read(kind: str, number: int, data: Any) -> Entry:
    where = f"{FILE.name}, {kind}, entry {number}"
    if not isinstance(data, dict) or data.keys() - {"faults", "operators", "reason", "when"}:
        raise ReviewError(f"{where} must have faults, operators, reason, and perhaps when; not {data!r}")
    if not isinstance(data.get("reason"), str) or not isinstance(data.get("faults"), list):
        raise ReviewError(f"{where} needs a list of faults and a reason")
    if data.get("when", "") not in ("", *PROPERTIES):
        raise ReviewError(f"{where}: when is one of {', '.join(PROPERTIES)}")
    return Entry(kind, number, tuple(data["faults"]), tuple(data.get("operators", ("*",))), data["reason"], data.get("when", ""))


def review(operator: str, fault: str) -> Mapping[str, str]:
    """What was found about a fault in an operator: reasons by kind, none where nothing was."""
    return {entry.kind: entry.reason for entry in reversed(entries()) if entry.speaks_of(operator, fault)}


def unused_entries(planted: Iterable[tuple[str, str]]) -> Iterator[Entry]:
    """The entries that match none of these faults (operator and name)."""
    pairs = list(planted)
    return (entry for entry in entries() if not any(entry.speaks_of(*pair) for pair in pairs))


# Properties of operators that an entry may ask for


def _law(operator: Operator, *labels: str) -> bool:
    """Whether a law of such a label holds of the operator without a condition."""

    def is_unconditional(relation: Relation) -> bool:
        return relation.label in labels and not relation.data_types and relation.when is None and relation.where is None

    return any(is_unconditional(relation) for relation in operator.relations)


def _idempotent(operator: Operator) -> bool:
    """f(f(x)) == f(x), or f(f(a, b), b) == f(a, b)."""
    if len(operator.inputs()) == 1:
        return _law(operator, "idempotent", "identity")
    return _law(operator, "idempotent", "of-itself") and _law(operator, "associative")


def _flat(operator: Operator) -> bool:
    """All sizes but the last two are 1."""
    rows = [row for shape in operator.shapes for row in shape.sizes.values()]
    return bool(rows) and all("*" not in "".join(row[-2:]) and set(row[:-2]) <= {"*1"} for row in rows)


PROPERTIES: Mapping[str, Callable[[Operator], bool]] = {
    "commutative": lambda operator: _law(operator, "commutative", "symmetric"),
    "idempotent": _idempotent,
    "identity": lambda operator: _law(operator, "identity"),
    "same-of-two": lambda operator: len(operator.inputs()) == 2 and _law(operator, "idempotent"),
    "flat": _flat,
}
"""By the name that an entry's ``when`` gives."""
