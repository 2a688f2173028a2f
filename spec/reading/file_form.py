"""The form that every file of spec/operators and spec/profiles has: what an editor needs, one order, no line too wide, nothing left open."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from dmlcts.spec.reading.document import parse

ORDER = (
    *("operator", "profile", "type", "introduced", "summary", "extends", "renamed", "without"),
    *("fields", "support", "constraints", "shapes", "in_place", "tolerance", "accepts", "examples", "errata", "sources", "cases"),
)
"""The promises, then what cases do with them."""

CASES = (
    "attributes",
    "configurations",
    "measured-where",
    "sizes",
    "largest",
    "most-elements",
    "usual-elements",
    "turning",
    "resize",
    "workloads",
    "dispatches",
    "values",
    "layouts",
    "relations",
)
"""The sections of ``cases``."""

WIDEST = 150

OPEN = ("FILL IN", "CHECK:")
"""What marks a place of a file begun by ``dmlcts spec new`` that nobody has looked at."""


SCHEMA = "# yaml-language-server: $schema={}schema/operator.schema.json"
"""The first line, with the way from the file's folder up to spec/, by which editors complete and explain."""


def problems(text: str, file: Path) -> Iterator[str]:
    """What is wrong with the form of a file below spec/, with the line. Raises SpecError where it is no YAML."""
    data = parse(text, file).data
    lines = text.splitlines()
    first = SCHEMA.format("../" * len(file.parent.relative_to(spec_folder()).parts))
    if lines[:1] != [first]:
        yield f"{file}:1: the first line must be {first!r}, by which editors complete and explain"
    for what, keys, order in (("the file", list(data), ORDER), ("cases", list(data.get("cases", {})), CASES)):
        right = [key for key in order if key in keys]
        if keys != right:
            yield f"{file}: the sections of {what} must stand in this order: {', '.join(right)}"
    for number, line in enumerate(lines, 1):
        if len(line) > WIDEST:
            yield f"{file}:{number}: {len(line)} characters, at most {WIDEST} are wanted: go on in the next line"
        if any(mark in line for mark in OPEN):
            yield f"{file}:{number}: still to be done, and the mark to be removed: {line.strip()}"


def spec_folder() -> Path:
    """The folder of operators/, profiles/ and schema/."""
    return Path(str(resources.files("dmlcts.spec")))
