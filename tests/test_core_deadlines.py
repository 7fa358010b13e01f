"""What time alone decides: completion, the alarm of a stalled deal, and what a restart finds overdue."""

from __future__ import annotations

import pytest

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.cards import Card
from scannerd.core.state import Rules
from scannerd.core.validator import decide, step
from tests.core_table import TWO_SLOTS, Table, auto

# --- completion ------------------------------------------------------------------------------------------------


def full(rules: Rules | None = None) -> Table:
    """A round of two slots, filled at 1,000 and 2,000 ms, about to complete."""
    return Table(TWO_SLOTS, rules=rules).opened().dealt(["AS", "KH"])


def test_a_round_completes_after_the_gap() -> None:
    """With the last slot filled the dealer waits `min_gap_ms`; then the round is complete, at that very time."""
    table = full()
    assert "wait" == table.prompt
    assert 2_150_000 == table.state.deadline
    assert [] == table.wait(2_149.999)
    assert ["completed at 2150"] == table.wait(2_150)
    assert "complete" == table.prompt


@pytest.mark.parametrize("at", [2_150, 2_151, 60_000])
def test_what_comes_later_finds_the_round_complete(at: float) -> None:
    """A deadline at or before an event is decided first, at the deadline's own time."""
    assert ["completed at 2150", "rejected extra_card"] == full().read(at, "QD")


def test_without_a_gap_a_round_completes_with_its_last_card() -> None:
    """With `min_gap_ms = 0` the last card and the completion are one decision."""
    table = Table(TWO_SLOTS, rules=Rules(min_gap_ms=0)).opened().dealt(["AS"])
    assert ["accepted B1 KH try 1", "completed at 2000"] == table.read(2_000, "KH")
    assert table.state.deadline is None


def test_without_a_gap_an_entered_last_card_completes_too() -> None:
    """With `min_gap_ms = 0` a held round is released, filled and completed in one decision."""
    table = Table(TWO_SLOTS, rules=Rules(min_gap_ms=0)).opened().dealt(["AS"])
    table.command(1_500, "hold")
    assert ["released", "accepted B1 KH try 1", "completed at 2000"] == table.enter(2_000, "B1", "KH")


def test_a_round_held_in_the_gap_completes_with_a_late_release() -> None:
    """Held until after the gap, the round completes at the release, in the same decision."""
    table = full()
    table.command(2_100, "hold")
    assert "call_supervisor" == table.prompt
    assert table.state.deadline is None
    assert [] == table.wait(9_000)
    assert ["released", "completed at 10000"] == table.command(10_000, "release")


@pytest.mark.parametrize(("at", "told"), [(2_149.999, ["released"]), (2_150, ["released", "completed at 2150"])])
def test_a_round_released_in_the_gap_completes_at_its_end(at: float, told: list[str]) -> None:
    """Released before the gap is over, the round completes when it is."""
    table = full()
    table.command(2_050, "hold")
    assert told == table.command(at, "release")
    table.wait(3_000)
    assert "complete" == table.state.phase


def test_the_time_of_a_round_is_never_negative() -> None:
    """A round whose opening was journalled later than its cards took no time."""
    table = Table(TWO_SLOTS, rules=Rules(min_gap_ms=0)).opened(5_000)
    table.read(1_000, "AS")
    completed = table.put(e.Read(2_000_000, "shoe", Card("KH")))[-1]
    ace, king = Card("AS"), Card("KH")
    assert d.RoundCompleted(2_000_000, {"A": (ace,), "B": (king,)}, (ace, king), 0, 0) == completed


# --- the alarm of a stalled deal --------------------------------------------------------------------------------


def stalled() -> Table:
    """A round opened at 0 whose deal stalled at 30,000 ms."""
    table = Table().opened()
    assert ["raised stalled at 30000"] == table.wait(30_000)
    return table


def test_a_deal_in_which_nothing_happens_raises_an_alarm_once() -> None:
    """`stall_ms` after the opening `stalled` is raised, at that very time, and not again."""
    table = Table().opened()
    assert [] == table.wait(29_999.999)
    assert ["raised stalled at 30000"] == table.wait(45_000)
    assert [] == table.wait(600_000)


@pytest.mark.parametrize("phase", ["idle", "held", "complete"])
def test_only_a_deal_can_stall(phase: str) -> None:
    """Between rounds and while held nothing is expected of the dealer."""
    table = Table(TWO_SLOTS)
    if phase == "held":
        table.opened().command(1, "hold")
    if phase == "complete":
        table.opened().dealt(["AS", "KH"]).wait(2_150)
    assert [] == table.wait(600_000)


def test_with_no_stall_time_a_deal_never_stalls() -> None:
    """With `stall_ms = 0` there is no such alarm."""
    assert [] == Table(rules=Rules(stall_ms=0)).opened().wait(600_000)


def test_the_stall_time_runs_anew_from_all_that_happens_in_the_deal() -> None:
    """The opening, an acceptance, a rejection (stale ones too), a withdrawal and a release start the time anew."""
    table = Table().opened(5_000)
    assert 35_000_000 == table.state.deadline
    table.dealt(["AS"], 10_000)
    assert 40_000_000 == table.state.deadline
    table.failed(20_000)
    assert 50_000_000 == table.state.deadline
    table.read(21_000, "KH", stale=True)
    assert 51_000_000 == table.state.deadline
    table.command(22_000, "rescan", slot="A1")
    assert 52_000_000 == table.state.deadline
    table.command(23_000, "hold")
    table.command(24_000, "release")
    assert 54_000_000 == table.state.deadline


def test_bounces_notices_links_and_refusals_are_nothing_that_happens_in_the_deal() -> None:
    """What touches no slot does not put the alarm off."""
    table = Table().opened().dealt(["AS"])
    table.read(1_300, "AS")
    table.notice(2_000, "warning", "hot")
    table.say(e.ScannerWentDown(3_000_000, "desk"))
    table.broker(4_000, up=False)
    table.command(5_000, "release")
    assert 31_000_000 == table.state.deadline


def test_the_next_read_clears_the_alarm_first() -> None:
    """A card, accepted or not, clears `stalled` before its own decision."""
    assert ["cleared stalled", "accepted A1 AS try 1"] == stalled().read(31_000, "AS")
    assert ["cleared stalled", "rejected wrong_hand A1 try 1"] == stalled().read(31_000, "AS", hand="B")
    assert ["cleared stalled", "rejected stale A1"] == stalled().read(31_000, "AS", stale=True)
    assert ["cleared stalled", "rejected no_read A1 try 1"] == stalled().failed(31_000)
    assert ["cleared stalled", "rejected stale A1"] == stalled().failed(31_000, stale=True)
    expected = ["cleared stalled", "rejected bad_frame A1 try 1", "held lost_read"]
    assert expected == stalled().failed(31_000, "bad_frame", lost=True)


def test_a_bounce_clears_no_alarm() -> None:
    """A card that lies on its scanner and bounces says nothing of the deal."""
    table = Table(rules=Rules(stall_ms=1_000)).opened().dealt(["AS"], 100)
    for at in range(400, 1_100, 300):
        table.read(at, "AS")
    assert ["raised stalled at 1100", "bounce"] == table.read(1_300, "AS")
    table.failed(1_400)
    assert ["bounce"] == table.failed(1_500)


def test_commands_that_act_on_the_deal_clear_the_alarm_first() -> None:
    """`enter`, `hold`, `rescan` and `void` clear `stalled` before their own decision."""
    assert ["cleared stalled", "accepted A1 AS try 1"] == stalled().enter(31_000, "A1", "AS")
    assert ["cleared stalled", "held None"] == stalled().command(31_000, "hold")
    assert ["cleared stalled", "voided dealing"] == stalled().command(31_000, "void")
    table = Table().opened().dealt(["AS"], 0)
    table.wait(30_000)
    assert ["cleared stalled", "withdrawn A1 AS rescan"] == table.command(31_000, "rescan", slot="A1")


def test_refused_and_other_commands_leave_the_alarm() -> None:
    """A refused command, and one that does not act on the deal, clears nothing."""
    table = stalled()
    assert ["refused empty_slot"] == table.command(31_000, "rescan", slot="A1")
    assert ["refused bad_card"] == table.enter(31_000, "A1", "XX")
    assert ["refused not_held"] == table.command(31_000, "release")
    assert ["refused round_in_progress"] == table.command(31_000, "open")


def test_from_the_clearing_the_time_runs_anew() -> None:
    """Once cleared, the alarm is raised again when nothing happened for `stall_ms` since, but not while held."""
    table = stalled()
    table.read(31_000, "AS")
    assert ["raised stalled at 61000"] == table.wait(70_000)
    table.command(71_000, "hold")
    assert [] == table.wait(200_000)


def test_the_clearing_itself_starts_the_time_anew() -> None:
    """Whatever clears `stalled`, it is raised again `stall_ms` later; the end of another alarm puts nothing off."""
    table = stalled()
    assert ["cleared stalled"] == table.say(e.AlarmChanged(40_000_000, "stalled", up=False))
    assert 70_000_000 == table.state.deadline
    table.notice(50_000, "error", "jam")
    assert ["notice error_cleared", "cleared scanner_error"] == table.notice(60_000, "error_cleared")
    assert 70_000_000 == table.state.deadline


def test_a_deal_may_stall_before_it_completes() -> None:
    """With a stall time shorter than the gap, both deadlines are decided in the order of their times."""
    table = full(Rules(stall_ms=100))
    expected = ["raised stalled at 2100", "completed at 2150", "cleared stalled", "rejected extra_card"]
    assert expected == table.read(3_000, "QD")


def test_deadlines_are_decided_one_by_one() -> None:
    """Each deadline before an event is a decision of its own, so that each has its own prompt and sync."""
    table = full(Rules(stall_ms=100))
    taken = step(table.state, e.BrokerChanged(3_000_000, up=False))
    assert [2_100_000, 2_150_000, 3_000_000] == [told[0].at for told, _ in taken]


def test_a_deadline_that_is_not_due_decides_nothing() -> None:
    """A timer that fires too early, or for nothing, has no effect."""
    assert () == decide(Table().state, e.Deadline(10**12))
    assert () == decide(full().state, e.Deadline(2_149_999))


# --- restart ---------------------------------------------------------------------------------------------------


def test_a_start_says_what_it_found() -> None:
    """The first event of a process says its version, its configuration and how the last one ended."""
    table = Table().opened()
    told = table.put(e.Started(9_000_000, "1.2.3", "abc", "clean"))
    assert [d.DaemonStarted(9_000_000, "1.2.3", "abc", "clean", resumed=True)] == told


@pytest.mark.parametrize(
    ("phase", "resumed"), [("idle", False), ("dealing", True), ("held", True), ("complete", False)]
)
def test_a_start_says_whether_a_round_goes_on(phase: str, resumed: bool) -> None:  # noqa: FBT001 - an expected value
    """A round that is dealt or held is resumed."""
    table = Table(TWO_SLOTS)
    if phase != "idle":
        table.opened()
    if phase == "held":
        table.command(1, "hold")
    if phase == "complete":
        table.dealt(["AS", "KH"]).wait(2_150)
    assert [d.DaemonStarted(9_000_000, "v", "c", "crash", resumed)] == table.put(
        e.Started(9_000_000, "v", "c", "crash")
    )


def test_after_a_restart_the_deal_goes_on_at_its_due_slot() -> None:
    """With `on_restart = "continue"` the due slot stays due."""
    table = Table().opened().dealt(["AS"])
    assert ["started"] == table.start(9_000)
    assert "deal B1 try 1" == table.prompt
    assert ["accepted B1 KH try 1"] == table.read(10_000, "KH")


def test_after_a_restart_the_deal_may_be_held() -> None:
    """With `on_restart = "hold"` a supervisor has to release a round that was dealt."""
    table = Table(rules=Rules(on_restart="hold")).opened()
    assert ["started", "held restart"] == table.start(9_000)
    assert "call_supervisor A1 restart" == table.prompt


@pytest.mark.parametrize("phase", ["idle", "held", "complete"])
def test_a_restart_holds_nothing_but_a_deal(phase: str) -> None:
    """With `on_restart = "hold"` a round that was not dealt stays what it was."""
    table = Table(TWO_SLOTS, rules=Rules(on_restart="hold"))
    if phase == "held":
        table.opened().command(1, "hold")
    if phase == "complete":
        table.opened().dealt(["AS", "KH"]).wait(2_150)
    assert ["started"] == table.start(9_000)
    assert phase == table.state.phase


@pytest.mark.parametrize("on_restart", ["continue", "hold"])
@pytest.mark.parametrize("at", [2_010, 60_000])
def test_a_restart_completes_a_round_whose_slots_are_filled(on_restart: str, at: float) -> None:
    """A round restarted within the gap is complete at the start, with its time: nothing doubted its last card."""
    rules = Rules(on_restart="hold" if on_restart == "hold" else "continue")
    assert ["started", f"completed at {at}"] == full(rules).start(at)


def test_a_round_held_in_the_gap_is_completed_by_a_release_after_a_restart() -> None:
    """A restart leaves a held round held, and the release completes it."""
    table = full()
    table.command(2_100, "hold")
    assert ["started"] == table.start(9_000)
    assert ["released", "completed at 9500"] == table.command(9_500, "release")


def test_a_deal_that_stalled_while_the_daemon_was_away_raises_the_alarm_at_the_start() -> None:
    """A deadline already past is decided right after the start, with the start's time."""
    assert ["started", "raised stalled at 60000"] == Table().opened().start(60_000)


def test_an_alarm_that_was_up_before_a_restart_is_not_raised_again() -> None:
    """`stalled` stays up over a restart and is cleared by the next read."""
    table = stalled()
    assert ["started"] == table.start(90_000)
    assert ["cleared stalled", "accepted A1 AS try 1"] == table.read(91_000, "AS")


def test_after_a_restart_nothing_bounces() -> None:
    """The memory of sightings is empty: a card that lies there is a duplicate once more."""
    table = Table().opened().dealt(["AS"])
    table.start(1_100)
    assert ["rejected duplicate B1"] == table.read(1_200, "AS")


def test_after_a_restart_scanners_and_broker_are_unknown() -> None:
    """Each scanner's first success or failure is told, and the broker is away until it answers."""
    table = Table()
    table.start(0)
    assert "network_down" == table.prompt
    assert ["ScannerUp"] == table.say(e.ScannerWentUp(1, "shoe"))
    assert ["ScannerDown"] == table.say(e.ScannerWentDown(1, "desk", "ENOENT"))
    assert "scanner_down desk" == table.prompt


def test_after_a_restart_the_gap_after_a_round_still_runs() -> None:
    """When the last round ended is no memory of a process: in `auto` a card within the gap opens nothing."""
    table = auto(TWO_SLOTS).dealt(["AS", "KH"])
    table.wait(2_150)
    table.start(3_000)
    table.broker(3_001, up=True)
    assert ["rejected extra_card"] == table.read(5_149, "QD")
    assert ["opened tp-01/2", "accepted A1 QD try 1"] == table.read(5_600, "QD")


def test_after_a_restart_two_cards_at_once_are_still_told_apart_from_two() -> None:
    """A card that comes within `min_gap_ms` of one accepted before the restart leaves both in doubt."""
    table = Table().opened().dealt(["AS"])
    table.start(1_050)
    assert ["withdrawn A1 AS multi_read", "rejected multi_read A1 try 1"] == table.read(1_100, "KH")


def test_a_stop_says_why() -> None:
    """The last event of a process says why it ended."""
    assert [d.DaemonStopped(5, "SIGTERM")] == Table().put(e.Stopping(5, "SIGTERM"))
