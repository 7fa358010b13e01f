"""A pace for transports of prepared input, on which no time passes but what is waited for."""

from __future__ import annotations

from scannerd.contract import Micros, Transport, TransportError

TURN = 0.2
"""Seconds of one read, as the daemon's readers have it."""


class FakePace:
    """The time is what was waited."""

    def __init__(self) -> None:
        """Begins at some time or other."""
        self.time: Micros = 5_000_000

    def now(self) -> Micros:
        """The time."""
        return self.time

    def wait(self, duration: Micros) -> None:
        """Goes on in time."""
        self.time += duration


def heard(transport: Transport, pace: FakePace, seconds: float) -> list[tuple[float, bytes | str]]:
    """What an opened transport gives in so many seconds, each with the seconds since; a loss is its words."""
    begin, told = pace.time, list[tuple[float, bytes | str]]()
    while pace.time - begin < seconds * 1_000_000:
        try:
            data = transport.read(TURN)
        except TransportError as lost:
            told.append((round((pace.time - begin) / 1_000_000, 3), str(lost)))
            return told
        if data:
            told.append((round((pace.time - begin) / 1_000_000, 3), data))
    return told
