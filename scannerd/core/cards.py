"""The 52 cards, written rank then suit: `AS`, `TD`, `2C` (design: cards, slots, hands)."""

from __future__ import annotations

from typing import NewType

Card = NewType("Card", str)
"""One of `DECK`: two characters, rank and suit."""

RANKS = "AKQJT98765432"
SUITS = "SHDC"
DECK: tuple[Card, ...] = tuple(Card(rank + suit) for suit in SUITS for rank in RANKS)
_CARDS = {str(card): card for card in DECK}


def card(text: str) -> Card | None:
    """The card that `text` names, or None; exact, letter case included."""
    return _CARDS.get(text)
