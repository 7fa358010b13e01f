"""The order of a table's events: whatever was lost, doubled or swapped on the way, each is told once, in its place.

Pure: messages and times go in, items and wishes come out. The journal is what counts; a broker's stored session only
makes gaps rare. A gap is asked for at once, then with growing waits; what lies behind it waits.

A range that the table refuses was deleted there (only what is acknowledged ever is, from the front). How much of a gap
is gone is found by halving it; only what is proven gone, by an event that did come from above it, is told as missing.
A number that was merely heard of (`head`, from the retained topic `round`) proves nothing: it may be a past journal's.
"""

from __future__ import annotations

import heapq
from dataclasses import replace

import orjson

from scannerd.canonical import FIRST_PREV, digest_of
from scannerd.client.events import Broken, Gap, Item, Missing, NewJournal, Position, TableEvent, read_event

CHUNK = 500
"""Events asked for at once: less than a broker queues for one consumer by default."""

MOST_WAITING = 20_000
"""Events kept behind a gap; later ones are asked for again when their turn comes."""

GRACE_US = 1_000_000
"""What was only heard of may be on its way: it is not asked for sooner."""

FIRST_WAIT_US = 2_000_000
LONGEST_WAIT_US = 30_000_000

SERVED_IN_VAIN = 5
"""So many carried-out resends that brought nothing count as a refusal: the table has not got it."""

_PAST = 16


class Sequencer:
    """Takes messages as they come, and gives items in their order.

    Attributes:
        position: behind the last item that was given; None until the first event, where none was handed in.
        strays: messages that were no event of this table, or whose hash was not their own.
    """

    def __init__(
        self,
        table: str,
        position: Position | None = None,
        *,
        check_chain: bool = False,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        """Begins behind `position`; None: with the first live event, whatever its number.

        Args:
            table: the table's id; other tables' events are strays.
            position: what was done before.
            check_chain: compute each event's hash, and compare `prev` with the hash before.
            most_waiting: how many events are kept behind a gap.
        """
        self.position = position
        self.strays = 0
        self._table = table
        self._check = check_chain
        self._most = most_waiting
        self._waiting: dict[int, TableEvent] = {}
        self._order: list[int] = []
        self._head = self._refused = self._tries = self._in_vain = 0
        self._asked: Gap | None = None
        self._due = 0
        self._broken = False

    @property
    def due(self) -> int | None:
        """When `request` is to be called next; None while nothing is missing."""
        return None if self.gap is None else self._due

    @property
    def gap(self) -> Gap | None:
        """The next events to ask for; None while nothing is missing."""
        if self.position is None or self.position.journal is None or self._broken:
            return None
        first = self.position.seq + 1
        above = self._order[0] if self._order else self._head + 1
        if self._refused >= first:
            first = (self._refused + above) // 2
        return Gap(first, min(first + CHUNK, above) - 1) if first < above else None

    def take(self, body: bytes, now: int, *, resent: bool = False) -> list[Item]:
        """Takes a message from `event/…`, or one from `resend` (`resent`); `now` is monotonic, in microseconds."""
        event = read_event(body)
        if event is None or event.table != self._table or not self._sound(event):
            self.strays += 1
            return []
        if self.position is None:
            if resent:  # another consumer asked for it
                return []
            self.position = Position(event.journal, event.seq - 1)
        if self._broken or event.journal in self.position.past:
            return []
        items = self._turn_to(event.journal, self.position)
        self._keep(event, now)
        return items + self._in_order()

    def head(self, journal: str, seq: int, now: int) -> list[Item]:
        """Hears that `journal` has come to `seq`."""
        if self.position is None or self._broken or journal in self.position.past:
            return []
        items = self._turn_to(journal, self.position)
        if seq > self._head:
            if self.gap is None:
                self._due = now + GRACE_US
            self._head = seq
        return items

    def request(self, now: int) -> Gap | None:
        """What is to be asked for now; the same again only after a wait that grows."""
        gap, asked = self.gap, self._asked
        if gap is None:
            self._asked = None
            return None
        fresh = asked is None or not asked.first <= gap.first <= asked.last
        if now < self._due and (asked is None or not fresh):
            return None
        same = asked is not None and asked.first == gap.first
        self._tries = self._tries + 1 if same else 0
        self._in_vain = self._in_vain if same else 0
        self._asked = gap
        self._due = now + min(LONGEST_WAIT_US, FIRST_WAIT_US << min(self._tries, 8))
        return gap

    def answered(self, gap: Gap, error: str | None, now: int) -> list[Item]:
        """Takes the reply to what was asked for; `error` is None where it was carried out."""
        if gap != self._asked or self.position is None or self.position.seq >= gap.first or gap.first in self._waiting:
            return []
        self._in_vain += error is None
        if error != "bad_range" and self._in_vain < SERVED_IN_VAIN:
            return []
        self._asked, self._due, self._in_vain = None, now, 0
        if not self._order or gap.last >= self._order[0]:
            self._head = self.position.seq  # hearsay, or what has come meanwhile: nothing is proven
            return []
        self._refused = max(self._refused, gap.first)
        return self._gone(self.position) if self._refused + 1 == self._order[0] else []

    def _keep(self, event: TableEvent, now: int) -> None:
        self._head = max(self._head, event.seq)
        asked_for = self._asked is not None and self._asked.first <= event.seq <= self._asked.last
        if self.position is None or event.seq <= self.position.seq or event.seq in self._waiting:
            return
        if asked_for:
            self._due = max(self._due, now + FIRST_WAIT_US)
        elif len(self._waiting) >= self._most:
            return
        if not self._order and self._asked is None:
            self._due = now if event.seq > self.position.seq + 1 else now + GRACE_US
        self._waiting[event.seq] = event
        heapq.heappush(self._order, event.seq)

    def _in_order(self) -> list[Item]:
        items: list[Item] = []
        while self.position is not None and not self._broken and self._order[:1] == [self.position.seq + 1]:
            items.append(self._told(self._pop(), self.position))
        return items

    def _told(self, event: TableEvent, before: Position) -> TableEvent | Broken:
        if self._check and before.hash not in (None, event.prev):
            self._broken = True
            detail = f"its prev is {event.prev}, and the hash of event {before.seq} is {before.hash}"
            return Broken(event.table, event.journal, event.seq, detail, before)
        self.position = replace(before, seq=event.seq, hash=event.hash)
        return replace(event, position=self.position)

    def _gone(self, before: Position) -> list[Item]:
        """All up to the first event that waits is missing for good."""
        last = self._order[0] - 1
        self.position = replace(before, seq=last, hash=None)
        missing = Missing(self._table, str(before.journal), before.seq + 1, last, self.position)
        return [missing, *self._in_order()]

    def _turn_to(self, journal: str, before: Position) -> list[Item]:
        """What a new journal brings: the rest of the old one, as far as it came, and the word of the new."""
        if journal == before.journal:
            return []
        items: list[Item] = []
        while before.journal is not None and self._order and self.position is not None and not self._broken:
            items += self._gone(self.position)
        if before.journal is None:
            self.position = replace(before, journal=journal, hash=before.hash if before.seq else FIRST_PREV)
        elif not self._broken:
            self.position = Position(journal, 0, FIRST_PREV, (*before.past, before.journal)[-_PAST:])
            items.append(NewJournal(self._table, journal, before.journal, self.position))
        self._head = self._refused = 0
        self._asked = None
        return items

    def _pop(self) -> TableEvent:
        return self._waiting.pop(heapq.heappop(self._order))

    def _sound(self, event: TableEvent) -> bool:
        if not self._check:
            return True
        try:
            return digest_of(orjson.loads(event.body)) == event.hash
        except ValueError:
            return False
