"""What serial ports, hidraw and input nodes have in common: a path, a descriptor, poll and read.

A chunk goes up as soon as it is there: `poll` wakes at the first byte, and one `read` takes what has come. The path is
resolved at each open, and the old descriptor is closed before: while it is open, a device that comes back gets another
name (`ttyUSB1` for `ttyUSB0`).
"""

from __future__ import annotations

import fcntl
import os
import select
import termios
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from scannerd.contract import Transport, TransportError
from scannerd_drivers.transports import trouble

WRITE_SECONDS = 0.5

ReadCall: TypeAlias = Callable[[int, int], bytes]
"""`os.read`: takes a descriptor and the most bytes to read."""


class NodeTransport(Transport):
    """A device node. What must be done to it between opening and reading, a subclass says in `_prepare`."""

    flags = os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC

    def __init__(self, path: str, chunk: int, read: ReadCall = os.read) -> None:
        """Takes the path, links and all, and the most bytes that one read takes."""
        self.path = path
        self._chunk = chunk
        self._read = read
        self._fd: int | None = None

    def open(self) -> None:
        """Opens the node that the path leads to now, for us alone, and throws away what was queued.

        Raises:
            TransportError: it is absent, busy, forbidden, or not the device it should be.
        """
        self.close()
        path = self._find()
        try:
            fd = os.open(path, self.flags)
        except OSError as error:
            raise trouble.cannot_open(path, error) from error
        self._fd = fd
        try:
            _lock(fd, path)
            self._prepare(fd, path)
        except (OSError, termios.error) as error:
            self.close()
            raise trouble.cannot_open(path, error) from error
        except BaseException:
            self.close()
            raise

    def read(self, timeout: float) -> bytes:
        """What one read gives, as soon as it is there; empty after `timeout` seconds.

        Raises:
            TransportError: the device is gone.
        """
        fd = self._open_fd()
        try:
            if not _ready(fd, timeout, select.POLLIN):
                return b""
            data = self._read(fd, self._chunk)
        except BlockingIOError:  # another condition than input woke us
            return b""
        except OSError as error:
            raise trouble.lost(error) from error
        if not data:
            raise TransportError("device hung up", remedy="check the cable and the scanner's power")
        return data

    def write(self, data: bytes) -> None:
        """Writes `data`.

        Raises:
            TransportError: the device is gone, or takes nothing for 0.5 s.
        """
        fd = self._open_fd()
        try:
            while data:
                if not _ready(fd, WRITE_SECONDS, select.POLLOUT):
                    raise TransportError("the device takes no data")
                data = data[os.write(fd, data) :]
        except OSError as error:
            raise trouble.lost(error) from error

    def close(self) -> None:
        """Closes the node; what had not been written yet is dropped."""
        fd, self._fd = self._fd, None
        if fd is None:
            return
        self._release(fd)
        with suppress(OSError):  # the descriptor is free all the same, close(2)
            os.close(fd)

    def _find(self) -> str:
        """The path to open this time."""
        return self.path

    def _prepare(self, fd: int, path: str) -> None:
        """Makes an open node ready to read; may raise what `open` turns into a `TransportError`."""

    def _release(self, fd: int) -> None:
        """Undoes what `_prepare` did; never raises."""

    def _open_fd(self) -> int:
        if self._fd is None:
            raise TransportError("not open")
        return self._fd


def _ready(fd: int, seconds: float, event: int) -> bool:
    poll = select.poll()
    poll.register(fd, event)
    return bool(poll.poll(seconds * 1000))


def _lock(fd: int, path: str) -> None:
    """Takes the node for us alone: two readers of one port each get a random share of its bytes."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise trouble.in_use(path) from error
