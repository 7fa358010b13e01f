"""Brings a journal of an older schema to this version's: a backup first, then step by step, each in one transaction.

The events themselves are never touched: their bytes, hashes and numbers are what consumers hold, and a migration is no
event. What changes is what stands beside them.

A backup is a whole journal of the old schema, for the way back. It gets its name only when it is synced, so that what
bears the name is whole; a start that was killed on the way finds it again and makes no second one. It is never deleted
from here: that is for a person who has seen the table deal.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from scannerd.journal.anchors import side_file
from scannerd.journal.errors import JournalError
from scannerd.journal.opening import FILE_MODE, Tell, check_header, connect, read_meta, schema_of, sync

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPARE: Final = 16 * 1024 * 1024
"""Bytes that must stay free beside what is known to be needed."""

_PAGES: Final = 16_384
"""Pages that are copied between two words about it, and synced: 64 MiB, so that the last sync does not take long."""
_OPERATIONS: Final = 5_000_000
"""Of SQLite's own, between two words about a step: well below a second."""


@dataclass(frozen=True, slots=True)
class Step:
    """From one schema to the next.

    Attributes:
        to: the schema that it makes.
        what: what it does, for people.
        run: does it, within a transaction that is not its own to begin or to end.
        rewrites: it writes the events anew, and needs room for them once more.
    """

    to: int
    what: str
    run: Callable[[sqlite3.Connection], object]
    rewrites: bool = False


@dataclass(frozen=True, slots=True)
class Migrated:
    """What was done.

    Attributes:
        before: the schema that was found.
        after: the schema that is there now.
        backup: the journal as it was found.
    """

    before: int
    after: int
    backup: Path


_META_2: Final = """CREATE TABLE meta (
        one INTEGER PRIMARY KEY CHECK (one = 1), table_id TEXT NOT NULL, journal TEXT NOT NULL,
        seq INTEGER NOT NULL, hash TEXT NOT NULL, cursor INTEGER NOT NULL, clean INTEGER, rounds INTEGER NOT NULL,
        openings INTEGER NOT NULL, trimmed_seq INTEGER NOT NULL, trimmed_hash TEXT NOT NULL,
        trimmed_rounds INTEGER NOT NULL) STRICT"""


def _note_what_was_deleted(db: sqlite3.Connection) -> None:
    """The journal's row about itself says which events were deleted for their age: in schema 1 none ever were."""
    db.execute("ALTER TABLE meta RENAME TO meta_1")
    db.execute(_META_2)
    db.execute("""
        INSERT INTO meta SELECT one, table_id, journal, seq, hash, cursor, clean, rounds, openings,
            0, printf('%064d', 0), 0 FROM meta_1""")
    db.execute("DROP TABLE meta_1")


STEPS: Final = (Step(2, "events may be deleted for their age", _note_what_was_deleted),)
"""In order; the last makes `VERSION`. A released step never changes, so that tables are written out here once more."""


def migrate(
    db: sqlite3.Connection,
    path: Path,
    tell: Tell = lambda _: None,
    *,
    steps: Sequence[Step] = STEPS,
    free: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free,
) -> Migrated | None:
    """Brings the journal at `path` to the schema of the last step; None where it has that already.

    Args:
        db: the only writer's connection, the journal's header and end proved.
        path: the journal's file.
        tell: takes what is being done.
        steps: in order.
        free: the bytes that are free in a folder.

    Raises:
        JournalError: there is no room for the backup; nothing was done.
        sqlite3.Error: a step or the backup failed; the journal is as it was before the step.
        OSError: the same.
    """
    before = schema_of(db)
    missing = [step for step in steps if step.to > before]
    if not missing:
        return None
    _tidy(path)
    backup = _found(db, path, before)
    if backup is None:
        _require_room(path, missing, free(path.parent))
        backup = _backed_up(db, path, before, tell)
    db.execute("PRAGMA synchronous = FULL")
    for step in missing:
        _take(db, step, tell)
    return Migrated(before, missing[-1].to, backup)


def backup_name(path: Path, schema: int, now: datetime) -> Path:
    """What a backup is called: `journal-schema-1-20261130T024500Z.db`."""
    return path.with_name(f"{path.stem}-schema-{schema}-{now:%Y%m%dT%H%M%SZ}{path.suffix}")


def _take(db: sqlite3.Connection, step: Step, tell: Tell) -> None:
    """One step, whole or not at all: the number of the schema is in the same transaction."""
    word = f"Bringing the journal to schema {step.to}: {step.what}"
    tell(word)

    def again() -> int:
        tell(word)
        return 0  # anything else would end the statement

    db.set_progress_handler(again, _OPERATIONS)
    try:
        db.execute("BEGIN IMMEDIATE")
        step.run(db)
        db.execute(f"PRAGMA user_version = {step.to}")
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    finally:
        db.set_progress_handler(None, 0)


def _found(db: sqlite3.Connection, path: Path, schema: int) -> Path | None:
    """The backup of this very journal that a start made which did not get further."""
    meta = read_meta(db, path)
    for copy in sorted(path.parent.glob(f"{path.stem}-schema-{schema}-*{path.suffix}")):
        with suppress(sqlite3.Error, JournalError), closing(connect(copy, "immutable", busy_ms=0)) as other:
            check_header(other, copy)
            if schema_of(other) == schema and read_meta(other, copy) == meta:
                return copy
    return None


def _backed_up(db: sqlite3.Connection, path: Path, schema: int, tell: Tell) -> Path:
    backup = backup_name(path, schema, datetime.now(UTC))
    draft = backup.with_name(f"{backup.name}.part")
    with _made(draft) as fd:

        def progress(_status: int, remaining: int, total: int) -> None:
            tell(f"Backing up the journal of schema {schema}: {100 - 100 * remaining // total} %")
            os.fdatasync(fd)

        with closing(connect(draft, "rw", busy_ms=0)) as copy:
            db.backup(copy, pages=_PAGES, progress=progress)
    draft.rename(backup)
    sync(backup.parent)
    return backup


@contextmanager
def _made(draft: Path) -> Iterator[int]:
    """An empty file to copy into, synced at the end; one that is not finished is taken away."""
    fd = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE)
    try:
        yield fd
        os.fsync(fd)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def _require_room(path: Path, steps: Sequence[Step], free: int) -> None:
    size = sum(file.stat().st_size for file in (path, side_file(path, "-wal")) if file.exists())
    needed = size * (1 + any(step.rewrites for step in steps)) + SPARE
    if free < needed:
        raise JournalError(
            f"{path}: it has an older schema and must be backed up before it is changed: {needed >> 20} MiB are needed "
            f"beside it, {free >> 20} are free; make room, and start again"
        )


def _tidy(path: Path) -> None:
    """Takes away what is left of a backup that was not finished."""
    for left in path.parent.glob(f"{path.stem}-schema-*{path.suffix}.part*"):
        left.unlink(missing_ok=True)
