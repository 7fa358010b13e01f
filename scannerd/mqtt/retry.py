"""When to try again: back-off with full jitter, and the slower pace of two clients that evict each other."""

from __future__ import annotations

import random
from collections import deque

CAP_US = 10_000_000
"""The longest wait between two rounds of attempts: a broker that is back has us again within this time."""
_BASE_US = 500_000
_FLOOR_US = 20_000
_LIVED_US = 2_000_000
_TAKEOVER_SPAN_US = 30_000_000
_TAKEOVERS = 3


class Backoff:
    """Waits between attempts to connect to one of several brokers.

    Each broker of a round is tried without a wait; after a whole round a random time up to a limit that doubles from
    0.5 s to 10 s. A connection that had lived for 2 s is followed by an attempt at once.
    """

    def __init__(self, rng: random.Random, brokers: int = 1) -> None:
        """`brokers` is how many addresses make a round."""
        self._rng = rng
        self._brokers = brokers
        self._failures = 0

    def failed(self) -> int:
        """Microseconds to wait after an attempt that failed, or a connection that ended at once."""
        self._failures += 1
        rounds, rest = divmod(self._failures, self._brokers)
        if rest:
            return 0
        return max(_FLOOR_US, self._rng.randint(0, min(CAP_US, _BASE_US << min(rounds - 1, 10))))

    def lost(self, lived: int) -> int:
        """Microseconds to wait after a connection ended that had lived for `lived` microseconds."""
        if lived < _LIVED_US:
            return self.failed()
        self._failures = 0
        return 0

    def slow(self) -> int:
        """Microseconds to wait where trying fast would only evict another client."""
        return self._rng.randint(CAP_US // 2, CAP_US)


class Takeovers:
    """Counts how often another client took our session: three times within 30 s is no accident."""

    def __init__(self) -> None:
        """None has been seen."""
        self._times: deque[int] = deque(maxlen=_TAKEOVERS)

    def seen(self, now: int) -> bool:
        """Notes one; True when it was the third within 30 s."""
        self._times.append(now)
        return len(self._times) == _TAKEOVERS and now - self._times[0] <= _TAKEOVER_SPAN_US

    def over(self, now: int) -> bool:
        """Whether the last one is more than 30 s ago."""
        return not self._times or now - self._times[-1] > _TAKEOVER_SPAN_US
