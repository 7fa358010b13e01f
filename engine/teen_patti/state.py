"""The engine's state: the round in play, every bettor's balance, and what was already seen.

One JSON text holds all of it. The shell writes that before it carries out any effect: a restart then pays nothing
twice, since balances, payments and the numbers of the events they came from are written together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final

from pydantic import TypeAdapter

from teen_patti.cards import Card
from teen_patti.ledger import Ledger
from teen_patti.outcome import Outcome, outcome_of

GAME: Final = "teen-patti-20-20"
PLAN: Final = ("A1", "B1", "A2", "B2", "A3", "B3")
"""The slots in the order of the deal."""

REMEMBERED: Final = 1000
"""Ended rounds kept, so that a late correction of one is known for what it is."""


class Phase(StrEnum):
    """Where a round stands."""

    BETTING_OPEN = "betting_open"
    BETTING_CLOSED = "betting_closed"
    OPEN_SENT = "open_sent"
    DEALING = "dealing"
    PAUSED = "paused"
    RESULT = "result"
    SETTLED = "settled"
    CANCELLED = "cancelled"
    VOIDED = "voided"

    @property
    def ended(self) -> bool:
        """Whether nothing more can become of the round."""
        return self in {Phase.SETTLED, Phase.CANCELLED, Phase.VOIDED}


@dataclass(frozen=True, slots=True)
class Round:
    """One round of the game.

    Attributes:
        id: the engine's id, which bets name.
        phase: where it stands.
        since: when it came there, UTC.
        ledger: its bets and what was paid on them.
        table_round: the table's id, once dealt; the same as `id` where the engine had it opened.
        journal: the table's journal in which it was opened.
        cards: the cards in their slots.
        doubt: why the engine itself doubts the round; only a void ends it then. None: no doubt.
        reason: why it is paused, cancelled or voided.
        command: the id of the `open` command sent for it.
    """

    id: str
    phase: Phase
    since: datetime
    ledger: Ledger
    table_round: str | None = None
    journal: str | None = None
    cards: Mapping[str, Card] = field(default_factory=dict)
    doubt: str | None = None
    reason: str | None = None
    command: str | None = None

    @property
    def outcome(self) -> Outcome | None:
        """How it came out; None before the result and when there is none."""
        if self.phase not in {Phase.RESULT, Phase.SETTLED}:
            return None
        return outcome_of(self.hand("A"), self.hand("B"))

    def hand(self, name: str) -> tuple[Card, ...]:
        """The cards of Player A or Player B that lie in their slots, in the order dealt."""
        return tuple(self.cards[slot] for slot in PLAN if slot[0] == name and slot in self.cards)


@dataclass(frozen=True, slots=True)
class State:
    """All that the engine knows.

    Attributes:
        table: the table it plays at.
        round: the round in play, or the last one; None before the first.
        balances: what each bettor has gained (or lost, below zero) with the engine, open stakes taken off.
        journal: the table's journal in use: that of its last event.
        at_table: the round at the table by its last event; None between rounds.
        seen: the last number seen of each journal of the table; few, since a journal lives as long as its disk.
        ended: the last rounds that ended and how, by the id that the table knows them by.
    """

    table: str
    round: Round | None = None
    balances: Mapping[str, Decimal] = field(default_factory=dict)
    journal: str | None = None
    at_table: str | None = None
    seen: Mapping[str, int] = field(default_factory=dict)
    ended: Mapping[str, Phase] = field(default_factory=dict)


_STATE = TypeAdapter(State)


def to_json(state: State) -> str:
    """The state as one line of JSON; amounts are strings, so that they stay decimal."""
    return _STATE.dump_json(state).decode()


def from_json(text: str | bytes) -> State:
    """The state that `to_json` wrote.

    Raises:
        ValueError: the text is no state; whoever runs the engine must restore its file.
    """
    return _STATE.validate_json(text)
