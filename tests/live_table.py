"""A real daemon with its pages for the tests of a module: a shoe on a pseudo-terminal, a real broker, one browser.

    from tests.live_table import LiveTable, live_fixture  # noqa: F401 - pytest finds it by name

    def test_x(live: LiveTable, page: Page) -> None:
        live.opened("AS", "KH")
        page.goto(live.url)

Starting all that takes seconds, so a module shares it. A test begins with what it needs (`opened`, `idle`), and leaves
the broker, the shoe and the daemon as they were: running.
"""

from __future__ import annotations

import json
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Self

import pytest

from tests.daemon import BOUND_S, PREFIX, Daemon, Watcher
from tests.mosquitto import Mosquitto, free_port
from tests.showing import PIN_LINE

ROUND = 'start = "command"\nmin_gap_ms = 0\nbounce_ms = 0'
"""Cards may follow one another at once, and the same again is no bounce: a test need not wait between two."""
_STATUS = f"{PREFIX}/status"
_VERDICTS = ("card_accepted", "scan_rejected")


class LiveTable:
    """The daemon, and what happens at its table.

    Attributes:
        daemon: the process with its shoe.
        broker: the broker's process.
        watcher: hears the broker, and gives commands.
        url: the dealer's page.
    """

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        """Starts everything; `stack` ends it."""
        for part in ("broker", "table"):
            (folder / part).mkdir()
        self.broker = Mosquitto(folder / "broker")
        self.broker.start()
        stack.callback(self.broker.kill)
        self.daemon = Daemon(folder / "table", self.broker.url, ROUND)
        stack.callback(self.daemon.close)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self._configure()
        self.watcher = stack.enter_context(Watcher(self.broker.port))
        self.start()

    def _configure(self) -> None:
        """The shoe speaks as a dealing shoe does, and the pages are on, with a PIN."""
        pin = self.daemon.folder / "pin"
        pin.write_text(PIN_LINE, encoding="ascii")
        lines = self.daemon.config.read_text(encoding="utf-8").replace('driver = "line"', 'driver = "bee-tek"')
        lines = lines.replace('listen = ""', f'listen = "127.0.0.1:{self.port}"\npin_file = "{pin}"')
        kept = [line for line in lines.splitlines() if not line.startswith("on_")]
        self.daemon.config.write_text("\n".join([*kept, ""]), encoding="utf-8")

    # --- the process ---

    def start(self) -> Self:
        """Starts the daemon, and returns once it takes commands and reads the shoe."""
        self.daemon.start()
        self.watcher.wait_for_shown("status", state="online")
        return self

    def stop(self) -> None:
        """Ends the daemon as systemd does."""
        assert 0 == self.daemon.stop()
        self.watcher.wait_for_shown("status", state="offline")

    def kill(self) -> None:
        """Ends the daemon as a power cut does."""
        self.daemon.kill()
        self.watcher.wait_for_shown("status", state="offline")

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """Meanwhile the process lives and does nothing."""
        self.daemon.pause()
        try:
            yield
        finally:
            self.daemon.signal(signal.SIGCONT)

    @contextmanager
    def disk_busy(self) -> Iterator[None]:
        """Meanwhile another program holds the journal, so that nothing can be written."""
        with closing(sqlite3.connect(self.daemon.journal, isolation_level=None, timeout=BOUND_S)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            other.execute("ROLLBACK")

    @contextmanager
    def unplugged(self) -> Iterator[None]:
        """Meanwhile the shoe is pulled out."""
        self.daemon.scanner.unplug()
        try:
            yield
        finally:
            self.daemon.scanner.plug()

    @contextmanager
    def network_down(self) -> Iterator[None]:
        """Meanwhile there is no broker."""
        self.broker.stop()
        try:
            yield
        finally:
            before = len(self.watcher.on(_STATUS))
            self.broker.start()
            self.watcher.wait(lambda: len(self.watcher.on(_STATUS)) > before, BOUND_S)

    # --- the table ---

    def idle(self) -> Self:
        """No round: one that is there is voided. A daemon that a failed test left dead is started."""
        if self.daemon.process.poll() is not None:
            self.start()
        self.watcher.command("void")
        return self

    def opened(self, *cards: str) -> Self:
        """A new round, with these cards dealt."""
        self.idle()
        assert self.watcher.command("open")["ok"]
        return self.dealt(*cards)

    def dealt(self, *cards: str) -> Self:
        """The shoe reads cards, each once the one before is decided."""
        for card in cards:
            self._read(f" [Game]<Card:{card}> ")
        return self

    def misread(self, times: int = 1) -> Self:
        """The shoe gives empty reads."""
        for _ in range(times):
            self._read(" [Game]<Game> ")
        return self

    def shoe_error(self) -> Self:
        """The shoe reports an error."""
        self.send(" [GameAlarm]<Alarm:E1 card jam> ")
        self.watcher.wait_for_alarm("scanner_error")
        return self

    def send(self, text: str) -> None:
        """The shoe sends something."""
        self.daemon.scanner.send(text.encode())

    def _read(self, text: str) -> None:
        before = len(self.watcher.events(*_VERDICTS))
        self.send(text)
        self.watcher.wait(lambda: len(self.watcher.events(*_VERDICTS)) > before, BOUND_S)

    def journalled(self, kind: str) -> dict[str, object]:
        """The data of the journal's last event of a type."""
        record = [found for found in self.daemon.records() if found.type == kind][-1]
        data: dict[str, object] = json.loads(record.body)["data"]
        return data

    def count(self, kind: str) -> int:
        """How many events of a type the journal holds."""
        return sum(found.type == kind for found in self.daemon.records())


@pytest.fixture(name="live", scope="module")
def live_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveTable]:
    """One live table for the tests of a module."""
    with ExitStack() as stack:
        yield LiveTable(tmp_path_factory.mktemp("live"), stack)
