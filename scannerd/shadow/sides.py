"""The two tables that are compared: that of the recording, and the one that a configuration would make of its bytes.

Neither opens a device, takes a lock, or has a journal: both are replays, which are exact. So a side is fed entry by
entry, and can be set to another's state where a round begins.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from scannerd.channel import Channel
from scannerd.config.settings import Config
from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.rules import Rule, rules_of
from scannerd.core.state import Setup, State
from scannerd.errors import UsageError
from scannerd.messages import data, dumps, told_rounds
from scannerd.recording.replay import SHOWN_ALARMS, Replay, Taken
from scannerd.scanlog import Chunk, End, Entry, Header

_WORDING: dict[str, tuple[str, ...]] = {
    d.ScanRejected.TYPE: ("raw_hex", "detail"),
    d.ScannerUp.TYPE: ("detail",),
    d.ScannerDown.TYPE: ("detail",),
    d.ScannerNotice.TYPE: ("detail",),
    d.AlarmRaised.TYPE: ("detail",),
    d.AlarmCleared.TYPE: ("detail",),
    d.RoundCompleted.TYPE: ("duration_ms",),
}
"""What another driver says in its own words, or a little sooner or later: no decision."""


class Place(NamedTuple):
    """Where in a recording something comes from: the file and its line."""

    recording: Path
    line: int


class Told(NamedTuple):
    """An event of one side.

    Attributes:
        at: its time, microseconds since the recording's start.
        place: the line that the side had come to.
        told: the event.
        round: the round that it belongs to.
        raw: the frame, or else the chunk, that led to it; empty where that was none.
        taken: the decision that told it.
    """

    at: int
    place: Place
    told: d.Told
    round: str | None
    raw: bytes
    taken: Taken

    @property
    def decided(self) -> dict[str, object]:
        """What is compared: `data` without what is mere wording."""
        return _decided(self.told)

    @property
    def gist(self) -> bytes:
        """Two events with the same gist are the same decision; a card that opens a round opens it as that card."""
        with_it = self.taken.told if isinstance(self.told, d.RoundOpened) else (self.told,)
        return dumps({str(one.TYPE): _decided(one) for one in with_it if one.TYPE})

    @property
    def rule(self) -> Rule:
        """The rule that decided: of a card that opened a round the opening goes back to one, all else to the other."""
        rules = rules_of(self.taken.before, self.taken.event, self.taken.told)
        return rules[0] if isinstance(self.told, d.RoundOpened) else rules[-1]


def _decided(told: d.Told) -> dict[str, object]:
    wording = _WORDING.get(told.TYPE, ())
    return {key: value for key, value in data(told).items() if key not in wording}


class Side:
    """One of the two tables."""

    def __init__(self, replay: Replay) -> None:
        """Begins where the replay does."""
        self._replay = replay

    @property
    def state(self) -> State:
        """The table as it is now."""
        return self._replay.state

    def take(self, entry: Entry, place: Place) -> list[Told]:
        """What is decided up to an entry, and of it."""
        chunk = entry.data if isinstance(entry, Chunk) else b""
        made: list[Told] = []
        for taken in self._replay.play(iter((entry,))):
            made += _told(taken, place, chunk)
        return made

    def run_to(self, t: int, place: Place) -> list[Told]:
        """What is decided up to a time, microseconds, though nothing comes."""
        return self.take(End(t), place)

    def go_on_from(self, state: State) -> None:
        """Takes another table's state for its own, but for the rules."""
        self._replay.state = state._replace(setup=self._replay.state.setup)


def side_of_config(config: Config, header: Header, warn: Callable[[str], None]) -> Side:
    """The table that a configuration makes of a recording's scanners.

    Args:
        config: the configuration; its scanners go by the names in the recording.
        header: the recording's first line.
        warn: told of what is ignored.

    Raises:
        UsageError: a scanner of the recording has no stanza in the configuration.
    """
    stanzas = {scanner.name: scanner for scanner in config.scanners}
    for name in header.scanners:
        if name not in stanzas:
            known = ", ".join(stanzas)
            raise UsageError(
                f"{config.path}: scanner {name!r} of the live table is not configured, there: {known}; give the stanza "
                "that is to read its bytes the same name"
            )
    channels = {
        name: Channel(name, scanner.make_driver(), scanner.codebook, scanner.hand, 0)
        for name, scanner in stanzas.items()
    }
    setup = Setup(header.table, config.plan, config.round.rules(), tuple(stanzas))
    return Side(Replay(setup, channels, header.recorded_at, warn, header.rounds_before or 0))


def _told(taken: Taken, place: Place, chunk: bytes) -> list[Told]:
    raw = _raw(taken.event, chunk)
    return [
        Told(told.at, place, told, round_id, raw, taken)
        for told, round_id in told_rounds(taken.told, taken.before)
        if not isinstance(told, d.AlarmRaised | d.AlarmCleared) or told.alarm in SHOWN_ALARMS
    ]


def _raw(event: e.Event, chunk: bytes) -> bytes:
    """The bytes behind what the core was told; a deadline, a command and a loss have none."""
    if isinstance(event, e.Read | e.FailedRead):
        return event.raw or chunk
    return chunk if isinstance(event, e.Noticed) else b""
