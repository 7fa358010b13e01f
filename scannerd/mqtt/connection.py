"""When to connect, and to which broker: attempts in turn, each bounded, with back-off between them.

Dialling blocks (name look-up, TCP, TLS), so each attempt has a short-lived thread, which hands the connection over
whole when it stands. So the publisher's own loop never blocks: it can be stopped at once, it shows the watchdog that
it lives, and an attempt is given up after its time even where the system's name look-up takes longer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from enum import Enum, auto

from scannerd.mqtt.address import Address, Failure, explain
from scannerd.mqtt.alarms import Alarms
from scannerd.mqtt.link import Accepted, Link, Lost, Refused
from scannerd.mqtt.retry import Backoff, Takeovers

_TAKEN_OVER = 0x8E


class Phase(Enum):
    """How far we are."""

    WAITING = auto()
    DIALLING = auto()
    GREETING = auto()
    UP = auto()


class Attempt:
    """One dialling in its own thread. Whoever is last, the thread or `abandon`, closes a connection nobody wants."""

    def __init__(self, link: Link, wake: Callable[[], None]) -> None:
        """Starts at once; `wake` is called when there is a result."""
        self.link = link
        self.error: Exception | None = None
        self._lock = threading.Lock()
        self._ended = self._abandoned = False
        self._wake = wake
        threading.Thread(target=self._run, name="mqtt-dial", daemon=True).start()

    @property
    def ended(self) -> bool:
        """Whether the attempt has a result: `error`, or a connection."""
        with self._lock:
            return self._ended

    def abandon(self) -> None:
        """Nobody waits for the result any more."""
        with self._lock:
            self._abandoned = True
            ended = self._ended
        if ended:
            self.link.close()

    def _run(self) -> None:
        try:
            self.link.dial()
        except Exception as error:  # noqa: BLE001 - whatever it was, the loop must hear of it
            self.error = error
        with self._lock:
            self._ended = True
            abandoned = self._abandoned
        if abandoned or self.error is not None:
            self.link.close()
        self._wake()


class Connection:
    """The connection there is, or the next attempt at one."""

    def __init__(  # noqa: PLR0913 - its seams, the last two by name
        self,
        addresses: tuple[Address, ...],
        make_link: Callable[[Address], Link],
        backoff: Backoff,
        alarms: Alarms,
        *,
        timeout_us: int,
        wake: Callable[[], None],
    ) -> None:
        """Tries `addresses` in turn, each for `timeout_us`; `wake` is called when a dialling has ended."""
        self.phase = Phase.WAITING
        self._addresses = addresses
        self._make_link = make_link
        self._backoff = backoff
        self._alarms = alarms
        self._timeout = timeout_us
        self._wake = wake
        self._takeovers = Takeovers()
        self._ended_without_a_word = False
        self._index = 0
        self._attempt: Attempt | None = None
        self._link: Link | None = None
        self._due: int | None = None
        self._since = 0

    @property
    def link(self) -> Link | None:
        """The connection that reads and writes; None while there is none."""
        return self._link

    @property
    def address(self) -> Address:
        """The broker in question."""
        return self._addresses[self._index]

    @property
    def due(self) -> int | None:
        """When `turn` has something to do."""
        return self._due

    def turn(self, now: int) -> None:
        """Begins an attempt that is due, takes up one that stands, gives up one that takes too long."""
        if self.phase is Phase.WAITING and (self._due is None or now >= self._due):
            self.phase, self._since, self._due = Phase.DIALLING, now, now + self._timeout
            self._attempt = Attempt(self._make_link(self.address), self._wake)
        elif self._attempt is not None and self._attempt.ended:
            self._dialled(self._attempt, now)
        elif self._due is not None and now >= self._due and self.phase in (Phase.DIALLING, Phase.GREETING):
            self._failed(Failure("network", "no answer in time"), now)
        if self.phase is Phase.UP and self._alarms.up("takeover") and self._takeovers.over(now):
            self._alarms.clear("takeover", now)

    def accepted(self, happening: Accepted, now: int) -> None:
        """The broker said yes."""
        del happening
        self.phase, self._since, self._due = Phase.UP, now, None
        self._alarms.clear("certificate", now)

    def refused(self, happening: Refused, now: int) -> None:
        """The broker said no."""
        self._failed(Failure("network", f"refused: {happening.cause}"), now)

    def lost(self, happening: Lost, now: int) -> None:
        """The connection ended, or never came to a CONNACK."""
        if self.phase is Phase.UP:
            self._ended(happening, now)
        else:
            self._failed(happening.failure, now)

    def foreign_status(self, now: int) -> None:
        """Our own status topic carries somebody else's words.

        mosquitto 2.0 ends a session that another client takes without the reason that MQTT 5 has for it, and 3.1.1
        has none. A cut link looks the same; but after a takeover the other daemon's status stands where ours did.
        """
        if self._ended_without_a_word:
            self._ended_without_a_word = False
            self._taken_over(now)

    def close(self) -> None:
        """Leaves everything as it is, without a word to the broker."""
        if self._attempt is not None:
            self._attempt.abandon()
        if self._link is not None:
            self._link.close()
        self._attempt = self._link = None
        self.phase = Phase.WAITING

    def _dialled(self, attempt: Attempt, now: int) -> None:
        self._attempt = None
        if attempt.error is None:
            self._link, self.phase = attempt.link, Phase.GREETING
        elif isinstance(attempt.error, OSError | ValueError):
            self._failed(explain(attempt.error), now)
        else:
            raise attempt.error

    def _failed(self, failure: Failure, now: int) -> None:
        self.close()
        self._tell(failure, now)
        self._next(now + self._backoff.failed())

    def _ended(self, happening: Lost, now: int) -> None:
        self.close()
        self._tell(happening.failure, now)
        self._ended_without_a_word = happening.code is None
        if happening.code == _TAKEN_OVER:
            self._taken_over(now)
        slow = self._alarms.up("takeover") and not self._takeovers.over(now)
        wait = self._backoff.slow() if slow else self._backoff.lost(now - self._since)
        self._next(now + wait)

    def _taken_over(self, now: int) -> None:
        if self._takeovers.seen(now):
            self._alarms.rise("takeover", "another client keeps taking our client id", now)

    def _next(self, due: int) -> None:
        self._index = (self._index + 1) % len(self._addresses)
        self._due = due

    def _tell(self, failure: Failure, now: int) -> None:
        cause = f"{self.address}: {failure.cause}"
        if failure.alarm == "certificate":
            self._alarms.rise("certificate", cause, now)
        self._alarms.rise("network", cause, now)
