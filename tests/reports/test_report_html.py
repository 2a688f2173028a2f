"""The HTML report: complete, small at the start, harmless whatever a case says, and readable without colours."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dmlcts.reports.html import write_html
from dmlcts.reports.record import ERROR, FAIL, PASS, STATUSES, Manifest, Mismatch, Record, Result
from dmlcts.reports.verdict import SYMBOLS, WORDS

MANIFEST = Manifest(
    suite_version="0.1.0", spec_version="1", backend={"name": "impl", "version": "2.0", "denormals": "flush"}, backend_spec="process:./impl",
    command="dmlcts run --backend process:./impl", level="core", basis="documented", feature_level="6_4", seed="7",
    platform={"system": "Linux"}, started="2026-01-02T03:04:05.123+00:00", finished="2026-01-02T03:04:15Z", seconds=4000.0,
)  # fmt: skip

ATTACK = "</script><img src=x onerror=alert(1)> <!-- <script> \u2028 &lt; "

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)


def result(status: str = PASS, number: int = 0, operator: str = "GEMM", **more: Any) -> Result:
    return Result(f"{operator}/FLOAT16/{number}", operator, "FLOAT16", "table", "documented", "6_4", status, **more)


def run(*results: Result, **manifest: Any) -> Record:
    return Record(replace(MANIFEST, **{"selected": len(results), **manifest}), results)


def page(record: Record, folder: Path) -> str:
    return write_html(record, folder).read_text(encoding="utf-8")


def index(text: str) -> dict[str, Any]:
    found = re.search(r'<script id="index" type="application/json">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def data(folder: Path, operator: str) -> dict[str, Any]:
    """What the browser has of an operator after it loaded its script."""
    text = (folder / index((folder / "index.html").read_text(encoding="utf-8"))["operators"][0][1]).read_text(encoding="ascii")
    start = f"(window.dmlcts ??= {{}})[{json.dumps(operator)}] = ".replace("<", "\\u003c")
    assert text.startswith(start)
    return json.loads(text.removeprefix(start).removesuffix(";\n"))


class Outline(HTMLParser):
    """Every element with its attributes, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.within = "", ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.within = tag

    def handle_endtag(self, tag: str) -> None:
        self.within = ""

    def handle_data(self, data: str) -> None:
        if self.within not in ("script", "style"):
            self.text += data


def test_the_page_tells_the_statuses_apart_by_word_symbol_and_number(tmp_path: Path) -> None:
    results = [result(status, 100 * i + j) for i, status in enumerate(STATUSES) for j in range(2**i)]
    text = page(run(*results), tmp_path)
    counts = text.partition('<ul class="counts"')[2].partition("</ul>")[0]
    for status, entry in zip(STATUSES, counts.split("<li")[1:], strict=True):
        assert f">{SYMBOLS[status]}</b>" in entry
        assert f'<span class="number">{2 ** STATUSES.index(status)}</span> <span class="word">{WORDS[status]}</span>' in entry
    found = index(text)
    (_, _, numbers) = found["operators"][0]
    assert {found["kinds"][kind][0]: number for kind, number in zip(numbers[::2], numbers[1::2], strict=True)} == {
        status: 2**i for i, status in enumerate(STATUSES)
    }


def test_the_page_has_the_verdict_the_manifest_and_the_matrix(tmp_path: Path) -> None:
    said = Outline(page(run(result(), result(FAIL, 1), result(operator="CAST")), tmp_path))
    for text in (
        "impl 2.0 does NOT conform to the documentation at feature level 6.4",
        "dmlcts run --backend process:./impl", "2026-01-02 03:04:05 UTC", "1 h 6 min", "denormals", "flush", "process:./impl",
    ):  # fmt: skip
        assert text in said.text
    cells = [attributes for tag, attributes in said.elements if tag == "td" and attributes]
    assert [cell["class"] for cell in cells] == ["fail", "fail", "pass", "pass"]
    assert "✗ 1/2" in said.text
    titles = [attributes.get("title") for tag, attributes in said.elements if tag == "a"]
    assert "FLOAT16: 1 failed, 1 passed" in titles


def test_an_interrupted_run_says_so_in_plain_words(tmp_path: Path) -> None:
    assert "The run was interrupted: 4 of 5 cases were not run." in page(run(result(), selected=5, interrupted=True), tmp_path)
    assert "interrupted" not in Outline(page(run(result()), tmp_path)).text


def test_every_case_can_be_read_back_from_its_data_file(tmp_path: Path) -> None:
    mismatch = Mismatch("OutputTensor", (0, 3), "1", "2", 1.5, "1 ULP")
    bad = result(
        FAIL, 1, message="off", mismatches=(mismatch,), wrong=1, elements=8, desc={"Type": "GEMM"}, evidence={"stage": "create"}, matched_answer="documentation",
        repro="dmlcts repro GEMM/FLOAT16/1", waiver="none", worst_ulp=1.5, seconds=0.0123, grade="near",
    )  # fmt: skip
    page(run(result(repro="dmlcts repro GEMM/FLOAT16/0"), bad), tmp_path)
    found = data(tmp_path, "GEMM")
    strings = found["strings"]
    status, short, *places = found["rows"][1]
    data_type, kind, basis, level, milliseconds, ulp, grade, whose, message, waiver, repro = places
    assert (STATUSES[status], short, milliseconds, ulp) == (FAIL, "/FLOAT16/1", 12.3, 1.5)
    assert [strings[i] for i in (data_type, kind, basis, level, grade, whose, message, waiver, repro)] == [
        "FLOAT16", "table", "documented", "6_4", "near", "documentation", "off", "none", "dmlcts repro \0",
    ]  # fmt: skip
    assert found["rows"][0][-1] == repro  # the same command but for the id
    assert found["details"] == {
        "1": {
            "wrong": 1, "elements": 8, "mismatches": [["OutputTensor", [0, 3], "1", "2", 1.5, "1 ULP"]], "desc": {"Type": "GEMM"},
            "evidence": {"stage": "create"},
        }
    }  # fmt: skip


def test_nothing_a_case_says_becomes_markup(tmp_path: Path) -> None:
    operator = f"{ATTACK}\ud800"  # no Unicode at all
    hostile = result(ERROR, operator=operator, message=operator, evidence={ATTACK: operator}, repro=ATTACK)
    hostile = replace(hostile, kind=ATTACK, data_type=operator)
    text = page(run(hostile, backend={"name": ATTACK, ATTACK: ATTACK}, command=ATTACK, platform={"system": ATTACK}), tmp_path)
    outline = Outline(text)
    plain = Outline(page(run(replace(result(ERROR), message="m")), tmp_path / "plain"))
    assert {tag for tag, _ in outline.elements} == {tag for tag, _ in plain.elements}
    assert not [attributes for _, attributes in outline.elements if any(name.startswith("on") for name in attributes)]
    assert sum(tag == "script" for tag, _ in outline.elements) == 2
    assert data(tmp_path, operator)["details"]["0"]["evidence"] == {ATTACK: operator}
    (script,) = (tmp_path / "data").iterdir()
    assert script.read_text(encoding="ascii").count("<") == 0
    assert re.fullmatch(r"[\w-]+\.js", script.name)


def test_the_page_asks_the_network_for_nothing(tmp_path: Path) -> None:
    text = page(run(result()), tmp_path)
    assert not re.findall(r"https?:|//\w|@import|url\(", re.sub(r"(?m)^\s*//.*|\s// .*", "", text))
    assert "fetch(" not in text
    assert "XMLHttpRequest" not in text
    assert "innerHTML" not in text
    linked = [attributes for _, attributes in Outline(text).elements for name in attributes if name in ("src", "href")]
    assert linked
    assert all(attributes["href"].startswith("#") for attributes in linked)


def test_operators_never_share_a_file_or_leave_the_folder(tmp_path: Path) -> None:
    names = ["../up", "..", "A", "a", "A/B", "A_B", "", "A" * 300]
    text = page(run(*(result(operator=name) for name in names)), tmp_path / "html")
    files = {name: file for name, file, _ in index(text)["operators"]}
    assert set(files) == set(names)
    assert len({file.lower() for file in files.values()}) == len(names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["html"]
    assert {f"data/{path.name}" for path in (tmp_path / "html" / "data").iterdir()} == set(files.values())


def test_what_an_older_report_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    page(run(result(), result(operator="CAST")), tmp_path)
    (tmp_path / "data" / "mine.js").write_text("export default 1;\n", encoding="utf-8")
    page(run(result()), tmp_path)
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["GEMM.js", "mine.js"]


def test_the_index_does_not_grow_with_the_cases_but_with_their_kinds(tmp_path: Path) -> None:
    """177 operators of 13 data types, each with a failure, stay under 1 MB; ten times as many cases add digits alone."""
    types = [f"{kind}{width}" for kind in ("FLOAT", "INT", "UINT") for width in (8, 16, 32, 64)] + ["INT4"]
    bases = ("documented", "measured", "contested")

    def size(number: int) -> int:
        results = []
        for operator in range(177):
            name = f"QUANTIZED_LINEAR_AVERAGE_POOLING_{operator:03}"
            for i in range(number):
                data_type, status = types[i % 13], FAIL if i < 13 else PASS
                results.append(
                    Result(f"{name}/{data_type}/{i}", name, data_type, f"kind-{i // 13 % 2}", bases[i % 3], "6_4", status)
                )
        return write_html(run(*results), tmp_path / str(number)).stat().st_size

    small, large = size(78), size(156)
    assert large < 1_000_000
    assert large - small < 0.05 * small


def test_status_colours_have_the_contrast_that_wcag_asks_for(tmp_path: Path) -> None:
    text = page(run(result()), tmp_path)
    variables = dict(re.findall(r"--([\w-]+): (.+?);", text))

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    def contrast(ink: str, back: str, scheme: int) -> float:
        one, other = (luminance(re.findall(r"#\w{6}", variables[name])[-1 if scheme else 0]) for name in (ink, back))
        return (max(one, other) + 0.05) / (min(one, other) + 0.05)

    pairs = [(f"{status}-ink", f"{status}-back") for status in STATUSES]
    pairs += [(ink, back) for ink in ("text", "muted", "link") for back in ("page", "sheet")]
    for ink, back in pairs:
        for scheme in (0, 1):
            assert contrast(ink, back, scheme) >= 4.5, (ink, back, scheme)


def test_the_page_is_accessible_in_outline(tmp_path: Path) -> None:
    outline = Outline(page(run(result(), result(FAIL, 1)), tmp_path))
    elements = outline.elements
    assert ("html", {"lang": "en"}) in elements
    assert all("scope" in attributes for tag, attributes in elements if tag == "th")
    ids = [attributes["id"] for _, attributes in elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert all(attributes[name] in ids for _, attributes in elements for name in ("aria-labelledby", "for") if name in attributes)
    region = next(attributes for _, attributes in elements if attributes.get("class") == "scroll")
    assert region["tabindex"] == "0"
    assert region["role"] == "region"


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_browser_lists_a_failure_from_the_disk_and_runs_nothing_it_says(tmp_path: Path) -> None:
    bad = result(
        ERROR, message=f"crashed {ATTACK}", evidence={"output": ATTACK * 3}, repro="dmlcts repro it", desc={"Type": "GEMM"}
    )
    file = write_html(run(result(number=5), bad), tmp_path / "report")
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
    )
    dom = subprocess.run(
        [BROWSER, *options, "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000", "--dump-dom", f"{file.as_uri()}#case=GEMM/FLOAT16/0"],
        capture_output=True, timeout=60, encoding="utf-8", check=True,
    ).stdout  # fmt: skip
    outline = Outline(dom)
    assert "1 of 2 cases, in 1 operator" in outline.text
    assert "dmlcts repro it" in outline.text
    assert outline.text.count("onerror=alert(1)") >= 4  # as text, and nowhere as an element
    assert not [tag for tag, _ in outline.elements if tag == "img"]
