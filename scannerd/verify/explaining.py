"""How a difference came about: the bytes, what the decoder made of them, the state, the rule, and what followed.

The recording is replayed once more, up to the place, with an ear at each decoder; so that nobody pays for it who does
not ask, and a recording of any length takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from scannerd.recorded_table import replay_of
from scannerd.registry import Registry
from scannerd.replay import Taken, seconds
from scannerd.scanlog import reading
from scannerd.verify.changes import rules_taken
from scannerd.verify.comparison import Difference
from scannerd.verify.describing import line_of
from scannerd.verify.expected import Expected
from scannerd.verify.listening import Heard, OverheardDriver
from scannerd.verify.picturing import (
    Named,
    bytes_shown,
    decision_in_words,
    event_in_words,
    reading_in_words,
    settings_in_words,
    state_in_words,
)

_WIDTH = 12


class Moment(NamedTuple):
    """A decision in a replay.

    Attributes:
        taken: the decision.
        line: the number of the recording's line that the replay had come to.
        heard: what the decoders made of that line.
    """

    taken: Taken
    line: int
    heard: tuple[Heard, ...]


def explained(recording: Path, difference: Difference, expected: Expected, registry: Registry) -> str:
    """The decision behind a difference, in lines; where nothing was told that was expected, what was decided then.

    Raises:
        ScannerdError: the recording or the file can't be used.
    """
    moment = _find(recording, difference, expected, registry)
    if moment is None:
        return "explained: nothing was decided before"
    return "\n".join(
        f"{name:{_WIDTH}}{text}".rstrip()
        for name, text in [("explained:", _what(difference)), *_lines(recording, moment)]
    )


def moments(recording: Path, registry: Registry) -> Iterator[Moment]:
    """Every decision of a recording.

    Raises:
        ScannerdError: the recording can't be used.
    """
    heard: list[tuple[int, Heard]] = []
    with reading(recording, _quiet) as reader:

        def hear(one: Heard) -> None:
            heard[:] = [*((line, told) for line, told in heard if line == reader.line), (reader.line, one)]

        replay = replay_of(
            reader.header, recording, registry, _quiet, lambda name, driver: OverheardDriver(name, driver, hear)
        )
        for taken in replay.play(iter(reader)):
            yield Moment(taken, reader.line, tuple(one for line, one in heard if line == reader.line))


def _find(recording: Path, difference: Difference, expected: Expected, registry: Registry) -> Moment | None:
    """The decision that told the line; of one that was not told, the last one until its time."""
    told, last = difference.told, None
    until = None if difference.wanted is None else expected.parsed(difference.wanted).get("t")
    for moment in moments(recording, registry):
        taken = moment.taken
        if told is not None:
            if told.taken is None or (moment.line == told.from_line and taken[:3] == told.taken[:3]):
                return moment
        elif isinstance(until, (int, float)) and seconds(taken.at) > until:
            return last
        last = moment
    return last


def _what(difference: Difference) -> str:
    if difference.told is None:
        return "what was decided last, when that was expected"
    return "the decision that told it"


def _lines(recording: Path, moment: Moment) -> Iterator[Named]:
    taken = moment.taken
    yield "entry", f"{recording}:{moment.line}: {line_of(recording, moment.line)}"
    for heard in moment.heard:
        yield from _heard(heard)
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
