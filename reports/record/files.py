"""Writing reports: atomically, with errors that name the folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path

from dmlcts.reports.record.atomic import replace_file
from dmlcts.reports.record.record import Result
from dmlcts.spec.writing.files import writing_to


@contextmanager
def write_folder(folder: Path) -> Iterator[Path]:
    """Creates ``folder`` if necessary, for files that are written within. Raises WriteError with the folder's name in its message."""
    with writing_to(folder, "the report cannot be written here"):
        folder.mkdir(parents=True, exist_ok=True)
        yield folder


def write_text(file: Path, text: str) -> None:
    """Writes ``text`` as UTF-8, atomically: a reader sees the old file or the new one. Makes the folder; raises OSError naming it."""
    with write_folder(file.parent), replace_file(file) as stream:
        stream.write(text)


def portable(name: str) -> str:
    """A file's name, with ``_`` before one that is a device on Windows, whatever its extension: ``_CON.xml``."""
    return f"_{name}" if _DEVICE.fullmatch(name.partition(".")[0].rstrip(" ")) else name


_DEVICE = re.compile(
    "(con|prn|aux|nul|conin[$]|conout[$]|(com|lpt)[0-9\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO}\N{SUPERSCRIPT THREE}])", re.IGNORECASE
)


MOST = 120
"""Characters of a file's name, so that with its folder it stays below the 260 that Windows allows a path."""


def file_name(name: str, extension: str) -> str:
    """A file's name for a case, a graph or a fault, valid on every system. ``extension`` has its dot. One that would be too long ends in a hash of the whole."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", name) or "_"
    if len(stem) + len(extension) > MOST:
        end = f"-{sha256(name.encode()).hexdigest()[:8]}"
        stem = stem[: MOST - len(extension) - len(end)] + end
    return portable(f"{stem}{extension}")


def file_names(operators: Iterable[str], extension: str, reserved: str = "") -> dict[str, str]:
    """A file name for each operator, valid on every system, and unique on case-insensitive ones too.

    ``extension`` has its dot; none is called ``reserved``.
    """
    found: dict[str, str] = {}
    taken = {reserved}
    numbers = count(1)
    for operator in operators:
        stem = name = portable(re.sub(r"[^A-Za-z0-9_-]", "_", operator)[:80] or "_")
        while name.lower() in taken:
            name = f"{stem}-{next(numbers)}"
        taken.add(name.lower())
        found[operator] = f"{name}{extension}"
    return found


def in_parts(entries: Iterable[tuple[Result, str]], most: int) -> Iterator[list[tuple[Result, str]]]:
    """Results with their text, in parts of at most ``most`` characters; at least one result each."""
    part: list[tuple[Result, str]] = []
    size = 0
    for result, text in entries:
        if part and size + len(text) > most:
            yield part
            part, size = [], 0
        part.append((result, text))
        size += len(text)
    if part:
        yield part


def part_name(name: str, number: int) -> str:
    """The name of the file of part ``number``: ``GEMM.xml`` of the first, ``GEMM.2.xml`` of the second."""
    stem, dot, extension = name.rpartition(".")
    return name if number == 1 else f"{stem}.{number}{dot}{extension}"


def by_operator(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results of each operator, by name."""
    found: dict[str, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.operator):
        found.setdefault(result.operator, []).append(result)
    return found


def remove_older(folder: Path, extension: str, names: Iterable[str], start: str) -> None:
    """Removes files of an older report from ``folder``: those that begin with ``start`` and are not in ``names``. Other files stay."""
    kept = set(names)
    if not folder.is_dir():
        return
    with write_folder(folder):
        for file in folder.glob(f"*{extension}"):
            if file.name not in kept and file.read_text(encoding="utf-8", errors="replace").startswith(start):
                file.unlink()
