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

from scannerd.messages import dumps
from scannerd.registry import Registry
from scannerd.scanlog import Broker, End, Entry, Link, Order
from scannerd.scanlogs.tape import Happened, Tape, happenings, moved

MS = 1_000

NEAR = 5 * MS
"""Microseconds by which the time of an event may miss that of the entry that led to it: the clocks drift apart."""

LEADS = (0, 250 * MS, 1_000 * MS, 5_000 * MS)
"""How long before its first event a piece begins, microseconds; then it is from round to round."""


_COMPARED = ("type", "round", "data")


class Wanted(NamedTuple):
    """What a piece is to tell at its end.

    Attributes:
        events: as a replay gives them; their times are not compared.
        begin: when the first of them was told, or the span began, microseconds.
        stop: the last moment that the piece needs.
        openings: when each round was opened, in order, up to `stop`.
    """

    events: Sequence[Happened]
    begin: int
    stop: int
    openings: Sequence[int]


class Piece(NamedTuple):
    """A piece of a recording.

    Attributes:
        tape: the recording.
        start: where it begins in the one it was cut from, microseconds.
        told: the events it gives, at its own times.
        exact: whether it ends with the events that were wanted.
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
        if one is None or other is None or not _same(one, other):
            return f"expected {_gist(one)}, told {_gist(other)}"
    return "the events are told before their time"


def _piece(tape: Tape, wanted: Wanted, start: int, registry: Registry) -> Piece:
    before = (tape.header.rounds_before or 0) + sum(opening < start for opening in wanted.openings)
    made = cut(tape, start, wanted.stop, before)
    told = happenings(made, registry)
    return Piece(made, start, told, _ends_with(told, wanted.events))


def _starts(tape: Tape, wanted: Wanted) -> Iterator[int]:
    """Where a piece may begin, the nearest first."""
    yield from (_at_entry(tape, wanted.begin - lead, near=NEAR if not lead else 0) for lead in LEADS)
    earlier = [opening for opening in wanted.openings if opening < wanted.begin - NEAR]
    back = 1
    while back <= len(earlier):
        yield _at_entry(tape, earlier[-back])
        yield _at_entry(tape, earlier[-back] - LEADS[2], near=0)
        back *= 2
    yield 0


def _at_entry(tape: Tape, t: int, near: int = NEAR) -> int:
    """The whole millisecond of the last entry at about `t`; that of `t` where there is none so near."""
    times = [entry.t for entry in tape.entries if t - near <= entry.t <= t + near]
    return max(0, (max(times) if times else t)) // MS * MS


def _ends_with(told: list[Happened], wanted: Sequence[Happened]) -> bool:
    if not wanted:
        return all(one.at == 0 for one in told)  # what stood at the start is told at once
    last = told[-len(wanted) :]
    return len(last) == len(wanted) and all(map(_same, wanted, last))


def _same(wanted: Happened, told: Happened) -> bool:
    """Whether both are the same event; `data` may have got more keys since what is wanted was written."""
    one, other = wanted.line, told.line
    if (one["type"], one["round"]) != (other["type"], other["round"]):
        return False
    return all(key in told.data and told.data[key] == value for key, value in wanted.data.items())


def _gist(one: Happened | None) -> str:
    return "nothing" if one is None else dumps({key: one.line[key] for key in _COMPARED}).decode()
