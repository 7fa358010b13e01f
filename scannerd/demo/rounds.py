"""A table without hardware: a broker, the daemon on a recorded shoe, a game engine, and somebody who follows it all.

Each is the real thing in a process of its own; only the bytes were recorded, and the bettors are simulated. What is
printed is what a subscriber hears over MQTT, not what daemon and engine say of themselves.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from scannerd.client import BEGINNING, BrokerSettings, Client, TableEvent
from scannerd.client.link import Link
from scannerd.core.state import Rules
from scannerd.demo.embedded_broker import EmbeddedBroker, free_port
from scannerd.demo.lines import paid, told
from scannerd.errors import ScannerdError

TABLE = "demo"
SILENCE_S = 30
"""Seconds without an event after which the demo is given up: the recording never pauses for so long."""

STOP_S = 5.0
ENGINE = "teen_patti"
"""The package of the reference game engine, an extra: without it the demo shows the cards alone."""


CONFIG = """\
[table]
id = "demo"
state_dir = "{folder}/state"

[[scanner]]
name = "shoe"
driver = "replay"
url = "{recording}"
loop = true
speed = {speed}

[round]
start = "auto"
bounce_ms = {bounce_ms}
min_gap_ms = {min_gap_ms}
round_gap_ms = {round_gap_ms}

[mqtt]
url = "{broker}"

[display]
listen = "{page}"
"""


class DemoFailed(ScannerdError):  # noqa: N818 - what happened
    """The daemon or the engine ended, or nothing more came from it. What it said is in the message."""


def run(
    rounds: int | None, speed: float, say: Callable[[str], None], asked_to_end: Callable[[], bool] = lambda: False
) -> None:
    """Deals rounds until `rounds` are complete, or for ever.

    Args:
        rounds: how many; None: until interrupted.
        speed: how fast the recording plays; 1: as it was recorded.
        say: prints a line.
        asked_to_end: looked at once a second.

    Raises:
        BrokerMissing: no broker can be had on this machine.
        DemoFailed: the daemon did not deal.
    """
    with tempfile.TemporaryDirectory(prefix="scannerd-demo-") as folder, EmbeddedBroker() as broker:
        page = f"127.0.0.1:{free_port()}" if find_spec("starlette") and find_spec("uvicorn") else ""
        place = Path(folder)
        with _engine(place, broker.url, speed) as engine, _daemon(place, broker.url, page, speed) as daemon:
            say(f"broker: {broker.kind} at {broker.url}")
            say(f"watch:  {broker.subscribe_line('scannerd/v1/' + TABLE)}")
            if page:
                say(f"page:   http://{page}/")
            settings = BrokerSettings((broker.url,), root="scannerd", table=TABLE, client_id="scannerd-demo")
            with Client(settings, start=BEGINNING, session_s=0) as table:
                _follow(_events(table, daemon, asked_to_end), rounds, say, engine)


@dataclass(frozen=True, slots=True)
class _Process:
    """A process of the demo, and where it says what goes wrong."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    def failure(self, what: str) -> DemoFailed:
        said = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        return DemoFailed(f"{what}; it said: {' '.join(said) or 'nothing'}")

    def check(self) -> None:
        """Nothing, as long as it lives.

        Raises:
            DemoFailed: it has ended.
        """
        if self.process.poll() is not None:
            raise self.failure(f"the {self.name} ended with {self.process.returncode}")


@dataclass(frozen=True, slots=True)
class _Engine:
    """The game engine's process, and the results that it publishes."""

    process: _Process
    results: queue.SimpleQueue[bytes] = field(default_factory=queue.SimpleQueue)

    def result(self, name: str | None) -> Mapping[str, object]:
        """The result of a round, once it is settled, or void.

        Raises:
            DemoFailed: none comes.
        """
        for _ in range(SILENCE_S):
            with suppress(queue.Empty):
                while True:
                    result: dict[str, object] = json.loads(self.results.get(timeout=1.0))
                    if result["round"] == name and result["state"] != "result":
                        return result
            self.process.check()
        raise self.process.failure(f"no result of round {name} came from the engine for {SILENCE_S} s")


@contextmanager
def _daemon(folder: Path, broker: str, page: str, speed: float) -> Iterator[_Process]:
    recording = files("scannerd.demo") / "demo.scanlog"
    config = folder / "demo.toml"
    usual = Rules()
    text = CONFIG.format(
        folder=folder,
        recording=recording,
        broker=broker,
        page=page,
        speed=speed,
        bounce_ms=round(usual.bounce_ms / speed),
        min_gap_ms=round(usual.min_gap_ms / speed),
        round_gap_ms=round(usual.round_gap_ms / speed),
    )
    config.write_text(text, encoding="utf-8")
    with _running("daemon", folder, ["scannerd", "run", "-c", str(config)]) as process:
        yield process


@contextmanager
def _engine(folder: Path, broker: str, speed: float) -> Iterator[_Engine | None]:
    """The reference game engine with a few bettors, where it is installed; the table deals and it follows."""
    if find_spec(ENGINE) is None:
        yield None
        return
    arguments = [ENGINE, "run", "--table", TABLE, "--url", broker, "--state", str(folder / "engine.json")]
    arguments += ["--follow", "--from-start", "--settle-s", str(1 / speed), "--bettors", "4"]
    listener = BrokerSettings((broker,), root="scannerd", table=TABLE, client_id="scannerd-demo-results")
    with _running("engine", folder, arguments) as process:
        engine = _Engine(process)
        link = Link(listener, [f"{listener.prefix}/result"], lambda arrived: engine.results.put(arrived.payload))
        link.open()
        try:
            yield engine
        finally:
            link.close()


@contextmanager
def _running(name: str, folder: Path, module: list[str]) -> Iterator[_Process]:
    log = folder / f"{name}.log"
    with log.open("wb") as said:
        process = subprocess.Popen(  # noqa: S603 - our own command line
            [sys.executable, "-m", *module],
            stderr=said,
            stdout=said,
            start_new_session=True,  # Ctrl-C is for the demo, which ends the others in order
        )
        try:
            yield _Process(name, process, log)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_S)
            process.kill()
            process.wait()


def _follow(
    events: Iterator[TableEvent], rounds: int | None, say: Callable[[str], None], engine: _Engine | None
) -> None:
    done = 0
    for event in events:
        for line in told(event):
            say(line)
        if event.type != "round_completed":
            continue
        for line in paid(engine.result(event.round)) if engine else ():
            say(line)
        done += 1
        if done == rounds:
            return


def _events(table: Client, daemon: _Process, asked_to_end: Callable[[], bool]) -> Iterator[TableEvent]:
    """What comes from the table, for as long as the daemon lives, something comes and nobody asks for the end."""
    silent_s = 0
    while not asked_to_end():
        if silent_s >= SILENCE_S:
            raise daemon.failure(f"nothing came from the daemon for {SILENCE_S} s")
        for item in table.events(1.0):
            if asked_to_end():
                return
            silent_s = 0
            if isinstance(item, TableEvent):
                yield item
        silent_s += 1
        daemon.check()
