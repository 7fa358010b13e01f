"""Between sources, desk and screen: letters and keys change the desk, wishes are carried out beside it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeAlias

from scannerd.texts import Texts
from scannerd.watching.desk import Act, Desk, Leave, Outcome, SignIn, Wish, pressed, settled, stood, told
from scannerd.watching.known import Known, Told
from scannerd.watching.source import Source

Letter: TypeAlias = Told | Outcome


class Session:
    """One person at one terminal. All but `post` is called by the screen's thread.

    Attributes:
        desk: what to draw.
    """

    def __init__(self, sources: Sequence[Source], words: Texts, wake: Callable[[], None]) -> None:
        """Nothing is known yet; `wake` is called, from any thread, when a letter has come."""
        self._sources = {source.table: source for source in sources}
        self._opened: list[Source] = []
        self._letters: queue.SimpleQueue[Letter] = queue.SimpleQueue()
        self._wake = wake
        guards = {source.table: source.guard for source in sources}
        self.desk = Desk(words, tuple(Known(table) for table in self._sources), guards)

    def open(self) -> None:
        """Begins to listen to all tables."""
        for source in self._sources.values():
            source.open(self.post)
            self._opened.append(source)

    def close(self) -> None:
        """Leaves all tables that it listens to."""
        for source in self._opened:
            source.close()

    def post(self, letter: Letter) -> None:
        """Takes a letter; from any thread."""
        self._letters.put(letter)
        self._wake()

    def turn(self) -> None:
        """Takes all that has come."""
        while not self._letters.empty():
            letter = self._letters.get_nowait()
            if isinstance(letter, Outcome):
                self.desk, wish = settled(self.desk, letter)
                self._carry_out(wish)
            else:
                self.desk = told(self.desk, letter)
        self.desk = stood(self.desk, {table: source.standing for table, source in self._sources.items()})

    def press(self, key: str) -> bool:
        """Takes a key; False: it was the last one."""
        self.desk, wish = pressed(self.desk, key)
        self._carry_out(wish)
        return not isinstance(wish, Leave)

    def _carry_out(self, wish: Wish | None) -> None:
        if isinstance(wish, SignIn | Act):
            threading.Thread(target=self._do, args=(wish,), name="watch-wish", daemon=True).start()

    def _do(self, wish: SignIn | Act) -> None:
        source = self._sources[wish.table]
        try:
            if isinstance(wish, SignIn):
                outcome = source.sign_in(wish.name, wish.pin)
            else:
                outcome = source.act(wish.name, wish.command, wish.fields)
        except Exception as trouble:  # noqa: BLE001 - whoever waits must hear of it, whatever it is
            outcome = Outcome(wish.table, "failed", {"message": repr(trouble)})
        self.post(outcome)
