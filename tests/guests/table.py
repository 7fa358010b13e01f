"""The table as its consumers see it: what the broker in the guest hands out, and what the guest's journal tells."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

from tests.guests.guest import Guest, GuestError, Value

TABLE = "tp-01"
UNIT = f"scannerd@{TABLE}.service"
_TOPICS = f"scannerd/v1/{TABLE}/"
_SECOND = 1_000_000

SOON = 20.0
"""Seconds within which whatever is expected should have come, in a guest that is slow."""

TOGETHER = 0.5
"""Seconds by which what came first may be told last: the kernel's lines are stamped by another clock."""

QUIET = 2.0
"""Seconds without a message that are taken for the end of what comes."""


class TableError(GuestError):
    """The table did not say what it should."""


@dataclass(frozen=True, slots=True)
class Event:
    """An event as published; `data` is as the contract says."""

    seq: int
    type: str
    round: str | None
    data: dict[str, Value]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the guest's journal.

    Attributes:
        at: seconds on the guest's monotonic clock.
        wall: its time of day, seconds since 1970.
        kernel: whether the kernel says it.
        text: the line.
    """

    at: float
    wall: float
    kernel: bool
    text: str

    def says(self, event: str, scanner: str) -> bool:
        """Whether the daemon says `event` of a scanner."""
        return f'"event": "{event}"' in self.text and f'"scanner": "{scanner}"' in self.text


class Table:
    """Follows the broker from the moment it is made; events are taken one after the other."""

    def __init__(self, machine: Guest) -> None:
        """Starts the follower in the guest; mosquitto runs there."""
        self._machine = machine
        self._events: list[Event] = []
        self._taken = 0
        self._retained: dict[str, dict[str, Value]] = {}
        self._replies: dict[str, dict[str, Value]] = {}
        self._ids = itertools.count(1)
        self.follow()

    def follow(self) -> None:
        """Starts the follower, after a start of the guest."""
        follow = f"mosquitto_sub -q 1 -t '{_TOPICS}#' -F '%t %p' >{self._machine.events_path}"
        self._machine.run(f'systemd-run --quiet --unit=follower --property=Restart=always sh -c "{follow}"')

    # --- what the broker says ---------------------------------------------------------------------------------

    def expect(self, kind: str, seconds: float = SOON, **data: Value) -> Event:
        """Takes events up to the first of a type whose data hold what is given, and returns that one.

        Raises:
            TableError: none came within `seconds`.
        """
        met: list[str] = []
        end = time.monotonic() + seconds
        while (event := self._next_event(end)) is not None:
            if event.type == kind and all(event.data.get(key) == value for key, value in data.items()):
                return event
            met.append(f"{event.type} {json.dumps(event.data)}")
        wanted = f"{kind} {json.dumps(data)}" if data else kind
        raise TableError(f"no {wanted} within {seconds:g} s; instead: {'; '.join(met) or 'nothing'}")

    def rest(self, seconds: float = QUIET) -> list[Event]:
        """All events not taken yet, until none has come for `seconds`."""
        taken = []
        while (event := self._next_event(time.monotonic() + seconds)) is not None:
            taken.append(event)
        return taken

    def listen(self, seconds: float) -> None:
        """Lets `seconds` pass; what comes meanwhile is kept."""
        end = time.monotonic() + seconds
        while self._take(end):
            pass

    def expect_retained(self, topic: str, seconds: float = SOON, **fields: Value) -> dict[str, Value]:
        """Waits until what stands on a retained topic holds the fields, and returns all of it.

        Raises:
            TableError: it did not within `seconds`.
        """
        end = time.monotonic() + seconds
        while True:
            stands = self._retained.get(topic, {})
            if fields.items() <= {key: value for key, value in stands.items() if key in fields}.items():
                return stands
            if not self._take(end):
                raise TableError(f"on {topic} stands {json.dumps(stands)}, expected {json.dumps(fields)}")

    def command(self, name: str, **fields: Value) -> dict[str, Value]:
        """Gives a command and returns its reply.

        Raises:
            TableError: it was refused, or not answered.
        """
        own = f"vm-{next(self._ids)}"
        payload = json.dumps({"id": own, "by": "vm", **fields})
        self._machine.run(f"mosquitto_pub -q 1 -t {_TOPICS}command/{name} -m '{payload}'")
        end = time.monotonic() + SOON
        while own not in self._replies:
            if not self._take(end):
                raise TableError(f"no reply to {name}")
        reply = self._replies[own]
        if reply.get("ok") is not True:
            raise TableError(f"{name} was refused: {json.dumps(reply)}")
        return reply

    @property
    def phase(self) -> Value:
        """The phase that the retained round is in; None before the first."""
        return self._retained.get("round", {}).get("phase")

    def missing(self) -> list[int]:
        """The seqs between the first and the last event seen that never came."""
        seqs = {event.seq for event in self._events}
        return [seq for seq in range(min(seqs), max(seqs)) if seq not in seqs]

    def out_of_order(self) -> list[int]:
        """The seqs that came after a higher one, sent again or not."""
        highest = list(itertools.accumulate((event.seq for event in self._events), max))
        return [event.seq for event, top in zip(self._events[1:], highest, strict=False) if event.seq <= top]

    def _next_event(self, end: float) -> Event | None:
        while self._taken == len(self._events):
            if not self._take(end):
                return None
        self._taken += 1
        return self._events[self._taken - 1]

    def _take(self, end: float) -> bool:
        """Files the next message; False if none came before `end`."""
        line = self._machine.events.poll(max(0.0, end - time.monotonic()))
        if line is None:
            return False
        topic, _, payload = line.decode().removeprefix(_TOPICS).partition(" ")
        if topic.startswith("command/") or not payload:
            return True
        told = json.loads(payload)
        if topic.startswith("event/"):
            self._events.append(Event(told["seq"], told["type"], told["round"], told["data"]))
        elif topic == "reply":
            self._replies[str(told["id"])] = told
        else:
            self._retained[topic] = told
        return True

    # --- what the guest's journal says ------------------------------------------------------------------------

    def replug_seconds(self, scanner: str) -> float:
        """From the kernel's word that a USB device is there to the daemon's that the scanner is up, the last of each.

        Raises:
            TableError: one of them is missing.
        """
        return self._between("New USB device found", "scanner up", scanner)

    def link_seconds(self, scanner: str) -> float:
        """From the link that udev made to the daemon's word that the scanner is up, the last of each.

        Raises:
            TableError: the daemon does not say so.
        """
        made = float(self._machine.run(f"stat -c %.6Z /dev/scannerd/{scanner}"))
        return self._last(list(self.journal()), "scanner up", scanner).wall - made

    def unplug_seconds(self, scanner: str) -> float:
        """From the kernel's word that a USB device is gone to the daemon's that the scanner is down, the last of each.

        Raises:
            TableError: one of them is missing.
        """
        return self._between("USB disconnect", "scanner down", scanner)

    def journal(self) -> Iterator[Entry]:
        """The last lines of the guest's journal, the newest first."""
        fields = "MESSAGE,_TRANSPORT,_SOURCE_MONOTONIC_TIMESTAMP"
        said = self._machine.run(f"journalctl --sync; journalctl -b -r -n 300 -o json --output-fields={fields}")
        for line in said.splitlines():
            told = json.loads(line)
            kernel = told.get("_TRANSPORT") == "kernel"
            at = told.get("_SOURCE_MONOTONIC_TIMESTAMP") if kernel else None
            mono, wall = int(at or told["__MONOTONIC_TIMESTAMP"]), int(told["__REALTIME_TIMESTAMP"])
            yield Entry(mono / _SECOND, wall / _SECOND, kernel, str(told["MESSAGE"]))

    def _between(self, kernel: str, daemon: str, scanner: str) -> float:
        entries = list(self.journal())
        ended = self._last(entries, daemon, scanner).at
        for entry in entries:
            if entry.kernel and kernel in entry.text and entry.at < ended + TOGETHER:
                return max(0.0, ended - entry.at)
        raise TableError(f"the journal does not say {kernel!r} before {daemon!r} of {scanner}")

    @staticmethod
    def _last(entries: list[Entry], daemon: str, scanner: str) -> Entry:
        for entry in entries:
            if entry.says(daemon, scanner):
                return entry
        raise TableError(f"the journal does not say {daemon!r} of {scanner}")
