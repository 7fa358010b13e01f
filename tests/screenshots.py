"""Makes the pictures of the pages for the documentation: `python -m tests.screenshots [FOLDER]`, `docs` by default."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from scannerd.mqtt.notices import Acknowledged
from tests.browsing import CHROMIUM, FLAGS, PANEL, TV, see, sign_in
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


def taken(show: Show) -> None:
    """The broker has all events, and the engine turns."""
    show.take(Acknowledged(show.table.clock.now(), len(show.run(show.table.events))))
    show.run(lambda: show.table.pass_time(1_000_000))
    show.pulse += 1


def shoot(page: Page, file: Path) -> None:
    """A picture, once what moves has come to rest."""
    page.wait_for_selector("#outbox", state="hidden")
    page.wait_for_timeout(400)
    page.screenshot(path=file)


def dealer(show: Show, page: Page, folder: Path) -> None:
    """The dealer's page in mid-round: on a 7-inch panel, and on a television."""
    page.goto(show.url)
    show.deal("AS", "KH", "TD")
    taken(show)
    see(page, "deal")
    page.wait_for_selector("#slot-A2 .face")
    shoot(page, folder / "dealer-deal.png")
    page.set_viewport_size({"width": TV[0], "height": TV[1]})
    page.select_option("#language", "pt")
    shoot(page, folder / "dealer-tv.png")
    page.set_viewport_size({"width": PANEL[0], "height": PANEL[1]})
    page.select_option("#language", "en")
    show.misread()
    show.deal("KH")
    taken(show)
    page.wait_for_selector(".slot.conflict")
    shoot(page, folder / "dealer-rescan.png")
    show.misread()
    taken(show)
    page.select_option("#language", "uk")
    see(page, "call_supervisor")
    page.wait_for_selector("#refused:empty", state="attached")
    shoot(page, folder / "dealer-supervisor.png")


def supervisor(show: Show, page: Page, folder: Path) -> None:
    """The supervisor's page and the misread view."""
    page.set_viewport_size({"width": 1000, "height": 640})
    sign_in(page, show.url, PIN)
    page.select_option("#language", "en")
    page.click("#do-enter")
    page.select_option("#rank", "9")
    page.select_option("#suit", "C")
    page.fill("#reason", "worn card")
    page.screenshot(path=folder / "supervisor.png")
    page.goto(f"{show.url}supervisor/misreads")
    page.wait_for_selector("#chart canvas")
    page.screenshot(path=folder / "misreads.png")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
