"""The HTML report in a browser, from the disk: what a person sees, reaches with the keyboard and finds.

Chromium is the system's; where there is none, these tests are skipped.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browsers import chromium, needs_browser, playwright, windows

from dmlcts.reports.formats.html import write_html
from dmlcts.reports.formats.supplement import Nothing
from dmlcts.reports.record.record import ERROR, FAIL, PASS, WAIVED, ErrorMap, Manifest, Mismatch, Record, Result

Browser, Page, expect = playwright.Browser, playwright.Page, playwright.expect

pytestmark = needs_browser

ATTACK = "</script><img src=x onerror=alert(1)> <b>"

MANIFEST = Manifest(
    suite_version="0.1.0", spec_version="1", backend={"name": "impl", "version": "2.0"}, backend_spec="process:./impl",
    command="dmlcts run --backend process:./impl --level full", level="full", basis="documented", feature_level="6_4", seed="",
    platform={"system": "Linux"}, started="2026-01-02T03:04:05Z", finished="2026-01-02T03:04:15Z", seconds=10.0,
)  # fmt: skip

ERRORS = ErrorMap("OutputTensor", (2, 3, 4), 1, ("000900", "000000"), (20, 3, *[0] * 14), (*[0] * 10, 1, *[0] * 5))


class Library(Nothing):
    """A supplement."""

    def page(self, operator: str) -> str:
        return f"https://learn.microsoft.com/{operator.lower()}"

    def spec(self, operator: str) -> str:
        return f"{operator} adds"

    def model(self, result: Result) -> str:
        return json.dumps({"description": result.case})


def result(case: str, status: str = PASS, kind: str = "table", **more: object) -> Result:
    operator, data_type, *_ = case.split("/")
    return Result(
        case, operator, data_type, kind, "documented", "6_4", status, elements=24, repro=f"dmlcts run --case {case}", **more
    )


def off(number: int, data_type: str = "FLOAT32") -> Result:
    message = f"OutputTensor: 1 of 24 elements wrong (4.17 %), worst by {5000 + number} ULP at [0, 0, {number}]: expected 1.5, actual 2; allowed 1 ULP"
    mismatch = Mismatch("OutputTensor", (0, 0, 3), "1.5", "2.0", 5000.0, "1 ULP")
    return result(
        f"GEMM/{data_type}/sizes/1x{number}", FAIL, "sizes", message=message, mismatches=(mismatch,), wrong=1, worst_ulp=5000.0 + number,
        error_maps=(ERRORS,), desc={"Type": "GEMM", "ATensor": {"Sizes": [1, number]}},
    )  # fmt: skip


RESULTS = (
    *(off(number) for number in range(9)),
    off(3, "FLOAT16"),
    result("GEMM/FLOAT32/layout/A-packed.B-strided", ERROR, "layout", message=f"crashed: {ATTACK}", evidence={"output": ATTACK * 40}),
    *(result(f"GEMM/FLOAT64/4d/Alpha={number}") for number in range(60)),
    *(result(f"CAST/{name}/{number}") for name in ("UINT8", "INT8", "FLOAT16") for number in range(70)),
    result("ROUND/FLOAT16/1d", WAIVED, message="off", waiver="stores truncate (https://example.org/issues/12)"),
    *(result(f"OPERATOR_{number}/FLOAT32/4d", FAIL, message="all wrong") for number in range(20)),
)  # fmt: skip


def write(folder: Path, *results: Result) -> str:
    return write_html(Record(replace(MANIFEST, selected=len(results)), results), folder, Library()).as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def failing(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("failing"), *RESULTS)


@pytest.fixture(scope="module")
def passing(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("passing"), *(one for one in RESULTS if one.status == PASS))


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    with windows(browser) as go:
        yield go


def listed(page: Page, text: str) -> None:
    """Waits until the line above the list of cases starts so."""
    expect(page.locator("#found")).to_have_text(re.compile(f"^{re.escape(text)}"))


def top(page: Page, selector: str) -> float:
    return float(page.locator(selector).first.bounding_box()["y"])


# What is seen


def test_a_failing_run_shows_the_word_what_fails_and_where_without_a_click(opened: Callable[..., Page], failing: str) -> None:
    page = opened(failing)
    word = page.locator(".verdict > .word")
    assert word.inner_text() == "✗ FAIL"
    red, _, blue = (int(part) for part in word.evaluate("e => getComputedStyle(e).backgroundColor.match(/\\d+/g)")[:3])
    assert red > 2 * blue
    assert "impl 2.0 does NOT conform to the documentation" in page.inner_text(".verdict")
    assert top(page, ".verdict") < top(page, "#failing") < top(page, "#matrix") < top(page, "#cases") < top(page, "#run")
    assert page.locator(".failing .operator").first.inner_text().startswith("GEMM")
    page.wait_for_selector(".failing svg.bars")
    group = page.locator(".failing .group").first
    assert group.locator(".times").inner_text().startswith("9")
    assert group.locator("svg:not(.bars) rect.wrong").count() == 1
    assert group.locator("svg:not(.bars) rect.wrong title").text_content() == "[0, 1, 2] to [0, 1, 3]: up to 100 % wrong"
    assert group.locator("svg.bars text:not(.label)").all_text_contents() == ["20", "3", "1"]
    assert group.locator("svg.bars .label").all_text_contents() == [
        "0", "½", "1", "2", "4", "8", "16", "64", "256", "1k", "8k", "64k", "1M", "16M", "more", "none",
    ]  # fmt: skip


def test_a_passing_run_says_so_and_lists_no_failures(opened: Callable[..., Page], passing: str) -> None:
    page = opened(passing)
    word = page.locator(".verdict > .word")
    assert word.inner_text() == "✓ PASS"
    red, green, _ = (int(part) for part in word.evaluate("e => getComputedStyle(e).backgroundColor.match(/\\d+/g)")[:3])
    assert green > 2 * red
    assert page.locator(".failing").count() == 0


@pytest.mark.parametrize(
    ("width", "scheme", "which", "search"),
    [
        (1280, "light", "failing", "#q=gemm"),
        (390, "dark", "failing", "#status=error&q=layout"),
        (390, "light", "passing", "#q=cast+uint8"),
    ],
)
def test_nothing_scrolls_sideways_and_axe_finds_nothing(
    opened: Callable[..., Page], request: pytest.FixtureRequest, width: int, scheme: str, which: str, search: str
) -> None:
    """With groups of what fails, a list of cases, and some cases open."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(request.getfixturevalue(which) + search, width, color_scheme=scheme)
    page.wait_for_selector("#groups .case")
    page.evaluate("for (const e of document.querySelectorAll('.failing .group, #groups .case:nth-child(-n+4)')) e.open = true")
    expect(page.locator(".case[open]:not(:has(.whole))")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = axe.run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


def test_what_a_backend_says_is_text(opened: Callable[..., Page], failing: str) -> None:
    page = opened(f"{failing}#case=GEMM/FLOAT32/layout/A-packed.B-strided")
    page.wait_for_selector("#groups .whole pre")
    assert page.inner_text("#groups .whole").count(ATTACK) == 41
    assert page.locator("img").count() == 0


# What is reached


def test_few_stops_of_the_tab_key_come_before_the_search(opened: Callable[..., Page], failing: str) -> None:
    page = opened(failing)
    page.wait_for_selector(".failing svg.bars")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the search"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "q"
    page.reload()
    page.wait_for_selector(".failing svg.bars")
    stops = 0
    while page.evaluate("document.activeElement.id") != "q":
        page.keyboard.press("Tab")
        stops += 1
        assert stops < 60
    # The skip link, colours, 4 statuses, 8 failing operators and a button for more, the matrix, the search; in the first operator 3 links,
    # 3 groups, 5 cases and a button for more; in the first case its address, its model, and two things to copy.
    assert stops <= 17 + 12 + 4


def test_arrow_keys_move_within_the_matrix(opened: Callable[..., Page], failing: str) -> None:
    page = opened(failing)
    page.wait_for_selector(".failing svg.bars")
    page.focus(".matrix a[tabindex='0']")
    assert page.evaluate("document.activeElement.textContent") == "GEMM"
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.title") == "FLOAT16: 1 failed"
    page.keyboard.press("Enter")
    listed(page, "1 of 302 cases")
    assert page.locator(".matrix a[tabindex='0']").count() == 1


def test_back_undoes_a_filter(opened: Callable[..., Page], failing: str) -> None:
    page = opened(failing)
    listed(page, "302 cases. Search")
    page.locator("#q").press_sequentially("float64", delay=100)  # each letter is a search, all are one step back
    listed(page, "60 of 302 cases")
    page.select_option("#operator", "CAST")
    listed(page, "None of 302 cases")
    page.locator("#status input[value=pass]").uncheck()
    listed(page, "None of 302 cases; tick more")
    page.go_back()
    listed(page, "None of 302 cases")
    assert page.locator("#status input[value=pass]").is_checked()
    page.go_back()
    listed(page, "60 of 302 cases")
    assert (page.input_value("#q"), page.input_value("#operator")) == ("float64", "")
    page.go_back()
    listed(page, "302 cases. Search")
    page.go_forward()
    listed(page, "60 of 302 cases")


def test_links_lead_to_the_spec_to_microsoft_and_to_the_issue_of_a_waiver(opened: Callable[..., Page], failing: str) -> None:
    page = opened(f"{failing}#status=waived")
    links = page.locator(".failing .operator").first.locator(".links a")
    assert links.all_inner_texts() == ["Spec", "Microsoft's page", "All failures in the list"]
    assert links.nth(1).get_attribute("href") == "https://learn.microsoft.com/gemm"
    page.locator("#groups .case summary").click()
    assert page.locator("#groups .whole a").first.get_attribute("href") == "https://example.org/issues/12"
    links.first.click()
    assert page.inner_text("body") == "The spec of GEMM\n\nGEMM adds"


def test_the_model_of_a_failing_case_is_downloaded(opened: Callable[..., Page], failing: str) -> None:
    page = opened(failing)
    with page.expect_download() as started:
        page.locator(".failing .group button", has_text="DxDispatch").first.click()
    assert started.value.suggested_filename == "GEMM-FLOAT32-sizes-1x0.json"
    assert json.loads(Path(started.value.path()).read_text(encoding="utf-8")) == {"description": "GEMM/FLOAT32/sizes/1x0"}


# What is found


SLOW = pytest.mark.skipif("DMLCTS_SLOW" not in os.environ, reason="takes 5 s to write: set DMLCTS_SLOW to search 156,000 cases")


@pytest.mark.parametrize("each", [100, pytest.param(882, marks=SLOW)])
def test_156_000_cases_are_searched_in_half_a_second_at_the_first_try(
    opened: Callable[..., Page], tmp_path: Path, each: int
) -> None:
    """From the last letter to the list, in a page that has just been loaded: what is not unpacked yet counts. 177 operators."""
    types = ("FLOAT16", "FLOAT32", "FLOAT64", "INT32")
    made = [
        result(
            f"ELEMENT_WISE_OPERATOR_{operator}/{types[number % 4]}/layout/A-{number}.Output-packed/Axis={number * 7919 % 881}",
            worst_ulp=number % 100 / 200, seconds=number * 7919 % 10007 / 1e6,
        )
        for operator in range(177) for number in range(each)
    ]  # fmt: skip
    address = write(tmp_path, *made)
    assert (tmp_path / "data" / "cases.js").stat().st_size < 4_000_000
    page = opened(address)
    milliseconds = page.evaluate("""async () => {
        const begin = performance.now();
        const q = document.getElementById("q");
        q.value = "operator_17 a-86 float64";
        q.dispatchEvent(new Event("input"));
        while (performance.now() < begin + 10_000 && !/^[\\d,]+ of /.test(document.getElementById("found").textContent)) await new Promise(requestAnimationFrame);
        return performance.now() - begin;
    }""")
    print(f"{len(made):,} cases: found after {milliseconds:.0f} ms")
    assert page.inner_text("#found").startswith(f"{8 if each == 100 else 24} of {177 * each:,} cases")
    assert milliseconds < 500
