"""Which versions a waiver is about: ``1.15.4``, ``1.8.0 to 1.15.4``, ``>=1.12,<1.15``, or a version's whole text.

Only a version that is numbers is within a range. ``1.15.4+sha256.0123...``, a file that is no known release, is not: nobody knows what it does.
It can be named by its whole text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any

_NUMBERS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})*")
_BOUND = re.compile(r"(>=|<=|>|<)\s*([0-9]{1,9}(?:\.[0-9]{1,9})*)")
_HOLDS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {">=": ge, "<=": le, ">": gt, "<": lt}
_WORD = re.compile(r"[^\s*?]+")

Versions = Mapping[str, Sequence[str]]
"""A program's name -> the ranges of its versions."""


def what_ran(backend: Mapping[str, Any]) -> dict[str, str]:
    """The versions of a backend and of what it says that it runs on, by name, from its description as JSON (a manifest's ``backend``)."""
    return {
        **{str(name): value for name, value in details_of(backend).items() if isinstance(value, str)},
        str(backend.get("name") or ""): str(backend.get("version") or ""),
    }


def details_of(backend: Mapping[str, Any]) -> Mapping[str, Any]:
    """The details of a backend's description as JSON; none where they are no object."""
    details = backend.get("details")
    return details if isinstance(details, Mapping) else {}


def replaced_text(details: Mapping[str, Any]) -> str:
    """``2 of its kernels are replaced``, from the details of a description: what ran is then nobody's release. Empty if none is."""
    replaced = details.get("replaced_kernels")
    count = len(replaced) if isinstance(replaced, Mapping) else 0
    return f"{count} of its kernels {'is' if count == 1 else 'are'} replaced" if count else ""


def problem_of(text: str) -> str:
    """What is wrong with a range; empty if nothing is."""
    if text[:1] in (">", "<"):
        return "" if _bounds(text) else "must be bounds such as >=1.12,<1.15, with the same numbers as a version has"
    first, to, last = text.partition(" to ")
    if not to and _WORD.fullmatch(text):
        return ""
    if not (_NUMBERS.fullmatch(first) and _NUMBERS.fullmatch(last)):
        return "must be a version such as 1.15.4, or two such as 1.8.0 to 1.15.4; it is no pattern"
    return "" if _numbers(first) <= _numbers(last) else "ends before it begins"


def is_within(version: str, text: str) -> bool:
    """Whether a version is in a range."""
    if bounds := _bounds(text):
        return bool(_NUMBERS.fullmatch(version)) and all(_HOLDS[sign](_numbers(version), limit) for sign, limit in bounds)
    first, _, last = text.partition(" to ")
    if not all(map(_NUMBERS.fullmatch, (version, first, last or first))):
        return version == text
    return _numbers(first) <= _numbers(version) <= _numbers(last or first)


def _bounds(text: str) -> list[tuple[str, tuple[int, ...]]]:
    """The bounds of ``>=1.12,<1.15``; none if it is not such a text."""
    found = [_BOUND.fullmatch(part.strip()) for part in text.split(",")]
    return [(each[1], _numbers(each[2])) for each in found if each] if all(found) else []


def _numbers(text: str) -> tuple[int, ...]:
    """Numbers to compare: 1.15 is 1.15.0."""
    found = [int(word) for word in text.split(".")]
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def unlike(versions: Versions, ran: Mapping[str, str]) -> str:
    """The first program whose version is in none of its ranges, in words; empty if none is."""
    for name, ranges in versions.items():
        version = ran.get(name, "")
        if not any(is_within(version, text) for text in ranges):
            return f"it is about {name} {', '.join(ranges)}, and this is {f'{name} {version}' if version else f'no known {name}'}"
    return ""
