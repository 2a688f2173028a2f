"""The HTML report: complete, small at the start, harmless whatever a case says, and readable without colours."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from records import listed_cases

from dmlcts.reports.claim.claim import claim_of
from dmlcts.reports.formats.html import headline, write_html
from dmlcts.reports.formats.supplement import Nothing
from dmlcts.reports.record.record import (
    ERROR,
    FAIL,
    NOT_RUN,
    PASS,
    STATUSES,
    UNEXPECTED_PASS,
    UNSUPPORTED,
    WAIVED,
    ErrorMap,
    Manifest,
    Mismatch,
    Record,
    Result,
)
from dmlcts.reports.record.verdict import SYMBOLS, WORDS

MANIFEST = Manifest(
    suite_version="0.1.0", spec_version="1", backend={"name": "impl", "version": "2.0", "denormals": "flush"}, backend_spec="process:./impl",
    command="dmlcts run --backend process:./impl", level="core", basis="documented", feature_level="6_4", seed="7",
    platform={"system": "Linux"}, started="2026-01-02T03:04:05.123+00:00", finished="2026-01-02T03:04:15Z", seconds=4000.0,
)  # fmt: skip

ATTACK = "</script><img src=x onerror=alert(1)> <!-- <script> \u2028 &lt; "


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


def details(folder: Path, operator: str) -> dict[str, Any]:
    """What the browser has of the first operator after it loaded its script."""
    text = (folder / index((folder / "index.html").read_text(encoding="utf-8"))["operators"][0][1]).read_text(encoding="ascii")
    start = f"(window.dmlcts ??= {{}})[{json.dumps(f'/{operator}')}] = ".replace("<", "\\u003c")
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
    assert Counter(STATUSES[status] for _, _, _, status, *_ in listed_cases(tmp_path)) == {
        status: 2**i for i, status in enumerate(STATUSES)
    }


def test_the_page_has_the_verdict_the_manifest_and_the_matrix(tmp_path: Path) -> None:
    outline = Outline(page(run(result(), result(FAIL, 1), result(operator="CAST")), tmp_path))
    for text in (
        "impl 2.0 does NOT conform to the documentation at feature level 6.4",
        "dmlcts run --backend process:./impl", "2026-01-02 03:04:05 UTC", "1 h 6 min", "denormals", "flush", "process:./impl",
    ):  # fmt: skip
        assert text in outline.text
    cells = [attributes for tag, attributes in outline.elements if tag == "td" and attributes]
    assert [cell["class"] for cell in cells] == ["fail", "fail", "pass", "pass"]
    assert "✗ 1/2" in outline.text
    titles = [attributes.get("title") for tag, attributes in outline.elements if tag == "a"]
    assert "FLOAT16: 1 failed, 1 passed" in titles


@pytest.mark.parametrize(
    ("word", "statuses", "manifest"),
    [
        ("PASS", (PASS, WAIVED), {}),
        ("PASS", (PASS,), {"level": "smoke"}),
        ("FAIL", (PASS, UNSUPPORTED), {}),
        ("FAIL", (PASS, FAIL), {}),
        ("FAIL", (PASS, ERROR), {"interrupted": True}),
        ("FAIL", (PASS, UNEXPECTED_PASS), {}),
        ("FAIL", (UNSUPPORTED,), {}),
        ("FAIL", (), {}),
        ("INCOMPLETE", (PASS, NOT_RUN), {}),
        ("INCOMPLETE", (PASS,), {"selected": 2}),
        ("INCOMPLETE", (PASS,), {"finished": ""}),
    ],
)
def test_a_run_has_one_word(word: str, statuses: tuple[str, ...], manifest: dict[str, Any]) -> None:
    record = run(*(result(status, i) for i, status in enumerate(statuses)), **manifest)
    assert headline(record, claim_of(record)).word == word


def test_a_passing_run_names_the_next_level_with_its_backend(tmp_path: Path) -> None:
    next_level = "To run more: dmlcts run --backend process:./impl --level full --basis documented -n 2"
    assert next_level in Outline(page(run(result()), tmp_path)).text
    assert "To run more" not in Outline(page(run(result(FAIL)), tmp_path)).text
    assert "To run more" not in Outline(page(run(result(), level="full"), tmp_path)).text


def test_an_interrupted_run_says_so_in_plain_words(tmp_path: Path) -> None:
    assert "The run was interrupted: 4 of 5 cases were not run." in page(run(result(), selected=5, interrupted=True), tmp_path)
    assert "interrupted" not in Outline(page(run(result()), tmp_path)).text


def test_every_case_can_be_read_back_from_the_data(tmp_path: Path) -> None:
    mismatch = Mismatch("OutputTensor", (0, 3), "1", "2", 1.5, "1 ULP")
    errors = ErrorMap("OutputTensor", (2, 4), 1, ("0009", "0000"), (7,), (0, 1))
    bad = result(
        FAIL, 1, message="off", mismatches=(mismatch,), wrong=1, elements=8, desc={"Type": "GEMM"}, evidence={"stage": "create"}, matched_answer="documentation",
        repro="dmlcts repro GEMM/FLOAT16/1", waiver="none", worst_ulp=1.5, seconds=0.0123, grade="near", error_maps=(errors,),
    )  # fmt: skip
    page(run(result(repro="dmlcts repro GEMM/FLOAT16/0"), bad), tmp_path)
    common = ["FLOAT16", "table", "documented", "6_4"]
    assert listed_cases(tmp_path) == [
        ("/FLOAT16/0", 0, None, STATUSES.index(PASS), *common, "", "", "", "", "dmlcts repro \0"),
        ("/FLOAT16/1", 12, 1.5, STATUSES.index(FAIL), *common, "near", "documentation", "off", "none", "dmlcts repro \0"),
    ]
    assert details(tmp_path, "GEMM") == {
        "details": {
            "1": {
                "wrong": 1, "elements": 8, "mismatches": [["OutputTensor", [0, 3], "1", "2", 1.5, "1 ULP"]],
                "maps": [["OutputTensor", [2, 4], 1, ["0009", "0000"], [7], [0, 1]]], "desc": {"Type": "GEMM"}, "evidence": {"stage": "create"},
            }
        },
        "groups": [[1]],
    }  # fmt: skip


class Library(Nothing):
    """A supplement that knows everything."""

    def page(self, operator: str) -> str:
        return f"https://learn.example/{operator}"

    def spec(self, operator: str) -> str:
        return f"{operator} adds"

    def model(self, case: Result) -> str:
        return json.dumps({"description": case.case})


def test_failing_operators_have_their_spec_and_a_few_models(tmp_path: Path) -> None:
    file = write_html(
        run(*(result(FAIL, i, message=f"off by {i}") for i in range(5)), result(operator="CAST")), tmp_path, Library()
    )
    links = [attributes["href"] for tag, attributes in Outline(file.read_text(encoding="utf-8")).elements if tag == "a"]
    assert {"https://learn.example/GEMM", "data/GEMM.spec.txt"} <= set(links)
    assert (tmp_path / "data" / "GEMM.spec.txt").read_text(encoding="utf-8") == "The spec of GEMM\n\nGEMM adds"
    found = details(tmp_path, "GEMM")
    assert found["groups"] == [[0, 1, 2, 3, 4]]
    models = [row for row, entry in found["details"].items() if "model" in entry]
    assert models == ["0", "1", "2"]
    assert json.loads(found["details"]["2"]["model"]) == {"description": "GEMM/FLOAT16/2"}
    write_html(run(result(operator="CAST")), tmp_path)
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["cases.js"]


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
    assert details(tmp_path, operator)["details"]["0"]["evidence"] == {ATTACK: operator}
    for script in (tmp_path / "data").iterdir():
        assert script.read_text(encoding="ascii").count("<") == 0
        assert re.fullmatch(r"[\w-]+\.js", script.name)


def test_the_page_asks_the_network_for_nothing(tmp_path: Path) -> None:
    text = page(run(result()), tmp_path)
    code = re.sub(r"(?m)^\s*//.*|\s// .*", "", text).replace('"http://www.w3.org/2000/svg"', "")  # the name of SVG's elements
    assert not re.findall(r"https?:|//\w|@import|url\(", code)
    assert "fetch(" not in text
    assert "XMLHttpRequest" not in text
    assert "innerHTML" not in text
    linked = [attributes for _, attributes in Outline(text).elements for name in attributes if name in ("src", "href")]
    assert linked
    assert all(attributes["href"].startswith("#") for attributes in linked)


def test_operators_never_share_a_file_or_leave_the_folder(tmp_path: Path) -> None:
    names = ["../up", "..", "cases", "A", "a", "A/B", "A_B", "", "A" * 300]
    text = page(run(*(result(FAIL, operator=name) for name in names)), tmp_path / "html")
    files = {name: file for name, file, *_ in index(text)["operators"]}
    assert set(files) == set(names)
    assert len({file.lower() for file in files.values()}) == len(names)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["html"]
    assert {f"data/{path.name}" for path in (tmp_path / "html" / "data").iterdir()} == {*files.values(), "data/cases.js"}


def test_what_is_unsupported_within_the_claim_is_listed_with_a_model(tmp_path: Path) -> None:
    file = write_html(run(result(), result(UNSUPPORTED, 1, message="not implemented")), tmp_path, Library())
    outline = Outline(file.read_text(encoding="utf-8"))
    assert "not implemented" in outline.text
    links = [attributes["href"] for tag, attributes in outline.elements if tag == "a"]
    assert "#status=unsupported&operator=GEMM" in links
    assert details(tmp_path, "GEMM")["details"] == {"1": {"model": '{"description": "GEMM/FLOAT16/1"}'}}


def test_groups_of_unsupported_cases_are_written_even_without_details(tmp_path: Path) -> None:
    page(run(result(), result(UNSUPPORTED, 1, message="not implemented")), tmp_path)
    assert details(tmp_path, "GEMM") == {"details": {}, "groups": [[1]]}


def test_what_fails_comes_before_what_is_unsupported(tmp_path: Path) -> None:
    many = [result(UNSUPPORTED, i, "CAST", message="not implemented") for i in range(5)]
    few = [result(FAIL, 1, "GEMM", message="off"), *(result(UNSUPPORTED, 2 + i, "GEMM", message="none") for i in range(3))]
    text = Outline(page(run(*many, *few), tmp_path)).text
    fails = text[text.index("What fails") :]
    assert fails.index("GEMM") < fails.index("CAST")
    assert fails.index("off") < fails.index("none") < fails.index("not implemented")


def test_what_an_older_report_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    page(run(result(FAIL), result(FAIL, operator="CAST")), tmp_path)
    for mine in ("mine.js", "mine.spec.txt"):
        (tmp_path / "data" / mine).write_text("export default 1;\n", encoding="utf-8")
    page(run(result(FAIL)), tmp_path)
    assert sorted(path.name for path in (tmp_path / "data").iterdir()) == ["GEMM.js", "cases.js", "mine.js", "mine.spec.txt"]


def test_the_page_does_not_grow_with_the_cases_that_pass(tmp_path: Path) -> None:
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
