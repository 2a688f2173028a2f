"""The specification site: a page for each operator, and a matrix of all by data type and feature level, promised against measured.

Static files that open from the disk, without a server and without a network. The search and the choice of a level are a few lines of script;
everything can be read without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from dmlcts.reports.record.files import file_names, write_folder, write_text
from dmlcts.spec.model.abi import FeatureLevel, abi
from dmlcts.spec.model.measurement import ORACLE, Measurement
from dmlcts.spec.model.operator import DOCUMENTED, Operator
from dmlcts.spec.pages.sections import Section, sections

START = "<!doctype html>\n<!-- DirectML conformance: specification -->\n"
"""The start of every page, by which the next site recognizes those of an older one."""

CONFIRMED, PROMISED, BEYOND, NEITHER = "confirmed", "promised", "beyond", "neither"
"""What a cell of the matrix is: promised and measured, promised alone, accepted although not promised, neither."""

SYMBOLS = {CONFIRMED: "✓", PROMISED: "?", BEYOND: "+", NEITHER: ""}


@dataclass(frozen=True, slots=True)
class CaseLine:
    """A case as the site lists it."""

    id: str
    kind: str
    basis: str
    level: str
    feature_level: str


@dataclass(frozen=True, slots=True)
class OperatorPage:
    """An operator, how its reference computes it, its cases, and for the label of a promise the case that tests it."""

    operator: Operator
    formula: str
    cases: Sequence[CaseLine]
    tested_by: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FurtherPage:
    """A page beside those of operators: its title, the name of its file, and the template with its values."""

    title: str
    file: str
    template: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Cell:
    """What is known of an operator and a data type: the first level that promises it, what that is worth, and which tensors have it."""

    kind: str
    level: FeatureLevel | None
    title: str


def write_site(pages: Sequence[OperatorPage], folder: Path, further: Sequence[FurtherPage] = ()) -> Path:
    """Writes the site into ``folder`` and returns the path of ``index.html``. Pages of operators that are gone are removed.

    Raises OSError, naming the folder.
    """
    names = file_names((page.operator.name for page in pages), ".html", reserved="index")
    environment = _environment()
    for page in pages:
        write_text(folder / names[page.operator.name], START + _operator_page(environment, page, names))
    for page_of_more in further:
        text = environment.get_template(page_of_more.template).render(title=page_of_more.title, **page_of_more.values)
        write_text(folder / page_of_more.file, START + text)
    index = folder / "index.html"
    write_text(index, START + _index_page(environment, pages, names, further))
    kept = {*names.values(), *(each.file for each in further), index.name}
    with write_folder(folder):
        for file in folder.glob("*.html"):
            if file.name not in kept and file.read_text(encoding="utf-8", errors="replace").startswith(START):
                file.unlink()
    return index


def cells(operator: Operator) -> dict[str, Cell]:
    """A cell for each data type of the ABI."""
    return {name: _cell(operator, name) for name in abi().data_types}


def _cell(operator: Operator, data_type: str) -> Cell:
    since: dict[str, FeatureLevel] = {}
    for table in operator.support:
        for tensor, row in table.tensors.items():
            if data_type in row.data_types and table.basis == DOCUMENTED:
                since[tensor] = min(since.get(tensor, table.level), table.level)
    if since:
        title = ", ".join(f"{tensor} since {level}" for tensor, level in since.items())
        confirmed = any(found.confirmed == found.cells for found in _of_directml(operator))
        return Cell(CONFIRMED if confirmed else PROMISED, min(since.values()), title)
    tensors = ", ".join(sorted({tensor for found in _of_directml(operator) for tensor in _accepted_tensors(found, data_type)}))
    return Cell(BEYOND, None, f"{tensors}: accepted by DirectML.dll, in no table") if tensors else Cell(NEITHER, None, "")


def _of_directml(operator: Operator) -> Iterator[Measurement]:
    return (found for found in operator.probe_measurements if found.by.partition(" ")[0] == ORACLE)


def _accepted_tensors(found: Measurement, data_type: str) -> Iterator[str]:
    """The tensors that were accepted with a data type that no table has."""
    for entry in found.accepts:
        rule, _, rest = entry.what.partition("/")
        tensor, _, what = rest.partition("/")
        if (rule, what) == ("support", "data-type") and any(data_type in (way, way.partition("=")[2]) for way in entry.ways):
            yield tensor


def _index_page(
    environment: Environment, pages: Sequence[OperatorPage], names: Mapping[str, str], further: Sequence[FurtherPage]
) -> str:
    rows = [(page.operator, names[page.operator.name], cells(page.operator), _search_text(page.operator)) for page in pages]
    used = [name for name in abi().data_types if any(found[name].kind != NEITHER for _, _, found, _ in rows)]
    kinds = [found[name].kind for _, _, found, _ in rows for name in used]
    return environment.get_template("site_index.html.j2").render(
        rows=rows,
        further=further,
        data_types=used,
        levels=list(abi().feature_levels.values()),
        symbols=SYMBOLS,
        counts={kind: kinds.count(kind) for kind in SYMBOLS},
        by=sorted({found.by for page in pages for found in _of_directml(page.operator)}),
    )


def _search_text(operator: Operator) -> str:
    """What the search looks at, in lower case."""
    fields = (text for field in operator.fields for text in (field.name, field.enum or "", *map(str, field.values)))
    errata = (erratum.text for erratum in operator.errata)
    return " ".join((operator.name, operator.family, operator.summary, *dict.fromkeys(fields), *errata)).lower()


def _operator_page(environment: Environment, page: OperatorPage, names: Mapping[str, str]) -> str:
    operator = page.operator
    return environment.get_template("site_operator.html.j2").render(
        operator=operator,
        formula=page.formula,
        parts=[(anchor, section) for anchor, section in _anchored_sections(sections(operator))],
        tested_by=page.tested_by,
        pages=[source for source in operator.sources if source.url],
        cases=page.cases,
        linked=lambda text: _link_names(text, operator.name, names),
    )


def _anchored_sections(found: Iterator[Section]) -> Iterator[tuple[str, Section]]:
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


def _link_names(text: str, itself: str, names: Mapping[str, str]) -> Markup:
    """Text in which the names of other operators are links to their pages."""
    words = escape(text).split(" ")
    for place, word in enumerate(words):
        name = word.strip(".,:;()[]{}'")
        if name != itself and name in names:
            words[place] = word.replace(name, f'<a href="{names[name]}">{name}</a>')
    return Markup(" ".join(words))  # noqa: S704 - escaped above


def _prose(text: str) -> Markup:
    """A docstring as paragraphs, with what stands in double backticks as code."""
    paragraphs = re.sub(r"``(.+?)``", r"<code>\1</code>", escape(text), flags=re.DOTALL).split("\n\n")
    return Markup("".join(f"<p>{paragraph}</p>\n" for paragraph in paragraphs))  # noqa: S704 - escaped above


def render_page(template: str, **values: object) -> str:
    """A page of this site's look: a template with these values."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_template), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals["style"] = Markup(_template("style.css") + _template("site.css"))  # noqa: S704 - ours
    environment.filters["hash"] = lambda text: quote(text, safe="/.")
    environment.filters["prose"] = _prose
    environment.filters["dotted"] = lambda level: str(level).replace("_", ".")
    return environment


def _template(name: str) -> str:
    return (files("dmlcts.reports") / "templates" / name).read_text(encoding="utf-8")
