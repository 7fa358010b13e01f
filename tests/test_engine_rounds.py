"""The life of a round: from the open betting to the settlement, and every way it can stop before."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import pytest

from teen_patti.bets import BetRequest
from teen_patti.messages import (
    BetTaken,
    CloseBetting,
    Fault,
    InputRefused,
    OpenBetting,
    OpenRefused,
    Paid,
    RoundChanged,
    SendOpen,
    SettleNow,
    TellTable,
    VoidRound,
)
from teen_patti.moves import pay_out
from teen_patti.results import result
from teen_patti.round import resume
from teen_patti.state import REMEMBERED, Phase, from_json, to_json
from teen_patti.table_events import Unreadable
from tests.engine_play import DEAL, T0, Play, balance


@pytest.fixture
def play() -> Play:
    """A table at which ana has 100 on Player A, with the betting still open."""
    table = Play()
    table.open()
    assert table.bet("player_a", "100") is None
    return table


# --- a round as it should be ----------------------------------------------------------------------------------


def test_a_round_goes_from_betting_to_settlement(play: Play) -> None:
    """A round passes its phases in order and pays the winner."""
    phases = [play.phase()]
    for go_on in (play.close, lambda: play.ask(SendOpen(play.later(), "c-1")), play.opened, play.cards):
        go_on()
        phases.append(play.phase())
    play.completed()
    phases.append(play.phase())
    play.settle()
    assert [*phases, play.phase()] == [
        Phase.BETTING_OPEN,
        Phase.BETTING_CLOSED,
        Phase.OPEN_SENT,
        Phase.DEALING,
        Phase.DEALING,
        Phase.RESULT,
        Phase.SETTLED,
    ]
    assert balance(play) == "95.00"


def test_open_names_the_round(play: Play) -> None:
    """The command that asks the table to deal carries the engine's id of the round."""
    play.close()
    told = play.ask(SendOpen(play.later(), "c-1"))
    assert TellTable("open", "c-1", {"round": "r-1"}) in told


def test_the_stake_is_off_the_balance_at_once(play: Play) -> None:
    """A bet that was taken is off the balance, and a repeated one is taken off once."""
    play.bet("player_a", "100")
    assert balance(play) == "-100.00"
    assert len([effect for effect in play.effects if isinstance(effect, BetTaken)]) == 2


def test_nothing_is_paid_before_the_settlement(play: Play) -> None:
    """The result alone pays nothing."""
    play.dealt()
    assert balance(play) == "-100.00"


@pytest.mark.parametrize("phase", ["closed", "sent", "dealing", "result", "settled"])
def test_no_bet_is_taken_once_the_betting_is_closed(play: Play, phase: str) -> None:
    """From the closing on every new bet is late."""
    play.close()
    if phase != "closed":
        play.ask(SendOpen(play.later(), "c-1"))
    if phase not in {"closed", "sent"}:
        play.opened()
    if phase in {"result", "settled"}:
        play.cards()
        play.completed()
    if phase == "settled":
        play.settle()
    assert play.bet("player_b", "100", "ben") == "late"


def test_a_bet_without_a_round_is_refused() -> None:
    """Before the first round every bet is on an unknown one."""
    assert Play().bet("player_a", "100") == "unknown_round"


# --- settled once ---------------------------------------------------------------------------------------------


def test_settling_twice_pays_once(play: Play) -> None:
    """A settled round asked to settle again says so and pays nothing."""
    play.dealt()
    play.settle()
    assert (InputRefused("SettleNow", "no_result"),) == play.settle()
    assert balance(play) == "95.00"


def test_without_a_result_nothing_is_paid(play: Play) -> None:
    """A round that has no result is paid by no move."""
    assert (play.state, ()) == pay_out(play.state, play.round, T0)


def test_a_settled_round_is_not_moved_again(play: Play) -> None:
    """A round that is settled is left as it is by another settlement, its time included."""
    play.dealt()
    play.settle()
    assert (play.state, ()) == pay_out(play.state, play.round, T0)


def test_another_round_is_not_settled_by_mistake(play: Play) -> None:
    """A settlement that names another round changes nothing."""
    play.dealt()
    play.ask(SettleNow(play.later(), "r-0"))
    assert play.phase() is Phase.RESULT


def test_a_repeated_event_changes_nothing(play: Play) -> None:
    """An event with a number that was seen does nothing, before the settlement and after."""
    play.send()
    play.opened()
    play.cards()
    completed = play.make("round_completed", {"cards": {"A": DEAL[0::2], "B": DEAL[1::2]}})
    play.ask(completed)
    assert play.ask(completed) == ()
    play.settle()
    before = play.state
    assert play.ask(completed) == ()
    assert before == play.state


@pytest.mark.parametrize("stop", range(9))
def test_a_restart_pays_neither_twice_nor_less(stop: int) -> None:
    """Wherever the engine restarts in a round, and all events come again, the round is paid once."""
    play = Play()
    events = []

    def told(kind: str, data: dict[str, object]) -> None:
        events.append(play.make(kind, data))
        play.ask(events[-1])

    play.open()
    play.bet("player_a", "100")
    play.send()
    told("round_opened", {"game": "teen-patti-20-20", "plan": ["A1", "B1", "A2", "B2", "A3", "B3"]})
    for slot, card in zip(("A1", "B1", "A2", "B2", "A3", "B3"), DEAL, strict=True):
        if len(events) == stop:
            play.restart()
        told("card_accepted", {"slot": slot, "card": card})
    told("round_completed", {"cards": {"A": DEAL[0::2], "B": DEAL[1::2]}})
    play.settle()
    play.restart()
    for event in events:
        play.ask(event)
    play.settle()
    assert balance(play) == "95.00"


def test_a_restart_asks_for_the_deal_again(play: Play) -> None:
    """After a restart the same `open` is sent again, with the same id, as long as it is not answered."""
    play.send()
    play.restart()
    assert TellTable("open", "c-r-1", {"round": "r-1"}) in resume(play.state)
    play.opened()
    assert resume(play.state) == (RoundChanged("r-1"),)


def test_there_is_nothing_to_resume_before_the_first_round() -> None:
    """An engine that played no round has nothing to do again."""
    assert resume(Play().state) == ()


def test_the_state_comes_back_from_json(play: Play) -> None:
    """What was written is read back equal, amounts decimal."""
    play.dealt()
    play.settle()
    assert play.state == from_json(to_json(play.state))
    assert '"95.00"' in to_json(play.state)


def test_a_file_that_is_no_state_is_refused() -> None:
    """A text that is no state raises, so that nobody starts with a wrong one."""
    with pytest.raises(ValueError, match="table"):
        from_json("{}")


# --- corrections ----------------------------------------------------------------------------------------------


def test_a_withdrawn_card_does_not_count(play: Play) -> None:
    """A card that was withdrawn is replaced by the next one for its slot."""
    play.send()
    play.opened()
    play.cards(["2S"])
    play.withdraw("A1", "2S")
    play.cards()
    play.completed()
    play.settle()
    assert balance(play) == "95.00"


def test_cards_withdrawn_while_held_are_dealt_again(play: Play) -> None:
    """While the table holds the round cards may be withdrawn; after the release they are dealt again."""
    play.send()
    play.opened()
    play.cards(["2S", "KH"])
    play.event("round_held", {"reason": "rescan_limit"})
    assert play.phase() is Phase.PAUSED
    assert play.round.reason == "rescan_limit"
    play.withdraw("A1", "2S")
    assert play.phase() is Phase.PAUSED
    play.event("round_released", {"by": "eva"})
    play.cards(["AS", "AD", "KD", "2C", "3C"])
    play.completed()
    assert play.phase() is Phase.RESULT


def test_a_withdrawal_takes_the_result_back(play: Play) -> None:
    """A card withdrawn from a result that is not settled leads back to the deal."""
    play.dealt()
    play.withdraw("B3", "3C")
    assert play.phase() is Phase.DEALING
    assert play.round.outcome is None
    play.cards(["KS"])
    play.completed(("AS", "KH", "AD", "KD", "2C", "KS"))
    play.settle()
    assert balance(play) == "-100.00"


@pytest.mark.parametrize("was", ["dealing", "held", "complete"])
def test_a_void_before_settlement_returns_all_bets(play: Play, was: str) -> None:
    """Voided while dealt, held or complete, the round returns every bet."""
    play.send()
    play.opened()
    play.cards()
    if was == "held":
        play.event("round_held", {"reason": "hold"})
    if was == "complete":
        play.completed()
    play.voided(was)
    assert play.phase() is Phase.VOIDED
    assert balance(play) == "0.00"
    assert play.alarms == []


def test_a_void_is_not_undone_by_a_settlement(play: Play) -> None:
    """A voided round can't be settled any more."""
    play.dealt()
    play.voided("complete")
    play.settle()
    assert balance(play) == "0.00"


def test_a_void_after_settlement_is_refused_and_alarmed(play: Play) -> None:
    """A reversal after the settlement changes nothing that was paid and calls for people."""
    play.dealt()
    play.settle()
    play.voided("complete")
    assert play.phase() is Phase.SETTLED
    assert balance(play) == "95.00"
    assert play.alarms == ["correction_after_settlement"]


def test_a_withdrawal_after_settlement_is_refused_and_alarmed(play: Play) -> None:
    """A card withdrawn after the settlement changes nothing and calls for people."""
    play.dealt()
    play.settle()
    play.withdraw("A1", "AS")
    assert balance(play) == "95.00"
    assert play.alarms == ["correction_after_settlement"]


def test_a_reversal_during_the_next_betting_is_alarmed(play: Play) -> None:
    """A reversal of the settled round is alarmed also when bets are taken on the next one, which it leaves alone."""
    play.dealt()
    play.settle()
    play.open("r-2")
    play.bet("player_b", "50")
    play.voided("complete")
    assert play.alarms == ["correction_after_settlement"]
    assert play.phase() is Phase.BETTING_OPEN
    assert balance(play) == "45.00"


def test_late_events_of_ended_rounds_are_nothing_else(play: Play) -> None:
    """What comes after the end of a round, corrections aside, neither alarms nor changes anything."""
    play.dealt()
    play.settle()
    play.event("round_held", {"reason": "hold"})
    play.open("r-2")
    play.event("round_released", {})
    assert play.alarms == []
    assert play.phase() is Phase.BETTING_OPEN


# --- faults and cancelling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["network", "video"])
@pytest.mark.parametrize("closed", [False, True])
def test_a_fault_before_the_deal_cancels(play: Play, what: str, *, closed: bool) -> None:
    """Network or video lost before the round has begun: it is cancelled and all bets are returned."""
    if closed:
        play.close()
    play.ask(Fault(play.later(), "network" if what == "network" else "video"))
    assert (Phase.CANCELLED, what) == (play.phase(), play.round.reason)
    assert balance(play) == "0.00"


@pytest.mark.parametrize("dealing", [False, True])
def test_a_fault_during_the_deal_changes_nothing(play: Play, *, dealing: bool) -> None:
    """Network lost once `open` was sent: the round goes on to its end and is paid when its cards come."""
    play.send()
    if dealing:
        play.opened()
    play.ask(Fault(play.later(), "network"))
    if not dealing:
        play.opened()
    play.cards()
    play.completed()
    play.settle()
    assert balance(play) == "95.00"


def test_a_refused_open_cancels(play: Play) -> None:
    """When the table refuses to deal, the round is cancelled with its reason and all bets are returned."""
    play.send()
    play.ask(OpenRefused(play.later(), "c-r-1", "offline"))
    assert (play.phase(), play.round.reason) == (Phase.CANCELLED, "offline")
    assert balance(play) == "0.00"


def test_a_refusal_of_another_command_changes_nothing(play: Play) -> None:
    """A late refusal that belongs to another command, or comes when the cards do, is not listened to."""
    play.send()
    play.ask(OpenRefused(play.later(), "c-0", "offline"))
    assert play.phase() is Phase.OPEN_SENT
    play.opened()
    play.ask(OpenRefused(play.later(), "c-r-1", "offline"))
    assert play.phase() is Phase.DEALING


def test_a_round_opened_after_its_cancelling_has_no_bets(play: Play) -> None:
    """A table that deals a cancelled round all the same is followed without bets, and alarmed."""
    play.send()
    play.ask(OpenRefused(play.later(), "c-r-1", "expired"))
    play.opened()
    play.cards()
    play.completed()
    play.settle()
    assert play.alarms == ["opened_after_cancel"]
    assert balance(play) == "0.00"


# --- what the supervisor does at the engine -------------------------------------------------------------------


def void(play: Play) -> VoidRound:
    """The supervisor voids the round in play."""
    return VoidRound(play.later(), "c-9", "eva", "misdeal")


def test_the_supervisor_voids_at_the_engine(play: Play) -> None:
    """A round voided at the engine returns all bets and has the table told; its confirmation does nothing more."""
    play.send()
    play.opened()
    told = play.ask(void(play))
    assert TellTable("void", "c-9", {"by": "eva", "reason": "misdeal"}) in told
    play.voided()
    assert play.phase() is Phase.VOIDED
    assert balance(play) == "0.00"
    assert play.alarms == []


def test_a_void_before_the_deal_tells_no_table(play: Play) -> None:
    """Voided before the deal the round is cancelled, and voided before the table opened it no command is sent."""
    play.ask(void(play))
    assert play.phase() is Phase.CANCELLED
    play.open("r-2")
    play.send()
    told = play.ask(void(play))
    assert play.phase() is Phase.VOIDED
    assert [effect for effect in told if isinstance(effect, TellTable)] == []


def test_a_void_never_hits_another_round(play: Play) -> None:
    """When the table has gone on to another round, no `void` is sent, since it would void that one."""
    play.send()
    play.opened()
    play.opened("tp-01/9", by="auto")
    told = play.ask(void(play))
    assert play.phase() is Phase.VOIDED
    assert [effect for effect in told if isinstance(effect, TellTable)] == []


def test_the_supervisor_can_not_void_what_is_paid(play: Play) -> None:
    """A void at the engine after the settlement is refused and alarmed."""
    play.dealt()
    play.settle()
    told = play.ask(void(play))
    assert InputRefused("VoidRound", "settled") in told
    assert play.alarms == ["correction_after_settlement"]
    assert balance(play) == "95.00"


def test_a_round_that_ended_without_pay_can_not_be_voided_again(play: Play) -> None:
    """A round that was cancelled can't be voided."""
    play.ask(void(play))
    assert (InputRefused("VoidRound", "no_round"),) == play.ask(void(play))


# --- doubt ----------------------------------------------------------------------------------------------------


def dealing(play: Play) -> None:
    """The first two cards are dealt."""
    play.send()
    play.opened()
    play.cards(["AS", "KH"])


def doubted(play: Play) -> bool:
    """Whether the round is paused for doubt and no event but a void can move it."""
    play.event("round_released", {})
    play.completed()
    play.settle()
    return play.phase() is Phase.PAUSED and play.round.doubt is not None and balance(play) == "-100.00"


@pytest.mark.parametrize(
    ("slot", "card"),
    [("A2", "AS"), ("A2", "ZZ"), ("B2", "QD"), ("A1", "QD"), ("C1", "QD")],
)
def test_a_card_that_can_not_lie_there_pauses_the_round(play: Play, slot: str, card: str) -> None:
    """A card twice, of no deck, or not in the due slot makes the engine doubt the round."""
    dealing(play)
    play.event("card_accepted", {"slot": slot, "card": card})
    assert doubted(play)
    assert play.alarms == ["round_doubted"]


def test_a_card_withdrawn_from_elsewhere_pauses_the_round(play: Play) -> None:
    """A withdrawal of a card that did not lie there makes the engine doubt the round."""
    dealing(play)
    play.withdraw("A1", "KH")
    assert doubted(play)


@pytest.mark.parametrize("cards", [DEAL[:2], ("AS", "KH", "AD", "KD", "2C", "4C")])
def test_a_completion_with_other_cards_pauses_the_round(play: Play, cards: tuple[str, ...]) -> None:
    """A completion with other cards than those accepted makes the engine doubt the round."""
    dealing(play)
    if len(cards) == len(DEAL):
        play.cards(DEAL[2:])
    play.completed(cards)
    assert doubted(play)


def test_a_gap_pauses_the_round(play: Play) -> None:
    """Missing events in a round that is dealt are alarmed, and the round is paused: one may have been a void."""
    dealing(play)
    play.seq += 1
    play.event("card_accepted", {"slot": "A2", "card": "AD"})
    assert play.alarms == ["gap", "round_doubted"]
    assert doubted(play)


def test_a_gap_during_the_betting_is_alarmed_only(play: Play) -> None:
    """Missing events before the deal are alarmed, and the round goes on."""
    play.event("scanner_up", {"scanner": "shoe"}, None)
    play.seq += 3
    play.event("scanner_up", {"scanner": "shoe"}, None)
    assert play.alarms == ["gap"]
    assert play.phase() is Phase.BETTING_OPEN


def test_an_opening_lost_in_a_gap_shows_at_the_next_card(play: Play) -> None:
    """A card of a round whose opening was never seen makes the engine doubt it."""
    play.send()
    play.event("card_accepted", {"slot": "A1", "card": "AS"})
    assert doubted(play)


def test_a_damaged_event_pauses_the_round(play: Play) -> None:
    """An event that can't be read is alarmed, and the round it may concern is paused."""
    dealing(play)
    play.event("card_accepted", {"slot": "A2"})
    assert play.alarms == ["unreadable_event", "round_doubted"]
    assert doubted(play)


def test_a_damaged_opening_pauses_the_round(play: Play) -> None:
    """An opening of the round asked for that can't be read pauses it; the void ends it."""
    play.send()
    play.event("round_opened", {"plan": 3})
    assert doubted(play)
    play.voided()
    assert balance(play) == "0.00"


def test_a_message_that_is_no_event_is_alarmed(play: Play) -> None:
    """A message that is no event at all is alarmed and changes nothing."""
    before = play.state
    play.ask(Unreadable("not JSON"))
    assert play.alarms == ["unreadable_event"]
    assert before == play.state


def test_a_new_journal_pauses_the_round(play: Play) -> None:
    """A table that comes back with another journal does not know the round: it is paused, and alarmed once."""
    dealing(play)
    play.journal = "another"
    play.event("scanner_up", {"scanner": "shoe"}, None)
    play.event("scanner_up", {"scanner": "shoe"}, None)
    assert play.alarms == ["journal_changed", "round_doubted"]
    assert doubted(play)
    told = play.ask(void(play))
    assert [effect for effect in told if isinstance(effect, TellTable)] == []
    assert balance(play) == "0.00"


@pytest.mark.parametrize("changed", [{"game": "dragon-tiger"}, {"plan": ["A1", "A2", "A3", "B1", "B2", "B3"]}])
def test_another_game_pauses_the_round(play: Play, changed: dict[str, object]) -> None:
    """A table that deals another game, or in another order, makes the engine doubt the round."""
    play.send()
    play.opened(**changed)
    assert doubted(play)


def test_an_event_out_of_phase_pauses_the_round(play: Play) -> None:
    """A release of a round that was not held can't be, so the engine doubts the round."""
    dealing(play)
    play.event("round_released", {})
    assert doubted(play)


def test_another_table_is_not_listened_to(play: Play) -> None:
    """An event of another table is alarmed and changes nothing."""
    play.state = from_json(to_json(play.state).replace("tp-01", "tp-02"))
    before = play.state
    play.opened()
    assert play.alarms == ["wrong_table"]
    assert before == play.state


def test_events_that_change_no_round_are_let_through(play: Play) -> None:
    """Refused reads, notices and types of a later contract change nothing."""
    dealing(play)
    play.event("scan_rejected", {"reason": "no_read", "slot": "A2"})
    play.event("something_new", {"a": 1})
    assert play.phase() is Phase.DEALING
    assert play.alarms == []


# --- tables that open by themselves ---------------------------------------------------------------------------


def test_an_opening_at_the_first_card_closes_the_betting(play: Play) -> None:
    """A round opened by its first card is the one bets are on, and is paid under the table's own name for it."""
    play.opened("tp-01/57", by="auto")
    assert play.bet("player_b", "100", "ben") == "late"
    play.cards(name="tp-01/57")
    play.completed(name="tp-01/57")
    play.settle()
    assert balance(play) == "95.00"
    assert (result(play.state) or {})["round"] == "tp-01/57"


def test_bets_made_after_the_first_card_are_given_back(play: Play) -> None:
    """A bet that came after the first card lay on the table, but before the engine knew, is given back."""
    opening = play.make("round_opened", {"game": "teen-patti-20-20", "plan": ["A1", "B1", "A2", "B2", "A3", "B3"]})
    assert play.bet("player_b", "500", "ben") is None
    told = play.ask(opening)
    assert balance(play, "ben") == "0.00"
    assert balance(play) == "-100.00"
    assert [[one.bet for one in paid.payments] for paid in told if isinstance(paid, Paid)] == [["ben-player_b"]]
    assert [bet.id for bet in play.round.ledger.bets] == ["ana-player_a"]


def test_a_bet_made_at_the_very_time_of_the_opening_is_given_back(play: Play) -> None:
    """A bet of the same microsecond as the opening is late."""
    opening = play.make("round_opened", {"game": "teen-patti-20-20", "plan": ["A1", "B1", "A2", "B2", "A3", "B3"]})
    play.ask(BetRequest(opening.at, "b-1", "r-1", "ben", "player_b", Decimal(500)))
    assert balance(play, "ben") == "-500.00"
    play.ask(opening)
    assert balance(play, "ben") == "0.00"


def test_a_round_without_betting_is_followed() -> None:
    """A round that nobody could bet on is followed to its result."""
    play = Play()
    play.opened("tp-01/1", by="auto")
    play.cards(name="tp-01/1")
    play.completed(name="tp-01/1")
    assert (result(play.state) or {})["winner"] == "A"


def test_the_next_opening_settles_a_result(play: Play) -> None:
    """When the table opens the next round, the last result can't be corrected any more and is settled."""
    play.dealt()
    play.opened("tp-01/58", by="auto")
    assert balance(play) == "95.00"
    assert (play.phase(), play.round.id) == (Phase.DEALING, "tp-01/58")


def test_a_round_opened_by_another_is_not_ours(play: Play) -> None:
    """While ours is asked for, another round at the table is alarmed; ours is cancelled when it is refused."""
    play.send()
    play.opened("tp-01/3", by="auto")
    play.cards(name="tp-01/3")
    assert play.phase() is Phase.OPEN_SENT
    play.ask(OpenRefused(play.later(), "c-r-1", "round_in_progress"))
    assert balance(play) == "0.00"
    assert play.alarms == ["foreign_round"]


def test_another_round_during_ours_pauses_it(play: Play) -> None:
    """A table that opens another round while ours is dealt makes the engine doubt ours."""
    dealing(play)
    play.opened("tp-01/3", by="auto")
    assert play.alarms == ["foreign_round", "round_doubted"]
    assert play.phase() is Phase.PAUSED


# --- what can't be asked --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["", "a" * 65, "r 1", "tp-01/7", "rñ", "r\n"])
def test_a_round_id_keeps_the_contracts_rule(name: str) -> None:
    """An id that the table would refuse is refused before any bet is taken."""
    play = Play()
    assert (InputRefused("OpenBetting", "bad_round_id"),) == play.ask(OpenBetting(T0, name))


def test_one_round_at_a_time(play: Play) -> None:
    """Betting on a new round can't open before the last has ended, nor under an id that was used."""
    assert (InputRefused("OpenBetting", "round_in_progress"),) == play.ask(OpenBetting(T0, "r-2"))
    play.ask(Fault(play.later(), "video"))
    assert (InputRefused("OpenBetting", "round_id_used"),) == play.ask(OpenBetting(T0, "r-1"))


def test_an_adopted_rounds_own_id_is_used_up(play: Play) -> None:
    """A round that the table named otherwise uses up both names."""
    play.opened("tp-01/57", by="auto")
    play.voided(name="tp-01/57")
    play.open("r-2")
    play.ask(Fault(play.later(), "video"))
    assert (InputRefused("OpenBetting", "round_id_used"),) == play.ask(OpenBetting(T0, "r-1"))


def test_steps_out_of_turn_are_refused(play: Play) -> None:
    """The table is asked only after the closing, and the betting closes once."""
    assert (InputRefused("SendOpen", "not_closed"),) == play.ask(SendOpen(T0, "c-1"))
    play.close()
    assert (InputRefused("CloseBetting", "not_betting"),) == play.ask(CloseBetting(T0))


def test_without_a_round_nothing_can_be_asked_of_it() -> None:
    """Before the first round what concerns one is refused."""
    assert (InputRefused("CloseBetting", "no_round"),) == Play().ask(CloseBetting(T0))


def test_old_rounds_are_forgotten_in_the_end() -> None:
    """Only so many ended rounds are remembered, so that the state does not grow for ever."""
    play = Play()
    for number in range(REMEMBERED + 5):
        play.open(f"r-{number}")
        play.ask(Fault(play.later(), "video"))
    assert len(play.state.ended) == REMEMBERED
    assert "r-0" not in play.state.ended


# --- the published result -------------------------------------------------------------------------------------


def test_the_result_tells_cards_hands_winner_and_pays(play: Play) -> None:
    """The result has the cards, the hands, the winner, the best five and what each bet pays."""
    play.dealt()
    play.settle()
    told = result(play.state) or {}
    assert {
        "state": "settled",
        "round": "r-1",
        "cards": {"A": ["AS", "AD", "2C"], "B": ["KH", "KD", "3C"]},
        "hands": {"A": "pair", "B": "pair"},
        "winner": "A",
        "six_cards": None,
        "staked": "100.00",
        "paid": "195.00",
    }.items() <= told.items()
    assert told["pays"] == {
        "player_a": {"verdict": "won", "to_one": "0.95"},
        "player_b": {"verdict": "lost", "to_one": None},
        "tie": {"verdict": "lost", "to_one": None},
        "pair_plus_a": {"verdict": "won", "to_one": "1"},
        "pair_plus_b": {"verdict": "won", "to_one": "1"},
        "six_card_bonus": {"verdict": "lost", "to_one": None},
    }


def told(cards: tuple[str, ...]) -> Mapping[str, object]:
    """The result of a round with these cards."""
    play = Play()
    play.opened()
    play.cards(cards)
    play.completed(cards)
    return result(play.state) or {}


def test_a_tie_is_told_as_one() -> None:
    """On a tie the result says that the main bets are returned and the tie is paid."""
    tie = told(("AS", "AH", "KH", "KD", "9S", "9D"))
    pays = tie["pays"]
    assert tie["winner"] == "tie"
    assert isinstance(pays, dict)
    assert {"verdict": "returned", "to_one": "0"} == pays["player_a"] == pays["player_b"]
    assert pays["tie"] == {"verdict": "won", "to_one": "50"}


def test_the_best_five_are_told() -> None:
    """Where the six cards pay the bonus, the result tells the hand and its five cards."""
    expected = {"hand": "full_house", "cards": ["AS", "KH", "AH", "KD", "AD"]}
    assert expected == told(("AS", "AH", "KH", "KD", "2S", "AD"))["six_cards"]


def test_a_round_without_result_tells_only_its_end(play: Play) -> None:
    """Before the result nothing is told; a voided round tells that it is, with no winner."""
    assert result(play.state) is None
    assert result(Play().state) is None
    play.send()
    play.opened()
    play.cards(["AS"])
    assert result(play.state) is None
    play.voided()
    told = result(play.state) or {}
    assert {
        "state": "voided",
        "reason": "misdeal",
        "winner": None,
        "pays": None,
        "paid": "100.00",
    }.items() <= told.items()


def test_amounts_stay_decimal(play: Play) -> None:
    """Every balance is a Decimal in hundredths."""
    play.dealt()
    play.settle()
    assert {bettor: type(amount) for bettor, amount in play.state.balances.items()} == {"ana": Decimal}
