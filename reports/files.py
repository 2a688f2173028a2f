"""Writing reports: atomically, with errors that name the folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def writing(folder: Path) -> Iterator[Path]:
    """Creates ``folder`` if necessary, for files that are written within. Raises OSError with the folder's name in its message."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except OSError as error:
        reason = error.strerror or str(error)
        raise OSError(
            f"{folder}: the report cannot be written here: {reason}; choose another folder, or make this one writable"
        ) from error


def write_text(file: Path, text: str) -> None:
    """Writes ``text`` as UTF-8, atomically: a reader sees the old file or the new one. Makes the folder; raises OSError naming it."""
    with writing(file.parent):
        partial = file.with_name(file.name + ".partial")
        # A lone surrogate, which the output of a crashed program may contain, becomes '?'.
        partial.write_bytes(text.encode("utf-8", errors="replace"))
        partial.replace(file)
