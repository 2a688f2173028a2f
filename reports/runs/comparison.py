"""Several runs side by side: what each operator is worth in each, which failures have one cause, since when and until when, and what is comparable.

Only cases that two runs both ran are compared. Failures have one cause if they share a symptom (reports/explain/symptom) and came and went in the same
runs; what the backend's own words tell apart may be of several operators, wrong values are of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dmlcts.reports.explain.symptom import OF_VALUES
from dmlcts.reports.record.policies import policies_text
from dmlcts.reports.record.record import UNSUPPORTED, Manifest
from dmlcts.reports.record.verdict import count_of
from dmlcts.reports.runs.run import BAD, GOOD, Noted, Run
from dmlcts.spec.model.abi import feature_level, first_level

LATER, MISSING = "later", "missing"
"""What a cell is where a run has no case of an operator: its feature level has not got it, or the run left it out."""

_NAMED = 4


@dataclass(frozen=True, slots=True)
class Cause:
    """Failures with one cause: of ``operators``, with a ``symptom``, each in the same ``changes`` from run to run.

    ``bad`` are the places of the runs in which a case of it fails; ``since`` is the first of them, where the case passes in the run ``before`` it,
    and ``until`` the last, where it passes in the run ``after`` it; each None if no run tells. ``words`` stand in the ids of all cases.
    ``explanation`` is what explains them in the newest run that says so, empty if none does.
    """

    operators: tuple[str, ...]
    symptom: str
    detail: str
    words: tuple[str, ...]
    cases: tuple[str, ...]
    bad: tuple[int, ...]
    before: int | None
    since: int | None
    until: int | None
    after: int | None
    only: bool
    message: str
    explanation: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The runs from old to new, the operators by name, the causes with most cases first, and what cannot be compared, in sentences."""

    runs: tuple[Run, ...]
    operators: tuple[str, ...]
    causes: tuple[Cause, ...]
    noted: dict[str, Noted]
    remarks: tuple[str, ...]

    def letters(self, case: str) -> str:
        """How a case ended in each run, a letter each."""
        return "".join(run.letter(case) for run in self.runs)

    def kind(self, operator: str, place: int) -> str:
        """Why a run has no case of an operator; empty if it has."""
        run = self.runs[place]
        if operator in run.cells:
            return ""
        return LATER if first_level(operator) > feature_level(run.manifest.feature_level) else MISSING


def compare_runs(runs: Sequence[Run]) -> Comparison:
    """The runs, which are in order and have their keys, side by side."""
    noted = {case: note for run in runs for case, note in run.noted.items()}
    operators = sorted({operator for run in runs for operator in run.cells})
    causes = tuple(_causes(runs, noted))
    return Comparison(tuple(runs), tuple(operators), causes, noted, tuple(_remarks(runs)))


def changes_of(letters: str) -> tuple[tuple[int, bool], ...]:
    """Where a case begins to fail or to pass: place and whether it is bad, for the first run that tells and each in which it is otherwise than before.

    The first has the place 0, whichever run it is: cases that a feature level added have the cause of older ones.
    """
    told = [(place, letter in BAD) for place, letter in enumerate(letters) if letter in GOOD or letter in BAD]
    turned = [now for before, now in pairwise(told) if before[1] != now[1]]
    return ((0, told[0][1]), *turned) if told else ()


def _causes(runs: Sequence[Run], noted: dict[str, Noted]) -> Iterator[Cause]:
    found: dict[tuple[object, ...], list[str]] = {}
    for case in noted:
        letters = "".join(run.letter(case) for run in runs)
        if not BAD.isdisjoint(letters):
            note = noted[case]
            whose = note.operator if note.symptom in OF_VALUES else ""
            found.setdefault((whose, note.symptom, changes_of(letters)), []).append(case)
    made = [_cause(cases, [noted[case] for case in cases], runs) for cases in found.values()]
    yield from sorted(made, key=lambda cause: (-len(cause.bad), -len(cause.cases), cause.operators))


def _cause(cases: Sequence[str], notes: Sequence[Noted], runs: Sequence[Run]) -> Cause:
    rows = ["".join(run.letter(case) for run in runs) for case in cases]
    bad = tuple(place for place in range(len(runs)) if any(row[place] in BAD for row in rows))
    good = tuple(place for place in range(len(runs)) if any(row[place] in GOOD for row in rows))
    before = max((place for place in good if place < bad[0]), default=None)
    after = min((place for place in good if place > bad[-1]), default=None)
    shared = set(notes[0].words).intersection(*(note.words for note in notes))
    details = {note.detail for note in notes}
    return Cause(
        operators=tuple(sorted({note.operator for note in notes})),
        symptom=notes[0].symptom,
        detail=details.pop() if len(details) == 1 else "",
        words=tuple(word for word in notes[0].words if word in shared),
        cases=tuple(cases),
        bad=bad,
        before=before,
        since=bad[0] if before is not None else None,
        until=bad[-1] if after is not None else None,
        after=after,
        only=len(bad) == 1 and bool(good),
        message=notes[0].message,
        explanation=_explanation(cases, [runs[place] for place in reversed(bad)]),
    )


def _explanation(cases: Sequence[str], runs: Sequence[Run]) -> str:
    """The first explanation of any of the cases, with the run that it is of."""
    known = set(cases)
    found = ((run.key, text) for run in runs for example, text in run.explained.items() if example in known)
    return next((f"in {key}, {text}" for key, text in found), "")


def cause_text(cause: Cause, runs: Sequence[Run]) -> str:
    """When it fails: ``since 1.13.0 (1.12.1 passes), until 1.14.1 (1.15.1 passes)``."""
    keys = [run.key for run in runs]
    if cause.only and cause.before is not None and cause.after is not None:
        return f"only in {keys[cause.bad[0]]}"
    begins = (
        f"since {keys[cause.since]} ({keys[cause.before]} passes)" if cause.since is not None and cause.before is not None else ""
    )
    ends = f"until {keys[cause.until]} ({keys[cause.after]} passes)" if cause.until is not None and cause.after is not None else ""
    between = any(place not in cause.bad for place in range(cause.bad[0], cause.bad[-1]))
    where = f"in {', '.join(keys[place] for place in cause.bad)}" if between else ""
    if not (begins or ends):
        return where or (
            f"in {keys[cause.bad[0]]}"
            if len(cause.bad) == 1
            else f"from {keys[cause.bad[0]]} to {keys[cause.bad[-1]]}, wherever it ran"
        )
    return ", ".join(filter(None, (begins, where, ends)))


_DIFFERENCES: tuple[tuple[str, Callable[[Manifest], str], str], ...] = (
    ("suite version", lambda m: m.suite_version, "cases that both have are compared"),
    ("spec", lambda m: m.spec_version, "a case may ask for something else under the same id"),
    ("level", lambda m: m.level, "cases that both ran are compared"),
    ("basis", lambda m: m.basis, "cases that both ran are compared"),
    ("feature level", lambda m: m.feature_level.replace("_", "."), "what a lower one has not got is empty"),
    ("selection of cases", lambda m: m.selection or "all", "cases that both ran are compared"),
    ("shard", lambda m: m.shard or "all", "merge the shards of a run first"),
    (
        "device",
        lambda m: str(m.backend.get("device") or "unknown"),
        "a difference may be the device's, and not the implementation's",
    ),
    ("precision that is declared", lambda m: policies_text(m.backend), "the same answer may pass in one and fail in another"),
    ("waiver files", lambda m: ", ".join(entry["file"] for entry in m.waivers) or "none", "a waived case counts as one that fails"),
)
"""In what runs may differ: a word, its value, and what that means for the comparison."""


def _remarks(runs: Sequence[Run]) -> Iterator[str]:
    for word, value, consequence in _DIFFERENCES:
        whose: dict[str, list[str]] = {}
        for run in runs:
            whose.setdefault(value(run.manifest), []).append(run.key)
        if len(whose) > 1:
            yield f"Another {word}: {'; '.join(f'{each[:80]} in {_some(keys)}' for each, keys in whose.items())}. {consequence.capitalize()}."
    for run in runs:
        if run.unfinished:
            yield f"{run.key}: {run.unfinished}"
        if (unsupported := run.counts[UNSUPPORTED]) and unsupported == sum(run.counts.values()):
            yield f"{run.key} supports none of its {count_of(unsupported, 'case')}."


def _some(keys: Sequence[str]) -> str:
    return ", ".join(keys[:_NAMED]) + (f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else "")
