"""What goes out next on a connection, whatever the broker answers; with a link that only notes what was sent."""

from __future__ import annotations

from dataclasses import dataclass

from scannerd.mqtt.alarms import Alarms
from scannerd.mqtt.courier import GIVE_UP_US, SILENCE_US, Courier
from scannerd.mqtt.link import Acked, Happening, PacketTooLargeError
from scannerd.mqtt.notices import BrokerAlarm, Reply
from scannerd.mqtt.source import Source
from tests.publishing import Journal

PREFIX = "scannerd/v1/t"


@dataclass(frozen=True, slots=True)
class Sent:
    """A message that went out."""

    mid: int
    topic: str
    payload: bytes


class NotingLink:
    """A link that notes what is sent and takes nothing above `limit` bytes."""

    def __init__(self, limit: int = 1_000) -> None:
        """Nothing was sent yet."""
        self.sent: list[Sent] = []
        self._limit = limit

    def publish(
        self, topic: str, payload: bytes, *, retain: bool = False, event: bool = False, correlation: bytes | None = None
    ) -> int:
        """Notes it."""
        del retain, event, correlation
        if len(payload) > self._limit:
            raise PacketTooLargeError
        self.sent.append(Sent(len(self.sent) + 1, topic, payload))
        return len(self.sent)

    def dial(self) -> None:
        """Does nothing."""

    def fileno(self) -> int | None:
        """None: there is no socket."""

    def wants_write(self) -> bool:
        """Nothing waits."""
        return False

    def serve(self, *, readable: bool) -> list[Happening]:
        """Nothing happens."""
        assert isinstance(readable, bool)
        return []

    def pending(self) -> bool:
        """Nothing happens."""
        return False

    def subscribe(self) -> None:
        """Does nothing."""

    def listen(self) -> None:
        """Does nothing."""

    def unsubscribe(self) -> None:
        """Does nothing."""

    def disconnect(self) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing."""


class Desk:
    """A courier that is connected."""

    def __init__(self, *types: str, limit: int = 1_000, receive_maximum: int = 100) -> None:
        """A journal of events of `types` waits."""
        self.alarms: list[BrokerAlarm] = []
        self.journal = Journal()
        self.journal.append(*types)
        self.courier = Courier(PREFIX, 0, Source(lambda: self.journal, lambda: 0), Alarms(self.alarms.append))
        self.courier.head(len(types))
        self.receive_maximum = receive_maximum
        self.link = NotingLink(limit)
        self.courier.up(self.link, receive_maximum)
        self._answered = 0

    def pump(self, now: int = 0) -> list[str]:
        """Sends what may go out; the topics, without the prefix."""
        begun = len(self.link.sent)
        self.courier.pump(now)
        return [sent.topic.removeprefix(f"{PREFIX}/") for sent in self.link.sent[begun:]]

    def answer(self, code: int = 0, now: int = 0) -> None:
        """The broker's answer to the oldest message that has none."""
        self._answered += 1
        self.courier.acked(Acked(self._answered, code, "no"), now)

    def reconnect(self, code: int | None = None, *, garbled: bool = False) -> None:
        """The connection ends, and there is another."""
        self.courier.down(code, garbled=garbled)
        self.link = NotingLink()
        self._answered = 0
        self.courier.up(self.link, self.receive_maximum)

    @property
    def up(self) -> set[str]:
        """The alarms that are up."""
        state = {alarm.alarm: alarm.up for alarm in self.alarms}
        return {alarm for alarm, up in state.items() if up}


def test_a_message_that_ends_the_connection_by_its_size_is_left_out_of_the_next() -> None:
    """After a DISCONNECT 0x95 the oldest event without an answer is set aside, and what follows goes on."""
    desk = Desk("a", "a")
    desk.pump()
    desk.reconnect(0x95)
    desk.pump()
    assert [desk.journal.bodies[1]] == [sent.payload for sent in desk.link.sent]
    assert "oversized" in desk.up


def test_a_prompt_that_ends_the_connection_by_its_size_is_not_shown_again() -> None:
    """After a DISCONNECT 0x95 over a retained topic the next connection does without it."""
    desk = Desk()
    desk.courier.board.show(f"{PREFIX}/prompt", b"x")
    assert ["prompt"] == desk.pump()
    desk.reconnect(0x95)
    assert [] == desk.pump()


def test_a_reply_that_ends_the_connection_by_its_size_is_dropped() -> None:
    """After a DISCONNECT 0x95 over a reply that reply is given up; another that was unanswered is sent again."""
    desk = Desk()
    for payload in (b"1", b"2"):
        desk.courier.answer(Reply(payload))
    assert ["reply", "reply"] == desk.pump()
    desk.reconnect(0x95)
    desk.pump()
    assert [b"2"] == [sent.payload for sent in desk.link.sent]


def test_what_is_too_large_to_be_sent_holds_nothing_up() -> None:
    """A prompt, a reply and an event above the broker's limit are alarmed, and the next of each goes out."""
    desk = Desk("x" * 20, "a", limit=45)
    desk.courier.board.show(f"{PREFIX}/round", b"x" * 50)
    desk.courier.answer(Reply(b"x" * 50))
    desk.courier.answer(Reply(b"short"))
    assert ["event/a", "reply"] == desk.pump()
    assert "oversized" in desk.up


def test_what_the_broker_calls_too_large_holds_nothing_up() -> None:
    """PUBACK 0x95 for a prompt or a reply is alarmed and ends the matter."""
    desk = Desk()
    desk.courier.board.show(f"{PREFIX}/round", b"1")
    desk.courier.answer(Reply(b"2"))
    assert ["round", "reply"] == desk.pump()
    desk.answer(0x95)
    desk.answer(0x95)
    assert desk.courier.drained
    assert {"oversized"} == desk.up


def test_a_reply_denied_on_an_engines_own_topic_is_that_engines_affair() -> None:
    """A refusal on a response topic raises no alarm; one on the table's own reply topic does."""
    desk = Desk()
    desk.courier.answer(Reply(b"1", "engines/7"))
    desk.pump()
    desk.answer(0x87)
    assert set() == desk.up
    desk.courier.answer(Reply(b"2"))
    desk.pump()
    desk.answer(0x87)
    assert {"denied"} == desk.up


def test_an_answer_to_nothing_is_ignored() -> None:
    """An acknowledgement of a message that is not in flight changes nothing."""
    desk = Desk("a")
    desk.pump()
    desk.courier.acked(Acked(99, 0, ""), 0)
    assert desk.courier.cursor == 0
    assert desk.courier.owing


def test_after_an_unreadable_answer_one_message_goes_at_a_time() -> None:
    """An unreadable packet makes the next connection careful until the suspected message is acknowledged."""
    desk = Desk("a", "a", "a")
    desk.pump()
    desk.answer()
    desk.pump()
    desk.reconnect(garbled=True)
    careful = [desk.courier.careful]
    desk.courier.board.show(f"{PREFIX}/status", b"1")
    assert ["event/a"] == desk.pump()
    desk.answer()
    assert [True, False] == [*careful, desk.courier.careful]
    assert desk.courier.cursor == 2


def test_a_second_unreadable_answer_sets_the_message_aside() -> None:
    """Where a message alone in flight is answered unreadably again, it is left out and alarmed."""
    desk = Desk("a", "a")
    for _ in range(2):
        desk.pump()
        desk.reconnect(garbled=True)
    assert not desk.courier.careful
    desk.pump()
    assert [desk.journal.bodies[1]] == [sent.payload for sent in desk.link.sent]


def test_an_unreadable_packet_with_nothing_in_flight_is_nobodys_fault() -> None:
    """A packet that can't be read while no answer is owed leaves the next connection as it was."""
    desk = Desk()
    desk.pump()
    desk.reconnect(garbled=True)
    assert not desk.courier.careful


def test_a_broker_that_takes_one_message_at_a_time_gets_prompts_too() -> None:
    """With a receive maximum of 1 events and retained topics take turns."""
    desk = Desk("a", "a", "a", receive_maximum=1)
    topics = []
    for number in range(4):
        desk.courier.board.show(f"{PREFIX}/prompt", b"%d" % number)
        topics += desk.pump(number * 30_000)
        desk.answer()
    assert ["event/a", "prompt", "event/a", "prompt"] == topics


def test_silence_is_told_within_a_second_and_ends_with_an_answer() -> None:
    """A broker that owes an answer for 0.9 s is alarmed; after 30 s the connection is to be given up."""
    desk = Desk("a")
    desk.pump()
    assert desk.courier.due(0) == SILENCE_US
    desk.pump(SILENCE_US)
    assert {"network"} == desk.up
    assert desk.courier.due(SILENCE_US) == GIVE_UP_US
    assert [False, True] == [desk.courier.given_up(now) for now in (GIVE_UP_US - 1, GIVE_UP_US)]
    desk.answer()
    desk.pump(SILENCE_US)
    assert set() == desk.up


def test_the_last_status_may_be_too_large() -> None:
    """A last status above the broker's limit is left unsaid, and nothing is owed for it."""
    desk = Desk(limit=3)
    desk.courier.farewell(desk.link, b"long", 0)
    assert not desk.courier.owing
