"""A run of journalled events on its way to the broker: several in flight, order kept, nothing passed over.

The rules, which hold for live events and for those sent again on request alike:

* The cursor moves on an acknowledgement with a reason below 0x80, up to the first event that still lacks one, and on
  nothing else. A new connection begins anew behind the cursor.
* A topic that the broker has not yet taken on this connection goes out alone: a refusal then finds nothing after it
  in flight. (Rights that change in the middle of a connection can still meet a full window. What was in flight
  behind the refused event is then sent once more after it, so that the order at the consumer holds.)
* A refused event is sent again every 5 s, and nothing after it meanwhile.
* An event above the broker's limit is set aside; what follows goes on. It is tried anew on each connection until a
  later acknowledgement has carried the cursor over it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scannerd.mqtt.notices import Record

PAGE = 64
"""Records read from the journal at once."""
DENIED_RETRY_US = 5_000_000

Read = Callable[[int, int], Sequence[Record] | None]
"""Reads (after, limit) from the journal; None: it can't be read at present."""


@dataclass(slots=True, eq=False)
class Flight:
    """An event that was sent, or set aside; `void`: it was given up and its acknowledgement means nothing."""

    seq: int
    settled: bool = False
    aside: bool = False
    void: bool = False


class Window:
    """What of the journal is to be sent next.

    Attributes:
        cursor: the number up to which everything was acknowledged.
        last: the number of the last event that is to go out.
        width: how many may be in flight at once.
    """

    def __init__(self, cursor: int, last: int, width: int, topic: Callable[[Record], str]) -> None:
        """Sends the records after `cursor` up to `last`, each on `topic(record)`."""
        self.cursor = cursor
        self.last = last
        self.width = width
        self.topic = topic
        self._read = cursor
        self._ready: deque[Record] = deque()
        self._flights: deque[Flight] = deque()
        self._open = 0
        self._proven: set[str] = set()
        self._alone = False
        self._too_large: set[int] = set()
        self._retry_at: int | None = None

    def restart(self) -> None:
        """Forgets what was in flight: the next connection begins behind the cursor."""
        self._rewind(self.cursor)
        self._flights.clear()
        self._open = 0
        self._retry_at = None

    @property
    def drained(self) -> bool:
        """Whether everything up to `last` was sent and answered."""
        return self.cursor >= self.last or (self._read >= self.last and not self._ready and not self._open)

    @property
    def waiting(self) -> bool:
        """Whether more is to be sent than is in flight."""
        return bool(self._ready) or self._read < self.last

    @property
    def due(self) -> int | None:
        """When a refused event is to be sent again."""
        return self._retry_at

    def next(self, read: Read, now: int) -> Record | None:
        """The record that may be sent now, or None; asked again, it gives the same until `sent` or `set_aside`."""
        if self._open >= self.width or self._alone or (self._retry_at is not None and now < self._retry_at):
            return None
        record = self._first(read)
        if record is None or (self._open and self.topic(record) not in self._proven):
            return None
        return record

    def ends(self) -> None:
        """The journal holds no more of this range: what was asked for ends here."""
        self.last = self._read

    def banned(self, record: Record) -> bool:
        """Whether a broker ended a connection over this record's size."""
        return record.seq in self._too_large

    def sent(self, record: Record) -> Flight:
        """Notes that `record` is on its way."""
        self._ready.popleft()
        self._alone = self.topic(record) not in self._proven
        flight = Flight(record.seq)
        self._flights.append(flight)
        self._open += 1
        return flight

    def set_aside(self, record: Record) -> None:
        """Leaves `record` out on this connection. One entry stands for a whole run of them, so memory is flat."""
        self._ready.popleft()
        if self._flights and self._flights[-1].aside:
            self._flights[-1].seq = record.seq
        else:
            self._flights.append(Flight(record.seq, settled=True, aside=True))

    def acknowledged(self, flight: Flight, topic: str) -> None:
        """The broker has `flight`."""
        if not flight.void:
            self._proven.add(topic)
            self._retry_at = None
            self._settle(flight)

    def too_large(self, flight: Flight) -> None:
        """The broker says that `flight` is above its limit."""
        self._too_large.add(flight.seq)
        if not flight.void:
            flight.aside = True
            self._settle(flight)

    def denied(self, flight: Flight, now: int) -> None:
        """The broker refused `flight`: it and all after it are to be sent again, it alone and not at once."""
        if flight.void:
            return
        while (last := self._flights.pop()) is not flight:
            last.void = True
        self._open = sum(not other.settled for other in self._flights)
        self._rewind(flight.seq - 1)
        self._retry_at = now + DENIED_RETRY_US

    def _first(self, read: Read) -> Record | None:
        if not self._ready and self._read < self.last:
            page = read(self._read, PAGE)
            if page is not None and not page:
                self.ends()
            for record in page or ():
                self._read = min(record.seq, self.last)
                if record.seq <= self.last:
                    self._ready.append(record)
        return self._ready[0] if self._ready else None

    def _rewind(self, seq: int) -> None:
        self._read = seq
        self._ready.clear()
        self._proven.clear()
        self._alone = False

    def _settle(self, flight: Flight) -> None:
        flight.settled = True
        self._open -= 1
        self._alone = False
        skipped: list[Flight] = []
        while self._flights and self._flights[0].settled:
            first = self._flights.popleft()
            if first.aside:
                skipped.append(first)
            else:
                self.cursor = first.seq
                skipped.clear()
        self._flights.extendleft(reversed(skipped))
        self._too_large = {seq for seq in self._too_large if seq > self.cursor}
