"""Old events go by and by: told first, then deleted while nothing else is to be done, and never on a doubtful clock."""

from __future__ import annotations

from pathlib import Path

from scannerd.journal import Journal, verify
from scannerd.mqtt.notices import Acknowledged, Connected
from scannerd.roles import Duties
from scannerd.upkeep.retention import BATCH, EVERY, FIRST
from tests.fakes import SECOND, SIX, FakeClock, Table

DAY = 86_400 * SECOND


def aged(folder: Path, *, rounds: int = 3, keep_days: int = 1) -> Table:
    """A table that dealt rounds two days ago, all acknowledged, and has started again since."""
    clock = FakeClock()
    table = Table(folder, clock=clock).ready()
    for number in range(rounds):
        table.command("open", id=f"c{number}")
        table.deal(*SIX)
        table.pass_time(SECOND)
    table.take(Acknowledged(clock.now(), table.journal.head.seq))
    table.pass_time(2 * SECOND)
    table.stop()
    clock.move(2 * DAY)
    return Table(folder, clock=clock, duties=Duties(keep_days=keep_days)).begin()


def first(table: Table) -> int:
    """The first seq that is left."""
    return Journal.records(table.journal, 0, 1)[0].seq


def test_old_events_are_told_and_then_deleted(tmp_path: Path) -> None:
    """A minute after the start the event comes, in the next idle second the old events go, and the rest is proved."""
    table = aged(tmp_path)
    last = table.journal.trimmable("2027-01-01T00:00:00.000000Z")
    table.pass_time(FIRST - SECOND)
    assert "journal_trimmed" not in table.types()
    table.pass_time(SECOND)
    assert last is not None
    (event,) = [one["data"] for one in table.events() if one["type"] == "journal_trimmed"]
    assert {"keep_days": 1, "last_seq": last.seq, "last_hash": last.hash} == event
    assert 1 == first(table)
    table.pass_time(SECOND)
    assert last.seq + 1 == first(table)
    assert verify(tmp_path).sound
    table.pass_time(SECOND)
    assert verify(tmp_path).trimmed == last


def test_nothing_is_deleted_while_cards_come(tmp_path: Path) -> None:
    """A turn that has anything to decide deletes nothing."""
    table = aged(tmp_path)
    table.pass_time(FIRST)
    for _ in range(3):
        table.clock.move(2 * SECOND)
        table.take(table.up())
    assert 1 == first(table)
    table.inbox.put(table.up())
    table.pass_time(2 * SECOND)
    assert 1 == first(table)


def test_many_go_bit_by_bit(tmp_path: Path) -> None:
    """Each idle second deletes one batch."""
    table = aged(tmp_path, rounds=60)
    table.pass_time(FIRST)
    table.pass_time(SECOND)
    assert BATCH + 1 == first(table)
    table.pass_time(SECOND)
    assert BATCH + 1 < first(table) <= 2 * BATCH + 1


def test_a_day_later_the_next_go(tmp_path: Path) -> None:
    """One look a day is enough: what has become old until then goes at the next."""
    table = aged(tmp_path)
    table.pass_time(FIRST)
    table.pass_time(SECOND)
    before = table.types().count("journal_trimmed")
    table.take(Connected(table.clock.now(), "broker"))
    for number in range(2):
        table.command("open", id=f"d{number}")
        table.deal(*SIX)
        table.pass_time(SECOND)
    table.take(Acknowledged(table.clock.now(), table.journal.head.seq))
    table.pass_time(EVERY - 60 * SECOND)
    assert (1, 1) == (before, table.types().count("journal_trimmed"))
    table.pass_time(DAY)
    assert 2 == table.types().count("journal_trimmed")


def test_by_default_nothing_goes(tmp_path: Path) -> None:
    """With 0 days events are kept for ever."""
    table = aged(tmp_path, keep_days=0)
    table.pass_time(FIRST + EVERY)
    table.pass_time(SECOND)
    assert ("journal_trimmed" in table.types(), first(table)) == (False, 1)


def test_clock_that_nobody_set_lets_nothing_go(tmp_path: Path) -> None:
    """While the system says that its clock is not synchronised nothing is old; once it is, the look is made up for."""
    table = aged(tmp_path)
    table.clock.trusted = False
    table.pass_time(FIRST)
    assert "journal_trimmed" not in table.types()
    table.clock.trusted = True
    table.pass_time(SECOND)
    assert "journal_trimmed" in table.types()


def test_resend_of_what_is_gone_is_refused(tmp_path: Path) -> None:
    """A consumer that asks for deleted events is told the range that there is."""
    table = aged(tmp_path)
    table.pass_time(FIRST)
    table.pass_time(SECOND)
    start, end = first(table), table.journal.head.seq
    reply = table.command("resend", id="r1", **{"from": start - 1, "to": end})
    assert ("bad_range", f"from and to are numbers of events, {start} to {end}, from not above to") == (
        reply["error"],
        reply["message"],
    )
    table.command("resend", id="r2", **{"from": start, "to": end})
    assert (start, end) == table.speaker.said[-1][1][:2]  # type: ignore[index]  # a resend is a tuple


def test_deletion_that_fails_is_a_storage_fault(tmp_path: Path) -> None:
    """When a deletion can't be written the table is held as after any failed write, and goes on when it can."""
    table = aged(tmp_path)
    table.pass_time(FIRST)
    table.journal.trimming = "the disk reports an error"
    table.reopening = table.open
    table.pass_time(SECOND)
    assert "storage_fault" == table.speaker.last("prompt")["code"]
    table.pass_time(2 * SECOND)
    assert "storage_fault" != table.speaker.last("prompt")["code"]


def test_event_that_can_not_be_written_deletes_nothing(tmp_path: Path) -> None:
    """Without the event in the journal nothing is deleted."""
    table = aged(tmp_path)
    table.take(Acknowledged(table.clock.now(), table.journal.head.seq))
    table.pass_time(SECOND)
    table.fail()
    table.pass_time(FIRST - SECOND)
    assert "storage_fault" == table.speaker.last("prompt")["code"]
    table.mend()
    table.pass_time(2 * SECOND)
    table.pass_time(2 * SECOND)
    assert 1 == first(table)


def test_unreadable_journal_lets_nothing_go(tmp_path: Path) -> None:
    """Where the old events can't be read nothing is told of them; the next write finds out what is wrong."""
    table = aged(tmp_path)
    table.journal.unreadable = True
    table.pass_time(FIRST)
    table.journal.unreadable = False
    assert "journal_trimmed" not in table.types()
