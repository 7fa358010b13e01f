"""What of a damaged journal is proved, and how it is set aside: never silently, never changed, never mended."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scannerd.cli import run
from scannerd.errors import Exit
from scannerd.journal import Batch, JournalMissing, JournalReader
from scannerd.journal.recovery import Salvage, salvage, set_aside
from scannerd.lock import TableLock
from tests.journals import TABLE, filled, following, harm, opened, spoil
from tests.test_journal_faults import largest_file

NOW = datetime(2026, 11, 30, 10, 45, 16, tzinfo=UTC)
CHANGE = "UPDATE events SET body = CAST(replace(body, 'AS', 'KS') AS BLOB) WHERE seq = 3"


def configured(folder: Path) -> Path:
    """The configuration of a table whose journal lies in the folder `state`."""
    path = folder / "tp-01.toml"
    scanner = '[[scanner]]\nname = "shoe"\ndriver = "line"\nurl = "/dev/ttyS0"\n'
    path.write_text(f'[table]\nid = "{TABLE}"\nstate_dir = "{folder / "state"}"\n{scanner}')
    return path


def recover(folder: Path, *options: str) -> int:
    """What `scannerd journal recover` ends with."""
    return run(["journal", "recover", "-c", str(configured(folder)), *options])


def salvaged(path: Path) -> tuple[Salvage, list[int]]:
    """What is found in a journal, and the seqs that were handed out."""
    seqs: list[int] = []
    return salvage(path, lambda record: seqs.append(record.seq)), seqs


@pytest.mark.fault(102)
def test_one_bad_record_takes_nothing_from_the_others(tmp_path: Path) -> None:
    """Of six records with a bad third the others are proved, and the third is named with what is wrong."""
    path = filled(tmp_path, 6)
    harm(path, CHANGE)
    found, seqs = salvaged(path)
    assert ([1, 2, 4, 5, 6], [(1, 2), (4, 6)], [(3, 3)]) == (seqs, found.kept, found.lost)
    assert [(3, "the event was changed: its hash is not that of its content")] == found.whys


@pytest.mark.parametrize(
    ("statements", "kept", "lost"),
    [
        (("DELETE FROM events WHERE seq IN (1, 4, 6)",), [(2, 3), (5, 5)], [(1, 1), (4, 4), (6, 6)]),
        (("DELETE FROM events",), [], [(1, 6)]),
        (("DELETE FROM meta", CHANGE), [(1, 2), (4, 6)], [(3, 3)]),
        (("DROP TABLE meta",), [(1, 6)], []),
        (("DROP TABLE events",), [], [(1, 6)]),
        (("UPDATE meta SET cursor = 9",), [(1, 6)], []),
    ],
)
def test_what_is_proved_is_told_exactly(
    tmp_path: Path, statements: tuple[str, ...], kept: list[tuple[int, int]], lost: list[tuple[int, int]]
) -> None:
    """Whatever was changed, removed or added, each event is either proved or named as lost."""
    path = filled(tmp_path, 6)
    harm(path, *statements)
    found, _ = salvaged(path)
    assert (kept, lost) == (found.kept, found.lost)


HARMS = (
    "DELETE FROM events WHERE seq = {}",
    "UPDATE events SET body = CAST(replace(body, 'AS', 'KS') AS BLOB) WHERE seq = {}",
    "UPDATE events SET body = x'00' WHERE seq = {}",
    "UPDATE events SET hash = 'x' WHERE seq = {}",
    "UPDATE events SET type = 'card_withdrawn' WHERE seq = {}",
    "UPDATE events SET round = NULL WHERE seq = {}",
)


@settings(max_examples=25)
@given(harmed=st.dictionaries(st.integers(1, 12), st.sampled_from(HARMS)), known=st.booleans())
def test_whatever_is_harmed_the_rest_is_proved(harmed: dict[int, str], *, known: bool) -> None:
    """Of any events that were changed or deleted exactly those are lost, whether the journal knows its end or not."""
    with TemporaryDirectory() as folder:
        path = filled(Path(folder), 12)
        with JournalReader(path) as reader:
            bodies = {record.seq: record.body for record in reader.walk()}
        statements = [statement.format(seq) for seq, statement in harmed.items()]
        harm(path, *statements, *([] if known else ["DELETE FROM meta"]))
        taken: dict[int, bytes] = {}
        found = salvage(path, lambda record: taken.update({record.seq: record.body}))
    left = {seq: body for seq, body in bodies.items() if seq not in harmed}
    assert left == taken
    spans = {seq for spans in (found.kept, found.lost) for first, last in spans for seq in range(first, last + 1)}
    assert set(range(1, 13 if known else found.head + 1)) == spans
    assert len(spans) == sum(last - first + 1 for spans in (found.kept, found.lost) for first, last in spans)


def test_page_that_can_not_be_read_is_passed_over(tmp_path: Path) -> None:
    """Behind an unreadable page the proof goes on; only its own events are lost."""
    path = filled(tmp_path, 200)
    spoil(path, 100)
    found, seqs = salvaged(path)
    ((first, last),) = found.lost
    assert first <= 100 <= last < first + 8
    assert [*range(1, first), *range(last + 1, 201)] == seqs
    assert any("a page can't be read" in why for _, why in found.whys)


@pytest.mark.parametrize("content", [b"", b"hello, this is no journal at all"])
def test_file_that_is_no_journal_has_nothing_to_be_proved(tmp_path: Path, content: bytes) -> None:
    """An empty file, or another program's, is told as such."""
    path = filled(tmp_path, 3)
    path.write_bytes(content)
    found, seqs = salvaged(path)
    assert ([], [], None) == (seqs, found.kept, found.journal)
    assert found.whys


def test_journal_is_set_aside_as_it_is(tmp_path: Path) -> None:
    """File and log are moved without a change, beside them the proved events and a report; nothing is left behind."""
    with opened(tmp_path / "whole") as journal:
        journal.append(Batch(records=following(journal, 6), cursor=4))
        bodies = [record.body for record in journal.records(0, 9)]
        harm(journal.path, CHANGE)
        (tmp_path / "state").mkdir()
        for name in ("journal.db", "journal.db-wal"):
            (tmp_path / "state" / name).write_bytes((tmp_path / "whole" / name).read_bytes())
    before = {file.name: file.read_bytes() for file in (tmp_path / "state").iterdir()}
    folder, found = set_aside(tmp_path / "state", NOW)
    assert [folder] == list((tmp_path / "state").iterdir())
    assert "journal-damaged-20261130T104516Z" == folder.name
    assert before == {name: (folder / name).read_bytes() for name in before}
    assert [*bodies[:2], *bodies[3:]] == (folder / "events.jsonl").read_bytes().splitlines()
    report = json.loads((folder / "report.json").read_text())
    assert (6, 4, [[3, 3]], [5, 6]) == tuple(
        report[key] for key in ("head", "acknowledged_to", "lost", "not_acknowledged")
    )
    assert (5, 6) == found.untold


def test_crash_in_between_leaves_all_in_its_place(tmp_path: Path) -> None:
    """Where the report can't be written nothing was taken away, and the next try sets all aside."""
    path = filled(tmp_path, 6)
    harm(path, CHANGE)
    before = path.read_bytes()
    with largest_file(0), pytest.raises(OSError, match="File too large"):
        set_aside(tmp_path, NOW)
    assert before == path.read_bytes()
    folder, found = set_aside(tmp_path, NOW.replace(second=17))
    assert ([(3, 3)], before) == (found.lost, (folder / path.name).read_bytes())
    assert not path.exists()


def test_nothing_to_be_moved_is_told(tmp_path: Path) -> None:
    """Where there is no journal there is nothing to be set aside."""
    with pytest.raises(JournalMissing):
        set_aside(tmp_path, NOW)
    assert [] == list(tmp_path.iterdir())


def test_log_without_its_journal_is_moved_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log that was left alone keeps the table from starting, and is set aside like a journal."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "journal.db-wal").write_bytes(b"what is left")
    assert Exit.JOURNAL_DAMAGED == recover(tmp_path)
    assert "its log is still there" in capsys.readouterr().err
    assert Exit.WELL == recover(tmp_path, "--set-aside")
    (kept,) = (tmp_path / "state").glob("journal-damaged-*/journal.db-wal")
    assert b"what is left" == kept.read_bytes()


def test_damaged_journal_is_shown_and_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without being told to the command changes nothing: it says what is lost, and ends with 4 and one line."""
    path = filled(tmp_path / "state", 6)
    harm(path, CHANGE)
    before = path.read_bytes()
    assert Exit.JOURNAL_DAMAGED == recover(tmp_path)
    told = capsys.readouterr()
    assert ["proved: seq 1 to 2, seq 4 to 6", "lost: seq 3"] == told.out.splitlines()[1:3]
    assert "not acknowledged by the broker, so that consumers may not have them: seq 1 to 6" in told.out
    assert 1 == len(told.err.splitlines())
    assert before == path.read_bytes()


def test_set_aside_lets_a_new_journal_begin(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """When told to, the command moves the journal and says where; the table's next journal has another id."""
    path = filled(tmp_path / "state", 6)
    with JournalReader(path) as reader:
        old = reader.meta().journal
    harm(path, CHANGE)
    assert Exit.WELL == recover(tmp_path, "--set-aside")
    assert "the next start begins a new journal" in capsys.readouterr().out
    with opened(tmp_path / "state") as journal:
        assert ("first", 0) == (journal.previous, journal.head.seq)
        assert old != journal.journal_id
    assert Exit.WELL == recover(tmp_path)


def test_folder_that_can_not_be_written_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where there is no room for the report the command says so in one line, and the journal stays."""
    path = filled(tmp_path / "state", 100)
    harm(path, CHANGE)
    with largest_file(40_000):
        assert Exit.USAGE == recover(tmp_path, "--set-aside")
    assert "File too large; nothing was taken away" in capsys.readouterr().err
    assert path.exists()


def test_sound_journal_is_never_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A journal that is proved stays where it is, whatever was asked for."""
    path = filled(tmp_path / "state", 6)
    assert Exit.WELL == recover(tmp_path, "--set-aside")
    assert "is sound" in capsys.readouterr().out
    assert path.exists()


def test_damage_that_no_start_finds_is_told_as_such(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Damage before the last state row leaves the daemon able to go on, and that is said."""
    with opened(tmp_path / "state") as journal:
        journal.append(Batch(records=following(journal, 4)))
        journal.append(Batch(records=following(journal, 4), checkpoint=b"{}", cursor=8))
    harm(journal.path, CHANGE)
    assert Exit.JOURNAL_DAMAGED == recover(tmp_path)
    assert "the daemon can go on with it" in capsys.readouterr().err
    assert journal.path.exists()


def test_unreadable_page_that_no_start_reads_is_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A page before the last state row that can't be read is named, and does not keep the daemon from going on."""
    with opened(tmp_path / "state") as journal:
        journal.append(Batch(records=following(journal, 200), checkpoint=b"{}", cursor=200))
        journal.append(Batch(records=following(journal, 4), cursor=204))
    spoil(journal.path, 100)
    assert Exit.JOURNAL_DAMAGED == recover(tmp_path)
    told = capsys.readouterr()
    assert "the daemon can go on with it" in told.err
    assert "a page can't be read" in told.out
    with opened(tmp_path / "state") as journal:
        assert 204 == journal.head.seq


def test_running_table_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """While a daemon holds the table its journal is not looked at, and the exit code is that of a second instance."""
    filled(tmp_path / "state", 1)
    with TableLock(tmp_path / "state"):
        assert Exit.ALREADY_RUNNING == recover(tmp_path, "--set-aside")
    assert "runs this table already" in capsys.readouterr().err


def test_what_is_not_there_can_not_be_recovered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a state directory, or a journal in it, the command says so and makes neither."""
    assert Exit.USAGE == recover(tmp_path)
    assert "no such directory" in capsys.readouterr().err
    (tmp_path / "state").mkdir()
    assert Exit.JOURNAL_DAMAGED == recover(tmp_path, "--set-aside")
    assert "there is no journal" in capsys.readouterr().err
    assert ["lock"] == [file.name for file in (tmp_path / "state").iterdir()]


def test_journal_of_another_table_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another table's journal is a fault of the configuration, and is not moved."""
    path = filled(tmp_path / "state", 1)
    harm(path, "UPDATE meta SET table_id = 'tp-02'")
    assert Exit.USAGE == recover(tmp_path, "--set-aside")
    assert "tp-02" in capsys.readouterr().err
    assert path.exists()
