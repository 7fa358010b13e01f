"""Fakes around the engine: clocks that are moved, a journal that fails when told, and who hears the engine."""

from __future__ import annotations

import json
import queue
from collections.abc import Callable, Sequence
from pathlib import Path

from scannerd import games
from scannerd.contract import Outcome
from scannerd.core.cards import Card
from scannerd.core.events import FailedRead, Read, ScannerWentUp
from scannerd.core.state import Rules, Setup
from scannerd.engine import Engine
from scannerd.inbox import Letter, StopRequested
from scannerd.journal import Batch, Journal, JournalError, Record
from scannerd.mqtt.notices import CommandReceived, Connected, Reply
from scannerd.roles import Duties, Inbox, Process
from scannerd.texts import texts
from scannerd.vault import Vault

SECOND = 1_000_000
MS = 1_000
NOON = 1_796_040_000_000_000
"""2026-11-30T12:00:00Z in microseconds since 1970."""
TABLE = "tp-01"
SIX = ("AS", "KH", "9D", "2C", "7S", "QH")
"""Six cards that fill a round."""


class FakeClock:
    """A monotonic clock and a time of day, which stand until they are moved.

    Attributes:
        trusted: whether the time of day is synchronised.
        before_wall: called once before the time of day is next read, as when the process is stopped just then.
    """

    def __init__(self) -> None:
        """It is noon, and the machine runs for 100 s."""
        self.time = 100 * SECOND
        self.day = NOON
        self.trusted: bool | None = True
        self.before_wall: Callable[[], None] | None = None

    def now(self) -> int:
        """The monotonic time."""
        return self.time

    def wall(self) -> int:
        """The time of day."""
        first, self.before_wall = self.before_wall, None
        if first is not None:
            first()
        return self.day

    def synchronised(self) -> bool | None:
        """As it was told."""
        return self.trusted

    def move(self, micros: int) -> None:
        """Lets time pass on both."""
        self.time += micros
        self.day += micros

    def step(self, micros: int) -> None:
        """Sets the time of day by so much, as an administrator or NTP does."""
        self.day += micros


class FailingJournal(Journal):
    """A real journal whose disk fails when it is told, before or after a write got there."""

    failing: str | None = None
    lands = False
    unreadable = False
    trimming: str | None = None

    def append(self, batch: Batch) -> None:
        """Writes, or fails: with nothing on the disk, or, where it `lands`, with all of it."""
        if self.failing is None or self.lands:
            super().append(batch)
        if self.failing is not None:
            self.close()
            raise JournalError(self.failing)

    def trim(self, upto: int, before: str, limit: int) -> int:
        """Deletes, or fails."""
        if self.trimming is not None:
            self.close()
            raise JournalError(self.trimming)
        return super().trim(upto, before, limit)

    def records(self, after: int, limit: int, upto: int | None = None) -> list[Record]:
        """Reads, or fails."""
        if self.unreadable:
            raise JournalError("the disk reports an error")
        return super().records(after, limit, upto)


class FakeSpeaker:
    """Keeps what the engine says, in order."""

    def __init__(self) -> None:
        """Nothing was said yet."""
        self.said: list[tuple[str, object]] = []

    def wake(self, head: int, fresh: Sequence[Record] = ()) -> None:
        """Notes it."""
        del fresh
        self.said.append(("wake", head))

    def show(self, topic: str, payload: bytes) -> None:
        """Notes it, parsed."""
        self.said.append((topic, json.loads(payload)))

    def answer(self, reply: Reply) -> None:
        """Notes it, parsed."""
        self.said.append(("answer", json.loads(reply.payload)))

    def resend(self, first: int, last: int, then: Reply) -> None:
        """Notes it, with the reply parsed."""
        self.said.append(("resend", (first, last, json.loads(then.payload))))

    def all(self, kind: str) -> list[dict[str, object]]:
        """What was shown on a topic, or answered, in order."""
        return [what for name, what in self.said if name == kind and isinstance(what, dict)]

    def last(self, kind: str) -> dict[str, object]:
        """What stands on a topic, or was answered last."""
        return self.all(kind)[-1]


class FakeStation:
    """A reader that keeps what it is told."""

    def __init__(self) -> None:
        """Nothing was told yet."""
        self.told: list[str] = []

    def settled(self, token: int) -> None:
        """Notes it."""
        self.told.append(f"settled {token}")

    def feedback(self, outcome: Outcome) -> None:
        """Notes it."""
        self.told.append(outcome)

    def restart_decoder(self) -> None:
        """Notes it."""
        self.told.append("restart")


class Table:
    """An engine on a real journal in `directory`, with everything else faked; a new one of them is a restart.

    Attributes:
        journal: the one that the engine holds, or held before it failed.
        alive: how often the watchdog was fed.
        reopening: how the journal is opened after a failure.
        reopened: when that was tried.
    """

    def __init__(
        self,
        directory: Path,
        *,
        clock: FakeClock | None = None,
        rules: Rules | None = None,
        scanners: str = "shoe",
        duties: Duties | None = None,
    ) -> None:
        """Folds the journal and begins; the broker is away and no scanner is known. `scanners` are comma-separated."""
        self.directory, self.clock, self.speaker = directory, clock or FakeClock(), FakeSpeaker()
        self.alive = 0
        self.reopened: list[int] = []
        names = tuple(scanners.split(","))
        self.stations = {name: FakeStation() for name in names}
        self.inbox: Inbox = queue.SimpleQueue()
        self.reopening: Callable[[], FailingJournal] = self.open
        self.journal = self.open(create=True)
        setup = Setup(TABLE, games.load("teen-patti-20-20"), rules or Rules(), names)
        vault = Vault(self.journal, self._reopened)
        self.engine = Engine(
            setup,
            Process("session-1", "1.0", "0" * 64),
            inbox=self.inbox,
            clock=self.clock,
            vault=vault,
            texts=texts("en"),
            alive=self._fed,
            duties=duties or Duties(),
        )

    def open(self, *, create: bool = False) -> FailingJournal:
        """Opens the journal on the disk."""
        return FailingJournal.open(self.directory, TABLE, create=create, busy_ms=50)  # type: ignore[return-value]  # opens what it is called on, though it says the base class

    def begin(self) -> Table:
        """The engine's start."""
        self.engine.begin(self.speaker, self.stations, lambda _: None)
        return self

    def ready(self, start: str = "command") -> Table:
        """Begins with a broker and all scanners up; `start` = `open` opens a round."""
        self.begin()
        self.take(Connected(self.clock.now(), "broker"), *(self.up(name) for name in self.stations))
        if start == "open":
            self.command("open", id="c-open")
        return self

    def take(self, *letters: Letter) -> None:
        """One turn of the engine."""
        self.engine.turn(list(letters))

    def command(self, name: str, **fields: object) -> dict[str, object]:
        """Sends a command and returns its reply."""
        self.take(self.asked(name, **fields))
        return self.speaker.last("answer")

    def asked(self, name: str, **fields: object) -> CommandReceived:
        """A command as it comes."""
        return CommandReceived(self.clock.now(), name, json.dumps(fields).encode(), retain=False)

    def retained(self, name: str, **fields: object) -> CommandReceived:
        """A command that the broker had kept."""
        return CommandReceived(self.clock.now(), name, json.dumps(fields).encode(), retain=True)

    def up(self, scanner: str = "shoe") -> ScannerWentUp:
        """A scanner that is open."""
        return ScannerWentUp(self.clock.now(), scanner)

    def read(self, card: str, scanner: str = "shoe") -> Read:
        """A card, now."""
        return Read(self.clock.now(), scanner, Card(card), raw=f"{card}\r".encode())

    def misread(self, detail: str = "checksum", scanner: str = "shoe") -> FailedRead:
        """A bad frame, now."""
        return FailedRead(self.clock.now(), scanner, "bad_frame", detail)

    def deal(self, *cards: str) -> None:
        """Reads cards, a second apart, each in a turn of its own."""
        for card in cards:
            self.clock.move(SECOND)
            self.take(self.read(card))

    def pass_time(self, micros: int) -> None:
        """Lets time pass, with a turn at its end."""
        self.clock.move(micros)
        self.take()

    def fail(self, why: str = "the disk is full", *, lands: bool = False) -> None:
        """From now on no write succeeds, and the journal can't be opened."""
        self.journal.failing, self.journal.lands = why, lands
        self.reopening = self._cannot_open

    def mend(self) -> None:
        """The disk is well again."""
        self.reopening = self.open

    def events(self) -> list[dict[str, object]]:
        """What is in the journal."""
        with self.open() as journal:
            return [json.loads(record.body) for record in Journal.records(journal, 0, 100_000)]

    def types(self) -> list[object]:
        """The types of what is in the journal, in order."""
        return [event["type"] for event in self.events()]

    def stop(self) -> None:
        """An orderly end."""
        self.inbox.put(StopRequested("SIGTERM"))
        self.engine.run()
        self.engine.close()

    def crash(self) -> None:
        """The process is killed: nothing more is written."""
        self.journal.close()

    def _reopened(self) -> Journal:
        self.reopened.append(self.clock.now())
        self.journal = self.reopening()
        return self.journal

    @staticmethod
    def _cannot_open() -> FailingJournal:
        raise JournalError("the disk is still full")

    def _fed(self) -> None:
        self.alive += 1
