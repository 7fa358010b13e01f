"""What a consumer shows on a retained topic of its own, and what the table's retained topics tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scannerd.client import BrokerSettings, Client, Commander
from tests.mosquitto import Mosquitto, broker_fixture, start_broker_fixture  # noqa: F401 - pytest finds them by name
from tests.table_daemon import Daemon
from tests.wire import Message, Subscriber

PREFIX = "scannerd/v1/tp-01"


def settings(url: str, protocol: int = 5) -> BrokerSettings:
    """A consumer's settings."""
    return BrokerSettings((url,), "scannerd", "tp-01", "engine-1", protocol=5 if protocol == 5 else 4)


def wait_for(broker: Mosquitto, payload: bytes) -> Message:
    """What whoever comes now finds on the topic."""
    with Subscriber(broker.port, f"{PREFIX}/result") as later:
        return later.wait_until(lambda message: message.payload == payload)


@pytest.mark.parametrize("protocol", [5, 4])
def test_what_is_shown_stands_on_the_topic(broker: Mosquitto, protocol: int) -> None:
    """What is shown before there is a connection, or afterwards, is retained; the last is what stands."""
    with Subscriber(broker.port, f"{PREFIX}/result") as watch, Commander(settings(broker.url, protocol)) as commander:
        commander.show("result", b"one")
        watch.wait_until(lambda message: message.payload == b"one")
        assert commander.connected
        commander.show("result", b"two")
        watch.wait_until(lambda message: message.payload == b"two")
    assert wait_for(broker, b"two").retain
    assert not commander.connected


def test_what_is_shown_outlives_a_broker_that_forgets(broker: Mosquitto) -> None:
    """A broker that was restarted and kept nothing gets what is shown anew."""
    with Commander(settings(broker.url)) as commander:
        commander.show("result", b"one")
        wait_for(broker, b"one")
        broker.restart(kill=True)
        assert b"one" == wait_for(broker, b"one").payload


def test_table_tells_how_it_is_and_how_far(broker: Mosquitto, tmp_path: Path) -> None:
    """A consumer knows the table's state and how far its journal has come, once the table has said so."""
    daemon = Daemon(tmp_path, broker.url)
    daemon.start()
    with Client(settings(broker.url)) as client:
        assert (None, None) == (client.state, client.head)
        client.ask("open", {"round": "r-1"}, 20.0)
        answer = client.ask("hold", {"by": "ana"}, 20.0)
        for _ in client.events(0.5):
            pass
        head = client.head
        assert head is not None
        assert head.seq == answer.seq
        assert client.state in {"online", "degraded"}
        daemon.stop()
        for _ in client.events(0.5):
            pass
        assert "offline" == client.state
