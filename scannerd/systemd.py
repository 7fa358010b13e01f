"""What a service of `Type=notify` tells systemd, over the datagram socket that `NOTIFY_SOCKET` names.

The wire is lines of `KEY=value` (systemd's manual, sd_notify(3)). Without that socket, as in a terminal, nothing is
said. Nothing here waits: systemd's word is advice, and a full socket is no reason to stop the table.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

_MICROS = 1_000_000


class Notifier:
    """Speaks to systemd, or to nobody."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        """Reads `NOTIFY_SOCKET`, and `WATCHDOG_USEC` where it is meant for this process (`WATCHDOG_PID`)."""
        address = environ.get("NOTIFY_SOCKET", "")
        # A leading @ means the abstract namespace, whose names begin with a NUL.
        self._address = "\0" + address[1:] if address.startswith("@") else address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) if address else None
        if self._socket is not None:
            self._socket.settimeout(0)
        self.watchdog_interval = _watchdog_interval(environ)
        """Seconds within which `watchdog` must be called, half of systemd's patience; None: it need not be."""

    def ready(self, status: str = "") -> None:
        """Start-up is over: the journal is open and the table can deal."""
        self._send(f"READY=1\nSTATUS={_one_line(status)}" if status else "READY=1")

    def status(self, text: str) -> None:
        """One line for `systemctl status`."""
        self._send(f"STATUS={_one_line(text)}")

    def reloading(self, now: int) -> None:
        """The configuration is being read anew, until `ready` is said again; `now` is CLOCK_MONOTONIC, microseconds."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={now}")

    def watchdog(self) -> None:
        """The engine is alive: only its own loop may say so."""
        self._send("WATCHDOG=1")

    def extend_timeout(self, seconds: float) -> None:
        """Start or stop will take longer: systemd is to wait `seconds` more from now."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * _MICROS)}")

    def stopping(self) -> None:
        """The orderly end has begun."""
        self._send("STOPPING=1")

    def close(self) -> None:
        """Closes the socket; may be called twice."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, text: str) -> None:
        if self._socket is None:
            return
        try:
            self._socket.sendto(text.encode(), self._address)
        except OSError:
            return  # nobody listens, or its queue is full; the next word will do


def _watchdog_interval(environ: Mapping[str, str]) -> float | None:
    micros, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not micros.isdigit() or int(micros) == 0 or (pid and pid != str(os.getpid())):
        return None
    return int(micros) / _MICROS / 2


def _one_line(text: str) -> str:
    return " ".join(text.split())
