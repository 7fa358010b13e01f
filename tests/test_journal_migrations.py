"""A journal of an older schema is backed up and brought to this one's; its events stay what they were."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from scannerd.errors import Exit
from scannerd.journal import (
    Batch,
    Journal,
    JournalDamaged,
    JournalError,
    JournalMismatch,
    JournalReader,
    Record,
    verify,
)
from scannerd.journal.migrations import SPARE, STEPS, Migrated, Step, migrate
from scannerd.journal.opening import connect, schema_of
from scannerd.journal.schema import APPLICATION_ID, VERSION
from tests.daemon import StartDaemon, start_daemon_fixture
from tests.fakes import SIX
from tests.journals import TABLE, filled, following, harm, opened, record, start
from tests.test_journal_cli import OPENED, lines, run
from tests.test_journal_faults import fill, small_disk

__all__ = ["start_daemon_fixture"]

FIRST = (
    """CREATE TABLE meta (
        one INTEGER PRIMARY KEY CHECK (one = 1), table_id TEXT NOT NULL, journal TEXT NOT NULL,
        seq INTEGER NOT NULL, hash TEXT NOT NULL, cursor INTEGER NOT NULL, clean INTEGER, rounds INTEGER NOT NULL,
        openings INTEGER NOT NULL) STRICT""",
    """CREATE TABLE events (
        seq INTEGER PRIMARY KEY, type TEXT NOT NULL, round TEXT, at TEXT NOT NULL, hash TEXT NOT NULL,
        body BLOB NOT NULL) STRICT""",
    "CREATE TABLE rounds (n INTEGER PRIMARY KEY, id TEXT NOT NULL, seq INTEGER NOT NULL) STRICT",
    "CREATE TABLE states (seq INTEGER PRIMARY KEY, digest TEXT NOT NULL, body BLOB NOT NULL) STRICT",
    "CREATE TABLE replies (n INTEGER PRIMARY KEY, id TEXT NOT NULL, body BLOB NOT NULL) STRICT",
)
"""The first schema, as the first scannerd with a journal wrote it."""

_META_1 = "one, table_id, journal, seq, hash, cursor, clean, rounds, openings"


def first_schema(directory: Path, count: int = 6, state: bytes | None = b"{}") -> Path:
    """A journal of the first schema with a round, a state row, a reply and `count` cards; returns its file."""
    with opened(directory / "made") as journal:
        opening = record(journal.journal_id, journal.head, kind="round_opened", data=OPENED)
        journal.append(Batch(records=(opening,), replies=(("c-1", b"{}"),), checkpoint=state, clean=False))
        journal.append(Batch(records=following(journal, count), cursor=3))
    return aged(directory / "made" / "journal.db", directory / "journal.db")


def aged(made: Path, path: Path) -> Path:
    """Writes what is in a journal of today as the first schema would hold it, and takes the one of today away."""
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        for statement in FIRST:
            db.execute(statement)
        db.execute("ATTACH ? AS made", (str(made),))
        db.execute(f"INSERT INTO meta SELECT {_META_1} FROM made.meta")  # noqa: S608 - columns, named above
        for table in ("events", "rounds", "states", "replies"):
            db.execute(f"INSERT INTO {table} SELECT * FROM made.{table}")  # noqa: S608 - of these four
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")
        db.commit()
    shutil.rmtree(made.parent)
    return path


def content(path: Path) -> tuple[int, list[object], list[Record]]:
    """The schema of a journal, its row about itself, and its events."""
    with closing(connect(path, "ro", busy_ms=0)) as db:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        meta = db.execute(f"SELECT {_META_1} FROM meta").fetchone()  # noqa: S608 - columns, named above
        events = db.execute("SELECT seq, type, round, at, hash, body FROM events ORDER BY seq").fetchall()
    return version, list(meta[:-1]), [Record(*row) for row in events]


def backups(directory: Path) -> list[Path]:
    """The backups that lie beside the journal."""
    return sorted(directory.glob("journal-schema-*"))


def test_events_stay_what_they_were(tmp_path: Path) -> None:
    """The first schema becomes this one; every event keeps its bytes and its hash, and the chain is proved before and
    after.
    """
    path = first_schema(tmp_path)
    version, meta, events = content(path)
    assert (1, True) == (version, verify(path).sound)

    with opened(tmp_path) as journal:
        assert (meta[3], 3, 1) == (journal.head.seq, journal.cursor, journal.rounds)
        assert [("c-1", b"{}")] == journal.replies()
        assert "crash" == journal.previous

    assert (VERSION, meta, events) == content(path)
    assert verify(path).sound


def test_migrated_journal_is_as_a_new_one(tmp_path: Path) -> None:
    """After all steps the tables are those of a journal that is made today."""

    def tables(path: Path) -> set[str]:
        with closing(connect(path, "ro", busy_ms=0)) as db:
            return {" ".join(sql.split()) for (sql,) in db.execute("SELECT sql FROM sqlite_schema")}

    opened(first_schema(tmp_path).parent).close()
    assert tables(filled(tmp_path / "new", 1)) == tables(tmp_path / "journal.db")


def test_steps_lead_to_this_schema() -> None:
    """There is one step to each schema from the second to this one."""
    assert list(range(2, VERSION + 1)) == [step.to for step in STEPS]


def test_migrated_table_goes_on(tmp_path: Path) -> None:
    """Cards are written behind those of the old schema, and old events can be deleted for their age."""
    first_schema(tmp_path)
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 3)))
        assert 0 == journal.trimmed
    with opened(tmp_path) as journal:
        assert (10, None) == (journal.head.seq, journal.migrated)
    assert verify(tmp_path).sound


def test_backup_is_the_journal_as_it_was(tmp_path: Path) -> None:
    """The backup is a whole journal of the old schema, named after it and the time, for nobody else to read."""
    before = content(first_schema(tmp_path))

    with opened(tmp_path) as journal:
        (backup,) = backups(tmp_path)
        assert Migrated(1, VERSION, backup) == journal.migrated

    assert before == content(backup)
    assert verify(backup).sound
    assert backup.match("journal-schema-1-????????T??????Z.db")
    assert 0 == stat.S_IMODE(backup.stat().st_mode) & 0o007


def test_newest_events_in_the_log_are_in_the_backup(tmp_path: Path) -> None:
    """What a crash left in the write-ahead log is in the backup and in the migrated journal."""
    path = first_schema(tmp_path / "running")
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO replies (id, body) VALUES ('c-2', x'7b7d')")
        db.commit()
        for file in path.parent.iterdir():
            shutil.copy(file, tmp_path)
    with opened(tmp_path) as journal:
        assert ["c-1", "c-2"] == [name for name, _ in journal.replies()]
    with closing(connect(backups(tmp_path)[0], "ro", busy_ms=0)) as db:
        assert (2,) == db.execute("SELECT count(*) FROM replies").fetchone()


def test_progress_is_told(tmp_path: Path) -> None:
    """Whoever waits is told of the backup and of each step, so that a long migration is no hang."""
    told: list[str] = []
    first_schema(tmp_path)
    Journal.open(tmp_path, TABLE, create=True, tell=told.append).close()
    assert "Backing up the journal of schema 1: 100 %" == told[0]
    assert told[-1].startswith("Bringing the journal to schema 2: ")


def test_long_step_goes_on_telling(tmp_path: Path) -> None:
    """A step that takes long is told of again and again, so that systemd does not lose patience."""
    told: list[str] = []
    count = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1500000) SELECT count(*) FROM n"
    with closing(connect(first_schema(tmp_path), "rw", busy_ms=0)) as db:
        migrate(db, tmp_path / "journal.db", told.append, steps=[Step(2, "count", lambda db: db.execute(count))])
    assert 1 < told.count("Bringing the journal to schema 2: count")


def test_failed_step_changes_nothing(tmp_path: Path) -> None:
    """A step that fails half-way leaves the journal as it was after the one before it."""

    def fail(db: sqlite3.Connection) -> None:
        db.execute("DELETE FROM events")
        db.execute("SELECT * FROM nowhere")

    path = first_schema(tmp_path)
    _, meta, events = content(path)
    with closing(connect(path, "rw", busy_ms=0)) as db, pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(db, path, steps=[Step(2, "well", lambda db: db.execute("DELETE FROM replies")), Step(3, "fail", fail)])
    assert (2, meta, events) == content(path)


KILLED = """
import os, signal, sys
from pathlib import Path
from scannerd.journal.migrations import STEPS, Step, migrate
from scannerd.journal.opening import connect, schema_of

def die(db):
    STEPS[0].run(db)
    db.execute("DELETE FROM events")
    os.kill(os.getpid(), signal.SIGKILL)

def told(word):
    if word.startswith(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

path = Path(sys.argv[1])
migrate(connect(path, "rw", busy_ms=0), path, told, steps=[Step(2, "die", die)])
"""


@pytest.mark.parametrize(("moment", "left"), [("Backing", 0), ("Bringing", 1), ("never", 1)])
def test_killed_on_the_way(tmp_path: Path, moment: str, left: int) -> None:
    """A start that is killed in the backup, behind it or in a step is made good by the next one, with one backup."""
    path = first_schema(tmp_path)
    before = content(path)
    with start(KILLED, str(path), moment) as child:
        assert -9 == child.wait(60)
    assert before == content(path)
    finished = [file for file in backups(tmp_path) if file.suffix == ".db"]
    assert left == len(finished)

    with opened(tmp_path) as journal:
        assert journal.migrated is not None
    assert (VERSION, *before[1:]) == content(path)
    (backup,) = backups(tmp_path)
    assert before == content(backup)
    assert not finished or finished == [backup]


def test_backup_of_another_time_is_not_taken_for_this_one(tmp_path: Path) -> None:
    """Where the old version went on after a backup, another one is made: the first does not hold what came then."""
    path = first_schema(tmp_path)
    shutil.copy(path, tmp_path / "journal-schema-1-20200101T000000Z.db")
    harm(path, "UPDATE meta SET cursor = 4")
    opened(tmp_path).close()
    assert 2 == len(backups(tmp_path))


def test_no_room_for_the_backup(tmp_path: Path) -> None:
    """Where the disk has no room for the backup nothing is begun, and how much is needed is told."""
    path = first_schema(tmp_path)
    before = hashlib.sha256(path.read_bytes()).digest()
    rewriting = [Step(2, "all anew", lambda _: None, rewrites=True)]
    room = 2 * path.stat().st_size + SPARE
    with closing(connect(path, "rw", busy_ms=0)) as db:
        with pytest.raises(JournalError, match=r"must be backed up.* 16 MiB are needed .* 0 are free; make room"):
            migrate(db, path, free=lambda _: 0)
        with pytest.raises(JournalError, match="must be backed up"):
            migrate(db, path, steps=rewriting, free=lambda _: room - 1)
        assert [] == backups(tmp_path)
        assert before == hashlib.sha256(path.read_bytes()).digest()
        assert migrate(db, path, steps=rewriting, free=lambda _: room) is not None


def test_disk_that_fills_up_during_the_backup(tmp_path: Path) -> None:
    """A backup that can't be finished is taken away again, and the journal stays as it was."""
    with small_disk(tmp_path / "disk", "2m") as disk:
        path = first_schema(disk, 1_000)
        before = content(path)
        with closing(connect(path, "rw", busy_ms=0)) as db, (disk / "ballast").open("wb", buffering=0) as ballast:
            assert 1 == schema_of(db)
            with pytest.raises(OSError, match="No space"):
                fill(ballast)
            ballast.truncate(ballast.tell() - 100_000)
            with pytest.raises((OSError, sqlite3.Error)):
                migrate(db, path, free=lambda _: 10**9)
            assert [] == backups(disk)
            assert before == content(path)


def test_damaged_journal_is_left_as_it_is(tmp_path: Path) -> None:
    """An old journal that is not what was written is refused before anything is done to it."""
    path = first_schema(tmp_path)
    harm(path, "DELETE FROM events WHERE seq = 5")
    before = path.read_bytes()
    with pytest.raises(JournalDamaged, match="seq 5"):
        opened(tmp_path)
    with pytest.raises(JournalMismatch, match="not of 'tp-02'"):
        Journal.open(tmp_path, "tp-02", create=True)
    assert before == path.read_bytes()
    assert [] == backups(tmp_path)


def test_older_journal_is_not_put_in_place_of_an_open_one(tmp_path: Path) -> None:
    """An old journal that appears while the table runs is another file, and is not touched."""
    first_schema(tmp_path)
    with pytest.raises(JournalError, match="an older journal"):
        Journal.open(tmp_path, TABLE, create=False)
    assert 1 == content(tmp_path / "journal.db")[0]


def test_commands_read_an_old_journal_as_it_is(tmp_path: Path) -> None:
    """Tail, proof, export and figures read the first schema, and change nothing."""
    path = first_schema(tmp_path)
    before = path.read_bytes()
    assert 3 == len(lines("tail", path, "-n", 3))
    assert lines("verify", path)[-1].endswith("7 events of table tp-01: sound")
    assert 7 == len(lines("export", path))
    assert 6 == json.loads(lines("stats", path, "--json")[0])["total"]["accepted"]
    with JournalReader(path) as reader:
        assert 0 == reader.meta().trimmed.head.seq
    assert before == path.read_bytes()


@pytest.mark.parametrize("command", ["tail", "verify", "export", "stats"])
def test_commands_refuse_a_newer_journal(tmp_path: Path, command: str) -> None:
    """A journal of a newer version is refused by every command, with what to do about it."""
    harm(filled(tmp_path, 1), f"PRAGMA user_version = {VERSION + 1}")
    result = run(command, tmp_path)
    assert isinstance(result.exception, JournalMismatch)
    assert Exit.USAGE is result.exception.exit_code
    assert "install that version again" in str(result.exception)


def test_daemon_tells_systemd_and_the_log(start_daemon: StartDaemon) -> None:
    """A daemon on an old journal asks systemd for time, says what it does, and logs where the backup is."""
    daemon = start_daemon("mqtt://127.0.0.1:1", start=False)
    daemon.state_dir.mkdir()
    first_schema(daemon.state_dir, 2, None)
    daemon.start()
    words = [word for _, word in daemon.manager.heard]
    before = words[: words.index("READY=1")]
    assert "STATUS=Bringing the journal to schema 2: events may be deleted for their age" in before
    assert "EXTEND_TIMEOUT_USEC=30000000" in before
    assert str(backups(daemon.state_dir)[0]) in daemon.errors()
    assert 0 == daemon.stop()


def test_open_round_goes_on_after_a_migration(start_daemon: StartDaemon) -> None:
    """A daemon that finds a half-dealt round in an old journal asks for the card that was due, and completes it."""
    daemon = start_daemon("mqtt://127.0.0.1:1", 'start = "auto"\nrequire_broker = false\nmin_gap_ms = 0')
    daemon.wait_for_journal("scanner_up")
    daemon.send(*SIX[:2])
    daemon.wait_for_beeps(b"+", 2)
    assert 0 == daemon.stop()
    before = [record.body for record in daemon.records()]
    older = daemon.folder / "older"
    daemon.state_dir.rename(older)
    daemon.state_dir.mkdir()
    aged(older / "journal.db", daemon.journal)

    daemon.forget_beeps()
    daemon.start()
    daemon.wait_for_journal("scanner_up", 2)
    daemon.send(*SIX[2:])
    daemon.wait_for_beeps(b"+", 4)
    assert 0 == daemon.stop()
    bodies = [record.body for record in daemon.records()]
    assert before == bodies[: len(before)]
    cards = [json.loads(record.body)["data"]["card"] for record in daemon.records() if record.type == "card_accepted"]
    assert [*SIX] == cards
    assert verify(daemon.state_dir).sound


def test_daemon_refuses_a_newer_journal(start_daemon: StartDaemon) -> None:
    """A daemon on a newer journal ends with exit code 2 and one line, and touches nothing."""
    daemon = start_daemon("mqtt://127.0.0.1:1", start=False)
    path = filled(daemon.state_dir, 1)
    harm(path, f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    assert Exit.USAGE == daemon.launch().wait(60)
    assert 1 == daemon.errors().count("\n")
    assert "install that version again" in daemon.errors()
    assert before == path.read_bytes()
