"""A process that hangs without dying: systemd hears no more of it, ends it, and the next one goes on without loss."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from scannerd.journal import verify
from scannerd.mqtt.notices import Record
from scannerd.systemd import Notifier
from scannerd.watchdog import Watchdog
from tests.crashing import STUCK
from tests.daemon import BOUND_S, Manager, StartDaemon, Watcher, let_pass, start_daemon_fixture
from tests.fakes import SIX
from tests.mosquitto import Mosquitto, broker_fixture, start_broker_fixture
from tests.publishing import Desks, Journal, desks_fixture

__all__ = ["broker_fixture", "desks_fixture", "start_broker_fixture", "start_daemon_fixture"]

SILENCE_S = 3.0
"""Seconds in which a daemon that lives would have said so three times."""


@pytest.mark.fault(109)
def test_stuck_engine_is_killed_and_nothing_is_lost(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """An engine that stands still says no more that it lives, though all else runs; once systemd has ended it the
    round goes on at the card that was not written.
    """
    daemon = start_daemon(broker.url, start=False)
    with Watcher(broker.port) as watcher:
        daemon.start(STUCK, "3")
        watcher.wait_for_shown("status", state="online")
        for card in SIX[:2]:
            daemon.send(card)
            watcher.wait_for_event("card_accepted", SIX.index(card) + 1)
            let_pass(0.2)  # two cards closer together than a hand can deal them are refused
        daemon.send(SIX[2])
        let_pass(1.5)  # the last word may be under way
        daemon.manager.drain()
        heard = len(daemon.manager.heard)
        let_pass(SILENCE_S)
        daemon.manager.drain()
        assert "WATCHDOG=1" not in [word for _, word in daemon.manager.heard[heard:]]
        daemon.signal(signal.SIGABRT)
        assert -signal.SIGABRT == daemon.process.wait(BOUND_S)

        daemon.start()
        watcher.wait_for_event("scanner_up", 2)
        for number, card in enumerate(SIX[2:], 3):
            daemon.send(card)
            watcher.wait_for_event("card_accepted", number)
            let_pass(0.2)
        watcher.wait_for_event("round_completed")
        assert [*SIX] == [data["card"] for data in watcher.data("card_accepted")]
        seqs = [event["seq"] for event in watcher.events()]
        assert list(range(1, len(seqs) + 1)) == seqs
    assert verify(daemon.state_dir).sound


class DeafJournal(Journal):
    """A journal whose reading does not come back until it is let go."""

    def __init__(self) -> None:
        """Reads well until it is asked to hang."""
        super().__init__()
        self.hangs = threading.Event()
        self.asked = threading.Event()
        self.let_go = threading.Event()

    def records(self, after: int, limit: int) -> list[Record]:
        """A page, or nothing for a long time."""
        if self.hangs.is_set():
            self.asked.set()
            self.let_go.wait(BOUND_S)
        return super().records(after, limit)


@pytest.mark.fault(109)
def test_stuck_outbox_is_no_life(broker: Mosquitto, desks: Desks, tmp_path: Path) -> None:
    """While the loop that reads the outbox hangs systemd hears nothing, though the engine turns; then it goes on."""
    journal = DeafJournal()
    desk = desks(broker.url, journal=journal)
    desk.connected()
    manager = Manager(tmp_path / "notify")
    notifier = Notifier({"NOTIFY_SOCKET": str(manager.path)})
    watchdog = Watchdog(notifier, desk.publisher, ())
    journal.hangs.set()
    desk.write("card_accepted")
    assert journal.asked.wait(BOUND_S)
    watchdog.feed()
    manager.drain()
    manager.heard.clear()
    for _ in range(5):
        watchdog.feed()
    manager.drain()
    assert [] == manager.heard
    journal.hangs.clear()
    journal.let_go.set()
    desk.acknowledged()
    watchdog.feed()
    manager.wait_for("WATCHDOG=1")
    notifier.close()
    manager.close()
