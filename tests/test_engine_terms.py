"""The words of the game in its languages."""

from __future__ import annotations

import pytest

from teen_patti.hands import HandRank, SixCardRank
from teen_patti.paytables import BetKind
from teen_patti.terms import LANGUAGES, texts

PUBLISHED = """
player_a | Player A | Jogador A | Jugador A | Гравець А | Pemain A
player_b | Player B | Jogador B | Jugador B | Гравець Б | Pemain B
hand | hand | mão | mano | рука | tangan
tie | Tie | Empate | Empate | Нічия | Seri
pair_plus | Pair Plus | Par + | Par + | Пара + | Pasangan +
six_card_bonus | Six Card Bonus | Bónus de 6 cartas | Bono de 6 cartas | 6-картковий бонус | Bonus 6 Kad
dealer | dealer | croupier | repartidor | дилер | pengedar
supervisor | supervisor | supervisor | supervisor | супервайзер | penyelia
scanner | scanner | leitor | escáner | сканер | pengimbas
scan_again | to scan again | ler novamente | volver a escanear | сканувати ще раз | imbas semula
round | round | ronda | ronda | раунд | pusingan
ace | ace | Ás | As | Туз | Ace
king | king | Rei | Rey | Король | Raja
queen | queen | Dama | Reina | Дама | Ratu
jack | jack | Valete | Jota | Валет | Pekak
three_aces | three of a kind (A) | Três iguais (A) | Trío (A) | Трійка (A) | Tiga Sejenis (A)
three_of_a_kind_2_k | three of a kind (2-K) | Três iguais (2-K) | Trío (2-K) | Трійка (2-K) | Tiga Sejenis (2-K)
three_of_a_kind | three of a kind | Três iguais | Trío | Трійка | Tiga Sejenis
straight_flush | straight flush | Straight Flush | Escalera de color | Стріт-флеш | Straight Flush
straight | straight | Straight | Escalera | Стріт | Straight
flush | flush | Flush | Flush | Флеш | Flush
pair | pair | Par | Par | Пара | Pasangan
high_card | high card | Carta Alta | Carta alta | Старша карта | Kad Tinggi
royal_flush | royal flush | Royal Flush | Escalera de color real | Флеш Рояль | Royal Flush
four_of_a_kind | four of a kind | Quatro Iguais | Poker | Каре | Empat Sejenis
full_house | full house | Full House | Full | Фул-хаус | Full House
spades | spades | espadas | picas | піки | sped
hearts | hearts | copas | corazones | чирви | lekuk
diamonds | diamonds | ouros | diamantes | бубни | daiman
clubs | clubs | paus | tréboles | трефи | kelawar
bets_returned | bets returned | apostas devolvidas | apuestas reembolsadas | ставки повертаються | taruhan dipulangkan
"""  # noqa: RUF001 Ukrainian has letters of its own
"""The terms of the published rules: code, then English, Portuguese, Spanish, Ukrainian, Malay."""


def published(language: str) -> dict[str, str]:
    """The published terms of one language."""
    rows = [[cell.strip() for cell in row.split("|")] for row in PUBLISHED.strip().splitlines()]
    return {row[0]: row[1 + LANGUAGES.index(language)] for row in rows}


@pytest.mark.parametrize("language", LANGUAGES)
def test_terms_are_those_published(language: str) -> None:
    """Each language has exactly the published terms, none missing and none more."""
    assert published(language) == texts(language).terms


@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_that_can_be_told_has_a_name(language: str) -> None:
    """Every bet and every hand that can be told has a name in each language."""
    found = texts(language)
    hands = {rank.code for rank in HandRank} | {rank.code for rank in SixCardRank if rank is not SixCardRank.NOTHING}
    assert hands <= found.terms.keys()
    assert len(BetKind) == len({found.bet(kind) for kind in BetKind})


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_bet_is_explained(language: str) -> None:
    """Every bet, and every way a round can stop, is explained in each language."""
    expected = {*BetKind, "paused", "cancelled", "voided"}
    explained = texts(language).explanations
    assert expected == explained.keys()
    assert all(sentence.endswith(".") for sentence in explained.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_returned_bets_are_told_in_the_published_words(language: str) -> None:
    """Where all bets are returned, the explanation says so in the published words."""
    found = texts(language)
    assert found.terms["bets_returned"] in found.explanations["cancelled"]
    assert found.terms["bets_returned"] in found.explanations["voided"]


def test_a_bet_on_a_hand_has_the_letter_of_its_player() -> None:
    """Pair Plus is named with the letter that the language gives the player."""
    assert texts("en").bet(BetKind.PAIR_PLUS_A) == "Pair Plus A"
    assert texts("uk").bet(BetKind.PAIR_PLUS_B) == "Пара + Б"


def test_an_unknown_language_is_named() -> None:
    """A language that is not there is refused by name, with those that are."""
    with pytest.raises(ValueError, match="no texts in 'fr'; there are en, pt, es, uk, ms"):
        texts("fr")
