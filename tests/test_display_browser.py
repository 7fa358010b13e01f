"""The dealer's and the supervisor's pages in a real browser, at a real engine and at the real daemon."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from scannerd.core.events import Noticed, ScannerWentDown
from scannerd.core.prompts import Prompt
from scannerd.mqtt.notices import Disconnected
from scannerd.texts import LANGUAGES, texts
from tests.browsing import (
    PANEL,
    TV,
    UPRIGHT,
    cards,
    chromium_fixture,  # noqa: F401 - pytest finds it by name
    page_fixture,  # noqa: F401 - pytest finds it by name
    resize,
    see,
)
from tests.daemon import (
    Daemon,
    StartDaemon,
    start_daemon_fixture,  # noqa: F401 - pytest finds it by name
)
from tests.mosquitto import (
    Mosquitto,
    broker_fixture,  # noqa: F401 - pytest finds it by name
    free_port,
    start_broker_fixture,  # noqa: F401 - pytest finds it by name
)
from tests.showing import PIN, PIN_LINE, Show, showing

CONTRAST = """
selectors => selectors.map(selector => document.querySelector(selector)).filter(Boolean).map(element => {
  const light = text => {
    const [r, g, b] = text.match(/[\\d.]+/g).map(Number).map(c => c / 255)
      .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let ground = element;
  while (ground && /rgba\\(.*, 0\\)/.test(getComputedStyle(ground).backgroundColor)) ground = ground.parentElement;
  const [a, b] = [light(getComputedStyle(element).color), light(getComputedStyle(ground).backgroundColor)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
})
"""
NAMELESS = """
() => [...document.querySelectorAll("button, select, input, a, summary")]
  .filter(one => one.checkVisibility())
  .filter(one => !(one.getAttribute("aria-label") || one.innerText?.trim() || one.labels?.[0]?.textContent.trim()))
  .map(one => one.outerHTML)
"""
OUTSIDE = """
() => [...document.querySelectorAll(".slot, .hand, #say, header, header > *")]
  .filter(one => one.checkVisibility() && !one.matches(".gap, .quiet"))
  .filter(one => { const box = one.getBoundingClientRect(); return box.left < -1 || box.top < -1
    || box.right > innerWidth + 1 || box.bottom > innerHeight + 1; })
  .map(one => one.id || one.className)
"""
CLIPPED = "() => { const b = document.querySelector('#sentence'); return b.scrollHeight > b.clientHeight + 1; }"
TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
SCROLLS = (
    "() => document.scrollingElement.scrollHeight > innerHeight || document.scrollingElement.scrollWidth > innerWidth"
)


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Show]:
    """A table with an open round."""
    with showing(tmp_path / "table") as made:
        yield made


def says(page: Page, where: str, beginning: str) -> None:
    """Waits until an element's text begins so."""
    page.wait_for_selector(f"{where}:has-text({json.dumps(beginning)})")


def walk(show: Show) -> Iterator[tuple[Prompt, int]]:
    """Brings the table into each state in turn; yields its prompt and how many cards lie."""
    table = show.table
    yield Prompt("deal", "A1", "A", 1, None, 1), 0
    show.deal("AS", "KH")
    show.misread()
    yield Prompt("rescan", "A2", "A", 2, "bad_frame", 2), 2
    show.deal("AS")
    yield Prompt("rescan", "A2", "A", 2, "duplicate", 3, "A1"), 2
    show.misread()
    yield Prompt("call_supervisor", "A2", "A", 2, "rescan_limit"), 2
    show.take(table.asked("release", id="r"), ScannerWentDown(table.clock.now(), "shoe", "EIO"))
    yield Prompt("scanner_down", "A2", "A", 2, "shoe"), 2
    show.take(table.up(), Noticed(table.clock.now(), "shoe", "error", "jam"))
    yield Prompt("scanner_error", "A2", "A", 2, "shoe"), 2
    show.deal("9D", "2C", "7S", "QH")
    yield Prompt("wait"), 6
    show.run(lambda: table.pass_time(1_000_000))
    yield Prompt("complete"), 6
    show.take(Disconnected(table.clock.now(), "gone"))
    yield Prompt("network_down"), 6
    show.run(table.fail)
    show.take(table.up("shoe"))
    show.take(ScannerWentDown(table.clock.now(), "shoe", "EIO"))
    yield Prompt("storage_fault"), 6


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_prompt_is_seen_in_each_language(show: Show, page: Page, language: str) -> None:
    """Every prompt is on the page in the dealer's language, wholly visible, with the cards that lie."""
    page.goto(f"{show.url}?lang={language}")
    for prompt, lying in walk(show):
        told = see(page, prompt.code)
        if prompt.code == "rescan" and prompt.conflict_slot:
            page.wait_for_selector(".slot.conflict")
            told = see(page, prompt.code)
        assert texts(language).sentence(prompt) == told
        assert lying == page.locator(".face").count()
        for size in (PANEL, TV, UPRIGHT):
            resize(page, size)
            page.evaluate(TWO_FRAMES)
            assert [] == page.evaluate(OUTSIDE), (prompt, size)
            assert not page.evaluate(CLIPPED), (prompt, size)
            assert not page.evaluate(SCROLLS), (prompt, size)


def test_contrast_is_enough_in_every_state(show: Show, page: Page) -> None:
    """What a dealer reads stands out from its ground by 4.5 to 1 at least, in every state."""
    page.goto(show.url)
    for prompt, _ in walk(show):
        see(page, prompt.code)
        ratios = page.evaluate(CONTRAST, ["#sentence", "#table", "#round", ".hand h2", ".slot.due .name",
                                          ".slot.empty:not(.due) .name", "#sound", "#supervisor"])  # fmt: skip
        assert min(ratios) >= 4.5, (prompt, ratios)


def test_due_slot_is_told_by_more_than_colour(show: Show, page: Page) -> None:
    """The due slot has an arrow, its name and a word, and a screen reader hears which it is."""
    page.goto(show.url)
    see(page, "deal")
    due = page.locator("[aria-current=step]")
    assert ("A1: Next", "A1") == (due.get_attribute("aria-label"), due.locator(".name").inner_text())
    assert 1 == due.locator("svg.mark").count()
    show.misread()
    see(page, "rescan")
    assert "A1: Again" == page.locator("[aria-current=step]").get_attribute("aria-label")
    assert "alert" == page.locator("#say").get_attribute("role")


def test_cards_are_named_for_screen_readers(show: Show, page: Page) -> None:
    """Each card is said by its name in the page's language; an empty slot is said to be empty."""
    page.goto(f"{show.url}?lang=pt")
    show.deal("AS", "TD", "QH")
    page.wait_for_selector("#slot-A2 .face")
    assert {
        "A1": "Ás de espadas",
        "A2": "Dama de copas",
        "A3": "vazio",
        "B1": "10 de ouros",
        "B2": "Próxima",
        "B3": "vazio",
    } == cards(page)


def test_language_is_switched_on_the_page_and_kept(show: Show, page: Page) -> None:
    """The dealer switches the language, by keyboard too, and a reload in mid-round keeps it and the cards."""
    show.deal("AS", "KH", "9D")
    page.goto(show.url)
    see(page, "deal")
    page.focus("#language")
    for _ in range(LANGUAGES.index("uk")):
        page.keyboard.press("ArrowDown")
    page.wait_for_selector("html[lang=uk]")
    assert "Роздайте наступну карту: Б2" == see(page, "deal")
    page.reload()
    page.wait_for_selector("html[lang=uk]")
    assert "Роздайте наступну карту: Б2" == see(page, "deal")
    assert 3 == page.locator(".face").count()


def test_rejection_sounds_unless_muted(show: Show, page: Page) -> None:
    """A rejected read sounds, also where the prompt stays as it is, and one that was before the page came does not."""
    show.misread()
    page.goto(show.url)
    see(page, "rescan")
    assert page.evaluate("document.body.dataset.beeps") is None
    show.misread()
    page.wait_for_selector("body[data-beeps='1']")
    show.misread()
    see(page, "call_supervisor")
    show.deal("AS")
    page.wait_for_selector("body[data-beeps='3']")
    assert "Not counted: the round is held" == page.inner_text("#refused").removeprefix("✕ ")
    page.keyboard.press("m")
    assert "false" == page.get_attribute("#sound", "aria-pressed")
    show.deal("KD")
    page.wait_for_timeout(300)
    assert "3" == page.evaluate("document.body.dataset.beeps")


def test_every_control_has_a_name(show: Show, page: Page) -> None:
    """Whatever can be focused has a name for a screen reader, on each page."""
    page.goto(show.url)
    see(page, "deal")
    assert [] == page.evaluate(NAMELESS)
    sign_in(page, show)
    assert [] == page.evaluate(NAMELESS)
    page.click("#do-void")
    assert [] == page.evaluate(NAMELESS)


# --- the supervisor ---


def sign_in(page: Page, show: Show, pin: str = PIN) -> None:
    """Goes to the supervisor's page and signs in, by keyboard."""
    page.goto(f"{show.url}supervisor")
    page.wait_for_selector("#sign-in:not([hidden])")
    page.fill("#name", "Ana")
    page.fill("#pin", pin)
    page.keyboard.press("Enter")
    page.wait_for_selector("#inside:not([hidden]) details")


def test_pin_lock_out_is_seen(show: Show, page: Page) -> None:
    """Five wrong PINs lock the page, which says so and for how long, and keeps the right one out too."""
    page.goto(f"{show.url}supervisor")
    page.wait_for_selector("#sign-in:not([hidden])")
    page.fill("#name", "Ana")
    for left in (4, 3, 2, 1):
        page.fill("#pin", "000000")
        page.keyboard.press("Enter")
        says(page, "#told", f"Wrong PIN. Tries left: {left}.")
    for pin in ("000000", PIN):
        page.fill("#pin", pin)
        page.keyboard.press("Enter")
        says(page, "#told", "Locked after five")
    assert page.is_hidden("#inside")


def test_supervisor_enters_a_card_for_one_that_does_not_read(show: Show, page: Page) -> None:
    """The round that is held for a card that does not read goes on with the card that the supervisor entered."""
    show.deal("AS")
    show.misread(3)
    sign_in(page, show)
    page.click("#do-enter")
    page.select_option("#rank", "T")
    page.select_option("#suit", "D")
    page.click("#ask button[type=submit]")
    says(page, "#told", "A reason is needed.")
    page.fill("#reason", "worn card")
    page.keyboard.press("Enter")
    says(page, "#told", "Done: Enter card")
    page.wait_for_selector("details[open] tr:has-text('Entered by hand'):has-text('Ana')")
    assert 3 == page.locator("details[open] tr:has-text('Rejected'):has-text('unclear reading')").count()
    page.goto(show.url)
    assert "Deal the next card: A2" == see(page, "deal")


def test_supervisor_holds_releases_rescans_and_voids(show: Show, page: Page) -> None:
    """Each action is offered where the table allows it, and what was done is told."""
    show.deal("AS", "KH")
    sign_in(page, show)
    assert page.is_disabled("#do-release")
    page.click("#do-hold")
    page.fill("#reason", "wet table")
    page.keyboard.press("Enter")
    says(page, "#now", "Call the supervisor: wet table")
    page.wait_for_selector("#do-release:enabled")
    page.click("#do-release")
    page.wait_for_selector("#do-hold:enabled")
    page.click("#do-rescan")
    page.select_option("#slot", "all")
    page.click("#ask button[type=submit]")
    says(page, "#now", "Scan A1 again")
    page.click("#do-void")
    page.fill("#reason", "spilt")
    page.keyboard.press("Enter")
    page.wait_for_selector(".badge:has-text('Void')")
    assert "idle" == show.table.engine.state.phase


def test_misreads_are_drawn(show: Show, page: Page) -> None:
    """The misread view draws a chart with what the package brings, lists cards and scanners, and narrows to one."""
    show.deal("AS", "KH", "AS")
    show.misread()
    sign_in(page, show)
    page.goto(f"{show.url}supervisor/misreads")
    page.wait_for_selector("#chart canvas")
    assert "shoe" in page.inner_text("#scanners")
    page.click("#cards tbody tr:first-child button")
    page.wait_for_selector("#cards button[aria-pressed=true]")
    assert "Rejected reads each hour: Ace of spades" == page.inner_text("#chart-title")


# --- the real daemon ---


def shown(start: StartDaemon, broker: Mosquitto) -> tuple[Daemon, str]:
    """A daemon with its pages, and their address."""
    daemon = start(broker.url, start=False)
    port = free_port()
    pin = daemon.folder / "pin"
    pin.write_text(PIN_LINE, encoding="ascii")
    text = daemon.config.read_text(encoding="utf-8")
    text = text.replace('listen = ""', f'listen = "127.0.0.1:{port}"\npin_file = "{pin}"')
    daemon.config.write_text(text, encoding="utf-8")
    daemon.start()
    return daemon, f"http://127.0.0.1:{port}/"


def test_round_at_the_real_daemon(broker: Mosquitto, start_daemon: StartDaemon, page: Page) -> None:
    """Cards from a pseudo-terminal are on the page; a reload and a killed daemon in mid-round lose none of them."""
    daemon, url = shown(start_daemon, broker)
    page.goto(url)
    see(page, "wait")
    daemon.send("AS")
    page.wait_for_selector("#slot-A1 .face")
    daemon.wait_for_outcomes(1)
    for code in ("KH", "9D"):
        page.wait_for_timeout(200)
        daemon.send(code)
        daemon.wait_for_outcomes(2 if code == "KH" else 3)
    page.wait_for_selector("#slot-A2 .face")
    page.reload()
    page.wait_for_selector("#slot-A2 .face")
    daemon.kill()
    assert see(page, "lost").startswith("No connection: stop dealing and wait.")
    daemon.start()
    assert "Deal the next card: B2" == see(page, "deal")
    assert 3 == page.locator(".face").count()
    assert 0 == daemon.stop()


def test_daemon_that_stands_still_is_noticed(broker: Mosquitto, start_daemon: StartDaemon, page: Page) -> None:
    """A daemon that lives but does nothing is as good as gone: the page says so, and comes back with it."""
    daemon, url = shown(start_daemon, broker)
    page.goto(url)
    see(page, "wait")
    daemon.pause()
    see(page, "lost")
    daemon.signal(signal.SIGCONT)
    see(page, "wait")
    assert 0 == daemon.stop()


def test_unplugged_scanner_is_on_the_page(broker: Mosquitto, start_daemon: StartDaemon, page: Page) -> None:
    """A scanner that is pulled out is on the dealer's page, and gone from it when it is back."""
    daemon, url = shown(start_daemon, broker)
    page.goto(url)
    see(page, "wait")
    daemon.scanner.unplug()
    assert "Scanner shoe is not connected" == see(page, "scanner_down")
    daemon.scanner.plug()
    see(page, "wait")
    broker.kill()
    assert "Network down: no new round" == see(page, "network_down")
    assert 0 == daemon.stop()
