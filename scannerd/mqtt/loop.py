"""The publisher's loop: waits on the broker's socket and on the engine's calls, and does what there is to do.

One turn: wait, take what the engine asked for, mind the connection, take what the broker said, send what may go out.
Nothing in a turn blocks but the wait, which ends after a second at the latest.
"""

from __future__ import annotations

import contextlib
import queue
import random
import select
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from scannerd.mqtt.address import Address, Failure, parse
from scannerd.mqtt.alarms import Alarms
from scannerd.mqtt.bell import Bell
from scannerd.mqtt.connection import Connection, Phase
from scannerd.mqtt.courier import Courier
from scannerd.mqtt.link import Accepted, Acked, Arrived, Happening, Link, Lost, Refused, Subscribed
from scannerd.mqtt.notices import (
    PAYLOAD_LIMIT,
    Acknowledged,
    BrokerSettings,
    CommandReceived,
    Connected,
    Disconnected,
    Notice,
    Reply,
    StatusSeen,
)
from scannerd.mqtt.retry import Backoff
from scannerd.mqtt.rights import Rights
from scannerd.mqtt.source import Source
from scannerd.mqtt.window import DENIED_RETRY_US

_TURN_S = 1.0  # the longest wait of one turn, so that the watchdog sees the loop live
_STOPPING_TURN_S = 0.02
_FLUSH_US = 300_000  # for the last status and DISCONNECT, after the time of the stop is over


@dataclass(frozen=True, slots=True)
class Show:
    """A retained topic's new payload."""

    topic: str
    payload: bytes


@dataclass(frozen=True, slots=True)
class Resend:
    """Events asked for again, and the reply behind them."""

    first: int
    last: int
    then: Reply


@dataclass(frozen=True, slots=True)
class Stop:
    """The way out: the last status, and the time at which it is said at the latest."""

    final_status: bytes
    deadline: int


Request: TypeAlias = Show | Reply | Resend


class Loop:
    """Everything the publisher's thread does; `ask`, `wake` and `stop` may be called from any thread.

    Attributes:
        progress: grows with each turn.
        head: the number of the journal's last event; set it, then `wake`.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - its seams, each handed in once by the publisher
        self,
        settings: BrokerSettings,
        make_link: Callable[[Address], Link],
        source: Source,
        cursor: int,
        post: Callable[[Notice], None],
        will: bytes,
        clock: Callable[[], int],
        rng: random.Random,
        make_rights: Callable[[Alarms, Callable[[], None]], Rights] | None = None,
    ) -> None:
        """Opens nothing yet; `make_rights` only where acknowledgements don't tell of refusals (MQTT 3.1.1).

        Raises:
            ValueError: a URL is none of a broker.
        """
        self.progress = 0
        self.head = self._told = cursor
        self._settings = settings
        self._post = post
        self._source = source
        self._will = will
        self._clock = clock
        addresses = tuple(parse(url) for url in settings.urls)
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._bell = Bell()
        self._alarms = Alarms(post)
        self._rights = None if make_rights is None else make_rights(self._alarms, self.wake)
        self._courier = Courier(settings.prefix, cursor, source, self._alarms, self._rights)
        self._listening = False
        self._connection = Connection(
            addresses,
            make_link,
            Backoff(rng, len(addresses)),
            self._alarms,
            timeout_us=int(settings.connect_timeout_s * 1_000_000),
            wake=self.wake,
        )
        self._subscribe_at: int | None = None
        self._stop: Stop | None = None
        self._farewell_at: int | None = None

    def run(self) -> None:
        """Turns until `stop` has been obeyed."""
        try:
            while not self._turn():
                self.progress += 1
        finally:
            self.close()

    def close(self) -> None:
        """Leaves everything; for the end of `run`, or where it never ran."""
        self._source.close()
        self._connection.close()
        self._bell.close()

    def stop(self, stop: Stop) -> None:
        """Asks the loop to end."""
        self._stop = stop
        self.wake()

    def ask(self, request: Request) -> None:
        """Hands a request to the loop."""
        self._requests.put(request)
        self.wake()

    def wake(self) -> None:
        """Ends the loop's wait."""
        self._bell.ring()

    def _turn(self) -> bool:
        """Waits for something to do and does it; True when all is over."""
        readable = self._wait()
        stop = self._stop  # looked at before the requests: what was asked for before the stop is still seen
        self._take_requests()
        now = self._clock()
        self._connection.turn(now)
        link = self._connection.link
        if link is not None:
            for happening in link.serve(readable=readable):
                self._take(happening, now)
        self._tend(now)
        if self._courier.cursor > self._told:
            self._told = self._courier.cursor
            self._post(Acknowledged(now, self._told))
        return stop is not None and self._leave(stop, now)

    def _wait(self) -> bool:
        """Sleeps until there is something to do; whether the broker's socket can be read."""
        poller = select.poll()
        poller.register(self._bell, select.POLLIN)
        link = self._connection.link
        broker = None if link is None else link.fileno()
        if link is not None and broker is not None:
            poller.register(broker, select.POLLIN | (select.POLLOUT if link.wants_write() else 0))
        ready = dict(poller.poll(0 if link is not None and link.pending() else self._patience()))
        if self._bell.fileno() in ready:
            self._bell.heard()
        return broker is not None and bool(ready.get(broker, 0) & ~select.POLLOUT)

    def _patience(self) -> float:
        """Milliseconds until something is due at the latest."""
        now = self._clock()
        longest = _TURN_S if self._stop is None else _STOPPING_TURN_S
        rights = None if self._rights is None else self._rights.due
        dues = (self._courier.due(now), self._connection.due, self._subscribe_at, rights)
        soonest = min((due - now for due in dues if due is not None), default=1_000_000) / 1_000
        return min(longest * 1_000, max(0.0, soonest))

    def _take_requests(self) -> None:
        self._courier.head(self.head)
        with contextlib.suppress(queue.Empty):
            while True:
                request = self._requests.get_nowait()
                self._obey(request)

    def _obey(self, request: Request) -> None:
        match request:
            case Show():
                self._courier.board.show(f"{self._settings.prefix}/{request.topic}", request.payload)
            case Reply():
                self._courier.answer(request)
            case Resend():
                self._courier.resend(request.first, request.last, request.then)
            case _:
                assert_never(request)

    def _take(self, happening: Happening, now: int) -> None:
        match happening:
            case Acked():
                self._courier.acked(happening, now)
            case Arrived():
                self._arrived(happening, now)
            case Accepted():
                self._accepted(happening, now)
            case Subscribed():
                self._subscribed(happening, now)
            case Refused():
                self._connection.refused(happening, now)
            case Lost():
                self._lost(happening, now)
            case _:
                assert_never(happening)

    def _accepted(self, happening: Accepted, now: int) -> None:
        link = self._connection.link
        if link is None or self._connection.phase is not Phase.GREETING:
            return
        self._connection.accepted(happening, now)
        self._alarms.clear("oversized", now)
        if self._courier.careful:
            self._subscribe_at = now
        else:
            link.subscribe()  # before the status: whoever sees us online may send commands
        self._courier.up(link, happening.receive_maximum)
        if self._rights is not None:
            self._rights.begin(self._connection.address, now)
        self._post(Connected(now, str(self._connection.address), happening.session_present))

    def _lost(self, happening: Lost, now: int) -> None:
        if self._connection.link is None:
            return
        was_up = self._connection.phase is Phase.UP
        self._connection.lost(happening, now)
        self._subscribe_at = None
        self._listening = False
        if self._rights is not None:
            self._rights.end()
        if was_up:
            self._courier.down(happening.code, garbled=happening.garbled)
            self._post(Disconnected(now, happening.failure.cause))

    def _subscribed(self, happening: Subscribed, now: int) -> None:
        topic = f"{self._settings.prefix}/command/+"
        if happening.refusal is None:
            self._alarms.allowed(topic, now)
        else:
            self._alarms.denied(topic, happening.refusal, now)
            self._subscribe_at = now + DENIED_RETRY_US

    def _arrived(self, message: Arrived, now: int) -> None:
        if message.topic == self._courier.status:
            self._status_seen(message.payload, now)
            return
        if not message.topic.startswith(f"{self._settings.prefix}/command/"):
            self._courier.came(message.topic, message.payload, now)
            return
        oversized = len(message.payload) > PAYLOAD_LIMIT
        self._post(
            CommandReceived(
                now,
                message.topic.rpartition("/")[2],
                b"" if oversized else message.payload,
                message.retain,
                message.response_topic,
                message.correlation,
                oversized,
            )
        )

    def _status_seen(self, payload: bytes, now: int) -> None:
        if self._courier.board.stands(self._courier.status, payload):
            return
        if payload == self._will:  # the broker took our last connection for dead: we live
            self._courier.board.again(self._courier.status)
        else:
            self._connection.foreign_status(now)
        self._post(StatusSeen(now, payload))

    def _tend(self, now: int) -> None:
        """Sends what may go out, on a connection that is up and answers."""
        link = self._connection.link
        if link is None or self._connection.phase is not Phase.UP or self._farewell_at is not None:
            return
        if self._courier.given_up(now):
            self._lost(Lost(Failure("network", "the broker acknowledges nothing")), now)
            return
        if self._subscribe_at is not None and now >= self._subscribe_at and not self._courier.careful:
            self._subscribe_at = None
            link.subscribe()
        if self._rights is not None:
            self._mind_rights(self._rights, link, now)
        self._courier.pump(now)

    def _mind_rights(self, rights: Rights, link: Link, now: int) -> None:
        rights.turn(now)
        if rights.echoing and not self._listening:
            self._listening = True
            link.listen()

    def _leave(self, stop: Stop, now: int) -> bool:
        """One step of the way out; True when it is done."""
        link = self._connection.link
        if link is None or link.fileno() is None or self._connection.phase is not Phase.UP:
            return True
        if self._farewell_at is None:
            if self._courier.drained or now >= stop.deadline:
                self._farewell_at = now
                link.unsubscribe()  # a message unread at the close would make the kernel reset the connection
                self._courier.farewell(link, stop.final_status, now)
            return False
        if self._courier.owing and now < max(stop.deadline, self._farewell_at + _FLUSH_US):
            return False
        link.disconnect()
        return not link.wants_write() or now >= max(stop.deadline, self._farewell_at + _FLUSH_US)
