"""Round by round: what two tables decided of the same bytes, and where they part.

A difference has consequences: once a card is refused that the live table took, every later card of the round goes into
another slot. So a round is compared for itself. Where it differed, the new table begins the next one from the live
table's state, and one difference costs no more than its round; where it did not, the new table goes on from its own.

A round begins with the live table's `round_opened` and ends where the next begins, or the recording does: what comes
after its last card, such as one card too many, belongs to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from difflib import SequenceMatcher
from itertools import groupby, islice
from typing import Literal, NamedTuple, TypeAlias

from scannerd.core import decisions as d
from scannerd.core import events as e
from scannerd.core.state import State
from scannerd.scanlog import Entry
from scannerd.shadow.sides import Place, Side, Told

KEPT = 400
"""Events of a round that are kept for each side from where they part; what comes then is counted."""

Which: TypeAlias = Literal["live", "new"]


class Difference(NamedTuple):
    """What the live table decided at a place of the recording, and what the new one would have: one may be nothing."""

    live: tuple[Told, ...]
    new: tuple[Told, ...]

    @property
    def first(self) -> Told:
        """The event that tells time and place; the live table's, if it told one."""
        return (*self.live, *self.new)[0]

    @property
    def slot(self) -> str | None:
        """The slot that it is about, if it is about one."""
        slots = (getattr(one.told, "slot", None) for one in (*self.live, *self.new))
        return next((slot for slot in slots if slot is not None), None)

    @property
    def raw(self) -> bytes:
        """The bytes that led to it; empty where none did."""
        return next((one.raw for one in (*self.live, *self.new) if one.raw), b"")


class Compared(NamedTuple):
    """A round, or what came before the first one.

    Attributes:
        round: its id at the live table; None before the first round.
        at: when it was opened, microseconds since the recording's start.
        rounds: how many it stands for: 0 before the first one; several where one entry opened several.
        ended: whether the live table had completed or voided it.
        differences: in the order of time; all behind the first may be its consequences.
        more: how many events were not looked at, since the tables had parted long before.
    """

    round: str | None
    at: int
    rounds: int
    ended: bool
    differences: tuple[Difference, ...]
    more: int


class Shadow:
    """Feeds both tables, and compares."""

    def __init__(self, live: Side, new: Side) -> None:
        """Both at the beginning of the same recording."""
        self._live, self._new = live, new
        self._round = _Round(None, 0)

    def take(self, entry: Entry, place: Place) -> Compared | None:
        """Gives an entry to both; returns the round that ended with it, if one did."""
        told = self._live.take(entry, place)
        openings = [number for number, one in enumerate(told) if isinstance(one.told, d.RoundOpened)]
        if not openings:
            self._round.add(told, self._new.take(entry, place))
            return None
        first = openings[0]
        if any(one.at == entry.t and not isinstance(one.taken.event, e.Deadline) for one in told[:first]):
            return self._within(told, openings, self._new.take(entry, place))
        self._round.add(told[:first], self._new.run_to(entry.t, place))
        ended = self._ended(told[first].taken.before)
        self._round = _Round(told[first], len(openings))
        self._round.add(told[first:], self._new.take(entry, place))
        return ended

    def end(self) -> Compared:
        """The last round, as far as it came."""
        return self._round.compared(ended=self._live.state.phase in {"idle", "complete"})

    def _within(self, told: list[Told], openings: list[int], new: list[Told]) -> Compared:
        """The entry ended a round and opened the next, as where many cards come at once and no gap is waited for.

        What it tells of the next round is compared with this one.
        """
        self._round.add(told, new)
        self._round.rounds += len(openings) - 1
        ended = self._ended(self._live.state)
        self._round = _Round(told[openings[-1]], 1)
        return ended

    def _ended(self, state: State) -> Compared:
        """Ends the round; where it differed, the new table goes on from a state of the live one."""
        ended = self._round.compared(ended=True)
        if ended.differences:
            self._new.go_on_from(state)
        return ended


class _Round:
    """What both tables told in a round, from where they part."""

    def __init__(self, opening: Told | None, rounds: int) -> None:
        self.rounds = rounds
        self._opening, self._more = opening, 0
        self._live: deque[Told] = deque()
        self._new: deque[Told] = deque()

    def compared(self, *, ended: bool) -> Compared:
        """The round as it is now."""
        round_id, at = (None, 0) if self._opening is None else (self._opening.round, self._opening.at)
        return Compared(round_id, at, self.rounds, ended, tuple(self._differences()), self._more)

    def add(self, live: Iterable[Told], new: Iterable[Told]) -> None:
        """Takes what was told; what both sides told alike is not kept."""
        self._keep(self._live, live)
        self._keep(self._new, new)
        while self._live and self._new and self._live[0].gist == self._new[0].gist:
            self._live.popleft()
            self._new.popleft()

    def _differences(self) -> Iterable[Difference]:
        """Where the sides part, in the order of the recording."""
        live, new = list(self._live), list(self._new)
        aligned = SequenceMatcher(None, [one.gist for one in live], [one.gist for one in new], autojunk=False)
        for verdict, first, end, other_first, other_end in aligned.get_opcodes():
            if verdict != "equal":
                yield from _by_place(live[first:end], new[other_first:other_end])

    def _keep(self, kept: deque[Told], told: Iterable[Told]) -> None:
        rest = iter(told)
        kept.extend(islice(rest, KEPT - len(kept)))
        self._more += sum(1 for _ in rest)


def _by_place(live: list[Told], new: list[Told]) -> Iterable[Difference]:
    """What both sides made of the same line of the recording is one difference."""
    sides: list[tuple[Which, Told]] = [*(("live", one) for one in live), *(("new", one) for one in new)]
    sides.sort(key=lambda one: one[1].place.line)
    for _, group in groupby(sides, key=lambda one: one[1].place):
        here = list(group)
        yield Difference(
            tuple(one for side, one in here if side == "live"), tuple(one for side, one in here if side == "new")
        )
