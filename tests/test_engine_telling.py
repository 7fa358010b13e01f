"""A round as the engine prints it."""

from __future__ import annotations

import pytest

from teen_patti.messages import VoidRound
from teen_patti.results import names
from teen_patti.telling import lines
from teen_patti.terms import LANGUAGES, texts
from tests.engine_play import DEAL, Play


def settled(cards: tuple[str, ...] = DEAL) -> Play:
    """A round with one bet of 1,234.00 on Player A and one on the bonus, settled."""
    play = Play()
    play.open()
    play.bet("player_a", "1234")
    play.bet("six_card_bonus", "10")
    play.send()
    play.opened()
    play.cards(cards)
    play.completed(cards)
    play.settle()
    return play


def test_a_settled_round_is_printed_with_cards_pays_and_money() -> None:
    """The printed round has winner, cards, hands, what pays, and amounts as 1,234.00."""
    assert [
        "round r-1: Player A",
        "  Player A   A♠ A♦ 2♣   pair",
        "  Player B   K♥ K♦ 3♣   pair",
        "  Player A 0.95:1   Pair Plus A 1:1   Pair Plus B 1:1",
        "  bets 2   staked 1,244.00   paid 2,406.30",
    ] == list(lines(settled().round, texts("en")))


def test_a_tie_with_a_bonus_is_printed_in_the_language_asked_for() -> None:
    """On a tie the returned bets are named as such; the best five and what they pay have their own line."""
    cards = ("TS", "TH", "TD", "TC", "9S", "9D")
    pays = ["Jogador A: apostas devolvidas", "Jogador B: apostas devolvidas", "Empate 50:1"]
    pays += ["Par + A 1:1", "Par + B 1:1", "Bónus de 6 cartas 100:1"]
    assert [
        "ronda r-1: Empate",
        "  Jogador A   10♠ 10♦ 9♠   Par",
        "  Jogador B   10♥ 10♣ 9♦   Par",
        "  Bónus de 6 cartas   10♠ 10♦ 9♠ 10♥ 10♣   Quatro Iguais",
        f"  {'   '.join(pays)}",
        "  apostas 2   apostado 1,244.00   pago 2,244.00",
    ] == list(lines(settled(cards).round, texts("pt")))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_cancelled_round_is_explained(language: str) -> None:
    """A round without result is explained in each language, with the reason and the bets returned."""
    play = Play()
    play.open()
    play.bet("player_b", "50")
    play.ask(VoidRound(play.later(), "c-1", "eva", "misdeal"))
    words = texts(language)
    first, money = lines(play.round, words)
    assert f"{words.terms['round']} r-1: {words.explanations['cancelled']} (misdeal)" == first
    assert f"{words.words['paid']} 50.00" in money
    assert {"hands": None, "winner": None, "six_cards": None}.items() <= names(play.round, words).items()


def test_each_language_has_its_own_words() -> None:
    """Every language has the same words of our own, none of them empty."""
    keys = [texts(language).words.keys() for language in LANGUAGES]
    assert [{"bets", "staked", "paid"}] * len(LANGUAGES) == keys
    assert all(word for language in LANGUAGES for word in texts(language).words.values())


def test_three_of_a_kind_is_told_apart_from_aces() -> None:
    """Of three-card hands, three of a kind is named by which it is; in the bonus it has its plain name."""
    told = names(settled(("AS", "7H", "AD", "7D", "AC", "7C")).round, texts("en"))
    assert {"A": "three of a kind (A)", "B": "three of a kind (2-K)"} == told["hands"]
    assert "full house" == told["six_cards"]
