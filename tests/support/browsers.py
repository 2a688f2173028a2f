"""The browser of the system, for tests of pages; where there is none, they are skipped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

playwright: Any = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install .[dev]")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)

needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=f"no browser: none of {', '.join(NAMES)}; name one in CHROMIUM")


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser, without a window."""
    with playwright.sync_playwright() as started:
        root = getattr(os, "geteuid", lambda: 1)() == 0  # for whom Chromium has no sandbox
        running = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"] if root else [])
        yield running
        running.close()


@contextmanager
def windows(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address in a window of its own; afterwards nothing but files was asked for, and no script failed."""
    asked: list[str] = []
    contexts = []

    def go(address: str, width: int = 1280, **options: object) -> Any:
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}, **options))
        page = contexts[-1].new_page()
        page.set_default_timeout(10_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: asked.append(f"error: {error}"))
        page.goto(address)
        return page

    yield go
    for context in contexts:
        context.close()
    assert [url for url in asked if not url.startswith(("file:", "blob:"))] == []
