"""The supervisor's pages: the PIN, who may ask, and that each action is a command like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from scannerd.display import history
from scannerd.display.pin import LOCKED_US, TRIES, Door, fits, hashed
from scannerd.display.sessions import IDLE_US, MOST, Sessions
from scannerd.mqtt.notices import CommandReceived
from tests.fakes import FakeClock
from tests.journals import harm
from tests.showing import PIN, Browser, Show, showing


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Show]:
    """A table with an open round."""
    with showing(tmp_path) as made:
        yield made


@pytest.fixture
def ana(show: Show) -> Browser:
    """A supervisor who is signed in."""
    browser = Browser(show.port)
    assert 200 == browser.sign_in().status
    return browser


def last_event(show: Show) -> dict[str, object]:
    """The journal's last event."""
    return show.run(show.table.events)[-1]


# --- the PIN ---


def test_pin_is_kept_as_a_salted_hash() -> None:
    """The file holds no PIN, and the same PIN twice gives two lines."""
    line = hashed(PIN)
    assert PIN not in line
    assert line != hashed(PIN)
    assert fits(PIN, line)
    assert not fits("735191", line)


@pytest.mark.parametrize("pin", ["12345", "x" * 65, ""])
def test_pin_that_is_too_short_or_long_is_refused(pin: str) -> None:
    """A PIN has 6 to 64 characters."""
    with pytest.raises(ValueError, match="6 to 64"):
        hashed(pin)


def test_door_locks_after_five_wrong_tries_for_five_minutes() -> None:
    """The fifth wrong try locks; after five minutes there are five new ones."""
    clock = FakeClock()
    door = Door(clock.now)
    assert [4, 3, 2, 1, 0] == [door.left for _ in range(TRIES) if door.tries()]
    assert not door.tries()
    clock.move(LOCKED_US - 1)
    assert not door.tries()
    clock.move(1)
    assert 0 == door.locked_us
    assert door.tries()
    assert 4 == door.left


def test_right_try_forgets_the_wrong_ones() -> None:
    """Wrong tries count in a row only."""
    door = Door(FakeClock().now)
    for _ in range(TRIES - 1):
        door.tries()
    door.tries()
    door.opened()
    assert (TRIES, 0) == (door.left, door.locked_us)


def test_locked_page_says_so_and_takes_not_even_the_right_pin(show: Show) -> None:
    """After five wrong PINs nobody gets in, and the answer says for how long; then the right one opens."""
    browser = Browser(show.port)
    answers = [browser.sign_in(pin="000000") for _ in range(TRIES)]
    assert [401, 401, 401, 401, 429] == [answer.status for answer in answers]
    assert {"error": "wrong_pin", "left": 4} == answers[0].json
    assert {"error": "locked", "minutes": 5, "left": 0} == answers[-1].json
    assert 429 == browser.sign_in().status
    assert 5 == browser.get("/supervisor/session.json").json["locked_min"]
    show.table.clock.move(LOCKED_US)
    assert 200 == browser.sign_in().status


def test_lock_leaves_those_inside_alone(show: Show, ana: Browser) -> None:
    """Who is signed in goes on working while the door is locked."""
    stranger = Browser(show.port)
    for _ in range(TRIES):
        stranger.sign_in(pin="000000")
    assert 200 == ana.command("hold").status


def test_without_a_pin_nobody_gets_in(tmp_path: Path) -> None:
    """A table without a PIN file has a closed supervisor's page."""
    with showing(tmp_path, pin=None) as show:
        browser = Browser(show.port)
        assert (409, {"error": "no_pin"}) == ((answer := browser.sign_in()).status, answer.json)
        assert browser.get("/supervisor/session.json").json["pin"] is False


@pytest.mark.parametrize("line", ["", "735190", "scrypt$x", "scrypt$2$8$1$!!$!!", "md5$1$1$1$a$b"])
def test_file_that_holds_no_hash_opens_nothing(tmp_path: Path, line: str) -> None:
    """A PIN file that `scannerd pin` did not write lets nobody in, with a PIN or without."""
    with showing(tmp_path) as show:
        (tmp_path / "pin").write_text(line, encoding="ascii")
        assert Browser(show.port).sign_in(pin=line).status in {401, 409}


def test_changed_pin_ends_the_sessions(show: Show, ana: Browser) -> None:
    """Who signed in with the old PIN is out, and the new one needs no restart."""
    (show.directory / "pin").write_text(hashed("another-pin"), encoding="ascii")
    assert 401 == ana.command("hold").status
    assert 200 == ana.sign_in(pin="another-pin").status


@pytest.mark.parametrize("name", ["", "   ", None, 7, ["Ana"]])
def test_sign_in_needs_a_name(show: Show, name: object) -> None:
    """Without a name nobody could say who did it."""
    answer = Browser(show.port).ask("POST", "/supervisor/sign-in", {"name": name, "pin": PIN})
    assert (422, {"error": "name_needed"}) == (answer.status, answer.json)


# --- who may ask ---


def test_cookie_is_closed_to_scripts_and_other_sites(show: Show) -> None:
    """The cookie is HttpOnly, SameSite=Strict, and names the table, for cookies know no ports."""
    cookie = Browser(show.port).sign_in().headers["set-cookie"]
    assert cookie.startswith("scannerd-supervisor-tp-01=")
    assert {"HttpOnly", "SameSite=strict", "Path=/supervisor"} <= set(cookie.split("; "))


@pytest.mark.parametrize("path", ["/supervisor/rounds.json", "/supervisor/misreads.json"])
def test_without_a_session_nothing_is_told(show: Show, path: str) -> None:
    """Rounds and misreads are for who is signed in."""
    assert 401 == Browser(show.port).get(path).status


def test_without_a_session_nothing_is_done(show: Show) -> None:
    """A command without a session never reaches the inbox."""
    assert 401 == Browser(show.port).command("hold").status
    assert show.letters.empty()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"X-Scannerd-Token": "wrong"},
        {"X-Scannerd-Token": ""},
    ],
)
def test_forged_request_is_refused(show: Show, ana: Browser, headers: dict[str, str]) -> None:
    """A request that comes from another site, or lacks the session's token, does nothing though it has the cookie."""
    answer = ana.ask("POST", "/supervisor/command/hold", {}, headers=headers)
    assert 403 == answer.status
    assert show.letters.empty()


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_what_a_foreign_form_can_send_is_refused(ana: Browser, kind: str) -> None:
    """A form of another site can't send JSON, and nothing else is taken."""
    assert 415 == ana.ask("POST", "/supervisor/command/hold", {}, headers={"Content-Type": kind}).status


def test_long_body_is_refused(ana: Browser) -> None:
    """A body beyond the bound is not read."""
    assert 413 == ana.command("void", reason="x" * 10_000).status


def test_session_ends_when_it_is_idle(show: Show, ana: Browser) -> None:
    """A page that was left open is signed out after half an hour."""
    show.table.clock.move(IDLE_US + 1)
    assert 401 == ana.command("hold").status


def test_sign_out_ends_the_session(ana: Browser) -> None:
    """After signing out the cookie opens nothing."""
    assert 200 == ana.ask("POST", "/supervisor/sign-out", {}).status
    assert 401 == ana.get("/supervisor/rounds.json").status


def test_sessions_are_bounded() -> None:
    """The oldest of too many sessions gives way."""
    sessions = Sessions(FakeClock().now)
    tokens = [sessions.begin("Ana", "line") for _ in range(MOST + 1)]
    assert sessions.find(tokens[0], "line") is None
    assert sessions.find(tokens[1], "line") is not None


# --- actions ---


def test_action_is_a_command_journalled_with_the_name(show: Show, ana: Browser) -> None:
    """Hold, release and void go the way of any command, and the journal says who did it and why."""
    assert {"ok": True} == {"ok": ana.command("hold", reason="wet table").json["ok"]}
    held = last_event(show)
    assert ("round_held", {"reason": "wet table", "by": "Ana"}) == (held["type"], held["data"])
    assert 200 == ana.command("release").status
    assert ("round_released", {"by": "Ana"}) == (last_event(show)["type"], last_event(show)["data"])
    assert 200 == ana.command("void", reason="spilt").status
    voided = last_event(show)["data"]
    assert {"reason": "spilt", "by": "Ana", "was": "dealing"} == voided


def test_rescan_and_entry(show: Show, ana: Browser) -> None:
    """A slot or all slots are asked for again, and a card is entered by hand."""
    show.deal("AS", "KH")
    assert 200 == ana.command("rescan", slot="B1").status
    assert 200 == ana.command("enter", slot="B1", card="TD", reason="worn").status
    entered = last_event(show)["data"]
    assert isinstance(entered, dict)
    expected = ("B1", "TD", "manual", "Ana", "worn")
    assert expected == tuple(entered[key] for key in ("slot", "card", "via", "by", "reason"))
    assert 200 == ana.command("rescan", slot="all").status
    assert "A1" == json.loads(show.fanout.shown.topics["prompt"])["slot"]


@pytest.mark.parametrize(
    ("name", "fields", "missing"),
    [
        ("void", {}, "reason"),
        ("void", {"reason": "  "}, "reason"),
        ("enter", {"slot": "A1", "card": "AS"}, "reason"),
        ("enter", {"slot": "A1", "reason": "worn"}, "card"),
        ("rescan", {}, "slot"),
    ],
)
def test_action_without_what_it_needs_is_not_given(
    show: Show, ana: Browser, name: str, fields: dict[str, object], missing: str
) -> None:
    """A voiding or an entry without a reason never reaches the table."""
    answer = ana.command(name, **fields)
    assert (422, missing) == (answer.status, answer.json["message"])
    assert show.letters.empty()


def test_name_comes_from_the_session_alone(show: Show, ana: Browser) -> None:
    """What a request says of `by` or `id` is not believed."""
    ana.command("hold", by="Somebody else", id="mine")
    letter = show.letters.get_nowait()
    assert isinstance(letter, CommandReceived)
    fields = json.loads(letter.payload)
    assert "Ana" == fields["by"]
    assert "mine" != fields["id"]


@pytest.mark.parametrize("name", ["open", "resend", "snapshot", "nothing"])
def test_other_commands_are_not_given_from_the_page(show: Show, ana: Browser, name: str) -> None:
    """The page opens no rounds and asks for no events."""
    assert 404 == ana.command(name).status
    assert show.letters.empty()


def test_refusal_is_told_with_its_message(ana: Browser) -> None:
    """What the table refuses is told in the table's words."""
    answer = ana.command("release")
    assert (409, "not_held") == (answer.status, answer.json["error"])


def test_reply_goes_to_the_page_and_not_over_mqtt(show: Show, ana: Browser) -> None:
    """A page's command is answered to the page alone; one from MQTT over MQTT."""
    ana.command("hold")
    assert ["c-open"] == [answer["id"] for answer in show.table.speaker.all("answer")]


def test_engine_that_does_not_answer_is_told(show: Show, ana: Browser) -> None:
    """A page does not wait for ever for an engine that is stuck, and says that the outcome is not known."""
    show.deaf.set()
    assert (504, {"error": "no_answer"}) == ((answer := ana.command("hold")).status, answer.json)


# --- what happened ---


def test_rounds_tell_everything_newest_first(show: Show, ana: Browser) -> None:
    """Each round comes with its cards, its rejections with their reasons, and who did what."""
    show.deal("AS")
    show.misread()
    ana.command("void", reason="spilt")
    show.take(show.table.asked("open", id="c2"))
    told = ana.get("/supervisor/rounds.json").json
    rounds = told["rounds"]
    assert isinstance(rounds, list)
    assert ["tp-01/2", "tp-01/1", None] == [found["round"] for found in rounds]
    events = rounds[1]["events"]
    assert ["round_opened", "card_accepted", "scan_rejected", "round_voided"] == [event["type"] for event in events]
    assert "bad_frame" == events[2]["data"]["reason"]
    assert {"reason": "spilt", "by": "Ana", "was": "dealing"} == events[3]["data"]


def test_earlier_rounds_go_on_where_the_page_ended(show: Show) -> None:
    """A long history is told in parts that join without a gap and without a round told twice."""
    for number in range(2 * history.ROUNDS):
        show.take(show.table.asked("void", id=f"v{number}"), show.table.asked("open", id=f"o{number}"))
    ids: list[object] = []
    before: int | None = None
    seqs: list[int] = []
    while True:
        told = history.rounds(show.directory, before)
        rounds = told["rounds"]
        assert isinstance(rounds, list)
        ids += [found["round"] for found in rounds if found["opened"]]
        seqs += [event["seq"] for found in rounds for event in reversed(found["events"])]
        if told["before"] is None:
            break
        before = int(str(told["before"]))
    assert [f"tp-01/{n}" for n in range(2 * history.ROUNDS + 1, 0, -1)] == ids
    assert list(range(len(seqs), 0, -1)) == seqs


def test_misreads_are_counted_and_can_be_narrowed(show: Show, ana: Browser) -> None:
    """Figures of misreads by hour, scanner and card; of one scanner or card where asked."""
    show.deal("AS", "AS", "KH", "AS")
    show.misread()
    told = ana.get("/supervisor/misreads.json").json
    scanners, cards = told["scanners"], told["cards"]
    assert isinstance(scanners, dict)
    assert isinstance(cards, dict)
    assert (2, 3) == (scanners["shoe"]["accepted"], scanners["shoe"]["rejected"])
    assert {"duplicate": 2} == cards["AS"]["reasons"]
    narrowed = ana.get("/supervisor/misreads.json?card=KH").json["total"]
    assert isinstance(narrowed, dict)
    assert (1, 0) == (narrowed["accepted"], narrowed["rejected"])
    assert {} == ana.get("/supervisor/misreads.json?scanner=other").json["cards"]


def test_damaged_event_takes_nothing_from_the_others(show: Show, ana: Browser) -> None:
    """An event that can't be read any more is told by its type alone, and all others as they are."""
    show.deal("AS", "KH")
    show.misread()
    harm(show.directory / "journal.db", "UPDATE events SET body = x'7b' WHERE type = 'card_accepted' AND seq = 4")
    rounds = ana.get("/supervisor/rounds.json").json["rounds"]
    assert isinstance(rounds, list)
    told = {event["seq"]: event["data"] for event in rounds[0]["events"]}
    assert told[4] is None
    assert ("KH", "bad_frame") == (told[5]["card"], told[6]["reason"])


def test_journal_that_can_t_be_read_is_told(show: Show, ana: Browser) -> None:
    """Where the journal can't be read the page says so."""
    (show.directory / "journal.db").rename(show.directory / "moved.db")
    try:
        answer = ana.get("/supervisor/rounds.json")
        assert (503, {"error": "unreadable"}) == (answer.status, answer.json)
    finally:
        (show.directory / "moved.db").rename(show.directory / "journal.db")
