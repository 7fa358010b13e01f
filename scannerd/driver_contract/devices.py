"""Devices made of nothing: a scanner on a pseudo-terminal, and one behind a serial server."""

from __future__ import annotations

import os
import select
import socket
import tty
from pathlib import Path
from typing import Protocol

_PATIENCE = 5.0


class Device(Protocol):
    """A scanner that can be told to send, and be pulled and plugged in again under the same URL."""

    @property
    def url(self) -> str:
        """Where the driver's transport finds it."""

    def send(self, data: bytes) -> None:
        """The scanner sends `data` to whoever has it open."""

    def unplug(self) -> None:
        """The device is gone from now on."""

    def plug(self) -> None:
        """The device is back."""

    def close(self) -> None:
        """Nobody needs it any more."""


class PtyDevice:
    """A scanner on a pseudo-terminal; its path is a link that stays, as those of udev."""

    def __init__(self, link: Path, *, raw: bool = False) -> None:
        """Makes the terminal and the link to it.

        Args:
            link: the path of the link.
            raw: a node that passes bytes as they are, such as hidraw; else a serial port as the system leaves it,
                which changes bytes until it is set otherwise.
        """
        self.url = str(link)
        self._link = link
        self._raw = raw
        self._ends: tuple[int, ...] = ()
        self.plug()

    def send(self, data: bytes) -> None:
        """Writes to the terminal."""
        os.write(self._ends[0], data)

    def unplug(self) -> None:
        """Hangs up; the link stays behind, as a stale one does."""
        ends, self._ends = self._ends, ()
        for end in ends:
            os.close(end)

    def plug(self) -> None:
        """Puts a fresh terminal behind the link."""
        self._ends = os.openpty()
        if self._raw:
            tty.setraw(self._ends[1])
        self._link.unlink(missing_ok=True)
        self._link.symlink_to(os.ttyname(self._ends[1]))

    def close(self) -> None:
        """Hangs up."""
        self.unplug()


class TcpDevice:
    """A scanner behind a box that serves it on a TCP port of loopback."""

    def __init__(self) -> None:
        """Listens on a free port."""
        self._address = ("127.0.0.1", 0)
        self._listener = self._listen()
        self._address = ("127.0.0.1", self._listener.getsockname()[1])
        self._client: socket.socket | None = None
        self.url = f"tcp://127.0.0.1:{self._address[1]}"

    def send(self, data: bytes) -> None:
        """Sends to the latest client; waits up to 5 s for one."""
        while _readable(self._listener, 0 if self._client else _PATIENCE):
            self._drop()
            self._client, _ = self._listener.accept()
        if self._client is None:
            raise TimeoutError("nobody has the device open")
        self._client.sendall(data)

    def unplug(self) -> None:
        """Closes the connection and the port."""
        while _readable(self._listener, 0):
            self._listener.accept()[0].close()
        self._drop()
        self._listener.close()

    def plug(self) -> None:
        """Listens on the same port again."""
        self._listener = self._listen()

    def close(self) -> None:
        """Closes everything."""
        self._drop()
        self._listener.close()

    def _listen(self) -> socket.socket:
        return socket.create_server(self._address, backlog=512)

    def _drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()


def _readable(listener: socket.socket, seconds: float) -> bool:
    return bool(select.select([listener], [], [], seconds)[0])
