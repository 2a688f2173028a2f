"""Profiles of the API: which promises a client relies on, in the order in which it comes to them, as data: a file of the folder ``clients`` each.

A profile says what its client is ``able`` to do where all promises are kept, and whether a run of it ``stops`` at the first that is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dmlcts.conformance.sequences.promises.promise import Promise, promises
from dmlcts.spec.reading.document import parse, read
from dmlcts.spec.reading.schema import validate


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile. ``client`` is whom its promises are for, ``able`` what such a client can do where all are kept: ``run its models``."""

    name: str
    description: str
    client: str
    able: str
    promises: tuple[Promise, ...]
    stops: bool = False


def profiles_folder() -> Path:
    """The folder of the files."""
    return Path(__file__).parent / "clients"


@cache
def profile_names() -> tuple[str, ...]:
    """The names of all profiles: those of the files."""
    return tuple(sorted(file.stem for file in profiles_folder().glob("*.yaml")))


@cache
def profile_called(name: str) -> Profile:
    """The profile of this name, which there must be. Raises SpecError."""
    return read_profile(profiles_folder() / f"{name}.yaml")


def read_profile(file: Path) -> Profile:
    """The profile of a file.

    Raises:
        SpecError: the file is wrong, or names a promise that there is not; the error names the line.
    """
    document = parse(read(file), file)
    validate(document, "dmlcts.conformance.sequences", "profile")
    data, known = dict(document.data), {promise.name: promise for promise in promises()}
    for index, name in enumerate(data["promises"]):
        if name not in known:
            raise document.error(("promises", index), f"there is no promise {name!r}")
    data["promises"] = tuple(known[name] for name in data["promises"])
    return Profile(file.stem, **data)
