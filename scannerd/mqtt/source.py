"""The outbox, opened in the publisher's thread and opened afresh after trouble."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence

from scannerd.mqtt.notices import EventDamagedError, Outbox, OutboxError, Record

REOPEN_US = 2_000_000


class Source:
    """Reads records; while the journal can't be read it gives None, and tries again every 2 s.

    The engine finds the same trouble with the journal and holds the table, or ends where an event that waits is
    damaged: nothing is told from here.
    """

    def __init__(self, open_outbox: Callable[[], Outbox], clock: Callable[[], int]) -> None:
        """`open_outbox` is called in the thread that reads, for the first time at the first read."""
        self._open = open_outbox
        self._clock = clock
        self._outbox: Outbox | None = None
        self._closed_until: int | None = None
        self._fresh: Sequence[Record] = ()

    def offer(self, fresh: Sequence[Record]) -> None:
        """Takes the journal's last events, in order; from any thread. Only the latest offer is kept."""
        self._fresh = fresh

    def read(self, after: int, limit: int) -> Sequence[Record] | None:
        """At most `limit` records after number `after`, or None."""
        try:
            return self._read(after, limit)
        except EventDamagedError:
            return None

    def _read(self, after: int, limit: int) -> Sequence[Record] | None:
        fresh = self._fresh
        if fresh and fresh[0].seq <= after + 1 <= fresh[-1].seq:
            begin = after + 1 - fresh[0].seq
            return fresh[begin : begin + limit]
        if self._closed_until is not None and self._clock() < self._closed_until:
            return None
        try:
            if self._outbox is None:
                self._outbox = self._open()
            self._closed_until = None
            return self._outbox.records(after, limit)
        except EventDamagedError:
            raise
        except (OutboxError, sqlite3.Error, OSError):
            self.close()
            self._closed_until = self._clock() + REOPEN_US
            return None

    def read_what_is_left(self, after: int, limit: int) -> Sequence[Record] | None:
        """As `read`, for who asks again for old events: those that are damaged, or were deleted, are left out."""
        while True:
            try:
                return self._read(after, limit)
            except EventDamagedError as damage:
                after = damage.behind

    def close(self) -> None:
        """Gives the journal back; never raises."""
        outbox, self._outbox = self._outbox, None
        if outbox is not None:
            with contextlib.suppress(OutboxError, sqlite3.Error, OSError):
                outbox.close()
