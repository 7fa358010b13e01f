"""What a scanner does, as bytes: so that a fuzzer which knows nothing of scanners can change it.

The first byte chooses the options. Then each step is a byte for what happens, a byte for how many bytes come, and
those bytes. Of what happens, the low bits choose the pause before it; `LATE` and `LOST` are bits too. So any bytes at
all are a script, and changing one changes one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from scannerd.contract import MS, Micros
from scannerd.scanlog import Chunk, Entry, Link

PAUSES: tuple[Micros, ...] = tuple(ms * MS for ms in (0, 1, 20, 160, 450, 600, 1_100, 3_200))
"""From step to step, in microseconds: one for each side of every time-out."""

LATE = 0x10
"""The bytes waited while the process did not run."""

LOST = 0x20
"""The scanner is lost after the bytes, and comes back at once."""

MOST = 255
"""Bytes in a step."""


class Step(NamedTuple):
    """A pause, bytes, and what else is with them."""

    pause: Micros
    chunk: bytes
    late: bool = False
    lost: bool = False


def read(data: bytes) -> tuple[int, list[Step]]:
    """The number that chooses the options, and the steps; the last one may be short of bytes."""
    steps, at = [], 1
    while at < len(data):
        what, begin = data[at], at + 2
        at = begin + (data[at + 1] if at + 1 < len(data) else 0)
        pause = PAUSES[what % len(PAUSES)]
        steps.append(Step(pause, data[begin:at], bool(what & LATE), bool(what & LOST)))
    return (data[0] if data else 0), steps


def written(choice: int, steps: Iterable[Step]) -> bytes:
    """The bytes that `read` reads; a pause is taken for the nearest one there is."""
    made = bytearray([choice])
    for step in steps:
        pause = _nearest(step.pause)
        for begin in range(0, max(1, len(step.chunk)), MOST):
            part = step.chunk[begin : begin + MOST]
            last = begin + MOST >= len(step.chunk)
            made += bytes([pause | LATE * step.late | LOST * (step.lost and last), len(part)]) + part
            pause = 0
    return bytes(made)


def _nearest(pause: Micros) -> int:
    """The number of the pause that is nearest."""
    return min(range(len(PAUSES)), key=lambda number: abs(PAUSES[number] - pause))


def recorded(entries: Iterable[Entry], scanner: str) -> Iterator[Step]:
    """What a scanner does in a recording."""
    latest, waiting = 0, None
    for entry in entries:
        if not isinstance(entry, Chunk | Link) or entry.scanner != scanner:
            continue
        if isinstance(entry, Chunk):
            if waiting is not None:
                yield waiting
            waiting = Step(entry.t - latest, entry.data, entry.stale)
            latest = entry.t
        elif waiting is not None and not entry.up:
            waiting = waiting._replace(lost=True)
    if waiting is not None:
        yield waiting
