"""YAML with line numbers: every value of a file keeps its line, and errors name file, line and field.

Only the part of YAML that all readers interpret alike is allowed. ``NO``, ``on``, ``0x10``, ``1_0`` or ``2021-02-10`` without quotes are a
boolean, a number or a date to some readers and text to others; here they are errors that ask for quotes. Numbers are JSON's.
Anchors, aliases and merge keys work; a file that expands too far is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import yaml

from dmlcts.spec.untrusted.files import MIB, InputError, read_text

Path_ = tuple[str | int, ...]
"""A value's path in a document: ``("support", 0, "tensors", "ATensor")``."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_TAG = "tag:yaml.org,2002:"
_CALLED = {"bool": "a boolean", "int": "a number", "float": "a number", "timestamp": "a date", "null": "nothing", "value": "a sign"}

LARGEST = 4 * MIB
"""The most bytes of a file."""

_DEEPEST = 32
_MOST = 100_000
_MOST_OPENED = 4_000
_MOST_MARKS = 200_000
_MOST_DIGITS = 400
"""Limits on nesting, on values (those of an alias counted at each use), on lists and mappings, on what separates values, and on a number's characters: ten times what a large spec needs."""


class SpecError(ValueError):
    """Something is wrong with a spec file. The message says where (file, line, field), what, and what would be right."""

    def __init__(self, file: Path | None, line: int | None, path: Path_, problem: str) -> None:
        self.file, self.line, self.path, self.problem = file, line, path, problem
        place = f"{file or '<spec>'}:{line}" if line else f"{file or '<spec>'}"
        field = f": {dotted_path(path)}" if path else ""
        super().__init__(f"{place}{field}: {problem}")

    def __reduce__(self) -> tuple[type[SpecError], tuple[object, ...]]:
        """By what it is made of: a worker process passes it on."""
        return SpecError, (self.file, self.line, self.path, self.problem)


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed YAML file: plain data, and the line (from 1) of every value in it.

    ``parts`` are values inherited from other documents (spec/reading/inherit): the document that contains the value, and its path there.
    """

    data: Mapping[str, Any]
    lines: Mapping[Path_, int]
    file: Path | None = None
    parts: Mapping[Path_, tuple[Document, Path_]] = field(default_factory=dict)

    def place(self, path: Path_) -> tuple[Path | None, int | None]:
        """The file and the line of a value, or of the nearest thing around it that has one."""
        for length in range(len(path), -1, -1):
            at = path[:length]
            if at in self.parts:
                document, start = self.parts[at]
                return document.place((*start, *path[length:]))
            if at in self.lines:
                return self.file, self.lines[at]
        return self.file, None

    def error(self, path: Path_, problem: str) -> SpecError:
        """An error about the value at ``path``, to be raised. About an inherited one it names the file where that stands, and who inherits it."""
        file, line = self.place(path)
        heir = self.data.get("operator", self.data.get("profile"))
        return SpecError(file, line, path, problem if file == self.file or not heir else f"{problem} (inherited by {heir})")


def dotted_path(path: Path_) -> str:
    """A path as people write it: ``support[0].tensors.ATensor``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def read(file: Path) -> str:
    """The text of a YAML file. Raises SpecError if it cannot be read, is larger than LARGEST or is not UTF-8; the error names the line."""
    try:
        return read_text(file, LARGEST)
    except InputError as error:
        raise SpecError(file, error.line, (), str(error)) from None


def parse(text: str, file: Path | None = None, dates: bool = False) -> Document:
    """Parses a YAML mapping. Where ``dates`` are allowed without quotes, they are texts; elsewhere they are errors.

    Raises:
        SpecError: not YAML, a duplicate key, a key that is not a string, a value that YAML readers interpret differently, or a file
            that is not a mapping.
    """
    reader = _Reader(file, dates)
    value = _parse_yaml(text, reader)
    if not isinstance(value, dict):
        found = {type(None): "an empty file", list: "a list"}.get(type(value), "one value")
        raise SpecError(file, 1, (), f"must be a mapping of fields to values, not {found}")
    return Document(value, reader.lines, file)


def parse_value(text: str) -> Any:
    """One YAML value, as someone gives it in a command; nothing is null. Raises SpecError: as ``parse``."""
    return _parse_yaml(text, _Reader(None))


def _parse_yaml(text: str, reader: _Reader) -> Any:
    # libyaml's composer recurses in C: too many open brackets would overflow its stack and crash the process.
    if sum(text.count(opened) for opened in ("[", "{", "- ", "? ")) > _MOST_OPENED:
        raise SpecError(reader.file, None, (), f"too large: more than {_MOST_OPENED} lists and mappings")
    if sum(text.count(mark) for mark in (":", ",", "\n")) > _MOST_MARKS:
        raise SpecError(reader.file, None, (), f"too large: more than {_MOST_MARKS:,} lines, commas and colons")
    loader: Any = None
    try:
        loader = _LOADER(text)
        root = loader.get_single_node()
        return None if root is None else reader.value(root, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise SpecError(reader.file, mark.line + 1 if mark else None, (), f"not YAML: {problem}") from None
    except yaml.reader.ReaderError as error:
        line = text.encode("utf-8")[: error.position].count(b"\n") + 1
        raise SpecError(reader.file, line, (), f"not YAML: the character #x{error.character:02X} is not allowed") from None
    except UnicodeEncodeError:
        raise SpecError(reader.file, None, (), "not YAML: a lone surrogate; give the text in UTF-8") from None
    finally:
        if loader is not None:
            loader.dispose()


@dataclass(slots=True)
class _Reader:
    """Turns YAML nodes into plain data and records the lines."""

    file: Path | None
    dates: bool = False
    lines: dict[Path_, int] = field(default_factory=dict)
    count: int = 0
    merging: int = 0

    def value(self, node: yaml.Node, path: Path_, line: int = 0) -> Any:
        self.lines[path] = line = line or node.start_mark.line + 1
        self.count += 1
        if self.count > _MOST:
            raise SpecError(self.file, line, path[:2], f"more than {_MOST} values, those of an alias counted at each use")
        if len(path) + self.merging > _DEEPEST:
            raise SpecError(
                self.file, line, path[:2], f"nested deeper than {_DEEPEST} levels; an alias inside its own anchor never ends"
            )
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node, path, node.start_mark.line + 1)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self.mapping(node, path)
        raise SpecError(self.file, line, path, f"the tag {node.tag} has no meaning here")

    def mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        found: dict[str, Any] = {}
        given: dict[str, int] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if key_node.tag == f"{_TAG}merge":
                merged = self.merge(value_node, path)
                continue
            key = self.scalar(key_node, path, line) if isinstance(key_node, yaml.ScalarNode) else None
            if not isinstance(key, str):
                found_key = "a list or mapping" if key_node.id != "scalar" else f"{key_node.value!r}, which needs quotes for that"
                raise SpecError(self.file, line, path, f"a key must be a string, not {found_key}")
            if key in given:
                raise SpecError(self.file, line, (*path, key), f"the key {key!r} is given twice, on lines {given[key]} and {line}")
            given[key] = line
            found[key] = self.value(value_node, (*path, key), line)
        return merged | found if merged else found

    def merge(self, node: yaml.Node, path: Path_) -> dict[str, Any]:
        """What ``<<`` adds: a mapping, or several, the first of which has priority."""
        merged: dict[str, Any] = {}
        self.merging += 1
        for part in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(part, yaml.MappingNode):
                raise SpecError(self.file, node.start_mark.line + 1, path, "<< takes a mapping, or a list of mappings")
            for key, value in self.value(part, path).items():
                merged.setdefault(key, value)
        self.merging -= 1
        return merged

    def scalar(self, node: yaml.ScalarNode, path: Path_, line: int) -> Any:
        text, kind = node.value, node.tag.removeprefix(_TAG)
        if not node.style:  # plain: neither quoted nor a block
            if _NUMBER.fullmatch(text):
                return self.number(text, path, line)
            if kind == "str" or (kind == "timestamp" and self.dates):
                return text
            if text in _WORDS:
                return _WORDS[text]
            if kind in _CALLED:
                problem = f"{text!r} without quotes is {_CALLED[kind]} to some readers of YAML and text to others"
                raise SpecError(self.file, line, path, f'{problem}: write it in quotes, "{text}"')
        if kind != "str":
            raise SpecError(self.file, line, path, f"the tag {node.tag} has no meaning here")
        return text

    def number(self, text: str, path: Path_, line: int) -> int | float:
        if len(text) > _MOST_DIGITS:
            raise SpecError(self.file, line, path, f"a number of {len(text):,} characters; at most {_MOST_DIGITS} are read")
        if text.lstrip("-").isdigit() and text != "-0":
            return int(text)
        number = float(text)
        if not isfinite(number):
            raise SpecError(self.file, line, path, f"{text} is too large for a number; write inf for infinity")
        return number
