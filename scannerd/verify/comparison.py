"""What a replay tells beside what was expected, line by line: each difference, with the place that it comes from.

Lines are read ahead only where the two differ, so that a missing line does not make all that follow it differ, and a
recording of any length takes no more memory than a short one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from itertools import islice, zip_longest
from typing import Final, NamedTuple

import orjson

from scannerd.recording.replay import Line, Taken
from scannerd.verify.expected import Expected, Kind, Wanted, unequal

AHEAD: Final = 32
"""How many lines are looked at on each side for the place from where they agree again."""


class Told(NamedTuple):
    """A line that a replay told.

    Attributes:
        line: what it says.
        text: as it is printed.
        kind: `event` or `prompt`.
        from_line: the number of the recording's line that the replay had come to.
        taken: the decision that it tells of; None: the prompt at the start.
    """

    line: Line
    text: bytes
    kind: Kind
    from_line: int
    taken: Taken | None

    @property
    def parsed(self) -> Line:
        """As it is read back, with lists for tuples."""
        line: Line = orjson.loads(self.text)
        return line


class Difference(NamedTuple):
    """An expected line that was told otherwise (both are there), was not told, or a line that was not expected.

    Attributes:
        wanted: what was expected; None: nothing.
        told: what was told; None: nothing.
    """

    wanted: Wanted | None
    told: Told | None


class Comparison:
    """An expected file beside what is told, which is handed in line by line."""

    def __init__(self, expected: Expected, found: Callable[[Difference], None]) -> None:
        """Begins at the file's first line.

        Args:
            expected: the file.
            found: given each difference, in their order.
        """
        self._expected, self._found = expected, found
        self._lines = iter(expected)
        self._wanted: deque[Wanted] = deque()
        self._told: deque[Told] = deque()

    def take(self, told: Told) -> bool:
        """Compares the next line of a kind that the file holds.

        Returns:
            Whether it is the one expected.

        Raises:
            ExpectedError: the file's next line can't be used.
        """
        if not self._told:
            wanted = self._wanted.popleft() if self._wanted else next(self._lines, None)
            if wanted is not None and (wanted.text == told.text or self._agree(wanted, told)):
                return True
            if wanted is not None:
                self._wanted.appendleft(wanted)
        self._told.append(told)
        if len(self._told) == AHEAD:
            self._part()
        return False

    def finish(self) -> None:
        """Nothing more is told: what the file still expects is missing.

        Raises:
            ExpectedError: a line of the file can't be used.
        """
        while self._told or self._look_ahead():
            self._part()

    def _agree(self, wanted: Wanted, told: Told) -> bool:
        return wanted.text == told.text or not unequal(self._expected.parsed(wanted), told.parsed)

    def _look_ahead(self) -> bool:
        """Reads up to `AHEAD` lines of the file; False: there is none left."""
        self._wanted.extend(islice(self._lines, AHEAD - len(self._wanted)))
        return bool(self._wanted)

    def _part(self) -> None:
        """The next lines differ: tells how, up to the nearest two that agree, and goes on from there."""
        self._look_ahead()
        wanted = [self._expected.parsed(one) for one in self._wanted]
        until_wanted, until_told = _agree_again(wanted, [one.parsed for one in self._told])
        self._tell(
            [(self._wanted.popleft(), line) for line in wanted[:until_wanted]],
            [self._told.popleft() for _ in range(until_told)],
        )
        while self._told and self._wanted and self._agree(self._wanted[0], self._told[0]):
            self._wanted.popleft()
            self._told.popleft()
            self._look_ahead()

    def _tell(self, wanted: list[tuple[Wanted, Line]], told: list[Told]) -> None:
        """Lines of one type that stand at the same place are one line that was told otherwise."""
        for one, other in zip_longest(wanted, told):
            if one is not None and other is not None and one[1].get("type") == other.line.get("type"):
                self._found(Difference(one[0], other))
                continue
            if one is not None:
                self._found(Difference(one[0], None))
            if other is not None:
                self._found(Difference(None, other))


def _agree_again(wanted: list[Line], told: list[Line]) -> tuple[int, int]:
    """How many lines of each side come before the nearest two that agree; all, if none do."""
    wanted_at, told_at = ([line.get("t") for line in lines] for lines in (wanted, told))  # most are told apart by it
    for distance in range(1, len(wanted) + len(told) - 1):
        for skip in range(max(0, distance - len(told) + 1), min(distance, len(wanted) - 1) + 1):
            at = distance - skip
            if wanted_at[skip] == told_at[at] and not unequal(wanted[skip], told[at]):
                return skip, at
    return len(wanted), len(told)
