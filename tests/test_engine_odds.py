"""The odds: exact counts, proved against known totals, against other ways to count, and by hand on small decks."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations
from math import comb

import pytest

from teen_patti.cards import Card
from teen_patti.hands import SixCardRank, best_five, hand_value
from teen_patti.odds import (
    BetOdds,
    PairCounts,
    all_odds,
    count_hands,
    count_pairs,
    count_six_card_sets,
    deck_of,
)
from teen_patti.outcome import outcome_of, pays
from teen_patti.paytables import BetKind


def odds_of(kind: BetKind) -> BetOdds:
    """The odds of one bet."""
    return next(odds for odds in all_odds() if odds.kind is kind)


def pairs_one_by_one(deck: tuple[Card, ...]) -> PairCounts:
    """Every ordered pair of disjoint hands, looked at."""
    hands = [(set(hand), hand_value(hand)) for hand in combinations(deck, 3)]
    met = Counter((mine > other) - (mine < other) for held, mine in hands for taken, other in hands if not held & taken)
    return PairCounts(won=met[1], lost=met[-1], tied=met[0])


@pytest.mark.parametrize(("ranks", "suits"), [("A23", "SHD"), ("AKQ", "SHDC"), ("A2345", "SHD"), ("32", "SHDC")])
def test_pairs_are_counted_as_one_by_one(ranks: str, suits: str) -> None:
    """On small decks the count of pairs is that of looking at each."""
    assert pairs_one_by_one(deck_of(ranks, suits)) == count_pairs(ranks, suits)


def test_all_pairs_are_counted() -> None:
    """Won, lost and tied, each counted for itself, make all 407,170,400 ordered pairs of disjoint hands."""
    pairs = count_pairs()
    assert comb(52, 3) * comb(49, 3) == pairs.total
    assert pairs.total == 407_170_400
    assert pairs.won == pairs.lost


def test_ties_are_counted_by_another_way() -> None:
    """The ties are those that follow from the ranks of each hand and the suits left to the other."""
    by_ranks = comb(13, 3)
    runs = 12
    mixed_ways = sum(
        1
        for mine in suit_triples()
        for other in suit_triples()
        if all(a != b for a, b in zip(mine, other, strict=True))
    )
    flush_ways = 4 * 3
    mixed = (by_ranks - runs) * mixed_ways
    straights = runs * mixed_ways
    flushes = by_ranks * flush_ways
    pairs = 13 * 12 * comb(4, 2) * 4 * 3
    assert mixed + straights + flushes + pairs == count_pairs().tied


def suit_triples() -> list[tuple[str, str, str]]:
    """All suits of three ranks that are no flush."""
    return [(a, b, c) for a in "SHDC" for b in "SHDC" for c in "SHDC" if len({a, b, c}) > 1]


@pytest.mark.parametrize(
    ("ranks", "suits"),
    [("AKQJT9", "SHD"), ("A23456", "SHD"), ("AKQJT98", "SH"), ("A2345", "SHDC"), ("AKQJT2", "SHD"), ("KQ", "SHDC")],
)
def test_six_card_sets_are_counted_as_one_by_one(ranks: str, suits: str) -> None:
    """On small decks the count of six-card sets is that of looking at each."""
    expected = Counter(best_five(six)[0].rank for six in combinations(deck_of(ranks, suits), 6))
    assert expected == +Counter(count_six_card_sets(ranks, suits))


def test_all_six_card_sets_are_counted() -> None:
    """All 20,358,520 six-card sets are counted, with the totals known for the best five of six cards."""
    expected = {
        SixCardRank.ROYAL_FLUSH: 188,
        SixCardRank.STRAIGHT_FLUSH: 1_656,
        SixCardRank.FOUR_OF_A_KIND: 14_664,
        SixCardRank.FULL_HOUSE: 165_984,
        SixCardRank.FLUSH: 205_792,
        SixCardRank.STRAIGHT: 361_620,
        SixCardRank.THREE_OF_A_KIND: 732_160,
        SixCardRank.NOTHING: 18_876_456,
    }
    assert expected == count_six_card_sets()
    assert sum(expected.values()) == comb(52, 6) == 20_358_520


def test_some_six_card_totals_follow_from_combinatorics() -> None:
    """Royal flushes, fours of a kind, full houses and flushes are as many as binomials say."""
    sets = count_six_card_sets()
    royal = 4 * comb(47, 1)
    four = 13 * comb(48, 2)
    full = comb(13, 2) * comb(4, 3) ** 2 + 13 * comb(4, 3) * 12 * comb(4, 2) * 44
    flush = 4 * (comb(13, 6) + comb(13, 5) * 39)
    assert royal == sets[SixCardRank.ROYAL_FLUSH]
    assert four == sets[SixCardRank.FOUR_OF_A_KIND]
    assert full == sets[SixCardRank.FULL_HOUSE]
    assert flush == sum(sets[rank] for rank in (SixCardRank.FLUSH, SixCardRank.STRAIGHT_FLUSH, SixCardRank.ROYAL_FLUSH))


def test_hands_make_the_whole() -> None:
    """The three-card hands counted are all there are."""
    assert comb(52, 3) == sum(count_hands().values())


@pytest.mark.parametrize("kind", [BetKind.PLAYER_A, BetKind.PLAYER_B])
def test_main_bets_return_97_50_percent(kind: BetKind) -> None:
    """The main bets give back 97.50 %, the stakes returned on ties counted."""
    odds = odds_of(kind)
    won, tied = (line.count for line in odds.lines[:2])
    assert Fraction(won * 195 + tied * 100, odds.of * 100) == odds.rtp
    assert round(odds.rtp * 100, 2) == Fraction(9750, 100)


@pytest.mark.parametrize(
    ("kind", "rtp"),
    [
        (BetKind.TIE, Fraction(450_528 * 51, 407_170_400)),
        (BetKind.PAIR_PLUS_A, Fraction(4 * 51 + 48 * 41 + 48 * 31 + 720 * 7 + 1096 * 4 + 3744 * 2, 22_100)),
        (BetKind.PAIR_PLUS_B, Fraction(4 * 51 + 48 * 41 + 48 * 31 + 720 * 7 + 1096 * 4 + 3744 * 2, 22_100)),
        (
            BetKind.SIX_CARD_BONUS,
            Fraction(
                188 * 1001 + 1_656 * 201 + 14_664 * 101 + 165_984 * 21 + 205_792 * 16 + 361_620 * 11 + 732_160 * 8,
                20_358_520,
            ),
        ),
    ],
)
def test_side_bets_return_what_their_tables_pay(kind: BetKind, rtp: Fraction) -> None:
    """The return of each side bet is exactly its pay table weighed with its counts."""
    assert rtp == odds_of(kind).rtp


def test_the_odds_are_those_that_settlement_pays() -> None:
    """Over every round of a small deck the bets pay what the counts of that deck give."""
    deck = deck_of("A23", "SHD")
    back: Counter[BetKind] = Counter()
    rounds = 0
    for mine in combinations(deck, 3):
        for other in combinations([one for one in deck if one not in mine], 3):
            rounds += 1
            outcome = outcome_of(mine, other)
            for kind in (BetKind.PLAYER_A, BetKind.TIE):
                to_one = pays(kind, outcome)
                back[kind] += 0 if to_one is None else int(100 * (1 + to_one))
    pairs = count_pairs("A23", "SHD")
    assert rounds == pairs.total
    assert back[BetKind.PLAYER_A] == 195 * pairs.won + 100 * pairs.tied
    assert back[BetKind.TIE] == 5100 * pairs.tied
