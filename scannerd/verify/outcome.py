"""What is wished of a verification, and what came of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from scannerd.verify.changes import Change

WARNINGS = 10
"""How many warnings of one recording are shown; the others are counted."""


class Wish(NamedTuple):
    """What is wanted besides the comparison.

    Attributes:
        update: files that differ, or expected events that are missing, are written.
        explain: the first difference is explained.
    """

    update: bool = False
    explain: bool = False


NOTHING_MORE = Wish()


@dataclass(frozen=True)
class Updated:
    """A file that was written.

    Attributes:
        path: the file.
        lines: how many it holds now.
        changes: what differs from what it held; None: it was not there.
    """

    path: Path
    lines: int
    changes: Counter[Change] | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a recording.

    Attributes:
        recording: its file.
        events: how many events it gives.
        differences: what was told otherwise than expected, each as text of a few lines.
        explanation: how the first of them came about; empty: not asked for.
        error: why it can't be replayed or compared; None: it was.
        warnings: what was ignored in it.
        updated: the files that were written.
        seconds: how long it took.
    """

    recording: Path
    events: int = 0
    differences: tuple[str, ...] = ()
    explanation: str = ""
    error: str | None = None
    warnings: tuple[str, ...] = ()
    updated: tuple[Updated, ...] = ()
    seconds: float = 0


class Warnings:
    """Keeps the first few warnings and counts the others: a recording can give one for each of its lines."""

    def __init__(self) -> None:
        """Begins without any."""
        self._first: list[str] = []
        self._more = 0

    def __call__(self, text: str) -> None:
        """Takes one."""
        if len(self._first) < WARNINGS:
            self._first.append(text)
        else:
            self._more += 1

    @property
    def told(self) -> tuple[str, ...]:
        """The first ones, and how many more there were."""
        return (*self._first, f"and {self._more} more") if self._more else tuple(self._first)
