"""The codes of the built-in codebooks: every spelling that a format allows is an entry, so that a lookup is exact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from scannerd.core.cards import RANKS, SUITS, Card

Extra: TypeAlias = Literal["joker", "knight", "cut"]


@dataclass(frozen=True, slots=True)
class NotInDeck:
    """A card of the pack that the game is not dealt with: `what` it is."""

    what: Extra


Meaning: TypeAlias = Card | NotInDeck

_RANKS_UPWARD = "A23456789TJQK"


def rank_suit() -> dict[str, Meaning]:
    """`AS`, `sa`, `10h`, `HT`; of other cards of the pack `joker`, `JK`, `cut`, in any letter case."""
    meanings: dict[str, Meaning] = {}
    for rank, suit in product(RANKS, SUITS):
        for spelling in (rank, "10") if rank == "T" else (rank,):
            for code in (spelling + suit, suit + spelling):
                meanings |= dict.fromkeys(_in_any_case(code), Card(rank + suit))
    for word in ("joker", "jk"):
        meanings |= dict.fromkeys(_in_any_case(word), NotInDeck("joker"))
    return meanings | dict.fromkeys(_in_any_case("cut"), NotInDeck("cut"))


def _in_any_case(word: str) -> Iterable[str]:
    return map("".join, product(*({char.lower(), char.upper()} for char in word)))


def bridge_52() -> dict[str, Meaning]:
    """`01` the ace to `13` the king of spades, then hearts, diamonds and clubs to `52`: dealing machines for bridge."""
    return {f"{place:02}": Card(rank + suit) for place, (suit, rank) in enumerate(product(SUITS, _RANKS_UPWARD), 1)}


def suit_rank_digits() -> dict[str, Meaning]:
    """One digit for the suit (1 S, 2 H, 3 C, 4 D) and three for ten times the rank: `1010` is the ace of spades."""
    suits, ranks = enumerate("SHCD", 1), list(enumerate(_RANKS_UPWARD, 1))
    return {f"{s}{10 * r:03}": Card(rank + suit) for (s, suit), (r, rank) in product(suits, ranks)}


def unicode() -> dict[str, Meaning]:
    """The playing cards of Unicode, U+1F0A1 the ace of spades and so on; knights stand between jack and queen."""
    meanings: dict[str, Meaning] = {chr(code): NotInDeck("joker") for code in (0x1F0BF, 0x1F0CF, 0x1F0DF)}
    for row, suit in enumerate(SUITS):
        first = 0x1F0A1 + 0x10 * row
        for offset, rank in enumerate("A23456789TJ-QK"):
            meanings[chr(first + offset)] = NotInDeck("knight") if rank == "-" else Card(rank + suit)
    return meanings
