"""One scanner's decoder and codebook: chunks of bytes in, events of the core out.

Pure, so that a live scanner and a recording take the same way, byte for byte: the shell hands in chunks, times and
whether a chunk is stale, and gets back what the engine's inbox or a replay is told.

Stale are bytes that waited while the process did not run. A reading with any stale byte is stale. What a stale chunk
leaves unfinished is remembered, and fresh bytes are fed one by one until it has ended: in a reading whose frame holds
it, or in nothing (a copy, a tag that still lies there). As long as the decoder still keeps it, what is told meanwhile,
such as a notice or a broken copy, is none of it. Where neither can be seen, the next reading counts as stale: better a
card scanned again than a doubtful one. A frame told as `lost` was whole before, and is never stale.

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

    @property
    def reports(self) -> bool:
        """Whether chunks are reports, which are never split."""

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
        self._late = self._behind = b""
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
        elif not stale and not self._late:
            self._told = None
        if stale:
            made += self._late_chunk(data, t)
        elif self._late:
            made += self._behind_late(data, t)
        else:
            made += self._events(self._decoder.feed(data, t), t)
        return made

    def tick(self, t: Micros) -> list[Output]:
        """Decides every deadline at or before `t`, each at its own time."""
        made: list[Output] = []
        while (due := self._decoder.deadline) is not None and due <= t:
            made += self._judged(self._decoder.tick(due), due)
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
        made += self._judged(self._decoder.finish(t), t)
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
        self._late = self._behind = b""
        self._told = None

    def _late_chunk(self, data: bytes, t: Micros) -> list[Output]:
        """Stale bytes; what they leave unfinished is late, unless it is only what fresh bytes had left before them."""
        fresh = b"" if self._late else self._decoder.pending
        made = self._events(self._decoder.feed(data, t), t, stale=True)
        pending = self._decoder.pending
        untouched = fresh.startswith(pending) and not data.endswith(pending)
        self._late, self._behind = b"" if untouched else pending, b""
        return made

    def _behind_late(self, data: bytes, t: Micros) -> list[Output]:
        """Fresh bytes behind stale ones, one by one until what the stale ones began has ended."""
        step, at = len(data) if self._driver.reports else 1, 0
        made: list[Output] = []
        while self._late and at < len(data):
            part = data[at : at + step]
            self._behind += part
            made += self._judged(self._decoder.feed(part, t), t)
            at += step
        return made + self._events(self._decoder.feed(data[at:], t), t) if at < len(data) else made

    def _judged(self, readings: list[Reading], at: Micros) -> list[Output]:
        """Readings made while stale bytes may be pending: the one that holds them, if any, is stale."""
        if not self._late:
            return self._events(readings, at)
        holder = self._holder(readings)
        self._late = self._still_late(holder)
        made: list[Output] = []
        for number, reading in enumerate(readings):
            made += self._events([reading], at, stale=number == holder)
        return made

    def _still_late(self, holder: int | None) -> bytes:
        """What the decoder still keeps of the stale bytes: its pending frame, or the beginning of one that was spoiled.

        What it keeps may look the same and be fresh: a frame that only now began. Then the fresh bytes end with it.
        """
        pending = self._decoder.pending
        if holder is None and pending.startswith(self._late):
            return self._late
        kept = self._late.startswith(pending) and not self._behind.endswith(pending)
        self._behind = self._behind if kept else b""
        return pending if kept else b""

    def _holder(self, readings: list[Reading]) -> int | None:
        """Which of the readings holds the stale bytes; None: none of them."""
        own = [number for number, reading in enumerate(readings) if _may_be_stale(reading)]
        for number in own:
            if self._late in readings[number].raw:  # type: ignore[union-attr]  # a reply may not be stale
                return number
        if self._decoder.pending.startswith(self._late):
            return None
        return next((number for number in own if not isinstance(readings[number], Notice)), None)

    def _events(self, readings: Iterable[Reading], at: Micros, *, stale: bool = False) -> list[Output]:
        if self._told is None:
            return [self._event(reading, at) for reading in readings]
        made: list[Output] = []
        for reading in readings:
            old = stale and _may_be_stale(reading) and not isinstance(reading, Notice)
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


def _may_be_stale(reading: Reading) -> bool:
    """A reply is none of the device's bytes, and a lost frame was whole before."""
    return not isinstance(reading, Reply) and not (isinstance(reading, BadFrame) and reading.lost)
