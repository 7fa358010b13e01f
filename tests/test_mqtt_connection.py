"""Attempts to connect: in turn, bounded, with back-off; on a clock that the test moves."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import pytest

from scannerd.mqtt.address import Address, Failure
from scannerd.mqtt.alarms import Alarms
from scannerd.mqtt.connection import Connection, Phase
from scannerd.mqtt.link import Accepted, Happening, Link, Lost, Refused
from scannerd.mqtt.notices import BrokerAlarm
from scannerd.mqtt.retry import Backoff, Takeovers

SECOND = 1_000_000
ONE, TWO = Address("one", 1883, tls=False), Address("two", 1883, tls=False)


class FakeLink:
    """A link whose dialling ends as told; `gate` holds it until it is set."""

    def __init__(self, error: Exception | None = None, gate: threading.Event | None = None) -> None:
        """`error` is what dialling raises."""
        self.closed = threading.Event()
        self._error = error
        self._gate = gate

    def dial(self) -> None:
        """Ends as told."""
        if self._gate is not None:
            assert self._gate.wait(10)
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """Notes it."""
        self.closed.set()

    def fileno(self) -> int | None:
        """None: there is no socket."""

    def wants_write(self) -> bool:
        """Nothing waits."""
        return False

    def serve(self, *, readable: bool) -> list[Happening]:
        """Nothing happens."""
        assert isinstance(readable, bool)
        return []

    def pending(self) -> bool:
        """Nothing happens."""
        return False

    def subscribe(self) -> None:
        """Does nothing."""

    def listen(self) -> None:
        """Does nothing."""

    def unsubscribe(self) -> None:
        """Does nothing."""

    def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, event: bool = False, correlation: bytes | None = None
    ) -> int:
        """Sends nothing."""
        del topic, payload, retain, event, correlation
        return 1

    def disconnect(self) -> None:
        """Does nothing."""


class Bench:
    """A connection whose links come from a function, and whose dialling can be waited for."""

    def __init__(self, make: Callable[[Address], Link], *addresses: Address) -> None:
        """Nothing is dialled yet."""
        self.alarms: list[BrokerAlarm] = []
        self.dialled: list[Address] = []
        self._ended = threading.Semaphore(0)
        self._make = make
        own = addresses or (ONE,)
        self.connection = Connection(
            own,
            self._link,
            Backoff(random.Random(7), len(own)),  # noqa: S311 - jitter
            Alarms(self.alarms.append),
            timeout_us=10 * SECOND,
            wake=self._ended.release,
        )

    def attempt(self, now: int) -> None:
        """Lets one attempt begin and end at `now`."""
        self.connection.turn(now)
        assert self._ended.acquire(timeout=10)
        self.connection.turn(now)

    def _link(self, address: Address) -> Link:
        self.dialled.append(address)
        return self._make(address)


@pytest.mark.fault(93)
def test_a_broker_that_is_back_is_found_within_ten_seconds() -> None:
    """However long a broker was away, the next attempt is at most 10 s later, and the alarm is told once."""
    bench = Bench(lambda _: FakeLink(ConnectionRefusedError()))
    now = 0
    while now < 600 * SECOND:
        bench.attempt(now)
        assert bench.connection.due is not None
        assert bench.connection.due - now <= 10 * SECOND
        now = bench.connection.due
    assert ["one:1883: connection refused"] == [alarm.detail for alarm in bench.alarms]


def test_brokers_are_tried_in_turn_without_a_wait() -> None:
    """After a failure the next broker is tried at once; only a whole round is followed by a wait."""
    bench = Bench(lambda _: FakeLink(TimeoutError()), ONE, TWO)
    bench.attempt(0)
    assert bench.connection.due == 0
    bench.attempt(0)
    assert (bench.connection.due or 0) > 0
    assert [ONE, TWO] == bench.dialled


def test_a_connection_that_lived_is_followed_by_an_attempt_at_once() -> None:
    """The first attempt after a loss has no wait; after a connection that ended at once there is one."""
    bench = Bench(lambda _: FakeLink())
    bench.attempt(0)
    bench.connection.accepted(Accepted(20, session_present=False), 0)
    bench.connection.lost(Lost(Failure("network", "gone")), 60 * SECOND)
    assert bench.connection.due == 60 * SECOND
    bench.attempt(60 * SECOND)
    bench.connection.accepted(Accepted(20, session_present=False), 60 * SECOND)
    bench.connection.lost(Lost(Failure("network", "gone")), 60 * SECOND)
    assert (bench.connection.due or 0) > 60 * SECOND


@pytest.mark.fault(91)
def test_a_dialling_that_hangs_is_given_up_and_cleaned_up() -> None:
    """A name look-up without end costs 10 s; should a connection come of it later, it is closed."""
    gate = threading.Event()
    late = FakeLink(gate=gate)
    bench = Bench(lambda _: late)
    phases = []
    for now in (0, 10 * SECOND):
        bench.connection.turn(now)
        phases.append(bench.connection.phase)
    assert [Phase.DIALLING, Phase.WAITING] == phases
    gate.set()
    assert late.closed.wait(10)


def test_a_broker_that_never_says_yes_is_given_up() -> None:
    """A connection without a CONNACK costs 10 s."""
    link = FakeLink()
    bench = Bench(lambda _: link)
    bench.attempt(0)
    phases = [bench.connection.phase]
    bench.connection.turn(10 * SECOND)
    assert [Phase.GREETING, Phase.WAITING] == [*phases, bench.connection.phase]
    assert link.closed.is_set()


@pytest.mark.fault(95)
def test_a_refusal_is_named() -> None:
    """A refused CONNACK closes the connection and is told with its cause."""
    bench = Bench(lambda _: FakeLink())
    bench.attempt(0)
    bench.connection.refused(Refused("Not authorized"), 0)
    assert ["one:1883: refused: Not authorized"] == [alarm.detail for alarm in bench.alarms]
    assert bench.connection.link is None


def test_a_bug_in_dialling_is_not_hidden() -> None:
    """An exception that no network gives ends the publisher's loop."""
    bench = Bench(lambda _: FakeLink(KeyError("bug")))
    with pytest.raises(KeyError):
        bench.attempt(0)


@pytest.mark.fault(83)
def test_three_takeovers_slow_the_attempts_down_until_they_are_over() -> None:
    """The third takeover within 30 s raises the alarm and a wait of 5 to 10 s; 30 s without one end it."""
    bench = Bench(lambda _: FakeLink())
    now = 0
    for _ in range(3):
        bench.attempt(now)
        bench.connection.accepted(Accepted(20, session_present=False), now)
        now += SECOND
        bench.connection.lost(Lost(Failure("network", "taken"), 0x8E), now)
        wait, now = (bench.connection.due or 0) - now, bench.connection.due or 0
    assert 5 * SECOND <= wait <= 10 * SECOND
    bench.attempt(now)
    bench.connection.accepted(Accepted(20, session_present=False), now)
    bench.connection.turn(now + 31 * SECOND)
    assert [True, False] == [alarm.up for alarm in bench.alarms if alarm.alarm == "takeover"]


def test_takeovers_far_apart_are_no_fight() -> None:
    """Three takeovers in more than 30 s are none."""
    takeovers = Takeovers()
    assert [False, False, False] == [takeovers.seen(second * SECOND) for second in (0, 20, 40)]
