"""Between the engine and its listeners: everything goes on to the publisher, and the pages keep a copy.

The engine calls, and must never wait: a call stores one immutable object or appends to a bounded deque, and nudges the
pages' thread. No lock is taken. A page's command goes to the inbox as one from MQTT does; its response topic begins
with a NUL, which can't come over MQTT, so its reply is known and goes back to the page.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from scannerd.journal import Record
from scannerd.mqtt.notices import Acknowledged, CommandReceived, Connected, Disconnected, Notice, Reply
from scannerd.roles import Speaker

REPLY_TOPIC = "\0display/"
"""What the response topic of a page's command begins with."""

MARKS = 4096
"""How many writes are kept for the figures; a thread that is too slow to take them loses the oldest."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is on show: the retained topics by their last part, byte for byte; `version` grows with each."""

    topics: Mapping[str, bytes] = field(default_factory=dict)
    version: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """Events that were just journalled, and at what time of day, microseconds since 1970."""

    records: Sequence[Record]
    wall: int


@dataclass(frozen=True, slots=True)
class Taken:
    """At this time of day (microseconds since 1970) the broker had acknowledged everything up to `seq`."""

    seq: int
    wall: int


class Tap:
    """Stands between the publisher and the inbox, and notes what the figures tell of the broker.

    Attributes:
        acknowledged: when the broker took events over; the pages' thread takes from the left.
        connections: how often a broker has accepted us.
        connected: whether one has us now.
    """

    def __init__(self, post: Callable[[Notice], None], wall: Callable[[], int]) -> None:
        """Passes on to `post`; `wall` is the time of day in microseconds."""
        self._post, self._wall = post, wall
        self.acknowledged: deque[Taken] = deque(maxlen=MARKS)
        self.connections = 0
        self.connected = False

    def __call__(self, notice: Notice) -> None:
        """Takes a notice, in the publisher's thread."""
        self._post(notice)
        match notice:
            case Acknowledged(upto=upto):
                self.acknowledged.append(Taken(upto, self._wall()))
            case Connected():
                self.connections += 1
                self.connected = True
            case Disconnected():
                self.connected = False
            case _:
                pass


def _nobody() -> None:
    """Nobody listens yet."""


class Fanout:
    """The engine's speaker where there are pages.

    Attributes:
        shown: the latest snapshot; swapped whole.
        written: what was journalled; the pages' thread takes from the left.
        tap: what the publisher tells of the broker.
    """

    def __init__(self, publisher: Speaker, tap: Tap, wall: Callable[[], int]) -> None:
        """Passes on to `publisher`; `wall` is the time of day in microseconds."""
        self._publisher, self._wall = publisher, wall
        self._nudge: Callable[[], None] = _nobody
        self._replies: deque[Reply] = deque(maxlen=MARKS)
        self._ids = count(1)
        self.shown = Shown()
        self.written: deque[Written] = deque(maxlen=MARKS)
        self.tap = tap

    def listen(self, nudge: Callable[[], None]) -> None:
        """From now on `nudge` is called, in the thread of the change, when something is new; it must not block."""
        self._nudge = nudge

    # --- the engine's side ---

    def wake(self, head: int, fresh: Sequence[Record] = ()) -> None:
        """The journal now ends at `head`."""
        self._publisher.wake(head, fresh)
        self.written.append(Written(fresh, self._wall()))
        self._nudge()

    def show(self, topic: str, payload: bytes) -> None:
        """A retained topic has a new payload."""
        self._publisher.show(topic, payload)
        self.shown = Shown({**self.shown.topics, topic: payload}, self.shown.version + 1)
        self._nudge()

    def answer(self, reply: Reply) -> None:
        """A command is answered: to the page that gave it, or over MQTT."""
        if reply.topic is None or not reply.topic.startswith(REPLY_TOPIC):
            self._publisher.answer(reply)
            return
        self._replies.append(reply)
        self._nudge()

    def resend(self, first: int, last: int, then: Reply) -> None:
        """Events are asked for again."""
        self._publisher.resend(first, last, then)

    # --- the pages' side ---

    def letter(self, name: str, fields: Mapping[str, object], at: int) -> CommandReceived:
        """A command as the inbox takes it; its `response_topic` is what `replies` will bring back."""
        payload = json.dumps(fields, ensure_ascii=False).encode()
        return CommandReceived(at, name, payload, retain=False, response_topic=f"{REPLY_TOPIC}{next(self._ids)}")

    def replies(self) -> list[Reply]:
        """Takes the replies that have come for pages."""
        taken: list[Reply] = []
        while self._replies:
            taken.append(self._replies.popleft())
        return taken
