"""What the core says. A decision with a `TYPE` is an event of the contract: its fields are the event's `data`.

`at` (monotonic, microseconds) and `round` stand beside `data` on the wire and are no part of it. A field with a default
came later under `1.x`: while it holds that, it is not on the wire, and older journals don't have it. Decisions without
a `TYPE` change the state and are neither journalled nor published: bounces, the broker's coming and going, refusals of
commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from scannerd.core.cards import Card

Phase: TypeAlias = Literal["idle", "dealing", "held", "complete"]
RejectReason: TypeAlias = Literal[
    "no_read",
    "bad_frame",
    "unknown_code",
    "not_in_deck",
    "duplicate",
    "wrong_hand",
    "multi_read",
    "extra_card",
    "no_round",
    "held",
    "offline",
    "stale",
]
WithdrawReason: TypeAlias = Literal["multi_read", "rescan"]
Refusal: TypeAlias = Literal[
    "round_in_progress",
    "offline",
    "bad_round_id",
    "no_round",
    "not_dealing",
    "not_held",
    "empty_slot",
    "not_due",
    "bad_card",
    "duplicate",
    "missing_field",
    "unknown_command",
]


@dataclass(frozen=True, slots=True)
class DaemonStarted:
    """The process has folded the journal and begins to take input."""

    TYPE: ClassVar = "daemon_started"
    at: int
    version: str
    config_digest: str
    previous: Literal["first", "clean", "crash"]
    resumed: bool


@dataclass(frozen=True, slots=True)
class DaemonStopped:
    """An orderly end."""

    TYPE: ClassVar = "daemon_stopped"
    at: int
    reason: str


@dataclass(frozen=True, slots=True)
class ScannerUp:
    """A scanner can be read."""

    TYPE: ClassVar = "scanner_up"
    at: int
    scanner: str
    detail: str | None


@dataclass(frozen=True, slots=True)
class ScannerDown:
    """A scanner can't be read."""

    TYPE: ClassVar = "scanner_down"
    at: int
    scanner: str
    detail: str | None


@dataclass(frozen=True, slots=True)
class ScannerNotice:
    """The device said something that is no card."""

    TYPE: ClassVar = "scanner_notice"
    at: int
    scanner: str
    kind: Literal["error", "error_cleared", "warning", "cut_card", "lock", "start", "result"]
    detail: str | None


@dataclass(frozen=True, slots=True)
class RoundOpened:
    """A round begins; `by` is `auto` where its first card opened it."""

    TYPE: ClassVar = "round_opened"
    at: int
    round: str
    game: str
    plan: tuple[str, ...]
    by: str | None


@dataclass(frozen=True, slots=True)
class CardAccepted:
    """A card is in its slot; `attempt` 1 is the first try. Of a card entered by hand, `reason` says why."""

    TYPE: ClassVar = "card_accepted"
    at: int
    slot: str
    hand: str
    index: int
    card: Card
    scanner: str | None
    attempt: int
    via: Literal["scan", "manual"]
    by: str | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class ScanRejected:
    """A read is refused; `attempt` is null where it does not count as a try for the slot."""

    TYPE: ClassVar = "scan_rejected"
    at: int
    reason: RejectReason
    slot: str | None
    attempt: int | None
    scanner: str
    card: Card | None
    conflict_slot: str | None
    raw_hex: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class CardWithdrawn:
    """An accepted card is taken back; its slot is empty again."""

    TYPE: ClassVar = "card_withdrawn"
    at: int
    slot: str
    card: Card
    reason: WithdrawReason
    by: str | None


@dataclass(frozen=True, slots=True)
class RoundHeld:
    """Nothing is accepted until a supervisor acts."""

    TYPE: ClassVar = "round_held"
    at: int
    reason: str | None
    by: str | None


@dataclass(frozen=True, slots=True)
class RoundReleased:
    """A held round goes on."""

    TYPE: ClassVar = "round_released"
    at: int
    by: str | None


@dataclass(frozen=True, slots=True)
class RoundCompleted:
    """Every slot is filled and nothing has doubted the last card."""

    TYPE: ClassVar = "round_completed"
    at: int
    cards: dict[str, tuple[Card, ...]]
    dealt: tuple[Card, ...]
    rejections: int
    duration_ms: int


@dataclass(frozen=True, slots=True)
class RoundVoided:
    """The round does not count; `was: "complete"` is a reversal."""

    TYPE: ClassVar = "round_voided"
    at: int
    reason: str | None
    by: str | None
    was: Phase


@dataclass(frozen=True, slots=True)
class AlarmRaised:
    """Something needs a person; told once per cause."""

    TYPE: ClassVar = "alarm_raised"
    at: int
    alarm: str
    scanner: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class AlarmCleared:
    """The cause of an alarm is gone."""

    TYPE: ClassVar = "alarm_cleared"
    at: int
    alarm: str
    scanner: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class ClockStepped:
    """The wall clock jumped; every duration is monotonic and unaffected."""

    TYPE: ClassVar = "clock_stepped"
    at: int
    by_ms: int


@dataclass(frozen=True, slots=True)
class SelfChecked:
    """What the daemon runs on, by digest: where something is not as the check before found it, or somebody asked."""

    TYPE: ClassVar = "self_check"
    at: int
    cause: Literal["start", "daily", "command"]
    by: str | None
    code_digest: str | None
    config_digest: str | None
    codebooks: dict[str, str]
    changed: tuple[Literal["code", "config", "codebooks"], ...]
    previous_code_digest: str | None
    previous_config_digest: str | None
    previous_codebooks: dict[str, str] | None


@dataclass(frozen=True, slots=True)
class JournalTrimmed:
    """Old events may be deleted up to a seq: this carries the hash of the last of them, so that the rest is proved."""

    TYPE: ClassVar = "journal_trimmed"
    at: int
    keep_days: int
    last_seq: int
    last_hash: str


@dataclass(frozen=True, slots=True)
class Bounced:
    """The same again, too soon to be meant: counted only. `what` is a card, a failure's reason or a notice's key."""

    TYPE: ClassVar = None
    at: int
    scanner: str
    kind: Literal["card", "failure", "notice"]
    what: str


@dataclass(frozen=True, slots=True)
class BrokerSwitched:
    """The broker came or went."""

    TYPE: ClassVar = None
    at: int
    up: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """A command is not carried out; `error` is the reply's, `message` says it to a person."""

    TYPE: ClassVar = None
    at: int
    error: Refusal
    message: str


Told: TypeAlias = (
    DaemonStarted
    | DaemonStopped
    | ScannerUp
    | ScannerDown
    | ScannerNotice
    | RoundOpened
    | CardAccepted
    | ScanRejected
    | CardWithdrawn
    | RoundHeld
    | RoundReleased
    | RoundCompleted
    | RoundVoided
    | AlarmRaised
    | AlarmCleared
    | ClockStepped
    | SelfChecked
    | JournalTrimmed
)
"""Decisions that are events of the contract."""

Decision: TypeAlias = Told | Bounced | BrokerSwitched | Refused
