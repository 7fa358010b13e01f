"""Five hundred sudden deaths and a dozen power cuts: what a consumer was told is on the disk, once and in order."""

from __future__ import annotations

import random
import shutil
import signal
import threading
from pathlib import Path

import pytest

from scannerd.journal import Journal, JournalReader, Record, verify
from scannerd.journal.high_water import HighWater
from tests.daemon import BOUND_S, PREFIX, Daemon, StartDaemon, let_pass, start_daemon_fixture
from tests.disks import blank_disk, mounted
from tests.fakes import TABLE
from tests.lives import Nursery, lives_of
from tests.mosquitto import Mosquitto, broker_fixture, start_broker_fixture
from tests.test_daemon_crash import QUICK, Shoe, rounds_are_right
from tests.wire import Subscriber
from tests.witness import Witness

__all__ = ["broker_fixture", "start_broker_fixture", "start_daemon_fixture"]

TOPICS = (f"{PREFIX}/event/+", f"{PREFIX}/round")
LIVES = 500
CARDS = 30
"""Cards that are sent into a life, at most so many of which are dealt in it."""
CUTS = 12


def behind(daemon: Daemon, seq: int) -> list[Record]:
    """What is in the journal behind a number; nothing where there is no journal yet."""
    if not daemon.journal.exists():
        return []
    with JournalReader(daemon.state_dir) as reader:
        return list(reader.walk(seq))


class Dealing:
    """One daemon's lives, its shoe, and who listens."""

    def __init__(self, shoe: Shoe, lives: Nursery, consumer: Subscriber, witness: Witness) -> None:
        """Nobody lives yet."""
        self.shoe, self.lives, self.consumer, self.witness = shoe, lives, consumer, witness

    def bear(self) -> None:
        """Begins a life that nobody's open journal is in the way of."""
        self.witness.let_go()
        self.shoe.new_daemon()
        self.lives.bear()

    def wait_until_up(self, before: int) -> None:
        """Returns when the scanner of this life is up, as the consumer hears, `before` times having been journalled."""
        self.consumer.wait(lambda: self.witness.counts.get("scanner_up", 0) > before, BOUND_S)

    def die(self) -> None:
        """Ends the life as `kill -9` does; all that was told by then is in the journal."""
        assert -signal.SIGKILL == self.lives.end(signal.SIGKILL)
        assert [] == self.witness.faults


@pytest.mark.timeout(600)
def test_killed_five_hundred_times(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """Killed 500 times at random, it loses, doubles, swaps and forges nothing, and never speaks too soon."""
    chance = random.Random(500)  # noqa: S311 - a shoe
    daemon = start_daemon(broker.url, QUICK, start=False)
    witness, written, ups = Witness(daemon.state_dir), 0, 0
    with (
        Subscriber(broker.port, *TOPICS, session=True, client_id="engine", heard=witness) as consumer,
        lives_of(daemon) as lives,
    ):
        dealing = Dealing(Shoe(daemon, chance), lives, consumer, witness)
        for _ in range(LIVES):
            dealing.bear()
            if chance.random() < 1 / 3:
                let_pass(chance.uniform(0, 0.06))
            else:
                dealing.wait_until_up(ups)
                dealing.shoe.deal(CARDS, chance.randrange(CARDS))
                let_pass(chance.uniform(0, 0.004))
            dealing.die()
            life = behind(daemon, written)
            written += len(life)
            ups += sum(record.type == "scanner_up" for record in life)
            assert daemon.beeps.count(b"+") <= sum(record.type == "card_accepted" for record in life)
        dealing.bear()
        dealing.wait_until_up(ups)
        dealing.shoe.deal(12)
        assert 0 == lives.end(signal.SIGTERM)
        consumer.wait(lambda: witness.counts.get("daemon_stopped") == 1)
    assert [record.body for record in daemon.records()] == witness.bodies
    assert [] == witness.faults
    assert verify(daemon.state_dir).sound
    assert LIVES / 2 < witness.counts["scanner_up"] <= LIVES + 1
    rounds_are_right(witness.bodies)


def test_power_cuts(broker: Mosquitto, start_daemon: StartDaemon, tmp_path: Path) -> None:
    """A disk that keeps only what was synced has each event at the very moment at which a consumer is told of it."""
    chance = random.Random(12)  # noqa: S311 - a shoe
    image = blank_disk(tmp_path / "disk")
    with mounted(image, tmp_path / "state") as disk:
        daemon = start_daemon(broker.url, QUICK, disk / "tp-01", start=False)
        witness = Witness(daemon.state_dir)
        cuts = Cuts(image, witness)
        with (
            Subscriber(broker.port, *TOPICS, session=True, client_id="engine", heard=witness) as consumer,
            lives_of(daemon) as lives,
        ):
            dealing = Dealing(Shoe(daemon, chance), lives, consumer, witness)
            dealing.bear()
            dealing.wait_until_up(0)
            for _ in range(CUTS):
                cuts.plan(len(witness.bodies) + chance.randrange(1, 20), lives)
                dealing.shoe.deal(CARDS)
                cuts.wait()
            assert 0 == lives.end(signal.SIGTERM)
        witness.let_go()
    assert [] == witness.faults
    for copy, told in cuts.made:
        with mounted(copy, tmp_path / "after") as disk:
            with Journal.open(disk / "tp-01", TABLE, create=False) as journal:
                assert witness.bodies[:told] == [record.body for record in journal.records(0, told)]
                HighWater(disk / "tp-01").check(journal.journal_id, journal.head.seq)
            assert verify(disk / "tp-01").sound


class Cuts:
    """Copies of a disk, each as a power cut would leave it at the moment at which an event is told.

    Attributes:
        made: the copies, each with how many events had been told by then.
    """

    def __init__(self, image: Path, witness: Witness) -> None:
        """Looks at each new event of `witness`."""
        self.made: list[tuple[Path, int]] = []
        self._image, self._witness, self._done = image, witness, threading.Event()
        self._at = 0
        self._lives: Nursery | None = None
        witness.on_new = self._look

    def plan(self, seq: int, lives: Nursery) -> None:
        """There is a cut when event `seq` is told; whoever lives stands still meanwhile."""
        self._done.clear()
        self._lives, self._at = lives, seq

    def wait(self) -> None:
        """Returns when the cut has been made."""
        assert self._done.wait(BOUND_S)

    def _look(self) -> None:
        if self._lives is None or len(self._witness.bodies) < self._at:
            return
        self._lives.send(signal.SIGSTOP)
        copy = self._image.with_name(f"cut-{len(self.made)}")
        shutil.copy(self._image, copy)
        self.made.append((copy, len(self._witness.bodies)))
        self._lives.send(signal.SIGCONT)
        self._lives = None
        self._done.set()
