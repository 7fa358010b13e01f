"""What stands on the terminal's screen: everything a supervisor must see, at any size, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scannerd.texts import LANGUAGES
from scannerd.watching.drawing import cells, draw
from scannerd.watching.known import Happened, learned
from tests.watched import (
    alarm,
    desk,
    event,
    happened,
    lines,
    prompt_fields,
    round_fields,
    screen,
    shown,
    status_fields,
    typed,
    unplugged,
)


def test_whole_table_is_seen() -> None:
    """One screen shows round, prompt, hands with the due slot, alarms, scanners, outbox, events and keys."""
    at = shown(desk(), "status", status_fields("degraded", alarms=[alarm("stalled", None, "30 s")], depth=3))
    at = happened(
        at,
        event(7, "round_opened", by="auto"),
        event(8, "scan_rejected", reason="no_read", slot="A1", scanner="shoe", card=None, detail=""),
        event(9, "card_accepted", slot="A1", card="AS", scanner=None, via="manual", by="ana"),
    )
    assert [
        " tp-01  Dealing  Round tp-01/57  degraded",
        "",
        " >> Deal the next card: B1",
        "",
        " Player A    A1[ AS ]   A2[    ]   A3[    ]",
        " Player B   >B1[ ?? ]<  B2[    ]   B3[    ]",
        "",
        " Alarms! 02:45:16Z  stalled  30 s",
        " Scanners:  shoe connected",
        " Outbox: Events waiting for the network: 3  (02:45:16Z)",
        "  02:45:16Z  Opened  auto",
        "  02:45:16Z  Rejected  A1  shoe  card not read",
        "  02:45:16Z  Entered by hand  A1  AS  ana",
        "",
        " No PIN is asked: the broker's rights decide",
        " h Hold  v Void round  s Scan again  e Enter card  q Quit",
    ] == lines(at, height=16)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10), (200, 60), (20, 5), (1, 1)])
def test_view_fits_any_size(language: str, width: int, height: int) -> None:
    """In each language and at any size no line is too wide and there are not too many."""
    at = shown(desk("tp-01", "tp-02", language=language), "status", status_fields(alarms=[alarm("stalled")] * 20))
    for seq in range(60):
        at = happened(at, event(seq + 1, "scan_rejected", reason="multi_read", slot="B1", detail="x" * 300))
    for state in (at, typed(at, "a")[0], typed(at, "v")[0]):
        drawn = lines(state, width, height)
        assert len(drawn) <= height
        assert max(map(cells, drawn)) <= width


def test_last_events_have_the_room_that_is_left() -> None:
    """The newest events are shown, as many as there is room for, above the keys."""
    at = desk()
    for seq in range(1, 61):
        at = happened(at, event(seq, "alarm_raised", alarm=f"a-{seq}"))
    drawn = lines(at, height=20)
    assert "a-60" in drawn[17]
    assert [True, False] == [any(f"a-{seq}" in line for line in drawn) for seq in (54, 50)]
    assert 50 == len(at.known.events)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (prompt_fields("rescan", "B1", "no_read"), ">> Scan B1 again, try 1: card not read"),
        (prompt_fields("call_supervisor", None, "card on the floor"), ">> Call the supervisor: card on the floor"),
        (prompt_fields("scanner_down", None, "shoe"), ">> Scanner shoe is not connected"),
        (prompt_fields("network_down", None), ">> Network down: no new round"),
        (prompt_fields("complete", None), ">> Round complete"),
    ],
)
def test_prompt_is_the_dealers_line(prompt: object, said: str) -> None:
    """The line that the dealer has stands there in the same words."""
    assert said in screen(shown(desk(), "prompt", prompt))


def test_newer_daemon_is_understood() -> None:
    """A prompt, a phase, a scanner's state and a type of event that are new are shown in the daemon's own words."""
    at = shown(desk(), "prompt", prompt_fields("cut_cards", None))
    at = happened(shown(at, "status", status_fields("paused", scanner="warming")), event(9, "table_moved"))
    for words in (">> the daemon's own words", "paused", "shoe warming", "table_moved"):
        assert words in screen(at)


def test_lost_table_is_told_first() -> None:
    """A table that is not connected says so instead of an old prompt, and one whose daemon ended says that."""
    assert ">> No connection: stop dealing and wait" in screen(unplugged(desk()))
    ended = screen(shown(desk(), "status", status_fields("offline")))
    assert ">> The daemon is not running" in ended
    assert "h Hold" not in ended


def test_nothing_known_is_said() -> None:
    """Before a table has said anything the screen says that it waits."""
    assert ">> Waiting for the table" in screen(desk(known=False))


def test_list_shows_every_table_with_its_prompt() -> None:
    """The list has a line for each table, marked where somebody should look."""
    two = shown(desk("tp-01", "tp-02"), "status", status_fields())
    listed = screen(typed(two, "a")[0])
    assert " 1   tp-01  Dealing  Deal the next card: B1" in listed
    assert " 2 ! tp-02  No round  Waiting for the table" in listed


def test_words_are_the_languages_own() -> None:
    """Labels, slots and reasons are in the language that was chosen."""
    at = happened(desk(language="uk"), event(9, "scan_rejected", reason="no_read", slot="B1", detail=""))
    drawn = screen(at)
    assert "Б1[ ?? ]" in drawn
    assert "Тривоги: немає" in drawn


def test_suits_are_signs_where_the_terminal_has_them() -> None:
    """A terminal of UTF-8 shows the suits' signs, any other their letters."""
    assert "A1[ A♠ ]" in screen(desk(), symbols=True)
    assert screen(desk(), symbols=False).isascii()


def test_nothing_of_the_wire_reaches_the_terminal_raw() -> None:
    """Escape sequences and line breaks in a reason, a name or a detail are shown, never passed on."""
    bad = "\x1b[2J\r\nnew\u202e\x07"
    at = shown(desk(), "prompt", prompt_fields("call_supervisor", None, bad))
    at = shown(at, "status", status_fields(alarms=[alarm(bad, bad, bad)]))
    at = shown(at, "round", round_fields(cards={"A1": "\x1b\x1b"}))
    at = happened(at, event(1, bad, reason=bad, slot="A1", scanner=bad, card=bad, detail=bad, by=bad))
    typing, _ = typed(at, "h", "\x1b", "Ana")
    for state in (at, typing):
        assert [] == [line for line in lines(state, 400) if not line.isprintable()]


def test_style_only_repeats_what_words_say() -> None:
    """The due slot has a sign of its own beside its style, and so has an alarm."""
    at = shown(desk(), "status", status_fields("degraded", alarms=[alarm("network")], scanner="down"))
    styled = [span.text for line in draw(at, 80, 24) for span in line if span.style in {"due", "alarm"}]
    assert any(">B1[ ?? ]<" in text for text in styled)
    assert any("Alarms! " in text for text in styled)
    assert any("shoe not connected" in text for text in styled)


def test_events_that_come_twice_are_shown_once() -> None:
    """An event that the broker brings twice stands there once, and one that can't be understood not at all."""
    once = event(9, "card_accepted", slot="A1", card="AS")
    assert 1 == screen(happened(happened(desk(), once), once, once)).count("Accepted")


def test_unreadable_journal_is_said() -> None:
    """Where the journal can't be read the screen says so in place of the events."""
    at = desk()
    blind = learned(at.known, Happened("tp-01", (), whole=True, unreadable=True))
    assert "The journal can't be read at present." in screen(replace(at, tables=(blind,)))


@pytest.mark.parametrize("topic", ["prompt", "round", "status"])
@pytest.mark.parametrize("fields", [None, [], {"code": 7}, "deal", {"phase": "soon"}])
def test_topic_that_is_none_changes_nothing(topic: str, fields: object) -> None:
    """A retained topic that can't be understood changes nothing that is shown."""
    assert screen(desk()) == screen(shown(desk(), topic, fields))


def test_wide_letters_count_as_two() -> None:
    """Letters that take two cells, and those that take none, are counted so."""
    assert (4, 1) == (cells("牌牌"), cells("e\u0301"))
    at = shown(desk(), "prompt", prompt_fields("call_supervisor", None, "牌" * 60))
    assert max(map(cells, lines(at, 40))) <= 40
