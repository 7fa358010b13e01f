"""What the broker refuses under MQTT 3.1.1, where it says nothing of it: found out before an event is given up."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from scannerd.mqtt.address import Address
from scannerd.mqtt.alarms import Alarms
from scannerd.mqtt.echoes import ECHO_US, Echoes
from scannerd.mqtt.prover import Proof
from scannerd.mqtt.rights import USUAL_SIZE, Rights, Verdict
from scannerd.mqtt.window import DENIED_RETRY_US
from scannerd.publisher import Acknowledged, BrokerAlarm, Reply
from tests.certificates import Authority
from tests.daemon import StartDaemon, Watcher, start_daemon_fixture  # noqa: F401 - pytest finds it by name
from tests.mosquitto import StartBroker, broker_fixture, start_broker_fixture  # noqa: F401 - pytest finds them by name
from tests.proxy import proxy_to
from tests.publishing import (
    ONLINE,
    Desks,
    FakeClock,
    Journal,
    desks_fixture,  # noqa: F401 - as above
)
from tests.wire import Subscriber

PREFIX = "scannerd/v1/tp-01"
ALLOW = "topic readwrite #\n"
NO_CARDS = f"topic readwrite #\ntopic deny {PREFIX}/event/card_accepted\n"
WRITE_ONLY = f"topic write {PREFIX}/#\ntopic read {PREFIX}/command/#\n\nuser consumer\ntopic readwrite #\n"


@pytest.mark.fault(87)
def test_a_denied_topic_is_told_before_anything_is_scanned(start_broker: StartBroker, desks: Desks) -> None:
    """Under 3.1.1 a topic that the broker would drop raises the alarm at the start, with the topic's name."""
    broker = start_broker(acl=NO_CARDS)
    desk = desks(broker.url, protocol=4)
    assert f"{PREFIX}/event/card_accepted: not authorized" in (desk.inbox.wait_for_alarm("denied").detail or "")


@pytest.mark.fault(87)
def test_a_denied_event_is_not_taken_as_delivered(start_broker: StartBroker, desks: Desks) -> None:
    """Under 3.1.1 an event that the broker would drop waits, all after it too, and goes out in order once allowed."""
    clock = FakeClock()
    broker = start_broker(acl=NO_CARDS)
    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk = desks(broker.url, clock=clock, protocol=4)
        desk.write("round_opened", "card_accepted", "card_accepted", "round_completed")
        desk.inbox.wait_for_alarm("denied")
        desk.inbox.wait_until_acknowledged(1)
        proofs = sum("proof" in line for line in broker.log)
        desk.insist(clock, DENIED_RETRY_US, lambda: sum("proof" in line for line in broker.log) > proofs)
        assert [1] == [notice.upto for notice in desk.inbox.of(Acknowledged)]
        broker.reload(ALLOW)
        desk.insist(clock, DENIED_RETRY_US, lambda: desk.inbox.of(Acknowledged)[-1].upto == 4)
        desk.inbox.wait_for_alarm("denied", up=False)
        messages = consumer.wait_for(4)
    assert desk.journal.bodies == [message.payload for message in messages]


def test_a_status_that_is_denied_keeps_its_alarm(start_broker: StartBroker, desks: Desks) -> None:
    """Under 3.1.1 the broker's acknowledgement of a status that it drops does not end the alarm."""
    broker = start_broker(acl=f"topic readwrite #\ntopic deny {PREFIX}/status\n")
    desk = desks(broker.url, protocol=4)
    desk.inbox.wait_for_alarm("denied")
    desk.publisher.show("status", ONLINE)
    desk.write("card_accepted")
    desk.acknowledged()
    assert [True] == [notice.up for notice in desk.inbox.of(BrokerAlarm) if notice.alarm == "denied"]


def test_nobody_sees_a_probe(start_broker: StartBroker, desks: Desks) -> None:
    """What proves the rights reaches no consumer: one that reads everything gets the events and nothing else."""
    broker = start_broker(config=["max_inflight_messages 3"])
    with Subscriber(broker.port, "#") as consumer:
        desk = desks(broker.url, protocol=4)
        desk.write("round_opened", "card_accepted")
        desk.acknowledged()
        consumer.publish("end", b"end")
        consumer.wait_until(lambda message: message.topic == "end")
        assert [*desk.journal.bodies, b"end"] == [message.payload for message in consumer.messages]
    assert any("-proof" in line for line in broker.log)


def test_the_right_to_write_is_enough(start_broker: StartBroker, desks: Desks) -> None:
    """Under 3.1.1 a table that may write its events but not read them delivers them."""
    broker = start_broker(acl=WRITE_ONLY)
    desk = desks(broker.url, protocol=4)
    desk.write("round_opened", "card_accepted")
    desk.acknowledged()
    assert not [notice for notice in desk.inbox.of(BrokerAlarm) if notice.alarm == "denied"]


@pytest.mark.parametrize("limit", ["message_size_limit 3000", "max_packet_size 3000", "message_size_limit 200"])
def test_an_event_above_the_brokers_limit_is_set_aside(start_broker: StartBroker, desks: Desks, limit: str) -> None:
    """Under 3.1.1 an event that the broker would drop for its size is alarmed, and what follows goes on."""
    broker = start_broker(config=[limit])
    journal = Journal()
    journal.append("card_accepted", "card_accepted" + "x" * 4_000, "card_accepted", "a" * 120)
    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk = desks(broker.url, journal=journal, protocol=4)
        assert "event 2" in (desk.inbox.wait_for_alarm("oversized").detail or "")
        desk.inbox.wait_until_acknowledged(4)
        messages = consumer.wait_for(3)
    bodies = desk.journal.bodies
    assert [bodies[0], bodies[2], bodies[3]] == [message.payload for message in messages]


def test_an_event_longer_than_usual_is_proved_and_sent(start_broker: StartBroker, desks: Desks) -> None:
    """Under 3.1.1 an event above the usual length goes out in its turn where the broker has no limit."""
    broker = start_broker()
    journal = Journal()
    journal.append("card_accepted", "card_accepted" + "x" * 4_000, "card_accepted")
    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk = desks(broker.url, journal=journal, protocol=4)
        desk.acknowledged()
        assert desk.journal.bodies == [message.payload for message in consumer.wait_for(3)]


def test_without_mqtt_5_an_event_proves_itself(start_broker: StartBroker, desks: Desks) -> None:
    """Where the broker speaks 3.1.1 only, events that come back are delivered, and so are those sent again."""
    broker = start_broker()
    with proxy_to(broker.port) as proxy, Subscriber(broker.port, f"{PREFIX}/#") as consumer:
        proxy.old = True
        desk = desks(f"mqtt://127.0.0.1:{proxy.port}", protocol=4)
        desk.write(*["card_accepted"] * 100)
        desk.acknowledged()
        desk.publisher.resend(1, 2, Reply(b"then"))
        consumer.wait_until(lambda message: message.payload == b"then")
        bodies = [message.payload for message in consumer.on(f"{PREFIX}/event/")]
        assert desk.journal.bodies == bodies
        assert bodies[:2] == [message.payload for message in consumer.on(f"{PREFIX}/resend")]


@pytest.mark.fault(87)
def test_without_mqtt_5_an_event_that_does_not_come_back_is_denied(start_broker: StartBroker, desks: Desks) -> None:
    """Where the broker speaks 3.1.1 only, an event that it drops is sent until it comes back, and nothing after it."""
    clock = FakeClock()
    broker = start_broker(acl=NO_CARDS)
    with proxy_to(broker.port) as proxy, Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        proxy.old = True
        desk = desks(f"mqtt://127.0.0.1:{proxy.port}", clock=clock, protocol=4)
        desk.write("round_opened", "card_accepted", "round_completed")
        desk.inbox.wait_until_acknowledged(1)
        broker.wait_for_log("Denied PUBLISH from tp-01-abc")
        desk.insist(clock, ECHO_US, lambda: "denied" in [notice.alarm for notice in desk.inbox.of(BrokerAlarm)])
        assert "never came back" in (desk.inbox.wait_for_alarm("denied").detail or "")
        assert [1] == [notice.upto for notice in desk.inbox.of(Acknowledged)]
        broker.reload(ALLOW)
        desk.insist(clock, DENIED_RETRY_US, lambda: desk.inbox.of(Acknowledged)[-1].upto == 3)
        desk.inbox.wait_for_alarm("denied", up=False)
        messages = consumer.wait_for(3)
    assert desk.journal.bodies == [message.payload for message in messages]


@pytest.mark.fault(87)
def test_a_daemon_keeps_a_card_that_the_broker_would_drop(start_broker: StartBroker, start_daemon: StartDaemon) -> None:
    """Under 3.1.1 a card scanned while its topic is denied waits in the outbox, alarmed, and goes out once allowed."""
    broker = start_broker(acl=NO_CARDS)
    daemon = start_daemon(broker.url, start=False)
    daemon.config.write_text(daemon.config.read_text().replace("[mqtt]", "[mqtt]\nprotocol = 4"))
    daemon.start()
    with Watcher(broker.port) as watcher:
        watcher.wait_for_alarm("denied")
        watcher.wait_for_shown("status", scanners={"shoe": "up"})
        daemon.send("AS")
        daemon.wait_for_outcomes(1)
        watcher.wait_for_shown("round", cards={"A1": "AS"})
        assert [] == watcher.events("card_accepted")
        broker.reload(ALLOW)
        watcher.wait_for_event("card_accepted")
        watcher.wait_for_alarm("denied", up=False)


class Prover:
    """Gives the proofs that it was told to, in turn, and notes what was asked; `ended` is called after each."""

    def __init__(self, *proofs: Proof | Exception) -> None:
        self.asked: list[int] = []
        self._proofs = list(proofs)
        self._ended = threading.Semaphore(0)

    def __call__(self, address: Address, sizes: Sequence[int]) -> Proof:
        """The next proof."""
        assert address == ADDRESS
        self.asked += sizes
        proof = self._proofs.pop(0)
        if isinstance(proof, Exception):
            raise proof
        return proof

    def wake(self) -> None:
        """A proof has ended."""
        self._ended.release()

    def wait(self) -> None:
        """Returns when one more has ended."""
        assert self._ended.acquire(timeout=10)


ADDRESS = Address("broker.example", 1883, tls=False)


def _begun(*proofs: Proof | Exception) -> tuple[Rights, Prover]:
    prover = Prover(*proofs)
    rights = Rights(prover, ("a", "b"), Alarms(lambda _: None), prover.wake)
    rights.begin(ADDRESS, 0)
    rights.turn(0)
    prover.wait()
    return rights, prover


def test_before_the_proof_nothing_is_sent() -> None:
    """Until the first proof is in, an event waits."""
    rights, _ = _begun(Proof())
    assert rights.judge("a", 100, 0) is Verdict.WAIT
    rights.turn(0)
    assert rights.judge("a", 100, 0) is Verdict.SEND


@pytest.mark.parametrize("trouble", [Proof("no answer in time", passing=True), RuntimeError("never seen before")])
def test_a_proof_that_failed_is_tried_again(trouble: Proof | Exception) -> None:
    """After a proof that failed events must come back; 5 s later it is tried again, and then the rights are known."""
    rights, prover = _begun(trouble, Proof(denied={"a": "not authorized"}))
    rights.turn(0)
    assert [True, DENIED_RETRY_US] == [rights.echoing, rights.due]
    assert rights.judge("a", 100, 0) is Verdict.SEND
    rights.turn(DENIED_RETRY_US)
    prover.wait()
    rights.turn(DENIED_RETRY_US)
    assert not rights.echoing
    assert [Verdict.WAIT, Verdict.SEND] == [rights.judge(topic, 100, 0) for topic in "ab"]


def test_a_broker_that_cannot_be_asked_is_asked_once() -> None:
    """Where the broker speaks no MQTT 5 nothing more is asked on that connection."""
    rights, _ = _begun(Proof("the broker refused a connection in MQTT 5: unsupported protocol version"))
    rights.turn(0)
    assert (True, None) == (rights.echoing, rights.due)


def test_lengths_are_asked_about_once() -> None:
    """A length between what fits and what does not is proved once, and its proof holds for others."""
    large = USUAL_SIZE * 4
    rights, prover = _begun(Proof(), Proof(too_large=frozenset({large})), Proof())
    rights.turn(0)
    for size in (large, large // 2):
        assert rights.judge("a", size, 0) is Verdict.WAIT
        rights.turn(0)
        assert (Verdict.WAIT, None) == (rights.judge("a", size, 0), rights.due)
        prover.wait()
        rights.turn(0)
    verdicts = [rights.judge("a", size, 0) for size in (large // 3, large // 2, large, large * 2)]
    assert [Verdict.SEND, Verdict.SEND, Verdict.SET_ASIDE, Verdict.SET_ASIDE] == verdicts
    assert [USUAL_SIZE, large, large // 2] == prover.asked


def test_a_length_is_not_proved_where_nothing_is_allowed() -> None:
    """Where every topic is denied nothing is learned of lengths."""
    denied = Proof(denied={"a": "not authorized", "b": "not authorized"})
    rights, prover = _begun(denied, Proof(too_large=frozenset({USUAL_SIZE})))
    rights.turn(0)
    rights.turn(DENIED_RETRY_US)
    prover.wait()
    rights.turn(DENIED_RETRY_US)
    assert [Verdict.WAIT, Verdict.SET_ASIDE] == [rights.judge("a", size, 0) for size in (100, USUAL_SIZE)]


def test_a_proof_of_an_earlier_connection_means_nothing() -> None:
    """What was proved on a connection that is gone is not held for the next."""
    rights, _ = _begun(Proof(), Proof())
    rights.end()
    rights.turn(0)
    assert rights.judge("a", 100, 0) is Verdict.WAIT


def test_an_echo_may_come_before_the_acknowledgement() -> None:
    """An event that comes back before it is acknowledged is delivered with its acknowledgement, once."""
    echoes: Echoes[str] = Echoes()
    echoes.sent("t", b"1")
    assert echoes.came("t", b"1") is None
    assert echoes.acknowledged("t", b"1", "first", 0)
    assert echoes.came("t", b"1") is None


def test_an_echo_of_something_else_is_no_echo() -> None:
    """What others publish on our topics delivers nothing; what stays away is overdue, once."""
    echoes: Echoes[str] = Echoes()
    echoes.sent("t", b"1")
    assert [None, None] == [echoes.came("t", b"2"), echoes.came("u", b"1")]
    assert not echoes.acknowledged("t", b"1", "first", 5)
    assert 5 + ECHO_US == echoes.due
    assert [[], ["first"], []] == [echoes.overdue(5), echoes.overdue(5 + ECHO_US), echoes.overdue(5 + ECHO_US)]
    echoes.sent("t", b"3")
    echoes.clear()
    assert echoes.came("t", b"3") is None
    assert echoes.due is None


def test_rights_are_proved_through_tls(start_broker: StartBroker, desks: Desks, tmp_path: Path) -> None:
    """Over mqtts, with a password and a client certificate, the rights are proved as the daemon has them."""
    authority = Authority(tmp_path)
    own = authority.issue("tp-01", hosts=())
    broker = start_broker(
        tls=authority.issue("server"),
        client_authority=authority.cert,
        passwords={"tp-01": "secret"},
        acl=f"user tp-01\ntopic write {PREFIX}/#\ntopic deny {PREFIX}/event/card_accepted\n",
    )
    desk = desks(
        broker.url,
        protocol=4,
        username="tp-01",
        password="secret",
        ca_file=authority.cert,
        cert_file=own.cert,
        key_file=own.key,
    )
    assert "event/card_accepted: not authorized" in (desk.inbox.wait_for_alarm("denied").detail or "")
