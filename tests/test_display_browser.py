"""The pages for whoever sees little, hears a screen reader, or has a keyboard only: measured in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from scannerd.core.events import Noticed, ScannerWentDown
from scannerd.mqtt.notices import Disconnected
from tests.browsing import (
    cards,
    chromium_fixture,  # noqa: F401 - pytest finds it by name
    faint,
    nameless,
    page_fixture,  # noqa: F401 - pytest finds it by name
    says,
    see,
    sign_in,
    tabbed,
)
from tests.showing import PIN, Show, showing


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Show]:
    """A table with an open round."""
    with showing(tmp_path / "table") as made:
        yield made


def walk(show: Show) -> Iterator[str]:
    """Brings the table into each state in turn; yields its prompt's code."""
    table = show.table
    yield "deal"
    show.deal("AS", "KH")
    show.misread()
    yield "rescan"
    show.misread(2)
    yield "call_supervisor"
    show.take(table.asked("release", id="r"), ScannerWentDown(table.clock.now(), "shoe", "EIO"))
    yield "scanner_down"
    show.take(table.up(), Noticed(table.clock.now(), "shoe", "error", "jam"))
    yield "scanner_error"
    show.deal("9D", "2C", "7S", "QH")
    yield "wait"
    show.run(lambda: table.pass_time(1_000_000))
    yield "complete"
    show.take(Disconnected(table.clock.now(), "gone"))
    yield "network_down"
    show.run(table.fail)
    show.take(table.up("shoe"))
    show.take(ScannerWentDown(table.clock.now(), "shoe", "EIO"))
    yield "storage_fault"
    show.display.stop()
    yield "lost"


def troubled(show: Show) -> None:
    """A round in which everything has happened that a supervisor's page tells of."""
    show.deal("AS", "KH", "AS")
    show.misread()
    show.take(show.table.asked("rescan", id="s", slot="B1"))
    show.take(show.table.asked("enter", id="e", slot="B1", card="KD", by="Ana", reason="worn"))
    show.take(Noticed(show.table.clock.now(), "shoe", "error", "jam"))
    show.take(show.table.asked("void", id="v", reason="spilt"), show.table.asked("open", id="o"))
    show.deal("2S", "7H", "TD", "QC", "9S", "JD")
    show.run(lambda: show.table.pass_time(1_000_000))
    show.take(show.table.asked("open", id="o2"))
    show.deal("AS")


# --- colour and contrast ---


def test_dealers_text_stands_out_in_every_state(show: Show, page: Page) -> None:
    """What a dealer reads stands out from its ground as WCAG AA asks for, in every state and without a daemon."""
    page.goto(show.url)
    for code in walk(show):
        see(page, code)
        assert [] == faint(page), code


def test_supervisors_text_stands_out(show: Show, page: Page) -> None:
    """So does what a supervisor reads: signing in, while asked, told of success and of failure, and in the rounds."""
    troubled(show)
    page.goto(f"{show.url}supervisor")
    page.wait_for_selector("#sign-in:not([hidden])")
    assert [] == faint(page)
    page.fill("#name", "Ana")
    page.fill("#pin", "000000")
    page.keyboard.press("Enter")
    says(page, "#told", "Wrong PIN")
    assert [] == faint(page)
    sign_in(page, show.url, PIN)
    page.wait_for_selector("summary >> nth=2")
    while page.locator("details:not([open])").count():
        page.locator("details:not([open]) summary").first.click()
    for word in ("Accepted", "Rejected", "Withdrawn", "Entered by hand", "Void", "Complete", "Alarm", "Opened"):
        assert page.locator(f"tr:has-text('{word}')").count(), word
    page.click("#do-enter")
    assert [] == faint(page)
    page.select_option("#rank", "A")
    page.select_option("#suit", "S")
    page.fill("#reason", "worn")
    page.keyboard.press("Enter")
    says(page, "#told", "Not done")
    assert [] == faint(page)
    page.click("#do-hold")
    page.keyboard.press("Enter")
    says(page, "#told", "Done")
    assert [] == faint(page)


def test_misread_views_text_stands_out(show: Show, page: Page) -> None:
    """So does the misread view, with one card chosen too."""
    troubled(show)
    sign_in(page, show.url, PIN)
    page.goto(f"{show.url}supervisor/misreads")
    page.wait_for_selector("#chart canvas")
    assert [] == faint(page)
    page.click("#cards tbody tr:first-child button")
    page.wait_for_selector("#cards button[aria-pressed=true]")
    assert [] == faint(page)


def test_each_state_has_a_sign_and_words_of_its_own(show: Show, page: Page) -> None:
    """No two prompts share their sign or their sentence, so that none is told by its colour alone."""
    page.goto(show.url)
    told = [(see(page, code), page.get_attribute("#sign path", "d")) for code in walk(show)]
    assert len(told) == len({sentence for sentence, _ in told}) == len({sign for _, sign in told})


def test_due_slot_is_told_by_more_than_colour(show: Show, page: Page) -> None:
    """The due slot has a sign, its name and a word for what is to be done, which change with it."""
    page.goto(show.url)
    signs = set()
    for code, word in (("deal", "Next"), ("rescan", "Again"), ("call_supervisor", "Wait")):
        see(page, code)
        due = page.locator(f"[aria-current=step]:has-text('{word}')")
        due.wait_for()
        assert ("A1", f"A1: {word}") == (due.locator(".name").inner_text(), due.get_attribute("aria-label"))
        signs.add(due.locator("svg.mark path").get_attribute("d"))
        show.misread(1 if code == "deal" else 2)
    assert len(signs) == len({"deal", "rescan", "call_supervisor"})


def test_due_slot_is_seen_where_the_system_chooses_the_colours(show: Show, page: Page) -> None:
    """Under a system's own few colours, where ours are gone, the due slot alone has a thick frame."""
    page.emulate_media(forced_colors="active")
    page.goto(show.url)
    see(page, "deal")
    widths = page.eval_on_selector_all(
        ".slot", "all => all.map(one => parseFloat(getComputedStyle(one).borderTopWidth))"
    )
    assert [True, False, False, False, False, False] == [width >= 4 for width in widths]


# --- screen readers ---


def test_dealers_page_as_a_screen_reader_tells_it(show: Show, page: Page) -> None:
    """The prompt is an alert, each hand a region of its name, each slot an item with its card in words."""
    show.deal("AS", "TD", "QH")
    page.goto(show.url)
    page.wait_for_selector("#slot-A2 .face")
    expect(page.locator("body")).to_match_aria_snapshot("""
        - banner:
          - text: Table tp-01 Round tp-01/1
          - list:
            - 'listitem "shoe: connected"'
          - combobox "Language"
          - button "Sound on" [pressed]
          - link "Supervisor"
        - alert:
          - paragraph: "Deal the next card: B2"
        - status
        - main:
          - region "Player A":
            - heading "Player A" [level=2]
            - list:
              - 'listitem "A1: Ace of spades"'
              - 'listitem "A2: Queen of hearts"'
              - 'listitem "A3: empty"'
          - region "Player B":
            - heading "Player B" [level=2]
            - list:
              - 'listitem "B1: 10 of diamonds"'
              - 'listitem "B2: Next"'
              - 'listitem "B3: empty"'
        """)


def test_cards_are_named_in_the_pages_language(show: Show, page: Page) -> None:
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


def test_pages_begin_in_the_tables_language_until_somebody_chooses(show: Show, page: Page) -> None:
    """The configuration's language is the first one, also after a reload of it; who has chosen another keeps that."""
    show.display.speak("ms")
    page.goto(show.url)
    page.wait_for_selector("html[lang=ms]")
    assert "Edarkan kad seterusnya: A1" == see(page, "deal")
    page.goto(f"{show.url}supervisor")
    says(page, "h1", "Penyelia, meja tp-01")
    page.select_option("#language", "es")
    says(page, "h1", "Supervisor, mesa tp-01")
    page.goto(show.url)
    page.wait_for_selector("html[lang=es]")
    assert "Reparta la siguiente carta: A1" == see(page, "deal")


def test_supervisors_page_as_a_screen_reader_tells_it(show: Show, page: Page) -> None:
    """The actions, what they ask for, and each round with its table are named."""
    show.deal("AS")
    sign_in(page, show.url, PIN)
    page.click("#do-enter")
    expect(page.locator("body")).to_match_aria_snapshot("""
        - banner:
          - heading "Supervisor, table tp-01" [level=1]
          - navigation:
            - link "Dealer's page"
            - link "Misreads"
          - text: "Signed in: Ana"
          - button "Sign out"
          - combobox "Language"
        - status: "Deal the next card: B1"
        - main:
          - region "Actions":
            - heading "Actions" [level=2]
            - button "Hold"
            - button "Release" [disabled]
            - button "Scan again"
            - button "Enter card"
            - button "Void round"
            - form "Enter card":
              - heading "Enter card" [level=3]
              - combobox "Slot"
              - combobox "Rank"
              - combobox "Suit"
              - textbox "Reason"
              - button "Send"
              - button "Cancel"
          - region "Rounds":
            - heading "Rounds" [level=2]
            - group:
              - table:
                - rowgroup:
                  - row "Time Event Slot Card Try Reason Scanner By"
        """)


def test_misread_view_as_a_screen_reader_tells_it(show: Show, page: Page) -> None:
    """The chart has a name, and what it draws stands in tables too, by scanner and by card."""
    show.deal("AS", "KH", "AS")
    sign_in(page, show.url, PIN)
    page.goto(f"{show.url}supervisor/misreads")
    page.wait_for_selector("#chart canvas")
    expect(page.locator("main")).to_match_aria_snapshot("""
        - main:
          - region "Rejected reads each hour":
            - heading "Rejected reads each hour" [level=2]
            - img "Rejected reads each hour"
          - region "By scanner":
            - heading "By scanner" [level=2]
            - table "By scanner":
              - rowgroup:
                - row "Scanner Share Rejected Accepted Reasons"
              - rowgroup:
                - 'row "shoe 33.3 % 1 2 this card is already dealt: 1"'
          - region "By card":
            - heading "By card" [level=2]
            - table "By card":
              - rowgroup:
                - row "Card Share Rejected Accepted Reasons"
        """)


def test_every_control_has_a_name(show: Show, page: Page) -> None:
    """Whatever can be focused has a name for a screen reader, on each page and in each of its forms."""
    show.deal("AS")
    page.goto(show.url)
    see(page, "deal")
    assert [] == nameless(page)
    page.goto(f"{show.url}supervisor")
    page.wait_for_selector("#sign-in:not([hidden])")
    assert [] == nameless(page)
    sign_in(page, show.url, PIN)
    for action in ("hold", "rescan", "enter", "void"):
        page.click(f"#do-{action}")
        assert [] == nameless(page), action
    page.goto(f"{show.url}supervisor/misreads")
    page.wait_for_selector("#chart canvas")
    assert [] == nameless(page)


# --- keyboard ---


def test_tab_leads_through_each_page_in_reading_order(show: Show, page: Page) -> None:
    """By keyboard everything is reached in the order in which it is read, and the focus is always seen."""
    show.deal("AS")
    page.goto(show.url)
    see(page, "deal")
    assert ["language", "sound", "supervisor"] == tabbed(page, 3)
    page.keyboard.press("Enter")
    page.wait_for_selector("#sign-in:not([hidden])")
    assert "name" == page.evaluate("document.activeElement.id")
    page.keyboard.type("Ana")
    assert ["pin"] == tabbed(page, 1)
    page.keyboard.type(PIN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#inside:not([hidden]) details")
    page.reload()
    page.wait_for_selector("#inside:not([hidden]) details")
    order = ["/", "/supervisor/misreads", "sign-out", "language", "do-hold", "do-rescan", "do-enter"]
    assert order == tabbed(page, len(order))
    page.keyboard.press("Enter")
    page.wait_for_selector("#ask:not([hidden])")
    assert "slot" == page.evaluate("document.activeElement.id")
    assert ["rank", "suit", "reason"] == tabbed(page, 3)
    page.keyboard.press("Escape")
    page.wait_for_selector("#ask", state="hidden")
    assert "do-enter" == page.evaluate("document.activeElement.id"), "where it came from"
    assert ["do-void", "Round tp-01/1"] == tabbed(page, 2)
    page.goto(f"{show.url}supervisor/misreads")
    page.wait_for_selector("#chart canvas")
    assert ["/", "/supervisor", "language", "shoe", "A♠\ufe0e"] == tabbed(page, 5)


def test_news_takes_the_focus_from_nobody(show: Show, page: Page) -> None:
    """While cards come, the action that has the focus keeps it, and what is being typed stays."""
    sign_in(page, show.url, PIN)
    page.focus("#do-void")
    show.deal("AS")
    says(page, "#now", "Deal the next card: B1")
    assert "do-void" == page.evaluate("document.activeElement.id")
    page.click("#do-hold")
    page.keyboard.type("wet ta")
    show.deal("KH")
    says(page, "#now", "Deal the next card: A2")
    page.keyboard.type("ble")
    assert "wet table" == page.input_value("#reason")
