"""A journal that is not what was written is never opened, and never started over."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from scannerd.errors import Exit
from scannerd.journal import (
    Batch,
    Journal,
    JournalDamaged,
    JournalError,
    JournalMismatch,
    JournalReader,
    verify,
)
from scannerd.journal.schema import VERSION
from tests.journals import TABLE, filled, flip, following, harm, opened, record

if TYPE_CHECKING:
    from pathlib import Path


def refused(directory: Path, match: str) -> None:
    """The journal is refused as damaged, with the way on in the message, and its file is left as it is."""
    path = directory / "journal.db"
    before = path.read_bytes()
    with pytest.raises(JournalDamaged, match=match) as error:
        Journal.open(directory, TABLE, create=True)
    assert error.value.exit_code is Exit.JOURNAL_DAMAGED
    assert "scannerd journal verify" in str(error.value)
    assert before == path.read_bytes()


def test_emptied_file_is_damage(tmp_path: Path) -> None:
    """A journal that was cut to nothing is not taken for a new one."""
    filled(tmp_path, 3).write_bytes(b"")

    refused(tmp_path, "it is empty")


def test_other_content_is_damage(tmp_path: Path) -> None:
    """A file that is no database is named as such."""
    filled(tmp_path, 3).write_text("hello, this is no journal at all")

    refused(tmp_path, "no SQLite file")


def test_cut_file_is_damage(tmp_path: Path) -> None:
    """A journal that lost its second half is refused."""
    path = filled(tmp_path, 200)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    refused(tmp_path, "damaged")


def test_scribbled_pages_are_damage(tmp_path: Path) -> None:
    """A journal whose pages were overwritten is refused, and the proof can't be made."""
    path = filled(tmp_path, 200)
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))

    refused(tmp_path, "malformed")
    with pytest.raises(JournalDamaged):
        verify(path)


def test_foreign_database_is_no_journal(tmp_path: Path) -> None:
    """Another program's database in the journal's place is refused."""
    with closing(sqlite3.connect(tmp_path / "journal.db")) as db:
        db.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY)")

    refused(tmp_path, "no journal of scannerd")
    with pytest.raises(JournalDamaged, match="no journal"):
        JournalReader(tmp_path)


def test_journal_of_another_table_is_refused(tmp_path: Path) -> None:
    """The journal of another table in this one's directory is a fault of the configuration, exit code 2."""
    filled(tmp_path, 1)

    with pytest.raises(JournalMismatch, match="table 'tp-01', not of 'tp-02'") as error:
        Journal.open(tmp_path, "tp-02", create=True)
    assert error.value.exit_code is Exit.USAGE


def test_newer_schema_is_refused(tmp_path: Path) -> None:
    """A journal written by a newer version is left alone, exit code 2."""
    harm(filled(tmp_path, 1), f"PRAGMA user_version = {VERSION + 1}")

    with pytest.raises(JournalMismatch, match=r"newer scannerd .*: install that version again") as error:
        Journal.open(tmp_path, TABLE, create=True)
    assert error.value.exit_code is Exit.USAGE


def test_schema_that_never_was_is_damage(tmp_path: Path) -> None:
    """A version number below the first is damage."""
    harm(filled(tmp_path, 1), "PRAGMA user_version = 0")

    refused(tmp_path, "schema 0")


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        ("DELETE FROM events WHERE seq = 6", "ended at seq 6, but its last row is seq 5"),
        ("DELETE FROM events", "ended at seq 6, but its last row is seq 0"),
        ("DELETE FROM events WHERE seq = 4", "seq 4: the row is missing"),
        ("DELETE FROM events WHERE seq IN (3, 4)", "seq 3: the rows 3 to 4 are missing"),
        ("INSERT INTO events SELECT 7, type, round, at, hash, body FROM events WHERE seq = 6", "seq 7: "),
        ("UPDATE events SET body = CAST(replace(body, 'AS', 'KS') AS BLOB) WHERE seq = 2", "seq 2: the event was cha"),
        ("UPDATE meta SET cursor = 7", "cursor, 7"),
        ("UPDATE meta SET rounds = 7", "7 rounds"),
        ("DELETE FROM meta", "row about the journal is missing"),
        ("DROP TABLE states", "no such table: states"),
        ("INSERT INTO states VALUES (3, 'x', x'00')", "state row of seq 3"),
    ],
)
def test_changed_journal_is_refused(tmp_path: Path, statement: str, match: str) -> None:
    """What was changed, removed or added behind the last state is found at the start, by its seq."""
    harm(filled(tmp_path, 6), statement)

    refused(tmp_path, match)


def test_state_row_for_another_seq_is_refused(tmp_path: Path) -> None:
    """A state can't be passed off as that of another event."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 4), checkpoint=b"{}"))
        journal.append(Batch(records=following(journal, 4)))
    harm(tmp_path / "journal.db", "UPDATE states SET seq = 6")

    refused(tmp_path, "state row of seq 6")


def test_start_proves_only_from_the_last_state(tmp_path: Path) -> None:
    """A start does not walk the whole journal: damage before the last state is the proof's to find."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 4)))
        journal.append(Batch(records=following(journal, 4), checkpoint=b"{}"))
        journal.append(Batch(records=following(journal, 4)))
    harm(tmp_path / "journal.db", "DELETE FROM events WHERE seq = 2")

    with opened(tmp_path) as journal:
        assert journal.head.seq == 12
    assert [finding.seq for finding in verify(tmp_path).found] == [2]


@pytest.mark.fault(115)
def test_long_check_is_told(tmp_path: Path) -> None:
    """While a long journal is checked at the start whoever waits is told how far it is."""
    told: list[str] = []
    filled(tmp_path, 20_100)
    Journal.open(tmp_path, TABLE, create=True, tell=told.append).close()
    assert ["Checking the journal: 10000 of 20100", "Checking the journal: 20000 of 20100"] == told


@pytest.mark.fault(102)
def test_one_bad_record_takes_nothing_from_the_others(tmp_path: Path) -> None:
    """A byte changed in one record is named by its seq and is no torn tail; all other records can still be read."""
    with opened(tmp_path) as journal:
        for card in ("AS", "KD", "QH", "JC", "TS", "9D"):
            journal.append(Batch(records=(record(journal.journal_id, journal.head, data={"card": card}),)))
        whole = journal.records(0, 10)
    flip(tmp_path / "journal.db", b'"card":"QH"', replacement=b'"card":"QD"')

    refused(tmp_path, "seq 3: the event was changed")
    findings = verify(tmp_path)
    assert [(finding.seq, finding.why) for finding in findings.found] == [
        (3, "the event was changed: its hash is not that of its content")
    ]
    with JournalReader(tmp_path) as reader:
        kept = list(reader.walk())
    assert [one == other for one, other in zip(whole, kept, strict=True)] == [True, True, False, True, True, True]


@pytest.mark.fault(100)
def test_torn_tail_of_a_crash_is_dropped(tmp_path: Path) -> None:
    """A record of which only a part reached the disk was never acknowledged: the journal goes on before it."""
    (tmp_path / "torn").mkdir()
    with opened(tmp_path / "whole") as journal:
        journal.append(Batch(records=following(journal, 5)))
        before = journal.log_bytes
        journal.append(Batch(records=following(journal, 1)))
        assert before < journal.log_bytes
        for name in ("journal.db", "journal.db-wal"):
            shutil.copy(tmp_path / "whole" / name, tmp_path / "torn" / name)
    with (tmp_path / "torn" / "journal.db-wal").open("r+b") as log:
        log.truncate(before + 1000)

    with opened(tmp_path / "torn") as journal:
        assert (journal.head.seq, journal.previous) == (5, "crash")
        journal.append(Batch(records=following(journal, 1)))
        assert journal.head.seq == 6
    assert verify(tmp_path / "torn").sound


def test_log_without_its_journal_is_damage(tmp_path: Path) -> None:
    """Where the file is gone and its log is still there, no new journal is begun on top of it."""
    (tmp_path / "journal.db-wal").write_bytes(b"what is left")

    with pytest.raises(JournalDamaged, match=r"its log journal\.db-wal is still there"):
        Journal.open(tmp_path, TABLE, create=True)
    assert (tmp_path / "journal.db-wal").read_bytes() == b"what is left"


def test_half_made_journal_is_made_anew(tmp_path: Path) -> None:
    """A crash while the journal was made leaves nothing that the next start would trip over."""
    (tmp_path / "journal.db.new").write_bytes(b"half")
    (tmp_path / "journal.db.new-wal").write_bytes(b"half")

    with opened(tmp_path) as journal:
        assert journal.previous == "first"
    assert [file.name for file in tmp_path.iterdir()] == ["journal.db"]


def test_dangling_link_is_not_written_over(tmp_path: Path) -> None:
    """A link to a volume that is not there is no place to begin a new journal."""
    (tmp_path / "journal.db").symlink_to(tmp_path / "absent" / "journal.db")

    with pytest.raises(JournalError, match="No such file"):
        Journal.open(tmp_path, TABLE, create=True)


def test_directory_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    """A state directory in the place of a file is a fault with its path in the message."""
    (tmp_path / "file").write_text("")

    with pytest.raises(JournalError, match="file"):
        Journal.open(tmp_path / "file" / "tp-01", TABLE, create=True)
