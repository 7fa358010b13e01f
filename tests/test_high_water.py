"""How far a journal has come: a shorter one of the same name is no sound journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.journal import JournalDamaged
from scannerd.journal.high_water import MARK_FILE, HighWater

ONE, OTHER = "6f0c3d7e-0000-4000-8000-000000000001", "6f0c3d7e-0000-4000-8000-000000000002"


@pytest.fixture(name="mark")
def mark_fixture(tmp_path: Path) -> HighWater:
    """The mark of a journal that has come to seq 12."""
    made = HighWater(tmp_path)
    for seq in (1, 7, 12):
        made.note(ONE, seq)
    made.close()
    return HighWater(tmp_path)


@pytest.mark.parametrize("seq", [12, 13, 1_000_000])
def test_journal_that_has_come_as_far_is_taken(mark: HighWater, seq: int) -> None:
    """A journal that ends where it did, or further, has lost nothing."""
    mark.check(ONE, seq)


@pytest.mark.parametrize("seq", [0, 11])
def test_journal_that_ends_earlier_is_refused(mark: HighWater, seq: int) -> None:
    """A journal that ends before it once did is told with both numbers."""
    with pytest.raises(JournalDamaged, match=f"ends at seq {seq}, but 12 were written: its log is gone"):
        mark.check(ONE, seq)


def test_another_journal_is_taken(mark: HighWater) -> None:
    """A new journal begins at 0 whatever the one before it had come to, and has the mark from then on."""
    mark.check(OTHER, 0)
    mark.note(OTHER, 3)
    mark.check(ONE, 0)
    with pytest.raises(JournalDamaged):
        mark.check(OTHER, 2)
    mark.close()
    mark.close()


@pytest.mark.parametrize("content", [b"", b"garbage", b"6f0c3d7e-0000-4000-8000-000000000001 12\n"])
def test_unreadable_mark_proves_nothing(mark: HighWater, tmp_path: Path, content: bytes) -> None:
    """A mark that a power cut left half, or that is not there, keeps no table from starting."""
    (tmp_path / MARK_FILE).write_bytes(content)
    mark.check(ONE, 0)
    (tmp_path / MARK_FILE).unlink()
    mark.check(ONE, 0)


def test_mark_that_can_not_be_written_stops_nobody(tmp_path: Path) -> None:
    """Where the mark can't be written the table goes on without."""
    lost = HighWater(tmp_path / "nowhere")
    lost.note(ONE, 1)
    lost.check(ONE, 0)
    lost.close()
