"""A game engine's view of a table: `scannerd.client` in a thread, each item held against the journal as it comes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from scannerd.client import BEGINNING, BrokerSettings, Client, Item, TableEvent
from tests.daemon import BOUND_S
from tests.fakes import TABLE
from tests.wire import Message
from tests.witness import Witness


class Follower:
    """Follows the table from its first event on, at the broker on a port.

    Attributes:
        witness: what it was told, and what must never be.
    """

    def __init__(self, port: int, state_dir: Path) -> None:
        """Follows nothing yet."""
        self.witness = Witness(state_dir)
        self._client = Client(
            BrokerSettings((f"mqtt://127.0.0.1:{port}",), "scannerd", TABLE, "engine", keepalive_s=2),
            start=BEGINNING,
            check_chain=True,
        )
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._client.run, args=(self._take,), name="follower", daemon=True)

    def __enter__(self) -> Self:
        """Begins to follow."""
        self._client.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Follows no longer."""
        self._client.stop()
        self._thread.join(BOUND_S)
        self._client.__exit__(kind, error, trace)
        self.witness.let_go()

    def wait(self, condition: Callable[[], bool], bound: float = 2 * BOUND_S) -> None:
        """Returns once `condition` holds; it is asked anew at each item."""
        with self._changed:
            held = self._changed.wait_for(condition, bound)
        assert held, f"only {len(self.witness.bodies)} events: {self.witness.bodies[-3:]}, {self.witness.faults}"

    def wait_for(self, kind: str, count: int = 1) -> None:
        """Returns once so many events of a type were told."""
        self.wait(lambda: self.witness.counts.get(kind, 0) >= count)

    def _take(self, item: Item) -> None:
        with self._changed:
            if isinstance(item, TableEvent):
                self.witness(Message("", item.body))
            else:
                self.witness.faults.append(repr(item))
            self._changed.notify_all()
