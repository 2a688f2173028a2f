"""The journal of a run in progress: a folder below the output folder, with a results file for each process.

Every process appends to its own file, so that nothing is lost when one or all of them are stopped. The first file has the manifest of an
unfinished run, and every selected case as ``not_run``; results in later files replace these. So the folder is a readable record at any
time: ``dmlcts report`` and ``dmlcts merge`` can read the journal of a killed run. The next run into the same output folder starts a new one.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from dmlcts.reports.record import (
    Manifest,
    Record,
    RecordError,
    Result,
    read_entries,
    read_manifest,
    read_record,
    read_result,
    write_record,
)

FOLDER = "parts"

SELECTED, CRASHED, RAN = "0-selected.jsonl", "1-crashed.jsonl", "2-ran-{process}.jsonl"
"""File names, in reading order: a result that a process wrote has priority over the controller's guess about how it ended."""

STOP = "stop"
"""The file that stops the run, with the reason."""

EXAMPLES = "examples"
"""The folder for shrunken examples of property cases."""

_REPORTS = ("results.jsonl", "claim.json", "junit.xml", "ctrf.json", "summary.md", "index.html")
OWN = frozenset({*_REPORTS, *(f"{name}.partial" for name in _REPORTS), FOLDER, EXAMPLES, "data"})
"""The names that a run uses in its output folder."""


def begin(out: Path, record: Record) -> Path:
    """Prepares ``out`` for a run: removes the reports of an older one, and returns the new journal folder.

    ``record`` has the manifest and every selected case as ``not_run``. Raises OSError if it cannot be written.
    """
    parts = out / FOLDER
    if parts.exists():
        shutil.rmtree(parts)
    parts.mkdir(parents=True)
    for name in _REPORTS:
        (out / name).unlink(missing_ok=True)
    for example in (out / EXAMPLES).glob("*.json"):
        example.unlink()
    write_record(record, parts / SELECTED)
    return parts


def end(out: Path) -> None:
    """Removes the journal after the reports are written."""
    shutil.rmtree(out / FOLDER, ignore_errors=True)


def stop(parts: Path, reason: str = "") -> None:
    """Tells every process of the run to start no further case."""
    (parts / STOP).write_text(reason, encoding="utf-8")


def reason_to_stop(parts: Path) -> str:
    """The reason to stop; empty if none was given."""
    file = parts / STOP
    return file.read_text(encoding="utf-8") if file.exists() else ""


def read_parts(parts: Path) -> Record:
    """The results so far: one for every selected case, in the order of the selection.

    Raises:
        RecordError: there is no manifest. A damaged file is read as far as possible.
    """
    manifest: Manifest | None = None
    found: dict[str, Result] = {}
    for file in sorted(parts.glob("*.jsonl")):
        try:
            for _, kind, data in read_entries(file):
                if kind == "manifest":
                    manifest = read_manifest(data)
                else:
                    result = read_result(data)
                    found[result.case] = result
        except (RecordError, TypeError, KeyError):
            continue
    if manifest is None:
        raise RecordError(f"{parts} has no manifest: the run was killed before it began, or this is not a journal")
    return Record(manifest, tuple(found.values()))


def read_run(path: Path) -> Record:
    """The record of a results file, or of the output folder of a run, which may have been killed.

    Raises:
        RecordError: it cannot be read, or there is none.
    """
    if not path.is_dir():
        return read_record(path)
    if (path / "results.jsonl").exists():
        return read_record(path / "results.jsonl")
    if (path / FOLDER).is_dir():
        return read_parts(path / FOLDER)
    raise RecordError(f"{path} has neither results.jsonl nor a folder {FOLDER}; give a results file or the output folder of a run")
