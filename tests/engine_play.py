"""A table and an engine to play rounds with in tests: events go in as the bytes that the contract writes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from teen_patti.bets import BetRequest, Limits
from teen_patti.ledger import Ledger
from teen_patti.messages import (
    Alarm,
    BetRefused,
    CloseBetting,
    Effect,
    Input,
    OpenBetting,
    SendOpen,
    SettleNow,
)
from teen_patti.round import step
from teen_patti.state import GAME, PLAN, Phase, Round, State, from_json, to_json
from teen_patti.table_events import TableEvent, read_event

T0 = datetime(2026, 11, 30, 2, 45, tzinfo=UTC)
JOURNAL = "6f0c0000-0000-4000-8000-000000000000"
DEAL = ("AS", "KH", "AD", "KD", "2C", "3C")
"""A1 B1 A2 B2 A3 B3: Player A has a pair of aces, Player B a pair of kings."""


class Play:
    """An engine at a table; each input comes a second after the one before."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.state = State("tp-01")
        self.at = T0
        self.seq = 0
        self.journal = JOURNAL
        self.effects: list[Effect] = []

    @property
    def round(self) -> Round:
        """The round in play."""
        return self.state.round or Round("none", Phase.CANCELLED, T0, Ledger("none"))

    def phase(self) -> Phase:
        """Where the round in play stands."""
        return self.round.phase

    @property
    def alarms(self) -> list[str]:
        """The codes of all alarms so far."""
        return [effect.code for effect in self.effects if isinstance(effect, Alarm)]

    def ask(self, asked: Input) -> tuple[Effect, ...]:
        """Puts in anything; gives the effects of it."""
        self.state, effects = step(self.state, asked, self.limits)
        self.effects.extend(effects)
        return effects

    def restart(self) -> None:
        """The engine forgets all but what it wrote down."""
        self.state = from_json(to_json(self.state))

    def later(self) -> datetime:
        """The time, a second later."""
        self.at += timedelta(seconds=1)
        return self.at

    def bet(self, kind: str, stake: str, bettor: str = "ana", name: str | None = None) -> str | None:
        """Bets on the round in play; gives the refusal, or None."""
        request = BetRequest(self.later(), name or f"{bettor}-{kind}", self.round.id, bettor, kind, Decimal(stake))
        refused = [effect.reason.value for effect in self.ask(request) if isinstance(effect, BetRefused)]
        return refused[0] if refused else None

    def open(self, name: str = "r-1") -> None:
        """Opens the betting on a new round."""
        self.ask(OpenBetting(self.later(), name))

    def close(self) -> None:
        """Closes the betting."""
        self.ask(CloseBetting(self.later()))

    def send(self) -> None:
        """Closes the betting and sends `open`."""
        self.close()
        self.ask(SendOpen(self.later(), f"c-{self.round.id}"))

    def settle(self) -> tuple[Effect, ...]:
        """Settles the round in play."""
        return self.ask(SettleNow(self.later(), self.round.id))

    def make(self, kind: str, data: Mapping[str, object], name: str | None = "r-1") -> TableEvent:
        """The next event of the table, not yet put in."""
        self.seq += 1
        return self.read(self.seq, kind, data, name)

    def read(self, seq: int, kind: str, data: Mapping[str, object], name: str | None = "r-1") -> TableEvent:
        """An event with a number of one's choice."""
        envelope = {
            "contract": "1.0",
            "table": "tp-01",
            "journal": self.journal,
            "seq": seq,
            "type": kind,
            "round": name,
            "at": self.later().isoformat(),
            "data": data,
        }
        event = read_event(json.dumps(envelope))
        assert isinstance(event, TableEvent)
        return event

    def event(self, kind: str, data: Mapping[str, object], name: str | None = "r-1") -> tuple[Effect, ...]:
        """The table tells its next event."""
        return self.ask(self.make(kind, data, name))

    def opened(self, name: str = "r-1", /, **changed: object) -> tuple[Effect, ...]:
        """The table tells that it opened the round."""
        return self.event("round_opened", {"game": GAME, "plan": list(PLAN), "by": "engine"} | changed, name)

    def cards(self, cards: Sequence[str] = DEAL, name: str = "r-1") -> None:
        """The table tells of cards accepted, in the order of the plan from the first empty slot."""
        empty = [slot for slot in PLAN if slot not in self.round.cards]
        for slot, card in zip(empty, cards, strict=False):
            self.event("card_accepted", {"slot": slot, "hand": slot[0], "index": int(slot[1]), "card": card}, name)

    def withdraw(self, slot: str, card: str, name: str = "r-1") -> tuple[Effect, ...]:
        """The table tells that a card was taken back."""
        return self.event("card_withdrawn", {"slot": slot, "card": card, "reason": "rescan", "by": "eva"}, name)

    def completed(self, cards: Sequence[str] = DEAL, name: str = "r-1") -> tuple[Effect, ...]:
        """The table tells that all cards are dealt."""
        hands = {"A": list(cards[0::2]), "B": list(cards[1::2])}
        return self.event("round_completed", {"cards": hands, "dealt": list(cards)}, name)

    def voided(self, was: str = "dealing", name: str = "r-1") -> tuple[Effect, ...]:
        """The table tells that the round does not count."""
        return self.event("round_voided", {"reason": "misdeal", "by": "eva", "was": was}, name)

    def dealt(self) -> None:
        """From the open betting to the result."""
        self.send()
        self.opened()
        self.cards()
        self.completed()


def balance(play: Play, bettor: str = "ana") -> str:
    """A bettor's balance, as text."""
    return str(play.state.balances.get(bettor, Decimal("0.00")))
