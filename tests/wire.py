"""A subscriber for tests: collects messages from a real broker and waits for them with a bound, never by sleeping."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage, MQTTv5, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

BOUND_S = 15.0
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Message:
    """What came: `properties` are the user properties, `correlation` the MQTT 5 correlation data."""

    topic: str
    payload: bytes
    retain: bool = False
    correlation: bytes | None = None
    properties: tuple[tuple[str, str], ...] = ()

    def json(self) -> dict[str, object]:
        """The payload as a JSON object."""
        value = json.loads(self.payload)
        assert isinstance(value, dict)
        return value


class Subscriber:
    """A client subscribed to `topics` (QoS 1); entering it returns after the broker's SUBACK.

    Args:
        port: the broker's port on the loopback interface.
        topics: topic filters.
        protocol: 5 or 4 (3.1.1).
        username: with `password`, where the broker asks for them.
        client_id: by default one of its own.
        session: keep a stored session (for an hour); by default each connection starts clean.
        heard: called with each message as it comes, in the thread that receives it.
    """

    def __init__(  # noqa: PLR0913 - all but two have a default and are given by name
        self,
        port: int,
        *topics: str,
        protocol: int = 5,
        username: str | None = None,
        password: str | None = None,
        client_id: str | None = None,
        session: bool = False,
        heard: Callable[[Message], None] = lambda _: None,
    ) -> None:
        self.messages: list[Message] = []
        self._heard = heard
        self._changed = threading.Condition()
        self._topics = topics
        self._port = port
        self._session = session
        self._subscribed = self._acknowledged = 0
        name = client_id or f"subscriber-{next(_numbers)}"
        kind: MQTTProtocolVersion = MQTTv5 if protocol == MQTTv5 else MQTTv311
        clean = None if protocol == MQTTv5 else not session
        self._client = Client(CallbackAPIVersion.VERSION2, client_id=name, protocol=kind, clean_session=clean)
        self._client.reconnect_delay_set(1, 1)
        self._client.max_inflight_messages_set(0)
        if username is not None:
            self._client.username_pw_set(username, password)
        self._client.on_connect = self._on_connect
        self._client.on_disconnect = self._on_disconnect
        self._client.on_message = self._on_message
        self._client.on_subscribe = self._on_subscribe
        self._client.on_publish = self._on_publish

    def __enter__(self) -> Self:
        """Connects and subscribes."""
        self.connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnects, and closes what paho leaves open."""
        self.disconnect()
        self._client.reinitialise()

    def connect(self) -> None:
        """Connects, or connects again after `disconnect`; returns after the broker's SUBACK."""
        with self._changed:
            self._subscribed = 0
        properties = None
        if self._session and self._client.protocol == MQTTv5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call] # paho left it without types
            properties.SessionExpiryInterval = 3600
        if self._client.protocol == MQTTv5:
            self._client.connect(
                "127.0.0.1", self._port, keepalive=30, clean_start=not self._session, properties=properties
            )
        else:
            self._client.connect("127.0.0.1", self._port, keepalive=30)
        self._client.loop_start()
        self.wait(lambda: self._subscribed > 0)

    def disconnect(self) -> None:
        """Leaves the broker; a stored session stays there."""
        self._client.disconnect()
        self._client.loop_stop()

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        retain: bool = False,
        response_topic: str | None = None,
        correlation: bytes | None = None,
    ) -> None:
        """Publishes with QoS 1 and returns after the broker's PUBACK."""
        properties = None
        if response_topic is not None:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho left it without types
            properties.ResponseTopic = response_topic
            if correlation is not None:
                properties.CorrelationData = correlation
        with self._changed:
            wanted = self._acknowledged + 1
        self._client.publish(topic, payload, qos=1, retain=retain, properties=properties)
        self.wait(lambda: self._acknowledged >= wanted)

    def wait(self, condition: Callable[[], bool], bound: float = BOUND_S) -> None:
        """Returns once `condition` holds; it is asked anew at each message. Fails after `bound` seconds."""
        with self._changed:
            held = self._changed.wait_for(condition, bound)
        assert held, f"after {bound} s only {len(self.messages)} messages: {self.messages[-5:]}"

    def wait_for(self, count: int, bound: float = BOUND_S) -> list[Message]:
        """The messages, once there are `count` of them."""
        self.wait(lambda: len(self.messages) >= count, bound)
        return list(self.messages)

    def wait_until(self, wanted: Callable[[Message], bool], bound: float = BOUND_S) -> Message:
        """The first message that is `wanted`."""
        self.wait(lambda: any(wanted(message) for message in self.messages), bound)
        return next(message for message in self.messages if wanted(message))

    def on(self, topic: str) -> list[Message]:
        """The messages that came on `topic`, or below it where it ends with a slash."""
        return [
            one for one in self.messages if one.topic == topic or (topic[-1] == "/" and one.topic.startswith(topic))
        ]

    def _on_connect(
        self, client: Client, userdata: object, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        del userdata, flags, properties
        assert not reason.is_failure, f"the broker refused the subscriber: {reason}"
        if self._topics:
            client.subscribe([(topic, 1) for topic in self._topics])
        else:
            self._count(subscribed=1)

    def _on_disconnect(
        self,
        client: Client,
        userdata: object,
        flags: DisconnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        del client, userdata, flags, reason, properties

    def _on_subscribe(
        self, client: Client, userdata: object, mid: int, reasons: list[ReasonCode], properties: Properties | None
    ) -> None:
        del client, userdata, mid, reasons, properties
        self._count(subscribed=1)

    def _on_publish(
        self, client: Client, userdata: object, mid: int, reason: ReasonCode, properties: Properties | None
    ) -> None:
        del client, userdata, mid, reason, properties
        self._count(acknowledged=1)

    def _on_message(self, client: Client, userdata: object, message: MQTTMessage) -> None:
        del client, userdata
        extra = message.properties
        arrived = Message(
            message.topic,
            bytes(message.payload),
            retain=message.retain,
            correlation=getattr(extra, "CorrelationData", None),
            properties=tuple(getattr(extra, "UserProperty", ())),
        )
        self._heard(arrived)
        with self._changed:
            self.messages.append(arrived)
            self._changed.notify_all()

    def _count(self, *, subscribed: int = 0, acknowledged: int = 0) -> None:
        with self._changed:
            self._subscribed += subscribed
            self._acknowledged += acknowledged
            self._changed.notify_all()
