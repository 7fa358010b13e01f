"""Cards in letters so large that they are read across a table, for terminals."""

from __future__ import annotations

from scannerd.core.cards import DECK

_GLYPHS = {
    "A": "01110 10001 11111 10001 10001",
    "K": "10010 10100 11000 10100 10010",
    "Q": "01110 10001 10101 10010 01101",
    "J": "00111 00010 00010 10010 01100",
    "T": "10111 10101 10101 10101 10111",
    "9": "01110 10001 01111 00001 01110",
    "8": "01110 10001 01110 10001 01110",
    "7": "11111 00001 00010 00100 00100",
    "6": "01110 10000 11110 10001 01110",
    "5": "11111 10000 11110 00001 11110",
    "4": "00010 00110 01010 11111 00010",
    "3": "11110 00001 00110 00001 11110",
    "2": "11110 00001 01110 10000 11111",
    "S": "00100 01110 11111 10101 00100",
    "H": "01010 11111 11111 01110 00100",
    "D": "00100 01110 11111 01110 00100",
    "C": "00100 01110 11111 10101 01110",
}
"""Five rows of five dots: ranks as letters, ten as 10, suits as their signs."""


def large(card: str) -> str:
    """Five lines that show rank and suit; what is no card of the deck as it is."""
    if card not in DECK:
        return card
    rank, suit = (_GLYPHS[sign].split() for sign in card)
    return "\n".join(f"  {_row(left)}    {_row(right)}" for left, right in zip(rank, suit, strict=True))


def _row(dots: str) -> str:
    return dots.replace("1", "██").replace("0", "  ")
