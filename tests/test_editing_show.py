"""The timeline of a recording: what came, what was made of it, what was decided, what the dealer saw."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from scannerd.cli import run
from scannerd.editing.timeline import timeline
from scannerd.errors import Exit
from scannerd.recording.recorded_table import replay_of
from scannerd.registry import Registry
from scannerd.scanlog import reading
from tests.small_recordings import CARDS, HEADER, read, write

REGISTRY = Registry()
RECORDINGS = Path(__file__).parent / "recordings"
BOUND_S = 20.0


def shown(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[str]:
    """The lines of a timeline, without the heading."""
    assert Exit.WELL == run(["scanlog", "show", *map(str, arguments)])
    heading, _, lines = capsys.readouterr().out.partition("\n\n")
    assert heading.startswith(str(arguments[0]))
    return lines.splitlines()


def test_a_read_is_shown_with_all_that_follows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bytes, reading, events and prompt stand below each other, and the time where it is another."""
    assert [
        "       0.000        prompt   wait: Wait",
        "       1.000  desk  bytes    41 53 0d 0a  |AS..|",
        "              desk  decoded  read AS of desk",
        "                    event    round_opened tp-01/1 game=teen-patti-20-20 by=auto",
        "              desk  event    card_accepted slot=A1 card=AS attempt=1 via=scan",
        "                    prompt   deal: Deal the next card: B1",
    ] == shown(capsys, write(tmp_path / "a.scanlog", CARDS[0]))


def test_every_kind_of_entry_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was sent, links, commands and refusals, the broker, bounces, notes and the end have lines of their own."""
    recording = write(
        tmp_path / "a.scanlog",
        read(1, "AS"),
        read(1.1, "AS"),
        {"t": 2, "scanner": "desk", "tx_hex": "06"},
        {"t": 3, "command": "open", "args": {"id": "c1"}},
        {"t": 4, "broker": "down"},
        {"t": 5, "scanner": "desk", "event": "down", "detail": "EIO\u001b[2J"},
        {"t": 6, "scanner": "desk", "rx": "KH\r\n", "stale": True},
        {"t": 7, "scanner": "desk", "event": "up"},
        {"t": 8, "scanner": "desk", "rx": ""},
        {"t": 9, "end": True},
    )
    lines = [line[20:] for line in shown(capsys, recording)]
    for wanted in (
        "nothing  a bounce of AS: counted only",
        "sent     06  |.|",
        'command  open {"id":"c1"}',
        "refused  round_in_progress: open can't be done while dealing",
        "broker   down",
        "link     down: EIO?[2J",
        "bytes    4b 48 0d 0a  |KH..| (late)",
        "note     t 6: bytes of desk while it is down are ignored",
        "link     up",
        "bytes    none",
        "end      of the recording",
    ):
        assert wanted in lines


def test_a_deadline_stands_where_it_was_decided(capsys: pytest.CaptureFixture[str]) -> None:
    """What a deadline decides is shown at its time, before what was recorded later."""
    lines = shown(capsys, RECORDINGS / "angel-eye-lost.scanlog")
    (held,) = [number for number, line in enumerate(lines) if "round_held" in line and "4.000" in lines[number - 2]]
    assert "command  enter" in lines[held + 2]


@pytest.mark.parametrize("recording", sorted(RECORDINGS.glob("*.scanlog")), ids=lambda path: path.stem)
def test_times_of_a_timeline_never_go_back(recording: Path) -> None:
    """Whatever a recording holds, its timeline is in the order of time."""
    with reading(recording, print) as reader:
        rows = list(timeline(reader, lambda tell: replay_of(reader.header, recording, REGISTRY, tell)))
    assert [row.t for row in rows] == sorted(row.t for row in rows)
    assert "prompt" == rows[0].kind


def test_a_timeline_may_have_the_time_of_day_and_another_language(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --wall times are UTC, and prompts are those of the dealer's language."""
    recording = write(tmp_path / "a.scanlog", *CARDS, header=HEADER | {"note": "odd\nthing"})
    lines = shown(capsys, recording, "--wall", "--language", "pt")
    assert "02:45:02.500  desk  bytes    4b 48 0d 0a  |KH..|" in lines
    assert any("prompt   deal: " in line and "Deal the next" not in line for line in lines)


def test_colour_is_only_for_terminals(tmp_path: Path) -> None:
    """Colour comes on a terminal, unless NO_COLOR is set, and into no file."""
    recording = write(tmp_path / "a.scanlog", *CARDS)
    command = [sys.executable, "-m", "scannerd", "scanlog", "show", str(recording)]
    piped = subprocess.run(command, capture_output=True, timeout=BOUND_S, check=True).stdout
    assert b"\x1b" not in piped
    plain = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    assert b"\x1b[32m" in on_terminal(command, plain)
    assert b"\x1b" not in on_terminal(command, plain | {"NO_COLOR": "1"})


def on_terminal(command: list[str], environment: dict[str, str]) -> bytes:
    """What a command writes to a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(command, stdout=slave, env=environment) as process:
        os.close(slave)
        told = b""
        while select.select([master], [], [], BOUND_S)[0]:
            try:
                told += os.read(master, 65536)
            except OSError:  # the other end is closed
                break
        os.close(master)
        assert 0 == process.wait(BOUND_S)
    return told


def test_what_cant_be_shown_is_told_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recording that can't be used ends with 2; the lines before the fault are shown."""
    recording = write(tmp_path / "a.scanlog", CARDS[0], {"t": 2, "scanner": "toe", "rx": "x"})
    assert Exit.USAGE == run(["scanlog", "show", str(recording)])
    said = capsys.readouterr()
    assert "read AS of desk" in said.out
    assert said.err.startswith(f"scannerd: {recording}:3: scanner 'toe' is not in the header")
    nowhere = write(tmp_path / "b.scanlog", header=HEADER | {"scanners": {"desk": {"driver": "lien"}}})
    assert Exit.USAGE == run(["scanlog", "show", str(nowhere)])
    said = capsys.readouterr()
    assert ("", True) == (said.out, said.err.startswith(f"scannerd: {nowhere}:1: "))
