"""A field under another name in what a file inherits: ``renamed: {HeadCount: [QueryHeadCount, KeyValueHeadCount]}``.

What is inherited then speaks of the new name: fields, tables, constraints, shapes, examples, cases and laws. With several names the field has
become several. In general the first stands for it, and the others

- are fields of the same kind,
- have its value in examples and in arguments of laws: ``f(a, HeadCount=1)`` is ``f(a, QueryHeadCount=1, KeyValueHeadCount=1)``,
- are equal to the first in cases.

Prose stays as it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dmlcts.spec.reading.document import Document, Path_

Names = Mapping[str, Sequence[str]]

_PROSE = frozenset({"text", "evidence", "note", "differences", "summary", "sources"})
"""Keys of what is for readers, and of what names a page's own words."""


def renamed_document(document: Document, names: Names) -> Document:
    """A document that has other names for its fields; lines stay those of the document."""
    fields = [
        (index, _renamed_value(entry, ("fields", index), names) | ({"name": name} if name else {}))
        for index, entry in enumerate(document.data.get("fields", ()))
        for name in names.get(entry["name"], ("",))
    ]
    rest = {key: _renamed_value(value, (key,), names) for key, value in document.data.items() if key not in _PROSE}
    prose = {key: value for key, value in document.data.items() if key in _PROSE}
    data = {**document.data, **rest, **prose, **({"fields": [entry for _, entry in fields]} if fields else {})}
    parts: dict[Path_, tuple[Document, Path_]] = {
        ("fields", at): (document, ("fields", index)) for at, (index, _) in enumerate(fields)
    }
    return Document(data, {}, document.file, {(): (document, ()), **parts})


def _renamed_value(value: Any, path: Path_, names: Names) -> Any:
    if isinstance(value, str):
        return _text(value, names)
    if isinstance(value, list):
        return [_renamed_value(each, (*path, index), names) for index, each in enumerate(value)]
    if isinstance(value, Mapping):
        return dict(pair for key, inner in value.items() for pair in _entries(key, inner, path, names))
    return value


def _entries(key: str, value: Any, path: Path_, names: Names) -> Iterator[tuple[str, Any]]:
    """An entry of a mapping, or in its place one for each new name of the field that its key names."""
    if key in _PROSE:
        yield key, value
        return
    field, bracket, index = key.partition("[")
    first, *others = names.get(field, (field,))
    inner = _renamed_value(value, (*path, key), names)
    yield first + bracket + index, inner
    for other in others:
        if path[:1] == ("examples",):
            yield other, inner
        elif path == ("cases", "attributes"):
            yield other, [first]
        elif path[:1] == ("cases",):
            yield other, first


def _text(text: str, names: Names) -> str:
    """A text in which the names of fields stand for the new ones, if it is an expression that has some."""
    if not any(re.search(rf"\b{re.escape(name)}\b", text) for name in names):
        return text
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return text
    start, changes = len(text) - len(text.lstrip()), list[tuple[int, int, str]]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            changes.append((node.col_offset, node.col_offset + len(node.id.encode()), names[node.id][0]))
        elif isinstance(node, ast.keyword) and node.arg and node.arg in names:
            first, *others = names[node.arg]
            value = _text(ast.get_source_segment(text.strip(), node.value) or "", names)
            changes.append((node.col_offset, node.col_offset + len(node.arg.encode()), first))
            end = node.end_col_offset or 0
            changes.append((end, end, "".join(f", {other}={value}" for other in others)))
    encoded = text[start:].encode()
    for begin, end, new in sorted(changes, reverse=True):
        encoded = encoded[:begin] + new.encode() + encoded[end:]
    return text[:start] + encoded.decode()
