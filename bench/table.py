"""From a scan to a subscriber: the daemon beside a bare loop, on the same pty and broker, in the same run.

The bare loop reads the pty in chunks and publishes each line with QoS 1: no validation, no journal, no order of a
deal. What the daemon adds to it is measured as a ratio, so that the machine's speed hardly matters.

    python bench/table.py [--lines 400] [--burst 20000] [--json FILE]

Latency is from just before the terminator is written to the arrival at a subscriber in a process of its own, on one
clock. Lines come at 9600 baud with random gaps, then all at once. Every card must arrive once and in order.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import random
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from scannerd.core.cards import DECK
from scannerd.demo.embedded_broker import EmbeddedBroker

BARE = """
import sys, serial, paho.mqtt.client as m
c = m.Client(m.CallbackAPIVersion.VERSION2, protocol=m.MQTTv5)
c.connect('127.0.0.1', int(sys.argv[2])); c.loop_start()
s = serial.Serial(sys.argv[1], 9600, timeout=1); buf = b''
print('ready', flush=True)
while True:
    buf += s.read(s.in_waiting or 1)
    *lines, buf = buf.split(b'\\n')
    for l in lines: c.publish('bare/card', b'{"card":"' + l.strip() + b'"}', qos=1)
"""
SUBSCRIBER = """
import sys, time, struct, re, paho.mqtt.client as m
out = sys.stdout.buffer
def on(c, u, msg):
    t = time.monotonic_ns()
    out.write(struct.pack('<2sq', re.search(rb'"card":"(..)"', msg.payload).group(1), t)); out.flush()
c = m.Client(m.CallbackAPIVersion.VERSION2, protocol=m.MQTTv5); c.on_message = on
c.on_connect = lambda c, u, f, rc, p: c.subscribe(sys.argv[2], 1)
c.on_subscribe = lambda *a: (out.write(struct.pack('<2sq', b'--', 0)), out.flush())
c.connect('127.0.0.1', int(sys.argv[1])); c.loop_forever()
"""
CONFIG = """
[table]
id = "bench"
state_dir = "{folder}/state"
[[scanner]]
name = "shoe"
driver = "line"
url = "{tty}"
[round]
start = "auto"
bounce_ms = 0
min_gap_ms = 0
round_gap_ms = 0
[mqtt]
url = "mqtt://127.0.0.1:{port}"
[display]
listen = "{listen}"
"""
TOPICS = {"bare": "bare/card", "scannerd": "scannerd/v1/bench/event/card_accepted"}
SIZE = struct.calcsize("<2sq")


@dataclass(frozen=True, slots=True)
class Figures:
    """What one tool did; times in ms, memory in MiB."""

    p50: float
    p99: float
    burst_per_s: float
    rss: float
    rss_after_burst: float
    start_ms: float
    cpu_s_burst: float


def main() -> None:
    """Measures both and prints a table with their ratios."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started ends too
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=400)
    parser.add_argument("--burst", type=int, default=20_000)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=tuple(TOPICS))
    wanted = parser.parse_args()
    tools = [wanted.only] if wanted.only else list(TOPICS)
    found = {tool: measure(tool, wanted.lines, wanted.burst) for tool in tools}
    show(found)
    print(f"one fdatasync here, at the same pace: {sync_ms():.2f} ms; the bare loop has none, the daemon one a batch")
    if wanted.json:
        wanted.json.write_text(json.dumps({tool: asdict(figures) for tool, figures in found.items()}, indent=2))


def show(found: dict[str, Figures]) -> None:
    """A row a figure; the ratio is the daemon's to the bare loop's."""
    print(f"{'':18}" + "".join(f"{tool:>12}" for tool in found) + ("       ratio" if len(found) > 1 else ""))
    for name in Figures.__dataclass_fields__:
        values = [getattr(figures, name) for figures in found.values()]
        ratio = f"{values[1] / values[0]:12.2f}" if len(values) > 1 else ""
        print(f"{name:18}" + "".join(f"{value:12.2f}" for value in values) + ratio)


def measure(tool: str, lines: int, burst: int) -> Figures:
    """Runs one tool over a pty and a broker of its own."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedBroker() as broker:
        port = int(broker.url.rsplit(":", 1)[1])
        master, slave = pty.openpty()
        tty.setraw(slave)
        with subscriber(port, TOPICS[tool]) as heard, started(tool, os.ttyname(slave), port, Path(folder)) as process:
            start_ms = process.start_ms
            cards = deals(1)
            delays = paced(master, heard, cards, lines)
            rss, cpu = memory(process.pid), processor(process.pid)
            per_s = at_once(master, heard, cards, burst)
            return Figures(
                statistics.median(delays),
                sorted(delays)[int(len(delays) * 0.99)],
                per_s,
                rss,
                memory(process.pid),
                start_ms,
                processor(process.pid) - cpu,
            )


def deals(seed: int) -> Iterator[str]:
    """Cards as they come from a deck that is shuffled after every six."""
    order = random.Random(seed)
    while True:
        yield from order.sample(DECK, 6)


def paced(master: int, heard: Heard, cards: Iterator[str], count: int) -> list[float]:
    """Milliseconds from the terminator to the subscriber, card by card, at 9600 baud."""
    order, delays = random.Random(1), []
    for _ in range(count):
        card = next(cards)
        for byte in card.encode():
            os.write(master, bytes([byte]))
            time.sleep(10 / 9600)
        at = time.monotonic_ns()
        os.write(master, b"\n")
        got, arrived = heard.next()
        if got != card:
            raise SystemExit(f"{card} was scanned and {got} arrived")
        delays.append((arrived - at) / 1e6)
        time.sleep(order.uniform(0.005, 0.03))
    return delays


def at_once(master: int, heard: Heard, cards: Iterator[str], count: int) -> float:
    """Cards a second, as fast as the pty takes them, until the last has arrived."""
    sent = [next(cards) for _ in range(count)]
    data = "".join(f"{card}\n" for card in sent).encode()
    begin = time.monotonic_ns()
    child = os.fork()
    if child == 0:
        while data:
            data = data[os.write(master, data[:512]) :]
        os._exit(0)
    latest = begin
    for card in sent:
        got, latest = heard.next()
        if got != card:
            raise SystemExit(f"{card} was scanned and {got} arrived")
    os.waitpid(child, 0)
    return count / ((latest - begin) / 1e9)


def sync_ms(count: int = 100) -> float:
    """Milliseconds for which the disk itself makes a journal wait: a page written over and synced, median."""
    order, times = random.Random(1), []
    with tempfile.NamedTemporaryFile() as file:
        os.write(file.fileno(), bytes(4096 * count))
        os.fsync(file.fileno())
        for number in range(count):
            time.sleep(order.uniform(0.005, 0.03))
            begin = time.monotonic_ns()
            os.pwrite(file.fileno(), b"x" * 4096, 4096 * number)
            os.fdatasync(file.fileno())
            times.append((time.monotonic_ns() - begin) / 1e6)
    return statistics.median(times)


class Heard:
    """What the subscriber hears, in order."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        """Waits until it is subscribed."""
        self._process = process
        self.next()

    def next(self) -> tuple[str, int]:
        """The next card and when it came, ns."""
        if self._process.stdout is None:
            raise SystemExit("no subscriber")
        card, at = struct.unpack("<2sq", self._process.stdout.read(SIZE))
        return card.decode(), at


@contextmanager
def subscriber(port: int, topic: str) -> Iterator[Heard]:
    """A subscriber in a process of its own."""
    process = subprocess.Popen([sys.executable, "-c", SUBSCRIBER, str(port), topic], stdout=subprocess.PIPE)
    try:
        yield Heard(process)
    finally:
        process.kill()
        process.wait()


@dataclass
class Running:
    """A tool that is ready."""

    pid: int
    start_ms: float


@contextmanager
def started(tool: str, tty_name: str, port: int, folder: Path, listen: str = "") -> Iterator[Running]:
    """The tool, ready to read; `listen` is where the daemon has its pages, if anywhere."""
    begin = time.monotonic_ns()
    process = _bare(tty_name, port) if tool == "bare" else _daemon(tty_name, port, folder, listen)
    running = Running(process.pid, (time.monotonic_ns() - begin) / 1e6)
    time.sleep(0.5)
    try:
        yield running
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _bare(tty_name: str, port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", BARE, tty_name, str(port)], stdout=subprocess.PIPE)
    if process.stdout is not None:
        process.stdout.readline()
    return process


def _daemon(tty_name: str, port: int, folder: Path, listen: str) -> subprocess.Popen[bytes]:
    config = folder / "bench.toml"
    config.write_text(CONFIG.format(folder=folder, tty=tty_name, port=port, listen=listen))
    address = str(folder / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
        notify.bind(address)
        process = subprocess.Popen(
            [sys.executable, "-m", "scannerd", "run", "-c", str(config)],
            env={**os.environ, "NOTIFY_SOCKET": address},
            stderr=subprocess.DEVNULL,
        )
        notify.settimeout(10)
        while not notify.recv(4096).startswith(b"READY=1"):
            pass
    return process


def memory(pid: int) -> float:
    """Resident memory, MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def processor(pid: int) -> float:
    """Processor time so far, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
