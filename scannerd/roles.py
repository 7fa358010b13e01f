"""What the engine is told of itself and whom it speaks to: the publisher, the readers, and what it is to do."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from scannerd.contract import Outcome
from scannerd.inbox import CheckCause, Letter
from scannerd.journal import Record
from scannerd.mqtt.notices import Reply
from scannerd.signing import Sign


class Speaker(Protocol):
    """As much of the publisher as the engine uses; none of it blocks, except `stop`, which is bounded."""

    def wake(self, head: int, fresh: Sequence[Record] = ()) -> None:
        """The journal now ends at `head`; `fresh` is what was just written, so that it need not be read back."""

    def show(self, topic: str, payload: bytes) -> None:
        """A retained topic has a new payload."""

    def answer(self, reply: Reply) -> None:
        """A command is answered."""

    def resend(self, first: int, last: int, then: Reply) -> None:
        """Events are asked for again, both ends included."""


class Station(Protocol):
    """As much of a reader as the engine uses; none of it blocks."""

    def settled(self, token: int) -> None:
        """What was read before the token is in the journal."""

    def feedback(self, outcome: Outcome) -> None:
        """Tells the scanner of an outcome, where it is configured to be told."""

    def restart_decoder(self) -> None:
        """Half a frame is forgotten: the journal failed."""


@dataclass(frozen=True, slots=True)
class Process:
    """What this process is: the same from start to end."""

    session: str
    version: str
    config_digest: str


@dataclass(frozen=True, slots=True)
class Duties:
    """What the configuration asks of the engine beside dealing.

    Attributes:
        sign: signs each event, or None.
        reject_rate: more than one rejected read in so many is alarmed; 0: never.
        reject_window: over so many of the last reads.
        keep_days: how long acknowledged events are kept; 0: for ever.
        check: begins a self-check, whose result comes as a letter; must not block.
        reload: begins to read the configuration anew, whose result comes as a letter; must not block.
    """

    sign: Sign | None = None
    reject_rate: int = 0
    reject_window: int = 1
    keep_days: int = 0
    check: Callable[[CheckCause, str | None], None] = lambda _cause, _by: None
    reload: Callable[[], None] = lambda: None


Inbox: TypeAlias = "queue.SimpleQueue[Letter]"

DEALING_ONLY = Duties()
"""Nothing is asked beside dealing."""
