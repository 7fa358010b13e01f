"""A consumer that holds what it is told against the journal on the disk, at the moment it is told.

What must hold, whatever fails:

* no event is lost: behind number n comes n + 1, or something that was told before;
* none has two contents: what comes again has the bytes of the first time;
* the order is kept: nothing new comes before what has a lower number;
* nothing is said before it is durable: whoever opens the journal then finds the same bytes in it. The log's frames are
  synced before SQLite lets another connection see them (wal.c, `sqlite3WalFrames`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

from scannerd.journal import JournalReader
from tests.wire import Message


def no_more() -> None:
    """Nothing else is done with a new event."""


class Witness:
    """Hears the events of one table, and its topic `round`; to be handed to a `Subscriber` as `heard`.

    Attributes:
        bodies: the events' bytes, in order.
        counts: how many new events of each type came.
        faults: what must never be.
        on_new: called after each new event, in the thread that receives it.
    """

    def __init__(self, state_dir: Path) -> None:
        """`state_dir` holds the journal, and need not be there yet."""
        self.bodies: list[bytes] = []
        self.counts: dict[str, int] = {}
        self.faults: list[str] = []
        self.on_new: Callable[[], None] = no_more
        self._state_dir = state_dir
        self._reading = threading.Lock()
        self._reader: JournalReader | None = None

    def __call__(self, message: Message) -> None:
        """Takes an event as it comes; a round that is shown must be no further than the disk."""
        event = json.loads(message.payload)
        seq, body = event["seq"], message.payload
        if message.topic.endswith("/round"):
            if seq and self.on_disk(seq) is None:
                self.faults.append(f"the round of event {seq} was shown before it was on the disk")
            return
        if seq == len(self.bodies) + 1:
            self.bodies.append(body)
            self.counts[event["type"]] = self.counts.get(event["type"], 0) + 1
            if body != self.on_disk(seq):
                self.faults.append(f"event {seq} was said before it was on the disk")
            self.on_new()
        elif seq > len(self.bodies):
            self.faults.append(f"event {seq} came behind {len(self.bodies)}")
        elif body != self.bodies[seq - 1]:
            self.faults.append(f"event {seq} has two contents")

    def on_disk(self, seq: int) -> bytes | None:
        """The bytes of an event, as whoever opens the journal finds them."""
        with self._reading:
            if self._reader is None:
                self._reader = JournalReader(self._state_dir)
            found = self._reader.records(seq - 1, 1, seq)
        return found[0].body if found else None

    def let_go(self) -> None:
        """Closes the journal until the next event: whoever recovers it then is alone with it."""
        with self._reading:
            if self._reader is not None:
                self._reader.close()
            self._reader = None
