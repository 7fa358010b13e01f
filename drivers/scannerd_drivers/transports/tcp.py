"""Scanners behind a serial-to-TCP box, `tcp://host:port`.

A box that loses its power says nothing: no data, no FIN. The kernel's keep-alive finds that out, tuned well below its
default of two hours; a write that is never acknowledged is found by TCP_USER_TIMEOUT (tcp(7)).
"""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from scannerd.contract import Transport, TransportError
from scannerd_drivers.transports import trouble
from scannerd_drivers.transports.bounded import OneAtATime

OPEN_SECONDS = 4.5
"""Looking up the name and connecting, together; the contract allows 5 s."""

WRITE_SECONDS = 0.5
CHUNK = 4096


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """When a silent peer is given up: after `idle` + `interval` times `probes` seconds, 22 s by default."""

    idle: int = 10
    """Seconds without a byte before the first probe; 1 or more."""
    interval: int = 4
    """Seconds between probes; 1 or more."""
    probes: int = 3
    """Probes without an answer; 1 or more."""

    @property
    def total(self) -> int:
        """Seconds until a peer that vanished is known to be lost."""
        return self.idle + self.interval * self.probes


class TcpTransport(Transport):
    """A TCP client; what a segment holds is one chunk."""

    def __init__(self, url: str, keep_alive: KeepAlive | None = None) -> None:
        """Takes `tcp://host:port`; IPv6 addresses stand in brackets.

        Raises:
            ValueError: the URL has no host, no port, or more than these.
        """
        self._host, self._port = _endpoint(url)
        self._keep_alive = keep_alive or KeepAlive()
        self._socket: socket.socket | None = None
        self._attempts: OneAtATime[socket.socket] = OneAtATime()

    def open(self) -> None:
        """Connects; whatever was sent before is not for us.

        Raises:
            TransportError: no such host, refused, or no answer within 5 s.
        """
        self.close()
        try:
            connected = self._attempts.run(self._connect, _close, OPEN_SECONDS)
        except OSError as error:
            raise _cannot_connect(self._host, self._port, error) from error
        self._tune(connected)
        self._socket = connected

    def read(self, timeout: float) -> bytes:
        """What has arrived, as soon as it arrives; empty after `timeout` seconds.

        Raises:
            TransportError: the peer closed the connection, reset it, or has been silent for too long.
        """
        link = self._link()
        try:
            if not _ready(link, timeout, select.POLLIN):
                return b""
            chunk = link.recv(CHUNK)
        except OSError as error:
            raise trouble.lost(error) from error
        if not chunk:
            raise TransportError("connection closed by the other side", remedy="check the box and the scanner's power")
        return chunk

    def write(self, data: bytes) -> None:
        """Sends `data`.

        Raises:
            TransportError: the connection is lost, or takes nothing for 0.5 s.
        """
        link = self._link()
        try:
            while data:
                if not _ready(link, WRITE_SECONDS, select.POLLOUT):
                    raise TransportError("the other side takes no data")
                data = data[link.send(data) :]
        except OSError as error:
            raise trouble.lost(error) from error

    def close(self) -> None:
        """Closes the connection at once, so that a box that takes one client is free for the next open."""
        link, self._socket = self._socket, None
        if link is not None:
            _close(link)

    def _link(self) -> socket.socket:
        if self._socket is None:
            raise TransportError("not open")
        return self._socket

    def _connect(self) -> socket.socket:
        return socket.create_connection((self._host, self._port), timeout=OPEN_SECONDS)

    def _tune(self, link: socket.socket) -> None:
        tcp, alive = socket.IPPROTO_TCP, self._keep_alive
        link.settimeout(0)
        link.setsockopt(tcp, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        link.setsockopt(tcp, socket.TCP_KEEPIDLE, alive.idle)
        link.setsockopt(tcp, socket.TCP_KEEPINTVL, alive.interval)
        link.setsockopt(tcp, socket.TCP_KEEPCNT, alive.probes)
        link.setsockopt(tcp, socket.TCP_USER_TIMEOUT, alive.total * 1000)


def _endpoint(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or not port or parts.path.strip("/") or parts.query or parts.username is not None:
        raise ValueError(f"expected tcp://host:port, found {url!r}")
    return parts.hostname, port


def _cannot_connect(host: str, port: int, error: OSError) -> TransportError:
    if isinstance(error, socket.gaierror):
        return TransportError(f"no such host: {host}", remedy="check the name, or write the address")
    if isinstance(error, ConnectionRefusedError):
        remedy = "check the port; many boxes serve one client only: end the other program"
        return TransportError(f"connection refused by {host}:{port}", remedy=remedy)
    return TransportError(f"can't connect to {host}:{port}: {trouble.words(error)}", remedy="check the network")


def _ready(link: socket.socket, seconds: float, event: int) -> bool:
    poll = select.poll()
    poll.register(link, event)
    return bool(poll.poll(seconds * 1000))


def _close(link: socket.socket) -> None:
    with suppress(OSError):  # it is lost already, which is what a close is for
        link.close()
