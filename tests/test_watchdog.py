"""When systemd is told that the daemon lives, and when it is not."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from scannerd.systemd import Notifier
from scannerd.watchdog import Watchdog


@dataclass(slots=True)
class Worker:
    """A thread's counter, moved by hand."""

    progress: int = 1
    opening: bool = False


class Manager:
    """The end of systemd of the socket."""

    def __init__(self, path: Path) -> None:
        """Listens at `path`."""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.setblocking(False)  # noqa: FBT003 - the standard library's own
        self.notifier = Notifier({"NOTIFY_SOCKET": str(path)})

    def words(self) -> list[bytes]:
        """What was said since the last call."""
        found: list[bytes] = []
        while True:
            try:
                found.append(self.socket.recv(100))
            except BlockingIOError:
                return found


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Manager]:
    """A systemd that listens."""
    made = Manager(tmp_path / "notify")
    yield made
    made.notifier.close()
    made.socket.close()


def test_all_that_move_are_alive(manager: Manager) -> None:
    """While every thread has moved since the last time, systemd is told that the daemon lives."""
    publisher, readers = Worker(), [Worker(), Worker()]
    watchdog = Watchdog(manager.notifier, publisher, readers)
    for _ in range(3):
        watchdog.feed()
        assert [b"WATCHDOG=1"] == manager.words()
        for worker in (publisher, *readers):
            worker.progress += 1


@pytest.mark.fault(109)
@pytest.mark.parametrize("stuck", [0, 1, 2])
def test_stuck_thread_withholds_the_word(manager: Manager, stuck: int) -> None:
    """A publisher or a reader that stands still is not told as alive by the engine, until it moves again."""
    workers = [Worker(), Worker(), Worker()]
    watchdog = Watchdog(manager.notifier, workers[0], workers[1:])
    watchdog.feed()
    manager.words()
    for _ in range(3):
        for number, worker in enumerate(workers):
            worker.progress += number != stuck
        watchdog.feed()
        assert [] == manager.words()
    for worker in workers:
        worker.progress += 1
    watchdog.feed()
    assert [b"WATCHDOG=1"] == manager.words()


@pytest.mark.fault(109)
def test_blocked_open_is_no_hang(manager: Manager) -> None:
    """A reader that is blocked while it opens its device leaves the daemon alive."""
    publisher, reader = Worker(), Worker(opening=True)
    watchdog = Watchdog(manager.notifier, publisher, [reader])
    for _ in range(60):
        publisher.progress += 1
        watchdog.feed()
        assert [b"WATCHDOG=1"] == manager.words()
