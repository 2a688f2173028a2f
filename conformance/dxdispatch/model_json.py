"""JSON as DxDispatch reads it: ``//`` and ``/* */`` comments and trailing commas are allowed. Parts are checked against a JSON Schema.

Stricter than DxDispatch in two ways, so that typos are found: duplicate keys in an object are errors, and so are unknown keys, except
notes (``$...``, ``_...``, ``//...``, ``comment``, ``description``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dmlcts.spec.untrusted.files import MIB, InputError, parse_json, path_text, read_text, schema_of, schema_problem, validator


class ModelError(ValueError):
    """A model is invalid; the message says what and where. Exit code 2."""


class UnsupportedOperator(ModelError):
    """A model uses a DirectML operator that has no spec here, at ``where``. It is not invalid but unsupported: exit code 1."""

    def __init__(self, where: str, operator: str) -> None:
        super().__init__(f"{operator} has no spec here; `dmlcts spec list` shows the available ones")
        self.where = where


LARGEST = 4 * MIB
"""The most bytes of a model."""


def parse(file: Path) -> Any:
    """The JSON in a file.

    Raises:
        ModelError: the file cannot be read or is not JSON; the message gives line and column.
    """
    try:
        return parse_json(plain(read_text(file, LARGEST)))
    except InputError as error:
        raise ModelError(str(error)) from None


_STRING = r'"(?:[^"\\\n]|\\.)*+"?'
_COMMENTS = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TRAILING_COMMAS = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
"""What is not closed matches up to the end, so that the search takes linear time."""


def plain(text: str) -> str:
    """The text with comments and trailing commas turned into blanks, so that lines and columns stay what they are."""
    if text.count("/*") > text.count("*/") and any(
        found[0].startswith("/*") and not found[0].endswith("*/") for found in _COMMENTS.finditer(text)
    ):
        raise InputError("not JSON: a comment that is not closed")
    for pattern in (_COMMENTS, _TRAILING_COMMAS):
        text = pattern.sub(_blank, text)
    return text


def _blank(found: re.Match[str]) -> str:
    """Blanks for a comment or a comma; a string stays."""
    text = found[0]
    if text.startswith('"'):
        return text
    return re.sub(r"[^\n]", " ", text) if "\n" in text else " " * len(text)


def dumps(data: Any) -> str:
    """Data as JSON that a person can read: lists and objects of numbers and strings are on one line."""
    return _FLAT.sub(lambda found: re.sub(r"\n\s*", " ", found[0]), json.dumps(data, indent=1, ensure_ascii=False))


_FLAT = re.compile(r"(?<=[\[{])\n[^\[\]{}]*(?=[\]}])")


def check(data: Any, part: str, where: str) -> None:
    """Checks one part of a model against the schema's ``$defs``; ``where`` is its place. Raises ModelError that names the place."""
    checked = validator("dmlcts.conformance.dxdispatch", "model", part)
    if checked.is_valid(data):
        return
    error = next(checked.iter_errors(data))
    path, problem = schema_problem(error)
    if error.kind.name == "required":
        raise ModelError(f"{model_path(where, path)} is missing")
    if error.kind.name == "additionalProperties":
        known = ", ".join(schema_of("dmlcts.conformance.dxdispatch", "model")["$defs"][part]["properties"])
        raise ModelError(f"{model_path(where, path)} is unknown; known: {known}")
    raise ModelError(f"{model_path(where, path)}: {problem}")


def model_path(where: str, path: Sequence[str | int]) -> str:
    """A path in a model as text: ``commands[0].bindings.ATensor``."""
    return path_text(path, where) or "the model"
