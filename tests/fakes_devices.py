"""Fakes below the readers: a scanner's language that is easy to read, a deck, and devices that do as they are told."""

from __future__ import annotations

from scannerd.contract import (
    BadFrame,
    CardRead,
    Decoder,
    Driver,
    DriverOptions,
    Micros,
    NoRead,
    Notice,
    Reading,
    Reply,
    Transport,
)
from scannerd.core.cards import card

FRAME_TIMEOUT: Micros = 2_000_000
"""Silence inside a frame of a `WordDecoder` after which it is a partial one."""


class WordDecoder:
    """Frames that end in `;`, each a word that says what reading it is.

    `AS` or `A:AS` is a card, `!` a read that failed, `#checksum` a bad frame of that name, `*text` a notice, `ack` asks
    for a reply at once and `settle` for one when the readings are journalled; an empty frame is nothing. A `?` waits
    as a broken copy does: it is in no frame, and a `lost` frame is told before the next one.
    """

    def __init__(self) -> None:
        self.pending = b""
        self.deadline: Micros | None = None
        self._waiting = False

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes bytes split anywhere."""
        *frames, self.pending = (self.pending + chunk).split(b";")
        self.deadline = t + FRAME_TIMEOUT if self.pending else None
        return [reading for frame in frames for reading in self._readings(frame)]

    def tick(self, t: Micros) -> list[Reading]:
        """A frame that stands still is partial; one of only `-` is forgotten without a word."""
        if self.deadline is None or self.deadline > t:
            return []
        half, self.pending, self.deadline = self.pending, b"", None
        return [] if half == b"-" else [BadFrame("partial", half)]

    def finish(self, t: Micros) -> list[Reading]:
        """What waits is lost."""
        del t
        self.pending, self.deadline = b"", None
        return self._lost()

    def _readings(self, frame: bytes) -> list[Reading]:
        word = frame.decode("latin-1")
        if word == "?":
            self._waiting = True
            return []
        return self._lost() + self._reading(word, frame + b";")

    @staticmethod
    def _reading(word: str, raw: bytes) -> list[Reading]:
        hand, colon, code = word.rpartition(":")
        known: dict[str, Reading] = {
            "!": NoRead("no-read", raw),
            "ack": Reply(b"ACK"),
            "settle": Reply(b"SETTLED", settled=True, within=1_000_000),
        }
        if word[:1] == "#":
            return [BadFrame(word[1:], raw)]
        if word[:1] == "*":
            return [Notice("other", word[1:], raw)]
        if word:
            return [known.get(word) or CardRead(code, hand if colon else None, raw)]
        return []

    def _lost(self) -> list[Reading]:
        lost: list[Reading] = [BadFrame("lost", b"?;")] if self._waiting else []
        self._waiting = False
        return lost


class WordOptions(DriverOptions):
    """A `WordDriver` has no options."""


class WordDriver(Driver[WordOptions]):
    """Speaks the language of `WordDecoder`; its transport is whatever it is given."""

    name = "word"
    summary = "words"
    Options = WordOptions

    def __init__(self, transport: Transport | None = None) -> None:
        super().__init__(WordOptions())
        self._transport = transport

    def decoder(self, t: Micros) -> Decoder:
        """A fresh decoder."""
        del t
        return WordDecoder()

    def transport(self, url: str) -> Transport:
        """The transport it was given."""
        if self._transport is None:
            raise ValueError(url)
        return self._transport

    def feedback(self, outcome: str) -> bytes:
        """A beep for an accepted card."""
        return b"BEEP" if outcome == "accepted" else b""


class Deck:
    """A codebook of the cards' own names; `JK` is a joker."""

    def lookup(self, code: str) -> object:
        """The card, `"joker"` where it is none of the deck, None where it is unknown."""
        return NotOfTheDeck() if code == "JK" else card(code)


class NotOfTheDeck:
    """A card that does not belong in the deck."""
