"""The public map in a browser, from the disk: what a person sees, finds and sends, at a desk, on a phone and on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from browsers import chromium, needs_browser, playwright, windows
from sites import OPERATORS, write_site_of_few

# `expect` and not `wait_for_function`, which evaluates a string: the pages forbid that.
Browser, Page, expect = playwright.Browser, playwright.Page, playwright.expect

pytestmark = needs_browser

PAGES = ("index.html", "faults.html", "graphs.html", "promises.html", "TILE.html", "SLICE1.html")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_site_of_few(tmp_path_factory.mktemp("site")).as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Opens a page of the site."""
    with windows(browser) as go:

        def at(place: str = "index.html", *arguments: object, **options: object) -> Page:
            return go(f"{address}/{place}", *arguments, **options)

        yield at


def shown(page: Page) -> list[str]:
    return [name for name in page.locator("#matrix tbody:not([hidden]) tr[data-text]:not([hidden]) th").all_inner_texts() if name]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_nothing_scrolls_sideways_and_axe_finds_nothing(opened: Callable[..., Page], name: str, width: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(f"{name}#show=both" if name == "index.html" else name, width, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = axe.run(page).response["violations"]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_no_text_is_cut_off(opened: Callable[..., Page], width: int) -> None:
    """A region that scrolls is for matrices and ids; what is read as prose fits."""
    page = opened("SLICE1.html", width)
    for region in ("errata", "constraints"):
        table = page.locator(f'[aria-label="Table: {region}"]')
        assert table.evaluate("each => each.scrollWidth <= each.clientWidth"), region


def test_operators_stand_by_family_with_their_faults(opened: Callable[..., Page]) -> None:
    page = opened()
    assert page.locator("#matrix .family").all_inner_texts() == ["data movement", "element wise", "random"]
    assert shown(page) == ["SLICE1", "TILE", "ELEMENT_WISE_ROUND", "RANDOM_GENERATOR"]
    assert sorted(shown(page)) == sorted(OPERATORS)
    page.locator("#matrix tr", has_text="TILE").locator("a.faulty").click()
    expect(page.locator("#wrong")).to_be_in_viewport()
    expect(page.locator(".fault").first).to_contain_text("a made-up fault <b>&'")


@pytest.mark.parametrize(
    ("place", "names"),
    [
        ("#q=random", ["RANDOM_GENERATOR"]),
        ("#family=data_movement", ["SLICE1", "TILE"]),
        ("#level=8192", ["TILE"]),
        ("#faults=1&q=made-up", ["TILE"]),
        ("#q=nothing-is-called-so", []),
        ("#family=gone", ["SLICE1", "TILE", "ELEMENT_WISE_ROUND", "RANDOM_GENERATOR"]),
    ],
)
def test_a_view_is_its_address(opened: Callable[..., Page], place: str, names: list[str]) -> None:
    page = opened(f"index.html{place}")
    expect(page.locator("#found")).to_have_text(f"{len(names)} of 4")
    assert shown(page) == names
    assert bool(names) == (page.locator("#matrix .family:visible").count() > 0), "a family of which nothing is left is gone, too"


def test_what_is_chosen_is_in_the_address(opened: Callable[..., Page]) -> None:
    page = opened()
    page.fill("[name=q]", "tile")
    page.select_option("[name=show]", "runs")
    assert page.url.endswith("#q=tile&show=runs")
    assert page.locator("#matrix thead th:visible").all_inner_texts() == ["operator", "since", "known faults", "1.8.0", "1.9.0"]
    assert shown(opened(f"index.html{page.url[page.url.index('#') :]}")) == ["TILE"]


def test_a_cell_of_a_release_leads_to_its_cases(opened: Callable[..., Page]) -> None:
    page = opened("index.html#show=runs")
    page.locator("#matrix tr", has_text="TILE").locator("td.fail a").click()
    expect(page.locator("#one-title")).to_have_text("TILE in 1.8.0")


def test_by_keyboard_one_comes_to_the_content_the_search_and_an_operator(opened: Callable[..., Page]) -> None:
    page = opened()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator("[name=q]")).to_be_focused()
    page.keyboard.type("tile")
    expect(page.locator("#found")).to_have_text("1 of 4")
    while page.evaluate("document.activeElement.textContent") != "TILE":
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement !== document.body"), "the operator's link is never reached"
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("TILE")


def test_a_model_can_be_had(opened: Callable[..., Page]) -> None:
    page = opened("SLICE1.html")
    page.locator(".fault .proof").first.click()  # pages from the disk show what a server lets one save
    expect(page.locator("body")).to_contain_text("DML_OPERATOR_SLICE1")


def test_on_paper_there_is_no_form_and_nothing_is_cut(opened: Callable[..., Page]) -> None:
    page = opened()
    page.emulate_media(media="print")
    expect(page.locator("#filter")).to_be_hidden()
    assert page.locator(".wide").first.evaluate("each => getComputedStyle(each).maxHeight") == "none"


def test_without_a_script_all_can_be_read(browser: Browser, address: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/index.html")
    assert len(shown(page)) == 4
    assert page.locator("#filter").is_hidden()
    assert page.locator("#matrix thead th:visible").count() > 10
    context.close()
