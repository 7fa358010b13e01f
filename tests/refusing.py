"""A broker of forty lines for what mosquitto can't be made to do: it refuses subscriptions (MQTT 5)."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType
from typing import Self

from tests.proxy import split_packets

_CONNACK = bytes([0x20, 3, 0, 0, 0])
_REFUSED = 0x87


class RefusingBroker:
    """Accepts one client, refuses its first SUBSCRIBEs and grants the next; `subscribes` counts them."""

    def __init__(self, refusals: int) -> None:
        """Listens on a free port of the loopback interface."""
        self.subscribes = 0
        self._refusals = refusals
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        """Starts to serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hangs up."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def _serve(self) -> None:
        self._client, _ = self._listener.accept()
        held = b""
        with self._client, contextlib.suppress(OSError):
            while data := self._client.recv(4096):
                packets, held = split_packets(held + data)
                for packet in packets:
                    self._client.sendall(self._answer(packet))

    def _answer(self, packet: bytes) -> bytes:
        kind = packet[0] & 0xF0
        if kind == 0x10:
            return _CONNACK
        if kind != 0x80:
            return b""
        self.subscribes += 1
        code = _REFUSED if self.subscribes <= self._refusals else 1
        return bytes([0x90, 5, *packet[2:4], 0, code, code])
