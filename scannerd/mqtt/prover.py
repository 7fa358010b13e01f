"""Proves what the broker lets us publish, without anybody's seeing a message.

Under MQTT 3.1.1 a broker takes a publish that its rights forbid, acknowledges it and drops it: nobody can tell. So
the same user asks the same broker in MQTT 5, whose answers carry a reason, on a short connection of its own with a
client id of its own. What is sent there has QoS 2, and its release (PUBREL) is withheld: the broker must answer
whether it takes the message (PUBREC), but hands it to nobody before the release, and forgets it with the connection
(MQTT 5, 4.3.3, method A). So no consumer can take a probe for an event, on any topic, whatever its payload.

The standard lets a broker hand such a message on at once (method B). Whether this one does is found out first, on a
topic that no consumer reads; then nothing is proved this way.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from scannerd.mqtt import packets
from scannerd.mqtt.address import Address, Failure, explain, tls_context
from scannerd.mqtt.notices import BrokerSettings
from scannerd.mqtt.packets import Answer, Connack, Level, Packet

SELF_TEST = "self_test"
"""The level below the table's prefix on which it is found out whether the broker hands probes on."""

BOUND_S = 5.0
"""Seconds that a proof may take in all."""

_KEEPALIVE_S = 60
_QOS_2 = 2
_CHUNK = 65536
_HEADERS = 16  # bytes of a PUBLISH beside topic and payload, at the most: header, lengths, id, no properties
_MOST_AT_ONCE = 100
_T = TypeVar("_T")


class NoAnswerError(Exception):
    """The broker can't be reached, hangs up, or answers what can't be read. Whoever asked may ask again later.

    Attributes:
        failure: why, in plain words.
    """

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.cause)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Proof:
    """What a proof brought to light.

    Attributes:
        unknown: why nothing could be proved; None where it could.
        passing: another time it may be proved, as the trouble is the network's.
        denied: topic -> why the broker would not take a message there.
        too_large: those of the payload sizes asked about, in bytes, that the broker would not take.
    """

    unknown: str | None = None
    passing: bool = False
    denied: Mapping[str, str] = field(default_factory=dict)
    too_large: frozenset[int] = frozenset()


class Session:
    """A connection for questions, with a client id of its own; it blocks for no longer than its bound in all.

    Attributes:
        connack: the broker's answer to CONNECT.
        expires: when the broker's certificate ends, seconds since 1970; None where TLS is not spoken.
        came: the topics of what the broker sent us meanwhile.
    """

    def __init__(
        self, settings: BrokerSettings, address: Address, tag: str, *, level: Level = 5, bound_s: float = BOUND_S
    ) -> None:
        """Connects, and waits for the CONNACK.

        Raises:
            NoAnswerError: there is no connection.
        """
        self.came: list[str] = []
        self.expires: float | None = None
        self._level: Level = level
        self._until = time.monotonic() + bound_s
        self._held = b""
        self._packets: deque[Packet] = deque()
        self._ids = itertools.count(1)
        with _explained():
            self._socket = self._dialled(settings, address)
        try:
            name = f"{settings.client_id}-{tag}"
            self._send(packets.connect(level, name, settings.username, settings.password, _KEEPALIVE_S))
            self.connack: Connack = self._read(lambda: packets.connack(self._next(), level))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def room(self) -> int:
        """How many questions of `would_take` one connection stands, as none of them is ever released."""
        return min(_MOST_AT_ONCE, self.connack.receive_maximum)

    def close(self) -> None:
        """Says goodbye. Never raises, may be called twice."""
        with contextlib.suppress(OSError):
            self._socket.sendall(packets.disconnect())
        self._socket.close()

    def subscribe(self, topics: Sequence[str]) -> tuple[int, ...]:
        """The broker's reason codes for a subscription (QoS 0) to each of `topics`.

        Raises:
            NoAnswerError: it does not answer.
        """
        mid = next(self._ids)
        self._send(packets.subscribe(self._level, topics, mid))
        return self._answers([mid])[mid].codes

    def would_take(self, questions: Sequence[tuple[str, int]]) -> list[int]:
        """The broker's reason codes for publishing on a topic a payload of so many bytes; MQTT 5 only.

        Raises:
            NoAnswerError: it does not answer.
        """
        mids = [next(self._ids) for _ in questions]
        for (topic, size), mid in zip(questions, mids, strict=True):
            self._send(packets.publish(topic, bytes(size), mid))
        answers = self._answers(mids)
        return [max(answers[mid].codes, default=0) for mid in mids]

    def _dialled(self, settings: BrokerSettings, address: Address) -> socket.socket:
        plain = socket.create_connection((address.host, address.port), timeout=self._left())
        if not address.tls:
            return plain
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.closing(plain))
            plain.settimeout(self._left())
            secured = tls_context(settings).wrap_socket(plain, server_hostname=address.host)
            stack.pop_all()
        self.expires = ssl.cert_time_to_seconds(str((secured.getpeercert() or {})["notAfter"]))
        return secured

    def _answers(self, mids: Iterable[int]) -> dict[int, Answer]:
        waiting, answers = set(mids), dict[int, Answer]()
        while waiting:
            packet = self._next()
            if packet.kind == packets.PUBLISH:
                self.came.append(packets.topic_of(packet))
            elif packet.kind in {packets.PUBREC, packets.SUBACK}:
                answer = self._read(partial(packets.answer, packet, self._level))
                answers[answer.mid] = answer
                waiting.discard(answer.mid)
        return answers

    def _next(self) -> Packet:
        while not self._packets:
            with _explained():
                self._socket.settimeout(self._left())
                data = self._socket.recv(_CHUNK)
            if not data:
                raise NoAnswerError(Failure("network", "the broker hung up"))
            whole, self._held = self._read(partial(packets.split, self._held + data))
            self._packets.extend(whole)
        packet = self._packets.popleft()
        if packet.kind == packets.DISCONNECT:
            why = packets.reason(packet.body[0]) if packet.body else "no reason given"
            raise NoAnswerError(Failure("network", f"the broker ended it: {why}"))
        return packet

    def _send(self, data: bytes) -> None:
        with _explained():
            self._socket.settimeout(self._left())
            self._socket.sendall(data)

    def _left(self) -> float:
        return max(0.001, self._until - time.monotonic())

    @staticmethod
    def _read(read: Callable[[], _T]) -> _T:
        try:
            return read()
        except (ValueError, IndexError) as error:
            raise NoAnswerError(Failure("network", f"the broker's answer can't be read: {error}")) from error


def prove(
    settings: BrokerSettings, topics: Sequence[str], address: Address, sizes: Sequence[int], tag: str = "proof"
) -> Proof:
    """Asks the broker whether it would take messages on `topics`, and payloads of `sizes` bytes on the first of them.

    Blocks, for a few turns of the network as a rule, and for some seconds at the worst.
    """
    try:
        with Session(settings, address, tag) as session:
            why = _unfit(session.connack) or _hands_on(session, f"{settings.prefix}/{SELF_TEST}")
            connack = session.connack
        if why is not None:
            return Proof(why)
        ask = partial(_ask, partial(Session, settings, address, tag))
        codes = dict(zip(topics, ask([(topic, 0) for topic in topics]), strict=True))
        denied = {topic: packets.reason(code) for topic, code in codes.items() if code >= packets.REFUSED}
        return Proof(
            denied=denied,
            too_large=_too_large(
                ask, [topic for topic in topics if topic not in denied], sizes, connack.maximum_packet_size
            ),
        )
    except NoAnswerError as error:
        return Proof(str(error), passing=True)


def _unfit(connack: Connack) -> str | None:
    """Why this broker can't be asked, or None."""
    if connack.refusal is not None:
        return f"the broker refused a connection in MQTT 5: {connack.refusal}"
    return None if connack.maximum_qos == _QOS_2 else "the broker takes no messages of QoS 2"


def _hands_on(session: Session, topic: str) -> str | None:
    """Finds out whether the broker hands on what was not released; where rights forbid the topic it is trusted."""
    session.subscribe([topic])
    session.would_take([(topic, 0)])
    session.subscribe([topic])  # one turn more: had it handed the message on, it would be here by now
    return "the broker hands messages of QoS 2 on before their release" if topic in session.came else None


def _ask(open_session: Callable[[], Session], questions: Sequence[tuple[str, int]]) -> list[int]:
    """The broker's reason codes, asked on as many connections as its window needs."""
    codes: list[int] = []
    while len(codes) < len(questions):
        with open_session() as session:
            codes += session.would_take(questions[len(codes) :][: session.room])
    return codes


def _too_large(
    ask: Callable[[list[tuple[str, int]]], list[int]], topics: Sequence[str], sizes: Sequence[int], limit: int | None
) -> frozenset[int]:
    """Those of `sizes` that the broker would not take on any of `topics`, which it allows."""
    if not topics:
        return frozenset()
    topic = max(topics, key=len)
    within = [size for size in sizes if limit is None or size + len(topic.encode()) + _HEADERS <= limit]
    refused = {
        size
        for size, code in zip(within, ask([(topic, size) for size in within]), strict=True)
        if code == packets.TOO_LARGE
    }
    return frozenset(refused | (set(sizes) - set(within)))


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Turns what the network or TLS says into a `NoAnswerError`."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise NoAnswerError(explain(error)) from error
