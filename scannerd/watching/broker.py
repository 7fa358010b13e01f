"""A table as its broker tells it; actions are commands over MQTT.

Who has the broker's password could send any command that its rights allow, with or without this program. So from the
broker alone no PIN is asked for. Where the table's configuration is at hand, its PIN is asked for all the same: it then
keeps the keyboard of a shared machine from being used by whoever walks by.
"""

from __future__ import annotations

import json
import math
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from scannerd.client import BrokerSettings, ClientError, Commander, read_event
from scannerd.display.pin import Door, fits, read
from scannerd.mqtt.link import Arrived
from scannerd.watching.desk import Guard, Outcome
from scannerd.watching.known import Happened, Shown, Topic
from scannerd.watching.source import Tell

_SHOWN = ("prompt", "round", "status")
_MINUTE_US = 60_000_000
IDLE_US = 30 * _MINUTE_US
"""Microseconds without an action after which the PIN is asked for again."""


def clock() -> int:
    """Monotonic time in microseconds."""
    return time.monotonic_ns() // 1_000


class BrokerSource(Commander):
    """Hears a table's topics."""

    _topics = (*_SHOWN, "event/+", "reply")

    def __init__(self, broker: BrokerSettings, pin_file: Path | Literal["none"] | None = "none") -> None:
        """Opens nothing yet.

        Args:
            broker: where, and which table.
            pin_file: the PIN's hash; None: there is none, and nothing may be done; "none": the broker alone decides.

        Raises:
            ClientError: the settings can't be used.
        """
        self.table = broker.table
        self.guard: Guard = "broker" if pin_file == "none" else "pin"
        self._pin_file = None if pin_file == "none" else pin_file
        self._door, self._used_at = Door(clock), clock()
        self._tell: Tell = _nobody
        super().__init__(broker)

    @property
    def standing(self) -> bool:
        """Whether a broker has accepted us and is there still."""
        return self.connected

    def open(self, tell: Tell) -> None:
        """Begins to connect."""
        self._tell = tell
        self.__enter__()

    def close(self) -> None:
        """Disconnects."""
        self.__exit__(None, None, None)

    def sign_in(self, name: str, pin: str) -> Outcome:
        """Checks the PIN here."""
        line = read(self._pin_file)
        if line is None:
            return Outcome(self.table, "no_pin")
        if not self._door.tries():
            return self._locked()
        if not _fits(pin, line):
            return self._locked() if self._door.locked_us else self._outcome("wrong_pin", left=str(self._door.left))
        self._door.opened()
        self._used_at = clock()
        return self._outcome("signed_in", name=name)

    def act(self, name: str, command: str, fields: Mapping[str, str]) -> Outcome:
        """Sends a command; the broker's word about it, if any, is in the outcome."""
        if self.guard == "pin" and clock() - self._used_at > IDLE_US:
            return Outcome(self.table, "signed_out")
        self._used_at = clock()
        try:
            answer = self.ask(command, {"id": uuid.uuid4().hex, "by": name, **fields})
        except ClientError as trouble:
            return self._outcome("failed", message=trouble.line)
        if not answer.ok:
            return self._outcome("failed", message=answer.message or answer.error or "")
        return self._outcome("done", command=command)

    def _heard(self, arrived: Arrived) -> None:
        topic = arrived.topic.removeprefix(f"{self._prefix}/")
        if topic == "reply":
            super()._heard(arrived)
        elif topic.startswith("event/"):
            event = read_event(arrived.payload)
            if event is not None:
                self._tell(Happened(self.table, (event,)))
        else:
            self._show(topic, arrived.payload)

    def _show(self, topic: str, payload: bytes) -> None:
        try:
            fields: object = json.loads(payload)
        except (ValueError, RecursionError):
            return
        self._tell(Shown(self.table, cast("Topic", topic), fields))

    def _up(self) -> None:
        """The next turn of the screen sees that we stand."""
        self._tell(Happened(self.table, ()))

    def _locked(self) -> Outcome:
        return self._outcome("locked", minutes=str(math.ceil(self._door.locked_us / _MINUTE_US)))

    def _outcome(self, kind: str, **blanks: str) -> Outcome:
        return Outcome(self.table, kind, blanks)


def _nobody(told: object) -> None:
    """Nobody listens yet."""
    del told


def _fits(pin: str, line: str) -> bool:
    try:
        return fits(pin, line)
    except ValueError:  # the file was changed by hand: nobody gets in
        return False
