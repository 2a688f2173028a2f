"""When to stop: cases in a row that all lose the host show one cause and no more, and cost hours.

After so many the rest of the operator is left, after so many operators in a row the rest of the run; a host that cannot be started again
ends the run at once, whatever the operator. Cases in a row are those of one process: beside a host that is ill another may be well.

A host is lost by a crash, a hang, endless work or an answer that makes no sense. A case that the host answers, rightly or wrongly, shows that it lives. What is
waived, or excluded by the backend's description, counts neither way: known crashes stop no run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dmlcts.conformance.backends.backend import CRASHED, GARBLED, HUNG, NOT_STARTED, SLOW
from dmlcts.conformance.execution.outcome import HOST
from dmlcts.reports.record.record import PASS, WAIVED, Result

COSTS = {CRASHED: 1, GARBLED: 1, HUNG: 4, SLOW: 4, NOT_STARTED: 4}
"""What losing the host costs: a crash about a second, a hang and a start that fails mostly the whole limit. What is slow costs four times that, but the next case may be quick."""

LIMIT = 20
"""The cost in a row after which an operator is stopped: 20 crashes, or 5 hangs. The known crashes of DirectML 1.15.4 come at most 2 in a row."""

OPERATORS = 5
"""Operators stopped in a row, without a pass in between, after which the run is. Fewer would end it for one family, such as three kinds of pooling."""

PASSED, ANSWERED, SILENT = "passed", "answered", "silent"
"""What a case says of its host if the host was not lost: it passed and was not negative; it was answered; nothing."""

KINDS = frozenset({*COSTS, PASSED, ANSWERED, SILENT})
"""All ways in which a case can end."""

_WORDS = {
    CRASHED: "crashed",
    HUNG: "hung",
    SLOW: "were slow",
    GARBLED: "got no valid answer",
    NOT_STARTED: "found no host",
}

_TELLING = (re.compile(r"unimplemented function [\w.]+"), re.compile(r"crashed with .*"), re.compile(r"the host is at .*"))
"""What says most in a host's standard error, the best first. The first is Wine's, the others are those of the suite's host for DirectML."""

_LONGEST = 300


class Ending(NamedTuple):
    """How a case ended: one of KINDS. ``text`` says how the host was lost."""

    kind: str
    text: str = ""


def ending_of(result: Result) -> Ending:
    """How a case ended, from its result."""
    if result.status == WAIVED or result.undeclared:
        return Ending(SILENT)
    lost = str(result.evidence.get(HOST, ""))
    if lost in COSTS:
        return Ending(lost, _text(result.message, result.evidence))
    return Ending(PASSED if result.status == PASS and result.kind != "negative" else ANSWERED)


def _text(message: str, evidence: dict[str, Any]) -> str:
    """What is known of how the host was lost: what its standard error says best, otherwise the message."""
    _, _, printed = str(evidence.get("fault", "")).partition("standard error")
    found = (telling.search(printed) for telling in _TELLING)
    best = next((match[0] for match in found if match), "")
    return (best or re.sub(r"^must be rejected \(.*?\), but: ", "", message))[:_LONGEST]


def reason(endings: Sequence[Ending]) -> str:
    """Why to stop after these cases in a row, all of which lost the host: how most of them ended. Empty if they are not enough."""
    if sum(COSTS[ending.kind] for ending in endings) < LIMIT:
        return ""
    (most, count), *others = Counter(endings).most_common()
    part = f"{count} of them: " if others else ""
    return f"{len(endings)} cases in a row {_WORDS[most.kind]} ({part}{most.text})"


@dataclass
class Breaker:
    """What is stopped so far: ``operators``, each with the reason, and the ``run`` with its reason, empty as long as it goes on."""

    operators: dict[str, str] = field(default_factory=dict)
    run: str = ""
    _rows: dict[int, list[Ending]] = field(default_factory=dict)
    _stopped_in_a_row: int = 0

    def on_ending(self, process: int, operator: str, ending: Ending) -> None:
        """A case of an operator ended so in a process, which is a number."""
        row = self._rows.setdefault(process, [])
        if operator in self.operators and ending.kind in COSTS and ending.kind != NOT_STARTED:
            row.clear()  # it was on its way when its operator was stopped, and tells nothing about the next one but that its host had started
        elif ending.kind in COSTS:
            row.append(ending)
        elif ending.kind != SILENT:
            row.clear()
            self._stopped_in_a_row *= ending.kind != PASSED
        if why := reason(_starts(row)):
            self.run = self.run or why
        if why := reason(row):
            row.clear()
            self._stop(operator, why)

    def _stop(self, operator: str, why: str) -> None:
        if operator not in self.operators:
            self.operators[operator] = why
            self._stopped_in_a_row += 1
        if self._stopped_in_a_row == OPERATORS:
            self.run = self.run or f"{OPERATORS} operators in a row were stopped, the last one after {why}"


def _starts(row: Sequence[Ending]) -> Sequence[Ending]:
    """The end of a row in which every start failed."""
    first = next((index for index in range(len(row), 0, -1) if row[index - 1].kind != NOT_STARTED), 0)
    return row[first:]
