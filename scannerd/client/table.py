"""A table as a consumer has it: its events in order, and commands with their replies."""

from __future__ import annotations

import json
import logging
import queue
import re
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from scannerd.client.errors import ChainBroken, NoReply
from scannerd.client.events import Broken, Gap, Item, Position
from scannerd.client.link import Link
from scannerd.client.positions import PositionFile
from scannerd.client.replies import Replies
from scannerd.client.sequencer import Sequencer
from scannerd.commands import Answer
from scannerd.mqtt.link import Arrived
from scannerd.mqtt.notices import BrokerSettings

REPEAT_S = 2.0
"""A command that is not answered is sent again after this time, with the same id: a daemon that was away lost it."""

SESSION_S = 7 * 24 * 3600
"""How long the broker keeps a consumer's session by default."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_POLL_S = 1.0
_LOG = logging.getLogger("scannerd.client")


class _Up:
    """The broker took us, and our subscriptions."""


class _Stop:
    """Somebody wants the end."""


_Letter: TypeAlias = "Arrived | tuple[Gap, Answer] | _Up | _Stop"


def clock() -> int:
    """Monotonic time in microseconds."""
    return time.monotonic_ns() // 1_000


class Commander:
    """Sends commands to a table. Entering it begins to connect; leaving it disconnects."""

    _topics: tuple[str, ...] = ("reply",)

    def __init__(self, broker: BrokerSettings, *, session_s: int = 0) -> None:
        """Opens nothing yet.

        Args:
            broker: where the broker is, the table's id and root, and our own, fixed client id.
            session_s: seconds that the broker keeps our session while we are away.

        Raises:
            ClientError: the settings can't be used.
        """
        self._prefix = broker.prefix
        self._replies = Replies()
        topics = [f"{self._prefix}/{topic}" for topic in self._topics]
        self._link = Link(broker, topics, self._heard, self._up, session_s)

    def __enter__(self) -> Self:
        """Begins to connect; whoever needs a connection waits for it."""
        self._link.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Disconnects."""
        self._link.close()

    @property
    def connected(self) -> bool:
        """Whether a broker has accepted us, and is there still."""
        return self._link.standing

    def show(self, topic: str, payload: bytes) -> None:
        """Puts a retained message on a topic of our own below the table's prefix, such as `result`; from any thread.

        It goes out now if there is a connection, and anew on each that comes. The broker must let us publish there.
        """
        self._link.show(f"{self._prefix}/{topic}", payload)

    def command(self, name: str, /, **fields: object) -> Answer:
        """`ask` with the fields as keywords and 5 s to wait: `command("rescan", slot="A2", by="ana")`."""
        return self.ask(name, fields)

    def ask(self, name: str, fields: Mapping[str, object], timeout_s: float = 5.0) -> Answer:
        """Sends a command and waits for its reply; from any thread.

        While no reply comes it is sent again with the same id, which the daemon carries out once.

        Args:
            name: such as `open`.
            fields: the command's own; `by`, `reason` and `expires` where wanted. Without an `id` it gets a new one;
                give one that you have kept, and the command is safe to repeat even after a crash.
            timeout_s: seconds to wait, for the connection too.

        Raises:
            BrokerAway: there is no connection.
            NoReply: the daemon did not answer; whether the command was carried out is not known.
            ValueError: `name` can't be one.
        """
        asked = {"id": uuid.uuid4().hex, **fields}
        command_id, until = str(asked["id"]), time.monotonic() + timeout_s
        answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._replies.expect(command_id, answers.put)
        try:
            self._link.wait(timeout_s)
            while (left := until - time.monotonic()) > 0:
                self._send(name, asked)
                try:
                    return answers.get(timeout=min(left, REPEAT_S))
                except queue.Empty:
                    continue
        finally:
            self._replies.forget(command_id)
        remark = f" (the broker says: {self._link.remark})" if self._link.remark else ""
        raise NoReply(
            f"no reply from {self._prefix} to {name} within {timeout_s:g} s{remark}; it may have been carried out: "
            f"repeat it with id {command_id} to know"
        )

    def _send(self, name: str, fields: dict[str, object]) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} can't be a command: small letters and _ only")
        payload = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode()
        correlation = str(fields["id"]).encode()
        self._link.send(
            f"{self._prefix}/command/{name}", payload, reply_to=f"{self._prefix}/reply", correlation=correlation
        )

    def _heard(self, arrived: Arrived) -> None:
        self._replies.heard(arrived)

    def _up(self) -> None:
        """A base for those who listen, too."""


class Client(Commander):
    """Follows a table: each event once, in order, nothing missing; and commands, from any thread."""

    _topics = ("event/+", "resend", "round", "status", "reply")

    def __init__(
        self,
        broker: BrokerSettings,
        *,
        start: Position | None = None,
        keep: Path | None = None,
        check_chain: bool = False,
        session_s: int = SESSION_S,
    ) -> None:
        """Opens nothing yet.

        Args:
            broker: where the broker is, the table, and our own client id: fixed, and nobody else's.
            start: what was done before; `BEGINNING`: nothing; None: begin with the next event that comes.
            keep: a file for the position; where it is there, it says where to begin, whatever `start` is.
            check_chain: check each event's hash and that it follows from the one before.
            session_s: seconds that the broker keeps our session while we are away.

        Raises:
            ClientError: the settings, or the file, can't be used.
        """
        self._file = None if keep is None else PositionFile(keep, broker.table)
        kept = None if self._file is None else self._file.load()
        self._sequencer = Sequencer(broker.table, kept or start, check_chain=check_chain)
        self._inbox: queue.SimpleQueue[_Letter] = queue.SimpleQueue()
        self._pending: deque[Item] = deque()
        self._given: Item | None = None
        self._journal: str | None = None
        self._state: str | None = None
        self._head: Position | None = None
        self._asked = ""
        super().__init__(broker, session_s=session_s)

    @property
    def gap(self) -> Gap | None:
        """What is missing now and is being asked for: until it comes, nothing behind it is told."""
        return self._sequencer.gap

    @property
    def state(self) -> str | None:
        """What the table's status last said: `online`, `degraded` or `offline`; None before it said anything."""
        return self._state

    @property
    def head(self) -> Position | None:
        """How far the table has come, as its retained topics last said; None before both said it.

        The two may be of different ages: it is sound only after a `snapshot` was answered.
        """
        return self._head

    @property
    def strays(self) -> int:
        """How many messages were no sound event of this table."""
        return self._sequencer.strays

    def events(self, timeout_s: float | None = None) -> Iterator[Item]:
        """The items in their order; waits for more until `stop`, or until nothing came for `timeout_s` seconds.

        May be called again: it goes on with the item after the last.

        Raises:
            BrokerAway: the broker refuses us a topic.
            ChainBroken: an event does not follow from the one before; nothing after it can be had.
            PositionUnusable: the file can't be written.
        """
        while self._finish() and (self._pending or self._wait(timeout_s)):
            item = self._given = self._pending.popleft()
            if isinstance(item, Broken):
                raise ChainBroken(f"event {item.seq} of journal {item.journal}: {item.detail}")
            yield item

    def run(self, told: Callable[[Item], None]) -> None:
        """Calls `told` with each item, in this thread, until `stop`; raises what `events` raises, and what it does."""
        for item in self.events():
            told(item)

    def stop(self) -> None:
        """Ends `events` and `run` once what has come is told; from any thread, and from a signal's handler."""
        self._inbox.put(_Stop())

    def _finish(self) -> bool:
        """The item given last is done: whoever had it wants the next."""
        if self._file is not None and self._given is not None:
            self._file.save(self._given.position)
        self._given = None
        return True

    def _wait(self, timeout_s: float | None) -> bool:
        """Waits until items are pending; False at the end."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._pending:
            left = _POLL_S if until is None else min(_POLL_S, until - time.monotonic())
            if left <= 0:
                return False
            self._ask()
            try:
                letter = self._inbox.get(timeout=left)
            except queue.Empty:
                continue
            if isinstance(letter, _Stop):
                return False
            self._pending.extend(self._take(letter))
        return True

    def _take(self, letter: Arrived | tuple[Gap, Answer] | _Up) -> list[Item]:
        now = clock()
        if isinstance(letter, _Up):
            self._link.check()
            self._send("snapshot", {"id": uuid.uuid4().hex})  # so that what came last is known, though nothing comes
            return []
        if isinstance(letter, tuple):
            return self._sequencer.answered(letter[0], letter[1].error, now)
        topic = letter.topic.removeprefix(f"{self._prefix}/")
        if topic.startswith("event/") or topic == "resend":
            return self._sequencer.take(letter.payload, now, resent=topic == "resend")
        return self._note(topic, letter.payload, now)

    def _note(self, topic: str, payload: bytes, now: int) -> list[Item]:
        """Takes a retained topic: the status names the journal, the round how far it has come."""
        try:
            told = json.loads(payload)
            if topic == "status":
                self._state = str(told.get("state"))
                self._journal = str(told["journal"])
            elif self._journal is not None:
                self._head = Position(self._journal, int(told["seq"]))
                return self._sequencer.head(self._journal, self._head.seq, now)
        except (ValueError, TypeError, KeyError):
            _LOG.warning("%s can't be read: %r", topic, payload[:200])
        return []

    def _ask(self) -> None:
        gap = self._sequencer.request(clock())
        if gap is None:
            return
        _LOG.warning("events %d to %d are missing, and asked for", gap.first, gap.last)
        self._replies.forget(self._asked)
        self._asked = uuid.uuid4().hex
        self._replies.expect(self._asked, lambda answer: self._inbox.put((gap, answer)))
        self._send("resend", {"id": self._asked, "from": gap.first, "to": gap.last})

    def _heard(self, arrived: Arrived) -> None:
        if arrived.topic == f"{self._prefix}/reply":
            self._replies.heard(arrived)
        else:
            self._inbox.put(arrived)

    def _up(self) -> None:
        self._inbox.put(_Up())
