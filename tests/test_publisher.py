"""The publisher against a real broker that behaves: topics, order, bytes, retained topics, commands, stop."""

from __future__ import annotations

import json

import pytest

from scannerd.publisher import Acknowledged, CommandReceived, Disconnected, Reply, StatusSeen
from tests.mosquitto import Mosquitto, broker_fixture, start_broker_fixture  # noqa: F401 - pytest finds them by name
from tests.publishing import (
    OFFLINE,
    ONLINE,
    WILL,
    Desks,
    Journal,
    desks_fixture,  # noqa: F401 - as above
)
from tests.wire import Message, Subscriber

PREFIX = "scannerd/v1/tp-01"


@pytest.mark.parametrize("protocol", [5, 4])
def test_events_arrive_in_order_with_their_bytes(broker: Mosquitto, desks: Desks, protocol: int) -> None:
    """Each event goes out once, in the journal's order, byte for byte, on the topic of its type."""
    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk = desks(broker.url, protocol=protocol)
        desk.write("daemon_started", "round_opened")
        desk.write(*["card_accepted"] * 300, "round_completed")
        desk.acknowledged()
        messages = consumer.wait_for(303)
    assert desk.journal.bodies == [message.payload for message in messages]
    assert [f"{PREFIX}/event/{event.type}" for event in desk.journal.events] == [message.topic for message in messages]
    assert {False} == {message.retain for message in messages}


def test_events_carry_the_contract(broker: Mosquitto, desks: Desks) -> None:
    """Under MQTT 5 each event names the contract's version in a user property."""
    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desks(broker.url).write("card_accepted")
        assert (("contract", "1.0"),) == consumer.wait_for(1)[0].properties


def test_the_cursor_is_told_in_order_and_once(broker: Mosquitto, desks: Desks) -> None:
    """Acknowledgements are told as one rising number that ends at the journal's head."""
    desk = desks(broker.url)
    desk.write(*["card_accepted"] * 500)
    desk.acknowledged()
    told = [notice.upto for notice in desk.inbox.of(Acknowledged)]
    assert sorted(set(told)) == told
    assert told[-1] == 500


def test_only_what_is_behind_the_cursor_is_sent(broker: Mosquitto, desks: Desks) -> None:
    """A publisher that starts with a cursor sends what comes after it and nothing else."""
    journal = Journal()
    journal.append(*["card_accepted"] * 10)
    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desks(broker.url, journal=journal, cursor=7).acknowledged()
        assert journal.bodies[7:] == [message.payload for message in consumer.wait_for(3)]


def test_the_journal_is_read_in_pages(broker: Mosquitto, desks: Desks) -> None:
    """A long backlog is read in pages of at most 64 records, so memory stays flat."""
    journal = Journal()
    journal.append(*["card_accepted"] * 5_000)
    desks(broker.url, journal=journal).acknowledged()
    assert journal.longest == 64
    assert 5_000 // 64 + 1 == journal.reads


def test_retained_topics_are_retained_and_the_latest_wins(broker: Mosquitto, desks: Desks) -> None:
    """Of a burst of prompts the last one stands on the retained topic, for whoever comes later."""
    desk = desks(broker.url)
    desk.connected()
    with Subscriber(broker.port, f"{PREFIX}/prompt") as dealer:
        for number in range(2_000):
            desk.publisher.show("prompt", b"%d" % number)
        dealer.wait_until(lambda message: message.payload == b"1999")
        assert len(dealer.messages) < 1_500
        assert sorted(dealer.messages, key=lambda message: int(message.payload)) == dealer.messages
    with Subscriber(broker.port, f"{PREFIX}/prompt") as late:
        assert [Message(f"{PREFIX}/prompt", b"1999", retain=True)] == late.wait_for(1)


def test_the_same_payload_shown_again_is_published_again(broker: Mosquitto, desks: Desks) -> None:
    """A snapshot shows what stands already, and subscribers get it anew."""
    desk = desks(broker.url)
    with Subscriber(broker.port, f"{PREFIX}/round") as consumer:
        desk.publisher.show("round", b"{}")
        consumer.wait_for(1)
        desk.publisher.show("round", b"{}")
        assert [b"{}", b"{}"] == [message.payload for message in consumer.wait_for(2)]


@pytest.mark.parametrize("protocol", [5, 4])
def test_commands_come_in(broker: Mosquitto, desks: Desks, protocol: int) -> None:
    """A command is handed on with its name and its bytes, unparsed."""
    desk = desks(broker.url, protocol=protocol)
    desk.publisher.show("status", ONLINE)
    with Subscriber(broker.port, f"{PREFIX}/status") as engine:
        engine.wait_for(1)
        engine.publish(f"{PREFIX}/command/open", b'{"id":"c1"')
        command = desk.inbox.wait_for(CommandReceived)
    assert ("open", b'{"id":"c1"', False) == (command.name, command.payload, command.retain)


def test_a_command_brings_its_response_topic(broker: Mosquitto, desks: Desks) -> None:
    """The MQTT 5 response topic and correlation data of a command are handed on, and its reply goes there."""
    desk = desks(broker.url)
    desk.connected()
    with Subscriber(broker.port, "engines/7", f"{PREFIX}/reply") as engine:
        engine.publish(f"{PREFIX}/command/open", b"{}", response_topic="engines/7", correlation=b"\x00\xff")
        command = desk.inbox.wait_for(CommandReceived)
        desk.publisher.answer(Reply(b'{"ok":true}', command.response_topic, command.correlation))
        assert [Message("engines/7", b'{"ok":true}', correlation=b"\x00\xff")] == engine.wait_for(1)


@pytest.mark.parametrize("named", [None, "", "a/+/b", f"{PREFIX}/event/card_accepted", f"{PREFIX}/command/void"])
def test_a_reply_goes_to_the_tables_own_topic(broker: Mosquitto, desks: Desks, named: str | None) -> None:
    """A reply whose response topic is missing, impossible or ours alone to speak on goes to `reply`."""
    desk = desks(broker.url)
    with Subscriber(broker.port, f"{PREFIX}/#") as everyone:
        desk.publisher.answer(Reply(b"{}", named))
        assert [Message(f"{PREFIX}/reply", b"{}")] == everyone.wait_for(1)


def test_a_retained_command_is_marked(broker: Mosquitto, desks: Desks) -> None:
    """Under MQTT 5 a retained command keeps its mark, stored or live, so that the engine can refuse it."""
    with Subscriber(broker.port) as engine:
        engine.publish(f"{PREFIX}/command/void", b"stored", retain=True)
        desk = desks(broker.url)
        desk.inbox.wait_for(CommandReceived)
        engine.publish(f"{PREFIX}/command/open", b"live", retain=True)
        desk.inbox.wait_for(CommandReceived, 2)
    commands = desk.inbox.of(CommandReceived)
    assert [(b"stored", True), (b"live", True)] == [(one.payload, one.retain) for one in commands]


def test_an_oversized_command_is_only_flagged(broker: Mosquitto, desks: Desks) -> None:
    """Of a command above 64 KiB the bytes are dropped and a flag is handed on."""
    desk = desks(broker.url)
    desk.connected()
    with Subscriber(broker.port) as engine:
        engine.publish(f"{PREFIX}/command/open", b"x" * 65_536)
        engine.publish(f"{PREFIX}/command/open", b"x" * 65_537)
        desk.inbox.wait_for(CommandReceived, 2)
    commands = desk.inbox.of(CommandReceived)
    assert [(65_536, False), (0, True)] == [(len(one.payload), one.oversized) for one in commands]


def test_resent_events_have_the_same_bytes_and_the_reply_comes_last(broker: Mosquitto, desks: Desks) -> None:
    """Events asked for again come in order on `resend`, byte for byte, and then the reply."""
    desk = desks(broker.url)
    desk.write(*["card_accepted"] * 200)
    desk.acknowledged()
    with Subscriber(broker.port, f"{PREFIX}/resend", f"{PREFIX}/reply") as consumer:
        desk.publisher.resend(21, 180, Reply(b'{"id":"r"}'))
        messages = consumer.wait_for(161)
    assert [*desk.journal.bodies[20:180], b'{"id":"r"}'] == [message.payload for message in messages]
    assert messages[-1].topic == f"{PREFIX}/reply"


def test_a_resend_does_not_hold_live_events_up(broker: Mosquitto, desks: Desks) -> None:
    """A card that is scanned while a long range is sent again does not wait for its end."""
    desk = desks(broker.url)
    desk.write(*["card_accepted"] * 5_000)
    desk.acknowledged()
    with Subscriber(broker.port, f"{PREFIX}/event/#", f"{PREFIX}/resend", f"{PREFIX}/reply") as consumer:
        desk.publisher.resend(1, 5_000, Reply(b"done"))
        consumer.wait_for(10)
        desk.write("round_completed")
        consumer.wait_until(lambda message: message.payload == b"done")
    topics = [message.topic for message in consumer.messages]
    assert topics.index(f"{PREFIX}/event/round_completed") < 4_000
    assert topics.count(f"{PREFIX}/resend") == 5_000


def test_a_resend_past_what_is_kept_ends(broker: Mosquitto, desks: Desks) -> None:
    """A range that the journal no longer holds to its end is answered after what there is."""
    desk = desks(broker.url)
    desk.write("card_accepted", "card_accepted")
    with Subscriber(broker.port, f"{PREFIX}/resend", f"{PREFIX}/reply") as consumer:
        desk.publisher.resend(2, 9, Reply(b"done"))
        assert [desk.journal.bodies[1], b"done"] == [message.payload for message in consumer.wait_for(2)]


def test_a_reply_comes_after_what_was_shown_before_it(broker: Mosquitto, desks: Desks) -> None:
    """Whoever asked for a snapshot has it when the reply comes."""
    desk = desks(broker.url)
    desk.connected()
    with Subscriber(broker.port, f"{PREFIX}/#") as consumer:
        for number in range(50):
            desk.publisher.show("round", b"%d" % number)
        desk.publisher.answer(Reply(b"reply"))
        consumer.wait_until(lambda message: message.payload == b"reply")
    payloads = [message.payload for message in consumer.messages]
    assert payloads.index(b"49") < payloads.index(b"reply")


def test_a_foreign_status_is_told(broker: Mosquitto, desks: Desks) -> None:
    """What somebody else puts on our status topic is told; what we put there is not."""
    desk = desks(broker.url)
    desk.publisher.show("status", ONLINE)
    with Subscriber(broker.port, f"{PREFIX}/status") as other:
        other.wait_for(1)
        other.publish(f"{PREFIX}/status", b"{}")
        desk.inbox.wait_for(StatusSeen)
    assert [b"{}"] == [notice.payload for notice in desk.inbox.of(StatusSeen)]


def test_our_own_will_is_answered_with_our_status(broker: Mosquitto, desks: Desks) -> None:
    """A daemon that sees `offline` with its own session publishes its status again."""
    desk = desks(broker.url)
    desk.publisher.show("status", ONLINE)
    with Subscriber(broker.port, f"{PREFIX}/status") as monitor:
        monitor.wait_for(1)
        monitor.publish(f"{PREFIX}/status", WILL, retain=True)
        monitor.wait(lambda: len(monitor.messages) >= 3)
        assert ["online", "offline", "online"] == [json.loads(one.payload)["state"] for one in monitor.messages]


def test_stop_waits_for_the_journal_and_says_offline(broker: Mosquitto, desks: Desks) -> None:
    """At the stop the broker gets the last event, then the status, then DISCONNECT: no will."""
    with Subscriber(broker.port, f"{PREFIX}/#") as consumer:
        desk = desks(broker.url)
        desk.publisher.show("status", ONLINE)
        desk.connected()
        desk.write(*["card_accepted"] * 200, "daemon_stopped")
        desk.publisher.stop(OFFLINE)
        consumer.wait_until(lambda message: message.payload == OFFLINE)
    assert consumer.messages[-1].payload == OFFLINE
    assert consumer.messages[-2].topic == f"{PREFIX}/event/daemon_stopped"
    assert desk.inbox.of(Acknowledged)[-1].upto == 201
    assert not any("Client tp-01-abc closed" in line or "WILL" in line for line in broker.log)
    broker.wait_for_log("Client tp-01-abc disconnected.")


def test_stop_without_a_broker_is_immediate(desks: Desks) -> None:
    """Without a broker the publisher ends at once, with nothing left running."""
    desk = desks("mqtt://127.0.0.1:1")
    desk.write("card_accepted")
    desk.inbox.wait_for_alarm("network")
    desk.publisher.stop(OFFLINE, deadline_s=60.0)
    assert not desk.inbox.of(Disconnected)


def test_a_publisher_that_never_started_can_be_stopped(desks: Desks) -> None:
    """A stop before the start leaves nothing open."""
    desks("mqtt://127.0.0.1:1", start=False).publisher.stop(OFFLINE)
