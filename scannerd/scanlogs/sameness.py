"""What a smaller recording must still show: chosen events, a difference from what is expected, or from another table.

Each question is asked of a recording and answered by a replay of it, the same way each time. It knows up to when the
recording matters, and which entries it can't do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from scannerd.errors import UsageError
from scannerd.messages import dumps
from scannerd.registry import Registry
from scannerd.replay import Line
from scannerd.scanlog import SECOND, Chunk, Entry, Header, Link, Order
from scannerd.scanlogs.tape import Happened, Tape, happenings
from scannerd.verify.expected import Expected, kind, unequal

AHEAD = 32
"""Lines ahead in which what was expected may still come, or what was told is expected."""


class Shown(NamedTuple):
    """A recording that shows what is asked for, and the events to expect of it."""

    tape: Tape
    expected: list[Line]


class Question(Protocol):
    """What a recording must show.

    Attributes:
        until: the time up to which the recording matters, microseconds.
        openings: when the recording opened rounds, microseconds.
        what: it, in words.
    """

    until: int
    openings: Sequence[int]
    what: str

    def shown_by(self, tape: Tape) -> Shown | None:
        """Replays a recording; None: it does not show it."""

    def needs(self, entry: Entry) -> bool:
        """Whether a recording without this entry shows nothing, whatever it tells."""


class Keeps:
    """The events of some types or reasons are still told."""

    def __init__(self, tape: Tape, words: Sequence[str], registry: Registry) -> None:
        """Finds them in the whole recording.

        Args:
            tape: the recording.
            words: types, reasons, or alarms.
            registry: the drivers at hand.

        Raises:
            UsageError: one of them is not told.
            ScanlogError: the recording can't be replayed.
        """
        self._words, self._registry = words, registry
        told = happenings(tape, registry)
        first: dict[str, int] = {}
        for one in told:
            for word in _words(one):
                first.setdefault(word, one.at)
        for word in words:
            if word not in first:
                raise UsageError(
                    f"{tape.path}: {word!r} is not told; told are: {', '.join(sorted(first)) or 'no events'}"
                )
        self.until = max(first[word] for word in words)
        self.openings: Sequence[int] = [one.at for one in told if one.opening]
        self.what = f"tells {' and '.join(words)}"

    def shown_by(self, tape: Tape) -> Shown | None:
        """The recording, if the events are told."""
        told = happenings(tape, self._registry)
        found = {word for one in told for word in _words(one)}
        return Shown(tape, [one.line for one in told]) if found.issuperset(self._words) else None

    def needs(self, entry: Entry) -> bool:
        """None in particular."""
        del entry
        return False


class DiffersFromExpected:
    """The first difference from an expected file is still the same: what came before is told as expected."""

    def __init__(self, tape: Tape, expected: Expected, registry: Registry) -> None:
        """Finds the difference in the whole recording.

        Raises:
            UsageError: there is none.
            ScannerdError: the recording or the file can't be used.
        """
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
        causes = [entry.t for entry in tape.entries if entry.t <= times[0] and isinstance(entry, Chunk | Link | Order)]
        self._cause = causes[-1] if causes else 0
        self.what = f"expected {_gist(self._wanted)}, told {_gist(self._told)}"

    def shown_by(self, tape: Tape) -> Shown | None:
        """The recording, if the difference comes and nothing else before it."""
        kept: list[Line] = []
        left, rounds = iter(self._before), _Rounds(self._table)
        for one in happenings(tape, self._registry):
            expected = next((wanted for wanted in left if rounds.agree(wanted, one.line)), None)
            if expected is not None:
                kept.append(expected | {"round": one.line["round"]})
            elif self._told is not None and rounds.agree(self._told, one.line):
                return self._shown(tape, kept, rounds)
            else:
                return None
        return self._shown(tape, kept, rounds) if self._told is None else None

    def needs(self, entry: Entry) -> bool:
        """What an expected event that is not told would have come from; without it nobody would expect it."""
        return self._told is None and entry.t == self._cause

    def _shown(self, tape: Tape, kept: list[Line], rounds: _Rounds) -> Shown:
        return Shown(tape, kept if self._wanted is None else [*kept, rounds.renumbered(self._wanted)])


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


class DiffersFromTable:
    """The first event that another table decides otherwise is still the same."""

    def __init__(self, tape: Tape, header: Header, beside: Path, registry: Registry) -> None:
        """Finds it in the whole recording.

        Args:
            tape: the recording.
            header: the other table; its scanners have the names of the recording's.
            beside: the folder in which the other table's codebooks and games are looked for.
            registry: the drivers at hand.

        Raises:
            UsageError: both decide the same.
            ScanlogError: the recording can't be replayed, or not by the other table.
        """
        self._header, self._beside, self._registry = header, beside, registry
        self.openings: Sequence[int] = [one.at for one in happenings(tape, registry) if one.opening]
        found = self._differing(tape)
        if found is None:
            raise UsageError(f"{tape.path}: both tables decide the same")
        self._sides = tuple(map(_decided, found))
        self.until = max(one.at for one in found if one is not None)
        mine, other = (one and one.line for one in found)
        self.what = f"this table tells {_gist(mine)}, the other {_gist(other)}"

    def shown_by(self, tape: Tape) -> Shown | None:
        """The recording, if the two differ first in the same event."""
        found = self._differing(tape)
        if found is None or tuple(map(_decided, found)) != self._sides:
            return None
        return Shown(tape, [one.line for one in happenings(tape, self._registry)])

    def needs(self, entry: Entry) -> bool:
        """None in particular."""
        del entry
        return False

    def _differing(self, tape: Tape) -> tuple[Happened | None, Happened | None] | None:
        mine = happenings(tape, self._registry)
        header = self._header.model_copy(update={"rounds_before": tape.header.rounds_before})
        others = happenings(Tape(tape.path, self._beside, header, tape.entries), self._registry)
        for at in range(max(len(mine), len(others))):
            one, other = (side[at] if at < len(side) else None for side in (mine, others))
            if one is None or other is None:
                return one, other
            if one.line != other.line:
                return _by_time(one, other)
        return None


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


def _by_time(one: Happened, other: Happened) -> tuple[Happened | None, Happened | None]:
    """Of events that differ the earlier; both, where they are the same kind of event, or come at one time."""
    if one.line["type"] == other.line["type"] or one.at == other.at:
        return one, other
    return (one, None) if one.at < other.at else (None, other)


def _words(one: Happened) -> set[str]:
    """What an event may be called by: its type, its reason, its alarm."""
    return {word for word in (one.line["type"], one.data.get("reason"), one.data.get("alarm")) if isinstance(word, str)}


def _decided(one: Happened | None) -> object:
    return None if one is None else (one.line["type"], one.data)


def _time(line: Line) -> int:
    at = line.get("t")
    return round(at * SECOND) if isinstance(at, int | float) else 0


def _gist(line: Line | None) -> str:
    return "nothing" if line is None else dumps({key: line.get(key) for key in ("type", "data")}).decode()
