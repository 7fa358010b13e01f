"""What a running daemon records is what it decided."""

from __future__ import annotations

import json
import subprocess
import sys

from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import lines
from scannerd.registry import Registry
from scannerd.scanlog import reading
from tests.daemon import BOUND_S, StartDaemon, Watcher, start_daemon_fixture
from tests.mosquitto import Mosquitto, broker_fixture, start_broker_fixture

__all__ = ["broker_fixture", "start_broker_fixture", "start_daemon_fixture"]


def test_a_recording_replays_to_the_events_that_were_published(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """The always-on capture, replayed, gives the events of the journal, commands and refusals among them."""
    daemon = start_daemon(broker.url, 'start = "command"\nmin_gap_ms = 0\nbounce_ms = 0', start=False)
    folder = daemon.folder / "recordings"
    folder.mkdir()
    daemon.config.write_text(daemon.config.read_text() + f'\n[record]\ndirectory = "{folder}"\n')
    with Watcher(broker.port) as watcher:
        daemon.start()
        watcher.wait_for_shown("status", scanners={"shoe": "up"})
        watcher.command("open", round="r-1", by="engine")
        daemon.send("AS", "NOREAD", "KH", "AS")
        watcher.wait_for_event("scan_rejected", 2)
        watcher.command("void", reason="misdeal", by="sup-1")
        watcher.command("void", reason="again")
    assert 0 == daemon.stop()
    told = [json.loads(record.body) for record in daemon.records()]
    before_the_recording = {"daemon_started", "daemon_stopped", "scanner_up"}  # which begins with the scanner up
    expected = [(one["type"], one["round"], one["data"]) for one in told if one["type"] not in before_the_recording]
    (recording,) = folder.iterdir()
    complaints: list[str] = []
    with reading(recording, complaints.append) as found:
        played = list(lines(replay_of(found.header, recording, Registry(), complaints.append), iter(found)))
    assert [] == complaints
    assert expected == [(line["type"], line["round"], json.loads(json.dumps(line["data"]))) for line in played]


def test_record_writes_over_nothing(start_daemon: StartDaemon) -> None:
    """`scannerd record` refuses a file that is there, and says how to have it all the same."""
    daemon = start_daemon("mqtt://127.0.0.1:1", start=False)
    there = daemon.folder / "there.scanlog"
    there.write_text("evidence")
    done = subprocess.run(
        [sys.executable, "-m", "scannerd", "record", "-c", str(daemon.config), "-o", str(there)],
        capture_output=True,
        text=True,
        timeout=BOUND_S,
        check=False,
    )
    assert (2, "evidence") == (done.returncode, there.read_text())
    assert "--force" in done.stderr
