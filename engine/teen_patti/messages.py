"""What goes into a round and what comes out of it: inputs and effects, frozen values.

The shell makes the inputs from bettors' requests, from its own deadlines and from the table's events, and carries the
effects out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from teen_patti.bets import Bet, BetRequest
from teen_patti.ledger import Payment, Refusal
from teen_patti.state import Round
from teen_patti.table_events import TableEvent, Unreadable

# --- inputs ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenBetting:
    """Bets are taken from now on, on a new round; `round` is the engine's own id for it and used once.

    An id has 1 to 64 printable ASCII characters without spaces and does not begin with the table's name and a slash:
    those are the table's own.
    """

    at: datetime
    round: str


@dataclass(frozen=True, slots=True)
class CloseBetting:
    """No more bets."""

    at: datetime


@dataclass(frozen=True, slots=True)
class SendOpen:
    """The table is asked to deal; `command` is the id of the command, the same whenever it is sent again."""

    at: datetime
    command: str


@dataclass(frozen=True, slots=True)
class OpenRefused:
    """The table answered the command with an error: the round will not be dealt."""

    at: datetime
    command: str
    error: str


@dataclass(frozen=True, slots=True)
class Fault:
    """The network or the video is away: a round not begun is cancelled, one that has begun goes on to its end."""

    at: datetime
    what: Literal["network", "video"]


@dataclass(frozen=True, slots=True)
class SettleNow:
    """The time for corrections is over: the round is paid."""

    at: datetime
    round: str


@dataclass(frozen=True, slots=True)
class VoidRound:
    """The supervisor voids the round at the engine; `command` is the id of the command that tells the table."""

    at: datetime
    command: str
    by: str
    reason: str


Input: TypeAlias = (
    BetRequest
    | OpenBetting
    | CloseBetting
    | SendOpen
    | OpenRefused
    | Fault
    | SettleNow
    | VoidRound
    | TableEvent
    | Unreadable
)


# --- effects --------------------------------------------------------------------------------------------------

AlarmCode: TypeAlias = Literal[
    "correction_after_settlement",
    "foreign_round",
    "gap",
    "journal_changed",
    "opened_after_cancel",
    "round_doubted",
    "unreadable_event",
    "wrong_table",
]


@dataclass(frozen=True, slots=True)
class BetTaken:
    """The bet stands; told again for a repeated request."""

    bet: Bet


@dataclass(frozen=True, slots=True)
class BetRefused:
    """The bet was not taken."""

    request: BetRequest
    reason: Refusal


@dataclass(frozen=True, slots=True)
class InputRefused:
    """What was asked for is not possible in this phase; nothing changed."""

    asked: str
    reason: str


@dataclass(frozen=True, slots=True)
class TellTable:
    """A command to the table: its name, its id and its own fields."""

    name: Literal["open", "void"]
    id: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Paid:
    """The balances have been changed by these payments; told once."""

    round: str
    payments: tuple[Payment, ...]


@dataclass(frozen=True, slots=True)
class RoundChanged:
    """The round's phase or cards changed: the display and, from the result on, `…/result` follow."""

    round: str


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """Nothing more becomes of the round: it is settled, cancelled or voided; told once, with the round as it ended."""

    round: Round


@dataclass(frozen=True, slots=True)
class Alarm:
    """Somebody must look: the code, and a sentence for people."""

    code: AlarmCode
    detail: str


Effect: TypeAlias = BetTaken | BetRefused | InputRefused | TellTable | Paid | RoundChanged | RoundEnded | Alarm
