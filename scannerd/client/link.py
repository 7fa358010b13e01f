"""A consumer's connection: paho with its own network thread, whose callbacks do nothing but hand on what came.

Messages go out only while a broker has accepted us: what paho queues while it is away would go out long after its
sender gave up. Of several brokers each failure turns to the next.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import cycle

from paho.mqtt.client import Client, ConnectFlags, DisconnectFlags, MQTTMessage, MQTTv5, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from scannerd.client.errors import BrokerAway, ClientError
from scannerd.mqtt.address import explain, parse, tls_context
from scannerd.mqtt.link import Arrived
from scannerd.mqtt.notices import BrokerSettings

_STOP_S = 2.0
_LOG = logging.getLogger("scannerd.client")


class Link:
    """One client's connection, made anew whenever it is lost.

    Attributes:
        remark: what the broker said of the last message, where it did not just take it (MQTT 5); else empty.
    """

    def __init__(
        self,
        broker: BrokerSettings,
        topics: Sequence[str],
        heard: Callable[[Arrived], None],
        up: Callable[[], None] = lambda: None,
        session_s: int = 0,
    ) -> None:
        """Opens nothing yet.

        Args:
            broker: where, and who we are.
            topics: what to subscribe to, with QoS 1.
            heard: told of each message, in the network thread; must not block.
            up: called after each SUBACK, likewise.
            session_s: seconds that the broker keeps our session while we are away; 0: it forgets us at once.

        Raises:
            ClientError: a URL is none of a broker, or a certificate file can't be used.
        """
        try:
            addresses = [parse(url) for url in broker.urls]
            context = tls_context(broker) if any(address.tls for address in addresses) else None
        except (ValueError, OSError) as trouble:
            raise ClientError(explain(trouble).cause) from trouble
        if len({address.tls for address in addresses}) != 1:
            raise ClientError("name brokers of one kind: all mqtt:// or all mqtts://")
        self._addresses = cycle(addresses)
        self._broker, self._topics, self._session_s = broker, topics, session_s
        self._heard, self._is_up = heard, up
        self._changed = threading.Condition()
        self._standing = False
        self._shown: dict[str, bytes] = {}
        self._showing = threading.Lock()
        self._cause = "no answer"
        self._refused: str | None = None
        self.remark = ""
        self._client = self._make_client()
        if context is not None:
            self._client.tls_set_context(context)

    def open(self) -> None:
        """Begins to connect, and returns at once."""
        self._aim()
        self._client.loop_start()

    def close(self) -> None:
        """Disconnects; waits no longer than 2 s for the network thread."""
        self._standing = False
        self._client.disconnect()
        stop = threading.Thread(target=self._end, name="mqtt-stop", daemon=True)
        stop.start()
        stop.join(_STOP_S)

    def _end(self) -> None:
        """Ends the network thread, and closes what paho leaves open: a pair of sockets, and a connection just made."""
        with contextlib.suppress(AttributeError):  # paho looks twice at a thread that may end in between
            self._client.loop_stop()
        self._client.reinitialise()

    def wait(self, bound_s: float) -> None:
        """Returns once a broker has accepted us and our subscriptions.

        Raises:
            BrokerAway: none did within `bound_s` seconds, or a subscription was refused.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._standing or self._refused is not None, bound_s)
            self.check()
            if not self._standing:
                raise BrokerAway(f"no broker at {', '.join(self._broker.urls)}: {self._cause}")

    @property
    def standing(self) -> bool:
        """Whether a broker has accepted us and our subscriptions, and is there still."""
        return self._standing

    def check(self) -> None:
        """Nothing, unless the broker refuses a subscription: then nothing would ever come.

        Raises:
            BrokerAway: it does.
        """
        if self._refused is not None:
            raise BrokerAway(self._refused)

    def send(self, topic: str, payload: bytes, *, reply_to: str, correlation: bytes) -> bool:
        """Publishes with QoS 1, if there is a connection; the reply is asked for by MQTT 5, where that is spoken."""
        if not self._standing:
            return False
        properties = None
        if self._broker.protocol == MQTTv5:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call] # paho left it without types
            properties.ResponseTopic = reply_to
            properties.CorrelationData = correlation
        self._client.publish(topic, payload, qos=1, properties=properties)
        return True

    def show(self, topic: str, payload: bytes) -> None:
        """Puts a retained message on a topic, with QoS 1: now if there is a connection, and anew on each that comes."""
        with self._showing:
            self._shown[topic] = payload
            if self._standing:
                self._client.publish(topic, payload, qos=1, retain=True)

    def _make_client(self) -> Client:
        five = self._broker.protocol == MQTTv5
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=self._broker.client_id,
            clean_session=None if five else not self._session_s,
            protocol=MQTTv5 if five else MQTTv311,
        )
        client.connect_timeout = self._broker.connect_timeout_s
        client.reconnect_delay_set(1, 10)
        client.max_inflight_messages_set(0)
        client.username_pw_set(self._broker.username, self._broker.password)
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_publish = self._on_publish
        client.on_subscribe = self._on_subscribe
        return client

    def _aim(self) -> None:
        address = next(self._addresses)
        keepalive = self._broker.keepalive_s
        if self._broker.protocol != MQTTv5:
            self._client.connect_async(address.host, address.port, keepalive)
            return
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call] # as above
        properties.SessionExpiryInterval = self._session_s
        clean = not self._session_s
        self._client.connect_async(address.host, address.port, keepalive, clean_start=clean, properties=properties)

    def _on_connect(
        self, client: Client, userdata: object, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        del userdata, flags, properties
        if reason.is_failure:
            self._down(f"refused: {reason}")
        else:
            client.subscribe([(topic, 1) for topic in self._topics])

    def _on_subscribe(
        self, client: Client, userdata: object, mid: int, reasons: list[ReasonCode], properties: Properties | None
    ) -> None:
        del client, userdata, mid, properties
        refused = [topic for topic, reason in zip(self._topics, reasons, strict=False) if reason.is_failure]
        with self._changed:
            self._standing = not refused
            self._refused = f"the broker refuses us the topic {refused[0]}" if refused else None
            self._changed.notify_all()
        self._show_again()
        self._is_up()

    def _show_again(self) -> None:
        """A broker that was restarted may have lost what it kept for us."""
        with self._showing:
            for topic, payload in self._shown.items():
                self._client.publish(topic, payload, qos=1, retain=True)

    def _on_publish(
        self, client: Client, userdata: object, mid: int, reason: ReasonCode, properties: Properties | None
    ) -> None:
        del client, userdata, mid, properties
        self.remark = str(reason).lower() if reason.value else ""

    def _on_connect_fail(self, client: Client, userdata: object) -> None:
        del client, userdata
        trouble = sys.exception()  # paho calls this while it handles the exception, and hands nothing over
        self._down(explain(trouble).cause if isinstance(trouble, Exception) else "no connection")
        self._aim()

    def _on_disconnect(
        self,
        client: Client,
        userdata: object,
        flags: DisconnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        del client, userdata, flags, properties
        if reason.is_failure:
            self._down(None if self._cause.startswith("refused") and not self._standing else str(reason))
            self._aim()

    def _down(self, cause: str | None) -> None:
        with self._changed:
            self._standing = False
            self._cause = cause or self._cause
        _LOG.info("no connection: %s", self._cause)

    def _on_message(self, client: Client, userdata: object, message: MQTTMessage) -> None:
        del client, userdata
        correlation: bytes | None = getattr(message.properties, "CorrelationData", None)
        self._heard(Arrived(message.topic, bytes(message.payload), message.retain, None, correlation))
