"""Journals for tests: sealed events that follow a head, and ways to harm a file as others do."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

from scannerd.canonical import seal
from scannerd.journal import Batch, Head, Journal, Record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scannerd.signing import Sign

TABLE = "tp-01"
PAGE_BYTES = 4096
AT = "2026-11-30T02:45:16.123456Z"
CARD: dict[str, object] = {
    "slot": "A1",
    "hand": "A",
    "index": 1,
    "card": "AS",
    "scanner": "shoe",
    "attempt": 1,
    "via": "scan",
    "by": None,
}
REJECTION: dict[str, object] = {
    "reason": "no_read",
    "slot": "B1",
    "attempt": 1,
    "scanner": "shoe",
    "card": None,
    "conflict_slot": None,
    "raw_hex": None,
    "detail": None,
}


def record(  # noqa: PLR0913 - one argument for each thing an event may differ in
    journal: str,
    head: Head,
    *,
    kind: str = "card_accepted",
    round_id: str | None = "tp-01/1",
    at: str = AT,
    data: dict[str, object] | None = None,
    table: str = TABLE,
    sign: Sign | None = None,
) -> Record:
    """The event that follows `head`."""
    event = {
        "contract": "1.0",
        "table": table,
        "journal": journal,
        "seq": head.seq + 1,
        "type": kind,
        "round": round_id,
        "at": at,
        "prev": head.hash,
        "data": CARD if data is None else data,
    }
    digest, body = seal(event, sign)
    return Record(head.seq + 1, kind, round_id, at, digest, body)


def following(journal: Journal, count: int) -> tuple[Record, ...]:
    """`count` events that follow what is in the journal."""
    head, records = journal.head, []
    for _ in range(count):
        records.append(record(journal.journal_id, head))
        head = Head(records[-1].seq, records[-1].hash)
    return tuple(records)


def opened(directory: Path) -> Journal:
    """The journal in `directory`, made where it is missing; a write waits for others 50 ms."""
    return Journal.open(directory, TABLE, create=True, busy_ms=50)


def filled(directory: Path, count: int) -> Path:
    """Makes a journal of `count` events and closes it; returns its file."""
    with opened(directory) as journal:
        journal.append(Batch(records=following(journal, count)))
        return journal.path


def story(directory: Path, steps: Iterable[tuple[str, str | None, str, dict[str, object]]]) -> Path:
    """Makes a journal of events given as type, round, time of day and data; returns its file."""
    with opened(directory) as journal:
        for kind, round_id, time, data in steps:
            at = f"2026-11-30T{time}.000000Z"
            one = record(journal.journal_id, journal.head, kind=kind, round_id=round_id, at=at, data=data)
            journal.append(Batch(records=(one,)))
        return journal.path


def harm(path: Path, *statements: str) -> None:
    """Changes the file as someone with an SQLite shell would."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA ignore_check_constraints = 1")
        for statement in statements:
            db.execute(statement)
        db.commit()


def flip(path: Path, needle: bytes, *, replacement: bytes) -> None:
    """Changes bytes of the file behind SQLite's back; `needle` must be there once."""
    content = path.read_bytes()
    assert content.count(needle) == 1
    assert len(needle) == len(replacement)
    path.write_bytes(content.replace(needle, replacement))


def spoil(path: Path, seq: int) -> None:
    """Makes the page with an event unreadable, as a bad sector does."""
    content = path.read_bytes()
    at = content.index(b'"seq":%d,' % seq)
    first = at - at % PAGE_BYTES
    path.write_bytes(content[:first] + b"\0" * PAGE_BYTES + content[first + PAGE_BYTES :])


def start(script: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Runs Python code in a process of its own, with pipes for its input and output."""
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
