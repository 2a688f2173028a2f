"""Writing files: an error names the file, and says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path

FULL = frozenset({ENOSPC, EDQUOT, EFBIG})
"""No space is left: on the device, in the user's share, or in what a file may have."""


class WriteError(OSError):
    """A file or a folder cannot be written; the message names it, the reason (``strerror``), and what to do."""

    def __init__(self, place: object, cause: OSError, what: str = "") -> None:
        super().__init__(cause.errno, cause.strerror or str(cause))
        self.place, self.what, self.advice = place, what or "it cannot be written", _advice(cause)

    def __str__(self) -> str:
        return f"{self.place}: {self.what}: {self.strerror}; {self.advice}"

    def __reduce__(self) -> tuple[type[WriteError], tuple[object, ...]]:
        """By what it is made of: a worker process passes it on."""
        return WriteError, (self.place, OSError(self.errno, self.strerror), self.what)


def _advice(cause: OSError) -> str:
    return (
        "free some space, or choose another folder" if cause.errno in FULL else "choose another folder, or make this one writable"
    )


@contextmanager
def writing_to(place: Path, what: str = "") -> Iterator[Path]:
    """For what is written within to ``place``, a file or a folder. Raises WriteError for each OSError, unless it is one already.

    The system's own error names no file where a disk is full.
    """
    try:
        yield place
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(place, error, what) from error
