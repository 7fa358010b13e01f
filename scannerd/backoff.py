"""How long to wait before the next try: at once the first time, then longer and at random, up to a cap.

The random part keeps daemons that lost one thing at the same moment (a switch, a hub, a broker) from coming back in
step. There is a least wait as well, so that a device that fails at once is not asked more than twice a second.
"""

from __future__ import annotations

from collections.abc import Callable

LARGEST_EXPONENT = 16
"""Doubling stops here; far above any cap, and no number grows without bound in a daemon that runs for years."""


class Backoff:
    """Full jitter between the least wait and a bound that doubles with each try. Pure: the randomness is handed in."""

    def __init__(self, random: Callable[[], float], *, least: float = 0.5, cap: float = 1.5) -> None:
        """Begins with the first try.

        Args:
            random: gives numbers from 0 to 1.
            least: the shortest wait after a failure, in seconds.
            cap: the longest wait, in seconds; not below `least`.
        """
        self._random = random
        self._least = least
        self._cap = cap
        self._tries = 0

    def next(self) -> float:
        """Seconds to wait before the try that comes now; 0 for the first."""
        tries, self._tries = self._tries, min(self._tries + 1, LARGEST_EXPONENT)
        if not tries:
            return 0.0
        bound = min(self._cap, self._least * (1 << tries))
        return self._least + self._random() * (bound - self._least)

    def reset(self) -> None:
        """It works again: the next try is a first one."""
        self._tries = 0
