"""Bets, and the limits within which the table takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from teen_patti.money import exact, win_on
from teen_patti.paytables import ALL_PAYS, BetKind

LONGEST_NAME: Final = 64
"""The most characters of a bet's id and of a bettor's name."""


@dataclass(frozen=True, slots=True)
class BetRequest:
    """A bet as it comes from outside: nothing in it is trusted.

    Attributes:
        at: when it came, UTC.
        id: the bettor's own id of the bet; repeated in its round, it is the same bet.
        round: the round that is bet on.
        bettor: who bets.
        kind: the bet; `BetKind` has those that exist.
        stake: the amount.
    """

    at: datetime
    id: str
    round: str
    bettor: str
    kind: str
    stake: Decimal

    def __post_init__(self) -> None:
        """Keeps binary fractions out.

        Raises:
            TypeError: the stake is no Decimal; whoever wrote the caller must act.
        """
        stake: object = self.stake
        if not isinstance(stake, Decimal):
            raise TypeError(f"a stake is a Decimal, not {type(stake).__name__}")


@dataclass(frozen=True, slots=True)
class Bet:
    """A bet that was taken; its fields are those of the request, and `kind` is known."""

    at: datetime
    id: str
    bettor: str
    kind: BetKind
    stake: Decimal

    def repeats(self, request: BetRequest) -> bool:
        """Whether the request is this bet, sent again."""
        return (self.kind, self.stake) == (request.kind, request.stake) and self.named_as(request)

    def named_as(self, request: BetRequest) -> bool:
        """Whether the request has this bet's name: ids are the bettors' own, so that the bettor belongs to it."""
        return (self.bettor, self.id) == (request.bettor, request.id)


@dataclass(frozen=True, slots=True)
class Limit:
    """The least and the most that one bettor may stake on one bet in one round."""

    least: Decimal
    most: Decimal


def _limit(least: str, most: str) -> Limit:
    return Limit(Decimal(least), Decimal(most))


DEFAULT_LIMITS: Mapping[BetKind, Limit] = MappingProxyType(
    {
        BetKind.PLAYER_A: _limit("1.00", "5000.00"),
        BetKind.PLAYER_B: _limit("1.00", "5000.00"),
        BetKind.TIE: _limit("1.00", "500.00"),
        BetKind.PAIR_PLUS_A: _limit("1.00", "1000.00"),
        BetKind.PAIR_PLUS_B: _limit("1.00", "1000.00"),
        BetKind.SIX_CARD_BONUS: _limit("1.00", "100.00"),
    },
)


@dataclass(frozen=True)
class Limits:
    """The table's limits.

    Attributes:
        of: the limit of each bet; all must be there.
        step: every stake is a multiple of it. It is such that no win needs rounding: 0.95:1 on 1.00 is 0.95, but on
            0.01 it would be no amount.
    """

    of: Mapping[BetKind, Limit] = field(default_factory=lambda: DEFAULT_LIMITS)
    step: Decimal = Decimal("1.00")

    def __post_init__(self) -> None:
        """Refuses limits that can't be kept.

        Raises:
            ValueError: a bet has no limit, a limit is empty, not positive or no multiple of the step, or the step is.
            Inexact: a win on one step would need rounding. In each case whoever set the limits must act.
        """
        if not (self.step.is_finite() and self.step > 0):
            raise ValueError(f"the step must be above zero: {self.step}")
        for one_pays in ALL_PAYS:
            win_on(exact(self.step), one_pays)
        for kind in BetKind:
            self._check(kind)

    def _check(self, kind: BetKind) -> None:
        limit = self.of.get(kind)
        if limit is None or not self.step <= limit.least <= limit.most:
            raise ValueError(f"no usable limit for {kind}")
        if limit.least % self.step or limit.most % self.step:
            raise ValueError(f"the limits of {kind} are no multiples of {self.step}")
