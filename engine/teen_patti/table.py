"""The table as the engine needs it: a part of what `scannerd.client.Client` offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from scannerd.client import Answer, Gap, Item


class Table(Protocol):
    """One table, followed over MQTT."""

    @property
    def connected(self) -> bool:
        """Whether a broker has us."""

    @property
    def state(self) -> str | None:
        """What the table's status last said."""

    @property
    def gap(self) -> Gap | None:
        """The events that are missing now."""

    def events(self, timeout_s: float | None = None) -> Iterator[Item]:
        """The items in their order, until nothing came for `timeout_s` seconds."""

    def ask(self, name: str, fields: Mapping[str, object], timeout_s: float = 5.0) -> Answer:
        """Sends a command and waits for the reply."""

    def show(self, topic: str, payload: bytes) -> None:
        """Puts a retained message on a topic."""

    def stop(self) -> None:
        """Ends `events`."""
