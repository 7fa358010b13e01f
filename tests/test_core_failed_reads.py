"""Reads that gave no card: bounces of their own, tries for the due slot, and frames that were lost."""

from __future__ import annotations

import pytest

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.state import Rules
from tests.core_table import TWO_SLOTS, Table, auto

REASONS: tuple[e.FailedReason, ...] = ("no_read", "bad_frame", "unknown_code", "not_in_deck")


@pytest.mark.fault(67)
@pytest.mark.parametrize("reason", REASONS)
def test_a_failed_read_is_a_try_for_the_due_slot(reason: e.FailedReason) -> None:
    """Whatever the reason, the due slot is asked for again, and the next card fills it."""
    table = Table().opened().dealt(["AS"])
    assert [f"rejected {reason} B1 try 1"] == table.failed(2_000, reason)
    assert f"rescan B1 {reason} try 2" == table.prompt
    assert ["accepted B1 KH try 2"] == table.read(3_000, "KH")


@pytest.mark.parametrize(("after", "told"), [(399.999, "bounce"), (400, "rejected no_read A1 try 2")])
def test_the_bounce_time_of_failed_reads_ends_at_its_bound(after: float, told: str) -> None:
    """The same failure of one scanner less than `bounce_ms` after the last is counted only."""
    table = Table().opened()
    table.failed(1_000)
    assert [told] == table.failed(1_000 + after)


def test_each_failed_read_starts_the_bounce_time_anew() -> None:
    """A device that fails every 300 ms fails once, and the round is not held for it."""
    table = Table().opened()
    table.failed(1_000)
    for at in range(1_300, 5_000, 300):
        assert ["bounce"] == table.failed(at)
    assert "rescan A1 no_read try 2" == table.prompt


def test_another_reason_or_scanner_is_no_bounce() -> None:
    """Failures for different reasons, or of different scanners, are tries of their own."""
    table = Table(rules=Rules(max_attempts=0)).opened()
    assert ["rejected no_read A1 try 1"] == table.failed(1_000)
    assert ["rejected bad_frame A1 try 2"] == table.failed(1_001, "bad_frame")
    assert ["rejected no_read A1 try 3"] == table.failed(1_002, scanner="desk")
    assert ["bounce"] == table.failed(1_003)


@pytest.mark.fault(72)
def test_the_third_failed_read_holds_the_round() -> None:
    """The last try allowed calls the supervisor, in the same decision."""
    table = Table().opened()
    table.failed(1_000)
    table.failed(2_000)
    assert ["rejected no_read A1 try 3", "held rescan_limit"] == table.failed(3_000)
    assert "call_supervisor A1 rescan_limit" == table.prompt


def test_without_a_limit_failed_reads_never_hold_the_round() -> None:
    """With `max_attempts = 0` the dealer may try for ever."""
    table = Table(rules=Rules(max_attempts=0)).opened()
    for number in range(1, 50):
        assert [f"rejected no_read A1 try {number}"] == table.failed(1_000 * number)


def test_tries_are_counted_for_each_slot() -> None:
    """Two failures at each slot hold nothing: the count begins anew with the next slot."""
    table = Table().opened()
    for number, card in enumerate(("AS", "KH", "QD", "JC", "TS", "9H")):
        at = 10_000 * number + 1_000
        table.failed(at)
        table.failed(at + 1_000)
        assert table.read(at + 2_000, card)[0].endswith("try 3")
    assert ["completed at 53150"] == table.wait(60_000)


def test_while_held_a_failed_read_is_no_try() -> None:
    """A held round rejects a failed read with its own reason, for the due slot and without an attempt."""
    table = Table().opened()
    table.command(1_000, "hold")
    assert ["rejected no_read A1"] == table.failed(2_000)
    assert ["bounce"] == table.failed(2_100)
    assert "call_supervisor A1" == table.prompt


@pytest.mark.parametrize("start", ["command", "auto"])
def test_without_a_round_a_failed_read_is_for_no_slot(start: str) -> None:
    """Between rounds a failed read is rejected with its own reason, without slot or attempt."""
    table = auto() if start == "auto" else Table()
    assert ["rejected no_read"] == table.failed(1_000)


def test_while_no_slot_is_due_a_failed_read_is_no_try() -> None:
    """A failure between the last card and the completion is for no slot, and the round completes."""
    table = Table(TWO_SLOTS, rules=Rules(max_attempts=1)).opened().dealt(["AS", "KH"])
    assert ["rejected no_read"] == table.failed(2_100)
    assert ["completed at 2150"] == table.wait(2_150)


# --- stale -----------------------------------------------------------------------------------------------------


def test_a_stale_failed_read_is_rejected_as_stale() -> None:
    """A failure whose bytes waited while the process did not run is stale and no try."""
    table = Table().opened()
    assert ["rejected stale A1"] == table.failed(1_000, stale=True)
    assert "deal A1 try 1" == table.prompt


def test_a_stale_failed_read_is_not_remembered() -> None:
    """After a stale failure the same one, being fresh, is a try; a stale one is never a bounce."""
    table = Table().opened()
    table.failed(1_000, stale=True)
    assert ["rejected no_read A1 try 1"] == table.failed(1_001)
    assert ["rejected stale A1"] == table.failed(1_002, stale=True)
    assert ["bounce"] == table.failed(1_400)


# --- lost ------------------------------------------------------------------------------------------------------


def test_a_lost_frame_holds_the_round() -> None:
    """Where the device is content but the card did not reach us, the dealer is stopped at once."""
    table = Table().opened().dealt(["AS"])
    assert ["rejected bad_frame B1 try 1", "held lost_read"] == table.failed(2_000, "bad_frame", lost=True)
    assert "call_supervisor B1 lost_read" == table.prompt
    table.command(3_000, "release")
    assert "rescan B1 bad_frame try 1" == table.prompt


def test_a_lost_frame_is_never_a_bounce_nor_stale() -> None:
    """A lost frame right after a bad one, or among stale bytes, holds the round all the same."""
    table = Table().opened()
    table.failed(1_000, "bad_frame")
    expected = ["rejected bad_frame A1 try 2", "held lost_read"]
    assert expected == table.failed(1_001, "bad_frame", lost=True, stale=True)


def test_a_lost_frame_that_is_the_last_try_holds_the_round_once() -> None:
    """A lost frame at the last try allowed is one hold, for the lost card."""
    table = Table(rules=Rules(max_attempts=1)).opened()
    assert ["rejected bad_frame A1 try 1", "held lost_read"] == table.failed(1_000, "bad_frame", lost=True)


def test_a_lost_frame_while_no_slot_is_due_holds_the_round() -> None:
    """A card lost behind the last one is for no slot; the round is held and completes when it is released."""
    table = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    assert ["rejected bad_frame", "held lost_read"] == table.failed(2_100, "bad_frame", lost=True)
    assert [] == table.wait(5_000)
    assert ["released", "completed at 6000"] == table.command(6_000, "release")


def test_a_lost_frame_while_held_is_rejected_only() -> None:
    """A round that is held already is not held again by a lost frame."""
    table = Table().opened()
    table.failed(1_000, "bad_frame", lost=True)
    assert ["rejected bad_frame A1"] == table.failed(1_001, "bad_frame", lost=True)


@pytest.mark.parametrize("start", ["command", "auto"])
def test_a_lost_frame_without_a_round_is_rejected_only(start: str) -> None:
    """Where no round is dealt there is nobody to stop."""
    table = auto() if start == "auto" else Table()
    assert ["rejected bad_frame"] == table.failed(1_000, "bad_frame", lost=True)


def test_a_lost_frame_is_remembered_for_bounces() -> None:
    """An ordinary bad frame right after a lost one is a bounce of it."""
    table = Table().opened()
    table.failed(1_000, "bad_frame", lost=True)
    assert ["bounce"] == table.failed(1_100, "bad_frame")


# --- what the event says ----------------------------------------------------------------------------------------


def test_a_failed_read_says_all_of_itself() -> None:
    """The event holds the decoder's words and the first 64 bytes of the frame, and no card."""
    table = Table().opened()
    told = table.put(e.FailedRead(7, "shoe", "bad_frame", "overlong: 99 bytes", raw=b"x" * 99))
    expected = d.ScanRejected(7, "bad_frame", "A1", 1, "shoe", None, None, (b"x" * 64).hex(), "overlong: 99 bytes")
    assert [expected] == told


def test_a_failed_read_without_bytes_or_words_has_null_for_them() -> None:
    """What there is not is null, not an empty text."""
    table = Table().opened()
    assert [d.ScanRejected(7, "no_read", "A1", 1, "shoe", None, None, None, None)] == table.put(
        e.FailedRead(7, "shoe", "no_read")
    )
