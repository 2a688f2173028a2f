"""The page of several runs in a browser, from the disk: what a person sees, finds, sends and saves."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsers import chromium, needs_browser, playwright, windows
from records import result, run

from dmlcts.reports.record.record import ERROR, FAIL, PASS, WAIVED, Record, Result
from dmlcts.reports.runs.comparison import compare_runs
from dmlcts.reports.runs.page import write_runs
from dmlcts.reports.runs.run import condense, in_order, name_runs

# `expect` and not `wait_for_function`, which evaluates a string: the page forbids that.
Browser, Page, expect = playwright.Browser, playwright.Page, playwright.expect

pytestmark = needs_browser

ATTACK = "</script><img src=x onerror=alert(1)> <b>"

STORY = {
    ("ELEMENT_WISE_ROUND", "FLOAT16"): "ppf",
    ("ELEMENT_WISE_ROUND", "FLOAT32"): "ppp",
    ("GEMM", "FLOAT16"): "fpp",
    ("CONVOLUTION", "FLOAT32"): "fff",
    ("ELEMENT_WISE_ABS", "INT8"): "ppp",
    ("JOIN", "INT8"): "wep",
}
"""How a case of an operator and data type ended in 1.8.0, 1.9.1 and 1.10.1."""

STATUSES = {"p": PASS, "f": FAIL, "w": WAIVED, "e": ERROR}


def release(at: int, version: str, level: str) -> Record:
    def one(operator: str, data_type: str, status: str) -> Result:
        return result(status, 1, operator, data_type, message="" if status == PASS else f"wrong: {ATTACK}")

    results = [one(*key, STATUSES[row[at]]) for key, row in STORY.items()]
    later = [one("QUANTIZE", "INT8", PASS)] if level == "6_4" else []
    return run(
        *results, *later, backend={"name": "DirectML", "version": version}, feature_level=level, started=f"2026-01-0{at + 1}T00:00:00Z",
        waivers=[{"file": "waivers.yaml", "sha256": "a"}],
    )  # fmt: skip


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    releases = [release(0, "1.8.0", "5_0"), release(1, "1.9.1", "5_0"), release(2, "1.10.1", "6_4")]
    return write_runs(compare_runs(name_runs(in_order(map(condense, releases)))), tmp_path_factory.mktemp("runs")).as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Opens the page at a place."""
    with windows(browser) as go:

        def at(place: str = "", *arguments: object, **options: object) -> Page:
            page = go(address + place, *arguments, **options)
            page.wait_for_selector("#filter:not([hidden])")
            return page

        yield at


def operators(page: Page) -> list[str]:
    return [name for name in page.locator("#matrix tbody tr:not([hidden]) th").all_inner_texts() if name]


def listed(page: Page) -> list[str]:
    return list(page.locator("#one .cases th").all_inner_texts())


# What is seen


def test_the_first_screen_says_what_to_use_and_what_differs(opened: Callable[..., Page]) -> None:
    page = opened()
    words = page.inner_text(".short")
    assert "Most operators pass in 1.10.1: 4 of the 6 that it has." in words
    assert "In 1.10.1, avoid or test what you use of CONVOLUTION, ELEMENT_WISE_ROUND." in words
    assert "In no run safe: CONVOLUTION." in words
    assert operators(page) == ["ELEMENT_WISE_ROUND", "GEMM", "JOIN"]
    assert page.locator("#matrix tbody tr:not([hidden])").first.locator("td").all_inner_texts() == ["✓", "✓", "✗ 1"]
    assert page.locator("#matrix-title").bounding_box()["y"] < 900


@pytest.mark.parametrize(
    ("width", "scheme", "place"),
    [
        (1280, "light", "#view=all&operator=JOIN&run=1.9.1"),
        (390, "dark", "#cause=0"),
        (390, "light", "#a=1.8.0&b=1.10.1"),
    ],
)
def test_nothing_scrolls_sideways_and_axe_finds_nothing(opened: Callable[..., Page], width: int, scheme: str, place: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(place, width, color_scheme=scheme)
    page.wait_for_selector("#one .cases th")
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = axe.run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


def test_what_a_backend_says_is_text(opened: Callable[..., Page]) -> None:
    page = opened("#operator=CONVOLUTION")
    assert ATTACK in page.inner_text("#one")
    assert page.locator("img").count() == 0


# What is found


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("#view=fails", ["CONVOLUTION", "ELEMENT_WISE_ROUND", "GEMM", "JOIN"]),
        ("#view=all", ["CONVOLUTION", "ELEMENT_WISE_ABS", "ELEMENT_WISE_ROUND", "GEMM", "JOIN", "QUANTIZE"]),
        ("#q=element+abs", ["ELEMENT_WISE_ABS"]),
        ("#type=FLOAT16", ["ELEMENT_WISE_ROUND", "GEMM"]),
        ("#a=1.8.0&b=1.9.1", ["GEMM", "JOIN"]),
        ("#a=1.9.1&b=1.10.1&type=INT8", ["JOIN"]),
        ("#only=1.10.1", ["ELEMENT_WISE_ROUND"]),
        ("#only=1.9.1", []),
        ("#view=fails&only=of-yesterday", ["CONVOLUTION", "ELEMENT_WISE_ROUND", "GEMM", "JOIN"]),
    ],
)
def test_a_view_is_its_address(opened: Callable[..., Page], place: str, shown: list[str]) -> None:
    assert operators(opened(place)) == shown


def test_each_cell_has_a_link_that_can_be_sent(opened: Callable[..., Page]) -> None:
    page = opened()
    page.locator("#matrix tbody tr:not([hidden])").first.locator("td a").nth(2).click()
    page.wait_for_selector("#one .cases th")
    assert page.url.endswith("#operator=ELEMENT_WISE_ROUND&run=1.10.1")
    for same in (page, opened(page.url[page.url.index("#") :])):
        assert same.inner_text("#one-title") == "ELEMENT_WISE_ROUND in 1.10.1"
        assert listed(same) == ["ELEMENT_WISE_ROUND/FLOAT16/1"]
        assert same.locator("#one .matrix tbody th").all_inner_texts() == ["FLOAT16", "FLOAT32"]
        assert same.locator("#one li").all_inner_texts() == ["wrong values, 1 case: since 1.10.1 (1.9.1 passes)"]
        assert same.evaluate("document.activeElement.id") == "one-title"


def test_a_choice_is_in_the_address_and_back_undoes_it(opened: Callable[..., Page]) -> None:
    page = opened()
    page.select_option("#view", "all")
    page.locator("#q").press_sequentially("gemm", delay=50)
    assert page.url.endswith("#q=gemm&view=all")
    page.go_back()
    expect(page.locator("#q")).to_have_value("")
    assert len(operators(page)) == 6
    page.go_back()
    expect(page.locator("#view")).to_have_value("")
    assert len(operators(page)) == 3


def test_two_runs_alone_are_columns_when_they_are_compared(opened: Callable[..., Page]) -> None:
    page = opened("#a=1.8.0&b=1.10.1")
    assert page.locator("#matrix thead th:not([hidden])").all_inner_texts() == ["Operator", "1.8.0\n5.0", "1.10.1\n6.4"]
    assert sorted(listed(page)) == ["ELEMENT_WISE_ROUND/FLOAT16/1", "GEMM/FLOAT16/1", "JOIN/INT8/1"]


def test_json_has_what_is_shown(opened: Callable[..., Page]) -> None:
    page = opened("#a=1.8.0&b=1.10.1&type=FLOAT16")
    with page.expect_download() as started:
        page.click("#json")
    found = json.loads(Path(started.value.path()).read_text(encoding="utf-8"))
    assert [each["key"] for each in found["runs"]] == ["1.8.0", "1.10.1"]
    assert found["operators"] == {"ELEMENT_WISE_ROUND": [{"pass": 1}, {"fail": 1}], "GEMM": [{"fail": 1}, {"pass": 1}]}
    assert {each["case"]: each["letters"] for each in found["cases"]} == {
        "ELEMENT_WISE_ROUND/FLOAT16/1": "pf",
        "GEMM/FLOAT16/1": "fp",
    }


def test_arrow_keys_move_within_the_matrix_over_hidden_rows(opened: Callable[..., Page]) -> None:
    page = opened()
    page.focus("#matrix a[tabindex='0']")
    assert page.evaluate("document.activeElement.textContent") == "ELEMENT_WISE_ROUND"
    for key in ("ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.title") == "1.8.0: 1 fail"
    page.keyboard.press("Enter")
    expect(page.locator("#one-title")).to_have_text("GEMM in 1.8.0")
    assert page.locator("#matrix a[tabindex='0']").count() == 1


def test_without_a_script_the_matrix_can_be_read(opened: Callable[..., Page], browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    assert len(operators(page)) == 6
    context.close()
