"""What one connection to a broker can do, and what can happen on it.

One `Link` is one TCP connection: it is dialled once and thrown away with it. So nothing that the library may have kept
of an earlier connection can go out twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from scannerd.mqtt.address import Failure


class PacketTooLargeError(Exception):
    """A packet is above the broker's limit and was not sent: the message is set aside."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The broker's CONNACK; `receive_maximum`: how many QoS 1 messages it takes unacknowledged."""

    receive_maximum: int
    session_present: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """The broker's CONNACK said no."""

    cause: str


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection ended.

    Attributes:
        failure: why.
        code: the reason of the broker's DISCONNECT (MQTT 5), None where none came.
        garbled: we ended it ourselves, over a packet that can't be read.
    """

    failure: Failure
    code: int | None = None
    garbled: bool = False


@dataclass(frozen=True, slots=True)
class Acked:
    """The broker answered for message `mid`."""

    mid: int
    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Subscribed:
    """The broker answered a SUBSCRIBE; `refusal` is its reason where it refused a topic."""

    refusal: str | None


@dataclass(frozen=True, slots=True)
class Arrived:
    """A message came."""

    topic: str
    payload: bytes
    retain: bool
    response_topic: str | None
    correlation: bytes | None


Happening: TypeAlias = Accepted | Refused | Lost | Acked | Subscribed | Arrived


class Link(Protocol):
    """One connection. Used by one thread at a time."""

    def dial(self) -> None:
        """Connects and sends CONNECT. Blocks, at most for the connect time-out per address and again for TLS.

        Raises:
            OSError: there is no connection.
            ValueError: the host's name can't be one.
        """

    def fileno(self) -> int | None:
        """The descriptor to wait on; None once the connection is gone."""

    def wants_write(self) -> bool:
        """Whether bytes wait for room in the socket's buffer."""

    def serve(self, *, readable: bool) -> list[Happening]:
        """Reads where `readable`, writes what waits, minds the keepalive; tells what happened since the last call."""

    def pending(self) -> bool:
        """Whether something happened that `serve` has not told yet: then there is no need to wait."""

    def subscribe(self) -> None:
        """Subscribes to the commands and to our own status."""

    def listen(self) -> None:
        """Subscribes to our own events as well, to see them come back."""

    def unsubscribe(self) -> None:
        """Takes all subscriptions back: after the broker's answer to what follows, nothing comes unasked."""

    def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, event: bool = False, correlation: bytes | None = None
    ) -> int:
        """Sends with QoS 1 and returns the message's id; a lost connection is told by `serve`.

        Raises:
            PacketTooLargeError: the broker would not take a packet of that size.
        """

    def disconnect(self) -> None:
        """Sends DISCONNECT; the connection is gone when that is written."""

    def close(self) -> None:
        """Ends the connection without DISCONNECT. Never raises, may be called twice."""
