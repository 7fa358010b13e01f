"""Disks that fill up, files that move, other processes that hold on, and kill -9: nothing acknowledged is lost."""

from __future__ import annotations

import resource
import sqlite3
import subprocess
from contextlib import closing, contextmanager
from itertools import count
from typing import IO, TYPE_CHECKING

import pytest

from scannerd.journal import Batch, Journal, JournalDamaged, JournalError, JournalMissing, JournalReader, verify
from tests.journals import TABLE, filled, following, opened, start

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WRITER = """
import sys
from pathlib import Path
from scannerd.journal import Batch
from tests.journals import following, opened

journal = opened(Path(sys.argv[1]))
journal.append(Batch(clean=False))
while True:
    journal.append(Batch(records=following(journal, int(sys.argv[2])), checkpoint=b"{}"))
    print(journal.head.seq, flush=True)
"""


@contextmanager
def small_disk(where: Path, size: str) -> Iterator[Path]:
    """A file system of its own; skips the test where none may be mounted."""
    where.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(where)]  # wherever the system has it
    done = subprocess.run(command, check=False, capture_output=True)
    if done.returncode:
        pytest.skip("mounting a file system needs root")
    try:
        yield where
    finally:
        subprocess.run(["umount", "-l", where], check=True)  # noqa: S607 - as above


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes, as if the disk were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def fill(file: IO[bytes]) -> None:
    """Writes page after page until the system refuses."""
    for _ in count():
        file.write(b"\0" * 4096)


def append_until_it_fails(journal: Journal) -> int:
    """Appends one by one; returns the last seq that was acknowledged."""
    acknowledged = journal.head.seq
    try:
        for _ in range(100_000):
            journal.append(Batch(records=following(journal, 1)))
            acknowledged = journal.head.seq
    except JournalError:
        pass
    with pytest.raises(JournalError, match="closed"):
        journal.append(Batch())
    return acknowledged


def goes_on(directory: Path, acknowledged: int) -> None:
    """All that was acknowledged is there, the chain is whole, and the journal takes the next event."""
    with Journal.open(directory, TABLE, create=False) as journal:
        assert acknowledged == journal.head.seq
        journal.append(Batch(records=following(journal, 1)))
    assert verify(directory).sound


def test_failed_write_is_not_acknowledged(tmp_path: Path) -> None:
    """A write that the system refuses closes the journal; what was acknowledged before is there when it is opened."""
    with opened(tmp_path) as journal, largest_file(200_000):
        acknowledged = append_until_it_fails(journal)
        assert acknowledged > 10

    goes_on(tmp_path, acknowledged)


def test_full_disk_is_told_until_there_is_room(tmp_path: Path) -> None:
    """On a full disk the journal fails, can't be opened either, and goes on where it was when there is room again."""
    with small_disk(tmp_path / "disk", "2m") as disk:
        ballast = disk / "ballast"
        with opened(disk / "tp-01") as journal, ballast.open("wb", buffering=0) as file:
            file.write(b"\0" * 1_000_000)
            acknowledged = append_until_it_fails(journal)
            with pytest.raises(OSError, match="No space"):
                fill(file)
        with pytest.raises(JournalError, match="disk is full"):
            Journal.open(disk / "tp-01", TABLE, create=False)
        with pytest.raises(JournalError, match=r"disk is full|No space"):
            Journal.open(disk / "tp-02", TABLE, create=True)
        ballast.unlink()

        goes_on(disk / "tp-01", acknowledged)


def test_read_only_file_system_is_told(tmp_path: Path) -> None:
    """On a read-only file system the journal can't be opened for writing, but it can be read and proved."""
    with small_disk(tmp_path / "disk", "2m") as disk:
        filled(disk, 20)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)  # noqa: S607 - wherever the system has it

        with pytest.raises(JournalError, match="look at the rights"):
            Journal.open(disk, TABLE, create=False)
        assert (verify(disk).sound, verify(disk).events) == (True, 20)


@pytest.mark.fault(96)
def test_file_locked_by_another_process_is_told(tmp_path: Path) -> None:
    """Where another process holds the file for too long the event is not acknowledged, and is not there later."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 2)))
        with closing(sqlite3.connect(journal.path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(JournalError, match="locked by another process"):
                journal.append(Batch(records=following(journal, 1)))
            with pytest.raises(JournalError, match="locked by another process"):
                opened(tmp_path)

    goes_on(tmp_path, 2)


@pytest.mark.fault(96)
def test_write_waits_for_another_process(tmp_path: Path) -> None:
    """Where another process lets go in time the event is written, though the file was changed meanwhile."""
    with Journal.open(tmp_path, TABLE, create=True) as journal:
        with start(OTHER, str(journal.path)) as other:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            journal.append(Batch(records=following(journal, 1)))
            other.communicate(timeout=10)

        assert journal.head.seq == 1


OTHER = """
import sqlite3, sys, threading
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
db.execute("INSERT INTO replies (id, body) VALUES ('c1', x'00')")
print("held", flush=True)
threading.Event().wait(0.3)
db.execute("COMMIT")
"""


def test_second_writer_is_found(tmp_path: Path) -> None:
    """A journal that somebody else wrote to is not written over."""
    with opened(tmp_path) as journal, opened(tmp_path) as other:
        other.append(Batch(records=following(other, 1)))
        with pytest.raises(JournalError, match="another process wrote"):
            journal.append(Batch(records=following(journal, 1)))


@pytest.mark.fault(98)
def test_long_reader_does_not_leave_a_long_log(tmp_path: Path) -> None:
    """A log that grew under somebody's long read is visible in its size, and is cut when the read has ended."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 1)))
        with closing(sqlite3.connect(journal.path, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM events").fetchall()
            for _ in range(100):
                journal.append(Batch(records=following(journal, 1000)))
            grown = journal.log_bytes
            other.execute("COMMIT")
        journal.append(Batch(records=following(journal, 1)))
        journal.append(Batch(records=following(journal, 1)))

        assert grown > 32 * 1024 * 1024
        assert journal.log_bytes <= 4 * 1024 * 1024
        assert journal.head.seq == 100_003


@pytest.mark.fault(98)
def test_own_readers_do_not_hold_the_log(tmp_path: Path) -> None:
    """A walk through the journal that stands still between two events keeps the log from nothing."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 1000)))
        with journal.reader() as reader:
            walk = reader.walk()
            next(walk)
            for _ in range(30):
                journal.append(Batch(records=following(journal, 1000)))

            assert journal.log_bytes <= 8 * 1024 * 1024


@pytest.mark.fault(105)
def test_moved_journal_is_noticed_at_the_next_write(tmp_path: Path) -> None:
    """A journal that was moved away takes nothing more, is missed at the reopening, and goes on when it is back."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 3)))
        journal.path.rename(tmp_path / "elsewhere")
        with pytest.raises(JournalError, match="is gone"):
            journal.append(Batch(records=following(journal, 1)))
        with pytest.raises(JournalMissing):
            Journal.open(tmp_path, TABLE, create=False)
        assert verify(tmp_path / "elsewhere").events == 3
        (tmp_path / "elsewhere").rename(journal.path)

    goes_on(tmp_path, 3)


@pytest.mark.fault(105)
def test_deleted_journal_is_noticed_at_the_next_write(tmp_path: Path) -> None:
    """A journal that was deleted takes nothing more, and none is begun in its place while its log is there."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 3)))
        journal.path.unlink()
        with pytest.raises(JournalError, match="is gone"):
            journal.append(Batch(records=following(journal, 1)))

    with pytest.raises(JournalMissing):
        Journal.open(tmp_path, TABLE, create=False)
    with pytest.raises(JournalDamaged, match="its log"):
        Journal.open(tmp_path, TABLE, create=True)


@pytest.mark.fault(105)
def test_replaced_journal_is_noticed_at_the_next_write(tmp_path: Path) -> None:
    """A journal that another file took the place of takes nothing more."""
    with opened(tmp_path / "a") as journal:
        filled(tmp_path / "b", 1).rename(journal.path)
        with pytest.raises(JournalError, match="was replaced"):
            journal.append(Batch(records=following(journal, 1)))


@pytest.mark.fault(105)
@pytest.mark.parametrize("reading", [False, True])
def test_deleted_log_loses_nothing(tmp_path: Path, *, reading: bool) -> None:
    """Where only the log was deleted, what was acknowledged in it is saved into the file, with a reader or without."""
    with opened(tmp_path) as journal, JournalReader(tmp_path) as reader:
        journal.append(Batch(records=following(journal, 3)))
        if not reading:
            reader.close()
        else:
            assert len(reader.records(0, 10)) == 3
        (tmp_path / "journal.db-wal").unlink()
        with pytest.raises(JournalError, match=r"journal\.db-wal: the file is gone"):
            journal.append(Batch(records=following(journal, 1)))

    goes_on(tmp_path, 3)


@pytest.mark.parametrize("size", [1, 3, 40])
def test_killed_writer_loses_nothing_acknowledged(tmp_path: Path, size: int) -> None:
    """After kill -9 everything acknowledged is there, whole batches only, and the chain is sound; again and again."""
    for turn in range(4):
        with start(WRITER, str(tmp_path), str(size)) as writer:
            assert writer.stdout is not None
            for _ in range(20 + turn * 7):
                acknowledged = int(writer.stdout.readline())
            writer.kill()
            rest = writer.stdout.read().split(b"\n")
        acknowledged = max([acknowledged, *(int(line) for line in rest[:-1])])

        with opened(tmp_path) as journal:
            assert journal.previous == "crash"
            assert acknowledged <= journal.head.seq <= acknowledged + size
            assert journal.head.seq % size == 0
            assert journal.checkpoint() == (journal.head.seq, b"{}")
        assert verify(tmp_path).sound


def test_closed_journal_leaves_one_file(tmp_path: Path) -> None:
    """After an orderly close the journal is one file, ready to be copied."""
    filled(tmp_path, 10)

    assert [tmp_path / "journal.db"] == list(tmp_path.iterdir())
