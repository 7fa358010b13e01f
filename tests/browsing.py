"""Debian's Chromium, driven by Playwright, without a window."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--mute-audio",
         "--autoplay-policy=no-user-gesture-required"]  # fmt: skip
PANEL, TV, UPRIGHT = (800, 480), (1920, 1080), (480, 800)
"""A 7-inch panel, a television, and a panel turned upright."""


@pytest.fixture(name="chromium", scope="module")
def chromium_fixture() -> Iterator[Browser]:
    """One browser for the tests of a module; without Chromium they are skipped."""
    if shutil.which(CHROMIUM) is None:
        pytest.skip("chromium is not installed: apt install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(name="page")
def page_fixture(chromium: Browser) -> Iterator[Page]:
    """A page of a new visitor, the size of a 7-inch panel; an exception in its script fails the test."""
    context = chromium.new_context(viewport={"width": PANEL[0], "height": PANEL[1]})
    page = context.new_page()
    page.set_default_timeout(20_000)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if "Content Security Policy" in line.text else None)
    yield page
    context.close()
    assert [] == faults


def resize(page: Page, size: tuple[int, int]) -> None:
    """Gives the window another size."""
    page.set_viewport_size({"width": size[0], "height": size[1]})


def see(page: Page, code: str) -> str:
    """Waits until the page shows this prompt, and returns the sentence that the dealer reads."""
    page.wait_for_selector(f"body[data-code={code}]:not(.lost)" if code != "lost" else "body.lost[data-code=lost]")
    return re.sub(r"\s+", " ", page.inner_text("#sentence"))


def cards(page: Page) -> dict[str, str]:
    """What lies in each slot, as a screen reader says it."""
    labels: list[str] = page.eval_on_selector_all(".slot", "all => all.map(one => one.getAttribute('aria-label'))")
    return dict(label.split(": ", 1) for label in labels)
