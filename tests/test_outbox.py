"""The journal as the publisher reads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.mqtt.notices import OutboxError
from scannerd.outbox import JournalOutbox
from tests.journals import filled


def test_events_are_read_behind_a_number(tmp_path: Path) -> None:
    """Events come in order from behind the number that is named."""
    filled(tmp_path, 5)
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
    """A journal that was moved or replaced under the reader is trouble, and opened afresh it is read again."""
    path = filled(tmp_path, 5)
    outbox = JournalOutbox(tmp_path)
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(OutboxError):
        outbox.records(0, 1)
    filled(tmp_path / "other", 1).rename(path)
    with pytest.raises(OutboxError, match="replaced"):
        outbox.records(0, 1)
    outbox.close()
    (tmp_path / "elsewhere").rename(path)
    again = JournalOutbox(tmp_path)
    assert 5 == len(again.records(0, 9))
    again.close()
