"""Makes the pictures of the pages for the documentation: `python -m tests.screenshots [FOLDER]`, `docs` by default."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browsing import CHROMIUM, FLAGS, PANEL, see
from tests.showing import PIN, Show, showing


def main(folder: Path) -> None:
    """Plays a few rounds and writes each picture."""
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as state, sync_playwright() as playwright, showing(Path(state)) as show:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": PANEL[0], "height": PANEL[1]}, reduced_motion="reduce")
        played(show)
        dealer(show, page, folder)
        supervisor(show, page, folder)
        browser.close()


def played(show: Show) -> None:
    """A few rounds, an hour apart, with some misreads; the next one is open."""
    for number in range(5):
        show.deal("2S", "7H")
        show.misread(number % 3)
        show.deal("7H", "TD", "QC", "9S", "JD")
        show.run(lambda: show.table.pass_time(3_600_000_000))
        show.take(show.table.asked("open", id=f"o{number}"))


def dealer(show: Show, page: Page, folder: Path) -> None:
    """The dealer's page in mid-round."""
    page.goto(show.url)
    show.deal("AS", "KH", "TD")
    see(page, "deal")
    page.wait_for_selector("#slot-A2 .face")
    page.wait_for_timeout(400)
    page.screenshot(path=folder / "dealer-deal.png")
    show.misread()
    show.deal("KH")
    page.wait_for_selector(".slot.conflict")
    page.select_option("#language", "es")
    page.wait_for_timeout(400)
    page.screenshot(path=folder / "dealer-rescan.png")
    show.misread()
    page.select_option("#language", "uk")
    see(page, "call_supervisor")
    page.wait_for_timeout(400)
    page.screenshot(path=folder / "dealer-supervisor.png")


def supervisor(show: Show, page: Page, folder: Path) -> None:
    """The supervisor's page and the misread view."""
    page.set_viewport_size({"width": 1000, "height": 640})
    page.goto(f"{show.url}supervisor")
    page.select_option("#language", "en")
    page.fill("#name", "Ana")
    page.fill("#pin", PIN)
    page.keyboard.press("Enter")
    page.wait_for_selector("details")
    page.click("#do-enter")
    page.fill("#reason", "worn card")
    page.screenshot(path=folder / "supervisor.png")
    page.goto(f"{show.url}supervisor/misreads")
    page.wait_for_selector("#chart canvas")
    page.screenshot(path=folder / "misreads.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
