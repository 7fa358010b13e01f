"""A connection to a guest, read in lines with a bound."""

from __future__ import annotations

import os
import select
import socket
import time
from pathlib import Path
from typing import Self

_RETRY_S = 0.1


class GoneError(Exception):
    """The guest has gone, or says nothing for too long: nothing more can be checked."""


class Lines:
    """One connection; what was read and not yet asked for is kept."""

    def __init__(self, descriptor: int) -> None:
        """Takes the descriptor of a socket or a pipe, which blocks."""
        self._descriptor = descriptor
        self._kept = b""

    @classmethod
    def connected(cls, path: Path, seconds: float) -> Self:
        """Connects to a socket, and waits at most `seconds` for it to be there.

        Raises:
            GoneError: it is not.
        """
        connection = socket.socket(socket.AF_UNIX)
        end = time.monotonic() + seconds
        while connection.connect_ex(str(path)) != 0:
            if time.monotonic() > end:
                raise GoneError(f"nobody answers at {path.name}")
            select.select([], [], [], _RETRY_S)
        return cls(connection.detach())

    def send(self, data: bytes) -> None:
        """Sends all of `data`."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def next(self, seconds: float) -> bytes:
        """The next line, without its end.

        Raises:
            GoneError: none came within `seconds`, or the guest has gone.
        """
        line = self.poll(seconds)
        if line is None:
            raise GoneError(f"nothing came within {seconds:g} s")
        return line

    def poll(self, seconds: float) -> bytes | None:
        """The next line, or None if none came within `seconds`.

        Raises:
            GoneError: the guest has gone.
        """
        end = time.monotonic() + seconds
        while b"\n" not in self._kept:
            ready, _, _ = select.select([self._descriptor], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return None
            more = os.read(self._descriptor, 1 << 16)
            if not more:
                raise GoneError("the guest has gone")
            self._kept += more
        line, _, self._kept = self._kept.partition(b"\n")
        return line

    def forget(self) -> None:
        """Drops half a line: who sent it will not go on with it."""
        self._kept = self._kept[: self._kept.rfind(b"\n") + 1]

    def close(self) -> None:
        """Ends the connection."""
        os.close(self._descriptor)
