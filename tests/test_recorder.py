"""The capture that runs beside the table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from scannerd.errors import UsageError
from scannerd.recording.recorder import Folder, OneFile, Recorder
from scannerd.scanlog import Chunk, End, Entry, Header, Link, reading

BOUND_S = 20
"""How long the machine may take from one step to the next."""


def header() -> Header:
    """The header of a table with one shoe."""
    return Header(
        scanlog=1,
        table="tp-01",
        game="teen-patti-20-20",
        recorded_at=datetime(2026, 11, 30, tzinfo=UTC),
        scanners={"shoe": {"driver": "line"}},
    )


def entries(path: Path) -> list[Entry]:
    """What a recording holds."""
    complaints: list[str] = []
    with reading(path, complaints.append) as recording:
        found = list(recording)
    assert [] == complaints
    return found


def test_what_is_recorded_counts_its_time_from_the_files_beginning(tmp_path: Path) -> None:
    """A recording's times begin at the moment at which it was begun."""
    recorder = Recorder(header(), OneFile(tmp_path / "a.scanlog"), lambda: 5_000_000)
    recorder.start()
    recorder.write(Link(5_000_000, "shoe", up=True))
    recorder.write(Chunk(6_500_000, "shoe", b"AS\r\n"))
    recorder.write(End(7_000_000))
    recorder.stop()
    expected = [Link(0, "shoe", up=True), Chunk(1_500_000, "shoe", b"AS\r\n"), End(2_000_000)]
    assert expected == entries(tmp_path / "a.scanlog")


def test_a_full_file_is_closed_between_rounds_only(tmp_path: Path) -> None:
    """A file over its size goes on until the table is idle, and the next one begins then."""
    recorder = Recorder(header(), Folder(tmp_path, "tp-01", file_bytes=300, files=8), lambda: 0)
    recorder.start()
    for t in range(5):
        recorder.write(Chunk(t, "shoe", b"AS\r\n"))
    recorder.stop()
    assert 1 == len(list(tmp_path.iterdir()))

    recorder = Recorder(header(), Folder(tmp_path, "tp-01", file_bytes=1, files=8), lambda: 0)
    recorder.start()
    recorder.pause(0)
    recorder.write(Chunk(9, "shoe", b"KH\r\n"))
    recorder.stop()
    assert [Chunk(9, "shoe", b"KH\r\n")] == entries(max(tmp_path.iterdir()))
    assert 3 == len(list(tmp_path.iterdir()))


def test_a_file_says_how_many_rounds_came_before(tmp_path: Path) -> None:
    """A recording that is begun between two rounds knows how many there were, for the ids of those to come."""
    recorder = Recorder(header(), Folder(tmp_path, "tp-01", file_bytes=1, files=8), lambda: 0)
    recorder.start()
    recorder.pause(7)
    recorder.write(Chunk(9, "shoe", b"KH\r\n"))
    recorder.stop()
    first, second = sorted(tmp_path.iterdir())
    with reading(first, print) as one, reading(second, print) as other:
        assert (None, 7) == (one.header.rounds_before, other.header.rounds_before)


def test_a_file_begins_with_its_first_entry(tmp_path: Path) -> None:
    """A file that an entry begins has that entry's own time, though the entry waited for it to be opened."""
    recorder = Recorder(header(), Folder(tmp_path, "tp-01", file_bytes=100, files=8), lambda: 5_000_000)
    recorder.start()
    recorder.pause(0)
    recorder.write(Chunk(4_000_000, "shoe", b"KH\r\n"))
    recorder.write(Chunk(4_500_000, "shoe", b"AS\r\n"))
    recorder.stop()
    second, first = sorted(tmp_path.iterdir(), key=lambda path: not entries(path))
    assert [Chunk(0, "shoe", b"KH\r\n"), Chunk(500_000, "shoe", b"AS\r\n")] == entries(second)
    with reading(first, print) as one, reading(second, print) as other:
        apart = other.header.recorded_at - one.header.recorded_at
    assert timedelta(seconds=-1) < apart < timedelta(seconds=BOUND_S - 1)


def test_entries_that_overtake_each_other_stay_readable(tmp_path: Path) -> None:
    """What a slower thread brings late is written at the time of what came before it: time never goes back."""
    recorder = Recorder(header(), OneFile(tmp_path / "a.scanlog"), lambda: 0)
    recorder.start()
    recorder.write(Chunk(20, "shoe", b"AS\r\n"))
    recorder.write(Link(10, "shoe", up=False))
    recorder.write(End(30))
    recorder.stop()
    assert [Chunk(20, "shoe", b"AS\r\n"), Link(20, "shoe", up=False), End(30)] == entries(tmp_path / "a.scanlog")


def test_the_oldest_recordings_give_way(tmp_path: Path) -> None:
    """No more files are kept than configured, those of earlier runs among them; others' files are let alone."""
    (tmp_path / "notes.txt").write_text("kept")
    (tmp_path / "tp-01-b-20260101T000000000000Z.scanlog").write_text("another table's")
    for run in range(5):
        recorder = Recorder(header(), Folder(tmp_path, "tp-01", file_bytes=300, files=2), lambda: 0)
        recorder.start()
        recorder.write(Chunk(run, "shoe", b"AS\r\n"))
        recorder.stop()
    kept = Folder(tmp_path, "tp-01", file_bytes=300, files=2).kept()
    assert [Chunk(3, "shoe", b"AS\r\n")] == entries(kept[0])
    assert [Chunk(4, "shoe", b"AS\r\n")] == entries(kept[1])
    assert 2 == len(kept)
    assert "kept" == (tmp_path / "notes.txt").read_text()
    assert "another table's" == (tmp_path / "tp-01-b-20260101T000000000000Z.scanlog").read_text()


def test_a_disk_that_fails_stops_nothing(tmp_path: Path) -> None:
    """An entry that can't be written is counted, and stops nothing."""
    folder = tmp_path / "capture"
    folder.mkdir()
    recorder = Recorder(header(), Folder(folder, "tp-01", file_bytes=1, files=9), lambda: 0)
    recorder.start()
    recorder.pause(0)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("in the way")
    recorder.write(Chunk(1, "shoe", b"AS\r\n"))
    recorder.stop()
    assert 1 == recorder.dropped


def test_a_round_that_never_ends_fills_no_disk(tmp_path: Path) -> None:
    """Far over its size a file is closed even though no pause was told."""
    recorder = Recorder(header(), Folder(tmp_path, "tp-01", file_bytes=300, files=3), lambda: 0)
    recorder.start()
    for t in range(400):
        recorder.write(Chunk(t, "shoe", b"AS\r\n"))
    recorder.stop()
    assert 3 == len(list(tmp_path.iterdir()))
    assert all(path.stat().st_size < 1_600 for path in tmp_path.iterdir())


def test_a_file_that_cant_be_made_is_told_before_anything_runs(tmp_path: Path) -> None:
    """The one file that was asked for and can't be made is an error with its name; there is nothing to stop then."""
    path = tmp_path / "missing" / "a.scanlog"
    recorder = Recorder(header(), OneFile(path), lambda: 0)
    with pytest.raises(UsageError, match=f"{path}: No such file or directory"):
        recorder.start()
    recorder.stop()


def test_a_folder_that_cant_be_written_stops_no_table(tmp_path: Path) -> None:
    """A capture that can't begin says so once, and records from when its folder can be written."""
    folder = tmp_path / "recordings"
    folder.write_text("in the way")
    recorder = Recorder(header(), Folder(folder, "tp-01", file_bytes=9_000, files=8), lambda: 0)
    with capture_logs() as lines:
        recorder.start()
        folder.unlink()
        recorder.write(Chunk(1, "shoe", b"AS\r\n"))
        recorder.stop()
    assert ["the recording can't be written"] == [line["event"] for line in lines]
    (recording,) = folder.iterdir()
    assert [Chunk(1, "shoe", b"AS\r\n")] == entries(recording)
