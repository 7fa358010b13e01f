"""Reading a journal beside its writer: short reads on a connection of one's own, and nothing is ever written."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from scannerd.journal.anchors import side_file
from scannerd.journal.errors import told
from scannerd.journal.opening import check_header, connect, located, missing, present, read_meta, rows_after
from scannerd.journal.records import Record
from scannerd.journal.schema import EVENTS, LAST_SEQ, OPENINGS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from scannerd.journal.records import Meta

_BUSY_MS = 5_000


class JournalReader:
    """Reads the journal of a running or a stopped daemon. One thread uses it, which need not be the one that made it.

    Attributes:
        path: the journal's file.
    """

    def __init__(self, where: Path) -> None:
        """Opens the journal at `where`, its file or its directory.

        Raises:
            JournalMissing: there is none.
            JournalDamaged: the file is no sound journal.
            JournalError: it can't be read.
        """
        self.path = located(where)
        if not present(self.path):
            raise missing(self.path)
        try:
            self._db = _open_read_only(self.path)
        except sqlite3.Error as error:
            raise told(self.path, error) from error
        self._db.text_factory = _lenient
        with self._reading_or_close():
            check_header(self._db, self.path)

    def records(self, after: int, limit: int, upto: int | None = None) -> list[Record]:
        """At most `limit` events behind seq `after`, in order, none behind `upto`."""
        with self.reading() as db:
            rows = db.execute(EVENTS, (after, LAST_SEQ if upto is None else upto, limit)).fetchall()
        return [Record(*row) for row in rows]

    def walk(self, after: int = 0, upto: int | None = None) -> Iterator[Record]:
        """All events behind seq `after`, in order, in short reads."""
        with self.reading() as db:
            yield from rows_after(db, after, LAST_SEQ if upto is None else upto)

    def meta(self) -> Meta:
        """The journal's row about itself, as it is now."""
        with self.reading() as db:
            return read_meta(db, self.path)

    def openings(self, round_id: str) -> list[tuple[int, int | None]]:
        """Where a round of this id was opened, and where the one after it was: an engine may give an id again."""
        with self.reading() as db:
            return list(db.execute(OPENINGS, (round_id,)))

    def rounds_before(self, seq: int) -> int:
        """How many rounds were opened before the event `seq`, those of deleted events included."""
        with self.reading() as db:
            (rounds,) = db.execute("SELECT coalesce(max(n), 0) FROM rounds WHERE seq < ?", (seq,)).fetchone()
        return int(rounds)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lends the connection; its faults come out in the journal's words.

        Raises:
            JournalError: the file can't be read now.
            JournalDamaged: the file is not what was written.
        """
        try:
            yield self._db
        except sqlite3.Error as error:
            raise told(self.path, error) from error

    def close(self) -> None:
        """Closes the connection; may be called twice, from any thread that alone holds the reader."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _reading_or_close(self) -> Iterator[None]:
        try:
            with self.reading():
                yield
        except BaseException:
            self.close()
            raise


def _open_read_only(path: Path) -> sqlite3.Connection:
    """Opens for reading, also where nothing may be written beside the file, as on a copy on a read-only medium.

    SQLite needs to make its shared memory there, unless it is told that nobody writes. Without a log nobody does.
    """
    db = connect(path, "ro", busy_ms=_BUSY_MS, shared=True)
    try:
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError as error:
        db.close()
        locked_out = error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY"))
        if locked_out and not side_file(path, "-wal").exists():
            return connect(path, "immutable", busy_ms=_BUSY_MS, shared=True)
        raise
    except sqlite3.Error:
        db.close()
        raise
    return db


def _lenient(text: bytes) -> str:
    """A column whose bytes were changed still has to be read, so that its row can be named."""
    return text.decode(errors="replace")
