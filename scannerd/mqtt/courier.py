"""Decides what goes out next on the connection there is: events, retained topics, replies, events asked for again.

Live events come first, since a card is waited for; but each kind has places of its own among the messages in flight,
so that none starves another. Retained topics are held back for 20 ms while events wait: only their latest counts.

An answer that can't be read gets special care. mosquitto 2.0 refuses a message above its `message_size_limit` with a
reason that MQTT 5 does not allow in a PUBACK, and paho then ends the connection: the event would block all others for
ever. So after an unreadable packet the next connection is `careful`: one message at a time, and no subscription, so
that the broker can send nothing but its answers, until the message that was suspected is acknowledged. Where an
answer is unreadable again the message in flight is to blame.
"""

from __future__ import annotations

import contextlib
from collections import deque
from dataclasses import dataclass

from scannerd.mqtt.alarms import Alarms
from scannerd.mqtt.board import Board
from scannerd.mqtt.echoes import Echoes
from scannerd.mqtt.link import Acked, Link, PacketTooLargeError
from scannerd.mqtt.notices import Record, Reply
from scannerd.mqtt.rights import Rights, Verdict
from scannerd.mqtt.source import Source
from scannerd.mqtt.window import Flight, Window

EVENTS_IN_FLIGHT = 20
RESENDS_IN_FLIGHT = 8
IN_FLIGHT = 32
"""Messages in flight, all kinds together, where the broker sets no lower limit."""
SILENCE_US = 900_000
"""A broker that owes an answer for this long is told as an alarm, so that it is known within a second."""
GIVE_UP_US = 30_000_000
"""A broker that owes an answer for this long is left: only a new connection may send a message again."""

_DENIED = 0x80
_TOO_LARGE = 0x95
_SHOW_GAP_US = 20_000
_WAITING_REPLIES = 1_000


@dataclass(slots=True, eq=False)
class _Sent:
    """A message in flight."""

    at: int
    topic: str
    window: Window | None = None
    flight: Flight | None = None
    reply: Reply | None = None
    body: bytes = b""

    @property
    def key(self) -> tuple[str, int | None]:
        """What makes it the same message when it is sent again."""
        return self.topic, None if self.flight is None else self.flight.seq


@dataclass(slots=True, eq=False)
class _Resend:
    """Events asked for again, and the reply that comes after the last of them."""

    window: Window
    then: Reply


class Courier:
    """Owns all that is to be said to the broker."""

    def __init__(self, prefix: str, cursor: int, source: Source, alarms: Alarms, rights: Rights | None = None) -> None:
        """Has nothing to say yet.

        Args:
            prefix: the beginning of the table's topics.
            cursor: what was acknowledged in earlier lives.
            source: the journal.
            alarms: told of what the broker refuses.
            rights: what the broker takes, where its acknowledgements don't tell (MQTT 3.1.1).
        """
        self._prefix = prefix
        self._rights = rights
        self._echoes: Echoes[_Sent] = Echoes()
        self._source = source
        self._alarms = alarms
        self._live = Window(cursor, cursor, EVENTS_IN_FLIGHT, self._event_topic)
        self.status = f"{prefix}/status"
        self.board = Board(self.status)
        self._replies: deque[tuple[int, Reply]] = deque(maxlen=_WAITING_REPLIES)
        self._resends: deque[_Resend] = deque(maxlen=_WAITING_REPLIES)
        self._sent: dict[int, _Sent] = {}
        self._link: Link | None = None
        self._suspect: tuple[str, int | None] | None = None
        self._agreed = IN_FLIGHT
        self._shown_at = 0
        self._event_was_last = False
        self._topics: dict[str, str] = {}

    @property
    def cursor(self) -> int:
        """The number up to which the broker has everything."""
        return self._live.cursor

    @property
    def drained(self) -> bool:
        """Whether the broker has all there is to say."""
        return self._live.drained and self.board.idle and not self._sent and not self._replies

    @property
    def careful(self) -> bool:
        """Whether a message is suspected of an unreadable answer: one at a time then, and no subscription."""
        return self._suspect is not None

    @property
    def _limit(self) -> int:
        return 1 if self.careful else self._agreed

    @property
    def owing(self) -> bool:
        """Whether the broker owes an answer."""
        return bool(self._sent)

    def head(self, seq: int) -> None:
        """The journal ends at `seq`."""
        self._live.last = max(self._live.last, seq)

    def answer(self, reply: Reply) -> None:
        """Queues a reply behind what was shown before it; of a thousand waiting the oldest gives way."""
        self._replies.append((self.board.mark, reply))

    def resend(self, first: int, last: int, then: Reply) -> None:
        """Queues events to be sent again."""
        window = Window(first - 1, last, RESENDS_IN_FLIGHT, lambda _: f"{self._prefix}/resend")
        self._resends.append(_Resend(window, then))

    def up(self, link: Link, receive_maximum: int) -> None:
        """A broker accepted us."""
        self._link = link
        self._agreed = max(1, min(IN_FLIGHT, receive_maximum))
        self._live.width = max(1, min(EVENTS_IN_FLIGHT, self._agreed * 2 // 3))
        self.board.restart()

    def down(self, code: int | None = None, *, garbled: bool = False) -> None:
        """The connection is gone; `code` is the broker's reason, where it gave one, `garbled` as in `Lost`."""
        oldest = next(iter(self._sent.values()), None)
        if oldest is not None and (code == _TOO_LARGE or (garbled and self.careful)):
            self._ban(oldest)
        self._suspect = oldest.key if garbled and oldest is not None and not self.careful else None
        unanswered = [(0, sent.reply) for sent in self._sent.values() if sent.reply is not None]
        self._replies.extendleft(reversed(unanswered))
        self._link = None
        self._sent.clear()
        self._echoes.clear()
        self._live.restart()
        for job in self._resends:
            job.window.restart()

    def acked(self, ack: Acked, now: int) -> None:
        """The broker answered for a message."""
        sent = self._sent.pop(ack.mid, None)
        if sent is None:
            return
        if sent.key == self._suspect:
            self._suspect = None
        if ack.code == _TOO_LARGE:
            self._refused_as_too_large(sent, now)
        elif ack.code >= _DENIED:
            self._denied(sent, ack.reason, now)
        elif not sent.body or self._echoes.acknowledged(sent.topic, sent.body, sent, now):
            self._taken(sent, ack.code, now)

    def came(self, topic: str, payload: bytes, now: int) -> None:
        """A message of our own came back."""
        sent = self._echoes.came(topic, payload)
        if sent is not None:
            self._taken(sent, 0, now)

    def pump(self, now: int) -> None:
        """Sends all that may go out now."""
        while self._link is not None and len(self._sent) < self._limit and self._send_one(self._link, now):
            pass
        for sent in self._echoes.overdue(now):
            self._denied(sent, "the broker acknowledged it, but it never came back", now)
        self._mind_silence(now)

    def farewell(self, link: Link, payload: bytes, now: int) -> None:
        """Says the last status; what still waited is no longer sent."""
        self._link = None
        self._sent.clear()
        with contextlib.suppress(PacketTooLargeError):
            self._sent[link.publish(self.status, payload, retain=True)] = _Sent(now, self.status)

    def given_up(self, now: int) -> bool:
        """Whether the broker has owed an answer for so long that the connection must end."""
        oldest = next(iter(self._sent.values()), None)
        return oldest is not None and now - oldest.at >= GIVE_UP_US

    def due(self, now: int) -> int | None:
        """When `pump` is to be called next, should nothing happen before; always after `now`."""
        times = [self._live.due, self.board.due, self._echoes.due]
        times += [job.window.due for job in self._resends]
        for sent in self._sent.values():
            times += [sent.at + SILENCE_US, sent.at + GIVE_UP_US]
            break
        return min((time for time in times if time is not None and time > now), default=None)

    def _send_one(self, link: Link, now: int) -> bool:
        if self._limit <= RESENDS_IN_FLIGHT and self._event_was_last:
            self._event_was_last = False
            if self._send_other(link, now):
                return True
        return self._send_event(link, self._live, now) or self._send_other(link, now)

    def _send_other(self, link: Link, now: int) -> bool:
        return self._send_shown(link, now) or self._send_reply(link, now) or self._send_resent(link, now)

    def _send_event(self, link: Link, window: Window, now: int) -> bool:
        record = window.next(self._source.read if window is self._live else self._source.read_what_is_left, now)
        if record is None:
            return False
        topic = window.topic(record)
        verdict = Verdict.SEND if self._rights is None else self._rights.judge(topic, len(record.body), now)
        if verdict is Verdict.WAIT:
            return False
        self._event_was_last = True
        if verdict is Verdict.SET_ASIDE or window.banned(record):
            self._set_aside(window, record, now)
            return True
        try:
            mid = link.publish(topic, record.body, event=True)
        except PacketTooLargeError:
            self._set_aside(window, record, now)
            return True
        self._sent[mid] = _Sent(
            now, topic, window=window, flight=window.sent(record), body=self._awaited(topic, record)
        )
        return True

    def _awaited(self, topic: str, record: Record) -> bytes:
        """What must come back before the event is delivered; nothing, where the acknowledgement can be trusted."""
        if self._rights is None or not self._rights.echoing:
            return b""
        self._echoes.sent(topic, record.body)
        return record.body

    def _send_shown(self, link: Link, now: int) -> bool:
        if self._live.waiting and now - self._shown_at < _SHOW_GAP_US and not self._alarms.up("denied"):
            return False
        shown = self.board.next(now)
        if shown is None:
            return False
        topic, payload = shown
        self._shown_at = now
        try:
            mid = link.publish(topic, payload, retain=True)
        except PacketTooLargeError:
            self.board.drop(topic)
            self._alarms.rise("oversized", f"{topic}: {len(payload)} bytes", now)
            return True
        self.board.sent(topic)
        self._sent[mid] = _Sent(now, topic)
        return True

    def _send_reply(self, link: Link, now: int) -> bool:
        if not self._replies or not self.board.ready(self._replies[0][0]):
            return False
        _, reply = self._replies.popleft()
        topic = self._reply_topic(reply)
        try:
            mid = link.publish(topic, reply.payload, correlation=reply.correlation)
        except PacketTooLargeError:
            self._alarms.rise("oversized", f"{topic}: {len(reply.payload)} bytes", now)
            return True
        self._sent[mid] = _Sent(now, topic, reply=reply)
        return True

    def _send_resent(self, link: Link, now: int) -> bool:
        if not self._resends:
            return False
        job = self._resends[0]
        if self._send_event(link, job.window, now):
            return True
        if not job.window.drained:
            return False
        self._resends.popleft()
        self._replies.append((0, job.then))
        return True

    def _set_aside(self, window: Window, record: Record, now: int) -> None:
        window.set_aside(record)
        self._alarms.rise("oversized", f"event {record.seq} is too large for the broker: {len(record.body)} bytes", now)

    def _refused_as_too_large(self, sent: _Sent, now: int) -> None:
        self._alarms.rise("oversized", f"{sent.topic}: the broker refused a message as too large", now)
        if sent.window is not None and sent.flight is not None:
            sent.window.too_large(sent.flight)
        elif sent.reply is None:
            self.board.settled(sent.topic)

    def _denied(self, sent: _Sent, reason: str, now: int) -> None:
        if sent.window is not None and sent.flight is not None:
            sent.window.denied(sent.flight, now)
        elif sent.reply is None:
            self.board.denied(sent.topic, now)
        if sent.reply is None or sent.topic == f"{self._prefix}/reply":
            self._alarms.denied(sent.topic, reason, now)

    def _taken(self, sent: _Sent, code: int, now: int) -> None:
        if sent.window is not None and sent.flight is not None:
            sent.window.acknowledged(sent.flight, sent.topic)
            if sent.window is self._live:
                self._alarms.delivered(sent.topic, code, now)
        elif sent.reply is None:
            self.board.settled(sent.topic)
        if self._rights is None or not self._rights.denies(sent.topic):
            self._alarms.allowed(sent.topic, now)

    def _ban(self, sent: _Sent) -> None:
        """The broker ended the connection over a packet's size: it takes packets in order, so the oldest it was."""
        if sent.window is not None and sent.flight is not None:
            sent.window.too_large(sent.flight)
        elif sent.reply is not None:
            sent.reply = None
        else:
            self.board.forget(sent.topic)

    def _mind_silence(self, now: int) -> None:
        if self._link is None:
            return
        oldest = next(iter(self._sent.values()), None)
        if oldest is not None and now - oldest.at >= SILENCE_US:
            self._alarms.rise("network", "the broker acknowledges nothing", now)
        else:
            self._alarms.clear("network", now)

    def _event_topic(self, record: Record) -> str:
        topic = self._topics.get(record.type)
        if topic is None:
            topic = self._topics[record.type] = f"{self._prefix}/event/{record.type}"
        return topic

    def _reply_topic(self, reply: Reply) -> str:
        """The topic that the command named, unless it can't be one, or is one on which only we may speak."""
        own = f"{self._prefix}/"
        named = reply.topic
        if not named or "+" in named or "#" in named or "\0" in named:
            return f"{own}reply"
        if named.startswith(own) and not named.startswith(f"{own}reply"):
            return f"{own}reply"
        return named
