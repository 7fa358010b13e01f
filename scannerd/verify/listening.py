"""Listens to the decoders of a replay: what bytes each was given, and what it made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

from scannerd.channel import MakesDecoders
from scannerd.contract import Decoder, Micros, Reading

How: TypeAlias = Literal["bytes", "silence", "loss"]


class Heard(NamedTuple):
    """What a decoder was told, and what it made of it.

    Attributes:
        scanner: whose decoder.
        at: when.
        how: bytes came, it was silent for too long, or it was lost.
        data: the bytes.
        readings: what the decoder made.
        pending: what it keeps, waiting for more.
    """

    scanner: str
    at: Micros
    how: How
    data: bytes
    readings: tuple[Reading, ...]
    pending: bytes


Hear: TypeAlias = Callable[[Heard], None]


class OverheardDriver:
    """A driver whose decoders are listened to."""

    def __init__(self, scanner: str, driver: MakesDecoders, hear: Hear) -> None:
        """Puts itself before the driver of a scanner."""
        self._scanner, self._driver, self._hear = scanner, driver, hear

    @property
    def reports(self) -> bool:
        """As the driver's."""
        return self._driver.reports

    def decoder(self, t: Micros) -> Decoder:
        """A fresh decoder, which is listened to."""
        return _OverheardDecoder(self._scanner, self._driver.decoder(t), self._hear)


class _OverheardDecoder:
    def __init__(self, scanner: str, decoder: Decoder, hear: Hear) -> None:
        self._scanner, self._decoder, self._hear = scanner, decoder, hear

    @property
    def deadline(self) -> Micros | None:
        return self._decoder.deadline

    @property
    def pending(self) -> bytes:
        return self._decoder.pending

    def feed(self, chunk: bytes, t: Micros) -> list[Reading]:
        return self._told("bytes", chunk, t, self._decoder.feed(chunk, t))

    def tick(self, t: Micros) -> list[Reading]:
        return self._told("silence", b"", t, self._decoder.tick(t))

    def finish(self, t: Micros) -> list[Reading]:
        return self._told("loss", b"", t, self._decoder.finish(t))

    def _told(self, how: How, data: bytes, t: Micros, readings: list[Reading]) -> list[Reading]:
        if data or readings:
            self._hear(Heard(self._scanner, t, how, data, tuple(readings), self._decoder.pending))
        return readings
