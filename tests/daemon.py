"""A real daemon: `scannerd run` in a process of its own, between a pseudo-terminal and a real broker.

    from tests.daemon import Daemon, StartDaemon
    from tests.daemon import start_daemon_fixture  # noqa: F401 - pytest finds it by name

    def test_x(broker: Mosquitto, start_daemon: StartDaemon) -> None:
        daemon = start_daemon(broker.url)

Nothing here sleeps: readiness is the word that the daemon sends to systemd, and all else is awaited on the broker.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from scannerd.journal import JournalReader, Record
from tests.fakes import TABLE
from tests.fakes_devices import Pty
from tests.wire import Message, Subscriber

BOUND_S = 20.0
"""How long a test waits for the daemon before it fails."""

PREFIX = f"scannerd/v1/{TABLE}"
_numbers = itertools.count(1)


class Manager:
    """The end of systemd of the notification socket."""

    def __init__(self, path: Path) -> None:
        """Listens at `path`."""
        self.path = path
        self.heard: list[tuple[int, str]] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._socket.bind(str(path))
        self._socket.settimeout(BOUND_S)

    def wait_for(self, word: str, since: int = 0) -> None:
        """Returns once `word` was said, by whomever; `since` is a number of words to pass over."""
        while not any(word in said for _, said in self.heard[since:]):
            self._hear()

    def _hear(self) -> None:
        data, extra, _, _ = self._socket.recvmsg(4096, socket.CMSG_SPACE(struct.calcsize("3i")))
        pid = struct.unpack("3i", extra[0][2])[0]
        self.heard += [(pid, line) for line in data.decode().splitlines()]

    def drain(self) -> None:
        """Takes what was said and not yet heard."""
        self._socket.settimeout(0)
        try:
            while True:
                self._hear()
        except BlockingIOError:
            self._socket.settimeout(BOUND_S)

    def close(self) -> None:
        """Listens no more."""
        self._socket.close()


class Daemon:
    """One table: its configuration, its scanner on a pseudo-terminal, and the process while it runs.

    Args:
        folder: where all its files go.
        broker: the broker's URL.
        lines: further lines of the section `[round]`.
        state_dir: by default a folder below `folder`.
    """

    def __init__(self, folder: Path, broker: str, lines: str = 'start = "auto"', state_dir: Path | None = None) -> None:
        self.folder = folder
        self.state_dir = state_dir or folder / "state"
        self.journal = self.state_dir / "journal.db"
        self.scanner = Pty(folder / "shoe")
        self.manager = Manager(folder / "notify")
        self.config = folder / "tp-01.toml"
        self.config.write_text(
            f'[table]\nid = "{TABLE}"\nstate_dir = "{self.state_dir}"\n'
            f'[[scanner]]\nname = "shoe"\ndriver = "line"\nurl = "{self.scanner.path}"\n'
            'on_accepted = "+"\non_rejected = "-"\non_prompt = "p"\n'
            f'[round]\n{lines}\n[mqtt]\nurl = "{broker}"\n[display]\nlisten = ""\n'
        )
        self.beeps = b""
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process."""
        assert self._process is not None, "the daemon was never started"
        return self._process

    def launch(self, *dying: str) -> subprocess.Popen[bytes]:
        """Starts the process and returns at once; with a step and a count it dies there, see `tests.crashing`."""
        how = ["tests.crashing", str(self.config), *dying] if dying else ["scannerd", "run", "-c", str(self.config)]
        with (self.folder / "stderr").open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", *how],
                stderr=errors,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NOTIFY_SOCKET": str(self.manager.path)},
            )
        return self._process

    def start(self, *dying: str) -> None:
        """Starts the process and returns when it is ready; `dying` as for `launch`."""
        since = len(self.manager.heard)
        self.launch(*dying)
        self.manager.wait_for("READY=1", since)

    def send(self, *codes: str) -> None:
        """The scanner reads codes, one right behind the other."""
        self.scanner.send("".join(f"{code}\r\n" for code in codes).encode())

    def wait_for_beeps(self, beep: bytes, count: int) -> None:
        """Returns once the scanner was told so many outcomes of a kind: + accepted, - rejected, p a new prompt."""
        self._listen(lambda: self.beeps.count(beep) >= count)

    def wait_for_outcomes(self, count: int) -> None:
        """Returns once the scanner was told so many outcomes, accepted or rejected."""
        self._listen(lambda: self.beeps.count(b"+") + self.beeps.count(b"-") >= count)

    def forget_beeps(self) -> None:
        """What the scanner was told so far is forgotten."""
        while select.select([self.scanner.master], [], [], 0)[0]:
            os.read(self.scanner.master, 4096)
        self.beeps = b""

    def _listen(self, enough: Callable[[], bool]) -> None:
        while not enough():
            assert select.select([self.scanner.master], [], [], BOUND_S)[0], f"only {self.beeps!r}"
            self.beeps += os.read(self.scanner.master, 4096)

    def wait_for_journal(self, kind: str, count: int = 1) -> None:
        """Returns once the journal holds so many events of a type; it is looked at each time the daemon lives."""
        while sum(record.type == kind for record in self.records()) < count:
            self.manager.drain()
            self.manager.wait_for("WATCHDOG=1", len(self.manager.heard))

    def records(self) -> list[Record]:
        """What is in the journal."""
        with JournalReader(self.state_dir) as reader:
            return list(reader.walk())

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the process."""
        self.process.send_signal(number)

    def pause(self) -> None:
        """Stops the process as a debugger does, and returns when it stands still."""
        self.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def stop(self) -> int:
        """Ends the process in an orderly way; returns its exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(BOUND_S)

    def kill(self) -> None:
        """Ends the process as `kill -9` does; may be called twice."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(BOUND_S)

    def errors(self) -> str:
        """All that the process has written to stderr."""
        return (self.folder / "stderr").read_text(encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs another command of `scannerd` on this table to its end."""
        return subprocess.run(
            [sys.executable, "-m", "scannerd", *arguments, "-c", str(self.config)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
            capture_output=True,
            text=True,
            timeout=BOUND_S,
        )

    def close(self) -> None:
        """Ends whatever is left."""
        self.kill()
        self.scanner.unplug()
        self.manager.close()


class Watcher(Subscriber):
    """What a consumer sees of the table on the broker; it can send commands too."""

    def __init__(self, port: int, *, session: bool = False) -> None:
        """Watches all topics of the table; `session` keeps what comes while it is away."""
        super().__init__(port, f"{PREFIX}/#", session=session, client_id="watcher")

    def events(self, *types: str) -> list[dict[str, object]]:
        """The events in the order in which each first came, of all types or of some.

        What comes again after a crash must be the same bytes: two contents under one number fail the test.
        """
        found: dict[object, tuple[bytes, dict[str, object]]] = {}
        for message in self.on(f"{PREFIX}/event/"):
            event = message.json()
            first = found.setdefault(event["seq"], (message.payload, event))
            assert first[0] == message.payload, "one number, two contents"
        return [event for _, event in found.values() if not types or event["type"] in types]

    def data(self, kind: str) -> list[dict[str, object]]:
        """The data of the events of one type."""
        return [data for event in self.events(kind) if isinstance(data := event["data"], dict)]

    def wait_for_event(self, kind: str, count: int = 1, bound: float = BOUND_S) -> dict[str, object]:
        """The event of a type that is number `count`."""
        self.wait(lambda: len(self.events(kind)) >= count, bound)
        return self.events(kind)[count - 1]

    def shown(self, topic: str) -> dict[str, object]:
        """What stands on a retained topic; nothing before it was shown."""
        found = self.on(f"{PREFIX}/{topic}")
        return found[-1].json() if found else {}

    def wait_for_shown(self, topic: str, bound: float = BOUND_S, **wanted: object) -> dict[str, object]:
        """Returns once a retained topic says what is wanted."""
        self.wait(lambda: all(self.shown(topic).get(key) == value for key, value in wanted.items()), bound)
        return self.shown(topic)

    def wait_for_alarm(self, alarm: str, *, up: bool = True) -> None:
        """Returns once an alarm is on the status topic, or is no longer."""

        def names() -> list[object]:
            found = self.shown("status").get("alarms")
            return [one["alarm"] for one in found] if isinstance(found, list) else [alarm] * (not up)

        self.wait(lambda: (alarm in names()) is up, BOUND_S)

    def command(self, name: str, **fields: object) -> dict[str, object]:
        """Sends a command, with an id of its own if none is given, and returns its reply."""
        fields.setdefault("id", f"c-{next(_numbers)}")
        return self.raw_command(name, json.dumps(fields).encode())

    def raw_command(self, name: str, payload: bytes, *, retain: bool = False) -> dict[str, object]:
        """Sends bytes as a command and returns the next reply."""
        before = len(self.on(f"{PREFIX}/reply"))
        self.publish(f"{PREFIX}/command/{name}", payload, retain=retain)
        self.wait(lambda: len(self.on(f"{PREFIX}/reply")) > before, BOUND_S)
        return self.on(f"{PREFIX}/reply")[before].json()

    def resent(self) -> list[Message]:
        """What came on the topic `resend`."""
        return self.on(f"{PREFIX}/resend")


def let_pass(seconds: float) -> None:
    """Lets time pass where nothing can be awaited, since a process stands still and time is what the test is about."""
    select.select([], [], [], seconds)


class StartDaemon(Protocol):
    """Starts a daemon that ends with the test; takes what `Daemon` takes, except its folder."""

    def __call__(
        self, broker: str, lines: str = 'start = "auto"', state_dir: Path | None = None, *, start: bool = True
    ) -> Daemon:
        """Returns the daemon, ready unless `start` is False."""


@pytest.fixture(name="start_daemon")
def start_daemon_fixture(tmp_path: Path) -> Iterator[StartDaemon]:
    """A function that starts daemons, each in a folder of its own; all end with the test."""
    with ExitStack() as stack:
        yield _starter(tmp_path, stack.callback)


def _starter(folder: Path, at_end: Callable[[Callable[[], None]], object]) -> StartDaemon:
    def start(
        broker: str, lines: str = 'start = "auto"', state_dir: Path | None = None, *, start: bool = True
    ) -> Daemon:
        own = folder / f"table-{len(list(folder.glob('table-*')))}"
        own.mkdir()
        daemon = Daemon(own, broker, lines, state_dir)
        at_end(daemon.close)
        if start:
            daemon.start()
        return daemon

    return start
