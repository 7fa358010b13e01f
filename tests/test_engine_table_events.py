"""Reading the table's events."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teen_patti.table_events import (
    BODIES,
    CardAccepted,
    Damaged,
    Other,
    RoundCompleted,
    TableEvent,
    Unreadable,
    read_event,
)

ENVELOPE: dict[str, object] = {
    "contract": "1.0",
    "table": "tp-01",
    "journal": "6f0c",
    "seq": 1234,
    "type": "card_accepted",
    "round": "tp-01/57",
    "at": "2026-11-30T02:45:16.123456Z",
    "prev": "0" * 64,
    "hash": "0" * 64,
    "data": {"slot": "A1", "hand": "A", "index": 1, "card": "AS", "scanner": "shoe", "attempt": 1, "via": "scan"},
}


def read(**changed: object) -> TableEvent | Unreadable:
    """The envelope with some fields changed, read."""
    return read_event(json.dumps(ENVELOPE | changed))


def body(**changed: object) -> object:
    """What happened, of an event that can be read."""
    event = read(**changed)
    assert isinstance(event, TableEvent)
    return event.body


def test_an_event_is_read_with_its_key() -> None:
    """An accepted card is read with the key of its event, what the engine does not need left unread."""
    event = read()
    assert isinstance(event, TableEvent)
    assert (event.table, event.journal, event.seq) == ("tp-01", "6f0c", 1234)
    assert CardAccepted("A1", "AS") == event.body


def test_a_completed_round_is_read_with_both_hands() -> None:
    """A completed round has the cards of each hand in order."""
    data = {"cards": {"A": ["AS", "AD", "2C"], "B": ["KH", "KD", "3C"]}, "dealt": [], "rejections": []}
    expected = RoundCompleted({"A": ("AS", "AD", "2C"), "B": ("KH", "KD", "3C")})
    assert expected == body(type="round_completed", data=data)


@pytest.mark.parametrize("kind", ["scan_rejected", "alarm_raised", "something_new"])
def test_other_types_are_let_through(kind: str) -> None:
    """Types that change no round, and those of later contracts, are let through whatever their data."""
    assert Other() == body(type=kind, data={"anything": [1]})


@pytest.mark.parametrize("kind", sorted(set(BODIES) - {"round_held", "round_released"}))
def test_known_types_with_bad_data_are_damaged(kind: str) -> None:
    """An event of a type that matters, without its data, is damaged but counted."""
    assert isinstance(body(type=kind, data={}), Damaged)


@pytest.mark.parametrize(
    "changed",
    [{"seq": 0}, {"seq": "x"}, {"seq": 1.5}, {"table": None}, {"at": "2026-11-30T02:45:16"}, {"data": []}, {"type": 5}],
)
def test_a_bad_envelope_is_unreadable(changed: dict[str, object]) -> None:
    """What has no proper key, time or type is no event."""
    assert isinstance(read(**changed), Unreadable)


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"\xff\xfe", b"null"])
def test_a_message_that_is_no_object_is_unreadable(payload: bytes) -> None:
    """A message that is no JSON object is told as unreadable."""
    assert isinstance(read_event(payload), Unreadable)


@given(st.binary())
def test_no_bytes_raise(payload: bytes) -> None:
    """Whatever bytes come, reading them raises nothing."""
    assert isinstance(read_event(payload), TableEvent | Unreadable)
