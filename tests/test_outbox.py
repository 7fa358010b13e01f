"""The journal as the publisher reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.journal import Batch
from scannerd.mqtt.notices import EventDamagedError, OutboxError
from scannerd.mqtt.source import Source
from scannerd.outbox import JournalOutbox
from tests.journals import filled, following, harm, opened, spoil, start

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


@pytest.mark.fault(102)
@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE events SET body = CAST(replace(body, 'AS', 'KS') AS BLOB) WHERE seq = 3", "seq 3: the event was"),
        ("UPDATE events SET type = 'card_withdrawn' WHERE seq = 3", "seq 3: column type"),
        ("DELETE FROM events WHERE seq = 3", "seq 3: it is gone"),
    ],
)
def test_event_that_is_not_what_was_written_never_goes_out(tmp_path: Path, statement: str, why: str) -> None:
    """What comes before a changed or deleted event is handed out, and it itself is refused by its number."""
    harm(filled(tmp_path, 6), statement)
    outbox = JournalOutbox(tmp_path)
    assert [1, 2] == [record.seq for record in outbox.records(0, 9)]
    with pytest.raises(EventDamagedError, match=why) as damage:
        outbox.records(2, 9)
    assert [4, 5, 6] == [record.seq for record in outbox.records(damage.value.behind, 9)]
    outbox.close()


@pytest.mark.fault(102)
def test_page_that_can_not_be_read_takes_no_other_event_along(tmp_path: Path) -> None:
    """Events before an unreadable page are handed out, and those behind it to whoever passes over it."""
    path = filled(tmp_path, 60)
    spoil(path, 30)
    source = Source(lambda: JournalOutbox(tmp_path), lambda: 0)
    seqs = [record.seq for record in source.read(0, 99) or ()]
    assert list(range(1, len(seqs) + 1)) == seqs
    assert 20 < len(seqs) < 30
    assert source.read(len(seqs), 99) is None
    behind = [record.seq for record in source.read_what_is_left(len(seqs), 99) or ()]
    assert list(range(behind[0], 61)) == behind
    assert 30 < behind[0] < 40
    source.close()
