"""The journal as the publisher reads it: its own connection, opened afresh where the file was replaced.

What was written long ago may have been changed since, by a disk or by a person. Each event that is read back is held
against its own hash, so that no other card than the one that was journalled ever goes out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from scannerd.journal import JournalDamaged, JournalError, JournalReader, Record
from scannerd.journal.anchors import Anchors
from scannerd.journal.chain import fault_within
from scannerd.mqtt.notices import EventDamagedError, OutboxError


class JournalOutbox:
    """Reads events behind a seq; used by the publisher's thread alone."""

    def __init__(self, directory: Path) -> None:
        """Opens the journal in a table's state directory.

        Raises:
            OutboxError: it can't be read at present.
        """
        try:
            self._reader = JournalReader(directory)
        except JournalError as trouble:
            raise OutboxError(str(trouble)) from trouble
        try:
            self._anchors = Anchors.of(self._reader.path)
        except OSError as trouble:
            self._reader.close()
            raise OutboxError(str(trouble)) from trouble

    def records(self, after: int, limit: int) -> Sequence[Record]:
        """At most `limit` events behind seq `after`, in order and without a gap, up to the first that is damaged.

        Raises:
            EventDamagedError: the first of them is gone, or is not what was written.
            OutboxError: the journal can't be read, or it or its log is another file than was opened: open it afresh.
        """
        try:
            self._anchors.check()
            page = self._page(after, limit)
        except (JournalError, OSError) as trouble:
            raise OutboxError(str(trouble)) from trouble
        sound = [record for _, record in takewhile(_in_place, enumerate(page, after + 1))]
        if page and not sound:
            raise self._damaged(page[0], after + 1)
        return sound

    def close(self) -> None:
        """Closes the connection; may be called twice."""
        self._reader.close()

    def _page(self, after: int, limit: int) -> list[Record]:
        try:
            return self._reader.records(after, limit)
        except JournalError:
            return self._one_by_one(after, limit)

    def _one_by_one(self, after: int, limit: int) -> list[Record]:
        """So that all before the page that can't be read is had."""
        page: list[Record] = []
        try:
            while len(page) < limit and (more := self._reader.records(page[-1].seq if page else after, 1)):
                page += more
        except JournalDamaged as damage:
            if not page:
                raise EventDamagedError(self._reader.path, after + 1, after + 1, str(damage)) from damage
        except JournalError:
            if not page:
                raise
        return page

    def _damaged(self, found: Record, expected: int) -> EventDamagedError:
        if found.seq > expected:
            return EventDamagedError(self._reader.path, expected, found.seq - 1, "it is gone")
        return EventDamagedError(self._reader.path, expected, expected, fault_within(found) or "it is damaged")


def _in_place(numbered: tuple[int, Record]) -> bool:
    seq, record = numbered
    return record.seq == seq and fault_within(record) is None
