"""Daemons that cost little: a process that has imported everything forks a whole daemon for each line on its input.

    python -m tests.lives CONFIG

It answers with the daemon's process id, and with how the daemon ended once it has: its exit code, or minus the signal.
A life is all that `scannerd run` does, on the real disk and at the real broker, without the price of a new interpreter
and of a configuration that is read anew.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from scannerd.app import run
from scannerd.config import load
from scannerd.config.settings import Config
from tests.daemon import BOUND_S, Daemon

BORN_DEAD = 5


class Nursery:
    """The process that forks the lives of one table's daemon, one after the other."""

    def __init__(self, daemon: Daemon) -> None:
        """Starts it; nobody lives yet."""
        with (daemon.folder / "stderr").open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.lives", str(daemon.config)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        self._living = 0

    def bear(self) -> None:
        """Begins a life; returns when its process is there, and has done nothing yet."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._living = self._number()

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the one who lives."""
        os.kill(self._living, number)

    def end(self, number: signal.Signals) -> int:
        """Ends a life with a signal; returns how it ended."""
        self.send(number)
        self._living = 0
        return self._number()

    def close(self) -> None:
        """Ends whoever lives, and the process."""
        if self._living:
            self.end(signal.SIGKILL)
        self._process.communicate(timeout=BOUND_S)

    def _number(self) -> int:
        assert self._process.stdout is not None
        assert select.select([self._process.stdout], [], [], BOUND_S)[0], "no word from the nursery"
        return int(self._process.stdout.readline())


@contextmanager
def lives_of(daemon: Daemon) -> Iterator[Nursery]:
    """The lives of a table's daemon; whoever lives at the end is killed."""
    nursery = Nursery(daemon)
    try:
        yield nursery
    finally:
        nursery.close()


def main() -> None:
    """Forks a daemon for each line."""
    config = load(Path(sys.argv[1]))  # the drivers are imported by the way
    for _ in sys.stdin.buffer:
        child = os.fork()
        if not child:
            live(config)
        tell(child)
        tell(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def tell(number: int) -> None:
    """Answers with a number."""
    print(number, flush=True)  # noqa: T201 - whoever asked for the life reads it


def live(config: Config) -> NoReturn:
    """Is the daemon until its end, and never returns."""
    code = BORN_DEAD
    try:
        run(config)
        code = 0
    except BaseException:  # noqa: BLE001 - the parent's loop must not go on in here
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
