"""How the kit feeds a decoder, waits for it, spoils frames and weighs what a decoder holds."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from scannerd.contract import BadFrame, CardRead, Decoder, Micros, NoRead, Notice, Reading, Reply
from scannerd.driver_contract.case import AT, expect

Told: TypeAlias = CardRead | NoRead | BadFrame | Notice
"""A reading that somebody is told of."""

READINGS = (CardRead, NoRead, BadFrame, Notice, Reply)

_MOST_DEADLINES = 1_000
_NOT_ITS_OWN = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.CodeType,
)


def feed(decoder: Decoder, chunks: Iterable[bytes], t: Micros = AT) -> list[Reading]:
    """Feeds chunks, all at `t`, and returns what the decoder made of them."""
    return [reading for chunk in chunks for reading in decoder.feed(chunk, t)]


def silence(decoder: Decoder) -> list[Reading]:
    """Lets every deadline pass, each told at its time, and returns what the decoder made of them.

    Raises:
        BrokenContractError: the decoder stays at a deadline that it was told of, or goes on without end.
    """
    readings: list[Reading] = []
    for _ in range(_MOST_DEADLINES):
        due = decoder.deadline
        if due is None:
            return readings
        readings += decoder.tick(due)
        expect(decoder.deadline != due, "a deadline that `tick` was called for is still there: the reader would hang")
    expect(holds=False, otherwise=f"after {_MOST_DEADLINES} deadlines of silence there is still another")
    return readings


def told(readings: Iterable[Reading]) -> list[Told]:
    """Those readings that somebody is told of: all but replies to the device."""
    return [reading for reading in readings if not isinstance(reading, Reply)]


def codes(readings: Iterable[Reading]) -> list[str]:
    """The codes of the cards read."""
    return [reading.code for reading in readings if isinstance(reading, CardRead)]


def rest(decoder: Decoder) -> tuple[bytes, Micros | None]:
    """What a decoder waits with."""
    return decoder.pending, decoder.deadline


def spoiled(chunks: Sequence[bytes], *, reports: bool) -> Iterator[list[bytes]]:
    """A frame with one fault: a part left out, a part twice, a byte with one bit turned over."""
    parts = list(chunks) if reports else [bytes([byte]) for byte in chunks[0]]
    for at in range(len(parts)):
        before, part, after = parts[:at], parts[at], parts[at + 1 :]
        for instead in ([], [part, part], *([turned] for turned in _turned(part))):
            made = [*before, *instead, *after]
            yield made if reports else [b"".join(made)]


def held(decoder: object) -> int:
    """How many bytes of memory are reached from a decoder, its class, functions and modules aside."""
    seen: set[int] = set()
    waiting, total = [decoder], 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _NOT_ITS_OWN) or _is_namespace(one):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        waiting += gc.get_referents(one)
    return total


def _turned(part: bytes) -> Iterator[bytes]:
    for at in range(len(part)):
        for bit in (0x01, 0x80):
            yield part[:at] + bytes([part[at] ^ bit]) + part[at + 1 :]


def _is_namespace(one: object) -> bool:
    """Whether it is the dictionary of a module, which a generator or closure reaches."""
    return isinstance(one, dict) and "__builtins__" in one
