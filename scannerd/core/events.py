"""What the core is told: frozen values, each with the monotonic time `at` in microseconds at which it happened.

Readers, the publisher and the web server make these and put them on the engine's inbox; a replay makes them from a
recording. `raw` is the frame that was read, with its delimiters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from scannerd.core.cards import Card

FailedReason: TypeAlias = Literal["no_read", "bad_frame", "unknown_code", "not_in_deck"]


@dataclass(frozen=True, slots=True)
class Read:
    """A scanner gave a card of the deck; `hand` is the reader's, or None; `stale` bytes waited while we did not run."""

    at: int
    scanner: str
    card: Card
    hand: str | None = None
    stale: bool = False
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class FailedRead:
    """A scanner saw something that gave no card; `lost`: the dealer will deal on, though the card never reached us."""

    at: int
    scanner: str
    reason: FailedReason
    detail: str = ""
    stale: bool = False
    lost: bool = False
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Noticed:
    """A device's notice; kinds that are no event of the contract are only logged by the shell."""

    at: int
    scanner: str
    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ScannerWentUp:
    """A scanner is open; its decoder is fresh."""

    at: int
    scanner: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class ScannerWentDown:
    """A scanner is lost or can't be opened; `detail` says why, and names a half frame that was dropped."""

    at: int
    scanner: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class BrokerChanged:
    """The broker answered our CONNECT, or is gone."""

    at: int
    up: bool


@dataclass(frozen=True, slots=True)
class Command:
    """A command that the shell found well formed, fresh and not a repetition.

    `fields` holds the command's own fields and `reason`, as they came: the core judges them.
    """

    at: int
    name: str
    by: str | None
    fields: dict[str, object]


@dataclass(frozen=True, slots=True)
class Started:
    """The process is up and the journal folded."""

    at: int
    version: str
    config_digest: str
    previous: Literal["first", "clean", "crash"]


@dataclass(frozen=True, slots=True)
class Stopping:
    """The process is about to end in an orderly way."""

    at: int
    reason: str


AlarmName: TypeAlias = Literal[
    "stalled",
    "scanner_error",
    "check_line",
    "storage",
    "network",
    "certificate",
    "outbox",
    "denied",
    "no_subscribers",
    "oversized",
    "takeover",
    "retained_command",
    "clock",
    "reject_rate",
]
"""Every alarm there is. The first two are raised by the core, the others by the shell."""


@dataclass(frozen=True, slots=True)
class AlarmChanged:
    """The shell raises or clears an alarm of its own; an alarm already so is not told again."""

    at: int
    alarm: AlarmName
    up: bool
    scanner: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class ClockJumped:
    """The wall clock jumped against the monotonic one, by 1 s or more."""

    at: int
    by_ms: int


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """A self-check found these digests; None: unreadable. The shell compares them with those of the one before."""

    at: int
    cause: Literal["start", "daily", "command"]
    by: str | None
    code_digest: str | None
    config_digest: str | None
    codebooks: dict[str, str]
    changed: tuple[Literal["code", "config", "codebooks"], ...] = ()
    previous_code_digest: str | None = None
    previous_config_digest: str | None = None
    previous_codebooks: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Trimming:
    """Events up to `last_seq`, whose hash is `last_hash`, are old enough to be deleted."""

    at: int
    keep_days: int
    last_seq: int
    last_hash: str


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time that `State.deadline` named has come."""

    at: int


Event: TypeAlias = (
    Read
    | FailedRead
    | Noticed
    | ScannerWentUp
    | ScannerWentDown
    | BrokerChanged
    | Command
    | Started
    | Stopping
    | AlarmChanged
    | ClockJumped
    | SelfCheck
    | Trimming
    | Deadline
)
