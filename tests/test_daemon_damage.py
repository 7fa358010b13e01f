"""A journal that is damaged under the daemon, or before its start: nothing doubtful goes out, and a person decides."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.daemon import BOUND_S, PREFIX, StartDaemon, Watcher, let_pass, start_daemon_fixture
from tests.disks import blank_disk, change_disk, fail_writes, frozen, mounted
from tests.fakes import SIX
from tests.journals import harm
from tests.mosquitto import Mosquitto, StartBroker, broker_fixture, start_broker_fixture
from tests.test_daemon import QUICK, begin

__all__ = ["broker_fixture", "start_broker_fixture", "start_daemon_fixture"]


@pytest.mark.fault(102)
def test_damaged_event_is_not_sent_and_the_table_begins_anew_when_asked_to(
    start_broker: StartBroker, start_daemon: StartDaemon
) -> None:
    """An event changed while it waits for the broker ends the daemon with 4, unsent; told to, it begins anew."""
    broker = start_broker()
    broker.kill()
    daemon = start_daemon(broker.url, QUICK)
    daemon.wait_for_journal("scanner_up")
    old = daemon.records()[0]
    harm(daemon.journal, "UPDATE events SET body = CAST(replace(body, 'first', 'clean') AS BLOB) WHERE seq = 1")
    assert 4 == daemon.process.wait(BOUND_S)
    assert "seq 1, which waits for the broker: the event was changed" in daemon.errors().splitlines()[-1]
    broker.start()
    assert 4 == daemon.run("run").returncode
    assert 4 == daemon.run("journal", "recover").returncode
    assert daemon.journal.exists()
    assert 0 == daemon.run("journal", "recover", "--set-aside").returncode
    (kept,) = daemon.state_dir.glob("journal-damaged-*/events.jsonl")
    assert old.body not in kept.read_bytes().splitlines()
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        started = watcher.wait_for_event("daemon_started")
        assert (1, "first") == (started["seq"], started["data"]["previous"])  # type: ignore[index]  # JSON
        assert started["journal"] != old.body.partition(b'"journal":"')[2][:36].decode()


def test_journal_that_is_gone_at_the_start_is_begun_anew_and_said(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A journal that was taken away while the daemon was stopped is a first start, which the log and consumers see."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        old = watcher.wait_for_event("daemon_started")["journal"]
        assert 0 == daemon.stop()
    daemon.journal.rename(daemon.folder / "elsewhere")
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        started = watcher.wait_for_event("daemon_started")
        assert (1, "first") == (started["seq"], started["data"]["previous"])  # type: ignore[index]  # JSON
        assert old != started["journal"]
        assert "a new journal begins" in daemon.errors()
        assert 0 == daemon.stop()


@pytest.mark.parametrize("how", ["log deleted", "older copy"])
def test_journal_that_lost_its_end(broker: Mosquitto, start_daemon: StartDaemon, how: str) -> None:
    """A journal whose end is gone, with its log or by an older copy, is refused: no number gets a second content."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        if how == "older copy":
            assert 0 == daemon.stop()
            older = daemon.journal.read_bytes()
            begin(daemon, watcher)
        daemon.send(*SIX)
        watcher.wait_for_event("round_completed")
        daemon.kill()
    if how == "older copy":
        daemon.journal.write_bytes(older)
    for side in ("-wal", "-shm"):
        daemon.journal.with_name(f"journal.db{side}").unlink()
    told = daemon.run("run")
    assert (4, 1) == (told.returncode, len(told.stderr.splitlines())), told.stderr
    assert "its log is gone, or it is an older copy" in told.stderr
    told = daemon.run("journal", "recover")
    assert (4, True) == (told.returncode, "its log is gone" in told.stderr)
    assert 0 == daemon.run("journal", "recover", "--set-aside").returncode
    daemon.start()


def test_disk_that_fails(broker: Mosquitto, start_daemon: StartDaemon, tmp_path: Path) -> None:
    """On a disk that reports an error and is read-only then no card is taken; on another one the round goes on."""
    image = blank_disk(tmp_path / "image")
    with mounted(image, tmp_path / "disk") as disk, Watcher(broker.port) as watcher:
        daemon = start_daemon(broker.url, QUICK, disk / "tp-01", start=False)
        begin(daemon, watcher)
        daemon.send(*SIX[:2])
        watcher.wait_for_shown("prompt", slot="A2")
        fail_writes(disk)
        daemon.send(SIX[2])
        watcher.wait_for_shown("prompt", code="storage_fault")
        watcher.wait_for_alarm("storage")
        assert "storage" == watcher.command("void")["error"]
        assert 2 == len(watcher.events("card_accepted"))
        change_disk(image, disk)
        watcher.wait_for_shown("prompt", code="deal", slot="A2")
        daemon.send(*SIX[2:])
        watcher.wait_for_event("round_completed")
        assert [*SIX] == [data["card"] for data in watcher.data("card_accepted")]
        daemon.signal(signal.SIGTERM)
        assert 0 == daemon.process.wait(BOUND_S)


@pytest.mark.fault(82)
@pytest.mark.fault(109)
def test_disk_that_hangs(broker: Mosquitto, start_daemon: StartDaemon, tmp_path: Path) -> None:
    """While a sync does not return the dealer and the status are told so; when it does, the card counts after all.

    The connection outlives the keepalive meanwhile, and a command that came is answered.
    """
    with mounted(blank_disk(tmp_path / "image"), tmp_path / "disk") as disk, Watcher(broker.port) as watcher:
        daemon = start_daemon(broker.url, QUICK, disk / "tp-01", start=False)
        daemon.config.write_text(daemon.config.read_text().replace("[mqtt]", "[mqtt]\nkeepalive_s = 1"))
        begin(daemon, watcher)
        daemon.send(*SIX[:2])
        watcher.wait_for_shown("prompt", slot="A2")
        mark = len(watcher.messages)
        with frozen(disk):
            daemon.send(SIX[2])
            watcher.wait_for_shown("prompt", code="storage_fault")
            told = watcher.wait_for_shown("status", state="degraded")
            assert "the journal's disk does not answer" in str(told["alarms"])
            assert 2 == len(watcher.events("card_accepted"))
            watcher.publish(f"{PREFIX}/command/snapshot", b'{"id":"c-meanwhile"}')
            let_pass(3)
        watcher.wait_for_shown("prompt", code="deal", slot="B2")
        watcher.wait_until(lambda message: b'"id":"c-meanwhile","ok":true' in message.payload)
        assert not any(b'"state":"offline"' in message.payload for message in watcher.messages[mark:])
        watcher.wait_for_alarm("storage", up=False)
        daemon.send(*SIX[3:])
        watcher.wait_for_event("round_completed")
        assert [*SIX] == [data["card"] for data in watcher.data("card_accepted")]
        assert [] == watcher.events("alarm_raised")
        assert 0 == daemon.stop()


def test_last_write_that_is_torn(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A last write of which only a part reached the disk stops no table: the journal goes on before it."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        begin(daemon, watcher)
        daemon.send(*SIX)
        watcher.wait_for_event("round_completed")
    daemon.kill()
    log = daemon.journal.with_name("journal.db-wal")
    with log.open("r+b") as torn:
        torn.truncate(log.stat().st_size - 100)
    before = len(daemon.records())
    daemon.start()
    daemon.wait_for_journal("daemon_started", 2)
    assert [*range(1, before + 1)] == [one.seq for one in daemon.records()[:before]]
    assert "daemon_started" == daemon.records()[before].type
