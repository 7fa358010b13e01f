"""The writer: one connection, one thread, one sync a batch.

After any failure the object is closed. What a failed commit left on the disk is not known before the file is opened
afresh, so nothing may be added on top of what this object believes.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from scannerd.journal import opening
from scannerd.journal.anchors import Anchors, side_file
from scannerd.journal.chain import state_digest
from scannerd.journal.errors import JournalError, told
from scannerd.journal.migrations import migrate
from scannerd.journal.reading import JournalReader
from scannerd.journal.records import Batch, Head, Meta, Previous, Record, Trimmed
from scannerd.journal.schema import EVENTS, FILE_NAME, LAST_SEQ, REPLIES_KEPT, ROUNDS_KEPT, STATES_KEPT, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from scannerd.journal.migrations import Migrated
    from scannerd.journal.opening import Tell

BUSY_MS = 5_000
"""How long a write waits for another process to let go of the file."""


class Journal:
    """A table's journal, open for writing.

    Attributes:
        path: the file.
        previous: how the run before this one ended.
        migrated: what was done to a journal of an older schema when it was opened, or None.
    """

    migrated: Migrated | None = None

    def __init__(self, path: Path, db: sqlite3.Connection, meta: Meta) -> None:
        """Takes a connection that `open` has prepared and checked."""
        self.path = path
        self.previous: Previous = "first" if meta.head.seq == 0 else "clean" if meta.clean else "crash"
        self._db: sqlite3.Connection | None = db
        self._meta = meta
        self._anchors = Anchors.of(path)
        row = self.checkpoint()
        self._state_seq = 0 if row is None else row[0]

    @classmethod
    def open(
        cls, directory: Path, table: str, *, create: bool, busy_ms: int = BUSY_MS, tell: Tell = lambda _: None
    ) -> Journal:
        """Opens the journal of `table` in `directory`, after a check that does not grow with the journal.

        Args:
            directory: the table's state directory; the caller holds its `TableLock`.
            table: the table's id.
            create: make the journal where there is none, and bring an older schema to this version's.
            busy_ms: how long a write may wait for another process to let go, in ms.
            tell: takes what is being done, for people, while a check or a migration takes long.

        Raises:
            JournalMissing: there is none, and `create` is False.
            JournalDamaged: the file is not what was written. It is left as it is.
            JournalMismatch: it is another table's, or a newer scannerd's.
            JournalError: it can't be read or written now, or has an older schema though `create` is False.
        """
        path = directory / FILE_NAME
        if not opening.present(path):
            if not create:
                raise opening.missing(path)
            opening.create(path, table)
        db = None
        try:
            db = opening.connect(path, "rw", busy_ms=busy_ms)
            _check(db, path, table, tell)
            if not create:
                _require_current(db, path)
            migrated = migrate(db, path, tell)
            opening.prepare_writer(db)
            journal = cls(path, db, opening.read_meta(db, path))
        except BaseException as error:
            if db is not None:
                db.close()
            if isinstance(error, sqlite3.Error | OSError):
                raise told(path, error) from error
            raise
        journal.migrated = migrated
        return journal

    @property
    def journal_id(self) -> str:
        """The journal's UUID."""
        return self._meta.journal

    @property
    def head(self) -> Head:
        """The last event on disk."""
        return self._meta.head

    @property
    def cursor(self) -> int:
        """The last seq that the broker acknowledged."""
        return self._meta.cursor

    @property
    def rounds(self) -> int:
        """How many rounds were opened in this journal."""
        return self._meta.rounds

    @property
    def trimmed(self) -> int:
        """The last seq that was deleted because of its age; 0: none."""
        return self._meta.trimmed.head.seq

    @property
    def state_seq(self) -> int:
        """The seq of the last state row; 0 before the first."""
        return self._state_seq

    @property
    def log_bytes(self) -> int:
        """The size of the write-ahead log. It grows past some MiB only while someone reads for long."""
        try:
            return side_file(self.path, "-wal").stat().st_size
        except OSError:
            return 0

    def append(self, batch: Batch) -> None:
        """Writes the batch and syncs it; on return it survives a power cut.

        Raises:
            JournalError: nothing may be said of the batch. The journal is closed; open it afresh to see what is there.
        """
        with self._writing() as db:
            after = self._after(batch)
            db.execute("BEGIN IMMEDIATE")
            self._write(db, batch, after)
            self._anchors.check()
            db.execute("COMMIT")
        self._meta = after
        if batch.checkpoint is not None:
            self._state_seq = after.head.seq

    def trimmable(self, before: str) -> Head | None:
        """The last event that may be deleted because of its age, or None.

        The broker has it; it is behind neither the last state row, with what a start proves, nor the opening of the
        last round that ended. Ages are looked for by halving, as if all times followed each other; `trim` looks at
        each.

        Args:
            before: a time as events write it; what is earlier is too old.

        Raises:
            JournalError: the file can't be read.
        """
        low, high = self.trimmed, self._last_trimmable()
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self._row(middle).at < before else (low, middle - 1)
        return Head(low, self._row(low).hash) if low > self.trimmed else None

    def trim(self, upto: int, before: str, limit: int) -> int:
        """Deletes at most `limit` of the oldest events, none behind `upto` or that `trimmable` would keep.

        The file does not shrink: its free pages are what the next events are written to.

        Returns:
            How many were deleted.

        Raises:
            JournalError: as for `append`.
        """
        old = []
        for record in self.records(self.trimmed, limit, min(upto, self._last_trimmable())):
            if record.at >= before:
                break
            old.append(record)
        if old:
            self._delete(old)
        return len(old)

    def records(self, after: int, limit: int, upto: int | None = None) -> list[Record]:
        """At most `limit` events behind seq `after`, in order, none behind `upto`; for the writer's own thread.

        Raises:
            JournalError: the file can't be read.
        """
        bounds = (after, LAST_SEQ if upto is None else upto, limit)
        return [Record(*row) for row in self._select(EVENTS, bounds)]

    def reader(self) -> JournalReader:
        """A reader with its own connection, for another thread.

        Raises:
            JournalError: the file can't be read.
        """
        return JournalReader(self.path)

    def checkpoint(self) -> tuple[int, bytes] | None:
        """The seq and the bytes of the last state row, or None before the first."""
        rows = self._select("SELECT seq, body FROM states ORDER BY seq DESC LIMIT 1")
        return (rows[0][0], rows[0][1]) if rows else None

    def replies(self) -> list[tuple[str, bytes]]:
        """The last 1,000 command ids with their replies, oldest first."""
        return [(row[0], row[1]) for row in self._select("SELECT id, body FROM replies ORDER BY n")]

    def recent_rounds(self, limit: int = 1000) -> list[str]:
        """The ids of the last `limit` rounds, oldest first."""
        rows = self._select("SELECT id FROM rounds ORDER BY n DESC LIMIT ?", (limit,))
        return [row[0] for row in reversed(rows)]

    def close(self) -> None:
        """Closes the file; may be called twice."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _row(self, seq: int) -> Record:
        return self.records(seq - 1, 1, seq)[0]

    def _last_trimmable(self) -> int:
        """The seq up to which nothing is needed any more, whatever its age; below `trimmed` where that is nothing."""
        opened = [row[0] for row in self._select("SELECT seq FROM rounds ORDER BY n DESC LIMIT 2")]
        return min(self.cursor, self._state_seq - 2, opened[-1] - 1 if opened else self.head.seq)

    def _delete(self, old: list[Record]) -> None:
        last = old[-1]
        rounds = self._meta.trimmed.rounds + sum(record.type == "round_opened" for record in old)
        after = replace(self._meta, trimmed=Trimmed(Head(last.seq, last.hash), rounds))
        with self._writing() as db:
            db.execute("BEGIN IMMEDIATE")
            update = db.execute(
                "UPDATE meta SET trimmed_seq = ?, trimmed_hash = ?, trimmed_rounds = ? WHERE seq = ?",
                (last.seq, last.hash, rounds, after.head.seq),
            )
            _expect_one(update, self.path)
            db.execute("DELETE FROM events WHERE seq <= ?", (last.seq,))
            db.execute("DELETE FROM rounds WHERE n <= ?", (min(rounds, after.rounds - ROUNDS_KEPT),))
            self._anchors.check()
            db.execute("COMMIT")
        self._meta = after

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Lends the connection for one transaction; a failure closes the journal."""
        db = self._connection()
        try:
            yield db
        except (sqlite3.Error, OSError) as error:
            self._give_up(db)
            raise told(self.path, error) from error
        except BaseException:
            self._give_up(db)
            raise

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            raise JournalError(f"{self.path}: the journal is closed")
        return self._db

    def _select(self, query: str, bounds: tuple[int, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection().execute(query, bounds).fetchall()
        except sqlite3.Error as error:
            raise told(self.path, error) from error

    def _after(self, batch: Batch) -> Meta:
        """What the journal says of itself when the batch is in it."""
        head = self._meta.head
        for record in batch.records:
            if record.seq != head.seq + 1:
                raise JournalError(f"{self.path}: seq {record.seq} does not follow {head.seq}")
            head = Head(record.seq, record.hash)
        cursor = self._meta.cursor if batch.cursor is None else batch.cursor
        if not self._meta.cursor <= cursor <= head.seq:
            raise JournalError(f"{self.path}: the cursor can't go from {self._meta.cursor} to {cursor}")
        opened = sum(record.type == "round_opened" for record in batch.records)
        clean = self._meta.clean if batch.clean is None else batch.clean
        return replace(self._meta, head=head, cursor=cursor, clean=clean, rounds=self._meta.rounds + opened)

    def _write(self, db: sqlite3.Connection, batch: Batch, after: Meta) -> None:
        update = db.execute(
            "UPDATE meta SET seq = ?, hash = ?, cursor = ?, clean = ?, rounds = ? WHERE seq = ?",
            (after.head.seq, after.head.hash, after.cursor, after.clean, after.rounds, self._meta.head.seq),
        )
        _expect_one(update, self.path)
        if batch.records:
            _write_records(db, batch.records, self._meta.rounds)
        if batch.replies:
            _write_replies(db, batch.replies)
        if batch.checkpoint is not None:
            _write_state(db, after.head.seq, batch.checkpoint)

    def _give_up(self, db: sqlite3.Connection) -> None:
        """Closes, saving what is already committed: if the log's name is gone, it is nowhere else but here."""
        with suppress(sqlite3.Error):
            if db.in_transaction:
                db.execute("ROLLBACK")
        with suppress(sqlite3.Error):
            db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        with suppress(sqlite3.Error):
            self.close()
        self._db = None


def _expect_one(update: sqlite3.Cursor, path: Path) -> None:
    if update.rowcount != 1:
        raise JournalError(f"{path}: another process wrote to this journal")


def _check(db: sqlite3.Connection, path: Path, table: str, tell: Tell) -> None:
    opening.check_header(db, path)
    meta = opening.read_meta(db, path)
    opening.check_table(meta, path, table)
    opening.check_tail(db, path, meta, tell)


def _require_current(db: sqlite3.Connection, path: Path) -> None:
    """A journal that was open had this version's schema: an older one in its place is another file."""
    if (found := opening.schema_of(db)) != VERSION:
        raise JournalError(f"{path}: an older journal (schema {found}) was put in the place of the one that was open")


def _write_records(db: sqlite3.Connection, records: tuple[Record, ...], rounds: int) -> None:
    db.executemany(
        "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)",
        [(record.seq, record.type, record.round, record.at, record.hash, record.body) for record in records],
    )
    opened = [record for record in records if record.type == "round_opened"]
    rows = [(n, record.round, record.seq) for n, record in enumerate(opened, rounds + 1)]
    if rows:
        db.executemany("INSERT INTO rounds VALUES (?, ?, ?)", rows)


def _write_replies(db: sqlite3.Connection, replies: tuple[tuple[str, bytes], ...]) -> None:
    db.executemany("INSERT INTO replies (id, body) VALUES (?, ?)", replies)
    db.execute("DELETE FROM replies WHERE n <= (SELECT max(n) FROM replies) - ?", (REPLIES_KEPT,))


def _write_state(db: sqlite3.Connection, seq: int, body: bytes) -> None:
    db.execute("INSERT OR REPLACE INTO states VALUES (?, ?, ?)", (seq, state_digest(seq, body), body))
    db.execute("DELETE FROM states WHERE seq NOT IN (SELECT seq FROM states ORDER BY seq DESC LIMIT ?)", (STATES_KEPT,))
