"""What readers cost while nothing is scanned, and how soon a device that was pulled is read again.

    python bench/readers.py [--seconds 10] [--replugs 20]

Four scanners on ptys, each behind a link as udev makes it. A replug closes a pty and, half a second later, points the
link at another; the time is from there until the reader says that the scanner is up.
"""

from __future__ import annotations

import argparse
import os
import pty
import queue
import resource
import statistics
import tempfile
import time
import tty
from pathlib import Path

from scannerd import logs
from scannerd.channel import Channel
from scannerd.codebooks import load_codebook
from scannerd.core.events import ScannerWentDown, ScannerWentUp
from scannerd.readers import MachineClock, Reader
from scannerd.registry import Registry, parse_options

SCANNERS = 4


class Bench:
    """Readers on ptys behind links."""

    def __init__(self, folder: Path) -> None:
        """Starts them and waits until all are up."""
        self.inbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self.links = [folder / f"scanner-{number}" for number in range(SCANNERS)]
        self.masters = [self.plug(link) for link in self.links]
        self.readers = [self._reader(link) for link in self.links]
        for reader in self.readers:
            reader.start()
        for _ in self.readers:
            self.wait_for(ScannerWentUp)

    def plug(self, link: Path) -> int:
        """A new pty behind the link; returns its master."""
        master, slave = pty.openpty()
        tty.setraw(slave)
        link.unlink(missing_ok=True)
        link.symlink_to(os.ttyname(slave))
        os.close(slave)
        return master

    def wait_for(self, kind: type) -> int:
        """The monotonic time of the next event of a kind, microseconds."""
        while True:
            event = self.inbox.get(timeout=30)
            if isinstance(event, kind):
                return int(event.at)  # type: ignore[attr-defined]  # both kinds have it

    def replug(self) -> float:
        """Milliseconds from the new device to the reader's word."""
        os.close(self.masters[0])
        self.wait_for(ScannerWentDown)
        time.sleep(0.5)
        self.masters[0] = self.plug(self.links[0])
        plugged = MachineClock().now()
        return (self.wait_for(ScannerWentUp) - plugged) / 1_000

    def stop(self) -> None:
        """Stops the readers."""
        for reader in self.readers:
            reader.stop()
        for reader in self.readers:
            reader.join()

    def _reader(self, link: Path) -> Reader:
        found = Registry().load("line")
        driver, clock = found(parse_options(found, {})), MachineClock()
        channel = Channel(link.name, driver, load_codebook("rank-suit", link.parent), None, clock.now())
        return Reader(channel, driver.transport(str(link)), self.inbox.put, clock=clock)


def main() -> None:
    """Prints both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--replugs", type=int, default=20)
    wanted = parser.parse_args()
    logs.configure("error")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        before, begin = processor(), time.monotonic()
        time.sleep(wanted.seconds)
        share = (processor() - before) / (time.monotonic() - begin)
        print(f"idle, {SCANNERS} scanners: {share:.2%} of a core")
        times = [bench.replug() for _ in range(wanted.replugs)]
        print(f"replug to up: median {statistics.median(times):.0f} ms, longest {max(times):.0f} ms")
        bench.stop()


def processor() -> float:
    """Processor time of this process so far, s."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
