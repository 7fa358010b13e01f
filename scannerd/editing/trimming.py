"""Cutting a recording down to a span of time, or to one round with all that led to its events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from scannerd.editing.cutting import MS, Wanted, cut, piece
from scannerd.editing.tape import Happened, Tape, happenings, replay
from scannerd.errors import UsageError
from scannerd.registry import Registry
from scannerd.scanlog import SECOND

_SHOWN = 10
"""Rounds that are named where the one that was asked for is not there."""


def to_round(tape: Tape, round_id: str, registry: Registry) -> Tape:
    """The shortest piece that tells a round's events, and ends with the last of them.

    Args:
        tape: the recording.
        round_id: the round's id; of several rounds with that id the last.
        registry: the drivers at hand.

    Raises:
        UsageError: there is no such round.
        ScanlogError: the recording can't be replayed.
    """
    happened = list(happenings(tape, registry))
    openings = [one for one in happened if one.opening]
    opened = [one for one in openings if one.line["round"] == round_id]
    if not opened:
        raise UsageError(f"{tape.path}: there is no round {round_id!r}; {_named(openings)}")
    begin = opened[-1].at
    own = [one for one in happened if one.line["round"] == round_id and one.at >= begin]
    wanted = Wanted(own, begin, own[-1].at, [one.at for one in openings], round_id)
    return piece(tape, wanted, registry).tape


def to_span(tape: Tape, start: int, stop: int, registry: Registry) -> Tape:
    """What was recorded from `start` to `stop`, microseconds; a round that was being dealt at `start` is not whole.

    Raises:
        UsageError: nothing is between the two.
        ScanlogError: the recording can't be replayed.
    """
    if not any(start <= entry.t <= stop for entry in tape.entries):
        raise UsageError(f"{tape.path}: nothing is recorded from {start / SECOND:g} to {stop / SECOND:g} s")
    before = sum(one.opening and one.at < start for one in happenings(tape, registry))
    return cut(tape, start // MS * MS, min(stop, tape.end), (tape.header.rounds_before or 0) + before)


def dealt_at(tape: Tape, t: int, registry: Registry) -> str | None:
    """The round that was being dealt or held just before `t`, microseconds; None between two rounds.

    Raises:
        ScanlogError: the recording can't be replayed.
    """
    found: str | None = None
    for taken in replay(tape, registry).play(iter(tape.entries)):
        if taken.at >= t:
            break
        current = taken.after.round if taken.after.phase in {"dealing", "held"} else None
        found = None if current is None else current.id
    return found


def moment(tape: Tape, text: str) -> int:
    """A place in a recording: seconds since its start, or a date and time.

    Args:
        tape: the recording.
        text: such as `12.5` or `2026-11-30T02:45:00Z`; a time without an offset is UTC.

    Returns:
        Microseconds since the start, 0 or more.

    Raises:
        ValueError: it is neither.
    """
    try:
        return max(0, round(float(text) * SECOND))
    except (ValueError, OverflowError):
        time = datetime.fromisoformat(text)
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return max(0, (aware - tape.header.recorded_at) // timedelta(microseconds=1))


def _named(openings: list[Happened]) -> str:
    """The rounds that are there, in words."""
    names = list(dict.fromkeys(str(one.line["round"]) for one in openings))
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"there: {', '.join(names[:_SHOWN])}{more}" if names else "no round is opened in it"
