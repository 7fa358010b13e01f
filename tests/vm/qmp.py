"""QEMU's control socket: plugs and pulls USB devices, types keys, saves the machine's state.

The protocol is one JSON object a line (QEMU Machine Protocol Specification); events between answers are passed over.
"""

from __future__ import annotations

import json

from tests.guests.guest import GuestError, Value
from tests.guests.lines import Lines

ANSWER_S = 60.0
"""Saving the state takes the longest, some seconds."""

_KEYS = {"\n": "ret"}


class QmpError(GuestError):
    """QEMU refused a command."""


class Qmp:
    """A connection on which commands may be given."""

    def __init__(self, lines: Lines) -> None:
        """Takes the fresh connection; QEMU greets first."""
        self._lines = lines
        lines.next(ANSWER_S)
        self.command("qmp_capabilities")

    def command(self, name: str, **arguments: Value) -> Value:
        """Gives a command and returns its answer.

        Raises:
            QmpError: it was refused.
        """
        self._lines.send(json.dumps({"execute": name, "arguments": arguments}).encode() + b"\n")
        while True:
            answer = json.loads(self._lines.next(ANSWER_S))
            if "error" in answer:
                raise QmpError(f"{name}: {answer['error']['desc']}")
            if "return" in answer:
                result: Value = answer["return"]
                return result

    def monitor(self, line: str) -> None:
        """Gives a command of the monitor for people, which is silent when all is well.

        Raises:
            QmpError: it said something.
        """
        said = self.command("human-monitor-command", **{"command-line": line})
        if said:
            raise QmpError(f"{line}: {said}")

    def type(self, text: str) -> None:
        """Presses and releases keys on the keyboard that was plugged in last; lower case and line feeds only."""
        for character in text:
            for down in (True, False):
                key: Value = {"type": "qcode", "data": _KEYS.get(character, character)}
                self.command("input-send-event", events=[{"type": "key", "data": {"down": down, "key": key}}])
