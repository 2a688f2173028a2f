"""What explains the failures of a run: conditions that failing cases meet and passing ones do not, as text, JSON and Markdown.

Who writes a report works them out (conformance/runner/explaining), since a record alone does not know what its cases are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from dmlcts.reports.record.files import write_text
from dmlcts.reports.record.record import ERROR, FAIL, UNEXPECTED_PASS, UNSUPPORTED

FILE = "explanations.json"
"""The file beside the other reports."""

MOST_SHOWN = 10
"""How many are shown where there is little room; the file has all."""

DISPATCHES, REJECTIONS, LAWS, UNKNOWN, NOT_MADE = "", "rejection", "law", "unknown", "not made"
"""The groups of cases that are explained apart: what is dispatched, what must be rejected, laws whose data are drawn, and cases of which only
the id is known: the suite does not have them, or would need minutes to make them."""

_VERBS = {
    FAIL: ("fails", "fail"),
    ERROR: ("ends in an error", "end in an error"),
    UNEXPECTED_PASS: ("passes unexpectedly", "pass unexpectedly"),
    UNSUPPORTED: ("is unsupported", "are unsupported"),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Conditions: ``failing`` of the ``inside`` cases that meet them have the ``status``, and ``failing_outside`` of the ``outside`` others.

    ``operator`` is empty if it is about the whole run, where ``operators`` says how many fail so. Of ``total`` cases with that status it covers
    ``explains`` that no explanation before it does. Without ``conditions``, nothing explains so many, or all cases fail. ``alternative``
    are other conditions that fit the results as well, and ``next`` the cases in which the two differ; ``command`` runs these.
    """

    operator: str
    status: str
    group: str
    conditions: tuple[str, ...]
    inside: int
    failing: int
    outside: int
    failing_outside: int
    explains: int
    total: int
    operators: int = 0
    alternative: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    command: str = ""
    text: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self._text())

    @property
    def precise(self) -> bool:
        """Whether no case meets the conditions without having the status."""
        return bool(self.conditions) and self.inside == self.failing

    def _text(self) -> str:
        one, many = _VERBS[self.status]
        verb = many if self.operators else one
        subject = f"a {self.group} case " if self.group else ""
        if not self.conditions:
            if self.inside:
                return f"{subject}{verb} always ({self.failing:,} of {self.inside:,})"
            if self.group == UNKNOWN:
                return f"left out are failures of {self.explains:,} {'case' if self.explains == 1 else 'cases'} that this version of the suite does not have"
            if self.group == NOT_MADE:
                cases = "case is" if self.explains == 1 else "cases are"
                return f"failures of {self.explains:,} {cases} not explained, since no rows fit its spec: first `dmlcts spec arrays {self.operator}`"
            of = f" of {self.total:,}" if self.explains < self.total else ""
            what = f"{self.group} cases" if self.group else "cases"
            return f"{self.explains:,}{of} {what} that {many}: one to three conditions explain them no better than chance"
        conditions = " and ".join(self.conditions)
        if self.total == 1 and self.precise:  # whatever is unusual about this case would explain it as well
            return f"{subject}{verb} once, in the only case of {self.inside + self.outside:,} in which {conditions}; one failure does not show its cause"
        share = f"{self.failing:,} of {self.inside:,}"
        text = f"{verb} whenever {conditions} ({share})" if self.precise else f"{verb} in {share} cases in which {conditions}"
        if not self.failing_outside:
            return f"{subject}{text}, never otherwise (0 of {self.outside:,})"
        rest = f"explains {self.explains:,} of {self.total:,}; {self.failing_outside:,} of {self.outside:,} otherwise"
        return f"{subject}{text}; {rest}"

    @property
    def where(self) -> str:
        """The operator, or how many operators it is about."""
        return self.operator or f"{self.operators:,} operators"

    @property
    def question(self) -> str:
        """What is left open, in a sentence; empty if nothing is."""
        return f"as well possible: whenever {' and '.join(self.alternative)}" if self.alternative else ""


def more(explanations: Sequence[Explanation]) -> str:
    """A sentence on those that are not shown; empty if there are none."""
    left = len(explanations) - MOST_SHOWN
    return f"... and {left:,} more in {FILE}" if left > 0 else ""


def as_json(explanations: Sequence[Explanation]) -> str:
    """All explanations as JSON, a list of objects."""
    return json.dumps([asdict(explanation) for explanation in explanations], indent=1, ensure_ascii=False) + "\n"


def write_explanations(explanations: Sequence[Explanation], file: Path) -> None:
    """Writes ``as_json``. Raises OSError, naming the folder, if it cannot."""
    write_text(file, as_json(explanations))
