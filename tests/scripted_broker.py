"""A broker that answers each packet with the bytes that a test wants: for what no real broker can be made to say."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from tests.proxy import split_packets


class ScriptedBroker:
    """Serves any number of clients, one after the other; `answer` gives the bytes to send for a packet."""

    def __init__(self, answer: Callable[[bytes], bytes | None]) -> None:
        """Listens on a free port of the loopback interface; an answer of None hangs up."""
        self._answer = answer
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        """The broker's address."""
        return f"mqtt://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        """Starts to serve."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends when the last client has left."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                with client, contextlib.suppress(OSError):
                    self._talk(client)

    def _talk(self, client: socket.socket) -> None:
        held = b""
        while data := client.recv(4096):
            packets, held = split_packets(held + data)
            for packet in packets:
                answer = self._answer(packet)
                if answer is None:
                    return
                client.sendall(answer)
