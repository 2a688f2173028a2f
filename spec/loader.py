"""Spec files into ``Operator``: read, parse, validate against the JSON Schema, build.

Every error is a ``SpecError`` that names file, line and field.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema_rs

from dmlcts.spec.abi import abi
from dmlcts.spec.builder import build
from dmlcts.spec.document import Document, Path_, SpecError, parse, read
from dmlcts.spec.model import Operator


def operators_folder() -> Path:
    """The folder of the spec files that come with the package."""
    return Path(str(resources.files("dmlcts.spec"))) / "operators"


@cache
def _files() -> dict[str, Path]:
    order = abi().operator_types
    found = {file.stem.upper(): file for file in operators_folder().rglob("*.yaml")}
    return {name: found[name] for name in sorted(found, key=lambda name: order.get(name, 0))}


def operator_names() -> tuple[str, ...]:
    """The operators that have a spec file, by name, in order of the ABI's type numbers."""
    return tuple(_files())


def load(name: str) -> Operator:
    """The operator called ``name``, with or without DML_OPERATOR_.

    Raises:
        KeyError: no spec file for it; the message says which there are.
        SpecError: its file is wrong.
    """
    return _load(name.removeprefix("DML_OPERATOR_"))


@cache
def _load(name: str) -> Operator:
    if name not in _files():
        raise KeyError(f"no spec for operator {name!r}; `dmlcts spec list` shows those there are")
    return load_file(_files()[name])


def load_all() -> tuple[Operator, ...]:
    """Every operator that has a spec file. Raises SpecError for the first file that is wrong."""
    return tuple(load(name) for name in operator_names())


def load_file(file: Path) -> Operator:
    """The operator in ``file``.

    Raises:
        SpecError: the file cannot be read, is not YAML, is not of the schema, or contradicts itself.
    """
    operator = load_text(read(file), file)
    if file.name != f"{operator.name.lower()}.yaml":
        raise SpecError(file, 1, ("operator",), f"the file of {operator.name} must be called {operator.name.lower()}.yaml")
    return operator


def load_text(text: str, file: Path | None = None) -> Operator:
    """The operator in a spec file's text. Raises SpecError."""
    document = parse(text, file)
    error = next(iter(_validator().iter_errors(document.data)), None)
    if error is not None:
        raise _schema_error(document, error)
    return build(document)


@cache
def _validator() -> Any:
    schema = resources.files("dmlcts.spec").joinpath("schema/operator.schema.json").read_text(encoding="utf-8")
    return jsonschema_rs.validator_for(json.loads(schema))


def _schema_error(document: Document, error: Any) -> SpecError:
    """What the validator found, at the key that is missing or too much, and without the document quoted in it."""
    path: Path_ = tuple(error.instance_path)
    kind = error.kind
    message = str(error.message)
    if hasattr(kind, "property"):
        path = (*path, kind.property)
    elif hasattr(kind, "unexpected"):
        path = (*path, kind.unexpected[0])
    elif kind.name == "propertyNames":
        path = (*path, kind.error.instance)
    elif kind.name in ("oneOf", "anyOf") and getattr(kind, "context", None):
        message = ", or ".join(dict.fromkeys(str(branch[0].message) for branch in kind.context if branch)) or message
    return document.error(path, message if len(message) < 300 else f"{message[:140]} ... {message[-140:]}")
