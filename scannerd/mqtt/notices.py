"""The values that pass between the engine and the publisher: settings and replies in, notices out.

Notices are put on the engine's inbox; `at` is a monotonic time in microseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

PAYLOAD_LIMIT = 64 * 1024
"""Bytes of a command that are still passed on; of a longer one only a flag is."""

AlarmName: TypeAlias = Literal["denied", "no_subscribers", "certificate", "network", "takeover", "oversized"]


class Record(Protocol):
    """One event of the journal, as the outbox hands it out."""

    @property
    def seq(self) -> int:
        """Its number."""

    @property
    def type(self) -> str:
        """Its type, the last level of its topic."""

    @property
    def body(self) -> bytes:
        """The bytes that go out, each time the same."""


class OutboxError(Exception):
    """The journal can't be read at present. The publisher opens its outbox afresh after 2 s; the engine alarms."""


class EventDamagedError(OutboxError):
    """An event is gone, or is not what was written: it never goes out. An administrator must look at the journal.

    Attributes:
        behind: the number up to which nothing can be had; what is above it may be.
    """

    def __init__(self, path: Path, seq: int, behind: int, why: str) -> None:
        """Event `seq` is the first of them."""
        super().__init__(f"{path}: seq {seq}: {why}")
        self.behind = behind


class Outbox(Protocol):
    """The journal as the publisher sees it: used by its thread alone."""

    def records(self, after: int, limit: int) -> Sequence[Record]:
        """At most `limit` records whose number is above `after`, in order; none behind one that is damaged.

        Raises:
            EventDamagedError: the first of them is.
            OutboxError: the journal can't be read; an `sqlite3.Error` is taken for the same.
        """

    def close(self) -> None:
        """Gives the journal back."""


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Where the brokers are and who we are to them.

    Attributes:
        urls: `mqtt://host[:port]` or `mqtts://host[:port]`, tried in turn; several are one cluster.
        root: the first level of all topics.
        table: the table's id.
        protocol: 5, or 4 for MQTT 3.1.1.
        username: None: we give no name.
        password: never shown in a repr.
        ca_file: whom to trust under `mqtts`; None: the system's authorities.
        cert_file: our own certificate, with `key_file`.
        key_file: the key of `cert_file`.
        client_id: names table and installation, so that two tables never evict each other.
        keepalive_s: seconds of silence after which the broker is asked whether it lives.
        connect_timeout_s: seconds that one attempt may take, from the name look-up to the CONNACK.
    """

    urls: tuple[str, ...]
    root: str
    table: str
    client_id: str
    protocol: Literal[4, 5] = 5
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    keepalive_s: int = 15
    connect_timeout_s: float = 10.0

    @property
    def prefix(self) -> str:
        """What every topic of this table begins with, without the last slash."""
        return f"{self.root}/v1/{self.table}"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a command; `topic` is the response topic that it named, or None for the table's own."""

    payload: bytes
    topic: str | None = None
    correlation: bytes | None = None


@dataclass(frozen=True, slots=True)
class Connected:
    """A broker accepted us; `address` is the URL's host and port."""

    at: int
    address: str
    session_present: bool = False


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The broker that had accepted us is gone."""

    at: int
    cause: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The broker has taken charge of every event up to `upto`, itself included."""

    at: int
    upto: int


@dataclass(frozen=True, slots=True)
class CommandReceived:
    """A command as it came, unparsed; `oversized`: its payload was above `PAYLOAD_LIMIT` and was dropped."""

    at: int
    name: str
    payload: bytes
    retain: bool
    response_topic: str | None = None
    correlation: bytes | None = None
    oversized: bool = False


@dataclass(frozen=True, slots=True)
class StatusSeen:
    """Our own status topic carried something that we did not put there last."""

    at: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class BrokerAlarm:
    """An alarm that the publisher raises or clears."""

    at: int
    alarm: AlarmName
    up: bool
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class ThreadDied:
    """A thread ended by an exception that nobody expected: the process must end, so that it is started again."""

    at: int
    name: str
    error: str


Notice: TypeAlias = Connected | Disconnected | Acknowledged | CommandReceived | StatusSeen | BrokerAlarm | ThreadDied
