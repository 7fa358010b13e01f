"""A real mosquitto on a free loopback port, for one test: started, killed, paused, restarted, reconfigured.

    from tests.mosquitto import Mosquitto, StartBroker
    from tests.mosquitto import broker_fixture, start_broker_fixture  # noqa: F401 - pytest finds them by name

    def test_x(broker: Mosquitto) -> None: ...
    def test_y(start_broker: StartBroker) -> None:
        broker = start_broker(acl="topic readwrite #", passwords={"tp-01": "secret"})

Nothing here sleeps: the broker's own log lines say when it runs and when it has read its configuration again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from tests.certificates import Certificate

BOUND_S = 10.0
"""How long a test waits for the broker before it fails."""


def free_port() -> int:
    """A TCP port of the loopback interface on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        assert isinstance(port, int)
        return port


class Mosquitto:
    """One broker process and its files.

    Args:
        folder: where its configuration, password, ACL and database files go.
        config: further lines of mosquitto.conf, such as `max_packet_size 2000`.
        acl: the text of an ACL file, or None for none; `reload` changes it.
        passwords: user -> password; with them nobody enters without.
        tls: the broker's certificate; the listener then speaks TLS only.
        client_authority: CA file of client certificates; with it each client needs one.
        persistence: keep retained messages and sessions over a restart, in `folder`.
        port: a port of the loopback interface; by default a free one.
    """

    def __init__(  # noqa: PLR0913 - a broker has that many sides, each given by name
        self,
        folder: Path,
        *,
        config: Sequence[str] = (),
        acl: str | None = None,
        passwords: Mapping[str, str] | None = None,
        tls: Certificate | None = None,
        client_authority: Path | None = None,
        persistence: bool = False,
        port: int | None = None,
    ) -> None:
        self.folder = folder
        self.port = port or free_port()
        self.scheme = "mqtt" if tls is None else "mqtts"
        self.log: list[str] = []
        self._logged = threading.Condition()
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._acl = folder / "acl"
        lines = [f"listener {self.port} 127.0.0.1", "log_dest stderr", "log_type all", "set_tcp_nodelay true"]
        lines += ["max_queued_messages 200000", f"allow_anonymous {'false' if passwords else 'true'}"]
        lines += ["user root"] if os.geteuid() == 0 else []
        lines += ["persistence true", f"persistence_location {folder}/"] if persistence else ["persistence false"]
        lines += [f"certfile {tls.cert}", f"keyfile {tls.key}"] if tls else []
        lines += [f"cafile {client_authority}", "require_certificate true"] if client_authority else []
        lines += self._access(acl, passwords or {})
        (folder / "mosquitto.conf").write_text("\n".join([*lines, *config]) + "\n")

    @property
    def url(self) -> str:
        """The broker's address, as the configuration spells it."""
        return f"{self.scheme}://localhost:{self.port}" if self.scheme == "mqtts" else f"mqtt://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the process and returns when it takes connections."""
        program = shutil.which("mosquitto") or "/usr/sbin/mosquitto"
        mark = len(self.log)
        self._process = subprocess.Popen(
            [program, "-c", str(self.folder / "mosquitto.conf")], stderr=subprocess.PIPE, text=True, errors="replace"
        )
        self._reader = threading.Thread(target=self._read_log, args=(self._process,), daemon=True)
        self._reader.start()
        self.wait_for_log("running", since=mark)

    def stop(self) -> None:
        """Ends the process in an orderly way (it saves its database, if it has one); may be called twice."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends the process as a power cut would."""
        self._end(signal.SIGKILL)

    def restart(self, *, kill: bool = False) -> None:
        """Ends the process and starts it anew on the same port."""
        self._end(signal.SIGKILL if kill else signal.SIGTERM)
        self.start()

    def pause(self) -> None:
        """Freezes the process: its sockets stay open and nothing is answered."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets a frozen process go on."""
        self._signal(signal.SIGCONT)

    def reload(self, acl: str) -> None:
        """Puts another ACL into force without ending a connection; the broker must have been given one before."""
        self._acl.write_text(acl)
        mark = len(self.log)
        self._signal(signal.SIGHUP)
        self.wait_for_log("Reloading config", since=mark)

    def wait_for_log(self, text: str, *, since: int = 0, times: int = 1) -> None:
        """Returns when `text` stood in `times` lines of the log, counted from line number `since` (`len(log)`)."""

        def seen() -> bool:
            return sum(text in line for line in self.log[since:]) >= times

        with self._logged:
            assert self._logged.wait_for(seen, BOUND_S), f"the broker never said {text!r}: {self.log[since:][-20:]}"

    def _access(self, acl: str | None, passwords: Mapping[str, str]) -> list[str]:
        lines = []
        if acl is not None:
            self._acl.write_text(acl)
            self._acl.chmod(0o600)
            lines.append(f"acl_file {self._acl}")
        for user, password in passwords.items():
            create = [] if (self.folder / "passwd").exists() else ["-c"]
            program = shutil.which("mosquitto_passwd") or "/usr/bin/mosquitto_passwd"
            command = [program, "-b", *create, str(self.folder / "passwd"), user, password]
            subprocess.run(command, check=True, capture_output=True)
        return [*lines, f"password_file {self.folder / 'passwd'}"] if passwords else lines

    def _read_log(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                with self._logged:
                    self.log.append(line.rstrip("\n"))
                    self._logged.notify_all()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "the broker was never started"
        self._process.send_signal(number)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None or self._reader is None:
            return
        self._process.send_signal(number)
        self._process.send_signal(signal.SIGCONT)
        self._process.wait(BOUND_S)
        self._reader.join(BOUND_S)
        self._process = self._reader = None


class StartBroker(Protocol):
    """Starts a broker that ends with the test; takes what `Mosquitto` takes, except its folder."""

    def __call__(  # noqa: PLR0913 - those of Mosquitto
        self,
        *,
        config: Sequence[str] = (),
        acl: str | None = None,
        passwords: Mapping[str, str] | None = None,
        tls: Certificate | None = None,
        client_authority: Path | None = None,
        persistence: bool = False,
        port: int | None = None,
    ) -> Mosquitto:
        """Returns the running broker."""


@pytest.fixture(name="start_broker")
def start_broker_fixture(tmp_path: Path) -> Iterator[StartBroker]:
    """A function that starts brokers, each in a folder of its own; all end with the test."""
    with contextlib.ExitStack() as stack:
        yield _starter(tmp_path, stack.callback)


@pytest.fixture(name="broker")
def broker_fixture(start_broker: StartBroker) -> Mosquitto:
    """A plain broker without persistence, open to everybody."""
    return start_broker()


def _starter(folder: Path, at_end: Callable[[Callable[[], None]], object]) -> StartBroker:
    def start(  # noqa: PLR0913 - those of Mosquitto
        *,
        config: Sequence[str] = (),
        acl: str | None = None,
        passwords: Mapping[str, str] | None = None,
        tls: Certificate | None = None,
        client_authority: Path | None = None,
        persistence: bool = False,
        port: int | None = None,
    ) -> Mosquitto:
        own = folder / f"mosquitto-{len(list(folder.glob('mosquitto-*')))}"
        own.mkdir()
        started = Mosquitto(
            own,
            config=config,
            acl=acl,
            passwords=passwords,
            tls=tls,
            client_authority=client_authority,
            persistence=persistence,
            port=port,
        )
        at_end(started.kill)
        started.start()
        return started

    return start
