"""Failures that belong together: of one operator, with one form of message and the same factor values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dmlcts.reports.record.record import FAILURES, UNSUPPORTED, Result

_NUMBERS = re.compile(r"0x[0-9A-Fa-f]+|[-+]?(?:\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?|\binf\b|\bnan\b)", re.IGNORECASE)


MOST_VALUES = 3
"""The most values of a factor that are named."""


@dataclass(frozen=True, slots=True)
class Group:
    """Results that refute, of one operator with the same message but for its numbers, of one kind and data type.

    ``factors`` are the words that all their ids share: data types, layouts, rules. Where cases fail with some layouts of a tensor alone, these
    are one word, ``B-strided|padded``. ``rows`` are their places in the operator's results, ``example`` is the first.
    """

    status: str
    kind: str
    factors: tuple[str, ...]
    rows: tuple[int, ...]
    example: Result


def groups(results: Sequence[Result]) -> list[Group]:
    """The groups of an operator's results that refute: failures first, the largest first, then in the order of the results."""
    found: dict[tuple[str, str, str, str], list[int]] = {}
    tested: dict[tuple[str, str], set[str]] = {}
    for row, result in enumerate(results):
        tested.setdefault((result.data_type, result.kind), set()).update(words(result))
        if refutes(result):
            found.setdefault((result.status, result.data_type, result.kind, message_form(result)), []).append(row)
    made = [
        Group(status, kind, _factors([words(results[row]) for row in rows], tested[data_type, kind]), tuple(rows), results[rows[0]])
        for (status, data_type, kind, _), rows in found.items()
    ]
    return sorted(made, key=lambda group: (group.status not in FAILURES, -len(group.rows)))


def deciding_results(results: Iterable[Result]) -> list[Result]:
    """The results that decide a run's exit code: its failures; if there are none, what is unsupported within what the implementation claims."""
    found = [result for result in results if refutes(result)]
    return [result for result in found if result.status in FAILURES] or found


def refutes(result: Result) -> bool:
    """Whether a result speaks against the implementation: a failure, or an unsupported case that its description does not exclude."""
    return result.status in FAILURES or (result.status == UNSUPPORTED and not result.undeclared)


def _factors(failing: Sequence[tuple[str, ...]], tested: set[str]) -> tuple[str, ...]:
    """The words that all have in common, and the layouts of a tensor if not all that were tested are among them."""
    common = set(failing[0]).intersection(*failing)
    found = [word for word in failing[0] if word in common]
    for tensor in dict.fromkeys(word.partition("-")[0] for word in failing[0] if "-" in word and word not in common):
        layouts = {word.partition("-")[2] for each in failing for word in each if word.startswith(f"{tensor}-")}
        every = {word for word in tested if word.startswith(f"{tensor}-")}
        if 1 < len(layouts) <= MOST_VALUES and len(layouts) < len(every):
            found.append(f"{tensor}-{'|'.join(sorted(layouts))}")
    return tuple(found)


def message_form(result: Result) -> str:
    """The message without what differs from case to case: numbers, places, and the case's own id."""
    return text_form(result.message.replace(result.case, "…") if result.case else result.message)


def text_form(text: str) -> str:
    """A text without numbers and places."""
    return _NUMBERS.sub("#", re.sub(r"\[[-\d, ]*\]", "[…]", text))


def words(result: Result) -> tuple[str, ...]:
    """The words of the id: without the operator, the kind, numbers (``4d``, sizes) and values of attributes."""
    parts = result.case.removeprefix(f"{result.operator}/").split("/")
    named = (word for part in parts if "=" not in part for word in part.split("."))
    return tuple(word for word in named if word and not word[0].isdigit() and word != result.kind)


def spread(failing: Iterable[str], tested: Iterable[str]) -> str:
    """Which of several values fail: ``FLOAT16 (of 3)``, ``FLOAT16, FLOAT32 (of 10)``, ``all 3``; empty if there is only one."""
    found, every = sorted(set(failing)), set(tested)
    if len(every) < 2:
        return ""
    if len(found) == len(every):
        return f"all {len(every)}"
    more = len(found) - MOST_VALUES
    shown = ", ".join(found[:MOST_VALUES]) + (f" and {more} more" if more > 0 else "")
    return f"{shown} (of {len(every)})"
