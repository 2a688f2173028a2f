"""The history beside a page of several runs: one JSON line for each run that ever stood in it, so that a trend outlives the records."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dmlcts.reports.record.atomic import replace_file
from dmlcts.reports.record.record import STATUSES
from dmlcts.spec.untrusted import sanitize
from dmlcts.spec.untrusted.files import MIB, InputError, check, parse_json_line, path_text, read_lines, validator

FILE = "history.jsonl"

LARGEST, LONGEST = 64 * MIB, MIB

_TEXTS = ("implementation", "device", "feature_level", "level", "basis", "selection", "suite_version", "spec_version", "started")
"""What a line says of its run, and what makes it the same run as another."""


class HistoryError(ValueError):
    """A history is not one; the message names file and line."""


def line_of(run: dict[str, Any]) -> dict[str, Any]:
    """The line of a run, from its entry in ``runs_json``."""
    return {
        **{name: str(run[name]) for name in _TEXTS},
        "counts": {status: run["counts"][status] for status in STATUSES},
        "operators": run["operators"],
    }


def read_history(file: Path) -> list[dict[str, Any]]:
    """The lines of a history; none if there is no file.

    Raises:
        HistoryError: it cannot be read, or a line is not in the form of reports/schema/history.schema.json.
    """
    if not file.exists():
        return []
    checked, found, number = validator("dmlcts.reports", "history"), [], 0

    def wrong(path: Any, problem: str) -> HistoryError:
        return HistoryError(f"{file}:{number}: {path_text(path) or 'a line of a history'}: {problem}")

    try:
        for text in read_lines(file, LARGEST, LONGEST):
            number += 1
            try:
                entry = parse_json_line(text)
            except InputError as error:
                raise wrong((), f"{error}; remove the file to begin a new history") from None
            check(checked, entry, wrong)
            found.append(sanitize.data(entry, sanitize.line))
    except InputError as error:
        raise HistoryError(f"{file}{f':{error.line}' if error.line else ''}: {error}") from None
    return found


def write_history(lines: Iterable[dict[str, Any]], file: Path) -> list[dict[str, Any]]:
    """Adds lines to a history, each run once, and returns all by time. Raises HistoryError, WriteError."""
    known = {tuple(line[name] for name in _TEXTS): line for line in (*read_history(file), *lines)}
    found = sorted(known.values(), key=lambda line: (line["started"], line["implementation"]))
    with replace_file(file) as stream:
        for line in found:
            stream.write(json.dumps(line, separators=(",", ":")) + "\n")
    return found
