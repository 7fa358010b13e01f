"""A table with its pages for tests: a real engine on a real journal, in a thread of its own, and a real web server."""

from __future__ import annotations

import http.client
import json
import queue
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

from scannerd.config.settings import Display
from scannerd.core.state import Rules
from scannerd.display import Place
from scannerd.display.fanout import Fanout, Tap
from scannerd.display.hub import Links
from scannerd.display.pin import hashed
from scannerd.display.server import WebDisplay
from scannerd.inbox import Letter, PagesStand
from scannerd.mqtt.notices import Connected
from tests.fakes import TABLE, Table

PIN = "735190"
PIN_LINE = hashed(PIN)
PATIENCE = 10.0
"""Seconds that a test waits for what must come."""

ResultT = TypeVar("ResultT")


class Answer:
    """What came back to a request."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        """Reads it whole."""
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self) -> dict[str, object]:
        """The body, parsed."""
        told: dict[str, object] = json.loads(self.body)
        return told


class Show:
    """A table on show; all that happens at the table is done in the engine's thread.

    Attributes:
        letters: the commands that the pages posted, in order.
        died: set where the pages' thread died.
    """

    def __init__(
        self, directory: Path, *, rules: Rules | None = None, pin: str | None = PIN, **display: object
    ) -> None:
        """Begins at a table without a broker; `display` are keys of the section."""
        self._engine = ThreadPoolExecutor(1, "engine")
        self.letters: queue.SimpleQueue[Letter] = queue.SimpleQueue()
        self.deaf = threading.Event()
        self.pulse = 0
        directory.mkdir(parents=True, exist_ok=True)
        pin_file = directory / "pin"
        if pin is not None:
            pin_file.write_text(PIN_LINE if pin == PIN else hashed(pin), encoding="ascii")
        self.directory = directory
        self.table = self._engine.submit(lambda: Table(directory, rules=rules)).result()
        clock = self.table.clock
        self.tap = Tap(self._ignore, clock.wall)
        self.fanout = Fanout(self.table.speaker, self.tap, clock.wall)
        links = Links(
            post=self._post,
            now=clock.now,
            wall=clock.wall,
            pulse=lambda: self.pulse,
            bounces=lambda: self.table.engine.state.memory.bounces,
        )
        place = Place(TABLE, "en", "1.0", "session-1", directory)
        keys = {"listen": "127.0.0.1:0", "pin_file": pin_file, **display}
        self.display = WebDisplay(Display.model_validate(keys), place, self.fanout, links, again_s=0.05)

    def begin(self) -> Self:
        """The engine's start, and the pages'."""
        table = self.table
        self.run(lambda: table.engine.begin(self.fanout, table.stations, lambda _: None))
        assert self.display.start()
        return self

    def ready(self, *, opened: bool = True) -> Self:
        """Begins with a broker and a scanner; `opened`: with a round."""
        self.begin()
        self.take(Connected(self.table.clock.now(), "broker"), self.table.up())
        if opened:
            self.take(self.table.asked("open", id="c-open"))
        return self

    def run(self, what: Callable[[], ResultT]) -> ResultT:
        """Does something in the engine's thread and waits for it."""
        return self._engine.submit(what).result(PATIENCE)

    def take(self, *letters: Letter) -> None:
        """One turn of the engine."""
        self.run(lambda: self.table.take(*letters))

    def deal(self, *cards: str) -> None:
        """Reads cards, a second apart."""
        self.run(lambda: self.table.deal(*cards))

    def misread(self, times: int = 1) -> None:
        """Bad frames, a second apart."""
        for _ in range(times):
            self.run(lambda: self.table.pass_time(1_000_000))
            self.take(self.table.misread())

    def close(self) -> None:
        """Ends the pages, then the engine."""
        self.display.stop()
        ended = self.display.join(PATIENCE)
        self.run(self.table.engine.close)
        self._engine.shutdown()
        assert ended, "the pages did not end"

    @property
    def port(self) -> int:
        """Where the pages are."""
        return self.display.port

    @property
    def url(self) -> str:
        """The dealer's page."""
        return self.display.url

    def _post(self, letter: Letter) -> None:
        if not isinstance(letter, PagesStand):
            self.letters.put(letter)
        if not self.deaf.is_set():
            self._engine.submit(self.table.take, letter)

    @staticmethod
    def _ignore(letter: Letter) -> None:
        del letter


@contextmanager
def showing(directory: Path, *, rules: Rules | None = None, pin: str | None = PIN, **display: object) -> Iterator[Show]:
    """A table on show, whose round is open; closed at the end."""
    show = Show(directory, rules=rules, pin=pin, **display).ready()
    try:
        yield show
    finally:
        show.close()


class Browser:
    """As much of a browser as the rules are about: a cookie, and headers that say where a request comes from."""

    def __init__(self, port: int, *, tls: ssl.SSLContext | None = None) -> None:
        """Will ask the pages on this port."""
        self._port, self._tls = port, tls
        self.cookie = ""
        self.token = ""

    def ask(self, method: str, path: str, fields: object = None, *, headers: Mapping[str, str] | None = None) -> Answer:
        """Sends a request as one of our own pages would; `headers` replace what that would say."""
        here = f"127.0.0.1:{self._port}"
        sent = {
            "Host": here,
            "Origin": f"{'https' if self._tls else 'http'}://{here}",
            "Cookie": self.cookie,
            "X-Scannerd-Token": self.token,
        }
        body = None if fields is None else json.dumps(fields)
        if body is not None:
            sent["Content-Type"] = "application/json"
        sent |= headers or {}
        line = (
            http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
            if self._tls is None
            else http.client.HTTPSConnection("127.0.0.1", self._port, timeout=PATIENCE, context=self._tls)
        )
        try:
            line.request(method, path, body, {name: value for name, value in sent.items() if value})
            return Answer(line.getresponse())
        finally:
            line.close()

    def get(self, path: str, **headers: str) -> Answer:
        """Asks for something."""
        return self.ask("GET", path, headers=headers)

    def sign_in(self, name: str = "Ana", pin: str = PIN) -> Answer:
        """Signs in, and keeps the cookie and the token."""
        answer = self.ask("POST", "/supervisor/sign-in", {"name": name, "pin": pin})
        if answer.status == 200:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
            self.token = str(self.get("/supervisor/session.json").json["token"])
        return answer

    def command(self, name: str, **fields: object) -> Answer:
        """Gives a command."""
        return self.ask("POST", f"/supervisor/command/{name}", fields)
