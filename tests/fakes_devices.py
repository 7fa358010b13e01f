"""Fakes below the readers: a scanner's language that is easy to read, a deck, and devices that do as they are told."""

from __future__ import annotations

import ctypes
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TypeAlias

from scannerd.contract import (
    BadFrame,
    CardRead,
    Decoder,
    Driver,
    DriverOptions,
    Micros,
    NoRead,
    Notice,
    Reading,
    Reply,
    Transport,
)
from scannerd.core.cards import card

FRAME_TIMEOUT: Micros = 2_000_000
"""Silence inside a frame of a `WordDecoder` after which it is a partial one."""


class WordDecoder:
    """Frames that end in `;`, each a word that says what reading it is.

    `AS` or `A:AS` is a card, `!` a read that failed, `#checksum` a bad frame of that name, `*text` a notice, `ack` asks
    for a reply at once and `settle` for one when the readings are journalled; an empty frame is nothing. A `?` waits
    as a broken copy does: it is in no frame, and a `lost` frame is told before the next one.
    """

    def __init__(self) -> None:
        self.pending = b""
        self.deadline: Micros | None = None
        self._waiting = False

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        """Takes bytes split anywhere."""
        *frames, self.pending = (self.pending + chunk).split(b";")
        self.deadline = t + FRAME_TIMEOUT if self.pending else None
        return [reading for frame in frames for reading in self._readings(frame)]

    def tick(self, t: Micros) -> list[Reading]:
        """A frame that stands still is partial; one of only `-` is forgotten without a word."""
        if self.deadline is None or self.deadline > t:
            return []
        half, self.pending, self.deadline = self.pending, b"", None
        return [] if half == b"-" else [BadFrame("partial", half)]

    def finish(self, t: Micros) -> list[Reading]:
        """What waits is lost."""
        del t
        self.pending, self.deadline = b"", None
        return self._lost()

    def _readings(self, frame: bytes) -> list[Reading]:
        word = frame.decode("latin-1")
        if word == "?":
            self._waiting = True
            return []
        return self._lost() + self._reading(word, frame + b";")

    @staticmethod
    def _reading(word: str, raw: bytes) -> list[Reading]:
        hand, colon, code = word.rpartition(":")
        known: dict[str, Reading] = {
            "!": NoRead("no-read", raw),
            "ack": Reply(b"ACK"),
            "settle": Reply(b"SETTLED", settled=True, within=1_000_000),
        }
        if word[:1] == "#":
            return [BadFrame(word[1:], raw)]
        if word[:1] == "*":
            return [Notice("other", word[1:], raw)]
        if word:
            return [known.get(word) or CardRead(code, hand if colon else None, raw)]
        return []

    def _lost(self) -> list[Reading]:
        lost: list[Reading] = [BadFrame("lost", b"?;")] if self._waiting else []
        self._waiting = False
        return lost


class WordOptions(DriverOptions):
    """A `WordDriver` has no options."""


class WordDriver(Driver[WordOptions]):
    """Speaks the language of `WordDecoder`; its transport is whatever it is given."""

    name = "word"
    summary = "words"
    Options = WordOptions

    def __init__(self, transport: Transport | None = None) -> None:
        super().__init__(WordOptions())
        self._transport = transport

    def decoder(self, t: Micros) -> Decoder:
        """A fresh decoder."""
        del t
        return WordDecoder()

    def transport(self, url: str) -> Transport:
        """The transport it was given."""
        if self._transport is None:
            raise ValueError(url)
        return self._transport

    def feedback(self, outcome: str) -> bytes:
        """A beep for an accepted card."""
        return b"BEEP" if outcome == "accepted" else b""


class Deck:
    """A codebook of the cards' own names; `JK` is a joker."""

    def lookup(self, code: str) -> object:
        """The card, `"joker"` where it is none of the deck, None where it is unknown."""
        return NotOfTheDeck() if code == "JK" else card(code)


class NotOfTheDeck:
    """A card that does not belong in the deck."""


class Pty:
    """A scanner on a pseudo-terminal: what is written to it arrives at the port `path`, a link that stays the same."""

    def __init__(self, path: Path) -> None:
        """Makes the terminal, in cooked mode as the system leaves it, and the link to it."""
        self.path = path
        self._ends: list[int] = []
        self.plug()

    def plug(self) -> None:
        """Puts a fresh terminal behind the link, as after a replug."""
        self.master, self.slave = os.openpty()
        self._ends = [self.master, self.slave]
        self.path.unlink(missing_ok=True)
        self.path.symlink_to(os.ttyname(self.slave))

    def unplug(self) -> None:
        """Takes the device away; the link stays behind, as a stale one does."""
        ends, self._ends = self._ends, []
        for end in ends:
            os.close(end)

    def send(self, data: bytes) -> None:
        """The scanner sends `data`."""
        os.write(self.master, data)


class FakeTransport(Transport):
    """A transport that is told what to do, step by step.

    Each open and each read takes the next step of its script: bytes are given, an exception is raised, and a callable
    is called for what it gives. A read without a step finds the line empty.
    """

    def __init__(self) -> None:
        self.opens: SimpleQueue[Step] = SimpleQueue()
        self.reads: SimpleQueue[Step] = SimpleQueue()
        self.written: SimpleQueue[bytes] = SimpleQueue()
        self.calls: list[str] = []
        self.timeouts: list[float] = []

    def open(self) -> None:
        """Takes the next step, or succeeds."""
        self.calls.append("open")
        if not self.opens.empty():
            _take(self.opens.get())

    def read(self, timeout: float) -> bytes:
        """Takes the next step, or is idle for as long as it was told, or a little less."""
        self.timeouts.append(timeout)
        try:
            step = self.reads.get(timeout=min(timeout, 0.02))
        except Empty:
            return b""
        return _take(step)

    def write(self, data: bytes) -> None:
        """Keeps what was written."""
        self.written.put(data)

    def close(self) -> None:
        """Notes that it was closed."""
        self.calls.append("close")


Step: TypeAlias = bytes | Exception | Callable[[], bytes]
"""What a `FakeTransport` does next."""


def _take(step: Step) -> bytes:
    if isinstance(step, Exception):
        raise step
    return step if isinstance(step, bytes) else step()


class SteppedClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.time: Micros = 1_000_000

    def now(self) -> Micros:
        """The time it was set to."""
        return self.time

    def boot(self) -> Micros:
        """The same."""
        return self.time


class TcpBox:
    """A serial-to-TCP box on loopback that serves one client at a time."""

    def __init__(self, port: int = 0) -> None:
        """Listens on `port`; 0 lets the system choose."""
        self._listener = socket.create_server(("127.0.0.1", port), backlog=1)
        self._listener.settimeout(10)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"tcp://127.0.0.1:{self.port}"
        self._clients: list[socket.socket] = []

    def accept(self) -> socket.socket:
        """The next client, waited for at most 10 s."""
        client, _ = self._listener.accept()
        client.settimeout(10)
        self._clients.append(client)
        return client

    def close(self) -> None:
        """Ends all connections and listens no more."""
        for client in [*self._clients, self._listener]:
            client.close()


def go_silent(link: socket.socket) -> None:
    """From now on `link` neither hears nor answers, as if its machine had lost its power: no FIN, no RST, no ACK.

    A filter on the socket drops every packet that comes for it, keep-alive probes among them (socket(7),
    SO_ATTACH_FILTER): the one instruction is `ret 0`, keep no byte.
    """
    so_attach_filter, return_constant = 26, 0x06
    instruction = ctypes.create_string_buffer(struct.pack("HBBI", return_constant, 0, 0, 0))
    program = struct.pack("HP", 1, ctypes.addressof(instruction))
    link.setsockopt(socket.SOL_SOCKET, so_attach_filter, program)
