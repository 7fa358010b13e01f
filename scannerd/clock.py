"""The clocks of the machine, as whole microseconds; handed in, so that a test can hold another."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Protocol

_UNSYNCHRONISED = 0x0040
_TIMESYNCD = Path("/run/systemd/timesync/synchronized")


class Clock(Protocol):
    """What the shell asks for the time."""

    def now(self) -> int:
        """The monotonic time: every duration is measured with it."""

    def wall(self) -> int:
        """The time of day, microseconds since 1970 in UTC: only ever shown, or compared with `expires`."""

    def synchronised(self) -> bool | None:
        """Whether the time of day can be trusted; None where nobody knows."""


class SystemClock:
    """The machine's own clocks."""

    def now(self) -> int:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns() // 1_000

    def wall(self) -> int:
        """CLOCK_REALTIME."""
        return time.time_ns() // 1_000

    def synchronised(self) -> bool | None:
        """As the kernel holds it."""
        return clock_synchronised()


class _Timex(ctypes.Structure):
    """The head of struct timex (adjtimex(2)); the rest is room for what the kernel writes."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("numbers", ctypes.c_long * 4),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_byte * 256),
    )


def clock_synchronised() -> bool | None:
    """Whether the kernel holds the wall clock for synchronised; None where it can't be asked."""
    if _TIMESYNCD.exists():
        return True
    ask, timex = _adjtimex(), _Timex()
    if ask is None or ask(ctypes.byref(timex)) < 0:
        return None
    return not timex.status & _UNSYNCHRONISED


@cache
def _adjtimex() -> Callable[[object], int] | None:
    try:
        return ctypes.CDLL(None).adjtimex
    except (OSError, AttributeError):
        return None
