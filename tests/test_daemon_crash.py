"""Kills, full disks and journals that go away: seen from the consumer, nothing is lost, doubled or out of order."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from scannerd.core.cards import DECK
from scannerd.journal import Batch, Head, JournalReader, verify
from tests.crashing import STEPS
from tests.daemon import BOUND_S, PREFIX, Daemon, StartDaemon, Watcher, let_pass, start_daemon_fixture
from tests.fakes import SIX
from tests.journals import REJECTION, opened, record
from tests.mosquitto import Mosquitto, StartBroker, broker_fixture, start_broker_fixture
from tests.proxy import proxy_to
from tests.test_journal_faults import fill, small_disk
from tests.wire import Subscriber

__all__ = ["broker_fixture", "start_broker_fixture", "start_daemon_fixture"]

QUICK = 'start = "auto"\nmin_gap_ms = 0\nround_gap_ms = 0\nbounce_ms = 0\nmax_attempts = 0'
ROUNDS = 150
KILLS = 8
DEATH_CARDS = 100
MUCH = 16 * 2**20
"""Bytes by which a daemon's memory may differ between two starts; a hundred thousand events are several times that."""
AT_START = {"acknowledged": 3, "marked": 3}
"""Marks that the start itself may make before a card comes."""


def decks(chance: random.Random) -> Iterator[str]:
    """Cards without end, each deck shuffled."""
    while True:
        yield from chance.sample(DECK, len(DECK))


class Shoe:
    """Deals into a daemon that is killed again and again."""

    def __init__(self, daemon: Daemon, chance: random.Random) -> None:
        """Deals the same cards for the same `chance`."""
        self._daemon, self._chance, self._cards = daemon, chance, decks(chance)
        self._told = 0

    def deal(self, count: int, patience: int | None = None) -> None:
        """Sends `count` cards, and waits for so many outcomes, by default of all."""
        self._daemon.send(*(next(self._cards) for _ in range(count)))
        self._told += count if patience is None else patience
        self._daemon.wait_for_outcomes(self._told)

    def deal_to_death(self) -> None:
        """Sends a card at a time until the daemon is dead."""
        for _ in range(DEATH_CARDS):
            self._daemon.send(next(self._cards))
            with suppress(subprocess.TimeoutExpired):
                self._daemon.process.wait(BOUND_S / DEATH_CARDS)
                return

    def new_daemon(self) -> None:
        """Another process tells outcomes from now on."""
        self._daemon.forget_beeps()
        self._told = 0


def start_dealing(daemon: Daemon, consumer: Subscriber, *dying: str) -> None:
    """Starts the daemon and returns when its scanner is up, as a consumer hears; what came before may come again."""
    known = {message.payload for message in consumer.messages}
    mark = len(consumer.messages)
    daemon.start(*dying)

    def is_up() -> bool:
        return any(b'"scanner_up"' in one.payload and one.payload not in known for one in consumer.messages[mark:])

    consumer.wait(is_up, 2 * BOUND_S)


def test_killed_at_any_moment(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """Killed again and again while it deals 150 rounds, it gives a consumer every event in order, once each."""
    chance = random.Random(20)  # noqa: S311 - a shoe
    daemon = start_daemon(broker.url, QUICK, start=False)
    shoe = Shoe(daemon, chance)
    with Subscriber(broker.port, f"{PREFIX}/event/+", session=True, client_id="engine") as consumer:
        start_dealing(daemon, consumer)
        for kill in range(KILLS):
            for _ in range(chance.randrange(3)):
                shoe.deal(60)
            shoe.deal(60, chance.randrange(60))
            daemon.kill()
            if kill % 4 == 0:  # and once more while it starts
                daemon.launch()
                let_pass(chance.uniform(0.05, 0.4))
                daemon.kill()
            shoe.new_daemon()
            start_dealing(daemon, consumer)
        while sum(record.type == "round_completed" for record in daemon.records()) < ROUNDS:
            shoe.deal(120)
        assert 0 == daemon.stop()
        consumer.wait(lambda: b'"daemon_stopped"' in consumer.messages[-1].payload)
    in_order = list(dict.fromkeys(message.payload for message in consumer.messages))
    assert [record.body for record in daemon.records()] == in_order
    assert verify(daemon.state_dir).sound
    rounds_are_right(in_order)


@pytest.mark.parametrize("step", STEPS)
def test_killed_at_every_step(broker: Mosquitto, start_daemon: StartDaemon, step: str) -> None:
    """Killed at each step from decision to mark, it told only what is on the disk, and tells that once and in order."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    shoe = Shoe(daemon, random.Random(STEPS.index(step)))  # noqa: S311 - a shoe
    with Subscriber(broker.port, f"{PREFIX}/event/+", session=True, client_id="engine") as consumer:
        for count in (1, 2, 6):
            start_dealing(daemon, consumer, step, str(count + AT_START.get(step, 0)))
            shoe.deal_to_death()
            assert -signal.SIGKILL == daemon.process.returncode
            written = {record.body for record in daemon.records()}
            assert {message.payload for message in consumer.messages} <= written
            shoe.new_daemon()
        start_dealing(daemon, consumer)
        shoe.deal(12)
        assert 0 == daemon.stop()
        consumer.wait(lambda: b'"daemon_stopped"' in consumer.messages[-1].payload)
    in_order = list(dict.fromkeys(message.payload for message in consumer.messages))
    assert [record.body for record in daemon.records()] == in_order
    assert verify(daemon.state_dir).sound
    rounds_are_right(in_order)


def rounds_are_right(bodies: list[bytes]) -> None:
    """Each completed round has the six cards that were accepted in it, and no two are the same."""
    accepted: list[object] = []
    for body in bodies:
        event = json.loads(body)
        data = event["data"]
        if event["type"] == "card_accepted":
            accepted.append(data["card"])
        elif event["type"] == "round_completed":
            assert accepted == data["dealt"]
            assert 6 == len(set(accepted))
            accepted = []


@pytest.mark.fault(107)
def test_crash_between_acknowledgement_and_mark(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """An event that was acknowledged, but not yet marked so when the process died, comes again as the same bytes."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        start_dealing(daemon, watcher)
        daemon.send("AS")
        watcher.wait_for_event("card_accepted")
        daemon.kill()
        start_dealing(daemon, watcher)
        topic = f"{PREFIX}/event/card_accepted"
        watcher.wait(lambda: len(watcher.on(topic)) > 1)
        assert 1 == len({message.payload for message in watcher.on(topic)})
        daemon.send("KH")
        watcher.wait_for_event("card_accepted", 2)


def test_killed_before_the_acknowledgement(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """What the broker has taken and the daemon never heard of goes out again after a kill, as the same bytes."""
    with proxy_to(broker.port) as proxy, Watcher(broker.port) as watcher:
        daemon = start_daemon(f"mqtt://127.0.0.1:{proxy.port}", QUICK, start=False)
        start_dealing(daemon, watcher)
        watcher.wait_for_shown("status", outbox={"depth": 0, "oldest_at": None})
        proxy.swallowing = True
        daemon.send("AS")
        watcher.wait_for_event("round_opened")
        proxy.wait_for_swallowed(1)
        daemon.kill()
        proxy.swallowing = False
        start_dealing(daemon, watcher)
        topic = f"{PREFIX}/event/round_opened"
        watcher.wait(lambda: len(watcher.on(topic)) > 1, BOUND_S)
        daemon.send("KH")
        watcher.wait_for_event("card_accepted", 2)
        assert 0 == daemon.stop()
        watcher.wait_for_event("daemon_stopped")
    told = dict.fromkeys(message.payload for message in watcher.on(f"{PREFIX}/event/"))
    assert [record.body for record in daemon.records()] == list(told)


def test_full_disk(broker: Mosquitto, start_daemon: StartDaemon, tmp_path: Path) -> None:
    """On a full disk the table is held, alarmed and refuses everything; with room again it goes on where it was."""
    with small_disk(tmp_path / "disk", "4m") as disk, Watcher(broker.port) as watcher:
        daemon = start_daemon(broker.url, QUICK, disk / "tp-01", start=False)
        start_dealing(daemon, watcher)
        daemon.send("AS", "KH")
        watcher.wait_for_shown("prompt", slot="A2")
        ballast = disk / "ballast"
        with ballast.open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
            fill(file)
        replies = (watcher.command("open") for _ in range(20))
        assert any(reply["error"] == "storage" for reply in replies)
        _held_and_alarmed(daemon, watcher)
        ballast.unlink()
        _goes_on(daemon, watcher)
        daemon.kill()


@pytest.mark.fault(105)
def test_journal_that_goes_away(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A journal moved away is noticed at the next write and nothing is taken; moved back, the table goes on."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        start_dealing(daemon, watcher)
        daemon.send("AS", "KH")
        watcher.wait_for_shown("prompt", slot="A2")
        daemon.journal.rename(daemon.folder / "elsewhere")
        daemon.send("9D")
        _held_and_alarmed(daemon, watcher)
        (daemon.folder / "elsewhere").rename(daemon.journal)
        _goes_on(daemon, watcher)


@pytest.mark.fault(105)
def test_end_while_the_journal_is_gone(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """A daemon whose journal was deleted can still be stopped within 2 s, and has said `offline` then."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        start_dealing(daemon, watcher)
        daemon.journal.unlink()
        daemon.send("AS")
        watcher.wait_for_shown("prompt", code="storage_fault")
        daemon.signal(signal.SIGTERM)
        assert 0 == daemon.process.wait(2)
        watcher.wait_for_shown("status", state="offline")
        assert [] == watcher.events("round_opened", "card_accepted", "daemon_stopped")


@pytest.mark.fault(96)
def test_journal_that_another_process_locks(broker: Mosquitto, start_daemon: StartDaemon) -> None:
    """While another process holds the journal no card is accepted, the dealer knows, and all goes on after."""
    daemon = start_daemon(broker.url, QUICK, start=False)
    with Watcher(broker.port) as watcher:
        start_dealing(daemon, watcher)
        daemon.send("AS", "KH")
        watcher.wait_for_shown("prompt", slot="A2")
        with closing(sqlite3.connect(daemon.journal, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            daemon.send("9D")
            _held_and_alarmed(daemon, watcher)
            other.execute("ROLLBACK")
        _goes_on(daemon, watcher)


def _held_and_alarmed(daemon: Daemon, watcher: Watcher) -> None:
    """The prompt and the status say so, commands are refused, and a card leaves no trace."""
    watcher.wait_for_shown("prompt", code="storage_fault")
    watcher.wait_for_alarm("storage")
    assert "storage" == watcher.command("void")["error"]
    daemon.send("2C")
    assert 2 == len(watcher.events("card_accepted"))


def _goes_on(daemon: Daemon, watcher: Watcher) -> None:
    """The round is dealt to its end, and no event is missing or there twice."""
    watcher.wait_for_shown("prompt", code="deal", slot="A2")
    watcher.wait_for_alarm("storage", up=False)
    daemon.send(*SIX[2:])
    watcher.wait_for_event("round_completed")
    assert [*SIX] == [data["card"] for data in watcher.data("card_accepted")]
    with JournalReader(daemon.state_dir) as reader:
        bodies = [record.body for record in reader.walk()]
    watcher.wait(lambda: bodies[-1] in [message.payload for message in watcher.on(f"{PREFIX}/event/")], BOUND_S)
    assert bodies == [message.payload for message in watcher.on(f"{PREFIX}/event/")]
    assert verify(daemon.state_dir).sound


@pytest.mark.fault(115)
def test_long_journal_is_folded_before_ready(start_broker: StartBroker, start_daemon: StartDaemon) -> None:
    """While a hundred thousand events are folded systemd is asked to wait, and READY comes once, after.

    Nor does memory grow with them, neither while all of them wait for the broker nor while they go out.
    """
    broker = start_broker()
    broker.kill()
    daemon = start_daemon(broker.url)
    empty = memory(daemon)
    daemon.kill()
    with opened(daemon.state_dir) as journal:
        head, records = journal.head, []
        for _ in range(100_000):
            records.append(record(journal.journal_id, head, kind="scan_rejected", round_id=None, data=REJECTION))
            head = Head(records[-1].seq, records[-1].hash)
        journal.append(Batch(records=tuple(records)))
    since = len(daemon.manager.heard)
    daemon.start()
    words = [word for _, word in daemon.manager.heard[since:]]
    assert "EXTEND_TIMEOUT_USEC=30000000" in words[: words.index("READY=1")]
    assert memory(daemon) < empty + MUCH
    broker.start()
    with Subscriber(broker.port, f"{PREFIX}/event/scan_rejected") as consumer:
        consumer.wait_for(2_000, BOUND_S)
    assert memory(daemon) < empty + MUCH
    daemon.manager.drain()
    assert [daemon.process.pid] == [pid for pid, word in daemon.manager.heard[since:] if word == "READY=1"]


def memory(daemon: Daemon) -> int:
    """The memory that the process has had at its height, in bytes."""
    status = Path(f"/proc/{daemon.process.pid}/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
