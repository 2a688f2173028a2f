"""What must be the same on all machines of a run, so that its record is the one of a single machine."""

from __future__ import annotations

import platform
from dataclasses import dataclass, fields
from functools import cache
from hashlib import file_digest, sha256
from importlib import import_module, metadata
from pathlib import Path

from dmlcts.conformance.runner.folder.inputs import code_of

_ROOMS = ("spec", "generator", "reference", "conformance", "reports")

_SOURCES = frozenset({".py", ".yaml", ".json", ".txt"})

_LIBRARIES = ("hypothesis", "ml_dtypes", "numpy")
"""Those that decide which examples are drawn, and what the reference gives."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What decides the results of a machine besides the implementation. ``suite`` is the version and a hash of its files, ``code`` one of the backend's files."""

    suite: str
    python: str
    libraries: str
    platform: str
    code: str

    def difference(self, other: Likeness) -> str:
        """The first thing in which another machine differs, in words; empty if none does."""
        pairs = ((each.name, getattr(self, each.name), getattr(other, each.name)) for each in fields(self))
        return next(
            (f"its {_WORDS[name]} is {theirs}, and here it is {ours}" for name, ours, theirs in pairs if ours != theirs), ""
        )


_WORDS = {
    "suite": "directml-conformance",
    "python": "Python",
    "libraries": "set of libraries",
    "platform": "platform",
    "code": "backend's code (by its hash)",
}


def likeness_here(backend: str = "") -> Likeness:
    """That of this machine, for a backend. Raises OSError if a file of its code cannot be read."""
    return Likeness(
        _suite(),
        ".".join(platform.python_version_tuple()[:2]),
        ", ".join(f"{name} {metadata.version(name)}" for name in _LIBRARIES),
        f"{platform.system()} {platform.machine()}",
        _hash_of(code_of(backend)) if backend else "",
    )


@cache
def _suite() -> str:
    digest = sha256()
    for room in _ROOMS:
        folder = Path(next(iter(import_module(f"dmlcts.{room}").__path__)))
        for file in sorted(file for file in folder.rglob("*") if file.suffix in _SOURCES):
            digest.update(f"{room}/{file.relative_to(folder).as_posix()}\0".encode() + file.read_bytes())
    return f"{metadata.version('directml-conformance')} with files {digest.hexdigest()[:12]}"


def _hash_of(files: tuple[Path, ...]) -> str:
    """A hash of the contents of files, wherever they lie; ``none`` if there are none."""
    digest = sha256()
    for file in files:
        with file.open("rb") as stream:
            digest.update(file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:12] if files else "none"
