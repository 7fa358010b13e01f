"""The journal as the engine holds it: sound, or failed and to be opened afresh.

A failed write is never tried again as if it had not happened: what it left on the disk is not known before the file is
opened afresh. Until then there is no journal, and the engine takes nothing.

What is opened afresh must hold all that was written before: with another file in its place, or an older copy, numbers
that consumers know would be given a second time. Such a file is no sound journal, however whole it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from scannerd import logs
from scannerd.bulletin import Fault, Outbox
from scannerd.journal import Batch, Head, Journal, JournalDamaged, JournalError, JournalMismatch
from scannerd.journal.chain import fault_within
from scannerd.journal.errors import damaged

REOPEN_AFTER = 2_000_000
"""Microseconds between two attempts to open a journal that failed."""


class Vault:
    """Holds the journal.

    Attributes:
        journal: open and sound, or None.
        fault: why there is none and since when, or None.
        reopen_at: when to try to open it, microseconds, while there is none.
        cursor: the last seq that the broker acknowledged, written or not.
        unreadable: why the first event that waits for the broker can't be read, at the last look; None: it can.
        writing: the number of the write that is under way, from 1; 0: none is. Read by another thread.
    """

    def __init__(
        self, journal: Journal, reopen: Callable[[], Journal], note: Callable[[str, int], None] = lambda _id, _seq: None
    ) -> None:
        """Takes an open journal, how to open it again, never a new one, and what is told how far it has come."""
        self._reopen, self._note = reopen, note
        self._log = logs.get("journal")
        self.journal: Journal | None = journal
        self.fault: Fault | None = None
        self.reopen_at = 0
        self.cursor = journal.cursor
        self.unreadable: str | None = None
        self.writing = self._writes = 0
        self._id, self._known = journal.journal_id, journal.head

    def sound(self) -> Journal:
        """The journal, where the caller knows that it is open.

        Raises:
            JournalError: it is not; the caller is at fault.
        """
        if self.journal is None:
            raise JournalError(self.fault.why if self.fault else "the journal is closed")
        return self.journal

    @property
    def head(self) -> Head:
        """The last event on disk; of a journal that failed, nothing is known."""
        return Head() if self.journal is None else self.journal.head

    @property
    def state_seq(self) -> int:
        """The seq of the last state row, or 0."""
        return 0 if self.journal is None else self.journal.state_seq

    @property
    def unwritten(self) -> int | None:
        """The cursor, where it has moved since it was written."""
        return self.cursor if self.journal is not None and self.cursor > self.journal.cursor else None

    def write(self, batch: Batch, now: int) -> bool:
        """Appends and syncs; False where that failed: nothing may be said of the batch."""
        if self.journal is None:
            return False
        try:
            with self._under_way():
                if batch.records:
                    self._note(self._id, self._known.seq)
                self.journal.append(batch)
        except JournalError as failure:
            self._fail(str(failure), now)
            return False
        self._known = self.journal.head
        return True

    def reopen(self, now: int, fold: Callable[[Journal], None]) -> bool:
        """Tries to open the journal that failed, and to fold what is in it.

        Raises:
            JournalDamaged: it is not what was written; a person must look at it.
            JournalMismatch: it is another table's or a newer version's.
        """
        try:
            self.journal = self._reopen()
            self._compare(self.journal)
            fold(self.journal)
        except (JournalDamaged, JournalMismatch):
            raise
        except JournalError as failure:
            self._fail(str(failure), now)
            return False
        self._log.info("the journal is sound again", seq=self.journal.head.seq)
        self.fault, self._known = None, self.journal.head
        self.cursor = max(self.cursor, self.journal.cursor)
        return True

    def trimmable(self, before: str) -> Head | None:
        """The last event that is older than `before` and may be deleted, or None."""
        with suppress(JournalError):  # if there is anything in it, the next write finds out and tells
            return None if self.journal is None else self.journal.trimmable(before)
        return None

    def trim(self, upto: int, before: str, limit: int, now: int) -> int | None:
        """Deletes old events, as `Journal.trim`; None where that failed: the journal is to be opened afresh."""
        if self.journal is None:
            return None
        try:
            with self._under_way():
                return self.journal.trim(upto, before, limit)
        except JournalError as failure:
            self._fail(str(failure), now)
            return None

    def outbox(self) -> Outbox:
        """What waits for the broker.

        Raises:
            JournalDamaged: the first of it is gone, or is not what was written, so that nothing can go out any more; a
                person must look at it.
        """
        depth, self.unreadable = self.head.seq - self.cursor, None
        if self.journal is None or depth <= 0:
            return Outbox()
        return Outbox(depth, self._oldest(self.journal))

    def close(self) -> None:
        """Closes the journal, with what the broker has acknowledged to the last."""
        if self.journal is None:
            return
        if self.unwritten is not None:
            self.write(Batch(cursor=self.unwritten), 0)
        if self.journal is not None:
            self.journal.close()
            self._note(self._id, self._known.seq)

    @contextmanager
    def _under_way(self) -> Iterator[None]:
        self._writes += 1
        self.writing = self._writes
        try:
            yield
        finally:
            self.writing = 0

    def _oldest(self, journal: Journal) -> str | None:
        """The `at` of the first event that waits; None where the journal can't be read now."""
        seq = self.cursor + 1
        try:
            found = journal.records(self.cursor, 1)
        except JournalDamaged:
            raise
        except JournalError as trouble:  # it may be of the moment, and writes may go through
            self.unreadable = str(trouble)
            return None
        why = fault_within(found[0]) if found and found[0].seq == seq else "it is gone"
        if why is not None:
            raise damaged(journal.path, f"seq {seq}, which waits for the broker: {why}")
        return found[0].at

    def _compare(self, journal: Journal) -> None:
        """Raises JournalError where the file does not hold what was written."""
        if journal.journal_id != self._id:
            raise JournalError(f"{journal.path}: another journal was put in the place of {self._id}")
        known = self._known
        found = journal.records(known.seq - 1, 1, known.seq) if known.seq else []
        if known.seq and (not found or found[0].hash != known.hash):
            raise JournalError(f"{journal.path}: seq {known.seq} was written, and this file does not hold it")

    def _fail(self, why: str, now: int) -> None:
        if self.fault is None or why != self.fault.why:
            self._log.error("the journal can't be written", error=why)
        if self.journal is not None:
            self.journal.close()
        self.journal, self.reopen_at = None, now + REOPEN_AFTER
        self.fault = Fault(why, now if self.fault is None else self.fault.since)
