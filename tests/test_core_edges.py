"""Edges of the rules: small changes of the core that no other test would notice."""

from __future__ import annotations

import pytest

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.games import TEEN_PATTI_20_20
from scannerd.core.state import Rules, Setup, State
from scannerd.core.validator import decide
from tests.core_table import TWO_SLOTS, Table, auto, gist, micros


def again(text: str) -> str:
    """The same text as another object: what comes from a journal, a scanner or a command is never the plan's own."""
    return "".join(list(text))


def test_table_begins_idle_and_offline() -> None:
    """Before anything is known a table is idle, its time begins at 0, and the broker is taken to be away."""
    begun = State(Setup("tp-01", TEEN_PATTI_20_20, Rules(), ("shoe",)))
    assert ("idle", 0, False) == (begun.phase, begun.active_at, begun.broker_up)


def test_every_rejection_of_a_round_is_counted() -> None:
    """A completed round tells how many of its reads were refused."""
    table = Table(TWO_SLOTS).opened().dealt(["AS"])
    for ms in (3_000, 4_000, 5_000):
        table.read(ms, "AS")
    table.read(6_000, "KH")
    table.wait(7_000)
    assert [3] == [one.rejections for one in table.told if isinstance(one, d.RoundCompleted)]


def test_last_card_is_taken_for_lying_there_no_longer_than_the_gap() -> None:
    """A card that was last seen longer ago than the gap between rounds opens the next one."""
    table = auto(TWO_SLOTS)
    table.read(300, "AS")
    table.read(600, "KH")
    assert ["completed at 750", "opened tp-01/2", "accepted A1 KH try 1"] == table.read(6_001, "KH")


def test_last_card_that_is_still_seen_opens_nothing() -> None:
    """As long as the last card is seen again and again where it was read, it opens no round."""
    table = auto(TWO_SLOTS)
    table.read(300, "AS")
    table.read(600, "KH")
    for ms in (2_000, 4_000, 6_000):
        assert "rejected extra_card" == table.read(ms, again("KH"), again("shoe"))[-1]


def test_round_without_a_gap_is_complete_at_its_last_card() -> None:
    """Without a gap between cards to wait for, the last of six completes the round, and none before it does."""
    table = Table(rules=Rules(min_gap_ms=0)).opened().dealt()
    assert [6_000] == [one.at // 1_000 for one in table.told if isinstance(one, d.RoundCompleted)]


def test_duration_is_rounded_to_the_nearest_millisecond() -> None:
    """A deal of 2,000.6 ms is told as 2,001."""
    table = Table(TWO_SLOTS, rules=Rules(min_gap_ms=0)).opened()
    table.read(1_000, "AS")
    table.read(2_000.6, "KH")
    assert [2_001] == [one.duration_ms for one in table.told if isinstance(one, d.RoundCompleted)]


def test_other_alarms_are_no_life_of_the_deal() -> None:
    """What the machine says of itself does not put off the alarm that the deal stands still."""
    table = Table().opened().dealt(["AS"])
    for ms, up in ((10_000, True), (20_000, False)):
        table.put(e.AlarmChanged(micros(ms), "storage", up=up))
    assert ["raised stalled at 31000"] == table.wait(32_000)


def test_card_refused_before_the_round_is_still_lying_there() -> None:
    """A release makes only those cards new that were refused during the hold."""
    table = Table()
    assert ["rejected no_round"] == table.read(1_000, "AS")
    table.command(1_100, "open")
    table.command(1_150, "hold")
    table.command(1_200, "release")
    assert ["bounce"] == table.read(1_300, "AS")


def test_first_field_that_is_missing_is_named() -> None:
    """A card entered by hand without anything is refused with the first field that it needs."""
    table = Table().opened()
    (refused,) = table.put(e.Command(micros(1_000), "enter", "eva", {}))
    assert isinstance(refused, d.Refused)
    assert ("missing_field", "slot is required") == (refused.error, refused.message)
    assert ["accepted A1 AS try 1"] == table.enter(2_000, again("A1"), again("AS"))


def test_multi_read_is_over_after_the_gap() -> None:
    """A card that comes long after two cards that were too close to each other is a card."""
    table = Table().opened()
    table.read(1_000, "AS")
    assert ["withdrawn A1 AS multi_read", "rejected multi_read A1 try 1"] == table.read(1_100, "KH")
    assert ["accepted A1 QD try 2"] == table.read(3_301, "QD")


def test_same_card_at_once_is_no_second_card() -> None:
    """Without a bounce time the card just accepted, read again at once, is a duplicate and no multi-read."""
    table = Table(rules=Rules(bounce_ms=0)).opened()
    table.read(1_000, "AS")
    assert ["rejected duplicate B1"] == table.read(1_050, again("AS"))
    assert {"A1": "AS"} == table.cards


def test_slots_are_known_by_name_after_a_restart_too() -> None:
    """The last card's slot comes from the journal then, and two cards too close to each other are still two."""
    table = Table().opened()
    table.read(1_000, "AS")
    assert table.state.last is not None
    table.state = table.state._replace(last=table.state.last._replace(slot=again("A1")))
    assert ["withdrawn A1 AS multi_read", "rejected multi_read A1 try 1"] == table.read(1_100, "KH", again("shoe"))
    assert TEEN_PATTI_20_20.slots[0] == TEEN_PATTI_20_20.slot(again("A1"))


def test_hundreds_of_tries_may_be_allowed() -> None:
    """The limit of tries holds the round at that try, however many it allows."""
    table = Table(rules=Rules(max_attempts=300)).opened()
    assert table.state.round is not None
    table.state = table.state._replace(round=table.state.round._replace(tries={"A1": 299}))
    assert ["rejected no_read A1 try 300", "held rescan_limit"] == table.failed(1_000)


def test_deadline_told_late_is_decided_all_the_same() -> None:
    """A process that looks late completes the round all the same."""
    table = Table(TWO_SLOTS).opened().dealt(["AS", "KH"])
    assert ["completed at 9000"] == [gist(one) for one in decide(table.state, e.Deadline(micros(9_000)))]


@pytest.mark.parametrize("kind", ["warning", "cut_card", "lock", "start", "result"])
def test_other_notices_leave_an_error_up(kind: str) -> None:
    """Only the device's own word that its error is over clears the alarm, and no other notice."""
    table = Table()
    assert ["notice " + kind] == table.notice(500, kind)
    table.notice(1_000, "error", "E1")
    assert ["notice " + kind] == table.notice(2_000, kind)
    assert ["notice error_cleared", "cleared scanner_error"] == table.notice(3_000, "error_cleared")


def test_release_is_no_sign_of_life_of_the_deal() -> None:
    """A stalled deal that a restart held is stalled still when it is released, until a card is read."""
    table = Table(rules=Rules(on_restart="hold")).opened().dealt(["AS"])
    assert ["raised stalled at 31000"] == table.wait(32_000)
    assert ["started", "held restart"] == table.start(40_000)
    assert ["released"] == table.command(41_000, "release")
    assert ["cleared stalled", "accepted B1 KH try 1"] == table.read(42_000, "KH")


@pytest.mark.parametrize(("dealt", "hand", "due"), [([], "B", "A1"), (["AS"], "A", "B1")])
def test_either_hand_may_be_the_wrong_one(dealt: list[str], hand: str, due: str) -> None:
    """A reader of one hand gives no card to a slot of the other, whichever of the two it reads."""
    table = Table().opened().dealt(dealt)
    assert [f"rejected wrong_hand {due} try 1"] == table.read(5_000, "KH", hand=hand)
