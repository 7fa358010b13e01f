"""A socket to the machine, read in lines with a bound."""

from __future__ import annotations

import select
import socket
import time
from pathlib import Path

_RETRY_S = 0.1


class GoneError(Exception):
    """The machine has gone, or says nothing for too long."""


class Lines:
    """One connection; what was read and not yet asked for is kept."""

    def __init__(self, path: Path, seconds: float) -> None:
        """Connects, and waits at most `seconds` for the socket to be there.

        Raises:
            GoneError: it is not.
        """
        self._socket = socket.socket(socket.AF_UNIX)
        self._kept = b""
        end = time.monotonic() + seconds
        while self._socket.connect_ex(str(path)) != 0:
            if time.monotonic() > end:
                raise GoneError(f"nobody answers at {path.name}")
            select.select([], [], [], _RETRY_S)

    def send(self, data: bytes) -> None:
        """Sends all of `data`."""
        self._socket.sendall(data)

    def next(self, seconds: float) -> bytes:
        """The next line, without its end.

        Raises:
            GoneError: none came within `seconds`, or the machine has gone.
        """
        line = self.poll(seconds)
        if line is None:
            raise GoneError(f"nothing came within {seconds:g} s")
        return line

    def poll(self, seconds: float) -> bytes | None:
        """The next line, or None if none came within `seconds`.

        Raises:
            GoneError: the machine has gone.
        """
        end = time.monotonic() + seconds
        while b"\n" not in self._kept:
            ready, _, _ = select.select([self._socket], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            more = self._socket.recv(1 << 16)
            if not more:
                raise GoneError("the machine has gone")
            self._kept += more
        line, _, self._kept = self._kept.partition(b"\n")
        return line

    def forget(self) -> None:
        """Drops half a line: who sent it will not go on with it."""
        self._kept = self._kept[: self._kept.rfind(b"\n") + 1]

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()
