"""A thread for each scanner: open, read, decode, put on the inbox; when the device is lost, tell, wait and open again.

A reader owns its transport and its channel alone. What others want of it (a reply when the journal has the card, a
beep, a fresh decoder) waits in the reader's own queue, which is looked at between two reads. While such a wish may
come, that is for half a second after bytes came and as long as a reply is owed, reads are short.

Stale input: a process that was stopped, or a machine that slept, finds what was scanned meanwhile in the system's
buffers, and must not take it for fresh. No thread can see that it was stopped, but its clock shows it: between two
turns of a loop that never waits longer than 0.2 s lie more than 2 s. The clock is one that goes on in suspend. What is
read then is stale, and what follows too, until a read that began behind the gap finds the line empty.

A blocked `open` is no hang of the process: the thread is a daemon thread, left alone at the end and reported.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Protocol, TypeAlias, assert_never

import structlog

from scannerd import logs
from scannerd.backoff import Backoff
from scannerd.channel import Channel, ChannelEvent, Output
from scannerd.contract import Micros, Outcome, Reply, Transport, TransportError
from scannerd.mqtt.notices import ThreadDied
from scannerd.scanlog import Chunk, Link, Sent

__all__ = ["GAP", "MachineClock", "Reader", "ReaderClock", "Recorded", "Settle", "ThreadDied", "ToInbox"]

SECOND: Micros = 1_000_000

LONGEST_READ: Micros = 200_000
"""How long a read waits at most: a stop is seen within that time."""

SHORT_READ: Micros = 10_000
"""How long a read waits while a wish may come."""

EAGER: Micros = SECOND // 2
"""How long after bytes a wish may come."""

GAP: Micros = 2 * SECOND
"""The time between two turns of the loop above which the process did not run."""

STEADY: Micros = 5 * SECOND
"""How long a device must have been open for its loss to be a new one, tried again at once."""

LOG_AGAIN: Micros = 300 * SECOND
"""How often a device that stays away is logged."""

FATAL_WAIT = 60.0
"""Seconds between tries where trying can't help before somebody changes the machine."""


@dataclass(frozen=True, slots=True)
class Settle:
    """The readings before it are to be journalled; then the engine calls the reader's `settled` with `token`."""

    scanner: str
    token: int
    at: Micros
    within: Micros | None = None


ToInbox: TypeAlias = ChannelEvent | Settle | ThreadDied
"""What a reader puts on the engine's inbox."""

Recorded: TypeAlias = Chunk | Sent | Link
"""What a reader gives to a recording; `t` is the monotonic time."""


class ReaderClock(Protocol):
    """The clocks of a reader."""

    def now(self) -> Micros:
        """The monotonic time, which stamps what is read."""

    def boot(self) -> Micros:
        """A monotonic time that goes on while the machine sleeps; only its differences matter."""


class MachineClock:
    """The machine's own clocks."""

    def now(self) -> Micros:
        """CLOCK_MONOTONIC."""
        return time.monotonic_ns() // 1_000

    def boot(self) -> Micros:
        """CLOCK_BOOTTIME."""
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000


@dataclass(frozen=True, slots=True)
class _Settled:
    token: int


@dataclass(frozen=True, slots=True)
class _Tell:
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _Restart:
    pass


_Wish: TypeAlias = _Settled | _Tell | _Restart


@dataclass(frozen=True, slots=True)
class _Owed:
    token: int
    reply: Reply
    at: Micros

    def in_time(self, now: Micros) -> bool:
        return self.reply.within is None or now - self.at <= self.reply.within


class Reader:
    """Reads one scanner in a thread of its own.

    Attributes:
        name: the scanner's name.
        progress: counts the turns of the loop; it stands still while the thread is stuck, or `opening`.
        opening: the thread is in the transport's `open`, which may block without harm.
    """

    def __init__(  # noqa: PLR0913 - all that is handed in, by name
        self,
        channel: Channel,
        transport: Transport,
        post: Callable[[ToInbox], None],
        *,
        clock: ReaderClock,
        feedback: Callable[[Outcome], bytes] = lambda _: b"",
        record: Callable[[Recorded], None] = lambda _: None,
        chance: Callable[[], float] = random.random,
        log: structlog.typing.FilteringBoundLogger | None = None,
    ) -> None:
        """Touches no device before `start`.

        Args:
            channel: the scanner's decoder and codebook; the reader's alone from now on.
            transport: where its bytes come from; the reader's alone as well.
            post: puts an event on the inbox; must not block.
            clock: the clocks.
            feedback: what to write to the scanner on an outcome; `Driver.feedback`.
            record: is told of all that comes, goes and is written, for a recording; called in the reader's thread.
            chance: numbers from 0 to 1, for the back-off.
            log: the log to write to.
        """
        self.name = channel.scanner
        self.progress = 0
        self.opening = False
        self._channel = channel
        self._transport = transport
        self._post = post
        self._clock = clock
        self._feedback = feedback
        self._record = record
        self._backoff = Backoff(chance)
        self._log = (log or logs.get("reader")).bind(scanner=self.name)
        self._stopping = Event()
        self._wishes: SimpleQueue[_Wish] = SimpleQueue()
        self._owed: deque[_Owed] = deque()
        self._tokens = 0
        self._up: bool | None = None
        self._up_at: Micros = 0
        self._logged_at: Micros = 0
        self._ran_at: Micros = 0
        self._stale = False
        self._eager_until: Micros = 0
        self._thread = Thread(target=self._run, name=f"reader-{self.name}", daemon=True)

    # --- for other threads ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Asks the thread to end; returns at once."""
        self._stopping.set()

    def join(self, timeout: float = 1.0) -> bool:
        """Waits for the thread to end, at most `timeout` seconds.

        Returns:
            Whether it has ended. One that has not is left alone: it holds a device that does not answer.
        """
        self._thread.join(timeout)
        if self._thread.is_alive():
            self._log.warning("reader left alone", opening=self.opening)
        return not self._thread.is_alive()

    def settled(self, token: int) -> None:
        """What was read before `Settle(token)` is in the journal: the reply owed is written, if it is not too late."""
        self._wishes.put(_Settled(token))

    def feedback(self, outcome: Outcome) -> None:
        """Tells the scanner of an outcome, where it is configured to be told."""
        self._wishes.put(_Tell(outcome))

    def restart_decoder(self) -> None:
        """Forgets half a frame, and owes no reply any more: the journal failed."""
        self._wishes.put(_Restart())

    # --- the thread -------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._session()
        except Exception as error:  # noqa: BLE001 - whatever it is, the process must not go on without this thread
            self._log.exception("reader died")
            self._post(ThreadDied(self._clock.now(), self._thread.name, repr(error)))
        finally:
            self._transport.close()

    def _session(self) -> None:
        """One try: open the device and read it until it is lost, or until `stop`."""
        self._pause(self._backoff.next())
        if self._stopping.is_set():
            return
        try:
            self._open()
            while not self._stopping.is_set():
                self._turn()
        except TransportError as error:
            self._lost(error)
            self._transport.close()
            self._pause(FATAL_WAIT if error.fatal else 0)

    def _open(self) -> None:
        self._ran_at = self._clock.boot()
        self._stale = False
        self.opening = True
        try:
            self._transport.open()
        finally:
            self.opening = False
            self.progress += 1
        if not self._stopping.is_set():
            self._went_up(self._clock.now())

    def _turn(self) -> None:
        """One read and what it makes; then what others wish."""
        data = self._transport.read(self._patience() / SECOND)
        t = self._clock.now()
        self._notice_gap(data)
        if data:
            self._eager_until = t + EAGER
            self._record(Chunk(t, self.name, data, self._stale))
            self._tell(self._channel.chunk(data, t, stale=self._stale), t)
        else:
            self._tell(self._channel.tick(t), t)
        self._carry_out_wishes()
        self.progress += 1

    def _patience(self) -> Micros:
        if self._stale:
            return 0  # only to see whether something waits: what is scanned from now on is fresh
        now = self._clock.now()
        longest = SHORT_READ if self._owed or now < self._eager_until else LONGEST_READ
        deadline = self._channel.deadline
        return longest if deadline is None else max(0, min(longest, deadline - now))

    def _notice_gap(self, data: bytes) -> None:
        """After a gap all is stale until a read that began behind it finds nothing: one before it proves nothing."""
        ran_at, self._ran_at = self._ran_at, self._clock.boot()
        if self._ran_at - ran_at > GAP:
            self._stale = True
            self._log.warning("reader did not run", seconds=(self._ran_at - ran_at) / SECOND)
        elif not data:
            self._stale = False

    def _tell(self, made: Iterable[Output], t: Micros) -> None:
        for output in made:
            if not isinstance(output, Reply):
                self._post(output)
            elif output.settled:
                self._owe(output, t)
            else:
                self._write(output.data)

    def _owe(self, reply: Reply, t: Micros) -> None:
        self._tokens += 1
        self._owed.append(_Owed(self._tokens, reply, t))
        self._post(Settle(self.name, self._tokens, t, reply.within))

    def _write(self, data: bytes) -> None:
        if data:
            self._transport.write(data)
            self._record(Sent(self._clock.now(), self.name, data))

    def _carry_out_wishes(self) -> None:
        while (wish := self._next_wish()) is not None:
            match wish:
                case _Settled(token):
                    self._pay(token)
                case _Tell(outcome):
                    self._write(self._feedback(outcome))
                case _Restart():
                    self._owed.clear()
                    self._channel.restart(self._clock.now())
                case _:
                    assert_never(wish)
        now = self._clock.now()
        while self._owed and not self._owed[0].in_time(now):
            self._owed.popleft()

    def _next_wish(self) -> _Wish | None:
        try:
            return self._wishes.get_nowait()
        except Empty:
            return None

    def _pay(self, token: int) -> None:
        """Writes the replies owed up to `token`, in order: what came before it is in the journal too."""
        now = self._clock.now()
        while self._owed and self._owed[0].token <= token:
            owed = self._owed.popleft()
            if owed.in_time(now):
                self._write(owed.reply.data)

    # --- coming and going -------------------------------------------------------------------------------------

    def _went_up(self, t: Micros) -> None:
        self._up = True
        self._up_at = t
        self._drop_wishes()
        self._record(Link(t, self.name, up=True))
        self._tell(self._channel.up(t), t)
        self._log.info("scanner up")

    def _lost(self, error: TransportError) -> None:
        t = self._clock.now()
        if self._up is not False:
            if self._up and t - self._up_at >= STEADY:
                self._backoff.reset()
            self._up = False
            self._record(Link(t, self.name, up=False, detail=str(error)))
            for output in self._channel.down(t, str(error)):
                if not isinstance(output, Reply):  # a reply has nowhere to go
                    self._post(output)
            self._log_failure("scanner down", error, t)
        elif t - self._logged_at >= LOG_AGAIN:
            self._log_failure("scanner still down", error, t)
        self._drop_wishes()

    def _log_failure(self, event: str, error: TransportError, t: Micros) -> None:
        self._logged_at = t
        self._log.warning(event, detail=str(error), remedy=error.remedy)

    def _drop_wishes(self) -> None:
        """What was meant for the device that was there is not for the one that comes."""
        self._owed.clear()
        while self._next_wish() is not None:
            pass

    def _pause(self, seconds: float) -> None:
        """Waits, or until `stop`; `progress` shows that the thread lives."""
        left = seconds
        while left > 0 and not self._stopping.wait(min(left, 0.5)):
            left -= 0.5
            self.progress += 1
