"""A transport whose input is known beforehand: it hands out each chunk when its time has come.

Time is the transport's own: it begins at the first open. When the device was away, as the input says, and is opened
again late, what follows comes that much later too: cards that were put down one after the other must not seem to have
come at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol

from scannerd.contract import Micros, Transport, TransportError
from scannerd.scanlog import Chunk, Entry, Link

SECOND: Micros = 1_000_000


class Pace(Protocol):
    """The time, and waiting for it."""

    def now(self) -> Micros:
        """A monotonic time."""

    def wait(self, duration: Micros) -> None:
        """Returns after that time."""


class RealPace:
    """The machine's own time."""

    def now(self) -> Micros:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns() // 1_000

    def wait(self, duration: Micros) -> None:
        """Sleeps."""
        time.sleep(duration / SECOND)


class PacedTransport(Transport):
    """Hands out the chunks of entries; is away where they say so; is idle after their end."""

    def __init__(self, entries: Iterator[Entry], pace: Pace) -> None:
        """Takes the entries of one scanner; all but chunks and links are passed over."""
        self._entries = (entry for entry in entries if isinstance(entry, Chunk | Link))
        self._pace = pace
        self._next: Chunk | Link | None = None
        self._began: Micros | None = None
        self._away: str | None = None

    def open(self) -> None:
        """Succeeds unless the entries say that the device is away; see `Transport`."""
        now = self._pace.now()
        if self._began is None:
            self._began = now
        if self._away is None:
            return
        while (entry := self._peek()) is not None and not (isinstance(entry, Link) and entry.up):
            self._next = None  # what a device says that nobody can hear
        if entry is None or self._began + entry.t > now:
            raise TransportError(self._away)
        self._began = now - entry.t
        self._next = self._away = None

    def read(self, timeout: float) -> bytes:
        """The next chunk, if its time comes within `timeout`; see `Transport`."""
        limit = int(timeout * SECOND)
        entry = self._peek()
        left = limit + 1 if entry is None else max(0, (self._began or 0) + entry.t - self._pace.now())
        if left > limit or entry is None:
            self._pace.wait(limit)
            return b""
        self._pace.wait(left)
        self._next = None
        return entry.data if isinstance(entry, Chunk) else self._link(entry)

    def write(self, data: bytes) -> None:
        """Goes nowhere: what the device would answer is known already."""

    def close(self) -> None:
        """Has nothing to close; the entries go on where they are."""

    def _link(self, link: Link) -> bytes:
        if not link.up:
            self._away = link.detail or "down"
            raise TransportError(self._away)
        return b""

    def _peek(self) -> Chunk | Link | None:
        if self._next is None:
            self._next = next(self._entries, None)
        return self._next
