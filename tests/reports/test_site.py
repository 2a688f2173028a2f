"""The public map: every link has a target, the matrix says what the specs say, a fault has its smallest case, and what is gone is removed."""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner
from sites import OPERATORS, write_site_of_few

from dmlcts.conformance.commands.cases.exec_model import command as exec_command
from dmlcts.conformance.commands.specs.site.command import command
from dmlcts.conformance.commands.specs.site.examples import smallest_case
from dmlcts.conformance.commands.specs.spec_promises import call_lines
from dmlcts.conformance.runner.planning.options import UsageError, read_case
from dmlcts.conformance.sequences.promises.promise import promises
from dmlcts.generator.suite.suite import operator_cases
from dmlcts.reports.formats.render import link_names
from dmlcts.reports.gate.waivers import Waiver
from dmlcts.reports.site.content import Content
from dmlcts.reports.site.faults import EFFECT_WORDS, WAIVED, case_patterns, general_faults, known_faults
from dmlcts.reports.site.matrix import BEYOND, CONFIRMED, CONTESTED, NEITHER, PROMISED, cells, level_rows
from dmlcts.reports.site.site import write_site
from dmlcts.spec.reading.loader import load, operator_names


class Links(HTMLParser):
    """The anchors of a page, and where its links lead, with their texts."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: list[str] = []
        self.links: list[tuple[str, str]] = []
        self._open = False
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.append(value or "")
            elif name == "href":
                self.links.append((value or "", ""))
                self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag != "a"

    def handle_data(self, data: str) -> None:
        if self._open:
            self.links[-1] = (self.links[-1][0], self.links[-1][1] + data)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_site_of_few(tmp_path_factory.mktemp("site"))


def text_of(site: Path, name: str) -> str:
    return unescape((site / f"{name}.html").read_text(encoding="utf-8"))


def test_every_link_has_a_target(site: Path) -> None:
    pages = {page.name: Links(page) for page in site.glob("*.html")}
    assert sorted(pages) == sorted(
        [*(f"{name}.html" for name in OPERATORS), "faults.html", "graphs.html", "index.html", "promises.html"]
    )
    followed = 0
    for name, page in pages.items():
        assert len(set(page.anchors)) == len(page.anchors), f"{name} has an anchor twice"
        for link, _ in page.links:
            if not link.startswith(("https://learn.microsoft.com/", "https://github.com/MicrosoftDocs/")):
                file, _, anchor = link.partition("#")
                assert not file or (site / file).is_file(), link
                own = (file or name) in pages
                assert not (anchor and own) or unquote(anchor) in pages[file or name].anchors, link
                followed += 1
    assert followed > 100


def test_every_download_is_linked(site: Path) -> None:
    linked = {link for page in site.glob("*.html") for link, _ in Links(page).links}
    files = {f"cases/{file.name}" for file in (site / "cases").iterdir()}
    assert len(files) >= 4
    assert files <= linked


def test_no_two_links_of_a_page_say_the_same_and_lead_elsewhere(site: Path) -> None:
    for name in OPERATORS:
        seen: dict[str, str] = {}
        for link, text in Links(site / f"{name}.html").links:
            if link.startswith("https:"):
                assert seen.setdefault(text, link) == link
        assert len(seen) >= 1


def test_a_page_begins_with_what_is_promised_and_what_is_wrong(site: Path) -> None:
    text = text_of(site, "SLICE1")
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    assert titles[:3] == ["What is promised", "What is wrong", "Releases"]
    assert titles.index("errata") < titles.index("constraints") < titles.index("fields")
    assert titles[-1] == "cases"


def test_levels_are_written_as_people_do(site: Path) -> None:
    for name in OPERATORS:
        assert re.findall(r"(?:level |since |\()[1-9]_[0-9]\b", text_of(site, name)) == []
    assert str(link_names("of level 6_2, and X_6_2", "", {})) == "of level 6.2, and X_6_2"


def test_a_promise_leads_to_the_case_that_tests_it(site: Path) -> None:
    row = re.search(r'<th scope="row">all-dimensions.*?href="#([^"]+)"', text_of(site, "TILE"))
    assert row is not None
    assert unquote(row[1]).startswith("TILE/FLOAT32/negative/all-dimensions/")
    for text in (load("TILE").summary, "output[i] = input[i % input", "support/InputTensor/data-type"):
        assert text in text_of(site, "TILE")


def test_the_matrix_says_what_is_promised_measured_and_contested(site: Path) -> None:
    tile = cells(load("TILE"))
    assert (tile["FLOAT16"].kind, str(tile["FLOAT16"].level)) == (CONFIRMED, "1_0")
    assert (tile["INT64"].kind, str(tile["INT64"].level)) == (CONFIRMED, "4_1")
    assert (tile["FLOAT64"].kind, tile["FLOAT64"].level, tile["INT4"].kind) == (BEYOND, None, NEITHER)
    assert cells(load("TILE").strict())["FLOAT16"].kind == PROMISED, "without a measurement nothing is confirmed"
    contested = cells(load("TILE"), {"FLOAT16", "FLOAT64"})
    assert (contested["FLOAT16"].kind, contested["FLOAT64"].kind) == (CONTESTED, BEYOND), "what nobody promises is not contested"
    row = re.search(r'<tr data-text="tile .*?</tr>', text_of(site, "index"), re.DOTALL)
    assert row is not None
    assert row[0].count('class="of-types confirmed"') == 10
    assert row[0].count('class="of-types beyond"') == 1
    rounding = re.search(r'<tr data-text="element_wise_round .*?</tr>', text_of(site, "index"), re.DOTALL)
    assert rounding is not None
    assert rounding[0].count('class="of-types contested"') == 1


def test_the_matrix_of_an_operator_has_each_level_of_its_tables() -> None:
    levels, rows = level_rows(load("TILE"))
    assert levels[0].text == "1.0"
    by_level = dict(zip([level.text for level in levels], (cell.kind for cell in rows["INT64"]), strict=True))
    assert by_level["1.0"] == NEITHER
    assert by_level["4.1"] == CONFIRMED


@pytest.mark.parametrize("name", operator_names())
def test_a_type_is_in_the_matrix_where_a_documented_table_has_it(name: str) -> None:
    operator = load(name)
    listed = {
        t for table in operator.support if table.basis == "documented" for row in table.tensors.values() for t in row.data_types
    }
    assert {data_type for data_type, cell in cells(operator).items() if cell.kind in (CONFIRMED, PROMISED)} == listed


def test_promises_are_on_a_page_by_area_with_their_page_their_calls_and_what_was_measured(site: Path) -> None:
    text = text_of(site, "promises")
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


# Faults


@pytest.mark.parametrize(
    ("shown_by", "patterns"),
    [
        ("example nan-alone", ["X/*/example/nan-alone"]),
        ("examples a-*, b and c", ["X/*/example/a-*", "X/*/example/b", "X/*/example/c"]),
        ("example a, configurations b and c", ["X/*/example/a", "X/*/b/*", "X/*/c/*"]),
        ("examples a, b; values c", ["X/*/example/a", "X/*/example/b", "X/*/values/*c*"]),
        ("case FLOAT16/sizes/1x2", ["X/FLOAT16/sizes/1x2"]),
        ("negative dimension-count/*", ["X/*/negative/dimension-count/*"]),
        ("dmlcts ask X A=1 example b", []),
        ("E_INVALIDARG", []),
    ],
)
def test_what_a_fault_is_shown_by_names_cases(shown_by: str, patterns: list[str]) -> None:
    assert case_patterns("X", shown_by) == patterns


def test_faults_are_those_of_waivers_and_errata_the_worst_first() -> None:
    waivers = [Waiver(cases, "fails", "1") for cases in ("SLICE1/*/a", "SLICE1/*/b", "SLICE/*", "api/DEV-1", "*/FLOAT32*")]
    found = known_faults(load("SLICE1"), waivers)
    assert [fault.effect for fault in found] == [WAIVED, "values", "scope"]
    assert found[0].patterns == ("SLICE1/*/a", "SLICE1/*/b")
    assert [fault.patterns for fault in general_faults(waivers, operator_names())] == [("api/DEV-1", "*/FLOAT32*")]
    assert set(EFFECT_WORDS) >= {fault.effect for name in operator_names() for fault in known_faults(load(name), waivers)}


def test_the_smallest_case_is_taken() -> None:
    cases = operator_cases("TILE", "core")
    found = smallest_case(cases, ["TILE/*"])
    assert found is not None
    assert found.expect != "reject"
    one = smallest_case(cases, ["TILE/*/negative/*"])
    assert one is not None
    assert "/negative/" in one.id
    assert smallest_case(cases, ["SLICE/*"]) is None


def test_a_fault_has_a_model_that_runs_or_a_case(site: Path) -> None:
    models = sorted((site / "cases").glob("*.model.json"))
    assert models
    for model in models:
        done = CliRunner().invoke(exec_command, [str(model)])
        assert done.exit_code == 0, done.output
    (case,) = (site / "cases").glob("TILE-*.case.json")
    assert read_case(case).id.startswith("TILE/FLOAT32/negative/all-dimensions/")
    assert "a made-up fault of no operator" in text_of(site, "faults")


# Releases, kernels, graphs


def test_releases_kernels_and_graphs_are_where_they_are_known(site: Path) -> None:
    tile, slice1 = text_of(site, "TILE"), text_of(site, "SLICE1")
    assert "until 1.8.0 (1.9.0 passes)" in tile
    assert "dxil 0123456789abcdef" in tile
    assert "in the graph made-up" in tile
    assert "dxil" not in slice1
    assert "made-up" not in slice1
    row = re.search(r'<tr data-text="tile .*?</tr>', text_of(site, "index"), re.DOTALL)
    assert row is not None
    assert re.findall(r'class="of-runs (\w+)"', row[0]) == ["fail", "pass"]
    assert json.loads((site / "runs" / "runs.json").read_text(encoding="utf-8"))["runs"][0]["key"] == "1.8.0"


def test_what_a_run_says_is_text(site: Path) -> None:
    for page in site.glob("*.html"):
        assert "<b>&" not in page.read_text(encoding="utf-8")


def test_a_graph_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UsageError, match="not a graph"):
        CliRunner().invoke(
            command, ["TILE", "--graph", str(tmp_path / "graph.json"), "--out", str(tmp_path / "out")], catch_exceptions=False
        )


# Writing


def test_pages_and_downloads_that_are_gone_are_removed_and_nothing_else(tmp_path: Path, site: Path) -> None:
    (tmp_path / "OLD.html").write_text((site / "TILE.html").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "mine.html").write_text("mine", encoding="utf-8")
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "OLD-1.case.json").write_text("{}", encoding="utf-8")
    write_site(Content([]), tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cases", "index.html", "mine.html"]
    assert list((tmp_path / "cases").iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written here"):
        CliRunner().invoke(command, ["TILE", "--out", str(tmp_path / "file" / "below")], catch_exceptions=False)
