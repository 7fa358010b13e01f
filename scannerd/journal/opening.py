"""Finds, makes and checks the journal's file, without which nothing is read from it.

The check at the start must not grow with the journal: it proves the header, the row about the journal, the last state
and the chain from there to the head. The whole chain is proved by `scannerd journal verify`.

A journal is made under another name and renamed when it is whole. So an empty file is never a journal that is about
to begin, but one that was cut.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import quote
from uuid import uuid4

from scannerd.canonical import FIRST_PREV
from scannerd.journal.anchors import SIDES, side_file
from scannerd.journal.chain import Chain, state_digest
from scannerd.journal.errors import JournalMismatch, JournalMissing, JournalNewer, damaged, told
from scannerd.journal.records import Head, Meta, Record, Trimmed
from scannerd.journal.schema import APPLICATION_ID, EVENTS, FILE_NAME, FIRST_VERSION, LAST_SEQ, META, TABLES, VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE_MODE: Final = 0o640
DIRECTORY_MODE: Final = 0o750
_WAL_KEPT: Final = 4 * 1024 * 1024
"""Bytes to which a log that a long reader let grow is cut again."""
_ROWS: Final = 256
_TELLING: Final = 10_000
"""Rows that are checked between two words about it: about half a second."""

Tell: TypeAlias = Callable[[str], object]
"""Takes what is being done, for people; called again and again while it takes long."""


def located(where: Path) -> Path:
    """The journal's file, from its own path or its directory's."""
    return where / FILE_NAME if where.is_dir() else where


def present(path: Path) -> bool:
    """Whether there is a journal at `path`.

    The file is not opened here: closing it again would take away the locks that this process holds on it (fcntl(2)),
    and with them what keeps another program from deleting the log under the writer.

    Raises:
        JournalDamaged: it is empty.
        JournalError: it can't be looked at.
    """
    try:
        if not path.is_symlink() and not path.exists():
            return False
        size = path.stat().st_size
    except OSError as error:
        raise told(path, error) from error
    if size == 0:
        raise damaged(path, "it is empty")
    return True


def create(path: Path, table: str) -> None:
    """Makes an empty journal for `table` at `path`, and its directory where it is missing (modes 0640 and 0750).

    Raises:
        JournalDamaged: there was one, for its log is still there.
        JournalError: there is no room, no right, or the disk reports an error.
    """
    draft = path.with_name(f"{path.name}.new")
    try:
        if any(side_file(path, side).exists() for side in SIDES):
            raise damaged(path, f"{path.name} is gone, but its log {path.name}-wal is still there")
        _make_directory(path.parent)
        for old in (draft, *(side_file(draft, side) for side in SIDES)):
            old.unlink(missing_ok=True)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE))
        with closing(connect(draft, "rw", busy_ms=0)) as db:
            _write_schema(db, table)
        sync(draft)
        draft.rename(path)
        sync(path.parent)
    except (sqlite3.Error, OSError) as error:
        raise told(path, error) from error


def connect(path: Path, mode: str, *, busy_ms: int, shared: bool = False) -> sqlite3.Connection:
    """A connection in which every transaction is ours to begin; `shared`: it may be handed to another thread once."""
    uri = f"file:{quote(str(path.absolute()))}?{'immutable=1' if mode == 'immutable' else f'mode={mode}'}"
    return sqlite3.connect(uri, uri=True, timeout=busy_ms / 1000, isolation_level=None, check_same_thread=not shared)


def prepare_writer(db: sqlite3.Connection) -> None:
    """Sets the connection to durable, and proves that a write goes through.

    The log is first brought into the file: if a sync failed before, what the system still shows of it may not be on
    the disk, and would not be written again otherwise. The write keeps a table on a full disk from going on just
    because its journal can be read.
    """
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA journal_size_limit = {_WAL_KEPT}")
    db.execute("PRAGMA wal_checkpoint(PASSIVE)")
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE meta SET openings = openings + 1")
    db.execute("COMMIT")


def check_header(db: sqlite3.Connection, path: Path) -> None:
    """Raises JournalDamaged where the file is another program's, JournalNewer where it is a newer version's."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    version = schema_of(db)
    if application != APPLICATION_ID:
        raise damaged(path, "it is an SQLite file, but no journal of scannerd")
    if version > VERSION:
        known = f"schema {version}, this one knows up to {VERSION}"
        raise JournalNewer(f"{path}: written by a newer scannerd ({known}): install that version again")
    if version < FIRST_VERSION:
        raise damaged(path, f"schema {version} was never in use")


def schema_of(db: sqlite3.Connection) -> int:
    """The number of the journal's schema; older ones are read as they are."""
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    return version


def read_meta(db: sqlite3.Connection, path: Path) -> Meta:
    """The journal's row about itself.

    Raises:
        JournalDamaged: it is missing.
    """
    rows = db.execute(META[schema_of(db)]).fetchall()
    if len(rows) != 1:
        raise damaged(path, "the row about the journal is missing")
    table, journal, seq, hash_, cursor, clean, rounds, trimmed_seq, trimmed_hash, trimmed_rounds = rows[0]
    trimmed = Trimmed(Head(trimmed_seq, trimmed_hash), trimmed_rounds)
    return Meta(table, journal, Head(seq, hash_), cursor, None if clean is None else bool(clean), rounds, trimmed)


def contradiction(meta: Meta) -> str | None:
    """What can't be true of a journal that says this of itself."""
    if not 0 <= meta.cursor <= meta.head.seq:
        return f"the cursor, {meta.cursor}, is not among the events, 0 to {meta.head.seq}"
    if not 0 <= meta.trimmed.head.seq <= meta.cursor:
        return f"events up to {meta.trimmed.head.seq} were deleted, though only {meta.cursor} are acknowledged"
    if not 0 <= meta.rounds <= meta.head.seq:
        return f"{meta.rounds} rounds can't be opened by {meta.head.seq} events"
    return None


def check_table(meta: Meta, path: Path, table: str) -> None:
    """Raises JournalMismatch where the journal belongs to another table."""
    if meta.table != table:
        raise JournalMismatch(f"{path}: this is the journal of table {meta.table!r}, not of {table!r}")


def check_tail(db: sqlite3.Connection, path: Path, meta: Meta, tell: Tell = lambda _: None) -> None:
    """Proves the last state row, and the chain from there to the head; tells of it where it takes long.

    Raises:
        JournalDamaged: something was changed, is missing or was added there.
    """
    if why := contradiction(meta):
        raise damaged(path, why)
    chain = Chain.behind(meta)
    state = db.execute("SELECT seq, digest, body FROM states ORDER BY seq DESC LIMIT 1").fetchone()
    if state is not None:
        seq, digest, body = state
        if digest != state_digest(seq, body) or seq > meta.head.seq:
            raise damaged(path, f"the state row of seq {seq} is not what was written")
        _begin_behind(db, chain, seq)
    end = Head(chain.seq, next(iter(chain.links), FIRST_PREV))
    for row in rows_after(db, chain.seq):
        for seq, fault in chain.faults(row):
            raise damaged(path, f"seq {seq}: {fault}")
        end = Head(row.seq, row.hash)
        if row.seq % _TELLING == 0:
            tell(f"Checking the journal: {row.seq} of {meta.head.seq}")
    if end != meta.head:
        raise damaged(path, f"it ended at seq {meta.head.seq}, but its last row is seq {end.seq}")


def _begin_behind(db: sqlite3.Connection, chain: Chain, seq: int) -> None:
    """Lets the chain begin with row `seq`, or before the first row of an empty journal."""
    before = db.execute("SELECT seq, hash FROM events WHERE seq = ?", (seq - 1,)).fetchone()
    if before is not None:
        chain.seq, chain.links = before[0], frozenset({before[1]})


def rows_after(db: sqlite3.Connection, seq: int, upto: int = LAST_SEQ) -> Iterator[Record]:
    """All rows behind `seq`, read in short pieces: a long read would keep the log from being cut.

    Where a page can't be read it goes on row by row, so that all before the damage is had.
    """
    step = _ROWS
    while True:
        try:
            rows = db.execute(EVENTS, (seq, upto, step)).fetchall()
        except sqlite3.DatabaseError:
            if step == 1:
                raise
            step = 1
            continue
        if not rows:
            return
        for row in rows:
            yield Record(*row)
        seq = rows[-1][0]


def _make_directory(directory: Path) -> None:
    missing = [directory, *directory.parents]
    for step in reversed(missing):
        if not step.exists():
            step.mkdir(mode=DIRECTORY_MODE)
            sync(step.parent)


def sync(path: Path) -> None:
    """Has the disk hold what the system holds of a file or a folder."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_schema(db: sqlite3.Connection, table: str) -> None:
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN IMMEDIATE")
    for statement in TABLES:
        db.execute(statement)
    db.execute(
        "INSERT INTO meta VALUES (1, ?, ?, 0, ?, 0, NULL, 0, 0, 0, ?, 0)",
        (table, str(uuid4()), FIRST_PREV, FIRST_PREV),
    )
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def missing(path: Path) -> JournalMissing:
    """The error that says there is no journal at `path`."""
    return JournalMissing(f"{path}: there is no journal")
