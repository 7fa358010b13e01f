"""Serial ports of this machine: `/dev/ttyUSB0`, `/dev/serial/by-id/…`, `/dev/scannerd/shoe`.

Plain termios, since a port must be raw, locked and left quiet in ways that matter here: no line setting of the system
may touch a byte, a second opener must be refused, closing must not drop DTR (many readers restart then), and a reader
must be told of a byte when it comes. The kernel raises DTR in open(2) itself; `dtr = false` lowers it at once after.
"""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from serial.tools import list_ports

from scannerd.contract import TransportError
from scannerd_drivers.transports.node import NodeTransport, ReadCall
from scannerd_drivers.transports.settings import LineSettings, SerialSettings

CHUNK = 4096

_TCGETS2, _TCSETS2, _BOTHER = 0x802C542A, 0x402C542B, 0o010000  # asm-generic/termbits.h, ioctls.h
_CBAUD = 0o010017
_TERMIOS2 = struct.Struct("=4I20B2I")

IoctlCall: TypeAlias = Callable[[int, int, bytes], bytes]
"""`fcntl.ioctl` with bytes: takes a descriptor, a request and its argument."""


def usb_identity(path: str) -> str | None:
    """`1A86:7523:A50285BI`: vendor, product and serial number of a USB serial port; None for other ports."""
    real = os.path.realpath(path)
    for port in list_ports.comports():
        if port.device == real and port.vid is not None and port.pid is not None:
            return f"{port.vid:04X}:{port.pid:04X}:{port.serial_number or ''}"
    return None


def _ioctl(fd: int, request: int, argument: bytes) -> bytes:
    return fcntl.ioctl(fd, request, argument)


@dataclass(frozen=True, slots=True)
class TtyCalls:
    """What a serial port asks of the system, to be handed in."""

    read: ReadCall = os.read
    ioctl: IoctlCall = _ioctl
    flush: Callable[[int, int], None] = termios.tcflush
    identity: Callable[[str], str | None] = usb_identity


class SerialTransport(NodeTransport):
    """A raw serial line, 8 data bits, no parity, one stop bit."""

    def __init__(self, path: str, settings: LineSettings | None = None, calls: TtyCalls | None = None) -> None:
        """Takes the path and the line's settings."""
        self._calls = calls or TtyCalls()
        super().__init__(path, CHUNK, self._calls.read)
        self._settings = settings or SerialSettings()
        self._identity: str | None = None

    def _find(self) -> str:
        """Refuses another adapter that has taken the name of the one that was here."""
        found = self._calls.identity(self.path)
        if self._identity is not None and found is not None and found != self._identity:
            raise TransportError(
                f"another device at {self.path}: {found}, before it was {self._identity}",
                remedy="name the port by /dev/serial/by-id or /dev/serial/by-path; restart if it was exchanged",
            )
        return self.path

    def _prepare(self, fd: int, path: str) -> None:
        if not os.isatty(fd):
            raise TransportError(
                f"{path} is no serial port", remedy="`scannerd devices` shows the ports that are there"
            )
        self._modem_line(fd, termios.TIOCM_DTR, level=self._settings.dtr)
        rts = self._settings.rts if isinstance(self._settings, SerialSettings) else None
        self._modem_line(fd, termios.TIOCM_RTS, level=rts)
        with suppress(OSError):  # not every terminal knows it; the lock is held anyhow
            self._calls.ioctl(fd, termios.TIOCEXCL, b"")
        self._make_raw(fd)
        self._calls.flush(fd, termios.TCIFLUSH)
        self._identity = self._identity or self._calls.identity(path)

    def _release(self, fd: int) -> None:
        with suppress(OSError):
            self._calls.ioctl(fd, termios.TIOCNXCL, b"")
        with suppress(OSError, termios.error):  # else close(2) may wait 30 s for a line that is gone
            self._calls.flush(fd, termios.TCOFLUSH)

    def _modem_line(self, fd: int, line: int, *, level: bool | None) -> None:
        if level is None:
            return
        with suppress(OSError):  # pseudo-terminals and some adapters have no such line
            self._calls.ioctl(fd, termios.TIOCMBIS if level else termios.TIOCMBIC, struct.pack("I", line))

    def _make_raw(self, fd: int) -> None:
        control = termios.CS8 | termios.CREAD | termios.CLOCAL  # without HUPCL: closing must not drop DTR
        rate = self._settings.baudrate
        speed = getattr(termios, f"B{rate}", termios.B38400)
        characters = termios.tcgetattr(fd)[6]
        characters[termios.VMIN], characters[termios.VTIME] = 1, 0
        termios.tcsetattr(fd, termios.TCSANOW, [0, 0, control, 0, speed, speed, characters])
        if not hasattr(termios, f"B{rate}"):
            self._set_unusual_speed(fd, rate)

    def _set_unusual_speed(self, fd: int, rate: int) -> None:
        """Sets a speed that has no name in termios, by ioctl_tty(2), TCSETS2."""
        fields = list(_TERMIOS2.unpack(self._calls.ioctl(fd, _TCGETS2, bytes(_TERMIOS2.size))))
        fields[2] = fields[2] & ~_CBAUD | _BOTHER
        fields[-2:] = rate, rate
        self._calls.ioctl(fd, _TCSETS2, _TERMIOS2.pack(*fields))
