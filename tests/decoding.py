"""How every decoder is fed in the tests: whole, split anywhere, and followed by bytes that belong to no frame.

A transport may hand over one frame in ten pieces or ten frames in one piece. A decoder must not be able to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from scannerd.contract import BadFrame, CardRead, Decoder, Micros, NoRead, Notice, Reading

MakeDecoder: TypeAlias = Callable[[], Decoder]
"""Makes a fresh decoder; it is fed at `FED_AT`."""

FED_AT: Micros = 1_000_000
"""When the bytes arrive unless a test says otherwise: all at once, one second into the recording."""

GARBAGE = b"\x00\xff\x02<~[\x03\x05\r\n"
"""Bytes that begin, end and break frames of every format."""


def feed_split(make_decoder: MakeDecoder, chunks: Iterable[bytes], at: Micros = FED_AT) -> list[Reading]:
    """Feeds a fresh decoder the chunks, all at the same time, and returns what it made of them.

    Args:
        make_decoder: makes the fresh decoder.
        chunks: what the transport delivered, in order.
        at: when all of it arrived.
    """
    return _feed(make_decoder(), chunks, at)


def feed_three_ways(make_decoder: MakeDecoder, data: bytes, at: Micros = FED_AT) -> list[Reading]:
    """Feeds `data` whole, byte by byte and followed by garbage, and returns the readings, the same each time.

    Args:
        make_decoder: makes a fresh decoder for each way.
        data: the bytes of one or more frames, whole or not.
        at: when all of it arrived.

    Raises:
        AssertionError: the readings, the pending bytes or the deadline depend on how the bytes were cut.
    """
    whole, single, trailed, joined = (make_decoder() for _ in range(4))
    readings = _feed(whole, [data], at)
    bytewise = _feed(single, [data[i : i + 1] for i in range(len(data))], at)
    assert readings == bytewise, "whole and byte by byte differ"
    assert rest(whole) == rest(single), "whole and byte by byte leave different rests"
    apart = _feed(trailed, [data, GARBAGE], at)
    together = _feed(joined, [data + GARBAGE], at)
    assert apart == together, "garbage in the same chunk changes the readings"
    assert readings == together[: len(readings)], "garbage after it changes the readings"
    assert rest(trailed) == rest(joined), "garbage in the same chunk leaves a different rest"
    return readings


def codes(readings: Iterable[Reading]) -> list[str]:
    """The codes of the cards read, in order."""
    return [reading.code for reading in readings if isinstance(reading, CardRead)]


def gist(readings: Iterable[Reading]) -> list[str]:
    """Each reading in one word or two: `AS`, `A:AS`, `bad partial`, `no-read`, `notice other`, `reply`."""
    return [_gist(reading) for reading in readings]


def rest(decoder: Decoder) -> tuple[bytes, Micros | None]:
    """What a decoder waits with: the unfinished frame, and when it must be decided."""
    return decoder.pending, decoder.deadline


def _gist(reading: Reading) -> str:
    match reading:
        case CardRead(code, hand):
            return code if hand is None else f"{hand}:{code}"
        case BadFrame(detail):
            return f"bad {detail.partition(' ')[0]}"
        case NoRead():
            return "no-read"
        case Notice(kind):
            return f"notice {kind}"
        case _:
            return "reply"


def _feed(decoder: Decoder, chunks: Iterable[bytes], at: Micros) -> list[Reading]:
    return [reading for chunk in chunks for reading in decoder.feed(chunk, at)]
