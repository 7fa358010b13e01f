"""The exact odds of every bet: counted, never sampled.

Three counts carry everything:

* all three-card hands, each classified,
* all ordered pairs of disjoint hands, won, lost and tied. Hands are taken by value, lowest first. How many of the
  hands below share no card with a given one follows from how many contain each one, two and three of its cards
  (inclusion and exclusion), so no pair need be looked at,
* all six-card sets. Which five are best depends on the ranks, and on which of them lie in one suit where that suit
  has five cards or more; each such class is classified once, by the rules that settle bets, and weighed with the
  number of sets in it. Six cards can't hold five of two suits, so the classes don't overlap.

All take any deck that is every rank of some with every suit of some, so that smaller ones can be counted by hand.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from math import comb, prod
from typing import assert_never

from teen_patti.cards import RANKS, SUITS, Card
from teen_patti.hands import HandRank, HandValue, SixCardRank, best_five, hand_value
from teen_patti.paytables import MAIN_PAYS, PAIR_PLUS, RETURNED, SIX_CARD_BONUS, TIE_PAYS, BetKind

Hand = tuple[Card, Card, Card]

IN_ROUND = 6
SUITED = 5
"""Cards of a round, and of a flush among them."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """Ordered pairs of disjoint three-card hands, seen from the first."""

    won: int
    lost: int
    tied: int

    @property
    def total(self) -> int:
        """All pairs."""
        return self.won + self.lost + self.tied


@dataclass(frozen=True, slots=True)
class Line:
    """One outcome of a bet.

    Attributes:
        outcome: its code.
        pays: what it pays to 1; 0 if the stake is returned, None if it is lost.
        count: how many of the bet's equally likely cases it is.
    """

    outcome: str
    pays: Decimal | None
    count: int

    @property
    def back(self) -> Fraction:
        """What goes back for a stake of 1 in each of its cases, all together."""
        return Fraction(0) if self.pays is None else self.count * (1 + Fraction(self.pays))


@dataclass(frozen=True, slots=True)
class BetOdds:
    """All outcomes of one bet, and its return to player."""

    kind: BetKind
    lines: tuple[Line, ...]

    @property
    def of(self) -> int:
        """The number of cases, all equally likely."""
        return sum(line.count for line in self.lines)

    @property
    def rtp(self) -> Fraction:
        """The return to player: what goes back, on average, of a stake of 1."""
        return sum((line.back for line in self.lines), Fraction(0)) / self.of


def deck_of(ranks: str = RANKS, suits: str = SUITS) -> tuple[Card, ...]:
    """The deck with every one of `ranks` in every one of `suits`; the whole one by default."""
    return tuple(Card(rank + suit) for suit, rank in product(suits, ranks))


@cache
def count_hands(ranks: str = RANKS, suits: str = SUITS) -> Mapping[HandRank, int]:
    """All three-card hands of the deck, each classified; 22,100 in the whole deck."""
    return Counter(hand_value(hand).rank for hand in combinations(deck_of(ranks, suits), 3))


@cache
def count_pairs(ranks: str = RANKS, suits: str = SUITS) -> PairCounts:
    """All ordered pairs of disjoint hands, won, lost and tied; 407,170,400 in the whole deck.

    Won and lost are counted each for itself, though they must be equal.
    """
    by_value: defaultdict[HandValue, list[Hand]] = defaultdict(list)
    for hand in combinations(deck_of(ranks, suits), 3):
        by_value[hand_value(hand)].append(hand)
    groups = [by_value[value] for value in sorted(by_value)]
    tied = sum(_meetings(group, _Overlaps(group)) for group in groups)
    return PairCounts(_sweep(groups), _sweep(reversed(groups)), tied)


def _sweep(groups: Iterable[list[Hand]]) -> int:
    """Pairs in which the second hand is of an earlier group than the first."""
    earlier = _Overlaps()
    met = 0
    for group in groups:
        met += _meetings(group, earlier)
        earlier.add(group)
    return met


def _meetings(hands: Iterable[Hand], others: _Overlaps) -> int:
    return sum(others.disjoint(hand) for hand in hands)


class _Overlaps:
    """How many of the hands added contain each set of up to three cards."""

    def __init__(self, hands: Iterable[Hand] = ()) -> None:
        self._holding: Counter[tuple[Card, ...]] = Counter()
        self.add(hands)

    def add(self, hands: Iterable[Hand]) -> None:
        for hand in hands:
            self._holding.update(_subsets(hand))

    def disjoint(self, hand: Hand) -> int:
        """How many of the hands added share no card with this one."""
        holding = self._holding
        return sum(holding.get(cards, 0) * (-1 if len(cards) % 2 else 1) for cards in _subsets(hand))


def _subsets(hand: Hand) -> tuple[tuple[Card, ...], ...]:
    """All eight subsets; cards of a hand are in the order of the deck, so equal subsets are equal tuples."""
    one, two, three = hand
    return ((), (one,), (two,), (three,), (one, two), (one, three), (two, three), hand)


@cache
def count_six_card_sets(ranks: str = RANKS, suits: str = SUITS) -> Mapping[SixCardRank, int]:
    """All six-card sets of the deck by their best five; 20,358,520 in the whole deck.

    Takes at least two suits.
    """
    found: Counter[SixCardRank] = Counter()
    for times in _rank_multisets(ranks, len(suits)):
        rest = prod(comb(len(suits), many) for many in times.values())
        for suited in _suited(times):
            weight = len(suits) * _ways(times, suited, len(suits) - 1)
            found[_rank_of(_representative(times, suited, suits))] += weight
            rest -= weight
        found[_rank_of(_spread(times, suits))] += rest
    return found


def _rank_of(cards: tuple[Card, ...]) -> SixCardRank:
    return best_five(cards)[0].rank


def _rank_multisets(ranks: str, most: int) -> Iterator[dict[str, int]]:
    """Every way to have six ranks, none more than `most` times."""
    for shape in _shapes(IN_ROUND, most):
        for chosen in combinations(ranks, len(shape)):
            yield dict(zip(chosen, shape, strict=True))


def _shapes(cards: int, most: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a number of cards as a sum, in order, of parts from 1 to `most`."""
    if cards == 0:
        yield ()
    for first in range(1, min(cards, most) + 1):
        yield from ((first, *others) for others in _shapes(cards - first, most))


def _suited(times: Mapping[str, int]) -> Iterator[frozenset[str]]:
    """Every choice of five or six ranks that can lie in one suit."""
    for size in (SUITED, IN_ROUND):
        yield from (frozenset(chosen) for chosen in combinations(times, size))


def _ways(times: Mapping[str, int], suited: frozenset[str], others: int) -> int:
    """In how many ways the remaining cards lie in the other suits, if of one suit exactly these ranks are there."""
    return prod(comb(others, many - (rank in suited)) for rank, many in times.items())


def _representative(times: Mapping[str, int], suited: frozenset[str], suits: str) -> tuple[Card, ...]:
    """One set in whose first suit exactly these ranks lie."""
    return tuple(
        Card(rank + suit)
        for rank, many in times.items()
        for suit in (suits[:many] if rank in suited else suits[1 : many + 1])
    )


def _spread(times: Mapping[str, int], suits: str) -> tuple[Card, ...]:
    """One set without five of a suit: the suits are dealt out in turn."""
    held = (rank for rank, many in times.items() for _ in range(many))
    return tuple(Card(rank + suits[place % len(suits)]) for place, rank in enumerate(held))


def all_odds() -> tuple[BetOdds, ...]:
    """The odds of every bet, in the order of `BetKind`; takes a second or two the first time."""
    return tuple(BetOdds(kind, _lines(kind)) for kind in BetKind)


def _lines(kind: BetKind) -> tuple[Line, ...]:
    match kind:
        case BetKind.PLAYER_A | BetKind.PLAYER_B:
            return _main_lines(count_pairs())
        case BetKind.TIE:
            return _tie_lines(count_pairs())
        case BetKind.PAIR_PLUS_A | BetKind.PAIR_PLUS_B:
            hands = count_hands()
            return tuple(Line(rank.code, PAIR_PLUS.get(rank), hands[rank]) for rank in reversed(HandRank))
        case BetKind.SIX_CARD_BONUS:
            sets = count_six_card_sets()
            return tuple(Line(rank.code, SIX_CARD_BONUS.get(rank), sets[rank]) for rank in reversed(SixCardRank))
    assert_never(kind)


def _main_lines(pairs: PairCounts) -> tuple[Line, ...]:
    return Line("win", MAIN_PAYS, pairs.won), Line("tie", RETURNED, pairs.tied), Line("loss", None, pairs.lost)


def _tie_lines(pairs: PairCounts) -> tuple[Line, ...]:
    return Line("tie", TIE_PAYS, pairs.tied), Line("no_tie", None, pairs.won + pairs.lost)
