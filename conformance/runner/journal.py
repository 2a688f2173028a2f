"""The results of a run that is under way: a folder below the output folder, and in it a results file of each process.

Every process appends to a file of its own as it goes, so that nothing is lost when one of them, or all, are stopped. The first file has
the manifest of a run that did not finish, and every selected case as ``not_run``; what a later file says of a case takes its place. So the
folder is a readable record at any time: of a run that was killed, ``dmlcts report`` and ``dmlcts merge`` read what there is. The next
run into the same output folder starts anew.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from dmlcts.reports.record import Manifest, Record, RecordError, Result, read_lines, read_record, read_result, write_record

FOLDER = "parts"

SELECTED, CRASHED, RAN = "0-selected.jsonl", "1-crashed.jsonl", "2-ran-{process}.jsonl"
"""File names, in the order in which they are read. What a process wrote of a case counts more than what is thought of how it ended."""

STOP = "stop"
"""The file that says that no further case is to be run, and why."""

EXAMPLES = "examples"
"""The folder for shrunken examples of property cases."""

_REPORTS = ("results.jsonl", "junit.xml", "ctrf.json", "summary.md", "index.html")
OWN = frozenset({*_REPORTS, *(f"{name}.partial" for name in _REPORTS), FOLDER, EXAMPLES, "data"})
"""What a run writes into its output folder."""


def begin(out: Path, record: Record) -> Path:
    """Makes ``out`` ready for a run: takes away the reports of an older one, and returns the new folder of parts.

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
    """Takes the parts away, once what they say is in a report."""
    shutil.rmtree(out / FOLDER, ignore_errors=True)


def stop(parts: Path, reason: str = "") -> None:
    """Tells every process of the run that no further case is to be run."""
    (parts / STOP).write_text(reason, encoding="utf-8")


def reason_to_stop(parts: Path) -> str:
    """What was given as the reason to stop; empty if there was none."""
    file = parts / STOP
    return file.read_text(encoding="utf-8") if file.exists() else ""


def read_parts(parts: Path) -> Record:
    """What the processes have written so far: one result for every selected case, in the order of the selection.

    Raises:
        RecordError: there is no manifest. A file that is damaged counts as far as it can be read.
    """
    manifest: Manifest | None = None
    found: dict[str, Result] = {}
    for file in sorted(parts.glob("*.jsonl")):
        try:
            for _, kind, data in read_lines(file):
                if kind == "manifest":
                    manifest = Manifest(**data)
                else:
                    result = read_result(data)
                    found[result.case] = result
        except (RecordError, TypeError, KeyError):
            continue
    if manifest is None:
        raise RecordError(f"{parts}: no manifest in it; a run was killed before it began, or this is no folder of parts")
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
    raise RecordError(f"{path}: neither results.jsonl nor a folder {FOLDER} in it; name a results file or the folder of a run")
