"""Tensor-support tables of reference pages: which tensors may have how many dimensions and which data types, from which level on.

Columns are read by their order, as headers are translated: Tensor, Kind, sometimes Dimensions (symbolic), Supported dimension counts,
Supported data types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dmlcts.spec.pages.markdown import HEADING, TABLE, Block

LEVEL = re.compile(r"DML_FEATURE_LEVEL_(\d_\d)", re.IGNORECASE)
"""A feature level in prose, headings and (in lower case) anchors."""

_KINDS = {"output": r"output|salida|resultado|uscita|risultat", "input": r"input|entrada|ingresso"}
_OPTIONAL = re.compile(r"optional|opcional|opzional|facoltativ", re.IGNORECASE)
_LIST = re.compile(r",|\b(?:and|or|y|o|e)\b", re.IGNORECASE)
_CONSTANT = re.compile(r"\b[A-Z][A-Z0-9_]+\b")
_DATA_TYPE = re.compile(r"[A-Za-z]+\d+")
_BETWEEN = re.compile(r"[,\s]|\b(?:and|y|e)\b")


@dataclass(frozen=True, slots=True)
class PageTensor:
    """A row of a tensor-support table. ``kind`` is input, output, or empty where it was not understood."""

    name: str
    kind: str
    optional: bool
    dimensions: tuple[int, ...]
    data_types: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class PageTable:
    """A tensor-support table. ``level`` is None where no heading gives one: the level that introduced the operator is meant.

    ``only`` are the constants that a heading limits it to ("ARGMIN and ARGMAX"), empty if it applies to all.
    """

    level: str | None
    only: tuple[str, ...]
    tensors: tuple[PageTensor, ...]
    line: int


def read_tables(blocks: Iterable[Block]) -> tuple[tuple[PageTable, ...], list[str]]:
    """The tables of a tensor-support section, and parts that could not be read, each with its line.

    A heading gives a level, or constants. Its depth is ignored: these pages use it inconsistently.
    """
    tables: list[PageTable] = []
    unread: list[str] = []
    level: str | None = None
    only: tuple[str, ...] = ()
    for block in blocks:
        if block.kind == HEADING and not block.slug.startswith("tensor-support"):
            levels = list(dict.fromkeys(LEVEL.findall(f"{block.text} {block.slug}")))
            level = levels[0] if levels else None
            if len(levels) > 1:
                unread.append(f"line {block.line}: the heading says {levels[0]} and its anchor {levels[1]}")
            elif not levels:
                only = tuple(_CONSTANT.findall(block.text))
                if not only:
                    unread.append(f"line {block.line}: the values that the heading {block.text!r} limits its tables to")
        elif block.kind == TABLE:
            rows = [_row(line, cells, unread) for line, cells in block.rows[1:]]
            tables.append(PageTable(level, only, tuple(row for row in rows if row), block.line))
    return tuple(tables), unread


def _row(line: int, cells: Sequence[str], unread: list[str]) -> PageTensor | None:
    if len(cells) < 4:
        unread.append(f"line {line}: a row of {len(cells)} cells in a tensor-support table")
        return None
    name, kind_text, counts_text, types_text = cells[0], cells[1], cells[-2], cells[-1]
    kind = next((kind for kind, words in _KINDS.items() if re.search(words, kind_text, re.IGNORECASE)), "")
    if not kind:
        unread.append(f"line {line}: the kind {kind_text!r}")
    counts = tuple(int(count) for count in re.findall(r"\b\d\b", counts_text))
    if len(counts) == 2 and not _LIST.search(counts_text):
        counts = tuple(range(counts[0], counts[1] + 1))
    if not counts:
        unread.append(f"line {line}: the dimension counts {counts_text!r}")
    if _BETWEEN.sub("", _DATA_TYPE.sub("", types_text)):
        unread.append(f"line {line}: the data types {types_text!r}")
    types = tuple(found.upper() for found in _DATA_TYPE.findall(types_text))
    return PageTensor(name, kind, bool(_OPTIONAL.search(kind_text)), counts, types, line)
