"""Documents held against JSON Schemas: errors name file, line and field, and of an unknown name the nearest known one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from typing import Any

import jsonschema_rs

from dmlcts.spec.reading.document import Document, Path_
from dmlcts.spec.untrusted.files import schema_of


def validate(document: Document, package: str, name: str) -> None:
    """Holds a document against ``schema/NAME.schema.json`` of a package. Raises SpecError for the first thing that is wrong."""
    error = next(iter(_validator(package, name).iter_errors(document.data)), None)
    if error is not None:
        path, problem = _schema_problem(error, schema_of(package, name))
        raise document.error(path, problem if len(problem) < 300 else f"{problem[:140]} ... {problem[-140:]}")


@cache
def _validator(package: str, name: str) -> Any:
    return jsonschema_rs.validator_for(schema_of(package, name))


def _schema_problem(error: Any, schema: Mapping[str, Any]) -> tuple[Path_, str]:
    """Where a validator's error is, at the missing or superfluous key, and what is wrong, without the quoted document."""
    path: Path_ = tuple(error.instance_path)
    kind, message = error.kind, str(error.message)
    if kind.name == "required":
        return (*path, kind.property), message
    if kind.name == "additionalProperties":
        return (*path, kind.unexpected[0]), unknown(kind.unexpected[0], _part(schema, error.schema_path[:-1]).get("properties", ()))
    if kind.name == "propertyNames":
        inner = kind.error.kind
        found = unknown(kind.error.instance, inner.options) if inner.name == "enum" else message
        return (*path, kind.error.instance), found
    if kind.name in ("oneOf", "anyOf") and getattr(kind, "context", None):
        first = [branch[0] for branch in kind.context if branch]
        keys = [each for each in first if each.kind.name == "additionalProperties"]
        if len(keys) == 1:  # of all forms that are allowed, it is the one with keys
            return _schema_problem(keys[0], schema)
        return path, ", or ".join(dict.fromkeys(str(each.message) for each in first)) or message
    if kind.name == "type" and isinstance(error.instance, int | float) and "string" in message:
        return path, f'{error.instance} is a number here: write it in quotes, "{error.instance}"'
    if kind.name == "pattern" and (meant := _part(schema, error.schema_path[:-1]).get("description")):
        return path, f"{error.instance!r} has not the form {kind.pattern}: {meant}"
    if kind.name == "enum":
        return path, unknown(error.instance, map(str, kind.options))
    return path, message


def _part(schema: Any, path: Iterable[str | int]) -> Any:
    """The part of a schema at a path."""
    for step in path:
        schema = schema[step]
    return schema


def unknown(name: object, known: Iterable[str]) -> str:
    """``unknown 'leest' (did you mean 'least'?); known: ...``."""
    names = list(known)
    return f"unknown {name!r}{did_you_mean(name, names)}; known: {', '.join(names)}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """A question in parentheses, with the name most like an unknown one; empty if none is like it."""
    near = get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
