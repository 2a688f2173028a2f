"""What a gate found, in words and as data: for a terminal, a pull request, GitHub Actions and programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dmlcts.reports.formats.markdown import code, plain
from dmlcts.reports.gate.gate import KINDS, Change, Gate, clean
from dmlcts.reports.record.record import Manifest
from dmlcts.reports.record.verdict import backend_name, count_of

FORMAT = "dmlcts-gate-1"
"""The form of the JSON: reports/schema/gate.schema.json."""

_SHOWN_OPERATORS, _SHOWN_CASES = 20, 3
_ANNOTATIONS = 10
"""GitHub shows so many errors, and so many warnings, of a step."""


def groups(changes: Iterable[Change]) -> dict[str, list[Change]]:
    """Changes by operator, those with most first."""
    found: dict[str, list[Change]] = {}
    for change in changes:
        found.setdefault(clean(change.operator), []).append(change)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))


def text(gate: Gate) -> Iterator[str]:
    """The comparison for a terminal, line by line."""
    for problem in gate.problems:
        yield f"problem: {problem}"
    for warning in gate.warnings:
        yield f"warning: {warning}"
    for kind, changes in _by_kind(gate):
        yield ""
        yield f"{KINDS[kind]}: {len(changes):,}"
        for operator, shown, more in _first_changes(changes):
            yield f"  {operator}: {len(shown) + more:,}"
            yield from (f"    {clean(change.case)}: {change.text}" for change in shown)
            yield from (f"      {clean(change.repro)}" for change in shown[:1] if change.repro and kind in gate.regressions)
            if more:
                yield f"    ... and {more:,} more"
        if (hidden := len(groups(changes)) - _SHOWN_OPERATORS) > 0:
            yield f"  ... and {count_of(hidden, 'operator')} more"
    if gate.changes or gate.problems or gate.warnings:
        yield ""
    yield gate.sentence


def markdown(gate: Gate) -> Iterator[str]:
    """The comparison for a pull request, line by line."""
    yield f"# {'✓' if gate.ok else '✗'} {plain(gate.sentence)}"
    yield ""
    yield f"{plain(backend_name(gate.new))} against {plain(backend_name(gate.baseline))} of {plain(gate.baseline.finished or 'an unknown time')}"
    yield ""
    for problem in gate.problems:
        yield f"> ✗ {plain(problem)}"
        yield ""
    for warning in gate.warnings:
        yield f"> ⚠ {plain(warning)}"
        yield ""
    for kind, changes in _by_kind(gate):
        yield f"## {KINDS[kind].capitalize()}: {len(changes):,}"
        yield ""
        for operator, shown, more in _first_changes(changes):
            yield f"- {code(operator)}: {len(shown) + more:,}"
            yield from (f"  - {code(clean(change.case))}: {plain(change.text)}" for change in shown)
            if more:
                yield f"  - ... and {more:,} more"
        if (hidden := len(groups(changes)) - _SHOWN_OPERATORS) > 0:
            yield f"- ... and {count_of(hidden, 'operator')} more"
        yield ""


def github_annotations(gate: Gate) -> Iterator[str]:
    """Workflow commands of GitHub Actions: an error for each problem and each operator with regressions, a warning for what does not decide."""
    errors = [("problem", problem) for problem in gate.problems]
    warnings = [("gate", warning) for warning in gate.warnings]
    for kind, changes in _by_kind(gate):
        if kind in ("fixed", "still_fails", "newly_waived", "new_fails"):
            continue
        for operator, found in groups(changes).items():
            lines = [f"{clean(change.case)}: {change.text}" for change in found[:_SHOWN_CASES]]
            more = [f"... and {len(found) - _SHOWN_CASES:,} more"] if len(found) > _SHOWN_CASES else []
            entry = (f"{operator}: {len(found):,} {KINDS[kind]}", "\n".join([*lines, *more]))
            (errors if kind in gate.regressions else warnings).append(entry)
    for command, entries in (("error", errors), ("warning", warnings)):
        for title, message in entries[:_ANNOTATIONS]:
            yield f"::{command} title={_escape(f'dmlcts gate: {title}', ':,')}::{_escape(message)}"


def _escape(value: str, further: str = "") -> str:
    """A value in a workflow command: % and line ends are escaped in a message, : and , in a property too."""
    for character in f"%\r\n{further}":
        value = value.replace(character, f"%{ord(character):02X}")
    return value


def gate_json(gate: Gate) -> dict[str, Any]:
    """The comparison as data, in the form of reports/schema/gate.schema.json: every change."""
    return {
        "format": FORMAT,
        "ok": gate.ok,
        "sentence": gate.sentence,
        "problems": list(gate.problems),
        "warnings": list(gate.warnings),
        "regressions": [kind for kind in KINDS if kind in gate.regressions],
        "new": _run(gate.new),
        "baseline": _run(gate.baseline),
        "feature_level": gate.feature_level,
        "cases": gate.cases,
        "counts": gate.counts,
        "changes": [
            {
                "kind": change.kind,
                "case": change.case,
                "operator": change.operator,
                "before": change.before or None,
                "after": change.after or None,
                "message": clean(change.message),
                "repro": change.repro,
                "seconds": list(change.seconds),
            }
            for change in gate.changes
        ],
    }


def _run(manifest: Manifest) -> dict[str, str]:
    names = ("level", "basis", "feature_level", "selection", "spec_version", "suite_version", "seed", "finished")
    return {"implementation": clean(backend_name(manifest)), **{name: getattr(manifest, name) for name in names}}


def _by_kind(gate: Gate) -> Iterator[tuple[str, list[Change]]]:
    for kind in KINDS:
        changes = [change for change in gate.changes if change.kind == kind]
        if changes:
            yield kind, changes


def _first_changes(changes: Sequence[Change]) -> Iterator[tuple[str, list[Change], int]]:
    """The first operators, the first changes of each, and how many more it has."""
    for operator, found in list(groups(changes).items())[:_SHOWN_OPERATORS]:
        yield operator, found[:_SHOWN_CASES], max(0, len(found) - _SHOWN_CASES)
