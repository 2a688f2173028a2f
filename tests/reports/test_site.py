"""The specification site: every link has a target, the matrix says what the specs say, and pages of operators that are gone are removed."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

from dmlcts.conformance.commands.specs.spec_promises import call_lines
from dmlcts.conformance.commands.specs.spec_site import command
from dmlcts.conformance.runner.planning.options import UsageError
from dmlcts.conformance.sequences.promises.promise import promises
from dmlcts.reports.site import BEYOND, CONFIRMED, NEITHER, PROMISED, cells, write_site
from dmlcts.spec.reading.loader import load, operator_names

SOME = ("TILE", "SLICE1", "MULTIHEAD_ATTENTION", "RANDOM_GENERATOR")


class Links(HTMLParser):
    """The anchors of a page, and where its links lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.append(value or "")
            elif name == "href":
                self.links.append(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = CliRunner().invoke(command, [*SOME, "--out", str(folder)])
    assert done.exit_code == 0, done.output
    assert f"4 operators: {folder / 'index.html'}" in done.output
    return folder


def test_every_link_has_a_target(site: Path) -> None:
    pages = {page.name: Links(page) for page in site.glob("*.html")}
    assert sorted(pages) == sorted([*(f"{name}.html" for name in SOME), "index.html", "promises.html"])
    followed = 0
    for name, page in pages.items():
        assert len(set(page.anchors)) == len(page.anchors), f"{name} has an anchor twice"
        for link in page.links:
            if not link.startswith(("https://learn.microsoft.com/", "https://github.com/MicrosoftDocs/")):
                file, _, anchor = link.partition("#")
                assert (file or name) in pages, link
                assert not anchor or unquote(anchor) in pages[file or name].anchors, link
                followed += 1
    assert followed > 100


def test_a_promise_leads_to_the_case_that_tests_it(site: Path) -> None:
    text = (site / "TILE.html").read_text(encoding="utf-8")
    row = re.search(r'<th scope="row">all-dimensions.*?href="#([^"]+)"', text)
    assert row is not None
    assert unquote(unescape(row[1])).startswith("TILE/FLOAT32/negative/all-dimensions/")
    for text in (load("TILE").summary, "output[i] = input[i % input", "support/InputTensor/data-type"):
        assert text in unescape((site / "TILE.html").read_text(encoding="utf-8"))


def test_promises_are_on_a_page_by_area_with_their_page_their_calls_and_what_was_measured(site: Path) -> None:
    text = unescape((site / "promises.html").read_text(encoding="utf-8"))
    for promise in promises():
        start = text.index(f'<h3 id="{promise.name}">')
        entry = text[start : text.index("</article>", start)]
        for part in (
            promise.says,
            promise.url,
            f"{promise.api}, {promise.severity}",
            *promise.measured.values(),
            *call_lines(promise),
        ):
            assert part in entry, promise.name
        assert text.rindex("<h2 id=", 0, start) == text.index(f'<h2 id="{promise.area}">')
    broken = {
        (p.name, v) for p in promises() for v, what in p.measured.items() if p.severity == "must" and "as documented" not in what
    }
    assert text.count("<strong>") == len(broken - {("REM-5", "1.15.4"), ("RES-1", "1.15.4")}) > 7
    assert "DirectML.dll 1.15.4: <strong>an array without elements removes the device</strong>" in text


def test_the_matrix_says_what_is_promised_and_what_was_measured(site: Path) -> None:
    tile = cells(load("TILE"))
    assert (tile["FLOAT16"].kind, str(tile["FLOAT16"].level)) == (CONFIRMED, "1_0")
    assert (tile["INT64"].kind, str(tile["INT64"].level)) == (CONFIRMED, "4_1")
    assert (tile["FLOAT64"].kind, tile["FLOAT64"].level, tile["INT4"].kind) == (BEYOND, None, NEITHER)
    assert cells(load("TILE").strict())["FLOAT16"].kind == PROMISED, "without a measurement nothing is confirmed"
    text = (site / "index.html").read_text(encoding="utf-8")
    row = re.search(r'<tr data-text="tile .*?</tr>', text, re.DOTALL)
    assert row is not None
    assert row[0].count('class="confirmed"') == 10
    assert row[0].count('class="beyond"') == 1


@pytest.mark.parametrize("name", operator_names())
def test_a_type_is_in_the_matrix_where_a_documented_table_has_it(name: str) -> None:
    operator = load(name)
    listed = {
        t for table in operator.support if table.basis == "documented" for row in table.tensors.values() for t in row.data_types
    }
    assert {data_type for data_type, cell in cells(operator).items() if cell.kind in (CONFIRMED, PROMISED)} == listed


def test_pages_of_operators_that_are_gone_are_removed_and_nothing_else(tmp_path: Path, site: Path) -> None:
    (tmp_path / "OLD.html").write_text((site / "TILE.html").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "mine.html").write_text("mine", encoding="utf-8")
    write_site([], tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["index.html", "mine.html"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written here"):
        CliRunner().invoke(command, ["TILE", "--out", str(tmp_path / "file" / "below")], catch_exceptions=False)
