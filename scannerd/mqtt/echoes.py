"""Events that must be seen to come back before they are held for delivered; see `scannerd.mqtt.rights`."""

from __future__ import annotations

from typing import Generic, TypeVar

ECHO_US = 3_000_000
"""How long after its acknowledgement an event may take to come back."""

SentT = TypeVar("SentT")


class Echoes(Generic[SentT]):
    """Which messages are on their way back; told apart by topic and payload."""

    def __init__(self) -> None:
        """Nothing is on its way."""
        self._open: set[tuple[str, bytes]] = set()
        self._early: set[tuple[str, bytes]] = set()
        self._awaited: dict[tuple[str, bytes], tuple[int, SentT]] = {}

    def sent(self, topic: str, payload: bytes) -> None:
        """A message went out."""
        self._open.add((topic, payload))

    def acknowledged(self, topic: str, payload: bytes, sent: SentT, now: int) -> bool:
        """The broker acknowledged it; True where it has come back already, else `sent` is kept for `came`."""
        key = (topic, payload)
        self._open.discard(key)
        if key in self._early:
            self._early.discard(key)
            return True
        self._awaited[key] = (now, sent)
        return False

    def came(self, topic: str, payload: bytes) -> SentT | None:
        """A message came; returns what was kept of it, if it was acknowledged before."""
        key = (topic, payload)
        if key in self._open:
            self._early.add(key)
        awaited = self._awaited.pop(key, None)
        return None if awaited is None else awaited[1]

    def overdue(self, now: int) -> list[SentT]:
        """Those that were acknowledged and did not come back; they are not waited for any more."""
        late = [key for key, (since, _) in self._awaited.items() if now - since >= ECHO_US]
        return [self._awaited.pop(key)[1] for key in late]

    @property
    def due(self) -> int | None:
        """When the next one is overdue."""
        return min((since + ECHO_US for since, _ in self._awaited.values()), default=None)

    def clear(self) -> None:
        """The connection is gone, and nothing comes back any more."""
        self._open.clear()
        self._early.clear()
        self._awaited.clear()
