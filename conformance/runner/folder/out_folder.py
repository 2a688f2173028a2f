"""The output folder of a run: it belongs to one run at a time, and a run touches only its own files in it."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dmlcts.conformance.runner.folder import journal
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.spec.writing.files import writing_to

LOCK = ".dmlcts.lock"
"""The lock file. The operating system releases the lock whenever the process ends; the file stays, since another run may be about to open
it."""

_MANIFEST = b'{"manifest":'
"""The beginning of the first line of a results file."""


@contextmanager
def claim_folder(out: Path) -> Iterator[Path]:
    """The folder ``out``, created if necessary, for exclusive use by one run.

    Raises:
        UsageError: another run uses it, it holds files but no record of a run, one of a run's own names in it is a symbolic link, or it
            cannot be written. Nothing in it has been changed then.
    """
    try:
        entries = {entry.name for entry in out.iterdir()} - {LOCK} if out.is_dir() else set()
        _check(out, entries)
        out.mkdir(parents=True, exist_ok=True)
        held = (out / LOCK).open("a+b", buffering=0)  # else closing it would fail again where the disk is full
    except OSError as error:
        raise UsageError(
            f"the output folder {out} cannot be written: {error.strerror or error}; choose another with --out"
        ) from None
    with held:
        if not _lock(held):
            raise UsageError(f"another run is writing to the output folder {out}; wait for it, or choose another with --out")
        with writing_to(out / LOCK):
            _note_process(held)
        yield out


def _check(out: Path, entries: set[str]) -> None:
    for name in sorted(entries & journal.OWN):
        if (out / name).is_symlink():
            raise UsageError(
                f"{out / name} is a symbolic link, through which a run would write; remove it, or choose another folder with --out"
            )
    records = (journal.RESULTS, journal.OLDER, f"{journal.FOLDER}/{journal.SELECTED}")
    if entries and not any(_begins_record(out / name) for name in records):
        raise UsageError(f"{out} holds files but no results of a run, so it is not overwritten; choose an empty folder with --out")
    parts = out / journal.FOLDER
    if parts.is_dir() and any(parts.iterdir()) and not _begins_record(parts / journal.SELECTED):
        raise UsageError(
            f"{parts} holds files that no run wrote, so it is not overwritten; move it, or choose another folder with --out"
        )


def _begins_record(file: Path) -> bool:
    """Whether a file is a results file, possibly truncated."""
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(len(BOM_UTF8 + _MANIFEST)).removeprefix(BOM_UTF8).startswith(_MANIFEST)


def _lock(held: IO[bytes]) -> bool:
    """Takes the lock; returns whether that was possible."""
    try:
        if os.name == "nt":
            import msvcrt

            held.seek(0)
            msvcrt.locking(held.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _note_process(held: IO[bytes]) -> None:
    """Writes the id of the process into the lock file, for people."""
    held.truncate(0)
    held.write(f"\n{os.getpid()}\n".encode())  # Windows locks the first byte
