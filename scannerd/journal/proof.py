"""Proves a journal from end to end: every row, the chain between them, and what is told beside them.

It walks in short reads and keeps nothing, so that it runs on a live journal of any size.

Events that were deleted for their age are not missing where an event says so: `journal_trimmed` carries the hash of the
last that may go, and stands in the chain itself. The rest is proved from there.
"""

from __future__ import annotations

import sqlite3
from dataclasses import asdict, dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from scannerd.journal.chain import Chain, state_digest
from scannerd.journal.errors import JournalDamaged, damaged, told
from scannerd.journal.opening import contradiction, read_meta, rows_after
from scannerd.journal.reading import JournalReader
from scannerd.journal.records import Head, Record
from scannerd.journal.schema import EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from scannerd.journal.records import Meta
    from scannerd.signing import Prove

TOLD = 1_000
"""How many findings are kept; the rest are only counted."""
_STEP = 10_000
_PAGE = 256
_LOWEST = -(2**63)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something is not as it was written.

    Attributes:
        seq: where, or None where it is no event's.
        why: what is wrong, for people.
    """

    seq: int | None
    why: str


@dataclass(frozen=True, slots=True)
class Findings:
    """What a walk through a journal found.

    Attributes:
        path: the journal's file.
        table: its table's id.
        journal: its UUID.
        events: how many rows were walked.
        head: the last event, as the journal says itself.
        found: the first 1,000 findings, in the order of the walk.
        count: how many there are in all.
        trimmed: the last event that was deleted for its age; the proof begins behind it.
        signed: how many events have a proved signature; None where no key was given.
        unsigned_to: the last event before signing was switched on; 0: all are signed, or no key was given.
    """

    path: Path
    table: str
    journal: str
    events: int
    head: Head
    found: tuple[Finding, ...]
    count: int
    trimmed: Head = field(default_factory=Head)
    signed: int | None = None
    unsigned_to: int = 0

    @property
    def sound(self) -> bool:
        """Whether every row is proved."""
        return self.count == 0

    def as_json(self) -> dict[str, object]:
        """The findings for programs."""
        return {
            "table": self.table,
            "journal": self.journal,
            "events": self.events,
            "head": asdict(self.head),
            "trimmed": asdict(self.trimmed) if self.trimmed.seq else None,
            "signed": self.signed,
            "unsigned_to": self.unsigned_to or None,
            "sound": self.sound,
            "count": self.count,
            "findings": [asdict(finding) for finding in self.found],
        }


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """What the journal says beside its events, read in one transaction."""

    meta: Meta
    last: int
    rounds: int
    states: tuple[tuple[int, str, bytes], ...]
    page: tuple[Record, ...]


@dataclass(slots=True)
class _Walk:
    """What is known on the way."""

    chain: Chain
    keys: Sequence[Prove]
    events: int = 0
    opened: int = 0
    rounds_differ: bool = False
    last: Head = field(default_factory=Head)
    allowed: Head = field(default_factory=Head)
    signed: int = 0
    unsigned_to: int = 0
    found: list[Finding] = field(default_factory=list)
    count: int = 0

    def note(self, seq: int | None, why: str) -> None:
        self.count += 1
        if len(self.found) < TOLD:
            self.found.append(Finding(seq, why))


def verify(
    where: Path, *, keys: Sequence[Prove] = (), progress: Callable[[int, int], object] | None = None
) -> Findings:
    """Proves the journal at `where`, its file or its directory.

    Args:
        where: the journal; a running daemon's too.
        keys: each event must be signed with one of them, from the first that is signed on.
        progress: called now and then with the seq reached and the last one.

    Raises:
        JournalMissing: there is none.
        JournalDamaged: the file can't be read to its end.
        JournalError: it can't be read now.
    """
    with JournalReader(where) as reader:
        with reader.reading() as db:
            snapshot = _snapshot(db, reader.path)
            meta = snapshot.meta
            walk = _Walk(Chain.behind(meta), keys, opened=meta.trimmed.rounds)
        try:
            _walk_events(db, walk, snapshot, progress)
            _check_small_tables(db, walk)
        except sqlite3.Error as error:
            fault = told(reader.path, error)
            if isinstance(fault, JournalDamaged):
                fault = damaged(reader.path, f"it can't be read behind seq {walk.last.seq} ({error})")
            raise fault from error
        _check_ends(walk, snapshot)
        return Findings(
            reader.path,
            meta.table,
            meta.journal,
            walk.events,
            meta.head,
            tuple(walk.found),
            walk.count,
            meta.trimmed.head,
            walk.signed if keys else None,
            walk.unsigned_to,
        )


def _snapshot(db: sqlite3.Connection, path: Path) -> _Snapshot:
    db.execute("BEGIN")
    try:
        meta = read_meta(db, path)
        (last,) = db.execute("SELECT max(seq) FROM events").fetchone()
        (rounds,) = db.execute("SELECT count(*) FROM rounds WHERE seq > ?", (meta.trimmed.head.seq,)).fetchone()
        states = db.execute("SELECT seq, digest, body FROM states ORDER BY seq").fetchall()
        page = _first_page(db, last or 0)
    finally:
        db.execute("ROLLBACK")
    return _Snapshot(meta, last or 0, rounds, tuple(states), page)


def _first_page(db: sqlite3.Connection, last: int) -> tuple[Record, ...]:
    """The first rows, as they were when the journal said where they begin: a daemon may be deleting old ones."""
    try:
        return tuple(Record(*row) for row in db.execute(EVENTS, (_LOWEST, last, _PAGE)))
    except sqlite3.DatabaseError:
        return ()  # the walk goes row by row and says where


def _walk_events(
    db: sqlite3.Connection, walk: _Walk, snapshot: _Snapshot, progress: Callable[[int, int], object] | None
) -> None:
    page = snapshot.page
    for row in chain(page, rows_after(db, page[-1].seq if page else _LOWEST, snapshot.last)):
        for seq, why in walk.chain.faults(row):
            walk.note(seq, why)
        if row.seq > snapshot.meta.head.seq:
            walk.note(row.seq, f"the row was added: the journal ended at seq {snapshot.meta.head.seq}")
        if row.type == "round_opened":
            _check_round(db, walk, row)
        elif row.type == "journal_trimmed":
            _note_trimming(walk)
        if walk.keys:
            _check_signature(walk, row)
        walk.events += 1
        walk.last = Head(row.seq, row.hash)
        if progress is not None and row.seq % _STEP == 0:
            progress(row.seq, snapshot.last)


def _check_round(db: sqlite3.Connection, walk: _Walk, row: Record) -> None:
    """Compares with the table of rounds; told once, for a row more or less there makes all behind it differ."""
    walk.opened += 1
    noted = db.execute("SELECT id, seq FROM rounds WHERE n = ?", (walk.opened,)).fetchone()
    if noted != (row.round, row.seq) and not walk.rounds_differ:
        walk.rounds_differ = True
        walk.note(row.seq, f"round {walk.opened} is not in the table of rounds as it was opened")


def _note_trimming(walk: _Walk) -> None:
    data = (walk.chain.event or {}).get("data")
    if isinstance(data, dict) and isinstance(data.get("last_seq"), int) and data["last_seq"] >= walk.allowed.seq:
        walk.allowed = Head(data["last_seq"], str(data.get("last_hash")))


def _check_signature(walk: _Walk, row: Record) -> None:
    event = walk.chain.event
    if event is None:
        return  # told already
    signature = event.get("sig")
    if isinstance(signature, str) and any(proves(str(event.get("hash")), signature) for proves in walk.keys):
        walk.signed += 1
    elif "sig" in event:
        walk.note(row.seq, "the signature was not made with this key")
    elif walk.signed:
        walk.note(row.seq, "the event is not signed, though earlier ones are")
    else:
        walk.unsigned_to = row.seq


def _check_small_tables(db: sqlite3.Connection, walk: _Walk) -> None:
    """Lets SQLite look at the pages that the walk does not touch."""
    for table in ("meta", "rounds", "states", "replies"):
        try:
            answers = [answer for (answer,) in db.execute(f"PRAGMA integrity_check({table})")]
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            answers = [str(error)]
        for answer in answers:
            if answer != "ok":
                walk.note(None, f"table {table}: {answer}")


def _check_ends(walk: _Walk, snapshot: _Snapshot) -> None:
    meta = snapshot.meta
    if walk.last.seq < meta.head.seq:
        walk.note(walk.last.seq + 1, f"the rows {walk.last.seq + 1} to {meta.head.seq}, the last, are missing")
    elif walk.last.seq == meta.head.seq and walk.last.hash != meta.head.hash:
        walk.note(meta.head.seq, "the hash of the last row is not the one the journal ended with")
    _check_trimming(walk, meta.trimmed.head)
    if walk.keys and walk.events and not walk.signed:
        walk.note(None, "no event is signed: nothing is proved by the key")
    if why := contradiction(meta):
        walk.note(None, why)
    if not walk.rounds_differ and not walk.opened == meta.rounds == snapshot.rounds + meta.trimmed.rounds:
        noted = snapshot.rounds + meta.trimmed.rounds
        walk.note(None, f"{walk.opened} rounds were opened, the journal says {meta.rounds}, its table {noted}")
    for seq, digest, body in snapshot.states:
        if digest != state_digest(seq, body):
            walk.note(seq, "the state row is not what was written")
        if not 0 <= seq <= meta.head.seq:
            walk.note(seq, f"the state row is beyond the last event, {meta.head.seq}")


def _check_trimming(walk: _Walk, trimmed: Head) -> None:
    """Only what an event of the chain allows may have been deleted."""
    if trimmed.seq > walk.allowed.seq or (trimmed.seq == walk.allowed.seq and trimmed != walk.allowed):
        walk.note(1, f"the rows 1 to {trimmed.seq} are missing, and no event says that they were deleted for their age")
