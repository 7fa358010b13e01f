"""A recording as a person reads it: what came, what was made of it, what was decided, what the dealer was asked."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Literal, NamedTuple, TypeAlias, assert_never

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.prompts import Prompt, prompt
from scannerd.messages import dumps
from scannerd.recording.replay import SHOWN_ALARMS, Replay, Taken
from scannerd.scanlog import Broker, Chunk, End, Entry, Link, Order, Sent
from scannerd.texts import texts
from scannerd.verify.picturing import bytes_shown, event_in_words

Kind: TypeAlias = Literal[
    "bytes",
    "sent",
    "link",
    "command",
    "broker",
    "end",
    "decoded",
    "nothing",
    "refused",
    "event",
    "prompt",
    "note",
]
Tone: TypeAlias = Literal["plain", "good", "bad", "faint", "strong"]
"""What a colour may stress; the words say it too."""

_BYTES_IN_ROW = 24
"""Most records fit into one row."""

_NEVER_SHOWN = frozenset({"at", "round", "scanner", "hand", "index", "raw_hex", "plan", "cards"})
"""Fields of decisions that other columns and lines say."""

_GOOD = (d.CardAccepted, d.RoundCompleted)
_BAD = (d.ScanRejected, d.CardWithdrawn, d.RoundHeld, d.RoundVoided, d.ScannerDown, d.AlarmRaised)
_ALARMS = (d.AlarmRaised, d.AlarmCleared)


class Row(NamedTuple):
    """A line of the timeline.

    Attributes:
        t: microseconds.
        scanner: whose it is; empty where it is nobody's.
        kind: what is told.
        text: it.
        tone: how it may be stressed.
    """

    t: int
    scanner: str
    kind: Kind
    text: str
    tone: Tone = "plain"


def timeline(
    entries: Iterable[Entry], play: Callable[[Callable[[str], None]], Replay], language: str = "en"
) -> Iterator[Row]:
    """The lines, in the order of their times; of what happened at one time the cause comes first.

    Args:
        entries: of the recording.
        play: makes the replay, given whom to tell of what is ignored.
        language: of the dealer's sentences.

    Raises:
        ScanlogError: the recording can't be used.
    """
    notes: list[str] = []
    pulled: deque[Entry] = deque()
    replay = play(notes.append)
    shown = prompt(replay.state)
    yield _asked(0, shown, language)
    for taken in replay.play(_noting(entries, pulled)):
        yield from _entries(pulled, taken.at + (not isinstance(taken.event, e.Deadline)), notes)
        yield from _decided(taken)
        now = prompt(taken.after)
        if now != shown:
            yield _asked(taken.at, now, language)
            shown = now
    yield from _entries(pulled, None, notes)


def _noting(entries: Iterable[Entry], pulled: deque[Entry]) -> Iterator[Entry]:
    for entry in entries:
        pulled.append(entry)
        yield entry


def _entries(pulled: deque[Entry], before: int | None, notes: list[str]) -> Iterator[Row]:
    """The entries that came before a time; None: all."""
    while pulled and (before is None or pulled[0].t < before):
        entry = pulled.popleft()
        yield from _entry(entry)
        yield from (Row(entry.t, "", "note", note, "bad") for note in notes)
        notes.clear()


def _entry(entry: Entry) -> Iterator[Row]:
    match entry:
        case Chunk():
            late = " (late)" if entry.stale else ""
            yield from (Row(entry.t, entry.scanner, "bytes", row + late) for row in _bytes(entry.data))
        case Sent():
            yield from (Row(entry.t, entry.scanner, "sent", row, "faint") for row in _bytes(entry.data))
        case Link():
            detail = f": {one_line(entry.detail)}" if entry.detail else ""
            yield Row(entry.t, entry.scanner, "link", ("up" if entry.up else "down") + detail)
        case Order():
            yield Row(entry.t, "", "command", f"{one_line(entry.name)} {dumps(entry.args).decode()}")
        case Broker():
            yield Row(entry.t, "", "broker", "up" if entry.up else "down")
        case End():
            yield Row(entry.t, "", "end", "of the recording", "faint")
        case _ as never:
            assert_never(never)


def _bytes(data: bytes) -> list[str]:
    return bytes_shown(data, _BYTES_IN_ROW) or ["none"]


def _decided(taken: Taken) -> Iterator[Row]:
    event = taken.event
    if isinstance(event, e.Read | e.FailedRead | e.Noticed):
        yield Row(taken.at, event.scanner, "decoded", one_line(event_in_words(event)))
    yield from (row for told in taken.told if (row := _decision(told, taken)) is not None)


def _decision(told: d.Decision, taken: Taken) -> Row | None:
    """A decision; None: one that other lines tell, or that is of the machine alone."""
    if isinstance(told, d.BrokerSwitched) or (isinstance(told, _ALARMS) and told.alarm not in SHOWN_ALARMS):
        return None
    if isinstance(told, d.Bounced):
        return Row(told.at, told.scanner, "nothing", f"a bounce of {one_line(told.what)}: counted only", "faint")
    if isinstance(told, d.Refused):
        return Row(told.at, "", "refused", f"{told.error}: {one_line(told.message)}", "bad")
    tone: Tone = "good" if isinstance(told, _GOOD) else "bad" if isinstance(told, _BAD) else "plain"
    where = f" {taken.after.round.id}" if isinstance(told, d.RoundOpened) and taken.after.round else ""
    values = ((field.name, getattr(told, field.name)) for field in fields(told) if field.name not in _NEVER_SHOWN)
    said = " ".join(f"{name}={_value(value)}" for name, value in values if value is not None)
    return Row(told.at, str(getattr(told, "scanner", None) or ""), "event", f"{told.TYPE}{where} {said}".rstrip(), tone)


def _asked(t: int, shown: Prompt, language: str) -> Row:
    return Row(t, "", "prompt", f"{shown.code}: {one_line(texts(language).sentence(shown))}", "strong")


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    text = str(value)
    return text if text and text.isprintable() and " " not in text else dumps({"": text}).decode()[4:-1]


def one_line(text: str) -> str:
    """Text that any terminal prints on one line."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
