"""The journal as the publisher reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.journal import Batch
from scannerd.mqtt.notices import OutboxError
from scannerd.outbox import JournalOutbox
from tests.journals import filled, following, opened, start

LOOKER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("SELECT count(*) FROM events").fetchone()[0])
db.close()
"""


def test_events_are_read_behind_a_number(tmp_path: Path) -> None:
    """Events come in order from behind the number that is named."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 5)))
        outbox = JournalOutbox(tmp_path)
    assert [3, 4] == [record.seq for record in outbox.records(2, 2)]
    outbox.close()
    outbox.close()


def test_missing_journal_is_trouble(tmp_path: Path) -> None:
    """Where there is no journal the outbox can't be opened now."""
    with pytest.raises(OutboxError, match="no journal"):
        JournalOutbox(tmp_path)


@pytest.mark.fault(105)
def test_journal_that_was_moved_is_not_read(tmp_path: Path) -> None:
    """A journal that was moved or replaced under the reader is trouble, and back in its place it is read again."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 5)))
        outbox = JournalOutbox(tmp_path)
        journal.path.rename(tmp_path / "elsewhere")
        with pytest.raises(OutboxError, match="is gone"):
            outbox.records(0, 1)
        filled(tmp_path / "other", 1).rename(journal.path)
        with pytest.raises(OutboxError, match="was replaced"):
            outbox.records(0, 1)
        (tmp_path / "elsewhere").rename(journal.path)
        assert 5 == len(outbox.records(0, 9))
        outbox.close()


def test_program_that_looks_into_the_journal_takes_nothing_away(tmp_path: Path) -> None:
    """Another program that opens the journal and closes it leaves the log, into which the writer goes on writing.

    SQLite deletes the log when the last connection is closed, and knows of others by locks that belong to a process: a
    process that opens the file by itself and closes it again loses them all.
    """
    with opened(tmp_path) as journal:
        outbox = JournalOutbox(tmp_path)
        with start(LOOKER, str(journal.path)) as looker:
            assert b"0\n" == looker.communicate(timeout=20)[0]
        journal.append(Batch(records=following(journal, 1)))
        assert 1 == len(outbox.records(0, 9))
        outbox.close()
