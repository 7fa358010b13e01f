"""Hands: three cards against three, and the best five of six."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from teen_patti.cards import DECK, HIGH, SUITS, Card, card
from teen_patti.hands import HandRank, SixCardRank, best_five, five_card_value, hand_value
from teen_patti.outcome import Winner, outcome_of, winner_of

LADDER = [
    "AS AH AD",
    "KS KH KD",
    "2S 2H 2D",
    "AS KS QS",
    "AS 2S 3S",
    "KS QS JS",
    "4S 3S 2S",
    "AS KH QD",
    "AS 2H 3D",
    "KS QH JD",
    "QS JH TD",
    "5S 4H 3D",
    "4S 3H 2D",
    "AS KS JS",
    "AS KS TS",
    "AS QS JS",
    "5S 3S 2S",
    "AS AH KD",
    "AS AH 2D",
    "KS KH AD",
    "2S 2H 3D",
    "AS KH JD",
    "AS KH 2D",
    "AS QH JD",
    "5S 3H 2D",
]
"""Hands from the highest to the lowest, each above the next."""

any_hand = st.permutations(DECK).map(lambda deck: tuple(deck[:3]))
any_round = st.permutations(DECK).map(lambda deck: tuple(deck[:6]))


def cards(text: str) -> tuple[Card, ...]:
    """The cards in a text."""
    return tuple(Card(one) for one in text.split())


@pytest.mark.parametrize(("higher", "lower"), list(combinations(LADDER, 2)))
def test_a_hand_beats_every_hand_below_it(higher: str, lower: str) -> None:
    """Each hand of the ladder beats all those below it."""
    assert hand_value(cards(higher)) > hand_value(cards(lower))


def test_all_hands_are_classified() -> None:
    """All 22,100 hands are classified, each rank with the number of hands that combinatorics gives."""
    found = Counter(hand_value(hand).rank for hand in combinations(DECK, 3))

    runs, ranks = 12, 13
    expected = {
        HandRank.THREE_ACES: comb(4, 3),
        HandRank.THREE_OF_A_KIND: (ranks - 1) * comb(4, 3),
        HandRank.STRAIGHT_FLUSH: runs * 4,
        HandRank.STRAIGHT: runs * (4**3 - 4),
        HandRank.FLUSH: (comb(ranks, 3) - runs) * 4,
        HandRank.PAIR: ranks * comb(4, 2) * (ranks - 1) * 4,
        HandRank.HIGH_CARD: (comb(ranks, 3) - runs) * (4**3 - 4),
    }
    assert expected == found
    assert sum(expected.values()) == 22_100


def plain_value(hand: tuple[Card, ...]) -> tuple[int, list[int]]:
    """The value of a hand by another way: the ace of A-2-3 is worked out, nothing is looked up."""
    highs = sorted((HIGH[one[0]] for one in hand), reverse=True)
    flush = hand[0][1] == hand[1][1] == hand[2][1]
    run = highs[0] - highs[2] == 2 and highs[1] - highs[2] == 1
    if highs[0] == highs[2]:
        return 6, highs
    if run or highs == [14, 3, 2]:
        between = {(14, 13, 12): 140, (14, 3, 2): 139}.get((highs[0], highs[1], highs[2]), highs[0])
        return 5 if flush else 4, [between]
    if flush:
        return 3, highs
    if highs[0] == highs[1]:
        return 2, [highs[0], highs[2]]
    if highs[1] == highs[2]:
        return 2, [highs[1], highs[0]]
    return 1, highs


def test_all_hands_rank_as_by_another_way() -> None:
    """All 22,100 hands stand in the order that a second, plainer reckoning gives."""
    hands = list(combinations(DECK, 3))
    values = {hand_value(hand) for hand in hands}
    both = {(hand_value(hand), str(plain_value(hand))) for hand in hands}
    assert len(values) == len(both)
    assert [hand_value(hand) for hand in sorted(hands, key=plain_value)] == sorted(map(hand_value, hands))


@given(any_hand)
def test_the_order_of_the_cards_is_nothing(hand: tuple[Card, ...]) -> None:
    """A hand is worth the same in whatever order its cards lie."""
    assert {hand_value(hand)} == {hand_value(turned) for turned in permutations(hand)}


@given(any_hand, st.permutations(SUITS))
def test_suits_never_decide(hand: tuple[Card, ...], suits: list[str]) -> None:
    """A hand is worth the same when the suits change names."""
    names = dict(zip(SUITS, suits, strict=True))
    assert hand_value(hand) == hand_value(tuple(Card(one[0] + names[one[1]]) for one in hand))


@given(any_round)
def test_a_tie_has_equal_ranks(six: tuple[Card, ...]) -> None:
    """Hands tie only when all three ranks are equal."""
    outcome = outcome_of(six[:3], six[3:])
    if outcome.winner is Winner.TIE:
        assert sorted(one[0] for one in six[:3]) == sorted(one[0] for one in six[3:])


@given(any_round)
def test_the_other_seat_has_the_other_end(six: tuple[Card, ...]) -> None:
    """When the players change seats, the winner does, too."""
    mine, other = hand_value(six[:3]), hand_value(six[3:])
    other_end = {Winner.A: Winner.B, Winner.B: Winner.A, Winner.TIE: Winner.TIE}
    assert other_end[winner_of(mine, other)] == winner_of(other, mine)


def test_equal_ranks_in_another_suit_tie() -> None:
    """Two hands with the same three ranks, neither a flush, tie."""
    assert Winner.TIE is outcome_of(cards("AS KH 9D"), cards("AH KD 9S")).winner


def test_a_flush_beats_its_own_ranks() -> None:
    """A flush beats the same ranks in mixed suits: that is no tie."""
    assert Winner.A is outcome_of(cards("AS KS 9S"), cards("AH KD 9C")).winner


@pytest.mark.parametrize("hand", ["AS KS", "AS AS KD", "AS KS QS JS"])
def test_three_different_cards_make_a_hand(hand: str) -> None:
    """What is not three different cards has no value."""
    with pytest.raises(ValueError, match="not 3 different cards"):
        hand_value(cards(hand))


@pytest.mark.parametrize(
    ("six", "rank"),
    [
        ("AS KS QS JS TS 9S", SixCardRank.ROYAL_FLUSH),
        ("2D KS QS JS TS 9S", SixCardRank.STRAIGHT_FLUSH),
        ("AS 2S 3S 4S 5S AH", SixCardRank.STRAIGHT_FLUSH),
        ("AS AH AD AC KS KH", SixCardRank.FOUR_OF_A_KIND),
        ("AS AH AD KC KS KH", SixCardRank.FULL_HOUSE),
        ("AS AH AD KC KS 2H", SixCardRank.FULL_HOUSE),
        ("AS KS QS JS 9S TD", SixCardRank.FLUSH),
        ("AS 2H 3S 4S 5D 9S", SixCardRank.STRAIGHT),
        ("AS KH QS JS TD TS", SixCardRank.STRAIGHT),
        ("AS AH AD KC QS JH", SixCardRank.THREE_OF_A_KIND),
        ("AS AH KD KC QS QH", SixCardRank.NOTHING),
        ("KS AH 2D 3C 4S 9H", SixCardRank.NOTHING),
    ],
)
def test_the_bonus_takes_the_best_five(six: str, rank: SixCardRank) -> None:
    """The best five of the six cards decide the bonus, with the ace at either end of a straight but not within."""
    assert rank is best_five(cards(six))[0].rank


@pytest.mark.parametrize(
    ("six", "five"),
    [
        ("AS KH QS JS TD 9S", "AS KH QS JS TD"),
        ("AS AH AD KC KS KH", "AS AH AD KC KS"),
        ("9S 9H 9D 9C KS AH", "9S 9H 9D 9C AH"),
        ("2S 4S 9S JS KS AS", "4S 9S JS KS AS"),
        ("6D 2S 3H 4S 5C AD", "6D 2S 3H 4S 5C"),
    ],
)
def test_of_two_good_fives_the_better_is_told(six: str, five: str) -> None:
    """Of two sets of five with the same rank the higher is the best."""
    assert cards(five) == best_five(cards(six))[1]


@given(any_round)
def test_no_five_is_better_than_the_best(six: tuple[Card, ...]) -> None:
    """No five of the six cards are worth more than the best five, which are among the six."""
    value, best = best_five(six)
    assert set(best) <= set(six)
    assert value == max(five_card_value(five) for five in combinations(six, 5))


def test_six_different_cards_are_needed() -> None:
    """The bonus has no value for anything but six different cards."""
    with pytest.raises(ValueError, match="not 6 different cards"):
        best_five(cards("AS KS QS JS TS"))


@pytest.mark.parametrize("text", ["as", "10S", "ASS", "", "1S", "AX"])
def test_only_the_deck_has_cards(text: str) -> None:
    """What the contract does not write for a card is no card."""
    assert card(text) is None
