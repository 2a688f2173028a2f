"""Writing a file so that a reader sees the old one or the whole new one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from dmlcts.spec.writing.files import writing_to


@contextmanager
def replace_file(file: Path) -> Iterator[TextIO]:
    """A new file in UTF-8, which replaces ``file`` when the context ends without an exception. Raises WriteError.

    A symbolic link with the name of either is replaced, not followed. A lone surrogate, which the output of a crashed program may contain,
    becomes '?'.
    """
    partial = file.with_name(file.name + ".partial")
    with writing_to(file):
        partial.unlink(missing_ok=True)
        with partial.open("x", encoding="utf-8", errors="replace", newline="\n") as stream:
            yield stream
        partial.replace(file)
