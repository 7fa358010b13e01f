"""One scanner's decoder and codebook: chunks of bytes in, events of the core out.

Pure, so that a live scanner and a recording take the same way, byte for byte: the shell hands in chunks, times and
whether a chunk is stale, and gets back what the engine's inbox or a replay is told.

Stale are bytes that waited while the process did not run. A reading with any stale byte is stale. Which bytes a reading
was made of only the decoder knows, and it need not say; so the unfinished frame that a stale chunk leaves behind taints
the first reading made after it. That is never too little: a decoder has one unfinished frame, and what it becomes comes
first. A frame told as `lost` is the exception: it was whole before, and leaves the taint to what follows it.

A scanner that was scanned twenty times while the process stood still would be told twenty times. Within one wake, that
is from the first stale chunk to the first chunk without a stale byte in what it may become, each code is told once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from scannerd.contract import BadFrame, CardRead, Decoder, Micros, NoRead, Notice, Reading, Reply
from scannerd.core.cards import Card
from scannerd.core.events import FailedRead, FailedReason, Noticed, Read, ScannerWentDown, ScannerWentUp

ChannelEvent: TypeAlias = Read | FailedRead | Noticed | ScannerWentUp | ScannerWentDown
"""What a scanner can tell the core."""

Output: TypeAlias = ChannelEvent | Reply
"""What a channel makes: events in byte order, and between them the replies that their bytes call for."""

HANDS = ("A", "B")
DROPPED_BYTES_SHOWN = 64
"""How many bytes of a dropped half frame `scanner_down` shows."""


class MakesDecoders(Protocol):
    """As much of a `Driver` as a channel needs, whatever the driver's options are."""

    def decoder(self, t: Micros) -> Decoder:
        """A fresh decoder for a device that was opened at `t`."""


class Codebook(Protocol):
    """From the code as it was scanned to the card."""

    def lookup(self, code: str) -> object:
        """The `Card` of `code`; None: no such code; anything else: a card that does not belong in the deck."""


class Channel:
    """Makes events of what one scanner sends.

    Attributes:
        scanner: the scanner's name in the configuration.
        stale_dropped: how many stale readings were not told because their code had been told in the same wake.
    """

    def __init__(self, scanner: str, driver: MakesDecoders, codebook: Codebook, hand: str | None, t: Micros) -> None:
        """Begins at `t` with a fresh decoder; `hand` is `A` or `B` where the scanner reads one hand only."""
        self.scanner = scanner
        self.stale_dropped = 0
        self._driver = driver
        self._lookup = codebook.lookup
        self._hand = hand
        self._decoder = driver.decoder(t)
        self._tainted = False
        self._told: set[tuple[str, str]] | None = None

    @property
    def deadline(self) -> Micros | None:
        """When `tick` must be called, at the latest; None while no frame is pending."""
        return self._decoder.deadline

    def chunk(self, data: bytes, t: Micros, *, stale: bool = False) -> list[Output]:
        """Takes what one read of the transport gave at `t`; a deadline at or before `t` is decided first, at its time.

        Args:
            data: the bytes; for a report driver exactly one report.
            t: when they were read.
            stale: they waited while the process did not run.
        """
        made = self.tick(t)
        if stale and self._told is None:
            self._told = set()
        elif not stale and not self._tainted:
            self._told = None
        made += self._events(self._decoder.feed(data, t), t, stale=stale)
        if stale or self._tainted:
            self._tainted = self._decoder.pending != b""
        return made

    def tick(self, t: Micros) -> list[Output]:
        """Decides every deadline at or before `t`, each at its own time."""
        made: list[Output] = []
        while (due := self._decoder.deadline) is not None and due <= t:
            made += self._events(self._decoder.tick(due), due)
            self._tainted = self._tainted and self._decoder.pending != b""
            if self._decoder.deadline == due:
                break  # a decoder that does not move on would hold the reader for ever
        return made

    def down(self, t: Micros, detail: str | None) -> list[Output]:
        """The device is lost at `t`: what must be told all the same, then that it is down and why.

        Args:
            t: when it was found lost.
            detail: what the transport said.
        """
        made = self.tick(t)
        half = self._decoder.pending
        made += self._events(self._decoder.finish(t), t)
        made.append(ScannerWentDown(t, self.scanner, _with_half_frame(detail, half)))
        self.restart(t)
        return made

    def up(self, t: Micros, detail: str | None = None) -> list[Output]:
        """The device is open since `t`; its decoder is fresh."""
        self.restart(t)
        return [ScannerWentUp(t, self.scanner, detail)]

    def restart(self, t: Micros) -> None:
        """Begins anew with a fresh decoder, without an event: what was pending is forgotten."""
        self._decoder = self._driver.decoder(t)
        self._tainted = False
        self._told = None

    def _events(self, readings: Iterable[Reading], at: Micros, *, stale: bool = False) -> list[Output]:
        if self._told is None:
            return [self._event(reading, at) for reading in readings]
        made: list[Output] = []
        for reading in readings:
            old = self._is_stale(reading, stale=stale)
            if old and self._told_before(reading, self._told):
                self.stale_dropped += 1
            else:
                made.append(self._event(reading, at, stale=old))
        return made

    def _event(self, reading: Reading, at: Micros, *, stale: bool = False) -> Output:
        if isinstance(reading, CardRead):
            return self._card(reading, at, stale)
        if isinstance(reading, NoRead):
            return FailedRead(at, self.scanner, "no_read", reading.detail, stale, lost=False, raw=reading.raw)
        if isinstance(reading, BadFrame):
            return FailedRead(at, self.scanner, "bad_frame", reading.detail, stale, reading.lost, reading.raw)
        if isinstance(reading, Notice):
            return Noticed(at, self.scanner, reading.kind, reading.detail)
        return reading

    def _card(self, reading: CardRead, at: Micros, stale: bool) -> Output:  # noqa: FBT001 - a keyword costs time here
        hand = reading.hand
        if hand is None:
            hand = self._hand
        elif hand not in HANDS or self._hand not in (None, hand):
            return FailedRead(at, self.scanner, "bad_frame", "hand", stale, lost=False, raw=reading.raw)
        found = self._lookup(reading.code)
        if isinstance(found, str):
            return Read(at, self.scanner, Card(found), hand, stale, reading.raw)
        reason: FailedReason = "unknown_code" if found is None else "not_in_deck"
        return FailedRead(at, self.scanner, reason, reading.code, stale, lost=False, raw=reading.raw)

    def _is_stale(self, reading: Reading, *, stale: bool) -> bool:
        """Whether stale bytes are in it; the first reading that could have them takes the taint away with it."""
        if isinstance(reading, Reply) or (isinstance(reading, BadFrame) and reading.lost):
            return False
        old = stale or self._tainted
        self._tainted = False
        return old and not isinstance(reading, Notice)

    @staticmethod
    def _told_before(reading: Reading, told: set[tuple[str, str]]) -> bool:
        key = ("code", reading.code) if isinstance(reading, CardRead) else ("reason", type(reading).__name__)
        if key in told:
            return True
        told.add(key)
        return False


def _with_half_frame(detail: str | None, half: bytes) -> str | None:
    if not half:
        return detail
    more = "…" if len(half) > DROPPED_BYTES_SHOWN else ""
    dropped = f"half frame dropped: {half[:DROPPED_BYTES_SHOWN].hex()}{more}"
    return f"{detail}; {dropped}" if detail else dropped
