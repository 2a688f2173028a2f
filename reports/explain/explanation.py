"""What explains the failures of a run: conditions that failing cases meet and passing ones do not, as text, JSON and Markdown.

Who writes a report works them out (conformance/runner/explaining), since a record alone does not know what its cases are.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from dmlcts.reports.explain.symptom import PAGE
from dmlcts.reports.record.files import write_text
from dmlcts.reports.record.record import ERROR, FAIL, UNEXPECTED_PASS, UNSUPPORTED, RecordError
from dmlcts.spec.untrusted import sanitize
from dmlcts.spec.untrusted.files import MIB, InputError, parse_json, read_text

FILE = "explanations.json"
"""The file beside the other reports."""

MOST_SHOWN = 10
"""How many are shown where there is little room; the file has all."""

DISPATCHES, REJECTIONS, LAWS, REPETITIONS = "", "rejection", "law", "sequence"
UNKNOWN, NOT_MADE, BEYOND, PAIRS = "unknown", "not made", "beyond", "pairs"
"""The groups of cases that are explained apart: what is dispatched, what must be rejected, laws whose data are drawn, sequences of dispatches, cases of which only the id is known
(the suite does not have them, or would need minutes to make them), cases of a higher level that were not looked at, as they fail like those of a lower one, and pairs of values (then ``inside`` are pairs, ``failing`` of them
ran in no case, ``conditions`` are values that never ran, and ``outside`` are the pairs without any of these)."""

_VALUES = 4
"""How many values that never ran a text names."""

SOME = 0.2
"""The share of passing cases among those that meet conditions, above which a text says where alone cases fail, not that they do."""

_VERBS = {
    FAIL: ("fails", "fail"),
    ERROR: ("ends in an error", "end in an error"),
    UNEXPECTED_PASS: ("passes unexpectedly", "pass unexpectedly"),
    UNSUPPORTED: ("is unsupported", "are unsupported"),
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Conditions: ``failing`` of the ``inside`` cases that meet them have the ``status``, and ``failing_outside`` of the ``outside`` others.

    ``operator`` is empty if it is about the whole run, where ``operators`` says how many fail so. Of ``total`` cases with that status and the same
    ``symptom`` (reports/explain/symptom; empty for wrong values) it covers
    ``explains`` that no explanation before it does. Conditions that are ``needed`` explain nothing by themselves: all ``left`` failures that no
    explanation before covers meet them, and so do cases that pass. Without ``conditions``, nothing explains so many, or all cases fail.
    ``detail`` is what the wrong values have in common. ``alternative``
    are other conditions that fit the results as well, and ``next`` the cases in which the two differ; ``command`` runs these.
    ``kernels`` are the code paths that the conditions are about, and ``reached`` says of each when it runs, in a sentence.
    ``example`` is the plainest case that it explains, and ``simplest`` what that case was made into, in words, where it was made simpler.
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
    symptom: str = ""
    detail: str = ""
    needed: bool = False
    left: int = 0
    example: str = ""
    simplest: str = ""
    kernels: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()
    text: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", self._text())

    @property
    def precise(self) -> bool:
        """Whether no case meets the conditions without having the status."""
        return bool(self.conditions) and self.inside == self.failing

    def _text(self) -> str:
        if self.group == PAIRS:
            return self._of_pairs()
        how = "; ".join(filter(None, (self.symptom, self.detail)))
        one, many = (f"{verb} ({how})" if how else verb for verb in _VERBS[self.status])
        verb = many if self.operators else one
        subject = f"a {self.group} case " if self.group else ""
        if not self.conditions:
            return self._unconditional(subject, verb, many)
        conditions = " and ".join(self.conditions)
        passing, share_of_all = self.inside - self.failing, f"{self.failing:,} of {self.total:,}"
        if self.needed:
            if self.left < self.total:
                subject, verb = f"the other {self.left:,} {f'{self.group} cases ' if self.group else ''}", many
            rest = "" if self.left < self.total else f": {share_of_all}"
            return f"{subject}{verb} only where {conditions}{rest}; {passing:,} of {self.inside:,} such cases pass"
        if (
            self.explains == 1 and self.precise and self.failing == 1
        ):  # whatever is unusual about this case would explain it as well
            once = "once" if self.total == 1 else "once more"
            return (
                f"{subject}{verb} {once}, in the only case of {self.inside + self.outside:,} in which {conditions}; "
                "one failure does not show its cause"
            )
        share = f"{self.failing:,} of {self.inside:,}"
        if self.failing_outside == 0 and passing > SOME * self.inside:
            return f"{subject}{verb} only where {conditions}: {share_of_all}; {passing:,} of {self.inside:,} such cases pass"
        text = f"{verb} whenever {conditions} ({share})" if self.precise else f"{verb} in {share} cases in which {conditions}"
        if not self.failing_outside:
            return f"{subject}{text}, never otherwise (0 of {self.outside:,})"
        rest = f"explains {self.explains:,} of {self.total:,}; {self.failing_outside:,} of {self.outside:,} otherwise"
        return f"{subject}{text}; {rest}"

    def _of_pairs(self) -> str:
        ran = 100 * (self.inside - self.failing) // self.inside
        shown, left = self.conditions[:_VALUES], len(self.conditions) - _VALUES
        text = f"of the pairs of values that the selected cases of level core have, {ran} % ran, since {self.explains:,} cases are unsupported"
        if not shown:
            return text
        others = 100 * (self.outside - self.failing_outside) // max(1, self.outside)
        return (
            f"{text}: none with {'; '.join(shown)}{f'; {left} more' if left > 0 else ''}, and of the pairs without these {others} %"
        )

    def _unconditional(self, subject: str, verb: str, many: str) -> str:
        if self.inside:
            return f"{subject}{verb} always ({self.failing:,} of {self.inside:,})"
        if self.group == UNKNOWN:
            return f"left out are failures of {self.explains:,} {'case' if self.explains == 1 else 'cases'} that this version of the suite does not have"
        if self.group == NOT_MADE:
            cases = "case is" if self.explains == 1 else "cases are"
            return f"failures of {self.explains:,} {cases} not explained, since no rows fit its spec: first `dmlcts spec arrays {self.operator}`"
        if self.group == BEYOND:
            return f"left out are {self.explains:,} failures of a higher level, with the same symptoms and about as frequent: `dmlcts explain --level full` looks at them too"
        if self.operators:
            return f"{verb}: {self.explains:,} cases"
        if self.symptom == PAGE:
            return (
                f"{self.explains:,} {'case fails' if self.explains == 1 else 'cases fail'} against what was measured, with {PAGE}"
            )
        of = f" of {self.total:,}" if self.explains < self.total else ""
        kind = f"{self.group} " if self.group else ""
        if self.explains == self.total == 1:
            return f"{subject}{verb} once; one failure does not show its cause"
        if self.explains == 1:
            return f"1{of} {kind}cases that {many}: no conditions explain it better than chance"
        return f"{self.explains:,}{of} {kind}cases that {many}: no conditions explain them better than chance"

    @property
    def where(self) -> str:
        """The operator, or how many operators it is about."""
        return self.operator or f"{self.operators:,} operators"

    @property
    def question(self) -> str:
        """What is left open, in a sentence; empty if nothing is."""
        return f"as well possible: whenever {' and '.join(self.alternative)}" if self.alternative else ""


def remarks(explanation: Explanation) -> list[str]:
    """The lines below an explanation: when its code paths run, what its example comes down to, and what is left open."""
    simplest = f"the smallest of these comes down to {explanation.simplest}" if explanation.simplest else ""
    return [line for line in (*explanation.reached, simplest, explanation.question) if line]


def rest_sentence(explanations: Sequence[Explanation]) -> str:
    """A sentence on those that are not shown; empty if there are none."""
    left = len(explanations) - MOST_SHOWN
    return f"... and {left:,} more in {FILE}" if left > 0 else ""


def as_json(explanations: Sequence[Explanation]) -> str:
    """All explanations as JSON, a list of objects."""
    return json.dumps([asdict(explanation) for explanation in explanations], indent=1, ensure_ascii=False) + "\n"


def write_explanations(explanations: Sequence[Explanation], file: Path) -> None:
    """Writes ``as_json``. Raises OSError, naming the folder, if it cannot."""
    write_text(file, as_json(explanations))


LARGEST = 16 * MIB


def read_texts(file: Path) -> dict[str, str]:
    """The texts of the explanations that another run wrote, by the example of each; none if there is no file.

    Raises:
        RecordError: it is no such file.
    """
    if not file.is_file():
        return {}
    try:
        found = parse_json(read_text(file, LARGEST))
    except InputError as error:
        raise RecordError(f"{file}: {error}") from None
    entries = found if isinstance(found, list) else [found]
    texts = [(entry.get("example"), entry.get("text")) for entry in entries if isinstance(entry, dict)]
    if len(texts) < len(entries) or not all(isinstance(part, str) for pair in texts for part in pair):
        raise RecordError(
            f"{file}: not a list of explanations, each with an example and a text; remove the file, or write the report again"
        )
    return {sanitize.line(example): sanitize.line(text) for example, text in texts if example}
