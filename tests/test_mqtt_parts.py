"""The publisher's small parts: alarms, retained topics, back-off, addresses, causes, the outbox."""

from __future__ import annotations

import random
import socket
import sqlite3
import ssl
from collections.abc import Callable

import pytest

from scannerd.mqtt.address import Address, explain, explain_text, parse
from scannerd.mqtt.alarms import Alarms
from scannerd.mqtt.board import Board
from scannerd.mqtt.notices import BrokerAlarm, OutboxError
from scannerd.mqtt.retry import Backoff, Takeovers
from scannerd.mqtt.source import REOPEN_US, Source
from scannerd.mqtt.window import DENIED_RETRY_US
from tests.publishing import FakeClock, Journal


def _alarms() -> tuple[Alarms, Callable[[], list[tuple[str, bool]]]]:
    told: list[BrokerAlarm] = []
    return Alarms(told.append), lambda: [(alarm.alarm, alarm.up) for alarm in told]


def test_an_alarm_is_told_once_for_each_cause() -> None:
    """The same alarm with the same detail is told once, with another detail again, and its end once."""
    alarms, told = _alarms()
    for detail in ("refused", "refused", "no answer"):
        alarms.rise("network", detail, 0)
    alarms.clear("network", 0)
    alarms.clear("network", 0)
    assert [("network", True), ("network", True), ("network", False)] == told()


def test_denied_ends_with_the_last_denied_topic() -> None:
    """The alarm `denied` stays up while any topic is denied."""
    alarms, told = _alarms()
    alarms.denied("a", "no", 0)
    alarms.denied("b", "no", 0)
    alarms.allowed("b", 0)
    alarms.allowed("c", 0)
    assert alarms.up("denied")
    alarms.allowed("a", 0)
    assert ("denied", False) == told()[-1]


def test_a_reader_of_some_types_does_not_make_the_alarm_flap() -> None:
    """Events that somebody reads clear `no_subscribers` only if nobody had read that topic before."""
    alarms, told = _alarms()
    alarms.delivered("started", 0x10, 0)
    alarms.delivered("card", 0, 0)
    alarms.delivered("alarm", 0x10, 0)
    alarms.delivered("card", 0, 0)
    assert [("no_subscribers", True)] == told()
    alarms.delivered("alarm", 0, 0)
    assert [("no_subscribers", True), ("no_subscribers", False)] == told()


def test_the_latest_of_a_topic_waits_for_the_one_in_flight() -> None:
    """While a topic is in flight its next payload waits, and only the latest of several goes out."""
    board = Board("status")
    board.show("prompt", b"1")
    assert board.next(0) == ("prompt", b"1")
    board.sent("prompt")
    board.show("prompt", b"2")
    board.show("prompt", b"3")
    assert board.next(0) is None
    board.settled("prompt")
    assert board.next(0) == ("prompt", b"3")
    assert not board.idle


def test_a_new_connection_begins_with_the_status() -> None:
    """After a reconnect all topics are shown anew, the status first."""
    board = Board("status")
    for topic in ("round", "prompt", "status"):
        board.show(topic, topic.encode())
    board.restart()
    shown = []
    while (one := board.next(0)) is not None:
        board.sent(one[0])
        shown.append(one[0])
    assert ["status", "round", "prompt"] == shown


def test_a_refused_topic_holds_no_reply_up() -> None:
    """A topic that the broker refuses waits 5 s and meanwhile nothing waits for it."""
    board = Board("status")
    board.show("round", b"1")
    mark = board.mark
    assert not board.ready(mark)
    board.sent("round")
    board.denied("round", 0)
    assert board.ready(mark)
    assert board.idle
    assert board.due == DENIED_RETRY_US
    assert board.next(DENIED_RETRY_US - 1) is None
    assert board.next(DENIED_RETRY_US) == ("round", b"1")


def test_what_is_too_large_for_a_topic_is_given_up() -> None:
    """A payload above the broker's limit is not shown, nor after a reconnect once it has ended a connection."""
    board = Board("status")
    board.show("round", b"1")
    board.drop("round")
    assert board.next(0) is None
    board.restart()
    board.forget("round")
    board.again("round")
    assert board.next(0) is None


@pytest.mark.fault(93)
def test_back_off_is_capped() -> None:
    """No wait is longer than 10 s, waits differ, and none is so short that the loop would spin."""
    backoff = Backoff(random.Random(3))  # noqa: S311 - jitter
    waits = [backoff.failed() for _ in range(500)]
    assert max(waits) <= 10_000_000
    assert min(waits) >= 20_000
    assert len(set(waits)) > 400
    assert max(waits[:2]) <= 1_000_000


def test_a_takeover_long_ago_is_over() -> None:
    """After 30 s without another a takeover no longer counts."""
    takeovers = Takeovers()
    assert takeovers.over(0)
    takeovers.seen(0)
    assert [False, True] == [takeovers.over(30_000_000), takeovers.over(30_000_001)]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mqtt://broker", Address("broker", 1883, tls=False)),
        (" mqtts://broker ", Address("broker", 8883, tls=True)),
        ("mqtt://127.0.0.1:1884/", Address("127.0.0.1", 1884, tls=False)),
        ("mqtt://[::1]:1884", Address("::1", 1884, tls=False)),
    ],
)
def test_a_url_names_host_and_port(url: str, address: Address) -> None:
    """The scheme gives the default port and whether TLS is spoken."""
    assert address == parse(url)


@pytest.mark.parametrize(
    "url", ["", "broker:1883", "http://broker", "mqtt://", "mqtt://u:p@broker", "mqtt://broker/x", "mqtt://broker:x"]
)
def test_a_url_of_something_else_is_refused(url: str) -> None:
    """What is no broker's URL, or holds a password, is a ValueError that does not repeat it."""
    with pytest.raises(ValueError, match=r"broker|[Pp]ort") as caught:
        parse(url)
    assert "u:p" not in str(caught.value)


def test_an_address_reads_as_host_and_port() -> None:
    """An IPv6 address stands in brackets."""
    assert ["a:1", "[::1]:1"] == [str(Address("a", 1, tls=False)), str(Address("::1", 1, tls=False))]


@pytest.mark.fault(91)
@pytest.mark.parametrize(
    ("code", "words"),
    [(10, "expired"), (9, "not valid yet"), (62, "wrong name"), (64, "wrong name"), (20, "unknown CA"), (7, "broken")],
)
def test_each_certificate_fault_has_its_words(code: int, words: str) -> None:
    """OpenSSL's codes are told in plain words, any other with OpenSSL's own."""
    error = ssl.SSLCertVerificationError(1, "x")
    error.verify_code, error.verify_message = code, "broken"
    failure = explain(error)
    assert failure.alarm == "certificate"
    assert words in failure.cause


@pytest.mark.parametrize(
    ("error", "alarm", "words"),
    [
        (TimeoutError(), "network", "no answer in time"),
        (ConnectionRefusedError(111, "Connection refused"), "network", "connection refused"),
        (socket.gaierror(-2, "x"), "network", "unknown host name"),
        (FileNotFoundError(2, "No such file or directory", "/ca.pem"), "certificate", "/ca.pem: No such file"),
        (ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"), "network", "wrong version"),
        (ssl.SSLError(9, "[SSL] PEM lib (_ssl.c:3862)"), "certificate", "can't be used"),
        (OSError(113, "No route to host"), "network", "No route to host"),
        (ValueError(), "network", "ValueError"),
    ],
)
def test_each_cause_is_named(error: Exception, alarm: str, words: str) -> None:
    """What went wrong while connecting is told in words that a person can act on."""
    failure = explain(error)
    assert alarm == failure.alarm
    assert words in failure.cause


@pytest.mark.parametrize("words", ["tlsv13 alert certificate required", "TLSV1_ALERT_UNKNOWN_CA", "bad certificate"])
def test_a_refused_client_certificate_is_recognised(words: str) -> None:
    """A broker that refuses our certificate says so in TLS, and the alarm names it."""
    assert explain_text(words).alarm == "certificate"


@pytest.mark.parametrize("trouble", [OutboxError("x"), sqlite3.OperationalError("x"), OSError("x")])
def test_an_outbox_in_trouble_is_opened_afresh_after_two_seconds(trouble: Exception) -> None:
    """A journal that can't be read gives nothing, is left alone for 2 s and then opened anew."""
    clock, journal, opened = FakeClock(), Journal(), [0]

    def open_outbox() -> Journal:
        opened[0] += 1
        return journal

    source = Source(open_outbox, clock)
    journal.append("card_accepted")
    journal.trouble = trouble
    assert source.read(0, 64) is None
    journal.trouble = None
    clock.now += REOPEN_US - 1
    assert source.read(0, 64) is None
    clock.now += 1
    assert journal.events == source.read(0, 64)
    source.close()
    assert (opened[0], journal.closed) == (2, 2)
