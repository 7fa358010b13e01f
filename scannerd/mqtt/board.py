"""The retained topics: the latest payload of each wins, and all are shown anew on each connection."""

from __future__ import annotations

from scannerd.mqtt.window import DENIED_RETRY_US


class Board:
    """What stands on each retained topic, and what of it the broker does not have yet.

    At most one message of a topic is in flight; what comes meanwhile replaces what waits. `mark` counts the calls of
    `show`, so that a reply can wait for what was shown before it and for nothing else.
    """

    def __init__(self, first: str) -> None:
        """`first` is the topic that goes out before the others on a new connection."""
        self.mark = 0
        self._first = first
        self._latest: dict[str, bytes] = {}
        self._waiting: dict[str, int] = {}
        self._flying: set[str] = set()
        self._held: dict[str, int] = {}

    def show(self, topic: str, payload: bytes) -> None:
        """Puts `payload` on `topic`, also if it stands there already."""
        self.mark += 1
        self._latest[topic] = payload
        self._waiting.setdefault(topic, self.mark)

    def again(self, topic: str) -> None:
        """Shows anew what stands on `topic`, if anything does."""
        if topic in self._latest:
            self.show(topic, self._latest[topic])

    def stands(self, topic: str, payload: bytes) -> bool:
        """Whether `payload` is what stands on `topic`."""
        return self._latest.get(topic) == payload

    def restart(self) -> None:
        """A new connection: everything is to be shown anew."""
        self._flying.clear()
        self._held.clear()
        topics = sorted(self._latest, key=lambda topic: topic != self._first)
        self._waiting = {topic: self._waiting.get(topic, self.mark) for topic in topics}

    def next(self, now: int) -> tuple[str, bytes] | None:
        """Topic and payload that may go out now."""
        for topic in self._waiting:
            if topic not in self._flying and self._held.get(topic, now) <= now:
                return topic, self._latest[topic]
        return None

    def sent(self, topic: str) -> None:
        """Notes that the latest of `topic` is on its way."""
        del self._waiting[topic]
        self._flying.add(topic)

    def settled(self, topic: str) -> None:
        """The broker has answered for `topic`."""
        self._flying.discard(topic)
        self._held.pop(topic, None)

    def denied(self, topic: str, now: int) -> None:
        """The broker refused `topic`: its latest is tried again after 5 s."""
        self._flying.discard(topic)
        self._held[topic] = now + DENIED_RETRY_US
        self._waiting.setdefault(topic, self.mark)

    def drop(self, topic: str) -> None:
        """Gives up the latest of `topic`: it is too large for the broker."""
        self._waiting.pop(topic, None)

    def forget(self, topic: str) -> None:
        """Takes the latest of `topic` back: a broker ended the connection over its size."""
        self._latest.pop(topic, None)
        self._waiting.pop(topic, None)

    def ready(self, mark: int) -> bool:
        """Whether everything shown up to `mark` is on its way, refused topics aside."""
        return all(since > mark or topic in self._held for topic, since in self._waiting.items())

    @property
    def idle(self) -> bool:
        """Whether the broker has everything, refused topics aside."""
        return not self._flying and self.ready(self.mark)

    @property
    def due(self) -> int | None:
        """When a refused topic is to be tried again."""
        return min(self._held.values(), default=None)
