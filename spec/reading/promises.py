"""An operator's promises as plain data, and a hash of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import Field, fields, is_dataclass
from hashlib import sha256
from typing import Any

from dmlcts.spec.model.abi import FeatureLevel
from dmlcts.spec.model.expression import Expression
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.reading.loader import load, operators_folder

NO_PROMISE = frozenset({"file", "measurements", "summary", "errata", "sources", "evidence", "note"})
"""Fields that say nothing about an implementation's behavior: file, evidence, errata."""


def plain(value: object, without: frozenset[str] = frozenset({"measurements"})) -> Any:
    """A part of the model as JSON: an expression as its text, a feature level as its name."""
    if isinstance(value, Expression):
        return value.text
    if isinstance(value, FeatureLevel):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        known = {
            field.name: getattr(value, field.name) for field in fields(value) if field.name not in without and _counts(field, value)
        }
        return {name: plain(inner, without) for name, inner in known.items()}
    if isinstance(value, Mapping):
        return {str(key): plain(inner, without) for key, inner in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return [plain(inner, without) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _counts(field: Field[Any], value: object) -> bool:
    """Whether a field says something: one that was added ``later`` does not where it has its default, so that no hash changes by it."""
    return not (field.metadata.get("later") and getattr(value, field.name) == field.default)


def promises(operator: Operator) -> Any:
    """An operator's promises and its cases block as plain data, without comments, references, evidence and measurements."""
    return plain(operator, NO_PROMISE)


def spec_version(names: Iterable[str]) -> str:
    """A short hash of what these operators promise: two runs with the same one tested the same promises. Raises SpecError."""
    digest = sha256()
    for name in sorted(names):
        digest.update(json.dumps(promises(load(name)), ensure_ascii=False).encode("utf-8"))
    return digest.hexdigest()[:12]


def spec_files() -> str:
    """A short hash of all that ``spec_version`` comes from: spec files, and the code and tables that read them. Takes milliseconds, since nothing is loaded.

    Two runs with the same one have the same promises.
    """
    digest, folder = sha256(), operators_folder().parent
    for file in sorted(file for file in folder.rglob("*") if file.suffix in (".yaml", ".json", ".py")):
        digest.update(f"{file.relative_to(folder).as_posix()}\0{file.stat().st_size}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]
