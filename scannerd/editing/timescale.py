"""From time to place in a picture: a second is a second, but a long silence is drawn short, and marked."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

LONG_S = 10.0
"""A silence above this is drawn shorter."""

SHORT_S = 3.0
"""What a long silence is drawn like."""

_STEPS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_MOST_TICKS = 16


class Break(NamedTuple):
    """A silence that is drawn short: where its middle is, and how long it was, in seconds."""

    place: float
    seconds: float


class Timescale:
    """The places of times, in seconds as drawn.

    Attributes:
        breaks: the silences that are drawn short.
        width: the place of the last time.
    """

    def __init__(self, times: Iterable[float]) -> None:
        """Takes every time at which something is, in seconds; the first one's place is 0."""
        self._times = sorted(set(times)) or [0.0]
        self._places = [0.0]
        self.breaks: list[Break] = []
        for one, other in pairwise(self._times):
            gap = other - one
            drawn = SHORT_S if gap > LONG_S else gap
            if gap > LONG_S:
                self.breaks.append(Break(self._places[-1] + drawn / 2, gap))
            self._places.append(self._places[-1] + drawn)
        self.width = self._places[-1]

    def place(self, time: float) -> float:
        """Where a time is; before the first and behind the last a second is a second."""
        after = bisect_right(self._times, time)
        if after == 0:
            return time - self._times[0]
        if after == len(self._times):
            return self.width + time - self._times[-1]
        begin, end = self._times[after - 1], self._times[after]
        share = (time - begin) / (end - begin)
        return self._places[after - 1] + share * (self._places[after] - self._places[after - 1])

    def ticks(self) -> list[float]:
        """Round times to be told, none within a silence that is drawn short."""
        step = next((one for one in _STEPS if self.width / one <= _MOST_TICKS), None)
        if step is None:
            step = max(10.0, round(self.width / _MOST_TICKS, -1))
        return list(self._multiples(step))

    def _multiples(self, step: float) -> Iterator[float]:
        count = -(-self._times[0] // step)
        while count * step <= self._times[-1]:
            time = round(count * step, 3)
            after = bisect_right(self._times, time)
            silent = after < len(self._times) and self._times[after] - self._times[after - 1] > LONG_S
            if not silent or time == self._times[after - 1]:
                yield time
                count += 1
            else:  # on behind the silence
                count = max(count + 1, -(-self._times[after] // step))
