"""The engine as it is run: a process of its own, at a real daemon behind a real broker, killed where it hurts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from teen_patti.keeping import Keeper, Kept
from teen_patti.simulate import shuffled
from tests.daemon import (
    BOUND_S,
    PREFIX,
    Daemon,
    StartDaemon,
    Watcher,
    start_daemon_fixture,  # noqa: F401 - pytest finds it by name
)
from tests.fakes import TABLE
from tests.mosquitto import Mosquitto, StartBroker, broker_fixture, start_broker_fixture  # noqa: F401 - as above

RULES = 'start = "command"\nmin_gap_ms = 0\nbounce_ms = 0'
QUICK = ("--betting-s", "0.1", "--settle-s", "0.1")
PATIENT = ("--betting-s", "0.1", "--settle-s", "600")


class Engine:
    """One engine's file, and its process while it runs."""

    def __init__(self, folder: Path, url: str) -> None:
        self.path = folder / "engine.json"
        self._log = folder / "engine.log"
        self._out = folder / "engine.out"
        self._url = url
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process."""
        assert self._process is not None, "the engine was never started"
        return self._process

    def start(self, *arguments: str) -> None:
        """Starts the process, with four bettors."""
        command = [sys.executable, "-m", "teen_patti", "run", "--table", TABLE, "--url", self._url]
        with self._log.open("ab") as log, self._out.open("ab") as out:
            self._process = subprocess.Popen(
                [*command, "--state", str(self.path), "--bettors", "4", *arguments],
                stdout=out,
                stderr=log,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ends the process with a signal; returns its exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Waits until the process ends by itself; returns its exit code."""
        return self.process.wait(BOUND_S)

    def log(self) -> str:
        """What it said on stderr."""
        return self._log.read_text(encoding="utf-8")

    def printed(self) -> str:
        """What it said on stdout."""
        return self._out.read_text(encoding="utf-8")

    def kept(self) -> Kept:
        """What is in its file while no engine runs."""
        with Keeper(self.path) as keeper:
            kept = keeper.load(TABLE)
        assert kept is not None
        return kept

    def close(self) -> None:
        """Ends whatever is left."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(BOUND_S)


@pytest.fixture(name="engine")
def engine_fixture(broker: Mosquitto, tmp_path: Path) -> Iterator[Engine]:
    """An engine, not yet started; it ends with the test."""
    engine = Engine(tmp_path, broker.url)
    yield engine
    engine.close()


@pytest.fixture(name="watcher")
def watcher_fixture(broker: Mosquitto) -> Iterator[Watcher]:
    """Somebody who sees all topics of the table."""
    with Watcher(broker.port) as watcher:
        yield watcher


@pytest.fixture(name="daemon")
def daemon_fixture(broker: Mosquitto, start_daemon: StartDaemon, watcher: Watcher) -> Daemon:
    """A daemon that opens rounds by command and takes cards as fast as they come."""
    daemon = start_daemon(broker.url, RULES)
    watcher.wait_for_event("scanner_up")
    return daemon


def opened(watcher: Watcher, count: int = 1) -> str:
    """The name of the round that is the table's number `count`, once it is opened."""
    return str(watcher.wait_for_event("round_opened", count)["round"])


def results(watcher: Watcher, state: str) -> list[dict[str, object]]:
    """The results that were published in one state, each round's once."""
    told = [message.json() for message in watcher.on(f"{PREFIX}/result")]
    return list({str(one["round"]): one for one in told if one["state"] == state}.values())


def wait_for_result(watcher: Watcher, state: str, count: int = 1) -> dict[str, object]:
    """The result that is number `count` of those in one state."""
    watcher.wait(lambda: len(results(watcher, state)) >= count, BOUND_S)
    return results(watcher, state)[count - 1]


def gains(told: list[dict[str, object]]) -> Decimal:
    """What all bettors together have won, by the results."""
    return sum((Decimal(str(one["paid"])) - Decimal(str(one["staked"])) for one in told), Decimal(0))


def balances(engine: Engine) -> Decimal:
    """What all bettors together have won, by the engine's file; stakes of a round in play are no loss yet."""
    state = engine.kept().state
    in_play = state.round is not None and not state.round.phase.ended
    open_stakes = state.round.ledger.staked if state.round is not None and in_play else Decimal(0)
    return sum(state.balances.values(), Decimal(0)) + open_stakes


def test_rounds_are_opened_dealt_and_settled(daemon: Daemon, watcher: Watcher, engine: Engine) -> None:
    """The engine has rounds dealt by command, publishes each result retained, prints it, and ends with 0."""
    engine.start(*QUICK, "--rounds", "2", "--language", "pt")
    for count in (1, 2):
        daemon.send(*shuffled(1, opened(watcher, count)))
    assert 0 == engine.wait()
    told = results(watcher, "settled")
    assert [opened(watcher, 1), opened(watcher, 2)] == [one["round"] for one in told]
    assert gains(told) == balances(engine)
    lines = engine.printed().splitlines()
    assert [f"ronda {one['round']}: {names(one)['winner']}" for one in told] == [
        line for line in lines if line.startswith("ronda")
    ]
    assert [f"apostado {Decimal(str(one['staked'])):,.2f}" in engine.printed() for one in told] == [True, True]


def names(result: dict[str, object]) -> dict[str, object]:
    """The names in a result."""
    found = result["names"]
    assert isinstance(found, dict)
    return found


def test_result_is_retained(daemon: Daemon, watcher: Watcher, engine: Engine, broker: Mosquitto) -> None:
    """Whoever comes later finds the last result on its topic."""
    engine.start(*QUICK, "--rounds", "1", "--json")
    daemon.send(*shuffled(1, opened(watcher)))
    assert 0 == engine.wait()
    with Watcher(broker.port) as later:
        found = later.wait_for_shown("result", state="settled")
    assert json.loads(engine.printed()) == found


def in_mid_round(daemon: Daemon, watcher: Watcher) -> None:
    """Three cards lie there."""
    daemon.send(*shuffled(1, opened(watcher))[:3])
    watcher.wait_for_event("card_accepted", 3)


def after_the_result(daemon: Daemon, watcher: Watcher) -> None:
    """The result is told, and not paid yet."""
    daemon.send(*shuffled(1, opened(watcher)))
    wait_for_result(watcher, "result")


def before_the_first_card(daemon: Daemon, watcher: Watcher) -> None:
    """The round is opened."""
    del daemon
    opened(watcher)


@pytest.mark.parametrize("moment", [before_the_first_card, in_mid_round, after_the_result])
def test_killed_engine_pays_once(
    daemon: Daemon, watcher: Watcher, engine: Engine, moment: Callable[[Daemon, Watcher], None]
) -> None:
    """An engine killed in a round, or between result and settlement, goes on with it and pays it once."""
    engine.start(*PATIENT)
    moment(daemon, watcher)
    engine.end(signal.SIGKILL)
    bets = engine.kept().state.round.ledger.bets  # type: ignore[union-attr]  # a round is being dealt
    lying = len(watcher.events("card_accepted"))
    daemon.send(*shuffled(1, opened(watcher))[lying:])
    watcher.wait_for_event("round_completed")
    for _ in range(2):  # killed again, right after the payment
        engine.start(*QUICK)
        wait_for_result(watcher, "settled")
        engine.end(signal.SIGKILL)
    first = results(watcher, "settled")[0]
    assert bets
    assert (opened(watcher), len(bets)) == (first["round"], first["bets"])
    assert gains([first]) == balances(engine)


def test_void_of_a_result_returns_all_bets(daemon: Daemon, watcher: Watcher, engine: Engine) -> None:
    """A completed round that the supervisor voids before its settlement is not paid: all bets are returned."""
    engine.start(*PATIENT, "--rounds", "1")
    after_the_result(daemon, watcher)
    assert watcher.command("void", by="eva", reason="wrong shoe")["ok"]
    assert 0 == engine.wait()
    voided = wait_for_result(watcher, "voided")
    assert (None, "wrong shoe") == (voided["winner"], voided["reason"])
    assert Decimal(0) == gains([voided]) == balances(engine)
    assert "The round is void: bets returned. (wrong shoe)" in engine.printed()


def test_void_after_the_settlement_is_refused_and_alarmed(daemon: Daemon, watcher: Watcher, engine: Engine) -> None:
    """A completed round that is voided after its settlement stays paid, and somebody is called to look."""
    engine.start(*QUICK, "--rounds", "1")
    daemon.send(*shuffled(1, opened(watcher)))
    assert 0 == engine.wait()
    paid = balances(engine)
    assert watcher.command("void", by="eva", reason="too late")["ok"]
    engine.start("--betting-s", "0.1", "--rounds", "1")
    opened(watcher, 2)
    engine.end()
    assert paid == balances(engine)
    assert "alarm correction_after_settlement" in engine.log()


def test_sigterm_ends_in_order(daemon: Daemon, watcher: Watcher, engine: Engine) -> None:
    """SIGTERM in mid-round ends with 0; started again, the engine goes on with the round."""
    engine.start(*PATIENT)
    in_mid_round(daemon, watcher)
    assert 0 == engine.end()
    engine.start(*QUICK, "--rounds", "1")
    daemon.send(*shuffled(1, opened(watcher))[3:])
    assert 0 == engine.wait()
    assert 1 == len(results(watcher, "settled"))
    assert "Traceback" not in engine.log()


def test_daemon_that_comes_later_is_waited_for(
    broker: Mosquitto, start_daemon: StartDaemon, watcher: Watcher, engine: Engine
) -> None:
    """Without a daemon no bets are taken; when it comes, the engine plays."""
    daemon = start_daemon(broker.url, RULES, start=False)
    engine.start(*QUICK, "--rounds", "1")
    watcher.wait_until(lambda message: message.topic.endswith("/command/snapshot"))
    assert not engine.path.exists()
    daemon.start()
    daemon.send(*shuffled(1, opened(watcher)))
    assert 0 == engine.wait()


def test_engine_that_waits_for_its_table_can_be_stopped(engine: Engine, watcher: Watcher) -> None:
    """An engine that has not found its table yet ends with 0, and leaves no file."""
    engine.start()
    watcher.wait_until(lambda message: message.topic.endswith("/command/snapshot"))
    assert 0 == engine.end()
    assert not engine.path.exists()


def test_second_engine_on_one_file_is_refused(daemon: Daemon, watcher: Watcher, engine: Engine) -> None:
    """A second engine with the same file ends with 3 and a line, and the first plays on."""
    del daemon
    engine.start(*PATIENT)
    opened(watcher)
    second = Engine(engine.path.parent, "mqtt://127.0.0.1:1")
    second.start()
    assert 3 == second.wait()
    assert "teen-patti-engine: " in engine.log()
    assert 0 == engine.end()


def test_soak_thirty_rounds_with_kills(daemon: Daemon, watcher: Watcher, engine: Engine) -> None:
    """Over 30 live rounds, the engine killed in every fifth, each round is paid once and balances add up."""
    engine.start("--betting-s", "0", "--settle-s", "0")
    for count in range(1, 31):
        cards = shuffled(30, opened(watcher, count))
        daemon.send(*cards[:3])
        if count % 5 == 0:
            watcher.wait_for_event("card_accepted", 6 * count - 3)
            engine.end(signal.SIGKILL)
            engine.start("--betting-s", "0", "--settle-s", "0")
        daemon.send(*cards[3:])
    wait_for_result(watcher, "settled", 30)
    opened(watcher, 31)
    assert 0 == engine.end()
    told = results(watcher, "settled")
    assert [opened(watcher, count) for count in range(1, 31)] == [one["round"] for one in told]
    assert gains(told) == balances(engine)
    assert "alarm" not in engine.log()
