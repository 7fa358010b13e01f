"""Ports that pyserial reaches by URL: `rfc2217://host:port`, `socket://host:port`, `loop://`, `spy://…`.

Opening and closing such a port talks to another machine and is bounded here, as pyserial does not bound it by itself:
a server that accepts and never negotiates would hold the reader for as long as it likes. The time-out of a read is set
once, since changing it makes pyserial negotiate anew.
"""

from __future__ import annotations

import re
import termios
import time
from contextlib import suppress

import serial

from scannerd.contract import Transport, TransportError
from scannerd_drivers.transports import trouble
from scannerd_drivers.transports.bounded import OneAtATime
from scannerd_drivers.transports.settings import LineSettings, SerialSettings

OPEN_SECONDS = 4.8
CLOSE_SECONDS = 0.3
SLICE_SECONDS = 0.05
"""How long pyserial waits for the first byte before it is asked again."""
CHUNK = 4096
WRITE_SECONDS = 0.5

_ERRORS = (OSError, termios.error, ValueError, NotImplementedError)  # a SerialException is an OSError


class SerialUrlTransport(Transport):
    """A port at the other end of a pyserial URL."""

    def __init__(self, url: str, settings: LineSettings | None = None) -> None:
        """Takes a URL that pyserial knows.

        Raises:
            ValueError: pyserial knows no such URL.
        """
        self._url = url
        self._settings = settings or SerialSettings()
        self._port: serial.Serial | None = None
        self._attempts: OneAtATime[serial.Serial] = OneAtATime()
        self._closings: OneAtATime[None] = OneAtATime()
        self._writes: OneAtATime[int | None] = OneAtATime()
        self._check()

    def open(self) -> None:
        """Opens the port, within 5 s.

        Raises:
            TransportError: no answer, refused, or not understood.
        """
        self.close()
        try:
            self._port = self._attempts.run(self._opened, _close, OPEN_SECONDS)
            self._port.reset_input_buffer()
        except _ERRORS as error:
            self.close()
            raise TransportError(f"can't open {self._url}: {error}", remedy="check the server and its port") from error

    def read(self, timeout: float) -> bytes:
        """What has come; empty after `timeout` seconds.

        Raises:
            TransportError: the server is gone.
        """
        port = self._open_port()
        until = time.monotonic() + timeout
        try:
            data = bytes(port.read(1))
            while not data and time.monotonic() < until:
                data = bytes(port.read(1))
            while data and len(data) < CHUNK and port.in_waiting:
                data += port.read(1)
        except _ERRORS as error:
            raise _lost(error) from error
        return data

    def write(self, data: bytes) -> None:
        """Writes `data`.

        Raises:
            TransportError: the server is gone, or takes nothing.
        """
        port = self._open_port()
        try:
            self._writes.run(lambda: port.write(data), lambda _: None, WRITE_SECONDS)
        except _ERRORS as error:
            raise _lost(error) from error

    def close(self) -> None:
        """Closes the port; what takes longer than 0.3 s goes on by itself."""
        port, self._port = self._port, None
        if port is not None:
            with suppress(TransportError):
                self._closings.run(lambda: _close(port), lambda _: None, CLOSE_SECONDS)

    def _check(self) -> None:
        """Lets pyserial look at the URL, but not for the port: a pattern that no port fits may fit one later."""
        scheme, _, rest = self._url.partition("://")
        try:
            if scheme.lower() == "hwgrep":
                re.compile(rest.partition("&")[0])
            else:
                self._new_port()
        except (OSError, re.error) as error:  # a SerialException is an OSError
            raise ValueError(str(error)) from None

    def _open_port(self) -> serial.Serial:
        if self._port is None:
            raise TransportError("not open")
        return self._port

    def _opened(self) -> serial.Serial:
        port = self._new_port()
        port.open()
        return port

    def _new_port(self) -> serial.Serial:
        port = serial.serial_for_url(
            self._url,
            do_not_open=True,
            baudrate=self._settings.baudrate,
            timeout=SLICE_SECONDS,
        )
        if self._settings.dtr is not None:
            port.dtr = self._settings.dtr
        return port


def _close(port: serial.Serial) -> None:
    with suppress(*_ERRORS):
        port.close()


def _lost(error: Exception) -> TransportError:
    detail = str(error)
    if isinstance(error, OSError | termios.error) and not isinstance(error, serial.SerialException):
        detail = trouble.words(error)
    return TransportError(detail, remedy="check the server, the network and the scanner's power")
