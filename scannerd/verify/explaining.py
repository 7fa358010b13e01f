"""How a difference came about: the bytes, what the decoder made of them, the state, the rule, and what followed.

The recording is replayed once more, up to the place, with an ear at each decoder; so that nobody pays for it who does
not ask, and a recording of any length takes no memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from scannerd.core.events import Deadline
from scannerd.core.state import State
from scannerd.recording.recorded_table import replay_of
from scannerd.recording.replay import Taken, seconds
from scannerd.registry import Registry
from scannerd.scanlog import ScanlogReader, reading
from scannerd.verify.changes import rules_taken
from scannerd.verify.comparison import Difference, Told
from scannerd.verify.describing import line_of
from scannerd.verify.expected import Expected
from scannerd.verify.listening import Heard, OverheardDriver
from scannerd.verify.picturing import (
    Named,
    bytes_shown,
    decision_in_words,
    event_in_words,
    prompt_in_words,
    reading_in_words,
    settings_in_words,
    state_in_words,
)

_WIDTH = 12

_HEARD = 16
"""How many chunks before a decision are shown, the last ones."""


class _Given(NamedTuple):
    """What a decoder was given, and the number of the line that the replay had come to."""

    line: int
    heard: Heard


class _Moment(NamedTuple):
    """A decision, and the number of the line that the replay had come to."""

    taken: Taken
    line: int


class _Listening:
    """A replay with an ear at its decoders.

    Attributes:
        given: what the decoders were given since the decision before the last one, or the last one if a line was read
            since; the last few.
    """

    def __init__(self, reader: ScanlogReader, recording: Path, registry: Registry) -> None:
        self._reader = reader
        self._decided = 0
        self.given: deque[_Given] = deque(maxlen=_HEARD)
        self._replay = replay_of(
            reader.header, recording, registry, _quiet, lambda name, driver: OverheardDriver(name, driver, self._hear)
        )

    @property
    def state(self) -> State:
        """The table as it is now."""
        return self._replay.state

    def moments(self) -> Iterator[_Moment]:
        for taken in self._replay.play(iter(self._reader)):
            if taken.told or not isinstance(taken.event, Deadline):
                self._forget()
                self._decided = self._reader.line
                yield _Moment(taken, self._reader.line)

    def _hear(self, heard: Heard) -> None:
        self._forget()
        self.given.append(_Given(self._reader.line, heard))

    def _forget(self) -> None:
        """What was given before the last decision is none of what is decided on another line."""
        if self._decided and self._reader.line != self._decided:
            self.given.clear()
            self._decided = 0


def explained(recording: Path, difference: Difference, expected: Expected, registry: Registry) -> str:
    """The decision behind a difference, in lines; where nothing was told that was expected, the last one until then.

    Raises:
        ScannerdError: the recording or the file can't be used.
    """
    with reading(recording, _quiet) as reader:
        listening = _Listening(reader, recording, registry)
        if difference.told is None:
            lines = list(_not_told(recording, _time_of(difference, expected), listening))
        else:
            lines = list(_told(recording, difference.told, listening))
    return "\n".join(f"{name:{_WIDTH}}{text}".rstrip() for name, text in lines)


def _time_of(difference: Difference, expected: Expected) -> float:
    """`t` of the line that was expected; one without it is looked for to the end."""
    t = None if difference.wanted is None else expected.parsed(difference.wanted).get("t")
    return t if isinstance(t, (int, float)) else float("inf")


def _told(recording: Path, told: Told, listening: _Listening) -> Iterator[Named]:
    if told.taken is None:
        yield "explained:", "the prompt before anything was decided"
        yield "prompt", prompt_in_words(listening.state)
        return
    wanted = told.taken[:3]
    taken, line = next(one for one in listening.moments() if one.line == told.from_line and one.taken[:3] == wanted)
    yield "explained:", "the decision that told it"
    yield from _entries(recording, _given_to(taken, listening), line)
    yield from _decision(taken)
    if told.kind == "prompt":
        yield "prompt", prompt_in_words(taken.after)


def _given_to(taken: Taken, listening: _Listening) -> tuple[_Given, ...]:
    """What led to a decision; to that of a deadline nothing, whatever came at the same entry."""
    return () if isinstance(taken.event, Deadline) else tuple(listening.given)


def _not_told(recording: Path, until: float, listening: _Listening) -> Iterator[Named]:
    """The last decision until then, and what came after it without one."""
    last: _Moment | None = None
    given: tuple[_Given, ...] = ()
    for moment in listening.moments():
        if seconds(moment.taken.at) > until:
            break
        last, given = moment, _given_to(moment.taken, listening)
    if last is None:
        yield "explained:", "nothing was decided until then"
    else:
        yield "explained:", "the last decision until then"
        yield from _entries(recording, given, last.line)
        yield from _decision(last.taken)
    since = 0 if last is None else last.line
    later = [one for one in listening.given if one.line > since and seconds(one.heard.at) <= until]
    if later:
        yield "then:", "without a decision"
        yield from _entries(recording, later)


def _entries(recording: Path, given: Iterable[_Given], line: int = 0) -> Iterator[Named]:
    """Each line with what the decoder made of it; `line` too, if no decoder was given anything of it."""
    shown = 0
    for one in given:
        if one.line != shown:
            yield _entry(recording, one.line)
        yield from _heard(one.heard)
        shown = one.line
    if line and shown != line:
        yield _entry(recording, line)


def _entry(recording: Path, line: int) -> Named:
    return "entry", f"{recording}:{line}: {line_of(recording, line)}"


def _decision(taken: Taken) -> Iterator[Named]:
    yield "event", f"t {seconds(taken.at)}: {event_in_words(taken.event)}"
    before = [*state_in_words(taken.before, taken.at), ("settings", settings_in_words(taken.before))]
    yield from _under("before", before)
    for rule in rules_taken(taken):
        yield "rule", f"{rule.name}: {rule.when} -> {rule.verdict}"
    yield from (("decided", decision_in_words(one)) for one in taken.told)
    if not taken.told:
        yield "decided", "nothing"
    after = [*state_in_words(taken.after, taken.at), before[-1]]
    yield from _under("after", _changed(before, after) or [("all", "as before")])


def _heard(heard: Heard) -> Iterator[Named]:
    if heard.how == "bytes":
        rows = bytes_shown(heard.data)
        yield from zip(["bytes", *[""] * (len(rows) - 1)], [f"{heard.scanner}: {row}" for row in rows], strict=True)
    else:
        yield "bytes", f"{heard.scanner}: none, but {heard.how} at t {seconds(heard.at)}"
    yield from (("decoded", reading_in_words(one)) for one in heard.readings)
    if heard.pending:
        yield "pending", f"{heard.pending.hex(' ')}: more is waited for"
    elif not heard.readings:
        yield "decoded", "nothing"


def _under(title: str, lines: list[Named]) -> Iterator[Named]:
    """Lines under one title, which stands before the first."""
    for place, (name, text) in enumerate(lines):
        yield "" if place else title, f"{name}: {text}"


def _changed(before: list[Named], after: list[Named]) -> list[Named]:
    """The lines that are not as before, those that are gone among them."""
    names = {name for name, _ in after}
    return [one for one in after if one not in before] + [(name, "no more") for name, _ in before if name not in names]


def _quiet(text: str) -> None:
    del text
