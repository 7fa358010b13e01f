"""How far the journal has come, in a file beside it: a journal that ends before that has lost what consumers know.

SQLite takes a file whose log is gone for a sound one that ends earlier, and so it does with an older copy. To go on
from there would give numbers a second content. So the last seq is noted in a few bytes of their own: when the next
write begins, and at the end. Not sooner, since a last write of which only a part reached the disk is what SQLite drops
after a crash, and no damage. They are not synced: after a power cut they may name an earlier seq, which proves nothing,
but never one that was not synced in the journal before.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from scannerd.journal.errors import damaged
from scannerd.journal.opening import FILE_MODE
from scannerd.journal.schema import FILE_NAME

if TYPE_CHECKING:
    from pathlib import Path

MARK_FILE: Final = "journal.head"
_FORM: Final = re.compile(rb"([0-9a-f-]{36}) (\d{20})\n")


class HighWater:
    """Keeps the mark of one table."""

    def __init__(self, directory: Path) -> None:
        """Touches nothing yet; `directory` holds the journal, and the caller the table's lock."""
        self._path = directory / MARK_FILE
        self._journal = directory / FILE_NAME
        self._fd: int | None = None

    def check(self, journal: str, seq: int) -> None:
        """Holds a journal that ends at `seq` against the mark; another journal's mark says nothing.

        Raises:
            JournalDamaged: it has come further before.
        """
        with suppress(OSError):
            mark = _FORM.fullmatch(self._path.read_bytes())
            if mark is not None and mark[1].decode() == journal and int(mark[2]) > seq:
                lost = f"it ends at seq {seq}, but {int(mark[2])} were written: its log is gone, or it is an older copy"
                raise damaged(self._journal, lost)

    def note(self, journal: str, seq: int) -> None:
        """Notes how far the journal has come; where that can't be written it stays as it was."""
        with suppress(OSError):
            if self._fd is None:
                self._fd = os.open(self._path, os.O_CREAT | os.O_WRONLY, FILE_MODE)
            os.pwrite(self._fd, b"%b %020d\n" % (journal.encode(), seq), 0)

    def close(self) -> None:
        """Closes the file; may be called twice."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
