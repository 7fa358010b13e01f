"""A smaller recording must still show the first difference from an expected file.

What is left of the expected events shrinks with it: those that are told again before the difference, and those of the
difference's own time. Rounds that the table numbered itself may have lower numbers then.
"""

from __future__ import annotations

from collections.abc import Sequence

from scannerd.editing.sameness import Shown, gist
from scannerd.editing.tape import Happened, Tape, happenings
from scannerd.errors import UsageError
from scannerd.recording.replay import Line
from scannerd.registry import Registry
from scannerd.scanlog import SECOND, Chunk, Entry, Link, Order
from scannerd.verify.expected import Expected, kind, unequal

AHEAD = 32
"""Lines ahead in which what was expected may still come, or what was told is expected."""


class DiffersFromExpected:
    """The first difference from an expected file is still the same: what came before is told as expected."""

    def __init__(self, tape: Tape, expected: Expected, registry: Registry) -> None:
        """Finds the difference in the whole recording.

        Raises:
            UsageError: there is none, or the file holds prompts only.
            ScannerdError: the recording or the file can't be used.
        """
        if "event" not in expected.kinds:
            raise UsageError(f"{expected.path}: holds prompts only: it is events that are compared here")
        self._registry, self._table = registry, tape.header.table
        lines = [line for line in map(expected.parsed, expected) if kind(line) == "event"]
        happened = happenings(tape, registry)
        self.openings: Sequence[int] = [one.at for one in happened if one.opening]
        told = [one.line for one in happened]
        at = next(
            (at for at, pair in enumerate(zip(lines, told, strict=False)) if unequal(*pair)), min(len(lines), len(told))
        )
        if at == len(lines) == len(told):
            raise UsageError(f"{tape.path}: there is no difference from {expected.path} to keep")
        self._before = lines[:at]
        self._wanted, self._told = _first(lines[at : at + AHEAD], told[at : at + AHEAD])
        times = [_time(line) for line in (self._wanted, self._told) if line is not None]
        self.until = max(times)
        self._rest = [line for line in lines[at + (self._wanted is not None) :] if _time(line) <= self.until]
        self._then = [line for line in told[at:] if _time(line) <= self.until]
        causes = [entry.t for entry in tape.entries if entry.t <= times[0] and isinstance(entry, Chunk | Link | Order)]
        self._cause = causes[-1] if causes else 0
        self.what = f"expected {gist(self._wanted)}, told {gist(self._told)}"

    def shown_by(self, tape: Tape) -> Shown | None:
        """The recording, if the difference comes and nothing else before it."""
        kept: list[Line] = []
        left, rounds = iter(self._before), _Rounds(self._table)
        for one in happenings(tape, self._registry):
            expected = next((wanted for wanted in left if rounds.agree(wanted, one.line)), None)
            if expected is not None:
                kept.append(expected | {"round": one.line["round"]})
            else:
                return self._shown(tape, kept, rounds) if self._differs(one, rounds) else None
        return self._shown(tape, kept, rounds) if self._told is None else None

    def _differs(self, one: Happened, rounds: _Rounds) -> bool:
        """Whether an event that was not told before is the difference, or comes where a missing one should have."""
        awaited = self._then if self._told is None else [self._told]
        return any(rounds.agree(line, one.line) for line in awaited)

    def needs(self, entry: Entry) -> bool:
        """What an expected event that is not told would have come from; without it nobody would expect it."""
        return self._told is None and entry.t == self._cause

    def _shown(self, tape: Tape, kept: list[Line], rounds: _Rounds) -> Shown:
        """With what is expected at that time, so that the recording is as expected once the difference is mended."""
        wanted = [] if self._wanted is None else [self._wanted]
        return Shown(tape, kept + [rounds.renumbered(line) for line in (*wanted, *self._rest)])


class _Rounds:
    """The rounds of a smaller recording beside those of the whole: the ids that the table gives count all of them."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._was: dict[str, str] = {}

    def agree(self, wanted: Line, told: Line) -> bool:
        """Whether a line is told as it was in the whole, its round being the same one, whatever its number is now."""
        was, now = str(wanted.get("round")), str(told["round"])
        if not (self._own(was) and self._own(now) and self._was.get(now, was) == was):
            return not unequal(wanted, told)
        if unequal(wanted, told | {"round": was}):
            return False
        self._was[now] = was
        return True

    def renumbered(self, line: Line) -> Line:
        """A line of the whole with the number that its round has now."""
        now = next((now for now, was in self._was.items() if was == line.get("round")), None)
        return line if now is None else line | {"round": now}

    def _own(self, round_id: str) -> bool:
        """Whether the table itself gave an id."""
        table, _, number = round_id.rpartition("/")
        return table == self._table and number.isdecimal()


def _first(wanted: Sequence[Line], told: Sequence[Line]) -> tuple[Line | None, Line | None]:
    """Of lines that differ at once: what was expected and what was told; None: the one is there, but later."""
    if not wanted or not told:
        return (wanted[0] if wanted else None), (told[0] if told else None)
    if any(not unequal(later, told[0]) for later in wanted[1:]):
        return wanted[0], None
    if any(not unequal(wanted[0], later) for later in told[1:]):
        return None, told[0]
    if wanted[0].get("type") == told[0].get("type") or _time(wanted[0]) == _time(told[0]):
        return wanted[0], told[0]
    return (wanted[0], None) if _time(wanted[0]) < _time(told[0]) else (None, told[0])


def _time(line: Line) -> int:
    at = line.get("t")
    return round(at * SECOND) if isinstance(at, int | float) else 0
