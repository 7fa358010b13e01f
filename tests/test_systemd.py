"""What systemd is told, over a real datagram socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from scannerd.systemd import Notifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    """The end of systemd of the socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind(str(tmp_path / "notify"))
        end.settimeout(5)
        yield end


def test_words_arrive(manager: socket.socket) -> None:
    """Each word arrives as one datagram in systemd's own spelling."""
    notifier = Notifier({"NOTIFY_SOCKET": manager.getsockname()})
    notifier.extend_timeout(1.5)
    notifier.ready("dealing\nnow")
    notifier.ready()
    notifier.status("idle")
    notifier.watchdog()
    notifier.stopping()
    notifier.close()
    notifier.close()
    assert [
        b"EXTEND_TIMEOUT_USEC=1500000",
        b"READY=1\nSTATUS=dealing now",
        b"READY=1",
        b"STATUS=idle",
        b"WATCHDOG=1",
        b"STOPPING=1",
    ] == [manager.recv(1000) for _ in range(6)]


def test_abstract_socket() -> None:
    """A name with a leading @ is one of the abstract namespace."""
    name = f"scannerd-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.bind("\0" + name)
        end.settimeout(5)
        notifier = Notifier({"NOTIFY_SOCKET": f"@{name}"})
        notifier.watchdog()
        notifier.close()
        assert b"WATCHDOG=1" == end.recv(100)


def test_nobody_listens(tmp_path: Path) -> None:
    """Without systemd, or with a socket that is gone, nothing is said and nothing fails."""
    for environ in ({}, {"NOTIFY_SOCKET": str(tmp_path / "gone")}):
        notifier = Notifier(environ)
        notifier.ready("up")
        notifier.close()
        notifier.ready("up")


def test_full_socket_does_not_wait(manager: socket.socket) -> None:
    """A manager that does not read never holds the table up."""
    notifier = Notifier({"NOTIFY_SOCKET": manager.getsockname()})
    for _ in range(2000):
        notifier.watchdog()
    notifier.close()
    assert b"WATCHDOG=1" == manager.recv(100)


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "x"}, None),
        ({}, None),
    ],
)
def test_watchdog_interval(environ: dict[str, str], seconds: float | None) -> None:
    """The watchdog is fed at half of systemd's patience, and only by the process it is meant for."""
    assert seconds == Notifier(environ).watchdog_interval
