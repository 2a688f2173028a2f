"""The pin: which cases an operator has, in a line a level. A change of the lines is a change for everyone who compares results over years.

    ELEMENT_WISE_CLIP core 214 98a21b70c949 68077ef1fa85

A level's line is about the cases that this level adds: how many, a hash of their ids, and one of what stands behind each id: desc, data,
bindings, expectation and tolerance. At levels smoke and core the bytes of all inputs are hashed too, so that a changed recipe shows. Level full has
too many for that: there the hash has the recipe's name and parameters. Sequences have lines of their own, such as ``core/sequences``, as the form of each
says, and so have graphs, in the place of an operator: ``graphs core``. The order of cases does not count, nor do notes and labels of coverage.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from dmlcts.generator.case.case import HUGE, LEVELS, RELATION, SEQUENCE, Case, to_json
from dmlcts.generator.case.inputs import inputs
from dmlcts.generator.plan.forms import forms
from dmlcts.generator.plan.plan import plan_of
from dmlcts.generator.suite.graph_cases.graph_case import GRAPHS, STORED, graph_cases, write_recipes
from dmlcts.generator.suite.graphs.graph_json import write_graph
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.generator.sweeps.memory import huge_cases
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load
from dmlcts.spec.reading.promises import NO_PROMISE, plain

FILE = Path(__file__).with_name("pins.txt")
"""The lines of all operators, by name and level."""

_KINDS = ("", *dict.fromkeys(f"/{form.pin}" for form in forms().values()))
_LINES = tuple(f"{level}{kind}" for kind in _KINDS for level in LEVELS)
"""The lines of an operator that has cases of every level and kind, in their order."""

_WITH_BYTES = ("smoke", "core")
_NO_CONTENT = ("id", "level", "covers", "note")
_DIGITS = 12


@dataclass(frozen=True, slots=True, order=True)
class Pin:
    """The cases that a ``level`` adds to an operator (``core``, ``core/sequences``): how many, and hashes of their ids and contents."""

    operator: str
    level: str
    cases: int
    ids: str
    contents: str

    def __str__(self) -> str:
        return f"{self.operator} {self.level} {self.cases} {self.ids} {self.contents}"

    def change(self, before: Pin | None) -> str:
        """How it differs from an older one, in words; empty if it does not."""
        if before is None:
            return f"{self.cases:,} cases are new"
        counts = f"{before.cases:,} cases before, {self.cases:,} now"
        if self.ids != before.ids:
            return f"other ids: {counts}"
        return "the same ids, other contents" if self.contents != before.contents else ""


def pins_of(name: str) -> list[Pin]:
    """The pins of an operator, or of the graphs, a level after another. Raises SpecError, NotGenerable."""
    if name == GRAPHS:
        return _pins_of_graphs()
    operator = load(name)
    cases: dict[str, list[Case]] = {line: [] for line in _LINES}
    for case in (*operator_cases(name), *huge_cases(plan_of(operator), HUGE)):
        cases[f"{case.level}/{forms()[case.sequence].pin}" if case.kind == SEQUENCE else case.level].append(case)
    shared = _expectation(operator)
    return [_pin(name, line, cases[line], shared) for line in _LINES if cases[line]]


def _pin(name: str, level: str, cases: Iterable[Case], shared: Mapping[str, Any]) -> Pin:
    ids, contents, count = sha256(), sha256(), 0
    for case in sorted(cases, key=lambda case: case.id):
        count += 1
        ids.update(case.id.encode() + b"\n")
        contents.update(_content(case, shared))
        if level.partition("/")[0] in _WITH_BYTES and case.expect != RELATION:  # a law's data are those of its variables
            for tensor, values in sorted(inputs(case).items()):
                contents.update(tensor.encode() + values.tobytes())
    return Pin(name, level, count, ids.hexdigest()[:_DIGITS], contents.hexdigest()[:_DIGITS])


def _pins_of_graphs() -> list[Pin]:
    """The pins of graphs: at level core with all numbers, at level full with recipes in the place of data."""
    found = []
    for level in STORED:
        ids, contents = sha256(), sha256()
        cases = sorted((case for case in graph_cases(level) if case.level == level), key=lambda case: case.id)
        for case in cases:
            graph = case.graph()
            ids.update(case.id.encode() + b"\n")
            content = write_graph(graph) if level in _WITH_BYTES else write_recipes(graph)
            contents.update(json.dumps([case.id, case.feature_level, content], sort_keys=True).encode())
        found.append(Pin(GRAPHS, level, len(cases), ids.hexdigest()[:_DIGITS], contents.hexdigest()[:_DIGITS]))
    return found


def _content(case: Case, shared: Mapping[str, Any]) -> bytes:
    found = {key: value for key, value in to_json(case).items() if key not in _NO_CONTENT}
    expected = shared["laws"].get(case.relation) if case.expect == RELATION else shared["tolerance"]
    return json.dumps([case.id, found, expected], sort_keys=True).encode()


def _expectation(operator: Operator) -> dict[str, Any]:
    """What is expected of an operator's cases beside their own content: the tolerance, and its laws by label."""
    laws = {relation.label: plain(relation, NO_PROMISE) for relation in operator.relations}
    return {"tolerance": plain(operator.tolerance, NO_PROMISE), "laws": laws}


def read_pins(file: Path = FILE) -> dict[tuple[str, str], Pin]:
    """The stored pins by operator and level; none if there is no file."""
    if not file.exists():
        return {}
    rows = (line.split() for line in file.read_text(encoding="utf-8").splitlines())
    pins = [Pin(name, level, int(cases), ids, contents) for name, level, cases, ids, contents in rows]
    return {(pin.operator, pin.level): pin for pin in pins}


def write_pins(pins: Iterable[Pin], file: Path = FILE) -> None:
    """Writes pins, by operator and level."""
    ordered = sorted(pins, key=lambda pin: (pin.operator, _LINES.index(pin.level)))
    file.write_text("".join(f"{pin}\n" for pin in ordered), encoding="utf-8", newline="\n")


def changes(found: Iterable[Pin], stored: Mapping[tuple[str, str], Pin]) -> Iterator[tuple[Pin, str]]:
    """The pins that differ from the stored ones of the same operators, each with how; one that is stored and not found has no cases any more."""
    new = {(pin.operator, pin.level): pin for pin in found}
    for key, pin in new.items():
        if change := pin.change(stored.get(key)):
            yield pin, change
    operators = {operator for operator, _ in new}
    for key, pin in stored.items():
        if key not in new and key[0] in operators:
            yield pin, f"its {pin.cases:,} cases are gone"
