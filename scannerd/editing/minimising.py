"""Delta debugging: the smallest recording that still shows what is asked for.

What comes behind it is cut off first. Then rounds are left out, and then entries: many at once first, the earliest
first, and what still shows it is gone on with, until no single entry can be left out. Nothing of this is left to
chance, and how long it may take is told in entries replayed, so that the same question has the same answer on every
machine.

Times and bytes stay: a test whose reads no device ever sent would prove little.

Source: A. Zeller, R. Hildebrandt, Simplifying and Isolating Failure-Inducing Input (2002).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

from scannerd.editing.sameness import Question, Shown
from scannerd.editing.tape import Tape, moved
from scannerd.errors import UsageError
from scannerd.recording.replay import Line
from scannerd.scanlog import SECOND, End, Entry

ENTRIES = 1_000_000
"""How many entries are replayed in all unless more are asked for; some 25,000 go in a second."""

_MS = 1_000


class Minimiser:
    """Shrinks one recording.

    Attributes:
        replayed: how many entries were replayed.
        tried: how many recordings were looked at.
        done: whether no single entry can be left out; False: the bound on replays came first.
    """

    def __init__(
        self, question: Question, most: int = ENTRIES, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Replays nothing yet.

        Args:
            question: what must be shown.
            most: how many entries may be replayed.
            progress: told how many entries are left, and how many recordings were tried, after each.
        """
        self._question, self._most, self._progress = question, most, progress
        self.replayed = self.tried = 0
        self.done = False

    def smallest(self, tape: Tape) -> Shown:
        """The smallest recording found, which begins with its first entry.

        Raises:
            UsageError: the whole recording does not show it either.
            ScanlogError: the recording can't be replayed.
        """
        until = min(self._question.until, tape.end)  # behind the end there may be deadlines that nobody asked for
        entries: list[Entry] = [entry for entry in tape.entries if entry.t <= until and not isinstance(entry, End)]
        entries = self._reduced(tape, _by_round(entries, self._question.openings), until)
        entries = self._reduced(tape, [[entry] for entry in entries], until)
        self.done = self.replayed < self._most
        shown = self._question.shown_by(_with(tape, entries, until))
        if shown is None:
            raise UsageError(f"{tape.path}: does not show it: {self._question.what}")
        return _rebased(shown)

    def _reduced(self, tape: Tape, pieces: list[list[Entry]], until: int) -> list[Entry]:
        """Leaves out piece after piece, many at once first, until no single one more can be left out."""
        size = max(1, len(pieces) // 2)
        while self.replayed < self._most:
            before = len(pieces)
            pieces = self._without(tape, pieces, size, until)
            if size == 1 and len(pieces) == before:
                break
            size = max(1, min(size, len(pieces)) // 2)
        return _joined(pieces)

    def _without(self, tape: Tape, pieces: list[list[Entry]], size: int, until: int) -> list[list[Entry]]:
        """Leaves out so many pieces at a time wherever that shows the same."""
        at = 0
        while at < len(pieces) and self.replayed < self._most:
            needed = [[entry for entry in piece if self._question.needs(entry)] for piece in pieces[at : at + size]]
            kept = [piece for piece in needed if piece]
            without = [*pieces[:at], *kept, *pieces[at + size :]]
            if _joined(without) != _joined(pieces) and self._shows(tape, _joined(without), until) is not None:
                pieces = without
                at += len(kept)
            else:
                at += size
        return pieces

    def _shows(self, tape: Tape, entries: Sequence[Entry], until: int) -> Shown | None:
        self.replayed += len(entries)
        self.tried += 1
        shown = self._question.shown_by(_with(tape, entries, until))
        if self._progress is not None:
            self._progress(len(entries), self.tried)
        return shown


def _by_round(entries: Sequence[Entry], openings: Sequence[int]) -> list[list[Entry]]:
    """The entries in pieces, each from the opening of a round to that of the next."""
    pieces: list[list[Entry]] = [[] for _ in range(len(openings) + 1)]
    for entry in entries:
        pieces[bisect_right(openings, entry.t)].append(entry)
    return [piece for piece in pieces if piece]


def _joined(pieces: Sequence[Sequence[Entry]]) -> list[Entry]:
    return [entry for piece in pieces for entry in piece]


def _with(tape: Tape, entries: Sequence[Entry], until: int) -> Tape:
    return tape.with_entries([*entries, End(until)])


def _rebased(shown: Shown) -> Shown:
    """The recording as one that begins with its first entry, to the whole millisecond."""
    tape = shown.tape
    start = tape.entries[0].t // _MS * _MS
    entries = [replace(entry, t=entry.t - start) for entry in tape.entries]
    expected: list[Line] = []
    for line in shown.expected:
        at = line.get("t")
        expected.append(line | {"t": _shifted(at, start)} if isinstance(at, int | float) else line)
    return Shown(Tape(tape.path, tape.beside, moved(tape.header, start), entries), expected)


def _shifted(at: float, start: int) -> float | int:
    ms = round(at * 1_000) - start * 1_000 // SECOND
    return ms // 1_000 if ms % 1_000 == 0 else ms / 1_000
