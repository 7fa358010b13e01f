"""What is appended to a journal is there, and is there again after a restart."""

from __future__ import annotations

import stat
import threading
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from scannerd.canonical import FIRST_PREV
from scannerd.journal import Batch, Head, Journal, JournalError, JournalMissing, Record, verify
from tests.journals import TABLE, filled, following, opened, record

if TYPE_CHECKING:
    from pathlib import Path


def test_new_journal_is_empty(tmp_path: Path) -> None:
    """A new journal has a UUID, no events, and 64 zeros for its first event's prev."""
    with opened(tmp_path) as journal:
        assert Head(0, FIRST_PREV) == journal.head
        assert str(UUID(journal.journal_id)) == journal.journal_id
        assert (
            journal.cursor,
            journal.rounds,
            journal.checkpoint(),
            journal.replies(),
            journal.records(0, 10),
        ) == (0, 0, None, [], [])


def test_two_journals_have_different_ids(tmp_path: Path) -> None:
    """A journal that was started anew is told apart from the one before."""
    with opened(tmp_path / "a") as one, opened(tmp_path / "b") as other:
        assert one.journal_id != other.journal_id


def test_files_are_closed_to_others(tmp_path: Path) -> None:
    """The journal is mode 0640 in a directory of mode 0750."""
    path = filled(tmp_path / "tp-01", 1)

    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o750


def test_missing_journal_is_not_made_unasked(tmp_path: Path) -> None:
    """Where a journal must be and is not, none is made."""
    with pytest.raises(JournalMissing):
        Journal.open(tmp_path, TABLE, create=False)

    assert list(tmp_path.iterdir()) == []


def test_events_come_back_as_they_were_given(tmp_path: Path) -> None:
    """Appended events are read again, byte for byte, after a restart."""
    with opened(tmp_path) as journal:
        given = following(journal, 5)
        journal.append(Batch(records=given[:2]))
        journal.append(Batch(records=given[2:]))

    with opened(tmp_path) as journal:
        assert list(given) == journal.records(0, 100)
        assert Head(5, given[-1].hash) == journal.head


def test_reading_keeps_to_its_bounds(tmp_path: Path) -> None:
    """A read gives what is behind a seq, up to another one, and no more than asked for."""
    filled(tmp_path, 9)

    with opened(tmp_path) as journal:
        assert [one.seq for one in journal.records(3, 3)] == [4, 5, 6]
        assert [one.seq for one in journal.records(7, 10)] == [8, 9]
        assert [one.seq for one in journal.records(2, 10, upto=4)] == [3, 4]


def test_reader_serves_another_thread(tmp_path: Path) -> None:
    """A reader made by the writer's thread reads in another one what was appended after it was made."""
    found: list[list[Record]] = []
    with opened(tmp_path) as journal:
        reader = journal.reader()
        given = following(journal, 3)
        journal.append(Batch(records=given))
        thread = threading.Thread(target=lambda: found.append(reader.records(1, 10)))
        thread.start()
        thread.join(10)
        reader.close()

    assert [list(given[1:])] == found


def test_reader_can_not_write(tmp_path: Path) -> None:
    """A reader's connection refuses to change the journal."""
    filled(tmp_path, 1)

    with opened(tmp_path) as journal, journal.reader() as reader:  # noqa: SIM117 - what raises stands alone
        with pytest.raises(JournalError), reader.reading() as db:
            db.execute("DELETE FROM events")


def test_an_event_must_follow_the_head(tmp_path: Path) -> None:
    """A batch that would leave a gap is refused whole, and the journal is closed."""
    with opened(tmp_path) as journal:
        first, second, third = following(journal, 3)
        with pytest.raises(JournalError, match="seq 3 does not follow 1"):
            journal.append(Batch(records=(first, third)))
        with pytest.raises(JournalError, match="closed"):
            journal.append(Batch(records=(first, second)))

    with opened(tmp_path) as journal:
        assert journal.head.seq == 0


def test_state_row_stands_at_the_last_event(tmp_path: Path) -> None:
    """A state is kept with the seq of its batch's last event, and the latest one is given."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 2), checkpoint=b'{"a":1}'))
        assert journal.checkpoint() == (2, b'{"a":1}')
        journal.append(Batch(records=following(journal, 2), checkpoint=b'{"a":2}'))
        journal.append(Batch(records=following(journal, 2)))

    with opened(tmp_path) as journal:
        assert journal.checkpoint() == (4, b'{"a":2}')


def test_old_states_are_let_go(tmp_path: Path) -> None:
    """The states do not pile up."""
    with opened(tmp_path) as journal:
        for _ in range(10):
            journal.append(Batch(records=following(journal, 1), checkpoint=b"{}"))
        with journal.reader() as reader, reader.reading() as db:
            assert db.execute("SELECT seq FROM states").fetchall() == [(8,), (9,), (10,)]


def test_last_thousand_replies_are_kept(tmp_path: Path) -> None:
    """The last 1,000 command ids are given with their replies, oldest first, after a restart too."""
    with opened(tmp_path) as journal:
        journal.append(Batch(replies=tuple((f"c{n}", b"%d" % n) for n in range(600))))
        journal.append(Batch(replies=tuple((f"c{n}", b"%d" % n) for n in range(600, 1003))))

    with opened(tmp_path) as journal:
        assert [(f"c{n}", b"%d" % n) for n in range(3, 1003)] == journal.replies()


def test_rounds_are_counted_and_remembered(tmp_path: Path) -> None:
    """Every opened round is counted, and the latest ids are given, oldest first."""
    with opened(tmp_path) as journal:
        for name in ("a", "b", "c"):
            opening = record(journal.journal_id, journal.head, kind="round_opened", round_id=name)
            journal.append(Batch(records=(opening,)))
            journal.append(Batch(records=following(journal, 2)))

    with opened(tmp_path) as journal:
        assert journal.rounds == 3
        assert journal.recent_rounds(2) == ["b", "c"]
        assert journal.recent_rounds() == ["a", "b", "c"]


def test_cursor_is_kept(tmp_path: Path) -> None:
    """The cursor survives a restart, and a batch without one leaves it where it is."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 3), cursor=0))
        journal.append(Batch(cursor=2))
        journal.append(Batch(records=following(journal, 1)))

    with opened(tmp_path) as journal:
        assert journal.cursor == 2


@pytest.mark.parametrize("cursor", [1, 4])
def test_cursor_stays_between_itself_and_the_head(tmp_path: Path, cursor: int) -> None:
    """A cursor that would go back, or beyond what was ever written, is refused."""
    with opened(tmp_path) as journal:
        journal.append(Batch(records=following(journal, 3), cursor=2))
        with pytest.raises(JournalError, match=f"from 2 to {cursor}"):
            journal.append(Batch(cursor=cursor))


def test_end_of_the_run_before_is_told(tmp_path: Path) -> None:
    """The journal tells whether the run before ended in an orderly way, crashed, or was none."""
    told = []
    for clean in (True, False, None):
        with opened(tmp_path) as journal:
            told.append(journal.previous)
            journal.append(Batch(records=following(journal, 1), clean=False))
            if clean is not None:
                journal.append(Batch(clean=clean))
    with opened(tmp_path) as journal:
        told.append(journal.previous)

    assert told == ["first", "clean", "crash", "crash"]


def test_batch_with_nothing_in_it_is_no_trouble(tmp_path: Path) -> None:
    """An empty batch changes nothing."""
    with opened(tmp_path) as journal:
        journal.append(Batch())

        assert journal.head.seq == 0


def test_closed_journal_says_so(tmp_path: Path) -> None:
    """A journal that was closed, even twice, gives and takes nothing more."""
    journal = opened(tmp_path)
    journal.close()
    journal.close()

    with pytest.raises(JournalError, match="closed"):
        journal.records(0, 1)
    with pytest.raises(JournalError, match="closed"):
        journal.append(Batch())


def test_what_was_appended_is_proved(tmp_path: Path) -> None:
    """A journal that was only appended to is sound from end to end, also while it is open."""
    with opened(tmp_path) as journal:
        opening = record(journal.journal_id, journal.head, kind="round_opened")
        journal.append(Batch(records=(opening,), checkpoint=b"{}", replies=(("c1", b"{}"),)))
        journal.append(Batch(records=following(journal, 700), cursor=3))

        findings = verify(tmp_path)

    assert (findings.sound, findings.events, findings.found) == (True, 701, ())
