"""A recording as scenes, one a round: what a picture of the deal shows, and when.

A scene begins with its round's opening, or with what came before the first, and ends before the next one's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from scannerd.core import decisions as d
from scannerd.core.prompts import prompt
from scannerd.core.state import State
from scannerd.editing.tape import Tape, replay
from scannerd.recording.replay import Taken
from scannerd.registry import Registry
from scannerd.scanlog import Order

Waiting: TypeAlias = Literal["deal", "rescan", "held", "away"]
"""What the dealer is asked for a slot: its card, its card again, nothing before a supervisor or a scanner is back."""

MarkKind: TypeAlias = Literal[
    "accepted", "entered", "withdrawn", "rejected", "command", "alarm", "held", "completed", "voided"
]

BROKER = "broker"
"""The lane of the broker, beside those of the scanners."""


class Mark(NamedTuple):
    """Something at one time.

    Attributes:
        at: microseconds.
        kind: what it is.
        slot: whose lane it is in; None: no slot's.
        text: a card, or words.
        reason: why, where there is a reason.
    """

    at: int
    kind: MarkKind
    slot: str | None
    text: str
    reason: str = ""


class Span(NamedTuple):
    """Something that lasts: in the lane of a slot, or of a scanner that is away."""

    begin: int
    end: int
    lane: str
    kind: Waiting


@dataclass(frozen=True, slots=True)
class Scene:
    """One round.

    Attributes:
        round: its id; None: no round was opened.
        begin: its first moment, microseconds.
        end: its last one.
        slots: those of the game, in the order of the deal.
        scanners: the lanes below them.
        marks: in the order of time.
        spans: the same.
    """

    round: str | None
    begin: int
    end: int
    slots: tuple[str, ...]
    scanners: tuple[str, ...]
    marks: tuple[Mark, ...]
    spans: tuple[Span, ...]


def scenes(tape: Tape, registry: Registry) -> list[Scene]:
    """Every round of a recording.

    Raises:
        ScanlogError: the recording can't be replayed.
    """
    played = replay(tape, registry)
    slots = tuple(slot.name for slot in played.state.setup.plan.slots)
    marks = [_command(entry) for entry in tape.entries if isinstance(entry, Order)]
    lasting, openings = _Lasting(played.state), list[tuple[int, str]]()
    for taken in played.play(iter(tape.entries)):
        lasting.goes_on(taken.at, taken.after)
        marks += _marks(taken)
        openings += [(told.at, told.round) for told in taken.told if isinstance(told, d.RoundOpened)]
    spans = lasting.ended(tape.end)
    marks.sort(key=lambda mark: mark.at)
    bounds = [opening for opening, _ in openings[1:]]
    broker = (BROKER,) if any(span.lane == BROKER for span in spans) else ()
    made = []
    for number in range(len(bounds) + 1):
        own = [mark for mark in marks if bisect_right(bounds, mark.at) == number]
        begin, limit = ([0, *bounds][number], [*bounds, tape.end][number])
        within = [_clipped(span, begin, limit) for span in spans if span.begin < limit and span.end > begin]
        times = [mark.at for mark in own] + [time for span in within if span.kind != "deal" for time in span[:2]]
        first, last = min(times, default=begin), max(times, default=limit)
        round_id = openings[number][1] if openings else None
        shown = tuple(_clipped(span, first, last) for span in within if span.begin < last and span.end > first)
        made.append(Scene(round_id, first, last, slots, (*tape.header.scanners, *broker), tuple(own), shown))
    return made


class _Lasting:
    """Notes from when to when each slot was waited for, and who was away."""

    def __init__(self, state: State) -> None:
        self._done: list[Span] = []
        self._open: dict[tuple[str, Waiting], int] = {}
        self.goes_on(0, state)

    def goes_on(self, at: int, state: State) -> None:
        """Ends what lasts no longer, and begins what is new."""
        now = dict.fromkeys(_lasting(state))
        for key in [key for key in self._open if key not in now]:
            self._end(key, at)
        for key in now:
            self._open.setdefault(key, at)

    def ended(self, at: int) -> list[Span]:
        """All of it, at the recording's end."""
        for key in list(self._open):
            self._end(key, at)
        return sorted(self._done)

    def _end(self, key: tuple[str, Waiting], at: int) -> None:
        begin = self._open.pop(key)
        if at > begin:
            self._done.append(Span(begin, at, *key))


def _lasting(state: State) -> Iterator[tuple[str, Waiting]]:
    yield from ((name, "away") for name, link in state.scanners.items() if link == "down")
    if not state.broker_up:
        yield BROKER, "away"
    due, asked = state.due, prompt(state)
    if due is None:
        return
    if state.phase == "held":
        yield due.name, "held"
    elif asked.code in {"deal", "rescan"}:
        yield due.name, "rescan" if asked.code == "rescan" else "deal"
    else:
        yield due.name, "away"


def _clipped(span: Span, begin: int, end: int) -> Span:
    return span._replace(begin=max(begin, span.begin), end=min(end, span.end))


def _command(order: Order) -> Mark:
    args: Sequence[object] = [order.args.get(key) for key in ("slot", "card", "reason")]
    words = " ".join(str(value) for value in args if value is not None)
    return Mark(order.t, "command", None, f"{order.name} {words}".strip())


def _marks(taken: Taken) -> Iterator[Mark]:
    before = taken.before.round
    for told in taken.told:
        if isinstance(told, d.CardAccepted):
            yield Mark(told.at, "entered" if told.via == "manual" else "accepted", told.slot, told.card)
        elif isinstance(told, d.ScanRejected):
            conflict = f" of {told.conflict_slot}" if told.conflict_slot else ""
            yield Mark(told.at, "rejected", told.slot, told.card or "", told.reason + conflict)
        elif isinstance(told, d.CardWithdrawn):
            dealt = None if before is None else before.cards.get(told.slot)
            yield Mark(told.at if dealt is None else dealt.at, "withdrawn", told.slot, told.card, told.reason)
        elif isinstance(told, d.AlarmRaised):
            yield Mark(told.at, "alarm", None, told.alarm)
        elif isinstance(told, d.RoundHeld):
            yield Mark(told.at, "held", None, told.reason or "by command")
        elif isinstance(told, d.RoundCompleted):
            yield Mark(told.at, "completed", None, f"{told.duration_ms / 1_000:g} s")
        elif isinstance(told, d.RoundVoided):
            yield Mark(told.at, "voided", None, told.reason or "")
