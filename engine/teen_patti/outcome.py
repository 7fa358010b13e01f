"""How a round came out: both hands, the winner, the six cards, and what that pays on each bet."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import assert_never

from teen_patti.cards import Card
from teen_patti.hands import HandValue, SixCardValue, best_five, hand_value
from teen_patti.paytables import MAIN_PAYS, PAIR_PLUS, RETURNED, SIX_CARD_BONUS, TIE_PAYS, BetKind


class Winner(StrEnum):
    """Who won the round."""

    A = "A"
    B = "B"
    TIE = "tie"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A round that was dealt to its end.

    Attributes:
        a: the three cards of Player A, in the order dealt.
        b: the three cards of Player B, in the order dealt.
        hand_a: what Player A's hand is worth.
        hand_b: what Player B's hand is worth.
        winner: whose hand is worth more.
        bonus: what the best five of the six cards are worth.
        best: those five cards.
    """

    a: tuple[Card, ...]
    b: tuple[Card, ...]
    hand_a: HandValue
    hand_b: HandValue
    winner: Winner
    bonus: SixCardValue
    best: tuple[Card, ...]


def outcome_of(a: tuple[Card, ...], b: tuple[Card, ...]) -> Outcome:
    """The outcome of two hands.

    Raises:
        ValueError: these are not two hands of three cards, all different; the caller is at fault.
    """
    bonus, best = best_five((*a, *b))
    hand_a, hand_b = hand_value(a), hand_value(b)
    return Outcome(a, b, hand_a, hand_b, winner_of(hand_a, hand_b), bonus, best)


def winner_of(hand_a: HandValue, hand_b: HandValue) -> Winner:
    """Whose hand is worth more."""
    if hand_a == hand_b:
        return Winner.TIE
    return Winner.A if hand_a > hand_b else Winner.B


def pays(kind: BetKind, outcome: Outcome) -> Decimal | None:
    """What the bet pays to 1; 0 if the stake is returned, None if it is lost."""
    match kind:
        case BetKind.PLAYER_A:
            return _main(Winner.A, outcome.winner)
        case BetKind.PLAYER_B:
            return _main(Winner.B, outcome.winner)
        case BetKind.TIE:
            return TIE_PAYS if outcome.winner is Winner.TIE else None
        case BetKind.PAIR_PLUS_A:
            return PAIR_PLUS.get(outcome.hand_a.rank)
        case BetKind.PAIR_PLUS_B:
            return PAIR_PLUS.get(outcome.hand_b.rank)
        case BetKind.SIX_CARD_BONUS:
            return SIX_CARD_BONUS.get(outcome.bonus.rank)
    assert_never(kind)


def _main(backed: Winner, winner: Winner) -> Decimal | None:
    if winner is Winner.TIE:
        return RETURNED
    return MAIN_PAYS if winner is backed else None
