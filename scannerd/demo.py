"""A table without hardware: a broker, the daemon on a recorded shoe, and somebody who follows it over MQTT.

Each is the real thing in a process of its own; only the bytes were recorded. What is printed is what a subscriber
hears, not what the daemon says of itself.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from scannerd.client import BEGINNING, BrokerSettings, Client, TableEvent
from scannerd.core.state import Rules
from scannerd.embedded_broker import EmbeddedBroker, free_port
from scannerd.errors import ScannerdError

TABLE = "demo"
SILENCE_S = 30
"""Seconds without an event after which the demo is given up: the recording never pauses for so long."""

STOP_S = 5.0
SUITS = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}

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
    """The daemon ended, or nothing more came from it. What it said is in the message."""


def run(rounds: int | None, speed: float, say: Callable[[str], None]) -> None:
    """Deals rounds until `rounds` are complete, or for ever.

    Args:
        rounds: how many; None: until interrupted.
        speed: how fast the recording plays; 1: as it was recorded.
        say: prints a line.

    Raises:
        BrokerMissing: no broker can be had on this machine.
        DemoFailed: the daemon did not deal.
    """
    with tempfile.TemporaryDirectory(prefix="scannerd-demo-") as folder, EmbeddedBroker() as broker:
        page = f"127.0.0.1:{free_port()}" if find_spec("starlette") and find_spec("uvicorn") else ""
        with _daemon(Path(folder), broker.url, page, speed) as daemon:
            say(f"broker: {broker.kind} at {broker.url}")
            say(f"watch:  {broker.subscribe_line('scannerd/v1/' + TABLE)}")
            if page:
                say(f"page:   http://{page}/")
            settings = BrokerSettings((broker.url,), root="scannerd", table=TABLE, client_id="scannerd-demo")
            with Client(settings, start=BEGINNING, session_s=0) as table:
                _follow(table, rounds, say, daemon)


@dataclass(frozen=True, slots=True)
class _Daemon:
    """The daemon's process, and where it says what goes wrong."""

    process: subprocess.Popen[bytes]
    log: Path

    def failure(self, what: str) -> DemoFailed:
        said = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-3:]
        return DemoFailed(f"{what}; it said: {' '.join(said) or 'nothing'}")


@contextmanager
def _daemon(folder: Path, broker: str, page: str, speed: float) -> Iterator[_Daemon]:
    recording = files("scannerd") / "recordings" / "demo.scanlog"
    config, log = folder / "demo.toml", folder / "daemon.log"
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
    with log.open("wb") as said:
        process = subprocess.Popen(  # noqa: S603 - our own command line
            [sys.executable, "-m", "scannerd", "run", "-c", str(config)],
            stderr=said,
            stdout=said,
            start_new_session=True,  # Ctrl-C is for the demo, which ends the daemon in order
        )
        try:
            yield _Daemon(process, log)
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_S)
            process.kill()
            process.wait()


def _follow(table: Client, rounds: int | None, say: Callable[[str], None], daemon: _Daemon) -> None:
    done = 0
    for event in _events(table, daemon):
        for line in told(event):
            say(line)
        done += event.type == "round_completed"
        if done == rounds:
            return


def _events(table: Client, daemon: _Daemon) -> Iterator[TableEvent]:
    """What comes from the table, for as long as the daemon lives and something comes."""
    silent_s = 0
    while silent_s < SILENCE_S:
        for item in table.events(1.0):
            silent_s = 0
            if isinstance(item, TableEvent):
                yield item
        silent_s += 1
        if daemon.process.poll() is not None:
            raise daemon.failure(f"the daemon ended with {daemon.process.returncode}")
    raise daemon.failure(f"nothing came from the daemon for {SILENCE_S} s")


def told(event: TableEvent) -> Iterator[str]:
    """What a person reads of an event; of some, nothing."""
    data = event.data
    match event.type:
        case "round_opened":
            yield f"\nround {event.round}"
        case "card_accepted":
            tries = "" if data["attempt"] == 1 else f"   at try {data['attempt']}"
            yield f"  {data['slot']}  {face(data['card'])}{tries}"
        case "scan_rejected":
            yield f"  {data['slot'] or '--'}  scan again: {data['reason']}{_seen(data)}"
        case "card_withdrawn":
            yield f"  {data['slot']}  {face(data['card'])} withdrawn: {data['reason']}"
        case "round_completed":
            yield f"  {_hands(data)}"
        case "scanner_down" | "scanner_up" | "alarm_raised" | "alarm_cleared":
            yield f"  {event.type.replace('_', ' ')}: {data.get('scanner') or data.get('alarm')}"
        case _:
            return


def face(card: object) -> str:
    """A card as people write it: 10♦, not TD."""
    rank, suit = str(card)[:1], str(card)[1:]
    return f"{'10' if rank == 'T' else rank}{SUITS.get(suit, suit)}"


def _seen(data: Mapping[str, object]) -> str:
    where = f", {data['conflict_slot']} has it" if data.get("conflict_slot") else ""
    return f" ({face(data['card'])}{where})" if data.get("card") else ""


def _hands(data: Mapping[str, object]) -> str:
    cards = data["cards"]
    if not isinstance(cards, Mapping):
        return ""
    return "   ".join(f"Player {hand}: {' '.join(face(card) for card in dealt)}" for hand, dealt in cards.items())
