"""A broker for the demo and the tests, on a free port of this machine's loopback and nothing but loopback.

mosquitto where it is installed, else the broker inside the package iotcore (rumqttd), which speaks MQTT 5 but is
young. Neither keeps anything on disk: the journal is what lasts.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias

from scannerd.errors import UsageError

Kind: TypeAlias = Literal["mosquitto", "iotcore"]

HOST = "127.0.0.1"

_READY_SECONDS = 10.0
_STOP_SECONDS = 3.0
_POLL_SECONDS = 0.02
_SYSTEM_PATH = "/usr/sbin:/usr/local/sbin:/sbin"  # Debian puts mosquitto where a user's PATH does not look

_MOSQUITTO = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence false
max_queued_messages 100000
log_type none
"""

_RUMQTTD = """\
id = 0
[router]
id = 0
max_connections = 100
max_outgoing_packet_count = 20000
max_segment_size = 104857600
max_segment_count = 10
[v5.1]
name = "v5"
listen = "127.0.0.1:{port}"
next_connection_delay_ms = 1
[v5.1.connections]
connection_timeout_ms = 60000
max_payload_size = 1048576
max_inflight_count = 100
dynamic_filters = true
"""

# The child ends when our end of the pipe closes, so a killed parent leaves no broker behind.
_IOTCORE_CHILD = "import sys; sys.path[:] = [p for p in sys.path if p]; from iotcore._serve import main; main()"


class BrokerMissing(UsageError):  # noqa: N818 - the state of the machine
    """There is no broker to embed. Whoever set up this machine must install mosquitto or the extra `demo`."""


class BrokerFailed(UsageError):  # noqa: N818 - what the child process did
    """The broker ended at once or never answered. Whoever set up this machine must look at it."""


class EmbeddedBroker:
    """A running broker, as a context manager.

    Attributes:
        kind: which broker it is.
        port: where it listens; 0 before it has started.
    """

    def __init__(self, kind: Kind | None = None, installed: tuple[Kind, ...] | None = None) -> None:
        """Chooses the broker.

        Args:
            kind: which one; by default mosquitto where it is installed, else iotcore.
            installed: what there is to choose from; by default what is installed.

        Raises:
            BrokerMissing: it is not installed.
        """
        found = available() if installed is None else installed
        if not found or (kind is not None and kind not in found):
            wanted = kind or "mosquitto"
            raise BrokerMissing(f"{wanted} is not installed: apt install mosquitto, or pip install 'scannerd[demo]'")
        self.kind: Kind = kind or found[0]
        self.port = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """For `[mqtt] url`."""
        return f"mqtt://{HOST}:{self.port}"

    def subscribe_line(self, topic: str) -> str:
        """The command with which somebody can watch `topic` and below."""
        version = "" if self.kind == "mosquitto" else " -V mqttv5"
        return f"mosquitto_sub -h {HOST} -p {self.port}{version} -v -t '{topic}/#'"

    def start(self) -> None:
        """Starts the broker and waits until it answers, at most 10 s.

        Raises:
            BrokerFailed: it ended, or did not answer.
        """
        self.port = free_port()
        self._folder = tempfile.TemporaryDirectory(prefix="scannerd-broker-")
        self._process = subprocess.Popen(  # noqa: S603 - our own command line
            self._command(Path(self._folder.name)),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the demo, which stops its broker last
        )
        try:
            self._wait_ready(self._process)
        except BrokerFailed:
            self.stop()
            raise

    def stop(self) -> None:
        """Stops the broker, by force after 3 s; may be called twice."""
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stdin is not None:
                process.stdin.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _command(self, folder: Path) -> list[str]:
        config = folder / "broker.toml"  # rumqttd goes by the ending; mosquitto does not look at it
        if self.kind == "iotcore":
            config.write_text(_RUMQTTD.format(port=self.port), encoding="utf-8")
            return [sys.executable, "-c", _IOTCORE_CHILD, json.dumps({"config_path": str(config)})]
        # mosquitto started by root becomes another user, who may not read our folder.
        user = "user root\n" if os.geteuid() == 0 else ""
        config.write_text(_MOSQUITTO.format(port=self.port) + user, encoding="utf-8")
        return [mosquitto() or "mosquitto", "-c", str(config)]

    def _wait_ready(self, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + _READY_SECONDS
        while time.monotonic() < end:
            if process.poll() is not None:
                raise BrokerFailed(f"{self.kind} ended at once with code {process.returncode}")
            if answers(self.port):
                return
            time.sleep(_POLL_SECONDS)
        raise BrokerFailed(f"{self.kind} did not answer within {_READY_SECONDS:.0f} s")


def available() -> tuple[Kind, ...]:
    """The brokers that are installed here, the better one first."""
    found: list[Kind] = ["mosquitto"] if mosquitto() else []
    return (*found, "iotcore") if find_spec("iotcore") else tuple(found)


def mosquitto() -> str | None:
    """Where mosquitto is, or None."""
    return shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:{_SYSTEM_PATH}")


def free_port() -> int:
    """A TCP port of the loopback that is free now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int) -> bool:
    """Whether something accepts connections there."""
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True
