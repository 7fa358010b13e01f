"""Old events are let go, and the rest is proved as before: what may go, what never does, and what is found missing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from scannerd.cli.journal import journal as group
from scannerd.journal import Batch, Head, Journal, JournalDamaged, JournalError, JournalReader, verify
from tests.journals import AT, CARD, harm, opened, record

if TYPE_CHECKING:
    from pathlib import Path

LATER = "2027-01-01T00:00:00.000000Z"
"""Before which all is too old."""


def write(journal: Journal, kind: str, round_id: str | None = "r", at: str = AT, **data: object) -> None:
    """One event."""
    event = record(journal.journal_id, journal.head, kind=kind, round_id=round_id, at=at, data=data or CARD)
    journal.append(Batch(records=(event,)))


def deal(journal: Journal, rounds: int, at: str = AT) -> None:
    """Rounds of four events, each with its state row; the broker has acknowledged all."""
    for n in range(journal.rounds + 1, journal.rounds + rounds + 1):
        write(journal, "round_opened", f"tp-01/{n}", at)
        write(journal, "card_accepted", f"tp-01/{n}", at)
        write(journal, "card_accepted", f"tp-01/{n}", at)
        event = record(journal.journal_id, journal.head, kind="round_completed", round_id=f"tp-01/{n}", at=at)
        journal.append(Batch(records=(event,), checkpoint=b"{}", cursor=event.seq))


def allow(journal: Journal) -> int:
    """Says in the journal that all may go that is too old; returns its last seq."""
    last = journal.trimmable(LATER)
    assert last is not None
    write(journal, "journal_trimmed", None, keep_days=30, last_seq=last.seq, last_hash=last.hash)
    return last.seq


def trimmed(directory: Path) -> Path:
    """A journal of five rounds, of which the first three were deleted."""
    with opened(directory) as journal:
        deal(journal, 5)
        assert journal.trim(allow(journal), LATER, 100) == 12
        return journal.path


def test_current_and_last_ended_round_stay(tmp_path: Path) -> None:
    """Whatever their age, the last round that ended and the current one are never let go."""
    with opened(tmp_path) as journal:
        assert journal.trimmable(LATER) is None
        deal(journal, 1)
        assert journal.trimmable(LATER) is None
        deal(journal, 1)
        assert journal.trimmable(LATER) is None
        write(journal, "round_opened", "tp-01/3")
        write(journal, "card_accepted", "tp-01/3")
        last = journal.trimmable(LATER)
        assert last == Head(4, journal.records(3, 1)[0].hash)


def test_what_is_not_acknowledged_stays(tmp_path: Path) -> None:
    """An event that the broker has not taken is never let go."""
    with opened(tmp_path) as journal:
        deal(journal, 1)
        cursor = journal.cursor
        for n in (2, 3, 4):
            for kind in ("round_opened", "card_accepted"):
                write(journal, kind, f"tp-01/{n}")
            event = record(journal.journal_id, journal.head, kind="round_completed", round_id=f"tp-01/{n}")
            journal.append(Batch(records=(event,), checkpoint=b"{}"))
        last = journal.trimmable(LATER)
        assert last is not None
        assert last.seq == cursor == 4


def test_what_a_start_needs_stays(tmp_path: Path) -> None:
    """Without a round behind it nothing is let go behind the last state row, from which a start folds and checks."""
    with opened(tmp_path) as journal:
        for _ in range(6):
            write(journal, "scanner_up", None)
        journal.append(Batch(checkpoint=b"{}", cursor=6))
        last = journal.trimmable(LATER)
        assert last is not None
        assert last.seq == 4
        assert journal.trim(6, LATER, 100) == 4
    with opened(tmp_path) as journal:
        assert journal.trimmed == 4


def test_only_what_is_older_goes(tmp_path: Path) -> None:
    """Events from the cutoff on stay; the last older one is found by its time."""
    with opened(tmp_path) as journal:
        for day in ("01", "02", "03", "04"):
            deal(journal, 1, f"2026-11-{day}T12:00:00.000000Z")
        last = journal.trimmable("2026-11-02T00:00:00.000000Z")
        assert last is not None
        assert last.seq == 4
        assert journal.trimmable("2026-11-01T00:00:00.000000Z") is None
        assert journal.trim(8, "2026-11-02T00:00:00.000000Z", 100) == 4
        assert journal.trim(8, "2026-11-02T00:00:00.000000Z", 100) == 0


def test_a_younger_event_holds_back_what_is_behind_it(tmp_path: Path) -> None:
    """Where the clock was set back the halving may go wrong: deleting still looks at each event's own time."""
    with opened(tmp_path) as journal:
        deal(journal, 1, "2026-11-20T12:00:00.000000Z")
        deal(journal, 5, "2026-11-01T12:00:00.000000Z")
        assert journal.trimmable("2026-11-10T00:00:00.000000Z") is not None
        assert journal.trim(16, "2026-11-10T00:00:00.000000Z", 100) == 0


def test_batches_go_from_the_oldest_on(tmp_path: Path) -> None:
    """A batch has no more events than it may, and each leaves a journal that is proved."""
    with opened(tmp_path) as journal:
        deal(journal, 5)
        upto = allow(journal)
        for first in (6, 11, 13):
            journal.trim(upto, LATER, 5)
            assert [first] == [one.seq for one in journal.records(0, 1)]
            assert verify(tmp_path).found == ()
        assert journal.trim(upto, LATER, 5) == 0


def test_rest_is_proved_from_where_it_begins(tmp_path: Path) -> None:
    """`verify` proves what is left and says from where, and a start does too."""
    path = trimmed(tmp_path)
    findings = verify(path)
    assert (True, 9, 12) == (findings.sound, findings.events, findings.trimmed.seq)
    told = CliRunner().invoke(group, ["verify", str(path)])
    assert "seq 1 to 12: deleted for their age; proved is what is behind them" in told.stdout
    as_json = json.loads(CliRunner().invoke(group, ["verify", "--json", str(path)]).stdout)
    assert {"seq": 12, "hash": findings.trimmed.hash} == as_json["trimmed"]
    with opened(tmp_path) as journal:
        assert (12, 21) == (journal.trimmed, journal.head.seq)
        deal(journal, 1)
    assert verify(path).sound


def test_rounds_stay_known_and_numbered(tmp_path: Path) -> None:
    """The ids of rounds that are gone stay taken, and numbers go on."""
    trimmed(tmp_path)
    with opened(tmp_path) as journal:
        assert [f"tp-01/{n}" for n in range(1, 6)] == journal.recent_rounds()
        assert journal.rounds == 5


def test_only_the_last_thousand_ids_stay(tmp_path: Path) -> None:
    """Rounds before the last thousand are forgotten with their events."""
    with opened(tmp_path) as journal:
        deal(journal, 3)
        records = []
        head = journal.head
        for n in range(4, 1004):
            records.append(record(journal.journal_id, head, kind="round_opened", round_id=f"tp-01/{n}"))
            head = Head(records[-1].seq, records[-1].hash)
        journal.append(Batch(records=tuple(records), checkpoint=b"{}", cursor=head.seq))
        journal.trim(allow(journal), LATER, 10_000)
        rounds = journal.recent_rounds(5_000)
    assert ("tp-01/4", 1000) == (rounds[0], len(rounds))
    assert verify(tmp_path).found == ()


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("DELETE FROM events WHERE seq = 13", "the row is missing"),
        (
            "INSERT INTO events SELECT 12, type, round, at, hash, body FROM events WHERE seq = 13",
            "the row is none of this journal's: seq begins at 13",
        ),
        ("UPDATE meta SET trimmed_hash = hex(randomblob(32))", "prev is not the hash of seq 12"),
        ("UPDATE meta SET trimmed_seq = 11", "the row is missing"),
        ("UPDATE meta SET trimmed_rounds = 2", "is not in the table of rounds"),
        ("UPDATE meta SET trimmed_seq = 99", "events up to 99 were deleted, though only 20 are acknowledged"),
        ("DELETE FROM rounds WHERE n = 5", "is not in the table of rounds"),
    ],
)
def test_tampering_with_what_is_left_is_found(tmp_path: Path, statement: str, why: str) -> None:
    """A row that is gone without being named, or a mark that was moved, is a fault."""
    path = trimmed(tmp_path)
    harm(path, statement)
    found = verify(path)
    assert any(why in one.why for one in found.found), found.found


def test_deleting_more_and_moving_the_mark_is_found(tmp_path: Path) -> None:
    """Who deletes more than the chain's own event allows, and moves the mark along, is found."""
    path = trimmed(tmp_path)
    with JournalReader(path) as reader:
        (last,) = reader.records(15, 1)
    harm(
        path,
        "DELETE FROM events WHERE seq <= 16",
        f"UPDATE meta SET trimmed_seq = 16, trimmed_hash = '{last.hash}', trimmed_rounds = 4",  # noqa: S608 - hex digits
    )
    told = [(one.seq, one.why) for one in verify(path).found]
    assert told == [(1, "the rows 1 to 16 are missing, and no event says that they were deleted for their age")]


def test_start_without_a_state_row_checks_from_the_mark(tmp_path: Path) -> None:
    """A journal whose state rows are gone is checked from where it begins, and damage there is found."""
    path = trimmed(tmp_path)
    harm(path, "DELETE FROM states")
    opened(tmp_path).close()
    harm(path, "DELETE FROM events WHERE seq = 13")
    with pytest.raises(JournalDamaged, match="the row is missing"):
        opened(tmp_path)


def test_failed_deletion_closes_the_journal(tmp_path: Path) -> None:
    """A deletion that can't be written leaves all as it was, and the journal is to be opened afresh."""
    with opened(tmp_path) as journal, opened(tmp_path) as other:
        deal(journal, 5)
        upto = allow(journal)
        write_behind(other)
        with pytest.raises(JournalError, match="another process wrote"):
            journal.trim(upto, LATER, 100)
        with pytest.raises(JournalError, match="closed"):
            journal.trim(upto, LATER, 100)
    with opened(tmp_path) as journal:
        assert journal.trimmed == 0


def write_behind(other: Journal) -> None:
    """Another writer adds an event, as nobody may."""
    with Journal.open(other.path.parent, "tp-01", create=False) as intruder:
        write(intruder, "scanner_up", None)
