"""The 52 cards as the table's contract writes them: rank then suit, `AS`, `TD`, `2C`.

The engine has a deck of its own, since it takes from the daemon nothing but the contract.
"""

from __future__ import annotations

from typing import NewType

Card = NewType("Card", str)
"""One of `DECK`: two characters, rank and suit."""

RANKS = "AKQJT98765432"
SUITS = "SHDC"
DECK: tuple[Card, ...] = tuple(Card(rank + suit) for suit in SUITS for rank in RANKS)
HIGH = {rank: 14 - place for place, rank in enumerate(RANKS)}
"""How high each rank counts: ace 14, king 13 … two 2. Suits never decide."""
_CARDS = {str(card): card for card in DECK}


def card(text: str) -> Card | None:
    """The card that `text` names, or None; exact, letter case included."""
    return _CARDS.get(text)
