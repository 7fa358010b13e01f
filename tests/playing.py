"""Plays timed chunks into a decoder as the daemon does: each time-out at its own moment, before what comes later."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from scannerd.contract import Decoder, Micros, Reading
from tests.decoding import gist

Timed: TypeAlias = tuple[float, bytes | str]
"""Seconds since the start, and what arrives then: bytes, or hex digits."""

Told: TypeAlias = tuple[float, str]
"""Seconds since the start, and a reading in a word or two (see `gist`)."""


def play(decoder: Decoder, entries: Iterable[Timed], until: float = 0.0) -> list[Told]:
    """What the decoder tells, and when; time runs on to `until` seconds after the last entry."""
    told: list[Told] = []
    for t, chunk in entries:
        told += run(decoder, t)
        data = bytes.fromhex(chunk) if isinstance(chunk, str) else chunk
        told += _at(micros(t), decoder.feed(data, micros(t)))
    return told + run(decoder, until)


def run(decoder: Decoder, until: float) -> list[Told]:
    """What the decoder tells at its deadlines up to `until` seconds."""
    told: list[Told] = []
    while (due := decoder.deadline) is not None and due <= micros(until):
        told += _at(due, decoder.tick(due))
    return told


def micros(seconds: float) -> Micros:
    """Seconds as whole microseconds."""
    return round(seconds * 1_000_000)


def _at(t: Micros, readings: Iterable[Reading]) -> list[Told]:
    return [(t / 1_000_000, word) for word in gist(readings)]
