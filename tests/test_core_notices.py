"""What devices, the broker and the shell say beside cards: notices, links, alarms, the clock."""

from __future__ import annotations

import pytest

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.state import Rules
from scannerd.core.validator import TOLD_NOTICES
from tests.core_table import TWO_SLOTS, Table

# --- notices ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(TOLD_NOTICES))
def test_a_notice_is_told_and_touches_no_slot(kind: str) -> None:
    """Each kind that the contract names is an event and leaves the deal as it was."""
    table = Table().opened()
    before = table.state.round
    assert f"notice {kind}" == table.notice(1_000, kind, "x")[0]
    assert before == table.state.round


def test_the_contract_names_seven_kinds_of_notices() -> None:
    """No kind is told that the contract does not name."""
    assert {"error", "error_cleared", "warning", "cut_card", "lock", "start", "result"} == TOLD_NOTICES


@pytest.mark.parametrize("kind", ["heartbeat", "answer", "other", "", "alarm"])
def test_other_notices_are_not_told(kind: str) -> None:
    """What a device says beside that is only logged."""
    assert [] == Table().notice(1_000, kind, "x")


def test_a_notice_says_all_of_itself() -> None:
    """The event holds the scanner, the kind and the device's words, or null for none."""
    table = Table()
    assert [d.ScannerNotice(1, "shoe", "lock", "locked")] == table.put(e.Noticed(1, "shoe", "lock", "locked"))
    assert [d.ScannerNotice(2, "shoe", "lock", None)] == table.put(e.Noticed(2, "shoe", "lock"))


@pytest.mark.parametrize(("after", "told"), [(399.999, "bounce"), (400, "notice warning")])
def test_the_same_notice_within_the_bounce_time_is_counted_only(after: float, told: str) -> None:
    """A notice of the same kind and words from the same scanner is told once in `bounce_ms`."""
    table = Table()
    table.notice(1_000, "warning", "hot")
    assert [told] == table.notice(1_000 + after, "warning", "hot")


def test_each_notice_starts_its_time_anew() -> None:
    """A device that says the same every 300 ms is told once."""
    table = Table()
    table.notice(1_000, "warning", "hot")
    for at in range(1_300, 5_000, 300):
        assert ["bounce"] == table.notice(at, "warning", "hot")


def test_other_words_kinds_and_scanners_are_other_notices() -> None:
    """Kind, words and scanner together make a notice the same."""
    table = Table()
    table.notice(1_000, "warning", "hot")
    assert ["notice warning"] == table.notice(1_001, "warning", "cold")
    assert ["notice lock"] == table.notice(1_002, "lock", "hot")
    assert ["notice warning"] == table.notice(1_003, "warning", "hot", "desk")


# --- the alarm of a scanner's error -------------------------------------------------------------------------------


def test_an_error_raises_the_alarm_after_its_notice() -> None:
    """A device's error is told, then raises the alarm with the same words."""
    told = Table().put(e.Noticed(1_000, "shoe", "error", "jam"))
    expected = [d.ScannerNotice(1_000, "shoe", "error", "jam"), d.AlarmRaised(1_000, "scanner_error", "shoe", "jam")]
    assert expected == told


def test_the_alarm_is_raised_once_until_it_is_cleared() -> None:
    """Further errors are told and raise nothing; after the clearing one raises the alarm again."""
    table = Table()
    table.notice(1_000, "error", "jam")
    assert ["notice error"] == table.notice(2_000, "error", "other jam")
    table.notice(3_000, "error_cleared")
    assert ["notice error", "raised scanner_error at 4000"] == table.notice(4_000, "error", "jam")


def test_each_scanner_has_its_own_alarm() -> None:
    """An error of one scanner does not hide another's."""
    table = Table()
    table.notice(1_000, "error", "jam")
    assert ["notice error", "raised scanner_error at 1001"] == table.notice(1_001, "error", "jam", "desk")
    assert ["notice error_cleared", "cleared scanner_error"] == table.notice(2_000, "error_cleared", "", "desk")
    assert "scanner_error shoe" == table.prompt


def test_an_error_without_words_raises_the_alarm_without_words() -> None:
    """Where the device gives no words, the alarm has none."""
    assert d.AlarmRaised(1, "scanner_error", "shoe", None) == Table().put(e.Noticed(1, "shoe", "error"))[1]


def test_error_cleared_clears_the_alarm_after_its_notice() -> None:
    """The clearing is told, then the alarm is cleared."""
    table = Table()
    table.notice(1_000, "error", "jam")
    told = table.put(e.Noticed(2_000_000, "shoe", "error_cleared", "ok"))
    expected = [
        d.ScannerNotice(2_000_000, "shoe", "error_cleared", "ok"),
        d.AlarmCleared(2_000_000, "scanner_error", "shoe", None),
    ]
    assert expected == told


def test_error_cleared_clears_though_it_is_counted_only() -> None:
    """A clearing that repeats one of just before is not told again, but clears the alarm raised since."""
    table = Table()
    table.notice(1_000, "error_cleared")
    table.notice(1_100, "error", "jam")
    assert ["bounce", "cleared scanner_error"] == table.notice(1_200, "error_cleared")
    assert ["bounce"] == table.notice(1_300, "error_cleared")


def test_an_error_that_is_counted_only_raises_nothing() -> None:
    """The same error right after its alarm was cleared is a bounce of the one before."""
    table = Table()
    table.notice(1_000, "error", "jam")
    table.notice(1_100, "error_cleared")
    assert ["bounce"] == table.notice(1_200, "error", "jam")


def test_an_accepted_card_of_the_scanner_clears_the_alarm() -> None:
    """A device that gives a card works; the alarm is cleared after the card's event."""
    table = Table().opened()
    table.notice(1_000, "error", "jam")
    assert ["accepted A1 AS try 1", "cleared scanner_error"] == table.read(2_000, "AS")


def test_no_other_card_clears_the_alarm() -> None:
    """A rejected card, another scanner's and one entered by hand leave the alarm."""
    table = Table().opened()
    table.notice(1_000, "error", "jam")
    assert ["rejected wrong_hand A1 try 1"] == table.read(2_000, "AS", hand="B")
    assert ["accepted A1 KH try 2"] == table.read(3_000, "KH", "desk")
    assert ["accepted B1 QD try 1"] == table.enter(4_000, "B1", "QD")
    assert "scanner_error A2 shoe" == table.prompt


def test_a_last_card_clears_the_alarm_before_the_round_is_complete() -> None:
    """With `min_gap_ms = 0` the alarm is cleared between the last card and the completion."""
    table = Table(TWO_SLOTS, rules=Rules(min_gap_ms=0)).opened().dealt(["AS"])
    table.notice(1_500, "error", "jam")
    assert ["accepted B1 KH try 1", "cleared scanner_error", "completed at 2000"] == table.read(2_000, "KH")


def test_an_alarm_of_a_scanner_outlives_round_and_restart() -> None:
    """Only the device clears its alarm: not a void, not a restart."""
    table = Table().opened()
    table.notice(1_000, "error", "jam")
    table.command(2_000, "void")
    table.start(3_000)
    assert ["notice error"] == table.notice(4_000, "error", "jam")


# --- links, broker, alarms of the shell, clock -----------------------------------------------------------------------


def test_a_scanner_that_goes_and_comes_is_told_once_each() -> None:
    """The first loss and the first return are told, with what was found; what changes nothing is not."""
    table = Table().opened()
    assert [d.ScannerDown(1, "shoe", "EIO")] == table.put(e.ScannerWentDown(1, "shoe", "EIO"))
    assert [] == table.put(e.ScannerWentDown(2, "shoe", "ENOENT"))
    assert [d.ScannerUp(3, "shoe", None)] == table.put(e.ScannerWentUp(3, "shoe"))
    assert [] == table.put(e.ScannerWentUp(4, "shoe"))
    assert "dealing" == table.state.phase


def test_the_broker_changes_the_state_and_is_no_event() -> None:
    """The broker's coming and going decides what may be opened, once a change."""
    table = Table()
    assert ["BrokerSwitched"] == table.broker(1, up=False)
    assert [] == table.broker(2, up=False)
    assert ["BrokerSwitched"] == table.broker(3, up=True)


def test_an_alarm_of_the_shell_is_told_once() -> None:
    """An alarm that is up is not raised again, one that is not is not cleared."""
    table = Table()
    raise_it = e.AlarmChanged(1, "network", up=True, detail="refused")
    assert [] == table.put(e.AlarmChanged(0, "network", up=False))
    assert [d.AlarmRaised(1, "network", None, "refused")] == table.put(raise_it)
    assert [] == table.put(raise_it)
    assert [d.AlarmCleared(2, "network", None, None)] == table.put(e.AlarmChanged(2, "network", up=False))
    assert [] == table.put(e.AlarmChanged(3, "network", up=False))


def test_alarms_of_different_scanners_are_different_alarms() -> None:
    """An alarm is one by its name and its scanner."""
    table = Table()
    table.put(e.AlarmChanged(1, "check_line", up=True, scanner="shoe"))
    assert ["raised check_line at 0.002"] == table.say(e.AlarmChanged(2, "check_line", up=True, scanner="desk"))


@pytest.mark.fault(113)
def test_a_step_of_the_clock_is_told_and_changes_nothing() -> None:
    """A jump of the wall clock is an event, and the deal goes on by the monotonic one."""
    table = Table().opened()
    before = table.state
    assert [d.ClockStepped(1, -28_800_000)] == table.put(e.ClockJumped(1, -28_800_000))
    assert before == table.state


def test_a_self_check_is_told_as_it_was_found() -> None:
    """What a self-check found is an event, and the deal goes on as before."""
    table = Table().opened()
    before = table.state
    found = e.SelfCheck(1, "start", None, "c2", "d", {"shoe": "b"}, ("code",), "c1", "d", {"shoe": "b"})
    told = d.SelfChecked(1, "start", None, "c2", "d", {"shoe": "b"}, ("code",), "c1", "d", {"shoe": "b"})
    assert [told] == table.put(found)
    assert before == table.state


def test_a_trimming_is_told_before_it_is_done() -> None:
    """What is to be deleted for its age is an event with the hash of the last, and the deal goes on as before."""
    table = Table().opened()
    before = table.state
    assert [d.JournalTrimmed(1, 30, 7, "a")] == table.put(e.Trimming(1, 30, 7, "a"))
    assert before == table.state
