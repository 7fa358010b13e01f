"""What a recording holds behind its header: what a table saw and was told, each at its time in microseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

SECOND = 1_000_000
"""Microseconds in a second: times in a file are seconds, times in the program microseconds."""

LONGEST_S = 10**8
"""Seconds, three years: a recording's `t` stays below, so that a float holds it to the microsecond."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Bytes as the transport delivered them; `stale`: read late."""

    t: int
    scanner: str
    data: bytes
    stale: bool = False


@dataclass(frozen=True, slots=True)
class Sent:
    """Bytes that were written to the device: a note only."""

    t: int
    scanner: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Link:
    """A scanner came or went."""

    t: int
    scanner: str
    up: bool
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A command as it came."""

    t: int
    name: str
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Broker:
    """The broker came or went."""

    t: int
    up: bool


@dataclass(frozen=True, slots=True)
class End:
    """The recording's last moment."""

    t: int


Entry: TypeAlias = Chunk | Sent | Link | Order | Broker | End


def seconds(t: int) -> float | int:
    """Microseconds as the number of seconds that a line holds."""
    return t // SECOND if t % SECOND == 0 else t / SECOND
