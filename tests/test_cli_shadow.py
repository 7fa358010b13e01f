"""`scannerd shadow`: what it tells, how it ends, and that the live table does not notice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.errors import Exit
from tests.daemon import BOUND_S, PREFIX, StartDaemon, Watcher, start_daemon_fixture
from tests.mosquitto import Mosquitto, broker_fixture, start_broker_fixture
from tests.shadowing import HANDS, configured, deals
from tests.small_recordings import HEADER, read, write

__all__ = ["broker_fixture", "start_broker_fixture", "start_daemon_fixture"]

REFUSES_NINES = 'pattern = "(?P<code>[^9].)"'


WATCHED = """
import sys
touched = []
def look(event, details):
    kind = event.partition(".")[0]
    changes = event in {"os.mkdir", "os.remove", "os.rename"} or (event == "open" and details[2] & 3)
    if changes or kind in {"socket", "sqlite3", "fcntl"}:
        touched.append((event, details))
sys.addaudithook(look)
from scannerd.cli import run
run(["shadow", *sys.argv[1:]])
print(touched)
"""
"""Runs the command and prints what it touched, as the interpreter itself tells it."""


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Three rounds, a nine in the second."""
    return write(tmp_path / "x.scanlog", *deals(*HANDS), {"t": 60, "end": True})


def shadow(*arguments: str | Path) -> int:
    """Runs the command."""
    return run(["shadow", *map(str, arguments)])


def capturing(config: Path, folder: Path) -> Path:
    """Lets the table of a configuration record into a folder."""
    config.write_text(f'{config.read_text()}\n[record]\ndirectory = "{folder}"\n')
    return config


def started(*arguments: str | Path) -> subprocess.Popen[str]:
    """Runs the command on a live table; returns once it follows what that records."""
    process = subprocess.Popen(
        [sys.executable, "-m", "scannerd", "shadow", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert "follows" in process.stderr.readline()
    return process


def test_the_same_decisions_are_well(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing is decided otherwise the command ends with 0 and tells how much it saw."""
    assert Exit.WELL == shadow("-c", configured(tmp_path), "--from", recording)
    told = capsys.readouterr()
    assert ("3 rounds seen, 3 the same, 0 different; 0 differences\n", "") == told


def test_a_difference_is_readable(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A difference is told with round, time, slot, bytes, place, and both decisions with their rules; the end is 1."""
    assert Exit.DIFFERENCE == shadow("-c", configured(tmp_path, scanner=REFUSES_NINES), "--from", recording)
    accepted = "card_accepted, slot B2, card 9C, scanner desk, attempt 1, via scan"
    rejected = "scan_rejected, reason bad_frame, slot B2, attempt 1, scanner desk"
    told = capsys.readouterr().out.splitlines()
    assert [
        "round tp-01/2, 2026-11-30T02:45:21.000Z: decided otherwise",
        r'  B2  t 24  "9C\r"  x.scanlog:11',
        f"    live  {accepted}  (rule 10)",
        f"    new   {rejected}  (rule f5)",
    ] == told[:4]
    assert r'  then A3  t 25  "TC\r"  x.scanlog:12' == told[4]
    assert "    live  round_completed, cards A: 6C 8C TC B: 7C 9C JC, dealt 6C 7C 8C 9C TC JC, rejections 0" in told[-3]
    assert "    new   nothing" == told[-2]
    assert "3 rounds seen, 2 the same, 1 different; 4 differences" == told[-1]


def test_json_is_a_line_a_round_and_the_sum(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --json each round that differs is an object with all its differences, and the last line is the sum."""
    new = configured(tmp_path, scanner=REFUSES_NINES)
    assert Exit.DIFFERENCE == shadow("-c", new, "--json", "--from", recording)
    found, total = map(json.loads, capsys.readouterr().out.splitlines())
    assert {"rounds": 3, "same": 2, "different": 1, "differences": 4, "before_first_round": 0} == total
    assert ("tp-01/2", "2026-11-30T02:45:21.000Z", 0) == (found["round"], found["opened_at"], found["more"])
    first = found["differences"][0]
    assert {"recording": str(recording), "line": 11, "t": 24, "slot": "B2", "raw_hex": b"9C\r".hex()} == {
        key: first[key] for key in ("recording", "line", "t", "slot", "raw_hex")
    }
    assert "2026-11-30T02:45:24.000Z" == first["at"]
    assert [("card_accepted", "9C", "10")] == [(one["type"], one["data"]["card"], one["rule"]) for one in first["live"]]
    assert [("scan_rejected", "bad_frame", "f5")] == [
        (one["type"], one["data"]["reason"], one["rule"]) for one in first["new"]
    ]


def test_many_differences_of_a_round_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of many differences of one round the first are told, and the others counted; unreadable bytes are hex."""
    cards = [read(2 * number + 1, code) for number, code in enumerate(("AS", *("9C", "9D") * 10))]
    cards[1] = {"t": 3, "scanner": "desk", "rx_hex": b"9C\xff\r".hex()}
    recording = write(tmp_path / "x.scanlog", *cards)
    new = configured(tmp_path, scanner='pattern = "(?P<code>A.)"', rules="max_attempts = 0")
    assert Exit.DIFFERENCE == shadow("-c", new, "--from", recording)
    told = capsys.readouterr().out
    assert "more, which may follow from the first" in told
    assert 6 == told.count("x.scanlog:")


def test_what_differs_before_the_first_round_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What the tables decide before any round is compared too, and is no round."""
    recording = write(tmp_path / "x.scanlog", read(1, "9C"), *deals((), HANDS[0]))
    live = configured(tmp_path, scanner=REFUSES_NINES).rename(tmp_path / "live.toml")
    new = configured(tmp_path, rules="require_broker = false")
    assert Exit.DIFFERENCE == shadow("-c", new, "--live-config", live, recording)
    told = capsys.readouterr()
    assert told.out.startswith("before the first round, 2026-11-30T02:45:00.000Z: decided otherwise\n  ")
    assert "1 round seen, 1 the same, 0 different; 1 difference\n" in told.out


def test_the_live_configuration_says_what_was_decided(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --live-config that is what is compared with; a recording made with another one is warned of."""
    new = configured(tmp_path, scanner=REFUSES_NINES)
    assert Exit.WELL == shadow("-c", new, "--live-config", new, "--from", recording)
    assert f"{recording}: the live table ran with another configuration than {new}" in capsys.readouterr().err
    made_with_it = {**HEADER, "scanners": {"desk": {"driver": "line", "pattern": "(?P<code>[^9].)"}}}
    recording = write(recording, *deals(*HANDS), header=made_with_it)
    assert Exit.WELL == shadow("-c", new, "--live-config", new, "--from", recording)
    assert "" == capsys.readouterr().err


@pytest.mark.parametrize(
    "other",
    [
        {"game": "war-of-bets"},
        {"scanners": {"gun": {"driver": "line"}, "desk": {"driver": "line"}}},
        {"scanners": {"desk": {"driver": "usb-bulk"}}},
        {"scanners": {"desk": {"driver": "line", "codes": "bridge-52"}}},
        {"scanners": {"desk": {"driver": "line", "hand": "A"}}},
        {"scanners": {"desk": {"driver": "line", "of_a_later_version": 1}}},
    ],
)
def test_another_live_configuration_is_noticed(
    other: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Game, scanners, drivers, codebooks and hands are looked at to tell whether the configuration is the live one."""
    config = configured(tmp_path)
    two = tmp_path / "two.toml"
    two.write_text(
        config.read_text() + '[[scanner]]\nname = "gun"\ndriver = "ssi"\ncodes = "bridge-52"\nurl = "/dev/x"\n'
    )
    recording = write(tmp_path / "x.scanlog", *deals(HANDS[0]), header={**HEADER, **other})
    shadow("-c", two, "--live-config", config if "gun" not in str(other) else two, "--from", recording)
    assert "the live table ran with another configuration" in capsys.readouterr().err


def test_what_is_ignored_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes of a scanner that is down are ignored at both tables, with one warning."""
    down = {"t": 10, "scanner": "desk", "event": "down"}
    recording = write(tmp_path / "x.scanlog", *deals(HANDS[0]), down, read(11, "AS"))
    assert Exit.WELL == shadow("-c", configured(tmp_path), "--from", recording)
    assert 1 == capsys.readouterr().err.count("while it is down are ignored")


def test_it_ends_after_so_many_rounds(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--until-rounds ends it early; files may follow --from as a shell writes them, each from its own beginning."""
    new = configured(tmp_path, scanner=REFUSES_NINES)
    other = tmp_path / "y.scanlog"
    other.write_bytes(recording.read_bytes())
    assert Exit.WELL == shadow("-c", new, "--from", recording, other, "--until-rounds", "1")
    assert "1 round seen" in capsys.readouterr().out
    assert Exit.DIFFERENCE == shadow("-c", new, "--from", recording, other, "--for", "1d")
    assert "6 rounds seen, 4 the same" in capsys.readouterr().out


def test_a_table_that_records_nothing_is_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the live table records nothing, --for ends the waiting, and nothing differed."""
    assert Exit.WELL == shadow("-c", capturing(configured(tmp_path), tmp_path), "--for", "1s")
    told = capsys.readouterr()
    assert "0 rounds seen" in told.out
    assert f"follows {tmp_path}, table tp-01" in told.err


def test_a_terminal_shows_how_far_it_came(recording: Path, tmp_path: Path) -> None:
    """On a terminal a line counts the rounds as they come, and gives way to what is told."""
    master, slave = os.openpty()
    command = [sys.executable, "-m", "scannerd", "shadow", "--from", str(recording), "-c"]
    done = subprocess.run(
        [*command, str(configured(tmp_path, scanner=REFUSES_NINES))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=slave,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    os.close(slave)
    shown = os.read(master, 65536).decode().split("\r\x1b[K")
    os.close(master)
    assert [count for count in shown if count] == [
        f"{seen} seen, {same} the same, {different} different; {4 * different} differences"
        for seen, same, different in (("0 rounds", 0, 0), ("1 round", 1, 0), ("2 rounds", 1, 1), ("3 rounds", 2, 1))
    ]
    assert done.stdout.startswith("round tp-01/2")


def test_ctrl_c_tells_the_sum(tmp_path: Path) -> None:
    """Ctrl-C ends the command with the sum of what it saw."""
    with started("-c", capturing(configured(tmp_path), tmp_path)) as process:
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=BOUND_S)
    assert (Exit.WELL, "0 rounds seen, 0 the same, 0 different; 0 differences\n") == (process.returncode, told)


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "record.directory is not set, and shadow reads the live table's capture"),
        (("--from", "none"), "none: no such file or folder"),
        (("--for", "soon"), "'soon' is no length of time, such as 90s, 10m or 1h30m"),
        (("--for", "0s"), "'0s' is no length of time"),
        (("--live-config", "none.toml"), "none.toml: can't be read"),
    ],
)
def test_wrong_usage_is_told(
    arguments: tuple[str, ...],
    what: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Wrong usage ends the command with 2 and one line that says what to do."""
    assert Exit.USAGE == shadow("-c", configured(tmp_path), *arguments)
    told = capsys.readouterr().err
    assert what in told
    assert 1 == told.count("\n")


def test_a_scanner_that_is_not_configured_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The new configuration must name the scanners as the live table does."""
    header = {**HEADER, "scanners": {"desk": {"driver": "line"}, "shoe": {"driver": "line"}}}
    recording = write(tmp_path / "x.scanlog", *deals(HANDS[0]), header=header)
    assert Exit.USAGE == shadow("-c", configured(tmp_path), "--from", recording)
    assert "scanner 'shoe' of the live table is not configured, there: desk" in capsys.readouterr().err


def test_nothing_is_opened_but_for_reading(recording: Path, tmp_path: Path) -> None:
    """While it runs no file is opened for writing, no socket and no database is made, nothing is locked or changed."""
    recording.rename(tmp_path / "tp-01-20261130T024500000000Z.scanlog")
    config = capturing(configured(tmp_path), tmp_path)
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCHED, "-c", str(config), "--for", "1s"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert f"follows {tmp_path}" in done.stderr
    assert "0 rounds seen" in done.stdout
    assert "[]" == done.stdout.splitlines()[-1]


def test_a_live_table_is_shadowed_and_does_not_notice(
    broker: Mosquitto, start_daemon: StartDaemon, tmp_path: Path
) -> None:
    """Rounds that a running daemon deals are compared as they are dealt; neither table, broker nor disk hears of it."""
    daemon = start_daemon(broker.url, 'start = "command"\nmin_gap_ms = 0\nbounce_ms = 0', start=False)
    folder = daemon.folder / "recordings"
    folder.mkdir()
    capturing(daemon.config, folder)
    new = tmp_path / "new.toml"
    lines = daemon.config.read_text().replace('driver = "line"', f'driver = "line"\n{REFUSES_NINES}')
    new.write_text(lines.replace(str(daemon.state_dir), str(tmp_path / "none")))
    with Watcher(broker.port) as watcher:
        daemon.start()
        watcher.wait_for_shown("status", scanners={"shoe": "up"})
        watcher.command("open", round="before", by="engine")
        session = watcher.shown("status")["session"]
        with started("-c", new, "--until-rounds", "2", "--json") as process:
            dealt = 0
            for number, codes in enumerate((("AS", "KH"), ("2C", "9D"), ("3C",)), start=1):
                watcher.command("void", by="sup-1", reason="next")
                watcher.command("open", round=f"r-{number}", by="engine")
                daemon.send(*codes)
                dealt += len(codes)
                watcher.wait_for_event("card_accepted", dealt)
            told, _ = process.communicate(timeout=BOUND_S)
        assert Exit.DIFFERENCE == process.returncode
        assert {session} == {shown.json()["session"] for shown in watcher.on(f"{PREFIX}/status")}
    assert 0 == daemon.stop()
    found, total = map(json.loads, told.splitlines())
    assert (2, 1, 1) == (total["rounds"], total["same"], total["differences"])
    difference = found["differences"][0]
    assert ("r-2", "B1", b"9D\r".hex()) == (found["round"], difference["slot"], difference["raw_hex"])
    assert not (tmp_path / "none").exists()
    assert 1 == len(list(folder.iterdir()))
