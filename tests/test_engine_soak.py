"""Many rounds with simulated bettors, and any order of inputs: the money always adds up."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teen_patti.ledger import Refusal
from teen_patti.messages import BetRefused, BetTaken, Fault, OpenRefused, Paid, SendOpen, VoidRound
from teen_patti.paytables import BetKind
from teen_patti.simulate import Bettors, Intent, shuffled
from teen_patti.state import Phase, from_json, to_json
from tests.engine_play import DEAL, T0, Play


def bet(play: Play, intents: list[Intent]) -> list[tuple[Refusal | None, Refusal | None]]:
    """Makes the bets; gives what each was to meet and what it met."""
    met: list[tuple[Refusal | None, Refusal | None]] = []
    for intent in intents:
        for effect in play.ask(intent.request):
            if isinstance(effect, BetTaken):
                met.append((intent.expected, None))
            if isinstance(effect, BetRefused):
                met.append((intent.expected, effect.reason))
    return met


def test_simulated_rounds_add_up() -> None:
    """Over many rounds every wrong bet meets the refusal it was made for, and what bettors hold is what was paid."""
    play = Play()
    bettors = Bettors(seed=20, count=8, wrong=0.2)
    met: list[tuple[Refusal | None, Refusal | None]] = []
    staked = paid = Decimal(0)
    for number in range(60):
        name = f"r-{number}"
        intents = bettors.intents(name, T0)
        play.open(name)
        met += bet(play, [intent for intent in intents if intent.expected is not Refusal.LATE])
        play.send()
        met += bet(play, [intent for intent in intents if intent.expected is Refusal.LATE])
        cards = shuffled(20, name)
        play.opened(name)
        play.cards(cards, name)
        play.completed(cards, name)
        play.settle()
        staked += play.round.ledger.staked
        paid += play.round.ledger.paid
    assert [expected for expected, _ in met] == [found for _, found in met]
    assert {None, *(expected for expected, _ in met)} == {None, *WRONG}
    assert paid - staked == sum(play.state.balances.values())
    assert play.alarms == []


WRONG = {
    Refusal.LATE,
    Refusal.UNKNOWN_BET,
    Refusal.ZERO,
    Refusal.NEGATIVE,
    Refusal.OVER_LIMIT,
    Refusal.ILL_SCALED,
}


def test_a_seed_gives_the_same_run() -> None:
    """The same seed gives the same bets and cards; another gives others."""
    assert Bettors(seed=1).intents("r-1", T0) == Bettors(seed=1).intents("r-1", T0)
    assert Bettors(seed=1).intents("r-1", T0) != Bettors(seed=2).intents("r-1", T0)
    assert shuffled(1, "r-1") == shuffled(1, "r-1")
    assert shuffled(1, "r-1") != shuffled(1, "r-2")


@given(st.integers(), st.text(max_size=5))
def test_shuffled_cards_are_six_different_ones(seed: int, name: str) -> None:
    """A shuffled round has six different cards."""
    assert len(set(shuffled(seed, name))) == 6


MOVES: dict[str, Callable[[Play], object]] = {
    "open": lambda play: play.open(f"r-{len(play.effects)}"),
    "bet": lambda play: play.bet("player_a", "100"),
    "bet b": lambda play: play.bet("player_b", "40", "ben"),
    "bonus": lambda play: play.bet("six_card_bonus", "5", "ben"),
    "close": lambda play: play.close(),
    "send": lambda play: play.ask(SendOpen(play.later(), "c-1")),
    "refused": lambda play: play.ask(OpenRefused(play.later(), "c-1", "offline")),
    "fault": lambda play: play.ask(Fault(play.later(), "video")),
    "void": lambda play: play.ask(VoidRound(play.later(), "c-2", "eva", "misdeal")),
    "settle": lambda play: play.settle(),
    "opened": lambda play: play.opened(play.round.id),
    "auto": lambda play: play.opened(f"tp-01/{play.seq}", by="auto"),
    "card": lambda play: play.cards(DEAL[len(play.round.cards) :][:1], table_name(play)),
    "cards": lambda play: play.cards(DEAL[len(play.round.cards) :], table_name(play)),
    "withdraw": lambda play: play.withdraw("A1", "AS", table_name(play)),
    "held": lambda play: play.event("round_held", {}, table_name(play)),
    "released": lambda play: play.event("round_released", {}, table_name(play)),
    "completed": lambda play: play.completed(name=table_name(play)),
    "voided": lambda play: play.voided(name=table_name(play)),
    "gap": lambda play: setattr(play, "seq", play.seq + 1),
    "journal": lambda play: setattr(play, "journal", f"{play.seq}"),
    "restart": lambda play: play.restart(),
}


def table_name(play: Play) -> str:
    """What the table calls the round in play."""
    return play.round.table_round or play.round.id


COURSE = ["open", "bet", "bonus", "close", "send", "opened", "cards", "completed", "settle"]
moves = st.lists(st.sampled_from(sorted(MOVES)), max_size=12)
courses = st.tuples(st.integers(0, len(COURSE)), moves).map(lambda some: [*COURSE[: some[0]], *some[1]])


@given(courses)
def test_money_only_moves_with_its_reason(course: list[str]) -> None:
    """Whatever happens in whatever order, balances are the payments told less the stakes taken, each counted once."""
    play = Play()
    staked: dict[tuple[str, str, str], Decimal] = {}
    paid: list[tuple[str, str, str]] = []
    back = Decimal(0)
    for move in course:
        done = len(play.effects)
        MOVES[move](play)
        for effect in play.effects[done:]:
            if isinstance(effect, BetTaken):
                staked[play.round.id, effect.bet.bettor, effect.bet.id] = effect.bet.stake
            if isinstance(effect, Paid):
                paid += [(effect.round, one.bettor, one.bet) for one in effect.payments]
                back += sum((one.back for one in effect.payments), Decimal(0))
        assert back - sum(staked.values()) == sum(play.state.balances.values())
    assert len(set(paid)) == len(paid)
    assert set(paid) <= staked.keys()


@given(courses)
def test_cancelled_and_voided_rounds_cost_nobody(course: list[str]) -> None:
    """Whenever a round ends without settlement, every bet on it has come back in full."""
    play = Play()
    for move in course:
        MOVES[move](play)
        ledger = play.round.ledger
        if play.phase() in {Phase.CANCELLED, Phase.VOIDED}:
            assert ledger.staked == ledger.paid


@given(moves)
def test_a_settled_round_stays_settled(course: list[str]) -> None:
    """After a settlement no balance changes, whatever comes, as long as no new bet is made."""
    play = Play()
    for move in COURSE:
        MOVES[move](play)
    balances = play.state.balances
    assert play.phase() is Phase.SETTLED
    for move in course:
        if not move.startswith("b"):
            MOVES[move](play)
        assert balances == play.state.balances


@given(courses)
def test_the_state_survives_every_restart(course: list[str]) -> None:
    """Whatever happened, the state that is written down is read back equal."""
    play = Play()
    for move in course:
        MOVES[move](play)
    assert play.state == from_json(to_json(play.state))


@pytest.mark.parametrize("kind", BetKind)
def test_every_bet_is_bet_on(kind: BetKind) -> None:
    """Simulated bettors make every kind of bet."""
    assert kind in {intent.request.kind for intent in Bettors(seed=1).intents("r-1", T0)}
