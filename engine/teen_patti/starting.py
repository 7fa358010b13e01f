"""From options to a running engine: its file, its connection, and where at the table it begins."""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from scannerd.client import BEGINNING, BrokerAway, BrokerSettings, Client, NoReply, Position
from teen_patti.keeping import Keeper, Kept
from teen_patti.running import Engine, Play
from teen_patti.state import State

_ASK_S: Final = 2.0
_DRAIN_S: Final = 0.3
_LOG = logging.getLogger("teen_patti")


class Stop:
    """Whether the end is wanted, and what then is to be called.

    Attributes:
        wanted: whether it is.
    """

    def __init__(self) -> None:
        """Nobody wants it yet."""
        self.wanted = False
        self._then: Callable[[], None] | None = None

    def want(self) -> None:
        """The end is wanted; from a signal's handler too."""
        self.wanted = True
        if self._then is not None:
            self._then()

    def then(self, act: Callable[[], None]) -> None:
        """Calls `act` once the end is wanted: now, if it is."""
        self._then = act
        if self.wanted:
            act()


def play(broker: BrokerSettings, path: Path, how: Play, *, rounds: int | None = None, from_start: bool = False) -> None:
    """Plays until SIGTERM, Ctrl-C, or so many rounds; must be called in the main thread.

    Args:
        broker: where the broker is, the table, and a client id that nobody else has.
        path: the state file; made where there is none.
        how: pace, language, bettors.
        rounds: end after so many rounds were dealt and have ended; None: never.
        from_start: with a new state file, begin at the first event of the table's journal, not where it is now.

    Raises:
        EngineError: the state file can't be used, or not be written.
        ClientError: the table can't be followed.
    """
    with Keeper(path) as keeper, _signals() as stop:
        kept = keeper.load(broker.table)
        if kept is None:
            position = BEGINNING if from_start else here(broker, stop)
            kept = Kept(State(broker.table), position)
            if not stop.wanted:
                keeper.save(kept)
        with Client(broker, start=kept.position, check_chain=True) as client:
            engine = Engine(client, keeper, kept, how)
            stop.then(engine.stop)
            engine.run(rounds)


def here(broker: BrokerSettings, stop: Stop) -> Position:
    """Where the table is now; waits for the table as long as it takes, or until the end is wanted.

    Nothing is risked before it is known: an engine that began with whatever came first could never tell what it missed.
    """
    with Client(broker) as client:
        while not stop.wanted:
            if _answers(client) and client.head is not None:
                return client.head
    return BEGINNING


def _answers(client: Client) -> bool:
    """Whether the table told its state anew; what came before the answer is taken in."""
    try:
        client.ask("snapshot", {}, _ASK_S)
    except (BrokerAway, NoReply) as silence:
        _LOG.warning("the table is not there yet: %s", silence)
        return False
    until = time.monotonic() + _DRAIN_S
    while (left := until - time.monotonic()) > 0:
        next(client.events(left), None)
    return True


@contextmanager
def _signals() -> Iterator[Stop]:
    """While this is open, SIGTERM and Ctrl-C want the end, and nothing else."""
    stop = Stop()
    before = {number: signal.signal(number, lambda *_: stop.want()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
