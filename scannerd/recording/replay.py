"""A recording played through the real channel and the real core on a virtual clock.

Exact: the same file gives the same events, whatever the machine's speed, for nothing here looks at a clock. Time-outs
of decoders and deadlines of the core are decided in the order of their times, before what is recorded at that moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias, assert_never

from scannerd.channel import Channel, Output
from scannerd.commands import SHELL_COMMANDS, Answer, Asked, Repeated, Replies, examine
from scannerd.contract import Reply
from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.outcomes import Decisions
from scannerd.core.prompts import Prompt, prompt
from scannerd.core.state import Setup, State
from scannerd.core.validator import step
from scannerd.messages import data, prompt_fields, told_rounds
from scannerd.scanlog import Broker, Chunk, End, Entry, Link, Order, Sent

SHOWN_ALARMS = frozenset({"stalled", "scanner_error"})
"""Alarms that follow from a recording; others tell of the machine it ran on."""

_ALARMS = (d.AlarmRaised, d.AlarmCleared)


class Taken(NamedTuple):
    """A decision, with what it was made of: for those who ask why.

    Attributes:
        at: its time, microseconds since the start.
        event: what was decided; a deadline that was due before the event that came stands for itself.
        told: the decisions.
        before: the state in which they were taken.
        after: the state that they made.
    """

    at: int
    event: e.Event
    told: Decisions
    before: State
    after: State


Line: TypeAlias = dict[str, object]
_Input: TypeAlias = Output | e.BrokerChanged | e.Command


class Replay:
    """Plays entries and yields what is decided."""

    def __init__(
        self,
        setup: Setup,
        channels: dict[str, Channel],
        recorded_at: datetime,
        warn: Callable[[str], None],
        rounds: int = 0,
    ) -> None:
        """Begins with the broker and every scanner up, at `t` 0.

        Args:
            setup: the table.
            channels: one a scanner, fresh, in the order of the header.
            recorded_at: the wall clock at `t` 0, for the expiry of commands.
            warn: told of what is ignored.
            rounds: how many rounds there were before.
        """
        self.state = State(setup, rounds=rounds, broker_up=True, scanners=dict.fromkeys(setup.scanners, "up"))
        self._channels, self._recorded_at, self._warn = channels, recorded_at, warn
        self._replies = Replies()
        self._down: set[str] = set()

    def play(self, entries: Iterator[Entry]) -> Iterator[Taken]:
        """Decides each entry at its time; virtual time runs on to the last `t`."""
        for event in self._events(entries):
            *overdue, last = step(self.state, event)
            for told, after in overdue:
                yield self._taken(e.Deadline(told[0].at), told, after)
            yield self._taken(event, *last)

    def _taken(self, event: e.Event, told: Decisions, after: State) -> Taken:
        before, self.state = self.state, after
        return Taken(told[0].at if told else event.at, event, told, before, after)

    def _events(self, entries: Iterator[Entry]) -> Iterator[e.Event]:
        """What the core is told; replies to a device go nowhere in a replay."""
        latest = 0
        for entry in entries:
            latest = entry.t
            if self._overdue(latest) is not None:
                yield from self._time_outs(latest)
            for told in self._inputs(entry):
                if not isinstance(told, Reply):
                    yield told
        yield from self._time_outs(latest)
        yield e.Deadline(latest)

    def _time_outs(self, t: int) -> Iterator[e.Event]:
        """What the decoders' time-outs at or before `t` give, in the order of their times."""
        before = None
        while (overdue := self._overdue(t)) is not None and overdue != before:
            at, channel = before = overdue  # a decoder that does not move on would be asked for ever
            yield from (told for told in channel.tick(at) if not isinstance(told, Reply))

    def _overdue(self, t: int) -> tuple[int, Channel] | None:
        """The first time-out of a decoder at or before `t`."""
        first = None
        for channel in self._channels.values():
            at = channel.deadline
            if at is not None and at <= t and (first is None or at < first[0]):
                first = at, channel
        return first

    def _inputs(self, entry: Entry) -> Sequence[_Input]:
        match entry:
            case Chunk():
                return self._chunk(entry)
            case Link():
                return self._link(entry)
            case Order():
                return self._order(entry)
            case Broker():
                return [e.BrokerChanged(entry.t, entry.up)]
            case Sent() | End():
                return []
            case _ as never:
                assert_never(never)

    def _chunk(self, chunk: Chunk) -> list[Output]:
        if chunk.scanner in self._down:
            self._warn(f"t {chunk.t / 1_000_000:g}: bytes of {chunk.scanner} while it is down are ignored")
            return []
        return self._channels[chunk.scanner].chunk(chunk.data, chunk.t, stale=chunk.stale)

    def _link(self, link: Link) -> list[Output]:
        """An `up` or `down` that changes nothing gives no event and resets nothing."""
        if link.up != (link.scanner in self._down):
            return []
        channel = self._channels[link.scanner]
        if link.up:
            self._down.discard(link.scanner)
            return channel.up(link.t, link.detail)
        self._down.add(link.scanner)
        return channel.down(link.t, link.detail)

    def _order(self, order: Order) -> list[e.Command]:
        wall = self._recorded_at + timedelta(microseconds=order.t)
        verdict = examine(order.name, order.args, at=order.t, wall=wall, replies=self._replies)
        if isinstance(verdict, Repeated):
            return []
        if isinstance(verdict, Answer):
            if verdict.id is not None:
                self._replies.keep(verdict.id, verdict.payload)
            return []
        return self._asked(verdict)

    def _asked(self, asked: Asked) -> list[e.Command]:
        self._replies.keep(asked.id, b"")
        return [] if asked.command.name in SHELL_COMMANDS else [asked.command]


def event_lines(taken: Taken) -> list[Line]:
    """The events of a decision as a replay prints them."""
    return [
        {"t": seconds(told.at), "type": told.TYPE, "round": round_id, "data": data(told)}
        for told, round_id in told_rounds(taken.told, taken.before)
        if not isinstance(told, _ALARMS) or told.alarm in SHOWN_ALARMS
    ]


def prompt_line(at: int, shown: Prompt) -> Line:
    """A prompt as a replay prints it."""
    return {"t": seconds(at), "prompt": prompt_fields(shown)}


def lines(replay: Replay, entries: Iterator[Entry], *, prompts: bool = False) -> Iterator[Line]:
    """All that a replay prints: the events, and with `prompts` the prompt at the start and each change of it."""
    for line, _ in lines_taken(replay, entries, prompts=prompts):
        yield line


def lines_taken(
    replay: Replay, entries: Iterator[Entry], *, prompts: bool = False
) -> Iterator[tuple[Line, Taken | None]]:
    """Each line with the decision that it tells of; None: the prompt at the start."""
    shown = prompt(replay.state)
    if prompts:
        yield prompt_line(0, shown), None
    for taken in replay.play(entries):
        for line in event_lines(taken):
            yield line, taken
        if prompts:
            now = prompt(taken.after)
            if now != shown:
                yield prompt_line(taken.at, now), taken
                shown = now


def seconds(at: int) -> float | int:
    """Microseconds as seconds with at most three decimals, whole ones without a point."""
    ms = round(at / 1_000)
    return ms // 1_000 if ms % 1_000 == 0 else ms / 1_000
