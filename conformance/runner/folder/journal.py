"""The journal of a run in progress: a folder below the output folder, with a results file for each process.

Every process appends to its own file, so that nothing is lost when one or all of them are stopped. The first file has the manifest of an
unfinished run, which names the selected operators. As soon as the cases of an operator are made, a file lists them as ``not_run``; results in
later files replace these. So the folder is a readable record at any time: ``dmlcts report`` and ``dmlcts merge`` can read the journal of a
killed run, and ``dmlcts run --resume`` goes on with it. Any other run into the same output folder starts a new one.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from dmlcts.reports.claim.claim_json import unlike_claim
from dmlcts.reports.explain.explanation import FILE as EXPLANATIONS
from dmlcts.reports.formats.ctrf import remove_ctrf
from dmlcts.reports.formats.junit import remove_junit
from dmlcts.reports.record.atomic import replace_file
from dmlcts.reports.record.labels import checked_record
from dmlcts.reports.record.record import (
    Lines,
    Manifest,
    Record,
    RecordError,
    Result,
    read_entries,
    read_manifest,
    read_record,
    read_result,
    result_json,
    write_line,
    write_record,
)
from dmlcts.spec.writing.files import writing_to

FOLDER = "parts"

LISTED, SELECTED, CRASHED, RAN = "0-listed-{number:04}.jsonl", "0-selected.jsonl", "2-crashed.jsonl", "1-ran-{process}.jsonl"
"""File names, in reading order: of a case whose process died, that it died is the result, whatever the process wrote."""

_LIST = LISTED.partition("{")[0]

BEFORE = RAN.format(process="before")
"""The results of the run that is resumed."""

EXAMPLES = "examples"
"""The folder for shrunken examples of property cases."""

JUNIT, CTRF = "junit", "ctrf"
"""The folders for JUnit XML and CTRF JSON."""

RESULTS, OLDER = "results.jsonl", "results-older.jsonl"
"""The results of the run, and, until it begins, those of the run before it."""

_REPORTS = (RESULTS, "claim.json", "summary.md", "index.html", EXPLANATIONS)
OWN = frozenset({*_REPORTS, *(f"{name}.partial" for name in _REPORTS), OLDER, FOLDER, EXAMPLES, JUNIT, CTRF, "data"})
"""The names that a run uses in its output folder."""


def set_aside(out: Path) -> None:
    """Leaves nothing of an older run in ``out`` but its results, under the name OLDER. Raises OSError."""
    if (out / RESULTS).exists():
        (out / RESULTS).replace(out / OLDER)
    _remove_reports(out)


def _remove_reports(out: Path) -> None:
    for name in _REPORTS:
        (out / name).unlink(missing_ok=True)
    remove_junit(out / JUNIT)
    remove_ctrf(out / CTRF)


def begin(out: Path, manifest: Manifest, before: Iterable[Result] = ()) -> Path:
    """Prepares ``out`` for a run: removes the reports of an older one, and returns the journal folder.

    ``manifest`` has all selected operators as ``unlisted``. ``before`` are the results to keep; what is in the folder is removed only after they
    are written, so that they can be read at any time. Raises OSError if the journal cannot be written.
    """
    parts, kept = out / FOLDER, tuple(before)
    if parts.exists() and not kept:
        shutil.rmtree(parts)
    parts.mkdir(parents=True, exist_ok=True)
    older = [file for file in parts.iterdir() if file.name not in (SELECTED, BEFORE)]
    write_manifest(parts, manifest)
    if kept:
        _write(parts / BEFORE, kept)
    for file in (*older, out / OLDER):
        file.unlink(missing_ok=True)
    _remove_reports(out)
    if not kept:
        for example in (out / EXAMPLES).glob("*.json"):
            example.unlink()
    return parts


def write_manifest(parts: Path, manifest: Manifest) -> None:
    """Writes the manifest, atomically."""
    write_record(Record(manifest, ()), parts / SELECTED)


def write_list(parts: Path, number: int, cases: Iterable[Result]) -> None:
    """Lists the cases of the operator with this number in the selection, each as ``not_run``, atomically."""
    _write(parts / LISTED.format(number=number), cases)


def read_listed(parts: Path, number: int) -> list[Result]:
    """The cases that ``write_list`` wrote. Raises RecordError."""
    return [read_result(data) for _, _, data in read_entries(parts / LISTED.format(number=number))]


def is_listed(parts: Path, number: int) -> bool:
    """Whether there is such a list."""
    return (parts / LISTED.format(number=number)).exists()


def unlist(parts: Path, number: int) -> None:
    """Removes a list."""
    (parts / LISTED.format(number=number)).unlink(missing_ok=True)


def write_crashed(parts: Path, result: Result) -> None:
    """The result of a case whose process died."""
    with writing_to(parts), (parts / CRASHED).open("a", encoding="utf-8", newline="\n") as stream:
        write_line(stream, "result", result_json(result))


def _write(file: Path, results: Iterable[Result]) -> None:
    with replace_file(file) as stream:
        lines = Lines(stream)
        for result in results:
            lines.result(result)


def end(out: Path) -> None:
    """Removes the journal after the reports are written."""
    shutil.rmtree(out / FOLDER, ignore_errors=True)


def read_parts(parts: Path) -> Record:
    """The results so far: one for every case that was made, in the order of the selection. The manifest names the operators that have no list.

    Raises:
        RecordError: there is no manifest. A damaged file is read as far as possible.
    """
    manifest: Manifest | None = None
    ran: dict[str, Result] = {}
    found: dict[str, Result] = {}
    whole: set[str] = set()
    # The lists come last: of a case that has run they say nothing but its place.
    for file in sorted(parts.glob("*.jsonl"), key=lambda file: (file.name.startswith(_LIST), file.name)):
        into = found if file.name.startswith(_LIST) else ran
        try:
            for _, kind, data in read_entries(file, ran if into is found else ()):
                if kind == "manifest":
                    manifest = read_manifest(data)
                else:
                    result = (ran.get(data["case"]) if into is found else None) or read_result(data)
                    into[result.case] = result
            whole.add(file.name)
        except (RecordError, TypeError, KeyError):
            continue
    found |= ran  # a case that is in no list comes after the others
    if manifest is None:
        raise RecordError(f"{parts} has no manifest: the run was killed before it began, or this is not a journal")
    unlisted = [name for number, name in enumerate(manifest.unlisted) if LISTED.format(number=number) not in whole]
    return Record(replace(manifest, unlisted=unlisted, selected=len(found)), tuple(found.values()))


def read_run(path: Path) -> Record:
    """The record of a results file, or of the output folder of a run, which may have been killed.

    Raises:
        RecordError: it cannot be read, or there is none, no run can have written it (reports/record/labels), or the claim beside it is of other
            results.
    """
    if file := path if not path.is_dir() else path / RESULTS if (path / RESULTS).exists() else None:
        record = checked_record(read_record(file), str(file))
        if problem := unlike_claim(file):
            raise RecordError(problem)
        return record
    if (path / FOLDER).is_dir():
        return checked_record(read_parts(path / FOLDER), str(path / FOLDER))
    if (path / OLDER).exists():
        raise RecordError(f"{path} has no results: its last run did not start; {path / OLDER} has those of the run before it")
    raise RecordError(f"{path} has neither results.jsonl nor a folder {FOLDER}; give a results file or the output folder of a run")
