"""What to do with a damaged journal: see what of it is proved, and set it aside so that the table can begin a new one.

A table never goes on with a journal of which it is not known what was told from it: a number would get a second
content. So what is damaged is never mended. The files are moved, as they are, into a folder of their own, together
with all events that are proved, in the bytes in which they were sent, and a report that names the others.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Final

from scannerd.journal.anchors import SIDES, side_file
from scannerd.journal.chain import Chain, fault_within
from scannerd.journal.errors import JournalDamaged, JournalError, JournalMissing, damaged
from scannerd.journal.high_water import HighWater
from scannerd.journal.opening import (
    DIRECTORY_MODE,
    FILE_MODE,
    check_header,
    check_table,
    check_tail,
    read_meta,
    rows_after,
    sync,
)
from scannerd.journal.reading import JournalReader
from scannerd.journal.schema import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from scannerd.journal.records import Meta, Record

EVENTS_FILE: Final = "events.jsonl"
REPORT_FILE: Final = "report.json"
_PATIENCE: Final = 100_000
"""So many numbers in a row without a readable row, where it is not known how many there are, are the end."""
_WHYS: Final = 1_000

Span = tuple[int, int]
"""The first and the last number, both included."""


@dataclass(slots=True)
class Salvage:
    """What of a journal is proved, and what is not.

    Attributes:
        table: the table's id, as the journal says; None where it can't say.
        journal: its UUID, likewise.
        cursor: the last seq that the broker acknowledged; None where that can't be read.
        head: the last seq; where the journal can't say, the last that was found.
        trimmed: the last seq that was deleted for its age.
        kept: the events that are proved, as spans of seqs.
        whys: what is wrong, with its seq where it has one; at most 1,000.
    """

    table: str | None = None
    journal: str | None = None
    cursor: int | None = None
    head: int = 0
    trimmed: int = 0
    kept: list[Span] = field(default_factory=list)
    whys: list[tuple[int | None, str]] = field(default_factory=list)

    @property
    def lost(self) -> list[Span]:
        """The events that are not proved, as spans of seqs."""
        edges = [self.trimmed, *(edge for first, last in self.kept for edge in (first - 1, last)), self.head]
        return [(edges[at] + 1, edges[at + 1]) for at in range(0, len(edges), 2) if edges[at] < edges[at + 1]]

    @property
    def untold(self) -> Span | None:
        """What the broker had not acknowledged: consumers may not have it; None where there is nothing, or unknown."""
        return None if self.cursor is None or self.cursor >= self.head else (self.cursor + 1, self.head)

    def keep(self, seq: int) -> None:
        """An event is proved."""
        first, last = self.kept[-1] if self.kept else (0, -1)
        if seq == last + 1:
            self.kept[-1] = (first, seq)
        else:
            self.kept.append((seq, seq))

    def blame(self, seq: int | None, why: str) -> None:
        """Something is wrong."""
        if len(self.whys) < _WHYS:
            self.whys.append((seq, why))

    def as_json(self) -> dict[str, object]:
        """The report."""
        return {
            "table": self.table,
            "journal": self.journal,
            "head": self.head,
            "acknowledged_to": self.cursor,
            "deleted_for_age_to": self.trimmed,
            "kept": self.kept,
            "lost": self.lost,
            "not_acknowledged": self.untold,
            "findings": [{"seq": seq, "why": why} for seq, why in self.whys],
        }


def startable(directory: Path, table: str) -> str | None:
    """Why the daemon could not go on with the journal in `directory`; None where it could.

    Raises:
        JournalMissing: there is none.
        JournalMismatch: it is another table's, or a newer version's.
        JournalError: it can't be read now.
    """
    path = directory / FILE_NAME
    if not os.path.lexists(path) and any(side_file(path, side).exists() for side in SIDES):
        return f"{path} is gone, but its log is still there"
    try:
        with JournalReader(directory) as reader, reader.reading() as db:
            meta = read_meta(db, reader.path)
            check_table(meta, reader.path, table)
            check_tail(db, reader.path, meta)
            check_waiting(db, reader.path, meta)
            HighWater(directory).check(meta.journal, meta.head.seq)
    except JournalDamaged as damage:
        return str(damage)
    return None


def check_waiting(db: sqlite3.Connection, path: Path, meta: Meta) -> None:
    """Raises JournalDamaged where an event that waits for the broker is not what was written."""
    for record in rows_after(db, meta.cursor):
        if why := fault_within(record):
            raise damaged(path, f"seq {record.seq}, which waits for the broker: {why}")


def salvage(path: Path, take: Callable[[Record], object]) -> Salvage:
    """Reads all that can be read of the journal at `path`, its file.

    Args:
        path: the journal; not changed.
        take: is given each event that is proved, in order.
    """
    found = Salvage()
    try:
        with JournalReader(path) as reader, reader.reading() as db:
            check_header(db, path)
            _walk(db, found, _meta(db, path, found), take)
    except JournalError as trouble:
        found.blame(None, str(trouble))
    return found


def set_aside(directory: Path, now: datetime) -> tuple[Path, Salvage]:
    """Moves the journal in `directory` into a folder beside it, with its proved events and a report.

    The caller holds the table's lock, and has asked a person. The files get their new names first and lose the old ones
    last, so that a crash in between leaves a whole journal in the folder, and a table that still does not start.

    Args:
        directory: the table's state directory.
        now: names the folder.

    Returns:
        The folder, and what was found.

    Raises:
        JournalMissing: there is nothing to be moved.
        OSError: it can't be moved or written.
    """
    journal = directory / FILE_NAME
    files = [file for file in (journal, *(side_file(journal, side) for side in SIDES)) if os.path.lexists(file)]
    if not files:
        raise JournalMissing(f"{journal}: there is no journal")
    folder = directory / f"journal-damaged-{now:%Y%m%dT%H%M%SZ}"
    folder.mkdir(mode=DIRECTORY_MODE)
    for file in files:
        os.link(file, folder / file.name, follow_symlinks=False)
    sync(folder)
    with _new(folder / EVENTS_FILE) as events:
        found = salvage(folder / FILE_NAME, lambda record: events.write(record.body + b"\n"))
    with _new(folder / REPORT_FILE) as report:
        report.write(json.dumps(found.as_json(), indent=2).encode() + b"\n")
    _give_to_owner(folder, directory)
    for written in (folder / EVENTS_FILE, folder / REPORT_FILE, folder):
        sync(written)
    for file in files:  # the journal first: with its log alone no daemon starts, without it one might
        file.unlink()
        sync(directory)
    return folder, found


def _meta(db: sqlite3.Connection, path: Path, found: Salvage) -> Meta | None:
    try:
        meta = read_meta(db, path)
    except (sqlite3.Error, JournalDamaged) as trouble:
        found.blame(None, f"the row about the journal can't be read: {trouble}")
        return None
    found.table, found.journal, found.cursor = meta.table, meta.journal, meta.cursor
    found.head, found.trimmed = meta.head.seq, meta.trimmed.head.seq
    return meta


def _walk(db: sqlite3.Connection, found: Salvage, meta: Meta | None, take: Callable[[Record], object]) -> None:
    chain = None if meta is None else Chain.behind(meta)
    for row in _readable(db, found):
        if chain is None:
            chain = _chain_from(row, found)
        faults = [(row.seq, fault_within(row) or "it is damaged")] if chain is None else list(chain.faults(row))
        for seq, why in faults:
            found.blame(seq, why)
        if row.seq not in {seq for seq, _ in faults}:
            found.keep(row.seq)
            take(row)


def _chain_from(row: Record, found: Salvage) -> Chain | None:
    """Where the journal can't say whose it is, the first event that is sound by itself does."""
    if fault_within(row) is not None:
        return None
    event = json.loads(row.body)
    found.table, found.journal = str(event["table"]), str(event["journal"])
    return Chain(found.table, found.journal, row.seq - 1, frozenset())


def _readable(db: sqlite3.Connection, found: Salvage) -> Iterator[Record]:
    """Every row that can be read, in order; what can't be read is passed over number by number."""
    known, after, failed = found.head, found.trimmed, 0
    while failed < _PATIENCE and (not known or after < known):
        try:
            for row in rows_after(db, after):
                if row.seq <= after:  # the page leads back
                    break
                yield row
                after, failed = row.seq, 0
                found.head = max(found.head, after)
            else:
                return
        except sqlite3.DatabaseError as error:
            if not failed:
                found.blame(after + 1, f"a page can't be read ({error})")
        after, failed = after + 1, failed + 1


def _new(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb")


def _give_to_owner(folder: Path, like: Path) -> None:
    """Where root does it, the daemon's user must still be able to read and delete what is his."""
    owner = like.stat()
    with suppress(PermissionError):
        for path in (folder, *folder.iterdir()):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)
