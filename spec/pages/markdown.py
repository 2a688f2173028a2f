"""The Markdown of reference pages: blocks with their lines, and both texts of a page that has its English beside a translation.

Supports only what these pages use: ATX headings with an optional anchor, fenced code, pipe tables, paragraphs and bullets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

HEADING, CODE, TABLE, TEXT = "heading", "code", "table", "text"

_PAIR = re.compile(
    r"""<span\s+data-ttu-id=[^>]*>(?P<translated>.*?)</span>\s*
        <span\s+class=["']sxs-lookup["']\s*>\s*<span\s+data-stu-id=[^>]*>(?P<source>.*?)</span>\s*</span>""",
    re.VERBOSE,
)
_SPAN = re.compile(r"</?span[^>]*>")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_HEADING = re.compile(
    r"""^(?P<marks>\#{1,6})\s+(?:<a\s+(?:name|id)=["']?(?P<anchor>[^"'>]*)["']?\s*>\s*</a>)?\s*(?P<title>.*?)\s*\#*\s*$""",
    re.VERBOSE,
)
_BULLET = re.compile(r"^\s*(?:[*+-]|\d+\.)\s+")
_RULE_ROW = re.compile(r"^[\s|:-]*-[\s|:-]*$")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"</?\w+[^>]*>")


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a page. ``line`` (from 1) is where its text begins.

    A heading has a ``level``, a ``slug`` (its anchor, or the one that GitHub would generate) and its title as ``text``; a table has ``rows`` of
    (line, cells), the header row first and the rule below it left out.
    """

    kind: str
    line: int
    text: str
    level: int = 0
    slug: str = ""
    rows: tuple[tuple[int, tuple[str, ...]], ...] = ()


def translations(text: str) -> tuple[str, str | None]:
    """A page's text without translation spans, and the English text in them (None if there are none).

    Such a page holds every sentence twice: ``<span data-ttu-id=..>..</span><span class="sxs-lookup"><span data-stu-id=..>..</span></span>``.
    Line numbers are kept.
    """
    source = _PAIR.sub(r"\g<source>", text)
    if source == text:
        return _SPAN.sub("", text), None
    return _SPAN.sub("", _PAIR.sub(r"\g<translated>", text)), _SPAN.sub("", source)


def plain(text: str) -> str:
    """Text without emphasis, code marks, links, tags and escapes: ``*Sizes*`` and ``<b>Sizes</b>`` are ``Sizes``."""
    text = re.sub(r"\\(.)", r"\1", _TAG.sub("", _LINK.sub(r"\1", text)))
    return re.sub(r"\s+", " ", re.sub(r"[*`]", "", text.replace("&nbsp;", " "))).strip()


def front_matter(text: str) -> tuple[dict[str, str], int]:
    """The simple ``key: value`` entries of the YAML block at a page's start, and how many lines it takes (0 if there is none)."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return {}, 0
    for count, line in enumerate(lines[1:], start=2):
        if line.strip() == "---":
            entries = (line.partition(": ") for line in lines[1 : count - 1] if ": " in line)
            return {key.strip(): value.strip().strip("'\"") for key, _, value in entries}, count
    return {}, 0


def read_blocks(text: str, skip: int = 0) -> Iterator[Block]:
    """The blocks of a page in order, from after its first ``skip`` lines."""
    lines = text.splitlines()
    at = skip
    while at < len(lines):
        line = lines[at]
        fence, heading = _FENCE.match(line), _HEADING.match(line)
        end = at + 1
        if fence:
            while end < len(lines) and not lines[end].strip().startswith(fence[1]):
                end += 1
            yield Block(CODE, at + 2, "\n".join(lines[at + 1 : end]))
            end += 1
        elif heading:
            title = plain(heading["title"])
            yield Block(HEADING, at + 1, title, len(heading["marks"]), (heading["anchor"] or _slug(title)).lower())
        elif "|" in line and end < len(lines) and "|" in lines[end] and _RULE_ROW.match(lines[end]):
            end += 1
            while end < len(lines) and "|" in lines[end]:
                end += 1
            rows = [at, *range(at + 2, end)]
            yield Block(TABLE, at + 1, "", rows=tuple((row + 1, _cells(lines[row])) for row in rows))
        elif line.strip():
            while end < len(lines) and lines[end].strip() and not _starts_block(lines, end):
                end += 1
            yield Block(TEXT, at + 1, "\n".join(_BULLET.sub("", row.lstrip("> ")) for row in lines[at:end]))
        at = end


def sections(blocks: Iterable[Block]) -> dict[str, list[Block]]:
    """The blocks below each heading of the first two levels, by its slug, the heading first and deeper headings with them."""
    found: dict[str, list[Block]] = {"": []}
    slug = ""
    for block in blocks:
        if block.kind == HEADING and block.level <= 2:
            slug = block.slug
        found.setdefault(slug, []).append(block)
    return found


def section(parts: Mapping[str, Sequence[Block]], slug: str) -> Sequence[Block]:
    """The section with a slug that begins with ``slug`` ("tensor-support-according-to-function", "examples"), empty if there is none."""
    return next((blocks for name, blocks in parts.items() if name.startswith(slug)), ())


def _starts_block(lines: Sequence[str], at: int) -> bool:
    line = lines[at]
    table = "|" in line and at + 1 < len(lines) and _RULE_ROW.match(lines[at + 1])
    return bool(_FENCE.match(line) or _HEADING.match(line) or _BULLET.match(line) or table)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(plain(cell) for cell in re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|")))


def _slug(title: str) -> str:
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip(" -"))
