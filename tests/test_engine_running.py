"""The engine at a table that deals as fast as it is asked, without network or time."""

from __future__ import annotations

import json
import logging
from collections import deque
from decimal import Decimal
from pathlib import Path

import pytest

from scannerd.client import Answer, Gap, Missing, NewJournal, Position
from teen_patti.errors import StateNotWritten
from teen_patti.keeping import Keeper
from teen_patti.pacing import OUT_OF_SIGHT_S, Pace
from teen_patti.simulate import Bettors
from teen_patti.state import Phase
from tests.engine_play import JOURNAL
from tests.engine_table import Clock, Crash, FakeTable, Seat

CROWD = Bettors(seed=3, count=4, wrong=0.2)


@pytest.fixture(name="seat")
def seat_fixture(tmp_path: Path) -> Seat:
    """An engine with a crowd and a file of its own."""
    return Seat(tmp_path / "engine.json", bettors=CROWD)


def phases(table: FakeTable) -> list[object]:
    """The states of the results shown, in their order."""
    return [message["state"] for message in table.shown]


def test_a_round_is_bet_on_dealt_and_settled(seat: Seat) -> None:
    """The engine takes bets, asks the table for the round, shows its result and settles it."""
    table = FakeTable()
    engine = seat.sit(table)
    ((current, message),) = seat.ended
    assert engine.dealt == 1
    assert [("open", {"id": f"open-{current.id}", "by": "teen-patti-engine", "round": current.id})] == table.asked
    assert ["result", "settled"] == phases(table)
    assert message == table.shown[-1]
    assert current.ledger.bets
    assert current.ledger.paid - current.ledger.staked == sum(seat.kept().state.balances.values())


def test_rounds_follow_one_another(seat: Seat) -> None:
    """After a settlement the betting on the next round opens; each round has an id of its own."""
    table = FakeTable()
    seat.sit(table, rounds=3)
    assert len({current.id for current, _ in seat.ended}) == 3
    paid = sum(current.ledger.paid - current.ledger.staked for current, _ in seat.ended)
    assert paid == sum(seat.kept().state.balances.values())


def test_betting_lasts_and_a_result_waits(seat: Seat) -> None:
    """The table is asked to deal when the betting time is over, and the result is paid when its time is over."""
    seat.pace = Pace(betting_s=20, settle_s=5)
    table = FakeTable()
    start = table.clock.seconds
    seat.sit(table)
    assert 25 == pytest.approx(table.clock.seconds - start, abs=0.5)


def test_late_bets_are_refused(seat: Seat, caplog: pytest.LogCaptureFixture) -> None:
    """The crowd's late bets come once the betting is closed, and are refused as such, on the log."""
    caplog.set_level(logging.INFO, "teen_patti")
    seat.sit(FakeTable(), rounds=4)
    assert any("bet refused, late" in line for line in caplog.messages)
    assert any("bet refused, negative" in line for line in caplog.messages)


def test_names_are_told_in_the_language_asked_for(seat: Seat) -> None:
    """The result has English codes, and beside them their names in one language."""
    seat.language = "pt"
    table = FakeTable()
    table.deal("foreign", ("AS", "KH", "AD", "KD", "2C", "3C"))
    seat.sit(table)
    told = table.shown[-1]
    names = told["names"]
    assert {"A": "pair", "B": "pair"} == told["hands"]
    assert isinstance(names, dict)
    assert ("pt", "Jogador A", {"A": "Par", "B": "Par"}) == (names["language"], names["winner"], names["hands"])


@pytest.mark.parametrize("crash_at", range(1, 30))
def test_a_crash_at_any_step_pays_nothing_twice(tmp_path: Path, crash_at: int) -> None:
    """Wherever the engine dies, it goes on with the same round and bets, and every bettor has what he would have."""
    pace = Pace(betting_s=1, settle_s=1)
    calm, struck = Seat(tmp_path / "calm", pace, CROWD), Seat(tmp_path / "struck", pace, CROWD)
    calm.sit(FakeTable())
    table = FakeTable(crash_at=crash_at)
    try:
        struck.sit(table)
    except Crash:
        struck.sit(table, rounds=0 if settled(struck) else 1)
    assert calm.kept().state.balances == struck.kept().state.balances
    assert calm.kept().state.round.ledger == struck.kept().state.round.ledger  # type: ignore[union-attr]  # there is one
    assert table.shown[-1]["state"] == "settled"


def settled(seat: Seat) -> bool:
    """Whether the file says that the round in play is settled."""
    if not seat.path.exists():
        return False
    current = seat.kept().state.round
    return current is not None and current.phase is Phase.SETTLED


def test_the_result_stands_again_after_a_restart(seat: Seat) -> None:
    """An engine that was started again shows the last result anew, for a broker that lost it."""
    table = FakeTable()
    seat.sit(table)
    seat.sit(table, rounds=0)
    assert ["result", "settled", "settled"] == phases(table)


def test_an_unanswered_open_is_sent_again_with_its_id(seat: Seat) -> None:
    """Where no answer comes the same command is sent again in time; the round is dealt once."""
    table = FakeTable(answers=deque([None, None]))
    seat.sit(table)
    assert 3 == len(table.asked)
    assert 1 == len({str(fields["id"]) for _, fields in table.asked})
    assert [Phase.SETTLED] == [current.phase for current, _ in seat.ended]


def test_a_refused_open_returns_all_bets(seat: Seat, caplog: pytest.LogCaptureFixture) -> None:
    """A round that the table refuses is cancelled, its bets are returned, and the next is played after a moment."""
    table = FakeTable(answers=deque([Answer("x", ok=False, error="offline", message="the broker is away")]))
    seat.sit(table)
    (cancelled, message), (settled, _) = seat.ended
    assert (Phase.CANCELLED, "offline") == (cancelled.phase, message["reason"])
    assert Phase.SETTLED == settled.phase
    assert cancelled.ledger.staked == cancelled.ledger.paid
    assert "the table refuses open: offline (the broker is away)" in caplog.messages


@pytest.mark.parametrize("lost", [{"connected": False}, {"state": "offline"}, {"state": None}, {"gap": Gap(1, 2)}])
def test_nothing_is_opened_out_of_sight(seat: Seat, lost: dict[str, object]) -> None:
    """No bets are taken while the table is out of sight: no broker, no daemon, or events missing."""
    table = FakeTable()
    vars(table).update(lost)

    waited: list[object] = []

    def look() -> None:
        if table.clock.seconds > 105:
            waited.append(table.asked.copy())
            vars(table).update(connected=True, state="online", gap=None)

    table.waits = look
    seat.sit(table)
    assert [] == waited[0]
    assert seat.ended[0][0].ledger.bets[0].at >= Clock(105).now()


def test_a_round_not_begun_is_cancelled_out_of_sight(seat: Seat) -> None:
    """A table lost while bets are taken cancels the round and returns the bets."""
    table = FakeTable()

    def lose() -> None:
        vars(table).update(connected=not 103 < table.clock.seconds < 104 + OUT_OF_SIGHT_S)

    table.waits = lose
    seat.sit(table)
    (cancelled, message), (settled, _) = seat.ended
    assert (Phase.CANCELLED, "network", Phase.SETTLED) == (cancelled.phase, message["reason"], settled.phase)
    assert cancelled.ledger.bets
    assert cancelled.ledger.staked == cancelled.ledger.paid


def test_a_result_is_not_paid_out_of_sight(seat: Seat) -> None:
    """A result waits for its payment until the table is back: a correction may be on its way."""
    table = FakeTable()

    def lose() -> None:
        if phases(table) == ["result"]:
            away = table.clock.seconds < 300
            vars(table).update(connected=not away)
            if not away and len(table.told) == 8:
                table.tell("round_voided", table.told[-1].round, reason="misdeal", by="eva", was="complete")  # type: ignore[union-attr]  # all of them are events

    table.waits = lose
    seat.sit(table)
    ((voided, _),) = seat.ended
    assert Phase.VOIDED == voided.phase
    assert voided.ledger.bets
    assert voided.ledger.staked == voided.ledger.paid


def test_a_correction_after_the_settlement_is_alarmed(seat: Seat, caplog: pytest.LogCaptureFixture) -> None:
    """A void that comes after the payment changes no balance and is told as an alarm."""
    table = FakeTable()
    seat.sit(table)
    paid = seat.kept().state.balances
    name = seat.ended[0][0].id
    table.tell("round_voided", name, reason="misdeal", by="eva", was="complete")
    seat.bettors = None
    with Keeper(seat.path) as keeper:
        engine = seat.engine(table, keeper)
        table.waits = engine.stop
        engine.run()
    assert paid == seat.kept().state.balances
    assert any("alarm correction_after_settlement" in line for line in caplog.messages)


def test_a_table_that_deals_by_itself_is_followed(seat: Seat) -> None:
    """At a table that opens rounds by itself nothing is asked for: its opening ends the betting."""
    seat.pace = Pace(follow=True)
    table = FakeTable()

    def deal() -> None:
        if table.clock.seconds > 130 and not table.told:
            table.deal("tp-01/1")

    table.waits = deal
    seat.sit(table)
    ((settled, message),) = seat.ended
    assert [] == table.asked
    assert "tp-01/1" == message["round"]
    assert settled.ledger.bets


def test_events_that_are_gone_stop_the_round(seat: Seat, caplog: pytest.LogCaptureFixture) -> None:
    """Events that can't be had, and a new journal, are told; a round among them is not paid but waits for its void."""
    table = FakeTable(deals=False)

    def deal() -> None:
        if table.asked and not table.told:
            name = str(table.asked[0][1]["round"])
            table.tell("round_opened", name, game="teen-patti-20-20", plan=["A1", "B1", "A2", "B2", "A3", "B3"])
            table.seq += 2
            table.told.append(Missing("tp-01", JOURNAL, 2, 3, Position(JOURNAL, 3)))
            table.tell("card_accepted", name, slot="A2", card="AS")
            table.told.append(NewJournal("tp-01", "other", JOURNAL, Position("other", 0)))
            table.tell("round_voided", name, reason="lost", by="eva", was="held")

    table.waits = deal
    seat.sit(table)
    ((voided, _),) = seat.ended
    assert Phase.VOIDED == voided.phase
    assert any("events 2 to 3 of journal" in line for line in caplog.messages)
    assert any("new journal, other" in line for line in caplog.messages)
    assert any("alarm round_doubted" in line for line in caplog.messages)


def test_what_was_not_written_was_not_done(seat: Seat) -> None:
    """Where the disk takes no state, no command goes out and no result is shown."""
    table = FakeTable()
    with Keeper(seat.path) as keeper:
        engine = seat.engine(table, keeper)
        seat.path.with_name(f".{seat.path.name}.new").mkdir()
        with pytest.raises(StateNotWritten, match="can't be written"):
            engine.run(1)
    assert [] == table.asked
    assert [] == table.shown


def test_what_goes_out_is_in_the_file_already(seat: Seat) -> None:
    """Each command and each result stands in the file before anybody hears of it."""
    table, written = FakeTable(), list[bool]()
    seat.bettors = None

    def look(what: str) -> None:
        kept = json.loads(seat.path.read_bytes())
        written.append(what in {kept["result"], kept["state"]["round"]["command"]})

    table.goes_out = look
    seat.sit(table)
    assert [True] * 3 == written


def test_soak_with_crashes_adds_up(seat: Seat) -> None:
    """Over 60 rounds with a crash every 41 steps, balances are what was paid less what was staked."""
    table = FakeTable()
    while len(seat.ended) < 60:
        table.crash_at = table.steps + 41
        try:
            seat.sit(table, rounds=60 - len(seat.ended))
        except Crash:
            continue
    paid = {message["round"]: message for message in table.shown if message["state"] == "settled"}
    gains = [Decimal(str(one["paid"])) - Decimal(str(one["staked"])) for one in paid.values()]
    assert {fields["round"] for _, fields in table.asked} == paid.keys()
    assert sum(gains) == sum(seat.kept().state.balances.values())
