"""The JSON of the wire: an event's data, times, the round's snapshot, and decisions read back."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd import messages
from scannerd.core import decisions as d
from scannerd.core.cards import Card
from scannerd.core.prompts import Prompt
from tests.core_table import TWO_SLOTS, Table

DATA = {
    "daemon_started": ["version", "config_digest", "previous", "resumed"],
    "daemon_stopped": ["reason"],
    "scanner_up": ["scanner", "detail"],
    "scanner_down": ["scanner", "detail"],
    "scanner_notice": ["scanner", "kind", "detail"],
    "round_opened": ["game", "plan", "by"],
    "card_accepted": ["slot", "hand", "index", "card", "scanner", "attempt", "via", "by"],
    "scan_rejected": ["reason", "slot", "attempt", "scanner", "card", "conflict_slot", "raw_hex", "detail"],
    "card_withdrawn": ["slot", "card", "reason", "by"],
    "round_held": ["reason", "by"],
    "round_released": ["by"],
    "round_completed": ["cards", "dealt", "rejections", "duration_ms"],
    "round_voided": ["reason", "by", "was"],
    "alarm_raised": ["alarm", "scanner", "detail"],
    "alarm_cleared": ["alarm", "scanner", "detail"],
    "clock_stepped": ["by_ms"],
    "self_check": [
        "cause",
        "by",
        "code_digest",
        "config_digest",
        "codebooks",
        "changed",
        "previous_code_digest",
        "previous_config_digest",
        "previous_codebooks",
    ],
    "journal_trimmed": ["keep_days", "last_seq", "last_hash"],
}
"""The contract's events and the keys of their data, in its order."""

ACE, KING = Card("AS"), Card("KH")
TOLD: list[d.Told] = [
    d.DaemonStarted(1, "1.0", "d", "first", resumed=False),
    d.DaemonStopped(1, "SIGTERM"),
    d.ScannerUp(1, "shoe", None),
    d.ScannerDown(1, "shoe", "EIO"),
    d.ScannerNotice(1, "shoe", "lock", None),
    d.RoundOpened(1, "r-1", "two", ("A1", "B1"), None),
    d.CardAccepted(1, "A1", "A", 1, ACE, "shoe", 1, "scan", None),
    d.ScanRejected(1, "held", "A1", None, "shoe", ACE, None, "4153", None),
    d.CardWithdrawn(1, "A1", ACE, "rescan", "eva"),
    d.RoundHeld(1, None, None),
    d.RoundReleased(1, "eva"),
    d.RoundCompleted(1, {"A": (ACE,), "B": (KING,)}, (ACE, KING), 0, 1_000),
    d.RoundVoided(1, None, "eva", "held"),
    d.AlarmRaised(1, "stalled", None, None),
    d.AlarmCleared(1, "stalled", None, None),
    d.ClockStepped(1, -5_000),
    d.SelfChecked(1, "start", None, "c", None, {"shoe": "b"}, ("code",), "a", None, {"shoe": "b"}),
    d.JournalTrimmed(1, 30, 7, "h"),
]


@pytest.mark.parametrize("told", TOLD, ids=lambda told: told.TYPE)
def test_an_events_data_is_the_contracts(told: d.Told) -> None:
    """Each type has the keys of the contract, in its order, and no other."""
    assert DATA[told.TYPE] == list(messages.data(told))


def test_every_type_of_the_contract_is_told_and_no_other() -> None:
    """The table above leaves none out."""
    assert set(DATA) == set(messages.TOLD) == {told.TYPE for told in TOLD}


@pytest.mark.parametrize("told", TOLD, ids=lambda told: told.TYPE)
def test_a_decision_is_read_back_from_its_event(told: d.Told) -> None:
    """What the journal holds gives the very decision again."""
    data = json.loads(messages.dumps(messages.data(told)))
    assert told == messages.decision(told.TYPE, data, 1, "r-1")


@pytest.mark.parametrize("told", TOLD, ids=lambda told: told.TYPE)
def test_fields_of_a_newer_version_are_left_out(told: d.Told) -> None:
    """A field that this version does not know is no hindrance."""
    data = json.loads(messages.dumps(messages.data(told))) | {"colour": ["red"]}
    assert told == messages.decision(told.TYPE, data, 1, "r-1")


def test_a_card_entered_by_hand_tells_why() -> None:
    """Its event has the reason behind the contract's first keys, and one of an older journal has none."""
    entered = d.CardAccepted(1, "A1", "A", 1, ACE, None, 2, "manual", "eva", "torn")
    data = messages.data(entered)
    assert ([*DATA["card_accepted"], "reason"], "torn") == (list(data), data["reason"])
    assert entered == messages.decision("card_accepted", data, 1, "r-1")
    del data["reason"]
    assert replace(entered, reason=None) == messages.decision("card_accepted", data, 1, "r-1")


def test_a_type_of_a_newer_version_is_no_decision() -> None:
    """An event that this version does not know changes no state."""
    assert messages.decision("card_burned", {"card": "AS"}, 1, None) is None


def test_a_missing_field_is_an_error() -> None:
    """An event without its data can't be folded, and says which key is missing."""
    with pytest.raises(KeyError, match="by"):
        messages.decision("round_released", {}, 1, "r-1")


def test_events_carry_the_round_they_belong_to() -> None:
    """From the opening to the voiding, both included, events carry the round; bounces and refusals are none."""
    before = Table().state
    opened = d.RoundOpened(1, "r-1", "two", ("A1", "B1"), None)
    voided = d.RoundVoided(3, None, None, "dealing")
    up = d.ScannerUp(2, "shoe", None)
    untold = (d.Bounced(2, "shoe", "card", "AS"), d.BrokerSwitched(2, up=True), d.Refused(2, "not_held", "m"))
    told = messages.told_rounds((up, opened, *untold, up, voided, up), before)
    assert [(up, None), (opened, "r-1"), (up, "r-1"), (voided, "r-1"), (up, None)] == list(told)


def test_a_completed_round_stays_the_current_one() -> None:
    """Events after the completion carry its round until the next opening."""
    table = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    table.wait(2_150)
    up = d.ScannerUp(9, "shoe", None)
    opened = d.RoundOpened(9, "r-2", "two", ("A1", "B1"), None)
    told = messages.told_rounds((up, opened, up), table.state)
    assert [(up, "tp-01/1"), (opened, "r-2"), (up, "r-2")] == list(told)


# --- times -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wall", "text"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (1, "1970-01-01T00:00:00.000001Z"),
        (-1, "1969-12-31T23:59:59.999999Z"),
        (1_796_006_716_123_456, "2026-11-30T02:45:16.123456Z"),
    ],
)
def test_a_time_is_written_in_utc_with_six_decimals(wall: int, text: str) -> None:
    """Every time on the wire has one form, and reads back to the microsecond."""
    assert text == messages.utc(wall)
    assert wall == messages.microseconds(text)


@given(st.integers(-(10**15), 10**17))
def test_any_time_reads_back(wall: int) -> None:
    """Writing and reading a time loses nothing."""
    assert wall == messages.microseconds(messages.utc(wall))


def test_a_time_in_another_offset_is_the_same_moment() -> None:
    """A time with an offset is read as its moment."""
    assert 0 == messages.microseconds("1970-01-01T02:00:00+02:00")


def test_what_is_no_time_is_an_error() -> None:
    """A text that is no time can't be read."""
    with pytest.raises(ValueError, match="soon"):
        messages.microseconds("soon")


# --- JSON ------------------------------------------------------------------------------------------------------


def test_json_is_compact_utf8_in_the_order_of_the_keys() -> None:
    """A message has no spaces, keeps its order and spells characters out."""
    assert '{"b":1,"a":["é",null]}'.encode() == messages.dumps({"b": 1, "a": ["é", None]})


def test_what_utf8_can_not_hold_is_escaped() -> None:
    """Half a surrogate pair, which only a faulty driver could bring in, breaks no message; nor does a vast number."""
    assert b'{"a":"\\ud800"}' == messages.dumps({"a": "\ud800"})
    assert b'{"a":100000000000000000000}' == messages.dumps({"a": 10**20})


def test_a_prompts_fields_stand_in_the_contracts_order() -> None:
    """What does not apply is null, not left out."""
    fields = messages.prompt_fields(Prompt("rescan", "A2", "A", 2, "duplicate", 2, "A1"))
    expected = {"code": "rescan", "slot": "A2", "hand": "A", "index": 2, "reason": "duplicate", "attempt": 2}
    assert expected | {"conflict_slot": "A1"} == fields
    assert ["code", "slot", "hand", "index", "reason", "attempt", "conflict_slot"] == list(fields)
    assert {"wait", None} == set(messages.prompt_fields(Prompt("wait")).values())


# --- the snapshot of the round -------------------------------------------------------------------------------------


def snapshot(table: Table) -> dict[str, object]:
    """The retained topic `round`, at number 7."""
    made: dict[str, object] = json.loads(messages.round_snapshot(table.state, 7))
    return made


def test_a_snapshot_without_a_round() -> None:
    """An idle table has no round, no cards and no due slot, but its plan."""
    expected: dict[str, object] = {
        "round": None,
        "phase": "idle",
        "plan": ["A1", "B1"],
        "cards": {},
        "due": None,
        "attempt": None,
        "seq": 7,
    }
    assert expected == snapshot(Table(TWO_SLOTS))


def test_a_snapshot_of_a_deal() -> None:
    """A deal shows its cards by slot, in plan order, the due slot and the try awaited."""
    table = Table().opened().dealt(["AS", "KH"])
    table.command(2_500, "rescan", slot="A1")
    table.read(3_000, "QD")
    table.failed(4_000)
    shown = snapshot(table)
    assert {"A1": "QD", "B1": "KH"} == shown["cards"]
    assert ["tp-01/1", "dealing", "A2", 2] == [shown[key] for key in ("round", "phase", "due", "attempt")]
    cards = shown["cards"]
    assert isinstance(cards, dict)
    assert ["A1", "B1"] == list(cards)


def test_a_snapshot_of_a_completed_round() -> None:
    """A completed round stays shown until the next, with nothing due."""
    table = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    table.wait(2_150)
    shown = snapshot(table)
    assert ["tp-01/1", "complete", None, None] == [shown[key] for key in ("round", "phase", "due", "attempt")]
    assert {"A1": "AS", "B1": "KH"} == shown["cards"]
