"""The public map: operators by family with their data types, known faults and releases, a page for each, and pages of faults and graphs.

Static files that open from the disk, without a server and without a network. Filters are a few lines of script, and in the address; everything can be
read without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dmlcts.reports.formats.render import link_names, render_page
from dmlcts.reports.record.files import file_names, write_folder, write_text
from dmlcts.reports.record.record import FAILURES, WAIVED
from dmlcts.reports.runs.page import SIGNS, STATES
from dmlcts.reports.runs.runs_json import state_of
from dmlcts.reports.site.content import Content, FurtherPage, OperatorPage
from dmlcts.reports.site.faults import EFFECT_WORDS, Fault
from dmlcts.reports.site.matrix import NEITHER, SYMBOLS, WORDS, cells, level_rows, measured_by
from dmlcts.spec.model.abi import abi
from dmlcts.spec.model.operator import Operator
from dmlcts.spec.pages.sections import Section, sections

START = "<!doctype html>\n<!-- DirectML conformance: specification -->\n"
"""The start of every page, by which the next site recognizes those of an older one."""

DOWNLOADS = "cases"
"""The folder of the files to download."""

INDEX, FAULTS, GRAPHS = "index.html", "faults.html", "graphs.html"

_BAD = (*FAILURES, WAIVED)


def write_site(content: Content, folder: Path) -> Path:
    """Writes the site into ``folder`` and returns the path of ``index.html``. Pages and downloads that an older one has more are removed.

    Raises OSError, naming the folder.
    """
    names = file_names((page.operator.name for page in content.pages), ".html", reserved="index")
    further = [*_own_pages(content, names), *content.further]
    navigation = [("Operators", INDEX), *((page.title, page.file) for page in further)]
    if content.runs_page:
        navigation.append(("Releases", content.runs_page))
    written = {
        **{names[page.operator.name]: _operator_page(content, page, names, navigation) for page in content.pages},
        INDEX: _index_page(content, names, navigation),
        **{
            page.file: render_page(page.template, title=page.title, navigation=navigation, here=page.file, **page.values)
            for page in further
        },
    }
    for name, text in written.items():
        write_text(folder / name, START + text)
    for name, text in content.texts.items():
        write_text(folder / name, text)
    with write_folder(folder):
        for file in folder.glob("*.html"):
            if file.name not in written and file.read_text(encoding="utf-8", errors="replace").startswith(START):
                file.unlink()
        for file in (folder / DOWNLOADS).glob("*.json"):
            if f"{DOWNLOADS}/{file.name}" not in content.texts:
                file.unlink()
    return folder / INDEX


def _own_pages(content: Content, names: Mapping[str, str]) -> Iterator[FurtherPage]:
    if faults := list(_faults_by_effect(content)):
        yield FurtherPage("Known faults", FAULTS, "site/faults.html.j2", {"groups": faults, "names": names})
    if content.graphs:
        yield FurtherPage("Graphs", GRAPHS, "site/graphs.html.j2", {"graphs": content.graphs, "names": names})


def _faults_by_effect(content: Content) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """For each effect, the worst first, its faults, each once with the operators that have it in the same words."""
    pairs: list[tuple[Fault, OperatorPage | None]] = [(fault, page) for page in content.pages for fault in page.faults]
    pairs += [(fault, None) for fault in content.faults]
    found: dict[tuple[str, str, str], list[tuple[Fault, OperatorPage | None]]] = {}
    for fault, page in pairs:
        found.setdefault((fault.effect, fault.text, fault.versions), []).append((fault, page))
    for effect, words in EFFECT_WORDS.items():
        rows = [
            {
                "text": text,
                "versions": versions,
                "of": [
                    {
                        "operator": page.operator.name if page else "",
                        "fault": fault,
                        "example": page.examples.get(fault.patterns) if page else None,
                    }
                    for fault, page in those
                ],
            }
            for (its, text, versions), those in found.items()
            if its == effect
        ]
        if rows:
            yield words, sorted(rows, key=lambda row: -len(row["of"]))


def _index_page(content: Content, names: Mapping[str, str], navigation: Sequence[tuple[str, str]]) -> str:
    rows = [_index_row(content, page, names) for page in sorted(content.pages, key=lambda page: page.operator.name)]
    used = [name for name in abi().data_types if any(row["cells"][name].kind != NEITHER for row in rows)]
    kinds = [row["cells"][name].kind for row in rows for name in used]
    families = sorted({row["operator"].family for row in rows})
    return render_page(
        "site/index.html.j2",
        navigation=navigation,
        here=INDEX,
        families={family: [row for row in rows if row["operator"].family == family] for family in families},
        total=len(rows),
        data_types=used,
        levels=list(abi().feature_levels.values()),
        symbols=SYMBOLS,
        words=WORDS,
        counts={kind: kinds.count(kind) for kind in SYMBOLS},
        by=sorted({by for page in content.pages for by in measured_by(page.operator)}),
        runs=content.runs["runs"] if content.runs else [],
        runs_page=content.runs_page,
        states=STATES,
        signs=SIGNS,
    )


def _index_row(content: Content, page: OperatorPage, names: Mapping[str, str]) -> dict[str, Any]:
    operator = page.operator
    return {
        "operator": operator,
        "file": names[operator.name],
        "cells": cells(operator, page.contested),
        "faults": len(page.faults),
        "worst": EFFECT_WORDS[page.faults[0].effect] if page.faults else "",
        "runs": _run_cells(content, operator.name),
        "searched": _search_text(page),
    }


def _run_cells(content: Content, operator: str) -> list[dict[str, Any]]:
    """For each run what the operator is worth in it, how many cases are bad, of how many."""
    if not content.runs:
        return []
    row = content.runs["operators"].get(operator) or [{"state": "missing"} for _ in content.runs["runs"]]
    return [
        {
            "state": cell["state"],
            "bad": _bad_count(cell.get("counts", {})),
            "total": sum(cell.get("counts", {}).values()),
            "types": cell.get("types", {}),
        }
        for cell in row
    ]


def _bad_count(counts: Mapping[str, int]) -> int:
    return sum(counts.get(status, 0) for status in _BAD)


def _search_text(page: OperatorPage) -> str:
    """What the search looks at, in lower case."""
    operator = page.operator
    fields = (text for field in operator.fields for text in (field.name, field.enum or "", *map(str, field.values)))
    errata = (erratum.text for erratum in operator.errata)
    faults = (fault.text for fault in page.faults)
    return " ".join(
        dict.fromkeys((operator.name, operator.family, operator.summary, *dict.fromkeys(fields), *errata, *faults))
    ).lower()


def _operator_page(content: Content, page: OperatorPage, names: Mapping[str, str], navigation: Sequence[tuple[str, str]]) -> str:
    operator = page.operator
    levels, matrix = level_rows(operator, page.contested)
    parts = list(_anchored_sections(sorted(sections(operator), key=_place)))
    linked_cases = {*page.tested_by.values(), *(example.case for example in page.examples.values())}
    return render_page(
        "site/operator.html.j2",
        navigation=navigation,
        here=names[operator.name],
        operator=operator,
        formula=page.formula,
        parts=parts,
        contents=_contents(parts),
        tested_by=page.tested_by,
        pages=_pages(operator),
        cases=page.cases,
        linked_cases=linked_cases,
        linked=lambda text: link_names(text, operator.name, names),
        levels=levels,
        matrix=matrix,
        symbols=SYMBOLS,
        words=WORDS,
        faults=page.faults,
        effects=EFFECT_WORDS,
        examples=page.examples,
        runs=content.runs["runs"] if content.runs else [],
        run_cells=_run_cells(content, operator.name),
        causes=[cause for cause in content.runs["causes"] if operator.name in cause["operators"]] if content.runs else [],
        bad_count=_bad_count,
        state_of=state_of,
        runs_page=content.runs_page,
        states=STATES,
        signs=SIGNS,
        kernels=page.kernels,
        graphs=[graph for graph in content.graphs if operator.name in graph.operators],
    )


def _pages(operator: Operator) -> list[tuple[str, str]]:
    """Microsoft's pages of an operator: address and title, no two titles alike."""
    return list({source.title: (source.url, source.title) for source in operator.sources if source.url}.values())


_ORDER = {
    "errata": "errata",
    "constraints": "constraints",
    "tolerance": "tolerance",
    "not required": "not required",
    "examples": "examples",
    "tensor support": "tensor support",
    "in place": "in place",
    "shape": "shapes",
    "fields": "fields",
    "constants": "constants",
    "dispatched": "networks",
    "measured": "measured",
    "sources": "sources",
    "cases:": "how cases are made",
}
"""The order of the sections, by the beginnings of their titles, with what stands for them in the table of contents: first what is promised and what
is known of it, then what a desc is made of."""


def _place(section: Section) -> int:
    return next((place for place, begins in enumerate(_ORDER) if section.title.startswith(begins)), len(_ORDER))


def _contents(parts: Sequence[tuple[str, Section]]) -> dict[str, str]:
    """The table of contents: what is in it, and the anchor of the first section of that kind."""
    words, found = [*_ORDER.values()], dict[str, str]()
    for anchor, section in parts:
        place = _place(section)
        found.setdefault(words[place] if place < len(words) else section.title, anchor)
    return found


def _anchored_sections(found: Sequence[Section]) -> Iterator[tuple[str, Section]]:
    """Each section with the name of its anchor, its title's first word; further ones of the same word are numbered."""
    seen: dict[str, int] = {}
    for section in found:
        word = (
            section.title.partition(" ")[0].strip(":")
            if not section.title.startswith("cases: ")
            else f"cases-{section.title.split()[-1]}"
        )
        seen[word] = seen.get(word, 0) + 1
        yield (word if seen[word] == 1 else f"{word}-{seen[word]}"), section
