"""What a hand is worth: three cards against three, and the best five of six for the Six Card Bonus.

Suits never decide. The orders of the straights are tables, since the three-card one is no run of numbers: A-2-3
stands between A-K-Q and K-Q-J.

Three of a kind of aces is a rank of its own because the pay table names it so; in a comparison it would win anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import combinations

from teen_patti.cards import HIGH, Card


class HandRank(IntEnum):
    """The ranks of a three-card hand, the highest the greatest."""

    HIGH_CARD = 0
    PAIR = 1
    FLUSH = 2
    STRAIGHT = 3
    STRAIGHT_FLUSH = 4
    THREE_OF_A_KIND = 5
    THREE_ACES = 6

    @property
    def code(self) -> str:
        """The name in data, texts and on the wire: `three_aces`."""
        return self.name.lower()


class SixCardRank(IntEnum):
    """What the best five of six cards are, as the Six Card Bonus names it, the highest the greatest."""

    NOTHING = 0
    THREE_OF_A_KIND = 1
    STRAIGHT = 2
    FLUSH = 3
    FULL_HOUSE = 4
    FOUR_OF_A_KIND = 5
    STRAIGHT_FLUSH = 6
    ROYAL_FLUSH = 7

    @property
    def code(self) -> str:
        """The name in data, texts and on the wire: `full_house`."""
        return self.name.lower()


STRAIGHTS = ("AKQ", "A23", "KQJ", "QJT", "JT9", "T98", "987", "876", "765", "654", "543", "432")
"""The straights of three cards, highest first."""

FIVE_CARD_STRAIGHTS = ("AKQJT", "KQJT9", "QJT98", "JT987", "T9876", "98765", "87654", "76543", "65432", "5432A")
"""The straights of five cards, highest first."""

_STRAIGHT_ORDER = {frozenset(run): len(STRAIGHTS) - place for place, run in enumerate(STRAIGHTS)}
_FIVE_STRAIGHT_ORDER = {
    frozenset(run): len(FIVE_CARD_STRAIGHTS) - place for place, run in enumerate(FIVE_CARD_STRAIGHTS)
}
_HIGHEST_FIVE = len(FIVE_CARD_STRAIGHTS)


@dataclass(frozen=True, slots=True, order=True)
class HandValue:
    """What three cards are worth; greater wins, equal is a tie.

    Attributes:
        rank: the rank of the hand.
        order: what decides between hands of one rank, the first difference first.
    """

    rank: HandRank
    order: tuple[int, ...]


@dataclass(frozen=True, slots=True, order=True)
class SixCardValue:
    """What five cards are worth for the bonus; greater is better.

    Attributes:
        rank: the rank that the pay table names; `NOTHING` for a pair, two pairs and less.
        order: what decides between five cards of one rank.
    """

    rank: SixCardRank
    order: tuple[int, ...]


def hand_value(cards: Sequence[Card]) -> HandValue:
    """The value of a three-card hand, in whatever order its cards lie.

    Raises:
        ValueError: these are not three different cards; the caller is at fault.
    """
    _different(cards, 3)
    kinds = {card[0] for card in cards}
    highs = sorted((HIGH[card[0]] for card in cards), reverse=True)
    if len(kinds) == 1:
        rank = HandRank.THREE_ACES if "A" in kinds else HandRank.THREE_OF_A_KIND
        return HandValue(rank, (highs[0],))
    if len(kinds) == 2:  # noqa: PLR2004 two kinds in three cards are a pair
        return _pair(highs)
    return _three_kinds(kinds, highs, flush=_one_suit(cards))


def _pair(highs: list[int]) -> HandValue:
    """The middle card of three in order always belongs to the pair."""
    pair = highs[1]
    kicker = highs[2] if highs[0] == pair else highs[0]
    return HandValue(HandRank.PAIR, (pair, kicker))


def _three_kinds(kinds: set[str], highs: list[int], *, flush: bool) -> HandValue:
    straight = _STRAIGHT_ORDER.get(frozenset(kinds))
    if straight is not None:
        return HandValue(HandRank.STRAIGHT_FLUSH if flush else HandRank.STRAIGHT, (straight,))
    return HandValue(HandRank.FLUSH if flush else HandRank.HIGH_CARD, tuple(highs))


def best_five(cards: Sequence[Card]) -> tuple[SixCardValue, tuple[Card, ...]]:
    """The best five of six cards, and which they are (of equals the first chosen).

    Raises:
        ValueError: these are not six different cards; the caller is at fault.
    """
    _different(cards, 6)
    return max(((five_card_value(five), five) for five in combinations(cards, 5)), key=lambda found: found[0])


def five_card_value(cards: Sequence[Card]) -> SixCardValue:
    """The value of exactly five cards for the bonus."""
    counts = Counter([card[0] for card in cards])
    if len(counts) == len(cards):
        return _five_kinds(counts, flush=_one_suit(cards))
    shape = sorted(((count, HIGH[kind]) for kind, count in counts.items()), reverse=True)
    return SixCardValue(_shape_rank(shape), tuple(high for _, high in shape))


def _five_kinds(counts: Counter[str], *, flush: bool) -> SixCardValue:
    straight = _FIVE_STRAIGHT_ORDER.get(frozenset(counts))
    if straight is None:
        highs = sorted((HIGH[kind] for kind in counts), reverse=True)
        return SixCardValue(SixCardRank.FLUSH if flush else SixCardRank.NOTHING, tuple(highs))
    if not flush:
        return SixCardValue(SixCardRank.STRAIGHT, (straight,))
    royal = straight == _HIGHEST_FIVE
    return SixCardValue(SixCardRank.ROYAL_FLUSH if royal else SixCardRank.STRAIGHT_FLUSH, (straight,))


def _shape_rank(shape: list[tuple[int, int]]) -> SixCardRank:
    """The rank of five cards with a kind repeated, from how often their kinds occur."""
    match [count for count, _ in shape]:
        case [4, 1]:
            return SixCardRank.FOUR_OF_A_KIND
        case [3, 2]:
            return SixCardRank.FULL_HOUSE
        case [3, 1, 1]:
            return SixCardRank.THREE_OF_A_KIND
        case _:
            return SixCardRank.NOTHING


def _one_suit(cards: Sequence[Card]) -> bool:
    return len({card[1] for card in cards}) == 1


def _different(cards: Collection[Card], number: int) -> None:
    if len(cards) != number or len(set(cards)) != number:
        raise ValueError(f"not {number} different cards: {' '.join(cards)}")
