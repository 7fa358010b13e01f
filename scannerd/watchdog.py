"""Tells systemd that the daemon lives, but only while every thread that must move has moved.

A reader that is opening its device may stand still: one blocked device is no hang of the table. A stuck engine never
gets here, and a stuck publisher or reader withholds the word, so that systemd starts the process again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from scannerd.systemd import Notifier


class Worker(Protocol):
    """A thread whose loop counts its turns."""

    @property
    def progress(self) -> int:
        """Grows with every turn."""


class Opener(Worker, Protocol):
    """A thread that may stand still while it opens a device."""

    @property
    def opening(self) -> bool:
        """Whether it is opening one now."""


class Watchdog:
    """Fed by the engine once a second."""

    def __init__(self, notifier: Notifier, publisher: Worker, readers: Sequence[Opener]) -> None:
        """Takes the threads to watch."""
        self._notifier, self._publisher, self._readers = notifier, publisher, readers
        self._seen: dict[int, int] = {}

    def feed(self) -> None:
        """Says that we live, if all have moved since the last time."""
        moved = [self._moved(self._publisher)]
        moved += [self._moved(reader) or reader.opening for reader in self._readers]
        if all(moved):
            self._notifier.watchdog()

    def _moved(self, worker: Worker) -> bool:
        before, now = self._seen.get(id(worker)), worker.progress
        self._seen[id(worker)] = now
        return before != now
