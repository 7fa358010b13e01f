"""A journal's events as a replay would tell them, at their times on a recording.

Left out is what a recording can't hold: a daemon's starts and stops, alarms of the process and the machine, the clock.
A start tells of each scanner anew, and a replay, which knows of no start, tells only what changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import orjson

from scannerd.core import decisions as d
from scannerd.editing.tape import Happened
from scannerd.journal import JournalReader, Record
from scannerd.messages import TOLD, microseconds, utc
from scannerd.recording.replay import SHOWN_ALARMS, Line, seconds

_LEFT_OUT = (d.DaemonStarted, d.DaemonStopped, d.ClockStepped, d.SelfChecked, d.JournalTrimmed)
_SHOWN = frozenset(TOLD) - {told.TYPE for told in _LEFT_OUT}
_ALARMS = frozenset((d.AlarmRaised.TYPE, d.AlarmCleared.TYPE))
_LINKS = {d.ScannerUp.TYPE: True, d.ScannerDown.TYPE: False}


class Noted(NamedTuple):
    """An event of a journal: its number, and what a replay tells of it."""

    seq: int
    told: Happened


def story(
    reader: JournalReader, first: int, base: int, *, down: Iterable[str], upto: int | None = None
) -> Iterator[Noted]:
    """The events from seq `first` on that a replay can tell.

    Args:
        reader: the journal.
        first: the first seq.
        base: when the recording began, microseconds since 1970.
        down: the scanners that were down then.
        upto: the last seq; None: all.

    Raises:
        JournalError: the journal can't be read.
    """
    stepped, links = 0, dict.fromkeys(down, False)
    for record in reader.walk(first - 1, upto):
        data = orjson.loads(record.body)["data"]
        if record.type == d.ClockStepped.TYPE:
            stepped += data["by_ms"] * 1_000  # times of events behind it are of the new clock
        elif _is_told(record, data) and _changes(record, data, links):
            at = microseconds(record.at) - base - stepped
            line: Line = {"t": seconds(at), "type": record.type, "round": record.round, "data": data}
            yield Noted(record.seq, Happened(at, line, data))


def first_since(reader: JournalReader, wall: int) -> int:
    """The seq of the first event at or after a time, or that of the next one; times follow the seqs closely.

    Args:
        reader: the journal.
        wall: microseconds since 1970.

    Raises:
        JournalError: the journal can't be read.
    """
    meta, time = reader.meta(), utc(wall)
    low, high = meta.trimmed.head.seq + 1, meta.head.seq + 1
    while low < high:
        middle = (low + high) // 2
        if reader.records(middle - 1, 1)[0].at < time:
            low = middle + 1
        else:
            high = middle
    return low


def _is_told(record: Record, data: dict[str, object]) -> bool:
    return record.type in _SHOWN and (record.type not in _ALARMS or data["alarm"] in SHOWN_ALARMS)


def _changes(record: Record, data: dict[str, object], links: dict[str, bool]) -> bool:
    """Whether an event is news: an `up` or `down` that changes nothing is none."""
    if record.type not in _LINKS:
        return True
    scanner, up = str(data["scanner"]), _LINKS[record.type]
    was, links[scanner] = links.get(scanner, True), up
    return was != up
