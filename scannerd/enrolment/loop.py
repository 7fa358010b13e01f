"""A person, a scanner and a terminal: reads codes in a plain loop until the deck is done.

No thread and no engine: between two short reads of the scanner the keyboard is looked at. A scanner that is lost is
opened again, and what was scanned stays.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import IO, Protocol

from scannerd.codebooks.large_cards import large
from scannerd.contract import Decoder, Driver, DriverOptions, Micros, Reading, Reply, Transport, TransportError
from scannerd.enrolment import Guided, spoken

_READ = 0.1
"""How long, in seconds, the scanner is waited for before the keyboard is looked at."""

_RETRY = 0.5
"""How long, in seconds, a lost scanner is left alone."""

SILENT: Micros = 30_000_000
"""Where nobody can type, so long without a reading ends the loop, in µs."""

GONE: Micros = 5_000_000
"""The same without a scanner that can be opened."""

_BAR = 40


def _now() -> Micros:
    return time.monotonic_ns() // 1_000


class Keys(Protocol):
    """What a person types."""

    @property
    def closed(self) -> bool:
        """Whether nobody can type any more."""

    def poll(self, wait: float = 0) -> str:
        """The first letters of the lines typed since, after at most `wait` seconds; empty for none."""


class Keyboard:
    """Lines typed at a terminal, or written to a pipe."""

    def __init__(self, stream: IO[str]) -> None:
        """Takes the stream; only its descriptor is used."""
        self._fd = stream.fileno()
        self._half = b""
        self.closed = False

    def poll(self, wait: float = 0) -> str:
        """The first letter of each whole line; waits at most `wait` seconds."""
        if self.closed:
            time.sleep(wait)
            return ""
        if not select.select([self._fd], [], [], wait)[0]:
            return ""
        data = os.read(self._fd, 1024)
        self.closed = not data
        *lines, self._half = (self._half + data).lower().split(b"\n")
        return "".join(line.strip()[:1].decode("ascii", "replace") for line in lines)


class Device:
    """A scanner that is read by whoever asks; opened at the first read, and again after it was lost."""

    def __init__(self, driver: Driver[DriverOptions], transport: Transport) -> None:
        """Takes the driver and its transport, not yet open."""
        self._driver = driver
        self._transport = transport
        self._decoder: Decoder | None = None

    def open(self) -> bool:
        """Opens the device unless it is open; says whether it was opened just now.

        Raises:
            TransportError: it can't be opened.
        """
        if self._decoder is not None:
            return False
        self._transport.open()
        self._decoder = self._driver.decoder(_now())
        return True

    def readings(self) -> list[Reading]:
        """What comes within a short time; replies that the device waits for are written at once.

        Raises:
            TransportError: the device is lost.
        """
        if self._decoder is None:
            return []
        chunk = self._transport.read(_READ)
        made = self._decoder.feed(chunk, _now()) if chunk else self._decoder.tick(_now())
        for reading in made:
            if isinstance(reading, Reply):
                self._transport.write(reading.data)
        return [reading for reading in made if not isinstance(reading, Reply)]

    def close(self) -> None:
        """Closes the device; half a frame is forgotten."""
        self._decoder = None
        self._transport.close()


class Screen:
    """Shows the card to scan next: large on a terminal, as a line elsewhere."""

    def __init__(self, write: Callable[[str], object], *, large_cards: bool) -> None:
        """`write` takes text without a line end."""
        self._write = write
        self._large = large_cards
        self._shown = ""

    def show(self, guided: Guided, message: str = "") -> None:
        """Shows what is due, how far things are, and a message; nothing where that stands there already."""
        text = self._page(guided, message) if self._large else _lines(guided, message)
        if text != self._shown:
            self._write(text)
        self._shown = text

    def _page(self, guided: Guided, message: str) -> str:
        done, total = guided.progress()
        bar = "█" * (_BAR * done // total)
        due = guided.due
        card = f"{large(due)}\n\n  {spoken(due)}" if due else "  any card"
        keys = "u and Enter: take the last one back    q and Enter: end"
        return f"\x1b[2J\x1b[H\n{card}\n\n  {bar:░<{_BAR}} {done} of {total}\n\n  {message}\n\n  {keys}\n"


def guide(guided: Guided, scanner: Device, keys: Keys, screen: Screen, now: Callable[[], Micros] = _now) -> bool:
    """Reads until all is done or the person ends it; where nobody can type, also when nothing comes for long.

    Args:
        guided: what is done with the cards.
        scanner: the scanner; left open.
        keys: `u` takes the last card back, `q` ends.
        screen: where to show it.
        now: monotonic time, in µs.

    Returns:
        Whether all was done.
    """
    since = now()
    while not (guided.finished and (guided.ends_itself or keys.closed)):
        heard = _listen(guided, scanner, screen)
        if heard or not keys.closed:
            since = now()
        elif now() - since >= (GONE if heard is None else SILENT):
            screen.show(guided, "nothing comes from the scanner, and nobody can type: ended")
            return guided.finished
        for key in keys.poll(_RETRY if heard is None else 0):
            if key == "q":
                return guided.finished
            if key == "u":
                screen.show(guided, guided.undo())
    return True


def _listen(guided: Guided, scanner: Device, screen: Screen) -> bool | None:
    """Hears what the scanner gives within a short time: whether there was anything; None where there is no scanner."""
    try:
        if scanner.open():
            screen.show(guided, "the scanner is ready")
        readings = scanner.readings()
        for reading in readings:
            if message := guided.hear(reading):
                screen.show(guided, message)
    except TransportError as error:
        scanner.close()
        remedy = f"; {error.remedy}" if error.remedy else ""
        screen.show(guided, f"no scanner: {error}{remedy}")
        return None
    return bool(readings)


def _lines(guided: Guided, message: str) -> str:
    done, total = guided.progress()
    due = f"scan {guided.due}, the {spoken(guided.due)}" if guided.due else "scan any card"
    rest = "" if guided.finished and guided.ends_itself else f"{done} of {total}: {due}\n"
    return f"{message}\n{rest}" if message else rest
