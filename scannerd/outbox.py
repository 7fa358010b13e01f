"""The journal as the publisher reads it: its own connection, opened afresh where the file was replaced."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from scannerd.journal import JournalError, JournalReader, Record
from scannerd.journal.anchors import Anchors
from scannerd.mqtt.notices import OutboxError


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
        """At most `limit` events behind seq `after`, in order.

        Raises:
            OutboxError: the journal can't be read, or it or its log is another file than was opened: open it afresh.
        """
        try:
            self._anchors.check()
            return self._reader.records(after, limit)
        except (JournalError, OSError) as trouble:
            raise OutboxError(str(trouble)) from trouble

    def close(self) -> None:
        """Closes the connection; may be called twice."""
        self._reader.close()
