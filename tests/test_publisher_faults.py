"""The publisher against brokers that die, freeze, refuse, evict and lie."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path

import pytest

from scannerd.mqtt.window import DENIED_RETRY_US
from scannerd.publisher import (
    Acknowledged,
    BrokerAlarm,
    CommandReceived,
    Connected,
    Disconnected,
    OutboxError,
    Reply,
    ThreadDied,
)
from tests.certificates import Authority
from tests.mosquitto import Mosquitto, StartBroker, broker_fixture, free_port, start_broker_fixture  # noqa: F401 - pytest finds them by name
from tests.proxy import proxy_to
from tests.publishing import (
    OFFLINE,
    ONLINE,
    WILL,
    Desks,
    FakeClock,
    Journal,
    desks_fixture,  # noqa: F401 - as above
)
from tests.refusing import RefusingBroker
from tests.wire import Subscriber

PREFIX = "scannerd/v1/tp-01"
ALLOW = "topic readwrite #\n"
DENY_CARDS = (
    f"topic readwrite {PREFIX}/event/round_opened\ntopic readwrite {PREFIX}/event/round_completed\n"
    f"topic readwrite {PREFIX}/event/alarm_raised\ntopic read #\n"
)


@pytest.mark.fault(73)
@pytest.mark.parametrize("protocol", [5, 4])
def test_a_card_scanned_before_the_broker_runs_goes_out_once(
    start_broker: StartBroker, desks: Desks, protocol: int
) -> None:
    """What was journalled while no broker ran is sent once when there is one."""
    port = free_port()
    desk = desks(f"mqtt://127.0.0.1:{port}", protocol=protocol)
    desk.write("card_accepted")
    desk.inbox.wait_for_alarm("network")
    broker = start_broker(port=port, config=["max_queued_messages 1000"])
    with Subscriber(broker.port, "#") as consumer:
        desk.acknowledged()
        desk.write("card_accepted")
        desk.acknowledged()
        consumer.publish("end", b"end")
        consumer.wait_until(lambda message: message.topic == "end")
        bodies = [message.payload for message in consumer.on(f"{PREFIX}/event/")]
    assert desk.journal.bodies[-len(bodies) :] == bodies
    assert len(set(bodies)) == len(bodies)
    assert [2] == [notice.upto for notice in desk.inbox.of(Acknowledged)][-1:]


@pytest.mark.fault(74)
def test_a_frozen_broker_holds_nobody_up(broker: Mosquitto, desks: Desks) -> None:
    """While the broker is frozen the loop goes on and an alarm tells it; thawed, it gets everything."""
    desk = desks(broker.url)
    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk.connected()
        broker.pause()
        desk.write(*["card_accepted"] * 5)
        desk.inbox.wait_for_alarm("network")
        before = desk.publisher.progress
        desk.publisher.show("prompt", b"{}")
        broker.resume()
        desk.acknowledged()
        assert desk.journal.bodies == [message.payload for message in consumer.wait_for(5)]
    desk.inbox.wait_for_alarm("network", up=False)
    assert desk.publisher.progress > before
    assert not desk.inbox.of(Disconnected)


@pytest.mark.fault(74)
def test_a_command_is_answered_while_it_is_being_received(broker: Mosquitto, desks: Desks) -> None:
    """An answer given in the very call that hands the command on arrives."""
    with Subscriber(broker.port, f"{PREFIX}/reply") as engine:
        desk = desks(broker.url, start=False)
        answered = threading.Event()

        def answer() -> None:
            desk.inbox.wait_for(CommandReceived)
            desk.publisher.answer(Reply(b"done"))
            answered.set()

        desk.publisher.start()
        thread = threading.Thread(target=answer)
        thread.start()
        desk.connected()
        engine.publish(f"{PREFIX}/command/open", b"{}")
        engine.wait_for(1)
        thread.join()
    assert answered.is_set()


@pytest.mark.fault(76)
@pytest.mark.parametrize("receive_maximum", [1, 2, 20])
def test_a_full_window_is_sent_again_in_order(start_broker: StartBroker, desks: Desks, receive_maximum: int) -> None:
    """A link cut with the window full is followed by everything unacknowledged, in order."""
    broker = start_broker(config=[f"max_inflight_messages {receive_maximum}"])
    with proxy_to(broker.port) as proxy, Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk = desks(f"mqtt://127.0.0.1:{proxy.port}")
        desk.connected()
        proxy.swallowing = True
        desk.write("card_accepted")
        proxy.wait_for_swallowed(1)
        proxy.cut()
        desk.inbox.wait_for(Disconnected)
        desk.write(*["card_accepted"] * 50)
        proxy.swallowing = False
        desk.acknowledged()
        messages = consumer.wait_for(52)
    bodies = desk.journal.bodies
    assert [bodies[0], *bodies] == [message.payload for message in messages]


@pytest.mark.fault(78)
def test_a_resend_after_a_lost_acknowledgement_has_the_same_bytes(broker: Mosquitto, desks: Desks) -> None:
    """An event whose PUBACK was lost comes twice with the same bytes, by which a consumer knows it."""
    with proxy_to(broker.port) as proxy, Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk = desks(f"mqtt://127.0.0.1:{proxy.port}")
        desk.connected()
        proxy.swallowing = True
        desk.write("card_accepted", "round_completed")
        proxy.wait_for_swallowed(1)
        assert not desk.inbox.of(Acknowledged)
        proxy.swallowing = False
        proxy.cut()
        desk.acknowledged()
        messages = consumer.wait_for(3)
    first, second = desk.journal.bodies
    assert [first, first, second] == [message.payload for message in messages]


@pytest.mark.fault(78)
def test_a_broker_that_never_acknowledges_is_left(broker: Mosquitto, desks: Desks) -> None:
    """Where an acknowledgement is owed for half a minute the connection is given up and the event sent on a new one."""
    clock = FakeClock()
    with proxy_to(broker.port) as proxy, Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk = desks(f"mqtt://127.0.0.1:{proxy.port}", clock=clock)
        desk.connected()
        proxy.swallowing = True
        head = desk.write("card_accepted")
        proxy.wait_for_swallowed(1)
        clock.now += 1_000_000
        desk.publisher.wake(head)
        desk.inbox.wait_for_alarm("network")
        clock.now += 30_000_000
        desk.publisher.wake(head)
        desk.inbox.wait_for(Disconnected)
        proxy.swallowing = False
        desk.acknowledged()
        messages = consumer.wait_for(2)
    assert desk.journal.bodies * 2 == [message.payload for message in messages]


@pytest.mark.fault(80)
def test_many_callers_and_many_acknowledgements_do_not_lock_each_other(broker: Mosquitto, desks: Desks) -> None:
    """Four threads that show, answer and wake without pause end, and ten thousand events are out in order."""
    desk = desks(broker.url)

    def call(name: int) -> None:
        for number in range(1_000):
            desk.publisher.show(("round", "prompt", "status")[number % 3], b"%d" % number)
            desk.publisher.answer(Reply(b"%d/%d" % (name, number)))
            desk.publisher.wake(len(desk.journal.events))

    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk.journal.append(*["card_accepted"] * 10_000)
        threads = [threading.Thread(target=call, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        consumer.wait_for(10_000, 60)
        assert desk.journal.bodies == [message.payload for message in consumer.messages]


@pytest.mark.fault(82)
def test_a_stalled_engine_costs_no_connection(broker: Mosquitto, desks: Desks) -> None:
    """An engine that takes nothing from its inbox for longer than the keepalive loses neither broker nor command."""
    with Subscriber(broker.port, f"{PREFIX}/status") as monitor:
        desk = desks(broker.url, keepalive_s=1)
        desk.publisher.show("status", ONLINE)
        monitor.wait_for(1)
        monitor.publish(f"{PREFIX}/command/open", b"{}")
        mark = len(broker.log)
        broker.wait_for_log("Received PINGREQ from tp-01-abc", since=mark, times=3)
        assert len(monitor.messages) == 1
    assert not desk.inbox.of(Disconnected)
    assert len(desk.inbox.of(CommandReceived)) == 1


@pytest.mark.fault(83)
@pytest.mark.parametrize("protocol", [5, 4])
def test_two_clients_of_one_id_raise_an_alarm_and_slow_down(broker: Mosquitto, desks: Desks, protocol: int) -> None:
    """Two daemons that evict each other both alarm."""
    pair = [desks(broker.url, protocol=protocol, start=False, will=b'{"session":"%d"}' % number) for number in range(2)]
    for number, desk in enumerate(pair):
        desk.publisher.show("status", b'{"state":"online","session":"%d"}' % number)
        desk.publisher.start()
    for desk in pair:
        assert desk.inbox.wait_for_alarm("takeover").detail == "another client keeps taking our client id"


def test_cut_links_are_no_takeover(broker: Mosquitto, desks: Desks) -> None:
    """A link that is cut again and again is not taken for another client with our id."""
    with proxy_to(broker.port) as proxy:
        desk = desks(f"mqtt://127.0.0.1:{proxy.port}")
        desk.publisher.show("status", ONLINE)
        for number in range(1, 4):
            desk.connected(number)
            proxy.cut()
        desk.connected(4)
    assert "takeover" not in [notice.alarm for notice in desk.inbox.of(BrokerAlarm)]


@pytest.mark.fault(84)
def test_the_will_names_the_session_and_online_follows(broker: Mosquitto, desks: Desks) -> None:
    """A cut link makes the broker say `offline` with our session; the next CONNACK is followed by `online`."""
    with proxy_to(broker.port) as proxy:
        desk = desks(f"mqtt://127.0.0.1:{proxy.port}")
        desk.publisher.show("status", ONLINE)
        with Subscriber(broker.port, f"{PREFIX}/status") as monitor:
            monitor.wait_for(1)
            proxy.cut()
            monitor.wait_until(lambda message: message.payload == WILL)
            monitor.wait(lambda: monitor.messages[-1].payload == ONLINE)
        with Subscriber(broker.port, f"{PREFIX}/status") as late:
            assert {"state": "online", "session": "s-1"} == late.wait_for(1)[0].json()


@pytest.mark.fault(84)
def test_a_broker_without_persistence_gets_all_retained_topics_anew(broker: Mosquitto, desks: Desks) -> None:
    """After a broker forgot everything, status, prompt and round stand on it again."""
    desk = desks(broker.url)
    for topic in ("round", "prompt", "status"):
        desk.publisher.show(topic, topic.encode())
    desk.connected()
    broker.restart(kill=True)
    with Subscriber(broker.port, f"{PREFIX}/+") as late:
        late.wait_for(3)
        assert {b"round", b"prompt", b"status"} == {message.payload for message in late.messages}
    desk.connected(2)


def _denials(broker: Mosquitto) -> int:
    return sum("Denied PUBLISH from tp-01-abc" in line for line in broker.log)


@pytest.mark.fault(87)
def test_a_denied_event_blocks_what_follows_until_it_is_allowed(start_broker: StartBroker, desks: Desks) -> None:
    """Under MQTT 5 a refused event is sent again every 5 s, nothing after it meanwhile, and the alarm ends with it."""
    clock = FakeClock()
    broker = start_broker(acl=DENY_CARDS)
    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk = desks(broker.url, clock=clock)
        desk.write("round_opened", "card_accepted", "card_accepted", "round_completed")
        alarm = desk.inbox.wait_for_alarm("denied")
        assert "card_accepted" in (alarm.detail or "")
        denials = _denials(broker)
        desk.insist(clock, DENIED_RETRY_US, lambda: _denials(broker) > denials)
        assert [notice.upto for notice in desk.inbox.of(Acknowledged)] == [1]
        broker.reload(ALLOW)
        desk.insist(clock, DENIED_RETRY_US, lambda: desk.inbox.of(Acknowledged)[-1].upto == 4)
        desk.inbox.wait_for_alarm("denied", up=False)
        messages = consumer.wait_for(4)
    assert desk.journal.bodies == [message.payload for message in messages]


@pytest.mark.fault(87)
def test_an_event_denied_with_a_full_window_keeps_the_order(start_broker: StartBroker, desks: Desks) -> None:
    """Rights taken away in the middle of a connection cost neither an event nor the order of the last copies."""
    clock = FakeClock()
    broker = start_broker(acl=ALLOW)
    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        desk = desks(broker.url, clock=clock)
        desk.write("card_accepted", "round_completed")
        desk.acknowledged()
        broker.reload(DENY_CARDS)
        desk.write("card_accepted", "round_completed", "card_accepted")
        desk.inbox.wait_for_alarm("denied")
        broker.reload(ALLOW)
        desk.insist(clock, DENIED_RETRY_US, lambda: desk.inbox.of(Acknowledged)[-1].upto == 5)
        consumer.wait_until(lambda message: message.payload == desk.journal.bodies[-1])
    bodies = [message.payload for message in consumer.messages]
    assert desk.journal.bodies[-3:] == bodies[-3:]
    assert set(desk.journal.bodies) == set(bodies)


def test_a_denied_prompt_is_tried_again(start_broker: StartBroker, desks: Desks) -> None:
    """A retained topic that was refused is shown after 5 s, with what stands there by then."""
    clock = FakeClock()
    broker = start_broker(acl=f"topic readwrite {PREFIX}/status\ntopic read #\n")
    desk = desks(broker.url, clock=clock)
    desk.publisher.show("prompt", b"old")
    desk.inbox.wait_for_alarm("denied")
    broker.reload(ALLOW)
    desk.publisher.show("prompt", b"new")
    with Subscriber(broker.port, f"{PREFIX}/prompt") as dealer:
        desk.insist(clock, DENIED_RETRY_US, lambda: len(dealer.messages) > 0)
        assert [b"new"] == [message.payload for message in dealer.messages]
    desk.inbox.wait_for_alarm("denied", up=False)


def test_events_that_nobody_reads_raise_an_alarm(broker: Mosquitto, desks: Desks) -> None:
    """An event without a subscriber is acknowledged, alarmed, and the alarm ends when somebody reads."""
    desk = desks(broker.url)
    desk.write("card_accepted")
    desk.inbox.wait_for_alarm("no_subscribers")
    desk.acknowledged()
    with Subscriber(broker.port, f"{PREFIX}/event/#"):
        desk.write("card_accepted")
        desk.inbox.wait_for_alarm("no_subscribers", up=False)


def test_an_event_above_the_brokers_packet_size_is_set_aside(start_broker: StartBroker, desks: Desks) -> None:
    """An event that the broker's packet size excludes is alarmed, and what follows goes on."""
    broker = start_broker(config=["max_packet_size 300"])
    desk = desks(broker.url, journal=_with_a_long_event())
    with Subscriber(broker.port, f"{PREFIX}/event/#") as consumer:
        assert "event 2" in (desk.inbox.wait_for_alarm("oversized").detail or "")
        desk.write("card_accepted")
        desk.inbox.wait_until_acknowledged(4)
        consumer.wait_until(lambda message: message.payload == desk.journal.bodies[3])
    assert desk.journal.bodies[1] not in [message.payload for message in consumer.messages]


def test_an_event_above_the_brokers_message_size_is_set_aside(start_broker: StartBroker, desks: Desks) -> None:
    """An event that the broker refuses as too large is alarmed, and what follows goes on."""
    broker = start_broker(config=["message_size_limit 200"])
    desk = desks(broker.url, journal=_with_a_long_event())
    desk.publisher.show("status", ONLINE)
    desk.inbox.wait_for_alarm("oversized")
    desk.write("card_accepted")
    desk.inbox.wait_until_acknowledged(4)
    with Subscriber(broker.port, f"{PREFIX}/reply") as engine:
        engine.publish(f"{PREFIX}/command/open", b"{}")
        desk.publisher.answer(Reply(b"{}"))
        engine.wait_for(1)
    desk.inbox.wait_for(CommandReceived)


def _with_a_long_event() -> Journal:
    journal = Journal()
    journal.append("card_accepted", "card_accepted" + "x" * 400, "card_accepted")
    return journal


@pytest.mark.fault(91)
def test_a_server_that_never_shakes_hands_is_given_up(start_broker: StartBroker, desks: Desks) -> None:
    """A server that never answers the TLS hello costs the connect time-out, then the next broker is tried."""
    broker = start_broker()
    with proxy_to(0) as mute:
        desk = desks([f"mqtts://127.0.0.1:{mute.port}", broker.url], connect_timeout_s=0.3)
        desk.write("card_accepted")
        desk.acknowledged()
    assert "no answer in time" in (desk.inbox.wait_for_alarm("network").detail or "")


@pytest.mark.fault(91)
@pytest.mark.parametrize("fault", ["expired", "wrong name", "unknown CA"])
def test_a_certificate_fault_is_named(start_broker: StartBroker, desks: Desks, tmp_path: Path, fault: str) -> None:
    """An expired certificate, one for another name and one of an unknown authority are each told as that."""
    trusted, other = Authority(tmp_path, "trusted"), Authority(tmp_path, "other")
    certificate = {
        "expired": trusted.issue("a", life=dt.timedelta(days=-1)),
        "wrong name": trusted.issue("b", hosts=("broker.example",)),
        "unknown CA": other.issue("c"),
    }[fault]
    broker = start_broker(tls=certificate)
    desk = desks(broker.url, ca_file=trusted.cert)
    assert fault.split(maxsplit=1)[0] in (desk.inbox.wait_for_alarm("certificate").detail or "")
    assert not desk.inbox.of(Connected)


def test_tls_with_a_client_certificate_carries_events(start_broker: StartBroker, desks: Desks, tmp_path: Path) -> None:
    """Over mqtts, with a certificate of our own, a burst of events goes out in order."""
    authority = Authority(tmp_path)
    broker = start_broker(tls=authority.issue("server"), client_authority=authority.cert)
    own = authority.issue("tp-01", hosts=())
    desk = desks(broker.url, ca_file=authority.cert, cert_file=own.cert, key_file=own.key)
    desk.write(*["card_accepted"] * 500)
    desk.acknowledged()
    desk.publisher.show("status", ONLINE)
    desk.publisher.stop(OFFLINE)
    broker.wait_for_log("Client tp-01-abc disconnected.")


def test_a_missing_client_certificate_is_named(start_broker: StartBroker, desks: Desks, tmp_path: Path) -> None:
    """A broker that wants a certificate of ours and gets none is told so, however it hangs up."""
    authority = Authority(tmp_path)
    broker = start_broker(tls=authority.issue("server"), client_authority=authority.cert)
    desk = desks(broker.url, ca_file=authority.cert)
    assert "certificate" in (desk.inbox.wait_for_alarm("network").detail or "")


def test_a_ca_file_that_is_not_there_is_named(desks: Desks, tmp_path: Path) -> None:
    """A CA file that can't be read is told by its name, and nothing is sent unverified."""
    desk = desks("mqtts://127.0.0.1:1", ca_file=tmp_path / "missing.pem")
    assert "missing.pem" in (desk.inbox.wait_for_alarm("certificate").detail or "")


@pytest.mark.fault(95)
@pytest.mark.parametrize("protocol", [5, 4])
def test_a_refused_connack_is_no_connection(start_broker: StartBroker, desks: Desks, protocol: int) -> None:
    """A wrong password is told as the cause, never as connected, and never shown."""
    broker = start_broker(passwords={"tp-01": "right"})
    desk = desks(broker.url, protocol=protocol, username="tp-01", password="wrong")
    detail = desk.inbox.wait_for_alarm("network").detail or ""
    assert "refused" in detail
    assert "uthor" in detail
    assert "wrong" not in detail + repr(desk.settings)
    assert not desk.inbox.of(Connected)


def test_a_password_lets_us_in(start_broker: StartBroker, desks: Desks) -> None:
    """User and password are given to the broker."""
    broker = start_broker(passwords={"tp-01": "right"})
    desks(broker.url, username="tp-01", password="right").connected()


def test_several_brokers_are_tried_in_turn(start_broker: StartBroker, desks: Desks) -> None:
    """When one broker is gone the next takes over, and the first again when that one goes."""
    first, second = start_broker(), start_broker()
    desk = desks([first.url, second.url])
    desk.connected()
    first.kill()
    desk.connected(2)
    first.start()
    second.kill()
    desk.connected(3)
    ports = [notice.address.rpartition(":")[2] for notice in desk.inbox.of(Connected)]
    assert [str(first.port), str(second.port), str(first.port)] == ports


def test_a_journal_that_cant_be_read_is_opened_again(broker: Mosquitto, desks: Desks) -> None:
    """While the journal can't be read nothing is sent; two seconds later it is tried again."""
    clock, journal = FakeClock(), Journal()
    journal.trouble = OutboxError("disk")
    desk = desks(broker.url, journal=journal, clock=clock)
    desk.connected()
    desk.write("card_accepted")
    journal.trouble = None
    desk.insist(clock, 2_000_000, lambda: len(desk.inbox.of(Acknowledged)) > 0)


def test_a_fault_of_the_publisher_is_told(broker: Mosquitto, desks: Desks) -> None:
    """A thread that ends by an unexpected exception posts itself before it is gone."""
    journal = Journal()
    journal.trouble = RuntimeError("a bug")
    desk = desks(broker.url, journal=journal)
    desk.write("card_accepted")
    died = desk.inbox.wait_for(ThreadDied)
    assert (died.name, died.error) == ("publisher", "RuntimeError('a bug')")


def test_stop_with_a_frozen_broker_ends_in_time(broker: Mosquitto, desks: Desks) -> None:
    """A broker that answers nothing can't hold the stop up."""
    desk = desks(broker.url)
    desk.connected()
    broker.pause()
    desk.write("card_accepted")
    desk.publisher.stop(OFFLINE, 0.3)
    assert not [thread for thread in threading.enumerate() if thread.name == "publisher"]
    assert not desk.inbox.of(Acknowledged)


def test_the_order_holds_over_kills_of_the_broker(start_broker: StartBroker, desks: Desks) -> None:
    """A broker killed again and again in a burst costs no event: the consumer's last copies are whole and in order."""
    broker = start_broker(persistence=True)
    desk = desks(broker.url)
    for _ in range(3):
        desk.write(*["card_accepted"] * 300)
        desk.inbox.wait_until_acknowledged(len(desk.journal.events) - 250)
        broker.restart(kill=True)
    desk.acknowledged()
    upto = [notice.upto for notice in desk.inbox.of(Acknowledged)]
    assert sorted(set(upto)) == upto


def test_a_broker_that_forbids_subscribing_is_alarmed_until_it_allows(desks: Desks) -> None:
    """A refused SUBSCRIBE raises `denied` and is sent again every 5 s until it is granted."""
    clock = FakeClock()
    with RefusingBroker(refusals=2) as broker:
        desk = desks(f"mqtt://127.0.0.1:{broker.port}", clock=clock)
        alarm = desk.inbox.wait_for_alarm("denied")
        assert "command/+" in (alarm.detail or "")
        desk.insist(clock, DENIED_RETRY_US, lambda: not desk.inbox.of(BrokerAlarm)[-1].up)
    assert broker.subscribes == 3
