"""The publisher: one thread between the journal and the broker, and the only file that touches paho for it.

Why not `loop_start`: paho's own thread would be a second hop for each card, and `publish` from another thread would
write to the socket beside it. Here ONE thread owns the client wholly and drives it by paho's public interface for
external loops (`socket`, `loop_read`, `loop_write`, `loop_misc`, `want_write`), waiting in `poll` on the broker's
socket and on a socket pair by which the engine wakes it. So a card goes from `wake` to the wire in one step, no lock
is held over a call to paho, and order can't be lost between threads.

What paho is not used for, since it would hide or double what is in flight: its queue (messages go out only while the
broker has accepted us, within a window of ours), its session (each connection is a new client with a clean start),
its reconnect, and its log (read only until the CONNACK, where nothing else tells why TLS failed). Its callbacks only
note what happened.
"""

from __future__ import annotations

import contextlib
import random
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from functools import partial

from paho.mqtt.client import (
    MQTT_LOG_ERR,
    Client,
    ConnectFlags,
    DisconnectFlags,
    MQTTMessage,
    MQTTv5,
    MQTTv311,
)
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from scannerd.messages import TOLD
from scannerd.mqtt.address import Address, Failure, explain_text, tls_context
from scannerd.mqtt.alarms import Alarms
from scannerd.mqtt.link import Accepted, Acked, Arrived, Happening, Lost, PacketTooLargeError, Refused, Subscribed
from scannerd.mqtt.loop import Loop, Resend, Show, Stop
from scannerd.mqtt.notices import (
    Acknowledged,
    BrokerAlarm,
    BrokerSettings,
    CommandReceived,
    Connected,
    Disconnected,
    Notice,
    Outbox,
    OutboxError,
    Record,
    Reply,
    StatusSeen,
    ThreadDied,
)
from scannerd.mqtt.prover import prove
from scannerd.mqtt.rights import Rights
from scannerd.mqtt.source import Source

__all__ = [
    "Acknowledged",
    "BrokerAlarm",
    "BrokerSettings",
    "CommandReceived",
    "Connected",
    "Disconnected",
    "Notice",
    "Outbox",
    "OutboxError",
    "PahoLink",
    "Publisher",
    "Record",
    "Reply",
    "StatusSeen",
    "ThreadDied",
]

CONTRACT = "1.0"
"""The contract's version, which goes with each event as an MQTT 5 user property."""

_INCOMING_LIMIT = 1024 * 1024  # bytes of a packet that the broker may send us (MQTT 5): what we hold in memory
_JOIN_S = 1.0
_DENIED = 0x80
_OLD = 4


def _properties(kind: int) -> Properties:
    return Properties(kind)  # type: ignore[no-untyped-call] # paho left this class without types


def _stamp() -> bytes:
    properties = _properties(PacketTypes.PUBLISH)
    properties.UserProperty = ("contract", CONTRACT)
    packed = properties.pack()  # type: ignore[no-untyped-call] # as above
    return bytes(packed)


class _Stamp(Properties):
    """The properties of every event, packed once: packing them anew would cost more than sending the event."""

    _packed = _stamp()

    def pack(self) -> bytes:
        return self._packed


class PahoLink:
    """One connection to one broker through paho; see `scannerd.mqtt.link.Link`."""

    def __init__(self, settings: BrokerSettings, address: Address, will: bytes) -> None:
        """Prepares a client; nothing is opened yet."""
        self._settings = settings
        self._address = address
        self._five = settings.protocol == MQTTv5
        self._happened: list[Happening] = []
        self._words = ""
        self._topics = [f"{settings.prefix}/command/+", f"{settings.prefix}/status"]
        self._accepted = False
        self._limit: int | None = None
        self._stamp = _Stamp(PacketTypes.PUBLISH) if self._five else None  # type: ignore[no-untyped-call] # as above
        self._client = self._make_client(will)

    def dial(self) -> None:
        """Connects and sends CONNECT."""
        if self._address.tls:
            self._client.tls_set_context(tls_context(self._settings))
        self._client.connect_timeout = self._settings.connect_timeout_s
        host, port, keepalive = self._address.host, self._address.port, self._settings.keepalive_s
        if self._five:
            properties = _properties(PacketTypes.CONNECT)
            properties.SessionExpiryInterval = 0
            properties.MaximumPacketSize = _INCOMING_LIMIT
            self._client.connect(host, port, keepalive, clean_start=True, properties=properties)
        else:
            self._client.connect(host, port, keepalive)
        sock = self._client.socket()
        if isinstance(sock, socket.socket):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def fileno(self) -> int | None:
        """The descriptor to wait on; None once the connection is gone."""
        sock = self._client.socket()
        return None if sock is None else sock.fileno()

    def wants_write(self) -> bool:
        """Whether bytes wait for room in the socket's buffer."""
        return self._client.want_write()

    def serve(self, *, readable: bool) -> list[Happening]:
        """Reads, writes, minds the keepalive, and tells what happened."""
        if readable:
            self._client.loop_read()
            # TLS hands out whole records: what it has decrypted already no longer shows on the descriptor.
            while isinstance(sock := self._client.socket(), ssl.SSLSocket) and sock.pending():
                self._client.loop_read()
        if self._client.want_write():
            self._client.loop_write()
        self._client.loop_misc()
        happened, self._happened = self._happened, []
        return happened

    def pending(self) -> bool:
        """Whether something happened that `serve` has not told yet."""
        return bool(self._happened)

    def subscribe(self) -> None:
        """Subscribes to the commands and to our own status."""
        if self._five:
            options = SubscribeOptions(qos=1, retainAsPublished=True)
            self._client.subscribe([(topic, options) for topic in self._topics])
        else:
            self._client.subscribe([(topic, 1) for topic in self._topics])

    def listen(self) -> None:
        """Subscribes to our own events."""
        own = [f"{self._settings.prefix}/event/+", f"{self._settings.prefix}/resend"]
        self._topics += own
        self._client.subscribe([(topic, 1) for topic in own])

    def unsubscribe(self) -> None:
        """Takes all subscriptions back."""
        self._client.unsubscribe(self._topics)

    def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, event: bool = False, correlation: bytes | None = None
    ) -> int:
        """Sends with QoS 1 and returns the message's id."""
        properties: Properties | None = self._stamp if event else None
        if correlation is not None and self._five:
            properties = _properties(PacketTypes.PUBLISH)
            properties.CorrelationData = correlation
        if self._limit is not None and self._size(topic, payload, properties) > self._limit:
            raise PacketTooLargeError
        return self._client.publish(topic, payload, qos=1, retain=retain, properties=properties).mid

    def disconnect(self) -> None:
        """Sends DISCONNECT."""
        self._client.disconnect()

    def close(self) -> None:
        """Ends the connection without DISCONNECT, and closes the pair of sockets that paho wakes itself with."""
        sock = self._client.socket()
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.close()
        self._client.reinitialise()

    def _make_client(self, will: bytes) -> Client:
        client = Client(
            CallbackAPIVersion.VERSION2,
            client_id=self._settings.client_id,
            clean_session=None if self._five else True,
            protocol=MQTTv5 if self._five else MQTTv311,
            reconnect_on_failure=False,
        )
        client.max_inflight_messages_set(0)
        client.username_pw_set(self._settings.username, self._settings.password)
        client.will_set(f"{self._settings.prefix}/status", will, qos=1, retain=True)
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        client.on_message = self._on_message
        client.on_subscribe = self._on_subscribe
        client.on_log = self._on_log
        return client

    def _size(self, topic: str, payload: bytes, properties: Properties | None) -> int:
        extra = len(properties.pack()) if properties is not None else 1  # type: ignore[no-untyped-call] # as above
        rest = 2 + len(topic.encode()) + 2 + extra + len(payload)
        return 1 + (1 if rest < 1 << 7 else 2 if rest < 1 << 14 else 3 if rest < 1 << 21 else 4) + rest

    def _on_connect(
        self, client: Client, userdata: object, flags: ConnectFlags, reason: ReasonCode, properties: Properties | None
    ) -> None:
        del userdata
        if reason.is_failure:
            self._happened.append(Refused(str(reason)))
            return
        client.on_log = None  # paho would format its debug lines for each packet
        self._accepted = True
        self._limit = getattr(properties, "MaximumPacketSize", None)
        maximum = getattr(properties, "ReceiveMaximum", 65535)
        self._happened.append(Accepted(maximum, session_present=flags.session_present))

    def _on_disconnect(
        self,
        client: Client,
        userdata: object,
        flags: DisconnectFlags,
        reason: ReasonCode,
        properties: Properties | None,
    ) -> None:
        del client, userdata, properties
        if flags.is_disconnect_packet_from_server:
            self._happened.append(Lost(Failure("network", f"the broker ended it: {reason}"), reason.value))
        else:
            words = self._words or ("connection lost" if reason == "Unspecified error" else str(reason))
            self._happened.append(Lost(self._explain(words), garbled=reason == "Protocol error"))

    def _explain(self, words: str) -> Failure:
        """Names the cause; under TLS 1.3 a broker refuses our certificate after the handshake, and may just hang up."""
        failure = explain_text(words)
        if failure.alarm == "certificate" or not self._address.tls or self._accepted:
            return failure
        return Failure("network", f"{failure.cause} before an answer; the broker may want another client certificate")

    def _on_publish(
        self, client: Client, userdata: object, mid: int, reason: ReasonCode, properties: Properties | None
    ) -> None:
        del client, userdata, properties
        code = reason.value
        self._happened.append(Acked(mid, code, str(reason) if code >= _DENIED else ""))

    def _on_subscribe(
        self, client: Client, userdata: object, mid: int, reasons: list[ReasonCode], properties: Properties | None
    ) -> None:
        del client, userdata, mid, properties
        refused = [str(reason) for reason in reasons if reason.value >= _DENIED]
        self._happened.append(Subscribed(refused[0] if refused else None))

    def _on_message(self, client: Client, userdata: object, message: MQTTMessage) -> None:
        del client, userdata
        with contextlib.suppress(UnicodeDecodeError):  # a topic that is no UTF-8 is none of ours
            extra = message.properties
            answer_to: str | None = getattr(extra, "ResponseTopic", None)
            correlation: bytes | None = getattr(extra, "CorrelationData", None)
            payload = bytes(message.payload)
            self._happened.append(Arrived(message.topic, payload, message.retain, answer_to, correlation))

    def _on_log(self, client: Client, userdata: object, level: int, text: str) -> None:
        del client, userdata
        if level == MQTT_LOG_ERR:
            self._words = text.partition(": ")[2] or text


def published_topics(prefix: str) -> tuple[str, ...]:
    """Every topic on which the daemon speaks; those of events first."""
    rest = ("resend", "reply", "round", "prompt", "status")
    return (*(f"{prefix}/event/{kind}" for kind in TOLD), *(f"{prefix}/{topic}" for topic in rest))


def _rights(settings: BrokerSettings) -> Callable[[Alarms, Callable[[], None]], Rights]:
    topics = published_topics(settings.prefix)
    return partial(Rights, partial(prove, settings, topics), topics)


class Publisher:
    """Publishes the journal and the retained topics, takes commands in, and says what the broker is about.

    All methods but `start` and `stop` return at once, whatever the broker does; they may be called from any thread.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - its seams, each handed in once by the composition root
        self,
        settings: BrokerSettings,
        open_outbox: Callable[[], Outbox],
        cursor: int,
        post: Callable[[Notice], None],
        will: bytes,
        clock: Callable[[], int],
        rng: random.Random,
    ) -> None:
        """Opens nothing yet.

        Args:
            settings: the brokers, and who we are.
            open_outbox: opens the journal for reading; called in the publisher's thread.
            cursor: the number of the last event known to be acknowledged.
            post: takes the notices, in the publisher's thread; must not block.
            will: the status that the broker says for us when we are gone; holds the session id.
            clock: monotonic time in microseconds.
            rng: for the jitter.

        Raises:
            ValueError: a URL is none of a broker.
        """
        self._post = post
        self._clock = clock
        source = self._source = Source(open_outbox, clock)
        self._loop = Loop(
            settings,
            lambda address: PahoLink(settings, address, will),
            source,
            cursor,
            post,
            will,
            clock,
            rng,
            _rights(settings) if settings.protocol == _OLD else None,
        )
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)

    @property
    def progress(self) -> int:
        """Grows with each turn of the loop, at least once a second: for the watchdog."""
        return self._loop.progress

    def start(self) -> None:
        """Starts the thread, which begins to connect."""
        self._thread.start()

    def wake(self, head: int, fresh: Sequence[Record] = ()) -> None:
        """The journal now ends at `head`; `fresh`, its last events, need not be read back from it."""
        self._source.offer(fresh)
        self._loop.head = head
        self._loop.wake()

    def show(self, topic: str, payload: bytes) -> None:
        """Puts `payload` on the retained topic `round`, `prompt` or `status`; the latest wins."""
        self._loop.ask(Show(topic, payload))

    def answer(self, reply: Reply) -> None:
        """Sends a reply, after what was shown before it."""
        self._loop.ask(reply)

    def resend(self, first: int, last: int, then: Reply) -> None:
        """Sends the events `first` to `last` again, byte for byte, on the topic `resend`; then the reply."""
        self._loop.ask(Resend(first, last, then))

    def stop(self, final_status: bytes, deadline_s: float = 1.5) -> None:
        """Lets the broker acknowledge what is journalled, says `final_status`, disconnects and ends the thread.

        Without a broker it ends at once. It returns after at most `deadline_s` and 1 s; what was acknowledged
        meanwhile has been posted by then.
        """
        self._loop.stop(Stop(final_status, self._clock() + int(deadline_s * 1_000_000)))
        if self._thread.ident is None:
            self._loop.close()
        else:
            self._thread.join(deadline_s + _JOIN_S)

    def _run(self) -> None:
        try:
            self._loop.run()
        except Exception as error:  # noqa: BLE001 - a dead thread must not die unheard
            self._post(ThreadDied(self._clock(), "publisher", repr(error)))
