"""Operator reference pages, parsed from their published Markdown.

Three forms are read: the source form (``## -struct-fields``, ``### -field ATensor``, no C++), the published form (``## Syntax`` with the
struct, ``## Members``), and a translation of the published form, with or without its English in spans beside it. Sections are found by
their anchors, which are never translated, or by the anchor that the English heading would have. Parts that should have been
read but could not are listed in ``Page.unread``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dmlcts.spec.pages.examples import PageExample, read_examples
from dmlcts.spec.pages.markdown import CODE, HEADING, TEXT, Block, front_matter, plain, read_blocks, section, sections, translations
from dmlcts.spec.pages.sentences import (
    LANGUAGES,
    PROPERTIES,
    TENSOR,
    AliasRule,
    SameRule,
    alias_rule,
    permits_aliasing,
    properties_in,
    same_rules,
    sentences,
)
from dmlcts.spec.pages.tables import LEVEL, PageTable, read_tables


class PageError(ValueError):
    """A text is not an operator reference page. The message names the file and line, what is wrong, and what to do."""

    def __init__(self, file: Path | None, line: int, problem: str) -> None:
        self.file, self.line, self.problem = file, line, problem
        super().__init__(f"{file or '<page>'}:{line}: {problem}")


@dataclass(frozen=True, slots=True)
class PageField:
    """A field as C++ declares it: ``_Maybenull_ _Field_size_(size) const type* name``."""

    name: str
    type: str
    pointer: bool = False
    maybe_null: bool = False
    size: str = ""
    line: int = 0

    def __str__(self) -> str:
        notes = ("_Maybenull_ " if self.maybe_null else "") + (f"_Field_size_({self.size}) " if self.size else "")
        return f"{notes}{self.type}{'*' if self.pointer else ''} {self.name}"


@dataclass(frozen=True, slots=True)
class Page:
    """An operator reference page.

    ``fields`` are the struct's: of the C++ if the page shows it, otherwise of the member descriptions; ``members`` are the member
    descriptions of a page that shows both. ``same`` are the equality rules of the constraints section; ``member_rules`` and
    ``prose_rules`` those in the member descriptions and in other prose. ``unread`` are parts that could not be read, each with its line,
    and ``unread_topics`` what sentences among them may be about: properties of tensors, and ``in-place``. ``original`` is the English
    text inside a translation.
    """

    operator: str
    language: str
    struct: str
    fields: tuple[PageField, ...]
    members: tuple[PageField, ...]
    support: tuple[PageTable, ...]
    same: tuple[SameRule, ...]
    member_rules: tuple[SameRule, ...]
    prose_rules: tuple[SameRule, ...]
    aliases: tuple[AliasRule, ...]
    examples: tuple[PageExample, ...]
    availability: str | None
    unread: tuple[str, ...] = ()
    unread_topics: frozenset[str] = frozenset()
    original: Page | None = None
    file: Path | None = None


_DESC = re.compile(r"\bDML_(\w+?)_OPERATOR_DESC\b")
_STRUCT = re.compile(r"\bstruct\s+(\w+)\s*\{(.*?)\}", re.DOTALL)
_DECLARATION = re.compile(
    r"(?P<notes>(?:_[A-Za-z]\w*?_(?:\([^)]*\))?\s+)*)(?:const\s+)?(?P<type>[A-Za-z]\w*)\s*(?P<pointer>\*?)\s*(?P<name>[A-Za-z]\w*)"
)
_MEMBER_TYPE = re.compile(r"[^\s:*`\[]+\s?[:：](.*)")
"""``Type: **const [DML_TENSOR_DESC](..)\\***``, in any language; the wide colon is Chinese and Japanese."""
_NO_PROSE = ("syntax", "members", "struct-fields", "example", "availability", "tensor-", "requirements", "see-also")


def read_page(text: str, file: Path | None = None) -> Page:
    """The page in ``text``; ``file`` is for messages.

    Raises:
        PageError: it is not the reference page of an operator desc.
    """
    published, english = translations(text.removeprefix("\ufeff"))
    language = front_matter(published)[0].get("ms.contentlocale", "en-us").lower()
    page = _PageReader(published, file, language).page()
    if english is None:
        return page
    original = _PageReader(english, file, "en-us").page()
    # Both texts have the same lines. In an unknown language, what could be read in English does not count as unread.
    known, in_english = language.startswith(LANGUAGES), {_line(entry) for entry in original.unread}
    kept = [entry for entry in page.unread if known or _line(entry) in in_english]
    kept += [entry for entry in original.unread if _line(entry) not in set(map(_line, kept))]
    return replace(page, unread=tuple(kept), original=original)


def _line(unread: str) -> str:
    return unread.partition(":")[0]


@dataclass(slots=True)
class _PageReader:
    """Reads one text of a page. Each method reads one part, and leaves in ``unread`` what it cannot."""

    text: str
    file: Path | None
    language: str
    unread: list[str] = field(default_factory=list)
    topics: set[str] = field(default_factory=set)

    def page(self) -> Page:
        entries, skip = front_matter(self.text)
        blocks = list(read_blocks(self.text, skip))
        operator = self.operator(entries, blocks)
        parts = sections(blocks)
        struct, fields = self.struct(section(parts, "syntax"))
        described = list(_member_blocks((*section(parts, "struct-fields"), *section(parts, "members"))))
        members = tuple(self.members(described))
        if not fields and not members:
            what = "no C++ struct and no member descriptions found; give the whole page as Markdown"
            raise PageError(self.file, skip + 1, what)
        support, unread_tables = read_tables(section(parts, "tensor-support"))
        kinds = {row.name: row.kind for table in support for row in table.tensors}
        examples, unread_examples = read_examples(
            section(parts, "example"), lambda name: (kinds.get(name) or _kind(name)) == "output"
        )
        self.unread += unread_tables + unread_examples
        prose = [block for slug, part in parts.items() if not slug.startswith(_NO_PROSE) for block in part]
        return Page(
            operator=operator,
            language=self.language,
            struct=struct,
            fields=fields or members,
            members=members if fields else (),
            support=support,
            same=tuple(self.constraints(section(parts, "tensor-constraints"))),
            member_rules=tuple(
                rule
                for name, texts in described
                if TENSOR.fullmatch(name)
                for sentence, line in _sentences(texts)
                for rule in same_rules(sentence, line, name)
            ),
            prose_rules=tuple(rule for sentence, line in _sentences(prose) for rule in same_rules(sentence, line)),
            aliases=tuple(self.aliases(prose)),
            examples=examples,
            availability=next((m[1] for block in section(parts, "availability") if (m := LEVEL.search(block.text))), None),
            unread=tuple(self.unread),
            unread_topics=frozenset(self.topics),
            file=self.file,
        )

    def operator(self, entries: Mapping[str, str], blocks: Sequence[Block]) -> str:
        titles = [block.text for block in blocks if block.kind == HEADING and block.level == 1]
        for name in (entries.get("UID", ""), entries.get("title", ""), *titles):
            if found := _DESC.search(name):
                return found[1]
        what = "no DML_.._OPERATOR_DESC in the UID, the title or the first heading"
        raise PageError(self.file, 1, f"{what}; give the reference page of an operator desc, as Markdown and not as HTML")

    def struct(self, blocks: Iterable[Block]) -> tuple[str, tuple[PageField, ...]]:
        for block in blocks:
            struct = _STRUCT.search(block.text) if block.kind == CODE else None
            if struct:
                first = block.line + block.text.count("\n", 0, struct.start(2))
                lines = enumerate(struct[2].split("\n"), start=first)
                found = (self.declaration(line.partition("//")[0].strip("; \t"), at) for at, line in lines)
                return struct[1], tuple(entry for entry in found if entry)
        return "", ()

    def members(self, described: Iterable[tuple[str, Sequence[Block]]]) -> Iterator[PageField]:
        for name, texts in described:
            typed = _MEMBER_TYPE.match(texts[0].text) if texts else None
            if typed is None:
                self.unread.append(f"line {texts[0].line if texts else 1}: the type of the member {name}")
            elif found := self.declaration(f"{_plain_type(typed[1])} {name}", texts[0].line):
                yield found

    def declaration(self, text: str, line: int) -> PageField | None:
        found = _DECLARATION.fullmatch(text)
        if found is None:
            self.unread += [f"line {line}: the declaration {text!r}"] if text else []
            return None
        size = re.search(r"_Field_size_(?:opt_)?\(\s*(\w+)\s*\)", found["notes"])
        type_ = found["type"].upper() if found["type"] in ("float", "int") else found["type"]
        maybe_null = "_Maybenull_" in found["notes"]
        return PageField(found["name"], type_, bool(found["pointer"]), maybe_null, size[1] if size else "", line)

    def constraints(self, blocks: Iterable[Block]) -> Iterator[SameRule]:
        for sentence, line in _sentences(blocks):
            rules = same_rules(sentence, line)
            yield from rules
            if not rules:
                self.topics.update(properties_in(sentence) if self.is_known_language() else PROPERTIES)
                self.unread.append(f"line {line}: the constraint {sentence!r}")

    def aliases(self, prose: Iterable[Block]) -> Iterator[AliasRule]:
        permitting = [(sentence, line) for sentence, line in _sentences(prose) if permits_aliasing(sentence)]
        for sentence, line in permitting:
            rule = alias_rule(sentence, line)
            if rule:
                yield rule
            else:
                self.topics.add("in-place")
                self.unread.append(f"line {line}: the in-place sentence {sentence!r}")
        if not permitting and not self.is_known_language():
            self.topics.add("in-place")
            self.unread.append(f"line 1: whether the page permits in-place execution, in {self.language}")

    def is_known_language(self) -> bool:
        """Whether the page's language is supported, so that a sentence without known words is about something else."""
        return self.language.startswith(LANGUAGES)


def _sentences(blocks: Iterable[Block]) -> Iterator[tuple[str, int]]:
    """The sentences of the paragraphs among ``blocks``, each with its paragraph's line."""
    for block in blocks:
        if block.kind == TEXT:
            yield from ((sentence, block.line) for sentence in sentences(block.text))


def _kind(name: str) -> str:
    """A tensor's kind by its name, if no table gives it."""
    return "output" if name.startswith("Output") and TENSOR.fullmatch(name) else ""


def _member_blocks(blocks: Iterable[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Each member's name and the blocks that describe it. ``### -field ATensor``, or a line with only the name, begins one."""
    name, texts = "", list[Block]()
    for block in blocks:
        heading = re.match(r"-field (\w+)", block.text) if block.kind == HEADING else None
        begins = heading or (re.match(r"`(\w+)`[ \t]*(?:\n|$)", block.text) if block.kind == TEXT else None)
        if begins:
            if name:
                yield name, texts
            name, texts = begins[1], []
            if not heading and (rest := block.text[begins.end() :]):
                texts.append(replace(block, text=rest, line=block.line + 1))
        elif block.kind != HEADING:
            texts.append(block)
    if name:
        yield name, texts


def _plain_type(text: str) -> str:
    r"""A member's type as C++: ``\_Maybenull\_ **const [DML_TENSOR_DESC](..)\***`` is ``_Maybenull_ const DML_TENSOR_DESC*``.

    Asterisks for emphasis come in pairs; an unpaired one makes a pointer.
    """
    return plain(text) + ("*" if text.count("*") % 2 else "")
