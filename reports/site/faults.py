"""Known faults: what an implementation does otherwise than is promised, from the errata of specs and from waivers.

Each names the cases that show it, by patterns of ids: a waiver has them, and what an erratum says that it is shown by is read as such where it names
cases (``examples nan-*``, ``case FLOAT16/sizes/...``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dmlcts.reports.gate.waivers import Waiver
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.model.source import EFFECTS

WAIVED = "waived"
"""The effect of what a waiver names: its cases fail."""

EFFECT_WORDS = {WAIVED: "fails its cases, which a waiver excuses", **EFFECTS}
"""What a fault does, in words, the worst first."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A known fault. ``name`` says where it is recorded, ``versions`` of what it is known, ``shown_by`` how it shows in words, and ``patterns`` the ids
    of cases that show it.
    """

    name: str
    effect: str
    text: str
    versions: str
    shown_by: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """The smallest case that shows something: its id, and the file beside the pages that has it as a model or a case."""

    case: str
    file: str


def known_faults(operator: Operator, waivers: Sequence[Waiver]) -> list[Fault]:
    """What is known to be wrong with an operator, the worst first."""
    found = [*_faults_of_waivers(operator.name, waivers), *_of_errata(operator)]
    return sorted(found, key=lambda fault: [*EFFECT_WORDS].index(fault.effect))


def general_faults(waivers: Sequence[Waiver], operators: Sequence[str]) -> list[Fault]:
    """What waivers name of no operator of these alone: the API, and cases of all."""
    return _faults_by_reason([waiver for waiver in waivers if waiver.cases.partition("/")[0] not in operators])


def _faults_of_waivers(operator: str, waivers: Sequence[Waiver]) -> list[Fault]:
    return _faults_by_reason([waiver for waiver in waivers if waiver.cases.partition("/")[0] == operator])


def _faults_by_reason(waivers: Sequence[Waiver]) -> list[Fault]:
    """A fault for each reason."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for waiver in waivers:
        versions = ", ".join(f"{name} {' or '.join(ranges)}" for name, ranges in waiver.versions.items())
        groups.setdefault((waiver.reason, waiver.issue, versions), []).append(waiver.cases)
    return [
        Fault(issue, WAIVED, reason, versions, ", ".join(patterns), tuple(patterns))
        for (reason, issue, versions), patterns in groups.items()
    ]


def _of_errata(operator: Operator) -> Iterator[Fault]:
    for erratum in operator.errata:
        if erratum.effect:
            yield Fault(
                f"erratum {erratum.id}",
                erratum.effect,
                erratum.text,
                f"DirectML {erratum.measured}" if erratum.measured else "",
                erratum.shown_by or erratum.evidence,
                tuple(case_patterns(operator.name, erratum.shown_by)),
            )


_PLACES = {
    "example": "*/example/{}", "examples": "*/example/{}", "case": "{}", "cases": "*{}*", "negative": "*/negative/{}", "configuration": "*/{}/*",
    "configurations": "*/{}/*", "values": "*/values/*{}*",
}  # fmt: skip
"""A word of ``shown_by`` -> where in an id what follows it stands."""

_NAMED = re.compile(rf"\b({'|'.join(_PLACES)}) ((?:[^\s,;]+)(?:(?:, | and )(?!(?:{'|'.join(_PLACES)}|dmlcts)\b)[^\s,;]+)*)")


def case_patterns(operator: str, shown_by: str) -> list[str]:
    """The patterns of ids that a text names, in its order; none where it names no cases."""
    if shown_by.startswith("dmlcts "):
        return []
    return [
        f"{operator}/{_PLACES[word].format(name)}"
        for word, names in _NAMED.findall(shown_by)
        for name in re.split(r", | and ", names)
    ]
