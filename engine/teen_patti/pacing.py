"""What the engine does by itself, and how long after a round came into its phase: rows of a table.

A table is in sight while a broker has us, the daemon is there and no event is missing. Out of sight nothing is opened
or settled (a correction may be on its way), and a round that has not begun is cancelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from teen_patti.messages import CloseBetting, Fault, Input, OpenBetting, SendOpen, SettleNow
from teen_patti.state import Phase, State

ASK_AGAIN_S: Final = 3.0
"""The command `open` is sent again, with the same id, until the table deals."""

AFTER_CANCEL_S: Final = 1.0
"""A table that refuses rounds is not pestered."""

OUT_OF_SIGHT_S: Final = 2.0
"""So long the table may be out of sight before a round that has not begun is cancelled."""

_OUT_OF_SIGHT: Mapping[Phase | None, float] = MappingProxyType(
    {Phase.BETTING_OPEN: OUT_OF_SIGHT_S, Phase.BETTING_CLOSED: OUT_OF_SIGHT_S}
)


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast rounds follow one another; times in seconds.

    Attributes:
        betting_s: how long bets are taken, before the table is asked to deal.
        settle_s: how long a result may be corrected, before it is paid.
        follow: the table opens rounds by itself, which ends the betting: it is never asked to deal.
    """

    betting_s: float = 12.0
    settle_s: float = 3.0
    follow: bool = False

    def wait_s(self, phase: Phase | None, *, in_sight: bool) -> float | None:
        """After what time in `phase` something is to be done; None: nothing is."""
        if not in_sight:
            return _OUT_OF_SIGHT.get(phase)
        betting: dict[Phase | None, float] = (
            {} if self.follow else {Phase.BETTING_OPEN: self.betting_s, Phase.BETTING_CLOSED: 0.0}
        )
        waits: dict[Phase | None, float] = {
            None: 0.0,
            Phase.OPEN_SENT: ASK_AGAIN_S,
            Phase.RESULT: self.settle_s,
            Phase.SETTLED: 0.0,
            Phase.VOIDED: 0.0,
            Phase.CANCELLED: AFTER_CANCEL_S,
            **betting,
        }
        return waits.get(phase)


def due(state: State, at: datetime, *, in_sight: bool) -> tuple[Input, ...]:
    """What to put into the round once its wait is over; nothing where only `open` is to be sent again."""
    current = state.round
    if current is None or current.phase.ended:
        return (OpenBetting(at, round_id(at)),)
    match current.phase:
        case Phase.BETTING_OPEN | Phase.BETTING_CLOSED if not in_sight:
            return (Fault(at, "network"),)
        case Phase.BETTING_OPEN:
            return CloseBetting(at), SendOpen(at, command_id(current.id))
        case Phase.BETTING_CLOSED:
            return (SendOpen(at, command_id(current.id)),)
        case Phase.RESULT:
            return (SettleNow(at, current.id),)
        case _:
            return ()


def round_id(at: datetime) -> str:
    """The engine's id for the round whose betting opens at that time: the time itself, in ms."""
    return f"{at:%Y%m%d-%H%M%S}-{at.microsecond // 1000:03d}"


def command_id(round_id: str) -> str:
    """The id of the command that opens a round: the same after a restart, so that it is carried out once."""
    return f"open-{round_id}"
