"""A piece of a recording that stands alone: it begins with what stood then, and replays to the same events.

A piece that begins with its first card can miss what the daemon knew by then: half a frame, the card that still lay on
the scanner, the end of the round before. So a piece for certain events is cut as short as can be, replayed, and cut
again from further back until it tells them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

from scannerd.editing.tape import Happened, Tape, happenings, moved
from scannerd.messages import dumps
from scannerd.registry import Registry
from scannerd.scanlog import Broker, End, Entry, Link, Order

MS = 1_000

NEAR = 50 * MS
"""Microseconds by which the time of an event may miss that of the entry that led to it, where it is told by the time of
day: a busy machine reads its two clocks that far from each other at times."""

NEAREST = 12
"""So many entries about its first event may be the one that a piece begins with."""

LEADS = (0, 250 * MS, 1_000 * MS, 5_000 * MS)
"""How long before its first event a piece begins else, microseconds; then it is from round to round."""


_COMPARED = ("type", "round", "data")


class Wanted(NamedTuple):
    """What a piece is to tell at its end.

    Attributes:
        events: as a replay gives them; their times are not compared.
        begin: when the first of them was told, or the span began, microseconds.
        stop: the last moment that the piece may need; where `round` is said, it ends with the last event.
        openings: when each round was opened, in order, up to `stop`.
        round: the round whose events they are; None: all that is told until `stop`.
        slack_ms: by how much the length of a round may differ: times of several files are told by the time of day.
    """

    events: Sequence[Happened]
    begin: int
    stop: int
    openings: Sequence[int]
    round: str | None = None
    slack_ms: int = 0


class Piece(NamedTuple):
    """A piece of a recording.

    Attributes:
        tape: the recording.
        start: where it begins in the one it was cut from, microseconds.
        told: the events it gives, at its own times.
        exact: whether it ends with the events that were wanted, but for what else their last entry led to.
    """

    tape: Tape
    start: int
    told: list[Happened]
    exact: bool


def cut(tape: Tape, start: int, stop: int, rounds_before: int = 0) -> Tape:
    """What was recorded from `start` to `stop`, both included, with what stood at `start`.

    A command whose id had come before is left out: it did nothing then, and alone it would be carried out.

    Args:
        tape: the recording.
        start: microseconds; a whole millisecond keeps the times of events as they are printed.
        stop: microseconds.
        rounds_before: how many rounds had been opened by `start`.
    """
    standing: dict[str, Link | Broker] = {}
    ids: set[object] = set()
    kept: list[Entry] = []
    for entry in tape.entries:
        if entry.t > stop:
            break
        repeated = isinstance(entry, Order) and entry.args.get("id") in ids
        if entry.t >= start and not repeated and not isinstance(entry, End):
            kept.append(replace(entry, t=entry.t - start))
        elif isinstance(entry, Order) and isinstance(entry.args.get("id"), str):
            ids.add(entry.args["id"])
        elif isinstance(entry, Link | Broker):
            standing[entry.scanner if isinstance(entry, Link) else ""] = entry
    stood = [replace(entry, t=0) for entry in standing.values() if not entry.up]
    header = moved(tape.header, start).model_copy(update={"rounds_before": rounds_before or None})
    return Tape(tape.path, tape.beside, header, (*stood, *kept, End(max(0, stop - start))))


def piece(tape: Tape, wanted: Wanted, registry: Registry) -> Piece:
    """The shortest of some pieces that tells what is wanted; the first of them, where none does.

    Raises:
        ScanlogError: the recording can't be replayed.
    """
    pieces = (_piece(tape, wanted, start, registry) for start in dict.fromkeys(_starts(tape, wanted)))
    first = next(pieces)
    return first if first.exact else next((one for one in pieces if one.exact), first)


def difference(piece: Piece, wanted: Wanted) -> str:
    """The first event that a piece tells otherwise, in words; empty where it is exact."""
    if piece.exact:
        return ""
    own = [one for one in piece.told if one.at + piece.start >= wanted.begin - NEAR]
    for one, other in zip_longest(wanted.events, own):
        if one is None or other is None or not _same(one, other, wanted.slack_ms):
            return f"expected {_gist(one)}, told {_gist(other)}"
    return "the events are told before their time"


def _piece(tape: Tape, wanted: Wanted, start: int, registry: Registry) -> Piece:
    before = (tape.header.rounds_before or 0) + sum(opening < start - NEAR for opening in wanted.openings)
    made = cut(tape, start, wanted.stop, before)
    told = happenings(made, registry)
    end = _end_of(told, wanted)
    if wanted.round is not None and end and all(one.line["round"] != wanted.round for one in told[end:]):
        made = cut(tape, start, start + told[end - 1].at, before)
        told = happenings(made, registry)
        end = _end_of(told, wanted)
    if end is None:
        return Piece(made, start, told, exact=False)
    last = told[end - 1].at if end else 0
    return Piece(made, start, told, exact=all(one.at == last for one in told[end:]))


def _end_of(told: list[Happened], wanted: Wanted) -> int | None:
    """The place behind the wanted events, which must be told one right after the other; None: they are not.

    Where nothing is wanted, what stood at the start is told at once.
    """
    count = len(wanted.events)
    if not count:
        return sum(one.at == 0 for one in told)
    for end in range(len(told), count - 1, -1):
        if all(
            _same(one, other, wanted.slack_ms)
            for one, other in zip(wanted.events, told[end - count : end], strict=True)
        ):
            return end
    return None


def _starts(tape: Tape, wanted: Wanted) -> Iterator[int]:
    """Where a piece may begin, whole milliseconds, the nearest first."""
    yield from _entries_at(tape, wanted.begin)
    yield from (max(0, wanted.begin - lead) // MS * MS for lead in LEADS)
    earlier = [opening for opening in wanted.openings if opening < wanted.begin - NEAR]
    back = 1
    while back <= len(earlier):
        yield from _entries_at(tape, earlier[-back])
        yield max(0, earlier[-back] - LEADS[2]) // MS * MS
        back *= 2
    yield 0


def _entries_at(tape: Tape, t: int) -> list[int]:
    """The times of the entries about a time, the nearest first."""
    times = [entry.t for entry in tape.entries if t - NEAR <= entry.t <= t + NEAR]
    return [time // MS * MS for time in sorted(times, key=lambda time: abs(time - t))[:NEAREST]]


def _same(wanted: Happened, told: Happened, slack_ms: int) -> bool:
    """Whether both are the same event; `data` may have got more keys since what is wanted was written."""
    one, other = wanted.line, told.line
    if (one["type"], one["round"]) != (other["type"], other["round"]):
        return False
    return all(key in told.data and _equal(key, value, told.data[key], slack_ms) for key, value in wanted.data.items())


def _equal(key: str, wanted: object, told: object, slack_ms: int) -> bool:
    if key == "duration_ms" and isinstance(wanted, int) and isinstance(told, int):
        return abs(wanted - told) <= slack_ms
    return wanted == told


def _gist(one: Happened | None) -> str:
    return "nothing" if one is None else dumps({key: one.line[key] for key in _COMPARED}).decode()
