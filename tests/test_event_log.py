"""The log tells what happened at the table, with round, slot, scanner and the event's number, and no card."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias, get_args

import pytest
from structlog.testing import capture_logs

from scannerd.core import decisions as d
from scannerd.core.events import ScannerWentDown
from scannerd.core.state import Rules
from scannerd.event_log import AGAIN, LEVELS
from scannerd.mqtt.notices import Connected, Disconnected
from tests.daemon import StartDaemon, start_daemon_fixture
from tests.fakes import SECOND, SIX, Table

__all__ = ["start_daemon_fixture"]

Line: TypeAlias = Mapping[str, object]


def only(lines: Iterable[Line], event: str) -> list[Line]:
    """The lines of one event."""
    return [line for line in lines if line["event"] == event]


def test_every_event_has_a_level() -> None:
    """Of each event that there is it is settled how loud it is told."""
    assert set(get_args(d.Told)) == LEVELS.keys()


def test_rejection_says_where(tmp_path: Path) -> None:
    """A rejected read is a line with round, slot, scanner, reason and the number of its event."""
    table = Table(tmp_path).ready("open")
    with capture_logs() as lines:
        table.take(table.misread("checksum"))
    (line,) = only(lines, "scan_rejected")
    assert ("engine", "info", "tp-01/1", "A1", "shoe", "bad_frame", "checksum", 1, 4) == tuple(
        line[key] for key in ("part", "log_level", "round", "slot", "scanner", "reason", "detail", "attempt", "seq")
    )


def test_what_needs_a_person_is_a_warning(tmp_path: Path) -> None:
    """A round that is held and an alarm are warnings, so that `journalctl -p warning` shows them."""
    table = Table(tmp_path, rules=Rules(max_attempts=1)).ready("open")
    with capture_logs() as lines:
        table.take(table.misread())
    (line,) = only(lines, "round_held")
    assert ("warning", "rescan_limit", "tp-01/1") == (line["log_level"], line["reason"], line["round"])


def test_no_card_is_in_the_log(tmp_path: Path) -> None:
    """A whole round with a duplicate leaves lines, and no card in any of them."""
    table = Table(tmp_path).ready("open")
    with capture_logs() as lines:
        table.deal(SIX[0], SIX[1], SIX[0], *SIX[2:])
        table.pass_time(SECOND)
    assert ["scan_rejected", "round_completed"] == [line["event"] for line in lines if line["log_level"] != "debug"]
    told = json.dumps(lines)
    assert [] == [card for card in SIX if f'"{card}"' in told]


def test_refused_command_is_told(tmp_path: Path) -> None:
    """A command that is not carried out is a line with its name, its id and why; one that is is none."""
    table = Table(tmp_path).ready("open")
    with capture_logs() as lines:
        table.command("open", id="c2")
        table.command("hold", id="c3")
    (line,) = only(lines, "command refused")
    assert ("open", "c2", "round_in_progress") == (line["command"], line["id"], line["error"])


def test_commands_refused_again_and_again_flood_nothing(tmp_path: Path) -> None:
    """Of commands that are refused for one reason the first is told, and after five minutes how many were not."""
    table = Table(tmp_path).ready("open")
    with capture_logs() as lines:
        for number in range(100):
            table.command("open", id=f"a{number}")
        table.command("release", id="b")
        for number in range(3):
            table.command(f"nonsense{number}", id=f"n{number}")
        table.clock.move(AGAIN)
        table.command("open", id="c")
    told = [(line["command"], line["error"], line["not_told"]) for line in only(lines, "command refused")]
    assert [
        ("open", "round_in_progress", 0),
        ("release", "not_held", 0),
        ("nonsense0", "unknown_command", 0),
        ("open", "round_in_progress", 99),
    ] == told


def test_nothing_is_told_that_is_not_written(tmp_path: Path) -> None:
    """While nothing can be written nothing of a rejection is told."""
    table = Table(tmp_path).ready("open")
    with capture_logs() as lines:
        table.fail()
        table.take(table.misread())
    assert [] == only(lines, "scan_rejected")


@pytest.mark.fault(117)
def test_ten_rejections_are_ten_lines_beside_an_absent_scanner(tmp_path: Path) -> None:
    """While one scanner is away for an hour each of ten misreads of the other is a line, and no other."""
    table = Table(tmp_path, rules=Rules(max_attempts=0), scanners="shoe,spare").ready("open")
    with capture_logs() as lines:
        table.take(ScannerWentDown(table.clock.now(), "shoe", "EIO"))
        for _ in range(10):
            table.clock.move(360 * SECOND)
            table.take(table.misread("checksum", "spare"))
    assert 10 == len(only(lines, "scan_rejected"))
    assert [] == [line for line in lines if line.get("scanner") == "shoe"]


def test_broker_is_told_as_it_changes(tmp_path: Path) -> None:
    """A broker that is lost and found again is a line each."""
    table = Table(tmp_path).ready()
    with capture_logs() as lines:
        table.take(Disconnected(table.clock.now(), "connection reset"))
        table.take(Connected(table.clock.now(), "broker:1883"))
    assert [("broker lost", "connection reset")] == [
        (line["event"], line["cause"]) for line in lines if "cause" in line
    ]
    assert ["broker:1883"] == [line["broker"] for line in only(lines, "broker connected")]


def test_each_line_of_a_daemon_names_its_table(start_daemon: StartDaemon) -> None:
    """Each line that a daemon writes is JSON with the table, whichever thread wrote it."""
    daemon = start_daemon("mqtt://127.0.0.1:1", 'start = "auto"\nrequire_broker = false')
    daemon.wait_for_journal("scanner_up")
    daemon.send("nonsense")
    daemon.wait_for_journal("scan_rejected")
    daemon.scanner.unplug()
    daemon.wait_for_journal("scanner_down")
    assert 0 == daemon.stop()
    lines = [json.loads(line) for line in daemon.errors().splitlines()]
    assert {"tp-01"} == {line.get("table") for line in lines}
    assert {"engine", "reader", "app"} <= {line["part"] for line in lines}
    (down,) = [line for line in lines if line["event"] == "scanner down"]
    assert "shoe" == down["scanner"]
