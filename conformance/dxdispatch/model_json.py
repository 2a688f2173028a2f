"""JSON as DxDispatch reads it: ``//`` and ``/* */`` comments and trailing commas are allowed. Parts are checked against a JSON Schema.

Stricter than DxDispatch in two ways, so that typos are found: duplicate keys in an object are errors, and so are unknown keys, except
notes (``$...``, ``_...``, ``//...``, ``comment``, ``description``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from math import isinf
from pathlib import Path
from typing import Any

import jsonschema_rs


class ModelError(ValueError):
    """A model is invalid; the message says what and where. Exit code 2."""


class UnsupportedOperator(ModelError):
    """A model uses a DirectML operator that has no spec here, at ``where``. It is not invalid but unsupported: exit code 1."""

    def __init__(self, where: str, operator: str) -> None:
        super().__init__(f"{operator} has no spec here; `dmlcts spec list` shows the available ones")
        self.where = where


def parse(file: Path) -> Any:
    """The JSON in a file.

    Raises:
        ModelError: the file cannot be read or is not JSON; the message gives line and column.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ModelError(f"not UTF-8 at byte {error.start}") from None
    try:
        return json.loads(plain(text), object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise ModelError(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise ModelError("not a model: nested too deep") from None
    except ValueError as error:  # a number with too many digits for Python
        raise error if isinstance(error, ModelError) else ModelError(f"not JSON: {error}") from None


_STRING = r'"(?:[^"\\\n]|\\.)*"'
_COMMENTS = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMAS = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")


def plain(text: str) -> str:
    """The text with comments and trailing commas turned into blanks, so that lines and columns stay what they are."""
    for pattern in (_COMMENTS, _TRAILING_COMMAS):
        text = pattern.sub(lambda found: found[0] if found[0].startswith('"') else re.sub(r"[^\n]", " ", found[0]), text)
    return text


def dumps(data: Any) -> str:
    """Data as JSON that a person can read: lists and objects of numbers and strings are on one line."""
    return _FLAT.sub(lambda found: re.sub(r"\n\s*", " ", found[0]), json.dumps(data, indent=1, ensure_ascii=False))


_FLAT = re.compile(r"(?<=[\[{])\n[^\[\]{}]*(?=[\]}])")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ModelError(f"{next(key for key in keys if keys.count(key) > 1)!r} is twice in one object")
    return found


def _float(text: str) -> float:
    value = float(text)
    if isinf(value):
        raise ModelError(f'{text} is too large for a number; write "inf" for infinity')
    return value


def _constant(text: str) -> float:
    raise ModelError(f'{text} is not JSON; write "nan", "inf" or "-inf"')


def check(data: Any, part: str, where: str) -> None:
    """Checks one part of a model against the schema's ``$defs``; ``where`` is its place. Raises ModelError that names the place."""
    error = next(iter(_validator(part).iter_errors(data)), None)
    if error is None:
        return
    kind, path = error.kind, error.instance_path
    if kind.name == "required":
        raise ModelError(f"{joined(where, [*path, kind.property])} is missing")
    if kind.name == "additionalProperties":
        known = ", ".join(_schema()["$defs"][part]["properties"])
        raise ModelError(f"{joined(where, [*path, *kind.unexpected[:1]])} is unknown; known: {known}")
    raise ModelError(f"{joined(where, path)}: {_short(str(error.message))}")


def joined(where: str, path: Sequence[str | int]) -> str:
    """A path in a model as text: ``commands[0].bindings.ATensor``."""
    for step in path:
        where = f"{where}[{step}]" if isinstance(step, int) else f"{where}.{step}" if where else str(step)
    return where or "the model"


def _short(message: str) -> str:
    return message if len(message) < 200 else f"{message[:100]} ... {message[-90:]}"


@cache
def _schema() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("schema/model.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _validator(part: str) -> Any:
    return jsonschema_rs.validator_for({"$ref": f"#/$defs/{part}", "$defs": _schema()["$defs"]})
