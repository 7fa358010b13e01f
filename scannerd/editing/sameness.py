"""What a smaller recording must still show: chosen events, or what another table decides otherwise.

Each question is asked of a recording and answered by a replay of it, the same way each time. It knows up to when the
recording matters, and which entries it can't do without.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from scannerd.editing.tape import Happened, Tape, happenings
from scannerd.errors import UsageError
from scannerd.messages import dumps
from scannerd.recording.replay import Line
from scannerd.registry import Registry
from scannerd.scanlog import Entry, Header


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
        self.what = f"this table tells {gist(mine)}, the other {gist(other)}"

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


def gist(line: Line | None) -> str:
    """What a line tells, without its time and its round."""
    return "nothing" if line is None else dumps({key: line.get(key) for key in ("type", "data")}).decode()
