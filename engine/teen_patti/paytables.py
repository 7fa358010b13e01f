"""What each bet pays, as data: `pays` to 1, the stake returned besides.

The published pay tables of Teen Patti 20-20.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType

from teen_patti.hands import HandRank, SixCardRank


class BetKind(StrEnum):
    """The bets of the game, by the names they have in data and on the wire."""

    PLAYER_A = "player_a"
    PLAYER_B = "player_b"
    TIE = "tie"
    PAIR_PLUS_A = "pair_plus_a"
    PAIR_PLUS_B = "pair_plus_b"
    SIX_CARD_BONUS = "six_card_bonus"


MAIN_PAYS = Decimal("0.95")
"""Player A and Player B; on a tie the stake is returned."""

TIE_PAYS = Decimal(50)

RETURNED = Decimal(0)
"""Pays nothing to 1: the stake comes back."""

PAIR_PLUS: Mapping[HandRank, Decimal] = MappingProxyType(
    {
        HandRank.THREE_ACES: Decimal(50),
        HandRank.THREE_OF_A_KIND: Decimal(40),
        HandRank.STRAIGHT_FLUSH: Decimal(30),
        HandRank.STRAIGHT: Decimal(6),
        HandRank.FLUSH: Decimal(3),
        HandRank.PAIR: Decimal(1),
    },
)
"""Paid on the hand that was bet on, also when that hand loses."""

SIX_CARD_BONUS: Mapping[SixCardRank, Decimal] = MappingProxyType(
    {
        SixCardRank.ROYAL_FLUSH: Decimal(1000),
        SixCardRank.STRAIGHT_FLUSH: Decimal(200),
        SixCardRank.FOUR_OF_A_KIND: Decimal(100),
        SixCardRank.FULL_HOUSE: Decimal(20),
        SixCardRank.FLUSH: Decimal(15),
        SixCardRank.STRAIGHT: Decimal(10),
        SixCardRank.THREE_OF_A_KIND: Decimal(7),
    },
)
"""Paid on the best five of the six cards of both hands."""

ALL_PAYS: frozenset[Decimal] = frozenset({MAIN_PAYS, TIE_PAYS, *PAIR_PLUS.values(), *SIX_CARD_BONUS.values()})
