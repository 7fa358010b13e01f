"""What tests of the publisher share: a journal in memory, an inbox that can be waited on, and a started publisher."""

from __future__ import annotations

import dataclasses
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pytest

from scannerd.publisher import (
    Acknowledged,
    BrokerAlarm,
    BrokerSettings,
    Connected,
    Notice,
    Publisher,
    Record,
)

BOUND_S = 20.0
WILL = b'{"state":"offline","session":"s-1"}'
ONLINE = b'{"state":"online","session":"s-1"}'
OFFLINE = b'{"state":"offline","session":"s-1","reason":"stop"}'
NoticeT = TypeVar("NoticeT")


@dataclass(frozen=True, slots=True)
class Event:
    """A journalled event."""

    seq: int
    type: str
    body: bytes


class Journal:
    """A journal in memory; `reads` counts the pages that were read, `longest` is the longest of them."""

    def __init__(self) -> None:
        """Nothing is in it yet."""
        self.events: list[Event] = []
        self.reads = self.longest = self.closed = 0
        self.trouble: Exception | None = None

    def append(self, *types: str) -> int:
        """Adds one event for each type, with a body of its own; returns the number of the last."""
        for kind in types:
            seq = len(self.events) + 1
            self.events.append(Event(seq, kind, b'{"seq":%d,"type":"%s","pad":"\xc3\xa9 "}' % (seq, kind.encode())))
        return len(self.events)

    def records(self, after: int, limit: int) -> list[Record]:
        """A page of the journal."""
        if self.trouble is not None:
            raise self.trouble
        page: list[Record] = list(self.events[after : after + limit])
        self.reads += 1
        self.longest = max(self.longest, len(page))
        return page

    def close(self) -> None:
        """Notes it."""
        self.closed += 1

    @property
    def bodies(self) -> list[bytes]:
        """The bytes of all events, in order."""
        return [event.body for event in self.events]


class Inbox:
    """Keeps the notices that were posted, and waits for more."""

    def __init__(self) -> None:
        """Nothing has come yet."""
        self.notices: list[Notice] = []
        self._came = threading.Condition()

    def post(self, notice: Notice) -> None:
        """Takes a notice."""
        with self._came:
            self.notices.append(notice)
            self._came.notify_all()

    def of(self, kind: type[NoticeT]) -> list[NoticeT]:
        """The notices of one kind."""
        return [notice for notice in self.notices if isinstance(notice, kind)]

    def comes(self, condition: Callable[[], bool], bound: float) -> bool:
        """Whether `condition` holds within `bound` seconds; it is asked anew at each notice."""
        with self._came:
            return self._came.wait_for(condition, bound)

    def wait(self, condition: Callable[[], bool], bound: float = BOUND_S) -> None:
        """Returns once `condition` holds."""
        assert self.comes(condition, bound), f"not within {bound} s; the last notices: {self.notices[-6:]}"

    def wait_for(self, kind: type[NoticeT], count: int = 1, bound: float = BOUND_S) -> NoticeT:
        """The notice of `kind` that is number `count`."""
        self.wait(lambda: len(self.of(kind)) >= count, bound)
        return self.of(kind)[count - 1]

    def wait_for_alarm(self, alarm: str, *, up: bool = True, count: int = 1, bound: float = BOUND_S) -> BrokerAlarm:
        """The change of `alarm` to `up` that is number `count`."""

        def changes() -> list[BrokerAlarm]:
            return [one for one in self.of(BrokerAlarm) if one.alarm == alarm and one.up is up]

        self.wait(lambda: len(changes()) >= count, bound)
        return changes()[count - 1]

    def wait_until_acknowledged(self, seq: int, bound: float = BOUND_S) -> None:
        """Returns once everything up to `seq` is acknowledged."""
        self.wait(lambda: any(notice.upto >= seq for notice in self.of(Acknowledged)), bound)


class FakeClock:
    """A monotonic clock that stands until it is moved."""

    def __init__(self) -> None:
        """It is one second past nothing."""
        self.now = 1_000_000

    def __call__(self) -> int:
        """The time in microseconds."""
        return self.now


@dataclass(slots=True)
class Desk:
    """A publisher with everything around it."""

    publisher: Publisher
    journal: Journal
    inbox: Inbox
    settings: BrokerSettings
    prefix: str = "scannerd/v1/tp-01"

    def write(self, *types: str) -> int:
        """Journals events and wakes the publisher, as the engine does."""
        head = self.journal.append(*types)
        self.publisher.wake(head)
        return head

    def insist(self, clock: FakeClock, step: int, held: Callable[[], bool]) -> None:
        """Moves the clock by `step` microseconds again and again until `held`: what waits for a time comes due."""
        for _ in range(20):
            clock.now += step
            self.publisher.wake(len(self.journal.events))
            if self.inbox.comes(held, 0.5):
                return
        raise AssertionError(f"never; the last notices: {self.inbox.notices[-6:]}")

    def connected(self, count: int = 1) -> Connected:
        """Waits for the connection that is number `count`."""
        return self.inbox.wait_for(Connected, count)

    def acknowledged(self) -> None:
        """Waits until the broker has everything."""
        self.inbox.wait_until_acknowledged(len(self.journal.events))


Open = Callable[..., Desk]


def settings_for(*urls: str) -> BrokerSettings:
    """Settings of a table whose brokers are at `urls`."""
    return BrokerSettings(urls=urls, root="scannerd", table="tp-01", client_id="tp-01-abc")


def monotonic_us() -> int:
    """The real clock."""
    return time.monotonic_ns() // 1_000


class Desks:
    """Makes publishers, and stops them with the test."""

    def __init__(self) -> None:
        """None was made yet."""
        self._open: list[Desk] = []

    def __call__(  # noqa: PLR0913 - all but the first by name
        self,
        urls: str | Sequence[str],
        *,
        journal: Journal | None = None,
        cursor: int = 0,
        clock: Callable[[], int] = monotonic_us,
        will: bytes = WILL,
        start: bool = True,
        **changes: object,
    ) -> Desk:
        """A publisher for the brokers at `urls`; `changes` are fields of its settings."""
        settings = settings_for(*([urls] if isinstance(urls, str) else urls))
        settings = dataclasses.replace(settings, **changes)  # type: ignore[arg-type] # each test names fields with their types
        own = journal or Journal()
        inbox = Inbox()
        publisher = Publisher(settings, lambda: own, cursor, inbox.post, will, clock, random.Random(1))  # noqa: S311 - jitter
        desk = Desk(publisher, own, inbox, settings)
        self._open.append(desk)
        if start:
            publisher.wake(len(own.events))
            publisher.start()
        return desk

    def close(self) -> None:
        """Stops all of them."""
        for desk in self._open:
            desk.publisher.stop(OFFLINE, 0.2)


@pytest.fixture(name="desks")
def desks_fixture() -> Iterator[Desks]:
    """Makes publishers that end with the test."""
    made = Desks()
    yield made
    made.close()
