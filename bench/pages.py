"""What open pages cost a card: from a scan to a subscriber with no page, with many, and with one that never reads.

    python bench/pages.py [--lines 200] [--pages 50]

One daemon, one broker, one run: with each state of the pages the same kind of cards is scanned. Each latency is also
given as a ratio to that with no page. The pages are event streams, held open by a process of its own as browsers would.
The one that never reads has the smallest receive buffer, so that it is soon full, and opens its stream anew as often as
the daemon hangs up. Latency is measured as in `table.py`, cards at 9600 baud with random gaps.
"""

from __future__ import annotations

import argparse
import os
import pty
import socket
import statistics
import subprocess
import sys
import tempfile
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import table

from scannerd.demo.embedded_broker import EmbeddedBroker

WARMING = 60
"""Cards before anything is measured: the first ones of a process are slow, and would make the ratios look good."""

READERS = """
import selectors, socket, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
chosen = selectors.DefaultSelector()
for _ in range(count):
    page = socket.create_connection(('127.0.0.1', port))
    page.sendall(b'GET /events HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n')
    first = page.recv(65536)
    assert b' 200 ' in first[:16], first
    chosen.register(page, selectors.EVENT_READ)
print('ready', flush=True)
came = 0
while chosen.get_map():
    for key, _ in chosen.select():
        data = key.fileobj.recv(65536)
        came += data.count(b'event: show')
        if not data:
            chosen.unregister(key.fileobj)
"""
DEAF = """
import select, socket, sys
port = int(sys.argv[1])
while True:
    page = socket.socket()
    page.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    page.connect(('127.0.0.1', port))
    page.sendall(b'GET /events HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n')
    print('ready', flush=True)
    poll = select.poll()
    poll.register(page, select.POLLRDHUP)
    poll.poll()
    page.close()
"""


def main() -> None:
    """Measures each and prints a table with the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=200)
    parser.add_argument("--pages", type=int, default=50)
    wanted = parser.parse_args()
    show(measure(wanted.lines, wanted.pages))


def show(found: dict[str, list[float]]) -> None:
    """A row for each state of the pages; ratios are to the first."""
    print(f"{'':24}{'p50 ms':>10}{'p99 ms':>10}{'p50 ratio':>12}{'p99 ratio':>12}")
    first = next(iter(found.values()))
    for name, delays in found.items():
        low, high = statistics.median(delays), ninety_ninth(delays)
        ratios = low / statistics.median(first), high / ninety_ninth(first)
        print(f"{name:24}{low:10.2f}{high:10.2f}{ratios[0]:12.2f}{ratios[1]:12.2f}")


def ninety_ninth(delays: list[float]) -> float:
    """The delay that one in a hundred is above."""
    return sorted(delays)[int(len(delays) * 0.99)]


def measure(lines: int, pages: int) -> dict[str, list[float]]:
    """Milliseconds of each card, by what was open."""
    with tempfile.TemporaryDirectory() as folder, EmbeddedBroker() as broker:
        port, pages_port = int(broker.url.rsplit(":", 1)[1]), free_port()
        master, slave = pty.openpty()
        tty.setraw(slave)
        topic = table.TOPICS["scannerd"]
        listen = f"127.0.0.1:{pages_port}"
        with (
            table.subscriber(port, topic) as heard,
            table.started("scannerd", os.ttyname(slave), port, Path(folder), listen),
        ):
            cards = table.deals(1)
            table.paced(master, heard, cards, WARMING)
            found = {"no page": table.paced(master, heard, cards, lines)}
            with helper(READERS, pages_port, pages):
                found[f"{pages} pages"] = table.paced(master, heard, cards, lines)
            with helper(DEAF, pages_port):
                found["one that never reads"] = table.paced(master, heard, cards, lines)
            with helper(READERS, pages_port, pages), helper(DEAF, pages_port):
                found["both"] = table.paced(master, heard, cards, lines)
            found["no page again"] = table.paced(master, heard, cards, lines)
            return found


@contextmanager
def helper(program: str, *arguments: int) -> Iterator[None]:
    """Pages in a process of their own, once they are open."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            if process.stdout is None or process.stdout.readline() != b"ready\n":
                raise SystemExit("the pages can't be opened")
            yield
        finally:
            process.kill()


def free_port() -> int:
    """A port of the loopback interface on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
