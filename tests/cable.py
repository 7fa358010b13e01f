"""A network cable before a server: pulled, it ends no connection, and nothing comes through any more."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Cable:
    """Leads from a port of its own to the server at `target`, on the loopback interface."""

    def __init__(self, target: int) -> None:
        """Is plugged in."""
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._plug = threading.Event()
        self._plug.set()
        self._ends: list[socket.socket] = []
        self._lost: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def pull(self) -> None:
        """Connections that are open stay so, on both sides, and carry nothing ever again."""
        self._plug.clear()
        self._lost.update(self._ends)

    def plug(self) -> None:
        """New connections get through again."""
        self._plug.set()

    def close(self) -> None:
        """Ends everything."""
        self._plug.set()
        for end in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                here, _ = self._listener.accept()
                self._plug.wait()
                there = socket.create_connection(("127.0.0.1", self._target))
                self._ends += [here, there]
                for source, sink in ((here, there), (there, here)):
                    threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if source not in self._lost:
                    sink.sendall(data)
            if source not in self._lost:
                sink.shutdown(socket.SHUT_WR)


@contextmanager
def cable_to(target: int) -> Iterator[Cable]:
    """A cable to the server at port `target`, taken away at the end."""
    cable = Cable(target)
    try:
        yield cable
    finally:
        cable.close()
