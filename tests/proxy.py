"""A TCP proxy before a broker: cuts connections, swallows acknowledgements, holds bytes back, answers nothing."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

PUBACK = 0x40
_BOUND_S = 10.0
_CONNECT_5 = b"\x00\x04MQTT\x05"
_OTHER_VERSION = bytes([0x20, 2, 0, 1])


class Proxy:
    """Listens on `port` and passes everything to the broker at `target`, until told otherwise.

    Attributes:
        holding: keep what comes, either way, until it is False again.
        swallowing: drop every PUBACK that the broker sends.
        old: refuse whoever asks for MQTT 5, as a broker does that speaks 3.1.1 only.
        swallowed: how many were dropped.
        accepted: how many connections came.
    """

    def __init__(self, target: int) -> None:
        """`target` is the broker's port on the loopback interface; 0: nobody answers, connections just stay open."""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.swallowing = self.old = self._holding = False
        self.swallowed = self.accepted = 0
        self._changed = threading.Condition()
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._spawn(self._accept)

    @property
    def holding(self) -> bool:
        """See the class."""
        return self._holding

    @holding.setter
    def holding(self, value: bool) -> None:
        with self._changed:
            self._holding = value
            self._changed.notify_all()

    def cut(self) -> None:
        """Ends every connection without an MQTT DISCONNECT."""
        with self._changed:
            ends, self._open = self._open, []
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def wait_for_swallowed(self, count: int) -> None:
        """Returns when `count` acknowledgements were dropped."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.swallowed >= count, _BOUND_S), "no PUBACK came by"

    def wait_for_accepted(self, count: int) -> None:
        """Returns when `count` connections came."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.accepted >= count, _BOUND_S), "nobody connected"

    def close(self) -> None:
        """Ends everything."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(_BOUND_S)

    def _spawn(self, target: object, *args: object) -> None:
        assert callable(target)
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            ends = self._ends(client)
            with self._changed:
                self.accepted += 1
                self._open += ends
                self._changed.notify_all()
            if len(ends) > 1:
                self._spawn(self._pump_up, *ends)
                self._spawn(self._pump_down, *ends)
            else:
                self._spawn(self._absorb, client)

    def _ends(self, client: socket.socket) -> list[socket.socket]:
        if self._target:
            with contextlib.suppress(OSError):
                return [client, socket.create_connection(("127.0.0.1", self._target))]
        return [client]

    def _absorb(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            while client.recv(65536):
                pass

    def _pump_up(self, client: socket.socket, broker: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            while data := client.recv(65536):
                if self.old and _CONNECT_5 in data:
                    client.sendall(_OTHER_VERSION)
                    break
                self._hold()
                broker.sendall(data)
            broker.shutdown(socket.SHUT_RDWR)

    def _pump_down(self, client: socket.socket, broker: socket.socket) -> None:
        with broker, contextlib.suppress(OSError):
            held = b""
            while data := broker.recv(65536):
                packets, held = split_packets(held + data)
                passed = b"".join(packet for packet in packets if not self._swallow(packet))
                self._hold()
                client.sendall(passed)
            client.shutdown(socket.SHUT_RDWR)

    def _hold(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._holding, _BOUND_S)

    def _swallow(self, packet: bytes) -> bool:
        if not self.swallowing or packet[0] & 0xF0 != PUBACK:
            return False
        with self._changed:
            self.swallowed += 1
            self._changed.notify_all()
        return True


def split_packets(data: bytes) -> tuple[list[bytes], bytes]:
    """Whole MQTT packets at the start of `data`, and what is left."""
    packets = []
    while (end := _end(data)) is not None and end <= len(data):
        packets.append(data[:end])
        data = data[end:]
    return packets, data


def _end(data: bytes) -> int | None:
    """Where the first packet of `data` ends, by its remaining length (MQTT 5, 1.5.5); None: not yet known."""
    length = 0
    for index, byte in enumerate(data[1:5]):
        length |= (byte & 0x7F) << (7 * index)
        if not byte & 0x80:
            return 2 + index + length
    return None


@contextmanager
def proxy_to(target: int) -> Iterator[Proxy]:
    """A proxy before the broker at port `target`, closed at the end."""
    proxy = Proxy(target)
    try:
        yield proxy
    finally:
        proxy.close()
