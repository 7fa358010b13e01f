"""Bettors and a dealer for soak runs: the same seed gives the same bets and cards, whatever the machine.

A share of the bets is wrong on purpose, each in one known way, so that a soak run sees every refusal, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from random import Random

from teen_patti.bets import BetRequest, Limits
from teen_patti.cards import DECK, Card
from teen_patti.ledger import Refusal
from teen_patti.paytables import BetKind

IN_ROUND = 6
_WRONG = (Refusal.LATE, Refusal.UNKNOWN_BET, Refusal.ZERO, Refusal.NEGATIVE, Refusal.OVER_LIMIT, Refusal.ILL_SCALED)


@dataclass(frozen=True, slots=True)
class Intent:
    """A bet that a simulated bettor wants to make.

    Attributes:
        request: the bet; one to be refused as late must be sent once the betting is closed.
        expected: the refusal it must meet; None: it must be taken.
    """

    request: BetRequest
    expected: Refusal | None


@dataclass(frozen=True, slots=True)
class Bettors:
    """A crowd of bettors.

    Attributes:
        seed: what the whole run follows from.
        count: how many bettors, each with one bet a round at most on each kind.
        wrong: the share of wrong bets, from 0 to 1.
        limits: the limits of the table they sit at.
    """

    seed: int
    count: int = 20
    wrong: float = 0.05
    limits: Limits = field(default_factory=Limits)

    def intents(self, name: str, at: datetime) -> tuple[Intent, ...]:
        """What they bet on the round of that name, all at one time."""
        chance = _chance(self.seed, name, "bets")
        return tuple(
            self._intent(chance, BetRequest(at, f"{bettor}-{kind}", name, f"bettor-{bettor}", kind, Decimal(0)))
            for bettor in range(1, self.count + 1)
            for kind in chance.sample(tuple(BetKind), chance.randint(0, len(BetKind)))
        )

    def _intent(self, chance: Random, request: BetRequest) -> Intent:
        limit = self.limits.of[BetKind(request.kind)]
        steps = chance.randint(int(limit.least / self.limits.step), int(limit.most / self.limits.step))
        right = replace(request, stake=steps * self.limits.step)
        if chance.random() >= self.wrong:
            return Intent(right, None)
        expected = chance.choice(_WRONG)
        return Intent(self._spoilt(right, expected), expected)

    def _spoilt(self, right: BetRequest, expected: Refusal) -> BetRequest:
        limit = self.limits.of[BetKind(right.kind)]
        stakes = {
            Refusal.ZERO: Decimal(0),
            Refusal.NEGATIVE: -right.stake,
            Refusal.OVER_LIMIT: limit.most + self.limits.step,
            Refusal.ILL_SCALED: limit.most - self.limits.step / 3,
        }
        kind = "red" if expected is Refusal.UNKNOWN_BET else right.kind
        return replace(right, kind=kind, stake=stakes.get(expected, right.stake))


def shuffled(seed: int, name: str) -> tuple[Card, ...]:
    """The six cards of the round of that name, in the order dealt."""
    return tuple(_chance(seed, name, "cards").sample(DECK, IN_ROUND))


def _chance(seed: int, name: str, what: str) -> Random:
    """Chance that depends on nothing but its names: rounds may be played again one by one."""
    return Random(f"{seed}/{name}/{what}")  # noqa: S311 a soak run must be repeatable; no game rests on it
