"""The dealer's page in a real browser, at the real daemon, whose shoe is a pseudo-terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from playwright.sync_api import Browser, Page, expect

from scannerd.core.prompts import Prompt
from scannerd.texts import LANGUAGES, texts
from tests.browsing import (
    CHROMIUM,
    FLAGS,
    SIZES,
    cards,
    chromium_fixture,  # noqa: F401 - pytest finds it by name
    in_each_language,
    misfits,
    page_fixture,  # noqa: F401 - pytest finds it by name
    resize,
    says,
    see,
)
from tests.cable import cable_to
from tests.live_table import LiveTable, live_fixture  # noqa: F401 - pytest finds it by name
from tests.showing import Browser as Client


def walk(live: LiveTable) -> Iterator[Prompt]:
    """Brings the table into each state in turn, and yields the prompt that the dealer must then read."""
    live.idle()
    yield Prompt("wait")
    live.opened()
    yield Prompt("deal", "A1", "A", 1, None, 1)
    live.dealt("AS", "KH").misread()
    yield Prompt("rescan", "A2", "A", 2, "no_read", 2)
    live.dealt("AS")
    yield Prompt("rescan", "A2", "A", 2, "duplicate", 3, "A1")
    live.misread()
    yield Prompt("call_supervisor", "A2", "A", 2, "rescan_limit")
    assert live.watcher.command("release")["ok"]
    with live.unplugged():
        yield Prompt("scanner_down", "A2", "A", 2, "shoe")
    live.watcher.wait_for_shown("status", scanners={"shoe": "up"})
    live.shoe_error()
    yield Prompt("scanner_error", "A2", "A", 2, "shoe")
    with live.disk_busy():
        live.send(" [Game]<Card:9D> ")
        yield Prompt("storage_fault")
    live.watcher.wait_for_shown("prompt", code="scanner_error")
    live.dealt("9D", "2C", "7S", "QH")
    yield Prompt("complete")
    with live.network_down():
        yield Prompt("network_down")


def test_each_prompt_is_seen_in_each_language_at_each_size(live: LiveTable, page: Page) -> None:
    """Every prompt is on the page, in each language, wholly visible from a 7-inch panel to a large television."""
    page.goto(live.url)
    codes = []
    for prompt in walk(live):
        see(page, prompt.code)
        if prompt.conflict_slot:
            page.wait_for_selector(".slot.conflict")
        for size in SIZES:
            resize(page, size)
            told = in_each_language(page)
            assert {name: (texts(name).sentence(prompt), []) for name in LANGUAGES} == told, (prompt, size)
        codes.append(prompt.code)
    assert {"storage_fault", "network_down", "complete"} < set(codes)
    see(page, "complete")


@pytest.mark.parametrize("reason", ["spilt coffee on the felt, " * 9, "x" * 300, "<img src=x onerror=alert(1)>"])
def test_supervisors_own_words_fit_whatever_they_are(live: LiveTable, page: Page, reason: str) -> None:
    """A hold's reason is shown as it was written, shortened where it must be, and never breaks the page."""
    live.opened("AS")
    assert live.watcher.command("hold", reason=reason)["ok"]
    page.goto(live.url)
    told = see(page, "call_supervisor")
    assert told.startswith(f"Call the supervisor: {reason.strip()[:100]}")
    for size in SIZES:
        resize(page, size)
        assert [] == misfits(page), size


def test_page_shows_the_bytes_of_the_prompt_topic(live: LiveTable, page: Page) -> None:
    """`/prompt.json` is what the topic holds, byte for byte, and the page shows its sentence."""
    live.opened("AS").misread()
    page.goto(live.url)
    told = see(page, "rescan")
    body = Client(live.port).get("/prompt.json").body
    live.watcher.wait(lambda: live.watcher.on("scannerd/v1/tp-01/prompt")[-1].payload == body)
    assert json.loads(body)["text"] == told


def test_status_topic_tells_where_the_pages_are(live: LiveTable) -> None:
    """Whoever watches the table by its broker alone learns that its pages are served, and where."""
    pages = {"listen": f"127.0.0.1:{live.port}", "served": True, "detail": None}
    told = live.watcher.wait_for_shown("status", display=pages)
    assert pages == told["display"]


def test_reload_in_mid_round_loses_nothing(live: LiveTable, page: Page) -> None:
    """A page that is loaded again in mid-round shows each card where it lies, and the same slot due."""
    live.opened("AS", "KH", "TD")
    page.goto(live.url)
    page.wait_for_selector("#slot-A2 .face")
    before = cards(page)
    assert ("Ace of spades", "King of hearts", "10 of diamonds", "Next") == tuple(
        before[slot] for slot in ("A1", "B1", "A2", "B2")
    )
    page.reload()
    page.wait_for_selector("#slot-A2 .face")
    assert ("Deal the next card: B2", before) == (see(page, "deal"), cards(page))


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_lost_daemon_is_told_and_comes_back(live: LiveTable, page: Page, end: str) -> None:
    """A daemon that ends in mid-round is told on the page, and its return brings the round back without a hand."""
    live.opened("AS", "KH", "9D")
    page.goto(live.url)
    see(page, "deal")
    getattr(live, end)()
    assert "No connection: stop dealing and wait. This page comes back by itself." == see(page, "lost")
    for size in SIZES:
        resize(page, size)
        assert [] == misfits(page), size
    live.start()
    assert "Deal the next card: B2" == see(page, "deal")
    assert 3 == page.locator(".face").count()
    live.dealt("2C")
    page.wait_for_selector("#slot-B2 .face")


def test_daemon_that_stands_still_is_noticed(live: LiveTable, page: Page) -> None:
    """A daemon that lives but does nothing is as good as gone: the page says so, and comes back with it."""
    live.opened()
    page.goto(live.url)
    see(page, "deal")
    with live.standing_still():
        see(page, "lost")
    see(page, "deal")


def test_pulled_network_cable_is_noticed_and_forgotten(live: LiveTable, page: Page) -> None:
    """A screen whose cable is pulled says so though no connection ends, and shows the table again once it is back."""
    live.opened("AS")
    with cable_to(live.port) as cable:
        page.goto(f"http://127.0.0.1:{cable.port}/")
        see(page, "deal")
        cable.pull()
        see(page, "lost")
        live.dealt("KH")
        cable.plug()
        assert "Deal the next card: A2" == see(page, "deal")
        assert 2 == page.locator(".face").count()


def test_scanner_is_named_where_it_is_lost(live: LiveTable, page: Page) -> None:
    """The shoe that is pulled out is named in the sentence and crossed out above, in words for a screen reader too."""
    live.opened("AS")
    page.goto(live.url)
    expect(page.locator("#scanners")).to_match_aria_snapshot("- list:\n  - 'listitem \"shoe: connected\"'")
    with live.unplugged():
        assert "Scanner shoe is not connected; B1 is due" == see(page, "scanner_down")
        expect(page.locator("#scanners")).to_match_aria_snapshot("- list:\n  - 'listitem \"shoe: not connected\"'")
        assert "B1: Wait" == page.get_attribute("[aria-current=step]", "aria-label")
    assert "Deal the next card: B1" == see(page, "deal")


def test_rejection_sounds_unless_muted(live: LiveTable, page: Page) -> None:
    """A rejected read sounds, one from before the page came does not, and a muted page stays so when loaded again."""
    live.opened("AS").misread()
    page.goto(live.url)
    see(page, "rescan")
    assert page.evaluate("document.body.dataset.beeps") is None
    live.misread()
    page.wait_for_selector("body[data-beeps='1']")
    live.misread()
    page.wait_for_selector("body[data-beeps='2']")
    live.dealt("KH")
    page.wait_for_selector("body[data-beeps='3']")
    says(page, "#refused", "Not counted: the round is held")
    page.keyboard.press("m")
    expect(page.locator("#sound")).to_match_aria_snapshot('- button "Sound off" [pressed=false]')
    page.reload()
    see(page, "call_supervisor")
    live.dealt("QH")
    says(page, "#refused", "Not counted: the round is held")
    assert page.evaluate("document.body.dataset.beeps") is None
    page.click("#sound")
    live.dealt("JH")
    page.wait_for_selector("body[data-beeps='1']")


def test_browser_that_wants_a_touch_before_it_sounds_is_told(live: LiveTable, chromium: Browser) -> None:
    """Where a browser keeps the page silent until it is touched the page says so, and a touch is enough."""
    live.opened()
    browser = chromium.browser_type.launch(
        executable_path=CHROMIUM, args=[flag for flag in FLAGS if "autoplay" not in flag]
    )
    with ExitStack() as stack:
        stack.callback(browser.close)
        page = browser.new_page()
        page.goto(live.url)
        see(page, "deal")
        expect(page.locator("#sound")).to_match_aria_snapshot('- button "Touch for sound" [pressed]')
        page.click("#sentence")
        expect(page.locator("#sound")).to_match_aria_snapshot('- button "Sound on" [pressed]')


def test_language_is_switched_on_the_page_and_kept(live: LiveTable, page: Page) -> None:
    """The dealer switches the language, by keyboard too, and a reload in mid-round keeps it and the cards."""
    live.opened("AS", "KH", "9D")
    page.goto(live.url)
    see(page, "deal")
    page.focus("#language")
    for _ in range(LANGUAGES.index("uk")):
        page.keyboard.press("ArrowDown")
    page.wait_for_selector("html[lang=uk]")
    assert "Роздайте наступну карту: Б2" == see(page, "deal")
    page.reload()
    page.wait_for_selector("html[lang=uk]")
    assert "Роздайте наступну карту: Б2" == see(page, "deal")
    assert re.search("Туз, піки", cards(page)["А1"])  # noqa: RUF001 - the Cyrillic letter is meant
