"""The journal's tables and its file's name and marks.

There is no index: an event is found by its seq, and a round by walking the small table of rounds for the seq at which
it was opened. One index more on `events` would cost one page more in each sync.
"""

from __future__ import annotations

from typing import Final

FILE_NAME: Final = "journal.db"
APPLICATION_ID: Final = 0x73636E64
"""`scnd`, in the file's header: tells `file` and us whose database this is."""
VERSION: Final = 2
"""`user_version`: raised with each change of a table, each by a step of `scannerd.journal.migrations`."""
FIRST_VERSION: Final = 1

REPLIES_KEPT: Final = 1_000
STATES_KEPT: Final = 3
ROUNDS_KEPT: Final = 1_000
"""Rounds whose ids stay when their events are deleted: an engine may not give one again."""

TABLES: Final = (
    """CREATE TABLE meta (
        one INTEGER PRIMARY KEY CHECK (one = 1), table_id TEXT NOT NULL, journal TEXT NOT NULL,
        seq INTEGER NOT NULL, hash TEXT NOT NULL, cursor INTEGER NOT NULL, clean INTEGER, rounds INTEGER NOT NULL,
        openings INTEGER NOT NULL, trimmed_seq INTEGER NOT NULL, trimmed_hash TEXT NOT NULL,
        trimmed_rounds INTEGER NOT NULL) STRICT""",
    """CREATE TABLE events (
        seq INTEGER PRIMARY KEY, type TEXT NOT NULL, round TEXT, at TEXT NOT NULL, hash TEXT NOT NULL,
        body BLOB NOT NULL) STRICT""",
    "CREATE TABLE rounds (n INTEGER PRIMARY KEY, id TEXT NOT NULL, seq INTEGER NOT NULL) STRICT",
    "CREATE TABLE states (seq INTEGER PRIMARY KEY, digest TEXT NOT NULL, body BLOB NOT NULL) STRICT",
    "CREATE TABLE replies (n INTEGER PRIMARY KEY, id TEXT NOT NULL, body BLOB NOT NULL) STRICT",
)

META: Final = {
    1: "SELECT table_id, journal, seq, hash, cursor, clean, rounds, 0, printf('%064d', 0), 0 FROM meta",
    2: """
        SELECT table_id, journal, seq, hash, cursor, clean, rounds, trimmed_seq, trimmed_hash, trimmed_rounds
        FROM meta""",
}
"""By schema, so that an older journal is read as it is; what else is read is the same in all of them."""
EVENTS: Final = "SELECT seq, type, round, at, hash, body FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
OPENINGS: Final = """
    SELECT seq, (SELECT seq FROM rounds AS next WHERE next.n = rounds.n + 1) FROM rounds WHERE id = ? ORDER BY n"""
LAST_SEQ: Final = 2**63 - 1
