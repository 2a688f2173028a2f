"""Cases kept in a folder, so that the next process reads them in a thirtieth of the time that making them takes.

Only where the environment names a folder (``DMLCTS_CASES``), and only for what judges no implementation: this repository's own checks, and runs
of the reference. A file that something else wrote would decide what is tested, so a run of any other backend refuses the variable
(conformance/runner/planning/options).
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from dmlcts.generator.case.case import Case
from dmlcts.spec.model.desc import OperatorDesc, TensorDesc
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load
from dmlcts.spec.writing.files import writing_to

VARIABLE = "DMLCTS_CASES"
"""The environment variable with the folder. It may be emptied at any time; nothing in it is used after a change of spec or generator."""

shared = ""
"""A folder for this process alone where the environment names none, as this repository's tests have one."""

_FIELDS = tuple(field.name for field in fields(Case))


def cached_cases(operator: str, most: str, make: Callable[[], tuple[Case, ...]]) -> tuple[Case, ...]:
    """The cases of an operator up to a level: from the folder if they are there, else made and, where there is a folder, written to it."""
    if not (folder := os.environ.get(VARIABLE) or shared):
        return make()
    path = Path(folder) / _digest() / f"{operator}-{most}.pickle"
    if path.exists():
        with path.open("rb") as stream:
            found: tuple[Case, ...] = pickle.load(stream)  # noqa: S301 (see above)
        return found
    cases = make()
    with writing_to(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as partial:
            _Pickler(partial, pickle.HIGHEST_PROTOCOL).dump(cases)
        Path(partial.name).replace(path)  # processes that write the same file at once write the same
    return cases


@cache
def _digest() -> str:
    """What cases depend on: each file of the specs and of the generator, and Python's version."""
    found = sha256(sys.version.encode())
    root = Path(__file__).parents[2]
    files = (path for room in ("generator", "spec") for path in (root / room).rglob("*") if path.is_file())
    for path in sorted(
        path for path in files if path.suffix != ".pyc" and path.name != "pins.txt"
    ):  # pins depend on cases, not they on pins
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + sha256(path.read_bytes()).digest())
    return found.hexdigest()[:16]


class _Pickler(pickle.Pickler):
    """Writes cases by their fields, several times faster than as the JSON that a case is pickled as for other processes."""

    def reducer_override(self, value: object) -> Any:
        match value:
            case Case():
                return Case, tuple(getattr(value, name) for name in _FIELDS)
            case Operator():
                return load, (value.name,)
            case OperatorDesc():
                return OperatorDesc, (value.type, dict(value.fields))
            case TensorDesc():
                return TensorDesc, (value.data_type, value.sizes, value.strides, value.flags, value.total_size, value.alignment)
        return NotImplemented
