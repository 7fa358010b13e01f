"""Alarms of what lasts: a journal that can't be read, a log that somebody keeps long, events that wait, a clock unset.

Each is looked at once a second and told once. Nothing here reads the time of day: what lasts is measured with the
monotonic clock.
"""

from __future__ import annotations

from collections.abc import Iterator

from scannerd.core.events import AlarmChanged
from scannerd.vault import Vault

LONG_LOG = 32 * 1024 * 1024
"""Bytes of the journal's log that only a long read by somebody else can leave: the log isn't cut meanwhile."""

OUTBOX_PATIENCE = 60_000_000
"""Microseconds for which an event may wait for the broker: a broker that is only restarted is back by then."""

CLOCK_PATIENCE = 600_000_000
"""Microseconds for which the system may call its clock unsynchronised: a machine that has just started needs some."""


class MachineWatch:
    """Remembers since when something is as it should not be."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._waiting: tuple[int, int] | None = None
        """The last event when it was first seen to wait, and when that was."""
        self._unset: int | None = None
        """Since when the clock is unsynchronised."""

    def look(self, now: int, vault: Vault, synchronised: bool | None) -> Iterator[AlarmChanged]:  # noqa: FBT001 - as the clock says
        """How the alarms stand now; what is so already is told again, and is then no event.

        Args:
            now: monotonic, microseconds.
            vault: holds a sound journal.
            synchronised: whether the time of day can be trusted; None where nobody knows.
        """
        yield _storage(now, vault.sound().log_bytes, vault.unreadable)
        yield from self._outbox(now, vault.head.seq, vault.cursor)
        yield from self._clock(now, synchronised is False)

    def _outbox(self, now: int, head: int, cursor: int) -> Iterator[AlarmChanged]:
        """Up once an event has waited too long, and until none waits."""
        if cursor >= head:
            self._waiting = None
            yield AlarmChanged(now, "outbox", up=False)
        elif self._waiting is None or cursor >= self._waiting[0]:
            self._waiting = (head, now)
        elif now - self._waiting[1] >= OUTBOX_PATIENCE:
            detail = f"events have waited for the broker for over {OUTBOX_PATIENCE // 1_000_000} s"
            yield AlarmChanged(now, "outbox", up=True, detail=detail)

    def _clock(self, now: int, unset: bool) -> Iterator[AlarmChanged]:  # noqa: FBT001 - the one thing it is about
        if not unset:
            self._unset = None
            yield AlarmChanged(now, "clock", up=False)
            return
        self._unset = now if self._unset is None else self._unset
        if now - self._unset >= CLOCK_PATIENCE:
            detail = f"the machine's clock has not been synchronised for {CLOCK_PATIENCE // 60_000_000} min"
            yield AlarmChanged(now, "clock", up=True, detail=detail)


def _storage(now: int, size: int, unreadable: str | None) -> AlarmChanged:
    """A log that grows without end would fill the disk one day; and what can't be read can't go out."""
    detail = None
    if unreadable is not None:
        detail = f"what waits for the broker can't be read: {unreadable}"
    elif size >= LONG_LOG:
        detail = f"the journal's log is over {LONG_LOG >> 20} MiB: another program reads the journal for too long"
    return AlarmChanged(now, "storage", up=detail is not None, detail=detail)
