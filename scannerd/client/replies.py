"""Which reply belongs to which command."""

from __future__ import annotations

import threading
from collections.abc import Callable

from pydantic import TypeAdapter, ValidationError

from scannerd.commands import Answer
from scannerd.mqtt.link import Arrived

Hear = Callable[[Answer], None]
_ANSWER = TypeAdapter(Answer)


class Replies:
    """Those who wait for a reply, by the id of their command; used from several threads."""

    def __init__(self) -> None:
        """Nobody waits."""
        self._waiting: dict[str, Hear] = {}
        self._lock = threading.Lock()

    def expect(self, command_id: str, hear: Hear) -> None:
        """From now on `hear` is told of each reply to `command_id`, in the thread that brings it."""
        with self._lock:
            self._waiting[command_id] = hear

    def forget(self, command_id: str) -> None:
        """Nobody waits for it any more."""
        with self._lock:
            self._waiting.pop(command_id, None)

    def heard(self, arrived: Arrived) -> None:
        """Takes a reply: correlation data tells whose it is even where a refusal has no id, else the id does."""
        answer = read_answer(arrived.payload)
        if answer is None:
            return
        key = answer.id if arrived.correlation is None else arrived.correlation.decode(errors="replace")
        with self._lock:
            hear = self._waiting.get(key or "")
        if hear is not None:
            hear(answer)


def read_answer(payload: bytes) -> Answer | None:
    """The reply in a message's bytes, or None where there is none."""
    try:
        return _ANSWER.validate_json(payload)
    except ValidationError:
        return None
