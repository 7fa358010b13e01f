"""The demo's broker: real ones, on loopback alone, gone when they are stopped."""

from __future__ import annotations

import queue
import socket
from pathlib import Path

import pytest
from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from scannerd.demo.embedded_broker import HOST, BrokerMissing, EmbeddedBroker, Kind, answers, available

BOUND_S = 10


@pytest.fixture(params=["mosquitto", "iotcore"])
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each broker that is installed."""
    found = next((kind for kind in available() if kind == request.param), None)
    if found is None:
        pytest.skip(f"{request.param} is not installed")
    return found


def test_card_goes_through(kind: Kind) -> None:
    """A retained message of QoS 1 goes through under MQTT 5 to somebody who comes later."""
    got: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    with EmbeddedBroker(kind) as broker:
        client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)

        def deliver(_client: Client, _data: object, message: MQTTMessage) -> None:
            got.put(bytes(message.payload))

        client.on_message = deliver
        client.connect(HOST, broker.port)
        client.loop_start()
        client.publish("scannerd/v1/tp-01/round", b"AS", qos=1, retain=True).wait_for_publish(BOUND_S)
        client.subscribe("scannerd/#", qos=1)
        assert b"AS" == got.get(timeout=BOUND_S)
        client.disconnect()
        client.loop_stop()


def test_broker_listens_on_loopback_alone(kind: Kind) -> None:
    """Nobody outside this machine reaches the broker."""
    with EmbeddedBroker(kind) as broker:
        port = f"{broker.port:04X}"
        tables = [Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:] for name in ("tcp", "tcp6")]
        bound = {line.split()[1] for table in tables for line in table if line.split()[3] == "0A"}
        assert {f"0100007F:{port}"} == {address for address in bound if address.endswith(f":{port}")}


def test_stopped_broker_is_gone(kind: Kind) -> None:
    """After its end, and a second stop, the broker's port is free."""
    with EmbeddedBroker(kind) as broker:
        assert answers(broker.port)
    broker.stop()
    assert not answers(broker.port)
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind((HOST, broker.port))


def test_two_brokers_at_once(kind: Kind) -> None:
    """Two demos on one machine have a broker each."""
    with EmbeddedBroker(kind) as one, EmbeddedBroker(kind) as other:
        assert one.port != other.port


def test_broker_tells_how_to_watch(kind: Kind) -> None:
    """The broker tells its URL and the line with which somebody can watch."""
    with EmbeddedBroker(kind) as broker:
        assert f"mqtt://127.0.0.1:{broker.port}" == broker.url
        assert broker.subscribe_line("scannerd/v1/tp-01").startswith(f"mosquitto_sub -h 127.0.0.1 -p {broker.port}")
        assert broker.subscribe_line("scannerd/v1/tp-01").endswith("-v -t 'scannerd/v1/tp-01/#'")


def test_missing_broker_names_the_remedy() -> None:
    """Where no broker is installed, what to install is told."""
    with pytest.raises(BrokerMissing, match="apt install mosquitto, or pip install"):
        EmbeddedBroker(installed=())
