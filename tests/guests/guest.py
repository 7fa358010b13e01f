"""A Debian system with systemd in which scripts run as root: a virtual machine or a container."""

from __future__ import annotations

import base64
import select
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from tests.guests.lines import Lines

Value: TypeAlias = str | int | float | bool | list["Value"] | dict[str, "Value"] | None
"""What JSON can say."""

RUN_S = 60.0
PAUSE_S = 0.1


class GuestError(Exception):
    """Something in the guest is not as it should be: a check fails, the next one goes on."""


class CommandError(GuestError):
    """A command in the guest ended with another status than 0, or something did not become true."""


class Guest(ABC):
    """The system.

    Attributes:
        events: the lines that were written to `events_path`.
        events_path: a file of the guest that the host reads.
    """

    events: Lines
    events_path: str

    @abstractmethod
    def ask(self, script: str, seconds: float = RUN_S) -> tuple[int, str]:
        """Runs a script, as root; returns its status and what it printed.

        Raises:
            GoneError: it took longer than `seconds`.
        """

    @abstractmethod
    def put(self, file: Path) -> str:
        """Copies a file of the host into the guest's /run, and returns its path there."""

    def run(self, script: str, seconds: float = RUN_S) -> str:
        """Runs a script, as root, and returns what it printed.

        Raises:
            CommandError: its status was not 0.
            GoneError: it took longer than `seconds`.
        """
        status, output = self.ask(script, seconds)
        if status != 0:
            raise CommandError(f"status {status} of {script[:200]!r}: {output.strip()[-2000:]}")
        return output

    def write(self, path: str, content: str | bytes) -> None:
        """Writes a file of the guest."""
        data = content.encode() if isinstance(content, str) else content
        self.run(f"mkdir -p $(dirname {path}); base64 -d <<<'{base64.b64encode(data).decode()}' >{path}")

    def wait(self, what: str, true: Callable[[], bool], seconds: float) -> None:
        """Asks again and again.

        Raises:
            CommandError: it did not become true within `seconds`.
        """
        end = time.monotonic() + seconds
        while not true():
            if time.monotonic() > end:
                raise CommandError(f"not within {seconds:g} s: {what}")
            select.select([], [], [], PAUSE_S)
