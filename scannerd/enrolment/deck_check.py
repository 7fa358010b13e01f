"""Compares a deck with a codebook: what is missing, twice, or of another deck. Pure: readings in, words out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from scannerd.codebooks import Codebook, NotInDeck
from scannerd.contract import BadFrame, CardRead, NoRead, Reading
from scannerd.core.cards import DECK
from scannerd.enrolment import not_read


class DeckCheck:
    """Compares a deck, in whatever order, with a codebook; when it is through, only who holds the cards can know."""

    ends_itself = False

    def __init__(self, codebook: Codebook) -> None:
        """Takes the codebook that the deck should fit."""
        self._codebook = codebook
        self._scans: list[str] = []
        self._failures: Counter[str] = Counter()

    @property
    def due(self) -> str | None:
        """None: any card will do."""
        return None

    @property
    def finished(self) -> bool:
        """Whether every card was seen."""
        return not self._missing()

    @property
    def sound(self) -> bool:
        """Whether the deck is the codebook's, as far as it was scanned: all 52 cards, each once, and nothing else."""
        return self.finished and not self._repeated() and not self._unknown()

    def progress(self) -> tuple[int, int]:
        """How many cards were seen, and how many there are."""
        return len(DECK) - len(self._missing()), len(DECK)

    def hear(self, reading: Reading) -> str:
        """Takes a card; the same code as just before is the same card, which still lies there."""
        if not isinstance(reading, CardRead):
            if isinstance(reading, NoRead | BadFrame):
                self._failures[reading.detail.partition(" ")[0] or "no read"] += 1
            return not_read(reading, None)
        if self._scans[-1:] == [reading.code]:
            return ""
        before = self._scans.index(reading.code) + 1 if reading.code in self._scans else None
        self._scans.append(reading.code)
        again = f", seen as number {before} too" if before else ""
        return f"{len(self._scans)}: {reading.code} is {self._what(reading.code)}{again}"

    def undo(self) -> str:
        """Takes the last scan back."""
        return f"{self._scans.pop()} was not scanned" if self._scans else "there is nothing to take back"

    def report(self) -> str:
        """What was found, for people."""
        seen, total = self.progress()
        lines = [f"{self._codebook.name}: {seen} of {total} cards seen in {len(self._scans)} scans"]
        if missing := self._missing():
            lines.append(f"missing: {' '.join(missing)}")
        lines += [f"more than once: {card} as {places}" for card, places in self._repeated()]
        lines += [f"not in the codebook: {code} as {_places(self._places(code))}" for code in self._unknown()]
        lines += [f"of no use: {code}, a {what}" for code, what in self._extras()]
        if self._failures:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self._failures.most_common())
            lines.append(f"not read: {reasons}")
        lines.append("the deck is sound" if self.sound else "the deck is not that of the codebook")
        return "\n".join(lines)

    def _what(self, code: str) -> str:
        meaning = self._codebook.lookup(code)
        if meaning is None:
            return "in no card of the codebook"
        return f"a {meaning.what}, which is not dealt" if isinstance(meaning, NotInDeck) else meaning

    def _places(self, code: str) -> list[int]:
        return [number for number, scanned in enumerate(self._scans, 1) if scanned == code]

    def _cards(self) -> dict[str, list[int]]:
        """Each card that was seen, by whichever of its codes, and where."""
        seen: dict[str, list[int]] = {}
        for number, code in enumerate(self._scans, 1):
            meaning = self._codebook.lookup(code)
            if isinstance(meaning, str):
                seen.setdefault(meaning, []).append(number)
        return seen

    def _missing(self) -> list[str]:
        seen = self._cards()
        return [card for card in DECK if card not in seen]

    def _repeated(self) -> list[tuple[str, str]]:
        return [(card, _places(places)) for card, places in self._cards().items() if len(places) > 1]

    def _unknown(self) -> list[str]:
        return [code for code in dict.fromkeys(self._scans) if self._codebook.lookup(code) is None]

    def _extras(self) -> list[tuple[str, str]]:
        known = ((code, self._codebook.lookup(code)) for code in dict.fromkeys(self._scans))
        return [(code, meaning.what) for code, meaning in known if isinstance(meaning, NotInDeck)]


def _places(numbers: Iterable[int]) -> str:
    return " and ".join(f"number {number}" for number in numbers)
