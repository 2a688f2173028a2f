"""The files that decide the results of a run: ``dmlcts run --resume`` refuses to go on when one of them has changed, and ``dmlcts merge`` refuses
shards that differ in them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from hashlib import file_digest, sha256
from importlib.machinery import ModuleSpec, PathFinder
from itertools import accumulate
from pathlib import Path
from typing import Any

from dmlcts.conformance.backends.backend import BackendUnavailable
from dmlcts.conformance.backends.process.process import split_command
from dmlcts.conformance.runner.planning.options import RunOptions, UsageError

_APART: dict[str, Any] = {
    "out": "", "maxfail": 0, "keep_going": False, "paths": True, "corpus": (), "today": "", "shard": "", "seed": "", "minutes": 0.0, "waivers": (), "case_files": (),
}  # fmt: skip
"""What does not decide a result, is compared by itself (the shard, the seed), or is hashed by its content, wherever the file lies."""


def inputs_of(options: RunOptions) -> str:
    """A hash of the options and files that decide the results, the backend's code among them: the same for all shards of a run.

    Raises UsageError if a file cannot be read.
    """
    digest = sha256(replace(options, **_APART).to_json().encode())
    for kind, files in (("waivers", options.waivers), ("cases", options.case_files), ("code", code_of(options.backend))):
        for file in map(Path, files):
            digest.update(kind.encode() + _hash_of(file))
    return digest.hexdigest()[:12]


def _hash_of(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return file_digest(stream, "sha256").digest()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {error}") from None


def code_of(backend: str) -> tuple[Path, ...]:
    """The files that are known to hold a backend's code: its module, or its program and the script that this runs; none if there is no such file.

    What these load is not among them.
    """
    kind, _, argument = backend.partition(":")
    if kind in ("python", "inprocess"):
        return tuple(_module_file(argument.partition(":")[0]))
    if kind == "process":
        return tuple(_program_files(argument))
    return ()


def _module_file(name: str) -> Iterator[Path]:
    """The file of a module. Nothing of it is imported, not even the packages that it is in."""
    spec: ModuleSpec | None = None
    for part in accumulate(name.split("."), "{}.{}".format):
        if spec is not None and spec.submodule_search_locations is None:
            return  # a module has no submodules
        spec = _find_module(part, spec)
        if spec is None:
            return
    if spec is not None and spec.has_location and spec.origin and Path(spec.origin).is_file():
        yield Path(spec.origin)


def _find_module(name: str, package: ModuleSpec | None) -> ModuleSpec | None:
    path = None if package is None else list(package.submodule_search_locations or ())
    if path is None and (here := PathFinder.find_spec(name, [str(Path.cwd())])):
        return here  # as conformance/backends/opening, which finds modules in the current folder
    for finder in sys.meta_path:
        with suppress(ImportError, ValueError, AttributeError):
            if found := finder.find_spec(name, path):
                return found
    return None


def _program_files(command: str) -> Iterator[Path]:
    """The first word that is a file, and the next word if it is one too: an interpreter's script."""
    with suppress(BackendUnavailable):
        words = split_command(command)
        first = next((number for number, word in enumerate(words) if Path(word).is_file()), len(words))
        yield from (Path(word) for word in words[first : first + 2] if Path(word).is_file())
