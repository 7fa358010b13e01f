"""A round, or the last minutes, out of the always-on capture of a real daemon: it replays to the journal's events."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.config import load
from scannerd.editing.excerpt import Excerpts
from scannerd.errors import Exit
from scannerd.journal import Journal
from scannerd.registry import Registry
from scannerd.scanlog import Broker, Chunk, Entry, Header, ScanlogWriter, reading
from tests.daemon import BOUND_S, Daemon, StartDaemon, Watcher, let_pass, start_daemon_fixture
from tests.mosquitto import Mosquitto, broker_fixture, start_broker_fixture

__all__ = ["broker_fixture", "start_broker_fixture", "start_daemon_fixture"]

AUTO = 'start = "auto"\nmin_gap_ms = 0\nbounce_ms = 0\nround_gap_ms = 0\nmax_attempts = 0'
NOT_TOLD = {"daemon_started", "daemon_stopped", "self_check"}
"""What no recording can tell of."""


@contextmanager
def capturing(daemon: Daemon, broker: Mosquitto) -> Iterator[Watcher]:
    """A daemon that records all the time while it runs, and a watcher of its table."""
    folder = daemon.folder / "recordings"
    if not folder.exists():
        folder.mkdir()
        daemon.config.write_text(daemon.config.read_text() + f'\n[record]\ndirectory = "{folder}"\n')
    with Watcher(broker.port) as watcher:
        daemon.start()
        watcher.wait_for_event("scanner_up")
        yield watcher


def scannerd(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs the command as a user would."""
    return subprocess.run(
        [sys.executable, "-m", "scannerd", *arguments], capture_output=True, text=True, timeout=BOUND_S, check=False
    )


def of_round(daemon: Daemon, round_id: str) -> list[list[object]]:
    """What the journal has of a round: type and data of its events."""
    told = [json.loads(record.body) for record in daemon.records()]
    return [[one["type"], one["data"]] for one in told if one["round"] == round_id and one["type"] not in NOT_TOLD]


def replayed(recording: Path, round_id: str) -> list[list[object]]:
    """What a replay has of it."""
    done = scannerd("replay", recording)
    assert (0, "") == (done.returncode, done.stderr)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return [[one["type"], one["data"]] for one in told if one["round"] == round_id]


def header_of(path: Path) -> Header:
    """The first line of a recording."""
    with reading(path, print) as recording:
        return recording.header


def told_ms(events: list[list[object]]) -> int:
    """How long a round took, as its completion tells."""
    kind, data = events[-1]
    assert kind == "round_completed"
    assert isinstance(data, dict)
    return int(data["duration_ms"])


def exported(daemon: Daemon, round_id: str, name: str) -> Path:
    """The recording of a round, which must agree with the journal, and be a test that holds."""
    recording = daemon.folder / name
    done = daemon.run("journal", "export", "--scanlog", round_id, "-o", str(recording), "--expect")
    assert 0 == done.returncode, done.stderr
    held = scannerd("replay", recording, "--expect", recording.with_suffix(".expected.jsonl"))
    assert (0, "") == (held.returncode, held.stdout)
    return recording


def recorded_table(folder: Path, *entries: Entry, began_before: float) -> Path:
    """The configuration of a table without any event, whose capture began so many seconds ago."""
    table = folder / "tp-01.toml"
    table.write_text(
        f'[table]\nid = "tp-01"\nstate_dir = "{folder}"\n[record]\ndirectory = "{folder}"\n'
        '[[scanner]]\nname = "shoe"\ndriver = "line"\nurl = "/dev/null"\n'
    )
    Journal.open(folder, "tp-01", create=True).close()
    header = Header(
        scanlog=1,
        table="tp-01",
        game="teen-patti-20-20",
        recorded_at=datetime.now(UTC) - timedelta(seconds=began_before),
        scanners={"shoe": {"driver": "line"}},
    )
    with (folder / "tp-01-20260101T000000000000Z.scanlog").open("wb") as target:
        writer = ScanlogWriter(target, header)
        for entry in entries:
            writer.write(entry)
    return table


def record(table: Path, folder: Path, *options: str) -> int:
    """Asks for the last ten minutes, as `last.scanlog`."""
    return run(["record", "-c", str(table), "--last", "10m", "-o", str(folder / "last.scanlog"), *options])


def test_a_round_of_the_journal_becomes_a_recording_that_tells_its_events(
    broker: Mosquitto, start_daemon: StartDaemon
) -> None:
    """Each round, with misreads, a lost scanner, commands, a reversal and a restart, replays to its events in the
    journal, alone, whichever run of the daemon it was of.
    """
    daemon = start_daemon(broker.url, AUTO, start=False)
    with capturing(daemon, broker) as watcher:
        daemon.send("AS", "NOREAD", "KH", "AS", "2C", "3D", "4H", "5S")
        watcher.wait_for_event("round_completed")
        daemon.send("6S", "7S")
        watcher.wait_for_event("card_accepted", 8)
        daemon.scanner.unplug()
        watcher.wait_for_event("scanner_down")
        daemon.scanner.plug()
        watcher.wait_for_event("scanner_up", 2)
        watcher.command("hold", reason="a word", by="sup-1")
        watcher.command("release", by="sup-1")
        daemon.send("8S", "9S", "TS", "JS")
        watcher.wait_for_event("round_completed", 2)
        watcher.command("void", reason="misdeal", by="sup-1")
    assert 0 == daemon.stop()
    with capturing(daemon, broker) as watcher:
        daemon.send("2D", "3H")
        watcher.wait_for_event("card_accepted", 2)
    assert 0 == daemon.stop()
    with capturing(daemon, broker) as watcher:
        daemon.send("4C", "5D", "6H", "7C")
        watcher.wait_for_event("round_completed")
        for number, name in enumerate(("tp-01/1", "tp-01/2", "tp-01/3")):
            recording = exported(daemon, name, f"{number}.scanlog")
            told = of_round(daemon, name)
            again = replayed(recording, name)
            if name == "tp-01/3":  # a start tells of each scanner anew, and a replay knows of no start
                told.remove(["scanner_up", {"scanner": "shoe", "detail": None}])
                assert abs(told_ms(told) - told_ms(again)) <= 2  # the two files tell their times by the time of day
                del told[-1], again[-1]
            assert told == again
    assert [None, 2, 3] == [header_of(path).rounds_before for path in sorted((daemon.folder / "recordings").iterdir())]
    kinds = {kind for kind, _ in of_round(daemon, "tp-01/2")}
    assert {"scanner_down", "round_held", "round_released", "round_voided"} < kinds


def test_what_came_since_a_moment_becomes_a_recording(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """All since a moment replays to the journal's events since then, with the round that was being dealt whole."""
    daemon = start_daemon(broker.url, AUTO, start=False)
    with capturing(daemon, broker) as watcher:
        before = datetime.now(UTC)
        daemon.send("AS", "KH")
        watcher.wait_for_event("card_accepted", 2)
        within = datetime.now(UTC)
        daemon.send("KH", "2C")
        watcher.wait_for_event("card_accepted", 3)
        excerpts = Excerpts(load(daemon.config), Registry(), print)
        for moment in (before, within):
            found = excerpts.since(moment)
            assert "" == found.difference
            told = [[line["type"], line["data"]] for line in found.expected]
            assert of_round(daemon, "tp-01/1") == told


@pytest.mark.parametrize("drift_ms", [-30, 30])
def test_a_recording_is_found_though_the_clocks_were_read_apart(
    broker: Mosquitto, start_daemon: StartDaemon, drift_ms: int
) -> None:
    """Where the capture's time of day misses the journal's a little, a round is cut at the same entries."""
    daemon = start_daemon(broker.url, AUTO, start=False)
    with capturing(daemon, broker) as watcher:
        let_pass(0.1)  # the capture must be older than what its clock is to miss by
        daemon.send("AS", "KH", "2C", "3D", "4H", "5S")
        watcher.wait_for_event("round_completed")
        daemon.send("6S")
        watcher.wait_for_event("card_accepted", 7)
    assert 0 == daemon.stop()
    (capture,) = (daemon.folder / "recordings").iterdir()
    head, _, rest = capture.read_text().partition("\n")
    header = Header.model_validate_json(head)
    moved = header.model_copy(update={"recorded_at": header.recorded_at + timedelta(milliseconds=drift_ms)})
    capture.write_text(f"{moved.model_dump_json(exclude_none=True)}\n{rest}")
    found = Excerpts(load(daemon.config), Registry(), print).of_round("tp-01/1")
    assert "" == found.difference
    assert of_round(daemon, "tp-01/1") == [[line["type"], line["data"]] for line in found.expected]


def test_the_last_minutes_are_asked_for_by_their_length(tmp_path: Path) -> None:
    """`record --last` writes what was recorded in the time that is named, as a test where that is wanted."""
    table = recorded_table(tmp_path, Broker(0, up=True), Broker(3_590_000_000, up=False), began_before=3_600)
    assert Exit.WELL == record(table, tmp_path, "--expect")
    assert "" == (tmp_path / "last.expected.jsonl").read_text()
    with reading(tmp_path / "last.scanlog", print) as recording:
        (broker, end) = list(recording)
    assert isinstance(broker, Broker)
    assert 580_000_000 < broker.t < 590_000_000 + BOUND_S * 1_000_000
    assert broker.t == end.t


def test_a_capture_that_tells_otherwise_than_the_journal_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the replay differs from the journal, the recording is written and the difference is told."""
    read = Chunk(3_590_000_000, "shoe", b"AS\r\n")
    table = recorded_table(tmp_path, Broker(0, up=True), read, began_before=3_600)
    assert Exit.DIFFERENCE == record(table, tmp_path)
    said = capsys.readouterr().err
    assert "its replay differs from the journal: expected nothing, told " in said
    assert "no_round" in said
    assert (tmp_path / "last.scanlog").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("record", "--last", "2h", "-o", "x.scanlog"), "is not in the capture: "),
        (("record", "--last", "1s", "-o", "x.scanlog"), "the last entry in "),
        (("record", "--last", "soon", "-o", "x.scanlog"), "'soon' is no length of time, such as 90s, 10m or 1h30m"),
        (("record", "--last", "0s", "-o", "x.scanlog"), "'0s' is no length of time"),
        (("record", "--expect", "-o", "x.scanlog"), "--expect goes with --last"),
        (("journal", "export", "--scanlog", "r-9"), "there is no round 'r-9'"),
        (("journal", "export", "--scanlog", "r-9", "--format", "csv"), "--scanlog takes a whole round"),
        (("journal", "export", "-o", "x.jsonl"), "go with --scanlog"),
    ],
)
def test_what_the_capture_does_not_have_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], told: str
) -> None:
    """A piece that can't be had is an error which says what is there, and nothing is written."""
    table = recorded_table(tmp_path, Broker(0, up=True), began_before=3_600)
    code = run([*arguments, "-c", str(table)])
    said = capsys.readouterr()
    assert (Exit.USAGE, "", 1) == (code, said.out, said.err.count("\n"))
    assert told in said.err


def test_only_a_capture_that_is_full_should_keep_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the capture does not reach so far, keeping more files is the remedy only if the oldest gave way."""
    table = recorded_table(tmp_path, Broker(0, up=True), began_before=300)
    assert Exit.USAGE == record(table, tmp_path)
    assert capsys.readouterr().err.endswith(", and there is nothing older\n")
    table.write_text(table.read_text().replace("[record]\n", "[record]\nfiles = 2\n"))
    one = tmp_path / "tp-01-20260101T000000000000Z.scanlog"
    (tmp_path / "tp-01-20260102T000000000000Z.scanlog").write_bytes(one.read_bytes())
    assert Exit.USAGE == record(table, tmp_path)
    assert capsys.readouterr().err.endswith("; raise record.files to keep more\n")


def test_a_table_without_a_capture_is_told_how_to_have_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing is recorded, the key that is missing is named; where no file is there yet, its folder."""
    table = recorded_table(tmp_path, began_before=1)
    (tmp_path / "tp-01-20260101T000000000000Z.scanlog").unlink()
    assert Exit.USAGE == record(table, tmp_path)
    assert f"{tmp_path}: there is no recording of table tp-01" in capsys.readouterr().err
    table.write_text(table.read_text().replace("[record]", "").replace(f'directory = "{tmp_path}"\n', ""))
    assert Exit.USAGE == record(table, tmp_path)
    assert f"{table}: record.directory is not set" in capsys.readouterr().err


def test_a_file_of_the_capture_that_was_torn_at_its_beginning_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file without a whole header, as a power cut leaves it, is named, and the others are used."""
    table = recorded_table(tmp_path, Broker(0, up=True), Broker(3_590_000_000, up=False), began_before=3_600)
    torn = tmp_path / "tp-01-20250101T000000000000Z.scanlog"
    torn.write_text('{"scanlog":1,"ta')
    assert Exit.WELL == record(table, tmp_path)
    assert f"{torn}:1: not a recording" in capsys.readouterr().err
