"""Which code is which card of a deck, scanned in a shown order. Pure: readings in, words out.

Enrolling is guided, so that no card can be taken for another: the card to scan is shown, and what the scanner gives is
its code. A code that was seen before is refused at once, with where it was seen: either the last card still lies there,
or two cards have one code and the deck can't be used. Nothing is a codebook before every card has its code.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

from scannerd.contract import BadFrame, CardRead, NoRead, Notice, Reading
from scannerd.core.cards import DECK

_RANKS = {"A": "ace", "K": "king", "Q": "queen", "J": "jack", "T": "ten"}
_DIGITS = dict(zip("98765432", ("nine", "eight", "seven", "six", "five", "four", "three", "two"), strict=True))
_SUITS = {"S": "spades", "H": "hearts", "D": "diamonds", "C": "clubs"}
_ALWAYS_TOLD = ("error", "warning", "lock")


class Guided(Protocol):
    """Something that a person does card by card, with a scanner in hand."""

    @property
    def ends_itself(self) -> bool:
        """Whether it is over when it is finished; else the person says when."""

    @property
    def due(self) -> str | None:
        """The card to scan next, `AS` or `joker`; None where any will do, or none."""

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be scanned."""

    def progress(self) -> tuple[int, int]:
        """How many cards are done, and how many there are."""

    def hear(self, reading: Reading) -> str:
        """Takes a reading and says what became of it; an empty text where there is nothing to say."""

    def undo(self) -> str:
        """Takes the last card back and says which."""


class Enrolment:
    """Gives each card of a deck, in a shown order, the code that is scanned for it.

    Attributes:
        order: the cards as they are to be scanned.
        codes: those scanned, in that order.
    """

    ends_itself = True

    def __init__(self, order: Sequence[str] = DECK) -> None:
        """Begins with the first card of `order`; it may hold `joker` and `cut` beside the cards of the deck."""
        self.order = tuple(order)
        self.codes: list[str] = []

    @property
    def due(self) -> str | None:
        """The card to scan next."""
        return None if self.finished else self.order[len(self.codes)]

    @property
    def finished(self) -> bool:
        """Whether every card has its code."""
        return len(self.codes) == len(self.order)

    def progress(self) -> tuple[int, int]:
        """How many cards have their code, and how many there are."""
        return len(self.codes), len(self.order)

    def hear(self, reading: Reading) -> str:
        """Takes the code of the card that is due; says what is wrong with one that was seen before."""
        if not isinstance(reading, CardRead):
            return not_read(reading, self.due)
        if self.due is None:
            return f"{reading.code}: the deck is complete"
        if reading.code in self.codes:
            return self._refusal(reading.code)
        card = self.due
        self.codes.append(reading.code)
        return f"{card} is {reading.code}"

    def undo(self) -> str:
        """Takes the last code back."""
        if not self.codes:
            return "there is nothing to take back"
        code = self.codes.pop()
        return f"{self.due} is no longer {code}: scan it again"

    def text(self, name: str) -> str:
        """The codebook as a file.

        Args:
            name: that of the deck.

        Raises:
            ValueError: a card has no code yet: the caller must not write then.
        """
        if not self.finished:
            raise ValueError(f"{self.due} has no code yet")
        lines = ["[deck]", f"name = {_quoted(name)}", "", "[cards]"]
        pairs = list(zip(self.codes, self.order, strict=True))
        lines += [f"{_quoted(code)} = {_quoted(card)}" for code, card in pairs if card in DECK]
        extra = [f"{_quoted(code)} = {_quoted(card)}" for code, card in pairs if card not in DECK]
        return "\n".join([*lines, *(["", "[extra]", *extra] if extra else []), ""])

    def _refusal(self, code: str) -> str:
        place = self.codes.index(code)
        if place == len(self.codes) - 1:
            return f"{code} is {self.order[place]}, scanned just now: take it away and scan {self.due}"
        return (
            f"{code} is {self.order[place]} already, scanned as number {place + 1}. If this card is {self.due}, two "
            f"cards have one code; else scan {self.due}, or undo back to {self.order[place]}"
        )


def not_read(reading: Reading, due: str | None) -> str:
    """What to say of a reading that is no card; empty where it is of no matter here."""
    again = f": scan {due or 'the card'} again"
    match reading:
        case NoRead(detail) | BadFrame(detail):
            return f"not read ({detail}){again}"
        case Notice(kind, detail) if kind in _ALWAYS_TOLD:
            return f"the scanner says {kind}: {detail}"
        case _:
            return ""


def spoken(card: str) -> str:
    """A card in words, `ace of spades`; what is none as it is."""
    rank = (_RANKS | _DIGITS).get(card[0])
    return f"{rank} of {_SUITS[card[1]]}" if card in DECK and rank else card


def _quoted(text: str) -> str:
    """Text as TOML has it: as in JSON, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
