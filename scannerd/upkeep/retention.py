"""Lets events go that are older than the configuration keeps them.

First an event, `journal_trimmed`, says up to which seq and carries the hash there, so that the proof of the rest stays
whole. When it is written, small batches are deleted while nothing else is to be done: one holds a card up for no longer
than a card's own sync. What may never go, whatever its age, the journal itself knows.

Where the system says that its clock is not synchronised nothing is let go: by a clock that woke up in another year
everything is old.
"""

from __future__ import annotations

from collections.abc import Callable

from scannerd.core.events import Trimming
from scannerd.messages import utc
from scannerd.vault import Vault

FIRST = 60_000_000
"""Microseconds after the start until the first look, when scanners and broker have had their time."""

EVERY = 86_400_000_000
"""Microseconds between two looks, and so between two `journal_trimmed`."""

BATCH = 200
"""Events that are deleted at once, at most."""

_DAY = 86_400_000_000


class Retention:
    """Looks once a day, and deletes bit by bit."""

    def __init__(self, keep_days: int, now: int) -> None:
        """Takes how many days events are kept, 0 for ever; `now` is monotonic, microseconds."""
        self._keep_days = keep_days
        self._look_at = now + FIRST
        self._upto = 0

    def keep(self, days: int) -> None:
        """From now on events are kept for so many days, 0 for ever: then what was about to go stays, too."""
        self._keep_days = days
        if not days:
            self._upto = 0

    def look(self, vault: Vault, now: int, wall: int, synchronised: Callable[[], bool | None]) -> Trimming | None:
        """What is to be told before events may go, once a day.

        Args:
            vault: holds the journal.
            now: monotonic, microseconds.
            wall: the time of day, microseconds since 1970.
            synchronised: whether that can be trusted; None where nobody knows.
        """
        if not self._keep_days or now < self._look_at or synchronised() is False:
            return None
        self._look_at = now + EVERY
        last = vault.trimmable(self._cutoff(wall))
        return None if last is None else Trimming(now, self._keep_days, last.seq, last.hash)

    def allow(self, upto: int) -> None:
        """The event is written: what it names may go."""
        self._upto = upto

    def clear(self, vault: Vault, now: int, wall: int) -> bool:
        """Deletes a batch, where there is one.

        Returns:
            Whether the journal is still sound; False: it could not be written.
        """
        if not self._upto:
            return True
        deleted = vault.trim(self._upto, self._cutoff(wall), BATCH, now)
        if not deleted:
            self._upto = 0
        return deleted is not None

    def _cutoff(self, wall: int) -> str:
        return utc(max(0, wall - self._keep_days * _DAY))
