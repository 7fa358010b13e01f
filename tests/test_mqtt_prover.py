"""Asking a broker what it would take: brokers that answer in every way, and the packets themselves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scannerd.mqtt import packets
from scannerd.mqtt.address import parse
from scannerd.mqtt.packets import Answer, Connack, Packet
from scannerd.mqtt.prover import NoAnswerError, Proof, Session, prove
from tests.mosquitto import Mosquitto, broker_fixture, free_port, start_broker_fixture  # noqa: F401 - pytest finds them by name
from tests.proxy import proxy_to
from tests.publishing import settings_for
from tests.scripted_broker import ScriptedBroker

CONNACK = bytes([0x20, 3, 0, 0, 0])
TOPICS = ("scannerd/v1/tp-01/event/a", "scannerd/v1/tp-01/event/b")


def handing_on(packet: bytes) -> bytes | None:
    """Answers as a broker that hands a message of QoS 2 on before its release, to whoever sent it."""
    kind = packet[0] & 0xF0
    if kind == 0x30:
        topic = packet[2 : 4 + int.from_bytes(packet[2:4], "big")]
        mid = packet[2 + len(topic) :][:2]
        echo = topic + b"\0"
        return bytes([0x50, 2, *mid]) + bytes([0x30, len(echo)]) + echo
    return {0x10: CONNACK, 0x80: bytes([0x90, 4, *packet[2:4], 0, 0])}.get(kind, b"")


def answering(answer: bytes | None) -> Callable[[bytes], bytes | None]:
    """Answers CONNECT with `answer` and everything else with nothing."""
    return lambda packet: answer if packet[0] == 0x10 else b""


def proof_at(broker: ScriptedBroker) -> Proof:
    """What is proved at a broker."""
    return prove(settings_for(broker.url), TOPICS, parse(broker.url), [10])


def test_a_broker_that_hands_probes_on_is_asked_nothing() -> None:
    """A broker that delivers messages of QoS 2 before their release gets no probe on a topic that anybody reads."""
    probed = []

    def answer(packet: bytes) -> bytes | None:
        if packet[0] & 0xF0 == 0x30:
            probed.append(packets.topic_of(Packet(0x30, packet[2:])))
        return handing_on(packet)

    with ScriptedBroker(answer) as broker:
        assert "before their release" in (proof_at(broker).unknown or "")
    assert ["scannerd/v1/tp-01/self_test"] == probed


@pytest.mark.parametrize(
    ("connack", "why", "passing"),
    [
        (bytes([0x20, 2, 0, 1]), "unsupported protocol version", False),
        (bytes([0x20, 3, 0, 0x84, 0]), "unsupported protocol version", False),
        (bytes([0x20, 5, 0, 0, 2, 0x24, 1]), "QoS 2", False),
        (bytes([0x20, 3, 0, 0x87, 0]), "not authorized", False),
        (bytes([0x20, 5, 0, 0, 2, 0x7E, 1]), "can't be read", True),
        (bytes([0x20, 0]), "can't be read", True),
        (bytes([0xE0, 1, 0x89]), "server busy", True),
        (bytes([0xE0, 0]), "no reason given", True),
        (b"\x20\xff\xff\xff\xff\x01", "can't be read", True),
        (None, "hung up", True),
    ],
)
def test_a_broker_that_cannot_be_asked_is_told_with_the_cause(
    connack: bytes | None, why: str, *, passing: bool
) -> None:
    """A broker of the old version, without QoS 2, busy or mad proves nothing; what may pass is known."""
    with ScriptedBroker(answering(connack)) as broker:
        proof = proof_at(broker)
    assert why in (proof.unknown or "")
    assert passing is proof.passing


def test_a_broker_that_is_not_there_proves_nothing() -> None:
    """Where nobody listens the proof is to be tried again."""
    url = f"mqtt://127.0.0.1:{free_port()}"
    assert Proof("connection refused", passing=True) == prove(settings_for(url), TOPICS, parse(url), [])


def test_a_mute_broker_is_given_up() -> None:
    """A server that takes the connection and says nothing costs the bound and no more, with TLS as without."""
    with proxy_to(0) as mute:
        for scheme in ("mqtt", "mqtts"):
            url = f"{scheme}://127.0.0.1:{mute.port}"
            with pytest.raises(NoAnswerError, match="no answer in time"):
                Session(settings_for(url), parse(url), "test", bound_s=0.1)


def test_a_session_may_speak_the_old_version(broker: Mosquitto) -> None:
    """Under 3.1.1 a subscription is answered with its codes."""
    with Session(settings_for(broker.url), parse(broker.url), "test", level=4) as session:
        assert session.connack.refusal is None
        assert (0, 0) == session.subscribe(["a/#", "b"])


@given(st.binary(max_size=200))
def test_any_bytes_are_packets_or_an_error(data: bytes) -> None:
    """Any bytes are split into packets, kept for later, or refused; nothing of them is lost."""
    try:
        whole, rest = packets.split(data)
    except ValueError:
        return
    assert data.endswith(rest)
    assert len(data) - len(rest) >= sum(2 + len(packet.body) for packet in whole)
    for packet in whole:
        for read in (packets.connack, packets.answer):
            for level in (4, 5):
                try:
                    read(packet, level)
                except (ValueError, IndexError):
                    continue


def test_a_long_packet_comes_whole() -> None:
    """A packet of more than 127 bytes is read back as it was written, in two pieces too."""
    data = packets.publish("topic", bytes(20_000), 7)
    assert ([], data[:1]) == packets.split(data[:1])
    assert ([], data[:9_000]) == packets.split(data[:9_000])
    whole, rest = packets.split(data + b"\x90")
    assert (1, b"\x90", "topic") == (len(whole), rest, packets.topic_of(whole[0]))


def test_connack_properties_are_read_past_those_that_do_not_matter() -> None:
    """Limits are found among texts and pairs of texts; without them the standard's values hold."""
    properties = b"\x1f\x00\x02hi" + b"\x26\x00\x01a\x00\x01b" + b"\x21\x00\x14" + b"\x27\x00\x00\x04\x00" + b"\x24\x01"
    packet = Packet(packets.CONNACK, bytes([0, 0, len(properties)]) + properties)
    assert Connack(receive_maximum=20, maximum_packet_size=1024, maximum_qos=1) == packets.connack(packet, 5)
    assert Connack() == packets.connack(Packet(packets.CONNACK, b"\0\0\0"), 5)
    assert Connack("not authorized") == packets.connack(Packet(packets.CONNACK, b"\0\x05"), 4)
    assert Connack("reason 0x99") == packets.connack(Packet(packets.CONNACK, b"\0\x99\0"), 5)


def test_answers_are_read_in_both_versions() -> None:
    """A PUBREC without a reason is a yes; a SUBACK's codes stand behind its properties under MQTT 5."""
    assert Answer(258, (0,)) == packets.answer(Packet(packets.PUBREC, b"\x01\x02"), 5)
    assert Answer(1, (0x87,)) == packets.answer(Packet(packets.PUBREC, b"\x00\x01\x87\x00"), 5)
    assert Answer(1, (0, 0x80)) == packets.answer(Packet(packets.SUBACK, b"\x00\x01\x00\x80"), 4)
    assert Answer(1, (2,)) == packets.answer(Packet(packets.SUBACK, b"\x00\x01\x03\x1f\x00\x00\x02"), 5)
