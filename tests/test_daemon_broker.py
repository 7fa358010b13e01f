"""What befalls the way to the broker in the middle of a round: seen from the game engine, no event is lost or doubled.

What must hold stands in `tests.witness`; the engine is `scannerd.client`, which asks for what a broker has lost.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest

from tests.daemon import Daemon, StartDaemon, let_pass, start_daemon_fixture
from tests.fakes import SIX
from tests.following import Follower
from tests.mosquitto import Mosquitto, StartBroker, broker_fixture, start_broker_fixture
from tests.proxy import Proxy, proxy_to
from tests.test_daemon_crash import decks, rounds_are_right

__all__ = ["broker_fixture", "start_broker_fixture", "start_daemon_fixture"]

QUICK = 'start = "auto"\nmin_gap_ms = 0\nround_gap_ms = 0\nbounce_ms = 0\nmax_attempts = 0'
KEEPALIVE_S = 1
STORM = 6


class Way:
    """A broker, a proxy before it that the daemon is sent through, and what may befall them."""

    def __init__(self, broker: Mosquitto, proxy: Proxy) -> None:
        """All is well."""
        self.broker, self.proxy = broker, proxy

    @contextmanager
    def killed(self) -> Iterator[None]:
        """The broker dies, and comes back with what it had saved, which is nothing where it keeps nothing."""
        self.broker.kill()
        yield
        self.broker.start()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The broker stands still, its connections open."""
        self.broker.pause()
        yield
        self.broker.resume()

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Every connection of the daemon is cut; the next one is good."""
        self.proxy.cut()
        yield

    @contextmanager
    def delayed(self) -> Iterator[None]:
        """Nothing comes through, either way, until all comes at once."""
        self.proxy.holding = True
        yield
        self.proxy.holding = False

    @contextmanager
    def swallowed(self) -> Iterator[None]:
        """The broker takes everything and its answers are lost; then the connection is cut."""
        self.proxy.swallowing = True
        before = self.proxy.swallowed
        yield
        self.proxy.wait_for_swallowed(before + 1)
        self.proxy.swallowing = False
        self.proxy.cut()


Fault = Callable[[Way], AbstractContextManager[None]]
FAULTS: tuple[Fault, ...] = (Way.killed, Way.paused, Way.cut, Way.delayed, Way.swallowed)
LONG: tuple[Fault, ...] = (Way.killed, Way.paused, Way.delayed)
"""Faults during which the daemon notices that nobody answers."""


@contextmanager
def dealing(broker: Mosquitto, start_daemon: StartDaemon, protocol: int = 5) -> Iterator[tuple[Way, Daemon, Follower]]:
    """A daemon behind a proxy, and an engine at the broker itself; at the end the engine has what the journal has."""
    with ExitStack() as stack:
        proxy = stack.enter_context(proxy_to(broker.port))
        daemon = start_daemon(f"mqtt://127.0.0.1:{proxy.port}", QUICK, start=False)
        mqtt = f"[mqtt]\nprotocol = {protocol}\nkeepalive_s = {KEEPALIVE_S}"
        daemon.config.write_text(daemon.config.read_text().replace("[mqtt]", mqtt))
        follower = stack.enter_context(Follower(broker.port, daemon.state_dir))
        daemon.start()
        follower.wait_for("scanner_up")
        yield Way(broker, proxy), daemon, follower
        assert 0 == daemon.stop()
        records = daemon.records()
        follower.wait(lambda: len(follower.witness.bodies) == len(records))
        assert [record.body for record in records] == follower.witness.bodies
        assert [] == follower.witness.faults
        rounds_are_right(follower.witness.bodies)


@pytest.mark.parametrize(
    ("fault", "saving", "protocol"),
    [
        (Way.killed, True, 5),
        (Way.killed, False, 4),
        (Way.paused, False, 5),
        (Way.cut, False, 4),
        (Way.delayed, False, 5),
        (Way.swallowed, False, 4),
    ],
)
def test_fault_in_mid_round(
    start_broker: StartBroker, start_daemon: StartDaemon, fault: Fault, *, saving: bool, protocol: int
) -> None:
    """The round is dealt to its end whatever befalls the broker, and the engine is told of each card once, in order."""
    with dealing(start_broker(persistence=saving), start_daemon, protocol) as (way, daemon, follower):
        daemon.send(*SIX[:2])
        follower.wait_for("card_accepted", 2)
        with fault(way):
            if fault in LONG:
                daemon.wait_for_journal("alarm_raised")
            daemon.send(*SIX[2:])
            daemon.wait_for_beeps(b"+", 6)
        follower.wait_for("round_completed")
        daemon.send(*reversed(SIX))
        follower.wait_for("round_completed", 2)


@pytest.mark.fault(74)
def test_pause_beyond_the_keepalive(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A broker that stands still for longer than the keepalive is left, no round opens, and all goes out after."""
    with dealing(broker, start_daemon) as (way, daemon, follower):
        daemon.send(*SIX[:2])
        follower.wait_for("card_accepted", 2)
        with way.paused():
            daemon.send(*SIX[2:])
            daemon.wait_for_beeps(b"+", 6)
            let_pass(4 * KEEPALIVE_S)
            daemon.send("5C")
            daemon.wait_for_beeps(b"-", 1)
        follower.wait_for("scan_rejected")
        follower.wait_for("alarm_cleared")
        daemon.send(*SIX)
        follower.wait_for("round_completed", 2)


def test_storm(start_broker: StartBroker, start_daemon: StartDaemon) -> None:
    """One fault after the other, of every kind and for any time, while cards are dealt: the engine is told of each."""
    chance = random.Random(7)  # noqa: S311 - a shoe
    with dealing(start_broker(persistence=True), start_daemon) as (way, daemon, follower):
        cards, over = decks(chance), threading.Event()

        def deal() -> None:
            while not over.wait(0.01):
                daemon.send(next(cards))

        dealer = threading.Thread(target=deal)
        dealer.start()
        try:
            for fault in [*FAULTS, *(chance.choice(FAULTS) for _ in range(STORM - len(FAULTS)))]:
                with fault(way):
                    let_pass(chance.uniform(0, 0.5))
                before = follower.witness.counts.get("card_accepted", 0)
                follower.wait_for("card_accepted", before + chance.randrange(1, 10))
        finally:
            over.set()
            dealer.join()
