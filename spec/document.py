"""YAML with places: every value of a spec file keeps the line that it stands on, and errors name file, line and field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Path_ = tuple[str | int, ...]
"""Where a value stands in a document: ``("support", 0, "tensors", "ATensor")``."""

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class SpecError(ValueError):
    """Something is wrong with a spec file. The message says where (file, line, field), what, and what would be right."""

    def __init__(self, file: Path | None, line: int | None, path: Path_, problem: str) -> None:
        self.file, self.line, self.path, self.problem = file, line, path, problem
        place = f"{file or '<spec>'}:{line}" if line else f"{file or '<spec>'}"
        field = f": {dotted(path)}" if path else ""
        super().__init__(f"{place}{field}: {problem}")


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed YAML file: plain data, and the line (from 1) of every value in it."""

    data: Mapping[str, Any]
    lines: Mapping[Path_, int]
    file: Path | None = None

    def line(self, path: Path_) -> int | None:
        """The line of a value, or of the nearest thing around it that has one."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)

    def error(self, path: Path_, problem: str) -> SpecError:
        """An error about the value at ``path``, ready to be raised."""
        return SpecError(self.file, self.line(path), path, problem)


def dotted(path: Path_) -> str:
    """A path as people write it: ``support[0].tensors.ATensor``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def parse(text: str, file: Path | None = None) -> Document:
    """Parses a YAML mapping.

    Raises:
        SpecError: not YAML, a key given twice, a key that is no string, or a file that is no mapping.
    """
    lines: dict[Path_, int] = {}
    loader = _LOADER(text)
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise SpecError(file, 1, (), "a spec file is a mapping of fields to values")
        data = _plain(root, (), lines, loader, file)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise SpecError(file, line, (), f"not YAML: {error.problem or error.context}") from None
    finally:
        loader.dispose()
    return Document(data, lines, file)


def _plain(node: yaml.Node, path: Path_, lines: dict[Path_, int], loader: Any, file: Path | None) -> Any:
    lines[path] = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_object(node)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child, (*path, index), lines, loader, file) for index, child in enumerate(node.value)]
    assert isinstance(node, yaml.MappingNode)
    result: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        key = key_node.value
        if not isinstance(key_node, yaml.ScalarNode) or not isinstance(key, str):
            raise SpecError(file, line, path, "a key must be a plain string")
        if key in result:
            raise SpecError(file, line, (*path, key), f"the key {key!r} is given twice; first on line {lines[(*path, key)]}")
        result[key] = _plain(value_node, (*path, key), lines, loader, file)
    return result
