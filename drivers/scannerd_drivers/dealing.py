"""Simulated deals: what a scanner sends while a dealer deals, faults and the dealer's reactions included.

Pure, and the same for the same seed. The dealer does what the prompt would ask for: a card that failed is scanned
again after a while, and after a round there is a pause. A slot fails twice at most, since a third time would hold the
round, and that no dealer can clear. So every round that was opened is dealt to its end.

Times keep to the defaults of section `[round]`: failures lie further apart than `bounce_ms`, rounds further than
`round_gap_ms`, and the two cards of a multi-read closer than `min_gap_ms`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from random import Random
from typing import NamedTuple, TypeAlias

from scannerd.contract import MS, Micros
from scannerd.core.cards import DECK, Card
from scannerd.scanlog import Chunk, End, Entry, Link, Order
from scannerd_drivers.formats import Format

CHUNK_GAP_MS = 8
"""Between two chunks of one card, in ms."""

FAILED_AT_MOST = 2
"""How often a slot fails."""

_AGAIN_MS = 900
"""The dealer tries again no sooner than after so long: a tag must have been away for 750 ms."""

_Fault: TypeAlias = Callable[[list[Card], int], Iterator[Entry]]


class Rates(NamedTuple):
    """How likely each fault is, 0 to 1.

    Attributes:
        misread: a try for a card does not read.
        duplicate: an earlier card of the round is scanned instead.
        bounce: a card is read twice at once.
        multi_read: the next card is read with a card.
        extra: one more card is scanned after the round.
        unplug: the scanner is lost in the middle of a card, and comes back.
    """

    misread: float = 0.0
    duplicate: float = 0.0
    bounce: float = 0.0
    multi_read: float = 0.0
    extra: float = 0.0
    unplug: float = 0.0


class Dealer:
    """Deals round after round with one scanner."""

    def __init__(  # noqa: PLR0913 - half of them by name
        self, scanner: str, form: Format, rates: Rates, *, seed: int, card_ms: int, cards: int
    ) -> None:
        """Begins at time 0.

        Args:
            scanner: its name in the entries.
            form: how it sends cards.
            rates: the faults.
            seed: the same one gives the same deals.
            card_ms: from card to card on average, in ms; 400 or more.
            cards: how many a round has.
        """
        self._scanner, self._format, self._rates = scanner, form, rates
        self._random = Random(seed)  # noqa: S311 - a simulation
        self._card_ms, self._cards = card_ms, cards
        self._now: Micros = 0

    def entries(self, rounds: int) -> Iterator[Entry]:
        """All that happens in so many rounds, 0: in rounds without end. Each begins with the command `open`."""
        for number in count(1) if rounds == 0 else range(1, rounds + 1):
            yield from self._round(number)
        yield End(self._now)

    def _round(self, number: int) -> Iterator[Entry]:
        self._wait(500, 700)
        yield Order(self._now, "open", {"id": f"round-{number}", "by": "simulator"})
        order = self._random.sample(DECK, self._cards + 1 if self._cards < len(DECK) else self._cards)
        for place in range(self._cards):
            self._wait_for_card()
            yield from self._card(order, place)
        if self._happens(self._rates.extra):
            self._wait(900, 1_500)
            yield from self._send(self._format.card(order[-1]))
        self._wait(3_500, 6_000)

    def _card(self, order: list[Card], place: int) -> Iterator[Entry]:
        if self._happens(self._rates.unplug):
            yield from self._unplug(order[place])
        failed = 0
        while failed < FAILED_AT_MOST and (fault := self._fault(place)) is not None:
            yield from fault(order, place)
            self._wait_to_try_again()
            failed += 1
        yield from self._send(self._format.card(order[place]))
        if self._happens(self._rates.bounce):
            self._wait(30, 200)
            yield from self._send(self._format.card(order[place]))

    def _fault(self, place: int) -> _Fault | None:
        if self._happens(self._rates.misread):
            return self._misread
        if place > 1 and self._happens(self._rates.duplicate):
            return self._duplicate
        if place < self._cards - 1 and self._happens(self._rates.multi_read):
            return self._multi_read
        return None

    def _misread(self, order: list[Card], place: int) -> Iterator[Entry]:
        del order, place
        return self._send(self._format.misread())

    def _duplicate(self, order: list[Card], place: int) -> Iterator[Entry]:
        """Not the card dealt last, which may well lie on the scanner still."""
        return self._send(self._format.card(order[self._random.randrange(place - 1)]))

    def _multi_read(self, order: list[Card], place: int) -> Iterator[Entry]:
        yield from self._send(self._format.card(order[place]))
        self._wait(10, 40)
        yield from self._send(self._format.card(order[place + 1]))

    def _unplug(self, card: Card) -> Iterator[Entry]:
        """The card being read is lost with the scanner; it is scanned when that is back."""
        chunks = self._format.card(card)
        half = chunks[: len(chunks) // 2] if self._format.reports else [chunks[0][: len(chunks[0]) // 2]]
        yield from self._send(half)
        self._wait(10, 100)
        yield Link(self._now, self._scanner, up=False, detail="unplugged")
        self._wait(1_000, 4_000)
        yield Link(self._now, self._scanner, up=True)
        self._wait_for_card()

    def _send(self, chunks: list[bytes]) -> Iterator[Entry]:
        for number, data in enumerate(chunks):
            self._now += CHUNK_GAP_MS * MS if number else 0
            yield Chunk(self._now, self._scanner, data)

    def _happens(self, rate: float) -> bool:
        return self._random.random() < rate

    def _wait_for_card(self) -> None:
        self._wait(self._card_ms * 7 // 10, self._card_ms * 13 // 10)

    def _wait_to_try_again(self) -> None:
        self._wait(_AGAIN_MS, max(_AGAIN_MS, self._card_ms * 16 // 10))

    def _wait(self, least: int, most: int) -> None:
        """Lets time pass, in whole ms."""
        self._now += self._random.randint(least, most) * MS
