"""The supervisor's pages in a real browser, at the real daemon: what is done there is journalled with the name."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page

from tests.browsing import (
    PANEL,
    REBOUND,
    TABLET,
    TV,
    chromium_fixture,  # noqa: F401 - pytest finds it by name
    page_fixture,  # noqa: F401 - pytest finds it by name
    resize,
    says,
    see,
    sign_in,
)
from tests.live_table import LiveTable, live_fixture  # noqa: F401 - pytest finds it by name
from tests.showing import PIN

FORGERY = """
<script type="module">
const send = async (path, options) => {
  try { await fetch("http://TABLE" + path, { method: "POST", mode: "no-cors", credentials: "include", ...options }); }
  catch { /* the browser itself refuses some */ }
};
await send("/supervisor/command/hold", { body: "{}" });
await send("/supervisor/command/hold", { body: "{}", headers: { "content-type": "text/plain" } });
await send("/supervisor/command/hold", { body: new URLSearchParams({ reason: "forged" }) });
await send("/supervisor/command/hold", { mode: "cors", body: "{}",
  headers: { "content-type": "application/json", "x-scannerd-token": "guessed" } });
let read = "refused";
try { read = await (await fetch("http://TABLE/prompt.json")).text(); } catch { /* as it should be */ }
document.title = read;
</script>
"""


def office(live: LiveTable, page: Page, *cards: str) -> None:
    """A supervisor is signed in while a round is dealt."""
    live.opened(*cards)
    sign_in(page, live.url, PIN)


def do(page: Page, action: str, reason: str = "") -> None:
    """Presses an action's button, gives its reason if it has one, and sends it."""
    page.click(f"#do-{action}:enabled")
    if reason:
        page.fill("#reason", reason)
    page.keyboard.press("Enter")


def test_hold_and_release_are_journalled_with_the_name(live: LiveTable, page: Page) -> None:
    """A hold stops the dealer, with the reason on the dealer's page, and the release lets the deal go on."""
    office(live, page, "AS", "KH")
    do(page, "hold", "wet table")
    says(page, "#now", "Call the supervisor: wet table")
    assert {"reason": "wet table", "by": "Ana"} == live.journalled("round_held")
    page.wait_for_selector("details[open] tr:has-text('Held'):has-text('wet table'):has-text('Ana')")
    page.click("#do-release:enabled")
    says(page, "#told", "Done: Release")
    assert {"by": "Ana"} == live.journalled("round_released")
    page.goto(live.url)
    assert "Deal the next card: A2" == see(page, "deal")


def test_void_needs_a_reason(live: LiveTable, page: Page) -> None:
    """A round is voided with a reason only, which the journal keeps with the name and the phase."""
    office(live, page, "AS")
    do(page, "void")
    says(page, "#told", "A reason is needed.")
    assert "dealing" == live.watcher.shown("round")["phase"]
    page.fill("#reason", "cards on the floor")
    page.keyboard.press("Enter")
    says(page, "#told", "Done: Void round")
    assert {"reason": "cards on the floor", "by": "Ana", "was": "dealing"} == live.journalled("round_voided")
    for action in ("hold", "void", "rescan", "enter", "release"):
        page.wait_for_selector(f"#do-{action}:disabled")


def test_one_slot_or_all_are_scanned_again(live: LiveTable, page: Page) -> None:
    """A filled slot, or all of them, are asked for again, and the dealer reads which."""
    office(live, page, "AS", "KH", "9D")
    page.click("#do-rescan:enabled")
    page.select_option("#slot", "B1")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    says(page, "#now", "Scan B1 again, try 1: the supervisor asked for it")
    assert {"slot": "B1", "card": "KH", "reason": "rescan", "by": "Ana"} == live.journalled("card_withdrawn")
    page.click("#do-rescan:enabled")
    assert ["A1", "A2", "Scan all again"] == page.locator("#slot option").all_inner_texts()
    page.select_option("#slot", "all")
    page.click("#ask button[type=submit]")
    says(page, "#now", "Scan A1 again")
    assert ("A2", "Ana") == tuple(live.journalled("card_withdrawn")[key] for key in ("slot", "by"))


def test_card_that_does_not_read_is_entered_by_hand(live: LiveTable, page: Page) -> None:
    """The round that is held for a card goes on with the one that was entered, journalled with name and reason."""
    live.opened("AS").misread(3)
    sign_in(page, live.url, PIN)
    page.click("#do-enter:enabled")
    assert ["B1"] == page.locator("#slot option").all_inner_texts()
    assert ("", "") == (page.input_value("#rank"), page.input_value("#suit")), (
        "no card stands there before it is chosen"
    )
    page.select_option("#rank", "T")
    page.click("#ask button[type=submit]")
    says(page, "#told", "Choose rank and suit.")
    page.select_option("#suit", "D")
    page.click("#ask button[type=submit]")
    says(page, "#told", "A reason is needed.")
    page.fill("#reason", "worn card")
    page.keyboard.press("Enter")
    says(page, "#told", "Done: Enter card")
    entered = live.journalled("card_accepted")
    told = {"slot": "B1", "card": "TD", "scanner": None, "via": "manual", "by": "Ana", "reason": "worn card"}
    assert told == {key: entered[key] for key in told}
    page.wait_for_selector("details[open] tr:has-text('Entered by hand'):has-text('worn card'):has-text('Ana')")
    assert 3 == page.locator("details[open] tr:has-text('Rejected'):has-text('card not read')").count()
    page.goto(live.url)
    assert "Deal the next card: A2" == see(page, "deal")


def test_page_tells_what_the_table_refuses(live: LiveTable, page: Page) -> None:
    """A card that lies already is refused by the table in its own words, and what was typed stays to be mended."""
    office(live, page, "AS")
    page.click("#do-enter:enabled")
    page.select_option("#rank", "A")
    page.select_option("#suit", "S")
    page.fill("#reason", "worn card")
    page.keyboard.press("Enter")
    says(page, "#told", "Not done: AS is in A1")
    assert "worn card" == page.input_value("#reason")
    page.select_option("#rank", "K")
    page.click("#ask button[type=submit]")
    says(page, "#told", "Done: Enter card")
    assert "KS" == live.journalled("card_accepted")["card"]


def test_supervisor_stays_signed_in_over_a_reload_and_not_over_a_restart(live: LiveTable, page: Page) -> None:
    """A reload keeps the session, signing out ends it, and a daemon that was restarted asks for the PIN again."""
    office(live, page)
    page.reload()
    page.wait_for_selector("#inside:not([hidden]) details")
    assert "Signed in: Ana" == page.inner_text("#who")
    page.click("#sign-out")
    page.wait_for_selector("#sign-in:not([hidden])")
    assert page.is_hidden("#inside")
    sign_in(page, live.url, PIN)
    live.stop()
    says(page, "#now", "No connection: stop dealing and wait")
    assert page.is_disabled("#do-hold")
    live.start()
    says(page, "#now", "Deal the next card: A1")
    says(page, "#told", "You have been signed out.")
    assert page.is_hidden("#inside")


def test_five_wrong_pins_lock_the_page(live: LiveTable, page: Page) -> None:
    """Five wrong PINs lock the page, which says so and for how long, and keeps the right one out too."""
    live.opened()
    page.goto(f"{live.url}supervisor")
    page.wait_for_selector("#sign-in:not([hidden])")
    page.fill("#name", "Ana")
    for left in (4, 3, 2, 1):
        page.fill("#pin", "000000")
        page.keyboard.press("Enter")
        says(page, "#told", f"Wrong PIN. Tries left: {left}.")
        assert "" == page.input_value("#pin")
    for pin in ("000000", PIN):
        page.fill("#pin", pin)
        page.keyboard.press("Enter")
        says(page, "#told", "Locked after five wrong tries. Try again in 5 min.")
    assert page.is_hidden("#inside")
    page.reload()
    says(page, "#told", "Locked after five wrong tries.")
    live.stop()
    live.start()


@contextmanager
def stranger(live: LiveTable) -> Iterator[str]:
    """Another site on this machine, whose page tries to command the table with the supervisor's own browser."""
    body = FORGERY.replace("TABLE", f"127.0.0.1:{live.port}").encode()

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            del format, args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{site.server_port}/"
        site.shutdown()
        thread.join()


def test_other_site_can_neither_command_nor_read(live: LiveTable, page: Page) -> None:
    """A page of another origin, opened beside the supervisor's, commands nothing and reads nothing, cookie or not."""
    office(live, page)
    held = live.count("round_held")
    with stranger(live) as url:
        page.goto(url)
        page.wait_for_function("document.title !== ''")
    assert "refused" == page.title()
    page.goto(f"{live.url}supervisor")
    page.wait_for_selector("#inside:not([hidden]) details")
    assert held == live.count("round_held")
    do(page, "hold", "by our own page")
    says(page, "#now", "Call the supervisor: by our own page")


def test_name_that_was_rebound_to_this_machine_opens_nothing(live: LiveTable, page: Page) -> None:
    """A stranger's name that now resolves to this machine is told that it is not this table's, and nothing else."""
    for path in ("", "supervisor", "prompt.json"):
        response = page.goto(f"http://{REBOUND}:{live.port}/{path}")
        assert response is not None
        assert 421 == response.status
        assert "not one of this table's" in page.inner_text("body")
    page.goto(f"http://localhost:{live.port}/")
    page.wait_for_selector("#hands .slot")


def test_misreads_are_drawn_and_narrowed(live: LiveTable, page: Page) -> None:
    """The misread view draws what the journal tells, by scanner and card, and narrows to one that is chosen."""
    office(live, page, "AS", "KH", "AS")
    live.misread()
    page.click("nav a[href='/supervisor/misreads']")
    page.wait_for_selector("#chart canvas")
    assert "shoe" in page.inner_text("#scanners")
    page.click("#cards tbody tr:has([aria-label='Ace of spades']) button")
    page.wait_for_selector("#cards button[aria-pressed=true]")
    assert "Rejected reads each hour: Ace of spades" == page.inner_text("#chart-title")
    page.click("#cards button[aria-pressed=true]")
    says(page, "#chart-title", "Rejected reads each hour")
    page.wait_for_function("document.querySelector('#chart-title').textContent === 'Rejected reads each hour'")


def test_no_width_makes_the_supervisors_pages_scroll_sideways(live: LiveTable, page: Page) -> None:
    """On a 7-inch panel as on a television the supervisor's pages are as wide as the window, also while asking."""
    office(live, page, "AS", "KH")
    page.click("#do-enter:enabled")
    for path in ("", "/misreads"):
        if path:
            page.goto(f"{live.url}supervisor{path}")
            page.wait_for_selector("#chart canvas")
        for size in (PANEL, TABLET, TV):
            resize(page, size)
            assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), (path, size)
